"""What is asked of a graph first: degrees, volumes, components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.graphs import _graph_loops as loops
from assay.graphs._weights import Weights, as_weights, degrees, is_sparse

EVEN_DEGREES = 0.1


def volume(W: Any, subset: Any = None) -> float:
    """vol(A) = Σ_{i ∈ A} d_i of a set of vertices, given by indices or by a mask; of all by default.

    Examples
    --------
    >>> from assay.graphs import volume
    >>> volume([[0.0, 1.0], [1.0, 0.0]], [0])
    1.0
    """
    degree = degrees(as_weights(W, "volume"))
    return float((degree if subset is None else degree[np.asarray(subset)]).sum())


def size(subset: Any) -> int:
    """#A, the number of vertices of a set given by indices or by a mask.

    Examples
    --------
    >>> from assay.graphs import size
    >>> size([True, False, True]), size([0, 2])
    (2, 2)
    """
    subset = np.asarray(subset)
    return int(np.count_nonzero(subset)) if subset.dtype == bool else int(np.unique(subset).size)


def connected_components(W: Any) -> tuple[int, NDArray]:
    """Number of connected components and the component of each vertex, numbered by first appearance.

    Examples
    --------
    >>> from assay.graphs import connected_components
    >>> connected_components([[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    (2, array([0, 1, 0], dtype=int32))
    """
    n = W.shape[0] if hasattr(W, "shape") else len(W)
    labels, queue = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    if not is_sparse(W):
        return int(loops.label_dense_components(np.asarray(W, dtype=np.float64), labels, queue)), labels
    pattern = as_pattern(W)
    count = loops.label_components(pattern.indptr, pattern.indices, labels, queue)
    return int(count), labels


def is_connected(W: Any) -> bool:
    """Whether every vertex can be reached from every other.

    Examples
    --------
    >>> from assay.graphs import is_connected
    >>> is_connected([[0, 1], [1, 0]])
    True
    """
    return connected_components(W)[0] == 1


class DegreeReport(NamedTuple):
    """How even the degrees of a graph are, and which Laplacian that speaks for.

    Attributes
    ----------
    least, median, greatest : float
    variation : float
        Standard deviation over mean.
    isolated : int
        Vertices without a neighbour other than themselves.
    recommendation : str
        A sentence.
    """

    least: float
    median: float
    greatest: float
    variation: float
    isolated: int
    recommendation: str


def degree_report(W: Any) -> DegreeReport:
    """Look at the degrees: even ones make the three Laplacians equivalent, uneven ones speak for L_w.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import degree_report
    >>> degree_report(np.ones((3, 3))).recommendation
    'The degrees are even: the three Laplacians are nearly equivalent.'

    References
    ----------
    Sangnier §2.2.7.
    """
    W = W if is_sparse(W) else np.asarray(W, dtype=np.float64)
    degree = degrees(W)
    alone = degree - W.diagonal() <= 0.0
    mean = float(degree.mean())
    variation = float(degree.std()) / mean if mean > 0.0 else 0.0
    advice = (
        "The degrees are even: the three Laplacians are nearly equivalent."
        if variation <= EVEN_DEGREES
        else "The degrees are uneven: prefer a normalised Laplacian, 'random_walk' before 'symmetric'."
    )
    return DegreeReport(
        float(degree.min()),
        float(np.median(degree)),
        float(degree.max()),
        variation,
        int(np.count_nonzero(alone)),
        advice,
    )


def as_pattern(W: Any) -> sparse.csr_array:
    """The graph as CSR without stored zeros: what walks along edges read."""
    if is_sparse(W):
        pattern: Weights = sparse.csr_array(W)
        if pattern.data.size and not pattern.data.all():
            pattern = pattern.copy()
            pattern.eliminate_zeros()
        return pattern
    return sparse.csr_array(np.asarray(W, dtype=np.float64))
