"""Classes by the vote of the nearest rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, Certificates
from assay.models.class_columns import ClassColumns, refuse_several
from assay.neighbors.certificates import cover_hart_certificate
from assay.neighbors.counting import N_NEIGHBORS
from assay.neighbors.path import ClassPath
from assay.neighbors.rule import class_shares, voted_classes
from assay.neighbors.supervised import VOTE_DOMAINS, NearestVote
from assay.neighbors.voting import TIES
from assay.parameters import Domain
from assay.rows import MemoryRows
from assay.suitability import Suitability


class KNeighborsClassifier(NearestVote, ClassPath, ClassColumns):
    """The class that most of the nearest rows have.

    Finds for each query x the k nearest rows, x_(1), …, x_(k) by distance, and estimates

        η̂_c(x) = Σ_{i≤k} w_i 1[y_{(i)} = c] / Σ_{i≤k} w_i,        ĝ(x) = argmax_c η̂_c(x),

    with w = 1, or by the distance. One sort serves every k: `score_path` gives the error of all of them with
    each row left out, `select` chooses one.

    Assumes: columns on comparable scales; nothing about the law. With k → ∞ and k/n → 0 the risk tends to
    that of Bayes, whatever the law (Stone); with k fixed it does not, and an even k is no better than k − 1
    unless its ties go to the likelier class.

    Certificates: the neighbours of evenly spaced rows are those of a sort of all distances; `certify` looks
    at more of them, at the rows that are kept, at the votes, and holds the error with each row left out
    against the bound of Cover and Hart; `certify_error` does so for rows that the fit has not seen, which
    shows a leak.

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
    ties : {"first", "positive", "nearest"}, default="first"
        Who wins a tie of votes: the first class, as in scikit-learn; the last one, which is class 1 of 0
        and 1; or the class of the nearest of the rows that tie.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), or a list of them, one per column of labels
    n_neighbors_ : int
        k as used.
    gamma_ : float
        γ as used.
    outputs_2d_ : bool
        Whether y had several columns of labels.
    n_samples_fit_ : int
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    certificates_ : Certificates
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.neighbors import KNeighborsClassifier
    >>> X, y = iris(return_X_y=True)
    >>> model = KNeighborsClassifier(n_neighbors=7).fit(X, y)
    >>> model.predict_proba(X[70:71]).round(2)
    array([[0.  , 0.43, 0.57]])
    >>> model.score_path(max_neighbors=30)
    NeighborPath(1 to 30 neighbours, least leave-one-out error at 19)
    >>> model.certify(X, y).holds
    True

    References
    ----------
    Sangnier §1.6.1; Rudi & Şimşekli §6.3; Peyré, nearest neighbours. Cover & Hart (1967), Stone (1977).
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=2, max_rows=20_000, max_pairs=200 * 10**9, select={}
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_neighbors": N_NEIGHBORS,
        **VOTE_DOMAINS,
        "ties": parameters.one_of(*TIES),
    }

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
        ties: str = "first",
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
        self.ties = ties

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KNeighborsClassifier:
        """Keep the rows and build their search.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, memory map, Arrow dataset or Dask collection
            The rows; with metric="precomputed" the square matrix of their distances.
        y : array of shape (n_samples,) or column name
            Labels; in memory, of shape (n_samples, n_outputs) for several at once.
        sample_weight : array of shape (n_samples,), optional
            A row of weight 3 is three neighbours; one of weight 0 is absent.

        Returns
        -------
        self : KNeighborsClassifier
        """
        data, _ = self._open_classes(X, y, sample_weight)
        target, _ = self._keep_rows(data)
        assert target is not None
        self._y = target.astype(np.int64)
        self._settle(self._mass)
        self.outputs_2d_ = self._several
        self.certificates_ = Certificates(self._cheap(data))
        return self

    def _fit_part(self, X: Any, y: NDArray, weight: NDArray | None, whole: Any) -> None:
        """Keep some rows of a table whose classes are known."""
        self.n_features_in_, self.classes_ = X.shape[1], whole.classes_
        target, _ = self._keep_rows(MemoryRows(X, y, weight))
        assert target is not None
        self._y = target.astype(np.int64)
        self._settle(self._mass)

    def predict(self, X: Any) -> Any:
        """The class of most votes.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset, Dask collection or None
            New rows; None for the rows of the fit, each of which is left out in turn.

        Returns
        -------
        labels : array of shape (n_samples,)
            A lazy Dask array for a Dask collection.
        """
        state = self._vote(X), self.classes_, self.ties
        return self._answer(X, voted_classes, *state, **self._answer_type)

    def predict_proba(self, X: Any) -> Any:
        """Share of each class in the votes of the nearest rows.

        Parameters
        ----------
        X : as in `predict`

        Returns
        -------
        shares : array of shape (n_samples, n_classes), or a list of them, one per column of labels
        """
        rule = self._vote(X)
        n_classes, dtype = int(self._ends[-1]), self._dtype
        shares = self._answer(X, class_shares, rule, n_classes, dtype, dtype=dtype, width=n_classes)
        return self._apart(shares)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit, expensive ones included.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.

        Returns
        -------
        certificates : Certificates
        """
        data = self._open_new_classes(X, y, sample_weight)
        proof = [*self._measured(data, self._y), self._settings(data), self._answers(data)]
        if not self._is_walked and self._mass > self.n_neighbors_ and not self._several:
            path = self.score_path(max_neighbors=self.n_neighbors_) if self._is_whole else None
            if path is not None:
                where = "with each row left out"
                wrong = float(path.error[-1]) * path.n_rows, path.n_rows
                first = float(path.error[0]) * path.n_rows, path.n_rows
                told: Any = {"where": where, "copies": self._copies()}
                proof.append(cover_hart_certificate(*wrong, *first, len(self.classes_), **told))
                proof.extend(path.certificates)
        return Certificates(proof)

    def certify_error(self, X: Any, y: Any) -> Certificates:
        """Whether the error on some rows is possible for rows that the fit has not seen.

        No rule has an error below the Bayes risk, and that is at least (1 − √(1 − 2R₁))/2 for the error R₁ of
        one neighbour, measured with each row of the fit left out. An error below it means that the rows are
        those of the fit, or that something else has leaked.

        Parameters
        ----------
        X, y : array-like
            Rows held out of the fit, with their labels.

        Returns
        -------
        certificates : Certificates
        """
        refuse_several(self, "certify_error")
        truth = np.asarray(y)
        wrong = float(np.count_nonzero(np.asarray(self.predict(X)) != truth))
        first = self.score_path(max_neighbors=1)
        n_first = float(first.error[0]) * first.n_rows, first.n_rows
        told: Any = {"where": "on these rows", "copies": self._copies()}
        proof: Certificate = cover_hart_certificate(
            wrong, float(len(truth)), *n_first, len(self.classes_), **told
        )
        return Certificates([proof])

    def _copies(self) -> float:
        """Share of the rows of the fit that have a copy: another row, or themselves again, at distance 0."""
        alone = self._searching().nearest(1).distances[:, 0] > 0 if self._n_kept > 1 else np.array([True])
        if self._weight is not None:
            alone = alone & (self._weight < 2)
        return float(np.mean(~alone))

    def vote_path(self, X: Any, *, max_neighbors: int | None = None) -> NDArray:
        """Share of each class among the 1, 2, …, K nearest rows: one sort serves every number of neighbours.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        max_neighbors : int, optional
            K; all rows by default.

        Returns
        -------
        shares : array of shape (n_queries, K, n_classes)
        """
        refuse_several(self, "vote_path")
        k = int(self._mass) if max_neighbors is None else max_neighbors
        labels, weights = self._sorted_labels(X, k)
        marks = (labels[:, :, None] == np.arange(len(self.classes_))) * (
            1.0 if weights is None else weights[:, :, None]
        )
        counts = np.cumsum(marks, axis=1)
        return counts / counts.sum(axis=2, keepdims=True)
