"""What the theorems promise: bounds as functions of the iteration, and how many iterations are enough."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from assay.optimize.descent.trace import Bound, Curve, Quantity, Trace
from assay.parameters import real, refusal, require
from assay.solvers.least_squares.direct import Array

Texts: TypeAlias = tuple[str, ...]

CONVEX = "f is convex"
CONSTANT_NOISE = "the stochastic gradients are unbiased, with variance at most σ² at the visited points"


class Plan(NamedTuple):
    """How to reach an accuracy: so many iterations, with this step; `bound` is what is then promised."""

    n_iter: int
    step: float
    bound: float


def descent_lemma(trace: Trace, smoothness: float, *, tight: bool = True) -> Bound:
    """f(xₜ₊₁) ≤ f(xₜ) − γ(1 − Lγ/2)‖∇f(xₜ)‖², with γ the step taken; `tight=False` has Lγ for Lγ/2.

    With γ = 1/L the decrease is at least ‖∇f‖²/(2L). When it fails, the smoothness is underestimated.
    """
    L = _positive("descent_lemma", "smoothness", smoothness)
    step, norm = trace.step_sizes, trace.gradient_norms[: len(trace.step_sizes)]
    promised = trace.values[: len(step)] - step * (1 - L * step / (2 if tight else 1)) * norm**2
    claim = "Each step lowers the objective by what the descent lemma promises."
    assumed = (_lipschitz(L), "each point is xₜ₊₁ = xₜ − γₜ∇f(xₜ)")
    return Bound(claim, "value", _shifted(trace, promised), assumed, "Rudi 3.2.2; Douc 5.1", trace.first + 1)


def distance_never_grows(trace: Trace, minimiser: Array) -> Bound:
    """‖xₜ₊₁ − x*‖ ≤ ‖xₜ − x*‖: steps at most 2/L on a convex objective never move away from a minimiser."""
    squared = trace.measured("squared distance", minimiser=minimiser)
    assumed = (CONVEX, "∇f is Lipschitz with constant L", "steps at most 2/L")
    curve, claim = _shifted(trace, squared[:-1]), "No step moves away from the minimiser."
    return Bound(claim, "squared distance", curve, assumed, "Douc 5.2", trace.first + 1)


def linear_rate(step: float, smoothness: float, strong_convexity: float, squared_distance: float) -> Bound:
    """‖xₙ − x*‖² ≤ (1 − γμ)ⁿ‖x₀ − x*‖² for a constant step γ ≤ 1/L."""
    owner = "linear_rate"
    mu = _modulus(owner, strong_convexity, smoothness)
    gamma, R2 = _step(owner, step, smoothness), _radius(owner, squared_distance)
    claim = "The distance to the minimiser shrinks by 1 − γμ at every step."
    assumed = _strong(mu, smoothness, f"constant step γ = {gamma:g}")
    return _geometric(claim, "squared distance", R2, 1 - gamma * mu, gamma * mu, assumed, "Rudi 3.2.2")


def convex_rate(step: float, smoothness: float, squared_distance: float) -> Bound:
    """f(xₙ) − f* ≤ ‖x₀ − x*‖²/(2γn) for a constant step γ ≤ 1/L, without strong convexity."""
    gamma, R2 = _step("convex_rate", step, smoothness), _radius("convex_rate", squared_distance)
    assumed = (CONVEX, _lipschitz(smoothness), f"constant step γ = {gamma:g}")
    claim, source = "The gap falls like 1/n.", "companion of Rudi 3.2.2"
    return _hyperbolic("convex_rate", claim, R2 / (2 * gamma), 0.0, assumed, source)


def smooth_rate(smoothness: float, squared_distance: float, *, scalar: bool = False) -> Bound:
    """f(xₙ) − f* ≤ 2L‖x₀ − x*‖²/(n + 4) with the step 1/L; `scalar=True`: 2L|x₀ − x*|²/n, on the line."""
    owner, shift = "smooth_rate", 0 if scalar else 4
    L, R2 = _positive(owner, "smoothness", smoothness), _radius(owner, squared_distance)
    height, source = 2 * L * R2, "Douc 5.1" if scalar else "Douc 5.2"
    return Bound(
        "The gap falls like 1/n with the step 1/L.",
        "gap",
        lambda n: height / np.maximum(n + shift, 1),
        (CONVEX, _lipschitz(L), "step 1/L"),
        source,
        1 if scalar else 0,
        lambda epsilon: max(0, _ceil(height / epsilon - shift)),
    )


def accelerated_rate(smoothness: float, squared_distance: float) -> Bound:
    """f(xₙ) − f* ≤ 2L‖x₀ − x*‖²/(n + 1)² for Nesterov's method with the step 1/L."""
    owner = "accelerated_rate"
    L, R2 = _positive(owner, "smoothness", smoothness), _radius(owner, squared_distance)
    return Bound(
        "The gap falls like 1/n² with Nesterov's momentum.",
        "gap",
        lambda n: 2 * L * R2 / (n + 1) ** 2,
        (CONVEX, _lipschitz(L), "step 1/L, no restart"),
        "Beck and Teboulle (2009), theorem 4.4",
        first=1,
        budget=lambda epsilon: max(0, _ceil(math.sqrt(2 * L * R2 / epsilon) - 1)),
    )


