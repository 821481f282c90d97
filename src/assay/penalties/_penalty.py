"""What every penalty offers."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, runtime_checkable

from numpy.typing import NDArray


@runtime_checkable
class Penalty(Protocol):
    """A function Ω of the coefficients, of shape (d,) or (d, t).

    A separable penalty treats the columns of a (d, t) array as t problems of their own and returns one
    number a column; a matrix penalty (`RowSparse`, `Nuclear`) couples them and returns one number.
    """

    convex: ClassVar[bool]

    def value(self, coef: NDArray) -> NDArray:
        """Ω(w)."""

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """argmin_v ½‖v − w‖² + step · Ω(v)."""

    def conjugate(self, dual: NDArray) -> NDArray:
        """Ω*(u) = sup_w ⟨w, u⟩ − Ω(w)."""

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Distance from u to ∂Ω(w): zero exactly when w and u satisfy the optimality condition."""

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """Smallest strength for which zero is a solution, from the gradient of the risk at zero."""
