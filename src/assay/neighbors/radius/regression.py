"""Numbers by the mean of all rows within a radius."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin

from assay import parameters
from assay.models import convergence
from assay.models.capabilities import Regressor
from assay.neighbors.asking import HasRadius
from assay.neighbors.rule import list_means
from assay.neighbors.supervised import VOTE_DOMAINS, NeighborMean, RadiusVote
from assay.parameters import Domain


class RadiusNeighborsRegressor(MultiOutputMixin, NeighborMean, RadiusVote, HasRadius, Regressor):
    """The mean of the targets within a radius, and NaN where there are none.

    Finds for each query x the ball V_x = {i : d(x, x_i) ≤ r} and predicts

        f̂(x) = Σ_{i ∈ V_x} w_i y_i / Σ_{i ∈ V_x} w_i,

    which is not defined where V_x is empty.

    Assumes: columns on comparable scales and a density of rows that one radius suits.

    Certificates: the neighbours of evenly spaced rows are those of a sort of all distances; `certify` looks
    at more of them, at the rows that are kept, and at the means.

    Parameters
    ----------
    radius : float, default=1.0
        r.
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
    >>> import numpy as np
    >>> from assay.neighbors import RadiusNeighborsRegressor
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 0.0, 1.0, 2.0])
    >>> RadiusNeighborsRegressor(radius=1.0).fit(X, y).predict([[2.5]])
    array([1.5])

    References
    ----------
    Sangnier §1.6.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {"radius": parameters.real(at_least=0.0), **VOTE_DOMAINS}

    def __init__(
        self,
        radius: float = 1.0,
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
        self.radius = radius
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.gamma = gamma

    def predict(self, X: Any) -> Any:
        """The weighted mean of the targets within the radius; NaN, with a warning, where there are none.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset, Dask collection or None
            New rows; None for the rows of the fit, each of which is left out in turn.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_targets)
        """
        rule, dtype = self._vote(X), self._dtype
        width = None if self._y.ndim == 1 else self._y.shape[1]
        said = self._answer(X, list_means, rule, dtype, dtype=dtype, width=width)
        if isinstance(said, np.ndarray) and np.isnan(said).any():
            convergence.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN.", UserWarning
            )
        return said
