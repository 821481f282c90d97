"""Names of the metrics, and the domain of a `metric` parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from numpy.typing import NDArray

from assay import parameters
from assay.parameters import Domain

Metric: TypeAlias = str | Callable[[NDArray, NDArray], float]
"""A name of `METRICS`, "precomputed" where a method says so, or d(x, z) for two rows."""

METRICS = ("euclidean", "sqeuclidean", "manhattan", "cityblock", "l1", "l2", "chebyshev", "cosine")
"""Names of metrics; "manhattan", "cityblock" and "l1" are the same, as are "euclidean" and "l2"."""

SAME = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock"}


def metric_domain(*, precomputed: bool = True, function: bool = True) -> Domain:
    """The domain of a `metric` parameter: a name, "precomputed", or a function of two rows."""
    names = (*METRICS, "precomputed") if precomputed else METRICS
    words = "one of " + ", ".join(repr(name) for name in names)
    # The names are not offered as options: a metric changes the numbers, not the method.
    domain = Domain(words, lambda value: isinstance(value, str) and value in names)
    return domain | parameters.function if function else domain


def check_metric(metric: Metric) -> Metric:
    """The metric under its first name; a sentence where there is none of that name."""
    if isinstance(metric, str):
        if metric not in METRICS:
            known = ", ".join(repr(name) for name in METRICS)
            raise ValueError(f"The 'metric' must be one of {known} or a function. Got {metric!r} instead.")
        return SAME.get(metric, metric)
    return metric
