"""What biclusterers share: the whole matrix in memory, and biclusters as rows × columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import svd
from scipy.sparse.linalg import svds
from sklearn.base import BiclusterMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from assay import rows
from assay.base import Model
from assay.certificates import Certificate, Certificates, at_most
from assay.cluster.kmeans.estimator import KMeans
from assay.parameters import Domain, integer
from assay.rows import MemoryRows


class Biclusterer(BiclusterMixin, Model):
    """Base of estimators that group rows and columns of a matrix together.

    `rows_` and `columns_` mark the members of each bicluster, as in scikit-learn; `get_indices`, `get_shape`
    and `get_submatrix` come from its mixin.
    """

    rows_: NDArray
    columns_: NDArray

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the biclusters.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The matrix, in memory; CSR for methods that take it, entries at least 0 for spectral ones.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        self._fit(X)
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the matrix of the fit, expensive ones included.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The matrix that the model was fitted on.
        y, sample_weight : None
            Ignored.

        Returns
        -------
        certificates : Certificates
            From the fitted attributes and the matrix alone.
        """
        return Certificates(self._certify(self._reopen_matrix(X)))

    def _fit(self, X: Any) -> None:
        raise NotImplementedError

    def _certify(self, matrix: Any) -> Iterable[Certificate]:
        raise NotImplementedError

    def _open_matrix(self, X: Any) -> MemoryRows:
        """The matrix of the fit, in memory."""
        self._refuse_external(X)
        data: Any = self._open_rows(X)
        check_entries(data.X, type(self).__name__)
        return data

    def _reopen_matrix(self, X: Any) -> Any:
        """The matrix that the model was fitted on, for `certify`."""
        self._refuse_external(X)
        data: Any = self._open_new_rows(X)
        if data.shape[0] != self.rows_.shape[1]:
            raise ValueError(
                f"X has {data.shape[0]} rows but the model was fitted on {self.rows_.shape[1]}; "
                "certify takes the matrix of the fit."
            )
        return data.X

    def _refuse_external(self, X: Any) -> None:
        if rows.is_external(X):
            self._check_parameters()
            raise ValueError(
                f"{type(self).__name__} groups pairs of rows and columns together and does not fit on rows "
                "outside memory: bring a sample of the rows into memory as an array."
            )

    def _require_clusters(self, shape: tuple[int, int], n_row_clusters: int, n_column_clusters: int) -> None:
        """Refuse more clusters than there are rows or columns."""
        if n_row_clusters > shape[0]:
            raise self._refuse("n_clusters", f"at most the number of rows for rows (n_samples={shape[0]})")
        if n_column_clusters > shape[1]:
            must_be = f"at most the number of columns for columns (n_features={shape[1]})"
            raise self._refuse("n_clusters", must_be)


def check_entries(matrix: Any, owner: str) -> None:
    """Refuse a matrix whose sum of squares overflows or vanishes, or whose norm its dtype cannot hold."""
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    limits, wide = np.finfo(matrix.dtype), np.finfo(np.float64)
    root = float(np.sqrt(max(values.size, 1)))
    most = min(float(np.sqrt(wide.max)) / 2.0**12, float(limits.max) / 4.0) / root
    least = max(float(np.sqrt(wide.tiny)) * 2.0**12, float(limits.tiny) / float(limits.eps))
    if largest > most or 0.0 < largest < least:
        verb = "overflow" if largest > most else "vanish or lose their digits"
        raise ValueError(
            f"Sums of squares of entries of size {largest:.3g} {verb} in {owner}. "
            "Divide the matrix by one number, e.g. its largest entry."
        )


def _is_pair(value: Any) -> bool:
    pair = value if isinstance(value, (tuple, list)) else (value, value)
    return len(pair) == 2 and all(integer(at_least=1).contains(item) for item in pair)


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


def members_certificate(model: Any, rows: NDArray, columns: NDArray, source: str) -> Certificate:
    """The marks of the members of each bicluster are these."""
    sides = (model.rows_, rows), (model.columns_, columns)
    fits = all(stored.shape == fresh.shape for stored, fresh in sides)
    n_wrong = sum(int((stored != fresh).sum()) for stored, fresh in sides) if fits else np.inf
    claim = "rows_ and columns_ mark the members of each bicluster."
    return at_most(claim, "wrong marks in rows_ and columns_", n_wrong, 0.0, source)


def checkerboard_certificate(model: Any, source: str, shape: tuple[int, int] | None = None) -> Certificate:
    """The marks are those of a checkerboard of the row and the column labels."""
    labels = model.row_labels_, model.column_labels_
    if shape is None:
        shape = int(labels[0].max()) + 1, int(labels[1].max()) + 1
    if max(shape) > max(map(len, labels)):
        raise ValueError("There are labels beyond the number of rows or columns; the fit was changed.")
    return members_certificate(model, *checkerboard(*labels, *shape), source)


