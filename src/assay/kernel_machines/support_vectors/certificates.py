"""Certificates of machines carried by support vectors: the worst of several."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from assay.certificates import Certificate, agreement, at_most
from assay.kernel_machines.support_vectors.machine import Standings, largest_of
from assay.solvers.rkhs.machines.judging import BEYOND, IMBALANCE, SCALE, VIOLATION


def allowed_gap(tol: float, *, single: bool = False) -> float:
    """The relative gap up to which a machine is optimal: `tol`, or what the precision can tell."""
    return max(1.01 * tol, 1e-3 if single else 1e-9)


def machine_certificates(standings: Standings, tol: float, *, single: bool, source: str) -> list[Certificate]:
    """Duality gap, optimality conditions row by row, and feasibility of the dual point."""
    gap, violation = largest_of(standings.relative), standings.largest(VIOLATION)
    outside = largest_of([standings.largest(BEYOND), standings.largest(IMBALANCE)])
    # A row that is off by v could raise the dual by v²/(4κ²): no more than the gap, κ² the largest k(x, x).
    pairs = zip(standings.reach.tolist(), standings.numbers[:, SCALE].tolist(), strict=True)
    allowed = 2 * math.sqrt(tol * largest_of([reach * scale for reach, scale in pairs]))
    return [
        at_most(
            "The objective is this close to its minimum, by a feasible point of the dual.",
            "relative duality gap",
            gap,
            allowed_gap(tol, single=single),
            source,
        ),
        at_most(
            "Each row is on the side of the margin that its coefficient says (Karush, Kuhn and Tucker).",
            "KKT violation",
            violation,
            max(allowed, 3e-2 if single else 1e-6),
            source,
        ),
        at_most(
            "The coefficients are a point of the dual: each in its box, their sum 0 with an intercept.",
            "distance from the dual's box",
            outside,
            1e-5 if single else 1e-9,
            source,
        ),
    ]


def stored_certificate(pairs: Mapping[str, tuple[Any, Any]], source: str, *, single: bool) -> Certificate:
    """What the model keeps is what its coefficients and the rows give again."""
    claim = "Support vectors, slacks, norms and values are those of the rows."
    return agreement(claim, pairs, source, rtol=1e-3 if single else 1e-5)
