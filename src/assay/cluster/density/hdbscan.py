"""HDBSCAN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates
from assay.cluster.density import hdbscan as selection
from assay.cluster.density.choice import k_distances
from assay.cluster.density.hdbscan_certificates import MeasuredTree, hdbscan_certificates
from assay.cluster.density.hdbscan_tree import CondensedTree, condense
from assay.cluster.density.optics_certificates import rows_to_measure
from assay.cluster.density.reach import Fitted, labels_by_reach
from assay.distances import Metric, check_dissimilarity, metric_domain, spanning_tree
from assay.models.clusterer import PairwiseClusterer
from assay.parameters import Domain
from assay.suitability import Suitability

# Clusters chosen from a condensed tree: those of the greatest total stability, or the leaves.


class Selection(NamedTuple):
    """The clusters chosen, numbered by their first rows, and how firmly each row belongs to its own."""

    labels: NDArray
    probabilities: NDArray
    chosen: NDArray


def most_stable(tree: CondensedTree, *, allow_single_cluster: bool) -> NDArray:
    """The clusters, none inside another, of the greatest total stability (excess of mass).

    From the leaves up, a cluster stays unless the best within it are worth more.
    """
    own = tree.stability
    if not allow_single_cluster:
        own[0] = -1.0
    within = np.zeros(own.size)
    stays = np.zeros(own.size, dtype=np.bool_)
    for cluster in range(own.size - 1, -1, -1):
        stays[cluster] = within[cluster] <= own[cluster]
        if cluster > 0:
            within[tree.parent[cluster]] += max(own[cluster], within[cluster])
    return _outermost(tree, stays)


def leaves(tree: CondensedTree, *, allow_single_cluster: bool) -> NDArray:
    """The clusters that no other comes out of."""
    found = np.flatnonzero(tree.is_leaf)
    return found if allow_single_cluster else found[found > 0]


def lift(tree: CondensedTree, chosen: NDArray, epsilon: float, *, allow_single_cluster: bool) -> NDArray:
    """Replace clusters that begin below a distance by the first around them that begins above it."""
    reached = np.zeros(tree.parent.size, dtype=np.bool_)
    for cluster in chosen:
        while cluster > 0 and tree.birth[cluster] * epsilon > 1.0:
            above = tree.parent[cluster]
            if above == 0 and not allow_single_cluster:
                break
            cluster = above
        reached[cluster] = True
    return _outermost(tree, reached)


def label_rows(tree: CondensedTree, chosen: NDArray, *, epsilon: float = 0.0) -> Selection:
    """Rows of the chosen clusters; of a single one of all rows, those that stay to its end, or to epsilon."""
    number = np.full(tree.parent.size, -1)
    number[chosen] = chosen
    for cluster in range(1, number.size):  # parents come before their children
        if number[cluster] < 0:
            number[cluster] = number[tree.parent[cluster]]
    holder = number[tree.row_cluster]
    if chosen.size == 1 and chosen[0] == 0:
        stays = tree.row_density >= (1.0 / epsilon if epsilon > 0.0 else tree.death[0])
        holder = np.where(stays, holder, -1)
    inside = holder >= 0
    found, first, inverse = np.unique(holder[inside], return_index=True, return_inverse=True)
    rank = np.empty(found.size, dtype=np.int32)
    rank[np.argsort(first)] = np.arange(found.size, dtype=np.int32)
    labels = np.full(holder.size, -1, dtype=np.int32)
    labels[inside] = rank[inverse]
    probabilities = np.zeros(holder.size)
    death, density = tree.death[holder[inside]], tree.row_density[inside]
    share = np.ones(death.size)
    np.divide(density, death, out=share, where=np.isfinite(density) & (death > 0.0))
    probabilities[inside] = np.minimum(share, 1.0)
    return Selection(labels, probabilities, found[np.argsort(rank)])


def _outermost(tree: CondensedTree, marked: NDArray) -> NDArray:
    """The marked clusters that are in no other marked one."""
    covered = np.zeros(marked.size, dtype=np.bool_)
    for cluster in range(1, marked.size):
        above = tree.parent[cluster]
        covered[cluster] = covered[above] or marked[above]
    return np.flatnonzero(marked & ~covered)


class HDBSCAN(PairwiseClusterer):
    """Clusters of any density: the most stable ones in the tree of all clusterings of DBSCAN.

    Maximises the total stability of clusters C, none inside another, of the tree of connected components,

        Σ_C Σ_{x ∈ C} (λ at which x leaves C − λ at which C begins),        λ = 1/distance,

    where rows are connected at a distance when their mutual reachability max(c_x, c_z, d(x, z)) is at most
    that, c_x being the distance of x to its `min_samples`-th row, itself counted.

    A minimum spanning tree holds all components; those of fewer than `min_cluster_size` rows are taken off
    (condensed tree), and one walk from the leaves up chooses. Only ties depend on the order of the rows.

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
        Their stabilities.
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
    _suits: ClassVar[Suitability | None] = Suitability(complexity=3, max_rows=10_000)
    _accepts_sparse: ClassVar[bool] = False

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

    def fit(self, X: Any, y: Any = None) -> HDBSCAN:
        """Find the clusters.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows, in memory; the matrix of dissimilarities with metric="precomputed".
        y : None
            Ignored.

        Returns
        -------
        self : HDBSCAN
        """
        data = self._open_pairs(X, instead="take KMeans, which walks them")
        rows = check_dissimilarity(data.X, "HDBSCAN") if self._is_precomputed else data.X
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
        self.X_fit_ = None if self._is_precomputed else rows
        measured = rows_to_measure(len(rows))
        self.certificates_ = hdbscan_certificates(self._measured_tree(), rows, self.metric, measured)
        return self

    def predict(self, X: Any) -> Any:
        """Cluster of the row of least mutual reachability to each row, if within `cluster_reach_`, else −1.

        Parameters
        ----------
        X : array, frame, path, memory map, Arrow dataset or table, Dask array or dataframe
            The rows; with metric="precomputed", their dissimilarities to the rows of the fit.

        Returns
        -------
        labels : array of int32 of shape (n_samples,)
            Lazy for Dask input.
        """
        data = self._open_new_rows(X)
        fitted = Fitted(
            self.X_fit_,
            self.core_distances_,
            self.labels_,
            self.cluster_reach_,
            self.metric,
            n_core=self._n_core - 1,
        )
        return data.map(labels_by_reach, fitted, dtype=np.int32)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the rows of the fit, up to 2²⁶ pairs of them.

        Parameters
        ----------
        X : array or frame
            The data that the model was fitted on, in memory.
        y, sample_weight : None
            Ignored.

        Returns
        -------
        certificates : Certificates
            From the fitted attributes and the data alone.
        """
        data = self._open_rows_of_fit(X)
        rows = data.take(np.arange(data.shape[0]))
        measured = rows_to_measure(len(rows), most_pairs=2**26)
        return hdbscan_certificates(self._measured_tree(), rows, self.metric, measured, whole=True)

    def _choose(self, tree: CondensedTree) -> None:
        """Set labels and what belongs to the chosen clusters."""
        single, epsilon = bool(self.allow_single_cluster), float(self.cluster_selection_epsilon)
        choose = selection.most_stable if self.cluster_selection_method == "eom" else selection.leaves
        chosen = choose(tree, allow_single_cluster=single)
        if epsilon > 0.0:
            chosen = selection.lift(tree, chosen, epsilon, allow_single_cluster=single)
        found = selection.label_rows(tree, chosen, epsilon=epsilon)
        self.labels_, self.probabilities_, self.selected_ = found
        self.n_clusters_ = int(self.selected_.size)
        self.cluster_stability_ = tree.stability[self.selected_]
        self.cluster_reach_ = _inverse(tree.birth[self.selected_])

    @property
    def _n_core(self) -> int:
        return int(self.min_cluster_size if self.min_samples is None else self.min_samples)

    def _measured_tree(self) -> MeasuredTree:
        is_best = self.cluster_selection_method == "eom" and self.cluster_selection_epsilon == 0.0
        return MeasuredTree(
            self.labels_,
            self.probabilities_,
            self.cluster_stability_,
            self.cluster_reach_,
            self.selected_,
            self.condensed_tree_,
            self.core_distances_,
            self.spanning_tree_,
            self._n_core,
            is_best,
            bool(self.allow_single_cluster),
        )


def _inverse(densities: NDArray) -> NDArray:
    """1/λ: infinite for the cluster of all rows."""
    return np.divide(1.0, densities, out=np.full(densities.size, np.inf), where=densities > 0.0)
