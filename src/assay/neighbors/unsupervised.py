"""Nearest neighbours without a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from assay import parameters
from assay.certificates import Certificates
from assay.neighbors.asking import HasNearest, HasRadius
from assay.neighbors.base import SEARCH_DOMAINS
from assay.parameters import Domain


class NearestNeighbors(HasNearest, HasRadius):
    """The nearest rows of queries, exactly, in memory, on disk or on a cluster.

    Finds for each query x the rows of the k least distances d(x, x_i), or all with d(x, x_i) ≤ r; rows at the
    same distance come by their number, whatever the method and the number of threads.

    A tree of boxes or of balls in few dimensions; in many, tiles of inner products in single precision with a
    bound on their rounding exclude most rows and the others get exact distances. Rows outside memory are
    walked once for each batch of queries.

    Assumes: columns on comparable scales, and for trees a metric.

    Certificates: the neighbours of evenly spaced rows are those of a sort of all distances; `certify` looks
    at more of them, and at the rows that are kept.

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    radius : float, default=1.0
        r.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How to search; the answers are the same.
    leaf_size : int, default=30
        Accepted as in scikit-learn; leaves have 32 rows.
    metric : str or callable, default="minkowski"
        The name of a metric, "precomputed" (X is the square matrix of distances) or a function of two rows.
    p : float, default=2
        Power of the Minkowski metric.
    metric_params : dict, optional
        Further arguments of the metric.
    n_jobs : int, optional
        Accepted as in scikit-learn; `assay.rows.threads` sets the number of threads.

    Attributes
    ----------
    n_samples_fit_ : int
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    certificates_ : Certificates
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.neighbors import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit(np.array([[0.0], [1.0], [3.0]]))
    >>> model.kneighbors([[0.9]])[1]
    array([[1, 0]])
    >>> model.radius_neighbors([[2.0]], 1.0)[1][0]
    array([1, 2])
    >>> model.certificates_.holds
    True

    References
    ----------
    Peyré, nearest neighbours; Sangnier §1.6.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_neighbors": parameters.integer(at_least=1),
        "radius": parameters.real(at_least=0.0),
        **SEARCH_DOMAINS,
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> NearestNeighbors:
        """Keep the rows and build their search.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, memory map, Arrow dataset or Dask collection
            The rows; with metric="precomputed" the square matrix of their distances.
        y : None
            Ignored.

        Returns
        -------
        self : NearestNeighbors
        """
        data = self._open_rows(X)
        self._keep_rows(data)
        self.certificates_ = Certificates(self._cheap(data))
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Compare the neighbours of many rows, and the rows that are kept, with the data of the fit.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on; only X is looked at.

        Returns
        -------
        certificates : Certificates
        """
        return Certificates(self._measured(self._open_new_rows(X)))
