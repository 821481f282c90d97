"""Pictures of linear models: coefficients, regularisation path, leave-one-out error, predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.display._columns import column_names, shortened
from assay.display._predictions import draw_predictions, draw_residuals
from assay.display._registry import choose, draw, require_data
from assay.display._style import ACCENT, FAINT_INK, PALETTE
from assay.linear import Ridge
from assay.linear._predictor import LinearPredictor

MAX_COEFFICIENTS = 20
MAX_NAMED_CURVES = 8


@draw.register(LinearPredictor)
def draw_linear_regression(
    model: LinearPredictor,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw predictions or residuals on data, or the coefficients."""
    kind = kind or ("coefficients" if X is None or y is None else "predictions")
    choose(model, kind, _PICTURES)(model, X, y, ax=ax, kind=kind, feature_names=feature_names)


@draw.register(Ridge)
def draw_ridge(
    model: Ridge,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
    alphas: Any = None,
) -> None:
    """Draw the regularisation path on data, or one of the pictures of a linear regression."""
    kind = kind or ("coefficients" if X is None or y is None else "path")
    pictures = {
        "path": lambda *data, **options: _path(*data, alphas=alphas, **options),
        "leave_one_out": lambda *data, **options: _leave_one_out(*data, alphas=alphas, **options),
        **_PICTURES,
    }
    choose(model, kind, pictures)(model, X, y, ax=ax, kind=kind, feature_names=feature_names)


def _predictions(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any) -> None:
    require_data(model, kind, X=X, y=y)
    draw_predictions(y, model.predict(X), ax)


def _residuals(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any) -> None:
    require_data(model, kind, X=X, y=y)
    draw_residuals(y, model.predict(X), ax)


def _coefficients(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any) -> None:
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=float))
    names = column_names(model, X, feature_names, coef.shape[1])
    size = np.abs(coef).max(axis=0)
    order = np.argsort(-size, kind="stable")[:MAX_COEFFICIENTS][::-1]
    places = np.arange(order.size)
    height = 0.72 / coef.shape[0]
    for target, values in enumerate(coef):
        shift = (target - (coef.shape[0] - 1) / 2) * height
        ax.barh(
            places - shift,
            values[order],
            height=height,
            color=PALETTE[target % len(PALETTE)],
            label=f"target {target}",
        )
    ax.axvline(0.0, color=FAINT_INK, linewidth=0.9)
    ax.set_yticks(
        places, [shortened(names[index]) for index in order], fontsize=9 if order.size <= 14 else 7.5
    )
    ax.grid(axis="y", visible=False)
    if coef.shape[0] > 1:
        ax.legend()
    left_out = coef.shape[1] - order.size
    title = "coefficients" if not left_out else f"the {order.size} largest of {coef.shape[1]} coefficients"
    ax.set(xlabel="coefficient", title=title)


def _path(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any, alphas: Any) -> None:
    require_data(model, kind, X=X, y=y)
    path = model.path(X, y, alphas=alpha_grid(chosen_alpha(model)) if alphas is None else alphas)
    curves = np.asarray(path.coef, dtype=float)
    names = column_names(model, X, feature_names, curves.shape[-1])
    if curves.ndim == 3 and curves.shape[1] > 1:
        names = [f"{name}, target {target}" for target in range(curves.shape[1]) for name in names]
    curves = curves.reshape(curves.shape[0], -1)
    ranked = np.argsort(-np.abs(curves).max(axis=0), kind="stable")
    for rank, index in enumerate(ranked):
        named = rank < MAX_NAMED_CURVES
        ax.plot(
            path.alphas,
            curves[:, index],
            color=PALETTE[rank] if named else "#b1b8c0",
            linewidth=1.8 if named else 0.9,
            zorder=3 if named else 2,
            label=shortened(names[index], 18) if named else None,
        )
    ax.axhline(0.0, color=FAINT_INK, linewidth=0.9, zorder=1)
    _mark_alpha(ax, chosen_alpha(model))
    ax.set_xscale("log")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.4)
    ax.set(xlabel="alpha (penalty)", ylabel="coefficient", title="coefficients along the path")


def _leave_one_out(
    model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any, alphas: Any
) -> None:
    require_data(model, kind, X=X, y=y)
    path = model.path(X, y, alphas=alpha_grid(chosen_alpha(model)) if alphas is None else alphas)
    draw_leave_one_out(path, chosen_alpha(model), ax)


def draw_leave_one_out(path: Any, alpha: float, ax: Any) -> None:
    """Leave-one-out error along a path of penalties, with the model's penalty and the best one marked."""
    error = np.asarray(path.leave_one_out_error, dtype=float)
    error = error.reshape(error.shape[0], -1).mean(axis=1)
    best = int(np.nanargmin(error))
    ax.plot(path.alphas, error, color=PALETTE[0])
    ax.plot(path.alphas[best], error[best], "o", color=PALETTE[0], markersize=7)
    _mark_alpha(ax, alpha)
    ax.set_xscale("log")
    ax.set(
        xlabel="alpha (penalty)",
        ylabel="leave-one-out mean squared error",
        title=f"least error {error[best]:.4g} at alpha = {path.alphas[best]:.3g}",
    )


def alpha_grid(center: float, n_alphas: int = 65) -> NDArray:
    """Penalties over eight decades around one, which is among them."""
    center = center if center > 0 else 1.0
    return center * np.logspace(-4.0, 4.0, n_alphas)


def chosen_alpha(model: Any) -> float:
    """The penalty of a fitted model in scikit-learn's parametrisation; zero when it is one per target."""
    alpha = np.asarray(getattr(model, "alpha_", model.alpha), dtype=float)
    return float(alpha) if alpha.ndim == 0 else float(alpha.mean())


def _mark_alpha(ax: Any, alpha: float) -> None:
    if alpha <= 0:
        return
    ax.axvline(alpha, color=ACCENT, linewidth=1.3, linestyle=(0, (4, 3)), zorder=4)
    ax.annotate(
        f"alpha = {alpha:.3g}",
        (alpha, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(4, -2),
        textcoords="offset points",
        color=ACCENT,
        fontsize=9,
        va="top",
    )


_PICTURES = {"predictions": _predictions, "residuals": _residuals, "coefficients": _coefficients}
