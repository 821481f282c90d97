"""Pictures of kernel machines: the fitted curve, leave-one-out error, predictions, weights of the rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.linear.pictures import LeaveOneOutDisplay, chosen_alpha
from assay.display.linear.predictions import PredictionsDisplay, ResidualsDisplay
from assay.display.plane import column_names, dense, sampled
from assay.display.registry import declare
from assay.display.style import FAINT_INK, PALETTE, caption
from assay.kernel_machines import KernelRidge

N_POINTS = 400


class KernelCurveDisplay(Display):
    """The fitted function of one feature, over the rows.

    Parameters
    ----------
    grid : array of shape (n_points,)
    fitted : array of shape (n_points, n_targets)
    x : array of shape (n_rows,)
        The rows shown.
    observed : array of shape (n_rows, n_targets) or None
    name, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import display, kernel_machines
    >>> x = np.linspace(0, 6, 50).reshape(-1, 1)
    >>> model = kernel_machines.KernelRidge(alpha=0.1, kernel="rbf").fit(x, np.sin(x[:, 0]))
    >>> display.KernelCurveDisplay.from_estimator(model, x).fitted.shape
    (400, 1)
    """

    grid: NDArray
    fitted: NDArray
    x: NDArray
    observed: NDArray | None
    name: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if estimator.n_features_in_ != 1:
            raise ValueError(
                f"The 'curve' picture of {type(estimator).__name__} needs one feature; the model has "
                f"{estimator.n_features_in_}: draw kind='predictions' instead."
            )
        x = dense(estimator.X_fit_ if X is None else X)[:, 0]
        margin = 0.03 * (np.ptp(x) or 1.0)
        grid = np.linspace(x.min() - margin, x.max() + margin, N_POINTS)
        fitted = np.asarray(estimator.predict(grid.reshape(-1, 1)), dtype=float).reshape(grid.size, -1)
        observed = None
        if X is not None and y is not None:
            observed = np.asarray(y, dtype=float).reshape(x.size, -1)
        (name,) = column_names(estimator, X, feature_names, 1)
        return cls(grid, fitted, x, observed, name, _settings(estimator))

    def _draw(self, ax: Any) -> None:
        if self.observed is not None:
            shown = sampled(self.x.size)
            many = shown.size > 1000
            look = {"s": 18, "color": "#8c959f", "alpha": 0.65, "linewidths": 0, "rasterized": many}
            for target, observed in enumerate(self.observed.T):
                name = "observed" if target == 0 else None
                ax.scatter(self.x[shown], observed[shown], label=name, **look)
        for target, fitted in enumerate(self.fitted.T):
            color = PALETTE[target % len(PALETTE)]
            ax.plot(self.grid, fitted, color=color, label="fitted" if target == 0 else None)
        if self.observed is not None:
            ax.legend()
        ax.set(xlabel=self.name, ylabel="fitted" if self.observed is None else "target", title=self.title)


class KernelWeightsDisplay(Display):
    """Weights of the training rows in the fit, in order.

    Parameters
    ----------
    weights : array of shape (n_rows, n_targets)
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import KernelWeightsDisplay
    >>> KernelWeightsDisplay(np.array([[0.5], [-0.2]]), "two rows").plot().ax_.get_title()
    'two rows'
    """

    weights: NDArray
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if hasattr(estimator, "feature_coef_"):
            raise ValueError(
                f"The 'weights' picture of {type(estimator).__name__} is that of training rows, and the "
                "model is one on features: draw another kind."
            )
        weights = np.asarray(estimator.dual_coef_, dtype=float)
        return cls(weights.reshape(weights.shape[0], -1), _settings(estimator))

    def _draw(self, ax: Any) -> None:
        ranks = np.arange(1, self.weights.shape[0] + 1)
        for target, weights in enumerate(self.weights.T):
            ordered, color = np.sort(weights)[::-1], PALETTE[target % len(PALETTE)]
            ax.plot(ranks, ordered, color=color)
            ax.fill_between(ranks, 0.0, ordered, color=color, alpha=0.2, linewidth=0)
        ax.axhline(0.0, color=FAINT_INK, linewidth=0.9)
        caption(ax, "training rows, in order of weight", "weight in the fit (dual_coef_)", self.title)


def _settings(model: Any) -> str:
    gamma = getattr(model.kernel_, "gamma", None)
    shown = "" if gamma is None else f", gamma = {gamma:.3g}"
    name = model.kernel if isinstance(model.kernel, str) else type(model.kernel_).__name__
    penalty = f"C = {model.C_:.3g}" if hasattr(model, "C_") else f"alpha = {chosen_alpha(model):.3g}"
    return f"{name} kernel, {penalty}{shown}"


def _default(model: KernelRidge, X: Any, y: Any) -> str:
    """The curve of one feature, else predictions on data, else weights."""
    if model.n_features_in_ == 1 and model.kernel != "precomputed":
        return "curve"
    return "weights" if X is None or y is None else "predictions"


declare(
    KernelRidge,
    default=_default,
    curve=KernelCurveDisplay,
    predictions=PredictionsDisplay,
    residuals=ResidualsDisplay,
    leave_one_out=LeaveOneOutDisplay,
    weights=KernelWeightsDisplay,
)
