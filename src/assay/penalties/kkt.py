"""Optimality conditions of a problem under constraints, and the quadratic functions it may be made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal
from assay.penalties.penalty import numbers


@dataclass(frozen=True, slots=True, eq=False)
class Quadratic:
    """q(x) = ½ xᵀPx + ⟨a, x⟩ + c, with P symmetric positive semi-definite or absent.

    Parameters
    ----------
    matrix : array of shape (d, d) or None
        P; None means zero, an affine function.
    linear : array of shape (d,)
        a.
    constant : float, default=0.0
        c.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Quadratic
    >>> Quadratic(np.eye(2), [1.0, 0.0], 3.0).value(np.array([1.0, 2.0]))
    6.5
    """

    matrix: Any
    linear: Any
    constant: float = 0.0

    def __post_init__(self) -> None:
        linear = numbers("Quadratic", "linear", self.linear, ndim=(1,))
        object.__setattr__(self, "linear", linear)
        if self.matrix is None:
            return
        matrix = numbers("Quadratic", "matrix", self.matrix, ndim=(2,))
        if matrix.shape != (len(linear), len(linear)) or not np.allclose(matrix, matrix.T):
            raise refusal("Quadratic", "matrix", f"symmetric of size {len(linear)}", self.matrix)
        object.__setattr__(self, "matrix", matrix)

    def value(self, x: NDArray) -> float:
        """q(x)."""
        curved = 0.0 if self.matrix is None else x @ self.matrix @ x / 2
        return float(curved + self.linear @ x + self.constant)

    def gradient(self, x: NDArray) -> NDArray:
        """Px + a."""
        return self.linear if self.matrix is None else self.matrix @ x + self.linear

    def is_convex(self) -> bool:
        """Whether no eigenvalue of P is negative beyond rounding."""
        if self.matrix is None:
            return True
        values = np.linalg.eigvalsh(self.matrix)
        return bool(values[0] >= -1e-12 * np.max(np.abs(values)))


class KKTResiduals(NamedTuple):
    """How far a point and its multipliers are from the four conditions; all are zero at a solution."""

    stationarity: float
    primal: float
    dual: float
    complementarity: float

    @property
    def largest(self) -> float:
        """The largest of the four."""
        return max(self)


class Differentiable(Protocol):
    """A function with a gradient, such as a `Quadratic`."""

    @property
    def value(self) -> Callable[[NDArray], float]:
        """The function q."""

    @property
    def gradient(self) -> Callable[[NDArray], NDArray]:
        """∇q."""


def kkt_residuals(
    objective: Differentiable,
    point: NDArray,
    *,
    inequalities: Sequence[Differentiable] = (),
    multipliers: Sequence[float] = (),
    equalities: Sequence[Differentiable] = (),
    equality_multipliers: Sequence[float] = (),
) -> KKTResiduals:
    """Residuals of the Karush–Kuhn–Tucker conditions of min q₀ subject to q_i ≤ 0 and h_j = 0.

    stationarity ‖∇q₀ + Σ μ_i ∇q_i + Σ ν_j ∇h_j‖; primal, the largest violation of a constraint; dual, the
    largest negative part of a μ_i; complementarity, the largest |μ_i q_i|. For convex q₀, q_i and affine h_j
    residuals of zero prove that the point is a minimiser.

    Examples
    --------
    The point of the unit disk nearest to (2, 0):

    >>> import numpy as np
    >>> from assay.penalties import Quadratic, kkt_residuals
    >>> squared_distance = Quadratic(2 * np.eye(2), [-4.0, 0.0], 4.0)
    >>> disk = Quadratic(2 * np.eye(2), [0.0, 0.0], -1.0)
    >>> kkt_residuals(squared_distance, np.array([1.0, 0.0]), inequalities=[disk], multipliers=[1.0])
    KKTResiduals(stationarity=0.0, primal=0.0, dual=0.0, complementarity=0.0)

    References
    ----------
    Sangnier, exam 2021, exercise 1.
    """
    for name, values, functions in (
        ("multipliers", multipliers, inequalities),
        ("equality_multipliers", equality_multipliers, equalities),
    ):
        if len(values) != len(functions):
            raise refusal("kkt_residuals", name, f"of length {len(functions)}, one per constraint", values)
    gradient = np.array(objective.gradient(point), dtype=np.float64)
    weights, constraints = (*multipliers, *equality_multipliers), (*inequalities, *equalities)
    for weight, constraint in zip(weights, constraints, strict=True):
        gradient += weight * constraint.gradient(point)
    slack = [float(constraint.value(point)) for constraint in inequalities]
    violations = [max(value, 0.0) for value in slack] + [abs(float(h.value(point))) for h in equalities]
    return KKTResiduals(
        stationarity=float(np.linalg.norm(gradient)),
        primal=max(violations, default=0.0),
        dual=max((max(-float(weight), 0.0) for weight in multipliers), default=0.0),
        complementarity=max((abs(m * s) for m, s in zip(multipliers, slack, strict=True)), default=0.0),
    )
