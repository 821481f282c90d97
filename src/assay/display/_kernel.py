"""Pictures of kernel machines: the fitted curve, leave-one-out error, predictions, weights of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.display._columns import column_names, dense, sampled
from assay.display._linear import alpha_grid, chosen_alpha, draw_leave_one_out
from assay.display._predictions import draw_predictions, draw_residuals
from assay.display._registry import choose, draw, require_data
from assay.display._style import FAINT_INK, PALETTE
from assay.kernel_machines import KernelRidge


@draw.register(KernelRidge)
def draw_kernel_ridge(
    model: KernelRidge,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
    alphas: Any = None,
) -> None:
    """Draw the curve of one feature, or predictions, errors and weights for more."""
    pictures = {
        "curve": _curve,
        "predictions": _predictions,
        "residuals": _residuals,
        "leave_one_out": lambda *data, **options: _leave_one_out(*data, alphas=alphas, **options),
        "weights": _weights,
    }
    if kind is None and model.n_features_in_ == 1 and model.kernel != "precomputed":
        kind = "curve"
    kind = kind or ("weights" if X is None or y is None else "predictions")
    choose(model, kind, pictures)(model, X, y, ax=ax, kind=kind, feature_names=feature_names)


def _curve(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any) -> None:
    if model.n_features_in_ != 1:
        raise ValueError(
            f"The 'curve' picture of {type(model).__name__} needs one feature; the model has "
            f"{model.n_features_in_}: draw kind='predictions' instead."
        )
    seen = dense(model.X_fit_ if X is None else X)[:, 0]
    if X is not None and y is not None:
        shown = sampled(seen.size)
        observed = np.asarray(y, dtype=float).reshape(seen.size, -1)
        for target in range(observed.shape[1]):
            ax.scatter(
                seen[shown],
                observed[shown, target],
                s=18,
                color="#8c959f",
                alpha=0.65,
                linewidths=0,
                rasterized=shown.size > 1000,
                label="observed" if target == 0 else None,
            )
    margin = 0.03 * (np.ptp(seen) or 1.0)
    grid = np.linspace(seen.min() - margin, seen.max() + margin, 400)
    fitted = np.asarray(model.predict(grid.reshape(-1, 1)), dtype=float).reshape(grid.size, -1)
    for target in range(fitted.shape[1]):
        ax.plot(
            grid,
            fitted[:, target],
            color=PALETTE[target % len(PALETTE)],
            label="fitted" if target == 0 else None,
        )
    if y is not None:
        ax.legend()
    (name,) = column_names(model, X, feature_names, 1)
    ax.set(xlabel=name, ylabel="fitted" if y is None else "target", title=_settings(model))


def _predictions(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any) -> None:
    require_data(model, kind, X=X, y=y)
    draw_predictions(y, model.predict(X), ax)


def _residuals(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any) -> None:
    require_data(model, kind, X=X, y=y)
    draw_residuals(y, model.predict(X), ax)


def _leave_one_out(
    model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any, alphas: Any
) -> None:
    require_data(model, kind, X=X, y=y)
    path = model.path(X, y, alphas=alpha_grid(chosen_alpha(model)) if alphas is None else alphas)
    draw_leave_one_out(path, chosen_alpha(model), ax)


def _weights(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any) -> None:
    weights = np.asarray(model.dual_coef_, dtype=float)
    weights = weights.reshape(weights.shape[0], -1)
    ranks = np.arange(1, weights.shape[0] + 1)
    for target in range(weights.shape[1]):
        ordered = np.sort(weights[:, target])[::-1]
        ax.plot(ranks, ordered, color=PALETTE[target % len(PALETTE)])
        ax.fill_between(ranks, 0.0, ordered, color=PALETTE[target % len(PALETTE)], alpha=0.2, linewidth=0)
    ax.axhline(0.0, color=FAINT_INK, linewidth=0.9)
    ax.set(
        xlabel="training rows, in order of weight",
        ylabel="weight in the fit (dual_coef_)",
        title=_settings(model),
    )


def _settings(model: Any) -> str:
    gamma = getattr(model.kernel_, "gamma", None)
    shown = "" if gamma is None else f", gamma = {gamma:.3g}"
    name = model.kernel if isinstance(model.kernel, str) else type(model.kernel_).__name__
    return f"{name} kernel, alpha = {chosen_alpha(model):.3g}{shown}"
