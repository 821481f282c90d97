"""The nearest centroid: classes that differ by their centres alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.datasets.requirements import finite_array, number_at_least
from assay.discriminant.gaussian.laws import LOG_TWO_PI, squared_distances
from assay.discriminant.gaussian.moments import ClassSquares, class_squares
from assay.discriminant.generative import N_DRAWN, ClassLaws, Family, GenerativeModel
from assay.discriminant.linear.certificates import rounding
from assay.discriminant.priors import PRIORS, tell_of_sum
from assay.losses import chosen
from assay.parameters import Domain
from assay.rows import Block, MemoryRows, Rows

Array = NDArray[np.float64]

SOURCE = "Sangnier §1.1.2, remark 1.1.1"


@dataclass(frozen=True, eq=False)
class CentroidLaws(ClassLaws):
    """Independent columns about a centre per class: Gaussian, or Laplace where distances are absolute.

    Attributes
    ----------
    centers : array of shape (K, d)
    scale : array of shape (d,)
        Standard deviations, or mean absolute deviations.
    metric : {"euclidean", "manhattan"}
    """

    centers: Array
    scale: Array
    metric: str
    log_odds: ClassVar[Literal["affine", "quadratic", "other"]] = "affine"

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """K."""
        return len(self.centers)

    def log_density(self, X: NDArray) -> NDArray:
        """Minus half the squared distance, or minus the absolute one, in units of the scale."""
        middle = self.centers.mean(axis=0)
        rows = (X - middle.astype(X.dtype)) / self.scale.astype(X.dtype)
        centers = ((self.centers - middle) / self.scale).astype(X.dtype)
        level = float(np.log(self.scale).sum())
        if self.metric == "manhattan":
            distances = cdist(rows, centers, metric="cityblock").astype(X.dtype)
            return np.asarray(-distances - X.dtype.type(level + len(self.scale) * np.log(2.0)))
        constant = X.dtype.type(2 * level + len(self.scale) * LOG_TWO_PI)
        return np.asarray(-0.5 * (squared_distances(rows, centers) + constant))

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """Centres plus noise."""
        shape = len(codes), len(self.scale)
        noise = rng.laplace(size=shape) if self.metric == "manhattan" else rng.standard_normal(shape)
        return np.asarray(self.centers[codes] + noise * self.scale)


class CentroidStatistics(NamedTuple):
    """Sums of squares, and medians where distances are absolute."""

    squares: ClassSquares
    centers: Array
    absolute: Array | None


@dataclass(frozen=True, eq=False)
class CentroidFamily(Family):
    """Classes about their means, or about their medians."""

    metric: str

    def gather(self, data: Rows, n_classes: int) -> CentroidStatistics:
        """One walk; medians need the rows in memory."""
        squares = class_squares(data, n_classes)
        if self.metric == "euclidean":
            return CentroidStatistics(squares, squares.means, None)
        if not isinstance(data, MemoryRows):
            raise ValueError(
                "NearestCentroid with metric='manhattan' takes medians and needs its rows in memory: use "
                "metric='euclidean' for rows outside."
            )
        return CentroidStatistics(squares, *medians(data, n_classes, squares.means))

    def estimate(self, statistics: CentroidStatistics) -> Any:
        """What `NearestCentroid` makes laws of."""
        return statistics


class NearestCentroid(GenerativeModel):
    """Each row is given to the class whose centre is nearest.

    Minimises over one centre per class Σ_i s_i ‖x_i − c_{y_i}‖², by one walk (the means), or the same with
    absolute distances (the medians). With equal priors the rule argmin_k ‖x − c_k‖ is the Bayes rule of
    classes N(c_k, σ²I), or of Laplace classes; probabilities are those of that law with its fitted scale.
    With other priors the columns are first divided by their deviation within the classes, as in scikit-learn.

    Assumes: for the probabilities, independent columns of one scale (of their own with unequal priors); for
    the rule, that classes differ by their centres.

    Certificates: the centres are those of the rows; `certify` adds that every row gets the class whose
    distance, computed directly, is least.

    Parameters
    ----------
    metric : {"euclidean", "manhattan"}, default="euclidean"
        Distances to the means, or absolute distances to the medians (rows in memory).
    shrink_threshold : float, optional
        Moves each centre towards that of all rows, column by column, by this many standard errors at most:
        columns in which a class differs by less play no part for it.
    priors : None, "empirical", "uniform" or array of shape (n_classes,), default="uniform"
        Probabilities of the classes; None is "empirical".

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_prior_ : array of shape (n_classes,)
    class_count_ : array of shape (n_classes,)
        Rows of each class, counted by weight.
    centroids_ : array of shape (n_classes, n_features)
    within_class_std_dev_ : array of shape (n_features,)
        About the centres before they are moved, divisor n − K.
    deviations_ : array of shape (n_classes, n_features)
        Distances of the centres from that of all rows in standard errors, after they are moved.
    scale_ : array of shape (n_features,)
        Unit of each column in the probabilities.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.discriminant import NearestCentroid
    >>> X, y = iris(return_X_y=True)
    >>> model = NearestCentroid().fit(X, y)
    >>> model.certificates_.holds, round(model.score(X, y), 2)
    (True, 0.93)

    References
    ----------
    Sangnier §1.1.2.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "metric": parameters.one_of("euclidean", "manhattan"),
        "shrink_threshold": parameters.nothing | parameters.real(above=0),
        "priors": PRIORS,
    }
    _checks_finite = True

    def __init__(
        self, metric: str = "euclidean", *, shrink_threshold: float | None = None, priors: Any = "uniform"
    ) -> None:
        self.metric = metric
        self.shrink_threshold = shrink_threshold
        self.priors = priors

    @classmethod
    def from_parameters(
        cls, centers: Any, priors: Any = None, classes: Any = None, *, scale: float = 1.0
    ) -> Self:
        """The oracle: the classifier of Gaussian classes that differ by their centres alone.

        Parameters
        ----------
        centers : array-like of shape (n_classes, n_features)
        priors, classes : array-like of shape (n_classes,), optional
            Equal priors, and classes 0, 1, … by default.
        scale : float, default=1.0
            Standard deviation σ of every column within the classes.

        Examples
        --------
        >>> from assay.discriminant import NearestCentroid
        >>> NearestCentroid.from_parameters([[0.0], [2.0]]).predict([[0.9], [1.1]])
        array([0, 1])
        """
        means = np.array(finite_array(cls.__name__, "centers", centers, 2))
        model = cls._given(classes, priors, len(means), priors="empirical")
        model.n_features_in_ = means.shape[1]
        unit = number_at_least(cls.__name__, "scale", scale, 0, strictly=True)
        model.centroids_, model.scale_ = means, np.full(means.shape[1], unit)
        model.within_class_std_dev_ = model.scale_
        model.deviations_ = np.zeros_like(means)
        drawn = MemoryRows(model.sample(N_DRAWN, random_state=0).X)
        model.certificates_ = Certificates(model._certify_more(drawn))
        return model

    def _family(self) -> CentroidFamily:
        return CentroidFamily(self.metric)

    def _set_priors(self, weights: NDArray) -> None:
        self.class_count_, self.class_prior_ = weights, self._prior_shares(weights)
        tell_of_sum("priors", self.priors)

    def _log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.class_prior_, dtype=np.float64))

    def _derived(self, statistics: CentroidStatistics) -> dict[str, Array]:
        """All fitted arrays, from the statistics."""
        squares = statistics.squares
        n, k = float(squares.weight.sum()), int(np.count_nonzero(squares.weight))
        centers = statistics.centers
        about = (squares.squares + squares.weight[:, None] * (centers - squares.means) ** 2).sum(axis=0)
        spread = np.sqrt(about / max(n - k, np.finfo(float).tiny)) if n > k else np.zeros(centers.shape[1])
        mean = squares.weight @ squares.means / n
        heavy = np.where(squares.weight > 0, squares.weight, n)
        errors = np.sqrt(np.maximum(1 / heavy - 1 / n, 0.0))[:, None] * (spread + np.median(spread))
        gaps = centers - mean
        deviations = np.divide(gaps, errors, out=np.zeros_like(gaps), where=errors > 0)
        if self.shrink_threshold is not None:
            kept = np.maximum(np.abs(deviations) - self.shrink_threshold, 0.0)
            deviations = np.sign(deviations) * kept
            centers = np.where(errors > 0, mean + errors * deviations, centers)
        scale = self._scale(statistics, about / n, spread)
        return {
            "centroids_": centers,
            "within_class_std_dev_": spread,
            "deviations_": deviations,
            "scale_": scale,
        }

    def _scale(self, statistics: CentroidStatistics, variances: Array, spread: Array) -> Array:
        """One unit for all columns with equal priors, else that of each column."""
        shares = np.asarray(self.class_prior_)
        if np.ptp(shares[shares > 0]) > 1e-9:
            return np.where(spread > 0, spread, 1.0)
        if statistics.absolute is not None:
            unit = float(statistics.absolute.sum() / statistics.squares.weight.sum() / len(variances))
        else:
            unit = float(np.sqrt(variances.mean()))
        return np.full(len(variances), unit if unit > 0 else 1.0)

    def _keep_laws(self, laws: CentroidStatistics, statistics: CentroidStatistics, data: Rows) -> None:
        self.__dict__.update(self._derived(statistics))

    def _laws(self) -> CentroidLaws:
        return CentroidLaws(self.centroids_, self.scale_, self.metric)

    def _proofs(
        self, laws: CentroidStatistics, statistics: CentroidStatistics, data: Rows
    ) -> list[Certificate]:
        fresh = self._derived(statistics)
        weight = statistics.squares.weight
        unit = np.where(fresh["within_class_std_dev_"] > 0, fresh["within_class_std_dev_"], 1.0)
        level = np.maximum(1.0, np.abs(fresh["centroids_"] / unit).max())
        off = 1 + (self.centroids_ - fresh["centroids_"]) / unit / level
        counts = {
            "class_count_": (self.class_count_, weight),
            "class_prior_": (self.class_prior_, self._prior_shares(np.asarray(weight))),
        }
        others = {name: (getattr(self, name), value) for name, value in fresh.items() if name != "centroids_"}
        return [
            agreement("Weights and priors are those of the rows.", counts, SOURCE, rtol=1e-9),
            agreement("The centres are those of the rows.", {"centroids_": (off, np.ones_like(off))}, SOURCE),
            agreement("Deviations and units are those of the rows.", others, SOURCE, rtol=1e-5),
        ]

    def _certify_more(self, data: Rows) -> list[Certificate]:
        state = self._laws(), self._log_priors(), rounding(data.dtype)
        apart = data.reduce(distance_block, *state)
        claim = "Every row has the class of the nearest centre, by distances computed one by one."
        return [at_most(claim, "rows of another class", apart, 0, SOURCE)]


