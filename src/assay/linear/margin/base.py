"""One engine for linear machines with a two-sided loss, and their certificates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, at_most
from assay.linear.least_squares.engine import Array
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows
from assay.solvers.in_memory import in_memory, steadily
from assay.solvers.piecewise.dual_coordinate import dual_coordinate
from assay.solvers.piecewise.gap import Evidence, Gap, gather_tilted, tilted_gap
from assay.solvers.piecewise.newton import tilted_newton
from assay.solvers.piecewise.quantile_interior import tilted_interior
from assay.solvers.piecewise.tilted import Tilt, frame_of

LARGEST_NEWTON = 2000
"""Columns up to which "auto" forms a matrix of their number squared."""

SPARSE_NEWTON = 300
"""The same for sparse rows, whose coordinates cost less."""

SOLVERS = ("auto", "newton", "dual_coordinate")

MACHINE_DOMAINS: Mapping[str, Domain] = {
    "C": parameters.real(above=0),
    "penalty_strength": parameters.nothing | parameters.real(above=0),
    "fit_intercept": parameters.boolean,
    "intercept_scaling": parameters.nothing | parameters.real(above=0),
    "solver": parameters.one_of(*SOLVERS),
    "tol": parameters.real(above=0),
    "max_iter": parameters.integer(at_least=1),
    "history": parameters.boolean,
    "random_state": parameters.random_state,
}


class Machine(NamedTuple):
    """One fitted machine: coefficients, dual point (None when it follows from them) and how it ended."""

    coef: Array
    intercept: float
    dual: Array | None
    n_iter: int
    converged: bool
    trace: list[float]


class Problem(NamedTuple):
    """What is minimised: ½‖w‖² + ½ρb² + Σℓ."""

    tilt: Tilt
    fit_intercept: bool
    intercept_penalty: float

    def gap(self, evidence: Evidence, coef: Array, intercept: float) -> Gap:
        """Duality gap at given coefficients."""
        return tilted_gap(
            evidence,
            coef,
            intercept,
            fit_intercept=self.fit_intercept,
            intercept_penalty=self.intercept_penalty,
        )


def choose_solver(solver: str, data: Rows) -> str:
    """What "auto" means for a table: Newton's matrix when the columns are few, coordinates when many."""
    if solver != "auto":
        return solver
    return "newton" if data.shape[1] <= (SPARSE_NEWTON if data.is_sparse else LARGEST_NEWTON) else SOLVERS[2]


def local_rows(data: Rows, solver: str, problem: Problem, owner: str) -> Rows:
    """The rows as the solver needs them: anywhere, in this process, or in memory."""
    if solver == "dual_coordinate":
        return in_memory(data, owner, "use solver='newton' instead")
    if not problem.tilt.squared and not data.local:
        return in_memory(data, owner, "use the squared loss, which walks rows anywhere")
    return data


def fit_machine(
    data: Rows,
    problem: Problem,
    *,
    solver: str,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    report: Callable[[Array, float], bool] = lambda coef, intercept: False,
) -> Machine:
    """Minimise ½‖w‖² + ½ρb² + Σℓ(target − w·x − b).

    Parameters
    ----------
    data : Rows
        As `local_rows` gives them.
    problem : Problem
    solver : {"newton", "dual_coordinate"}
        Newton means the interior point for losses with corners.
    tol, max_iter, rng
        Relative duality gap, most iterations, orders of the rows.
    report : callable
        Told coefficients and intercept; true asks to stop.
    """
    tilt, with_b = problem.tilt, problem.fit_intercept
    if solver == "dual_coordinate":
        assert isinstance(data, MemoryRows)
        found = dual_coordinate(
            data,
            tilt,
            fit_intercept=with_b,
            intercept_penalty=problem.intercept_penalty,
            tol=tol,
            max_iter=max_iter,
            rng=rng,
            report=report,
        )
        dual = None if tilt.squared else found.dual
        return Machine(found.coef, found.intercept, dual, found.n_iter, found.converged, found.gaps)
    frame = frame_of(data, intercept=with_b, shift=with_b and problem.intercept_penalty == 0)
    penalty = 1 / frame.scale**2
    if with_b:
        penalty = np.append(penalty, problem.intercept_penalty)

    def told(point: Array) -> bool:
        return report(*frame.outside(point))

    if tilt.squared:
        newton = steadily(
            data,
            lambda: tilted_newton(data, tilt, frame, penalty, tol=tol, max_iter=max_iter, report=told),
        )
        coef, intercept = frame.outside(newton.point)
        return Machine(coef, intercept, None, newton.n_iter, newton.converged, newton.values)
    inner = steadily(
        data,
        lambda: tilted_interior(data, tilt, frame, penalty, tol=tol, max_iter=max_iter, report=told),
    )
    coef, intercept = frame.outside(inner.point)
    return Machine(coef, intercept, inner.dual, inner.n_iter, inner.converged, inner.gaps)


