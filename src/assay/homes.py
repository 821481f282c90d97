"""Public homes: a class or function says that it lives where it is imported from, not in which file."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any


def publish(package: Mapping[str, Any]) -> None:
    """Set `__module__` of the public classes and functions of a package to its name.

    Saved models, pickles and tracebacks then name `assay.cluster.KMeans`, whichever file holds the class, so
    that files can move and saved models still load.

    Parameters
    ----------
    package : mapping
        The `globals()` of the package's `__init__`, after its `__all__`.
    """
    for name in package["__all__"]:
        item = package[name]
        if isinstance(item, (type, FunctionType)) and item.__module__.startswith("assay."):
            item.__module__ = package["__name__"]
