"""Figures of k-means: frontiers against the best ones, and where initialisations lead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import InitComparison, quantize_colors
from assay.display.base import Display, axes_of, drawn_by
from assay.display.plane import dense, limits_around
from assay.display.style import ACCENT, DASHES, FAINT_INK, INK, PALETTE, caption, colors, write_beside
from assay.randomness import RandomState

GRID = 301
N_COLORS = (2, 4, 8, 16, 32, 64)


class FrontiersDisplay(Display):
    """The frontiers of a clusterer of two features over those of the law that the rows come from.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
    classes : array of int of shape (n_rows,)
        The true classes, shown by colour.
    across, up : arrays of shape (n_across,) and (n_up,)
        Coordinates of a grid of points.
    labels, best : arrays of int of shape (n_up, n_across)
        What the clusterer, and the best rule, say there.
    name : str
        Of the clusterer.

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> law = datasets.Blobs(centers=[[0.0, 0.0], [4.0, 0.0]], cluster_std=[0.5, 2.0])
    >>> X, y = law.sample(300, random_state=0)
    >>> display.FrontiersDisplay.from_law(cluster.KMeans(2, random_state=0).fit(X), law, X, y).labels.shape
    (301, 301)
    """

    points: NDArray
    classes: NDArray
    across: NDArray
    up: NDArray
    labels: NDArray
    best: NDArray
    name: str

    @classmethod
    def from_law(cls, estimator: Any, law: Any, X: Any, y: Any = None, *, ax: Any = None) -> Self:
        """Ask a clusterer and the law at every point of a grid, as `plot_cluster_frontiers`."""
        points = dense(X)
        if points.shape[1] != 2:
            raise ValueError(
                f"plot_cluster_frontiers needs rows of 2 features. X has {points.shape[1]} instead."
            )
        classes = np.zeros(len(points), dtype=int) if y is None else np.unique(y, return_inverse=True)[1]
        low, high = limits_around(points)
        across, up = np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID)
        mesh = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
        labels = np.asarray(estimator.predict(mesh)).reshape(GRID, GRID)
        best = np.searchsorted(law.classes, law.bayes_rule(mesh)).reshape(GRID, GRID)
        return cls(points, classes, across, up, labels, best, type(estimator).__name__).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        palette = np.array(colors(int(self.classes.max()) + 1), dtype=object)
        ax.scatter(*self.points.T, c=list(palette[self.classes]), s=10, alpha=0.6, linewidths=0.0)
        self._draw_frontier(ax, self.best, INK, DASHES, "best rule, knowing the law")
        self._draw_frontier(ax, self.labels, ACCENT, "-", self.name)
        ax.legend(loc="best")
        ax.grid(visible=False)
        ax.set(xlim=(self.across[0], self.across[-1]), ylim=(self.up[0], self.up[-1]))
        caption(ax, "x0", "x1", f"frontiers of {self.name} and of the best rule")

    def _draw_frontier(self, ax: Any, labels: NDArray, color: str, line: Any, name: str) -> None:
        """Lines between the regions of a map of labels."""
        for value in np.unique(labels)[:-1]:
            look = {"levels": [0.5], "colors": [color], "linestyles": [line], "linewidths": 1.8}
            ax.contour(self.across, self.up, (labels == value).astype(float), **look)
        ax.plot([], [], label=name, color=color, linestyle=line)


def plot_cluster_frontiers(model: Any, law: Any, X: Any, y: Any = None, *, ax: Any = None) -> Any:
    """Draw the frontiers of a fitted clusterer over those of the law that the rows come from.

    The cells of k-means have straight sides; the best partition, which knows the law, follows its posterior.

    Parameters
    ----------
    model : fitted clusterer of two features
        With `predict`.
    law : law of `assay.datasets`
        With `bayes_rule`.
    X : array-like of shape (n_samples, 2)
        Rows to show.
    y : array-like of shape (n_samples,), optional
        Their true classes, shown by colour.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> law = datasets.Blobs(centers=[[0.0, 0.0], [4.0, 0.0]], cluster_std=[0.5, 2.0])
    >>> X, y = law.sample(300, random_state=0)
    >>> display.plot_cluster_frontiers(cluster.KMeans(2, random_state=0).fit(X), law, X, y).get_title()
    'frontiers of KMeans and of the best rule'
    """
    return FrontiersDisplay.from_law(model, law, X, y, ax=ax).ax_


class InitsDisplay(Display):
    """Where k-means ends from many seeds: one line of dots for each initialisation.

    Parameters
    ----------
    inits : sequence of str
        The initialisations.
    excess : array of shape (n_inits, n_seeds)
        Inertias over the smallest of all fits, minus 1.
    success : array of shape (n_inits,)
        Share of the seeds that end within 0.1% of it.
    n_iter : array of shape (n_inits,)
        Mean number of iterations.

    Examples
    --------
    >>> from assay.cluster import compare_inits
    >>> from assay.datasets import iris
    >>> from assay.display import InitsDisplay, plot_inits
    >>> X, _ = iris(return_X_y=True)
    >>> InitsDisplay.from_comparison(compare_inits(X, 3, n_seeds=5, random_state=0)).excess.shape
    (3, 5)
    >>> plot_inits(compare_inits(X, 3, n_seeds=5, random_state=0)).get_xlabel()
    'inertia above the smallest of all'
    """

    inits: Sequence[str]
    excess: NDArray
    success: NDArray
    n_iter: NDArray

    @classmethod
    def from_comparison(cls, comparison: InitComparison, *, ax: Any = None) -> Self:
        """Draw where k-means ends from many seeds: one line of dots for each initialisation.

        Parameters
        ----------
        comparison : InitComparison
            Result of `assay.cluster.compare_inits`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        n_iter = comparison.n_iter.mean(axis=1)
        return cls(comparison.inits, comparison.excess, comparison.success(), n_iter).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        excess, n_inits = 100.0 * self.excess, len(self.inits)
        scatter = np.random.default_rng(0).uniform(-0.22, 0.22, excess.shape)
        for line in range(n_inits):
            color = PALETTE[line % len(PALETTE)]
            ax.scatter(excess[line], line + scatter[line], s=16, color=color, alpha=0.6, linewidths=0.0)
            median = float(np.median(excess[line]))
            ax.plot([median, median], [line - 0.34, line + 0.34], color=INK, linewidth=2.2)
            words = f"{self.success[line]:.0%} within 0.1%, {self.n_iter[line]:.1f} iterations"
            look = {"ha": "right", "va": "baseline", "fontsize": 8.5, "color": FAINT_INK}
            write_beside(words, (1.0, line), ax, by=(-4, 26), xycoords=("axes fraction", "data"), **look)
        ax.set_yticks(range(n_inits), self.inits)
        ax.set_ylim(n_inits - 0.4, -0.6)
        ax.xaxis.set_major_formatter("{x:.3g}%")
        ax.grid(visible=False, axis="y")
        title = f"where k-means ends, {excess.shape[1]} seeds each"
        ax.set(xlabel="inertia above the smallest of all", title=title)


