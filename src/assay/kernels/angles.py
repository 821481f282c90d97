"""Kernels on a ball and of angles: the geometric series, and layers of infinitely many random neurons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.kernels.dot_product import DotProduct, Linear
from assay.kernels.kernel import Kernel
from assay.kernels.series import (
    n_monomials,
    require_order_and_radius,
    require_room,
    require_terms,
    series_features,
)
from assay.kernels.tiles import Fill, Matrix, Scratch, as_matrix, distance_tiles, is_sparse, squared_norms
from assay.parameters import Domain, integer, require

_ORDER = Domain(
    "0 (step), 1 (ReLU) or 2 (squared ReLU)", lambda value: type(value) is not bool and value in (0, 1, 2)
)


@dataclass(frozen=True)
class Geometric(DotProduct):
    """k(x, z) = 1/(1 − ⟨x, z⟩) = Σ_j ⟨x, z⟩^j on the open unit ball, ]−1, 1[ for one column.

    Its features are all monomials: the functions of its RKHS are power series with square-summable
    coefficients. Rows with ‖x‖ ≥ 1 are refused.

    Examples
    --------
    >>> from assay.kernels import Geometric
    >>> Geometric().gram([[0.0], [0.5]])
    array([[1.        , 1.        ],
           [1.        , 1.33333333]])
    >>> Geometric().truncation_error(order=9, radius=0.5)    # r^{2·10}/(1 − r²)
    1.2715657552083333e-06

    References
    ----------
    Rudi & Şimşekli §4.2 (where the interval is printed closed: the kernel is infinite at its ends).
    """

    universal_on: ClassVar[str] = "compact sets in the open unit ball"

    def _turn(self, values: NDArray) -> None:
        np.subtract(1.0, values, out=values)
        np.divide(1.0, values, out=values)

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        for table in (X,) if X is Z else (X, Z):
            self._require_ball(table)
        return super()._open(X, Z)

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        self._require_ball(X)
        return super().diagonal(X)

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`: 1/(1 − radius²), infinite from radius 1 on."""
        return 1.0 / (1.0 - float(radius) ** 2) if radius < 1 else math.inf

    def taylor_features(self, X: Any, order: int) -> NDArray:
        """Features whose inner products are Σ_{j ≤ order} ⟨x, z⟩^j."""
        require("Geometric.taylor_features", integer(at_least=0), order=order)
        X = as_matrix(X)
        self._require_ball(X)
        require_room("the Taylor expansion", X.shape[0], n_monomials(X.shape[1], order, exact=False))
        return series_features(X, [1.0] * (order + 1))

    def truncated(self, order: int) -> Kernel:
        """The kernel Σ_{j ≤ order} ⟨x, z⟩^j, which converges to this one pointwise."""
        require_terms("Geometric.truncated", order)
        return Linear().polynomial([1.0] * (order + 1))

    def truncation_error(self, order: int, radius: float) -> float:
        """The largest error of `truncated` and `taylor_features` over rows with ‖x‖ ≤ radius < 1.

        It is t^{order + 1}/(1 − t) with t = radius².
        """
        require_order_and_radius(order, radius)
        t = float(radius) ** 2
        return t ** (order + 1) / (1.0 - t) if t < 1.0 else math.inf

    def _require_ball(self, X: Matrix) -> None:
        largest = float(np.max(squared_norms(X), initial=0.0))
        if not largest < 1.0:
            raise ValueError(
                "The Geometric kernel needs rows of norm below 1. Got a row of norm "
                f"{math.sqrt(largest):.6g}: divide the rows by a larger number first."
            )


@dataclass(frozen=True)
class ArcCosine(Kernel):
    """k(x, z) = E[σ(wᵀx) σ(wᵀz)] for w standard normal and σ(u) = u^order for u > 0, else 0.

    The kernel of a hidden layer of infinitely many neurons with random weights, no bias: with θ the angle of
    x and z,

        order 0 (step):  (π − θ)/(2π),
        order 1 (ReLU):  ‖x‖‖z‖ (sin θ + (π − θ) cos θ)/(2π),
        order 2:         ‖x‖²‖z‖² (3 sin θ cos θ + (π − θ)(1 + 2cos² θ))/(2π).

    A row of zeros is at a right angle to every row, itself included (the step at 0 is ½). Cho and Saul's
    kernels are twice these. Not universal: functions are positively homogeneous.

    Parameters
    ----------
    order : {0, 1, 2}, default=1

    Examples
    --------
    >>> from assay.kernels import ArcCosine
    >>> ArcCosine(0).gram([[1.0, 0.0], [0.0, 2.0]])
    array([[0.5 , 0.25],
           [0.25, 0.5 ]])

    References
    ----------
    Rudi & Şimşekli §10.3.5.
    """

    order: int = 1

    def __post_init__(self) -> None:
        require("ArcCosine", _ORDER, order=self.order)

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        scratch, angles = Scratch(), angle_tiles(X, Z)
        row_sizes = np.sqrt(squared_norms(X)) ** self.order / X.dtype.type(2 * np.pi)
        column_sizes = np.sqrt(squared_norms(Z)) ** self.order

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            angle, other = scratch.tile(tile, 0), scratch.tile(tile, 1)
            angles(rows, columns, angle)
            self._turn(angle, other, tile)
            tile *= row_sizes[rows, None]
            tile *= column_sizes[columns]

        return fill

    def _turn(self, angle: NDArray, other: NDArray, out: NDArray) -> None:
        """Write π − θ, sin θ + (π − θ) cos θ, or 3 sin θ cos θ + (π − θ)(1 + 2cos² θ)."""
        if self.order == 0:
            np.subtract(np.pi, angle, out=out)
            return
        np.cos(angle, out=out)
        np.sin(angle, out=other)
        np.subtract(np.pi, angle, out=angle)
        if self.order == 1:
            out *= angle
            out += other
            return
        other *= out
        other *= 3.0
        np.square(out, out=out)
        out *= 2.0
        out += 1.0
        out *= angle
        out += other

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`: 1/2, ‖x‖²/2, 3‖x‖⁴/2."""
        X = as_matrix(X)
        squares = squared_norms(X)
        if self.order == 0:
            return np.where(squares > 0, 0.5, 0.25).astype(X.dtype)
        return ((0.5, 1.5)[self.order - 1] * squares**self.order).astype(X.dtype)

    @property
    def separates_points(self) -> bool:
        """See `Kernel.separates_points`: steps see directions alone."""
        return self.order > 0

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`."""
        return (0.5, 0.5, 1.5)[self.order] * float(radius) ** (2 * self.order)


def angle_tiles(X: Matrix, Z: Matrix) -> Fill:
    """The function that fills a tile with the angles of x_i and z_j, a right one where a row is zero.

    θ = 2 atan(‖u − v‖/‖u + v‖) for unit rows u and v: the cosine alone has no digits left near 0 and π.
    """
    units = _unit_rows(X)
    others = units if X is Z else _unit_rows(Z)
    apart, together = distance_tiles(units, others), distance_tiles(units, -others)
    row_is_zero, column_is_zero = squared_norms(X) == 0, squared_norms(Z) == 0
    smallest, scratch = 8.0 * float(np.finfo(X.dtype).eps), Scratch()

    def fill(rows: slice, columns: slice, tile: NDArray) -> None:
        sums = scratch.tile(tile)
        apart(rows, columns, tile)
        together(rows, columns, sums)
        # Below rounding the rows are parallel (a CSR table is not summed afresh where digits cancel).
        tile[tile < smallest] = 0.0
        sums[sums < smallest] = 0.0
        if row_is_zero[rows].any() and column_is_zero[columns].any():
            both = row_is_zero[rows, None] & column_is_zero[columns]
            tile[both] = sums[both] = 1.0
        np.sqrt(tile, out=tile)
        np.sqrt(sums, out=sums)
        np.arctan2(tile, sums, out=tile)
        tile *= 2.0

    return fill


def _unit_rows(X: Matrix) -> Matrix:
    norms = np.sqrt(squared_norms(X))
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    if is_sparse(X):
        return (sparse.diags_array(inverse) @ X).tocsr().astype(X.dtype)
    return X * inverse[:, None]
