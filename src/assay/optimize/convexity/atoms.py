"""A calculus of convex functions: each expression knows its curvature, or says that it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import optimize, special

from assay.losses import Logistic
from assay.optimize.descent.objective import Smooth
from assay.parameters import array, integer, real, refusal, require, vector
from assay.solvers.least_squares.direct import Array

Curvature = Literal["affine", "convex", "concave", "unknown"]
Trend = Literal["increasing", "decreasing", "neither"]

_OPPOSITE: dict[str, Curvature] = {"convex": "concave", "concave": "convex"}
_REVERSED: dict[str, Trend] = {"increasing": "decreasing", "decreasing": "increasing", "neither": "neither"}


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A function of one vector with a verdict on its curvature, proved by the rules that built it.

    `curvature` is "affine", "convex", "concave" or "unknown": the last is no verdict, not a refutation.
    Outside the domain a convex expression is ∞ and a concave one −∞. `smoothness` (L) and `strong_convexity`
    (μ) are None where the rules do not give them; `trend` tells how the function moves with its variables.

    Sums, non-negative multiples, differences and multiples by negative numbers are written with the usual
    signs; see also `affine_argument`, `pointwise_maximum`, `composition` and `partial_infimum`.

    Examples
    --------
    >>> from assay.optimize import log_sum_exp, square
    >>> risk = log_sum_exp(2).affine_argument([[1.0], [-1.0]]) + 0.5 * square()
    >>> risk.curvature, risk.strong_convexity, (-risk).curvature, (risk - square()).curvature
    ('convex', 1.0, 'concave', 'unknown')

    References
    ----------
    Rudi & Şimşekli §2.2.3.
    """

    dimension: int
    function: Callable[[Array], float]
    slope: Callable[[Array], Array]
    curvature: Curvature
    trend: Trend = "neither"
    smoothness: float | None = None
    strong_convexity: float | None = None

    def value(self, x: Any) -> float:
        """f(x)."""
        return float(self.function(self._vector(x)))

    def subgradient(self, x: Any) -> Array:
        """A subgradient at x: the gradient where there is one."""
        return np.asarray(self.slope(self._vector(x)), dtype=float)

    def smooth(self) -> Smooth:
        """The same function for the testers and the solvers."""
        modulus = self.strong_convexity if self.curvature in ("convex", "affine") else None
        return Smooth(self.function, self.slope, None, self.smoothness, modulus)

    def affine_argument(self, A: Any, b: Any = 0.0) -> Expression:
        """The function f(Ax + b), of the same curvature."""
        matrix = np.atleast_2d(np.asarray(A, dtype=float))
        if not np.isfinite(matrix).all() or matrix.shape[0] != self.dimension:
            raise refusal("affine_argument", "A", f"a matrix of {self.dimension} rows of finite numbers", A)
        if np.ndim(b) and not vector(self.dimension).contains(b):
            raise refusal("affine_argument", "b", f"a number or a vector of {self.dimension}", b)
        shift = np.broadcast_to(np.asarray(b, dtype=float), self.dimension)
        singular = np.linalg.svd(matrix, compute_uv=False)
        lowest = float(singular[-1]) if matrix.shape[0] >= matrix.shape[1] else 0.0
        return Expression(
            matrix.shape[1],
            lambda x: self.function(matrix @ x + shift),
            lambda x: matrix.T @ self.slope(matrix @ x + shift),
            self.curvature,
            _signed_trend(self.trend, matrix),
            None if self.smoothness is None else self.smoothness * float(singular[0]) ** 2,
            None if self.strong_convexity is None else self.strong_convexity * lowest**2,
        )

    def __add__(self, other: Any) -> Expression:
        if not isinstance(other, Expression):
            height = _number(other)
            return replace(self, function=lambda x: self.function(x) + height)
        if other.dimension != self.dimension:
            raise refusal("Expression", "other", f"a function of {self.dimension} variables", other.dimension)
        return Expression(
            self.dimension,
            lambda x: self.function(x) + other.function(x),
            lambda x: self.slope(x) + other.slope(x),
            sum_curvature(self.curvature, other.curvature),
            self.trend if self.trend == other.trend else "neither",
            _total(self.smoothness, other.smoothness),
            _total(self.strong_convexity, other.strong_convexity),
        )

    def __mul__(self, factor: Any) -> Expression:
        if not real().contains(factor):
            raise refusal("Expression", "factor", "a finite number", factor)
        scale = float(factor)
        if scale == 0:
            d, zeros = self.dimension, np.zeros(self.dimension)
            return Expression(d, lambda x: 0.0, lambda x: zeros, "affine", "increasing", 0.0, 0.0)
        keeps = scale > 0 or self.curvature == "affine"
        return Expression(
            self.dimension,
            lambda x: scale * self.function(x),
            lambda x: scale * self.slope(x),
            self.curvature if scale > 0 else _OPPOSITE.get(self.curvature, self.curvature),
            self.trend if scale > 0 else _REVERSED[self.trend],
            None if self.smoothness is None else abs(scale) * self.smoothness,
            abs(scale) * self.strong_convexity if keeps and self.strong_convexity is not None else None,
        )

    __rmul__ = __mul__
    __radd__ = __add__

    def __neg__(self) -> Expression:
        return self * -1.0

    def __sub__(self, other: Any) -> Expression:
        return self + (-other)

    def __rsub__(self, other: Any) -> Expression:
        return -self + other

    def _vector(self, x: Any) -> Array:
        point = np.atleast_1d(np.asarray(x, dtype=float))
        if point.shape != (self.dimension,):
            raise refusal("Expression", "x", f"a vector of {self.dimension} numbers", x)
        return point


