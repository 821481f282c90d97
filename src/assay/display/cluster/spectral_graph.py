"""The graph of a spectral clustering, and where its vertices stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.cluster import SpectralClustering
from assay.display.base import Display
from assay.display.cluster.clusterers import Layout, layout_of
from assay.display.cluster.map import draw_rows, tints
from assay.display.columns import column_names, dense, sampled
from assay.display.flat_map import n_rows, principal_plane, rgb
from assay.display.style import ACCENT, FAINT_INK, colors
from assay.graphs import minor_eigenpairs

MAX_VERTICES = 1500
EDGES_A_VERTEX = 12


@layout_of.register(SpectralClustering)
def _(model: SpectralClustering, X: Any, places: NDArray) -> Layout | None:
    """Places of the vertices of a graph without coordinates: two more eigenvectors."""
    if model._is_precomputed and n_rows(X) == len(model.labels_):
        return _layout(model, places)
    return None


def _layout(model: SpectralClustering, vertices: NDArray) -> Layout:
    n_pairs = min(3, model.affinity_matrix_.shape[0])
    found = minor_eigenpairs(model.affinity_matrix_, n_pairs, tol=1e-5).vectors[vertices]
    places = found[:, [-2, -1]] if n_pairs == 3 else found[:, [0, -1]]
    return Layout(places, "second eigenvector", "third eigenvector")


@dataclass
class GraphDisplay(Display):
    """The vertices and edges of the graph; edges that the partition cuts stand out.

    Parameters
    ----------
    points : array of shape (n_vertices, 2)
        Places of the vertices, in two features, two principal axes, or two eigenvectors.
    labels : array of int of shape (n_vertices,)
        Their clusters.
    edges : array of int of shape (n_edges, 2)
        The strongest edges.
    weights : array of shape (n_edges,)
    xlabel, ylabel : str

    Examples
    --------
    >>> from assay.cluster import SpectralClustering
    >>> from assay.datasets import iris
    >>> from assay.display import GraphDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> display = GraphDisplay.from_estimator(SpectralClustering(2, random_state=0).fit(X))
    >>> display.edges.shape == (len(display.weights), 2)
    True
    """

    points: NDArray
    labels: NDArray
    edges: NDArray
    weights: NDArray
    xlabel: str
    ylabel: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        vertices = sampled(estimator.affinity_matrix_.shape[0], MAX_VERTICES)
        if estimator._is_precomputed or estimator.X_fit_.shape[1] == 1:
            layout = _layout(estimator, vertices)
        else:
            points = dense(estimator.X_fit_[vertices])
            plane = principal_plane(points)
            words = plane.labels(column_names(estimator, X, feature_names, points.shape[1]))
            layout = Layout(plane.flatten(points), **words)
        W = sparse.csr_array(estimator.affinity_matrix_[vertices][:, vertices])
        upper = sparse.coo_array(sparse.triu(W, k=1))
        strongest = np.argsort(-upper.data, kind="stable")[: EDGES_A_VERTEX * vertices.size]
        return cls(
            points=layout.points,
            labels=np.asarray(estimator._vertex_labels)[vertices],
            edges=np.column_stack([upper.row[strongest], upper.col[strongest]]),
            weights=np.asarray(upper.data[strongest], dtype=float),
            xlabel=layout.xlabel,
            ylabel=layout.ylabel,
        )

    def _draw(self, ax: Any) -> None:
        from matplotlib.collections import LineCollection

        first, second = self.labels[self.edges].T
        across = first != second
        strength = 0.15 + 0.45 * self.weights / self.weights.max(initial=1e-300)
        for cut, color, order in ((False, FAINT_INK, 1), (True, ACCENT, 2)):
            some = across == cut
            faces = [(*rgb(color), min(1.0, alpha + 0.4 * cut)) for alpha in strength[some]]
            lines = list(self.points[self.edges[some]])
            ax.add_collection(LineCollection(lines, colors=faces, linewidths=0.6 + 0.5 * cut, zorder=order))
        draw_vertices(self.points, self.labels, ax)
        ax.grid(visible=False)
        title = f"{int(across.sum())} of {across.size} edges shown are cut"
        ax.set(title=title, xlabel=self.xlabel, ylabel=self.ylabel)


def draw_vertices(points: NDArray, labels: NDArray, ax: Any) -> None:
    """Vertices in the colours of their clusters."""
    palette = np.array([rgb(color) for color in colors(max(int(labels.max()) + 1, 1))])
    draw_rows(points, tints(labels, None, palette), ax)
