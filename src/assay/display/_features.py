"""Pictures of feature maps, of regressions on features, and of matrices of coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.display._columns import column_names, dense, sampled, shortened
from assay.display._linear import _PICTURES
from assay.display._registry import choose, draw, require_data
from assay.display._style import ACCENT, FAINT_INK, PALETTE, colors
from assay.linear import ReducedRankRegression
from assay.linear._feature_regression import FeatureRegression
from assay.linear._features import FeatureMap

N_POINTS = 401
MAX_FUNCTIONS = 16
MAX_EFFECTS = 8


@draw.register(FeatureMap)
def draw_feature_map(
    model: FeatureMap,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
    column: int = 0,
) -> None:
    """Draw the features along one column, the others in the middle of their range."""
    choose(model, kind or "functions", {"functions": _functions})(
        model, X, ax=ax, feature_names=feature_names, column=column
    )


def _functions(model: FeatureMap, X: Any, *, ax: Any, feature_names: Any, column: int) -> None:
    d = model.n_features_in_
    if not 0 <= column < d:
        raise ValueError(
            f"The 'column' of the picture must be an int from 0 to {d - 1}. Got {column} instead."
        )
    low, high = _range(model) if X is None else (dense(X).min(axis=0), dense(X).max(axis=0))
    high = np.where(high > low, high, low + 1)
    x = np.linspace(low[column], high[column], N_POINTS)
    table = np.tile((low + high) / 2, (N_POINTS, 1))
    table[:, column] = x
    values = np.asarray(model._expansion()(table), dtype=float)
    alive = np.flatnonzero(np.ptp(values, axis=0) > 1e-12 * max(1.0, float(np.abs(values).max())))
    names = model.get_feature_names_out(
        None if feature_names is None or len(feature_names) != d else feature_names
    )
    shown = alive[:MAX_FUNCTIONS]
    for color, index in zip(colors(max(len(shown), 1)), shown, strict=False):
        named = shortened(str(names[index]), 16) if len(shown) <= 8 else None
        ax.plot(x, values[:, index], color=color, linewidth=1.5, label=named)
    if 1 < len(shown) <= 8:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.4)
    if not len(shown):
        ax.plot(x, values[:, :1], color=PALETTE[0])
    count = f"{len(shown)} of {values.shape[1]} features" if len(shown) < values.shape[1] else "all features"
    title = f"{type(model).__name__}: {count}"
    ax.set(xlabel=column_names(model, X, feature_names, d)[column], ylabel="feature", title=title)


def _range(model: Any) -> tuple[NDArray, NDArray]:
    """Where a fitted map is at home, as far as it knows."""
    d = model.n_features_in_
    if hasattr(model, "first_knot_"):
        first, degree = model.first_knot_, model.degree
        return model.knots_[first[:-1] + degree], model.knots_[first[1:] - degree - 1]
    if hasattr(model, "period_"):
        return model.origin_, model.origin_ + model.period_
    if hasattr(model, "spread_"):
        return model.low_, model.low_ + model.spread_
    if hasattr(model, "half_range_"):
        return model.center_ - model.half_range_, model.center_ + model.half_range_
    if hasattr(model, "inner_edges_"):
        edges = np.where(np.isfinite(model.inner_edges_), model.inner_edges_, np.nan)
        low, high = np.nanmin(edges, axis=0), np.nanmax(edges, axis=0)
        margin = np.where(high > low, high - low, 1.0) / max(len(edges) - 1, 1)
        return low - margin, high + margin
    return np.full(d, -1.0), np.ones(d)


@draw.register(FeatureRegression)
def draw_feature_regression(
    model: FeatureRegression,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the fitted curve of one column, the effects of several, or a picture of a linear regression."""
    if kind is None:
        kind = "coefficients" if X is None else "curve" if model.n_features_in_ == 1 else "effects"
        kind = "predictions" if kind == "effects" and y is not None else kind
    pictures = {"curve": _curve, "effects": _effects, **_PICTURES}
    if kind == "coefficients":
        X, feature_names = None, model.get_feature_names_out()
    choose(model, kind, pictures)(model, X, y, ax=ax, kind=kind, feature_names=feature_names)


