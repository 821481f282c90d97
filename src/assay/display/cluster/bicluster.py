"""Pictures of biclusterings: the matrix in the order of its biclusters, what was fitted, its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import (
    BlockBiclustering,
    ConvexBiclustering,
    SparseSVDBiclustering,
    SpectralBiclustering,
    SpectralCoclustering,
)
from assay.display.base import Display
from assay.display.cluster.center_table import write_column_names
from assay.display.cluster.traces import ConvergenceDisplay
from assay.display.columns import column_names, dense, sampled
from assay.display.registry import Pictures, pictures
from assay.display.style import INK, PALETTE

MAX_LINES = 400
"""At most this many rows, and columns, of a matrix are shown."""


@pictures.register(BlockBiclustering)
@pictures.register(ConvexBiclustering)
def pictures_of_fitted_blocks(model: Any) -> Pictures:
    """The matrix in the order of its biclusters, or what was fitted."""
    displays = {
        "matrix": BiclusterMatrixDisplay,
        "fitted": BiclusterFitDisplay,
        "convergence": ConvergenceDisplay,
    }
    return Pictures(displays, lambda model, X, y: "fitted" if X is None else "matrix")


@pictures.register(SparseSVDBiclustering)
def pictures_of_layers(model: SparseSVDBiclustering) -> Pictures:
    """The matrix in the order of its biclusters, or what was fitted."""
    displays = {
        "matrix": BiclusterMatrixDisplay,
        "fitted": BiclusterFitDisplay,
        "singular_values": BiclusterValuesDisplay,
    }
    return Pictures(displays, lambda model, X, y: "fitted" if X is None else "matrix")


@pictures.register(SpectralBiclustering)
@pictures.register(SpectralCoclustering)
def pictures_of_spectral_biclusters(model: Any) -> Pictures:
    """The matrix in the order of its biclusters, or the singular values that show their number."""
    displays = {"matrix": BiclusterMatrixDisplay, "singular_values": BiclusterValuesDisplay}
    return Pictures(displays, lambda model, X, y: "singular_values" if X is None else "matrix")


@dataclass
class BiclusterMatrixDisplay(Display):
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

    needs: ClassVar[tuple[str, ...]] = ("X",)
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
        return cls(
            matrix=matrix[np.ix_(rows, columns)],
            row_groups=row_groups,
            column_groups=column_groups,
            names=[names[column] for column in columns],
            n_rows=matrix.shape[0],
            title=title,
        )

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
        ax.set(
            xlabel="columns in the order of their clusters",
            ylabel=f"{self.n_rows} rows in the order of their clusters",
            title=self.title,
        )


@dataclass
class BiclusterFitDisplay(BiclusterMatrixDisplay):
    """The matrix that a biclustering fitted, rows and columns in the order of their biclusters.

    Parameters
    ----------
    matrix : array of shape (n_rows, n_columns)
        The fitted entries shown, in that order.
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
    >>> from assay.display import BiclusterFitDisplay
    >>> X = np.kron([[1.0, 5.0], [6.0, 2.0]], np.ones((4, 3)))[::-1]
    >>> BiclusterFitDisplay.from_estimator(BlockBiclustering(random_state=0).fit(X)).matrix.shape
    (8, 6)
    """

    needs: ClassVar[tuple[str, ...]] = ()

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


@dataclass
class BiclusterValuesDisplay(Display):
    """Singular values of the normalised matrix, or values of the layers of a sparse decomposition.

    Parameters
    ----------
    values : array of shape (n_values,)
    xlabel, ylabel, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import SparseSVDBiclustering
    >>> from assay.display import BiclusterValuesDisplay
    >>> X = np.kron([[1.0, 5.0], [6.0, 2.0]], np.ones((4, 3)))
    >>> BiclusterValuesDisplay.from_estimator(SparseSVDBiclustering(2).fit(X)).values.shape
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
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.grid(visible=False, axis="x")
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=self.title)
