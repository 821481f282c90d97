"""Probabilities of the classes as a parameter: what they may be, and what is said of their sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay import parameters
from assay.models import convergence

PRIORS = (
    parameters.nothing
    | parameters.one_of("empirical", "uniform")
    | parameters.array(
        "an array of non-negative numbers, one per class",
        lambda values: values.ndim == 1 and bool((values >= 0).all()) and float(values.sum()) > 0,
    )
)
"""None is "empirical": the shares of the classes among the rows."""

PRIOR_SUM = 1e-5
"""How far a sum of priors may be from 1 before that is said."""


def tell_of_sum(name: str, given: Any) -> None:
    """Warn where given priors do not sum to 1."""
    if given is None or isinstance(given, str):
        return
    total = float(np.sum(np.asarray(given, dtype=np.float64)))
    if abs(total - 1) > PRIOR_SUM:
        message = f"The numbers of {name!r} do not sum to 1 but to {total:g}; they are divided by it."
        convergence.warn(message, UserWarning)
