"""Coefficients with intervals, as bars or as a matrix; and rows as images."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display, axes_of, drawn_by
from assay.display.plane import column_names, dense, plain, shortened, shortened_apart
from assay.display.style import ACCENT, FAINT_INK, INK, PALETTE, colors
from assay.numbers import shown

MAX_IMAGES = 50


class ImagesDisplay(Display):
    """Rows as images, dark where they are large, each under its label.

    Parameters
    ----------
    rows : array of shape (n_images, n_features)
    image_shape : pair of int
        Rows and columns of an image.
    words : sequence of str
        What to write above each image.

    Examples
    --------
    >>> from assay import datasets, display
    >>> display.ImagesDisplay.from_rows(datasets.digits().X, (8, 8)).rows.shape
    (50, 64)
    >>> X, y = datasets.digits(return_X_y=True)
    >>> display.plot_images(X[:20], (8, 8), y[:20]).get_title()
    '20 images of 8 × 8'
    """

    rows: NDArray
    image_shape: tuple[int, int]
    words: Sequence[str]

    @classmethod
    def from_rows(cls, X: Any, image_shape: tuple[int, int], labels: Any = None, *, ax: Any = None) -> Self:
        """Draw rows as images, dark where they are large, each under its label.

        Parameters
        ----------
        X : array-like of shape (n_images, n_features)
            At most the first 50 rows are drawn.
        image_shape : tuple of two int
            Rows and columns of an image; their product is the number of features.
        labels : array-like of shape (n_images,), optional
            What to write above each image.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        rows = dense(X)
        shape = checked_shape("plot_images", image_shape, rows.shape[1])
        words = [""] * len(rows) if labels is None else [plain(str(label)) for label in labels]
        if len(words) != len(rows):
            raise ValueError(
                f"labels must be as many as the {len(rows)} rows of X. Got {len(words)} instead."
            )
        return cls(rows[:MAX_IMAGES], shape, words[:MAX_IMAGES]).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        draw_sheet(self.rows, self.words, self.image_shape, ax, n_columns=10, cmap="Greys")
        ax.set_title(f"{len(self.rows)} images of {self.image_shape[0]} × {self.image_shape[1]}")


plot_images = drawn_by(ImagesDisplay.from_rows, "plot_images", axes_of)


