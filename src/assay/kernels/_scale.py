"""The default of a kernel's scale, and the sentences for parameters outside their domain."""

from __future__ import annotations

from typing import Any

from assay import parameters
from assay.parameters import Domain

POSITIVE = parameters.real(above=0.0)
POSITIVE_OR_DEFAULT = Domain(
    "None (one over the number of features) or a finite number above 0",
    lambda value: value is None or POSITIVE.contains(value),
)


def require(owner: object, name: str, domain: Domain) -> None:
    """Raise one sentence if a field of a kernel is outside its domain."""
    value: Any = getattr(owner, name)
    if not domain.contains(value):
        raise parameters.refusal(type(owner).__name__, name, domain.words, value)


def scale_from_width(owner: str, sigma: float) -> float:
    """Check a width σ > 0."""
    if not POSITIVE.contains(sigma):
        raise parameters.refusal(owner, "sigma", POSITIVE.words, sigma)
    return float(sigma)
