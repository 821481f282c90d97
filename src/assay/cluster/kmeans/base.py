"""What clusterers around centres share: the nearest centre of new rows, distances, quantisation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances

from assay.base import IterativeModel
from assay.cluster.kmeans import seeding as _init
from assay.cluster.kmeans.centers import Centers, inspect, inspect_block, longest_row, place
from assay.cluster.kmeans.empty import count_distinct
from assay.models.clusterer import Clusterer
from assay.parameters import ParameterError
from assay.rows import Block, Rows


class CenterClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer, IterativeModel):
    """Base of clusterers that give a row to a centre; a subclass sets `cluster_centers_`."""

    n_clusters: int
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

    def _labels_of_fit(self, data: Rows) -> NDArray | None:
        """The labels of local rows, which must be the rows of the fit; None on a cluster."""
        if not data.local:
            return None
        self._require_rows_of_fit(data.shape[0])
        return np.array(self.labels_, dtype=np.int32)

    def _check_number_of_rows(self, data: Rows) -> None:
        n_rows = data.shape[0]
        if data.has_weight and n_rows >= self.n_clusters:
            n_rows = int(data.reduce(_count_rows))
        if n_rows < self.n_clusters:
            n_distinct = count_distinct(data, self.n_clusters)
            shown = "1 sample" if data.shape[0] == 1 else str(n_distinct)
            raise self._refuse("n_clusters", f"at most the number of distinct rows ({shown})")

    def _warn_of_empty_clusters(
        self, n_filled: int, why: str = "there are no more distinct rows. Take fewer clusters."
    ) -> None:
        warnings.warn(
            f"Only {n_filled} of the {self.n_clusters} clusters of {type(self).__name__} have rows: {why}",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _drawn_starts(
        self, init: Any, pool: _init.Pool, n_clusters: int, randoms: list[np.random.Generator]
    ) -> Iterator[NDArray]:
        """Initial centres from the rows of a pool, one start a generator; `init` is a name or a callable."""
        shape = (n_clusters, pool.data.shape[1])
        for random in randoms:
            if callable(init):
                state = np.random.RandomState(random.bit_generator)
                given = init(pool.data.X, n_clusters, random_state=state)
                yield self._check_centers(given, shape, pool.data.dtype)
            else:
                yield _init.INITS[init](pool, n_clusters, random)

    def _check_centers(self, given: Any, shape: tuple[int, int], dtype: Any) -> NDArray:
        centers = np.array(given, dtype=dtype)
        if centers.shape != shape or not np.isfinite(centers).all():
            got = f"shape {centers.shape}" if centers.shape != shape else "NaN or infinity"
            raise ParameterError(
                f"The 'init' parameter of {type(self).__name__} must give finite centres of shape "
                f"(n_clusters, n_features) = {shape}. Got {got} instead."
            )
        return centers


def labels_of(block: Block, centers: Centers) -> NDArray:
    """Nearest centres of the rows of a block."""
    labels = np.full(block.X.shape[0], -1, dtype=np.int32)
    inspect_block(block, centers, labels)
    return labels


def _count_rows(block: Block) -> int:
    assert block.weight is not None
    return int(np.count_nonzero(block.weight))


def _centers_of(labels: NDArray, centers: NDArray) -> NDArray:
    return centers[labels]


def _distances_of(block: Block, centers: NDArray) -> NDArray:
    if isinstance(block.X, np.ndarray):
        return cdist(block.X, centers)
    return euclidean_distances(block.X, centers)
