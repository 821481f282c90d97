"""Pictures of linear classifiers: confusion matrices, and what their fits kept of the iterations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import confusion_matrix

from assay.display.base import Display
from assay.display.classes.curves import CalibrationDisplay, PrecisionRecallDisplay, RocCurveDisplay
from assay.display.classes.line import ClassLineDisplay, ClassProbabilityDisplay
from assay.display.classes.map import ClassMapDisplay
from assay.display.classes.scores import labels_of
from assay.display.linear.coefficients import ClassCoefficientsDisplay, draw_tinted
from assay.display.plane import plain, shortened, shortened_apart
from assay.display.registry import Default, Pictures, pictures
from assay.display.style import FAINT_INK, INK, PALETTE, caption, colors, write_beside
from assay.linear import LinearSVC, LogisticRegression, Perceptron
from assay.linear.classifier import LinearClassifier


class HistoryDisplay(Display):
    """What a fit kept of its iterations: a curve, or one per class.

    Parameters
    ----------
    curves : sequence of arrays
        The numbers, in order.
    names : sequence of str
        Names of the curves; not shown of one.
    quantity : str
        What the numbers are.
    n_iter : int
        Iterations of the fit.
    first : int or None
        Iteration of the first number; None when the fit measured only now and then.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import HistoryDisplay
    >>> HistoryDisplay([np.array([3.0, 1.0, 0.5])], [""], "objective", 2, 0).plot().ax_.get_title()
    'objective 0.5 after 2 iterations'
    """

    curves: Sequence[NDArray]
    names: Sequence[str]
    quantity: str
    n_iter: int
    first: int | None

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if not hasattr(estimator, "history_"):
            raise ValueError(
                f"The 'history' picture of {type(estimator).__name__} needs it kept: fit with history=True."
            )
        history = estimator.history_ if np.ndim(estimator.history_[0]) else [estimator.history_]
        curves = [np.asarray(curve, dtype=float) for curve in history]
        names = [""] if len(curves) == 1 else [plain(str(label)) for label in estimator.classes_]
        longest = max(map(len, curves))
        # Some methods look at every iteration, before the first or not, others only now and then.
        first = {estimator.n_iter_ + 1: 0, estimator.n_iter_: 1}.get(longest)
        return cls(curves, names, _kept(estimator), int(estimator.n_iter_), first)

    def _draw(self, ax: Any) -> None:
        one = len(self.curves) == 1
        longest = max(map(len, self.curves))
        mark, width = "o" if longest <= 40 else "", 1.8 if longest <= 200 else 0.8
        palette = [PALETTE[0]] if one else colors(len(self.curves))
        for curve, color, name in zip(self.curves, palette, self.names, strict=True):
            places = np.arange(curve.size) + (1 if self.first is None else self.first)
            look = {"linewidth": width, "marker": mark, "markersize": 4, "label": shortened(name, 18)}
            ax.plot(places, curve, color=color, **look)
        if not one:
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.0)
        seen = np.concatenate(self.curves)
        if seen.min() > 0 and seen.max() > 100 * seen.min():
            ax.set_yscale("log")
        ax.xaxis.get_major_locator().set_params(integer=True)
        last = max(curve[-1] for curve in self.curves)
        title = f"{self.quantity} {last:.4g} after {self.n_iter} iterations"
        caption(ax, "measurement" if self.first is None else "iteration", self.quantity, title)


def _kept(model: Any) -> str:
    """What the numbers of `history_` are."""
    if isinstance(model, Perceptron):
        return "weight of mistakes"
    if getattr(model, "early_stopping", False):
        return "held-out loss"
    newton = isinstance(model, LinearSVC) and model.loss == "squared_hinge" and model.solver_ == "newton"
    if isinstance(model, LogisticRegression) or newton:
        return "objective"
    return "relative duality gap" if np.isfinite(model.dual_gap_) else "relative gradient"


@pictures.register(LinearClassifier)
def pictures_of_linear_classifier(model: LinearClassifier) -> Pictures:
    """The map of the classes on data, else coefficients."""
    alone = getattr(model, "n_features_in_", None) == 1
    displays: dict[str, type[Display]] = {
        "map": ClassLineDisplay if alone else ClassMapDisplay,
        "confusion": ConfusionDisplay,
        "roc": RocCurveDisplay,
        "precision_recall": PrecisionRecallDisplay,
        "calibration": CalibrationDisplay,
        "probability": ClassProbabilityDisplay,
        "coefficients": ClassCoefficientsDisplay,
        "history": HistoryDisplay,
    }
    return Pictures(displays, Default("map", "coefficients"))


MOST_NAMED = 40
"""Classes that are named at the sides."""

MANY_NAMES = 10
"""Names beyond which each is to be short, as it takes from the room of the cells."""

LEAST_ROOM = 11.0
"""Points that a cell is high in which a count is read."""


class ConfusionDisplay(Display, needs=("X", "y")):
    """Counts of the predicted classes for each observed one, shaded by their share of it.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes)
        Rows of each observed class (down) by predicted class (across).
    names : sequence of str
        Names of the classes.

    Examples
    --------
    >>> from assay.display import ConfusionDisplay
    >>> ConfusionDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"]).counts
    array([[1, 1],
           [0, 1]])
    """

    counts: NDArray
    names: Sequence[str]

    @classmethod
    def from_predictions(
        cls,
        observed: ArrayLike,
        predicted: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Count given predictions, for example out of fold, and draw the counts.

        Parameters
        ----------
        observed, predicted : array-like of shape (n_rows,)
            The classes, and what was said.
        classes : array-like of shape (n_classes,), optional
            The labels in the order of the picture; all that occur, sorted, by default.
        names : sequence of str, optional
            What to call them.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display : ConfusionDisplay
        """
        return cls._count(np.asarray(observed), np.asarray(predicted), classes, names).plot(ax=ax)

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        observed, predicted = labels_of(X, y), np.asarray(estimator.predict(X))
        return cls._count(observed, predicted, np.union1d(estimator.classes_, observed), None)

    @classmethod
    def _count(cls, observed: NDArray, predicted: NDArray, classes: Any, names: Any) -> Self:
        classes = np.union1d(observed, predicted) if classes is None else np.asarray(classes)
        words = [plain(str(label)) for label in (classes if names is None else names)]
        return cls(confusion_matrix(observed, predicted, labels=classes), words)

    def _draw(self, ax: Any) -> None:
        n_classes = len(self.counts)
        shares = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        draw_tinted(shares, ax, strongest=0.55)
        room = 72 * (ax.figure.get_figheight() - 0.8) / max(n_classes, 1)
        if room >= LEAST_ROOM:
            _write_cells(self.counts, shares, ax, roomy=room >= 3 * LEAST_ROOM)
        longest = 14 if n_classes <= MANY_NAMES else 10
        words = shortened_apart(self.names, longest) if n_classes <= MOST_NAMED else []
        turned = are_turned(words, ax.figure.get_figwidth())
        ax.set_xticks(range(len(words)), words, rotation=90 if turned else 0)
        ax.set_yticks(range(len(words)), words)
        right, all_rows = int(np.trace(self.counts)), int(self.counts.sum())
        title = f"{right:,} of {all_rows:,} rows right ({right / max(all_rows, 1):.1%})"
        ax.set(xlabel="predicted", ylabel="observed", title=title)


def are_turned(names: Sequence[str], width: float) -> bool:
    """Whether the names of classes have no room side by side below so many inches."""
    return sum(min(len(name), 14) for name in names) > 8 * width


def _write_cells(counts: NDArray, shares: NDArray, ax: Any, *, roomy: bool) -> None:
    for (row, column), count in np.ndenumerate(counts):
        if count == 0 and not roomy:
            continue
        ink = INK if count else FAINT_INK
        lines = [(f"{count:,}", 9.5, "bold", 6), (f"{shares[row, column]:.0%}", 8.5, "normal", -7)]
        for text, points, weight, rise in lines if roomy else [(f"{count:,}", 8.5, "bold", 0)]:
            look = {"ha": "center", "color": ink, "fontsize": points, "fontweight": weight}
            write_beside(text, (column, row), ax, by=(0, rise), **look)
