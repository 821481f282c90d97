"""Linear machines with a sided loss: which solver, its fit, and what proves it.

Two rooms fit them: on columns as they are, and on features of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assay.certificates import Certificate, at_most
from assay.rows import MemoryRows, Rows
from assay.solvers.in_memory import in_memory, steadily
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.dual_coordinate import dual_coordinate
from assay.solvers.piecewise.frame import frame_of
from assay.solvers.piecewise.gap import MachineGap, MachineProblem, SidedEvidence, gather_sided
from assay.solvers.piecewise.interior import interior_point
from assay.solvers.piecewise.newton import sided_newton

Report = Callable[..., bool]
"""Told coefficients and intercept; true asks to stop."""

LARGEST_NEWTON = 2000
"""Columns up to which "auto" forms a matrix of their number squared."""

SPARSE_NEWTON = 300
"""The same for sparse rows, whose coordinates cost less."""

SOLVERS = ("auto", "newton", "dual_coordinate")


class Machine(NamedTuple):
    """One fitted machine: coefficients, dual point (None when it follows from them) and how it ended."""

    coef: Array
    intercept: float
    dual: Array | None
    n_iter: int
    converged: bool
    trace: list[float]


class JudgedMachine(NamedTuple):
    """A machine measured on its rows: evidence, duality gap, box violation and stationarity."""

    evidence: SidedEvidence
    gap: MachineGap
    outside: float
    residual: float


def choose_solver(solver: str, data: Rows) -> str:
    """What "auto" means for a table: Newton's matrix when the columns are few, coordinates when many."""
    if solver != "auto":
        return solver
    return "newton" if data.shape[1] <= (SPARSE_NEWTON if data.is_sparse else LARGEST_NEWTON) else SOLVERS[2]


def local_rows(data: Rows, solver: str, problem: MachineProblem, owner: str) -> Rows:
    """The rows as the solver needs them: anywhere, in this process, or in memory."""
    if solver == "dual_coordinate":
        return in_memory(data, owner, "use solver='newton' instead")
    if problem.machine.loss.cornered and not data.local:
        return in_memory(data, owner, "use the squared loss, which walks rows anywhere")
    return data


def fit_machine(
    data: Rows, problem: MachineProblem, rng: Generator, report: Report, *, solver: str, **limits: Any
) -> Machine:
    """Minimise ½‖w‖² + ½ρb² + Σ s ℓ(y, w·x + b) on rows as `local_rows` gives them.

    Newton means the interior point for losses with corners.
    """
    machine, with_b = problem.machine, problem.fit_intercept
    if solver == "dual_coordinate":
        assert isinstance(data, MemoryRows)
        ended = dual_coordinate(data, problem, rng=rng, report=report, **limits)
        dual = ended.dual if machine.loss.cornered else None
        return Machine(ended.coef, ended.intercept, dual, ended.n_iter, ended.converged, ended.gaps)
    frame = frame_of(data, intercept=with_b, shift=with_b and problem.intercept_penalty == 0)
    penalty = 1 / frame.scale**2
    if with_b:
        penalty = np.append(penalty, problem.intercept_penalty)
    limits["report"] = lambda point: report(*frame.outside(point))
    if machine.loss.cornered:
        inner = steadily(data, lambda: interior_point(data, machine, frame, penalty, **limits))
        return Machine(*frame.outside(inner.point), inner.dual, inner.n_iter, inner.converged, inner.gaps)
    newton = steadily(data, lambda: sided_newton(data, machine, frame, penalty, **limits))
    return Machine(*frame.outside(newton.point), None, newton.n_iter, newton.converged, newton.values)


def judge(
    data: Rows,
    problems: Sequence[MachineProblem],
    coefs: NDArray,
    intercepts: NDArray,
    duals: NDArray | None,
) -> list[JudgedMachine]:
    """Every machine measured on the rows, a line of coefficients and of ν (None: its slopes) for each."""
    judged = []
    planes = zip(coefs, intercepts.tolist(), [None] * len(coefs) if duals is None else duals, strict=True)
    for problem, (coef, intercept, dual) in zip(problems, planes, strict=True):
        evidence, outside = gather_sided(data, problem.machine, coef, intercept, dual)
        point = evidence, coef, intercept
        judged.append(JudgedMachine(evidence, problem.gap(*point), outside, problem.residual(*point)))
    return judged


def machine_claims(
    judged: Sequence[JudgedMachine], tol: float, source: str, *, cornered: bool, single: bool
) -> list[Certificate]:
    """Duality gap, stationarity and, for losses with corners, feasibility: the worst of the machines."""
    gap, residual = max(item.gap.relative for item in judged), max(item.residual for item in judged)
    bound = max(np.sqrt(tol), 1e-3 if single else 1e-6)
    claim = "The coefficients are the combination of rows that the dual point says, and it balances."
    stationary = at_most(claim, "KKT residual", residual, bound, source=source)
    room = max(item.gap.room for item in judged)
    claims = [gap_claim(gap, tol, single, source, room=room), stationary]
    if cornered:
        claims.append(box_claim(max(item.outside for item in judged), single, source))
    return claims


def gap_claim(
    gap: float,
    tol: float,
    single: bool,
    source: str,
    assumptions: tuple[str, ...] = (),
    *,
    room: float = 0.0,
) -> Certificate:
    """The relative duality gap is at most `tol`, or what the precision allows: `room` on these very rows."""
    claim, bound = "The objective is this close to its minimum.", max(tol, 1e-4 if single else 1e-8, room)
    return at_most(claim, "relative duality gap", gap, bound, source=source, assumptions=assumptions)


def box_claim(outside: float, single: bool, source: str) -> Certificate:
    """The dual point is feasible."""
    bound = 1e-5 if single else 1e-9
    return at_most("The dual point is inside its box.", "box violation", outside, bound, source=source)
