"""Pictures of biclusterings and of loadings: the matrix in the order of its biclusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster import (
    BlockBiclustering,
    ConvexBiclustering,
    OverlappingClustering,
    SparseSVDBiclustering,
    SpectralBiclustering,
    SpectralCoclustering,
)
from assay.display._columns import column_names, dense, sampled, shortened
from assay.display._registry import choose, draw, require_data
from assay.display._style import ACCENT, INK, PALETTE

MAX_LINES = 400
"""At most this many rows, and columns, of a matrix are shown."""


@draw.register(BlockBiclustering)
@draw.register(ConvexBiclustering)
@draw.register(SparseSVDBiclustering)
@draw.register(SpectralBiclustering)
@draw.register(SpectralCoclustering)
def draw_biclusters(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the matrix in the order of its biclusters, or what was fitted."""
    pictures = {"matrix": _matrix}
    if not isinstance(model, (SpectralBiclustering, SpectralCoclustering)):
        pictures["fitted"] = _fitted
    if hasattr(model, "singular_values_"):
        pictures["singular_values"] = _singular_values
    if hasattr(model, "objective_trace_") or hasattr(model, "gap_trace_"):
        pictures["convergence"] = _convergence
    kind = kind or ("matrix" if X is not None else list(pictures)[1])
    choose(model, kind, pictures)(model, X, ax=ax, feature_names=feature_names)


def _orders(model: Any) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Rows and columns in the order of their biclusters, and the group of each in that order."""
    if hasattr(model, "row_labels_"):
        row_groups, column_groups = model.row_labels_, model.column_labels_
    else:  # biclusters overlap: the first one counts, and what is in none comes last
        row_groups, column_groups = (
            np.where(members.any(axis=0), members.argmax(axis=0), len(members))
            for members in (model.rows_, model.columns_)
        )
    rows, columns = np.argsort(row_groups, kind="stable"), np.argsort(column_groups, kind="stable")
    rows, columns = rows[sampled(len(rows), MAX_LINES)], columns[sampled(len(columns), MAX_LINES)]
    return rows, columns, row_groups[rows], column_groups[columns]


def _matrix(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    require_data(model, "matrix", X=X)
    matrix = dense(X)
    if matrix.shape[0] != model.rows_.shape[1]:
        raise ValueError(
            f"The 'matrix' picture of {type(model).__name__} shows the matrix of the fit "
            f"({model.rows_.shape[1]} rows). Got {matrix.shape[0]} rows instead."
        )
    names = column_names(model, X, feature_names, matrix.shape[1])
    _show(model, matrix, names, f"{len(model.rows_)} biclusters", ax)


def _fitted(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    if hasattr(model, "block_values_"):
        fitted = model.block_values_[model.row_labels_][:, model.column_labels_]
    elif hasattr(model, "fitted_"):
        fitted = model.fitted_
    else:
        fitted = (model.left_vectors_ * model.singular_values_) @ model.right_vectors_.T
    names = column_names(model, X, feature_names, fitted.shape[1])
    _show(model, dense(fitted), names, f"fitted matrix, {len(model.rows_)} biclusters", ax)


def _show(model: Any, matrix: NDArray, names: list[str], title: str, ax: Any) -> None:
    rows, columns, row_groups, column_groups = _orders(model)
    shown = matrix[np.ix_(rows, columns)]
    image = ax.imshow(shown, aspect="auto", interpolation="nearest", **_shades(shown))
    for groups, line in ((row_groups, ax.axhline), (column_groups, ax.axvline)):
        for border in np.flatnonzero(np.diff(groups)):
            line(border + 0.5, color=INK, linewidth=1.1)
    few = len(columns) <= 24
    tilted = few and max(len(names[column]) for column in columns) * len(columns) > 60
    ax.set_xticks(
        np.arange(len(columns)) if few else [],
        [shortened(names[column], 14) for column in columns] if few else [],
        rotation=90 if tilted else 0,
    )
    ax.set_yticks([])
    ax.grid(visible=False)
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02)
    bar.outline.set_visible(False)
    ax.set(
        xlabel="columns in the order of their clusters",
        ylabel=f"{matrix.shape[0]} rows in the order of their clusters",
        title=title,
    )


def _shades(values: NDArray) -> dict[str, Any]:
    """Blue and red about 0 where there are both signs, else one colour; a few far values do not set it."""
    low, high = np.quantile(values, [0.005, 0.995])
    if low < 0 < high:
        reach = max(-low, high)
        return {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach}
    return {"cmap": "Blues", "vmin": low, "vmax": high if high > low else low + 1.0}


def _singular_values(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    values = np.asarray(model.singular_values_, dtype=float)
    ax.bar(np.arange(1, len(values) + 1), values, color=PALETTE[0], width=0.6)
    ax.xaxis.get_major_locator().set_params(integer=True)
    sparse = isinstance(model, SparseSVDBiclustering)
    ax.set(
        xlabel="layer" if sparse else "number",
        ylabel="value of the layer" if sparse else "singular value",
        title="values of the layers" if sparse else "singular values of the normalised matrix",
    )


def _convergence(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    if hasattr(model, "objective_trace_"):
        values = np.asarray(model.objective_trace_, dtype=float)
        ax.plot(np.arange(len(values)) / 2, values, "o-", color=PALETTE[0], markersize=4)
        ax.set(xlabel="pass", ylabel="objective", title=f"objective falls to {values[-1]:.4g}")
        return
    gaps = np.maximum(np.asarray(model.gap_trace_, dtype=float), 1e-17)
    ax.semilogy(np.arange(len(gaps)), gaps, "o-", color=PALETTE[0], markersize=4)
    ax.axhline(model.tol, color=ACCENT, linewidth=1.0, linestyle=(0, (4, 3)))
    ax.set(xlabel="pass", ylabel="relative duality gap", title=f"{model.n_iter_} passes")


@draw.register(OverlappingClustering)
def draw_loadings(
    model: OverlappingClustering,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the loadings, or what cross-validation compared."""
    pictures = {"loadings": _loadings, "cross_validation": _cross_validation}
    choose(model, kind or "loadings", pictures)(model, X, ax=ax, feature_names=feature_names)


