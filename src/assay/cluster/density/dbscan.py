"""DBSCAN."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from assay import parameters
from assay.certificates import Certificates, agreement, at_most, equal
from assay.cluster.density import choice
from assay.cluster.density import dbscan_solver as solver
from assay.cluster.density.base import distances_from, rows_to_measure
from assay.distances import Metric, NeighborSearch, check_metric, check_range, metric_domain
from assay.models.clusterer import PairwiseClusterer
from assay.parameters import Domain
from assay.rows import Block, MemoryRows

# Not offered as an option to the walk of the checks: scikit-learn's check of weights shuffles the rows and
# compares the numbers of clusters, which go by the rows. tests/cluster/test_dbscan.py runs the other checks.
AUTO = Domain("'auto'", lambda value: isinstance(value, str) and value == "auto")
TIE = 1e-9
"""A distance this near to eps may fall on either side by rounding: a row is judged wrong only when it is so
whichever way such ties fall."""


MOST_ROWS = 2**53
"""More rows than there are: as many as a float counts one by one."""
MOST_EPS = 1e153
"""From here on eps reaches every row, and its square would overflow."""


class DBSCAN(PairwiseClusterer):
    """Clusters as dense regions of any shape, with noise between them.

    Finds the connected components of core rows: those with a weight of at least `min_samples` within a
    distance eps, their own included. Core rows within eps of each other share a cluster; a row within eps of
    a core row that is not core itself is on the border of its cluster; all others are noise.

    Euclidean rows are put in the cells of a tree of boxes: neighbours are counted until there are enough,
    and cells are joined until they are connected, in memory O(n). Other metrics go by lists of neighbours.
    No draw and no order of rows matters but for borders between clusters, which `ambiguous_borders_` lists.

    Assumes: columns on comparable scales, and one density, set by eps and `min_samples`, that separates all
    clusters from the noise.

    `predict` gives a row the cluster of the nearest core row if that is within eps, else −1. A row of
    weight 2 counts twice, one of weight 0 is never core.

    Certificates: exactly the core rows have enough neighbours, clusters are the connected components of core
    rows, borders are within eps of their cluster and noise is not; by another search than that of the fit. A
    large fit measures evenly spaced rows, `certify` all of them.

    Parameters
    ----------
    eps : float or "auto", default=0.5
        Radius of a neighbourhood. "auto" takes the elbow of the k-distance curve, as `suggest_eps` does, and
        warns where clusters have very different densities.
    min_samples : int or "auto", default=5
        Weight within eps, its own included, that makes a row core. "auto" is twice the number of features.
    metric : str or function, default="euclidean"
        Distance of rows; with "precomputed", `X` is the square matrix of dissimilarities.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row, numbered by their lowest core rows; −1 is noise. A border row has the lowest
        label within its reach. Rows of weight 0 are labelled too, and are never core.
    core_sample_indices_ : array of int of shape (n_core,)
        The core rows.
    components_ : array of shape (n_core, n_features)
        Their values; with metric="precomputed" their dissimilarities.
    point_types_ : array of int8 of shape (n_samples,)
        2 for core, 1 for border, 0 for noise.
    ambiguous_borders_ : array of int
        Border rows within eps of two clusters or more: only their labels depend on the order of the rows.
    n_clusters_ : int
        Number of clusters.
    label_weights_ : array of shape (n_clusters_ + 1,)
        Number of rows, or weight, of each cluster, and of noise at the end: `label_weights_[label]`.
    eps_, min_samples_ : float, int
        The values used.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import DBSCAN
    >>> X = np.array([[1.0, 2.0], [2.0, 2.0], [2.0, 3.0], [8.0, 7.0], [8.0, 8.0], [25.0, 80.0]])
    >>> model = DBSCAN(eps=3.0, min_samples=2).fit(X)
    >>> model.labels_
    array([ 0,  0,  0,  1,  1, -1], dtype=int32)
    >>> model.predict([[2.0, 4.0], [50.0, 50.0]])
    array([ 0, -1], dtype=int32)
    >>> model.certificates_.holds
    True

    References
    ----------
    Sangnier §2.4, Algorithm 14, corrected as docs/errata.md says. Ester, Kriegel, Sander & Xu (1996).
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "eps": parameters.real(above=0.0) | AUTO,
        "min_samples": parameters.integer(at_least=1) | AUTO,
        "metric": metric_domain(),
    }
    _accepts_sparse: ClassVar[bool] = False
    _instead = "take KMeans, which walks them"

    def __init__(
        self, eps: float | str = 0.5, *, min_samples: int | str = 5, metric: Metric = "euclidean"
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.metric = metric

    def _fit(self, X: Any, sample_weight: Any) -> None:
        data = self._open_fit(X, sample_weight)
        rows = self._pairs_or_rows(data)
        if data.weight is not None:
            check_range(rows, self.metric, weights=data.weight[data.weight > 0.0])
        self._choose(rows, data.weight)
        self._keep(self._solve(rows, data.weight), rows, data.weight)
        self.certificates_ = self._measured(data, rows, rows_to_measure(len(rows), least=4), 0.0)

    def _predicted(self, data: Any) -> Any:
        core, search = self.core_sample_indices_, None
        if core.size and not self._is_precomputed:
            search = NeighborSearch(self.components_, metric=self.metric)
        return data.map(_labels_of, core, search, self.labels_[core], self.eps_, dtype=np.int32)

    def _certify(self, data: MemoryRows) -> Certificates:
        rows = data.take(np.arange(data.shape[0]))
        kept = float(np.abs(rows[self.core_sample_indices_] - self.components_).max(initial=0.0))
        proof = self._measured(data, rows, np.arange(len(rows)), kept, search=not self._is_precomputed)
        expected = self._elbow(rows, data.weight).eps if self.eps == "auto" else self.eps
        claim = "The radius is the one asked for, or the elbow of the k-distance curve."
        return Certificates([*proof, agreement(claim, {"eps_": (self.eps_, expected)}, rtol=1e-6)])

    def _choose(self, rows: NDArray, weight: NDArray | None) -> None:
        if self.min_samples == "auto":
            if self._is_precomputed:
                raise self._refuse("min_samples", "an int with metric='precomputed'")
            self.min_samples_ = choice.suggest_min_samples(rows.shape[1])
        else:
            self.min_samples_ = min(int(self.min_samples), MOST_ROWS)
        if self.eps != "auto":
            self.eps_ = float(self.eps)
            return
        if len(rows) < 2:
            raise self._refuse("eps", "a number where there is only 1 sample")
        if not self._is_precomputed:
            check_metric(self.metric)
        elbow, n_features = self._elbow(rows, weight), choice.dimension(rows, self.metric)
        choice.warn_of_densities(elbow, len(rows), self.min_samples_, n_features, stacklevel=3)
        self.eps_ = elbow.eps

    def _elbow(self, rows: NDArray, weight: NDArray | None) -> choice.KDistanceElbow:
        distances = choice.k_distances(rows, max(self.min_samples_, 2), self.metric, weight)
        return choice.find_elbow(distances, weight)

    def _solve(self, rows: NDArray, weight: NDArray | None) -> solver.DensityPartition:
        enough = float(self.min_samples_)
        metric = self.metric if self._is_precomputed else check_metric(self.metric)
        if isinstance(metric, str) and metric in ("euclidean", "sqeuclidean"):
            limit = self.eps_ if metric == "sqeuclidean" else min(self.eps_, MOST_EPS) ** 2
            return solver.dbscan_by_cells(rows, limit, enough, weight)
        if self._is_precomputed:
            neighbors = solver.neighbors_by_distances(rows.__getitem__, len(rows), self.eps_)
        else:
            neighbors = solver.neighbors_by_search(rows, self.eps_, metric)
        return solver.dbscan_by_lists(len(rows), neighbors, enough, weight)

    def _keep(self, result: solver.DensityPartition, rows: NDArray, weight: NDArray | None) -> None:
        self.labels_, self.n_clusters_ = result.labels, int(result.n_clusters)
        self.core_sample_indices_ = np.flatnonzero(result.core)
        self.components_ = rows[self.core_sample_indices_]
        self.point_types_ = (result.labels >= 0).astype(np.int8) + result.core
        self.ambiguous_borders_ = np.flatnonzero(result.ambiguous)
        counts = np.bincount(result.labels + 1, weights=weight, minlength=self.n_clusters_ + 1)
        self.label_weights_ = np.append(counts[1:], counts[0]).astype(np.float64)

    def _measured(
        self, data: MemoryRows, rows: NDArray, measured: NDArray, kept: float, *, search: bool = False
    ) -> Certificates:
        """Certificates by a search, or by distances to all rows, which no tree has a part in."""
        n_rows, reach = len(rows), self.eps_ * (1.0 + TIE)
        core = np.zeros(n_rows, dtype=np.bool_)
        core[self.core_sample_indices_] = True
        mass = np.ones(n_rows) if data.weight is None else data.weight.astype(np.float64)
        both = np.zeros(n_rows, dtype=np.bool_)
        both[self.ambiguous_borders_] = True
        roles = self.labels_, core, both, self.point_types_
        claim = Claim(*roles, mass, float(self.min_samples_), self.eps_, self.n_clusters_)
        if search:
            neighbors = solver.neighbors_by_search(rows.astype(np.float64, copy=False), reach, self.metric)
        else:
            distances: Any = rows.__getitem__
            if not self._is_precomputed:
                distances = partial(distances_from, X=rows, metric=self.metric)
            neighbors = solver.neighbors_by_distances(distances, n_rows, reach)
        proof = dbscan_certificates(claim, neighbors, measured, self.label_weights_, kept)
        words = "The list of ambiguous borders is in order, each once."
        n_wrong = int(not np.array_equal(self.ambiguous_borders_, np.flatnonzero(both)))
        return Certificates([*proof, at_most(words, "ambiguous borders out of order", n_wrong, 0.0)])


def _labels_of(
    block: Block, core: NDArray, search: NeighborSearch | None, labels: NDArray, eps: float
) -> NDArray:
    """Labels of the nearest core rows within eps, by a search or from given dissimilarities."""
    rows = np.asarray(block.X)
    if not labels.size:
        return np.full(len(rows), -1, dtype=np.int32)
    if search is None:
        indices = rows[:, core].argmin(axis=1)
        distances = rows[np.arange(len(rows)), core[indices]]
    else:
        near = search.nearest(1, rows.astype(search.X.dtype, copy=False))
        distances, indices = near.distances[:, 0], near.indices[:, 0]
    return np.where(distances <= eps, labels[indices], -1).astype(np.int32)


class Claim(NamedTuple):
    """What a fit says about the rows, and the weights that it counted them with."""

    labels: NDArray
    core: NDArray
    ambiguous: NDArray
    types: NDArray
    mass: NDArray
    min_weight: float
    eps: float
    n_clusters: int


def find_faults(claim: Claim, neighbors: solver.NeighborLists, measured: NDArray) -> tuple[list[int], int]:
    """Rows misjudged as core, cut off, borders astray, noise within reach, ambiguous borders and types wrong.

    And the number of components. Rows are judged by their neighbours within eps (1 + TIE); components are −1
    where not all were measured.
    """
    counts = np.zeros(6, dtype=np.int64)
    whole = measured.size == claim.labels.size
    components = np.arange(claim.labels.size)
    for rows, near in solver.walk_lists(measured, neighbors):
        lengths = np.diff(near.indptr)
        owner = np.repeat(rows, lengths)
        sure = near.distances <= claim.eps * (1.0 - TIE)
        by_core = claim.core[near.indices]
        alike = claim.labels[near.indices] == claim.labels[owner]
        mass = claim.mass[near.indices]
        most, least = solver.list_sums(mass, near.indptr), solver.list_sums(mass * sure, near.indptr)
        core, present = claim.core[rows], claim.mass[rows] > 0.0
        inside = claim.labels[rows] >= 0
        may_be = present & (most >= claim.min_weight * (1.0 - TIE))
        must_be = present & (least >= claim.min_weight * (1.0 + TIE))
        counts[0] += np.count_nonzero(np.where(core, ~may_be, must_be))
        torn = solver.list_sums(sure & by_core & ~alike, near.indptr) > 0
        counts[1] += np.count_nonzero(core & (torn | ~inside))
        held = solver.list_sums(by_core & alike, near.indptr) > 0
        counts[2] += np.count_nonzero(~core & inside & ~held)
        surely_near = solver.list_sums(sure & by_core, near.indptr) > 0
        counts[3] += np.count_nonzero(~core & ~inside & surely_near)
        # A border is ambiguous where a core row of another cluster than its own is near.
        border, strange = ~core & inside, by_core & ~alike
        may_be = border & (solver.list_sums(strange, near.indptr) > 0)
        must_be = border & (solver.list_sums(sure & strange, near.indptr) > 0)
        counts[4] += np.count_nonzero(np.where(claim.ambiguous[rows], ~may_be, must_be))
        types, nearby = claim.types[rows], solver.list_sums(by_core, near.indptr) > 0
        right = np.select([types == 2, types == 1, types == 0], [core, ~core & nearby, ~core & ~surely_near])
        counts[5] += np.count_nonzero(~right.astype(np.bool_))
        if whole:
            joined = by_core & claim.core[owner]
            components = _join(components, owner[joined], near.indices[joined])
    n_components = np.unique(components[claim.core]).size if whole else -1
    return counts.tolist(), n_components


def _join(components: NDArray, first: NDArray, second: NDArray) -> NDArray:
    """Components after further edges, each kept as edges to a representative."""
    size = components.size
    ends = np.concatenate([first, np.arange(size)]), np.concatenate([second, components])
    graph = csr_array((np.ones(ends[0].size, dtype=np.int8), ends), shape=(size, size))
    numbers = connected_components(graph, directed=False)[1]
    _, representatives = np.unique(numbers, return_index=True)
    return representatives[numbers]


def dbscan_certificates(
    claim: Claim, neighbors: solver.NeighborLists, measured: NDArray, label_weights: NDArray, kept: float
) -> Certificates:
    """Certificates from some rows; `kept` is how far `components_` are from the core rows."""
    faults, n_components = find_faults(claim, neighbors, measured)
    sampled: tuple[str, ...] = ()
    if n_components < 0:
        n_rows = claim.labels.size
        sampled = (f"measured on {measured.size} of {n_rows} rows, evenly spaced; certify measures all",)
    weights = np.bincount(claim.labels + 1, weights=claim.mass, minlength=claim.n_clusters + 1)
    counted = np.append(weights[1:], weights[0])
    apart = np.inf
    if label_weights.shape == counted.shape:
        apart = float(np.abs(label_weights - counted).max() / max(counted.sum(), 1.0))
    source = "Sangnier §2.4, Algorithm 14"
    texts = [
        ("Core rows, and no others, have enough weight within eps.", "rows misjudged as core"),
        ("Core rows within eps of each other share a cluster.", "core rows cut off"),
        ("Every border row is within eps of a core row of its cluster.", "borders astray"),
        ("No noise row is within eps of a core row.", "noise rows within reach"),
        ("Borders within eps of two clusters, and no others, are ambiguous.", "misjudged ambiguous borders"),
        ("Types say core, border or noise as the core rows within eps do.", "rows of a wrong type"),
    ]
    proof = [
        at_most(*text, n_faults, 0.0, source, assumptions=sampled)
        for text, n_faults in zip(texts, faults, strict=True)
    ]
    if n_components >= 0:
        sentence = "Each cluster is one connected component of core rows within eps."
        proof.append(equal(sentence, "components of core rows", n_components, claim.n_clusters, source))
    sentence = "The weights of clusters and noise are those of the rows with their labels."
    proof.append(at_most(sentence, "discrepancy of weights", apart, 1e-6))
    sentence = "The core rows kept for predictions are those of the data."
    proof.append(at_most(sentence, "discrepancy of core rows", kept, 0.0))
    return Certificates(proof)
