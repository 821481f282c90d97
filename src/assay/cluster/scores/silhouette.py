"""Silhouettes: how much nearer each row is to its own cluster than to the next one."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from assay import parameters
from assay.cluster.scores.labels import Coded, code_labels, require_clusters
from assay.distances import Metric, check_dissimilarity, distance_matrix, metric_domain
from assay.kernels.tiles import distance_tiles
from assay.loops import compiled
from assay.rows import check_weights, is_external, ordered_map


@compiled
def fill_squares(rows, columns, tile):  # type: ignore[no-untyped-def]
    """Write ‖x_i − z_j‖² into the tile, by differences: nothing cancels.

    `columns` holds one feature per line, so that the inner loop is contiguous; four features are taken at a
    time, so that the tile is read and written a quarter as often.
    """
    n_features, n_columns = columns.shape
    for i in range(rows.shape[0]):
        for j in range(n_columns):
            tile[i, j] = 0.0
        for f in range(0, n_features - 3, 4):
            x_0, x_1, x_2, x_3 = rows[i, f], rows[i, f + 1], rows[i, f + 2], rows[i, f + 3]
            for j in range(n_columns):
                d_0 = columns[f, j] - x_0
                d_1 = columns[f + 1, j] - x_1
                d_2 = columns[f + 2, j] - x_2
                d_3 = columns[f + 3, j] - x_3
                tile[i, j] += (d_0 * d_0 + d_1 * d_1) + (d_2 * d_2 + d_3 * d_3)
        for f in range(n_features - n_features % 4, n_features):
            x_0 = rows[i, f]
            for j in range(n_columns):
                d_0 = columns[f, j] - x_0
                tile[i, j] += d_0 * d_0


@compiled
def add_by_cluster(tile, root, row_weight, weight, first, bounds, sums, column_sums):  # type: ignore[no-untyped-def]
    """Add the weighted entries of a tile (their square roots with `root`) to the sums of their clusters.

    Column j of the tile is row `first + j` of the table, which is sorted by cluster: cluster c owns the rows
    from `bounds[c]` to `bounds[c + 1]`. Where `column_sums` has room, the entries times `row_weight` are
    added up by columns too: the other half of a symmetric matrix.
    """
    last = first + tile.shape[1]
    begin = np.searchsorted(bounds, first, side="right") - 1
    both = column_sums.shape[0] > 0
    for i in range(tile.shape[0]):
        if root:
            for j in range(tile.shape[1]):
                tile[i, j] = np.sqrt(tile[i, j])
        if both:
            w = row_weight[i]
            for j in range(tile.shape[1]):
                column_sums[j] += w * tile[i, j]
        c = begin
        while c < sums.shape[1] and bounds[c] < last:
            low, high = max(bounds[c], first) - first, min(bounds[c + 1], last) - first
            total = 0.0
            for j in range(low, high):
                total += weight[first + j] * tile[i, j]
            sums[i, c] += total
            c += 1


if TYPE_CHECKING:
    import pandas

TILE_ROWS, TILE_COLUMNS = 128, 512
FEW_FEATURES = 6  # up to here differences cost less than inner products
FEW_CLUSTERS = 32
SMALL = 2**17  # pairs below which a thread pool costs more than it gives

Fill = Callable[[slice, slice, NDArray], None]


@dataclass(frozen=True, eq=False, repr=False)
class Silhouette:
    """Silhouette values of a partition; see `silhouette`.

    Attributes
    ----------
    values : array of shape (n_samples,)
        s_i in [−1, 1]; NaN for rows left out: noise (label −1) and rows of weight 0.
    labels : array of int of shape (n_samples,)
        Place of each row's cluster in `clusters`; −1 for rows left out.
    neighbors : array of int of shape (n_samples,)
        Place of the nearest other cluster; −1 for rows left out.
    clusters : array of shape (n_clusters,)
        The labels, sorted.
    cluster_means : array of shape (n_clusters,)
        Mean silhouette of each cluster.
    cluster_weights : array of shape (n_clusters,)
        Rows, or weight, of each cluster.
    mean : float
        The silhouette coefficient of the partition.
    n_left_out : int
        Rows left out.
    metric : str or callable
    """

    values: NDArray
    labels: NDArray[np.int64]
    neighbors: NDArray[np.int64]
    clusters: NDArray
    cluster_means: NDArray
    cluster_weights: NDArray
    mean: float
    n_left_out: int
    metric: Metric

    @property
    def below_average(self) -> NDArray:
        """Clusters none of whose rows reaches the mean of all: a sign of too many or too few clusters."""
        largest = [np.nanmax(self.values[self.labels == place]) for place in range(len(self.clusters))]
        return self.clusters[np.array(largest) < self.mean]

    @property
    def n_misplaced(self) -> int:
        """Rows with a negative value: nearer, on average, to another cluster than to their own."""
        return int(np.count_nonzero(self.values < 0))

    def to_frame(self) -> pandas.DataFrame:
        """One line per cluster: label, weight, mean, least and largest value, rows below 0."""
        import pandas as pd

        groups = [self.values[self.labels == place] for place in range(len(self.clusters))]
        return pd.DataFrame(
            {
                "cluster": self.clusters,
                "weight": self.cluster_weights,
                "mean": self.cluster_means,
                "least": [group.min() for group in groups],
                "largest": [group.max() for group in groups],
                "below_zero": [int(np.count_nonzero(group < 0)) for group in groups],
            }
        )

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the sorted values, cluster by cluster; see `assay.display.plot_silhouette`."""
        return importlib.import_module("assay.display").plot_silhouette(self, ax=ax)

    def __repr__(self) -> str:
        table = zip(self.clusters, self.cluster_weights, self.cluster_means, strict=True)
        lines = [f"  {cluster!s:>10}  {weight:>10g}  {mean:>7.4f}" for cluster, weight, mean in table]
        left = f", {self.n_left_out} rows left out" if self.n_left_out else ""
        head = f"Silhouette(mean={self.mean:.4f}, {len(self.clusters)} clusters{left})"
        return "\n".join([head, f"  {'cluster':>10}  {'weight':>10}  {'mean':>7}", *lines])


