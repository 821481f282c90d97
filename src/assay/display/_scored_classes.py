"""What the pictures of scores of classes share: a class against all others, a curve each, and a legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.display._class_scores import labels_of
from assay.display._columns import plain, shortened
from assay.display._display import Display
from assay.display._style import PALETTE, colors

MAX_CURVES = 8
"""Classes with a curve of their own; of more, the most frequent ones are drawn."""


class ScoredClassesDisplay(Display):
    """What the three pictures share: they read scores of classes, one class against all others."""

    needs: ClassVar[tuple[str, ...]] = ("X", "y")
    # Reads the data of the picture off labels and scores; each picture has its own.
    _read: ClassVar[Any]

    @classmethod
    def from_predictions(
        cls,
        observed: ArrayLike,
        scores: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Read the data of the picture off given scores, for example out of fold, and draw it.

        Parameters
        ----------
        observed : array-like of shape (n_rows,)
            The classes.
        scores : array-like of shape (n_rows, n_classes), or (n_rows,) for two classes
            Scores or probabilities of the classes, in the order of `classes`; of two classes, those of the
            second are enough.
        classes : array-like of shape (n_classes,), optional
            The labels; the sorted ones of `observed` by default.
        names : sequence of str, optional
            What to call them.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display : Display
        """
        labels = np.unique(np.asarray(observed)) if classes is None else np.asarray(classes)
        return cls._read(np.asarray(observed), np.asarray(scores, dtype=float), labels, names).plot(ax=ax)

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        return cls._read(labels_of(X, y), cls._scores(estimator, X), np.asarray(estimator.classes_), None)

    @classmethod
    def _scores(cls, estimator: Any, X: Any) -> NDArray:
        says = estimator.predict_proba if hasattr(estimator, "predict_proba") else estimator.decision_function
        return np.asarray(says(X), dtype=float)


class OneClass(NamedTuple):
    """A class against all others."""

    name: str
    truth: NDArray
    score: NDArray


def one_against_rest(
    observed: NDArray, scores: NDArray, classes: NDArray, names: Sequence[str] | None
) -> Iterator[OneClass]:
    """The classes that have a curve: the second of two, else the most frequent, if rows are in and out."""
    n_rows, n_classes = len(observed), len(classes)
    allowed = [(n_rows, n_classes), *[(n_rows,), (n_rows, 1)] * (n_classes == 2)]
    if scores.shape not in allowed:
        raise ValueError(
            f"The scores must have {n_rows} rows and a column for each of the {n_classes} classes. "
            f"Got shape {scores.shape} instead."
        )
    words = [str(label) for label in (classes if names is None else names)]
    counts = np.array([np.count_nonzero(observed == label) for label in classes])
    frequent = np.argsort(-counts, kind="stable")[:MAX_CURVES] if n_classes != 2 else [1]
    shown = [index for index in np.sort(frequent) if 0 < counts[index] < n_rows]
    if not shown:
        raise ValueError("A curve needs rows of at least two classes; these are all of one.")
    columns = scores.reshape(n_rows, -1)
    for index in shown:
        score = columns[:, min(index, columns.shape[1] - 1)]
        yield OneClass(plain(shortened(words[index], 16)), observed == classes[index], score)


CORNERS = {"lower right": (1, 0), "lower left": (0, 0), "upper left": (0, 1)}
"""Where a legend may stand: right or not, up or not."""


def draw_curves(
    ax: Any, curves: Any, names: Sequence[str], numbers: NDArray, meaning: str, *, loc: str, marker: str = ""
) -> None:
    """Curves with a legend of their names and numbers, in a corner that they leave free or beside them."""
    palette = colors(len(names)) if len(names) > 1 else [PALETTE[0]]
    drawn = list(curves)
    for (x, y), name, number, color in zip(drawn, names, numbers, palette, strict=True):
        ax.plot(x, y, color=color, label=f"{name}: {number:.3f}", marker=marker, markersize=4)
    free = [corner for corner in (loc, *CORNERS) if _is_free(corner, drawn, 0.08 + 0.07 * len(names))]
    if free:
        ax.legend(title=meaning, loc=free[0])
    else:
        ax.legend(title=meaning, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def _is_free(corner: str, curves: Any, height: float, width: float = 0.4) -> bool:
    """Whether no curve crosses a corner of the unit square."""
    right, up = CORNERS[corner]
    share = np.linspace(0, 1, 21)
    for x, y in curves:
        # Points along the segments: a curve can cross a corner without a vertex in it.
        across, along = (
            (ends[:-1, None] + share * np.diff(ends)[:, None]).ravel() if len(ends) > 1 else ends
            for ends in (np.asarray(x), np.asarray(y))
        )
        inside = (across > 1 - width if right else across < width) & (
            along > 1 - height if up else along < height
        )
        if inside.any():
            return False
    return True
