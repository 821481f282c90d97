"""Kernel estimates as objects that evaluate rows: sums of kernels, mirrored at the borders of a support."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.density.base import log_of
from assay.distances import distance_matrix
from assay.distances.others import OTHER_METRICS, other_distances
from assay.kernel_sums import KernelSums, SmoothingKernel
from assay.parameters import refusal

Array = NDArray[np.float64]

REACH = 8.5
"""Bandwidths beyond which a Gaussian adds less than rounding; an exponential reaches four times as far."""

MOST_IMAGES = 9
"""Images of a row along one column: a bandwidth of about the size of the support."""


class KernelEstimate(NamedTuple):
    """Σ_i w_i K_H(x − x_i)/Σ w inside a support."""

    sums: KernelSums
    support: Array | None
    rtol: float
    atol: float

    def pdf(self, rows: Array) -> Array:
        """The estimate at each row."""
        return self._cut(self.sums(rows, rtol=self.rtol, atol=self.atol), rows, 0.0)

    def log_pdf(self, rows: Array) -> Array:
        """Its logarithm; NaN never: a negative estimate is refused before."""
        return self._cut(self.sums.log(rows, rtol=self.rtol, atol=self.atol), rows, -np.inf)

    def directly(self, rows: Array) -> Array:
        """The estimate over all pairs, by the formula of the kernel alone."""
        return self._cut(self.sums.directly(rows), rows, 0.0)

    def _cut(self, values: Array, rows: Array, outside: float) -> Array:
        if self.support is None:
            return values
        inside = np.all((rows >= self.support[:, 0]) & (rows <= self.support[:, 1]), axis=1)
        return np.where(inside, values, outside)


class MetricEstimate(NamedTuple):
    """Σ_i w_i c K(d(x, x_i)/h)/(h^d Σ w) for a distance that is not Euclidean.

    The constant is that of Euclidean balls, as in scikit-learn: the integral is 1 for those alone.
    """

    rows: Array
    weights: Array
    kernel: SmoothingKernel
    bandwidth: float
    metric: Any
    options: dict[str, Any]

    def pdf(self, queries: Array) -> Array:
        """The estimate at each row."""
        d = self.rows.shape[1]
        out = np.empty(len(queries))
        for start in range(0, len(queries), 256):
            distances = self._distances(queries[start : start + 256])
            out[start : start + 256] = self.kernel(distances / self.bandwidth) @ self.weights
        return out * (self.kernel.radial_constant(d) / self.bandwidth**d / self.weights.sum())

    def _distances(self, queries: Array) -> Array:
        if self.metric in OTHER_METRICS:
            return other_distances(queries, self.rows, self.metric, self.options)
        metric = partial(self.metric, **self.options) if callable(self.metric) else self.metric
        return distance_matrix(queries, self.rows, metric=metric)

    def log_pdf(self, queries: Array) -> Array:
        """Its logarithm."""
        return log_of(self.pdf(queries))

    def directly(self, queries: Array) -> Array:
        """The estimate is over all pairs as it is."""
        return self.pdf(queries)


def estimate_of(
    rows: Array, weights: Array, kernel: SmoothingKernel, bandwidth: Any, *, form: str, support: Array | None,
    tolerance: tuple[float, float],
) -> KernelEstimate:  # fmt: skip
    """The estimate of weighted rows."""
    values = weights / weights.sum()
    rows = np.asarray(rows, dtype=np.float64)
    if support is not None:
        rows, values = with_images(rows, values, support, reach_of(kernel, bandwidth, rows.shape[1]))
    sums = KernelSums(rows, kernel, bandwidth, values=values, form=form)  # type: ignore[arg-type]
    return KernelEstimate(sums, support, *tolerance)


def reach_of(kernel: SmoothingKernel, bandwidth: Any, n_features: int) -> Array:
    """How far a vote reaches along each column."""
    far = {"gaussian": REACH, "exponential": 4.0 * REACH}.get(kernel.shape, kernel.support)
    given = np.asarray(bandwidth, dtype=np.float64)
    if given.ndim == 2:
        return far * np.linalg.norm(given, axis=1)
    return far * np.broadcast_to(given, (n_features,))


def with_images(rows: Array, values: Array, support: Array, reach: Array) -> tuple[Array, Array]:
    """The rows and their mirror images at the borders of a box, as far as their votes reach into it."""
    for column, ((low, high), far) in enumerate(zip(support, reach, strict=True)):
        x = rows[:, column]
        parts, kept = [rows], [values]
        for image in _images(x, low, high, far):
            is_near = (image > low - far) & (image < high + far)
            moved = rows[is_near].copy()
            moved[:, column] = image[is_near]
            parts.append(moved)
            kept.append(values[is_near])
        rows, values = np.concatenate(parts), np.concatenate(kept)
    return rows, values


def _images(x: Array, low: float, high: float, far: float) -> list[Array]:
    if math.isinf(low) and math.isinf(high):
        return []
    if math.isinf(low):
        return [2.0 * high - x]
    if math.isinf(high):
        return [2.0 * low - x]
    period = 2.0 * (high - low)
    times = math.ceil((far + high - low) / period)
    if times > MOST_IMAGES:
        words = f"at most of the size of the support ({high - low:g})"
        raise refusal("KernelDensity", "bandwidth", words, far)
    shifted = [x + k * period for k in range(-times, times + 1) if k]
    mirrored = [2.0 * low - x + k * period for k in range(-times, times + 1)]
    return [*itertools.chain(shifted, mirrored)]


def folded(rows: Array, support: Array | None) -> Array:
    """Rows mirrored into a box, as often as it takes."""
    if support is None:
        return rows
    out = rows.copy()
    for column, (low, high) in enumerate(support):
        x = out[:, column]
        if math.isfinite(low) and math.isfinite(high):
            place = np.mod(x - low, 2.0 * (high - low))
            x = low + np.minimum(place, 2.0 * (high - low) - place)
        elif math.isfinite(low):
            x = low + np.abs(x - low)
        elif math.isfinite(high):
            x = high - np.abs(x - high)
        out[:, column] = x
    return out
