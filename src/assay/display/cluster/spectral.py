"""Pictures of spectral clustering: the spectrum with its gap, the embedding, the eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.cluster import SpectralClustering
from assay.display.base import Display
from assay.display.cluster.map import RowPlaces, count_clusters, draw_rows, layout_of, tints, title_of
from assay.display.plane import column_names, dense, n_rows, principal_plane, rgb, sampled
from assay.display.style import ACCENT, DASHES, FAINT_INK, GROUND, PALETTE, caption, colors, whole_numbers
from assay.graphs import eigengap, minor_eigenpairs

MAX_CURVES = 5


@title_of.register(SpectralClustering)
def _(model: SpectralClustering) -> str:
    unnormalized = model.laplacian == "unnormalized"
    name, value = ("RatioCut", model.ratio_cut_) if unnormalized else ("NormCut", model.norm_cut_)
    return f"{count_clusters(model)} clusters, {name} {value:.3g} (at least {model.cut_bound_:.3g})"


class SpectrumDisplay(Display):
    """The minor eigenvalues, the gap after the number of clusters, and the number that the gaps speak for.

    Parameters
    ----------
    eigenvalues : array of shape (n_eigenvalues,)
        In increasing order.
    n_used : int
        How many the fit used: its number of clusters.
    n_clusters : int
        The number of clusters that the largest gap speaks for.

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> shown = display.SpectrumDisplay.from_estimator(cluster.SpectralClustering(2, random_state=0).fit(X))
    >>> shown.n_used, shown.eigenvalues.shape
    (2, (10,))
    """

    eigenvalues: NDArray
    n_used: int
    n_clusters: int

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        n_used = len(estimator.eigenvalues_)
        n_shown = min(estimator.affinity_matrix_.shape[0], max(2 * n_used, 10))
        gap = eigengap(estimator.affinity_matrix_, laplacian=estimator.laplacian, k_max=n_shown - 1)
        return cls(np.asarray(gap.values), n_used, int(gap.n_clusters))

    def _draw(self, ax: Any) -> None:
        values, index = self.eigenvalues, np.arange(1, self.eigenvalues.size + 1)
        used = slice(None, self.n_used), {"color": PALETTE[0], "label": "used"}
        unused = (
            slice(self.n_used, None),
            {"color": FAINT_INK, "markerfacecolor": GROUND, "label": "not used"},
        )
        ax.vlines(index, 0.0, values, color=FAINT_INK, linewidth=0.8, alpha=0.5)
        for part, style in (used, unused):
            ax.plot(index[part], values[part], "o", clip_on=False, zorder=4, **style)
        if values.size > self.n_used:
            ax.axhspan(values[self.n_used - 1], values[self.n_used], color=ACCENT, alpha=0.12, linewidth=0.0)
        ax.legend(loc="upper left")
        whole_numbers(ax)
        title = f"the gap speaks for {self.n_clusters} clusters; {self.n_used} were asked for"
        top = 1.08 * max(float(values.max()), 1e-12)
        caption(ax, "index", "eigenvalue of the Laplacian", title, ylim=(0.0, top))


class EmbeddingDisplay(Display):
    """The rows of eigenvectors that were rounded, with the centres of their clusters.

    Two clusters have one score that tells: it is shown in increasing order, with the border between them.

    Parameters
    ----------
    points : array of shape (n_vertices, 2)
        Two coordinates of the embedding, or the rank of the score and the score.
    labels : array of int of shape (n_vertices,)
        The clusters.
    centers : array of shape (n_clusters, 2) or None
    border : float or None
        The score between two clusters.
    xlabel, ylabel, title : str

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> shown = display.EmbeddingDisplay.from_estimator(cluster.SpectralClustering(3, random_state=0).fit(X))
    >>> shown.points.shape, shown.centers.shape
    ((150, 2), (3, 2))
    """

    points: NDArray
    labels: NDArray
    centers: NDArray | None
    border: float | None
    xlabel: str
    ylabel: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        shown = sampled(len(estimator.embedding_))
        labels, rows = np.asarray(estimator._vertex_labels)[shown], estimator.embedding_[shown]
        # The first coordinate is constant for a connected graph: those of most variance tell more.
        variance = estimator.embedding_.var(axis=0)
        widest = np.argsort(-variance, kind="stable")
        if rows.shape[1] == 1 or variance[widest[1]] <= 1e-9 * variance[widest[0]]:
            score = rows[:, widest[0]]
            order = np.argsort(score, kind="stable")
            points = np.column_stack([np.arange(order.size), score[order]])
            border = float(estimator.embedding_centers_[:, widest[0]].mean())
            words = "vertex, by increasing score", "score", title_of(estimator)
            return cls(points, labels[order], None, border, *words)
        first, second = np.sort(widest[:2])
        xlabel, ylabel = (
            f"coordinate {at + 1} (λ = {estimator.eigenvalues_[at]:.3g})" for at in (first, second)
        )
        centers = estimator.embedding_centers_[:, [first, second]]
        title = f"{len(centers)} centres among the eigenvectors"
        return cls(rows[:, [first, second]], labels, centers, None, xlabel, ylabel, title)

    def _draw(self, ax: Any) -> None:
        draw_vertices(self.points, self.labels, ax)
        if self.border is not None:
            ax.axhline(self.border, color=ACCENT, linewidth=1.2, linestyle=DASHES)
        if self.centers is not None:
            ink = colors(len(self.centers))
            ax.scatter(
                *self.centers.T, marker="X", s=110, c=ink, edgecolors="black", linewidths=0.9, zorder=5
            )
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=self.title)


class EigenvectorsDisplay(Display):
    """The minor eigenvectors as functions: of the one feature, or of the vertices sorted by cluster.

    Parameters
    ----------
    places : array of shape (n_vertices,)
    vectors : array of shape (n_vertices, n_curves)
        Each scaled to a largest entry of 1.
    names : sequence of str
        Number and eigenvalue of each.
    xlabel : str

    Examples
    --------
    >>> from assay.cluster import SpectralClustering
    >>> from assay.datasets import iris
    >>> from assay.display import EigenvectorsDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> EigenvectorsDisplay.from_estimator(SpectralClustering(3, random_state=0).fit(X)).vectors.shape
    (150, 3)
    """

    places: NDArray
    vectors: NDArray
    names: Sequence[str]
    xlabel: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        vectors = estimator.eigenvectors_[:, :MAX_CURVES]
        if estimator.laplacian == "random_walk":
            vectors = vectors / np.sqrt(np.asarray(estimator.affinity_matrix_.sum(axis=1)).reshape(-1, 1))
        vectors = vectors / np.abs(vectors).max(axis=0)
        if not estimator._is_precomputed and estimator.X_fit_.shape[1] == 1:
            order = np.argsort(dense(estimator.X_fit_)[:, 0], kind="stable")
            places = dense(estimator.X_fit_)[order, 0]
            name = column_names(estimator, X, feature_names, 1)[0]
        else:
            # Inside a cluster the order is free: that of the vector which varies most there shows its course.
            labels = np.asarray(estimator._vertex_labels)
            inside = sum(vectors[labels == label].var(axis=0) for label in np.unique(labels))
            order = np.lexsort((vectors[:, np.argmax(inside)], labels))
            places, name = np.arange(order.size), "vertex, by cluster"
        values = estimator.eigenvalues_[: vectors.shape[1]]
        names = [f"{number} (λ = {value:.2g})" for number, value in enumerate(values, start=1)]
        return cls(places, np.asarray(vectors)[order], names, name)

    def _draw(self, ax: Any) -> None:
        for name, vector in zip(self.names, self.vectors.T, strict=True):
            ax.plot(self.places, vector, linewidth=1.4, label=name)
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        ax.set(xlabel=self.xlabel, ylabel="eigenvector, scaled to 1", title="minor eigenvectors")


MAX_VERTICES = 1500
EDGES_PER_VERTEX = 12


@layout_of.register(SpectralClustering)
def _(model: SpectralClustering, X: Any, places: NDArray) -> RowPlaces | None:
    """Places of the vertices of a graph without coordinates: two more eigenvectors."""
    if model._is_precomputed and n_rows(X) == len(model.labels_):
        return _layout(model, places)
    return None


def _layout(model: SpectralClustering, vertices: NDArray) -> RowPlaces:
    n_pairs = min(3, model.affinity_matrix_.shape[0])
    vectors = minor_eigenpairs(model.affinity_matrix_, n_pairs, tol=1e-5).vectors[vertices]
    places = vectors[:, [-2, -1]] if n_pairs == 3 else vectors[:, [0, -1]]
    return places, ("second eigenvector", "third eigenvector")


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
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> shown = display.GraphDisplay.from_estimator(cluster.SpectralClustering(2, random_state=0).fit(X))
    >>> shown.edges.shape == (len(shown.weights), 2)
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
            layout = plane.flatten(points), words
        W = sparse.csr_array(estimator.affinity_matrix_[vertices][:, vertices])
        upper = sparse.coo_array(sparse.triu(W, k=1))
        strongest = np.argsort(-upper.data, kind="stable")[: EDGES_PER_VERTEX * vertices.size]
        labels = np.asarray(estimator._vertex_labels)[vertices]
        edges = np.column_stack([upper.row[strongest], upper.col[strongest]])
        weights = np.asarray(upper.data[strongest], dtype=float)
        return cls(layout[0], labels, edges, weights, *layout[1])

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