def by_appearance(labels: NDArray, n_clusters: int) -> tuple[NDArray, NDArray]:
    """Labels numbered by first members, and the old numbers in the new order; empty clusters come last."""
    seen, first = np.unique(labels, return_index=True)
    order = np.concatenate([seen[np.argsort(first)], np.setdiff1d(np.arange(n_clusters), seen)])
    rank = np.empty(n_clusters, dtype=np.int32)
    rank[order] = np.arange(n_clusters, dtype=np.int32)
    return rank[labels], order


DENSE_SIDE = 400
"""Matrices with a shorter side up to this, or of few times the wanted rank, are decomposed whole."""

SUMS_TOLERANCE, MAX_SCALINGS = 1e-8, 2000


class ScaledMatrix(NamedTuple):
    """D_r^(-1/2) X D_c^(-1/2) and the two diagonals (0 where a row or column sums to 0)."""

    matrix: Any
    rows: NDArray
    columns: NDArray


class Singular(NamedTuple):
    """Leading singular values, in falling order, and vectors as columns."""

    left: NDArray
    values: NDArray
    right: NDArray


def scaled(X: Any) -> ScaledMatrix:
    """Divide by the roots of the row sums and of the column sums."""
    rows = _inverse_root(np.asarray(X.sum(axis=1), dtype=np.float64).ravel())
    columns = _inverse_root(np.asarray(X.sum(axis=0), dtype=np.float64).ravel())
    if not isinstance(X, np.ndarray):
        return ScaledMatrix(sparse.diags_array(rows) @ X @ sparse.diags_array(columns), rows, columns)
    return ScaledMatrix(rows[:, np.newaxis] * X * columns, rows, columns)


def bistochastic(X: NDArray) -> tuple[NDArray, float]:
    """Scale rows and columns in turn until all rows have one sum and all columns another.

    Returns the matrix and the largest relative deviation of a sum that is left; rows and columns of zeros
    stay.
    """
    matrix, left = X, np.inf
    for _ in range(MAX_SCALINGS):
        matrix = scaled(matrix).matrix
        left = max(_deviation(matrix.sum(axis=1)), _deviation(matrix.sum(axis=0)))
        if left <= SUMS_TOLERANCE:
            break
    return matrix, left


def leading_singular(matrix: Any, n_vectors: int, seed: int) -> Singular:
    """The leading singular triplets; signs are fixed by the largest entry of each left vector."""
    side = min(matrix.shape)
    n_vectors = min(n_vectors, side)
    if side <= DENSE_SIDE or 3 * n_vectors > side:
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        left, values, right = svd(dense, full_matrices=False)
    else:
        start = np.random.default_rng(seed).uniform(-1, 1, size=side)
        left, values, right = svds(matrix, k=n_vectors, v0=start, tol=1e-12)
        order = np.argsort(-values)
        left, values, right = left[:, order], values[order], right[order]
    left, values, right = left[:, :n_vectors], values[:n_vectors], right[:n_vectors].T
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(n_vectors)])
    signs[signs == 0] = 1.0
    return Singular(left * signs, values, right * signs)


def singular_residual(matrix: Any, vectors: Singular) -> float:
    """Largest of ‖A v − σ u‖, ‖Aᵀ u − σ v‖ and of the departure from orthonormal vectors, in units of σ_1."""
    scale = float(vectors.values[0]) or 1.0
    forward = np.linalg.norm(matrix @ vectors.right - vectors.left * vectors.values, axis=0).max()
    backward = np.linalg.norm(matrix.T @ vectors.left - vectors.right * vectors.values, axis=0).max()
    identity = np.eye(len(vectors.values))
    crossed = max(np.abs(side.T @ side - identity).max() for side in (vectors.left, vectors.right))
    return float(max(forward / scale, backward / scale, crossed))


