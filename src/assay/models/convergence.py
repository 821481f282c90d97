"""One way to say that an iteration stopped before it was done."""

from __future__ import annotations

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning


def warn(message: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn at the line outside Assay and scikit-learn that called for the fit."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_inside(module: str) -> bool:
    return module.partition(".")[0] in ("assay", "sklearn")