def sum_curvature(first: Curvature, second: Curvature) -> Curvature:
    """Curvature of a sum: equal ones stay, an affine term changes nothing, the rest is unknown."""
    if first == second or second == "affine":
        return first
    return second if first == "affine" else "unknown"


def pointwise_maximum(*expressions: Expression) -> Expression:
    """The largest of finitely many functions: convex when all are convex; a subgradient is that of a largest.

    Examples
    --------
    >>> from assay.optimize import linear_form, pointwise_maximum
    >>> size = pointwise_maximum(linear_form([1.0]), linear_form([-1.0]))
    >>> size.curvature, size.value([-3.0]), size.subgradient([-3.0])
    ('convex', 3.0, array([-1.]))
    """
    if not expressions or not all(isinstance(f, Expression) for f in expressions):
        raise refusal("pointwise_maximum", "expressions", "at least one Expression", expressions)
    dimension = expressions[0].dimension
    if any(f.dimension != dimension for f in expressions):
        raise refusal("pointwise_maximum", "expressions", f"functions of {dimension} variables", expressions)
    convex = all(f.curvature in ("convex", "affine") for f in expressions)
    trends = {f.trend for f in expressions}
    moduli = [f.strong_convexity for f in expressions]

    def slope(x: Array) -> Array:
        return max(expressions, key=lambda f: f.function(x)).slope(x)

    return Expression(
        dimension,
        lambda x: max(f.function(x) for f in expressions),
        slope,
        "convex" if convex else "unknown",
        next(iter(trends)) if len(trends) == 1 else "neither",
        None,
        min(moduli) if convex and None not in moduli else None,  # type: ignore[type-var]
    )


