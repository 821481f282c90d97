"""QR factorisation of a table by blocks: one walk, each block reduced to a triangle, triangles merged.

The triangle R of √s·[x − mean, y − mean] satisfies RᵀR = scatter, but is found without squaring: errors grow
with the condition number of the table and not with its square.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.rows import Block, Rows
from assay.solvers._moments import augmented_rows


def triangle(data: Rows, mean: NDArray) -> NDArray:
    """Upper triangle R with RᵀR = Σ s ([x, y] − mean)([x, y] − mean)ᵀ, by one walk.

    Parameters
    ----------
    data : Rows
        With a target.
    mean : array of shape (d + t,)
        What is subtracted from the columns [x, y]; zeros for a model without intercept.
    """
    merged = data.reduce(block_triangle, mean, combine=merge_triangles)
    if data.has_weight or merged.shape[0] < merged.shape[1]:
        return _square(merged)
    return merged


def block_triangle(block: Block, mean: NDArray) -> NDArray:
    """Triangle of one block."""
    return _r_factor(augmented_rows(block, mean, ones=False))


def merge_triangles(above: NDArray, below: NDArray) -> NDArray:
    """Triangle of two triangles, one on top of the other."""
    return _r_factor(np.vstack([above, below]))


def _r_factor(table: NDArray) -> NDArray:
    return np.asarray(np.linalg.qr(table, mode="r"))


def _square(triangle: NDArray) -> NDArray:
    """Complete a triangle of few rows with zeros."""
    missing = triangle.shape[1] - triangle.shape[0]
    return np.vstack([triangle, np.zeros((max(0, missing), triangle.shape[1]))])
