"""Features, target and weights: by column name, and checked to be what they must be."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEEWAY = 1e4
"""How far below the square root of the largest float the largest weight must stay."""


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
    offset = real_numbers(offset, np.float64, "offset")
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
    require_distinct(columns, "the table")
    if features is None and not target and weight is None:
        require_numbers(X)
        return X, y, sample_weight
    chosen = X[feature_columns(columns, target, weight, features, "the table")]
    require_numbers(chosen)
    return (
        chosen,
        X[y if isinstance(y, str) else target] if target else y,
        X[weight] if weight else sample_weight,
    )


def require_distinct(names: Sequence[Any], where: str) -> None:
    """Raise one sentence if two columns share a name."""
    if len(set(names)) == len(names):
        return
    twice = next(name for name in names if names.count(name) > 1)
    raise ValueError(f"{where} has more than one column {twice!r}; names must be distinct.")


def require_numbers(frame: Any) -> None:
    """Raise one sentence that names the first column of a frame in memory that holds no real numbers.

    Columns of objects may hold numbers: they are tried.
    """
    for name, dtype in zip(frame.columns, getattr(frame, "dtypes", ()), strict=False):
        kind = getattr(dtype, "kind", "O")
        temporal = kind in "Mm" or bool(getattr(dtype, "is_temporal", bool)())  # NumPy's dates, polars'
        if temporal or kind == "c" or (kind not in "biuf" and not _become_numbers(frame[name])):
            raise not_numbers(name, "the table", dtype)


def _become_numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    except OverflowError:  # a number, though none that a float can be
        return True
    return True


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


def real_numbers(values: Any, dtype: Any, what: str) -> NDArray:
    """Values in memory, one per row, as an array of this dtype."""
    try:
        given = np.asarray(values)
        if given.dtype.kind in "cMm":  # NumPy would drop the imaginary part, or count days
            raise TypeError
        with np.errstate(over="ignore"):
            numbers: NDArray = given.astype(dtype, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must hold numbers, one per row.") from None
    except OverflowError:
        raise out_of_range(what, dtype) from None
    narrowed = given.dtype.kind in "iuf" and numbers.dtype.itemsize < given.dtype.itemsize
    if narrowed and np.isinf(numbers).any() and not np.isinf(given).any():
        raise out_of_range(what, dtype)
    return numbers


def out_of_range(what: str, dtype: Any) -> ValueError:
    """The error for a number that no float of this dtype can be."""
    return ValueError(
        f"{what} holds a number beyond the range of {np.dtype(dtype).name}; scale it down first."
    )


def check_target(y: Any, n_samples: int, dtype: Any) -> NDArray | None:
    """Return a target in memory as finite numbers of this dtype, one row each."""
    if y is None:
        return None
    target = real_numbers(y, dtype, "y")
    if target.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions. Got shape {target.shape} instead.")
    if target.shape[0] != n_samples:
        raise ValueError(f"X has {n_samples} rows but y has {target.shape[0]}; they must be as many.")
    check_finite(target, "y")
    return target


def check_values(
    X: NDArray,
    y: NDArray | None,
    weight: NDArray | None,
    start: int,
    *,
    missing: bool = False,
    infinite: bool = False,
) -> None:
    """Check rows from `start` on; features may be NaN with `missing`, and infinite with `infinite`."""
    if not infinite:
        check_finite(X, "X", missing=missing)
    if y is not None:
        check_finite(y, "y")
    if weight is not None:
        check_block_weights(weight, start)


def check_finite(X: NDArray, what: str, *, missing: bool = False) -> None:
    """Raise one sentence if an array of floats holds infinity or, unless it may be `missing`, NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        suspicious = not np.isfinite(X.sum())
    if suspicious and missing:
        if np.isinf(X).any():
            raise ValueError(f"{what} contains infinity; drop those rows or put NaN or a number there first.")
        return
    if suspicious and not np.isfinite(X).all():
        kind = "NaN" if np.isnan(X).any() else "infinity"
        raise ValueError(f"{what} contains {kind}; drop or fill those rows first.")


def check_weights(sample_weight: Any, n_samples: int, dtype: Any) -> NDArray | None:
    """Return weights as an array of this dtype, or None when every row counts once."""
    if sample_weight is None:
        return None
    weight = real_numbers(sample_weight, dtype, "sample_weight")
    if weight.ndim != 1 or weight.shape[0] != n_samples:
        raise ValueError(
            f"sample_weight must be one-dimensional with {n_samples} entries, one per row. "
            f"Got shape {weight.shape} instead."
        )
    check_block_weights(weight)
    if not weight.any():
        raise all_weights_zero()
    return weight


def fit_weights(sample_weight: Any, n_samples: int, dtype: Any) -> NDArray | None:
    """Weights that sums of weighted squares can bear: the largest is far from the ends of the floats."""
    weight = check_weights(sample_weight, n_samples, dtype)
    if weight is None:
        return None
    largest, limit = float(weight.max()), float(np.sqrt(np.finfo(weight.dtype).max) / LEEWAY)
    if not 1 / limit <= largest <= limit:
        raise ValueError(
            f"sample_weight must have its largest weight between {1 / limit:.0e} and {limit:.0e}. "
            f"Got {largest:g} instead; divide all weights by it."
        )
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