def strongly_convex_rate(smoothness: float, strong_convexity: float, squared_distance: float) -> Bound:
    """‖xₙ − x*‖² ≤ e^{−αn/L}‖x₀ − x*‖² with the step 1/L."""
    owner = "strongly_convex_rate"
    alpha, R2 = _modulus(owner, strong_convexity, smoothness), _radius(owner, squared_distance)
    claim = "The distance to the minimiser shrinks by e^{−α/L} at every step."
    assumed, rate = _strong(alpha, smoothness, "step 1/L"), alpha / smoothness
    return _geometric(claim, "squared distance", R2, math.exp(-rate), rate, assumed, "Douc 5.3")


def optimal_step_rate(smoothness: float, strong_convexity: float, squared_distance: float) -> Bound:
    """f(xₙ) − f* ≤ (L/2) e^{−4n/(L/α + 1)}‖x₀ − x*‖² with the step 2/(α + L)."""
    owner = "optimal_step_rate"
    alpha, R2 = _modulus(owner, strong_convexity, smoothness), _radius(owner, squared_distance)
    rate, first = 4 / (smoothness / alpha + 1), smoothness * R2 / 2
    claim = "The gap shrinks by e^{−4/(κ + 1)} at every step."
    assumed = _strong(alpha, smoothness, "step 2/(α + L)")
    return _geometric(claim, "gap", first, math.exp(-rate), rate, assumed, "Douc 5.3")


def inexact_rate(
    step: float, smoothness: float, strong_convexity: float, quality: float, gap: float
) -> Bound:
    """f(xₙ) − f* ≤ (1 − gγμ)ⁿ (f(x₀) − f*) for directions P(∇f) of quality g and a constant step γ ≤ 1/L."""
    owner = "inexact_rate"
    mu, gamma = _modulus(owner, strong_convexity, smoothness), _step(owner, step, smoothness)
    start = _radius(owner, gap, "gap")
    require(owner, real(above=0, at_most=1), quality=quality)
    claim, rate = "The gap shrinks by 1 − gγμ at every step along an inexact direction.", quality * gamma * mu
    close = f"‖y − P(y)‖² ≤ (1 − {quality:g})‖y‖² at every gradient y"
    assumed = (*_strong(mu, smoothness, f"constant step γ = {gamma:g}"), close)
    return _geometric(claim, "gap", start, 1 - rate, rate, assumed, "Sangnier, exercise 1.8")


