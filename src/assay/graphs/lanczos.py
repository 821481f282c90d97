"""The largest eigenvalues of a symmetric operator: Lanczos on blocks, thick restarts, deflation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Operator = Callable[[NDArray], NDArray]
Stop = Callable[[NDArray, NDArray], bool]


class Lanczos(NamedTuple):
    """Result of `lanczos`: vectors in rows, norms of their residuals, all Ritz values in decreasing order."""

    vectors: NDArray
    residuals: NDArray
    ritz_values: NDArray
    n_cycles: int
    converged: bool


def lanczos(
    apply: Operator,
    start: NDArray,
    n_wanted: int,
    *,
    stop: Stop,
    locked: NDArray,
    n_basis: int,
    max_cycles: int,
    watch: Callable[[], bool] = lambda: False,
) -> Lanczos:
    """Largest eigenpairs of a symmetric operator on the complement of some of its eigenvectors.

    The basis grows by blocks, A times the last block, kept orthonormal to rounding (against all before). When
    it is full, the best half of the Ritz vectors is kept and the iteration goes on from there. A block finds
    as many copies of a multiple eigenvalue as it has vectors.

    `apply` takes a block with vectors in columns; `start` and `locked` (orthonormal, to leave out) have them
    in rows; `n_basis` is a multiple of the block and at least n_wanted + 2 blocks. `stop` judges the Ritz
    values and norms of residuals of the wanted pairs; `watch`, called after every cycle, ends the iteration.
    """
    (n_block, n), n_locked = start.shape, len(locked)
    basis = np.empty((n_locked + n_basis + n_block, n))
    basis[:n_locked] = locked
    free = basis[n_locked:]
    projected = np.zeros((n_basis, n_basis))
    free[:n_block], _ = _orthonormal_block(start - (start @ locked.T) @ locked, locked)
    n_kept, n_cycles = 0, 0
    while True:
        last = _fill(apply, basis, n_locked, n_block, projected, n_kept)
        values, rotation = np.linalg.eigh(projected, UPLO="U")
        values, rotation = values[::-1], rotation[:, ::-1]
        residuals = np.linalg.norm(last @ rotation[-n_block:, :n_wanted], axis=0)
        n_cycles += 1
        done = stop(values[:n_wanted], residuals)
        if done or watch() or n_cycles >= max_cycles:
            vectors = rotation[:, :n_wanted].T @ free[:n_basis]
            return Lanczos(vectors, residuals, values, n_cycles, done)
        n_kept = n_basis - n_block * max(1, (n_basis - n_wanted) // (2 * n_block))
        free[:n_kept] = rotation[:, :n_kept].T @ free[:n_basis]
        free[n_kept : n_kept + n_block] = free[n_basis:]
        projected[:] = 0.0
        np.fill_diagonal(projected[:n_kept, :n_kept], values[:n_kept])


def _fill(
    apply: Operator, basis: NDArray, n_locked: int, n_block: int, projected: NDArray, n_kept: int
) -> NDArray:
    """Fill the basis from its vector `n_kept` on, and the projected operator with it.

    Returns the triangle that takes the last block to what the operator moves out of the basis.
    """
    free = basis[n_locked:]
    triangle = np.zeros((n_block, n_block))
    for begin in range(n_kept, len(projected), n_block):
        end = begin + n_block
        image = np.ascontiguousarray(apply(free[begin:end].T).T)
        # But for rounding, the image has parts in the last two blocks only; after a restart, in all kept.
        first = 0 if begin == n_kept else begin - n_block
        coefficients = free[first:end] @ image.T
        image -= coefficients.T @ free[first:end]
        known = basis[: n_locked + end]
        correction = known @ image.T
        image -= correction.T @ known
        projected[:end, begin:end] = correction[n_locked:]
        projected[first:end, begin:end] += coefficients
        free[end : end + n_block], triangle = _orthonormal_block(
            image, known, float(np.abs(coefficients).max())
        )
    return triangle


def _orthonormal_block(block: NDArray, known: NDArray, scale: float = 1.0) -> tuple[NDArray, NDArray]:
    """Orthonormal rows Q and a triangle R with block = RᵀQ, for rows orthogonal to those known.

    Rows that are a combination of others (the space is invariant) are replaced by any outside it.
    """
    if len(block) == 1:
        norm = float(np.linalg.norm(block))
        if norm > 1e-13 * scale:
            return block / norm, np.array([[norm]])
        return orthonormal(_fresh(block.shape[1], 0), known)[np.newaxis], np.zeros((1, 1))
    columns, triangle = np.linalg.qr(block.T)
    rows = np.ascontiguousarray(columns.T)
    lost = np.flatnonzero(np.abs(np.diagonal(triangle)) <= 1e-13 * scale)
    for row in lost:
        others = np.concatenate([known, np.delete(rows, row, axis=0)])
        rows[row] = orthonormal(_fresh(block.shape[1], int(row)), others)
        triangle[row] = 0.0
    return rows, triangle


def _fresh(n: int, number: int) -> NDArray:
    return np.cos(np.arange(1.0, n + 1.0) * (number + 1.7))


def orthonormal(vector: NDArray, basis: NDArray) -> NDArray:
    """The part of a vector outside the span of orthonormal rows, of norm 1."""
    for _ in range(3):
        vector = vector - (basis @ vector) @ basis
        vector = vector / np.linalg.norm(vector)
    return vector
