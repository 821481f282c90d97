"""HDBSCAN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from assay import parameters
from assay.certificates import Certificate, Certificates, at_least, at_most, equal
from assay.cluster.density import base
from assay.cluster.density import hdbscan_tree as selection
from assay.cluster.density.base import ROUNDING
from assay.cluster.density.choice import k_distances
from assay.cluster.density.hdbscan_tree import CondensedTree, condense
from assay.distances import Metric, metric_domain, spanning_tree
from assay.parameters import Domain
from assay.suitability import Suitability

MAX_ROWS_OF_WEIGHT = 2000
MAX_CLUSTERS_OF_A_LARGE_FIT = 1
SOURCE = "Campello, Moulavi & Sander (2013)"


class HDBSCAN(base.ReachClusterer):
    """Clusters of any density: the most stable ones in the tree of all clusterings of DBSCAN.

    Maximises the total stability of clusters C, none inside another, of the tree of connected components,

        Σ_C Σ_{x ∈ C} (λ at which x leaves C − λ at which C begins),        λ = 1/distance,

    where rows are connected at a distance when their mutual reachability max(c_x, c_z, d(x, z)) is at most
    that, c_x being the distance of x to its `min_samples`-th row, itself counted.

    A minimum spanning tree holds all components; those of fewer than `min_cluster_size` rows are taken off
    (condensed tree), and one walk from the leaves up chooses. Only ties depend on the order of the rows.

    `predict` gives a row the cluster of the row of least mutual reachability to it, if that is within its
    `cluster_reach_`, else −1.

    Assumes: columns on comparable scales, and clusters that are denser than what lies around them, each with
    a density of its own.

    Certificates: core distances, lengths and least edges of the spanning tree, clusters as components of it,
    their stabilities, and that no other choice is worth more. A large fit measures evenly spaced rows,
    `certify` more of them, and the weight of the whole tree for up to 2000 rows.

    Parameters
    ----------
    min_cluster_size : int, default=5
        Least number of rows of a cluster.
    min_samples : int or None, default=None
        Rows that make a row core, itself included; `min_cluster_size` by default.
    metric : str or function, default="euclidean"
        Distance of rows; with "precomputed", `X` is the square matrix of dissimilarities.
    cluster_selection_method : {"eom", "leaf"}, default="eom"
        Clusters of the greatest total stability (excess of mass), or the leaves of the tree: smaller and of
        more equal size.
    cluster_selection_epsilon : float, default=0.0
        Clusters that begin below this distance are replaced by the first around them that begins above it.
    allow_single_cluster : bool, default=False
        Whether all rows may make one cluster.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row, numbered by their first rows; −1 is noise.
    probabilities_ : array of shape (n_samples,)
        How long each row stays in its cluster, as a share of λ at its end; 0 for noise.
    n_clusters_ : int
        Number of clusters.
    cluster_stability_ : array of shape (n_clusters_,)
        Their stabilities; infinite for rows without a distance.
    cluster_reach_ : array of shape (n_clusters_,)
        Distances below which they are clusters of their own: up to them they take new rows.
    condensed_tree_ : CondensedTree
        All clusters to choose from.
    selected_ : array of int of shape (n_clusters_,)
        Which of them were chosen.
    core_distances_ : array of shape (n_samples,)
        Distance of each row to its `min_samples`-th row.
    spanning_tree_ : array of shape (n_samples − 1, 3)
        Ends and mutual reachability of each edge, by increasing length.
    X_fit_ : array of shape (n_samples, n_features) or None
        The rows, for predictions; None with metric="precomputed".
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import HDBSCAN
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.3], [5.4], [90.0]])
    >>> model = HDBSCAN(min_cluster_size=3).fit(X)
    >>> model.labels_
    array([ 0,  0,  0,  1,  1,  1,  1, -1], dtype=int32)
    >>> model.predict([[0.3], [50.0]])
    array([ 0, -1], dtype=int32)
    >>> model.certificates_.holds
    True

    References
    ----------
    Sangnier §2.4 (DBSCAN). Campello, Moulavi & Sander (2013). McInnes & Healy (2017).
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "min_cluster_size": parameters.integer(at_least=2),
        "min_samples": parameters.integer(at_least=1) | parameters.nothing,
        "metric": metric_domain(),
        "cluster_selection_method": parameters.one_of("eom", "leaf"),
        "cluster_selection_epsilon": parameters.real(at_least=0.0),
        "allow_single_cluster": parameters.boolean,
    }
    _suits: ClassVar[Suitability | None] = Suitability(complexity=3, max_rows=10_000, max_pairs=2 * 10**11)

    def __init__(
        self,
        min_cluster_size: int = 5,
        *,
        min_samples: int | None = None,
        metric: Metric = "euclidean",
        cluster_selection_method: str = "eom",
        cluster_selection_epsilon: float = 0.0,
        allow_single_cluster: bool = False,
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.metric = metric
        self.cluster_selection_method = cluster_selection_method
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.allow_single_cluster = allow_single_cluster

    def _fit(self, X: Any, sample_weight: Any) -> None:
        data = self._open_fit(X)
        rows = self._pairs_or_rows(data)
        if len(rows) < max(self._n_core, 2):
            name = "min_cluster_size" if self.min_samples is None else "min_samples"
            shown = "1 sample" if len(rows) == 1 else str(len(rows))
            raise self._refuse(name, f"at most the number of rows ({shown})")
        exact = rows.astype(np.float64, copy=False)
        self.core_distances_ = k_distances(exact, self._n_core, self.metric, None)
        tree = spanning_tree(exact, metric=self.metric, core_distances=self.core_distances_)
        self.spanning_tree_ = np.column_stack([tree.first, tree.second, tree.length]).astype(np.float64)
        self.condensed_tree_ = condense(tree.first, tree.second, tree.length, self.min_cluster_size)
        self._choose(self.condensed_tree_)
        self._conclude(rows)

    def _choose(self, tree: CondensedTree) -> None:
        """Set labels and what belongs to the chosen clusters."""
        single, epsilon = bool(self.allow_single_cluster), float(self.cluster_selection_epsilon)
        choose = selection.most_stable if self.cluster_selection_method == "eom" else selection.leaves
        chosen = choose(tree, allow_single_cluster=single)
        if epsilon > 0.0:
            chosen = selection.lift(tree, chosen, epsilon, allow_single_cluster=single)
        self.labels_, self.probabilities_, self.selected_ = selection.label_rows(tree, chosen, epsilon)
        self.n_clusters_ = int(self.selected_.size)
        self.cluster_stability_ = tree.stability[self.selected_]
        self.cluster_reach_ = _inverse(tree.birth[self.selected_])

    @property
    def _n_core(self) -> int:
        return int(self.min_cluster_size if self.min_samples is None else self.min_samples)

    @property
    def _n_beside(self) -> int:
        return self._n_core - 1

    def _measured(self, rows: NDArray, measured: NDArray, *, whole: bool) -> Certificates:
        n_rows = len(rows)
        few = n_rows <= MAX_ROWS_OF_WEIGHT  # `whole` adds the weight of the tree if rows are few
        core, least = _measure_rows(self, rows, measured)
        sampled = base.part_measured(measured.size, n_rows)
        claim = "Core distances are those to the min_samples-th row, itself counted."
        proof = [at_most(claim, "discrepancy of core distances", core, ROUNDING, SOURCE, assumptions=sampled)]
        claim = (
            "The edge of each row with the least mutual reachability is in the spanning tree, at its length."
        )
        proof.append(
            at_most(claim, "discrepancy of least edges", least, ROUNDING, SOURCE, assumptions=sampled)
        )
        claim = "The edges connect all rows."
        n_parts = _components(self.spanning_tree_, n_rows, np.inf)[0]
        proof.append(equal(claim, "components of the spanning tree", n_parts, 1.0, SOURCE))
        claim = "Every cluster is one component of the edges below its distance, whole."
        n_checked = self.cluster_reach_.size if whole or few else MAX_CLUSTERS_OF_A_LARGE_FIT
        value, sampled = _misplaced(self, n_checked), ()
        if n_checked < self.cluster_reach_.size:
            sampled = (f"measured on {n_checked} clusters; certify measures all",)
        proof.append(at_most(claim, "rows beyond their component", value, 0.0, SOURCE, assumptions=sampled))
        claim = "Stabilities are the sums over the rows of the densities they last."
        proof.append(at_most(claim, "discrepancy of stabilities", _stability_discrepancy(self), 1e-6, SOURCE))
        if self.cluster_selection_method == "eom" and self.cluster_selection_epsilon == 0.0:
            proof.append(_best_choice(self))
        if whole and few:
            proof.append(_weight(self, rows))
        return Certificates(proof)


def _inverse(densities: NDArray) -> NDArray:
    """1/λ: infinite for the cluster of all rows."""
    return np.divide(1.0, densities, out=np.full(densities.size, np.inf), where=densities > 0.0)


def _measure_rows(fit: HDBSCAN, X: NDArray, measured: NDArray) -> tuple[float, float]:
    """Discrepancies of core distances and of the least edge of rows."""
    shortest = np.full(fit.labels_.size, np.inf)
    for end in fit.spanning_tree_[:, :2].T:
        places = np.clip(np.nan_to_num(end), 0, shortest.size - 1).astype(np.int64)
        np.minimum.at(shortest, places, fit.spanning_tree_[:, 2])
    core = least = 0.0
    for rows, distances in base.walk_distances(measured, X, fit.metric):
        core = max(core, base.core_discrepancy(distances, fit.core_distances_[rows], fit._n_core, np.inf))
        cores = np.maximum(fit.core_distances_, fit.core_distances_[rows][:, np.newaxis])
        mutual = np.maximum(distances, cores)
        mutual[np.arange(rows.size), rows] = np.inf
        least = max(least, base.discrepancy(mutual.min(axis=1), shortest[rows]))
    return core, least


def _components(edges: NDArray, n_rows: int, below: float) -> tuple[int, NDArray]:
    ends = np.clip(np.nan_to_num(edges[edges[:, 2] < below, :2]), 0, n_rows - 1).astype(np.int64)
    graph = csr_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(n_rows, n_rows))
    return connected_components(graph, directed=False)


