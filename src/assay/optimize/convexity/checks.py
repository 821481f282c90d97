"""Numeric testers of convexity, smoothness and optimality: they refute with a counterexample.

A tester looks at given points and all pairs of them. When the property fails there it returns the worst
pair; when it holds there, it has only failed to refute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from assay.certificates import Certificate, at_least, at_most
from assay.optimize.descent.iteration import stationary
from assay.optimize.descent.objective import Smooth
from assay.parameters import array, refusal
from assay.solvers.least_squares.direct import Array

Value = Callable[[Array], float]


class Check(NamedTuple):
    """What a tester saw: its certificate, and the points that refute the claim when it fails."""

    certificate: Certificate
    counterexample: tuple[Array, ...] | None

    @property
    def holds(self) -> bool:
        """Whether there is no counterexample."""
        return self.certificate.holds


class _Sampled(NamedTuple):
    points: Array
    values: Array
    gradients: Array

    @property
    def difference(self) -> Array:
        """xⱼ − xᵢ, at [i, j]."""
        return self.points[None, :, :] - self.points[:, None, :]

    @property
    def tangent(self) -> Array:
        """f(xᵢ) + ⟨∇f(xᵢ), xⱼ − xᵢ⟩, at [i, j]."""
        return self.values[:, None] + np.einsum("id,ijd->ij", self.gradients, self.difference)

    @property
    def turn(self) -> Array:
        """∇f(xⱼ) − ∇f(xᵢ), at [i, j]."""
        return self.gradients[None, :, :] - self.gradients[:, None, :]

    @property
    def scale(self) -> float:
        """Size of the numbers compared, for the rounding."""
        steepest, farthest = (np.linalg.norm(x, axis=1).max() for x in (self.gradients, self.points))
        return float(np.abs(self.values).max() + steepest * (1 + farthest))


def check_chord(value: Value | Smooth, points: Any, weights: Sequence[float] = (0.25, 0.5, 0.75)) -> Check:
    """Convexity by chords: f(ax + (1 − a)y) ≤ a f(x) + (1 − a) f(y). Needs values only."""
    f = value.value if isinstance(value, Smooth) else value
    x = _points("check_chord", points)
    heights = np.array([f(point) for point in x])
    worst, pair = -np.inf, (x[0], x[0])
    for i, j, a in product(range(len(x)), range(len(x)), weights):
        excess = f(a * x[i] + (1 - a) * x[j]) - a * heights[i] - (1 - a) * heights[j] if j < i else -np.inf
        if excess > worst:
            worst, pair = excess, (x[i], x[j])
    claim, scale = "The function is below its chords.", float(np.abs(heights).max())
    return _verdict(claim, "largest f − chord", worst, pair, scale, "Rudi 2.2.1")


def check_tangent(objective: Smooth, points: Any) -> Check:
    """Convexity to first order: f(y) ≥ f(x) + ⟨∇f(x), y − x⟩."""
    seen = _sample("check_tangent", objective, points)
    excess = seen.tangent - seen.values[None, :]
    claim = "The function is above its tangents."
    return _worst(claim, "largest tangent − f", excess, seen, "Sangnier 1.4.5; Rudi 2.2.3; Douc 5.1")


def check_monotone_gradient(objective: Smooth, points: Any) -> Check:
    """Convexity by the gradient: ⟨∇f(y) − ∇f(x), y − x⟩ ≥ 0; on the line, f′ never falls."""
    seen = _sample("check_monotone_gradient", objective, points)
    excess = -np.einsum("ijd,ijd->ij", seen.turn, seen.difference)
    return _worst("The gradient is monotone.", "largest −⟨Δ∇f, Δx⟩", excess, seen, "Douc 5.1")


def check_hessian(objective: Smooth, points: Any) -> Check:
    """Convexity to second order: no negative eigenvalue; refuted by a point and a direction."""
    if objective.hessian is None:
        raise refusal("check_hessian", "objective", "one with a hessian", None)
    x = _points("check_hessian", points)
    spectra = [np.linalg.eigh(objective.hessian(point)) for point in x]
    lowest = np.array([values[0] for values, _ in spectra])
    at = int(np.argmin(lowest))
    size = max(float(np.abs(values).max()) for values, _ in spectra)
    claim, name = "The Hessian has no negative eigenvalue.", "smallest eigenvalue"
    tolerance = 1e-10 * size
    proof = at_least(claim, name, lowest[at], 0.0, source="Rudi 2.2.3; Douc 5.1", tolerance=tolerance)
    return Check(proof, None if proof.holds else (x[at], spectra[at][1][:, 0]))


def check_slopes(value: Callable[[float], float], grid: Any) -> Check:
    """Convexity on the line: the slope (f(x) − f(x₀))/(x − x₀) never falls with x, from each x₀."""
    x = np.unique(np.asarray(grid, dtype=float).ravel())
    if len(x) < 3:
        raise refusal("check_slopes", "grid", "at least three different numbers", grid)
    heights = np.array([float(value(point)) for point in x])
    worst, triple = -np.inf, (0, 0, 0)
    for i in range(len(x)):
        others = np.delete(np.arange(len(x)), i)
        slopes = (heights[others] - heights[i]) / (x[others] - x[i])
        falls = slopes[:-1] - slopes[1:]
        k = int(np.argmax(falls))
        if falls[k] > worst:
            worst, triple = float(falls[k]), (i, int(others[k]), int(others[k + 1]))
    room = 1e-10 * float(np.abs(heights).max()) / float(np.diff(x).min())
    claim = "Slopes from a point never fall."
    proof = at_most(claim, "largest fall of a slope", worst, 0.0, "Douc 5.1", tolerance=room)
    return Check(proof, None if proof.holds else tuple(x[[k]] for k in triple))


def check_convexity(objective: Smooth, points: Any) -> tuple[Check, ...]:
    """All tests of convexity that the objective allows: chords, tangents, gradient, Hessian."""
    tests: list[Callable[..., Check]] = [check_chord, check_tangent, check_monotone_gradient]
    tests += [check_hessian] if objective.hessian is not None else []
    return tuple(test(objective, points) for test in tests)


def check_smoothness(
    objective: Smooth, points: Any, smoothness: float | None = None, *, tight: bool = True
) -> Check:
    """f(y) ≤ f(x) + ⟨∇f(x), y − x⟩ + (L/2)‖y − x‖²; `tight=False` has L for L/2."""
    L = _constant("check_smoothness", "smoothness", smoothness, objective.smoothness)
    seen = _sample("check_smoothness", objective, points)
    squared = np.sum(seen.difference**2, axis=2)
    excess = seen.values[None, :] - seen.tangent - (L / 2 if tight else L) * squared
    claim = f"The function is below its tangent plus a parabola of curvature {L if tight else 2 * L:g}."
    return _worst(claim, "largest f − parabola", excess, seen, "Rudi 3.2.2; Douc 5.2")


def check_lipschitz_gradient(objective: Smooth, points: Any, smoothness: float | None = None) -> Check:
    """‖∇f(y) − ∇f(x)‖ ≤ L‖y − x‖."""
    L = _constant("check_lipschitz_gradient", "smoothness", smoothness, objective.smoothness)
    seen = _sample("check_lipschitz_gradient", objective, points)
    excess = np.linalg.norm(seen.turn, axis=2) - L * np.linalg.norm(seen.difference, axis=2)
    claim = f"The gradient is Lipschitz with constant {L:g}."
    return _worst(claim, "largest ‖Δ∇f‖ − L‖Δx‖", excess, seen, "Rudi 3.2.2")


def check_cocoercivity(objective: Smooth, points: Any, smoothness: float | None = None) -> Check:
    """For f convex and L-smooth, ⟨Δ∇f, Δx⟩ ≥ ‖Δ∇f‖²/L, and tangents are below f by ‖Δ∇f‖²/(2L)."""
    L = _constant("check_cocoercivity", "smoothness", smoothness, objective.smoothness)
    seen = _sample("check_cocoercivity", objective, points)
    squared = np.sum(seen.turn**2, axis=2)
    pairing = squared / L - np.einsum("ijd,ijd->ij", seen.turn, seen.difference)
    below = seen.tangent - seen.values[None, :] + squared / (2 * L)
    claim, worst = f"The gradient is co-coercive with constant 1/{L:g}.", np.maximum(pairing, below)
    return _worst(claim, "largest ‖Δ∇f‖²/L − ⟨Δ∇f, Δx⟩", worst, seen, "Douc 5.2")


def check_strong_convexity(objective: Smooth, points: Any, alpha: float | None = None) -> Check:
    """f(x) ≥ f(y) + ⟨∇f(y), x − y⟩ + (α/2)‖y − x‖²."""
    modulus = _constant("check_strong_convexity", "alpha", alpha, objective.strong_convexity)
    seen = _sample("check_strong_convexity", objective, points)
    excess = seen.tangent + modulus / 2 * np.sum(seen.difference**2, axis=2) - seen.values[None, :]
    claim = f"The function is above its tangent plus a parabola of curvature {modulus:g}."
    return _worst(claim, "largest parabola − f", excess, seen, "Douc 5.3")


def estimate_smoothness(objective: Smooth, points: Any, *, cocoercive: bool = False) -> float:
    """The smallest L that the points allow: the largest ‖Δ∇f‖/‖Δx‖, or ‖Δ∇f‖²/⟨Δ∇f, Δx⟩ for convex f.

    A lower bound of the true constant, reached as the points fill the space.
    """
    seen = _sample("estimate_smoothness", objective, points)
    turned = np.sum(seen.turn**2, axis=2)
    if cocoercive:
        pairing = np.einsum("ijd,ijd->ij", seen.turn, seen.difference)
        ratio = np.divide(turned, pairing, out=np.full_like(turned, np.inf), where=pairing > 0)
        return float(np.max(ratio, where=turned > 0, initial=0.0))
    moved = np.sum(seen.difference**2, axis=2)
    return float(np.sqrt(np.max(np.divide(turned, moved, out=np.zeros_like(turned), where=moved > 0))))


def estimate_strong_convexity(objective: Smooth, points: Any) -> float:
    """The largest α that the points allow: the smallest ⟨Δ∇f, Δx⟩/‖Δx‖², an upper bound of the modulus."""
    seen = _sample("estimate_strong_convexity", objective, points)
    moved = np.sum(seen.difference**2, axis=2)
    pairing = np.einsum("ijd,ijd->ij", seen.turn, seen.difference)
    return float(np.min(np.divide(pairing, moved, out=np.full_like(moved, np.inf), where=moved > 0)))


def jensen_gap(value: Callable[[Any], float], points: Any, weights: Any = None) -> float:
    """Σ wᵢ f(xᵢ) − f(Σ wᵢxᵢ), never negative for a convex f; equal weights by default."""
    x = np.asarray(points, dtype=float)
    w = np.full(len(x), 1 / max(len(x), 1)) if weights is None else np.asarray(weights, dtype=float)
    if len(x) == 0 or w.shape != x.shape[:1] or np.any(w < 0) or not np.isclose(w.sum(), 1):
        raise refusal("jensen_gap", "weights", "a non-negative number per point, of sum 1", weights)
    return float(w @ np.array([float(value(point)) for point in x]) - value(np.tensordot(w, x, axes=1)))


def check_minimiser(objective: Smooth, point: Any, tol: float = 1e-8) -> Check:
    """Fermat's rule; refuted by a lower point down the gradient."""
    x = np.asarray(point, dtype=float)
    proof = stationary(objective, x, tol)
    if proof.holds:
        return Check(proof, None)
    gradient, height, size = objective.gradient(x), objective.value(x), 1.0
    for _ in range(100):
        if objective.value(x - size * gradient) < height:
            break
        size /= 2
    return Check(proof, (x - size * gradient,))


