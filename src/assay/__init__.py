"""Assay: statistical learning in which every fit carries its proof.

The rooms (`assay.linear`, `assay.cluster`, ...) are imported when they are first named.
"""

from __future__ import annotations

import importlib
import logging
from typing import Any

__version__ = "0.1.0"

__all__ = ["__version__", "certificates", "cluster", "datasets", "display", "kernel_machines", "kernels"]
__all__ += ["linear", "load", "losses", "penalties", "rows", "save", "theory"]

logging.getLogger("assay").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name in ("save", "load"):
        return getattr(importlib.import_module("assay.persistence"), name)
    if not name.startswith("_"):
        try:
            return importlib.import_module(f"assay.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"assay.{name}":
                raise
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__() -> list[str]:
    import pkgutil

    packages = (module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    return sorted({*__all__, *packages})
