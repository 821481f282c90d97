"""Pictures of linear classifiers, and what their fits kept of the iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.confusion import ConfusionDisplay
from assay.display.classes.curves import CalibrationDisplay, PrecisionRecallDisplay, RocCurveDisplay
from assay.display.classes.line import ClassLineDisplay, ClassProbabilityDisplay
from assay.display.classes.map import ClassMapDisplay
from assay.display.columns import plain, shortened
from assay.display.linear.coefficients import ClassCoefficientsDisplay
from assay.display.registry import Default, Pictures, pictures
from assay.display.style import PALETTE, colors, whole_numbers
from assay.linear import LinearSVC, LogisticRegression, Perceptron
from assay.linear.classifier import LinearClassifier


@dataclass
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
            ax.plot(
                places,
                curve,
                color=color,
                linewidth=width,
                marker=mark,
                markersize=4,
                label=shortened(name, 18),
            )
        if not one:
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.0)
        seen = np.concatenate(self.curves)
        if seen.min() > 0 and seen.max() > 100 * seen.min():
            ax.set_yscale("log")
        whole_numbers(ax)
        last = max(curve[-1] for curve in self.curves)
        ax.set(
            xlabel="iteration" if self.first is not None else "measurement",
            ylabel=self.quantity,
            title=f"{self.quantity} {last:.4g} after {self.n_iter} iterations",
        )


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
