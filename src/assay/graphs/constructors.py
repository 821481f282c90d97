"""Graphs of rows: who is a neighbour of whom, and how strongly.

Two decisions hold for all of them. A vertex keeps its loop, W_ii = s(x_i, x_i) = 1, unless `loops=False`:
loops do not change the Laplacian L = D − W, they change the degrees, hence the normalised Laplacians and
volumes, and they keep every degree positive. And the k nearest neighbours of a row are k other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay import distances
from assay.distances import Metric, Nearest, NeighborSearch, check_dissimilarity
from assay.graphs.laplacians import Weights, as_weights, degrees
from assay.graphs.measures import connected_components
from assay.parameters import refusal
from assay.rows import ordered_map

ROWS = 256  # rows of a dense matrix that one thread works on


def epsilon_graph(X: Any, eps: float, *, metric: Metric = "euclidean", loops: bool = True) -> Weights:
    """The ε-neighbourhood graph: W_iℓ = 1 where d(x_i, x_ℓ) ≤ ε, else 0.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows, or their dissimilarities with metric="precomputed".
    eps : float
        The radius ε, above 0.
    metric : str or function
    loops : bool
        Whether W_ii = 1.

    Returns
    -------
    W : csr_array of shape (n_samples, n_samples)

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import epsilon_graph
    >>> epsilon_graph(np.array([[0.0], [1.0], [5.0]]), 1.0).toarray()
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    if not np.isfinite(eps) or eps <= 0.0:
        raise refusal("epsilon_graph", "eps", "a finite number above 0", eps)
    return _finish(within(X, eps, metric), loops)


def nearest_neighbors_graph(
    X: Any,
    n_neighbors: int,
    *,
    mutual: bool = False,
    weight: str = "binary",
    sigma: float | None = None,
    metric: Metric = "euclidean",
    loops: bool = True,
) -> Weights:
    """The graph of nearest neighbours: rows are joined if one is among the k nearest of the other.

    Parameters
    ----------
    X, metric, loops
        As in `epsilon_graph`.
    n_neighbors : int
        Number k of neighbours, the row itself not counted; at most n_samples − 1.
    mutual : bool
        Join only rows that are both among the k nearest of the other.
    weight : {"binary", "gaussian"}
        Weight of an edge: 1, or exp(−d²/(2σ²)).
    sigma : float, optional
        σ of Gaussian weights; `suggest_sigma` by default.

    Returns
    -------
    W : csr_array of shape (n_samples, n_samples)

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import nearest_neighbors_graph
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> nearest_neighbors_graph(X, 1, loops=False).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    >>> nearest_neighbors_graph(X, 1, mutual=True, loops=False).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    if weight not in ("binary", "gaussian"):
        raise refusal("nearest_neighbors_graph", "weight", "one of 'binary', 'gaussian'", weight)
    if n_neighbors < 1 or n_neighbors > len(X) - 1:
        raise refusal("nearest_neighbors_graph", "n_neighbors", f"an int from 1 to {len(X) - 1}", n_neighbors)
    near = nearest(X, n_neighbors, metric)
    if weight == "gaussian" and sigma is None:
        # The mean distance to the neighbour of rank ln n, of those at hand.
        rank = min(n_neighbors, max(1, round(np.log(len(X)))))
        sigma = positive_mean(near.distances[:, rank - 1])
    return join_neighbors(near, mutual=mutual, sigma=sigma if weight == "gaussian" else None, loops=loops)


def gaussian_graph(
    X: Any, sigma: float, *, threshold: float = 0.0, metric: Metric = "euclidean", loops: bool = True
) -> Weights:
    """The fully connected graph with W_iℓ = exp(−d(x_i, x_ℓ)²/(2σ²)).

    Parameters
    ----------
    X, metric, loops
        As in `epsilon_graph`.
    sigma : float
        The scale σ, above 0.
    threshold : float, default=0.0
        Join only rows of a similarity above this, below 1; the result is then sparse.

    Returns
    -------
    W : array or csr_array of shape (n_samples, n_samples)

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import gaussian_graph
    >>> gaussian_graph(np.array([[0.0], [2.0]]), 1.0).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """
    if not np.isfinite(sigma) or sigma <= 0.0:
        raise refusal("gaussian_graph", "sigma", "a finite number above 0", sigma)
    if not 0.0 <= threshold < 1.0:
        raise refusal("gaussian_graph", "threshold", "a number from 0 to below 1", threshold)
    if threshold > 0.0:
        near = within(X, sigma * float(np.sqrt(-2.0 * np.log(threshold))), metric)
        near.data = _gaussian(near.data, sigma)
        near.data[near.data <= threshold] = 0.0
        near.eliminate_zeros()
        return _finish(near, loops, binary=False)
    if _is_precomputed(metric):
        W = check_dissimilarity(X, "A graph").astype(np.float64)
    else:
        distances.check_range(X, metric)
        W = distances.distance_matrix(X, metric=metric).astype(np.float64, copy=False)

    def fill(start: int) -> None:
        W[start : start + ROWS] = _gaussian(W[start : start + ROWS], sigma)

    for _ in ordered_map(fill, range(0, len(W), ROWS)):
        pass
    np.fill_diagonal(W, 1.0 if loops else 0.0)
    return W


def similarity_graph(
    X: NDArray, similarity: Callable[[NDArray, NDArray], float], *, threshold: float = 0.0
) -> Weights:
    """The fully connected graph of any similarity: W_iℓ = s(x_i, x_ℓ), validated.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    similarity : function
        s(x, z) of two rows: symmetric, not negative, positive at x = z so that every degree is positive.
    threshold : float, default=0.0
        Join only rows of a similarity above this.

    Returns
    -------
    W : array of shape (n_samples, n_samples)

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import similarity_graph
    >>> similarity_graph(np.array([[0.0], [1.0]]), lambda x, z: 1 / (1 + abs(x[0] - z[0])))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    try:
        pairs = np.array([[float(similarity(x, z)) for z in X] for x in X])
    except TypeError:
        raise TypeError("A similarity must give a number for any two rows.") from None
    W = as_weights(pairs, "similarity_graph")
    if not (W.diagonal() > 0.0).all():
        least = W.diagonal().min()
        raise ValueError(f"A similarity must be positive at equal rows; s(x, x) is {least:.3g} for one.")
    return np.where(threshold < W, W, 0.0)