def _loadings(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """One line a column of the table, one column a cluster; pure variables first, in a frame."""
    from matplotlib.patches import Rectangle

    loadings = dense(model.loadings_)
    names = column_names(model, X, feature_names, len(loadings))
    pure = np.concatenate(model.pure_sets_)
    rest = np.setdiff1d(np.arange(len(loadings)), pure)
    sizes = np.abs(loadings[rest])
    main = np.where(sizes.any(axis=1), sizes.argmax(axis=1), loadings.shape[1])
    order = np.concatenate([pure, rest[np.argsort(main, kind="stable")]])
    image = ax.imshow(loadings[order], aspect="auto", cmap="RdBu_r", vmin=-1.0, vmax=1.0)
    start = 0
    for cluster, group in enumerate(model.pure_sets_):
        frame = Rectangle(
            (cluster - 0.5, start - 0.5), 1, len(group), fill=False, edgecolor=INK, linewidth=1.6
        )
        ax.add_patch(frame)
        start += len(group)
    few = len(order) <= 40
    ax.set_yticks(
        np.arange(len(order)) if few else [], [shortened(names[j], 18) for j in order] if few else []
    )
    ax.set_xticks(np.arange(loadings.shape[1]))
    ax.grid(visible=False)
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02)
    bar.outline.set_visible(False)
    ax.set(
        xlabel="cluster",
        ylabel="variable" if few else f"{len(order)} variables",
        title=f"loadings: {len(pure)} pure variables framed, {len(model.overlaps_)} in several clusters",
    )


def _cross_validation(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    if not model.delta_candidates_.size:
        raise ValueError(
            "The 'cross_validation' picture of OverlappingClustering needs a fit that chose δ: "
            "leave delta=None."
        )
    errors = np.asarray(model.delta_errors_, dtype=float)
    ax.plot(model.delta_candidates_, errors, color=PALETTE[0], linewidth=0.7, alpha=0.4)
    ax.plot(model.delta_candidates_, errors.mean(axis=1), "o-", color=PALETTE[0], markersize=4)
    ax.axvline(model.delta_, color=ACCENT, linewidth=1.0, linestyle=(0, (4, 3)))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set(xlabel="δ", ylabel="error at the other half", title=f"δ = {model.delta_:.3g}")
