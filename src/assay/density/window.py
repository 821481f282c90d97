"""The moving-window density: shares of the rows in a window, and a confidence interval for the density."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificates, agreement, at_most
from assay.density.bandwidths import column_scales
from assay.density.base import Array, PdfInterval, RoomDensity, check_spread, check_volume, log_of
from assay.models import convergence
from assay.models.capabilities import require_memory
from assay.parameters import nothing, one_of, real, require
from assay.rows import MemoryRows

SOURCE = "Douc & Le Corff §8.3"

Window = Literal["open", "half_open"]


class MovingWindowDensity(RoomDensity):
    """Density by counting the rows in a window around a point.

    Finds for each row x the number of rows in the window (x − h, x + h) (a cube in several columns),

        p̂(x) = (1/(2nh)) Σ_i 1[|X_i − x| < h] = (F_n(x + h) − F_n(x − h))/(2h),

    whose count 2nh p̂(x) is binomial, so that its variance is known exactly and an interval follows from the
    central limit theorem where nh → ∞ and nh³ → 0. Keeps its rows.

    Assumes: rows independent of one law; for intervals p′ bounded near x, p(x) > 0, and a window so small
    that the bias is below the noise.

    Certificates: the shares at sampled rows are those of a count; nh³ is small, in units of the spread: the
    interval is not biased by an oversmoothed window.

    Parameters
    ----------
    bandwidth : float or "undersmoothed", default="undersmoothed"
        h; by the rule σ n^{−a} with σ the mean deviation of the columns.
    exponent : float, optional
        a of the rule, between 1/(d + 2) and 1/d; 1.2/(d + 2) by default, 0.4 for one column.
    window : {"open", "half_open"}, default="open"
        Whether rows at x + h count; they do in the difference of distribution functions.

    Attributes
    ----------
    bandwidth_ : float
    rows_kept_ : array of shape (n_rows, n_features)
        The rows, sorted by the first column.
    weights_kept_ : array of shape (n_rows,)
    scale_ : float
        σ.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.density import MovingWindowDensity
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = MovingWindowDensity(bandwidth=1.0, window="half_open").fit(X)
    >>> model.pdf([[1.0], [10.0]])
    array([0.25, 0.  ])

    References
    ----------
    Douc & Le Corff §2.2, §8.3; the proof of its limit theorem prints nh³ → ∞.
    """

    _memory_reason: ClassVar[str] = "keeps its rows"
    _domains: ClassVar = {
        "bandwidth": real(above=0.0, squared=True) | one_of("undersmoothed"),
        "exponent": nothing | real(above=0.0, at_most=1.0),
        "window": one_of("open", "half_open"),
    }

    def __init__(
        self, bandwidth: Any = "undersmoothed", *, exponent: Any = None, window: Window = "open"
    ) -> None:
        self.bandwidth = bandwidth
        self.exponent = exponent
        self.window = window

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows and choose the window.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 counts a row twice.
        """
        require_memory(self, X, instead="take HistogramDensity")
        kept = self._keep(self._open_rows(X, None, sample_weight))
        self.rows_kept_, self.weights_kept_, self.scale_, self.bandwidth_ = kept
        self.certificates_ = Certificates([self._small_window()])
        return self

    def pdf_variance(self, X: Any) -> Array:
        """Estimated variance of p̂ at each row: q̃(1 − q̃)/(n(2h)^{2d}), q̃ the share of the window."""
        volume = (2.0 * self.bandwidth_) ** self.n_features_in_
        shares = np.asarray(self.pdf(X), dtype=np.float64) * volume
        return shares * (1.0 - shares) / (self._n_samples * volume**2)

    def pdf_interval(
        self, X: Any, coverage: float = 0.95, *, variance: str = "poisson", slope: float = 0.0
    ) -> PdfInterval:
        """Confidence interval for the density at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.95
        variance : {"poisson", "binomial"}, default="poisson"
            p̂/(2nh), the limit as h → 0, or p̂(1 − 2hp̂)/(2nh), that of the count itself, which is less.
        slope : float, default=0.0
            A bound M of |p′| near the rows: the interval is widened by Mh/2, more than the bias.

        Returns
        -------
        interval : PdfInterval
            Warns where nh³ (n h^{d+2} in units of the spread) is not small.
        """
        require(type(self).__name__, one_of("poisson", "binomial"), variance=variance)
        require(type(self).__name__, real(at_least=0.0), slope=slope)
        z = self._quantile_of(coverage)
        if not self._small_window().holds:
            convergence.warn(
                f"The window of {type(self).__name__} is too wide for an unbiased interval: n h^(d+2) is "
                f"{self._small_window().value:.3g} in units of the spread; take a smaller bandwidth.",
                UserWarning,
            )
        pdf = np.asarray(self.pdf(X), dtype=np.float64)
        volume = (2.0 * self.bandwidth_) ** self.n_features_in_
        spread = pdf / (self._n_samples * volume) if variance == "poisson" else self.pdf_variance(X)
        half = z * np.sqrt(spread) + slope * self.bandwidth_ / 2.0
        return PdfInterval(pdf, np.maximum(pdf - half, 0.0), pdf + half)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """See `Model.certify`."""
        require_memory(self, X, instead="certify on a sample of them")
        fresh = self._keep(self._open_new_rows(X, None, sample_weight))
        names = ("rows_kept", "weights_kept", "scale", "bandwidth")
        pairs = {name: (getattr(self, f"{name}_"), value) for name, value in zip(names, fresh, strict=True)}
        asked = fresh.rows[:: max(1, len(fresh.rows) // 32)].astype(np.float64)
        said = self._evaluator().pdf(asked)
        low, high = asked[:, np.newaxis] - fresh.bandwidth, asked[:, np.newaxis] + fresh.bandwidth
        inside = (fresh.rows > low) & (
            fresh.rows <= high if self.window == "half_open" else fresh.rows < high
        )
        counts = np.all(inside, axis=2) @ fresh.weights
        pairs["shares"] = (said, counts / (fresh.weights.sum() * (2.0 * fresh.bandwidth) ** asked.shape[1]))
        claim = "Rows and window are those of the data, and shares those of a count."
        return Certificates([self._small_window(), agreement(claim, pairs, SOURCE)])

    @property
    def _n_samples(self) -> float:
        return float(self.weights_kept_.sum())

    def _keep(self, data: Any) -> Kept:
        assert isinstance(data, MemoryRows)
        rows = np.asarray(data.X)
        weight = np.ones(len(rows)) if data.weight is None else data.weight.astype(np.float64)
        rows, weight = rows[weight > 0], weight[weight > 0]
        order = np.argsort(rows[:, 0], kind="stable")
        rows, weight = np.ascontiguousarray(rows[order]), weight[order]
        n_features = rows.shape[1]
        check_spread(self, rows.min(axis=0), rows.max(axis=0))
        scale = float(column_scales(rows.astype(np.float64), weight).mean())
        if not isinstance(self.bandwidth, str):
            check_volume(self, np.full(n_features, float(self.bandwidth)))
            return Kept(rows, weight, scale, float(self.bandwidth))
        if not scale > 0:
            raise self._refuse(
                "bandwidth", "a number where all rows are equal, as one sample is: they have no scale"
            )
        power = 1.2 / (n_features + 2) if self.exponent is None else self.exponent
        bandwidth = scale * float(weight.sum()) ** (-power)
        check_volume(self, np.full(n_features, bandwidth))
        return Kept(rows, weight, scale, bandwidth)

    def _small_window(self) -> Any:
        ratio = self.bandwidth_ / self.scale_ if self.scale_ > 0 else np.inf
        value = self._n_samples * ratio ** (self.n_features_in_ + 2)
        claim = "The window is so small that the bias of an interval is below its width."
        return at_most(claim, "n h^(d+2) in units of the spread", value, 1.0, SOURCE)

    def _evaluator(self) -> WindowShares:
        values = self.rows_kept_.astype(np.float64)
        return WindowShares(values, self.weights_kept_, self.bandwidth_, self.window == "half_open")

    def _draw(self, n_samples: int, rng: np.random.Generator) -> Array:
        chosen = rng.choice(len(self.weights_kept_), n_samples, p=self.weights_kept_ / self._n_samples)
        moves = rng.uniform(-1.0, 1.0, (n_samples, self.n_features_in_))
        return self.rows_kept_[chosen] + self.bandwidth_ * moves


class Kept(NamedTuple):
    """What a fit of `MovingWindowDensity` keeps."""

    rows: NDArray
    weights: Array
    scale: float
    bandwidth: float


class WindowShares(NamedTuple):
    """Rows sorted by the first column, counted in windows."""

    rows: Array
    weights: Array
    bandwidth: float
    half_open: bool

    def pdf(self, queries: Array) -> Array:
        """Weight in the window of each query over its volume."""
        h, first = self.bandwidth, self.rows[:, 0]
        start = np.searchsorted(first, queries[:, 0] - h, side="right")
        stop = np.searchsorted(first, queries[:, 0] + h, side="right" if self.half_open else "left")
        total = float(self.weights.sum()) * (2.0 * h) ** self.rows.shape[1]
        if self.rows.shape[1] == 1:
            mass = np.concatenate([[0.0], np.cumsum(self.weights)])
            return (mass[np.maximum(stop, start)] - mass[start]) / total
        counts = [self._count(*each) for each in zip(start, stop, queries, strict=True)]
        return np.array(counts) / total

    def _count(self, start: int, stop: int, query: Array) -> float:
        """Weight of the rows of a strip that are in the cube."""
        strip, high = self.rows[start:stop], query + self.bandwidth
        inside = (strip > query - self.bandwidth) & (strip <= high if self.half_open else strip < high)
        return float(self.weights[start:stop] @ np.all(inside, axis=1))

    def log_pdf(self, queries: Array) -> Array:
        """Logarithm of the share over the volume."""
        return log_of(self.pdf(queries))
