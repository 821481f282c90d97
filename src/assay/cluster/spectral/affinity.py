"""The graph that spectral clustering cuts: built on the rows of the fit, and reached from new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay import graphs
from assay.distances import Metric, Nearest, NeighborSearch, distance_matrix

NEIGHBORS = ("nearest_neighbors", "mutual_nearest_neighbors")
ALL_PAIRS = 20_000
"""Rows up to which a full matrix of affinities is built."""
CHUNK = 2**21  # affinities of new rows held at a time


class Affinity(NamedTuple):
    """How alike two rows are: the kind of graph and its parameters, None where the kind has none.

    `function` is the similarity of the kind "callable".
    """

    kind: str
    metric: Metric
    n_neighbors: int | None = None
    eps: float | None = None
    gamma: float | None = None
    function: Callable[[NDArray, NDArray], float] | None = None

    @property
    def is_full(self) -> bool:
        """Whether the affinities of all pairs are stored."""
        return self.kind in ("rbf", "callable")

    def graph(self, X: Any) -> Any:
        """Weights between the rows of the fit."""
        if self.kind in NEIGHBORS:
            assert self.n_neighbors is not None
            mutual = self.kind == "mutual_nearest_neighbors"
            return graphs.nearest_neighbors_graph(X, self.n_neighbors, mutual=mutual, metric=self.metric)
        if self.kind == "epsilon":
            assert self.eps is not None
            return graphs.epsilon_graph(X, self.eps, metric=self.metric)
        if self.kind == "rbf":
            assert self.gamma is not None
            return graphs.gaussian_graph(X, float(np.sqrt(0.5 / self.gamma)), metric=self.metric)
        if self.kind == "callable":
            assert self.function is not None
            return graphs.similarity_graph(X, self.function)
        return graphs.as_weights(X, "SpectralClustering with affinity='precomputed'")


def named_affinity(kind: str, metric: Metric, n_neighbors: Any, eps: Any, gamma: Any) -> Affinity:
    """The affinity of a name; parameters of other kinds, and those that are "auto", are None."""
    uses = {"n_neighbors": kind in NEIGHBORS, "eps": kind == "epsilon", "gamma": kind == "rbf"}
    given = {"n_neighbors": n_neighbors, "eps": eps, "gamma": gamma}
    kept = {name: given[name] for name, used in uses.items() if used and given[name] != "auto"}
    return Affinity(kind, metric, **kept)


def doubts_about_graph(
    n_lonely: int, n_isolated: int, n_components: int, n_clusters: int, *, chosen: bool
) -> list[str]:
    """What the user should know about a graph before trusting its clusters; `chosen` says who made it."""
    said = []
    if n_lonely:
        said.append(f"{n_lonely} vertices of degree 0 were given a loop of weight 1")
    elif n_isolated:
        said.append(f"the graph has {n_isolated} isolated vertices, joined to no other row")
    if n_components > n_clusters or (chosen and n_components == n_clusters > 1):
        said.append(
            f"the graph has {n_components} components for n_clusters={n_clusters}: the clusters are whole "
            "components, whatever lies within them; join more rows (n_neighbors, eps) or raise n_clusters"
        )
    return said


def resolve(affinity: Affinity, X: Any, n_clusters: int) -> tuple[Affinity, Any]:
    """The affinity with its open parameters chosen on rows, and the graph of those rows."""
    if affinity.kind in NEIGHBORS and affinity.n_neighbors is None:
        mutual = affinity.kind == "mutual_nearest_neighbors"
        grown = graphs.grow_neighbors(X, n_components=n_clusters, mutual=mutual, metric=affinity.metric)
        return affinity._replace(n_neighbors=grown.n_neighbors), grown.W
    if affinity.kind == "epsilon" and affinity.eps is None:
        affinity = affinity._replace(eps=graphs.suggest_epsilon(X, metric=affinity.metric))
    elif affinity.kind == "rbf" and affinity.gamma is None:
        affinity = affinity._replace(gamma=0.5 / graphs.suggest_sigma(X, metric=affinity.metric) ** 2)
    return affinity, affinity.graph(X)


class Reach:
    """Affinities of new rows to the rows of a fit, a few rows at a time.

    A row out of reach of every row of the fit (ε-graph, or a Gaussian that underflows) takes the nearest.
    """

    def __init__(self, affinity: Affinity, X_fit: Any, n_fit: int) -> None:
        self.affinity, self.X_fit, self.n_fit = affinity, X_fit, n_fit
        self.precomputed = isinstance(affinity.metric, str) and affinity.metric == "precomputed"
        sees_neighbors = affinity.kind in (*NEIGHBORS, "epsilon") and not self.precomputed
        self.search = NeighborSearch(X_fit, metric=affinity.metric) if sees_neighbors else None

    def chunks(self, X: Any) -> Iterator[Any]:
        """Matrices of affinities, dense or CSR, of consecutive rows of X."""
        if self.affinity.kind == "precomputed":
            yield X
            return
        n_rows = X.shape[0] if self.search is not None else max(1, CHUNK // self.n_fit)
        for start in range(0, X.shape[0], n_rows):
            yield self._affinities(X[start : start + n_rows])

    def _affinities(self, X: Any) -> Any:
        kind = self.affinity.kind
        if kind == "callable":
            function = self.affinity.function
            assert function is not None
            return np.array([[float(function(x, z)) for z in self.X_fit] for x in X])
        if self.search is not None and kind in NEIGHBORS:
            return self._sparse(self.search.nearest(self.affinity.n_neighbors or 1, queries=X))
        if self.search is not None:
            return self._within(X)
        distances = X if self.precomputed else distance_matrix(X, self.X_fit, metric=self.affinity.metric)
        distances = np.asarray(distances, dtype=np.float64)
        if kind in NEIGHBORS:
            indices = np.argsort(distances, axis=1, kind="stable")[:, : self.affinity.n_neighbors]
            return self._sparse(Nearest(np.take_along_axis(distances, indices, axis=1), indices))
        nearest = distances.min(axis=1, keepdims=True)
        if kind == "epsilon":
            assert self.affinity.eps is not None
            return (distances <= np.maximum(nearest, self.affinity.eps)).astype(np.float64)
        assert self.affinity.gamma is not None
        weights = np.exp(-self.affinity.gamma * np.square(distances))
        lost = weights.sum(axis=1) == 0.0
        weights[lost] = distances[lost] <= nearest[lost]
        return weights

    def _sparse(self, near: Nearest) -> sparse.csr_array:
        n_rows, k = near.indices.shape
        entries = np.ones(n_rows * k), near.indices.ravel(), np.arange(0, n_rows * k + 1, k)
        return sparse.csr_array(entries, shape=(n_rows, self.n_fit))

    def _within(self, X: Any) -> sparse.csr_array:
        assert self.search is not None
        assert self.affinity.eps is not None
        inside = self.search.within(self.affinity.eps, queries=X)
        entries = np.ones(len(inside.indices)), inside.indices, inside.indptr
        weights = sparse.csr_array(entries, shape=(X.shape[0], self.n_fit))
        lost = np.flatnonzero(np.diff(inside.indptr) == 0)
        if lost.size:
            closest = self.search.nearest(1, queries=np.ascontiguousarray(X[lost])).indices.ravel()
            weights = weights + sparse.csr_array((np.ones(lost.size), (lost, closest)), shape=weights.shape)
        return sparse.csr_array(weights)
