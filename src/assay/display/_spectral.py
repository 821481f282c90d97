"""Pictures of spectral clustering: map, graph, spectrum with its gap, embedding, eigenvectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.cluster import SpectralClustering
from assay.display._columns import column_names, dense, sampled
from assay.display._flat_map import principal_plane, rgb, rows_at
from assay.display._registry import choose, draw, require_data
from assay.display._style import ACCENT, FAINT_INK, PALETTE, colors
from assay.graphs import eigengap, minor_eigenpairs

MAX_VERTICES = 1500
EDGES_A_VERTEX = 12
MAX_CURVES = 5


@draw.register(SpectralClustering)
def draw_spectral(
    model: SpectralClustering,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the clusters of data, or the spectrum of the graph."""
    pictures = {
        "map": _map,
        "graph": _graph,
        "spectrum": _spectrum,
        "embedding": _embedding,
        "eigenvectors": _eigenvectors,
    }
    kind = kind or ("spectrum" if X is None else "map")
    choose(model, kind, pictures)(model, X, ax=ax, feature_names=feature_names)


def _map(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """The rows in their plane (of features, principal axes, or eigenvectors), coloured by cluster."""
    require_data(model, "map", X=X)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    shown = sampled(n_rows)
    labels = np.asarray(model.labels_ if n_rows == len(model.labels_) else model.predict(X))[shown]
    if model._is_precomputed and n_rows == len(model.labels_):
        flat, names = _spectral_layout(model, shown), _LAYOUT
    else:
        points = dense(rows_at(X, shown))
        given = column_names(model, X, feature_names, points.shape[1])
        if points.shape[1] == 1:
            _histogram(points[:, 0], labels, given[0], ax)
            return
        plane = principal_plane(points)
        flat, names = plane.flatten(points), plane.labels(given)
    _scatter(flat, labels, ax)
    ax.grid(visible=False)
    ax.set(title=_title(model), **names)


def _graph(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """The vertices and edges of the graph; edges that the partition cuts stand out."""
    from matplotlib.collections import LineCollection

    vertices = sampled(model.affinity_matrix_.shape[0], MAX_VERTICES)
    labels = np.asarray(model._vertex_labels)[vertices]
    if model._is_precomputed or model.X_fit_.shape[1] == 1:
        flat, names = _spectral_layout(model, vertices), _LAYOUT
    else:
        points = dense(model.X_fit_[vertices])
        plane = principal_plane(points)
        flat = plane.flatten(points)
        names = plane.labels(column_names(model, X, feature_names, points.shape[1]))
    W = sparse.csr_array(model.affinity_matrix_[vertices][:, vertices])
    upper = sparse.coo_array(sparse.triu(W, k=1))
    strongest = np.argsort(-upper.data, kind="stable")[: EDGES_A_VERTEX * vertices.size]
    first, second, weight = upper.row[strongest], upper.col[strongest], upper.data[strongest]
    across = labels[first] != labels[second]
    strength = 0.15 + 0.45 * weight / (weight.max() if weight.size else 1.0)
    for cut, color, order in ((False, FAINT_INK, 1), (True, ACCENT, 3)):
        some = across == cut
        faces = [(*rgb(color), min(1.0, alpha + 0.4 * cut)) for alpha in strength[some]]
        lines = np.stack([flat[first[some]], flat[second[some]]], axis=1)
        ax.add_collection(LineCollection(list(lines), colors=faces, linewidths=0.6 + 0.5 * cut, zorder=order))
    _scatter(flat, labels, ax)
    ax.grid(visible=False)
    ax.set(title=f"{int(across.sum())} of {across.size} edges shown are cut", **names)


def _spectrum(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """The minor eigenvalues, the gap after the number of clusters, and the number that the gaps speak for."""
    n_clusters = len(model.eigenvalues_)
    n_shown = min(model.affinity_matrix_.shape[0], max(2 * n_clusters, 10))
    found = eigengap(model.affinity_matrix_, laplacian=model.laplacian, k_max=n_shown - 1)
    values = found.values
    index = np.arange(1, n_shown + 1)
    ax.vlines(index, 0.0, values, color=FAINT_INK, linewidth=0.8, alpha=0.5)
    ax.plot(index[:n_clusters], values[:n_clusters], "o", color=PALETTE[0], label="used")
    ax.plot(
        index[n_clusters:],
        values[n_clusters:],
        "o",
        color=FAINT_INK,
        markerfacecolor="white",
        label="not used",
    )
    if n_shown > n_clusters:
        low, high = values[n_clusters - 1], values[n_clusters]
        ax.axhspan(low, high, color=ACCENT, alpha=0.12, linewidth=0.0)
    ax.legend(loc="upper left")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(
        xlabel="index",
        ylabel="eigenvalue of the Laplacian",
        title=f"the gap speaks for {found.n_clusters} clusters; {n_clusters} were asked for",
        ylim=(0.0, 1.08 * max(float(values.max()), 1e-12)),
    )


def _embedding(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """The rows that were rounded, with the centres of their clusters."""
    shown = sampled(len(model.embedding_))
    labels, rows = np.asarray(model._vertex_labels)[shown], model.embedding_[shown]
    # The first coordinate is constant for a connected graph: those of most variance tell more.
    variance = model.embedding_.var(axis=0)
    by_variance = np.argsort(-variance, kind="stable")
    if rows.shape[1] == 1 or variance[by_variance[1]] <= 1e-9 * variance[by_variance[0]]:
        score = rows[:, by_variance[0]]
        order = np.argsort(score, kind="stable")
        _scatter(np.column_stack([np.arange(order.size), score[order]]), labels[order], ax)
        border = float(model.embedding_centers_[:, by_variance[0]].mean())
        ax.axhline(border, color=ACCENT, linewidth=1.2, linestyle=(0, (4, 3)))
        ax.set(xlabel="vertex, by increasing score", ylabel="score", title=_title(model))
        return
    first, second = np.sort(by_variance[:2])
    _scatter(rows[:, [first, second]], labels, ax)
    centers = model.embedding_centers_[:, [first, second]]
    ax.scatter(
        *centers.T, marker="X", s=110, c=colors(len(centers)), edgecolors="black", linewidths=0.9, zorder=5
    )
    ax.set(
        xlabel=f"coordinate {first + 1} (λ = {model.eigenvalues_[first]:.3g})",
        ylabel=f"coordinate {second + 1} (λ = {model.eigenvalues_[second]:.3g})",
        title=f"{len(centers)} centres among the eigenvectors",
    )


def _eigenvectors(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """The minor eigenvectors as functions: of the one feature, or of the vertices sorted by cluster."""
    one_feature = not model._is_precomputed and model.X_fit_.shape[1] == 1
    vectors = model.eigenvectors_
    if model.laplacian == "random_walk":
        vectors = vectors / np.sqrt(np.asarray(model.affinity_matrix_.sum(axis=1)).reshape(-1, 1))
    vectors = vectors / np.abs(vectors).max(axis=0)
    if one_feature:
        order = np.argsort(dense(model.X_fit_)[:, 0], kind="stable")
        place = dense(model.X_fit_)[order, 0]
        name = column_names(model, X, feature_names, 1)[0]
    else:
        order = np.argsort(np.asarray(model._vertex_labels), kind="stable")
        place, name = np.arange(order.size), "vertex, by cluster"
    for column in range(min(MAX_CURVES, vectors.shape[1])):
        value = model.eigenvalues_[column]
        ax.plot(place, vectors[order, column], linewidth=1.4, label=f"{column + 1} (λ = {value:.2g})")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    ax.set(xlabel=name, ylabel="eigenvector, scaled to 1", title="minor eigenvectors")


_LAYOUT = {"xlabel": "second eigenvector", "ylabel": "third eigenvector"}


def _spectral_layout(model: Any, vertices: NDArray) -> NDArray:
    """Places of the vertices of a graph without coordinates: two more eigenvectors."""
    n_pairs = min(3, model.affinity_matrix_.shape[0])
    found = minor_eigenpairs(model.affinity_matrix_, n_pairs, tol=1e-5).vectors[vertices]
    return found[:, [-2, -1]] if n_pairs == 3 else found[:, [0, -1]]


def _scatter(flat: NDArray, labels: NDArray, ax: Any) -> None:
    palette = np.array([rgb(color) for color in colors(max(int(labels.max()) + 1, 1))])
    crowded = labels.size > 500
    inside = labels >= 0
    for some, color in ((inside, palette[labels[inside]]), (~inside, FAINT_INK)):
        if some.any():
            ax.scatter(
                *flat[some].T,
                c=color,
                s=9 if crowded else 22,
                alpha=0.7 if crowded else 0.9,
                edgecolors="white",
                linewidths=0.0 if crowded else 0.3,
                rasterized=labels.size > 1000,
                zorder=4,
            )


def _histogram(values: NDArray, labels: NDArray, name: str, ax: Any) -> None:
    n_clusters = int(labels.max()) + 1
    edges = np.histogram_bin_edges(values, bins=30 if values.size < 2000 else 60)
    parts = [values[labels == cluster] for cluster in range(n_clusters)]
    ax.hist(parts, bins=edges, stacked=True, color=colors(n_clusters), alpha=0.8)
    ax.set(xlabel=name, ylabel="rows", title=f"{n_clusters} clusters")


def _title(model: Any) -> str:
    unnormalized = model.laplacian == "unnormalized"
    name, value = ("RatioCut", model.ratio_cut_) if unnormalized else ("NormCut", model.norm_cut_)
    return f"{len(model.embedding_centers_)} clusters, {name} {value:.3g} (at least {model.cut_bound_:.3g})"
