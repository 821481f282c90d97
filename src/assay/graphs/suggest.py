"""Rules of thumb for the parameters of a graph, each with the property it is chosen for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from assay.distances import Metric, spanning_tree
from assay.graphs.constructors import join_neighbors, nearest, positive_mean
from assay.graphs.laplacians import degrees
from assay.graphs.measures import connected_components

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
    X : array of shape (n_samples, n_features)
        The rows, or their dissimilarities with metric="precomputed".
    n_components : int
        Components to be content with.
    mutual : bool
        Whether rows are joined only if each is a neighbour of the other.
    metric : str or function

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
    return grow_neighbors(
        X, n_components=n_components, mutual=mutual, metric=metric, most=max(1, len(X) - 1)
    ).n_neighbors


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
    X : array of shape (n_samples, n_features)
        The rows, or their dissimilarities with metric="precomputed".
    metric : str or function

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
    longest = float(spanning_tree(X, metric=metric).length.max())
    return longest if longest > 0.0 else 1.0


def suggest_sigma(X: Any, *, metric: Metric = "euclidean") -> float:
    """Scale σ of the Gaussian graph: the mean distance of a row to its neighbour of rank ln n.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows, or their dissimilarities with metric="precomputed".
    metric : str or function

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
