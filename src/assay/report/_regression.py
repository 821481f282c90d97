"""The candidates of a regression and their cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from assay.kernel_machines import KernelRidge
from assay.linear import LinearRegression, Ridge
from assay.report._comparison import Candidate, Comparison, Progress, certificates_of, ranked
from assay.report._errors import ReportError
from assay.report._tables import Data

KERNEL_ROWS = 5000
TUNING_ROWS = 1000


class Fit(NamedTuple):
    """A fitted model and the parameters that were chosen for it."""

    model: Any
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class Recipe:
    """How to fit a candidate, choice of its parameters included, on training rows only."""

    name: str
    summary: str
    fit: Callable[[Any, NDArray, int], Fit]
    is_baseline: bool = False
    max_rows: int | None = None


def fit_mean(X: Any, y: NDArray, seed: int) -> Fit:
    """The mean of the target."""
    return Fit(DummyRegressor().fit(X, y), {})


def fit_linear(X: Any, y: NDArray, seed: int) -> Fit:
    """Least squares on standardised columns."""
    return Fit(make_pipeline(StandardScaler(), LinearRegression()).fit(X, y), {})


def fit_ridge(X: Any, y: NDArray, seed: int) -> Fit:
    """Ridge on standardised columns, with the penalty of least leave-one-out error on these rows."""
    alphas = y.size * np.logspace(-6.0, 3.0, 46)
    path = Ridge().path(StandardScaler().fit_transform(X), y, alphas=alphas)
    alpha = path.best_alpha
    return Fit(make_pipeline(StandardScaler(), Ridge(alpha=alpha)).fit(X, y), {"alpha": alpha})


def fit_kernel_ridge(X: Any, y: NDArray, seed: int) -> Fit:
    """Kernel ridge on standardised columns, tuned by leave-one-out on these rows.

    Beyond 1000 rows the penalty and the width are chosen on a sample of that size; the penalty on the mean
    loss is what is chosen, so that it carries over to all rows.
    """
    shown = np.arange(y.size)
    if y.size > TUNING_ROWS:
        shown = np.random.default_rng(seed).choice(y.size, TUNING_ROWS, replace=False)
    strength, gamma = _tune_kernel_ridge(StandardScaler().fit_transform(X)[shown], y[shown])
    alpha = strength * y.size
    machine = KernelRidge(alpha, kernel="rbf", gamma=gamma, fit_intercept=True)
    return Fit(make_pipeline(StandardScaler(), machine).fit(X, y), {"alpha": alpha, "gamma": gamma})


def _tune_kernel_ridge(Z: NDArray, y: NDArray) -> tuple[float, float]:
    """Penalty on the mean loss and width of least leave-one-out error."""
    strengths = np.logspace(-6.0, 0.5, 27)
    best = (np.inf, 1.0, 1.0)
    # Many small eigenproblems: a second BLAS thread costs more than it brings, above all on a busy machine.
    with threadpool_limits(1, user_api="blas"):
        for gamma in np.array([0.01, 0.03, 0.1, 0.3, 1.0]) / Z.shape[1]:
            machine = KernelRidge(kernel="rbf", gamma=gamma, fit_intercept=True)
            errors = machine.path(Z, y, alphas=strengths * y.size).leave_one_out_error
            least = int(np.nanargmin(errors))
            best = min(best, (float(errors[least]), float(strengths[least]), float(gamma)))
    return best[1:]


RECIPES = (
    Recipe("Baseline", "Always answers the mean of the target; what any model must beat.", fit_mean, True),
    Recipe(
        "LinearRegression", "Least squares: a weighted sum of the columns, nothing to choose.", fit_linear
    ),
    Recipe(
        "Ridge",
        "Least squares with a squared-norm penalty; its strength is chosen by leave-one-out.",
        fit_ridge,
    ),
    Recipe(
        "KernelRidge",
        "A smooth, non-linear function (Gaussian kernel); penalty and width are chosen by leave-one-out.",
        fit_kernel_ridge,
        max_rows=KERNEL_ROWS,
    ),
)


def compare_regressions(data: Data, *, folds: int, seed: int, progress: Progress) -> Comparison:
    """Cross-validate the candidates on the same folds, then fit each on the whole table."""
    start = perf_counter()
    y = data.y
    assert y is not None
    _check(data, y, folds)
    splits = list(KFold(folds, shuffle=True, random_state=seed).split(data.X))
    skipped = [
        f"{recipe.name} was left out: it compares all pairs of rows, which takes too long beyond "
        f"{recipe.max_rows} rows."
        for recipe in RECIPES
        if recipe.max_rows is not None and y.size > recipe.max_rows
    ]
    recipes = [recipe for recipe in RECIPES if recipe.max_rows is None or y.size <= recipe.max_rows]
    total = len(recipes) * (folds + 1)
    candidates = []
    for number, recipe in enumerate(recipes):

        def step(fit: int, number: int = number, recipe: Recipe = recipe) -> None:
            progress(number * (folds + 1) + fit, total, recipe.name)

        try:
            candidates.append(_cross_validate(recipe, data, y, splits, seed, step))
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            skipped.append(f"{recipe.name} was left out: its fit failed ({str(error).rstrip('.')}).")
    progress(total, total, "done")
    return Comparison(
        task="regression",
        data=data,
        score_name="R²",
        candidates=ranked(candidates, skipped),
        folds=folds,
        seed=seed,
        skipped=tuple(skipped),
        seconds=perf_counter() - start,
    )


def _check(data: Data, y: NDArray, folds: int) -> None:
    if folds < 2:
        raise ReportError(f"The number of folds must be at least 2. Got {folds} instead.")
    if y.size < 2 * folds:
        way = f"use --folds {y.size // 2}" if y.size >= 4 else "more rows are needed"
        raise ReportError(
            f"{folds} folds need at least {2 * folds} rows, two a fold; {data.name} has {y.size}: {way}."
        )
    if np.ptp(y) == 0:
        raise ReportError(
            f"The target {data.target!r} is {y[0]:g} in every row; there is nothing to predict."
        )


def _cross_validate(
    recipe: Recipe,
    data: Data,
    y: NDArray,
    splits: list[tuple[NDArray, NDArray]],
    seed: int,
    step: Callable[[int], None],
) -> Candidate:
    predictions = np.empty_like(y)
    scores, seconds = [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for fold, (train, test) in enumerate(splits):
            step(fold)
            start = perf_counter()
            fitted = recipe.fit(data.X.iloc[train], y[train], seed)
            seconds.append(perf_counter() - start)
            predictions[test] = fitted.model.predict(data.X.iloc[test])
            scores.append(r2_score(y[test], predictions[test]))
        step(len(splits))
        final = recipe.fit(data.X, y, seed)
    residuals = y - predictions
    return Candidate(
        name=recipe.name,
        summary=recipe.summary,
        score=float(np.mean(scores)),
        standard_error=float(np.std(scores, ddof=1) / np.sqrt(len(scores))),
        scores=np.array(scores),
        measures={
            "RMSE": float(np.sqrt(np.mean(residuals**2))),
            "MAE": float(np.mean(np.abs(residuals))),
        },
        fit_seconds=float(np.median(seconds)),
        parameters=final.parameters,
        model=final.model,
        certificates=certificates_of(final.model),
        predictions=predictions,
        is_baseline=recipe.is_baseline,
        notes=tuple(dict.fromkeys(str(warning.message) for warning in caught)),
    )
