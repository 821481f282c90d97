"""Convex clustering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.base import IterativeModel
from assay.certificates import Certificates, agreement, at_most
from assay.cluster.convex import graph as graphs
from assay.cluster.convex import path as paths
from assay.cluster.convex.graph import of_rows
from assay.cluster.convex.path import ConvexPath, ConvexProblem, GraphProblem
from assay.cluster.convex.solver import (
    NORMS,
    Fusion,
    apart_certificate,
    gap_certificate,
    proven_share,
    reported_certificate,
)
from assay.cluster.hierarchy.certificates import means_certificate
from assay.distances import check_range, distance_matrix
from assay.models import convergence
from assay.models.clusterer import PairwiseClusterer
from assay.parameters import Domain
from assay.rows import Block, MemoryRows

MAX_DUAL_ENTRIES = 2**28
AUTO_SHARE = 0.5
SOURCE = "Wei §10.2.2; Hocking et al. (2011); Chi & Lange (2015)"


class ConvexClustering(PairwiseClusterer, IterativeModel):
    """Clusters as rows whose centroids a penalty has fused; the problem is convex.

    Minimises over one centroid μ_i a row

        ½ Σ_i s_i ‖x_i − μ_i‖² + λ Σ_{i<j} s_i s_j w_ij ‖μ_i − μ_j‖_q,        s_i = 1 without `sample_weight`,

    by accelerated alternating minimisation (projected gradient on the dual, one vector for each pair); with
    q = 1 and unit weights exactly, by sorting each feature. Rows with equal centroids make a cluster: a dual
    vector strictly inside its ball fuses its pair. Compares pairs of rows, which must be in memory.

    Assumes: columns on comparable scales, and weights that are large inside clusters: they decide which rows
    fuse first.

    `predict` gives a row the cluster whose centre (mean of its rows) is nearest, the lowest in case of ties.

    Certificates: duality gap at the exactly fused centroids, one centroid per cluster, the mean is kept, and
    the share of neighbouring clusters that the gap proves to be apart in the true minimiser too.

    Parameters
    ----------
    penalty_strength : "auto" or float, default="auto"
        λ. 0 leaves every distinct row on its own; from `penalty_max` on all rows are one cluster at the mean.
        "auto" is half of the penalty from which each connected component of the graph of nearest neighbours
        (or of the given weights) is one cluster.
    norm : {"l2", "l1", "linf"}, default="l2"
        The norm q of the differences: 2, 1 or ∞.
    weights : {"gaussian_knn", "uniform"} or matrix of shape (n_samples, n_samples), default="gaussian_knn"
        w_ij. "gaussian_knn" is exp(−γ‖x_i − x_j‖²), at least 10⁻⁴, for pairs of nearest neighbours among the
        distinct rows, and for the edges of the minimum spanning tree that join what they leave apart;
        "uniform" is 1 for all pairs; a given matrix (dense or sparse) must be symmetric and not negative.
    n_neighbors : int, default=10
        Nearest neighbours of "gaussian_knn".
    gamma : float, optional
        γ of "gaussian_knn"; by default one over the median squared distance between neighbours.
    tol : float, default=1e-6
        Converged when the relative duality gap is at most `tol`. The iteration goes on for up to half as
        long again while the gap does not prove all clusters to be apart.
    max_iter : int, default=20000
        Largest number of iterations.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row, numbered in the lexicographic order of their first rows (with given weights, in
        the order of the rows). Rows of weight 0 go to the nearest cluster.
    centroids_ : array of shape (n_samples, n_features)
        Fitted points μ_i, exactly equal within a cluster.
    cluster_centers_ : array of shape (n_clusters, n_features)
        Means of the rows of each cluster; the centroids are these, drawn towards each other.
    penalty_ : float
        λ of the fit.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        The objective minus the value of a feasible dual point.
    optimality_ : float
        The gap over the objective: compares with `tol`.
    proven_apart_ : float
        Share of the pairs of clusters joined by an edge that the gap proves to be apart in the minimiser.
    edges_ : array of int64 of shape (n_edges, 2)
        Pairs of (first of equal) rows that are drawn together; none for the closed form.
    edge_weights_ : array of shape (n_edges,)
        Their weights w_ij.
    dual_ : array of shape (n_edges, n_features)
        Feasible dual point: the force that each pair exerts.
    gap_trace_ : array
        Relative gap whenever it was measured.
    n_iter_ : int
        Iterations; 1 for the closed form.
    converged_ : bool
        Whether the stopping rule was met.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import ConvexClustering
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [9.0, 9.0], [9.0, 8.0], [8.0, 9.0]])
    >>> model = ConvexClustering(2.0, n_neighbors=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[2.0, 2.0]]), model.certificates_.holds
    (array([0], dtype=int32), True)

    References
    ----------
    Wei §10.2.2. Hocking, Joulin, Bach & Vert (2011), clusterpath. Chi & Lange (2015), splitting methods.
    """

    metric = "euclidean"
    _accepts_sparse: ClassVar[bool] = False
    _instead = "cluster a sample of the rows, or take KMeans"
    _domains: ClassVar[Mapping[str, Domain]] = {
        "penalty_strength": Domain("'auto'", lambda value: isinstance(value, str) and value == "auto")
        | parameters.real(at_least=0.0),
        "norm": parameters.one_of(*NORMS),
        "weights": graphs.weights_domain,
        "n_neighbors": parameters.integer(at_least=1),
        "gamma": parameters.nothing | parameters.real(at_least=0.0),
        "tol": parameters.real(above=0.0),
        "max_iter": parameters.integer(at_least=1),
    }

    def __init__(
        self,
        penalty_strength: float | str = "auto",
        *,
        norm: str = "l2",
        weights: Any = "gaussian_knn",
        n_neighbors: int = 10,
        gamma: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 20000,
    ) -> None:
        self.penalty_strength = penalty_strength
        self.norm = norm
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, X: Any, sample_weight: Any) -> None:
        data = self._open_fit(X, sample_weight)
        problem = self._problem(data)
        penalty = self.penalty_strength
        if isinstance(penalty, str):
            penalty = AUTO_SHARE * problem.penalty_max(bridges=False)
        else:
            graphs.check_penalty(float(penalty), problem.nodes.rows, "ConvexClustering", "penalty_strength")
        watch = self._watch_fit(X, n_runs=1, max_iter=self.max_iter)

        def stop(centroids: NDArray, n_iter: int) -> bool:
            return watch.iteration(lambda: self._attributes(data, problem, float(penalty), centroids, n_iter))

        with watch.run():
            result = problem.solve(float(penalty), None, self.tol, self.max_iter, stop)
        self._conclude(data, problem, float(penalty), result)
        watch.finish()

    def path(self, X: Any, penalties: Any = None, *, sample_weight: Any = None) -> ConvexPath:
        """Fit along increasing penalties, each from the one before.

        Parameters
        ----------
        X, sample_weight
            As in `fit`.
        penalties : array of shape (n_penalties,), optional
            Values of λ, in any order; by default 0 and 40 values on a logarithmic scale up to `penalty_max`.

        Returns
        -------
        path : ConvexPath
            Centroids and labels at each penalty; its `linkage()` is the tree of fusions.
        """
        data = self._open_fit(X, sample_weight)
        problem = self._problem(data)
        values = paths.path_penalties(problem, penalties)
        start, labels, centroids, gaps = None, [], [], []
        for value in values:
            result = problem.solve(float(value), start, self.tol, self.max_iter)
            self._warn_if_unfinished(result)
            start = result.dual
            rows_labels, rows_centroids = of_rows(data.X, problem.nodes, result.labels, result.centroids)
            labels.append(rows_labels)
            centroids.append(rows_centroids)
            gaps.append(result.gap.relative)
        return ConvexPath(values, np.array(centroids), np.array(labels), np.array(gaps))

    def penalty_max(self, X: Any, *, sample_weight: Any = None) -> float:
        """A penalty from which on all rows that the weights join are one cluster.

        The least such penalty for norm="l1" with weights="uniform", else an upper bound on it.
        """
        return self._problem(self._open_fit(X, sample_weight)).penalty_max()

    def _predicted(self, data: Any) -> Any:
        return data.map(_nearest_center, self.cluster_centers_, dtype=np.int32)

    def _proven_numbers(self) -> tuple[str, ...]:
        return ("optimality_",)  # the gap itself, not over the objective, has a certificate of its own

    def _certify(self, data: MemoryRows) -> Certificates:
        n_clusters = len(self.cluster_centers_)
        if not ((self.labels_ >= 0) & (self.labels_ < n_clusters)).all():
            raise ValueError("labels_ must be the numbers of cluster_centers_; the fit was changed.")
        problem = self._problem(data)
        proof = [*self._measure(problem)]
        present = np.flatnonzero(problem.nodes.node_of >= 0)
        means = _means(data, self.labels_)
        proof.append(means_certificate(self.cluster_centers_, means, data.X[present], SOURCE))
        edges, weights = _edges_of(problem)
        claim = "The edges and their weights are those of the graph of the rows."
        pairs = {"edges_": (self.edges_, edges), "edge_weights_": (self.edge_weights_, weights)}
        proof.append(agreement(claim, pairs, SOURCE, rtol=1e-6))
        return Certificates(proof)

    def _problem(self, data: MemoryRows) -> ConvexProblem:
        named = isinstance(self.weights, str)
        check_range(data.X, weights=None if data.weight is None else data.weight[data.weight > 0])
        nodes = graphs.distinct_nodes(data.X, data.weight, collapse=named)
        n_nodes, n_features = nodes.rows.shape
        if not named:
            graphs.check_given_weights(self.weights, data.shape[0], "ConvexClustering")
            graph = graphs.given_graph(self.weights, np.flatnonzero(nodes.node_of >= 0))
        elif self.weights == "gaussian_knn":
            graph = graphs.neighbor_graph(nodes.rows, self.n_neighbors, self.gamma)
        elif self.norm == "l1":
            return paths.SortedProblem(nodes)
        elif n_nodes * (n_nodes - 1) // 2 * n_features > MAX_DUAL_ENTRIES:
            raise ValueError(
                f"ConvexClustering with weights='uniform' holds a vector for each of the pairs of {n_nodes} "
                "rows, which is too many: take weights='gaussian_knn', or norm='l1'."
            )
        else:
            graph = graphs.complete_graph(n_nodes)
        return GraphProblem(nodes, graph, self.norm)

    def _attributes(
        self, data: MemoryRows, problem: ConvexProblem, penalty: float, centroids: NDArray, n_iter: int
    ) -> dict[str, Any]:
        """Fitted attributes of a model stopped at these centroids."""
        labels, rows_centroids = of_rows(data.X, problem.nodes, paths.equal_rows(centroids), centroids)
        return {
            "labels_": labels,
            "centroids_": rows_centroids,
            "cluster_centers_": _means(data, labels),
            "penalty_": penalty,
            "n_iter_": n_iter,
        }

    def _conclude(self, data: MemoryRows, problem: ConvexProblem, penalty: float, result: Fusion) -> None:
        self.labels_, self.centroids_ = of_rows(data.X, problem.nodes, result.labels, result.centroids)
        self.cluster_centers_ = _means(data, self.labels_)
        self.penalty_ = penalty
        self.edges_, self.edge_weights_ = _edges_of(problem)
        self.dual_, self.gap_trace_ = result.dual, np.array(result.trace)
        self.n_iter_, self.converged_ = max(result.n_iter, 1), result.converged
        self.proven_apart_ = 0.0
        self.certificates_ = self._measure(problem, claim=True)
        self._warn_if_unfinished(result)

    def _measure(self, problem: ConvexProblem, *, claim: bool = False) -> Certificates:
        """Certificates from the fitted attributes, on the nodes; the fit claims what it proves."""
        nodes = problem.nodes
        present = np.flatnonzero(nodes.node_of >= 0)
        _, first = np.unique(nodes.node_of[present], return_index=True)
        centroids = np.asarray(self.centroids_, dtype=np.float64)[present]
        labels = np.asarray(self.labels_)[present]
        spread = np.abs(centroids - centroids[first][nodes.node_of[present]]).max(initial=0.0)
        centroids, labels, rows, mass = centroids[first] - nodes.mean, labels[first], nodes.rows, nodes.mass
        gap = problem.gap(self.penalty_, centroids, self.dual_)
        apart = problem.separations(self.penalty_, centroids, labels)
        if claim:
            self.objective_, self.dual_gap_, self.optimality_ = *gap, gap.relative
            self.proven_apart_ = proven_share(apart, gap)
        _, first, cluster = np.unique(labels, return_index=True, return_inverse=True)
        spread = max(spread, np.abs(centroids - centroids[first][cluster]).max(initial=0.0))
        # Stored centroids are rounded in their last place: that much the gap and the mean may miss.
        rounding = float(np.finfo(self.centroids_.dtype).eps) * float(np.abs(self.centroids_).max())
        scale = float(np.sqrt(np.average((rows**2).sum(axis=1), weights=mass))) + rounding
        shift = float(np.linalg.norm(mass @ (centroids - rows)) / mass.sum()) / scale if scale > 0 else 0.0
        lost = 8.0 * float(mass.sum()) * rows.shape[1] * rounding**2
        proof = [gap_certificate(gap, self.tol + (lost / gap.primal if gap.primal > 0 else 0.0), SOURCE)]
        text = "The rows of a cluster have exactly one centroid."
        proof.append(at_most(text, "spread of centroids within clusters", spread, 0.0, SOURCE))
        text = "The centroids keep the mean of the rows: the forces between rows cancel."
        bound = 1e-9 + 4.0 * rounding / scale if scale > 0 else 0.0
        proof.append(at_most(text, "shift of the mean", shift, bound, SOURCE))
        proof.append(reported_certificate((self.objective_, self.dual_gap_, self.optimality_), gap, SOURCE))
        if apart.size:
            proof.append(apart_certificate(apart, gap, self.proven_apart_, SOURCE))
        return Certificates(proof)

    def _warn_if_unfinished(self, result: Fusion) -> None:
        if not result.converged and result.n_iter >= self.max_iter:
            convergence.warn(
                f"ConvexClustering did not converge in max_iter={self.max_iter} iterations: the relative "
                f"duality gap is {result.gap.relative:.2g} (tol={self.tol:g}). Raise max_iter or tol."
            )


def _edges_of(problem: ConvexProblem) -> tuple[NDArray, NDArray]:
    """Pairs of (first of equal) rows that are drawn together, and their weights; none for the closed form."""
    if not isinstance(problem, GraphProblem):
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    present = np.flatnonzero(problem.nodes.node_of >= 0)
    first = present[np.unique(problem.nodes.node_of[present], return_index=True)[1]]
    return first[problem.graph.edges], problem.graph.weights


def _means(data: MemoryRows, labels: NDArray) -> NDArray:
    """Weighted means of the rows of each cluster, in the dtype of the rows."""
    mass = np.ones(len(labels)) if data.weight is None else data.weight.astype(np.float64)
    weight = np.bincount(labels, mass)
    shift = data.X[0].astype(np.float64)
    sums = np.column_stack([np.bincount(labels, mass * column) for column in (data.X - shift).T])
    return np.asarray((shift + sums / weight[:, np.newaxis]).astype(data.dtype))


def _nearest_center(block: Block, centers: NDArray) -> NDArray:
    result: NDArray = distance_matrix(block.X, centers.astype(block.X.dtype)).argmin(axis=1)
    return result.astype(np.int32)
