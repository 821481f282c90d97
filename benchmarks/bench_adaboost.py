"""AdaBoost and gradient boosting round by round, beside scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {"assay": "assay.trees", "scikit-learn": "sklearn.ensemble"}


def exponential_risk(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Mean of e^{−y f} with f = Σ ½ α_t g_t, from what the learners say."""
    steps = model.estimator_weights_ / 2
    score = sum(
        step * (2 * learner.predict(X) - 1) for step, learner in zip(steps, model.estimators_, strict=True)
    )
    return float(np.mean(np.exp(-(2 * y - 1) * score)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_stumps_of_two_classes(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows(100_000), 20))
    y = (X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] + rng.standard_normal(len(X)) > 0).astype(int)
    kind = peer(LIBRARIES[library], "AdaBoostClassifier")
    contest.run(
        "AdaBoostClassifier, stumps",
        f"n={len(X)} d=20 T=100",
        library,
        lambda: kind(n_estimators=100, random_state=0).fit(X, y),
        lambda model: exponential_risk(model, X, y),
        rounds=1,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_gradient_boosting_of_trees(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(0)
    n_rows = rows(100_000)
    X = rng.standard_normal((n_rows + 20_000, 20))
    y = (X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] + rng.standard_normal(len(X)) > 0).astype(int)
    kind = peer(LIBRARIES[library], "GradientBoostingClassifier")
    contest.run(
        "GradientBoostingClassifier, trees of depth 3",
        f"n={n_rows} d=20 T=100, held-out log-loss",
        library,
        lambda: kind(n_estimators=100, random_state=0).fit(X[:n_rows], y[:n_rows]),
        lambda model: float(log_loss(y[n_rows:], model.predict_proba(X[n_rows:]))),
        rounds=1,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_digits(contest: Contest, library: str) -> None:
    """Both with trees of one split by the Gini index, which is scikit-learn's default."""
    X, y = load_digits(return_X_y=True)
    kind = peer(LIBRARIES[library], "AdaBoostClassifier")
    stump = peer("assay.trees" if library == "assay" else "sklearn.tree", "DecisionTreeClassifier")(
        max_depth=1
    )
    contest.run(
        "AdaBoostClassifier, SAMME",
        "digits T=100",
        library,
        lambda: kind(stump, n_estimators=100, random_state=0).fit(X, y),
        lambda model: float(np.mean(model.predict(X) != y)),
        rounds=3,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_iris(contest: Contest, small, library: str) -> None:
    X, y = small
    kind = peer(LIBRARIES[library], "AdaBoostClassifier")
    contest.run(
        "AdaBoostClassifier",
        "iris T=50",
        library,
        lambda: kind(random_state=0).fit(X, y),
        lambda model: float(np.mean(model.predict(X) != y)),
        rounds=10,
    )