def composition(outer: Expression, inner: Sequence[Expression] | Expression) -> Expression:
    """The function h(g₁(x), …, gₘ(x)): convex if h is, increasing with g convex or decreasing with g concave.

    And the other way round for a concave h. An affine g is always allowed.
    """
    parts = [inner] if isinstance(inner, Expression) else list(inner)
    if len(parts) != outer.dimension or not parts:
        raise refusal("composition", "inner", f"{outer.dimension} expressions, one per variable of h", inner)
    dimension = parts[0].dimension
    if any(g.dimension != dimension for g in parts):
        raise refusal("composition", "inner", f"functions of {dimension} variables", inner)
    kinds = {g.curvature for g in parts} - {"affine"}
    curvature: Curvature = "unknown"
    for shape, opposite in (("convex", "concave"), ("concave", "convex")):
        if outer.curvature in (shape, "affine") and (
            not kinds
            or (outer.trend == "increasing" and kinds == {shape})
            or (outer.trend == "decreasing" and kinds == {opposite})
        ):
            curvature = outer.curvature if not kinds else shape  # type: ignore[assignment]
            break

    def inside(x: Array) -> Array:
        return np.array([g.function(x) for g in parts])

    def slope(x: Array) -> Array:
        weights = outer.slope(inside(x))
        return np.asarray(sum(w * g.slope(x) for w, g in zip(weights, parts, strict=True)))

    return Expression(dimension, lambda x: outer.function(inside(x)), slope, curvature)


def partial_infimum(joint: Expression, n_kept: int, start: Any = None) -> Expression:
    """The function inf_y f(x, y) over the last variables: convex when f is jointly convex.

    The infimum is computed by descent in y from `start` (zeros by default), so it wants a differentiable f
    with a minimiser; its gradient in x is then that of f at the minimiser.
    """
    n_free = joint.dimension - n_kept
    if isinstance(n_kept, bool) or not 1 <= n_kept < joint.dimension:
        raise refusal("partial_infimum", "n_kept", f"an int from 1 to {joint.dimension - 1}", n_kept)
    begin = np.zeros(n_free) if start is None else np.asarray(start, dtype=float)

    minimise: Any = optimize.minimize

    def best(x: Array) -> Array:
        def value(y: Array) -> float:
            return joint.function(np.append(x, y))

        def slope(y: Array) -> Array:
            return joint.slope(np.append(x, y))[n_kept:]

        return np.append(x, minimise(value, begin, jac=slope, method="BFGS", tol=1e-10).x)

    convex = joint.curvature in ("convex", "affine")
    return Expression(
        n_kept,
        lambda x: joint.function(best(x)),
        lambda x: joint.slope(best(x))[:n_kept],
        "convex" if convex else "unknown",
        "neither",
        joint.smoothness if convex else None,
        joint.strong_convexity if convex else None,
    )


def _number(value: Any) -> float:
    if not real().contains(value):
        raise refusal("Expression", "other", "an Expression or a finite number", value)
    return float(value)


def _signed_trend(trend: Trend, matrix: Array) -> Trend:
    if np.all(matrix >= 0):
        return trend
    return _REVERSED[trend] if np.all(matrix <= 0) else "neither"


