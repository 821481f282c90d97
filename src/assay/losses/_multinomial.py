"""The softmax losses of several classes, and the stable logarithm of a sum of exponentials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.losses._loss import Loss, weights_of


def logsumexp(scores: NDArray, axis: int = -1) -> NDArray:
    """Give log Σ_j e^{S_j} along an axis: the largest score is taken out first and added back.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import logsumexp
    >>> logsumexp(np.array([[1e4, 1e4], [-1e4, 1e4]])).round(3)
    array([10000.693, 10000.   ])

    References
    ----------
    Peyré, logistic classification, the LSE trick.
    """
    top = np.max(scores, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, np.zeros_like(top))
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(scores - top), axis=axis))
    return total + np.squeeze(top, axis=axis)


def softmax(scores: NDArray, axis: int = -1) -> NDArray:
    """e^{S_j}/Σ_k e^{S_k} along an axis: the gradient of `logsumexp`, stabilised in the same way.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import softmax
    >>> softmax(np.array([1e4, 1e4, -1e4]))
    array([0.5, 0.5, 0. ])
    """
    weight = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    weight /= np.sum(weight, axis=axis, keepdims=True)
    return weight


def _shares(y: NDArray, n_classes: int, dtype: np.dtype) -> NDArray:
    """Rows of probabilities: as they are, or one-hot rows of integer labels."""
    y = np.asarray(y)
    if y.ndim > 1:
        return y
    return (y[..., None] == np.arange(n_classes)).astype(dtype)


def _picked(y: NDArray, scores: NDArray) -> NDArray:
    """⟨y, f⟩ of each row."""
    y = np.asarray(y)
    if y.ndim > 1:
        return np.sum(y * scores, axis=-1)
    return np.take_along_axis(scores, y.astype(np.intp)[..., None], axis=-1)[..., 0]


@dataclass(frozen=True, slots=True)
class Multinomial(Loss):
    """ℓ(y, f) = log Σ_j e^{f_j} − f_y, one score a class: f has shape (n, k).

    Targets are integers 0, …, k − 1, or rows of probabilities of shape (n, k), of which f_y becomes ⟨y, f⟩.
    The constants are in the Euclidean norm of the k scores. For k = 2 it is the logistic loss of f_1 − f_0.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Multinomial
    >>> Multinomial().gradient(np.array([0]), np.zeros((1, 4)))
    array([[-0.75,  0.25,  0.25,  0.25]])

    References
    ----------
    Peyré, logistic classification, several classes.
    """

    convex: ClassVar[bool] = True
    smoothness: ClassVar[float] = 0.5
    strong_convexity: ClassVar[float] = 0.0
    lipschitz: ClassVar[float] = math.sqrt(2)

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row, shape (n,)."""
        # Scores relative to the largest one: the difference of two large numbers would lose the loss.
        relative = prediction - np.max(prediction, axis=-1, keepdims=True)
        return logsumexp(relative) - _picked(y, relative)

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """softmax(f) − y, shape (n, k)."""
        return softmax(prediction) - _shares(y, prediction.shape[-1], prediction.dtype)

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """The matrix diag(p) − p pᵀ of each row, p = softmax(f), shape (n, k, k)."""
        p = softmax(prediction)
        return p[..., :, None] * np.eye(p.shape[-1], dtype=p.dtype) - p[..., :, None] * p[..., None, :]

    def curvature_product(self, y: NDArray, prediction: NDArray, direction: NDArray) -> NDArray:
        """Curvature times a direction, without the matrices: p ∘ (v − ⟨p, v⟩), shape (n, k)."""
        p = softmax(prediction)
        return p * (direction - np.sum(p * direction, axis=-1, keepdims=True))

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """Σ_j p_j log p_j at p = u + y in the simplex (up to rounding of its sum), shape (n,)."""
        p = slope + _shares(y, slope.shape[-1], slope.dtype)
        rounding = 8 * np.finfo(p.dtype).eps * p.shape[-1]
        inside = np.all(p >= -rounding, axis=-1) & (np.abs(np.sum(p, axis=-1) - 1) <= rounding)
        p = np.maximum(p, 0)
        return np.where(inside, np.sum(special.xlogy(p, p), axis=-1), np.inf)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        """The logarithms of the weighted shares of the classes, −inf for a class that is absent."""
        y = np.asarray(y)
        shares = _shares(y, int(y.max()) + 1, np.dtype(float))
        with np.errstate(divide="ignore"):
            return np.log(np.average(shares, axis=0, weights=weights_of(y, sample_weight)))


@dataclass(frozen=True, slots=True)
class ReferenceMultinomial(Loss):
    """ℓ(y, f) = log(1 + Σ_{j<k−1} e^{f_j}) − f_y: the last class has score 0, f is (n, k − 1).

    Targets are integers 0, …, k − 1, or rows of probabilities of shape (n, k). The scores are identified,
    unlike those of `Multinomial`: they are logarithms of odds against the reference. The constants are
    reached from k = 3 on; at k = 2 the loss is the logistic one, of constants ¼ and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import ReferenceMultinomial
    >>> ReferenceMultinomial().gradient(np.array([2]), np.zeros((1, 3)))
    array([[ 0.25,  0.25, -0.75]])

    References
    ----------
    Peyré, logistic classification, several classes.
    """

    convex: ClassVar[bool] = True
    smoothness: ClassVar[float] = 0.5
    strong_convexity: ClassVar[float] = 0.0
    lipschitz: ClassVar[float] = math.sqrt(2)

    def _all(self, prediction: NDArray) -> NDArray:
        """The scores with the reference appended."""
        return np.concatenate([prediction, np.zeros_like(prediction[..., :1])], axis=-1)

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row, shape (n,)."""
        return Multinomial().value(y, self._all(prediction))

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """The difference softmax − y without the reference, shape (n, k − 1)."""
        return Multinomial().gradient(y, self._all(prediction))[..., :-1]

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """The matrix diag(p) − p pᵀ without the reference, shape (n, k − 1, k − 1)."""
        return Multinomial().curvature(y, self._all(prediction))[..., :-1, :-1]

    def curvature_product(self, y: NDArray, prediction: NDArray, direction: NDArray) -> NDArray:
        """Curvature times a direction, without the matrices, shape (n, k − 1)."""
        return Multinomial().curvature_product(y, self._all(prediction), self._all(direction))[..., :-1]

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """Σ_j p_j log p_j over all k classes, where p = u + y and the reference has the rest, shape (n,)."""
        rest = -np.sum(slope, axis=-1, keepdims=True)
        return Multinomial().conjugate(y, np.concatenate([slope, rest], axis=-1))

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        """The logarithms of the odds of the classes against the last one."""
        scores = Multinomial().constant_minimiser(y, sample_weight)
        return scores[:-1] - scores[-1]
