"""The clusterpath: convex clustering along increasing penalties, and the tree of its fusions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.cluster._convex_problem import ConvexProblem


@dataclass(frozen=True, slots=True)
class ConvexPath:
    """Centroids of every row along increasing penalties.

    Parameters
    ----------
    penalties : array of shape (n_penalties,)
        In increasing order.
    centroids : array of shape (n_penalties, n_samples, n_features)
        Fitted points.
    labels : array of int32 of shape (n_penalties, n_samples)
        Clusters at each penalty, numbered by their first rows.
    gaps : array of shape (n_penalties,)
        Relative duality gap of each fit.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import ConvexClustering
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> path = ConvexClustering(norm="l1", weights="uniform").path(X, [0.0, 1.0, 6.0])
    >>> path.n_clusters
    array([4, 2, 1], dtype=int32)
    >>> path.linkage()[:, 2]
    array([1., 1., 6.])
    """

    penalties: NDArray
    centroids: NDArray
    labels: NDArray
    gaps: NDArray

    @property
    def n_clusters(self) -> NDArray:
        """Number of clusters at each penalty."""
        return self.labels.max(axis=1) + 1

    def linkage(self) -> NDArray:
        """The fusions as a linkage matrix in SciPy's layout; heights are the penalties where they happen.

        Rows once fused stay so, also where the path parts them again for a while (which general weights
        allow). The last penalty must make one cluster of all rows.

        Returns
        -------
        linkage : array of shape (n_samples − 1, 4)
        """
        if self.labels[-1].any():
            raise ValueError(
                f"The path ends with {int(self.n_clusters[-1])} clusters but a dendrogram needs one: let the "
                "last penalty be at least penalty_max(X), with weights that join all rows."
            )
        n_samples = self.labels.shape[1]
        parents = np.arange(2 * n_samples - 1)
        sizes = np.ones(2 * n_samples - 1, dtype=np.int64)
        merges: list[tuple[float, float, float, float]] = []
        for penalty, labels in zip(self.penalties, self.labels, strict=True):
            order = np.argsort(labels, kind="stable")
            together = labels[order[:-1]] == labels[order[1:]]
            for row, following in zip(order[:-1][together], order[1:][together], strict=True):
                low, high = sorted((_root(parents, row), _root(parents, following)))
                if low == high:
                    continue
                new = n_samples + len(merges)
                parents[[low, high]] = new
                sizes[new] = sizes[low] + sizes[high]
                merges.append((low, high, float(penalty), int(sizes[new])))
        return np.array(merges, dtype=np.float64).reshape(-1, 4)


def path_penalties(problem: ConvexProblem, penalties: Any) -> NDArray:
    """The given penalties in increasing order, or 0 and 40 on a logarithmic scale to the largest useful."""
    if penalties is None:
        low, high = problem.penalty_max(bridges=False), problem.penalty_max()
        return np.concatenate([[0.0], np.geomspace(1e-3 * low, high, 40) if low > 0 else [1.0]])
    values = np.sort(np.asarray(penalties, dtype=np.float64).ravel())
    if not values.size or not np.isfinite(values).all() or values[0] < 0.0:
        raise parameters.refusal(
            "ConvexClustering.path", "penalties", "finite numbers at least 0, one or more", penalties
        )
    return values


def _root(parents: NDArray, node: int) -> int:
    """The cluster that holds a node now; the way to it is shortened."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return int(node)