plot_inits = drawn_by(InitsDisplay.from_comparison, "plot_inits", axes_of)


class ColorQuantizationDisplay(Display):
    """An image, the image in few colours, and the distortion against the number of colours.

    Parameters
    ----------
    n_colors : sequence of int
    distortions : array of shape (n_numbers,)
        Mean squared error of a pixel at each.
    images : sequence of pairs (str, array of shape (height, width, 3))
        The images shown, with their titles.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import ColorQuantizationDisplay, plot_color_quantization
    >>> y, x = np.mgrid[0:1:24j, 0:1:32j]
    >>> display = ColorQuantizationDisplay.from_image(np.stack([x, y, 1 - x], axis=2), (2, 4, 8))
    >>> [title for title, _ in display.images]
    ['original', '2 colours', '4 colours']
    >>> plot_color_quantization(np.stack([x, y, 1 - x], axis=2), (2, 4, 8)).get_ylabel()
    'mean squared error of a pixel'
    """

    n_colors: Sequence[int]
    distortions: NDArray
    images: Sequence[tuple[str, NDArray]]

    @classmethod
    def from_image(
        cls, image: Any, n_colors: Sequence[int] = N_COLORS, *, random_state: RandomState = 0, ax: Any = None
    ) -> Self:
        """Draw an image, the image in few colours, and the distortion against the number of colours.

        Parameters
        ----------
        image : array-like of shape (height, width, 3)
            See `assay.cluster.quantize_colors`.
        n_colors : sequence of int
            Numbers of colours; the images of the first and the middle one are shown.
        random_state : None, int, Generator, SeedSequence or RandomState, default=0
            Where the initial colours come from.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        counts = [int(count) for count in n_colors]
        reduced = [quantize_colors(image, count, random_state=random_state) for count in counts]
        original = np.asarray(image)
        original = original / 255.0 if original.dtype.kind in "iu" else original
        shown = [("original", original)]
        shown += [(f"{counts[place]} colours", reduced[place].image) for place in (0, len(counts) // 2)]
        return cls(counts, np.array([one.distortion for one in reduced]), shown).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.n_colors, self.distortions, "o-", color=PALETTE[0])
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        low, high = ax.get_ylim()
        ax.set_ylim(low, high * (high / low) ** 0.9)  # the images stand above the curve
        for place, (title, picture) in enumerate(self.images):
            inset = ax.inset_axes((0.01 + 0.335 * place, 0.54, 0.32, 0.38))
            inset.imshow(np.clip(picture, 0.0, 1.0))
            inset.set_axis_off()
            inset.set_title(title, fontsize=9, pad=3)
        ax.set_xticks(self.n_colors, [str(count) for count in self.n_colors])
        ax.minorticks_off()
        ax.set(xlabel="colours", ylabel="mean squared error of a pixel", title="an image in few colours")


plot_color_quantization = drawn_by(ColorQuantizationDisplay.from_image, "plot_color_quantization", axes_of)
