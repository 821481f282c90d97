"""Weights of rows: non-negative, finite, not all zero; a weight of 2 means that the row counts twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_weights(sample_weight: Any, n_samples: int, dtype: Any) -> NDArray | None:
    """Return weights as an array of this dtype, or None when every row counts once."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=dtype)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must hold numbers, one per row.") from None
    if weight.ndim != 1 or weight.shape[0] != n_samples:
        raise ValueError(
            f"sample_weight must be one-dimensional with {n_samples} entries, one per row. "
            f"Got shape {weight.shape} instead."
        )
    check_block_weights(weight)
    if not weight.any():
        raise all_weights_zero()
    return weight


def check_block_weights(weight: NDArray, start: int = 0) -> None:
    """Check the weights of the rows from `start` on; whether all are zero only the whole table can tell."""
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight holds NaN or infinity: drop those rows or give them a finite weight.")
    if weight.min(initial=0.0) < 0:
        raise ValueError(
            f"sample_weight must be at least 0. Got {weight.min():g} at row {start + int(weight.argmin())} "
            "instead."
        )


def all_weights_zero() -> ValueError:
    """The error for a table that no row of counts."""
    return ValueError("sample_weight must be above 0 for at least one row. All sample weights are zero.")
