"""The conditional gradient method: a linear oracle in place of a projection, and its own certificate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certificates import Certificates, at_most
from assay.optimize.descent.objective import Smooth
from assay.optimize.descent.steps import exact_step
from assay.optimize.descent.trace import Bound, Trace
from assay.parameters import array, integer, one_of, real, refusal
from assay.penalties import ConvexSet
from assay.solvers.least_squares.direct import Array

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
    >>> found = frank_wolfe(nearest, Simplex(), [0.0, -1.0], step="exact")
    >>> found.point, found.gap, found.certificates.holds
    (array([1., 0.]), 0.0, True)

    References
    ----------
    Frank & Wolfe (1956); Jaggi (2013); Lacoste-Julien & Jaggi (2015).
    """
    owner = "frank_wolfe"
    _check(owner, domain, start, step, tol, max_iter)
    point = np.asarray(domain.linear_minimiser(np.asarray(start, dtype=float)), dtype=float)
    atoms, weights = [point], np.ones(1)
    values, points = [float(objective.value(point))], [point]
    gaps: list[float] = []
    steps: list[float] = []
    while True:
        gradient = objective.gradient(point)
        corner = np.asarray(domain.linear_minimiser(gradient), dtype=float)
        gap = float(gradient @ (point - corner))
        gaps.append(gap)
        if gap <= tol or len(steps) >= max_iter:
            break
        direction, longest, worst = point - corner, 1.0, -1
        if step == "away":
            heights = np.array([gradient @ atom for atom in atoms])
            worst = int(np.argmax(heights))
            if heights[worst] - gradient @ point > gap and weights[worst] < 1:
                direction, longest = atoms[worst] - point, float(weights[worst] / (1 - weights[worst]))
            else:
                worst = -1
        size = 2 / (len(steps) + 2) if step == "2/(t+2)" else exact_step(objective, point, direction)
        size = min(size, longest)
        atoms, weights = _mix(atoms, weights, corner, size, worst)
        point = weights @ np.array(atoms)
        steps.append(size)
        values.append(float(objective.value(point)))
        if keep_points:
            points.append(point)
    trace = Trace(
        np.array(values), np.array(gaps), np.array(steps), np.array(points) if keep_points else None
    )
    proofs = frank_wolfe_certificates(objective, domain, point, tol)
    return FrankWolfe(
        point,
        values[-1],
        gap,
        len(steps),
        gap <= tol,
        np.array(atoms),
        weights,
        np.array(gaps),
        trace,
        proofs,
    )


def frank_wolfe_certificates(objective: Smooth, domain: ConvexSet, point: Any, tol: float) -> Certificates:
    """The gap and the membership of any point, from the oracle and the definition of the set."""
    x = np.asarray(point, dtype=float)
    gradient = objective.gradient(x)
    gap = float(gradient @ (x - domain.linear_minimiser(gradient)))
    return Certificates(
        [
            at_most(
                "The objective is within the gap of its minimum over the set.",
                "Frank-Wolfe gap",
                gap,
                tol,
                source=SOURCE,
                assumptions=("f is convex", "the point is in the set"),
            ),
            at_most(
                "The point is in the set.",
                "distance from the set",
                domain.distance(x),
                1e-8 * max(1.0, float(np.linalg.norm(x))),
                source=SOURCE,
            ),
        ]
    )


def frank_wolfe_rate(smoothness: float, diameter: float) -> Bound:
    """f(xₜ) − f* ≤ 2LD²/(t + 2) for t ≥ 1, over a set of diameter D."""
    for name, value in (("smoothness", smoothness), ("diameter", diameter)):
        if not real(above=0).contains(value):
            raise refusal("frank_wolfe_rate", name, "a finite number above 0", value)
    height = 2 * smoothness * diameter**2
    return Bound(
        "The gap falls like 1/t without a projection.",
        "gap",
        lambda t: height / (t + 2),
        (
            "f is convex",
            f"∇f is Lipschitz with constant {smoothness:g}",
            f"the set has diameter {diameter:g}",
        ),
        "Jaggi (2013), theorem 1",
        first=1,
        budget=lambda epsilon: max(1, int(np.ceil(height / epsilon - 2))),
    )


def _mix(
    atoms: list[Array], weights: Array, corner: Array, size: float, worst: int
) -> tuple[list[Array], Array]:
    """Weights after a step towards the corner, or away from an atom; atoms without weight are dropped."""
    if worst >= 0:
        weights = (1 + size) * weights
        weights[worst] -= size
    else:
        weights = (1 - size) * weights
        same = [k for k, atom in enumerate(atoms) if np.array_equal(atom, corner)]
        if same:
            weights[same[0]] += size
        else:
            atoms, weights = [*atoms, corner], np.append(weights, size)
    kept = weights > 1e-14
    atoms = [atom for atom, keep in zip(atoms, kept, strict=True) if keep]
    return atoms, weights[kept] / weights[kept].sum()


def _check(owner: str, domain: Any, start: Any, step: Any, tol: Any, max_iter: Any) -> None:
    if not isinstance(domain, ConvexSet):
        raise refusal(owner, "domain", "a ConvexSet with a linear minimiser", domain)
    if not array("", lambda values: values.ndim == 1 and values.size > 0).contains(start):
        raise refusal(owner, "start", "a vector of finite numbers", start)
    if not one_of(*STEPS).contains(step):
        raise refusal(owner, "step", one_of(*STEPS).words, step)
    if not real(at_least=0).contains(tol):
        raise refusal(owner, "tol", "a finite number at least 0", tol)
    if not integer(at_least=1).contains(max_iter):
        raise refusal(owner, "max_iter", "an int at least 1", max_iter)