def _misplaced(fit: HDBSCAN, n_checked: int) -> int:
    """Rows of the first clusters that are not exactly one component of the edges below their distance."""
    wrong = 0
    for cluster in range(min(n_checked, fit.cluster_reach_.size)):
        inside = fit.labels_ == cluster
        if np.isinf(fit.cluster_reach_[cluster]):
            continue  # all rows are connected; those that leave early are noise
        _, component = _components(
            fit.spanning_tree_, fit.labels_.size, fit.cluster_reach_[cluster] * (1.0 - 1e-12)
        )
        if not inside.any():
            return fit.labels_.size
        wrong += int(np.count_nonzero(inside != (component == component[inside.argmax()])))
    return wrong


def _stability_discrepancy(fit: HDBSCAN) -> float:
    """Stabilities against Σ (p_x λ_end − λ_begin), the probabilities being shares of λ at the end."""
    tree, sums = fit.condensed_tree_, np.zeros(fit.cluster_reach_.size)
    for cluster, node in enumerate(fit.selected_):
        shares = fit.probabilities_[fit.labels_ == cluster]
        begin, end = tree.birth[node], tree.death[node]
        if np.isinf(end):
            sums[cluster] = np.inf
        elif node == 0:  # noise counts for the cluster of all rows while it lasts
            sums[cluster] = fit.cluster_stability_[cluster] if shares.size else np.inf
        else:
            sums[cluster] = shares.sum() * end - shares.size * begin
    finite = np.isfinite(sums)
    if not np.array_equal(finite, np.isfinite(fit.cluster_stability_)):
        return float(np.inf)
    nodes = fit.selected_[finite]
    gaps = np.abs(sums[finite] - fit.cluster_stability_[finite])
    return float((gaps / (tree.size[nodes] * tree.death[nodes])).max(initial=0.0))


