"""Nadaraya–Watson: all rows vote, by a kernel of their distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.distances import check_range
from assay.kernel_sums import KERNEL_NAMES
from assay.models.capabilities import Regressor, require_memory
from assay.models.classes import Classifier
from assay.neighbors.certificates import Kept, kept_certificate
from assay.neighbors.kernel_means.smoothing import (
    LocalMeans,
    choose_bandwidth,
    plain_means,
    smooth_block,
    smooth_classes,
    smooth_column,
)
from assay.parameters import LARGEST, Domain
from assay.rows import MemoryRows

INSTEAD = "take KNeighborsClassifier or KNeighborsRegressor, which walk them"
AUTO = "leave_one_out"
ASKED = 64

MOST_FEATURES = 500
"""Features up to which the constant of a kernel is a number with all its digits."""

DOMAINS: Mapping[str, Domain] = {
    "bandwidth": parameters.real(above=0.0, squared=True)
    | Domain(f"{AUTO!r}", lambda value: isinstance(value, str) and value == AUTO),
    # The names are not offered as options: a kernel changes the numbers, not the method.
    "kernel": Domain(
        "one of " + ", ".join(map(repr, KERNEL_NAMES)),
        lambda value: isinstance(value, str) and value in KERNEL_NAMES,
    ),
}


class KernelMean:
    """What the classifier and the regressor share; a mixin of models."""

    bandwidth: Any
    kernel: str
    bandwidth_: float
    bandwidths_: Any
    leave_one_out_losses_: Any
    _chances: ClassVar[bool] = False

    def _remember(self, data: MemoryRows, said: NDArray) -> None:
        """Keep the rows that weigh something, and choose the bandwidth where it is left to the data."""
        weight = data.weight
        if data.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"{type(self).__name__} takes at most {MOST_FEATURES} features: the kernel vanishes in more. "
                f"Got {data.shape[1]}; take KNeighbors models with weights='gaussian'."
            )
        kept = None if weight is None or (weight > 0).all() else np.flatnonzero(weight > 0)
        check_range(data.X)
        self._kept, self._fit_X = kept, data.X if kept is None else data.X[kept]
        weight = weight if kept is None or weight is None else weight[kept]
        self._weight = None if weight is None or (weight == 1).all() else weight.astype(np.float64)
        self._y = said if kept is None else said[kept]
        self.n_samples_fit_ = int(data.shape[0])
        means = self._means()
        if isinstance(self.bandwidth, str):
            path = choose_bandwidth(means, chances=self._chances)
            self.bandwidth_, self.bandwidths_, self.leave_one_out_losses_ = (
                path.best,
                path.bandwidths,
                path.losses,
            )
        else:
            self.bandwidth_, self.bandwidths_, self.leave_one_out_losses_ = float(self.bandwidth), None, None

    def _means(self) -> LocalMeans:
        X = np.asarray(self._fit_X, dtype=np.float64)
        weight = np.ones(len(X)) if self._weight is None else self._weight
        return LocalMeans(X, self._marks(), weight, self.kernel)

    def _marks(self) -> NDArray[np.float64]:
        """What each row says, one column per number."""
        raise NotImplementedError

    def _proved(self, data: MemoryRows, target: NDArray, n_asked: int, *, whole: bool) -> Certificates:
        means, n_rows = self._means(), len(self._fit_X)
        rows = np.unique(np.linspace(0, n_rows - 1, min(n_asked, n_rows)).astype(np.intp))
        proof: list[Certificate] = [_answers(means, rows, self.bandwidth_, np.dtype(self._fit_X.dtype))]
        if whole:
            kept = Kept(self._fit_X, self._y, self._weight, self._kept)
            proof.append(kept_certificate(kept, MemoryRows(data.X, target, data.weight), False))
            pairs: dict[str, tuple[Any, Any]] = {"bandwidth_": (self.bandwidth_, self.bandwidth)}
            if isinstance(self.bandwidth, str):
                path = choose_bandwidth(means, chances=self._chances)
                pairs = {
                    "bandwidth_": (self.bandwidth_, path.best),
                    "bandwidths_": (self.bandwidths_, path.bandwidths),
                    "leave_one_out_losses_": (self.leave_one_out_losses_, path.losses),
                }
            claim = "The bandwidth is the one asked for, or that of the least loss with each row left out."
            proof.append(agreement(claim, pairs, "Sangnier §1.6.1", rtol=1e-6))
        return Certificates(proof)


def _answers(means: LocalMeans, rows: NDArray, bandwidth: float, dtype: np.dtype) -> Certificate:
    """Local means at some rows against sums over all rows, one query at a time."""
    said, expected = means.at(means.X[rows], bandwidth), plain_means(means, means.X[rows], bandwidth)
    scale = float(np.abs(means.said).max(initial=0.0)) or 1.0
    worst = float(np.abs(said - expected).max(initial=0.0)) / scale
    claim = f"The local means at {len(rows)} rows are the sums over all rows, written out."
    return at_most(claim, "largest deviation of a local mean", worst, 1e-9, "Sangnier §1.6.1")


class NadarayaWatsonClassifier(KernelMean, Classifier):
    """Votes of all rows, weighted by a kernel of their distance.

    Finds for each query x the class of the largest share

        η̂_c(x) = Σ_i s_i K(‖x − x_i‖/h) 1[y_i = c] / Σ_i s_i K(‖x − x_i‖/h),

    over all rows: the smooth form of the vote within a radius, and with a Gaussian kernel that of n nearest
    rows with weights exp(−‖x − x_i‖²/(2h²)). Where no weight is left, the nearest rows answer.

    The fit needs its rows in memory; the sums are those of the engine of kernel densities.

    Assumes: columns on comparable scales. With h → 0 and n h^d → ∞ the risk tends to that of Bayes.

    Certificates: the shares at evenly spaced rows are sums over all rows, written out; `certify` looks at
    more of them, at the rows that are kept, and at the choice of the bandwidth.

    Parameters
    ----------
    bandwidth : float or "leave_one_out", default="leave_one_out"
        h; by default that of the least mean of −log η̂ of the true class with each row left out (of 2048
        evenly spaced rows where there are more), on a geometric grid about Scott's.
    kernel : str, default="gaussian"
        A name of `assay.kernel_sums.KERNEL_NAMES`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    bandwidth_ : float
        h as used.
    bandwidths_, leave_one_out_losses_ : arrays or None
        The bandwidths tried and their losses.
    n_samples_fit_ : int
    certificates_ : Certificates
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.neighbors import NadarayaWatsonClassifier
    >>> X, y = iris(return_X_y=True)
    >>> model = NadarayaWatsonClassifier().fit(X, y)
    >>> round(model.score(X, y), 2), model.certify(X, y).holds
    (0.99, True)

    References
    ----------
    Sangnier §1.6.1. Nadaraya (1964), Watson (1964).
    """

    _accepts_sparse: ClassVar[bool] = False
    _chances: ClassVar[bool] = True
    _domains: ClassVar[Mapping[str, Domain]] = DOMAINS

    def __init__(self, bandwidth: Any = AUTO, *, kernel: str = "gaussian") -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NadarayaWatsonClassifier:
        """Keep the rows and choose the bandwidth.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows, in memory.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.

        Returns
        -------
        self : NadarayaWatsonClassifier
        """
        require_memory(self, X, instead=INSTEAD)
        data: Any = self._open_classes(X, y, sample_weight)[0]
        codes = data.y.astype(np.int64)
        self._remember(data, codes)
        self.certificates_ = self._proved(data, codes, 4, whole=False)
        return self

    def _marks(self) -> NDArray[np.float64]:
        return np.eye(len(self.classes_))[self._y]

    def predict(self, X: Any) -> Any:
        """The class of the largest share.

        Parameters
        ----------
        X : array, frame, path, Arrow dataset or Dask collection
            New rows.

        Returns
        -------
        labels : array of shape (n_samples,)
            A lazy Dask array for a Dask collection.
        """
        data = self._open_new_rows(X)
        return data.map(
            smooth_classes, self._means(), self.bandwidth_, self.classes_, dtype=self.classes_.dtype
        )

    def predict_proba(self, X: Any) -> Any:
        """Share of each class in the weights at new rows.

        Parameters
        ----------
        X : as in `predict`

        Returns
        -------
        shares : array of shape (n_samples, n_classes)
        """
        data, dtype = self._open_new_rows(X), self._fit_X.dtype
        how = self._means(), self.bandwidth_, dtype
        return data.map(smooth_block, *how, dtype=dtype, width=len(self.classes_))

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit, expensive ones included.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.

        Returns
        -------
        certificates : Certificates
        """
        require_memory(self, X, instead="certify on rows in memory")
        data: Any = self._open_new_classes(X, y, sample_weight)
        return self._proved(data, data.y.astype(np.int64), ASKED, whole=True)


