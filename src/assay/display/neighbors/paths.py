"""Curves over the number of neighbours: errors with the choice, shares of the classes around a row."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.linear.pictures import OfSelection
from assay.display.plane import plain, shortened
from assay.display.style import (
    ACCENT,
    DASHES,
    FAINT_INK,
    PALETTE,
    caption,
    colors,
    whole_numbers,
    write_beside,
)


class NeighborPathDisplay(OfSelection):
    """The error of every number of neighbours, its standard error, and the choice.

    Parameters
    ----------
    n_neighbors : array of shape (n_values,)
    error, standard_error : arrays of shape (n_values,)
    held_out : tuple of two arrays or None
        Error and standard error on rows that the fit has not seen.
    chosen : int
        The number of neighbours marked.
    error_name, title : str

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.display import NeighborPathDisplay
    >>> from assay.neighbors import KNeighborsClassifier
    >>> X, y = iris(return_X_y=True)
    >>> NeighborPathDisplay.from_estimator(KNeighborsClassifier(7).fit(X, y)).chosen
    7
    """

    n_neighbors: NDArray
    error: NDArray
    standard_error: NDArray
    held_out: tuple[NDArray, NDArray] | None
    chosen: int
    error_name: str
    title: str

    @classmethod
    def from_path(cls, path: Any, *, ax: Any = None) -> Self:
        """Draw the errors along a path, the least one marked.

        Parameters
        ----------
        path : assay.neighbors.NeighborPath
        ax : matplotlib Axes, optional

        Returns
        -------
        display : NeighborPathDisplay
        """
        name = "held-out error" if path.held_out else "leave-one-out error"
        title = f"least {name} {path.error.min():.3g} with {path.best} neighbours"
        return cls(path.n_neighbors, path.error, path.standard_error, None, path.best, name, title).plot(
            ax=ax
        )

    @classmethod
    def _read(cls, selection: Any) -> Self:
        counts, curve = np.asarray(selection.values), np.asarray(selection.curve)
        title = f"rule {selection.rule!r} chooses {selection.best} neighbours"
        name, error = str(selection.criterion), np.asarray(selection.standard_error)
        return cls(counts, curve, error, None, int(selection.best), name, title)

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, max_neighbors: int | None = None, feature_names: Any = None
    ) -> Self:
        path = estimator.score_path(max_neighbors=max_neighbors)
        name = "leave-one-out error"
        title = f"least {name} {path.error.min():.3g} with {path.best} neighbours"
        return cls(
            path.n_neighbors, path.error, path.standard_error, None, estimator.n_neighbors_, name, title
        )

    def _draw(self, ax: Any) -> None:
        low, high = self.error - self.standard_error, self.error + self.standard_error
        ax.fill_between(self.n_neighbors, low, high, color=PALETTE[0], alpha=0.18, lw=0)
        ax.plot(self.n_neighbors, self.error, color=PALETTE[0], label=self.error_name)
        if self.held_out is not None:
            ax.plot(self.n_neighbors, self.held_out[0], color=PALETTE[1], label="held-out error")
            ax.legend()
        best = int(np.argmin(self.error))
        ax.plot(self.n_neighbors[best], self.error[best], "o", color=PALETTE[0], markersize=7)
        if self.n_neighbors[0] <= self.chosen <= self.n_neighbors[-1]:
            ax.axvline(self.chosen, color=ACCENT, linestyle=DASHES, linewidth=1.2)
            look: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "color": ACCENT, "va": "top"}
            write_beside(f"k = {self.chosen}", (self.chosen, 1.0), ax, by=(4, -2), **look)
        whole_numbers(ax)
        caption(ax, "number of neighbours k", self.error_name, self.title)


class NeighborSharesDisplay(Display, needs=("X",)):
    """Shares of the classes among the k nearest rows of one query, as k grows.

    Parameters
    ----------
    n_neighbors : array of shape (n_values,)
    shares : array of shape (n_values, n_classes)
    names : sequence of str
    chosen : int
        The number of neighbours of the model.
    title : str

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.display import NeighborSharesDisplay
    >>> from assay.neighbors import KNeighborsClassifier
    >>> X, y = iris(return_X_y=True)
    >>> model = KNeighborsClassifier().fit(X, y)
    >>> NeighborSharesDisplay.from_estimator(model, X, row=70, max_neighbors=60).shares.shape
    (60, 3)
    """

    n_neighbors: NDArray
    shares: NDArray
    names: list[str]
    chosen: int
    title: str

    @classmethod
    def _collect(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        row: int = 0,
        max_neighbors: int | None = None,
        feature_names: Any = None,
    ) -> Self:
        query = X.iloc[row : row + 1] if hasattr(X, "iloc") else X[row : row + 1]
        shares = estimator.vote_path(query, max_neighbors=max_neighbors)[0]
        names = [plain(str(label)) for label in estimator.classes_]
        title = f"classes among the nearest rows of row {row}"
        return cls(np.arange(1, len(shares) + 1), shares, names, int(estimator.n_neighbors_), title)

    def _draw(self, ax: Any) -> None:
        palette = colors(len(self.names))
        labels = [shortened(name, 18) for name in self.names]
        ax.stackplot(self.n_neighbors, self.shares.T, colors=palette, alpha=0.75, labels=labels, lw=0)
        ax.axvline(self.chosen, color=FAINT_INK, linestyle=DASHES, linewidth=1.2)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        ax.set(xlim=(self.n_neighbors[0], self.n_neighbors[-1]), ylim=(0.0, 1.0))
        whole_numbers(ax)
        caption(ax, "number of neighbours k", "share of the class", self.title)


class NeighborDistanceDisplay(Display):
    """Distances to the nearest rows: the median over the rows of the fit, and the middle nine tenths.

    Parameters
    ----------
    n_neighbors : array of shape (n_values,)
    quantiles : array of shape (3, n_values)
        The 5 %, 50 % and 95 % quantiles of the distance to the first, second, … neighbour.
    radius : float or None
        That within which a model looks for neighbours, where it answers by them.
    title : str

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.display import NeighborDistanceDisplay
    >>> from assay.neighbors import NearestNeighbors
    >>> model = NearestNeighbors().fit(iris().X)
    >>> NeighborDistanceDisplay.from_estimator(model).quantiles.shape
    (3, 20)
    """

    n_neighbors: NDArray
    quantiles: NDArray
    radius: float | None
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        most = max(1, min(20, estimator._n_kept - 1))
        distances = estimator._searching().nearest(most).distances
        quantiles = np.quantile(np.asarray(distances, dtype=float), [0.05, 0.5, 0.95], axis=0)
        counts, title = np.arange(1, most + 1), f"distances of {len(distances)} rows to their neighbours"
        if hasattr(estimator, "n_neighbors"):
            return cls(counts, quantiles, None, title)
        radius = float(estimator.radius)
        alone = float(np.mean(np.asarray(distances)[:, 0] > radius))
        return cls(
            counts, quantiles, radius, f"{alone:.0%} of {len(distances)} rows have no neighbour within r"
        )

    def _draw(self, ax: Any) -> None:
        ax.fill_between(
            self.n_neighbors, self.quantiles[0], self.quantiles[2], color=PALETTE[0], alpha=0.18, lw=0
        )
        ax.plot(self.n_neighbors, self.quantiles[1], color=PALETTE[0], marker="o", markersize=4)
        if self.radius is not None:
            ax.axhline(self.radius, color=ACCENT, linestyle=DASHES, linewidth=1.2)
            look: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "color": ACCENT}
            write_beside(f"r = {self.radius:g}", (0.0, self.radius), ax, by=(4, 3), **look)
        whole_numbers(ax)
        caption(ax, "number of the neighbour", "distance (median, 5% to 95%)", self.title)


class BandwidthDisplay(Display):
    """The leave-one-out loss of each bandwidth, and the choice.

    Parameters
    ----------
    bandwidths, losses : arrays of shape (n_values,)
    chosen : float
    loss_name, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import BandwidthDisplay
    >>> from assay.neighbors import NadarayaWatsonRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = NadarayaWatsonRegressor().fit(X, np.sin(X[:, 0]))
    >>> shown = BandwidthDisplay.from_estimator(model)
    >>> shown.chosen == shown.bandwidths[np.argmin(shown.losses)]
    np.True_
    """

    bandwidths: NDArray
    losses: NDArray
    chosen: float
    loss_name: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if estimator.bandwidths_ is None:
            raise ValueError(
                f"The 'bandwidth' picture of {type(estimator).__name__} needs a choice of it: fit with "
                "bandwidth='leave_one_out'."
            )
        name = "mean −log share of the class" if hasattr(estimator, "classes_") else "mean squared error"
        title = f"bandwidth {estimator.bandwidth_:.3g} has the least leave-one-out loss"
        return cls(estimator.bandwidths_, estimator.leave_one_out_losses_, estimator.bandwidth_, name, title)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.bandwidths, self.losses, color=PALETTE[0], marker="o", markersize=4)
        ax.axvline(self.chosen, color=ACCENT, linestyle=DASHES, linewidth=1.2)
        ax.set_xscale("log")
        caption(ax, "bandwidth", f"leave-one-out {self.loss_name}", self.title)
