"""Whether the distances of rows are numbers, neither overflown nor vanished: loops trust them to be finite.

`check_range` asks it of the distances by a metric, `check_sums` of what clusterings add up of them: sums of
squares, times weights. Both look at the same extent of the rows and refuse in the same words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances.metrics import LEAST_WEIGHT, SCALES, Metric, Scale, check_metric
from assay.rows import Block, MemoryRows

HEAD = 64
CLEARLY_APART, CLEARLY_APART_SINGLE = 1e-60, 1e-10
"""Rows that are looked at first, and a difference that every check below takes for large enough."""


class Extent(NamedTuple):
    """The size of the largest entry of some rows, and half the largest difference in a column."""

    reach: float
    half_spread: float

    def overflow(self, what: str, more: str = "") -> ValueError:
        """The refusal of rows that are too large."""
        return ValueError(
            f"X reaches {self.reach:.3g}, so that {what} overflow. Divide X{more} by a constant first, e.g. "
            "its largest entry, or drop the rows that are wrong."
        )

    def vanish(self, what: str, more: str = "") -> ValueError:
        """The refusal of rows that are too close to each other."""
        return ValueError(
            f"X varies by {2.0 * self.half_spread:.3g}, so that {what} lose their digits or vanish. Multiply "
            f"X{more} by a constant first."
        )


def extent_of(data: MemoryRows) -> Extent:
    """The extent of rows, dense or sparse; of columns that vary widely, only that they do.

    The extremes of each column cost more than those of the table. They are asked for only where the first
    rows do not already differ by more than any check needs.
    """
    low, high = data.reduce(_extremes, combine=_wider)
    reach = max(-float(low.min(initial=0.0)), float(high.max(initial=0.0)))
    spread = _half_spread(*data.head(HEAD, _column_extremes))
    if spread < (CLEARLY_APART if data.dtype == np.float64 else CLEARLY_APART_SINGLE):
        spread = _half_spread(*data.reduce(_column_extremes, combine=_wider))
    return Extent(reach, spread)


def _extremes(block: Block) -> tuple[NDArray, NDArray]:
    values = block.X.data if block.is_sparse else block.X
    return np.asarray(values.min(initial=0.0)), np.asarray(values.max(initial=0.0))


def _column_extremes(block: Block) -> tuple[NDArray, NDArray]:
    low, high = block.X.min(axis=0), block.X.max(axis=0)
    if block.is_sparse:
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return low.astype(np.float64), high.astype(np.float64)


def _half_spread(low: NDArray, high: NDArray) -> float:
    """Half the largest difference: the whole one may overflow."""
    return float((high / 2.0 - low / 2.0).max(initial=0.0))


def _wider(left: tuple[NDArray, NDArray], right: tuple[NDArray, NDArray]) -> tuple[NDArray, NDArray]:
    return np.minimum(left[0], right[0]), np.maximum(left[1], right[1])


def _scale_of(metric: Metric) -> Scale | None:
    """How a metric adds up; None for one that is a function, or that is given as a matrix."""
    known = isinstance(metric, str) and metric != "precomputed"
    return SCALES[str(check_metric(metric))] if known else None


def check_range(
    X: NDArray, metric: Metric = "euclidean", *, weights: NDArray | None = None, spread: bool = True
) -> None:
    """Refuse rows whose distances, as they are computed, overflow or vanish.

    Squares of float64 rows, and weighted sums of many of them, stay finite and above the least normal number
    when no entry is within a large factor of the root of the largest number, and two differ by as much above
    the root of the least one (rows that are queries need no `spread`). float32 rows have too short a range
    for more than the distances themselves. Positive `weights` must be within a factor 10³⁰ of 1.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.distances import check_range
    >>> check_range(np.array([[1e160], [2e160]]))
    Traceback (most recent call last):
        ...
    ValueError: X reaches 2e+160, so that distances overflow. Divide X by a constant first, e.g. its largest \
entry, or drop the rows that are wrong.
    """
    X = np.asarray(X)
    if weights is not None and not (weights.min() >= LEAST_WEIGHT and weights.max() <= 1.0 / LEAST_WEIGHT):
        raise ValueError(
            f"Positive weights of rows must be from {LEAST_WEIGHT:g} to {1.0 / LEAST_WEIGHT:g}, else their "
            f"products with distances overflow or vanish. Got {weights.min():.3g} to {weights.max():.3g}; "
            "multiply all by one number, or give the least ones the weight 0."
        )
    scale = _scale_of(metric)
    if scale is None or scale.unit or X.size == 0:
        return
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    limits, n_features = np.finfo(X.dtype), X.shape[1]
    room = 2.0**12 if weights is None else 2.0**60
    above, below = (2.0, 2.0**10) if X.dtype == np.float32 else (room, room)
    greatest = float(limits.max) / n_features / above**2 if scale.power else float(limits.max) / above
    seen = extent_of(MemoryRows(X))
    if seen.reach > (np.sqrt(greatest) if scale.power == 2 else greatest):
        raise seen.overflow("distances")
    least = float(limits.tiny) / float(limits.eps)
    if scale.power == 2:
        least = below * float(np.sqrt(limits.tiny))
    if spread and 0.0 < 2.0 * seen.half_spread < least:
        raise seen.vanish("distances")


def check_sums(data: MemoryRows, metric: Metric = "sqeuclidean", dtype: np.dtype | None = None) -> None:
    """Refuse rows whose distances, squared, weighted and summed, have no digits in a dtype, float64 if None.

    Rows may be sparse. A metric that does not square is left to `check_range`; one that is a function passes.
    """
    scale = _scale_of(metric)
    if scale is None:
        return
    if scale.power != 2:
        check_range(data.X, metric)
        return
    seen = extent_of(data)
    heaviest = 0.0 if data.weight is None else _bits(float(data.weight.max()))
    single, double = np.finfo(np.float64 if dtype is None else dtype), np.finfo(np.float64)
    # In bits, so that the check itself does not overflow: a square has twice as many as its root.
    square, total = 2.0 * _bits(seen.reach) + np.log2(data.shape[1]) + 3.0, heaviest + np.log2(data.shape[0])
    if square >= single.maxexp or max(square + total, 2.0 * total) >= double.maxexp:
        raise seen.overflow("sums of squared distances, or of squared weights,", " (or the weights)")
    square = 2.0 * _bits(seen.half_spread)
    least = min(square + heaviest, 2.0 * heaviest) - double.minexp - double.nmant
    if seen.half_spread > 0.0 and min(square - single.minexp - single.nmant, least) < 0.0:
        raise seen.vanish("squared distances, or squared weights,", " (or the weights)")


def _bits(value: float) -> float:
    return float(np.log2(value)) if value > 0.0 else -np.inf