def projected_rate(step: float, gradient_bound: float, squared_distance: float) -> Bound:
    """f(mean of x₁ … xₙ) − f* ≤ ηG²/2 + ‖x₁ − x*‖²/(2ηn) for projected descent with a constant step η."""
    owner = "projected_rate"
    eta, G = _positive(owner, "step", step), _positive(owner, "gradient_bound", gradient_bound)
    R2 = _radius(owner, squared_distance)
    floor = eta * G**2 / 2
    claim = "The average of the points is as good as projected descent promises."
    assumed = (CONVEX, f"‖∇f‖ ≤ {G:g} on the convex set C", "the start x₁ is in C", f"constant step {eta:g}")
    return _hyperbolic(owner, claim, R2 / (2 * eta), floor, assumed, "Douc 5.3")


def projected_plan(
    radius: float, gradient_bound: float, epsilon: float, *, start_within_radius: bool = False
) -> Plan:
    """Iterations and step of averaged projected descent for a gap of `epsilon`, C in the ball of `radius`.

    Two points of C may be two radii apart, so the promise is 2rG/√n with the step 2r/(G√n); it is rG/√n
    with the step r/(G√n) when the start is known to be within one radius of a minimiser.
    """
    owner = "projected_plan"
    reach = _positive(owner, "radius", radius) * (1 if start_within_radius else 2)
    G, goal = _positive(owner, "gradient_bound", gradient_bound), _positive(owner, "epsilon", epsilon)
    n = max(1, _ceil((reach * G / goal) ** 2))
    return Plan(n, reach / (G * math.sqrt(n)), reach * G / math.sqrt(n))


def stochastic_rate(
    step: float, smoothness: float, strong_convexity: float, squared_distance: float, variance: float
) -> Bound:
    """E‖xₙ − x*‖² ≤ (1 − μγ)ⁿ‖x₀ − x*‖² + γσ²/μ for a constant step γ ≤ 1/(2L).

    The last term does not go to zero with n: a constant step stalls at its noise floor.
    """
    owner = "stochastic_rate"
    mu, R2 = _modulus(owner, strong_convexity, smoothness), _radius(owner, squared_distance)
    gamma = _step(owner, step, 2 * smoothness, "1/(2L)")
    floor = gamma * _radius(owner, variance, "variance") / mu
    claim, rate = "In expectation the distance shrinks to the noise floor γσ²/μ.", mu * gamma
    assumed = (*_strong(mu, smoothness, f"constant step γ = {gamma:g}"), CONSTANT_NOISE)
    bound = _geometric(claim, "squared distance", R2, 1 - rate, rate, assumed, "Rudi 3.2.3")
    return replace(
        bound,
        curve=lambda n: bound.curve(n) + floor,
        budget=lambda epsilon: bound.iterations(epsilon - _above(owner, epsilon, floor)),
    )


def stochastic_plan(
    smoothness: float, strong_convexity: float, squared_distance: float, variance: float, epsilon: float
) -> Plan:
    """Iterations and constant step for E‖xₙ − x*‖² ≤ ε: half of ε for the noise floor, half for the start."""
    owner = "stochastic_plan"
    mu, goal = _modulus(owner, strong_convexity, smoothness), _positive(owner, "epsilon", epsilon)
    noise = _radius(owner, variance, "variance")
    step = min(1 / (2 * smoothness), mu * goal / (2 * noise) if noise else math.inf)
    bound = stochastic_rate(step, smoothness, strong_convexity, squared_distance, variance)
    n = bound.iterations(goal)
    return Plan(n, step, float(bound(n)))


def averaged_stochastic_rate(
    step: float, smoothness: float, squared_distance: float, variance: float
) -> Bound:
    """E f(mean of x₁ … xₙ) − f* ≤ ‖x₀ − x*‖²/(2ηn) + ησ² for a constant step η ≤ 1/L."""
    owner = "averaged_stochastic_rate"
    eta, R2 = _step(owner, step, smoothness), _radius(owner, squared_distance)
    floor = eta * _radius(owner, variance, "variance")
    claim = "In expectation the average of the points is as good as averaging promises."
    assumed = (CONVEX, _lipschitz(smoothness), CONSTANT_NOISE, f"constant step {eta:g}")
    return _hyperbolic(owner, claim, R2 / (2 * eta), floor, assumed, "Douc 5.4")