def gap_bound(objective: Smooth, point: Any) -> float:
    """f(x) − f* ≤ ‖∇f(x)‖²/(2α) for a strongly convex f; infinite when no modulus is known."""
    if not objective.strong_convexity:
        return float("inf")
    gradient = objective.gradient(np.asarray(point, dtype=float))
    return float(gradient @ gradient) / (2 * objective.strong_convexity)


def check_projection(project: Callable[[Array], Array], points: Any, members: Any) -> Check:
    """⟨x − Πx, c − Πx⟩ ≤ 0 for members c of the set, hence ‖x − Πx‖² + ‖c − Πx‖² ≤ ‖x − c‖²."""
    x, c = _points("check_projection", points), _points("check_projection", members)
    image = np.array([project(point) for point in x])
    angle = np.einsum("id,ijd->ij", x - image, c[None, :, :] - image[:, None, :])
    i, j = np.unravel_index(int(np.argmax(angle)), angle.shape)
    room = 1e-10 * float((1 + np.abs(x).max() + np.abs(c).max()) ** 2) * x.shape[1]
    claim = "The map is the projection on the set, as far as the members tell."
    proof = at_most(claim, "largest ⟨x − Πx, c − Πx⟩", angle[i, j], 0.0, "Douc 5.3", tolerance=room)
    return Check(proof, None if proof.holds else (x[i], c[j]))


