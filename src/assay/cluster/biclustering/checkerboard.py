"""Spectral biclustering: a checkerboard from the singular vectors of a normalised matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates, at_most
from assay.cluster.biclustering import base as tools
from assay.cluster.biclustering.base import by_appearance, pair_of
from assay.cluster.biclustering.coclustering import SpectralModel
from assay.parameters import Domain
from assay.randomness import RandomState, generator

SOURCE = "Kluger et al. (2003); Wei §10.2.3"


class SpectralBiclustering(SpectralModel):
    """Checkerboard of a matrix from the singular vectors of its normalised form.

    Finds row and column clusters on which the leading singular vectors of the normalised matrix are nearly
    constant: a checkerboard has exactly such vectors. The `n_best` of them that k-means of their entries fits
    best span the plane onto which rows and columns are projected; k-means of the projections gives labels.

    Assumes: a matrix that is a checkerboard up to the scales of its rows and columns, and noise; the numbers
    of clusters are given.

    Certificates: singular vectors, equal row and column sums ("bistochastic"), every projection at its
    nearest mean, and the checkerboard beside the bound that the singular values set for any of its size.

    Parameters
    ----------
    n_clusters : int or pair of ints, default=2
        Numbers of row and of column clusters; one int stands for both.
    method : {"bistochastic", "scale", "log"}, default="bistochastic"
        Normalisation: rows and columns scaled until all row sums and all column sums are equal; scaled once
        by the roots of the sums; or log(1 + x) without its row and column means.
    n_components : int, default=6
        Number of singular vectors looked at.
    n_best : int, default=3
        Number of those used, or all if there are fewer.
    n_init : int, default=10
        Restarts of k-means.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where k-means starts.

    Attributes
    ----------
    row_labels_, column_labels_ : arrays of int32 of shape (n_samples,) and (n_features,)
        Cluster of each row and of each column.
    rows_, columns_ : arrays of bool of shape (n_biclusters, n_samples) and (n_biclusters, n_features)
        Members of each block, row clusters first.
    singular_values_ : array of shape (at most n_components + 1,)
        Of the normalised matrix; the first is trivial unless method="log".
    left_vectors_, right_vectors_ : arrays
        Their singular vectors, as columns.
    best_left_, best_right_ : arrays of int64
        Columns of those that were used.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import SpectralBiclustering
    >>> X = np.array([[9.0, 1.0, 9.0, 1.0], [2.0, 5.0, 2.0, 5.0], [9.0, 1.0, 9.0, 1.0]])
    >>> model = SpectralBiclustering(2, random_state=0).fit(X)
    >>> model.row_labels_, model.column_labels_
    (array([0, 1, 0], dtype=int32), array([0, 1, 0, 1], dtype=int32))

    References
    ----------
    Wei §10.2.3. Kluger, Basri, Chang & Gerstein (2003), spectral biclustering of microarray data.
    """

    _accepts_sparse: ClassVar[bool] = False
    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_clusters": tools.numbers_of_clusters,
        "method": parameters.one_of("bistochastic", "scale", "log"),
        "n_components": parameters.integer(at_least=1),
        "n_best": parameters.integer(at_least=1),
        "n_init": parameters.integer(at_least=1),
        "random_state": parameters.random_state,
    }

    def __init__(
        self,
        n_clusters: Any = 2,
        *,
        method: str = "bistochastic",
        n_components: int = 6,
        n_best: int = 3,
        n_init: int = 10,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.n_components = n_components
        self.n_best = n_best
        self.n_init = n_init
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        matrix = self._open_positive(X)
        shape = pair_of(self.n_clusters)
        self._require_clusters(matrix.shape, *shape)
        seeds = [int(seed) for seed in generator(self.random_state).integers(2**31, size=5)]
        normal, missed = self._normalised(matrix)
        vectors = tools.leading_singular(normal, self.n_components + self._n_trivial, seeds[0])
        self._keep_vectors(vectors, matrix.dtype)
        self.best_left_ = self._best(vectors.left, shape[0], seeds[1])
        self.best_right_ = self._best(vectors.right, shape[1], seeds[2])
        row_points, column_points = self._projections(matrix)
        self.row_labels_, self.column_labels_ = (
            by_appearance(tools.grouped(points, n_clusters, self.n_init, seed)[0], n_clusters)[0]
            for points, n_clusters, seed in zip((row_points, column_points), shape, seeds[3:], strict=True)
        )
        self.rows_, self.columns_ = tools.checkerboard(self.row_labels_, self.column_labels_, *shape)
        self.certificates_ = self._measure(matrix, normal, missed)

    def _certify(self, matrix: Any) -> Certificates:
        members = tools.checkerboard_certificate(self, SOURCE, pair_of(self.n_clusters))
        return Certificates([*self._measure(matrix, *self._normalised(matrix)), members])

    @property
    def _n_trivial(self) -> int:
        return 0 if self.method == "log" else 1

    def _normalised(self, matrix: NDArray) -> tuple[NDArray, float]:
        """The normalised matrix, and what its row and column sums still miss."""
        matrix = np.asarray(matrix, dtype=np.float64)
        if self.method == "bistochastic":
            return tools.bistochastic(matrix)
        if self.method == "scale":
            return tools.scaled(matrix).matrix, 0.0
        logs = np.log1p(
            matrix
        )  # minus its row, column and overall means, as in a two-way analysis of variance
        return logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=0) + logs.mean(), 0.0

    def _best(self, vectors: NDArray, n_clusters: int, seed: int) -> NDArray:
        """The vectors whose entries k-means fits best, the trivial one left out."""
        candidates = np.arange(min(self._n_trivial, vectors.shape[1] - 1), vectors.shape[1])
        inertias = [
            tools.grouped(vectors[:, [column]], n_clusters, self.n_init, seed)[1] for column in candidates
        ]
        return np.sort(candidates[np.argsort(inertias, kind="stable")[: self.n_best]])

    def _projections(self, matrix: NDArray) -> tuple[NDArray, NDArray]:
        vectors, values = self._kept_vectors(), np.asarray(matrix, dtype=np.float64)
        return values @ vectors.right[:, self.best_right_], values.T @ vectors.left[:, self.best_left_]

    def _measure(self, matrix: NDArray, normal: NDArray, missed: float) -> Certificates:
        source = SOURCE
        rounding = float(np.finfo(self.singular_values_.dtype).eps)
        shape = pair_of(self.n_clusters)
        blocks = tools.block_values(normal, self.row_labels_, self.column_labels_, shape, 0.0)
        total = float((normal**2).sum()) or 1.0
        explained = float((blocks.counts * blocks.means**2).sum())
        kept = self._kept_vectors().values[: min(shape)]
        row_points, column_points = self._projections(matrix)
        excess = tools.assignment_excess(row_points, self.row_labels_)
        excess = max(excess, tools.assignment_excess(column_points, self.column_labels_))
        claim = "Every projected row and column is nearest to the mean of its own cluster."
        proof = [at_most(claim, "assignment excess", excess, 1e-10 + 16.0 * rounding, source)]
        proof.insert(0, self._residual_certificate(normal, source))
        if len(kept) == min(shape):
            claim = "The checkerboard explains no more of the normalised matrix than singular values allow."
            value, bound, room = explained / total, float((kept**2).sum()) / total, 1e-9 + 64.0 * rounding
            quantity, both = "share that the checkerboard explains", "Eckart & Young; " + source
            details: Any = {"trivial": 1.0, "tolerance": room, "informative": True}
            proof.append(at_most(claim, quantity, value, bound, both, **details))
        if self.method == "bistochastic":
            claim = "All row sums of the normalised matrix are equal, and all column sums."
            proof.append(at_most(claim, "largest relative deviation of a sum", missed, 1e-6, source))
        return Certificates(proof)