def _total(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


# The convex functions from which others are built.


def linear_form(a: Any, b: float = 0.0) -> Expression:
    """⟨a, x⟩ + b."""
    require("linear_form", vector(), a=a)
    slope = np.asarray(a, dtype=float)
    trend: Any = "increasing" if np.all(slope >= 0) else "decreasing" if np.all(slope <= 0) else "neither"
    return Expression(len(slope), lambda x: float(slope @ x) + b, lambda x: slope, "affine", trend, 0.0, 0.0)


def square() -> Expression:
    """x²."""
    return Expression(1, lambda x: float(x[0] ** 2), lambda x: 2 * x, "convex", "neither", 2.0, 2.0)


def exponential() -> Expression:
    """eˣ."""
    return Expression(1, lambda x: float(np.exp(x[0])), np.exp, "convex", "increasing", None, 0.0)


def negative_log() -> Expression:
    """−log x on x > 0, ∞ elsewhere."""

    def value(x: Array) -> float:
        return float(-np.log(x[0])) if x[0] > 0 else np.inf

    return Expression(1, value, lambda x: -1 / x, "convex", "decreasing", None, 0.0)


def logistic_atom() -> Expression:
    """log(1 + e^{−x}), with L = ¼."""
    loss, label = Logistic(), np.ones(1)
    slope, constants = partial(loss.gradient, label), (loss.smoothness, loss.strong_convexity)
    return Expression(1, lambda x: float(loss.value(label, x)[0]), slope, "convex", "decreasing", *constants)


def absolute_power(p: float = 1.0) -> Expression:
    """|x|^p, convex for p ≥ 1."""
    if not real(at_least=1).contains(p):
        raise refusal("absolute_power", "p", "a finite number at least 1, for the power to be convex", p)

    def slope(x: Array) -> Array:
        return p * np.sign(x) * np.abs(x) ** (p - 1)

    constant = 2.0 if p == 2 else None
    modulus = 2.0 if p == 2 else 0.0
    return Expression(1, lambda x: float(np.abs(x[0]) ** p), slope, "convex", "neither", constant, modulus)


def negative_power(p: float) -> Expression:
    """−x^p on x > 0 for 0 ≤ p ≤ 1, ∞ elsewhere."""
    if not real(at_least=0, at_most=1).contains(p):
        raise refusal("negative_power", "p", "a number from 0 to 1, for −x^p to be convex", p)

    def value(x: Array) -> float:
        return float(-(x[0] ** p)) if x[0] > 0 else np.inf

    return Expression(1, value, lambda x: -p * x ** (p - 1), "convex", "decreasing", None, 0.0)


def quadratic_form(Q: Any) -> Expression:
    """xᵀQx: convex for Q positive semi-definite, concave for −Q so, unknown otherwise."""
    if not array("", lambda values: values.ndim == 2 and values.shape[0] == values.shape[1]).contains(Q):
        raise refusal("quadratic_form", "Q", "a square matrix of finite numbers", Q)
    matrix = np.asarray(Q, dtype=float)
    matrix = (matrix + matrix.T) / 2
    spectrum = np.linalg.eigvalsh(matrix)
    largest = float(np.abs(spectrum).max())
    room = 1e-12 * largest
    if spectrum[0] >= -room:
        curvature: Any = "affine" if largest == 0 else "convex"
    else:
        curvature = "concave" if spectrum[-1] <= room else "unknown"
    modulus = 2 * max(float(spectrum[0]), 0.0) if curvature in ("convex", "affine") else None

    def value(x: Array) -> float:
        return float(x @ matrix @ x)

    return Expression(len(matrix), value, (2 * matrix).dot, curvature, "neither", 2 * largest, modulus)


def norm_atom(dimension: int, p: float = 2.0) -> Expression:
    """‖x‖_p for p ≥ 1, p = ∞ included."""
    require("norm_atom", integer(at_least=1), dimension=dimension)
    if p != np.inf and not real(at_least=1).contains(p):
        raise refusal("norm_atom", "p", "a number at least 1, or infinity", p)

    def slope(x: Array) -> Array:
        length = float(np.linalg.norm(x, p))
        if length == 0:
            return np.zeros_like(x)
        if p == np.inf:
            at = int(np.argmax(np.abs(x)))
            return np.where(np.arange(len(x)) == at, np.sign(x), 0.0)
        return np.sign(x) * (np.abs(x) / length) ** (p - 1)

    return Expression(dimension, lambda x: float(np.linalg.norm(x, p)), slope, "convex", "neither", None, 0.0)


def largest_entry(dimension: int) -> Expression:
    """maxᵢ xᵢ."""
    require("largest_entry", integer(at_least=1), dimension=dimension)

    def slope(x: Array) -> Array:
        return np.where(np.arange(len(x)) == int(np.argmax(x)), 1.0, 0.0)

    return Expression(dimension, lambda x: float(np.max(x)), slope, "convex", "increasing", None, 0.0)


def log_sum_exp(dimension: int) -> Expression:
    """Log Σ e^{xᵢ}, with L = ½ (of one variable, the identity)."""
    require("log_sum_exp", integer(at_least=1), dimension=dimension)
    curvature: Any = "affine" if dimension == 1 else "convex"
    smoothness = 0.0 if dimension == 1 else 0.5
    return Expression(dimension, special.logsumexp, special.softmax, curvature, "increasing", smoothness, 0.0)
