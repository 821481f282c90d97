"""The softmax losses of several classes, and the stable logarithm of a sum of exponentials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay import parameters
from assay.loops import compiled, exp, log
from assay.losses.base import Loss, RowTerms, weights_of
from assay.losses.decision import chosen


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


def shares_of(y: NDArray, n_classes: int, dtype: np.dtype) -> NDArray:
    """Rows of probabilities: as they are, or one-hot rows of integer labels."""
    y = np.asarray(y)
    if y.ndim > 1:
        return y
    return (y[..., None] == np.arange(n_classes)).astype(dtype)


@compiled
def softmax_rows(scores, losses, probabilities):  # type: ignore[no-untyped-def]
    """Softmax of each row and log Σ_j e^{f_j − top}; the scores become relative to the largest, `top`."""
    n, k = scores.shape
    for i in range(n):
        top = scores[i, 0]
        for j in range(1, k):
            top = max(top, scores[i, j])
        for j in range(k):
            scores[i, j] -= top
            probabilities[i, j] = exp(scores[i, j])
        total = 0.0
        for j in range(k):
            total += probabilities[i, j]
        inverse = 1.0 / total
        for j in range(k):
            probabilities[i, j] *= inverse
        losses[i] = log(total)


@dataclass(frozen=True, slots=True)
class SoftmaxLoss(Loss):
    """Base of both forms of ℓ(y, f) = log Σ_j e^{f_j} − f_y: a score for each class, or for all but one."""

    n_classes: int | None = None
    convex: ClassVar[bool] = True
    smoothness: ClassVar[float] = 0.5
    lipschitz: ClassVar[float] = math.sqrt(2)
    reaches_zero: ClassVar[bool] = True

    @property
    def _fixed(self) -> int | None:
        """The class whose score is 0."""
        return None

    @property
    def symmetric(self) -> bool:
        """Without a reference."""
        return self._fixed is None

    @property
    def n_groups(self) -> int:
        """One per class."""
        if self.n_classes is None:
            raise parameters.refusal(type(self).__name__, "n_classes", "a number for a fit on rows", None)
        return self.n_classes

    @property
    def n_scores(self) -> int:
        """One per class, without the reference."""
        return self.n_groups - (not self.symmetric)

    def _with_reference(self, scores: NDArray, fill: Any = 0) -> NDArray:
        """Numbers of all classes, `fill` for the reference."""
        if self._fixed is None:
            return scores
        return np.insert(scores, self._fixed % (scores.shape[-1] + 1), fill, axis=-1)

    def _without_reference(self, array: NDArray, axis: int = -1) -> NDArray:
        return array if self._fixed is None else np.delete(array, self._fixed, axis=axis)

    def terms(self, y: NDArray, scores: NDArray) -> RowTerms:
        """Loss (n,), softmax(f) − y and softmax(f), both (n, n_scores); `scores` may be overwritten."""
        relative = np.ascontiguousarray(self._with_reference(scores))
        relative = relative.reshape(-1, relative.shape[-1])
        losses, probabilities = np.empty_like(relative[:, 0]), np.empty_like(relative)
        # Scores relative to the largest one: the difference of two large numbers would lose the loss.
        softmax_rows(relative, losses, probabilities)
        y, slope = np.asarray(y), probabilities.copy()
        if y.ndim > 1:
            losses -= np.sum(y * relative, axis=-1)
            slope -= y
        else:
            rows, labels = np.arange(len(slope)), np.broadcast_to(y, len(slope)).astype(np.intp)
            losses -= relative[rows, labels]
            slope[rows, labels] -= 1
        shape = scores.shape
        return RowTerms(
            losses.reshape(shape[:-1]),
            self._without_reference(slope).reshape(shape),
            self._without_reference(probabilities).reshape(shape),
        )

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """The matrix diag(p) − p pᵀ of each row, p = softmax(f), shape (n, n_scores, n_scores)."""
        p = self.terms(y, prediction.copy()).curvature
        return p[..., :, None] * np.eye(p.shape[-1], dtype=p.dtype) - p[..., :, None] * p[..., None, :]

    def curvature_product(self, y: NDArray, prediction: NDArray, direction: NDArray) -> NDArray:
        """Curvature times a direction, without the matrices: p ∘ (v − ⟨p, v⟩), shape (n, n_scores)."""
        p = self.terms(y, prediction.copy()).curvature
        return p * (direction - np.sum(p * direction, axis=-1, keepdims=True))

    def _shares(self, y: NDArray, slope: NDArray) -> NDArray:
        """The probabilities u + y of all classes at a slope u."""
        p = self._with_reference(slope, -slope.sum(axis=-1))
        return p + shares_of(y, p.shape[-1], p.dtype)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """Σ_j p_j log p_j at p = u + y in the simplex (up to rounding of its sum), shape (n,)."""
        p = self._shares(y, slope)
        rounding = 8 * np.finfo(p.dtype).eps * p.shape[-1]
        inside = np.all(p >= -rounding, axis=-1) & (np.abs(np.sum(p, axis=-1) - 1) <= rounding)
        p = np.maximum(p, 0)
        return np.where(inside, np.sum(special.xlogy(p, p), axis=-1), np.inf)

    def groups(self, y: NDArray, slope: NDArray) -> NDArray:
        """The class."""
        return y.astype(np.intp)

    def mistakes(self, y: NDArray, terms: RowTerms) -> NDArray:
        """Rows of which another class is more probable, or as probable and before theirs."""
        p = self._with_reference(terms.curvature, 1 - terms.curvature.sum(axis=-1))
        rounding = 4 * np.finfo(p.dtype).eps
        return chosen(p >= p.max(axis=1, keepdims=True) - rounding) != y.astype(np.intp)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        """The logarithms of the weighted shares of the classes, or of their odds against the reference."""
        y = np.asarray(y)
        shares = shares_of(y, int(y.max()) + 1, np.dtype(float))
        with np.errstate(divide="ignore"):
            scores = np.log(np.average(shares, axis=0, weights=weights_of(y, sample_weight)))
        return scores if self._fixed is None else self._without_reference(scores - scores[self._fixed])


@dataclass(frozen=True, slots=True)
class Multinomial(SoftmaxLoss):
    """ℓ(y, f) = log Σ_j e^{f_j} − f_y, one score per class: f has shape (n, k).

    Targets are integers 0, …, k − 1, or rows of probabilities of shape (n, k), of which f_y becomes ⟨y, f⟩.
    The constants are in the Euclidean norm of the k scores. For k = 2 it is the logistic loss of f_1 − f_0.

    Parameters
    ----------
    n_classes : int, optional
        k, for solvers that must know it before they see scores.

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


@dataclass(frozen=True, slots=True)
class ReferenceMultinomial(SoftmaxLoss):
    """ℓ(y, f) = log(1 + Σ_{j≠r} e^{f_j}) − f_y: the reference class r has score 0, f is (n, k − 1).

    Targets are integers 0, …, k − 1, or rows of probabilities of shape (n, k). The scores are identified,
    unlike those of `Multinomial`: they are logarithms of odds against the reference. The constants are
    reached from k = 3 on; at k = 2 the loss is the logistic one, of constants ¼ and 1.

    Parameters
    ----------
    n_classes : int, optional
        k, for solvers that must know it before they see scores.
    reference : int, default=-1
        The class r, the last one by default.

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

    reference: int = -1

    @property
    def _fixed(self) -> int:
        return self.reference
