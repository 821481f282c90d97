"""NaN and infinity, found from the result of a walk: a finite sum needs no second look at the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.rows import Block, Rows


def require_finite(sums: NDArray, data: Rows) -> None:
    """Raise one sentence when sums over the rows are not finite, naming what the rows contain."""
    if np.isfinite(sums).all():
        return
    kinds = data.reduce(count_not_finite)
    for what, (n_nan, n_infinite) in zip(("Input X", "Input y"), kinds, strict=True):
        if n_nan or n_infinite:
            word = "NaN" if n_nan else "infinity"
            raise ValueError(
                f"{what} contains {word} ({n_nan or n_infinite} values); drop or fill them first."
            )
    raise ValueError("Input X is too large: its squares overflow. Divide its columns by their scale first.")


def count_not_finite(block: Block) -> tuple[NDArray, NDArray]:
    """Numbers of NaN and of infinite values in features and target of one block."""
    values = block.X.data if block.is_sparse else block.X
    target = np.empty(0) if block.y is None else block.y
    return _count(values), _count(target)


def _count(values: NDArray) -> NDArray:
    return np.array([np.isnan(values).sum(), np.isinf(values).sum()])
