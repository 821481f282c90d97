"""A constrained problem as an object: Lagrangian, feasibility, optimality conditions, duality gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from assay.optimize.descent.objective import Smooth, quadratic, weighted_sum
from assay.parameters import array, boolean, function, nothing, refusal, require, vector
from assay.penalties import KKTResiduals, Quadratic, kkt_residuals
from assay.solvers.least_squares.direct import Array

ClosedForm: TypeAlias = "Callable[[Array, Array], float]"


class Supremum(NamedTuple):
    """Supremum of the Lagrangian over the multipliers at one point.

    At a feasible point it is f(x), reached at zero multipliers. Elsewhere it is ∞: L grows with `slope` along
    the given multipliers.
    """

    value: float
    multipliers: Array
    equality_multipliers: Array
    slope: float


@dataclass(frozen=True, slots=True, eq=False)
class ConvexProgram:
    """min f(x) subject to gᵢ(x) ≤ 0 and hⱼ(x) = 0, with f and gᵢ convex and hⱼ affine.

    L(x, μ, ν) = f(x) + Σ μᵢ gᵢ(x) + Σ νⱼ hⱼ(x), μ ≥ 0.

    Parameters
    ----------
    objective : Smooth or Quadratic
        f; infinite values mark points outside its domain.
    inequalities, equalities : sequence of Smooth or Quadratic, default=()
        g and h.
    start : array-like of shape (d,)
        A point of the domain, feasible or not, from which searches begin.
    dual : callable, optional
        The dual function (μ, ν) ↦ inf_x L in closed form, where it is known.
    convex : bool, default=True
        Whether f and g are convex. If not, the conditions of Karush, Kuhn and Tucker are necessary at most,
        and no value of the dual is computed by descent.

    Examples
    --------
    The point of the unit disk nearest to (2, 0):

    >>> import numpy as np
    >>> from assay.penalties import Quadratic
    >>> from assay.optimize import ConvexProgram
    >>> problem = ConvexProgram(
    ...     Quadratic(2 * np.eye(2), [-4.0, 0.0], 4.0), [Quadratic(2 * np.eye(2), [0.0, 0.0], -1.0)],
    ...     start=[0.0, 0.0])
    >>> problem.kkt_residuals([1.0, 0.0], [1.0]).largest
    0.0
    >>> problem.primal_value([3.0, 0.0])
    inf

    References
    ----------
    Rudi & Şimşekli §3.1; Sangnier §1.4.5; Wei §1.2.2.
    """

    objective: Any
    inequalities: Sequence[Any] = ()
    equalities: Sequence[Any] = ()
    start: Any = None
    dual: ClosedForm | None = None
    convex: bool = True

    def __post_init__(self) -> None:
        require("ConvexProgram", vector(), start=self.start)
        require("ConvexProgram", boolean, convex=self.convex)
        require("ConvexProgram", nothing | function, dual=self.dual)
        start = np.array(self.start, dtype=float)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "objective", _smooth("objective", self.objective, len(start)))
        for name in ("inequalities", "equalities"):
            functions = getattr(self, name)
            if isinstance(functions, (Smooth, Quadratic)) or not hasattr(functions, "__iter__"):
                raise refusal("ConvexProgram", name, "a sequence of Smooth or Quadratic functions", functions)
            object.__setattr__(self, name, tuple(_smooth(name, g, len(start)) for g in functions))

    @property
    def n_variables(self) -> int:
        """Dimension d."""
        return len(self.start)

    def lagrangian(self, x: Any, multipliers: Any = (), equality_multipliers: Any = ()) -> float:
        """L(x, μ, ν)."""
        return float(self.at_multipliers(multipliers, equality_multipliers).value(_vector(self, x)))

    def at_multipliers(self, multipliers: Any = (), equality_multipliers: Any = ()) -> Smooth:
        """The function x ↦ L(x, μ, ν), with the constants that follow from those of f, g and h."""
        mu, nu = self.read_multipliers(multipliers, equality_multipliers)
        terms = [(1.0, self.objective)]
        terms += [(w, g) for w, g in zip(mu, self.inequalities, strict=True) if w != 0]
        terms += [(w, h) for w, h in zip(nu, self.equalities, strict=True) if w != 0]
        return weighted_sum(terms)

    def constraint_values(self, x: Any) -> tuple[Array, Array]:
        """All gᵢ(x) and all hⱼ(x)."""
        point = _vector(self, x)
        return _values(self.inequalities, point), _values(self.equalities, point)

    def violation(self, x: Any) -> float:
        """The largest gᵢ(x)₊ and |hⱼ(x)|."""
        g, h = self.constraint_values(x)
        return max(float(np.max(g, initial=0.0)), float(np.max(np.abs(h), initial=0.0)))

    def primal_value(self, x: Any, tolerance: float = 1e-9) -> float:
        """f(x) on the feasible set and ∞ outside."""
        return float(self.objective.value(_vector(self, x))) if self.violation(x) <= tolerance else np.inf

    def supremum(self, x: Any, tolerance: float = 0.0) -> Supremum:
        """Supremum of L(x, ·, ·) over μ ≥ 0 and ν, with multipliers that show it."""
        g, h = self.constraint_values(x)
        value = float(self.objective.value(_vector(self, x)))
        mu, nu = np.where(g > tolerance, g, 0.0), np.where(np.abs(h) > tolerance, h, 0.0)
        slope = float(mu @ g + nu @ h)
        return Supremum(value if slope == 0 else np.inf, mu, nu, slope)

    def kkt_residuals(self, x: Any, multipliers: Any = (), equality_multipliers: Any = ()) -> KKTResiduals:
        """How far a triple is from the four conditions; zeros prove optimality when the problem is convex.

        stationarity ‖∇ₓL‖; primal, the largest violation of a constraint; dual, the largest negative part of
        a μᵢ; complementarity, the largest |μᵢ gᵢ(x)|.
        """
        mu, nu = self.read_multipliers(multipliers, equality_multipliers, signed=True)
        bounded = {"inequalities": self.inequalities, "multipliers": mu.tolist()}
        tied = {"equalities": self.equalities, "equality_multipliers": nu.tolist()}
        return kkt_residuals(self.objective, _vector(self, x), **bounded, **tied)

    def equality_system(self) -> tuple[Array, Array]:
        """A and b with hⱼ(x) = (Ax − b)ⱼ; an equality that is not affine is refused."""
        zero = np.zeros(self.n_variables)
        offsets = _values(self.equalities, zero)
        matrix = np.array([h.gradient(zero) for h in self.equalities]).reshape(-1, self.n_variables)
        probe = 1 + np.sqrt(np.arange(1.0, self.n_variables + 1))
        seen = _values(self.equalities, probe)
        room = 1e-9 * (1 + np.abs(matrix) @ np.abs(probe) + np.abs(offsets))
        if np.any(np.abs(seen - matrix @ probe - offsets) > room):
            raise refusal("ConvexProgram", "equalities", "affine functions", self.equalities)
        return matrix, -offsets

    def as_inequalities(self) -> ConvexProgram:
        """The same problem with each equality h = 0 as the two inequalities h ≤ 0 and −h ≤ 0."""
        both = [weighted_sum([(sign, h)]) for h in self.equalities for sign in (1.0, -1.0)]
        return replace(self, inequalities=(*self.inequalities, *both), equalities=(), dual=None)

    def read_multipliers(
        self, multipliers: Any, equality_multipliers: Any, *, signed: bool = False
    ) -> tuple[Array, Array]:
        """μ and ν as vectors, one number per constraint; a negative μ is refused unless `signed`."""
        mu = _numbers("multipliers", multipliers, len(self.inequalities), signed)
        return mu, _numbers("equality_multipliers", equality_multipliers, len(self.equalities), True)


def kkt_report(problem: ConvexProgram, x: Any, mu: Any = (), lam: Any = ()) -> dict[str, float]:
    """The largest violation of each condition by name, for a point and its multipliers.

    For a problem that is not convex zeros are necessary for a minimum (under a constraint qualification), and
    prove nothing more.

    References
    ----------
    Wei §1.2.2.
    """
    return dict(problem.kkt_residuals(x, mu, lam)._asdict())


def _smooth(name: str, given: Any, d: int) -> Smooth:
    if isinstance(given, Smooth):
        return given
    if not isinstance(given, Quadratic):
        raise refusal("ConvexProgram", name, "a Smooth or a Quadratic function", given)
    if len(given.linear) != d:
        raise refusal("ConvexProgram", name, f"a function of {d} variables, as the start asks", given)
    curved = np.zeros((d, d)) if given.matrix is None else given.matrix
    return quadratic(curved, -given.linear, given.constant)


def _values(functions: Sequence[Smooth], x: Array) -> Array:
    return np.array([float(f.value(x)) for f in functions])


def _numbers(name: str, values: Any, n: int, signed: bool) -> Array:
    words = f"{n} finite numbers{'' if signed else ' at least 0'}, one per constraint"
    allowed = array("", lambda seen: seen.shape == (n,) and (signed or bool(np.all(seen >= 0))))
    if not allowed.contains(values):
        raise refusal("ConvexProgram", name, words, values)
    return np.asarray(values, dtype=float)


def _vector(program: ConvexProgram, x: Any) -> Array:
    require("ConvexProgram", vector(program.n_variables), x=x)
    return np.asarray(x, dtype=float)
