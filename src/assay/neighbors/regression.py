"""Numbers by the mean of the nearest rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin

from assay.certificates import Certificate
from assay.models.capabilities import Regressor
from assay.neighbors.counting import N_NEIGHBORS
from assay.neighbors.path import MeanPath
from assay.neighbors.rule import mean_targets
from assay.neighbors.supervised import VOTE_DOMAINS, NearestVote, NeighborMean
from assay.parameters import LARGEST, Domain
from assay.rows import MemoryRows
from assay.suitability import Suitability


class KNeighborsRegressor(MultiOutputMixin, NeighborMean, NearestVote, MeanPath, Regressor):
    """The mean of the targets of the nearest rows.

    Finds for each query x the k nearest rows, x_(1), …, x_(k) by distance, and predicts

        f̂(x) = Σ_{i≤k} w_i y_{(i)} / Σ_{i≤k} w_i,

    with w = 1, or by the distance. One sort serves every k: `score_path` gives the error of all of them with
    each row left out, `select` chooses one.

    Assumes: columns on comparable scales; nothing about the law. With k → ∞ and k/n → 0 the mean squared
    error tends to that of the regression function, whatever the law with a finite variance (Stone).

    Certificates: the neighbours of evenly spaced rows are those of a sort of all distances; `certify` looks
    at more of them, at the rows that are kept, at the means, and at the errors along all k.

    Parameters
    ----------
    n_neighbors : int, "auto" or callable, default=5
        k, or a rule of the number of rows; "auto" is the least odd number from √n on.
    weights : {"uniform", "distance", "gaussian"}, callable or None, default="uniform"
        The weight of a neighbour at distance d: 1, 1/d (rows at distance 0 then decide alone), exp(−γ d²),
        or a function of the array of distances.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How to search; the answers are the same.
    leaf_size : int, default=30
        Accepted as in scikit-learn; leaves have 32 rows.
    p : float, default=2
        Power of the Minkowski metric.
    metric : str or callable, default="minkowski"
        The name of a metric, "precomputed" (X is the square matrix of distances at the fit, and of distances
        to the rows of the fit afterwards) or a function of two rows.
    metric_params : dict, optional
        Further arguments of the metric.
    n_jobs : int, optional
        Accepted as in scikit-learn; `assay.rows.threads` sets the number of threads.
    gamma : float, optional
        γ of the Gaussian weights; one over the number of features by default.

    Attributes
    ----------
    n_neighbors_ : int
        k as used.
    gamma_ : float
        γ as used.
    n_samples_fit_ : int
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    certificates_ : Certificates
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.neighbors import KNeighborsRegressor
    >>> X, y = diabetes(return_X_y=True)
    >>> chosen = KNeighborsRegressor().select(X, y)
    >>> chosen.best, chosen.model.certify(X, y).holds
    (18, True)

    References
    ----------
    Sangnier §1.6.1; Rudi & Şimşekli §6.3. Stone (1977).
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=2, max_rows=20_000, max_pairs=200 * 10**9, select={}
    )
    _domains: ClassVar[Mapping[str, Domain]] = {"n_neighbors": N_NEIGHBORS, **VOTE_DOMAINS}

    def __init__(
        self,
        n_neighbors: Any = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        gamma: float | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.gamma = gamma

    def _fit_part(self, X: Any, y: NDArray, weight: NDArray | None, whole: Any) -> None:
        """Keep some rows of a table."""
        self.n_features_in_ = X.shape[1]
        self._y = self._keep_rows(MemoryRows(X, y, weight))[0]
        self._settle(self._mass)

    def predict(self, X: Any) -> Any:
        """The weighted mean of the targets of the nearest rows.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset, Dask collection or None
            New rows; None for the rows of the fit, each of which is left out in turn.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_targets)
            A lazy Dask array for a Dask collection.
        """
        rule, dtype = self._vote(X), self._dtype
        width = None if self._y.ndim == 1 else self._y.shape[1]
        return self._answer(X, mean_targets, rule, dtype, dtype=dtype, width=width)

    def _path_proofs(self) -> list[Certificate]:
        squares = float(np.abs(self._y).max()) <= LARGEST
        if not squares or self._is_walked or self._mass <= self.n_neighbors_ or not self._is_whole:
            return []
        return list(self.score_path(max_neighbors=self.n_neighbors_).certificates)
