"""Pictures of features of kernels, and of centroids in an RKHS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.pictures import ConfusionDisplay
from assay.display.discriminant.frontier import FrontierDisplay
from assay.display.plane import column_names, dense, plain, sampled, shortened
from assay.display.registry import Default, declare
from assay.display.style import ACCENT, DASHES, FAINT_INK, PALETTE, caption, colors
from assay.kernel_machines import KernelNearestCentroid, Nystroem, RandomFourierFeatures
from assay.kernel_machines.features.base import evenly_spaced
from assay.kernel_machines.features.spectral_laws import squared_length_share

MOST_ROWS = 120
"""Rows whose pairs are shown."""


class KernelErrorDisplay(Display, needs=("X",)):
    """What features make of the kernel: ⟨φ(x), φ(z)⟩ against k(x, z) over pairs of rows.

    Parameters
    ----------
    exact, approximate : arrays of shape (n_pairs,)
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import display, kernel_machines
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = kernel_machines.Nystroem(n_components=10, random_state=0).fit(X)
    >>> display.KernelErrorDisplay.from_estimator(model, X).exact.shape
    (1275,)
    """

    exact: NDArray
    approximate: NDArray
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        rows = dense(X)
        rows = rows[evenly_spaced(len(rows), MOST_ROWS)]
        pairs = np.triu_indices(len(rows))
        features = np.asarray(estimator._map()(rows), dtype=float)
        exact, approximate = estimator.kernel_.gram(rows)[pairs], (features @ features.T)[pairs]
        error = float(np.abs(exact - approximate).max())
        return cls(exact, approximate, f"{features.shape[1]} features, largest error {error:.2g}")

    def _draw(self, ax: Any) -> None:
        shown = sampled(len(self.exact))
        low, high = float(self.exact.min()), float(self.exact.max())
        ax.plot([low, high], [low, high], color=FAINT_INK, linewidth=1.1)
        look = {"s": 9, "alpha": 0.35, "linewidths": 0, "color": PALETTE[0], "rasterized": len(shown) > 1000}
        ax.scatter(self.exact[shown], self.approximate[shown], **look)
        caption(ax, "kernel k(x, z)", "inner product of the features", self.title)


class LandmarkSpectrumDisplay(Display):
    """Eigenvalues of the kernel matrix of the landmarks, and those that are inverted.

    Parameters
    ----------
    values : array of shape (n_landmarks,)
        Largest first.
    rank : int
        How many are inverted.
    trace_error : float
        Share of the trace of K that is lost.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import LandmarkSpectrumDisplay
    >>> LandmarkSpectrumDisplay(np.array([3.0, 1.0, 1e-18]), 2, 0.1).plot().ax_.get_title()
    '2 of 3 eigenvalues inverted, 10% of the trace lost'
    """

    values: NDArray
    rank: int
    trace_error: float

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        values = np.asarray(estimator.eigenvalues_, dtype=float)
        return cls(values, int(estimator.rank_), float(estimator.trace_error_))

    def _draw(self, ax: Any) -> None:
        places, top = np.arange(1, len(self.values) + 1), max(float(self.values[0]), 1e-300)
        ax.plot(places, np.maximum(self.values / top, 1e-18), "o-", color=PALETTE[0], markersize=3)
        if self.rank < len(self.values):
            ax.axvline(self.rank + 0.5, color=ACCENT, linewidth=1.3, linestyle=DASHES)
        ax.set_yscale("log")
        lost = f"{100 * max(self.trace_error, 0.0):.2g}% of the trace lost"
        words = f"{self.rank} of {len(self.values)} eigenvalues inverted, {lost}"
        caption(ax, "number", "eigenvalue over the largest", words)


class LandmarksDisplay(Display, needs=("X",)):
    """Rows, and the landmarks among them, in the plane of two features or of two principal axes.

    Parameters
    ----------
    points, landmarks : arrays of shape (n, 2)
    names : sequence of two str
    scheme : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import display, kernel_machines
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = kernel_machines.Nystroem(n_components=10, landmarks="pivoted_cholesky").fit(X)
    >>> display.LandmarksDisplay.from_estimator(model, X).landmarks.shape
    (10, 2)
    """

    points: NDArray
    landmarks: NDArray
    names: Sequence[str]
    scheme: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        rows, landmarks = dense(X), np.asarray(estimator.components_, dtype=float)
        names = column_names(estimator, X, feature_names, rows.shape[1])
        if rows.shape[1] == 1:
            rows, landmarks = (np.column_stack([part, np.zeros(len(part))]) for part in (rows, landmarks))
            names = [*names, ""]
        elif rows.shape[1] > 2:
            center = rows.mean(axis=0)
            axes = np.linalg.svd(rows[sampled(len(rows))] - center, full_matrices=False)[2][:2]
            rows, landmarks = (rows - center) @ axes.T, (landmarks - center) @ axes.T
            names = ["first principal axis", "second principal axis"]
        return cls(rows[sampled(len(rows))], landmarks, names, str(estimator.landmarks))

    def _draw(self, ax: Any) -> None:
        ax.scatter(*self.points.T, s=12, color=FAINT_INK, alpha=0.4, linewidths=0)
        ax.scatter(*self.landmarks.T, s=26, color=ACCENT, linewidths=0, label="landmarks")
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        caption(ax, self.names[0], self.names[1], f"{len(self.landmarks)} landmarks, {self.scheme}")


class FrequencyLengthsDisplay(Display):
    """Lengths of random frequencies against their law: on the line where the law is met.

    Parameters
    ----------
    shares : array of shape (n_components,)
        Value of the law's distribution function at each length.
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import FrequencyLengthsDisplay
    >>> FrequencyLengthsDisplay(np.array([0.2, 0.8]), "two").plot().ax_.get_title()
    'two'
    """

    shares: NDArray
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        shares = squared_length_share(estimator.kernel_, np.asarray(estimator.random_weights_, dtype=float))
        words = "orthogonal frequencies" if estimator.orthogonal else "frequencies"
        return cls(
            shares, f"{len(shares)} {words} of {estimator.kernel}, gamma = {estimator.kernel_.gamma:.3g}"
        )

    def _draw(self, ax: Any) -> None:
        ordered, n = np.sort(self.shares), len(self.shares)
        ax.plot([0, 1], [0, 1], color=FAINT_INK, linewidth=1.1)
        ax.step(np.append(ordered, 1.0), np.append(np.arange(1, n + 1) / n, 1.0), where="post")
        caption(ax, "share of shorter ones by the law", "share of shorter ones among the draws", self.title)


class CentroidDistancesDisplay(Display):
    """Distances between class centroids in the RKHS, and how far rows of a class are from its own.

    Parameters
    ----------
    distances : array of shape (n_classes, n_classes)
        Between centroids; on the diagonal the root of the mean squared distance of the rows of the class.
    names : sequence of str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import CentroidDistancesDisplay
    >>> CentroidDistancesDisplay(np.array([[1.0, 2.0], [2.0, 0.5]]), ["a", "b"]).plot().ax_.get_xlabel()
    'centroid of class'
    """

    distances: NDArray
    names: Sequence[str]

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        rows = estimator.X_fit_
        coef = np.asarray(estimator.dual_coef_)
        inner = np.asarray(coef.T @ estimator.kernel_.apply(rows, rows, coef), dtype=float)
        norms = inner.diagonal()
        distances = np.sqrt(np.maximum(norms[:, None] + norms - 2 * inner, 0.0))
        np.fill_diagonal(distances, np.sqrt(np.maximum(estimator.dispersion_, 0.0)))
        return cls(distances, [plain(str(label)) for label in estimator.classes_])

    def _draw(self, ax: Any) -> None:
        n_classes = len(self.names)
        width = 0.8 / n_classes
        for place, (row, color) in enumerate(zip(self.distances, colors(n_classes), strict=True)):
            left = np.arange(n_classes) + (place - (n_classes - 1) / 2) * width
            ax.bar(left, row, width=0.9 * width, color=color, label=shortened(self.names[place], 16))
        ax.set_xticks(range(n_classes), [shortened(name, 16) for name in self.names])
        ax.legend(title="from class", loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        words = "to its own centroid: root mean square of the rows"
        caption(ax, "centroid of class", "distance in the RKHS", words)


declare(
    Nystroem,
    default=Default("kernel", "spectrum"),
    kernel=KernelErrorDisplay,
    spectrum=LandmarkSpectrumDisplay,
    landmarks=LandmarksDisplay,
)
declare(
    RandomFourierFeatures,
    default=Default("kernel", "frequencies"),
    kernel=KernelErrorDisplay,
    frequencies=FrequencyLengthsDisplay,
)


def _default(model: KernelNearestCentroid, X: Any, y: Any) -> str:
    """The frontier on data of two features or more, else distances between centroids."""
    plane = X is not None and model.n_features_in_ > 1 and not model._is_precomputed
    return "frontier" if plane else "centroids"


declare(
    KernelNearestCentroid,
    default=_default,
    frontier=FrontierDisplay,
    centroids=CentroidDistancesDisplay,
    confusion=ConfusionDisplay,
)
