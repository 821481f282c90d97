"""Steps of Fisher's discriminant over blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.models.capabilities import ThereAndBack
from assay.models.classes import class_of
from assay.rows import Block

Array = NDArray[np.float64]


def projection_block(block: Block, directions: NDArray) -> NDArray:
    """Projections of the rows of one block."""
    return np.asarray(block.X @ directions)


def score_block(block: Block, coef: NDArray, intercept: NDArray) -> NDArray:
    """Affine scores of one block; a vector of two classes."""
    scores = np.asarray(block.X @ coef.T) + intercept
    return scores[:, 0] if len(coef) == 1 else scores


def class_block(block: Block, coef: NDArray, intercept: NDArray, classes: NDArray) -> NDArray:
    """Classes of one block by affine scores."""
    return class_of(score_block(block, coef, intercept), classes)


def final_block(block: Block, directions: NDArray, classifier: Any, method: str) -> NDArray:
    """What the last step says about projected rows."""
    return np.asarray(getattr(classifier, method)(np.asarray(block.X @ directions)))


def code_block(block: Block) -> NDArray:
    """Places of the classes of one block."""
    assert block.y is not None
    return block.y.astype(np.intp)


def weight_block(block: Block) -> Array:
    """Weights of the rows of one block."""
    return block.weights


def wrong_block(block: Block, coef: NDArray, intercept: NDArray) -> tuple[float, float]:
    """Weight of the rows of one block on the wrong side, and of all of them."""
    assert block.y is not None
    places = class_block(block, coef, intercept, np.arange(max(2, len(coef))))
    weights = block.weights
    return float(weights @ (places != block.y)), float(weights.sum())


def regression_back(components: NDArray, priors: NDArray, means: NDArray, within: NDArray) -> ThereAndBack:
    """The map Wx, and its way back μ + ΣWᵀ(WΣWᵀ)⁺(z − Wμ) of least loss; Σ is the covariance of all rows."""
    forward = np.asarray(components, dtype=np.float64)
    center = priors @ means
    apart = means - center
    total = within + (priors[:, None] * apart).T @ apart
    backward = total @ forward.T @ np.linalg.pinv(forward @ total @ forward.T, hermitian=True)
    return ThereAndBack(forward, np.zeros(len(forward)), backward, center - backward @ (forward @ center))
