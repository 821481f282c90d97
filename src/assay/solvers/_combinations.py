"""Convex combinations: the one of least norm, and one of as few points as the dimension allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assay.parameters import array, refusal
from assay.solvers._least_squares import Array


def caratheodory(weights: Any, points: Any) -> Array:
    """Convex weights of the same mean with at most d + 1 of them positive.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.solvers import caratheodory
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> fewer = caratheodory([0.25, 0.25, 0.25, 0.25], corners)
    >>> int(np.count_nonzero(fewer)), fewer @ corners
    (3, array([0.5, 0.5]))
    """
    cloud = cloud_of("caratheodory", "points", points)
    m = len(cloud)
    convex = array(
        "", lambda values: values.shape == (m,) and bool(np.all(values >= 0)) and bool(values.sum() > 0)
    )
    if not convex.contains(weights):
        raise refusal("caratheodory", "weights", f"{m} numbers at least 0, not all of them zero", weights)
    share = np.array(weights, dtype=float)
    share /= share.sum()
    size = float(np.abs(cloud).max()) or 1.0
    lifted = np.column_stack([cloud / size, np.ones(m)])
    while True:
        used = np.flatnonzero(share)
        # A combination of the used points that is zero and of total weight zero can be taken away.
        values, spectrum = np.linalg.svd(lifted[used].T)[1:]
        independent = int(np.sum(values > 1e-12 * values[0]))
        if independent == len(used):
            return share
        change = spectrum[-1]
        change = change if change.max() > 0 else -change
        grows = change > 0
        ratio = np.where(grows, share[used] / np.where(grows, change, 1.0), np.inf)
        first = int(np.argmin(ratio))
        share[used] = np.maximum(share[used] - ratio[first] * change, 0.0)
        share[used[first]] = 0.0
        share /= share.sum()


def least_norm(
    oracle: Callable[[Array], tuple[int, int]], vector: Callable[[int, int], Array], size: float
) -> tuple[list[tuple[int, int]], Array]:
    """Wolfe's algorithm: the convex combination of least norm of the vectors that an oracle chooses from."""
    start = oracle(np.zeros_like(vector(0, 0)))
    kept, rows, weights = [start], vector(*start)[None, :] / size, np.ones(1)
    for _ in range(1000 + 20 * rows.shape[1]):
        mean = weights @ rows
        squared = float(mean @ mean)
        chosen = oracle(mean)
        candidate = vector(*chosen) / size
        if squared <= 1e-24 or mean @ candidate >= squared - 1e-12 * max(squared, 1e-12) or chosen in kept:
            break
        kept, rows = [*kept, chosen], np.vstack([rows, candidate])
        weights = np.append(weights, 0.0)
        while True:
            free = _affine_minimiser(rows)
            if np.all(free > 1e-14):
                weights = free
                break
            falling = free <= 1e-14
            ratio = weights[falling] / np.maximum(weights[falling] - free[falling], 1e-300)
            share = min(1.0, float(np.min(ratio)))
            weights = weights + share * (free - weights)
            stay = weights > 1e-14
            stay[np.flatnonzero(falling)[int(np.argmin(ratio))]] = False
            kept = [pair for pair, keep in zip(kept, stay, strict=True) if keep]
            rows, weights = rows[stay], weights[stay] / weights[stay].sum()
    return kept, weights


def _affine_minimiser(rows: Array) -> Array:
    """Weights of sum one, of any sign, whose combination of the rows has the least norm."""
    base, edges = rows[0], rows[1:] - rows[0]
    rest = np.linalg.lstsq(edges.T, -base, rcond=None)[0]
    return np.concatenate([[1 - rest.sum()], rest])


def gather(shares: Array, indices: list[int], length: int) -> Array:
    """Shares added up by index."""
    weights = np.zeros(length)
    np.add.at(weights, indices, shares)
    return weights


def cloud_of(owner: str, name: str, points: Any) -> Array:
    """Points as a matrix, one a row."""
    if not array("", lambda values: values.ndim == 2 and values.size > 0).contains(points):
        raise refusal(owner, name, "a matrix of finite numbers, one point a row", points)
    return np.asarray(points, dtype=float)
