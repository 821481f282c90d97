"""How good scores or probabilities of classes are: ROC curves, precision and recall, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from assay.display.base import Display
from assay.display.classes.scores import labels_of
from assay.display.plane import plain, shortened, shortened_apart
from assay.display.style import DASHES, FAINT_INK, GRID, PALETTE, caption, colors, write_beside
from assay.models.calibration import calibration_curve

MAX_CURVES = 12
"""Classes with a curve of their own; of more, the most frequent ones are drawn."""

MOST_TOGETHER = 3
"""Curves that share a frame; more have a small one each."""


class ScoredClassesDisplay(Display, needs=("X", "y")):
    """What the three pictures share: they read scores of classes, one class against all others."""

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


def one_against_rest(
    observed: NDArray, scores: NDArray, classes: NDArray, names: Sequence[str] | None
) -> tuple[list[str], list[tuple[NDArray, NDArray]]]:
    """The classes with a curve, the second of two or the most frequent: names, and truths with scores."""
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
    last = columns.shape[1] - 1
    pairs = [(observed == classes[index], columns[:, min(index, last)]) for index in shown]
    return [plain(shortened(words[index], 16)) for index in shown], pairs


CORNERS = {"lower right": (1, 0), "lower left": (0, 0), "upper left": (0, 1)}
"""Where a legend may stand: right or not, up or not."""


def draw_curves(
    ax: Any, curves: Any, names: Sequence[str], numbers: NDArray, meaning: str, *, loc: str, marker: str = ""
) -> None:
    """Curves with a legend of their names and numbers, in a corner that they leave free or beside them.

    Of more than a few, each is drawn in a frame of its own.
    """
    palette = colors(len(names)) if len(names) > 1 else [PALETTE[0]]
    drawn = list(curves)
    if len(drawn) > MOST_TOGETHER:
        draw_panels(ax, drawn, names, numbers, meaning, marker=marker)
        return
    for (x, y), name, number, color in zip(drawn, names, numbers, palette, strict=True):
        ax.plot(x, y, color=color, label=f"{name}: {number:.3f}", marker=marker, markersize=4)
    height, width = _room_of_legend(ax, [meaning, *(f"{name}: 0.000" for name in names)])
    free = [corner for corner in (loc, *CORNERS) if _is_free(corner, drawn, height, width)]
    if free:
        ax.legend(title=meaning, loc=free[0])
    else:
        ax.legend(title=meaning, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


GAP, HEAD = 0.12, 0.46
"""Between two small frames, and above each for its name, as shares of a side."""


def draw_panels(
    ax: Any, curves: Sequence[Any], names: Sequence[str], numbers: NDArray, meaning: str, *, marker: str
) -> None:
    """Small multiples: a unit square for every curve, its name above and its number in it, on one scale."""
    width, height = ax.figure.get_size_inches()
    n_columns = int(np.ceil(np.sqrt(len(names) * width / height * (1 + HEAD))))
    n_rows = -(-len(names) // n_columns)
    letters = int(LETTERS_PER_INCH * FRAME * width / n_columns)
    short = shortened_apart(names, letters)
    for index, ((x, y), name, number) in enumerate(zip(curves, short, numbers, strict=True)):
        left, below = (index % n_columns) * (1 + GAP), -(index // n_columns) * (1 + HEAD)
        frame = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) + np.array([left, below])
        ax.plot(*frame.T, color=GRID, linewidth=0.8, zorder=1)
        if meaning != "average precision":
            ax.plot(*frame[[0, 2]].T, color=FAINT_INK, linewidth=0.8, linestyle=DASHES, zorder=1)
        across, up = np.asarray(x, dtype=float) + left, np.asarray(y, dtype=float) + below
        ax.plot(across, up, color=PALETTE[0], linewidth=1.4, marker=marker, markersize=2, zorder=2)
        above: dict[str, Any] = {"by": (0, 2), "va": "bottom", "fontsize": 8.5}
        write_beside(name, (left, below + 1), ax, ha="left", **above)
        ax.annotate(f"{number:.2f}", (left + 0.97, below + 0.04), ha="right", va="bottom", fontsize=8.5)
    ax.set(
        xlim=(-0.03, n_columns * (1 + GAP) - GAP + 0.03), ylim=(-(n_rows - 1) * (1 + HEAD) - 0.04, 1 + HEAD)
    )
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.small_frames_ = f"each from 0 to 1; number: {meaning}"


def name_axes(ax: Any, across: str, up: str, title: str, limits: tuple[float, float]) -> None:
    """Name the axes and set their ends; small frames have their scale told below."""
    told = getattr(ax, "small_frames_", None)
    if told is None:
        caption(ax, across, up, title, xlim=(-0.02, 1.02), ylim=limits)
    else:
        caption(ax, f"{across}\n{told}", up, title)


LETTERS_PER_INCH = 13.5
"""Of the names above small frames."""

POINTS, FRAME = 72, 0.8
"""Points of an inch; share of a figure that the frame of its axes takes."""

LINE, LETTER, HANDLE = 14.0, 4.3, 26.0
"""Points of a line of a legend, of a letter in it, and of the stroke before them."""


def _room_of_legend(ax: Any, lines: Sequence[str]) -> tuple[float, float]:
    """Height and width of a legend as shares of its frame: the smaller the picture, the more of it."""
    wide, high = POINTS * FRAME * ax.figure.get_size_inches()
    letters = max(map(len, lines))
    return max(0.08 + 0.07 * (len(lines) - 1), LINE * len(lines) / high), max(
        0.4, (HANDLE + LETTER * letters) / wide
    )


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


class RocCurveDisplay(ScoredClassesDisplay):
    """True against false alarms as the threshold of a class moves: a curve per class, the second of two.

    Parameters
    ----------
    false_positive_rates, true_positive_rates : sequences of arrays
        One for each curve.
    areas : array of shape (n_curves,)
        Areas under the curves.
    names : sequence of str
        Names of the classes.

    Examples
    --------
    >>> from assay.display import RocCurveDisplay
    >>> RocCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).areas
    array([0.75])
    """

    false_positive_rates: Sequence[NDArray]
    true_positive_rates: Sequence[NDArray]
    areas: NDArray
    names: Sequence[str]

    @classmethod
    def _read(cls, observed: NDArray, scores: NDArray, classes: NDArray, names: Any) -> Self:
        shown, pairs = one_against_rest(observed, scores, classes, names)
        curves = [roc_curve(*pair)[:2] for pair in pairs]
        areas = np.array([auc(*curve) for curve in curves])
        false, true = ([curve[side] for curve in curves] for side in (0, 1))
        return cls(false, true, areas, shown)

    def _draw(self, ax: Any) -> None:
        if len(self.names) <= MOST_TOGETHER:
            ax.plot([0, 1], [0, 1], color=FAINT_INK, linewidth=1.2, linestyle=DASHES, zorder=1)
        curves = zip(self.false_positive_rates, self.true_positive_rates, strict=True)
        draw_curves(ax, curves, self.names, self.areas, "area under the curve", loc="lower right")
        name_axes(ax, "false positive rate", "true positive rate", "ROC", (-0.02, 1.03))


class PrecisionRecallDisplay(ScoredClassesDisplay):
    """How many of the rows named are right, against how many of the right rows are named.

    Parameters
    ----------
    recalls, precisions : sequences of arrays
        One for each curve.
    average_precisions : array of shape (n_curves,)
    shares : array of shape (n_curves,)
        Shares of the classes: the precision of naming at random, dashed.
    names : sequence of str
        Names of the classes.

    Examples
    --------
    >>> from assay.display import PrecisionRecallDisplay
    >>> shown = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> shown.average_precisions.round(3)
    array([0.833])
    """

    recalls: Sequence[NDArray]
    precisions: Sequence[NDArray]
    average_precisions: NDArray
    shares: NDArray
    names: Sequence[str]

    @classmethod
    def _read(cls, observed: NDArray, scores: NDArray, classes: NDArray, names: Any) -> Self:
        shown, pairs = one_against_rest(observed, scores, classes, names)
        curves = [precision_recall_curve(*pair, drop_intermediate=True) for pair in pairs]
        recalls, precisions = [curve[1] for curve in curves], [curve[0] for curve in curves]
        averages = np.array([average_precision_score(*pair) for pair in pairs])
        shares = np.array([truth.mean() for truth, _ in pairs])
        return cls(recalls, precisions, averages, shares, shown)

    def _draw(self, ax: Any) -> None:
        few = self.shares if len(self.names) <= MOST_TOGETHER else ()
        for share, color in zip(few, colors(len(few)), strict=True):
            ax.axhline(share, color=color, linewidth=1.0, linestyle=DASHES, alpha=0.6, zorder=1)
        curves = zip(self.recalls, self.precisions, strict=True)
        draw_curves(ax, curves, self.names, self.average_precisions, "average precision", loc="lower left")
        name_axes(ax, "recall", "precision", "Precision and recall", (-0.02, 1.03))


class CalibrationDisplay(ScoredClassesDisplay):
    """Observed share of a class against its probability, in bins of about equal numbers of rows.

    Parameters
    ----------
    probabilities, shares, sizes : sequences of arrays
        Mean probability, observed share and number of rows of each bin, one array for each curve.
    errors : array of shape (n_curves,)
        Mean of |probability − share| over the rows.
    names : sequence of str
        Names of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import CalibrationDisplay
    >>> rng = np.random.default_rng(0)
    >>> probability = rng.uniform(size=5000)
    >>> shown = CalibrationDisplay.from_predictions(rng.uniform(size=5000) < probability, probability)
    >>> bool(shown.errors[0] < 0.03)
    True
    """

    probabilities: Sequence[NDArray]
    shares: Sequence[NDArray]
    sizes: Sequence[NDArray]
    errors: NDArray
    names: Sequence[str]

    @classmethod
    def _read(cls, observed: NDArray, scores: NDArray, classes: NDArray, names: Any) -> Self:
        if scores.size and not (scores.min() >= 0 and scores.max() <= 1):
            raise ValueError(
                "The scores of CalibrationDisplay must be probabilities, from 0 to 1. Got scores from "
                f"{scores.min():.3g} to {scores.max():.3g} instead; draw RocCurveDisplay of scores."
            )
        shown, pairs = one_against_rest(observed, scores, classes, names)
        bins = [calibration_curve(*pair) for pair in pairs]
        errors = [size @ np.abs(mean - share) / size.sum() for mean, share, size in bins]
        mean, share, size = ([one[part] for one in bins] for part in range(3))
        return cls(mean, share, size, np.array(errors), shown)

    @classmethod
    def _scores(cls, estimator: Any, X: Any) -> NDArray:
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"The 'calibration' picture needs predict_proba, which {type(estimator).__name__} lacks; "
                "use kind='roc'."
            )
        return np.asarray(estimator.predict_proba(X), dtype=float)

    def _draw(self, ax: Any) -> None:
        if len(self.names) <= MOST_TOGETHER:
            ax.plot([0, 1], [0, 1], color=FAINT_INK, linewidth=1.2, linestyle=DASHES, zorder=1)
        curves = zip(self.probabilities, self.shares, strict=True)
        draw_curves(ax, curves, self.names, self.errors, "mean gap", loc="upper left", marker="o")
        name_axes(ax, "probability", "observed share", "Calibration", (-0.02, 1.02))
