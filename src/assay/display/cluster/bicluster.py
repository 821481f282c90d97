"""Pictures of biclusterings and of overlapping clusters of columns: matrices, values, loadings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import SparseSVDBiclustering
from assay.display.base import Display
from assay.display.cluster.centers import write_column_names
from assay.display.plane import column_names, dense, sampled, shortened
from assay.display.style import ACCENT, DASHES, INK, PALETTE, caption, whole_numbers

MAX_LINES = 400
"""At most this many rows, and columns, of a matrix are shown."""


class BiclusterMatrixDisplay(Display, needs=("X",)):
    """The matrix of a fit, rows and columns in the order of their biclusters.

    Parameters
    ----------
    matrix : array of shape (n_rows, n_columns)
        The entries shown, in that order; of very large matrices a sample of rows and columns.
    row_groups, column_groups : arrays of int of shape (n_rows,) and (n_columns,)
        Groups in that order: lines are drawn where they change.
    names : sequence of str
        Names of the columns.
    n_rows : int
        Rows of the whole matrix.
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import BlockBiclustering
    >>> from assay.display import BiclusterMatrixDisplay
    >>> X = np.kron([[1.0, 5.0], [6.0, 2.0]], np.ones((4, 3)))[::-1]
    >>> BiclusterMatrixDisplay.from_estimator(BlockBiclustering(random_state=0).fit(X), X).matrix[0]
    array([6., 6., 6., 2., 2., 2.])
    """

    matrix: NDArray
    row_groups: NDArray
    column_groups: NDArray
    names: Sequence[str]
    n_rows: int
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        matrix = dense(X)
        if matrix.shape[0] != estimator.rows_.shape[1]:
            raise ValueError(
                f"The 'matrix' picture of {type(estimator).__name__} shows the matrix of the fit "
                f"({estimator.rows_.shape[1]} rows). Got {matrix.shape[0]} rows instead."
            )
        names = column_names(estimator, X, feature_names, matrix.shape[1])
        return cls._in_order(estimator, matrix, names, f"{len(estimator.rows_)} biclusters")

    @classmethod
    def _in_order(cls, estimator: Any, matrix: NDArray, names: list[str], title: str) -> Self:
        rows, row_groups = _ordered(estimator, "row_labels_", "rows_")
        columns, column_groups = _ordered(estimator, "column_labels_", "columns_")
        shown, words = matrix[np.ix_(rows, columns)], [names[column] for column in columns]
        return cls(shown, row_groups, column_groups, words, matrix.shape[0], title)

    def _draw(self, ax: Any) -> None:
        image = ax.imshow(self.matrix, aspect="auto", interpolation="nearest", **_shades(self.matrix))
        for groups, line in ((self.row_groups, ax.axhline), (self.column_groups, ax.axvline)):
            for border in np.flatnonzero(np.diff(groups)):
                line(border + 0.5, color=INK, linewidth=1.1)
        write_column_names(self.names, ax)
        ax.set_yticks([])
        ax.grid(visible=False)
        bar = ax.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02)
        bar.outline.set_visible(False)
        ylabel = f"{self.n_rows} rows in the order of their clusters"
        caption(ax, "columns in the order of their clusters", ylabel, self.title)


class BiclusterFitDisplay(BiclusterMatrixDisplay, needs=()):
    """The matrix that a biclustering fitted, rows and columns in the order of their biclusters.

    The fields are those of `BiclusterMatrixDisplay`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import BlockBiclustering
    >>> from assay.display import BiclusterFitDisplay
    >>> X = np.kron([[1.0, 5.0], [6.0, 2.0]], np.ones((4, 3)))[::-1]
    >>> BiclusterFitDisplay.from_estimator(BlockBiclustering(random_state=0).fit(X)).matrix.shape
    (8, 6)
    """

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if hasattr(estimator, "block_values_"):
            fitted = estimator.block_values_[estimator.row_labels_][:, estimator.column_labels_]
        elif hasattr(estimator, "fitted_"):
            fitted = estimator.fitted_
        else:
            fitted = (estimator.left_vectors_ * estimator.singular_values_) @ estimator.right_vectors_.T
        names = column_names(estimator, X, feature_names, fitted.shape[1])
        title = f"fitted matrix, {len(estimator.rows_)} biclusters"
        return cls._in_order(estimator, dense(fitted), names, title)


def _ordered(model: Any, labels: str, members: str) -> tuple[NDArray, NDArray]:
    """Rows, or columns, in the order of their biclusters, and the group of each in that order."""
    if hasattr(model, labels):
        groups = np.asarray(getattr(model, labels))
    else:  # biclusters overlap: the first one counts, and what is in none comes last
        inside = getattr(model, members)
        groups = np.where(inside.any(axis=0), inside.argmax(axis=0), len(inside))
    order = np.argsort(groups, kind="stable")
    order = order[sampled(len(order), MAX_LINES)]
    return order, groups[order]


def _shades(values: NDArray) -> dict[str, Any]:
    """Blue and red about 0 where there are both signs, else one colour; a few far values do not set it."""
    low, high = np.quantile(values, [0.005, 0.995])
    if low < 0 < high:
        reach = max(-low, high)
        return {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach}
    return {"cmap": "Blues", "vmin": low, "vmax": high if high > low else low + 1.0}


class BiclusterValuesDisplay(Display):
    """Singular values of the normalised matrix, or values of the layers of a sparse decomposition.

    Parameters
    ----------
    values : array of shape (n_values,)
    xlabel, ylabel, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import cluster, display
    >>> X = np.kron([[1.0, 5.0], [6.0, 2.0]], np.ones((4, 3)))
    >>> display.BiclusterValuesDisplay.from_estimator(cluster.SparseSVDBiclustering(2).fit(X)).values.shape
    (2,)
    """

    values: NDArray
    xlabel: str = "number"
    ylabel: str = "singular value"
    title: str = "singular values of the normalised matrix"

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        values = np.asarray(estimator.singular_values_, dtype=float)
        if isinstance(estimator, SparseSVDBiclustering):
            return cls(values, "layer", "value of the layer", "values of the layers")
        return cls(values)

    def _draw(self, ax: Any) -> None:
        ax.bar(np.arange(1, len(self.values) + 1), self.values, color=PALETTE[0], width=0.6)
        whole_numbers(ax)
        ax.grid(visible=False, axis="x")
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=self.title)


MAX_NAMED = 40


class OverlapLoadingsDisplay(Display):
    """One line per column of the table, one column per cluster; pure variables first, in a frame.

    Parameters
    ----------
    loadings : array of shape (n_variables, n_clusters)
        In the order shown.
    names : sequence of str
        Names of the variables, in the order shown.
    pure_sizes : sequence of int
        Number of pure variables of each cluster: they come first, cluster by cluster.
    n_overlaps : int
        Variables that lie in several clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import OverlapLoadingsDisplay
    >>> display = OverlapLoadingsDisplay(np.array([[1.0, 0], [0, 1], [0.5, 0.5]]), ["a", "b", "c"], [1, 1], 1)
    >>> display.plot().ax_.get_title()
    'loadings: 2 pure variables framed, 1 in several clusters'
    """

    loadings: NDArray
    names: Sequence[str]
    pure_sizes: Sequence[int]
    n_overlaps: int

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        loadings = dense(estimator.loadings_)
        names = column_names(estimator, X, feature_names, len(loadings))
        pure = np.concatenate(estimator.pure_sets_)
        rest = np.setdiff1d(np.arange(len(loadings)), pure)
        sizes = np.abs(loadings[rest])
        main = np.where(sizes.any(axis=1), sizes.argmax(axis=1), loadings.shape[1])
        order = np.concatenate([pure, rest[np.argsort(main, kind="stable")]])
        pure_sizes = [len(group) for group in estimator.pure_sets_]
        return cls(loadings[order], [names[j] for j in order], pure_sizes, len(estimator.overlaps_))

    def _draw(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        image = ax.imshow(self.loadings, aspect="auto", cmap="RdBu_r", vmin=-1.0, vmax=1.0)
        start = 0
        for cluster, size in enumerate(self.pure_sizes):
            corner = (cluster - 0.5, start - 0.5)
            ax.add_patch(Rectangle(corner, 1, size, fill=False, edgecolor=INK, linewidth=1.6, clip_on=False))
            start += size
        few = len(self.names) <= MAX_NAMED
        words = [shortened(name, 18) for name in self.names] if few else []
        ax.set_yticks(range(len(words)), words)
        ax.set_xticks(np.arange(self.loadings.shape[1]))
        ax.grid(visible=False)
        bar = ax.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02)
        bar.outline.set_visible(False)
        pure, several = sum(self.pure_sizes), self.n_overlaps
        title = f"loadings: {pure} pure variables framed, {several} in several clusters"
        caption(ax, "cluster", "variable" if few else f"{len(self.names)} variables", title)


class OverlapErrorsDisplay(Display):
    """The error of each δ on the half of the rows that did not estimate it, and the δ chosen.

    Parameters
    ----------
    candidates : array of shape (n_candidates,)
    errors : array of shape (n_candidates, n_splits)
    delta : float

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import OverlapErrorsDisplay
    >>> display = OverlapErrorsDisplay(np.array([0.1, 0.2]), np.array([[1.0, 1.1], [2.0, 2.1]]), 0.1)
    >>> display.plot().ax_.get_title()
    'δ = 0.1'
    """

    candidates: NDArray
    errors: NDArray
    delta: float

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if not estimator.delta_candidates_.size:
            raise ValueError(
                "The 'cross_validation' picture of OverlappingClustering needs a fit that chose δ: "
                "leave delta=None."
            )
        errors = np.asarray(estimator.delta_errors_, dtype=float)
        return cls(np.asarray(estimator.delta_candidates_, dtype=float), errors, float(estimator.delta_))

    def _draw(self, ax: Any) -> None:
        ax.plot(self.candidates, self.errors, color=PALETTE[0], linewidth=0.7, alpha=0.4)
        ax.plot(self.candidates, self.errors.mean(axis=1), "o-", color=PALETTE[0], markersize=4)
        ax.axvline(self.delta, color=ACCENT, linewidth=1.0, linestyle=DASHES)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set(xlabel="δ", ylabel="error at the other half", title=f"δ = {self.delta:.3g}")
