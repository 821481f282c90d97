"""Spectral co-clustering: the bipartite graph of a matrix cut by singular vectors, then k-means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, Certificates, at_least, at_most, equal
from assay.cluster.biclustering import base as tools
from assay.cluster.biclustering.base import Biclusterer, Singular, by_appearance
from assay.parameters import Domain
from assay.randomness import RandomState, generator


class SpectralModel(Biclusterer):
    """Base of biclusterers by singular vectors of a matrix that is not negative."""

    singular_values_: NDArray
    left_vectors_: NDArray
    right_vectors_: NDArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _open_positive(self, X: Any) -> Any:
        matrix = self._open_matrix(X).X
        values = matrix if isinstance(matrix, np.ndarray) else matrix.data
        if values.size and values.min() < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: entries must be at least 0, as "
                "counts or similarities are; take BlockBiclustering for signed matrices."
            )
        if not values.any():
            raise ValueError(f"{type(self).__name__} needs a matrix with an entry above 0. All are 0.")
        return matrix

    def _keep_vectors(self, vectors: Singular, dtype: Any) -> None:
        self.singular_values_ = vectors.values.astype(dtype)
        self.left_vectors_, self.right_vectors_ = vectors.left.astype(dtype), vectors.right.astype(dtype)

    def _kept_vectors(self) -> Singular:
        kept = self.left_vectors_, self.singular_values_, self.right_vectors_
        return Singular(*(np.asarray(item, dtype=np.float64) for item in kept))

    def _residual_certificate(self, matrix: Any, source: str) -> Certificate:
        rounding = float(np.finfo(self.singular_values_.dtype).eps)
        claim = "The kept vectors are orthonormal singular vectors of the normalised matrix."
        value = tools.singular_residual(matrix, self._kept_vectors())
        return at_most(claim, "singular residual", value, 1e-8 + 64.0 * rounding, source)


SOURCE = "Dhillon (2001); Wei §10.2.3"


class SpectralCoclustering(SpectralModel):
    """Rows and columns cut together out of the bipartite graph of a matrix.

    Minimises, in its relaxation, the normalised cut of the graph that joins row i to column j by x_ij,

        Σ_k cut(C_k, rest) / volume(C_k),        each C_k some rows and some columns,

    by the leading singular vectors of D_r^(−½) X D_c^(−½), the first (trivial) left out, and k-means of rows
    and columns in their coordinates.

    Assumes: entries ≥ 0, counts or weights, and that each cluster is some rows with some columns; the number
    of clusters is given.

    Certificates: singular vectors, the leading singular value 1, every row and column at its nearest mean,
    and the cut beside the lower bound k − Σ σ_i that holds for every partition into k clusters.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of biclusters k.
    n_init : int, default=10
        Restarts of k-means.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where k-means starts.

    Attributes
    ----------
    row_labels_, column_labels_ : arrays of int32 of shape (n_samples,) and (n_features,)
        Bicluster of each row and of each column.
    rows_, columns_ : arrays of bool of shape (n_clusters, n_samples) and (n_clusters, n_features)
        Members of each bicluster.
    singular_values_ : array of shape (at most n_clusters,)
        The largest of the normalised matrix.
    left_vectors_, right_vectors_ : arrays
        Their singular vectors, as columns.
    normalized_cut_ : float
        The cut of the partition vectors.
    cut_bound_ : float
        No partition into as many clusters cuts less.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import SpectralCoclustering
    >>> X = np.array([[4.0, 0.0, 4.0], [0.0, 3.0, 0.0], [4.0, 0.0, 4.0], [0.0, 3.0, 0.0]])
    >>> model = SpectralCoclustering(2, random_state=0).fit(X)
    >>> model.row_labels_, model.column_labels_
    (array([0, 1, 0, 1], dtype=int32), array([0, 1, 0], dtype=int32))
    >>> bool(np.isclose(model.normalized_cut_, 0.0))
    True

    References
    ----------
    Wei §10.2.3. Dhillon (2001), co-clustering by bipartite spectral graph partitioning.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_clusters": parameters.integer(at_least=1),
        "n_init": parameters.integer(at_least=1),
        "random_state": parameters.random_state,
    }

    def __init__(self, n_clusters: int = 3, *, n_init: int = 10, random_state: RandomState = None) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        matrix = self._open_positive(X)
        n_rows, n_columns = matrix.shape
        if self.n_clusters > n_rows + n_columns:
            raise self._refuse("n_clusters", f"at most the number of rows and columns ({n_rows + n_columns})")
        seeds = generator(self.random_state).integers(2**31, size=2)
        normal = tools.scaled(matrix)
        vectors = tools.leading_singular(normal.matrix, max(self.n_clusters, 2), int(seeds[0]))
        self._keep_vectors(vectors, matrix.dtype)
        labels, _ = tools.grouped(self._embedding(normal), self.n_clusters, self.n_init, int(seeds[1]))
        labels, _ = by_appearance(labels, self.n_clusters)
        self.row_labels_, self.column_labels_ = labels[:n_rows], labels[n_rows:]
        numbers = np.arange(self.n_clusters)[:, np.newaxis]
        self.rows_, self.columns_ = numbers == self.row_labels_, numbers == self.column_labels_
        self.normalized_cut_, n_filled = self._cut(matrix)
        values = self.singular_values_[:n_filled].astype(np.float64)
        self.cut_bound_ = float(n_filled - values.sum())
        self.certificates_ = self._measure(matrix, normal)

    def _certify(self, matrix: Any) -> Certificates:
        cut, n_filled = self._cut(matrix)
        bound = n_filled - float(self.singular_values_[:n_filled].astype(np.float64).sum())
        claim = "The reported cut and its bound are those of the labels and singular values."
        value = max(abs(self.normalized_cut_ - cut), abs(self.cut_bound_ - bound))
        quantity = "error of the reported cut and bound"
        reported = at_most(claim, quantity, value, 1e-9 * max(n_filled, 1), SOURCE)
        numbers = np.arange(self.n_clusters)[:, np.newaxis]
        marks = numbers == self.row_labels_, numbers == self.column_labels_
        members = tools.members_certificate(self, *marks, SOURCE)
        return Certificates([*self._measure(matrix, tools.scaled(matrix)), reported, members])

    def _embedding(self, normal: tools.ScaledMatrix) -> NDArray:
        """Coordinates of rows and columns: ⌈log2 k⌉ vectors after the trivial one."""
        vectors = self._kept_vectors()
        n_vectors = min(1 + int(np.ceil(np.log2(max(self.n_clusters, 2)))), len(vectors.values))
        use = slice(1, n_vectors) if n_vectors > 1 else slice(0, 1)
        weights = np.concatenate([normal.rows, normal.columns])
        return weights[:, np.newaxis] * np.vstack([vectors.left[:, use], vectors.right[:, use]])

    def _cut(self, matrix: Any) -> tuple[float, int]:
        """The normalised cut, and the number of clusters with a volume."""
        row_sums = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
        column_sums = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
        rows, columns = self.rows_.astype(np.float64), self.columns_.astype(np.float64)
        within = 2.0 * ((rows @ matrix) * columns).sum(axis=1)
        volumes = rows @ row_sums + columns @ column_sums
        filled = volumes > 0
        return float((1.0 - within[filled] / volumes[filled]).sum()), int(filled.sum())

    def _measure(self, matrix: Any, normal: tools.ScaledMatrix) -> Certificates:
        source = SOURCE
        rounding = float(np.finfo(self.singular_values_.dtype).eps)
        cut, n_filled = self._cut(matrix)
        values = self._kept_vectors().values
        labels = np.concatenate([self.row_labels_, self.column_labels_])
        proof, room = [self._residual_certificate(normal.matrix, source)], 1e-9 + 64.0 * rounding
        claim = "The largest singular value of the normalised matrix is 1."
        proof.append(equal(claim, "largest singular value", values[0], 1.0, source, tolerance=room))
        claim = "No partition into as many clusters has a smaller normalised cut than the bound."
        bound, room = n_filled - values[:n_filled].sum(), n_filled * room
        details: Any = {"trivial": 0.0, "tolerance": room, "informative": True}
        proof.append(at_least(claim, "normalised cut", cut, bound, source, **details))
        claim = "Every row and column is nearest to the mean of its own cluster."
        value = tools.assignment_excess(self._embedding(normal), labels)
        proof.append(at_most(claim, "assignment excess", value, 1e-10 + rounding, source))
        return Certificates(proof)
