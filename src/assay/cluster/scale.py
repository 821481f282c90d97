"""Whether the squares of rows are numbers: neither overflown nor vanished."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.rows import Block, MemoryRows


def require_squares(data: MemoryRows, dtype: Any = np.float64) -> None:
    """Refuse rows in memory whose squared distances, weighted and summed, have no digits in a dtype."""
    low, high = data.reduce(_extremes, combine=_wider)
    reach, half_spread = float(max(-low, high)), float(high / 2.0 - low / 2.0)
    heaviest = 0.0 if data.weight is None else _bits(float(data.weight.max()))
    single, double = np.finfo(dtype), np.finfo(np.float64)
    # In bits, so that the check itself does not overflow: a square has twice as many as its root.
    square, total = 2.0 * _bits(reach) + np.log2(data.shape[1]) + 3.0, heaviest + np.log2(data.shape[0])
    if square >= single.maxexp or max(square + total, 2.0 * total) >= double.maxexp:
        raise ValueError(
            f"X reaches {reach:.3g}, so that sums of squared distances, or of squared weights, overflow. "
            "Divide X (or the weights) by a constant first, or drop the rows that are wrong."
        )
    square = 2.0 * _bits(half_spread)
    least = min(square + heaviest, 2.0 * heaviest) - double.minexp - double.nmant
    if half_spread > 0.0 and min(square - single.minexp - single.nmant, least) < 0.0:
        raise ValueError(
            f"X varies by {2.0 * half_spread:.3g}, so that squared distances, or squared weights, vanish. "
            "Multiply X (or the weights) by a constant first."
        )


def require_distances(data: MemoryRows, metric: Any) -> None:
    """The same for distances by a metric, in the dtype of the rows; metrics that do not square may pass."""
    if isinstance(metric, str) and metric in ("euclidean", "l2", "sqeuclidean", "cosine"):
        require_squares(data, data.dtype)


def _bits(value: float) -> float:
    return float(np.log2(value)) if value > 0.0 else -np.inf


def _extremes(block: Block) -> tuple[float, float]:
    if not block.is_sparse:
        return block.X.min(), block.X.max()
    return block.X.data.min(initial=0.0), block.X.data.max(initial=0.0)


def _wider(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    return min(left[0], right[0]), max(left[1], right[1])
