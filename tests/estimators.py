"""Every public estimator, found by walking the package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

from sklearn.base import BaseEstimator

import assay


def estimator_classes() -> list[type[BaseEstimator]]:
    """Public estimator classes of all rooms, in the order of their names."""
    found: dict[str, type[BaseEstimator]] = {}
    for module in pkgutil.iter_modules(assay.__path__):
        if not module.ispkg:
            continue
        room = importlib.import_module(f"assay.{module.name}")
        for name in getattr(room, "__all__", []):
            item = getattr(room, name)
            if inspect.isclass(item) and issubclass(item, BaseEstimator) and hasattr(item, "fit"):
                found[name] = item
    return [found[name] for name in sorted(found)]


def instances() -> Iterator[Any]:
    """Each estimator with its defaults, then with each named value of each of its parameters."""
    for kind in estimator_classes():
        default = kind()
        yield default
        for name, domain in kind._domains.items():
            for option in domain.options:
                if option != getattr(default, name):
                    yield kind(**{name: option})
