"""What rounding alone leaves of a residual and of a duality gap of least squares: solvers end there too."""

from __future__ import annotations

ROUNDINGS = 8
"""Roundings of the largest summand that a residual may be off by."""

LARGEST_ROOM = 1e-2
"""A gap that rounding alone could make larger than this is neither accepted nor certified."""


def gap_rounding(column: float, size: float, strength: float, null: float, eps: float) -> float:
    """What rounding makes of the gap, relative to the objective of the model without features.

    It moves a correlation by at most the length of its column times the rounding of the residual: the dual
    point is then shorter by as much over the strength, and what the penalty pays is off by the rounding.

    Parameters
    ----------
    column : float
        Root mean square of the longest column, about its mean.
    size : float
        Root mean square of what is added up in a residual.
    strength : float
        Slope of the penalty.
    null : float
        Mean square of the target, about its mean.
    eps : float
        Spacing of the floats at 1.
    """
    if not (null > 0 and strength > 0):
        return 0.0
    lost = ROUNDINGS * eps * size
    return float(min((column * lost / strength) ** 2 + lost * size / null, LARGEST_ROOM))
