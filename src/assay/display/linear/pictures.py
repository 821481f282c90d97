"""Pictures of linear regressions: predictions, residuals, coefficients, and those of the penalty of ridge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.linear.coefficients import CoefficientsDisplay
from assay.display.linear.predictions import PredictionsDisplay, ResidualsDisplay
from assay.display.plane import column_names, shortened
from assay.display.registry import Default, declare
from assay.display.style import ACCENT, DASHES, FAINT_INK, GROUND, PALETTE, caption, write_beside
from assay.linear import Ridge
from assay.linear.predictor import LinearPredictor
from assay.linear.sparse.base import SparseModel
from assay.models import Selection
from assay.numbers import shown

MAX_CURVES = 60
MAX_NAMED_CURVES = 8


class PathDisplay(Display, needs=("X", "y")):
    """Coefficients as the penalty grows.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
        Penalties.
    coefficients : array of shape (n_alphas, n_curves)
        One curve for each coefficient.
    names : sequence of str
        Names of the curves.
    alpha : float
        The penalty of the model; none is marked when it is zero.
    title : str

    Examples
    --------
    >>> from assay import datasets, display, linear
    >>> X, y = datasets.diabetes(return_X_y=True)
    >>> display.PathDisplay.from_estimator(linear.Ridge().fit(X, y), X, y).coefficients.shape
    (65, 10)
    """

    alphas: NDArray
    coefficients: NDArray
    names: Sequence[str]
    alpha: float
    title: str = "coefficients along the path"

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, alphas: Any = None, feature_names: Any = None
    ) -> Self:
        alpha = chosen_alpha(estimator)
        path = estimator.path(X, y, alphas=alpha_grid(alpha) if alphas is None else alphas)
        curves = np.asarray(path.coef, dtype=float)
        names = column_names(estimator, X, feature_names, curves.shape[-1])
        if curves.ndim == 3 and curves.shape[1] > 1:
            names = [f"{name}, target {target}" for target in range(curves.shape[1]) for name in names]
        return cls(np.asarray(path.alphas), curves.reshape(curves.shape[0], -1), names, alpha)

    def _draw(self, ax: Any) -> None:
        ranked = np.argsort(-np.abs(self.coefficients).max(axis=0), kind="stable")[:MAX_CURVES]
        n_named = min(MAX_NAMED_CURVES, int(2.2 * ax.figure.get_figheight()))
        for rank, index in enumerate(ranked):
            look: dict[str, Any] = {"color": "#b1b8c0", "linewidth": 0.9, "zorder": 2}
            if rank < n_named:
                name = shortened(self.names[index], 16)
                look = {"color": PALETTE[rank], "linewidth": 1.8, "zorder": 3, "label": name}
            ax.plot(self.alphas, self.coefficients[:, index], **look)
        ax.axhline(0.0, color=FAINT_INK, linewidth=0.9, zorder=1)
        mark_alpha(ax, self.alpha, self.alphas)
        ax.set_xscale("log")
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.4)
        ax.set(xlabel="alpha (penalty)", ylabel="coefficient", title=self.title)


class LeaveOneOutDisplay(Display, needs=("X", "y")):
    """Error of predicting each row from all others, by penalty; the model's own and the best are marked.

    Parameters
    ----------
    alphas, errors : arrays of shape (n_alphas,)
        Penalties, and the leave-one-out mean squared error of each.
    alpha : float
        The penalty of the model; none is marked when it is zero.

    Examples
    --------
    >>> from assay import datasets, display, linear
    >>> X, y = datasets.diabetes(return_X_y=True)
    >>> display.LeaveOneOutDisplay.from_estimator(linear.Ridge().fit(X, y), X, y).errors.shape
    (65,)
    """

    alphas: NDArray
    errors: NDArray
    alpha: float

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, alphas: Any = None, feature_names: Any = None
    ) -> Self:
        alpha = chosen_alpha(estimator)
        path = estimator.path(X, y, alphas=alpha_grid(alpha) if alphas is None else alphas)
        errors = np.asarray(path.leave_one_out_error, dtype=float)
        return cls(np.asarray(path.alphas), errors.reshape(errors.shape[0], -1).mean(axis=1), alpha)

    def _draw(self, ax: Any) -> None:
        draw_errors(self.alphas, self.errors, "leave-one-out mean squared error", PALETTE[0], ax)
        mark_alpha(ax, self.alpha, self.alphas)


def draw_errors(alphas: NDArray, errors: NDArray, name: str, mark: str, ax: Any) -> None:
    """Errors by penalty, the least one marked in a colour and told above."""
    best = int(np.nanargmin(errors))
    ax.plot(alphas, errors, color=PALETTE[0])
    ax.plot(alphas[best], errors[best], "o", color=mark, markersize=7)
    ax.set_xscale("log")
    title = f"least error {shown(errors[best], 4)} at alpha = {shown(alphas[best], 3)}"
    ax.set(xlabel="alpha (penalty)", ylabel=name, title=title)


def alpha_grid(center: float, n_alphas: int = 65) -> NDArray:
    """Penalties over eight decades around one, which is among them."""
    center = center if center > 0 else 1.0
    return center * np.logspace(-4.0, 4.0, n_alphas)


def chosen_alpha(model: Any) -> float:
    """The penalty of a fitted model in scikit-learn's parametrisation; zero when it is one per target."""
    alpha = np.asarray(getattr(model, "alpha_", model.alpha), dtype=float)
    return float(alpha) if alpha.ndim == 0 else float(alpha.mean())


