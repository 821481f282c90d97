"""Features, target and weights by column name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_name(value: Any) -> bool:
    """Whether a target or weight argument names columns."""
    return isinstance(value, str) or (
        isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(item, str) for item in value)
    )


def split_columns(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Take target and weights out of an in-memory frame when they are given by name."""
    if not hasattr(X, "columns"):
        return X, y, sample_weight
    named_target, named_weight = is_name(y), isinstance(sample_weight, str)
    if not named_target and not named_weight:
        return X, y, sample_weight
    columns = list(X.columns)
    target = ([y] if isinstance(y, str) else list(y)) if named_target else []
    weight = [sample_weight] if named_weight else []
    require_columns(columns, [*target, *weight])
    features = [name for name in columns if name not in {*target, *weight}]
    return (
        X[features],
        X[y if isinstance(y, str) else target] if named_target else y,
        X[sample_weight] if named_weight else sample_weight,
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
        return [str(name) for name in features]
    return [name for name in available if name not in set(used)]


def check_finite(X: NDArray, what: str) -> None:
    """Raise one sentence if an array of floats holds NaN or infinity."""
    with np.errstate(invalid="ignore", over="ignore"):
        suspicious = not np.isfinite(X.sum())
    if suspicious and not np.isfinite(X).all():
        kind = "NaN" if np.isnan(X).any() else "infinity"
        raise ValueError(f"{what} contains {kind}; drop or fill those rows first.")
