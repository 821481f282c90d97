"""Pictures of overlapping clusters of columns: their loadings, and how δ was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import OverlappingClustering
from assay.display.base import Display
from assay.display.columns import column_names, dense, shortened
from assay.display.registry import Pictures, pictures
from assay.display.style import ACCENT, INK, PALETTE

MAX_NAMED = 40


@pictures.register(OverlappingClustering)
def pictures_of_overlaps(model: OverlappingClustering) -> Pictures:
    """The loadings, or what cross-validation compared."""
    displays = {"loadings": OverlapLoadingsDisplay, "cross_validation": OverlapErrorsDisplay}
    return Pictures(displays, lambda model, X, y: "loadings")


@dataclass
class OverlapLoadingsDisplay(Display):
    """One line a column of the table, one column a cluster; pure variables first, in a frame.

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
        ax.set_yticks(
            np.arange(len(self.names)) if few else [],
            [shortened(name, 18) for name in self.names] if few else [],
        )
        ax.set_xticks(np.arange(self.loadings.shape[1]))
        ax.grid(visible=False)
        bar = ax.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02)
        bar.outline.set_visible(False)
        ax.set(
            xlabel="cluster",
            ylabel="variable" if few else f"{len(self.names)} variables",
            title=f"loadings: {sum(self.pure_sizes)} pure variables framed, "
            f"{self.n_overlaps} in several clusters",
        )


@dataclass
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
        ax.axvline(self.delta, color=ACCENT, linewidth=1.0, linestyle=(0, (4, 3)))
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set(xlabel="δ", ylabel="error at the other half", title=f"δ = {self.delta:.3g}")
