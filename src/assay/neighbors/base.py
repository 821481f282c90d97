"""What models of neighbours share: the metric, the rows they keep, and questions about neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay import parameters, rows
from assay.certificates import Certificate
from assay.distances import METRICS
from assay.distances.others import OTHER_METRICS, is_known_metric, named_metric
from assay.models.capabilities import PairwiseModel
from assay.neighbors.certificates import Kept, exact_certificate, kept_certificate
from assay.neighbors.rule import NeighborRule
from assay.neighbors.searching import QUERIES_AT_ONCE, GivenGraph, Search, make_search
from assay.neighbors.voting import Weighing
from assay.parameters import Domain
from assay.rows import Block, MemoryRows, Rows

METRIC = Domain("the name of a metric or a callable", lambda value: isinstance(value, str) or callable(value))
SEARCH_DOMAINS: Mapping[str, Domain] = {
    "algorithm": parameters.one_of("auto", "ball_tree", "kd_tree", "brute"),
    "leaf_size": parameters.integer(at_least=1),
    "p": parameters.real(above=0.0)
    | Domain("infinity", lambda value: isinstance(value, float) and value == np.inf),
    "metric": METRIC,
    "metric_params": parameters.nothing | Domain("a dict", lambda value: isinstance(value, dict)),
    "n_jobs": parameters.nothing
    | Domain("an int", lambda value: isinstance(value, Integral) and not isinstance(value, bool)),
}

FEW = 4
"""Rows whose neighbours the fit compares with all rows."""

COMPARED = 2**22
"""Distances that `certify` computes to compare neighbours with all rows."""


class NeighborModel(PairwiseModel):
    """Base of models that keep their rows and search them for neighbours.

    Rows may live on disk or on a cluster: a question then walks them once for a batch of queries, which must
    be in memory.
    """

    n_samples_fit_: int
    effective_metric_: Any
    effective_metric_params_: dict[str, Any]

    @property
    def _accepts_nan(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, str) and self.metric == "nan_euclidean"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._accepts_nan
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """The rows travel, the search over them is built again where it is needed."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_search", None)
        return state

    def _metric_of_parameters(self) -> tuple[Any, dict[str, Any]]:
        """The metric under its plainest name, and its options, as scikit-learn calls them."""
        metric, options = named_metric(self.metric, self.metric_params, self.p)
        if not (is_known_metric(metric) or metric == "precomputed"):
            known = ", ".join(map(repr, (*METRICS, *OTHER_METRICS, "precomputed")))
            raise self._refuse("metric", f"one of {known} or a callable")
        return metric, options

    def _keep_rows(self, data: Rows) -> tuple[Any, NDArray | None]:
        """Keep the rows that weigh something and make their search; gives their targets and weights.

        Targets and weights of rows outside memory come into memory: one or two numbers per row.
        """
        self.effective_metric_, self.effective_metric_params_ = self._metric_of_parameters()
        self.n_samples_fit_ = int(data.shape[0])
        self.__dict__.pop("_search", None)
        self._kept, self._fit_X = None, data
        if isinstance(data, MemoryRows):
            target, weight = data.y, data.weight
            if weight is not None and not (weight > 0).all():
                self._kept = np.flatnonzero(weight > 0)
                target, weight = (None if part is None else part[self._kept] for part in (target, weight))
            self._fit_X = self._rows_kept(data.X)
        else:
            target, weight = gathered(data)
        self._weight = None if weight is None or (weight == 1).all() else weight.astype(np.float64)
        self._searching()
        return target, self._weight

    def _rows_kept(self, X: Any) -> Any:
        """The rows, or given distances among the rows, that weigh something."""
        if self._is_precomputed:
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"{type(self).__name__} with metric='precomputed' needs a square matrix of distances. "
                    f"Got shape {X.shape}."
                )
            if np.min(X.data if hasattr(X, "indptr") else X, initial=0.0) < 0:
                raise ValueError(
                    "Negative values in data passed to a precomputed distance matrix: distances must be at "
                    "least 0."
                )
        if self._kept is None:
            return X
        return X[self._kept][:, self._kept] if self._is_precomputed else X[self._kept]

    def _searching(self) -> Search:
        """The search over the kept rows."""
        search = self.__dict__.get("_search")
        if search is None:
            data = self._fit_X if isinstance(self._fit_X, Rows) else MemoryRows(self._fit_X)
            metric, options = self.effective_metric_, self.effective_metric_params_
            search = self._search = make_search(data, metric, options, self.algorithm)
        return search

    @property
    def _is_walked(self) -> bool:
        """Whether the rows of the fit live outside memory."""
        return isinstance(self._fit_X, Rows)

    @property
    def _n_kept(self) -> int:
        """Rows that can be neighbours."""
        if self._is_walked:
            return int(self.n_samples_fit_ if self._weight is None else np.count_nonzero(self._weight))
        return int(self._fit_X.shape[0])

    @property
    def _mass(self) -> float:
        """Number of rows, repetitions included."""
        if self._weight is not None:
            return float(self._weight.sum())
        return float(self.n_samples_fit_ if self._kept is None else len(self._kept))

    def _rule(self, reach: float, target: Any = None, weighing: Weighing | None = None) -> NeighborRule:
        columns = self._kept if self._is_precomputed else None
        weighing = Weighing("uniform") if weighing is None else weighing
        return NeighborRule(self._searching(), target, self._weight, reach, weighing, columns)

    def _open_queries(self, X: Any) -> Rows:
        """New rows, which must be in memory where those of the fit are not."""
        check_is_fitted(self)
        if self._is_walked and rows.is_external(X):
            raise ValueError(
                f"{type(self).__name__} was fitted to rows outside memory, which are walked once for each "
                "batch of queries: these must be in memory; read them batch by batch."
            )
        return self._open_new_rows(X)

    def _leave_out_in_memory(self) -> None:
        if self._is_walked:
            raise ValueError(
                f"{type(self).__name__} leaves out each row in turn, which needs the rows of the fit in "
                "memory; give rows X that the fit has not seen."
            )

    def _answer(self, X: Any, step: Any, *state: Any, dtype: Any, width: int | None = None) -> Any:
        """What a step says of new rows, block by block; of the rows of the fit, each left out, for None."""
        if X is None:
            check_is_fitted(self)
            self._leave_out_in_memory()
            if self._kept is not None:
                raise ValueError(
                    f"{type(self).__name__} was fitted with rows of weight 0, which are none of the fit: ask "
                    "about X without them."
                )
            return np.asarray(step(Block(None, None, None, 0), *state))
        if isinstance(X, Block):  # rows of the fit, which are open
            return np.asarray(step(X, *state))
        data = self._open_queries(X)
        if not isinstance(data, MemoryRows):
            return data.map(step, *state, dtype=dtype, width=width)
        # The search itself runs on threads: larger pieces than blocks keep them busy.
        n_rows = data.shape[0]
        starts = range(0, n_rows, QUERIES_AT_ONCE)
        parts = [
            step(Block(data.X[start : start + QUERIES_AT_ONCE], None, None, start), *state)
            for start in starts
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _checked_count(self, n_neighbors: Any, X: Any) -> int:
        count = self._default_count() if n_neighbors is None else n_neighbors
        if not parameters.integer(at_least=1).contains(count):
            raise parameters.refusal("kneighbors", "n_neighbors", "an int at least 1", count)
        most = self._n_kept - (X is None)
        if count > most:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {count}, n_samples_fit = "
                f"{self._n_kept}, n_samples = {self._n_kept if X is None else rows_of(X)}"
                + (": without X a row is no neighbour of its own." if X is None else ".")
            )
        return int(count)

    def _default_count(self) -> Any:
        return getattr(self, "n_neighbors_", getattr(self, "n_neighbors", None))

    def _numbered(self, indices: NDArray) -> NDArray:
        """Numbers of rows in the table of the fit."""
        return indices if self._kept is None else self._kept[indices]

    def _counted(self, places: NDArray) -> NDArray:
        """Numbers in the table of the fit of some of the rows that can be neighbours, by their places."""
        if self._is_walked and self._weight is not None:
            return np.flatnonzero(self._weight)[places]
        return self._numbered(places)

    def _exact(self, data: Rows, n_queries: int, k: int) -> Certificate:
        """Whether the neighbours of evenly spaced rows are those of a full sort."""
        n_rows = data.shape[0]
        places = np.unique(np.linspace(0, n_rows - 1, min(n_queries, n_rows)).astype(np.intp))
        if isinstance(data, MemoryRows) and data.is_sparse:
            queries: Any = data.X[places]
        else:
            queries = data.take(places)
        rule = self._rule(k)
        asked = rule.queries(Block(queries, None, None, 0))
        if isinstance(rule.search, GivenGraph):  # lists may be shorter than k, and rows asked elsewhere not
            k = min(k, int(np.diff(asked.indptr).min()))
        found = rule.search.nearest(k, asked)
        found = found._replace(indices=self._numbered(found.indices))
        return exact_certificate(found, queries, data, self.effective_metric_, self.effective_metric_params_)

    def _cheap(self, data: Rows) -> list[Certificate]:
        """What every fit is certified by."""
        k = max(1, min(int(self._default_count() or 1), self._n_kept))
        return [self._exact(data, FEW, k)]

    def _measured(self, data: Rows, target: Any = None) -> list[Certificate]:
        """The certificates of the search, measured on the data of the fit."""
        n_rows = data.shape[0]
        if n_rows != self.n_samples_fit_:
            raise ValueError(
                f"certify takes the rows of the fit: {self.n_samples_fit_} of them. Got {n_rows}."
            )
        n_queries = int(np.clip(COMPARED // n_rows, 16, 512))
        k = max(1, min(int(self._default_count() or 1), self._n_kept))
        kept = Kept(self._fit_X, target, self._weight, self._kept)
        return [self._exact(data, n_queries, k), kept_certificate(kept, data, self._is_precomputed)]


def rows_of(X: Any) -> int:
    """Number of rows of queries."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def gathered(data: Rows) -> tuple[NDArray | None, NDArray | None]:
    """Targets and weights of rows outside memory."""
    parts = data.reduce(_sides, combine=_chained)
    return tuple(  # type: ignore[return-value]
        None if side[0] is None else np.concatenate(side) for side in zip(*parts, strict=True)
    )


def _sides(block: Block) -> list[tuple[NDArray | None, NDArray | None]]:
    return [(block.y, block.weight)]


def _chained(left: list[Any], right: list[Any]) -> list[Any]:
    return [*left, *right]