def grouped(
    points: NDArray, n_clusters: int, n_init: int | str, seed: int, *, tol: float = 0.0
) -> tuple[NDArray, float]:
    """k-means labels of points, iterated to the end, and the inertia."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points: clusters stay empty
        model = KMeans(n_clusters, n_init=n_init, tol=tol, random_state=seed)
        model.fit(np.ascontiguousarray(points))
    return np.asarray(model.labels_), float(model.inertia_)


def assignment_excess(points: NDArray, labels: NDArray) -> float:
    """What points would gain, in squared distance over the scatter, in the cluster of the nearest mean."""
    used, inverse = np.unique(labels, return_inverse=True)
    means = np.array([points[labels == label].mean(axis=0) for label in used])
    squares = ((points[:, np.newaxis] - means) ** 2).sum(axis=2)
    scatter = float(((points - points.mean(axis=0)) ** 2).sum())
    excess = float((squares[np.arange(len(points)), inverse] - squares.min(axis=1)).sum())
    return excess / scatter if scatter > 0 else 0.0


def _inverse_root(sums: NDArray) -> NDArray:
    return np.asarray(np.where(sums > 0, 1.0 / np.sqrt(np.where(sums > 0, sums, 1.0)), 0.0))


def _deviation(sums: NDArray) -> float:
    filled = sums[sums > 0]
    return float(np.abs(filled / filled.mean() - 1.0).max(initial=0.0))


class BlockValues(NamedTuple):
    """Values of the blocks of a checkerboard, and the number of entries of each."""

    values: NDArray
    means: NDArray
    counts: NDArray


class BlockAlternation(NamedTuple):
    """Result of `alternate`: labels and block values at which no half-step improves."""

    row_labels: NDArray
    column_labels: NDArray
    values: NDArray
    trace: list[float]
    n_iter: int
    converged: bool


def alternate(
    X: NDArray,
    row_labels: NDArray,
    column_labels: NDArray,
    shape: tuple[int, int],
    penalty: float,
    max_iter: int,
    stop: Callable[..., bool],
) -> BlockAlternation:
    """Lower ½ Σ (x_ij − μ_{k(i) r(j)})² + λ Σ |μ_kr| until the labels stay.

    A row goes to the row cluster that fits it best, then a column to its best column cluster; after each the
    block values are block means, soft-thresholded at λ over the entries of the block. No half-step raises the
    objective.
    """
    total = float((X**2).sum())
    blocks = block_values(X, row_labels, column_labels, shape, penalty)
    trace = [objective_of(blocks, total, penalty)]
    n_iter, converged = 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        new_rows = best_labels(X, column_labels, blocks.values, row_labels)
        blocks = block_values(X, new_rows, column_labels, shape, penalty)
        trace.append(objective_of(blocks, total, penalty))
        new_columns = best_labels(X.T, new_rows, blocks.values.T, column_labels)
        blocks = block_values(X, new_rows, new_columns, shape, penalty)
        trace.append(objective_of(blocks, total, penalty))
        converged = bool((new_rows == row_labels).all() and (new_columns == column_labels).all())
        row_labels, column_labels = new_rows, new_columns
        if stop(row_labels, column_labels, blocks.values, n_iter):
            break
    return BlockAlternation(row_labels, column_labels, blocks.values, trace, n_iter, converged)


def block_values(
    X: NDArray, row_labels: NDArray, column_labels: NDArray, shape: tuple[int, int], penalty: float
) -> BlockValues:
    """Minimisers for given labels: soft(block mean, λ / entries of the block); 0 for empty blocks."""
    rows_of, columns_of = indicators(row_labels, shape[0]), indicators(column_labels, shape[1])
    counts = np.outer(rows_of.sum(axis=0), columns_of.sum(axis=0))
    means = rows_of.T @ X @ columns_of / np.maximum(counts, 1.0)
    size = np.maximum(np.abs(means) - penalty / np.maximum(counts, 1.0), 0.0)
    return BlockValues(np.where(counts > 0, np.sign(means) * size, 0.0), means, counts)


def objective_of(blocks: BlockValues, total: float, penalty: float) -> float:
    """½ Σ x² + Σ_kr n_kr (½ μ² − μ x̄) + λ Σ |μ|."""
    fit = blocks.counts * blocks.values * (0.5 * blocks.values - blocks.means)
    return 0.5 * total + float(fit.sum() + penalty * np.abs(blocks.values).sum())


def label_costs(X: NDArray, other_labels: NDArray, values: NDArray) -> NDArray:
    """½ Σ_j (x_ij − μ_{k r(j)})² − ½ Σ_j x_ij² of each row i in each cluster k."""
    others = indicators(other_labels, values.shape[1])
    return np.asarray(0.5 * (values**2) @ others.sum(axis=0) - (X @ others) @ values.T)


def best_labels(X: NDArray, other_labels: NDArray, values: NDArray, labels: NDArray) -> NDArray:
    """Cluster of least cost; a row stays where it is unless another is better by more than rounding."""
    costs = label_costs(X, other_labels, values)
    best = costs.argmin(axis=1)
    at = np.arange(len(X))
    room = 1e-12 * (np.abs(costs).max(axis=1) + 0.5 * (X**2).sum(axis=1))
    better = costs[at, best] < costs[at, labels] - room
    return np.where(better, best, labels)


def indicators(labels: NDArray, n_clusters: int) -> NDArray:
    """One column for each cluster, with 1 for its members."""
    return np.asarray((labels[:, np.newaxis] == np.arange(n_clusters)).astype(np.float64))
