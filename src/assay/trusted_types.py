"""Which types of a model file may be built: those that only hold values."""

from __future__ import annotations

import importlib
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from assay.certificates import Certificates

__all__ = ["is_own_class", "untrusted_types"]

OTHER_TRUSTED = frozenset({"numpy.dtype"})


def untrusted_types(skops_io: Any, payload: bytes) -> list[str]:
    """Types of a payload that are neither trusted by skops nor our own; nothing is built to find out."""
    found = skops_io.get_untrusted_types(data=payload)
    return [name for name in found if name not in OTHER_TRUSTED and not is_own_class(name)]


def is_own_class(name: str) -> bool:
    """Whether a name is a class of values that a module of assay defines, and not something it imports.

    Functions are not trusted: a payload could have them called with arguments of its choice.

    Examples
    --------
    >>> from assay.trusted_types import is_own_class
    >>> [is_own_class(f"assay.linear.least_squares.ridge.{name}") for name in ("Ridge", "np")]
    [True, False]
    """
    module_name, _, class_name = name.rpartition(".")
    parts = module_name.split(".")
    if parts[0] != "assay" or len(parts) < 2 or any(part.startswith("__") for part in parts):
        return False
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError):
        return False
    return isinstance(found, type) and found.__module__ == module_name and _holds_values(found)


def _holds_values(kind: type) -> bool:
    """Whether a class does nothing when it is made, whatever it is given.

    A payload may call a class with arguments of its choice: one that opens files must not be among them.
    """
    values = (BaseEstimator, tuple, Certificates, np.random.SeedSequence)
    return is_dataclass(kind) or issubclass(kind, values)