def _curve(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any) -> None:
    require_data(model, kind, X=X)
    rows = dense(X)
    if rows.shape[1] != 1:
        raise ValueError("The 'curve' picture is of a model on one column; use kind='effects' for several.")
    x = np.linspace(rows.min(), rows.max(), N_POINTS)
    fitted = _columns(model.predict(_like(X, x[:, None])))
    if y is not None:
        shown = sampled(len(rows))
        for k, target in enumerate(_columns(y).T):
            color = FAINT_INK if fitted.shape[1] == 1 else PALETTE[k % len(PALETTE)]
            ax.scatter(rows[shown, 0], target[shown], s=16, alpha=0.5, linewidths=0, color=color)
    title = "fitted curve"
    if fitted.shape[1] == 1 and _has_inference(model):
        low, high = model.predict_interval(_like(X, x[:, None]), coverage=0.9, kind="mean").reshape(-1, 2).T
        ax.fill_between(x, low, high, color=PALETTE[0], alpha=0.18, linewidth=0)
        title = "fitted curve and 90 % interval of the mean"
    for k, values in enumerate(fitted.T):
        ax.plot(x, values, color=PALETTE[k % len(PALETTE)], label=f"target {k}")
    if fitted.shape[1] > 1:
        ax.legend()
    name = column_names(model, X, feature_names, 1)[0]
    ax.set(xlabel=name, ylabel="target" if y is None else getattr(y, "name", None) or "target", title=title)


def _effects(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any) -> None:
    """Prediction along each column, the others at their means, centred and over the column's own range."""
    require_data(model, kind, X=X)
    rows = dense(X)
    d = rows.shape[1]
    names = column_names(model, X, feature_names, d)
    place = np.linspace(0, 1, N_POINTS)
    for j in range(min(d, MAX_EFFECTS)):
        table = np.tile(rows.mean(axis=0), (N_POINTS, 1))
        table[:, j] = rows[:, j].min() + place * np.ptp(rows[:, j])
        effect = _columns(model.predict(_like(X, table)))[:, 0]
        ax.plot(place, effect - effect.mean(), color=PALETTE[j % len(PALETTE)], label=shortened(names[j], 18))
    ax.axhline(0.0, color=FAINT_INK, linewidth=0.9, zorder=1)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.4)
    more = f", the first {MAX_EFFECTS} of {d}" if d > MAX_EFFECTS else ""
    ax.set(
        xlabel="column, from its least to its greatest value",
        ylabel="effect, centred",
        title=f"effect of each column{more}",
    )


def _has_inference(model: Any) -> bool:
    try:
        model._design()
        model._degrees_of_freedom()
    except ValueError:
        return False
    return True


def _like(X: Any, table: NDArray) -> Any:
    """A table with the column names of the data, where those are a frame."""
    if not hasattr(X, "columns"):
        return table
    return type(X)(table, columns=list(X.columns)) if hasattr(X, "iloc") else type(X)(table, schema=X.columns)


def _columns(values: Any) -> NDArray:
    values = np.asarray(values, dtype=float)
    return values.reshape(values.shape[0], -1)


@draw.register(ReducedRankRegression)
def draw_reduced_rank(
    model: ReducedRankRegression,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the matrix of coefficients, its singular values, or a picture of a linear regression."""
    kind = kind or ("matrix" if X is None or y is None else "predictions")
    pictures = {"matrix": _matrix, "singular_values": _singular_values, **_PICTURES}
    choose(model, kind, pictures)(model, X, y, ax=ax, kind=kind, feature_names=feature_names)


def _matrix(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any) -> None:
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=float)).T
    size = float(np.abs(coef).max()) or 1.0
    image = ax.imshow(coef, cmap="RdBu_r", vmin=-size, vmax=size, aspect="auto")
    ax.figure.colorbar(image, ax=ax, label="coefficient")
    names = column_names(model, X, feature_names, coef.shape[0])
    if len(names) <= 25:
        ax.set_yticks(range(len(names)), [shortened(name, 16) for name in names])
    ax.set_xticks(range(coef.shape[1]) if coef.shape[1] <= 25 else [])
    ax.grid(visible=False)
    ax.set(xlabel="response", ylabel="predictor", title=f"coefficients of rank {model.rank_}")


def _singular_values(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any) -> None:
    values = np.asarray(model.singular_values_, dtype=float)
    places = np.arange(1, len(values) + 1)
    ax.plot(places, values, "o-", color=PALETTE[0])
    if model.rank_ < len(values):
        ax.axvline(model.rank_ + 0.5, color=ACCENT, linewidth=1.3, linestyle=(0, (4, 3)))
    what = "of the least-squares fit" if model.method == "rank" else "of the coefficients"
    ax.set_xticks(places if len(places) <= 20 else [])
    ax.set(xlabel="number", ylabel="singular value", title=f"singular values {what}, rank {model.rank_}")
