"""Reading what a picture needs of the data: names of columns, dense arrays, a sample of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_POINTS = 3000
"""Pictures show at most this many points; more would only make them heavier."""


def column_names(model: Any, X: Any, feature_names: Any, n_features: int) -> list[str]:
    """Names of the features: those handed in, those seen at fit, those of the frame, or x0, x1, …."""
    for names in (feature_names, getattr(model, "feature_names_in_", None), getattr(X, "columns", None)):
        if names is not None and len(names) == n_features:
            return [plain(str(name)) for name in names]
    return [f"x{index}" for index in range(n_features)]


def plain(name: str) -> str:
    """The name as matplotlib shows it literally: no mathematics between dollars, no label hidden by "_"."""
    name = name.replace("$", r"\$")
    return f" {name}" if name.startswith("_") else name


def dense(X: Any) -> NDArray:
    """The rows as a dense two-dimensional array of floats."""
    values = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    return values.reshape(-1, 1) if values.ndim == 1 else values


def sampled(n_rows: int, max_points: int = MAX_POINTS) -> NDArray:
    """Indices of the rows to show: all, or a fixed sample when there are too many."""
    if n_rows <= max_points:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, max_points, replace=False))


def shortened(name: str, length: int = 24) -> str:
    """A name that fits beside an axis: its beginning and its end, which often tells names apart."""
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[-tail:]}"
