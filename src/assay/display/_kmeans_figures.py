"""Figures of k-means: frontiers against the best ones, iterations, initialisations, images in few colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster import InitComparison, quantize_colors
from assay.display._columns import dense
from assay.display._flat_map import limits_around
from assay.display._style import ACCENT, FAINT_INK, INK, PALETTE, colors, house_style, new_axes
from assay.randomness import RandomState

GRID = 301


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
    >>> from assay.cluster import KMeans
    >>> from assay.datasets import Blobs
    >>> from assay.display import plot_cluster_frontiers
    >>> law = Blobs(centers=[[0.0, 0.0], [4.0, 0.0]], cluster_std=[0.5, 2.0])
    >>> X, y = law.sample(300, random_state=0)
    >>> plot_cluster_frontiers(KMeans(2, random_state=0).fit(X), law, X, y).get_title()
    'frontiers of KMeans and of the best rule'
    """
    points = dense(X)
    if points.shape[1] != 2:
        raise ValueError(f"plot_cluster_frontiers needs rows of 2 features. X has {points.shape[1]} instead.")
    classes = np.zeros(len(points), dtype=int) if y is None else np.unique(y, return_inverse=True)[1]
    low, high = limits_around(points)
    xs, ys = np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID)
    mesh = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    found = np.asarray(model.predict(mesh)).reshape(GRID, GRID)
    best = np.searchsorted(law.classes, law.bayes_rule(mesh)).reshape(GRID, GRID)
    with house_style():
        axes = new_axes(ax)
        palette = np.array(colors(int(classes.max()) + 1), dtype=object)
        axes.scatter(*points.T, c=list(palette[classes]), s=10, alpha=0.6, linewidths=0.0)
        _frontier(axes, xs, ys, best, color=INK, linestyle=(0, (4, 3)), label="best rule, knowing the law")
        _frontier(axes, xs, ys, found, color=ACCENT, linestyle="-", label=type(model).__name__)
        axes.legend(loc="best")
        axes.grid(visible=False)
        axes.set(
            xlabel="x0",
            ylabel="x1",
            xlim=(low[0], high[0]),
            ylim=(low[1], high[1]),
            title=f"frontiers of {type(model).__name__} and of the best rule",
        )
        return axes


def _frontier(ax: Any, xs: NDArray, ys: NDArray, labels: NDArray, *, label: str, **style: Any) -> None:
    """Lines between the regions of a map of labels."""
    for value in np.unique(labels)[:-1]:
        ax.contour(
            xs,
            ys,
            (labels == value).astype(float),
            levels=[0.5],
            colors=[style["color"]],
            linestyles=[style["linestyle"]],
            linewidths=1.8,
        )
    ax.plot([], [], label=label, **style)


def plot_inits(comparison: InitComparison, *, ax: Any = None) -> Any:
    """Draw where k-means ends from many seeds: one line of dots for each initialisation.

    Parameters
    ----------
    comparison : InitComparison
        What `assay.cluster.compare_inits` found.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from assay.cluster import compare_inits
    >>> from assay.datasets import iris
    >>> from assay.display import plot_inits
    >>> X, _ = iris(return_X_y=True)
    >>> plot_inits(compare_inits(X, 3, n_seeds=5, random_state=0)).get_xlabel()
    'inertia above the smallest of all'
    """
    excess, n_inits = 100.0 * comparison.excess, len(comparison.inits)
    scatter = np.random.default_rng(0).uniform(-0.22, 0.22, excess.shape)
    with house_style():
        axes = new_axes(ax)
        for line in range(n_inits):
            color = PALETTE[line % len(PALETTE)]
            axes.scatter(excess[line], line + scatter[line], s=16, color=color, alpha=0.6, linewidths=0.0)
            median = float(np.median(excess[line]))
            axes.plot([median, median], [line - 0.34, line + 0.34], color=INK, linewidth=2.2)
            share, n_iter = comparison.success()[line], comparison.n_iter[line].mean()
            axes.annotate(
                f"{share:.0%} within 0.1 %, {n_iter:.1f} iterations",
                (1.0, line),
                xycoords=("axes fraction", "data"),
                xytext=(-4, 26),
                textcoords="offset points",
                ha="right",
                fontsize=8.5,
                color=FAINT_INK,
            )
        axes.set_yticks(range(n_inits), comparison.inits)
        axes.set_ylim(n_inits - 0.4, -0.6)
        axes.xaxis.set_major_formatter("{x:.3g} %")
        axes.grid(visible=False, axis="y")
        n_seeds = excess.shape[1]
        axes.set(
            xlabel="inertia above the smallest of all", title=f"where k-means ends, {n_seeds} seeds each"
        )
        return axes


def plot_color_quantization(
    image: Any,
    n_colors: Sequence[int] = (2, 4, 8, 16, 32, 64),
    *,
    random_state: RandomState = 0,
    ax: Any = None,
) -> Any:
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
        Where to draw the distortion, with the images above it; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import plot_color_quantization
    >>> y, x = np.mgrid[0:1:24j, 0:1:32j]
    >>> plot_color_quantization(np.stack([x, y, 1 - x], axis=2), (2, 4, 8)).get_ylabel()
    'mean squared error of a pixel'
    """
    counts = [int(count) for count in n_colors]
    found = [quantize_colors(image, count, random_state=random_state) for count in counts]
    original = np.asarray(image)
    original = original / 255.0 if original.dtype.kind in "iu" else original
    with house_style():
        axes = new_axes(ax)
        axes.plot(counts, [one.distortion for one in found], "o-", color=PALETTE[0])
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * (high / low) ** 0.9)  # the images stand above the curve
        shown = [("original", original)]
        shown += [(f"{counts[place]} colours", found[place].image) for place in (0, len(counts) // 2)]
        for place, (title, picture) in enumerate(shown):
            inset = axes.inset_axes((0.01 + 0.335 * place, 0.54, 0.32, 0.38))
            inset.imshow(np.clip(picture, 0.0, 1.0))
            inset.set_axis_off()
            inset.set_title(title, fontsize=9, pad=3)
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.minorticks_off()
        axes.set(
            xlabel="colours",
            ylabel="mean squared error of a pixel",
            title="an image in few colours",
        )
        return axes
