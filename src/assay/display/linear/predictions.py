"""Pictures shared by all regressions: predicted against observed, and residuals against predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import r2_score

from assay.display.base import Display
from assay.display.columns import sampled
from assay.display.style import DASHES, FAINT_INK


@dataclass
class PredictionsDisplay(Display, needs=("X", "y")):
    """Predictions against what was observed, with the line where both agree.

    Parameters
    ----------
    observed, predicted : array-like of shape (n_samples,) or (n_samples, n_targets)
        The target and its predictions, for example out of fold.
    name : str, default="predicted"
        Label of the vertical axis.

    Examples
    --------
    >>> from assay.display import PredictionsDisplay
    >>> PredictionsDisplay([1.0, 2.0, 3.0], [1.1, 1.9, 3.0]).plot().ax_.get_title()
    'R² = 0.99'
    """

    observed: ArrayLike
    predicted: ArrayLike
    name: str = "predicted"

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        return cls(np.asarray(y), np.asarray(estimator.predict(X)))

    def _draw(self, ax: Any) -> None:
        observed, predicted = _columns(self.observed), _columns(self.predicted)
        for target in range(observed.shape[1]):
            _cloud(ax, observed[:, target], predicted[:, target], label=f"target {target}")
        low = min(observed.min(), predicted.min())
        high = max(observed.max(), predicted.max())
        ax.plot([low, high], [low, high], color=FAINT_INK, linewidth=1.2, linestyle=DASHES, zorder=1)
        _name_targets(ax, observed.shape[1])
        title = f"R² = {r2_score(observed, predicted):z.2f}" if observed.shape[0] > 1 else ""
        ax.set(xlabel="observed", ylabel=self.name, title=title.replace("-", "−"))


@dataclass
class ResidualsDisplay(Display, needs=("X", "y")):
    """What predictions miss, against the predictions: a pattern here is something the model does not see.

    Parameters
    ----------
    observed, predicted : array-like of shape (n_samples,) or (n_samples, n_targets)
        The target and its predictions, for example out of fold.

    Examples
    --------
    >>> from assay.display import ResidualsDisplay
    >>> ResidualsDisplay([1.0, 2.0, 3.0], [1.1, 1.9, 3.0]).plot().ax_.get_title()
    'root mean square = 0.0816'
    """

    observed: ArrayLike
    predicted: ArrayLike

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        return cls(np.asarray(y), np.asarray(estimator.predict(X)))

    def _draw(self, ax: Any) -> None:
        observed, predicted = _columns(self.observed), _columns(self.predicted)
        for target in range(observed.shape[1]):
            residuals = observed[:, target] - predicted[:, target]
            _cloud(ax, predicted[:, target], residuals, label=f"target {target}")
        ax.axhline(0.0, color=FAINT_INK, linewidth=1.2, linestyle=DASHES, zorder=1)
        _name_targets(ax, observed.shape[1])
        spread = float(np.sqrt(np.mean((observed - predicted) ** 2)))
        ax.set(xlabel="predicted", ylabel="observed − predicted", title=f"root mean square = {spread:.3g}")


def _cloud(ax: Any, x: Any, y: Any, *, label: str) -> None:
    shown = sampled(x.shape[0])
    transparency = float(np.clip(12.0 / np.sqrt(shown.size), 0.25, 0.8))
    ax.scatter(
        x[shown], y[shown], s=20, alpha=transparency, linewidths=0, rasterized=shown.size > 1000, label=label
    )


def _name_targets(ax: Any, n_targets: int) -> None:
    if n_targets > 1:
        ax.legend()


def _columns(values: Any) -> Any:
    values = np.asarray(values, dtype=float)
    return values.reshape(values.shape[0], -1)
