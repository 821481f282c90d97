"""What kernel logistic regression says of the rows of a block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.kernels import Kernel
from assay.models.classes import class_of
from assay.rows import Block


def scores_block(
    block: Block, kernel: Kernel, X_fit: Any, dual_coef: NDArray, intercept: NDArray, log: bool | None
) -> NDArray:
    """Scores of the rows of a block, or the probabilities of their classes, or their logarithms."""
    return said_of(kernel.apply(block.X, X_fit, dual_coef) + intercept, log)


def said_of(scores: NDArray, log: bool | None) -> NDArray:
    """Scores, or probabilities of the classes, or their logarithms; one score of two classes is a vector."""
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if log is None:
        return scores
    if scores.ndim == 1:
        one: Any = special.log_expit if log else special.expit
        return np.column_stack([one(-scores), one(scores)])
    return np.asarray((special.log_softmax if log else special.softmax)(scores, axis=1))


def class_block(
    block: Block, kernel: Kernel, X_fit: Any, dual_coef: NDArray, intercept: NDArray, classes: NDArray
) -> NDArray:
    """Classes of the rows of a block."""
    return class_of(kernel.apply(block.X, X_fit, dual_coef) + intercept, classes)


def classes_said(scores: NDArray, classes: NDArray) -> NDArray:
    """Classes from scores."""
    return class_of(said_of(scores, None), classes)
