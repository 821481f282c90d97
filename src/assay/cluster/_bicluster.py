"""What biclusterers share: the whole matrix in memory, and biclusters as rows × columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BiclusterMixin

from assay import rows
from assay.base import Model
from assay.parameters import Domain
from assay.rows import MemoryRows


class Biclusterer(BiclusterMixin, Model):
    """Base of estimators that group rows and columns of a matrix together.

    `rows_` and `columns_` mark the members of each bicluster, as in scikit-learn; `get_indices`, `get_shape`
    and `get_submatrix` come from its mixin.
    """

    rows_: NDArray
    columns_: NDArray

    def _open_matrix(self, X: Any) -> MemoryRows:
        """The matrix of the fit, in memory."""
        if rows.is_external(X):
            self._check_parameters()
            raise ValueError(
                f"{type(self).__name__} groups pairs of rows and columns together and does not fit on rows "
                "outside memory: bring a sample of the rows into memory as an array."
            )
        data: Any = self._open_rows(X)
        return data

    def _reopen_matrix(self, X: Any) -> Any:
        """The matrix that the model was fitted on, for `certify`."""
        data: Any = self._open_new_rows(X)
        if data.shape[0] != self.rows_.shape[1]:
            raise ValueError(
                f"X has {data.shape[0]} rows but the model was fitted on {self.rows_.shape[1]}; "
                "certify takes the matrix of the fit."
            )
        return data.X

    def _require_clusters(self, shape: tuple[int, int], n_row_clusters: int, n_column_clusters: int) -> None:
        """Refuse more clusters than there are rows or columns."""
        if n_row_clusters > shape[0]:
            raise self._refuse("n_clusters", f"at most the number of rows for rows (n_samples={shape[0]})")
        if n_column_clusters > shape[1]:
            raise self._refuse(
                "n_clusters", f"at most the number of columns for columns (n_features={shape[1]})"
            )


def _is_pair(value: Any) -> bool:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return bool(value >= 1)
    return (
        isinstance(value, (tuple, list))
        and len(value) == 2
        and all(
            isinstance(item, (int, np.integer)) and not isinstance(item, bool) and item >= 1 for item in value
        )
    )


numbers_of_clusters = Domain("an int at least 1, or a pair of them (row clusters, column clusters)", _is_pair)


def pair_of(n_clusters: Any) -> tuple[int, int]:
    """Numbers of row and of column clusters."""
    if isinstance(n_clusters, (tuple, list)):
        return int(n_clusters[0]), int(n_clusters[1])
    return int(n_clusters), int(n_clusters)


def checkerboard(
    row_labels: NDArray, column_labels: NDArray, n_row: int, n_column: int
) -> tuple[NDArray, NDArray]:
    """Members of each block of a checkerboard, row clusters first, in scikit-learn's order."""
    rows_of = np.arange(n_row)[:, np.newaxis] == row_labels
    columns_of = np.arange(n_column)[:, np.newaxis] == column_labels
    return np.repeat(rows_of, n_column, axis=0), np.tile(columns_of, (n_row, 1))


def by_appearance(labels: NDArray, n_clusters: int) -> tuple[NDArray, NDArray]:
    """Labels numbered by first members, and the old numbers in the new order; empty clusters come last."""
    seen, first = np.unique(labels, return_index=True)
    order = np.concatenate([seen[np.argsort(first)], np.setdiff1d(np.arange(n_clusters), seen)])
    rank = np.empty(n_clusters, dtype=np.int32)
    rank[order] = np.arange(n_clusters, dtype=np.int32)
    return rank[labels], order
