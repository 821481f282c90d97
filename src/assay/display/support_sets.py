"""Where the rows of a machine stand, and how pictures mark them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.display.plane import dense, n_rows, rows_at

OUTSIDE, MARGIN, BOUND, CURVED = range(4)
"""No support vector, inside its box, at its bound; a support vector of a squared loss, which has no bound."""

LOOKS: Mapping[int, tuple[str, float, str]] = {
    MARGIN: ("o", 90.0, "on the margin"),
    BOUND: ("s", 70.0, "at the bound"),
    CURVED: ("o", 90.0, "support vectors"),
}
"""Marker, size and name of support vectors of each set."""


def is_cornered(model: Any) -> bool:
    """Whether the loss has a corner at the margin: coefficients then have a bound."""
    return not str(getattr(model, "loss", "")).startswith("squared")


def is_precomputed(model: Any) -> bool:
    """Whether the model saw a Gram matrix in the place of rows."""
    return isinstance(model.kernel, str) and model.kernel == "precomputed"


def kernel_name(model: Any) -> str:
    """The kernel in a word."""
    return model.kernel if isinstance(model.kernel, str) else type(model.kernel_).__name__


def is_on_features(model: Any) -> bool:
    """Whether the machine is one on features of its kernel, which keeps nothing of single rows."""
    return hasattr(model, "feature_coef_")


def carriers(model: Any) -> str:
    """What carries the machine, counted."""
    if is_on_features(model):
        return f"{model.feature_coef_.shape[1]} features"
    return f"{len(model.support_)} support vectors"


def as_fitted(cells: NDArray, model: Any) -> Any:
    """A table of the kind that the machine was fitted to, sparse or not."""
    vectors: Any = getattr(model, "support_vectors_", None)
    return type(vectors)(cells) if hasattr(vectors, "toarray") else cells


def sets_of_fit(model: Any) -> NDArray:
    """The set of each training row; with several machines a row is at the bound if it is in one of them."""
    sets = np.atleast_2d(model.point_sets_).max(axis=0).astype(int)
    return sets if is_cornered(model) else np.where(sets > OUTSIDE, CURVED, OUTSIDE)


def sets_of_rows(model: Any, X: Any) -> NDArray | None:
    """The set of each row of X; None when X is not the table of the fit, or no row has one."""
    if is_on_features(model):
        return None
    sets, support = sets_of_fit(model), np.asarray(model.support_)
    if n_rows(X) != len(sets):
        return None
    if is_precomputed(model) or len(support) == 0:
        return sets
    same = np.allclose(dense(rows_at(X, support)), dense(model.support_vectors_))
    return sets if same else None