def nearest(X: Any, n_neighbors: int, metric: Metric) -> Nearest:
    """The nearest other rows of each row, from rows or from their dissimilarities."""
    if not _is_precomputed(metric):
        return NeighborSearch(X, metric=metric).nearest(n_neighbors)
    D = np.array(check_dissimilarity(X, "A graph"), dtype=np.float64)
    np.fill_diagonal(D, np.inf)
    indices = np.argsort(D, axis=1, kind="stable")[:, :n_neighbors]
    return Nearest(np.take_along_axis(D, indices, axis=1), indices)


def within(X: Any, radius: float, metric: Metric) -> sparse.csr_array:
    """Distances up to a radius as a CSR matrix, the zero distances of the diagonal stored."""
    n = len(X)
    if _is_precomputed(metric):
        D = check_dissimilarity(X, "A graph")
        near = np.less_equal(D, radius)
        rows, columns = np.nonzero(near)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        return sparse.csr_array((D[rows, columns].astype(np.float64), columns, indptr), shape=(n, n))
    near = NeighborSearch(X, metric=metric).within(radius)
    return sparse.csr_array((near.distances.astype(np.float64), near.indices, near.indptr), shape=(n, n))


def join_neighbors(
    near: Nearest, *, mutual: bool, sigma: float | None = None, loops: bool = True
) -> sparse.csr_array:
    """The symmetric graph of directed neighbours: either (or, for `mutual`, both) sees the other."""
    n, k = near.indices.shape
    values = np.ones(n * k) if sigma is None else _gaussian(near.distances.astype(np.float64), sigma).ravel()
    places = near.indices.astype(np.int32).ravel(), np.arange(0, n * k + 1, k, dtype=np.int32)
    directed = sparse.csr_array((values, *places), shape=(n, n))
    directed.sort_indices()
    reverse = sparse.csr_array(directed.T)
    joined = sparse.csr_array(directed.minimum(reverse) if mutual else directed.maximum(reverse))
    if sigma is not None:
        joined.eliminate_zeros()
    return sparse.csr_array(joined + sparse.eye_array(n, format="csr")) if loops else joined


