"""What machines that are told a share of the rows have in common: its parameter, and what proves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from assay import parameters
from assay.certificates import Certificate, at_least, at_most
from assay.kernel_machines.support_vectors.base import MACHINE_DOMAINS
from assay.kernel_machines.support_vectors.machine import Standing
from assay.parameters import Domain
from assay.solvers.rkhs.fixed_sums import SumsSolution
from assay.solvers.rkhs.problem import Array, RKHSSolution

SHARE_DOMAINS: Mapping[str, Domain] = {
    **{
        name: MACHINE_DOMAINS[name]
        for name in (
            *("kernel", "gamma", "degree", "coef0", "kernel_params", "tol", "cache_size", "max_iter"),
            *("shrinking", "verbose", "history"),
        )
    },
    "nu": parameters.real(above=0.0, at_most=1.0),
}

ROUNDED = 1e-7
"""Room for sums of machines that were found between two others."""

FLAT = 1e-6
"""Norm over its largest possible value, below which no direction is left."""


class Shared(Protocol):
    """What a machine that was told a share says of itself, on its kernel or on features; see `Told`."""

    @property
    def total(self) -> float:
        """What Σ|ν| must be."""

    @property
    def misfit(self) -> float:
        """How much of ν must go, or come, for that."""

    @property
    def has_tube(self) -> bool:
        """Whether the share decides more than a tube of width 0."""

    @property
    def relative_gap(self) -> float:
        """Duality gap of the problem of the share."""

    def shares(self, tol: float) -> tuple[float, float]:
        """Shares of errors and of support vectors."""


class Told(NamedTuple):
    """A machine that was told a share: where its rows stand, and the sums that its ν must have.

    The objective is ½‖h‖² + Σ cost · loss + `level` · Σ `sums`, and `target` the y of its dual.
    """

    standing: Standing
    sums: tuple[float, float]
    level: float
    target: Array | None = None

    @property
    def total(self) -> float:
        """What Σ|ν| must be, or may be at most in a tube of width 0."""
        return sum(self.sums)

    @property
    def has_tube(self) -> bool:
        """Whether what the share decides is not a tube of width 0, which has no more than its rows give."""
        return self.target is None or self.level > 0

    @property
    def misfit(self) -> float:
        """How much of ν must go, or come, for the sums to be met; without a tube less may do."""
        coef = self.standing.coef
        masses = np.array([np.maximum(coef, 0).sum(), np.maximum(-coef, 0).sum()])
        wanted = np.array(self.sums)
        if not self.has_tube:
            wanted = np.minimum(wanted, masses.min())
        return float(np.abs(masses - wanted).sum())

    @property
    def relative_gap(self) -> float:
        """Duality gap over the objective.

        The dual point has its sums made right: what is moved for that changes ‖h‖ by κ times as much at most.
        """
        standing, moved = self.standing, self.misfit
        primal = standing.gap.primal + self.level * self.total
        norm = np.sqrt(standing.gap.squared_norm) + np.sqrt(standing.reach) * moved
        dual = -0.5 * norm**2
        if self.target is not None:
            dual += float(standing.coef @ self.target) - float(np.abs(self.target).max()) * moved
        scale = abs(primal) or 1.0
        return max(primal - dual, 0.0) / scale

    def shares(self, tol: float) -> tuple[float, float]:
        """Shares of errors and of support vectors; a row at its level to the root of the gap is no error."""
        standing = self.standing
        allowed = max(2 * np.sqrt(standing.reach * tol * standing.gap.scale), 1e-6)
        cost = standing.problem.cost
        errors, carried = cost @ (standing.slack > allowed), cost @ (standing.coef != 0)
        return float(errors / cost.sum()), float(carried / cost.sum())


def share_claims(
    machines: Sequence[Shared], nu: float, tol: float, *, single: bool, source: str, rounded: float = 1e-9
) -> list[Certificate]:
    """Duality gap of the problem of the share, the sums of ν, and errors ≤ ν ≤ support vectors.

    Shares and sums are held to what is `rounded`.
    """
    misfit = max(told.misfit / told.total for told in machines)
    gap = max(told.relative_gap for told in machines)
    digits = 1e-5 if single else rounded
    errors, carried = (
        np.array(values) for values in zip(*(each.shares(tol) for each in machines), strict=True)
    )
    tubes = np.array([told.has_tube for told in machines])
    return [
        at_most(
            "The coefficients of either sign have the sum that the share asks for.",
            "distance from the sum, over it",
            misfit,
            digits,
            source,
        ),
        at_most(
            "The objective of the share is this close to its minimum, by a feasible point of its dual.",
            "relative duality gap of the share",
            gap,
            max(2 * tol, 1e-3 if single else 1e-9),
            source,
        ),
        at_most(
            "At most a share ν of the rows is beyond its level.",
            "share of errors",
            float(errors.max()),
            nu + digits,
            source,
        ),
        at_least(
            "At least a share ν of the rows are support vectors.",
            "share of support vectors",
            float(np.where(tubes, carried, 1.0).min()),
            nu - digits,
            source,
        ),
    ]


def scaled(solution: SumsSolution, by: float, intercept: float) -> RKHSSolution:
    """The machine whose level is 1, from one whose level is `by`."""
    return RKHSSolution(
        solution.coef / by,
        intercept / by,
        (intercept / by, intercept / by),
        solution.products / by,
        solution.n_iter,
        solution.converged,
        solution.trace,
    )


def is_flat(solution: SumsSolution, reach: float) -> bool:
    """Whether ν combines kernels to the function 0, but for rounding."""
    values = solution.products[:, 0] - solution.products[:, 1]
    norm = np.sqrt(max(float(solution.coef @ values), 0.0))
    return bool(norm <= FLAT * np.sqrt(reach) * np.abs(solution.coef).sum())


def described(machines: Sequence[Shared], tol: float) -> dict[str, Any]:
    """Shares of errors and of support vectors of each machine."""
    errors, carried = zip(*(told.shares(tol) for told in machines), strict=True)
    return {"error_share_": np.array(errors), "support_share_": np.array(carried)}
