"""Histogram boosting beside LightGBM, XGBoost and scikit-learn at matched settings, by held-out loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {
    "assay": "assay.trees",
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
    "scikit-learn": "sklearn.ensemble",
}
HELD_OUT = 50_000
SHAPE: dict[str, Any] = {
    "max_leaves": 31,
    "max_depth": 0,
    "grow_policy": "lossguide",
    "tree_method": "hist",
    "n_estimators": 100,
    "learning_rate": 0.1,
    "reg_lambda": 0.0,
    "n_jobs": 2,
}
"""What XGBoost is told to grow the same trees."""


def classifier(library: str, **changes: Any) -> Any:
    """A classifier of 100 rounds of 31 leaves; learning rate 0.1, leaves of at least 20 rows, no penalty."""
    if library == "lightgbm":
        settings: dict[str, Any] = {"n_estimators": 100, "num_leaves": 31, "n_jobs": 2, "verbose": -1}
        return peer(LIBRARIES[library], "LGBMClassifier")(**settings, **changes)
    if library == "xgboost":
        return peer(LIBRARIES[library], "XGBClassifier")(**SHAPE, **changes)
    return peer(LIBRARIES[library], "HistGradientBoostingClassifier")(early_stopping=False, **changes)


def two_classes(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    noise = rng.standard_normal(n_rows)
    return X, (X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] + noise > 0).astype(np.int64)


def log_loss(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    chances = np.clip(model.predict_proba(X), 1e-15, 1.0)
    return float(-np.mean(np.log(chances[np.arange(len(y)), y])))


@pytest.mark.parametrize("library", LIBRARIES)
def test_large(contest: Contest, library: str) -> None:
    n_rows = rows(1_000_000)
    X, y = two_classes(n_rows + HELD_OUT, 20)
    contest.run(
        "HistGradientBoosting, two classes",
        f"n={n_rows} d=20",
        library,
        lambda: classifier(library).fit(X[:n_rows], y[:n_rows]),
        lambda model: log_loss(model, X[n_rows:], y[n_rows:]),
        rounds=2,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_small(contest: Contest, library: str) -> None:
    X, y = two_classes(1000 + HELD_OUT, 10)
    contest.run(
        "HistGradientBoosting, two classes",
        "n=1000 d=10",
        library,
        lambda: classifier(library).fit(X[:1000], y[:1000]),
        lambda model: log_loss(model, X[1000:], y[1000:]),
        rounds=5,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_seven_classes(contest: Contest, library: str) -> None:
    n_rows, rng = rows(100_000), np.random.default_rng(1)
    X = rng.standard_normal((n_rows + HELD_OUT, 50))
    scores = X[:, :7] + 0.5 * X[:, 7:14] * X[:, 14:21] + rng.gumbel(size=(len(X), 7))
    y = scores.argmax(axis=1)
    contest.run(
        "HistGradientBoosting, 7 classes",
        f"n={n_rows} d=50",
        library,
        lambda: classifier(library).fit(X[:n_rows], y[:n_rows]),
        lambda model: log_loss(model, X[n_rows:], y[n_rows:]),
        rounds=2,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_predictions(contest: Contest, library: str) -> None:
    n_rows = rows(1_000_000)
    X, y = two_classes(max(n_rows, 100_000), 20)
    model = classifier(library).fit(X[:100_000], y[:100_000])
    contest.run(
        "Predictions of 100 boosted trees of 31 leaves",
        f"n={n_rows} d=20",
        library,
        lambda: model.predict_proba(X[:n_rows]),
        lambda chances: float(np.mean((chances[:, 1] > 0.5) == y[:n_rows])),
        rounds=3,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_quantile(contest: Contest, library: str) -> None:
    n_rows, rng = rows(100_000), np.random.default_rng(2)
    X = rng.standard_normal((n_rows + HELD_OUT, 20))
    y = X[:, 0] + np.abs(X[:, 1]) * rng.standard_normal(len(X))

    def regressor() -> Any:
        if library == "lightgbm":
            settings: dict[str, Any] = {"objective": "quantile", "alpha": 0.9, "n_jobs": 2, "verbose": -1}
            return peer(LIBRARIES[library], "LGBMRegressor")(**settings)
        if library == "xgboost":
            level = {"objective": "reg:quantileerror", "quantile_alpha": 0.9}
            return peer(LIBRARIES[library], "XGBRegressor")(**SHAPE, **level)
        kind = peer(LIBRARIES[library], "HistGradientBoostingRegressor")
        return kind(loss="quantile", quantile=0.9, early_stopping=False)

    def pinball(model: Any) -> float:
        rest = y[n_rows:] - model.predict(X[n_rows:])
        return float(np.mean(np.maximum(0.9 * rest, -0.1 * rest)))

    contest.run(
        "HistGradientBoosting, quantile 0.9",
        f"n={n_rows} d=20",
        library,
        lambda: regressor().fit(X[:n_rows], y[:n_rows]),
        pinball,
        rounds=2,
    )


def of_levels(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten columns of 50 levels, five of which matter."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 50, (n_rows, 10)).astype(np.float64)
    effects = rng.standard_normal((10, 50))
    scores = effects[np.arange(10), X.astype(np.intp)][:, :5].sum(axis=1)
    return X, (scores + rng.logistic(size=n_rows) > 0).astype(np.int64)


@pytest.mark.parametrize("library", ["assay", "lightgbm", "scikit-learn"])
def test_categories(contest: Contest, library: str) -> None:
    # Three tables: on one, how levels are ordered moves the loss of any library by a few 1e-4 either way.
    n_rows, places = rows(100_000), list(range(10))
    tables = [of_levels(n_rows + HELD_OUT, seed) for seed in range(3)]

    def fitted() -> list[Any]:
        how = {"categorical_feature": places} if library == "lightgbm" else {}
        own = {} if library == "lightgbm" else {"categorical_features": places}
        return [classifier(library, **own).fit(X[:n_rows], y[:n_rows], **how) for X, y in tables]

    def mean_loss(models: list[Any]) -> float:
        pairs = zip(models, tables, strict=True)
        return float(np.mean([log_loss(model, X[n_rows:], y[n_rows:]) for model, (X, y) in pairs]))

    contest.run(
        "HistGradientBoosting, 10 columns of 50 levels, 3 tables",
        f"n={n_rows}",
        library,
        fitted,
        mean_loss,
        rounds=2,
    )