class Judged(NamedTuple):
    """A machine measured on its rows."""

    evidence: Evidence
    gap: Gap
    outside: float
    residual: float


def judge(data: Rows, problem: Problem, coef: Array, intercept: float, dual: NDArray | None) -> Judged:
    """Measure a machine by one walk: its duality gap, box violation and stationarity."""
    evidence, outside = gather_tilted(data, problem.tilt, coef, intercept, dual)
    gap = problem.gap(evidence, coef, intercept)
    left = np.abs(coef - evidence.pulls.sum(axis=0))
    size = np.abs(coef) + evidence.sizes
    residual = float(np.divide(left, size, out=np.zeros_like(left), where=size > 0).max(initial=0.0))
    if problem.fit_intercept:
        mass = evidence.mass.sum() + problem.intercept_penalty * abs(intercept)
        level = abs(problem.intercept_penalty * intercept - evidence.mass @ [1.0, -1.0])
        residual = max(residual, level / mass if mass > 0 else 0.0)
    return Judged(evidence, gap, outside, residual)


def machine_certificates(
    judged: list[Judged], *, tol: float, squared: bool, dtype: Any, source: str
) -> list[Certificate]:
    """Duality gap, stationarity and, for losses with corners, feasibility: the worst of several machines."""
    single = np.dtype(dtype) == np.float32
    found = [
        at_most(
            "The objective is this close to its minimum.",
            "relative duality gap",
            max(item.gap.relative for item in judged),
            max(tol, 1e-4 if single else 1e-8),
            source=source,
        ),
        at_most(
            "The coefficients are the combination of rows that the dual point says, and it balances.",
            "KKT residual",
            max(item.residual for item in judged),
            max(np.sqrt(tol), 1e-3 if single else 1e-6),
            source=source,
        ),
    ]
    if not squared:
        found.append(
            at_most(
                "The dual point is inside its box.",
                "box violation",
                max(item.outside for item in judged),
                1e-5 if single else 1e-9,
                source=source,
            )
        )
    return found


def majorant(judged: list[Judged]) -> Certificate:
    """Training error against mean loss, summed over the machines of several classes.

    A row that the largest score puts in a wrong class has a loss of at least 1 in one of the machines.
    """
    total = judged[0].evidence.total
    return at_most(
        "The training error is at most the mean loss, which majorises it.",
        "training error",
        sum(item.evidence.wrong for item in judged) / total,
        sum(item.evidence.loss for item in judged) / total,
        source="Sangnier §1.2.1",
        trivial=1.0,
        tolerance=1e-12,
    )


def require_rows_of_the_fit(data: Rows, dual: NDArray) -> None:
    """Raise when there is not one row for each dual coefficient."""
    if dual.shape[-1] != data.shape[0]:
        raise ValueError(
            f"certify needs the {dual.shape[-1]} rows of the fit, one for each dual coefficient. "
            f"Got {data.shape[0]} rows instead."
        )
