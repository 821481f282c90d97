"""What clusterers around centres share: the nearest centre of new rows, distances, quantisation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances

from assay.cluster.base import CentralClusterer
from assay.cluster.kmeans import seeding as _init
from assay.cluster.kmeans.centers import Centers, inspect, inspect_block, longest_row, place
from assay.rows import Block, Rows


class CenterClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CentralClusterer):
    """Base of clusterers that give a row to a centre; a subclass sets `cluster_centers_`."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def quantize(self, X: Any) -> Any:
        """The centre that stands for each row: q(x) = c_k, k = predict(x).

        Returns
        -------
        quantized : array of shape (n_samples, n_features)
            In the dtype of the centres; lazy for Dask input.
        """
        return self._quantized(self._open_new_rows(X))

    def transform(self, X: Any) -> Any:
        """Distances of each row to the centres.

        Returns
        -------
        distances : array of shape (n_samples, n_clusters)
            In the dtype of the rows; lazy for Dask input.
        """
        data = self._open_new_rows(X)
        centers = self.cluster_centers_
        return data.map(_distances_of, centers, dtype=data.dtype, width=len(centers))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the inertia of rows about their centres."""
        data = self._open_new_rows(X, None, sample_weight)
        return -inspect(data, self._placed(data)).inertia

    def _placed(self, data: Rows) -> Centers:
        """The fitted centres about their mean, or about 0 for sparse rows."""
        mean = self.cluster_centers_.mean(axis=0, dtype=np.float64)
        shift = np.zeros_like(mean) if data.is_sparse else mean
        return place(self.cluster_centers_, shift, longest_row(data))

    def _rule(self, data: Rows) -> tuple[Any, ...]:
        return labels_of, self._placed(data)

    @property
    def _is_given(self) -> bool:
        return not isinstance(self.init, str) and not callable(self.init)

    def _number_of_runs(self, auto: int) -> int:
        """Restarts; `auto` is the number for initial centres that vary much, where none is given."""
        if self._is_given:
            return 1
        varies = self.init == "random" or callable(self.init)
        return (auto if varies else 1) if self.n_init == "auto" else int(self.n_init)

    def _starts(
        self, pool: _init.Pool, n_clusters: int, randoms: Iterable[np.random.Generator]
    ) -> Iterator[NDArray]:
        """Initial centres, given or from the rows of a pool, one for each generator."""
        for random in randoms:
            if isinstance(self.init, str):
                yield _init.INITS[self.init](pool, n_clusters, random)
                continue
            given = self.init
            if callable(given):
                state = np.random.RandomState(random.bit_generator)
                given = given(pool.data.X, n_clusters, random_state=state)
            yield self._given_centers(given, (n_clusters, pool.data.shape[1]), pool.data.dtype)

    def _local_labels(self, data: Rows) -> NDArray | None:
        """Room for the labels of local rows; None on a cluster."""
        return np.full(data.shape[0], -1, dtype=np.int32) if data.local else None


def labels_of(block: Block, centers: Centers) -> NDArray:
    """Nearest centres of the rows of a block."""
    labels = np.full(block.X.shape[0], -1, dtype=np.int32)
    inspect_block(block, centers, labels)
    return labels


def _distances_of(block: Block, centers: NDArray) -> NDArray:
    if isinstance(block.X, np.ndarray):
        return cdist(block.X, centers)
    return euclidean_distances(block.X, centers)
