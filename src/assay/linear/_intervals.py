"""Intervals of predictions, row by row."""

from __future__ import annotations

import numpy as np

from assay.linear._design import Design, dense
from assay.linear._engine import Array
from assay.rows import Block

KINDS = ("prediction", "mean")


def interval_step(
    block: Block, coef: Array, intercept: Array, design: Design, half: Array, noise: float
) -> Array:
    """ŷ ± half·√(noise + xᵀ(XᵀX)⁻¹x) of each row, all lower ends and then all upper ends: shape (n, 2t)."""
    e = design.coordinates(block)
    spread = np.sqrt(noise + np.einsum("ij,ij->i", e, e))
    center = dense(block.X) @ coef + intercept
    width = np.multiply.outer(spread, half)
    return np.concatenate([center - width, center + width], axis=1)
