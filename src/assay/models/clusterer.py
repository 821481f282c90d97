"""What clusterers share: labels of a fit, and the rows of those that compare all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin

from assay.base import Model
from assay.models.capabilities import PairwiseModel, require_memory


class Clusterer(ClusterMixin, Model):
    """Base of clusterers with `labels_`."""

    labels_: NDArray

    def fit_predict(self, X: Any, y: Any = None, **fit_parameters: Any) -> Any:
        """Find the clusters and return `labels_`."""
        return self.fit(X, **fit_parameters).labels_

    def _require_memory(self, X: Any, *, instead: str) -> None:
        require_memory(self, X, instead=instead)

    def _open_rows_of_fit(self, X: Any, sample_weight: Any = None) -> Any:
        """The rows of the fit again, in memory, for a method of pairs to certify."""
        self._require_memory(X, instead="certify on a sample of them")
        data = self._open_new_rows(X, None, sample_weight)
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


def numbered_by_appearance(labels: NDArray) -> NDArray:
    """The same partition with clusters numbered 0, 1, … in the order of their first rows; −1 stays −1."""
    inside = labels >= 0
    _, first, inverse = np.unique(labels[inside], return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int32)
    rank[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
    numbered = np.full(labels.shape, -1, dtype=np.int32)
    numbered[inside] = rank[inverse]
    return numbered