def _best_choice(fit: HDBSCAN) -> Certificate:
    """The total stability against the greatest of any choice, summed over the condensed tree."""
    tree = fit.condensed_tree_
    value = tree.stability
    best, within = np.zeros(value.size), np.zeros(value.size)
    for cluster in range(value.size - 1, -1, -1):  # parents come before their children
        allowed = cluster > 0 or fit.allow_single_cluster
        best[cluster] = max(value[cluster], within[cluster]) if allowed else within[cluster]
        if cluster > 0:
            within[tree.parent[cluster]] += best[cluster]
    reached = float(fit.cluster_stability_.sum())
    claim = "No other choice of clusters, none inside another, has a greater total stability."
    room = 1e-9 * abs(best[0]) if np.isfinite(best[0]) else 0.0
    return at_least(claim, "total stability", reached, best[0], SOURCE, tolerance=room)


def _weight(fit: HDBSCAN, X: NDArray) -> Certificate:
    distances = base.distances_from(np.arange(fit.labels_.size), X, fit.metric)
    mutual = np.maximum(distances, np.maximum.outer(fit.core_distances_, fit.core_distances_))
    # A length near 0 would be no edge: every length, in units of the greatest, is raised by 1.
    raised = float(mutual.max()) or 1.0
    shortest = raised * (float(minimum_spanning_tree(mutual / raised + 1.0).sum()) - (fit.labels_.size - 1))
    claim = "No spanning tree of mutual reachabilities is shorter."
    value = fit.spanning_tree_[:, 2].sum()
    room = 1e-11 * raised * fit.labels_.size
    return at_most(claim, "length of the spanning tree", value, shortest, SOURCE, tolerance=room)
