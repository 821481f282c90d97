"""The solvers that a penalised risk can choose from, and what each requires of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from assay.penalties import L1, ConvexSet, SquaredNorm
from assay.solvers._frank_wolfe import frank_wolfe
from assay.solvers._gradient import accelerated_gradient, gradient_descent, projected_gradient
from assay.solvers._least_squares import Array
from assay.solvers._newton import newton
from assay.solvers._objective import Smooth
from assay.solvers._proximal import proximal_gradient, proximal_newton
from assay.solvers._splitting import admm


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
