"""Separable penalties inside compiled loops: functions of one coefficient, chosen when a loop is compiled.

A penalty hands coordinate descent its *coordinate form*: a NamedTuple of its parameters for each coefficient,
whose class says which penalty it is. A loop takes the form as an argument and calls `entry_value`,
`entry_slope` and `entry_minimiser`; Numba compiles it once per class of form, with the formulas copied in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from assay.loops import choices
from assay.penalties import L1, MCP, SCAD, ElasticNet

Array = NDArray[np.float64]
ROUNDING = 16 * float(np.finfo(np.float64).eps)


class ElasticNetForm(NamedTuple):
    """a_j |w_j| + c_j w_j²/2; a slope of ∞ excludes a coefficient, `positive` the negative ones."""

    slope: Array
    curvature: Array
    positive: bool = False


class ConcaveForm(NamedTuple):
    """MCP and SCAD: slope a_j at 0⁺, which falls at the rate 1/bend to 0 at γ a_j; the curvature is 0."""

    slope: Array
    curvature: Array
    positive: bool
    gamma: float
    bend: float


CoordinateForm = ElasticNetForm | ConcaveForm


@dataclass(frozen=True, eq=False)
class PositiveElasticNet:
    """α Σ ω_j (ρ w_j + (1 − ρ) w_j²/2) for w ≥ 0, ∞ elsewhere; ω > 0, where ∞ excludes a feature."""

    convex: ClassVar[bool] = True

    strength: float
    l1_ratio: float = 1.0
    weights: Any = None

    def fenchel_young_gap(self, coef: Array, dual: Array) -> float:
        """Ω(w) + Ω*(u) − ⟨w, u⟩ with Ω*(u) = (u − a)₊²/(2c), or an indicator; each term at least 0."""
        slope, curvature, _ = coordinate_form(self, coef.size)[:3]
        excluded = np.isinf(slope)
        if np.any(coef < 0) or np.any(coef[excluded] != 0):
            return np.inf
        if np.any((curvature == 0) & (dual > slope * (1 + ROUNDING))):
            return np.inf
        inside = np.minimum(dual, slope)
        terms = np.where(excluded, 0.0, np.where(excluded, 0.0, slope - inside) * coef)
        bent = np.where(curvature > 0, curvature, 1.0)
        squares = (bent * coef - (dual - inside)) ** 2 / (2 * bent)
        return float(np.sum(terms) + np.sum(squares[curvature > 0]))

    def dual_norm(self, dual: Array) -> float:
        """max_j (u_j)₊/(ω_j ρ), or 0 where the square makes every u admissible."""
        if self.l1_ratio < 1:
            return 0.0
        slope = coordinate_form(self, dual.size).slope
        return float(np.max(np.maximum(dual, 0.0) / slope, initial=0.0)) * self.strength

    def critical_strength(self, gradient_at_zero: Array) -> float:
        """The smallest strength at which zero is the solution."""
        slope = coordinate_form(self, gradient_at_zero.size).slope
        pull = np.maximum(gradient_at_zero, 0.0) * self.strength
        return float(np.max(np.divide(pull, slope, out=np.zeros_like(pull), where=slope > 0), initial=0.0))


def coordinate_form(penalty: Any, n_features: int) -> CoordinateForm:
    """The form of a separable penalty, one slope and one curvature per feature.

    Raises
    ------
    TypeError
        For a penalty that couples coefficients, or that is none.
    """
    if isinstance(penalty, MCP | SCAD):
        slope, zeros = np.full(n_features, float(penalty.strength)), np.zeros(n_features)
        return ConcaveForm(slope, zeros, False, float(penalty.gamma), float(penalty._bend))
    if not isinstance(penalty, L1 | ElasticNet | PositiveElasticNet):
        known = "a sum over coefficients (L1, ElasticNet, MCP, SCAD)"
        raise TypeError(f"Coordinate descent needs a penalty that is {known}. Got {penalty!r} instead.")
    ratio, positive = float(getattr(penalty, "l1_ratio", 1.0)), isinstance(penalty, PositiveElasticNet)
    return elastic_net_form(n_features, float(penalty.strength), ratio, penalty.weights, positive=positive)


def elastic_net_form(
    n_features: int, strength: float, l1_ratio: float, weights: Any = None, *, positive: bool = False
) -> ElasticNetForm:
    """α ω_j (ρ |w_j| + (1 − ρ) w_j²/2), where ω_j = ∞ excludes a feature."""
    if weights is None:
        size = np.full(n_features, strength)
        return ElasticNetForm(l1_ratio * size, (1 - l1_ratio) * size, positive)
    excluded = np.isinf(weights)
    size = np.where(excluded, 0.0, weights) * strength
    return ElasticNetForm(np.where(excluded, np.inf, l1_ratio * size), (1 - l1_ratio) * size, positive)


def scaled(form: CoordinateForm, strength: float) -> CoordinateForm:
    """The penalty at a strength; what is excluded stays so at strength 0."""
    excluded = np.isinf(form.slope)
    slope = np.where(excluded, 0.0, form.slope) * strength
    slope[excluded] = np.inf
    return form._replace(slope=slope, curvature=form.curvature * strength)


def restricted(form: CoordinateForm, which: NDArray) -> CoordinateForm:
    """The same on some coordinates."""
    return form._replace(slope=form.slope[which], curvature=form.curvature[which])


# The formulas: value and slope at a coefficient of this size, and the global minimiser of
# ½ square w² − value w + Ω_j(w).


def _elastic_net_value(form, j, size):  # type: ignore[no-untyped-def]
    return form.slope[j] * size + 0.5 * form.curvature[j] * size * size


def _elastic_net_slope(form, j, size):  # type: ignore[no-untyped-def]
    return form.slope[j]


def _elastic_net_minimiser(form, j, value, square):  # type: ignore[no-untyped-def]
    slope = form.slope[j]
    if value > slope:
        return (value - slope) / (square + form.curvature[j])
    if value < -slope and not form.positive:
        return (value + slope) / (square + form.curvature[j])
    return 0.0 * value


def _concave_value(form, j, size):  # type: ignore[no-untyped-def]
    slope, flat = form.slope[j], form.gamma * form.slope[j]
    x = min(size, flat)
    past = max(x - (form.gamma - form.bend) * slope, 0.0)
    return slope * x - past * past / (2.0 * form.bend)


def _concave_slope(form, j, size):  # type: ignore[no-untyped-def]
    return min(max(form.gamma * form.slope[j] - size, 0.0) / form.bend, form.slope[j])


def _concave_minimiser(form, j, value, square):  # type: ignore[no-untyped-def]
    if value < 0 and form.positive:
        return 0.0 * value
    slope, size = form.slope[j], abs(value)
    flat, curved = form.gamma * slope, square - 1.0 / form.bend
    # The minimum is at zero, where the penalty is flat, where it is the l1 norm, or where it bends down.
    best, least = 0.0, 0.0
    for piece in range(3 if curved > 0 else 2):
        if piece == 0:
            x = max(size / square, flat)
        elif piece == 1:
            # The knee of MCP is 0 and no rounding of it: beyond 0 the minimum would be missed.
            x = min(max((size - slope) / square, 0.0), (form.gamma - form.bend) * slope)
        else:
            x = min(max((size - flat / form.bend) / curved, 0.0), flat)
        risk = 0.5 * square * x * x - size * x + entry_value(form, j, x)
        if risk < least:
            best, least = x, risk
    return best if value > 0 else -best


_VALUES: dict[type, Any] = {ElasticNetForm: _elastic_net_value, ConcaveForm: _concave_value}
_SLOPES: dict[type, Any] = {ElasticNetForm: _elastic_net_slope, ConcaveForm: _concave_slope}
_MINIMISERS: dict[type, Any] = {ElasticNetForm: _elastic_net_minimiser, ConcaveForm: _concave_minimiser}
_OPTIONS = choices()


def entry_value(form: Any, j: int, size: float) -> float:
    """Penalty of a coefficient of this size; for compiled loops only."""
    raise NotImplementedError("entry_value is called inside compiled loops.")


def entry_slope(form: Any, j: int, size: float) -> float:
    """Slope of the penalty there, without its curvature; for compiled loops only."""
    raise NotImplementedError("entry_slope is called inside compiled loops.")


def entry_minimiser(form: Any, j: int, value: float, square: float) -> float:
    """Global minimiser of ½ square w² − value w plus the penalty of w; for compiled loops only."""
    raise NotImplementedError("entry_minimiser is called inside compiled loops.")


@overload(entry_value, jit_options=_OPTIONS)
def _chosen_value(form, j, size):  # type: ignore[no-untyped-def]
    return _VALUES[form.instance_class]


@overload(entry_slope, jit_options=_OPTIONS)
def _chosen_slope(form, j, size):  # type: ignore[no-untyped-def]
    return _SLOPES[form.instance_class]


@overload(entry_minimiser, jit_options=_OPTIONS)
def _chosen_minimiser(form, j, value, square):  # type: ignore[no-untyped-def]
    return _MINIMISERS[form.instance_class]
