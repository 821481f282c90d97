"""k-median in the sense of the course: centres among the rows, Euclidean distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from assay import parameters
from assay.cluster.medoids.estimator import MedoidModel
from assay.parameters import Domain
from assay.randomness import RandomState


class KMedian(MedoidModel):
    """Partition of rows around rows of the sample, by Euclidean distance.

    Minimises over medoids m_1, …, m_K among the rows

        D(m) = Σ_i w_i min_k ‖x_i − x_{m_k}‖,        w_i = 1 without `sample_weight`,

    by swaps of one row for another (FasterPAM), or by the alternation of the course: it is `KMedoids` with
    the Euclidean distance. Distances are not squared, so that far rows pull less than in k-means.
    `KGeometricMedian` and `KCoordinateMedian` let the centres be any points.

    The fit needs all pairs of rows: n_samples² numbers in memory. Predictions are made block by block.

    Assumes: columns on comparable scales and round groups, some rows of which may lie far away; the number of
    clusters is given.

    Certificates: those of `KMedoids`; `certify` adds a lower bound on the cost of any medoids.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids K, at most the number of rows.
    method : {"fasterpam", "alternate"}, default="fasterpam"
        Swaps, or assignments and best medoids of the clusters in turn.
    init : {"build", "k-medoids++", "random"} or array of shape (n_clusters,), default="build"
        Initial medoids, as in `KMedoids`.
    max_iter : int, default=300
        Most passes over the rows of a restart.
    n_init : int, default=1
        Restarts, for the two kinds of `init` that draw.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial medoids come from.

    Attributes
    ----------
    medoid_indices_, cluster_centers_, labels_, inertia_, n_iter_, converged_, optimality_
        As in `KMedoids`.
    restart_inertias_, inertia_trace_, certificates_, n_features_in_, feature_names_in_
        As in `KMedoids`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import KMedian
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [90.0]])
    >>> KMedian(n_clusters=2).fit(X).labels_
    array([0, 0, 0, 0, 0, 1], dtype=int32)
    >>> KMedian(n_clusters=3).fit(X).certificates_.holds
    True

    References
    ----------
    Sangnier §2.2.1–2.2.2 (k-median, centres in the sample).
    """

    metric = "euclidean"

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_clusters": parameters.integer(at_least=1),
        "method": parameters.one_of("fasterpam", "alternate"),
        "init": Domain(
            "one of 'build', 'k-medoids++', 'random' or an array of n_clusters indices of rows",
            lambda value: (
                value in ("build", "k-medoids++", "random")
                if isinstance(value, str)
                else parameters.array("").contains(value)
            ),
        ),
        "max_iter": parameters.integer(at_least=1),
        "n_init": parameters.integer(at_least=1),
        "random_state": parameters.random_state,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: str = "fasterpam",
        init: Any = "build",
        max_iter: int = 300,
        n_init: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.init = init
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
