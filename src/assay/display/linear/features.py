"""Pictures of feature maps, of regressions on features, and of matrices of coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.linear.coefficients import CoefficientsDisplay
from assay.display.linear.pictures import LINEAR
from assay.display.linear.predictions import as_columns
from assay.display.plane import column_names, dense, sampled, shortened, shortened_apart
from assay.display.registry import Default, declare
from assay.display.style import ACCENT, DASHES, FAINT_INK, PALETTE, caption, colors
from assay.linear import ReducedRankRegression
from assay.linear.features.base import FeatureMap
from assay.linear.features.regression import FeatureRegression

N_POINTS = 401
MAX_FUNCTIONS = 16
MAX_EFFECTS = 8


class FeatureFunctionsDisplay(Display):
    """The features of a map along one column, the others in the middle of their range.

    Parameters
    ----------
    x : array of shape (n_points,)
    values : array of shape (n_points, n_features_out)
    names : sequence of str
        Names of the features.
    column_name, map_name : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import display, linear
    >>> x = np.linspace(-1, 1, 20).reshape(-1, 1)
    >>> display.FeatureFunctionsDisplay.from_estimator(linear.PolynomialMap(3).fit(x), x).values.shape[0]
    401
    """

    x: NDArray
    values: NDArray
    names: Sequence[str]
    column_name: str
    map_name: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None, column: int = 0) -> Self:
        d = estimator.n_features_in_
        if not 0 <= column < d:
            raise ValueError(
                f"The 'column' of the picture must be an int from 0 to {d - 1}. Got {column} instead."
            )
        low, high = _range(estimator) if X is None else (dense(X).min(axis=0), dense(X).max(axis=0))
        high = np.where(high > low, high, low + 1)
        x = np.linspace(low[column], high[column], N_POINTS)
        table = np.tile((low + high) / 2, (N_POINTS, 1))
        table[:, column] = x
        values = np.asarray(estimator._expansion()(table), dtype=float)
        given = None if feature_names is None or len(feature_names) != d else feature_names
        names = [str(name) for name in estimator.get_feature_names_out(given)]
        column_name = column_names(estimator, X, feature_names, d)[column]
        return cls(x, values, names, column_name, type(estimator).__name__)

    def _draw(self, ax: Any) -> None:
        scale = max(1.0, float(np.abs(self.values).max()))
        shown = np.flatnonzero(np.ptp(self.values, axis=0) > 1e-12 * scale)[:MAX_FUNCTIONS]
        for color, index in zip(colors(max(len(shown), 1)), shown, strict=False):
            named = shortened(self.names[index], 16) if len(shown) <= 8 else None
            ax.plot(self.x, self.values[:, index], color=color, linewidth=1.5, label=named)
        if 1 < len(shown) <= 8:
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.4)
        if not len(shown):
            ax.plot(self.x, self.values[:, :1], color=PALETTE[0])
        n_features = self.values.shape[1]
        count = f"{len(shown)} of {n_features} features" if len(shown) < n_features else "all features"
        ax.set(xlabel=self.column_name, ylabel="feature", title=f"{self.map_name}: {count}")


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


class CurveDisplay(Display, needs=("X",)):
    """The fitted function of one column with the interval of its mean, over the rows.

    Parameters
    ----------
    grid : array of shape (n_points,)
    fitted : array of shape (n_points, n_targets)
    interval : array of shape (n_points, 2) or None
        90% interval of the mean, where the model has one.
    x : array of shape (n_rows,)
        The rows shown.
    observed : array of shape (n_rows, n_targets) or None
    column_name, target_name : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import display, linear
    >>> x = np.linspace(-1, 1, 40).reshape(-1, 1)
    >>> model = linear.PolynomialRegression(2).fit(x, x[:, 0] ** 2)
    >>> display.CurveDisplay.from_estimator(model, x).fitted.shape
    (401, 1)
    """

    grid: NDArray
    fitted: NDArray
    interval: NDArray | None
    x: NDArray
    observed: NDArray | None
    column_name: str
    target_name: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        rows = dense(X)
        if rows.shape[1] != 1:
            raise ValueError(
                "The 'curve' picture is of a model on one column; use kind='effects' for several."
            )
        grid = np.linspace(rows.min(), rows.max(), N_POINTS)
        new = _like(X, grid[:, None])
        fitted = as_columns(estimator.predict(new))
        interval = None
        if fitted.shape[1] == 1 and _has_inference(estimator):
            interval = estimator.predict_interval(new, coverage=0.9, kind="mean").reshape(-1, 2)
        observed = None if y is None else as_columns(y)
        (name,) = column_names(estimator, X, feature_names, 1)
        return cls(grid, fitted, interval, rows[:, 0], observed, name, getattr(y, "name", None) or "target")

    def _draw(self, ax: Any) -> None:
        several = self.fitted.shape[1] > 1
        if self.observed is not None:
            shown = sampled(len(self.x))
            for k, target in enumerate(self.observed.T):
                color = PALETTE[k % len(PALETTE)] if several else FAINT_INK
                ax.scatter(self.x[shown], target[shown], s=16, alpha=0.5, linewidths=0, color=color)
        title = "fitted curve"
        if self.interval is not None:
            ax.fill_between(self.grid, *self.interval.T, color=PALETTE[0], alpha=0.18, linewidth=0)
            title = "fitted curve and 90% interval of the mean"
        for k, values in enumerate(self.fitted.T):
            ax.plot(self.grid, values, color=PALETTE[k % len(PALETTE)], label=f"target {k}")
        if several:
            ax.legend()
        ax.set(xlabel=self.column_name, ylabel=self.target_name, title=title)


class EffectsDisplay(Display, needs=("X",)):
    """Prediction along each column, the others at their means, centred and over the column's own range.

    Of many columns those are shown whose effects are greatest.

    Parameters
    ----------
    effects : array of shape (n_columns, n_points)
    names : sequence of str
        Names of these columns.
    n_columns : int
        Columns that there are in all.

    Examples
    --------
    >>> from assay import datasets, display, linear
    >>> X, y = datasets.diabetes(return_X_y=True)
    >>> display.EffectsDisplay.from_estimator(linear.SplineRegression().fit(X, y), X).effects.shape
    (8, 401)
    """

    effects: NDArray
    names: Sequence[str]
    n_columns: int

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        rows = dense(X)
        d = rows.shape[1]
        names = column_names(estimator, X, feature_names, d)
        place, effects = np.linspace(0, 1, N_POINTS), []
        for j in range(d):
            table = np.tile(rows.mean(axis=0), (N_POINTS, 1))
            table[:, j] = rows[:, j].min() + place * np.ptp(rows[:, j])
            effect = as_columns(estimator.predict(_like(X, table)))[:, 0]
            effects.append(effect - effect.mean())
        order = np.sort(np.argsort(-np.ptp(effects, axis=1), kind="stable")[:MAX_EFFECTS])
        return cls(np.array(effects)[order], [names[j] for j in order], d)

    def _draw(self, ax: Any) -> None:
        place = np.linspace(0, 1, self.effects.shape[1])
        names = shortened_apart(self.names, 16)
        for j, effect in enumerate(self.effects):
            ax.plot(place, effect, color=PALETTE[j % len(PALETTE)], label=names[j])
        ax.axhline(0.0, color=FAINT_INK, linewidth=0.9, zorder=1)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.0)
        n_shown = len(self.effects)
        more = f", the {n_shown} greatest of {self.n_columns}" if self.n_columns > n_shown else ""
        xlabel = "column, from its least to its greatest value"
        caption(ax, xlabel, "effect, centred", f"effect of each column{more}")


class FeatureCoefficientsDisplay(CoefficientsDisplay):
    """Coefficients of the features that a regression makes of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import FeatureCoefficientsDisplay
    >>> from assay.linear import PolynomialRegression
    >>> x = np.linspace(-1, 1, 40).reshape(-1, 1)
    >>> FeatureCoefficientsDisplay.from_estimator(PolynomialRegression(2).fit(x, x[:, 0] ** 2)).names
    ['x0', 'x0^2']
    """

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        return super()._collect(estimator, None, None, feature_names=estimator.get_feature_names_out())


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


def _default(model: FeatureRegression, X: Any, y: Any) -> str:
    """The fitted curve of one column, the effects or the predictions of several, else coefficients."""
    if X is None:
        return "coefficients"
    if model.n_features_in_ == 1:
        return "curve"
    return "effects" if y is None else "predictions"


declare(FeatureMap, default=Default("functions", "functions"), functions=FeatureFunctionsDisplay)
REGRESSION: dict[str, type[Display]] = {"curve": CurveDisplay, "effects": EffectsDisplay} | LINEAR
declare(FeatureRegression, default=_default, **REGRESSION | {"coefficients": FeatureCoefficientsDisplay})


class CoefficientMatrixDisplay(Display):
    """Coefficients of every response on every predictor, as a map.

    Parameters
    ----------
    coefficients : array of shape (n_predictors, n_responses)
    names : sequence of str
        Names of the predictors.
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import CoefficientMatrixDisplay
    >>> CoefficientMatrixDisplay(np.eye(2), ["a", "b"], "identity").plot().ax_.get_xlabel()
    'response'
    """

    coefficients: NDArray
    names: Sequence[str]
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        coefficients = np.atleast_2d(np.asarray(estimator.coef_, dtype=float)).T
        names = column_names(estimator, X, feature_names, coefficients.shape[0])
        return cls(coefficients, names, f"coefficients of rank {estimator.rank_}")

    def _draw(self, ax: Any) -> None:
        size = float(np.abs(self.coefficients).max()) or 1.0
        image = ax.imshow(self.coefficients, cmap="RdBu_r", vmin=-size, vmax=size, aspect="auto")
        ax.figure.colorbar(image, ax=ax, label="coefficient")
        if len(self.names) <= 25:
            ax.set_yticks(range(len(self.names)), [shortened(name, 16) for name in self.names])
        n_responses = self.coefficients.shape[1]
        ax.set_xticks(range(n_responses) if n_responses <= 25 else [])
        ax.grid(visible=False)
        ax.set(xlabel="response", ylabel="predictor", title=self.title)


class SingularValuesDisplay(Display):
    """Singular values, and the rank that was kept.

    Parameters
    ----------
    values : array of shape (n_values,)
    rank : int
    what : str, default="of the coefficients"
        Of what they are, for the title.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import SingularValuesDisplay
    >>> SingularValuesDisplay(np.array([3.0, 1.0, 0.1]), 2).plot().ax_.get_title()
    'singular values of the coefficients, rank 2'
    """

    values: NDArray
    rank: int
    what: str = "of the coefficients"

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        what = "of the least-squares fit" if estimator.method == "rank" else "of the coefficients"
        return cls(np.asarray(estimator.singular_values_, dtype=float), int(estimator.rank_), what)

    def _draw(self, ax: Any) -> None:
        places = np.arange(1, len(self.values) + 1)
        ax.plot(places, self.values, "o-", color=PALETTE[0])
        if self.rank < len(self.values):
            ax.axvline(self.rank + 0.5, color=ACCENT, linewidth=1.3, linestyle=DASHES)
        ax.set_xticks(places if len(places) <= 20 else [])
        title = f"singular values {self.what}, rank {self.rank}"
        ax.set(xlabel="number", ylabel="singular value", title=title)


RANK = Default("predictions", "matrix", target=True)
SVD: dict[str, type[Display]] = {"singular_values": SingularValuesDisplay, **LINEAR}
declare(ReducedRankRegression, default=RANK, matrix=CoefficientMatrixDisplay, **SVD)