def mark_alpha(ax: Any, alpha: float, alphas: NDArray, name: str = "alpha") -> None:
    """A dashed line at the penalty of the model, named on the side where there is more room."""
    if alpha <= 0:
        return
    drawn = alphas[alphas > 0]  # no penalty at all has no place on a logarithmic axis
    low, high = np.log(drawn.min()), np.log(drawn.max())
    at_right = high > low and np.log(alpha) > low + 0.5 * (high - low)
    ax.axvline(alpha, color=ACCENT, linewidth=1.3, linestyle=DASHES, zorder=4)
    look: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "color": ACCENT, "va": "top"}
    look |= {"by": (-4, -2), "ha": "right"} if at_right else {"by": (4, -2), "ha": "left"}
    look["bbox"] = {"boxstyle": "square,pad=0.05", "facecolor": GROUND, "edgecolor": "none", "alpha": 0.8}
    write_beside(f"{name} = {shown(alpha, 3)}" if name else shown(alpha, 3), (alpha, 1.0), ax, **look)


LINEAR: dict[str, type[Display]] = {
    "predictions": PredictionsDisplay,
    "residuals": ResidualsDisplay,
    "coefficients": CoefficientsDisplay,
}
"""The pictures that every linear regression has."""


declare(LinearPredictor, default=Default("predictions", "coefficients", target=True), **LINEAR)
ON_PATH = Default("path", "coefficients", target=True)
declare(Ridge, default=ON_PATH, path=PathDisplay, leave_one_out=LeaveOneOutDisplay, **LINEAR)


N_ALPHAS = 60


class SparsePathDisplay(PathDisplay):
    """Coefficients of a sparse model as the penalty grows, and how many of them are not zero.

    Examples
    --------
    >>> from assay import datasets, display, linear
    >>> X, y = datasets.diabetes(return_X_y=True)
    >>> display.SparsePathDisplay.from_estimator(linear.Lasso(alpha=1.0).fit(X, y), X, y).title
    '0 to 8 features along the path'
    """

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, alphas: Any = None, feature_names: Any = None
    ) -> Self:
        grid = {"n_alphas": N_ALPHAS} if alphas is None else {"alphas": alphas}
        path = estimator.path(X, y, **grid)
        coefficients = path.coef if isinstance(path.coef, np.ndarray) else path.coef.toarray()
        names = column_names(estimator, X, feature_names, coefficients.shape[1])
        title = f"{path.n_nonzero[0]} to {path.n_nonzero[-1]} features along the path"
        return cls(np.asarray(path.alphas), coefficients, names, float(estimator.alpha_), title)


class OfSelection(Display):
    """What the pictures of a selection share: they are read off it."""

    @classmethod
    def from_selection(cls, selection: Selection, *, ax: Any = None) -> Self:
        """Read the data of the picture off a selection, and draw it.

        Parameters
        ----------
        selection : Selection
            Result of `assay.cluster.select_k`, or of the `select` of a model with a penalty.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display : Display
        """
        return cls._read(selection).plot(ax=ax)

    @classmethod
    def _read(cls, selection: Any) -> Self:
        raise NotImplementedError


class SelectionDisplay(OfSelection, needs=("X", "y")):
    """The criterion that chooses a penalty, with its standard errors.

    The dot is the least value, the diamond the largest penalty within one standard error of it, the dashed
    line the choice.

    Parameters
    ----------
    alphas, criterion, standard_error : arrays of shape (n_alphas,)
    criterion_name : str
    alpha : float
        The penalty chosen.
    one_se_index : int
        Place of the largest penalty within one standard error.
    rule : str
        The rule that chose.
    parameter : str, default="alpha"
        What the penalty is called.

    Examples
    --------
    >>> from assay import datasets, display, linear
    >>> X, y = datasets.diabetes(return_X_y=True)
    >>> display.SelectionDisplay.from_estimator(linear.Lasso().fit(X, y), X, y, rule="bic").criterion_name
    'BIC'
    """

    alphas: NDArray
    criterion: NDArray
    standard_error: NDArray
    criterion_name: str
    alpha: float
    one_se_index: int
    rule: str
    parameter: str = "alpha"

    @classmethod
    def _read(cls, selection: Any) -> Self:
        curves = selection.alphas, np.asarray(selection.curve), np.asarray(selection.standard_error)
        choice = float(selection.alpha), int(selection.one_se_index), str(selection.rule)
        return cls(*curves, selection.criterion, *choice, str(selection.parameter))

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None, **options: Any) -> Self:
        return cls._read(estimator.select(X, y, **options))

    def _draw(self, ax: Any) -> None:
        name = self.parameter.replace("_", " ")
        noisy = bool(np.any(self.standard_error > 0))
        ax.plot(self.alphas, self.criterion, color=PALETTE[0])
        if noisy:
            low, high = self.criterion - self.standard_error, self.criterion + self.standard_error
            ax.fill_between(self.alphas, low, high, color=PALETTE[0], alpha=0.18, lw=0)
        best = int(np.argmin(self.criterion))
        ax.plot(self.alphas[best], self.criterion[best], "o", color=PALETTE[0], markersize=7)
        if noisy:
            place = self.one_se_index
            ax.plot(self.alphas[place], self.criterion[place], "D", color=ACCENT, markersize=6)
        mark_alpha(ax, self.alpha, self.alphas, name if len(name) < 10 else "")
        ax.set_xscale("log")
        title = f"rule {self.rule!r} chooses {name} = {shown(self.alpha, 3)}"
        caption(ax, name if "penalty" in name else f"{name} (penalty)", self.criterion_name, title)


declare(SparseModel, default=ON_PATH, path=SparsePathDisplay, selection=SelectionDisplay, **LINEAR)
