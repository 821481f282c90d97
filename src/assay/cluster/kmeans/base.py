"""What clusterers around centres share: the nearest centre of new rows, distances, quantisation."""

from __future__ import annotations

from collections.abc import Iterator
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

    cluster_centers_: NDArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def predict(self, X: Any) -> Any:
        """Index of the nearest centre of each row, the lowest in case of ties.

        Returns
        -------
        labels : array of int32 of shape (n_samples,)
            Lazy for Dask input.
        """
        data = self._open_new_rows(X)
        return data.map(labels_of, self._placed(data), dtype=np.int32)

    def quantize(self, X: Any) -> Any:
        """The centre that stands for each row: q(x) = c_k, k = predict(x).

        Returns
        -------
        quantized : array of shape (n_samples, n_features)
            In the dtype of the centres; lazy for Dask input.
        """
        labels, centers = self.predict(X), self.cluster_centers_
        if isinstance(labels, np.ndarray):
            return centers[labels]
        return labels.map_blocks(
            _centers_of,
            centers,
            dtype=centers.dtype,
            new_axis=1,
            chunks=(labels.chunks[0], (centers.shape[1],)),
            meta=np.empty((0, 0), dtype=centers.dtype),
        )

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

    def _drawn_starts(
        self, init: Any, pool: _init.Pool, n_clusters: int, randoms: list[np.random.Generator]
    ) -> Iterator[NDArray]:
        """Initial centres from the rows of a pool, one for each generator; `init` is a name or callable."""
        shape = (n_clusters, pool.data.shape[1])
        for random in randoms:
            if callable(init):
                state = np.random.RandomState(random.bit_generator)
                given = init(pool.data.X, n_clusters, random_state=state)
                yield self._given_centers(given, shape, pool.data.dtype)
            else:
                yield _init.INITS[init](pool, n_clusters, random)


def labels_of(block: Block, centers: Centers) -> NDArray:
    """Nearest centres of the rows of a block."""
    labels = np.full(block.X.shape[0], -1, dtype=np.int32)
    inspect_block(block, centers, labels)
    return labels


def _centers_of(labels: NDArray, centers: NDArray) -> NDArray:
    return centers[labels]


def _distances_of(block: Block, centers: NDArray) -> NDArray:
    if isinstance(block.X, np.ndarray):
        return cdist(block.X, centers)
    return euclidean_distances(block.X, centers)
