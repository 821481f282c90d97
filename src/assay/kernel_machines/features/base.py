"""What features of kernels share: blocks are mapped where they are walked."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.models.capabilities import Transformer
from assay.rows import Block, MappedRows, Rows


class KernelFeatures(Transformer):
    """Base of maps x ↦ φ(x) with ⟨φ(x), φ(z)⟩ near k(x, z); a subclass gives `_map`, a function of rows."""

    @property
    def _n_features_out(self) -> int:
        return int(self._map().width)

    @abstractmethod
    def _map(self) -> Any:
        """The fitted map as a pure function of rows, with its `width`; travels to threads and workers."""

    def transform(self, X: Any) -> Any:
        """The features of each row: an array, or a lazy Dask array for Dask input.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe

        Returns
        -------
        features : array of shape (n_samples, n_features_out)
        """
        data = self._open_new_rows(X)
        mapping = self._map()
        return data.map(features_of, mapping, dtype=data.dtype, width=mapping.width)

    def features(self, X: Any, y: Any = None, sample_weight: Any = None) -> Rows:
        """The features of each row as a table that is never in memory whole: for the fit of a linear model.

        Every walk of that fit makes the features of a block anew, from rows in memory, on disk or on a
        cluster. Target and weights are those of the rows.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name, optional
        sample_weight : array-like of shape (n_samples,) or column name, optional

        Returns
        -------
        features : Rows
            Handed in place of X, without y: ``LinearSVC().fit(model.features("rows.parquet", "label"))``.
        """
        data = self._open_new_rows(X, y, sample_weight, with_target=y is not None)
        mapping = self._map()
        return MappedRows(data, mapped_block, mapping, width=mapping.width)

    def _names(self, columns: list[str]) -> list[str]:
        prefix = type(self).__name__.lower()
        return [f"{prefix}{index}" for index in range(self._n_features_out)]


def features_of(block: Block, mapping: Any) -> NDArray:
    """The features of the rows of one block, in its precision."""
    return np.asarray(mapping(block.X)).astype(block.X.dtype, copy=False)


def mapped_block(block: Block, mapping: Any) -> Block:
    """A block with its features in place of its columns."""
    return block._replace(X=features_of(block, mapping))


def evenly_spaced(n_rows: int, most: int) -> NDArray[np.intp]:
    """At most `most` row numbers, evenly spaced over a table."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.intp))
