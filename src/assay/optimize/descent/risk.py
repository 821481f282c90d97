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
from assay.optimize.descent.proximal import proximal_gradient, proximal_newton
from assay.optimize.descent.splitting import admm
from assay.parameters import array, boolean, real, refusal
from assay.penalties import L1, ConvexSet, SquaredNorm
from assay.solvers.least_squares.direct import Array

# The solvers that a penalised risk can choose from, and what each requires of it.


class Solver(NamedTuple):
    """A method of the toolbox and what it requires of a problem, checked before any numerics."""

    run: Callable[..., Any]
    requires: tuple[str, ...]


class WithIntercept:
    """A penalty on all coefficients but the last."""

    def __init__(self, penalty: Any) -> None:
        self.penalty = penalty
        self.is_set = isinstance(penalty, ConvexSet)

    def value(self, w: Array) -> float:
        """Ω of all but the last."""
        return 0.0 if self.is_set else float(np.sum(self.penalty.value(w[:-1])))

    def proximal(self, w: Array, step: float) -> Array:
        """The last coefficient stays."""
        inner = self.penalty.project(w[:-1]) if self.is_set else self.penalty.proximal(w[:-1], step)
        return np.append(inner, w[-1])

    def subgradient_distance(self, w: Array, dual: Array) -> float:
        """The last entry of the dual must be zero."""
        if self.is_set:
            inner = w[:-1] - self.penalty.project(w[:-1] + dual[:-1])
        else:
            inner = self.penalty.subgradient_distance(w[:-1], dual[:-1])
        return float(np.hypot(np.linalg.norm(inner), dual[-1]))


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


def _rule(risk: Any) -> str:
    return "1/L" if "loss with a Lipschitz gradient" in risk.traits else "backtracking"


SOLVERS: Mapping[str, Solver] = {
    "gradient_descent": Solver(
        lambda risk, start, **options: gradient_descent(
            risk.smooth(), start, **{"step": _rule(risk), "max_iter": 10_000, **options}
        ),
        ("differentiable loss", "differentiable penalty"),
    ),
    "accelerated_gradient": Solver(
        lambda risk, start, **options: accelerated_gradient(
            risk.smooth(), start, **{"step": _rule(risk), "restart": True, "max_iter": 10_000, **options}
        ),
        ("differentiable loss", "differentiable penalty", "convexity"),
    ),
    "newton": Solver(
        lambda risk, start, **options: newton(risk.smooth(), start, **options),
        ("twice differentiable loss", "differentiable penalty", "convexity"),
    ),
    "proximal_gradient": Solver(
        lambda risk, start, **options: proximal_gradient(
            risk.fit, risk.masked(), start, **{"step": _rule(risk), "max_iter": 10_000, **options}
        ),
        ("differentiable loss", "proximal map of the penalty"),
    ),
    "proximal_newton": Solver(
        lambda risk, start, **options: proximal_newton(risk.fit, risk.masked(), start, **options),
        ("twice differentiable loss", "proximal map of the penalty", "convexity"),
    ),
    "admm": Solver(
        lambda risk, start, **options: admm(risk.fit, risk.masked(), start, **options),
        ("twice differentiable loss", "proximal map of the penalty", "convexity"),
    ),
    "frank_wolfe": Solver(
        lambda risk, start, **options: frank_wolfe(
            risk.fit, risk.penalty, risk.fit.gradient(start), **options
        ),
        ("differentiable loss", "set with a linear oracle", "convexity"),
    ),
    "subgradient": Solver(_subgradient, ("convexity", "known subgradient of the penalty")),
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
        return self.smooth().smoothness if "differentiable penalty" in self.traits else None

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
        self._require("gradient", ("differentiable penalty",))
        return self.smooth().gradient(self._vector(w))

    def smooth(self) -> Smooth:
        """R as a differentiable function, when the penalty is one."""
        self._require("smooth", ("differentiable penalty",))
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
            raise refusal(
                "PenalisedRisk", "solver", f"one that needs no {missing[0]}{served}", f"{owner}: {what}"
            )

    def _vector(self, w: Any) -> Array:
        if not array("", lambda values: values.shape == (self.size,)).contains(w):
            raise refusal("PenalisedRisk", "w", f"a vector of {self.size} finite numbers", w)
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
        A weight of two is a row that stands there twice.
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
    if not boolean.contains(fit_intercept):
        raise refusal(owner, "fit_intercept", boolean.words, fit_intercept)
    features = X if feature_map is None else feature_map(X)
    if not array("", lambda values: values.ndim == 2 and values.size > 0).contains(features):
        raise refusal(owner, "X", "a matrix of finite numbers (after the feature map)", features)
    design = np.asarray(features, dtype=float)
    n, d = design.shape
    if not array("", lambda values: values.shape == (n,)).contains(y):
        raise refusal(owner, "y", f"a vector of {n} finite numbers", y)
    weight = np.ones(n) if sample_weight is None else sample_weight
    usable = array(
        "", lambda values: values.shape == (n,) and bool(np.all(values >= 0)) and bool(values.sum() > 0)
    )
    if not usable.contains(weight):
        raise refusal(owner, "sample_weight", f"{n} finite numbers at least 0, of positive sum", weight)
    if fit_intercept:
        design = np.column_stack([design, np.ones(n)])
    omega = _penalty(owner, penalty, strength)
    share = np.asarray(weight, dtype=float)
    fit = sum_of_losses(chosen, design, np.asarray(y, dtype=float), share / share.sum())
    return PenalisedRisk(chosen, fit, omega, d, bool(fit_intercept), _traits(chosen, omega, fit_intercept))


def _traits(loss: losses.Loss, penalty: Any, intercept: bool) -> frozenset[str]:
    found = set()
    kinked = isinstance(loss, KINKED)
    if not kinked:
        found.add("differentiable loss")
    if not kinked and not isinstance(loss, ONCE):
        found.add("twice differentiable loss")
    if np.isfinite(loss.smoothness):
        found.add("loss with a Lipschitz gradient")
    if loss.convex and getattr(penalty, "convex", True):
        found.add("convexity")
    if penalty is None or isinstance(penalty, SquaredNorm):
        found.add("differentiable penalty")
    if penalty is None or isinstance(penalty, (SquaredNorm, L1, ConvexSet)):
        found.add("known subgradient of the penalty")
    if penalty is not None:
        found.add("proximal map of the penalty")
    if isinstance(penalty, ConvexSet) and not intercept:
        found.add("set with a linear oracle")
    return frozenset(found)


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
