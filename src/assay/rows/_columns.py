"""Features, target and weights: by column name, and checked to be what they must be."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_name(value: Any) -> bool:
    """Whether a target or weight argument names columns."""
    return isinstance(value, str) or (
        isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(item, str) for item in value)
    )


def beside(y: Any, offset: Any) -> Any:
    """A target and an offset as two columns, of arrays or by name; the target alone without an offset."""
    if offset is None:
        return y
    if isinstance(y, str) and isinstance(offset, str):
        return [y, offset]
    if is_name(y) or isinstance(offset, str):
        raise ValueError("y and offset must both be names of columns, or both be arrays.")
    if hasattr(y, "dask"):
        stack = importlib.import_module("dask.array").stack
        return stack([y, offset.rechunk(y.chunks) if hasattr(offset, "dask") else offset], axis=1)
    try:
        offset = np.asarray(offset, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("offset must hold numbers, one per row.") from None
    n_samples = len(y)
    if offset.shape != (n_samples,):
        raise ValueError(
            f"offset must be one-dimensional with {n_samples} entries, one per row. "
            f"Got shape {offset.shape} instead."
        )
    if not np.isfinite(offset).all():
        raise ValueError("offset holds NaN or infinity: drop those rows or give them a finite offset.")
    y = np.asarray(y)
    return np.column_stack([y, offset.astype(y.dtype if y.dtype.kind == "f" else np.float64)])


def refuse_names(what: str, **values: Any) -> None:
    """Raise one sentence if a target or weights of an array are given by name."""
    for name, value in values.items():
        if is_name(value):
            raise ValueError(
                f"{name} must be an array, since {what} has no named columns. Got {value!r} instead."
            )


def not_numbers(name: Any, where: str, kind: Any) -> ValueError:
    """The error for a column of something else."""
    return ValueError(
        f"The column {name!r} of {where} has type {kind} where numbers are needed; encode it as numbers or "
        "leave it out of the table."
    )


def split_columns(
    X: Any, y: Any, sample_weight: Any, features: NDArray | None = None
) -> tuple[Any, Any, Any]:
    """Take features, target and weights out of an in-memory frame when they are given by name."""
    if not hasattr(X, "columns"):
        return X, y, sample_weight
    columns = list(X.columns)
    # A list as long as the table that names no columns is a target of labels.
    labels = not isinstance(y, str) and is_name(y) and len(y) == len(X) and not set(y) <= set(columns)
    target = [] if labels or not is_name(y) else [y] if isinstance(y, str) else list(y)
    weight = sample_weight if isinstance(sample_weight, str) else None
    if features is None and not target and weight is None:
        return X, y, sample_weight
    return (
        X[feature_columns(columns, target, weight, features, "the table")],
        X[y if isinstance(y, str) else target] if target else y,
        X[weight] if weight else sample_weight,
    )


def require_columns(
    available: Sequence[str], wanted: Sequence[str] | NDArray, where: str = "the table"
) -> None:
    """Raise one sentence if a wanted column is missing."""
    missing = [str(name) for name in wanted if name not in set(available)]
    if missing:
        shown = ", ".join(map(repr, available[:12])) + (", ..." if len(available) > 12 else "")
        noun = "column" if len(missing) == 1 else "columns"
        raise ValueError(f"{where} has no {noun} {', '.join(map(repr, missing))}; it has {shown}.")


def feature_columns(
    available: Sequence[str], target: Sequence[str], weight: str | None, features: NDArray | None, where: str
) -> list[str]:
    """The columns to read as features, checked to be there."""
    used = [*target, *([weight] if weight else [])]
    require_columns(available, used, where)
    if features is not None:
        require_columns(available, features, where)
        return list(features)
    return [name for name in available if name not in set(used)]


def check_target(y: Any, n_samples: int, dtype: Any) -> NDArray | None:
    """Return a target in memory as finite numbers of this dtype, one row each."""
    if y is None:
        return None
    try:
        target = np.asarray(y, dtype=dtype)
    except (TypeError, ValueError):
        raise ValueError("y must hold numbers, one per row.") from None
    if target.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions. Got shape {target.shape} instead.")
    if target.shape[0] != n_samples:
        raise ValueError(f"X has {n_samples} rows but y has {target.shape[0]}; they must be as many.")
    check_finite(target, "y")
    return target


def check_values(X: NDArray, y: NDArray | None, weight: NDArray | None, start: int) -> None:
    """Check the values of the rows from `start` on."""
    check_finite(X, "X")
    if y is not None:
        check_finite(y, "y")
    if weight is not None:
        check_block_weights(weight, start)


def check_finite(X: NDArray, what: str) -> None:
    """Raise one sentence if an array of floats holds NaN or infinity."""
    with np.errstate(invalid="ignore", over="ignore"):
        suspicious = not np.isfinite(X.sum())
    if suspicious and not np.isfinite(X).all():
        kind = "NaN" if np.isnan(X).any() else "infinity"
        raise ValueError(f"{what} contains {kind}; drop or fill those rows first.")


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
