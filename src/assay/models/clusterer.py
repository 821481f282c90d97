"""What clusterers share: fitting and certifying, labels, and the rows of those that compare all pairs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.callback import with_callbacks

from assay.base import Model
from assay.certificates import Certificate, Certificates
from assay.distances import check_dissimilarity, check_range
from assay.models.capabilities import PairwiseModel, require_memory
from assay.rows import MemoryRows


class Clusterer(ClusterMixin, Model):
    """Base of clusterers with `labels_`.

    A subclass fits in `_fit`, opening its data with `_open_fit`, and measures in `_certify`. `_instead` names
    what to take for rows outside memory; None means that the method walks them.
    """

    _instead: ClassVar[str | None] = None
    labels_: NDArray

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, memory map, Arrow dataset or table, Dask array or dataframe
            The rows; in memory for methods that compare pairs of rows, which take the square matrix of the
            pairs where it is "precomputed". CSR for methods that take sparse rows.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,) or column name, optional
            Weights; a weight of 2 means that the row counts twice, 0 that it is absent.

        Returns
        -------
        self : object
        """
        self._fit(X, sample_weight)
        return self

    def _fit(self, X: Any, sample_weight: Any) -> None:
        raise NotImplementedError

    def fit_predict(self, X: Any, y: Any = None, **fit_parameters: Any) -> Any:
        """Find the clusters and return `labels_`."""
        return self.fit(X, **fit_parameters).labels_

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit, expensive ones included.

        Parameters
        ----------
        X, sample_weight
            The data that the model was fitted on.
        y : None
            Ignored.

        Returns
        -------
        certificates : Certificates
            From the fitted attributes and the data alone.
        """
        return Certificates(self._certify(self._open_rows_of_fit(X, sample_weight)))

    def _certify(self, data: Any) -> Iterable[Certificate]:
        raise NotImplementedError

    def _open_fit(self, X: Any, sample_weight: Any = None) -> Any:
        """The rows of a fit; refused outside memory by methods of pairs."""
        if self._instead is not None:
            self._require_memory(X, instead=self._instead)
        return self._open_rows(X, None, sample_weight)

    def _require_memory(self, X: Any, *, instead: str) -> None:
        require_memory(self, X, instead=instead)

    def _open_rows_of_fit(self, X: Any, sample_weight: Any = None) -> Any:
        """The rows of the fit again; in memory, for a method of pairs to certify."""
        if self._instead is not None:
            self._require_memory(X, instead="certify on a sample of them")
        data = self._open_new_rows(X, None, sample_weight)
        if data.local:
            self._require_rows_of_fit(data.shape[0])
        return data

    def _require_rows_of_fit(self, n_rows: int) -> None:
        if n_rows != len(self.labels_):
            raise ValueError(
                f"X has {n_rows} rows but the model was fitted on {len(self.labels_)}; "
                "certify takes the rows of the fit."
            )


class PairwiseClusterer(PairwiseModel, Clusterer):
    """Base of clusterers that compare all pairs of rows, or are given their dissimilarities.

    A subclass has a parameter `metric`; with "precomputed", `X` is the square matrix of dissimilarities.
    """

    metric: Any

    def predict(self, X: Any) -> Any:
        """Cluster of each row, by the rule that the class describes.

        Parameters
        ----------
        X : array, frame, path, memory map, Arrow dataset or table, Dask array or dataframe
            The rows; where pairs are "precomputed", theirs with the rows of the fit.

        Returns
        -------
        labels : array of int32 of shape (n_samples,)
            −1 for a row of no cluster; lazy for Dask input.
        """
        return self._predicted(self._open_new_rows(X))

    def _predicted(self, data: Any) -> Any:
        raise NotImplementedError

    def _pairs_or_rows(self, data: MemoryRows) -> NDArray:
        """The rows, or their dissimilarities, checked."""
        if self._is_precomputed:
            return check_dissimilarity(data.X, type(self).__name__)
        check_range(data.X, self.metric)
        return data.X


class UnweightedFit:
    """Makes `fit` of a clusterer one without weights."""

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n_samples, n_features)
            The rows, in memory; the square matrix of their pairs where that is "precomputed". CSR for methods
            that take sparse rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        self._fit(X, None)  # type: ignore[attr-defined]
        return self


def numbered_by_appearance(labels: NDArray) -> NDArray:
    """The same partition with clusters numbered 0, 1, … in the order of their first rows; −1 stays −1."""
    inside = labels >= 0
    _, first, inverse = np.unique(labels[inside], return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int32)
    rank[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
    numbered = np.full(labels.shape, -1, dtype=np.int32)
    numbered[inside] = rank[inverse]
    return numbered