def _worst(claim: str, quantity: str, excess: Array, seen: _Sampled, source: str) -> Check:
    i, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
    pair = seen.points[i], seen.points[j]
    return _verdict(claim, quantity, float(excess[i, j]), pair, seen.scale, source)


def _verdict(claim: str, quantity: str, worst: float, pair: Any, scale: float, source: str) -> Check:
    proof = at_most(claim, quantity, worst, 0.0, source=source, tolerance=1e-10 * scale)
    return Check(proof, None if proof.holds else pair)


def _points(owner: str, points: Any) -> Array:
    if not array("", lambda values: values.ndim == 2 and len(values) >= 1).contains(points):
        raise refusal(owner, "points", "a matrix of finite numbers, one point per row", points)
    return np.asarray(points, dtype=float)


def _sample(owner: str, objective: Smooth, points: Any) -> _Sampled:
    x = _points(owner, points)
    values = np.array([float(objective.value(point)) for point in x])
    return _Sampled(x, values, np.array([objective.gradient(point) for point in x]))


def _constant(owner: str, name: str, given: float | None, known: float | None) -> float:
    constant = known if given is None else given
    if constant is None or not 0 <= constant < np.inf:
        raise refusal(owner, name, "a finite number at least 0, given here or known to the objective", given)
    return float(constant)
