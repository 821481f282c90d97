"""Pictures of ensembles of trees: error out of bag, importance of columns, single members and their mean."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from assay.display.base import Display
from assay.display.classes.pictures import ConfusionDisplay
from assay.display.linear.coefficients import ROWS_PER_INCH
from assay.display.linear.predictions import PredictionsDisplay, ResidualsDisplay
from assay.display.plane import column_names, dense, sampled, shortened_apart
from assay.display.registry import Default, declare
from assay.display.style import ACCENT, DASHES, FAINT_INK, INK, PALETTE, caption, whole_numbers
from assay.numbers import shown
from assay.trees import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from assay.trees.forest.base import ForestModel
from assay.trees.forest.importance import Importance, summarised

N_POINTS, N_SHOWN, MAX_BARS = 500, 12, 30


class OutOfBagDisplay(Display):
    """Out-of-bag error as trees are added.

    Parameters
    ----------
    errors : array of shape (n_trees,)
    measure, title : str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from assay import display, trees
    >>> X, y = load_iris(return_X_y=True)
    >>> model = trees.RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, y)
    >>> display.OutOfBagDisplay.from_estimator(model).errors.shape
    (30,)
    """

    errors: NDArray
    measure: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        errors = getattr(estimator, "oob_errors_", None)
        if errors is None:
            raise ValueError(
                f"The 'out_of_bag' picture of {type(estimator).__name__} needs a fit with oob_score=True."
            )
        measure = "share of wrong classes" if hasattr(estimator, "classes_") else "mean squared error"
        return cls(errors, measure, f"{shown(errors[-1], 3)} out of bag with {len(errors)} members")

    def _draw(self, ax: Any) -> None:
        ax.plot(np.arange(1, len(self.errors) + 1), self.errors, color=PALETTE[0])
        ax.axhline(self.errors[-1], color=FAINT_INK, linewidth=1.0, linestyle=DASHES)
        whole_numbers(ax)
        caption(ax, "members", f"out-of-bag {self.measure}", self.title)


class ImportanceDisplay(Display):
    """Importance of the columns with intervals over the members, and that of a column of noise for scale.

    Parameters
    ----------
    names : list of str
        Columns, the most important first.
    importances, lower, upper : arrays of shape (n_columns,)
        With the ends of 95% intervals.
    noise : float or None
        Importance of a column drawn at random, in a forest grown anew with it.
    measure, title : str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from assay import display, trees
    >>> X, y = load_iris(return_X_y=True)
    >>> model = trees.RandomForestClassifier(30, random_state=0).fit(X, y)
    >>> sorted(display.ImportanceDisplay.from_estimator(model, X, y, measure="unbiased").names[:2])
    ['x2', 'x3']
    """

    names: list[str]
    importances: NDArray
    lower: NDArray
    upper: NDArray
    noise: float | None
    measure: str
    title: str

    @classmethod
    def _collect(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        measure: str = "impurity",
        with_noise: bool = True,
        feature_names: Any = None,
    ) -> Self:
        noise = None
        if isinstance(estimator, ForestModel):
            result = estimator.importance(measure, X, y, random_state=0)
            if with_noise and X is not None and y is not None:
                noise = _noise_importance(estimator, dense(X), y, measure)
            words = {"impurity": "share of the gain of the splits", "permutation": "rise of the error"}
            label = words.get(measure, "gain on rows outside the bags")
        else:
            result, label = _member_importance(estimator)
        names = column_names(estimator, X, feature_names, len(result.importances))
        order = np.argsort(-result.importances, kind="stable")[:MAX_BARS]
        lower, upper = result.conf_int()[order].T
        title = f"mean over {len(result.each)} members, 95% intervals"
        means = result.importances[order]
        return cls([names[j] for j in order], means, lower, upper, noise, label, title)

    def _draw(self, ax: Any) -> None:
        # As many bars as there is room for, the most important ones.
        n_shown = min(len(self.names), max(4, int(ROWS_PER_INCH * (ax.figure.get_figheight() - 0.7))))
        places = np.arange(n_shown)[::-1]
        ax.barh(places, self.importances[:n_shown], color=PALETTE[0], height=0.65)
        ax.hlines(places, self.lower[:n_shown], self.upper[:n_shown], color=INK, linewidth=1.4)
        ax.axvline(0.0, color=FAINT_INK, linewidth=0.9)
        if self.noise is not None:
            ax.axvline(self.noise, color=ACCENT, linestyle=DASHES, label="a column of noise")
            ax.legend(loc="lower right")
        ax.set_yticks(places, shortened_apart(self.names[:n_shown]))
        ax.grid(visible=False, axis="y")
        most = f"the {n_shown} most important, " if n_shown < len(self.names) else ""
        caption(ax, self.measure, "", f"{most}{self.title}")


def _noise_importance(model: Any, X: NDArray, y: Any, measure: str) -> float:
    """Importance of one more column of normal numbers."""
    draws = np.random.default_rng(0)
    wider = np.column_stack([X, draws.normal(size=len(X))])
    again = clone(model).set_params(random_state=0, monotonic_cst=None, interaction_cst=None)
    if isinstance(again.categorical_features, (list, tuple, np.ndarray)) or model.is_categorical_.any():
        again.set_params(categorical_features=np.flatnonzero(model.is_categorical_).tolist())
    again.fit(wider, y)
    return float(again.importance(measure, wider, y, random_state=0).importances[-1])


def _member_importance(model: Any) -> tuple[Importance, str]:
    """Of a bag: the importance that members tell, or else the share of them that see each column."""
    d = model.n_features_in_
    each = np.zeros((len(model.estimators_), d))
    told = all(hasattr(member, "feature_importances_") for member in model.estimators_)
    for place, (member, features) in enumerate(
        zip(model.estimators_, model.estimators_features_, strict=True)
    ):
        np.add.at(each[place], features, member.feature_importances_ if told else 1.0)
    names = [f"x{j}" for j in range(d)]
    kind, label = (
        ("impurity", "share of the gain of the splits") if told else ("seen", "times seen by a member")
    )
    return summarised(kind, names, each), label


class SingleMembersDisplay(Display, needs=("X",)):
    """Single members and their mean, over one feature.

    Parameters
    ----------
    grid : array of shape (n_points,)
    singles : array of shape (n_members, n_points)
        The first of the members.
    mean : array of shape (n_points,)
        Of all members.
    x : array of shape (n_rows,)
    y : array of shape (n_rows,) or None
    name, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import display, trees
    >>> x = np.linspace(0, 6, 60).reshape(-1, 1)
    >>> model = trees.BaggingRegressor(n_estimators=20, random_state=0).fit(x, np.sin(x[:, 0]))
    >>> display.SingleMembersDisplay.from_estimator(model, x).singles.shape
    (12, 500)
    """

    grid: NDArray
    singles: NDArray
    mean: NDArray
    x: NDArray
    y: NDArray | None
    name: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if estimator.n_features_in_ != 1:
            raise ValueError(
                f"The 'members' picture of {type(estimator).__name__} needs one feature; the model has "
                f"{estimator.n_features_in_}: draw kind='predictions' instead."
            )
        x = dense(X)[:, 0]
        grid = np.linspace(np.nanmin(x), np.nanmax(x), N_POINTS)
        column = grid.reshape(-1, 1)
        if isinstance(estimator, ForestModel):
            singles = np.array([tree.predict(column)[:, 0] for tree in estimator.trees_[:N_SHOWN]])
        else:
            singles = np.array([member.predict(column) for member in estimator.estimators_[:N_SHOWN]])
        n_members = len(getattr(estimator, "trees_", getattr(estimator, "estimators_", ())))
        target = None if y is None else np.asarray(y, dtype=float)
        (name,) = column_names(estimator, X, feature_names, 1)
        title = f"{len(singles)} single members and the mean of {n_members}"
        return cls(grid, singles, np.asarray(estimator.predict(column)), x, target, name, title)

    def _draw(self, ax: Any) -> None:
        if self.y is not None:
            shown = sampled(self.x.size)
            ax.scatter(self.x[shown], self.y[shown], s=14, color="#8c959f", alpha=0.6, linewidths=0)
        for place, single in enumerate(self.singles):
            label = "single members" if place == 0 else None
            ax.plot(self.grid, single, color=PALETTE[4], linewidth=0.8, alpha=0.55, label=label)
        ax.plot(self.grid, self.mean, color=ACCENT, linewidth=2.2, label="mean")
        ax.legend()
        caption(ax, self.name, "prediction", self.title)


declare(
    RandomForestClassifier,
    ExtraTreesClassifier,
    BaggingClassifier,
    default=Default("confusion", "importance", target=True),
    importance=ImportanceDisplay,
    out_of_bag=OutOfBagDisplay,
    confusion=ConfusionDisplay,
)
declare(
    RandomForestRegressor,
    ExtraTreesRegressor,
    BaggingRegressor,
    default=Default("predictions", "importance", target=True),
    importance=ImportanceDisplay,
    out_of_bag=OutOfBagDisplay,
    members=SingleMembersDisplay,
    predictions=PredictionsDisplay,
    residuals=ResidualsDisplay,
)
