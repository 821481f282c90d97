"""Pictures of boosted trees: the risk from round to round."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.pictures import ConfusionDisplay
from assay.display.linear.predictions import PredictionsDisplay, ResidualsDisplay
from assay.display.registry import Default, declare
from assay.display.style import DASHES, FAINT_INK, PALETTE, caption, whole_numbers
from assay.numbers import shown
from assay.trees import HistGradientBoostingClassifier, HistGradientBoostingRegressor


class StagedRiskDisplay(Display):
    """Mean loss after each round, on the training rows and on those held out.

    Parameters
    ----------
    training : array of shape (n_rounds + 1,)
        From the constant on.
    held_out : array of shape (n_rounds,) or (0,)
    title : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import diabetes
    >>> X, y = diabetes(return_X_y=True)
    >>> model = trees.HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    >>> display.StagedRiskDisplay.from_estimator(model).training.shape
    (21,)
    """

    training: NDArray
    held_out: NDArray
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        training, held_out = -estimator.train_score_, -estimator.validation_score_
        words = f"training risk {shown(training[-1], 3)} after {len(training) - 1} rounds"
        if len(held_out):
            words += f", held out {shown(held_out[-1], 3)}"
        return cls(training, held_out, words)

    def _draw(self, ax: Any) -> None:
        ax.plot(np.arange(len(self.training)), self.training, color=PALETTE[0], label="training rows")
        if len(self.held_out):
            rounds = np.arange(1, len(self.held_out) + 1)
            ax.plot(rounds, self.held_out, color=PALETTE[1], label="rows held out")
            best = int(np.argmin(self.held_out))
            ax.axvline(best + 1, color=FAINT_INK, linewidth=1.0, linestyle=DASHES)
            ax.legend()
        whole_numbers(ax)
        caption(ax, "rounds", "mean loss", self.title)


declare(
    HistGradientBoostingClassifier,
    default=Default("risk", "risk"),
    risk=StagedRiskDisplay,
    confusion=ConfusionDisplay,
)
declare(
    HistGradientBoostingRegressor,
    default=Default("risk", "risk"),
    risk=StagedRiskDisplay,
    predictions=PredictionsDisplay,
    residuals=ResidualsDisplay,
)
