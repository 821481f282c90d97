"""Metrics that no tree serves, by their names in scikit-learn: as matrices of distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from assay.distances.metrics import METRICS

MARKS = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
"""Metrics of marks: what is not zero counts as one."""

OTHER_METRICS = (
    *("braycurtis", "canberra", "correlation", "hamming", "haversine", "mahalanobis", "minkowski"),
    *("nan_euclidean", "seuclidean", *MARKS),
)
"""Metrics besides `METRICS`, which no tree serves."""

POWERS = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}

SAME_FORMULA = {"infinity": "chebyshev", "sokalmichener": "rogerstanimoto"}


def named_metric(
    metric: Any, options: Mapping[str, Any] | None, p: float = 2.0
) -> tuple[Any, dict[str, Any]]:
    """A metric under its plainest name and its options; a name that no metric has comes back as it is.

    Examples
    --------
    >>> from assay.distances.others import named_metric
    >>> named_metric("minkowski", None, p=1), named_metric("p", {"p": 3})
    (('manhattan', {}), ('minkowski', {'p': 3}))
    """
    rest = dict(options or {})
    if not isinstance(metric, str):
        return metric, rest
    if metric in ("minkowski", "p"):
        power = rest.pop("p", p)
        if power in POWERS and rest.get("w") is None:
            return POWERS[power], {}
        return "minkowski", {**rest, "p": power}
    return SAME_FORMULA.get(metric, metric), rest


def is_known_metric(metric: Any) -> bool:
    """Whether a name stands for a metric, after `named_metric`; a function always does."""
    return callable(metric) or metric in METRICS or metric in OTHER_METRICS


def other_distances(X: Any, Z: Any, metric: Any, options: Mapping[str, Any]) -> NDArray:
    """Distances of all rows of X to all rows of Z, sparse ones too; infinite where they are not defined."""
    if metric in MARKS:
        X, Z = X != 0, Z != 0
    matrix = np.asarray(pairwise_distances(X, Z, metric=metric, **options))
    return np.where(np.isnan(matrix), np.inf, matrix)
