"""Weighted kernel sums Σ_i v_i K((x − x_i)/h)/h^d: points prepared once, asked at any rows."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from assay.kernel_sums.kernels import SmoothingKernel
from assay.kernel_sums.line import POWERS, PowerSums, gaussian_line_below, power_sums, window_sums
from assay.kernel_sums.loops import EVEN, EXPONENTIAL, GAUSSIAN, GENERAL, PRODUCT, direct_sums, padded
from assay.kernel_sums.named import smoothing_kernel
from assay.kernel_sums.tree import SumTree, grow, tree_sums
from assay.parameters import refusal
from assay.rows import ordered_map

Array = NDArray[np.float64]
Form = Literal["radial", "product"]

TASK_ROWS = 256
"""Queries that one thread takes at a time."""

SMALL = 2**17
"""Pairs below which a thread pool costs more than it gives."""

MANY = 1024
"""Points from which on a tree, or sums of powers, are worth their preparation."""

FEW_FEATURES = 16
"""Features up to which boxes keep points apart."""

ROUNDING_SHARE = 2.0**-54
"""What a far node may add to a sum without being seen in its last digit."""

TINY = 1e-280
"""Share of the weights below which the sum of exponentials has lost digits."""


class KernelSums:
    """Points with values, ready to be summed by a kernel around any row.

    Computes for each query x and each column v of values

        Σ_i v_i K_H(x − x_i),        K_H(u) = |det H|^{−1} K(H^{−1} u),

    where K of a vector is the radial form c K(‖u‖), or the product Π_f K(u_f).

    Parameters
    ----------
    X : array of shape (n_points, n_features)
    kernel : SmoothingKernel, str or callable, default="gaussian"
    bandwidth : float, array of shape (n_features,) or (n_features, n_features), default=1.0
        h, one of them for each feature, or the matrix H.
    values : array of shape (n_points,) or (n_points, n_columns), optional
        v; weights of a density, weights and weighted targets of a local mean. One over n_points by default.
    form : {"radial", "product"}, default="radial"
        A kernel with negative values is always a product, which keeps its order.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_sums import KernelSums
    >>> KernelSums(np.zeros((1, 1)), "uniform", 2.0)(np.array([[0.0], [1.9], [2.1]]))
    array([0.25, 0.25, 0.  ])
    """

    def __init__(
        self,
        X: ArrayLike,
        kernel: Any = "gaussian",
        bandwidth: Any = 1.0,
        *,
        values: ArrayLike | None = None,
        form: Form = "radial",
    ) -> None:
        points = np.asarray(X, dtype=np.float64)
        self.n_points, self.n_features = points.shape
        self.kernel: SmoothingKernel = smoothing_kernel(kernel)
        given = (
            np.full(self.n_points, 1.0 / self.n_points)
            if values is None
            else np.asarray(values, dtype=np.float64)
        )
        self._is_vector = given.ndim == 1
        self._values = np.ascontiguousarray(given.reshape(self.n_points, -1).T)
        self._inverse, determinant = inverse_bandwidth(bandwidth, self.n_features)
        self._center = points[0].copy()
        self._columns = np.ascontiguousarray(self._scaled(points).T)
        self.form: Form = form if self.kernel.is_nonnegative else "product"
        self._profile, self._coefficients, height = profile_of(self.kernel, self.n_features, self.form)
        self.scale = height / determinant

    def _scaled(self, rows: Array) -> Array:
        """Rows in bandwidths from the first point, which keeps digits where all rows are far from 0."""
        moved = rows - self._center
        return moved * self._inverse if self._inverse.ndim < 2 else moved @ self._inverse.T

    def __call__(self, queries: ArrayLike, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        """The sums at each query.

        Parameters
        ----------
        queries : array of shape (n_queries, n_features)
        rtol, atol : float, default=0.0
            How far a sum of the first column may be from the exact one, relative to it or at most; that of
            another column by as much times the mean size of its values over those of the first. Used where
            the values of the first column are not negative and the kernel falls with the distance; zero means
            to rounding.

        Returns
        -------
        sums : array of shape (n_queries,) or (n_queries, n_columns)
        """
        rows = np.ascontiguousarray(self._scaled(np.asarray(queries, dtype=np.float64)))
        if self._has_power_sums:
            out = window_sums(self._power_sums, rows[:, 0], self._line, self._line)
            return self._shown(out)
        out = np.empty((rows.shape[0], self._values.shape[0]))
        allowed = self._has_bounds, max(rtol, ROUNDING_SHARE), atol / self.scale
        how = self._profile, self._coefficients

        def one(start: int) -> None:
            part = slice(start, start + TASK_ROWS)
            if self._is_formula:
                self._by_function(rows[part], out[part])
            elif self._has_tree:
                tree_sums(self._tree, rows[part], *how, *allowed, out[part])
            else:
                direct_sums(*self._padded, rows[part], *how, out[part])

        starts = range(0, rows.shape[0], TASK_ROWS)
        if rows.shape[0] * self.n_points <= SMALL:
            for start in starts:
                one(start)
        else:
            for _ in ordered_map(one, starts):
                pass
        return self._shown(out)

    def directly(self, queries: ArrayLike) -> Array:
        """The same sums over all pairs by the kernel's own formula and NumPy: slow, to check others by."""
        rows = self._scaled(np.asarray(queries, dtype=np.float64))
        out = np.empty((rows.shape[0], self._values.shape[0]))
        for place in range(0, rows.shape[0], 16):
            differences = rows[place : place + 16, :, np.newaxis] - self._columns
            if self._profile == PRODUCT:
                votes = np.prod(self.kernel(differences), axis=1)
            else:
                votes = self.kernel(np.sqrt(np.sum(differences**2, axis=1))) / self._unit
            out[place : place + 16] = votes @ self._values.T
        return self._shown(out)

    def below(self, queries: ArrayLike) -> Array:
        """On a line, Σ_i v_i ∫ K_h over (−∞, x − x_i]: the distribution function of weights."""
        x = self._scaled(np.asarray(queries, dtype=np.float64))[:, 0]
        order = np.argsort(self._columns[0], kind="stable")
        ordered, values = self._columns[0][order], self._values[:, order]
        if self.kernel.shape == "polynomial" and len(self.kernel.coefficients) <= POWERS:
            rising = np.asarray(polynomial.polyint(self.kernel.coefficients), dtype=np.float64)
            left, right = rising.copy(), -rising
            left[0] = right[0] = 0.5
            out = window_sums(power_sums(ordered, values, len(rising) - 1), x, left, right)
            mass = np.concatenate([np.zeros((1, len(values))), np.cumsum(values, axis=1).T])
            out += mass[np.searchsorted(ordered, x - 1.0, side="right")]
        elif self.kernel.shape == "gaussian":
            out = np.stack([gaussian_line_below(ordered, column, x) for column in values], axis=1)
        else:
            votes = [self.kernel.integral_below(one - ordered) for one in x]
            out = np.stack([values @ vote for vote in votes]) if len(x) else np.empty((0, len(values)))
        return out[:, 0] if self._is_vector else out

    def log(self, queries: ArrayLike, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        """Logarithms of the sums of one column of weights; exact where the sums themselves underflow."""
        rows = np.asarray(queries, dtype=np.float64)
        sums = self(rows, rtol=rtol, atol=atol)
        with np.errstate(divide="ignore"):
            logs = np.log(sums)
        if self.kernel.shape in ("gaussian", "exponential"):
            for q in np.flatnonzero(sums <= TINY * self.scale * self._values[0].sum()):
                logs[q] = self._log_far(rows[q : q + 1])
        return logs

    def _log_far(self, row: Array) -> float:
        """Logarithm of the sum at a row so far from all points that exponentials are nothing."""
        apart = self._columns - self._scaled(row).T
        if self._profile == PRODUCT:
            height = self.n_features * math.log(0.5)
            return (
                math.log(self.scale)
                + height
                + float(logsumexp(-np.abs(apart).sum(axis=0), b=self._values[0]))
            )
        squares = np.sum(apart**2, axis=0)
        powers = -0.5 * squares if self.kernel.shape == "gaussian" else -np.sqrt(squares)
        return math.log(self.scale) + float(logsumexp(powers, b=self._values[0]))

    def _shown(self, out: Array) -> Array:
        out *= self.scale
        return out[:, 0] if self._is_vector else out

    @cached_property
    def _has_power_sums(self) -> bool:
        is_short = self.kernel.shape == "polynomial" and len(self.kernel.coefficients) <= POWERS
        return self.n_features == 1 and is_short and self.n_points >= MANY

    @cached_property
    def _line(self) -> Array:
        return np.array(self.kernel.coefficients)

    @cached_property
    def _power_sums(self) -> PowerSums:
        order = np.argsort(self._columns[0], kind="stable")
        values = np.ascontiguousarray(self._values[:, order])
        return power_sums(self._columns[0][order], values, len(self.kernel.coefficients) - 1)

    @cached_property
    def _padded(self) -> tuple[Array, Array]:
        return padded(self._columns, self._values)

    @cached_property
    def _has_tree(self) -> bool:
        return self.n_points >= MANY and self.n_features <= FEW_FEATURES

    @cached_property
    def _tree(self) -> SumTree:
        return grow(self._columns, self._values)

    @cached_property
    def _has_bounds(self) -> bool:
        """Whether the distance bounds the kernel on both sides, and the first column can be a share of."""
        return self._profile != PRODUCT and self.kernel.is_decreasing and bool(self._values[0].min() >= 0.0)

    @property
    def _is_formula(self) -> bool:
        """Whether no loop is compiled for the kernel: a function, or a product of exponentials."""
        product = self._profile == PRODUCT and self.kernel.shape == "exponential"
        return product or self.kernel.shape == "function"

    def _by_function(self, rows: Array, out: Array) -> None:
        """A kernel that is a function of an array, one feature after the other."""
        for place in range(0, rows.shape[0], 16):
            few = rows[place : place + 16]
            votes = np.ones((len(few), self.n_points))
            for f in range(self.n_features):
                votes *= self.kernel(few[:, f, np.newaxis] - self._columns[f])
            out[place : place + 16] = votes @ self._values.T

    @property
    def at_zero(self) -> float:
        """K_H(0), the vote of a point for itself."""
        one = float(self.kernel(0.0))
        return self.scale * (one**self.n_features if self._profile == PRODUCT else one / self._unit)

    @property
    def _unit(self) -> float:
        """K(0) where loops leave it to the scale."""
        return float(self.kernel(0.0)) if self.kernel.shape in ("gaussian", "exponential") else 1.0


def inverse_bandwidth(bandwidth: Any, n_features: int) -> tuple[Array, float]:
    """H^{−1} as numbers for each feature or a matrix, and |det H|."""
    given = np.asarray(bandwidth, dtype=np.float64)
    if given.ndim == 2:
        if given.shape != (n_features, n_features) or not abs(np.linalg.det(given)) > 0:
            words = f"an invertible matrix of shape ({n_features}, {n_features})"
            raise refusal("KernelSums", "bandwidth", words, bandwidth)
        return np.asarray(np.linalg.inv(given), dtype=np.float64), float(abs(np.linalg.det(given)))
    if (
        given.ndim > 1
        or given.shape not in ((), (n_features,))
        or not np.all((given > 0) & np.isfinite(given))
    ):
        words = f"a positive number, {n_features} of them, or a matrix"
        raise refusal("KernelSums", "bandwidth", words, bandwidth)
    return np.broadcast_to(1.0 / given, (n_features,)), float(np.prod(np.broadcast_to(given, (n_features,))))


def profile_of(kernel: SmoothingKernel, n_features: int, form: Form) -> tuple[int, Array, float]:
    """How loops compute a kernel: the profile, its coefficients, and the factor that makes its integral 1."""
    if kernel.shape == "gaussian":
        return GAUSSIAN, np.empty(0), (2 * math.pi) ** (-n_features / 2)
    if kernel.shape == "function":
        return PRODUCT, np.empty(0), 1.0
    if kernel.shape == "exponential" and form == "product" and n_features > 1:
        return PRODUCT, np.empty(0), 1.0
    if kernel.shape == "exponential":
        return EXPONENTIAL, np.empty(0), 0.5 * kernel.radial_constant(n_features)
    coefficients = np.array(kernel.coefficients)
    if form == "product" and n_features > 1:
        return PRODUCT, coefficients, 1.0
    constant = kernel.radial_constant(n_features)
    is_even = not np.any(coefficients[1::2])
    return (EVEN, coefficients[::2].copy(), constant) if is_even else (GENERAL, coefficients, constant)