def silhouette(X: Any, labels: Any, *, metric: Metric = "euclidean", sample_weight: Any = None) -> Silhouette:
    """Silhouette of each row, of each cluster and of a whole partition.

    With a_i the mean distance of row i to the other rows of its cluster (their number less one) and b_i the
    smallest, over the other clusters, of its mean distances to their rows,

        s_i = (b_i − a_i) / max(a_i, b_i) ∈ [−1, 1],        s_i = 0 for a row alone in its cluster.

    Distances are made tile by tile on threads and summed by cluster at once: the time grows with the square
    of the number of rows, the memory only with their number. Noise (label −1) is left out, as if those rows
    were not there: the score of a method that leaves many rows out is not comparable with one that leaves
    none. Silhouettes favour convex clusters: they do not judge between k-means and a density method.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The rows; with metric="precomputed", their dissimilarities, of shape (n_samples, n_samples).
    labels : array of shape (n_samples,)
        Cluster of each row, at least two different; −1 is noise.
    metric : str or callable, default="euclidean"
        A symmetric one, as in `assay.distances.distance_matrix`, or "precomputed".
    sample_weight : array of shape (n_samples,), optional
        A weight of 2 means that the row counts twice, 0 that it is absent.

    Returns
    -------
    silhouette : Silhouette

    Examples
    --------
    >>> from assay.cluster import silhouette
    >>> silhouette([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    Silhouette(mean=0.8997, 2 clusters)
         cluster      weight     mean
               0           2   0.8997
               1           2   0.8997

    References
    ----------
    Sangnier §2.5.2. Rousseeuw (1987).
    """
    parameters.check("silhouette", {"metric": metric}, {"metric": metric_domain()})
    if is_external(X):
        raise ValueError(
            "silhouette compares all pairs of rows and needs them in memory: take calinski_harabasz or "
            "davies_bouldin, which walk rows on disk or on a cluster, or give it a sample of the rows."
        )
    table = _open(X, metric)
    n_rows = table.shape[0]
    weight = check_weights(sample_weight, n_rows, np.float64)
    coded = _present(code_labels("silhouette", labels, n_rows), weight)
    require_clusters("silhouette", coded, 2)
    order = np.argsort(coded.codes, kind="stable")[np.count_nonzero(coded.codes < 0) :]
    counted = np.ones(order.size) if weight is None else weight[order]
    of_rows, neighbors = _values(table, metric, order, coded.codes[order], counted)
    values, nearest = np.full(n_rows, np.nan), np.full(n_rows, -1, dtype=np.int64)
    values[order], nearest[order] = of_rows, neighbors
    cluster_weights = np.bincount(coded.codes[order], weights=counted)
    return Silhouette(
        values=values,
        labels=coded.codes,
        neighbors=nearest,
        clusters=coded.clusters,
        cluster_means=np.bincount(coded.codes[order], weights=counted * of_rows) / cluster_weights,
        cluster_weights=cluster_weights,
        mean=float(counted @ of_rows / counted.sum()),
        n_left_out=n_rows - order.size,
        metric=metric,
    )


def _present(coded: Coded, weight: NDArray | None) -> Coded:
    """The clusters with rows of positive weight; other rows are noise."""
    codes = coded.codes if weight is None else np.where(weight > 0, coded.codes, -1)
    present = np.unique(codes[codes >= 0])
    return Coded(np.where(codes >= 0, np.searchsorted(present, codes), -1), coded.clusters[present])


def _open(X: Any, metric: Metric) -> Any:
    """The rows, or their dissimilarities, checked."""
    floats = [np.float64, np.float32]
    if isinstance(metric, str) and metric == "precomputed":
        return check_dissimilarity(check_array(X, dtype=floats), "silhouette")
    euclidean = metric in ("euclidean", "l2", "sqeuclidean")
    return check_array(X, accept_sparse="csr" if euclidean else False, dtype=floats)


