"""Kernel density estimation in any dimension."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificates
from assay.density.bandwidths import NO_CURVE, Chosen, choose, column_scales, holder_kernel, places_inside
from assay.density.base import Array, PdfInterval, RoomDensity, check_spread, check_volume
from assay.density.kernel.certificates import kernel_certificates, measured_certificates
from assay.density.kernel.domains import DOMAINS
from assay.density.kernel.evaluator import KernelEstimate, MetricEstimate, estimate_of, folded
from assay.distances import check_metric
from assay.distances.others import OTHER_METRICS, named_metric
from assay.kernel_sums import GridSums, SmoothingKernel, gaussian_grid, smoothing_kernel
from assay.models import convergence
from assay.models.capabilities import require_memory
from assay.parameters import integer, require
from assay.rows import MemoryRows

_MADE: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()
"""Estimates of fitted models, beside them: neither saved nor copied with them."""


class KernelDensity(RoomDensity):
    """Density as a mean of kernels around the rows.

    Finds the estimate

        p̂(x) = (1/n) Σ_i K_H(x − X_i),        K_h(u) = K(u/h)/h^d,

    exactly, or to `rtol` or `atol`: polynomial kernels of one column by prefix sums of powers in O(log n) a
    row, others by a tree whose far nodes are bounded from both sides, or directly. Keeps its rows; for rows
    outside memory take `BinnedKernelDensity`.

    Assumes: rows independent of one law; what a rule of bandwidth asks of its density.

    Certificates: the integral is 1; the order of the kernel by its moments; the evaluation error at sampled
    rows against direct sums; rows, weights and bandwidth are those of the data; for "ucv" the least point of
    the criterion is inside the grid.

    Parameters
    ----------
    bandwidth : float, array or str, default=1.0
        h; one for each column; or a matrix H, for K(H⁻¹u)/|det H|. By a rule: "scott" and "silverman", which
        multiply the deviation of each column; "ucv", which minimises an unbiased estimate of the integrated
        squared error; "sheather-jones"; "oracle" and "holder", which minimise a bound of the risk under
        `truth` (one column).
    algorithm : {"auto", "kd_tree", "ball_tree"}, default="auto"
        Accepted as by scikit-learn; the way is chosen by what is fastest.
    kernel : str, SmoothingKernel or callable, default="gaussian"
        "gaussian", "epanechnikov", "uniform" ("tophat"), "triangular" ("linear"), "biweight", "exponential",
        "cosine", a Legendre kernel of any order, or a function of integral 1. "holder" takes the Legendre
        kernel of its order.
    metric : str or callable, default="euclidean"
        Distance of the radial form, by a name of scikit-learn's or a function of two rows; the integral is 1
        for the Euclidean one.
    atol, rtol : float, default=0
        Absolute and relative error of the evaluation that is allowed.
    breadth_first : bool, default=True
    leaf_size : int, default=40
        Accepted as by scikit-learn, without effect.
    metric_params : mapping, optional
        Further arguments of the metric, such as {"p": 3} for "minkowski".
    form : {"radial", "product"}, default="radial"
        K of several columns: c K(‖u‖), or Π_f K(u_f), which kernels with negative values always are.
    support : pair or array of shape (n_features, 2), optional
        Box of the density, infinite ends allowed: kernels are mirrored at its borders.
    truth : mapping, optional
        "sup" = ‖p‖∞, with "curvature" = ‖p″‖∞ for "oracle" or "beta" and "eta" for "holder"; those of a
        Gaussian of the same deviation by default.
    bandwidths : array, optional
        Tried by "ucv"; for several columns, multiples of Silverman's.

    Attributes
    ----------
    bandwidth_ : float or array
    rows_kept_ : array of shape (n_rows, n_features)
    weights_kept_ : array of shape (n_rows,)
    bandwidths_, criterion_ : arrays
        What "ucv" tried, and J of each; empty for others.
    risk_bound_ : float
        Bound of the mean squared error at any point, for "oracle" and "holder"; 0 for others.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.density import KernelDensity
    >>> X = np.array([[-1.0], [0.0], [1.0]])
    >>> model = KernelDensity(kernel="epanechnikov", bandwidth=2.0).fit(X)
    >>> model.pdf([[0.0], [2.0]]).round(4), model.cdf([[0.0]]).round(2)
    (array([0.3125, 0.0938]), array([0.5]))

    References
    ----------
    Douc & Le Corff §2.2.1–2.2.3, §8.1, §8.2.
    """

    _domains: ClassVar = DOMAINS
    _memory_reason: ClassVar[str] = "keeps its rows"

    def __init__(
        self, *, bandwidth: Any = 1.0, algorithm: str = "auto", kernel: Any = "gaussian",
        metric: Any = "euclidean", atol: float = 0, rtol: float = 0, breadth_first: bool = True,
        leaf_size: int = 40, metric_params: Any = None, form: str = "radial", support: Any = None,
        truth: Any = None, bandwidths: Any = None,
    ) -> None:  # fmt: skip
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params
        self.form = form
        self.support = support
        self.truth = truth
        self.bandwidths = bandwidths

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows and choose the bandwidth.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 counts a row twice.
        """
        require_memory(self, X, instead="take BinnedKernelDensity, which keeps bins of them")
        kept = self._keep(self._open_rows(X, None, sample_weight))
        self.rows_kept_, self.weights_kept_ = kept.rows, kept.weights
        self.bandwidth_ = kept.chosen.bandwidth
        self.bandwidths_, self.criterion_ = kept.chosen.grid, kept.chosen.curve
        bound = kept.chosen.bound
        self.risk_bound_ = 0.0 if bound is None else float(bound.at(self.bandwidth_, self._n_samples))
        self._warn_of_the_border()
        self.certificates_ = Certificates(kernel_certificates(self))
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Sum of the log-densities of the rows, as in scikit-learn."""
        return float(np.sum(np.asarray(self.score_samples(X), dtype=np.float64)))

    def log_density(self, X: Any) -> Any:
        """Logarithm of the density at each row; refused for kernels with negative values."""
        self._need_nonnegative("log_density")
        return super().log_density(X)

    def cdf(self, X: Any) -> Array:
        """Distribution function of the estimate at each row, of one column."""
        rows = self._rows_in_memory(X)
        if rows.shape[1] != 1 or isinstance(self._evaluator(), MetricEstimate):
            raise ValueError(f"KernelDensity.cdf is of one column; the fit has {rows.shape[1]}.")
        evaluator = self._evaluator()
        support = self._box(1)
        if support is None:
            return evaluator.sums.below(rows)
        low, high = support[0]
        below = evaluator.sums.below(np.clip(rows, low, high))
        return below - (evaluator.sums.below(np.array([[low]])) if np.isfinite(low) else 0.0)

    def pdf_interval(self, X: Any, coverage: float = 0.95) -> PdfInterval:
        """Confidence interval p̂ ± z √(p̂ ∫K²/(nh^d)) for the density at each row.

        Warns where n h^{d+4}, in units of the spread, is not small: the bias is then not below the noise.
        """
        z = self._quantile_of(coverage)
        evaluator = self._evaluator()
        if isinstance(evaluator, MetricEstimate):
            raise ValueError("KernelDensity.pdf_interval is of the Euclidean metric.")
        pdf, n, d = np.asarray(self.pdf(X), dtype=np.float64), self._n_samples, self.n_features_in_
        volume = abs(float(np.linalg.det(self._matrix)))
        scales = column_scales(self.rows_kept_.astype(np.float64), self.weights_kept_)
        ratio = (volume / float(np.prod(scales))) ** (1.0 / d) if np.all(scales > 0) else np.inf
        if not n * ratio ** (d + 4) <= 1.0:
            convergence.warn(
                f"The bandwidth of KernelDensity is too large for an unbiased interval: n h^(d+4) is "
                f"{n * ratio ** (d + 4):.3g} in units of the spread; take a smaller bandwidth.",
                UserWarning,
            )
        half = z * np.sqrt(np.maximum(pdf, 0.0) * self._square_integral() / (n * volume))
        return PdfInterval(pdf, np.maximum(pdf - half, 0.0), pdf + half)

    def anomaly_score(self, X: Any) -> Array:
        """Share of the training rows where the density, without themselves, is larger: 1 is strangest.

        Under the law of the training rows it is uniform up to 1/(n + 1), so that 1 − score is a p-value.
        """
        evaluator = self._evaluator()
        if not isinstance(evaluator, KernelEstimate):
            raise ValueError("KernelDensity.anomaly_score is of the Euclidean metric.")
        kept, n = self.rows_kept_.astype(np.float64), self._n_samples
        own = (evaluator.pdf(kept) * n - evaluator.sums.at_zero) / (n - 1.0) if n > 1 else np.zeros(len(kept))
        order = np.argsort(own, kind="stable")
        mass = np.concatenate([[0.0], np.cumsum(self.weights_kept_[order])])
        asked = evaluator.pdf(self._rows_in_memory(X))
        return (n - mass[np.searchsorted(own[order], asked, side="right")]) / (n + 1.0)

    def on_grid(self, n_points: int = 1024, *, rtol: float = 1e-6) -> GridSums:
        """The density at equally spaced points over the rows and the reach of the kernel, of one column.

        A Gaussian is binned in one walk, with a certified error of at most `rtol` of the maximum; other
        kernels are evaluated at the points.
        """
        require(type(self).__name__, integer(at_least=2), n_points=n_points)
        if self.n_features_in_ != 1:
            raise ValueError(f"KernelDensity.on_grid is of one column; the fit has {self.n_features_in_}.")
        x, h = self.rows_kept_[:, 0].astype(np.float64, copy=False), float(self._matrix[0, 0])
        far = 3.0 * h if not np.isfinite(self.kernel_.support) else h
        points = np.linspace(x.min() - far, x.max() + far, n_points)
        if self.kernel_.shape != "gaussian" or self.support is not None or n_points < 32:
            return GridSums(points, np.asarray(self.pdf(points[:, np.newaxis])), 0.0)
        is_unit = self.weights_kept_.strides == (0,) or np.all(self.weights_kept_ == 1.0)
        weights = np.empty(0) if is_unit else self.weights_kept_
        return gaussian_grid(x, weights, h, points, rtol=rtol)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """See `Model.certify`."""
        require_memory(self, X, instead="certify on a sample of them")
        fresh = self._keep(self._open_new_rows(X, None, sample_weight))
        return Certificates([*kernel_certificates(self), *measured_certificates(self, fresh)])

    @property
    def kernel_(self) -> SmoothingKernel:
        """The kernel of the estimate."""
        if isinstance(self.bandwidth, str) and self.bandwidth == "holder":
            return holder_kernel(self.truth)
        return smoothing_kernel(self.kernel)

    def _keep(self, data: Any) -> Kept:
        assert isinstance(data, MemoryRows)
        if data.weight is None:  # rows as they are, one number for all weights: no copy
            kept = np.ascontiguousarray(data.X), np.broadcast_to(1.0, data.shape[:1])
        else:
            has_weight = data.weight > 0
            kept = np.array(data.X[has_weight], order="C"), data.weight[has_weight].astype(np.float64)
        rows = kept[0]
        box = self._box(rows.shape[1])
        if box is not None and not np.all((rows >= box[:, 0]) & (rows <= box[:, 1])):
            raise self._refuse(
                "support", f"a box of all rows, which go from {rows.min():g} to {rows.max():g}"
            )
        chosen = self._choose(*kept)
        given = np.asarray(chosen.bandwidth, dtype=np.float64)
        sizes = (
            np.abs(np.linalg.eigvals(given)) if given.ndim == 2 else np.broadcast_to(given, rows.shape[1:])
        )
        check_volume(self, sizes)
        if not self._is_euclidean:
            self._checked_metric(chosen.bandwidth)
        return Kept(*kept, chosen)

    def _choose(self, rows: NDArray, weight: Array) -> Chosen:
        if isinstance(self.bandwidth, str):
            check_spread(self, rows.min(axis=0), rows.max(axis=0))
            check_volume(self, np.ones(rows.shape[1]))
            X, options = rows.astype(np.float64), {"truth": self.truth, "grid": self.bandwidths}
            return choose(self.bandwidth, X, weight, self.kernel_, **options)
        given = np.asarray(self.bandwidth, dtype=np.float64)
        if given.ndim == 0:
            return Chosen(float(given), NO_CURVE, NO_CURVE)
        d = rows.shape[1]
        is_vector = given.shape == (d,) and bool(np.all(given > 0))
        is_matrix = given.shape == (d, d) and abs(float(np.linalg.det(given))) > 0
        if not is_vector and not is_matrix:
            raise self._refuse("bandwidth", f"{d} positive numbers or an invertible matrix of {d} columns")
        return Chosen(given, NO_CURVE, NO_CURVE)

    def _box(self, n_features: int) -> Array | None:
        if self.support is None:
            return None
        given = np.asarray(self.support, dtype=np.float64)
        if given.ndim == 2 and len(given) != n_features:
            raise self._refuse("support", f"a pair, or one for each of {n_features} columns")
        return np.broadcast_to(given, (n_features, 2)).copy()

    def _warn_of_the_border(self) -> None:
        if len(self.criterion_) and places_inside(self.criterion_) == 0:
            convergence.warn(
                "The criterion of 'ucv' is least at an end of the bandwidths tried: give 'bandwidths' that "
                "reach further, or another rule where rows are repeated."
            )

    @property
    def _n_samples(self) -> float:
        return float(self.weights_kept_.sum())

    @property
    def _matrix(self) -> Array:
        """The bandwidth as a matrix H."""
        given, d = np.asarray(self.bandwidth_, dtype=np.float64), self.n_features_in_
        return given if given.ndim == 2 else np.diag(np.broadcast_to(given, (d,)))

    def _square_integral(self) -> float:
        """∫K² of the kernel of several columns."""
        kernel, d = self.kernel_, self.n_features_in_
        if kernel.shape == "gaussian" or self._is_product:
            return kernel.square_integral**d
        r = (np.arange(4096) + 0.5) / 4096 * (1.0 if np.isfinite(kernel.support) else 60.0)
        surface = 1.0 / (kernel.radial_constant(d) * float(np.sum(kernel(r) * r ** (d - 1)) * (r[1] - r[0])))
        return float(
            surface * kernel.radial_constant(d) ** 2 * np.sum(kernel(r) ** 2 * r ** (d - 1)) * (r[1] - r[0])
        )

    @property
    def _is_product(self) -> bool:
        one = self.n_features_in_ == 1
        return (
            one
            or self.form == "product"
            or not self.kernel_.is_nonnegative
            or self.kernel_.shape == "function"
        )

    def _rows_in_memory(self, X: Any) -> Array:
        data = self._open_new_rows(X)
        require_memory(self, X, instead="ask for some of them")
        return np.asarray(data.X, dtype=np.float64)  # type: ignore[attr-defined]

    def _evaluator(self) -> Any:
        """The estimate, made once for the attributes as they are: its tree outlives a call."""
        settings = (
            self.kernel_,
            self.metric,
            repr(self.metric_params),
            self.form,
            self.rtol,
            self.atol,
            repr(self.support),
        )
        key = id(self.rows_kept_), id(self.weights_kept_), np.asarray(self.bandwidth_).tobytes(), *settings
        made = _MADE.get(self)
        if made is None or made[0] != key:
            made = key, self._evaluator_of(self.rows_kept_, self.weights_kept_, self.bandwidth_)
            _MADE[self] = made
        return made[1]

    def _evaluator_of(self, rows: NDArray, weights: Array, bandwidth: Any) -> Any:
        if not self._is_euclidean:
            how = self._checked_metric(bandwidth)
            return MetricEstimate(rows.astype(np.float64), weights, self.kernel_, float(bandwidth), *how)
        options: Any = {
            "form": self.form,
            "support": self._box(rows.shape[1]),
            "tolerance": (float(self.rtol), float(self.atol)),
        }
        return estimate_of(rows, weights, self.kernel_, bandwidth, **options)

    def _checked_metric(self, bandwidth: Any) -> tuple[Any, dict[str, Any]]:
        """The metric and its options, where they go with the other parameters."""
        if np.ndim(bandwidth) > 0 or self.support is not None or self.kernel_.shape == "function":
            raise self._refuse(
                "metric", "'euclidean' with several bandwidths, a support or a function as kernel"
            )
        metric, options = named_metric(self.metric, self.metric_params)
        return (metric if metric in OTHER_METRICS else check_metric(metric)), options

    @property
    def _is_euclidean(self) -> bool:
        metric, _ = named_metric(self.metric, self.metric_params)
        return isinstance(metric, str) and metric in ("euclidean", "l2")

    def _need_nonnegative(self, method: str) -> None:
        if not self.kernel_.is_nonnegative:
            raise ValueError(
                f"KernelDensity.{method} needs a density that is not negative; {self.kernel_.name} has "
                "negative values: take pdf, or another kernel."
            )

    def _draw(self, n_samples: int, rng: np.random.Generator) -> Array:
        self._need_nonnegative("sample")
        kernel, d = self.kernel_, self.n_features_in_
        if kernel.shape == "function":
            raise ValueError("KernelDensity.sample needs a kernel with a name.")
        chosen = rng.choice(len(self.weights_kept_), n_samples, p=self.weights_kept_ / self._n_samples)
        if self._is_product and d > 1:
            moves = kernel.draw(n_samples * d, rng).reshape(n_samples, d)
        else:
            moves = kernel.draw_radial(n_samples, d, rng)
        return folded(self.rows_kept_[chosen] + moves @ self._matrix.T, self._box(d))


class Kept(NamedTuple):
    """What a fit keeps."""

    rows: NDArray
    weights: Array
    chosen: Chosen
