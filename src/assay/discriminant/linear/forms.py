"""Forms of a linear discriminant: the hyperplane between two classes, and the logistic model it implies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from assay.discriminant.generative import rounded_logs
from assay.models.classes import class_of
from assay.rows import Block

Array = NDArray[np.float64]


class Hyperplane(NamedTuple):
    """The frontier {x : ⟨w, x⟩ + b = 0} between two classes, the second where it is positive.

    Attributes
    ----------
    normal : array of shape (n_features,)
        w = Σ⁻¹(μ_second − μ_first).
    offset : float
        b.
    prior_offset : float
        log(π_second/π_first), the part of b that is due to the priors.
    separation : float
        Mahalanobis distance δ of the two means.
    """

    normal: Array
    offset: float
    prior_offset: float
    separation: float

    def unit(self) -> Array:
        """(w, b) divided by ‖w‖: what of them tells one hyperplane from another."""
        return np.append(self.normal, self.offset) / np.linalg.norm(self.normal)


@dataclass(frozen=True, eq=False)
class LogisticForm:
    """The logistic model P(k | x) ∝ exp(⟨w_k, x⟩ + b_k), w_k = Σ⁻¹(μ_k − μ_K), that Gaussian classes imply.

    Attributes
    ----------
    classes : array of shape (K,)
        The last is the reference.
    coef : array of shape (K − 1, n_features)
    intercept : array of shape (K − 1,)

    Examples
    --------
    >>> from assay.discriminant import LinearDiscriminantAnalysis
    >>> oracle = LinearDiscriminantAnalysis.from_parameters([[0.0], [2.0]], [[1.0]])
    >>> form = oracle.to_logistic()
    >>> form.coef, form.intercept
    (array([[-2.]]), array([2.]))
    """

    classes: NDArray
    coef: Array
    intercept: Array

    def predict_proba(self, X: Any) -> Array:
        """P(k | x) of the classes at rows in memory."""
        scores = np.asarray(X, dtype=np.float64) @ self.coef.T + self.intercept
        return np.asarray(softmax(np.column_stack([scores, np.zeros(len(scores))]), axis=1))


def hyperplane_difference(oracle: Any, means: Array, within: Array, shares: Array) -> float:
    """How far the unit hyperplanes of the first and last class by Σ and by Σ + M are apart."""
    centred = means - shares @ means
    total = within + (shares[:, None] * centred).T @ centred
    planes = [
        oracle.from_parameters(means[[0, -1]], matrix).hyperplane().unit() for matrix in (within, total)
    ]
    return float(np.abs(planes[0] - planes[1]).max())


# Steps over blocks: scores of K classes, or of the second of two.


def score_columns(block: Block, coef: NDArray, intercept: NDArray) -> NDArray:
    """One score per class; of two classes, 0 and the score of the second."""
    scores = np.asarray(block.X @ coef.T) + intercept
    return np.column_stack([np.zeros_like(scores), scores]) if len(coef) == 1 else scores


def probability_block(block: Block, coef: NDArray, intercept: NDArray) -> NDArray:
    """P(k | x) of one block."""
    return np.asarray(softmax(score_columns(block, coef, intercept), axis=1))


def log_probability_block(block: Block, coef: NDArray, intercept: NDArray) -> NDArray:
    """Logarithms of P(k | x) of one block."""
    scores = score_columns(block, coef, intercept)
    return rounded_logs(np.asarray(log_softmax(scores, axis=1)).astype(block.X.dtype))


def projected_block(block: Block, center: NDArray, directions: NDArray) -> NDArray:
    """Coordinates of the rows of one block along some directions."""
    return np.asarray((block.dense - center) @ directions)


def decision_block(block: Block, coef: NDArray, intercept: NDArray) -> NDArray:
    """Scores of one block: one column per class, or the vector of the second of two."""
    scores = np.asarray(block.X @ coef.T) + intercept
    return scores[:, 0] if len(coef) == 1 else scores


def label_block(block: Block, coef: NDArray, intercept: NDArray, classes: NDArray) -> NDArray:
    """Classes of the rows of one block."""
    return class_of(decision_block(block, coef, intercept), classes)