def averaged_stochastic_plan(
    smoothness: float, squared_distance: float, variance: float, epsilon: float
) -> Plan:
    """Iterations and step for E f(average) − f* ≤ ε: the step is ‖x₀ − x*‖/(σ√(2n)), and n makes it ≤ 1/L."""
    owner = "averaged_stochastic_plan"
    L, goal = _positive(owner, "smoothness", smoothness), _positive(owner, "epsilon", epsilon)
    R2 = _positive(owner, "squared_distance", squared_distance)
    noise = _positive(owner, "variance", variance)
    n = max(_ceil(2 * noise * R2 / goal**2), _ceil(L**2 * R2 / (2 * noise)))
    step = min(math.sqrt(R2 / (2 * noise * n)), 1 / L)
    return Plan(n, step, float(averaged_stochastic_rate(step, L, R2, noise)(n)))


def _shifted(trace: Trace, promised: Array) -> Curve:
    """The curve whose value at an iteration was computed from the entry before it."""
    if len(promised) == 0:
        return lambda n: np.full(n.shape, np.inf)
    return lambda n: promised[np.clip(n.astype(int) - trace.first - 1, 0, len(promised) - 1)]


def _geometric(
    claim: str, what: Quantity, first: float, factor: float, rate: float, assumed: Texts, source: str
) -> Bound:
    """A quantity that starts at `first` and shrinks by `factor` ≤ e^{−rate} at every step."""

    def budget(epsilon: float) -> int:
        return _ceil(math.log(max(first / epsilon, 1.0)) / rate)

    return Bound(claim, what, lambda n: first * factor**n, assumed, source, 0, budget)


def _hyperbolic(owner: str, claim: str, height: float, floor: float, assumed: Texts, source: str) -> Bound:
    """A gap of at most height/n + floor after n steps."""

    def budget(epsilon: float) -> int:
        return _ceil(height / (epsilon - _above(owner, epsilon, floor)))

    return Bound(claim, "gap", lambda n: height / np.maximum(n, 1) + floor, assumed, source, 1, budget)


def _ceil(x: float) -> int:
    # The last digits are rounding of the formula, not a further iteration.
    return math.ceil(x * (1 - 1e-12)) if x > 0 else 0


def _positive(owner: str, name: str, value: float) -> float:
    require(owner, real(above=0), **{name: value})
    return float(value)


def _radius(owner: str, value: float, name: str = "squared_distance") -> float:
    require(owner, real(at_least=0), **{name: value})
    return float(value)


def _modulus(owner: str, alpha: float, smoothness: float) -> float:
    L = _positive(owner, "smoothness", smoothness)
    if not real(above=0, at_most=L).contains(alpha):
        raise refusal(owner, "strong_convexity", f"above 0 and at most the smoothness ({L:g})", alpha)
    return float(alpha)


def _step(owner: str, step: float, smoothness: float, words: str = "1/L") -> float:
    largest = 1 / _positive(owner, "smoothness", smoothness)
    if not real(above=0).contains(step) or step > largest * (1 + 1e-12):
        raise refusal(owner, "step", f"above 0 and at most {words} ({largest:g})", step)
    return float(step)


def _above(owner: str, epsilon: float, floor: float) -> float:
    if epsilon <= floor:
        raise refusal(owner, "epsilon", f"above the floor that a constant step leaves ({floor:g})", epsilon)
    return floor


def _lipschitz(smoothness: float) -> str:
    return f"∇f is Lipschitz with constant {smoothness:g}"


def _strong(mu: float, smoothness: float, step: str) -> Texts:
    return f"f is strongly convex with modulus {mu:g}", _lipschitz(smoothness), step
