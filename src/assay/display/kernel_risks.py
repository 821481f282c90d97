"""Pictures of smooth kernel machines: centres along the penalty, accuracy along the width, their surface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.curves import CalibrationDisplay
from assay.display.classes.pictures import ConfusionDisplay
from assay.display.discriminant.frontier import FrontierDisplay
from assay.display.kernel_machines import KernelWeightsDisplay
from assay.display.linear.predictions import PredictionsDisplay, ResidualsDisplay
from assay.display.registry import Default, declare
from assay.display.style import FAINT_INK, PALETTE, caption
from assay.display.support_paths import GapTimeDisplay
from assay.kernel_machines import KernelERM, KernelLogisticRegression


class KernelCentersDisplay(Display, needs=("X", "y")):
    """Centres that a kernel logistic regression keeps, and its mean loss, along the cost of a row.

    Parameters
    ----------
    costs, n_centers, losses : arrays of shape (n_values,)
    chosen : float
        Cost of the model.
    penalty : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import KernelCentersDisplay
    >>> shown = KernelCentersDisplay(np.array([0.1, 1.0]), np.array([2, 5]), np.array([0.6, 0.3]), 1.0, "l1")
    >>> shown.plot().ax_.get_ylabel()
    'centres with a coefficient'
    """

    costs: NDArray
    n_centers: NDArray
    losses: NDArray
    chosen: float
    penalty: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        path = estimator.path(X, y)
        return cls(path.Cs, path.n_nonzero, path.losses, float(estimator.C_), estimator.penalty)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.costs, self.n_centers, "o-", color=PALETTE[0])
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        ax.axvline(self.chosen, color=FAINT_INK, linewidth=0.9, linestyle="--")
        for cost, n, loss in zip(self.costs, self.n_centers, self.losses, strict=True):
            ax.annotate(
                f"{loss:.2f}",
                (cost, n),
                xytext=(0, 7),
                textcoords="offset points",
                ha="center",
                fontsize=8.5,
                color="#57606a",
            )
        title = f"penalty {self.penalty!r}; beside each point the mean loss"
        caption(ax, "cost of a row, C (weak penalty to the right)", "centres with a coefficient", title)


class WidthAccuracyDisplay(Display, needs=("X", "y")):
    """Accuracy on the rows learnt from and on rows held out, along the scale γ of the kernel.

    Parameters
    ----------
    gammas, train, test : arrays of shape (n_values,)
    chosen : float
        γ of the model; NaN without one.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import WidthAccuracyDisplay
    >>> shown = WidthAccuracyDisplay(np.array([0.1, 1.0]), np.array([0.8, 1.0]), np.array([0.8, 0.7]), 1.0)
    >>> shown.plot().ax_.get_ylabel()
    'accuracy'
    """

    gammas: NDArray
    train: NDArray
    test: NDArray
    chosen: float

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        unit = getattr(estimator.kernel_, "gamma", None)
        if unit is None:
            raise ValueError("The 'width' picture needs a kernel with a scale: kernel='rbf', say.")
        rows, labels = np.asarray(X), np.asarray(y)
        held = np.arange(len(labels)) % 3 == 0
        gammas, train, test = unit * np.logspace(-2, 3, 11), [], []
        for gamma in gammas:
            model = type(estimator)(**{**estimator.get_params(deep=False), "gamma": float(gamma)})
            model.fit(rows[~held], labels[~held])
            train.append(model.score(rows[~held], labels[~held]))
            test.append(model.score(rows[held], labels[held]))
        return cls(gammas, np.array(train), np.array(test), float(unit))

    def _draw(self, ax: Any) -> None:
        ax.plot(self.gammas, self.train, "o-", color=PALETTE[0], label="rows learnt from")
        ax.plot(self.gammas, self.test, "s-", color=PALETTE[1], label="a third held out")
        ax.set_xscale("log")
        if np.isfinite(self.chosen):
            ax.axvline(self.chosen, color=FAINT_INK, linewidth=0.9, linestyle="--")
        ax.legend()
        caption(ax, "scale of the kernel, γ (narrow to the right)", "accuracy", "width of the kernel")


class ErrorSurfaceDisplay(Display):
    """Validation error over widths and penalties, from a `Selection` of both.

    Parameters
    ----------
    gammas : array of shape (n_gammas,)
    penalties : array of shape (n_penalties,)
    errors : array of shape (n_gammas, n_penalties)
        NaN where a pair was not tried.
    chosen : pair of float
    names : pair of str
    criterion : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import ErrorSurfaceDisplay
    >>> from assay.kernel_machines import KernelRidge
    >>> X = np.linspace(-2, 2, 60)[:, None]
    >>> chosen = KernelRidge(kernel="rbf").select(X, np.sin(3 * X[:, 0]))
    >>> ErrorSurfaceDisplay.from_selection(chosen).errors.shape
    (5, 27)
    """

    gammas: NDArray
    penalties: NDArray
    errors: NDArray
    chosen: tuple[float, float]
    names: tuple[str, str]
    criterion: str

    @classmethod
    def from_selection(cls, selection: Any, *, ax: Any = None) -> Self:
        """Read the surface off what `select` gave, and draw it: at the chosen value of a third parameter."""
        names = [name.strip() for name in selection.parameter.split(",")]
        width, penalty, *others = sorted(names, key=lambda name: name != "gamma")
        if np.isnan(selection.best[width]):
            raise ValueError(
                "The error surface needs a kernel whose width is chosen too, such as 'rbf'; this has none."
            )
        gammas = np.unique([pair[width] for pair in selection.values])
        penalties = np.unique([pair[penalty] for pair in selection.values])
        errors = np.full((len(gammas), len(penalties)), np.nan)
        for pair, error in zip(selection.values, selection.curve, strict=True):
            if any(pair[name] != selection.best[name] for name in others):
                continue
            place = np.searchsorted(gammas, pair[width]), np.searchsorted(penalties, pair[penalty])
            errors[place] = error
        best = float(selection.best[width]), float(selection.best[penalty])
        return cls(gammas, penalties, errors, best, (width, penalty), selection.criterion).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        finite = np.where(np.isfinite(self.errors), self.errors, np.nan)
        worst = float(np.nanquantile(finite, 0.9))
        cells = _edges(self.penalties), _edges(self.gammas)
        shades = ax.pcolormesh(*cells, np.minimum(finite, worst), cmap="Blues")
        ax.set(xscale="log", yscale="log")
        ax.plot(*self.chosen[::-1], marker="*", color=PALETTE[1], markersize=14, markeredgecolor="white")
        bar = ax.figure.colorbar(shades, ax=ax)
        bar.set_label(f"{self.criterion} (darkest: this or more)")
        title = f"chosen: {self.names[0]} = {self.chosen[0]:.3g}, {self.names[1]} = {self.chosen[1]:.3g}"
        caption(ax, self.names[1], self.names[0], title)


def _edges(values: NDArray) -> NDArray:
    """Borders of cells around values on a logarithmic axis."""
    logs = np.log(values)
    middles = (logs[1:] + logs[:-1]) / 2 if len(logs) > 1 else np.array([])
    first = logs[0] - (middles[0] - logs[0] if len(middles) else 0.5)
    last = logs[-1] + (logs[-1] - middles[-1] if len(middles) else 0.5)
    return np.asarray(np.exp(np.concatenate([[first], middles, [last]])))


def _class_default(model: Any, X: Any, y: Any) -> str:
    """The map of two features, else the confusion of classes, else the weights of the rows."""
    if X is None:
        return "weights"
    if model.n_features_in_ == 2 and model.kernel != "precomputed":
        return "map"
    return "weights" if y is None else "confusion"


declare(
    KernelLogisticRegression,
    default=_class_default,
    map=FrontierDisplay,
    confusion=ConfusionDisplay,
    calibration=CalibrationDisplay,
    weights=KernelWeightsDisplay,
    gap=GapTimeDisplay,
    centers=KernelCentersDisplay,
    width=WidthAccuracyDisplay,
)
declare(
    KernelERM,
    default=Default("predictions", "weights", target=True),
    predictions=PredictionsDisplay,
    residuals=ResidualsDisplay,
    weights=KernelWeightsDisplay,
    gap=GapTimeDisplay,
)