def distance_block(block: Block, laws: CentroidLaws, logs: Array, tolerance: float) -> int:
    """Rows of one block whose class differs from that of the least distance by more than rounding."""
    X = block.dense.astype(np.float64)
    steps = np.abs(X[:, None, :] - laws.centers) / laws.scale
    own = steps.sum(axis=2) if laws.metric == "manhattan" else 0.5 * (steps**2).sum(axis=2)
    direct = logs - own
    said = chosen(laws.log_density(X) + logs)
    best = direct.max(axis=1)
    gap = best - direct[np.arange(len(X)), said]
    return int(np.count_nonzero(gap > 10 * tolerance * (1 + np.abs(own).max(axis=1))))


def medians(data: MemoryRows, n_classes: int, means: Array) -> tuple[Array, Array]:
    """Weighted medians of each class, the middle of two where both are, and deviations from them."""
    assert data.y is not None
    codes = data.y.astype(np.intp)
    weight = np.ones(len(codes)) if data.weight is None else data.weight.astype(np.float64)
    X = data.X.toarray() if data.is_sparse else data.X
    centers, absolute = means.copy(), np.zeros(means.shape[1])
    for k in range(n_classes):
        own = (codes == k) & (weight > 0)
        if own.any():
            rows, weights = X[own].astype(np.float64), weight[own]
            order = np.argsort(rows, axis=0, kind="stable")
            ranked = np.take_along_axis(rows, order, axis=0)
            total = np.cumsum(weights[order], axis=0)
            half = 0.5 * total[-1] * (1 + 1e-12)
            low = np.argmax(total * (1 + 2e-12) >= half, axis=0)
            high = np.argmax(total > half, axis=0)
            places = np.arange(rows.shape[1])
            centers[k] = 0.5 * (ranked[low, places] + ranked[high, places])
            absolute += weights @ np.abs(rows - centers[k])
    return centers, absolute
