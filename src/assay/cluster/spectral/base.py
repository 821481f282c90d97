"""The graph of a spectral clustering: which rows are its vertices, and what joins them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.base import IterativeModel
from assay.cluster.kmeans.centers import count_distinct
from assay.cluster.spectral.affinity import ALL_PAIRS, Affinity, named_affinity
from assay.cluster.spectral.embedding import TWO_WAY
from assay.models.clusterer import PairwiseClusterer, UnweightedFit
from assay.rows import MemoryRows


class GraphClusterer(UnweightedFit, PairwiseClusterer, IterativeModel):
    """Base of clusterers that cut a graph of rows, or of landmarks among them."""

    n_clusters: int
    rounding: str
    affinity: Any
    n_neighbors: int | str
    eps: float | str
    gamma: float | str
    n_landmarks: int | None
    eigenvectors_: NDArray
    n_neighbors_: int | None
    eps_: float | None
    gamma_: float | None

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    @property
    def _is_precomputed(self) -> bool:
        return self._accepts_sparse or super()._is_precomputed

    @property
    def affinity_matrix_(self) -> Any:
        """The weights W."""
        weights = self.__dict__.get("_weights")
        if weights is None:
            raise AttributeError("SpectralClustering has no affinity_matrix_ before it is fitted.")
        if len(weights) == 1:
            return weights[0]
        return sparse.csr_array(weights, shape=(len(self.eigenvectors_), len(self.eigenvectors_)))

    def _affinity(self) -> Affinity:
        if callable(self.affinity):
            return Affinity("callable", self.metric, function=self.affinity)
        return named_affinity(self.affinity, self.metric, self.n_neighbors, self.eps, self.gamma)

    def _fitted_affinity(self) -> Affinity:
        return self._affinity()._replace(n_neighbors=self.n_neighbors_, eps=self.eps_, gamma=self.gamma_)

    def _check_rows(self, data: MemoryRows) -> None:
        n = data.shape[0]
        if n < 2:
            raise ValueError(
                "SpectralClustering needs at least 2 rows to make a graph. Got 1 sample instead."
            )
        if self._is_precomputed and n != data.shape[1]:
            raise ValueError(
                f"SpectralClustering needs a square matrix of pairs. Got shape {data.shape} instead."
            )
        if self.n_clusters > n:
            must_be = f"at most the number of distinct rows ({count_distinct(data, n)})"
            raise self._refuse("n_clusters", must_be)
        if self.rounding in TWO_WAY and self.n_clusters != 2:
            raise self._refuse("n_clusters", f"2 for rounding={self.rounding!r}, which cuts in two")
        affinity = self._affinity()
        if affinity.n_neighbors is not None and affinity.n_neighbors > n - 1:
            raise self._refuse("n_neighbors", f"at most the number of other rows ({n - 1})")
        if self.n_landmarks is not None and (self._is_precomputed or self.n_landmarks < self.n_clusters):
            raise self._refuse("n_landmarks", "None for precomputed pairs, else at least n_clusters")
        if affinity.is_full and min(n, self.n_landmarks or n) > ALL_PAIRS:
            raise ValueError(
                f"SpectralClustering with affinity={self.affinity!r} stores all pairs of {n:,} rows: "
                f"set n_landmarks to at most {ALL_PAIRS:,}, or take affinity='nearest_neighbors'."
            )

    def _draw_landmarks(self, X: Any, random: np.random.Generator) -> tuple[Any, Any]:
        if self.n_landmarks is None or self.n_landmarks >= X.shape[0]:
            return None, X
        chosen = np.sort(random.choice(X.shape[0], self.n_landmarks, replace=False))
        return chosen, np.ascontiguousarray(X[chosen])
