"""Every public estimator, as the registry knows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import BaseEstimator

from assay.registry import estimators


def estimator_classes() -> list[type[BaseEstimator]]:
    """Public estimator classes of all rooms, in the order of their names."""
    return [entry.kind for entry in sorted(estimators(), key=lambda entry: entry.name)]


def instances() -> Iterator[Any]:
    """Each estimator with its defaults, then with each named value of each of its parameters."""
    for kind in estimator_classes():
        default = kind()
        yield default
        for name, domain in kind._domains.items():
            for option in domain.options:
                if option != getattr(default, name):
                    yield kind(**{name: option})
