"""Penalised empirical risk: any loss, any penalty, any solver that can serve them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay import losses
from assay.optimize.descent.frank_wolfe import frank_wolfe
from assay.optimize.descent.gradient import accelerated_gradient, gradient_descent, projected_gradient
from assay.optimize.descent.newton import newton
from assay.optimize.descent.objective import Smooth, squared_norm, sum_of_losses, weighted_sum
from assay.optimize.descent.proximal import Simple, proximal_gradient, proximal_newton
from assay.optimize.descent.splitting import admm
from assay.parameters import boolean, matrix, real, refusal, require, vector
from assay.penalties import L1, ConvexSet, SquaredNorm
from assay.solvers.least_squares.direct import Array

# The solvers that a penalised risk can choose from, and what each requires of it.


class Solver(NamedTuple):
    """A method of the toolbox and what it requires of a problem, checked before any numerics."""

    run: Callable[..., Any]
    requires: tuple[str, ...]


class WithIntercept:
    """A penalty, or a set, of all coefficients but the last."""

    def __init__(self, penalty: Any) -> None:
        self.inner = Simple("PenalisedRisk", penalty)

    def value(self, w: Array) -> float:
        """Ω of all but the last."""
        return self.inner.value(w[:-1])

    def proximal(self, w: Array, step: float) -> Array:
        """The last coefficient stays."""
        return np.append(self.inner.proximal(w[:-1], step), w[-1])

    def subgradient_distance(self, w: Array, dual: Array) -> float:
        """The last entry of the dual must be zero."""
        return float(np.hypot(self.inner.residual(w[:-1], -dual[:-1], 1.0), dual[-1]))


def _subgradient(risk: Any, start: Array, *, n_iter: int = 2000, step: Any = None) -> Any:
    """Averaged subgradient steps of size c/√t on the whole objective."""
    penalty, d = risk.penalty, risk.n_features
    is_set = isinstance(penalty, ConvexSet)

    def slope(w: Array) -> Array:
        total = np.array(risk.fit.gradient(w))
        if isinstance(penalty, SquaredNorm):
            total[:d] += float(penalty.strength) * w[:d]
        elif isinstance(penalty, L1):
            total[:d] += penalty.strength * np.sign(w[:d])
        return total

    whole = Smooth(lambda w: risk.value(w), slope)
    project = (lambda w: np.append(penalty.project(w[:d]), w[d:])) if is_set else (lambda w: w)
    rule = (lambda t: 1.0 / t**0.5) if step is None else step
    return projected_gradient(whole, project, start, step=rule, n_iter=n_iter)


def _conditional_gradient(risk: Any, start: Array, **options: Any) -> Any:
    return frank_wolfe(risk.fit, risk.penalty, risk.fit.gradient(start), **options)


def _whole(risk: Any) -> tuple[Any, ...]:
    return (risk.smooth(),)


def _split(risk: Any) -> tuple[Any, ...]:
    return risk.fit, risk.masked()


def _solver(
    method: Callable[..., Any], parts: Callable[[Any], tuple[Any, ...]], *requires: str, **usual: Any
) -> Solver:
    """A method on the whole risk or on its two parts; where it takes steps, the loss chooses their rule."""

    def run(risk: Any, start: Array, **options: Any) -> Any:
        if "max_iter" in usual:
            options.setdefault("step", "1/L" if LIPSCHITZ in risk.traits else "backtracking")
        return method(*parts(risk), start, **{**usual, **options})

    return Solver(run, requires)


ONCE_SMOOTH, TWICE_SMOOTH = "differentiable loss", "twice differentiable loss"
LIPSCHITZ, CONVEXITY = "loss with a Lipschitz gradient", "convexity"
SMOOTH_PENALTY, PROXIMAL = "differentiable penalty", "proximal map of the penalty"
ORACLE, SUBGRADIENT = "set with a linear oracle", "known subgradient of the penalty"

SOLVERS: Mapping[str, Solver] = {
    "gradient_descent": _solver(gradient_descent, _whole, ONCE_SMOOTH, SMOOTH_PENALTY, max_iter=10_000),
    "accelerated_gradient": _solver(
        accelerated_gradient, _whole, ONCE_SMOOTH, SMOOTH_PENALTY, CONVEXITY, restart=True, max_iter=10_000
    ),
    "newton": _solver(newton, _whole, TWICE_SMOOTH, SMOOTH_PENALTY, CONVEXITY),
    "proximal_gradient": _solver(proximal_gradient, _split, ONCE_SMOOTH, PROXIMAL, max_iter=10_000),
    "proximal_newton": _solver(proximal_newton, _split, TWICE_SMOOTH, PROXIMAL, CONVEXITY),
    "admm": _solver(admm, _split, TWICE_SMOOTH, PROXIMAL, CONVEXITY),
    "frank_wolfe": Solver(_conditional_gradient, (ONCE_SMOOTH, ORACLE, CONVEXITY)),
    "subgradient": Solver(_subgradient, (CONVEXITY, SUBGRADIENT)),
}

KINKED = (losses.Hinge, losses.Absolute, losses.Quantile, losses.EpsilonInsensitive, losses.ZeroOne)
ONCE = (losses.SquaredHinge, losses.Huber, losses.SquaredEpsilonInsensitive)
SEVERAL_SCORES = (losses.Multinomial, losses.ReferenceMultinomial)
PENALTIES: Mapping[str, Any] = {"squared_norm": SquaredNorm, "l1": L1}


@dataclass(frozen=True, slots=True, eq=False)
class PenalisedRisk:
    """R(w) = Σ sᵢ ℓ(yᵢ, ⟨φ(xᵢ), w⟩ + b) / Σ sᵢ + Ω(w); b, when there is one, comes last and is not penalised.

    `fit` is the differentiable average of the losses with its constants, `penalty` is Ω (None, a penalty or a
    convex set that w must stay in), and `traits` is the set of properties that solvers may require.
    """

    loss: losses.Loss
    fit: Smooth
    penalty: Any
    n_features: int
    fit_intercept: bool
    traits: frozenset[str]

    @property
    def size(self) -> int:
        """Number of coefficients, the intercept included."""
        return self.n_features + self.fit_intercept

    @property
    def smoothness(self) -> float | None:
        """L of the whole objective where it has one."""
        return self.smooth().smoothness if SMOOTH_PENALTY in self.traits else None

    @property
    def strong_convexity(self) -> float:
        """The α of the whole objective that is known, 0 when none is."""
        base = self.fit.strong_convexity or 0.0
        own = isinstance(self.penalty, SquaredNorm) and not self.fit_intercept
        return base + (float(self.penalty.strength) if own else 0.0)

    def value(self, w: Any) -> float:
        """R(w); ∞ outside a set."""
        coef = self._vector(w)
        if isinstance(self.penalty, ConvexSet):
            inside = self.penalty.contains(coef[: self.n_features])
            return float(self.fit.value(coef)) if inside else np.inf
        extra = 0.0 if self.penalty is None else float(np.sum(self.penalty.value(coef[: self.n_features])))
        return float(self.fit.value(coef)) + extra

    def gradient(self, w: Any) -> Array:
        """∇R(w), where the penalty has a gradient."""
        self._require("gradient", (SMOOTH_PENALTY,))
        return self.smooth().gradient(self._vector(w))

    def smooth(self) -> Smooth:
        """R as a differentiable function, when the penalty is one."""
        self._require("smooth", (SMOOTH_PENALTY,))
        if self.penalty is None:
            return self.fit
        ridge = squared_norm(float(self.penalty.strength), self.n_features, self.size)
        return weighted_sum([(1.0, self.fit), (1.0, ridge)])

    def minimise(self, solver: str = "auto", *, start: Any = None, **options: Any) -> Any:
        """Minimise with a solver of the toolbox; a solver that cannot serve is refused in one sentence.

        "auto" is Newton's method where the objective has second derivatives, proximal gradients for other
        penalties, and subgradient steps for losses with corners. `options` go to the solver.
        """
        if solver == "auto":
            names = ("newton", "accelerated_gradient", "proximal_gradient", "subgradient")
            solver = next((name for name in names if self._fits(SOLVERS[name].requires)), "subgradient")
        if not isinstance(solver, str) or solver not in SOLVERS:
            known = ", ".join(map(repr, ("auto", *SOLVERS)))
            raise refusal("PenalisedRisk.minimise", "solver", f"one of {known}", solver)
        chosen = SOLVERS[solver]
        self._require(f"the solver {solver!r}", chosen.requires)
        begin = np.zeros(self.size) if start is None else self._vector(start)
        return chosen.run(self, begin, **options)

    def masked(self) -> Any:
        """Ω on all coefficients, the intercept left alone."""
        return self.penalty if not self.fit_intercept else WithIntercept(self.penalty)

    def _fits(self, requires: tuple[str, ...]) -> bool:
        return set(requires) <= self.traits

    def _require(self, owner: str, requires: tuple[str, ...]) -> None:
        missing = [name for name in requires if name not in self.traits]
        if missing:
            what = f"{type(self.loss).__name__} with {type(self.penalty).__name__}"
            able = [name for name, known in SOLVERS.items() if self._fits(known.requires)]
            served = f"; {' or '.join(map(repr, able))} can serve" if able else ""
            words = f"one that needs no {missing[0]}{served}"
            raise refusal("PenalisedRisk", "solver", words, f"{owner}: {what}")

    def _vector(self, w: Any) -> Array:
        require("PenalisedRisk", vector(self.size), w=w)
        return np.array(w, dtype=float)


def penalised_risk(
    loss: Any,
    X: Any,
    y: Any,
    penalty: Any = None,
    strength: float | None = None,
    *,
    feature_map: Callable[[Any], Any] | None = None,
    sample_weight: Any = None,
    fit_intercept: bool = False,
) -> PenalisedRisk:
    """Put a loss, a penalty and data together.

    Parameters
    ----------
    loss : str or Loss
        ℓ, of one score.
    X, y : array-like of shapes (n, p) and (n,)
        Rows and targets in the loss's own coding (labels −1 and +1 for margin losses).
    penalty : {"squared_norm", "l1"}, Penalty, ConvexSet or None, default=None
        Ω; "squared_norm" is (strength/2)‖w‖².
    strength : float, optional
        λ ≥ 0, for a penalty given by name.
    feature_map : callable, optional
        φ, from X to a matrix of features; the identity by default.
    sample_weight : array-like of shape (n,), optional
        A row of weight two counts twice.
    fit_intercept : bool, default=False

    Examples
    --------
    >>> from assay.optimize import penalised_risk
    >>> risk = penalised_risk("squared", [[1.0], [2.0]], [1.0, 4.0], "squared_norm", 0.5)
    >>> risk.smoothness, risk.strong_convexity, risk.minimise().point
    (3.0, 3.0, array([1.5]))
    >>> risk = penalised_risk("hinge", [[1.0], [2.0]], [-1.0, 1.0], "l1", 0.1)
    >>> risk.minimise("newton")
    Traceback (most recent call last):
        ...
    assay.parameters.ParameterError: The 'solver' parameter of PenalisedRisk must be one that needs no twice
    differentiable loss; 'subgradient' can serve. Got "the solver 'newton': Hinge with L1" instead.

    References
    ----------
    Douc & Le Corff §5.1.
    """
    owner = "penalised_risk"
    chosen = losses.loss(loss)
    if isinstance(chosen, SEVERAL_SCORES):
        raise refusal(owner, "loss", "a loss of one score", loss)
    require(owner, boolean, fit_intercept=fit_intercept)
    design, target, share = _table(owner, X if feature_map is None else feature_map(X), y, sample_weight)
    n, d = design.shape
    if fit_intercept:
        design = np.column_stack([design, np.ones(n)])
    omega = _penalty(owner, penalty, strength)
    fit = sum_of_losses(chosen, design, target, share)
    return PenalisedRisk(chosen, fit, omega, d, bool(fit_intercept), _traits(chosen, omega, fit_intercept))


def _table(owner: str, features: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
    """Features, targets and weights of sum one."""
    require(owner, matrix, X=features)
    design = np.asarray(features, dtype=float)
    n = len(design)
    require(owner, vector(n), y=y)
    weight = np.ones(n) if sample_weight is None else sample_weight
    if not vector(n).contains(weight) or np.min(weight) < 0 or np.sum(weight) <= 0:
        raise refusal(owner, "sample_weight", f"{n} finite numbers at least 0, of positive sum", weight)
    share = np.asarray(weight, dtype=float)
    return design, np.asarray(y, dtype=float), share / share.sum()


def _traits(loss: losses.Loss, penalty: Any, intercept: bool) -> frozenset[str]:
    smooth = not isinstance(loss, KINKED)
    known = {
        ONCE_SMOOTH: smooth,
        TWICE_SMOOTH: smooth and not isinstance(loss, ONCE),
        LIPSCHITZ: bool(np.isfinite(loss.smoothness)),
        CONVEXITY: loss.convex and getattr(penalty, "convex", True),
        SMOOTH_PENALTY: penalty is None or isinstance(penalty, SquaredNorm),
        SUBGRADIENT: penalty is None or isinstance(penalty, (SquaredNorm, L1, ConvexSet)),
        PROXIMAL: penalty is not None,
        ORACLE: isinstance(penalty, ConvexSet) and not intercept,
    }
    return frozenset(trait for trait, holds in known.items() if holds)


def _penalty(owner: str, penalty: Any, strength: Any) -> Any:
    if isinstance(penalty, str) and penalty in PENALTIES:
        if not real(at_least=0).contains(strength):
            raise refusal(owner, "strength", "a finite number at least 0 for a penalty by name", strength)
        return PENALTIES[penalty](float(strength))
    if strength is not None:
        raise refusal(owner, "strength", "None unless the penalty is given by name", strength)
    if penalty is None or isinstance(penalty, ConvexSet) or hasattr(penalty, "proximal"):
        return penalty
    names = ", ".join(map(repr, PENALTIES))
    raise refusal(owner, "penalty", f"None, one of {names}, a penalty or a ConvexSet", penalty)
