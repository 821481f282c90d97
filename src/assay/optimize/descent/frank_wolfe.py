"""The conditional gradient method: a linear oracle in place of a projection, and its own certificate."""

from __future__ import annotations

from itertools import count
from typing import Any, NamedTuple

import numpy as np

from assay.certificates import Certificates, at_most
from assay.optimize.descent.iteration import DescentState, States, exact_step, follow, read_start
from assay.optimize.descent.objective import Smooth
from assay.optimize.descent.trace import Bound, Trace
from assay.parameters import one_of, real, refusal, require
from assay.penalties import ConvexSet
from assay.solvers.least_squares.direct import Array

CONVEX = "f is convex"
SOURCE = "Frank and Wolfe (1956); Jaggi (2013)"
STEPS = ("2/(t+2)", "exact", "away")


class FrankWolfe(NamedTuple):
    """Result of `frank_wolfe`; `gap` bounds f(point) − f*, and `weights` mix the `atoms` to the point."""

    point: Array
    value: float
    gap: float
    n_iter: int
    converged: bool
    atoms: Array
    weights: Array
    gaps: Array
    trace: Trace
    certificates: Certificates


def frank_wolfe(
    objective: Smooth,
    domain: ConvexSet,
    start: Any,
    *,
    step: str = "2/(t+2)",
    tol: float = 1e-6,
    max_iter: int = 1000,
    keep_points: bool = False,
) -> FrankWolfe:
    """Minimise f over a compact convex set by moving towards s ∈ argmin ⟨∇f(x), s⟩.

    By convexity f(x) − f* ≤ ⟨∇f(x), x − s⟩: the gap that stops the method also proves its answer.

    Parameters
    ----------
    objective : Smooth
        f, convex.
    domain : ConvexSet
        The set, by its `linear_minimiser`.
    start : array-like of shape (d,)
        A direction: x₀ is the point of the set at which ⟨start, x⟩ is least.
    step : {"2/(t+2)", "exact", "away"}, default="2/(t+2)"
        A fixed rule; a search along the segment; or a search that may also move away from the worst atom used
        so far, which makes the convergence linear over polytopes.
    tol : float, default=1e-6
        Stops when the gap is at most tol.
    max_iter : int, default=1000
    keep_points : bool, default=False

    Examples
    --------
    >>> from assay.penalties import Simplex
    >>> from assay.optimize import frank_wolfe, quadratic
    >>> nearest = quadratic([[1.0, 0.0], [0.0, 1.0]], [2.0, 0.0])
    >>> result = frank_wolfe(nearest, Simplex(), [0.0, -1.0], step="exact")
    >>> result.point, result.gap, result.certificates.holds
    (array([1., 0.]), 0.0, True)

    References
    ----------
    Frank & Wolfe (1956); Jaggi (2013); Lacoste-Julien & Jaggi (2015).
    """
    if not isinstance(domain, ConvexSet):
        raise refusal("frank_wolfe", "domain", "a ConvexSet with a linear minimiser", domain)
    require("frank_wolfe", one_of(*STEPS), step=step)
    towards = read_start("frank_wolfe", start, tol=tol, max_iter=max_iter)
    mixture = _Mixture(np.asarray(domain.linear_minimiser(towards), dtype=float))
    states = _conditional_steps(objective, domain, mixture, step)
    run = follow(states, tol=tol, max_iter=max_iter, keep_points=keep_points)
    proofs = frank_wolfe_certificates(objective, domain, run.point, tol)
    atoms, gaps = np.array(mixture.atoms), run.trace.gradient_norms
    return FrankWolfe(*run[:5], atoms, mixture.weights, gaps, run.trace, proofs)


class _Mixture:
    """A point as a convex combination of the corners used so far."""

    def __init__(self, corner: Array) -> None:
        self.atoms, self.weights = [corner], np.ones(1)

    @property
    def point(self) -> Array:
        return self.weights @ np.array(self.atoms)

    def worst(self, gradient: Array, gap: float) -> int | None:
        """The atom to move away from, when that promises more than the gap."""
        heights = np.array([gradient @ atom for atom in self.atoms])
        highest = int(np.argmax(heights))
        promising = heights[highest] - gradient @ self.point > gap and self.weights[highest] < 1
        return highest if promising else None

    def towards(self, corner: Array, size: float) -> None:
        self.weights = (1 - size) * self.weights
        same = [k for k, atom in enumerate(self.atoms) if np.array_equal(atom, corner)]
        if same:
            self.weights[same[0]] += size
        else:
            self.atoms, self.weights = [*self.atoms, corner], np.append(self.weights, size)
        self._drop()

    def away(self, worst: int, size: float) -> None:
        self.weights = (1 + size) * self.weights
        self.weights[worst] -= size
        self._drop()

    def _drop(self) -> None:
        """Forget atoms without weight."""
        kept = self.weights > 1e-14
        self.atoms = [atom for atom, keep in zip(self.atoms, kept, strict=True) if keep]
        self.weights = self.weights[kept] / self.weights[kept].sum()


def _conditional_steps(objective: Smooth, domain: ConvexSet, mixture: _Mixture, rule: str) -> States:
    point, size = mixture.point, np.nan
    for t in count(2):
        gradient = objective.gradient(point)
        corner = np.asarray(domain.linear_minimiser(gradient), dtype=float)
        gap = float(gradient @ (point - corner))
        yield DescentState(point, float(objective.value(point)), gap, size)
        worst = mixture.worst(gradient, gap) if rule == "away" else None
        if worst is not None:
            # Farther than this the weight of the atom would turn negative.
            longest = float(mixture.weights[worst] / (1 - mixture.weights[worst]))
            size = min(exact_step(objective, point, mixture.atoms[worst] - point), longest)
            mixture.away(worst, size)
        else:
            size = 2 / t if rule == "2/(t+2)" else exact_step(objective, point, point - corner)
            size = min(size, 1.0)
            mixture.towards(corner, size)
        point = mixture.point


def frank_wolfe_certificates(objective: Smooth, domain: ConvexSet, point: Any, tol: float) -> Certificates:
    """The gap and the membership of any point, from the oracle and the definition of the set."""
    x = np.asarray(point, dtype=float)
    gradient = objective.gradient(x)
    gap = float(gradient @ (x - domain.linear_minimiser(gradient)))
    near, inside = "The objective is within the gap of its minimum over the set.", "The point is in the set."
    assumed = (CONVEX, "the point is in the set")
    room = 1e-8 * max(1.0, float(np.linalg.norm(x)))
    close = at_most(near, "Frank-Wolfe gap", gap, tol, SOURCE, assumptions=assumed)
    return Certificates([close, at_most(inside, "distance from the set", domain.distance(x), room, SOURCE)])


def frank_wolfe_rate(smoothness: float, diameter: float) -> Bound:
    """f(xₜ) − f* ≤ 2LD²/(t + 2) for t ≥ 1, over a set of diameter D."""
    require("frank_wolfe_rate", real(above=0), smoothness=smoothness, diameter=diameter)
    height = 2 * smoothness * diameter**2
    assumed = (CONVEX, f"∇f is Lipschitz with constant {smoothness:g}", f"the set has diameter {diameter:g}")
    claim, source = "The gap falls like 1/t without a projection.", "Jaggi (2013), theorem 1"

    def budget(epsilon: float) -> int:
        return max(1, int(np.ceil(height / epsilon - 2)))

    return Bound(claim, "gap", lambda t: height / (t + 2), assumed, source, 1, budget)
