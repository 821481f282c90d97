"""What models that answer by their neighbours share: settings from the data, and proofs of answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.neighbors.base import SEARCH_DOMAINS, NeighborModel
from assay.neighbors.counting import count_neighbors
from assay.neighbors.rule import NeighborRule, sorted_neighbors
from assay.neighbors.voting import WEIGHTS, Array, Weighing, owners_of
from assay.parameters import Domain
from assay.rows import Block, MemoryRows, Rows

VOTE_DOMAINS: Mapping[str, Domain] = {
    "weights": WEIGHTS,
    **SEARCH_DOMAINS,
    "gamma": parameters.nothing | parameters.real(above=0.0, squared=True),
}

ASKED = 64
"""Rows whose answers are computed again from their neighbours."""


class NeighborVote(NeighborModel):
    """Models whose answers are votes or means of neighbours."""

    _y: NDArray
    gamma_: float

    @property
    def _dtype(self) -> np.dtype:
        return np.dtype(self._fit_X.dtype)

    @property
    def _is_whole(self) -> bool:
        """Whether weights are numbers of repetitions."""
        return self._weight is None or bool((self._weight == np.rint(self._weight)).all())

    def _settle(self, n_rows: float) -> None:
        """Set what the parameters leave to the data."""
        self.gamma_ = self._gamma_of_parameters()

    def _gamma_of_parameters(self) -> float:
        return 1.0 / self.n_features_in_ if self.gamma is None else float(self.gamma)

    def _weighing(self) -> Weighing:
        return Weighing(self.weights, self.gamma_)

    def _settings(self, data: Rows) -> Certificate:
        """Whether the settings are those that the parameters ask for."""
        claim = "The settings are those that the parameters and the data ask for."
        return agreement(claim, {"gamma_": (self.gamma_, self._gamma_of_parameters())}, rtol=1e-12)

    def _vote(self, X: Any) -> NeighborRule:
        raise NotImplementedError

    def _answers(self, data: Rows) -> Certificate:
        """Answers of some rows against sums over their neighbours, one row at a time."""
        places = self._counted(np.unique(np.linspace(0, self._n_kept - 1, ASKED).astype(np.intp)))
        sparse = isinstance(data, MemoryRows) and data.is_sparse
        X: Any = data.X[places] if sparse else data.take(places)  # type: ignore[attr-defined]
        asked = Block(X, None, None, 0)  # columns without names, whose order is that of the fit
        answer = self.predict_proba(asked) if is_classifier(self) else self.predict(asked)
        said = np.column_stack(answer) if isinstance(answer, list) else np.asarray(answer, dtype=np.float64)
        expected = self._by_definition(X)
        scale = float(np.abs(expected).max(initial=0.0)) or 1.0
        worst = float(np.abs(said.reshape(expected.shape) - expected).max(initial=0.0)) / scale
        claim = f"The answers for {len(places)} rows are the weighted means of their neighbours."
        slack = 64.0 * float(np.finfo(self._dtype).eps)
        return at_most(claim, "largest deviation of an answer", worst, slack, "Sangnier §1.6.1")

    def _by_definition(self, X: Any) -> Array:
        raise NotImplementedError

    def _mean_of(self, numbers: NDArray, weights: NDArray) -> Array:
        """Weighted mean of what some rows say: the marks of their classes, or their targets."""
        said = self._y[numbers]
        if is_classifier(self):
            marks = np.eye(int(self._ends[-1]))[said]
            said = marks.sum(axis=1) if marks.ndim == 3 else marks
        said = said.reshape(len(said), -1).astype(np.float64)
        return (weights / weights.sum()) @ said

    def _plain_weights(self, distances: NDArray) -> Array:
        """Weights of neighbours at some distances, written out."""
        kind, far = self.weights, distances.astype(np.float64)
        if callable(kind):
            return self._weighing().of_nearest(far[None])[0]  # type: ignore[index]
        if kind == "distance":
            return (far == 0).astype(np.float64) if (far == 0).any() else far.min() / far
        if kind == "gaussian":
            return np.exp(-self.gamma_ * (far - far.min()) * (far + far.min()))
        return np.ones(len(far))


class NeighborMean(NeighborVote):
    """Answers that are means of targets."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows and build their search.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, memory map, Arrow dataset or Dask collection
            The rows; with metric="precomputed" the square matrix of their distances.
        y : array of shape (n_samples,) or (n_samples, n_targets), or column names
        sample_weight : array of shape (n_samples,), optional
            A row of weight 3 is three neighbours; one of weight 0 is absent.
        """
        data = self._open_rows(X, y, sample_weight, with_target=True)
        self._y = self._keep_rows(data)[0]
        self._settle(self._mass)
        self.certificates_ = Certificates(self._cheap(data))
        return self

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
        data = self._open_new_rows(X, y, sample_weight, with_target=True)
        proof = [*self._measured(data, self._y), self._settings(data), self._answers(data)]
        return Certificates([*proof, *self._path_proofs()])

    def _path_proofs(self) -> list[Certificate]:
        """Certificates of the errors along a path, where there is one."""
        return []


class NearestVote(NeighborVote):
    """Answers of a number of neighbours."""

    n_neighbors_: int

    def _settle(self, n_rows: float) -> None:
        super()._settle(n_rows)
        self.n_neighbors_ = count_neighbors(self.n_neighbors, n_rows, type(self).__name__)

    def _settings(self, data: Rows) -> Certificate:
        k = count_neighbors(self.n_neighbors, data.total_weight, type(self).__name__)
        claim = "The settings are those that the parameters and the data ask for."
        pairs = {"gamma_": (self.gamma_, self._gamma_of_parameters()), "n_neighbors_": (self.n_neighbors_, k)}
        return agreement(claim, pairs, rtol=1e-12)

    def _vote(self, X: Any) -> NeighborRule:
        check_is_fitted(self)
        if self._weight is None:
            self._checked_count(None, X)
        elif self.n_neighbors_ > self._mass - (X is None):
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {self.n_neighbors_} and the rows "
                f"weigh {self._mass:g}."
            )
        return self._rule(self.n_neighbors_, self._y, self._weighing())

    def _path_rule(self, k: int) -> NeighborRule:
        return self._rule(k, self._y, self._weighing())

    def _open_labelled(self, X: Any, y: Any) -> MemoryRows:
        """Labelled rows for a path."""
        self._open_queries(X)
        if is_classifier(self):
            data = self._open_new_classes(X, y)
            data.y = data.y.astype(np.int64)
        else:
            data = self._open_new_rows(X, y, with_target=True)
        if not isinstance(data, MemoryRows):
            raise ValueError("score_path takes rows in memory; read them first.")
        return data

    def _sorted_labels(self, X: Any, k: int) -> tuple[NDArray, Array | None]:
        """Classes of the k nearest rows of queries, nearest first, and their weights."""
        data = self._open_queries(X)
        rule = self._path_rule(k)
        n_rows = data.shape[0]
        block = Block(data.take(np.arange(n_rows)), None, None, 0)
        near = sorted_neighbors(rule, rule.queries(block), np.zeros(n_rows), np.ones(n_rows))
        return near.targets, near.weights

    def _by_definition(self, X: Any) -> Array:
        rule = self._vote(X)
        queries = rule.queries(Block(X, None, None, 0))
        near, _ = rule.nearest(queries)
        return np.stack([self._row_by_definition(*line) for line in zip(*near, strict=True)])

    def _row_by_definition(self, distances: NDArray, numbers: NDArray) -> Array:
        if self._weight is not None:
            there = self._weight[numbers] > 0
            distances, numbers = distances[there], numbers[there]
        weights, room = self._plain_weights(distances), float(self.n_neighbors_)
        if self._weight is not None:
            for place, number in enumerate(numbers.tolist()):
                counted = min(float(self._weight[number]), room)
                weights[place] *= counted
                room -= counted
        return self._mean_of(numbers, weights)


class RadiusVote(NeighborVote):
    """Answers of all rows within a radius."""

    radius: float

    def _vote(self, X: Any) -> NeighborRule:
        check_is_fitted(self)
        return self._rule(self.radius, self._y, self._weighing())

    def _by_definition(self, X: Any) -> Array:
        rule = self._vote(X)
        near, _ = rule.within(rule.queries(Block(X, None, None, 0)))
        owners, means = owners_of(near), []
        for query in range(len(near.indptr) - 1):
            mine = owners == query
            numbers, weights = near.indices[mine], self._plain_weights(near.distances[mine])
            if self._weight is not None:
                weights = weights * self._weight[numbers]
            means.append(self._mean_of(numbers, weights))
        return np.stack(means)
