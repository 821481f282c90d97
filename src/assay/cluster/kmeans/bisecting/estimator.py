"""k-means by bisection."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.base import Watch
from assay.certificates import Certificate, Certificates
from assay.cluster.base import RESTARTS, CenterClusterer, best_of, generators, watched
from assay.cluster.kmeans import seeding as _init
from assay.cluster.kmeans.bisecting import tree as trees
from assay.cluster.kmeans.bisecting.solver import bisect, halve_rows
from assay.cluster.kmeans.bisecting.tree import Router, SplitTree, Survey, route, survey
from assay.cluster.kmeans.certificates import eigenvalue_certificate, measure, weights_certificate
from assay.cluster.kmeans.solver import Lloyd, lloyd
from assay.models import convergence
from assay.parameters import Domain
from assay.randomness import RandomState, spawn
from assay.rows import Rows
from assay.suitability import Suitability


class BisectingKMeans(CenterClusterer):
    """Nested clusters around means: one cluster after the other is split in two.

    Minimises, one split at a time, the inertia of the two parts of a cluster,

        Σ_{i ∈ C} w_i min(‖x_i − a‖², ‖x_i − b‖²),        over a and b,

    by Lloyd's iteration from `n_init` starts, until there are `n_clusters` clusters. The tree of splits is
    kept: it holds a partition for every smaller number of clusters, each nested in the one before, and a new
    row goes down it, at every split to the nearer of the two centres (ties to the first).

    Assumes: columns on comparable scales, round groups, and that groups of groups are worth having; the
    number of clusters is given.

    Certificates: every row is in the leaf that the tree leads it to, both centres of every split are the
    means of their rows, each split lowers the inertia by what is claimed, and total = within + between.
    `certify` adds a lower bound on the inertia of every partition.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at most the number of rows. With fewer distinct rows there are fewer clusters,
        and a `ConvergenceWarning` says so.
    init : {"k-means++", "random"} or callable, default="k-means++"
        The two initial centres of a split; see `KMeans`.
    n_init : int, default=1
        Number of starts of each split; the best is kept.
    max_iter : int, default=300
        Largest number of iterations of a split.
    tol : float, default=1e-4
        A split has converged when the squared movement of its two centres, summed, is at most `tol` times the
        mean variance of the features in its cluster, or when no row changes sides.
    bisecting_strategy : {"biggest_inertia", "largest_cluster"}, default="biggest_inertia"
        Which cluster is split next: that of the largest inertia, or of the most rows.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial centres come from.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        Centres of the leaves.
    labels_ : array of int32 of shape (n_samples,)
        Leaf of each row; a lazy Dask array for Dask input. Rows of weight 0 have one too.
    tree_ : SplitTree
        All splits, with centre, inertia and weight of every node.
    inertia_path_ : array of shape (n_clusters,)
        Inertia of the nested partitions into 1, 2, …, K clusters.
    inertia_ : float
        Inertia of the leaves.
    n_iter_ : int
        Iterations of all splits together.
    converged_ : bool
        Whether every split met the stopping rule.
    optimality_ : float
        Largest squared distance of the two centres of a split from the means, over the mean variance in its
        cluster: compares with `tol`.
    cluster_weights_, anova_, certificates_, n_features_in_, feature_names_in_
        As in `KMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import BisectingKMeans
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0], [30.0], [31.0]])
    >>> model = BisectingKMeans(3, random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_.ravel()), model.certificates_.holds
    (array([ 0.5, 10.5, 30.5]), True)
    >>> len(set(model.labels_at(2)))
    2

    References
    ----------
    Sangnier §2.2; Peyré, clustering. Steinbach, Karypis & Kumar (2000), bisecting k-means.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **RESTARTS,
        "init": parameters.one_of("k-means++", "random") | parameters.function,
        "tol": parameters.real(at_least=0.0),
        "bisecting_strategy": parameters.one_of("biggest_inertia", "largest_cluster"),
    }
    _suits: ClassVar[Suitability | None] = Suitability(complexity=2, settings={"n_init": 5})

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-4,
        bisecting_strategy: str = "biggest_inertia",
        random_state: RandomState = None,
    ) -> None:
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.tol = tol
        self.bisecting_strategy = bisecting_strategy

    def _plan(self, data: Rows) -> tuple[int, int]:
        return (self.n_clusters - 1) * self.n_init, self.max_iter

    def _find(self, data: Rows, watch: Watch, n_runs: int) -> None:
        # A cluster whose rows are all the same takes a turn without being split: hence twice as many.
        randoms = spawn(self.random_state, 2 * self.n_clusters + 1)
        split = partial(self._split, watch=watch)
        self._conclude(
            data, *bisect(data, self.n_clusters, split, strategy=self.bisecting_strategy, randoms=randoms)
        )

    def _rule(self, data: Rows) -> tuple[Any, ...]:
        return route, self._router()

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the inertia of rows about the centres of their leaves."""
        data = self._open_new_rows(X, None, sample_weight)
        return -float(self._survey(data, None).inertias.sum())

    def labels_at(self, n_clusters: int) -> Any:
        """Labels of the rows of the fit in the partition into fewer clusters that the tree holds.

        Parameters
        ----------
        n_clusters : int
            From 1 to the number of leaves.

        Returns
        -------
        labels : array of int32 of shape (n_samples,)
            Lazy where `labels_` is.
        """
        n_leaves = self.tree_.n_leaves
        if not parameters.integer(at_least=1).contains(n_clusters) or n_clusters > n_leaves:
            words = f"an int from 1 to the number of leaves ({n_leaves})"
            raise parameters.refusal("labels_at", "n_clusters", words, n_clusters)
        merged = self.tree_.parents(int(n_clusters))
        if isinstance(self.labels_, np.ndarray):
            return merged[self.labels_]
        return self.labels_.map_blocks(lambda labels: merged[labels], dtype=np.int32)

    def _certify(self, data: Rows) -> list[Certificate]:
        leaves, centers = self._survey(data, self._labels_of_fit(data)), self._placed(data)
        bound = eigenvalue_certificate(data, measure(leaves.whole, centers), centers)
        return [*self._proof(leaves, data), weights_certificate(self.cluster_weights_, leaves.counts), *bound]

    def _split(self, rows: Rows, pool: _init.Pool, random: np.random.Generator, watch: Watch) -> Lloyd:
        """The best of `n_init` runs of 2-means."""
        options: Any = {"tol": self.tol, "max_iter": self.max_iter}

        def halves(start: NDArray) -> Lloyd:
            result = halve_rows(rows, start, **options) if watch.is_idle else None
            return result or lloyd(rows, start, watch=watch, **options)

        starts = self._starts(pool, 2, generators(random, self.n_init))
        return best_of(watched(halves, starts, watch))[0]

    def _conclude(self, data: Rows, tree: SplitTree, n_iter: int, converged: bool) -> None:
        self.tree_ = tree
        self.cluster_centers_ = tree.centers[tree.leaves]
        labels = self._local_labels(data)
        leaves, centers = self._survey(data, labels), self._placed(data)
        self.labels_ = data.map(*self._rule(data), dtype=np.int32) if labels is None else labels
        measured = measure(leaves.whole, centers)
        self.inertia_, self.anova_, self.cluster_weights_ = measured.inertia, measured.anova, leaves.counts
        parts = tree.inertias[tree.children[tree.split_nodes]].sum(axis=1)
        gains = tree.inertias[tree.split_nodes] - parts
        self.inertia_path_ = tree.inertias[0] - np.concatenate([[0.0], np.cumsum(gains)])
        self.n_iter_, self.converged_ = max(n_iter, 1), converged
        self.certificates_ = self._proof(leaves, data)
        self.optimality_ = self.certificates_.named("movement of the centres").value
        self._warn_of_empty_clusters(tree.n_leaves)
        if not self.converged_:
            convergence.warn(
                f"BisectingKMeans did not converge in max_iter={self.max_iter} iterations of a split: its "
                f"centres still move by {self.optimality_:.2g} (tol={self.tol:g}). Raise max_iter or tol."
            )

    def _router(self) -> Router:
        """The tree, with the fitted centres at its leaves."""
        tree = self.tree_
        centers = tree.centers.copy()
        centers[tree.leaves] = self.cluster_centers_
        return trees.router(tree.children, centers, tree.labels)

    def _survey(self, data: Rows, labels: NDArray | None) -> Survey:
        centers = self._placed(data)
        return survey(data, self._router(), self.cluster_centers_, centers.shift, labels)

    def _proof(self, leaves: Survey, data: Rows) -> Certificates:
        claims: Any = {"inertia": self.inertia_, "path": self.inertia_path_, "tol": self.tol}
        return trees.bisecting_certificates(self.tree_, leaves, self._placed(data), **claims)
