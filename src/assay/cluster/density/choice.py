"""Choice of the parameters of DBSCAN: twice the dimension, and the elbow of the k-distance curve."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gamma
from sklearn.utils.validation import check_array

from assay import parameters
from assay.distances import Metric, NeighborSearch, check_dissimilarity, check_metric
from assay.rows import check_weights

MAX_SPREAD = 5.0
MAX_SHARE_BEYOND, MAX_GAP = 0.15, 10.0
MIN_SHARPNESS = 0.1
MIN_ROWS_OF_WARNINGS = 30


class KDistanceElbow(NamedTuple):
    """Where a k-distance curve bends: at `eps`, or at the least positive k-distance if it is 0 there.

    `share_beyond` of the rows, by weight, would not be core, at `gap` times eps in the median; among the
    others the 95 % quantile of the k-distances is `spread` times the 5 % one. `sharpness` is how far the
    curve is below the chord, as a share of its height: 0 for a straight line.
    """

    eps: float
    share_beyond: float
    spread: float
    gap: float
    sharpness: float


def suggest_min_samples(n_features: int) -> int:
    """The rule of thumb for `min_samples`: twice the dimension.

    Examples
    --------
    >>> from assay.cluster import suggest_min_samples
    >>> suggest_min_samples(3)
    6

    References
    ----------
    Sangnier §2.4.
    """
    if not parameters.integer(at_least=1).contains(n_features):
        raise parameters.refusal("suggest_min_samples", "n_features", "an int at least 1", n_features)
    return 2 * int(n_features)


def k_distance_curve(
    X: Any, min_samples: int, *, metric: Metric = "euclidean", sample_weight: Any = None
) -> NDArray:
    """Distances of the rows to their (min_samples − 1)-th nearest other row, in increasing order.

    A row is core for every eps from its k-distance on: the curve tells how many core rows an eps makes.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or (n_samples, n_samples) with metric="precomputed"
    min_samples : int
        The parameter of DBSCAN, from 2 to the number of rows.
    metric : str or function, default="euclidean"
    sample_weight : array of shape (n_samples,), optional
        With weights, the distance within which the weight, that of the row included, is `min_samples`; rows
        of weight 0 are left out.

    Returns
    -------
    curve : array of shape (n_samples,)

    Examples
    --------
    >>> from assay.cluster import k_distance_curve
    >>> k_distance_curve([[0.0], [1.0], [2.0], [9.0]], 2)
    array([1., 1., 1., 7.])

    References
    ----------
    Sangnier §2.4.
    """
    X, weight = _checked("k_distance_curve", X, min_samples, metric, sample_weight)
    distances = k_distances(X, min_samples, metric, weight)
    return np.sort(distances if weight is None else distances[weight > 0.0])


def suggest_eps(
    X: Any, min_samples: int | None = None, *, metric: Metric = "euclidean", sample_weight: Any = None
) -> float:
    """The elbow of the k-distance curve: where it is farthest below the chord between its ends.

    Warns when one eps may not serve all clusters: the scales of density among the core rows differ widely,
    or the elbow leaves out a part of the rows that is far sparser. Warns when there is no clear elbow.

    Parameters
    ----------
    X, metric, sample_weight
        As in `k_distance_curve`.
    min_samples : int, optional
        The parameter of DBSCAN; by default `suggest_min_samples` of the number of features.

    Returns
    -------
    eps : float

    Examples
    --------
    >>> from assay.cluster import suggest_eps
    >>> suggest_eps([[0.0], [1.0], [2.5], [4.0], [30.0]], 2)
    1.5

    References
    ----------
    Sangnier §2.4.
    """
    if min_samples is None:
        if isinstance(metric, str) and metric == "precomputed":
            raise parameters.refusal("suggest_eps", "min_samples", "an int with metric='precomputed'", None)
        min_samples = suggest_min_samples(np.shape(X)[1] if np.ndim(X) == 2 else 1)
    X, weight = _checked("suggest_eps", X, min_samples, metric, sample_weight)
    elbow = find_elbow(k_distances(X, min_samples, metric, weight), weight)
    warn_of_densities(elbow, len(X), min_samples, dimension(X, metric), stacklevel=3)
    return elbow.eps


def find_elbow(distances: NDArray, weight: NDArray | None) -> KDistanceElbow:
    """The elbow of the curve of k-distances of rows; a row of weight 2 counts twice on it."""
    present = np.ones(distances.size) if weight is None else weight.astype(np.float64)
    kept = np.flatnonzero(present > 0.0)
    order = kept[np.argsort(distances[kept], kind="stable")]
    curve, reached = distances[order].astype(np.float64), np.cumsum(present[order])
    if curve[-1] <= 0.0:
        raise ValueError("All k-distances are 0: too many rows are the same to suggest 'eps'; give a number.")
    along = np.maximum(reached - 1.0, 0.0) / max(reached[-1] - 1.0, 1.0)
    height = (curve - curve[0]) / (curve[-1] - curve[0]) if curve[-1] > curve[0] else np.zeros_like(curve)
    place = int(np.argmax(along - height))
    eps = float(curve[place])
    eps = eps if eps > 0.0 else float(curve[curve > 0.0][0])
    below = curve <= eps
    positive = curve[below & (curve > 0.0)]
    spread = float(np.divide(*np.quantile(positive, [0.95, 0.05])))
    gap = 1.0 if below.all() else float(np.median(curve[~below])) / eps
    return KDistanceElbow(
        eps, float(1.0 - reached[below][-1] / reached[-1]), spread, gap, float(along[place] - height[place])
    )


def warn_of_densities(
    elbow: KDistanceElbow, n_rows: int, min_samples: int, n_features: int, *, stacklevel: int
) -> None:
    """Say when one eps may not serve all clusters; a few rows show no such thing.

    Under one density the volume of the ball out to the k-th neighbour follows the gamma law of shape k: the
    k-distances spread by the root, of order the dimension, of the ratio of its quantiles.
    """
    if n_rows < MIN_ROWS_OF_WARNINGS:
        return
    high, low = (float(gamma.ppf(level, max(min_samples - 1, 1))) for level in (0.95, 0.05))
    by_chance = (high / low) ** (1.0 / n_features)
    different = "One eps may not serve clusters of such different densities: "
    if elbow.sharpness < MIN_SHARPNESS and elbow.share_beyond > 0.0:
        message = "The k-distance curve has no clear elbow: it is nearly straight. Give a number for eps"
    elif elbow.spread > MAX_SPREAD * by_chance:
        message = (
            f"{different}the k-distances of rows that would be core differ by a factor {elbow.spread:.3g}, "
            f"and by {by_chance:.3g} under one density. Look at k_distance_curve"
        )
    elif elbow.share_beyond > MAX_SHARE_BEYOND and elbow.gap > MAX_GAP:
        message = (
            f"{different}the elbow of the k-distance curve leaves out {elbow.share_beyond:.0%} of the rows, "
            f"whose k-distances are {elbow.gap:.3g} times eps in the median. Look at k_distance_curve"
        )
    else:
        return
    warnings.warn(f"{message}, or take HDBSCAN, which needs no eps.", UserWarning, stacklevel=stacklevel + 1)


def k_distances(X: NDArray, min_samples: int, metric: Metric, weight: NDArray | None) -> NDArray:
    """Distance of each row within which the weight reaches `min_samples`; to the farthest if none does."""
    present = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0.0)
    n_others = present.size - 1
    result = np.zeros(len(X))
    if n_others < 1:
        return result
    rows = X[present]
    mass = np.ones(present.size) if weight is None else weight[present].astype(np.float64)
    search = None
    if isinstance(metric, str) and metric == "precomputed":
        rows = rows[:, present]
    else:
        search = NeighborSearch(rows, metric=metric)
    k = min(max(min_samples - 1, 1), n_others)
    while True:
        distances, indices = _nearest(search, rows, k)
        reached = np.cumsum(np.column_stack([mass, mass[indices]]), axis=1) >= min_samples * (1.0 - 1e-12)
        if k == n_others or reached[:, -1].all():
            break
        k = min(2 * k, n_others)
    first = np.where(reached[:, -1], reached.argmax(axis=1), k)
    with_self = np.column_stack([np.zeros(present.size), distances])
    result[present] = np.take_along_axis(with_self, first[:, np.newaxis], axis=1)[:, 0]
    return result


def dimension(X: NDArray, metric: Metric) -> int:
    """Number of features; 1, which makes warnings rarest, where dissimilarities do not tell."""
    return 1 if isinstance(metric, str) and metric == "precomputed" else X.shape[1]


def _nearest(search: NeighborSearch | None, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
    if search is not None:
        near = search.nearest(k)
        return near.distances, near.indices
    others = rows.astype(np.float64)
    np.fill_diagonal(others, np.inf)
    indices = np.argsort(others, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(others, indices, axis=1), indices


def _checked(
    owner: str, X: Any, min_samples: int, metric: Metric, sample_weight: Any
) -> tuple[NDArray, NDArray | None]:
    X = check_array(X, dtype=[np.float64, np.float32], ensure_min_samples=2)
    if isinstance(metric, str) and metric == "precomputed":
        X = check_dissimilarity(X, owner)
    else:
        check_metric(metric)
    weight = check_weights(sample_weight, X.shape[0], X.dtype)
    most = len(X) if weight is None else int(weight.sum())
    if not parameters.integer(at_least=2).contains(min_samples) or min_samples > most:
        must_be = f"an int from 2 to the number of rows ({most})"
        raise parameters.refusal(owner, "min_samples", must_be, min_samples)
    return X, weight