def positive_mean(lengths: NDArray) -> float:
    """Mean of distances; 1 when all are 0."""
    return float(np.mean(lengths, dtype=np.float64)) if lengths.any() else 1.0


def _finish(near: sparse.csr_array, loops: bool, *, binary: bool = True) -> sparse.csr_array:
    if binary:
        near.data[:] = 1.0
    near.setdiag(1.0 if loops else 0.0)
    near.eliminate_zeros()
    near = sparse.csr_array(near.maximum(near.T))  # distances of (i, ℓ) and (ℓ, i) may differ by rounding
    near.sort_indices()
    return near


def _gaussian(lengths: NDArray, sigma: float) -> NDArray:
    return np.exp(-0.5 * np.square(lengths / sigma))


def _is_precomputed(metric: Metric) -> bool:
    return isinstance(metric, str) and metric == "precomputed"


GROWTH = 1.6
MOST_LOGS = 8


class Neighbors(NamedTuple):
    """A number of neighbours, the graph it makes and the number of its components."""

    n_neighbors: int
    W: sparse.csr_array
    n_components: int


def suggest_knn(X: Any, *, n_components: int = 1, mutual: bool = False, metric: Metric = "euclidean") -> int:
    """Number of neighbours near ln n, raised until the graph has at most `n_components` components.

    Starts at ln n (at 2 ln n for mutual neighbours, which need more) and grows by steps up to n − 1.

    Parameters
    ----------
    X, metric
        As in `epsilon_graph`.
    n_components : int
        Components to be content with.
    mutual : bool
        Whether rows are joined only if each is a neighbour of the other.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import suggest_knn
    >>> suggest_knn(np.arange(20.0)[:, np.newaxis])
    3

    References
    ----------
    Sangnier §2.2.7.
    """
    most = max(1, len(X) - 1)
    grown = grow_neighbors(X, n_components=n_components, mutual=mutual, metric=metric, most=most)
    return grown.n_neighbors


def grow_neighbors(
    X: Any, *, n_components: int, mutual: bool, metric: Metric, most: int | None = None
) -> Neighbors:
    """The graph behind `suggest_knn`; by default the number of neighbours stays below 8 ln n (or 64).

    Mutual neighbours also grow while a vertex has none.
    """
    n = len(X)
    logarithm = max(1, int(np.ceil(np.log(n))))
    n_neighbors = min(n - 1, (2 if mutual else 1) * logarithm)
    most = min(n - 1, max(MOST_LOGS * logarithm, 64)) if most is None else min(most, n - 1)
    while True:
        W = join_neighbors(nearest(X, n_neighbors, metric), mutual=mutual)
        count = connected_components(W)[0]
        alone = mutual and bool((W.diagonal() >= degrees(W)).any())
        if (count <= n_components and not alone) or n_neighbors >= most:
            return Neighbors(n_neighbors, W, count)
        n_neighbors = min(most, int(np.ceil(GROWTH * n_neighbors)))


def suggest_epsilon(X: Any, *, metric: Metric = "euclidean") -> float:
    """The least ε whose graph is connected: the longest edge of the minimum spanning tree.

    One outlier, or one tight cluster far off, makes it large. Where all rows are equal, 1.

    Parameters
    ----------
    X, metric
        As in `epsilon_graph`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import suggest_epsilon
    >>> suggest_epsilon(np.array([[0.0], [1.0], [3.0]]))
    2.0

    References
    ----------
    Sangnier §2.2.7.
    """
    if len(X) < 2:
        return 1.0
    longest = float(distances.spanning_tree(X, metric=metric).length.max())
    return longest if longest > 0.0 else 1.0


def suggest_sigma(X: Any, *, metric: Metric = "euclidean") -> float:
    """Scale σ of the Gaussian graph: the mean distance of a row to its neighbour of rank ln n.

    Parameters
    ----------
    X, metric
        As in `epsilon_graph`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import suggest_sigma
    >>> suggest_sigma(np.array([[0.0], [1.0], [2.0]]))
    1.0

    References
    ----------
    Sangnier §2.2.7.
    """
    if len(X) < 2:
        return 1.0
    rank = min(len(X) - 1, max(1, round(float(np.log(len(X))))))
    return positive_mean(nearest(X, rank, metric).distances[:, -1])