def _values(
    table: Any, metric: Metric, order: NDArray, codes: NDArray, weight: NDArray
) -> tuple[NDArray, NDArray]:
    """Silhouettes and neighbours of the rows `order`, which are sorted by cluster."""
    fill, root = _filler(table, metric, order)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    cluster_weights = np.bincount(codes, weights=weight)
    n_rows, n_clusters, dtype = order.size, len(cluster_weights), table.dtype
    column_weight = weight.astype(dtype)
    # The sums of a few clusters are kept for all rows, so that each pair of rows is compared only once.
    both = n_clusters <= FEW_CLUSTERS
    none, total = np.empty(0), np.zeros((n_rows, n_clusters) if both else (0, 0))

    def of_rows(rows: slice) -> tuple[NDArray, NDArray]:
        sums = np.zeros((rows.stop - rows.start, n_clusters))
        column_sums = np.zeros(n_rows - rows.stop if both else 0)
        height = rows.stop - rows.start
        room = np.empty(height * min(TILE_COLUMNS, n_rows), dtype=dtype)
        own, others = (rows.start, rows.stop) if both else (0, 0)
        for columns in itertools.chain(_slices(own, others), _slices(others, n_rows)):
            first, last = columns.start, columns.stop
            fill(rows, columns, part := room[: height * (last - first)].reshape(height, last - first))
            by_column = column_sums[first - others : last - others] if both and first >= others else none
            add_by_cluster(part, root, column_weight[rows], column_weight, first, bounds, sums, by_column)
        return (sums, column_sums) if both else _compare(sums, codes[rows], cluster_weights)

    ranges = itertools.pairwise(bounds.tolist()) if both else [(0, n_rows)]
    pieces = [piece for first, last in ranges for piece in _slices(first, last, TILE_ROWS)]
    parts = map(of_rows, pieces) if n_rows**2 <= SMALL else ordered_map(of_rows, pieces)
    if not both:
        values, neighbors = zip(*parts, strict=True)
        return np.concatenate(values), np.concatenate(neighbors)
    for rows, (sums, column_sums) in zip(pieces, parts, strict=True):
        total[rows] += sums
        total[rows.stop :, codes[rows.start]] += column_sums
    return _compare(total, codes, cluster_weights)


def _slices(start: int, stop: int, step: int = TILE_COLUMNS) -> Iterator[slice]:
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))


def _compare(sums: NDArray, codes: NDArray, cluster_weights: NDArray) -> tuple[NDArray, NDArray]:
    """(b − a)/max(a, b) from the summed distances of rows to every cluster."""
    rows = np.arange(len(codes))
    mates = cluster_weights[codes] - 1.0
    own = sums[rows, codes] / np.where(mates > 0, mates, 1.0)
    means = sums / cluster_weights
    means[rows, codes] = np.inf
    neighbors = means.argmin(axis=1)
    other = means[rows, neighbors]
    larger = np.maximum(own, other)
    values = np.divide(other - own, larger, out=np.zeros_like(own), where=(larger > 0) & (mates > 0))
    return values, neighbors


def _centred(X: Any) -> Any:
    """Sparse rows with their well-filled columns about the mean: the same distances, without lost digits.

    Distances of sparse rows are differences of products, which cancel far from 0. Only a column mostly
    filled can be far from 0 as a whole, and that one costs at most twice its memory.
    """
    filled = X.count_nonzero(axis=0) > X.shape[0] / 2
    if not filled.any():
        return X
    columns: Any = X.tocsc()
    dense = columns[:, np.flatnonzero(filled)].toarray()
    dense -= dense.mean(axis=0, dtype=np.float64).astype(X.dtype)
    rest = columns[:, np.flatnonzero(~filled)]
    return sparse.csr_array(sparse.hstack([rest, sparse.csc_array(dense)], format="csr"))


def _filler(table: Any, metric: Metric, order: NDArray) -> tuple[Fill, bool]:
    """The function that writes a tile of distances between sorted rows, and whether it leaves squares."""
    if isinstance(metric, str) and metric == "precomputed":

        def given(rows: slice, columns: slice, tile: NDArray) -> None:
            tile[...] = table[np.ix_(order[rows], order[columns])]

        return given, False
    chosen = table[order]
    X = _centred(chosen) if sparse.issparse(chosen) else chosen
    if metric not in ("euclidean", "l2", "sqeuclidean"):

        def other(rows: slice, columns: slice, tile: NDArray) -> None:
            tile[...] = distance_matrix(X[rows], X[columns], metric=metric)

        return other, False
    root = metric != "sqeuclidean"
    if sparse.issparse(X) or X.shape[1] > FEW_FEATURES:
        return distance_tiles(X, X), root
    by_feature = np.ascontiguousarray(X.T)

    def by_differences(rows: slice, columns: slice, tile: NDArray) -> None:
        fill_squares(X[rows], by_feature[:, columns], tile)

    return by_differences, root
