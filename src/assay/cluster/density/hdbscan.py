"""HDBSCAN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates
from assay.cluster.density import hdbscan_tree as selection
from assay.cluster.density.base import ReachClusterer
from assay.cluster.density.choice import k_distances
from assay.cluster.density.hdbscan_certificates import MeasuredTree, hdbscan_certificates
from assay.cluster.density.hdbscan_tree import CondensedTree, condense
from assay.distances import Metric, metric_domain, spanning_tree
from assay.parameters import Domain
from assay.suitability import Suitability


class HDBSCAN(ReachClusterer):
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
        self.labels_, self.probabilities_, self.selected_ = selection.label_rows(
            tree, chosen, epsilon=epsilon
        )
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
        is_best = self.cluster_selection_method == "eom" and self.cluster_selection_epsilon == 0.0
        tree = MeasuredTree(
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
        return hdbscan_certificates(tree, rows, self.metric, measured, whole=whole)


def _inverse(densities: NDArray) -> NDArray:
    """1/λ: infinite for the cluster of all rows."""
    return np.divide(1.0, densities, out=np.full(densities.size, np.inf), where=densities > 0.0)
