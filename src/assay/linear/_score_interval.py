"""Intervals of a linear score from the information of a fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from assay.linear._predictor import affine
from assay.rows import Block
from assay.solvers import shifted_columns

Array = NDArray[np.float64]


def score_root(information: Array, scale: float) -> Array:
    """R with R Rᵀ = scale · information⁻¹: ‖aᵀR‖ is the standard error of the score of a row a."""
    size = np.sqrt(np.maximum(np.diagonal(information), np.finfo(float).tiny))
    factor = linalg.cholesky(information / size[:, None] / size, lower=True)
    inverse = linalg.solve_triangular(factor, np.eye(len(size)), lower=True)
    return (inverse / size).T * np.sqrt(scale)


def interval_rows(
    block: Block, coef: NDArray, intercept: NDArray, center: Array, root: Array, fit_intercept: bool
) -> Array:
    """Score ± the norm of aᵀR for the rows of one block."""
    score = affine(block, coef, intercept).astype(np.float64)
    half = np.linalg.norm(shifted_columns(block, center, fit_intercept) @ root, axis=1)
    return np.column_stack([score - half, score + half])
