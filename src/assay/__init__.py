"""Assay: statistical learning in which every fit carries its proof.

The rooms (`assay.linear`, `assay.cluster`, ...) are imported when they are first named.
"""

from __future__ import annotations

import importlib
import logging
from typing import Any

__version__ = "0.1.0"

__all__ = [
    "__version__",
    "certificates",
    "cluster",
    "datasets",
    "display",
    "kernel_machines",
    "kernels",
    "linear",
    "load",
    "losses",
    "penalties",
    "rows",
    "save",
    "theory",
]

logging.getLogger("assay").addHandler(logging.NullHandler())

_PERSISTENCE = {"save", "load"}


def __getattr__(name: str) -> Any:
    if name in _PERSISTENCE:
        return getattr(importlib.import_module("assay.persistence"), name)
    if name in __all__:
        return importlib.import_module(f"assay.{name}")
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