def draw_sheet(
    rows: NDArray, words: Sequence[str], shape: tuple[int, int], ax: Any, *, n_columns: int, **options: Any
) -> Any:
    """Draw the rows as images on given axes, each under its word; returns the matplotlib image."""
    n_columns = min(len(rows), n_columns)
    gap, head = max(1, shape[1] // 8), max(2, 3 * shape[0] // 8)
    height, width = shape[0] + head, shape[1] + gap
    sheet = np.full((-(-len(rows) // n_columns) * height, n_columns * width - gap), np.nan)
    for index, (values, word) in enumerate(zip(rows, words, strict=True)):
        top, left = (index // n_columns) * height + head, (index % n_columns) * width
        sheet[top : top + shape[0], left : left + shape[1]] = values.reshape(shape)
        place = left + (shape[1] - 1) / 2, top - 0.5 - 0.12 * head
        size = 9.5 if n_columns <= 5 else 8.5
        look = {"ha": "center", "va": "bottom", "fontweight": "bold", "fontsize": size}
        ax.text(*place, shortened(word, 12), **look)
    ax.set_axis_off()
    return ax.imshow(sheet, interpolation="nearest", aspect="equal", **options)


def checked_shape(owner: str, image_shape: Any, n_features: int) -> tuple[int, int]:
    """The two sides of an image, or a refusal."""
    shape = tuple(image_shape) if isinstance(image_shape, (tuple, list)) else (image_shape,)
    whole = all(isinstance(side, (int, np.integer)) and side > 0 for side in shape)
    if len(shape) != 2 or not whole or shape[0] * shape[1] != n_features:
        raise ValueError(
            f"The 'image_shape' parameter of {owner} must be two whole numbers whose product is the number "
            f"of features, {n_features}. Got {image_shape!r} instead."
        )
    return int(shape[0]), int(shape[1])


LEVEL = 0.95


def coefficient_intervals(model: Any, coefficients: NDArray) -> NDArray | None:
    """Intervals of the coefficients, shape (n_rows, n_features, 2), or None.

    A model without `inference`, with a penalty, on columns of deficient rank or on separable classes has
    none: the picture then shows the coefficients alone. The row of a reference class is NaN.
    """
    if not hasattr(model, "inference"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inference = model.inference()
    except (ValueError, np.linalg.LinAlgError):
        return None
    n_rows, n_features = coefficients.shape
    ends, params = (np.asarray(each, dtype=float) for each in (inference.conf_int(LEVEL), inference.params))
    width = n_features + bool(inference.has_intercept)
    if params.ndim == 2:  # a column for each target
        ends, params = np.moveaxis(ends, 2, 0), params.T
    else:  # one row of parameters after the other: one, or one for each class but the reference
        ends, params = ends.reshape(-1, width, 2), params.reshape(-1, width)
    ends, params = ends[:, -n_features:], params[:, -n_features:]
    if not np.isfinite(ends).all():
        return None
    if len(params) == n_rows:
        return ends
    # The reference class is the row of zeros: nothing is estimated there.
    placed = np.full((n_rows, n_features, 2), np.nan)
    others = np.flatnonzero(np.any(coefficients != 0, axis=1))
    if len(others) != len(params) or not np.allclose(coefficients[others], params):
        return None
    placed[others] = ends
    return placed


MAX_COEFFICIENTS = 20

LEGEND_LINE = 13.0
"""Points of a line of a legend."""

MAX_GROUPS = 3
"""Targets or classes with bars of their own; the coefficients of more are a matrix of colours."""

ROWS_PER_INCH = 5.8
"""Names beside a picture that stay readable."""


class CoefficientsDisplay(Display):
    """Coefficients of a linear model, the largest first, with 95% intervals where it has inference.

    Parameters
    ----------
    coefficients : array of shape (n_rows, n_features)
        One row for each target or class.
    names : sequence of str
        Names of the features.
    intervals : array of shape (n_rows, n_features, 2), optional
        Lower and upper ends; NaN where there is none.
    groups : sequence of str, optional
        Names of the rows; "target 0", "target 1", … by default.
    meaning : str, default="coefficient"
        Label of the axis.

    Examples
    --------
    >>> from assay import datasets, display, linear
    >>> X, y = datasets.diabetes(return_X_y=True)
    >>> shown = display.CoefficientsDisplay.from_estimator(linear.LinearRegression().fit(X, y))
    >>> shown.intervals[0, 2].round()
    array([389., 651.])
    """

    coefficients: NDArray
    names: Sequence[str]
    intervals: NDArray | None = None
    groups: Sequence[str] | None = None
    meaning: str = "coefficient"

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        coefficients = np.atleast_2d(np.asarray(estimator.coef_, dtype=float))
        names = column_names(estimator, X, feature_names, coefficients.shape[1])
        return cls(coefficients, names, coefficient_intervals(estimator, coefficients))

    def _draw(self, ax: Any) -> None:
        n_rows, n_features = self.coefficients.shape
        most = min(MAX_COEFFICIENTS, max(4, int(ROWS_PER_INCH * (ax.figure.get_figheight() - 0.7))))
        order = np.argsort(-np.abs(self.coefficients).max(axis=0), kind="stable")[:most][::-1]
        names = shortened_apart([self.names[index] for index in order])
        groups = [f"target {row}" for row in range(n_rows)] if self.groups is None else self.groups
        whiskers = ""
        if n_rows > MAX_GROUPS:
            self._draw_matrix(order, names, groups, ax)
        else:
            self._draw_bars(order, names, groups, ax)
            if self.intervals is not None:
                whiskers = f", with {LEVEL:.0%} intervals"
        some = f"the {order.size} largest of {n_features} coefficients"
        ax.set_title((some if order.size < n_features else "coefficients") + whiskers)

    def _draw_bars(self, order: NDArray, names: Sequence[str], groups: Sequence[str], ax: Any) -> None:
        """A bar for each feature, or one for each target side by side."""
        n_rows = len(self.coefficients)
        height = 0.78 / n_rows
        for row, (values, color) in enumerate(zip(self.coefficients, colors(n_rows), strict=True)):
            places = np.arange(order.size) - (row - (n_rows - 1) / 2) * height
            ax.barh(places, values[order], height=height, color=color, label=shortened(groups[row], 18))
            if self.intervals is not None:
                _draw_whiskers(places, self.intervals[row, order], height, ax)
        ax.axvline(0.0, color=FAINT_INK, linewidth=0.9)
        ax.set_yticks(range(order.size), names)
        ax.grid(axis="y", visible=False)
        middle, half = (order.size - 1) / 2, max(order.size, 4) / 2
        # A few bars are not to fill the frame; below them there is room for a legend.
        high = 72 * ax.figure.get_figheight() - 45
        lines = n_rows * 2 * half * LEGEND_LINE / (high - n_rows * LEGEND_LINE) if n_rows > 1 else 0.0
        ax.set_ylim(middle - half - lines, middle + half)
        ax.set_xlabel(self.meaning)
        ax.xaxis.get_major_locator().set_params(nbins=5)
        if n_rows > 1:
            longer = self.coefficients[:, order].max() < -self.coefficients[:, order].min()
            ax.legend(loc="lower left" if longer else "lower right", handlelength=1.0, borderaxespad=0.1)

    def _draw_matrix(self, order: NDArray, names: Sequence[str], groups: Sequence[str], ax: Any) -> None:
        """Features down, targets or classes across, in two colours that fade towards zero."""
        cells = self.coefficients[:, order].T
        reach = float(np.abs(cells).max()) or 1.0
        draw_tinted(cells / reach, ax)
        words = [shortened(name, 12) for name in groups]
        turned = sum(map(len, words)) > 24
        ax.set_xticks(range(len(words)), words, rotation=90 if turned else 0)
        ax.set_yticks(range(order.size), names)
        ax.set_xlabel(f"from −{shown(reach, 3)} (orange) to {shown(reach, 3)} (blue)")


def draw_tinted(shares: NDArray, ax: Any, *, strongest: float = 0.85) -> None:
    """A matrix of numbers from −1 to 1 as cells: blue above zero, orange below, clear at zero.

    The cells let the ground shine through, so that they suit a dark page as well as a light one.
    """
    from matplotlib.colors import to_rgb

    above, below = (np.array(to_rgb(color)) for color in (PALETTE[0], ACCENT))
    tint = np.where((shares >= 0)[:, :, None], above, below)
    image = np.concatenate([tint, strongest * np.abs(shares)[:, :, None]], axis=2)
    ax.imshow(np.clip(image, 0, 1), aspect="auto", interpolation="nearest")
    ax.grid(visible=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


class ClassCoefficientsDisplay(CoefficientsDisplay):
    """Coefficients of a linear classifier: a bar per class, or a picture per class where rows are images.

    Parameters
    ----------
    coefficients, names, intervals, groups, meaning
        As for `CoefficientsDisplay`; the groups are the classes.
    image_shape : pair of int, optional
        Rows and columns of an image, where the features are its points.

    Examples
    --------
    >>> from assay import datasets, display, linear
    >>> X, y = datasets.digits(return_X_y=True)
    >>> model = linear.LogisticRegression().fit(X[:200], y[:200])
    >>> display.ClassCoefficientsDisplay.from_estimator(model, image_shape=(8, 8)).ax_.get_title()
    'coefficients as 8 × 8 images'
    """

    image_shape: tuple[int, int] | None = None

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None, image_shape: Any = None
    ) -> Self:
        shown = super()._collect(estimator, X, y, feature_names=feature_names)
        words = [plain(str(label)) for label in estimator.classes_]
        one = len(shown.coefficients) == 1
        shown.groups = words[1:] if one else words
        if one:
            shown.meaning = f"coefficient (positive speaks for {shortened(words[1], 18)})"
        if image_shape is not None:
            owner = f"the picture of {type(estimator).__name__}"
            shown.image_shape = checked_shape(owner, image_shape, shown.coefficients.shape[1])
        return shown

    def _draw(self, ax: Any) -> None:
        if self.image_shape is None:
            super()._draw(ax)
        else:
            self._draw_images(ax, self.image_shape)

    def _draw_images(self, ax: Any, shape: tuple[int, int]) -> None:
        """The coefficients of each class as an image, side by side, all on one scale about zero."""
        reach = float(np.abs(self.coefficients).max()) or 1.0
        words = list(self.groups or [])
        picture = draw_sheet(
            self.coefficients, words, shape, ax, n_columns=5, cmap="RdBu_r", vmin=-reach, vmax=reach
        )
        bar = ax.figure.colorbar(picture, ax=ax, fraction=0.04, pad=0.02, shrink=0.8)
        bar.outline.set_visible(False)
        bar.set_label("coefficient")
        ax.set_title(f"coefficients as {shape[0]} × {shape[1]} images")


def _draw_whiskers(places: NDArray, intervals: NDArray, height: float, ax: Any) -> None:
    """A thin line from the lower to the upper end of each interval."""
    known = np.isfinite(intervals).all(axis=1)
    ends = intervals[known]
    middle = ends.mean(axis=1)
    look = {"fmt": "none", "ecolor": INK, "elinewidth": 1.1, "capthick": 1.1, "zorder": 4}
    ax.errorbar(middle, places[known], xerr=middle - ends[:, 0], capsize=min(3.0, 10 * height), **look)
