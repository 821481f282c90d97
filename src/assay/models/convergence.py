"""One way to say that an iteration stopped before it was done."""

from __future__ import annotations

import sys
import threading
import warnings
from types import FrameType

from sklearn.exceptions import ConvergenceWarning

INSIDE = frozenset({"assay", "sklearn", "joblib", "threadpoolctl"}) | sys.stdlib_module_names - {"__main__"}
"""Packages between the line that called for a fit and the fit."""


def warn(message: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn at the line that called for the fit, be it through a pipeline, a grid search or an ensemble.

    A fit on a thread of a pool has no caller there: it is the line that the main thread waits on.
    """
    here = sys._getframe(1)
    place = _caller(here)
    if place is None and threading.current_thread() is not threading.main_thread():
        place = _caller(sys._current_frames().get(threading.main_thread().ident or 0))
    place = place or here
    registry = place.f_globals.setdefault("__warningregistry__", {})
    module = place.f_globals.get("__name__", "<unknown>")
    code = place.f_code
    warnings.warn_explicit(message, category, code.co_filename, place.f_lineno, module, registry)


def warn_of_gap(model: object, n_iter: int, max_iter: int, gap: float, *, steps: str = "steps") -> None:
    """Say that an iteration ended above its tolerance, and what would help.

    Parameters
    ----------
    model : estimator
    n_iter, max_iter : int
        Steps made, and how many were allowed (−1 for any number).
    gap : float
        The relative duality gap that is left.
    steps : str
        What is counted.
    """
    way_out = "Increase max_iter."
    if max_iter < 0 or n_iter < max_iter:
        way_out = "More of them do not help: scale the columns and the target, or raise tol."
    warn(
        f"{type(model).__name__} stopped after {n_iter} {steps} with a relative duality gap of {gap:.2g}, "
        f"before it converged. {way_out}"
    )


def _caller(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside all libraries, from this one outwards; None if there is none."""
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame = frame.f_back
    return frame