class NadarayaWatsonRegressor(MultiOutputMixin, KernelMean, Regressor):
    """Means of all targets, weighted by a kernel of the distance of their rows.

    Finds for each query x the minimiser of Σ_i s_i K(‖x − x_i‖/h) (y_i − f)², the local mean

        f̂(x) = Σ_i s_i K(‖x − x_i‖/h) y_i / Σ_i s_i K(‖x − x_i‖/h).

    Where no weight is left, the nearest rows answer. The fit needs its rows in memory; the sums are those of
    the engine of kernel densities.

    Assumes: columns on comparable scales. With h → 0 and n h^d → ∞ the error tends to that of the regression
    function.

    Certificates: the means at evenly spaced rows are sums over all rows, written out; `certify` looks at more
    of them, at the rows that are kept, and at the choice of the bandwidth.

    Parameters
    ----------
    bandwidth : float or "leave_one_out", default="leave_one_out"
        h; by default that of the least squared error with each row left out (of 2048 evenly spaced rows where
        there are more), on a geometric grid about Scott's.
    kernel : str, default="gaussian"
        A name of `assay.kernel_sums.KERNEL_NAMES`.

    Attributes
    ----------
    bandwidth_ : float
        h as used.
    bandwidths_, leave_one_out_losses_ : arrays or None
        The bandwidths tried and their losses.
    n_samples_fit_ : int
    certificates_ : Certificates
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.neighbors import NadarayaWatsonRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = NadarayaWatsonRegressor(bandwidth=0.3).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([0.95])

    References
    ----------
    Sangnier §1.6.1. Nadaraya (1964), Watson (1964).
    """

    _accepts_sparse: ClassVar[bool] = False
    _domains: ClassVar[Mapping[str, Domain]] = DOMAINS

    def __init__(self, bandwidth: Any = AUTO, *, kernel: str = "gaussian") -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NadarayaWatsonRegressor:
        """Keep the rows and choose the bandwidth.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows, in memory.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.

        Returns
        -------
        self : NadarayaWatsonRegressor
        """
        require_memory(self, X, instead=INSTEAD)
        data: Any = self._open_rows(X, y, sample_weight, with_target=True)
        largest = float(np.abs(data.y).max())
        if largest > LARGEST:
            raise ValueError(
                f"y reaches {largest:.3g}, so that squared errors overflow; divide y by a constant first."
            )
        self._remember(data, data.y)
        self.certificates_ = self._proved(data, data.y, 4, whole=False)
        return self

    def _marks(self) -> NDArray[np.float64]:
        return np.asarray(self._y, dtype=np.float64).reshape(len(self._y), -1)

    def predict(self, X: Any) -> Any:
        """The local mean at new rows.

        Parameters
        ----------
        X : array, frame, path, Arrow dataset or Dask collection
            New rows.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_targets)
            A lazy Dask array for a Dask collection.
        """
        data, dtype = self._open_new_rows(X), self._fit_X.dtype
        how = self._means(), self.bandwidth_, dtype
        if self._y.ndim == 1:
            return data.map(smooth_column, *how, dtype=dtype)
        return data.map(smooth_block, *how, dtype=dtype, width=self._y.shape[1])

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit, expensive ones included.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.

        Returns
        -------
        certificates : Certificates
        """
        require_memory(self, X, instead="certify on rows in memory")
        data: Any = self._open_new_rows(X, y, sample_weight, with_target=True)
        return self._proved(data, data.y, ASKED, whole=True)
