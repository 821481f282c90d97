"""Rows as images, side by side on one sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.columns import dense, plain, shortened

MAX_IMAGES = 50


@dataclass
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
    >>> from assay.datasets import digits
    >>> from assay.display import ImagesDisplay
    >>> ImagesDisplay.from_rows(digits().X, (8, 8)).rows.shape
    (50, 64)
    """

    rows: NDArray
    image_shape: tuple[int, int]
    words: Sequence[str]

    @classmethod
    def from_rows(cls, X: Any, image_shape: Any, labels: Any = None, *, ax: Any = None) -> Self:
        """Take the first rows of a table, and draw them."""
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


def plot_images(X: Any, image_shape: tuple[int, int], labels: Any = None, *, ax: Any = None) -> Any:
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

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from assay.datasets import digits
    >>> from assay.display import plot_images
    >>> X, y = digits(return_X_y=True)
    >>> plot_images(X[:20], (8, 8), y[:20]).get_title()
    '20 images of 8 × 8'
    """
    return ImagesDisplay.from_rows(X, image_shape, labels, ax=ax).ax_


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
        ax.text(
            left + (shape[1] - 1) / 2,
            top - 0.5 - 0.12 * head,
            shortened(word, 12),
            ha="center",
            va="bottom",
            fontsize=9.5 if n_columns <= 5 else 8.5,
            fontweight="bold",
        )
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
