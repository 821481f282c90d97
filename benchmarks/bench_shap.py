"""Shapley values of boosted trees beside LightGBM, XGBoost and shap, by how far they miss their sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.bench_boosting import classifier, two_classes
from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = ("assay", "lightgbm", "xgboost", "shap")


def explainer(library: str, X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], tuple[Any, np.ndarray]]:
    """A function from rows to the sums of their values with the base value, and to their scores."""
    if library == "shap":  # on a model whose values it computes itself
        model = classifier("scikit-learn").fit(X, y)
        told = peer("shap", "TreeExplainer")(model)
        return lambda new: (
            told.shap_values(new).sum(axis=1) + np.ravel(told.expected_value)[0],
            model.decision_function(new),
        )
    model = classifier(library).fit(X, y)
    if library == "lightgbm":
        return lambda new: (
            model.predict_proba(new, pred_contrib=True).sum(axis=1),
            model.booster_.predict(new, raw_score=True),
        )
    if library == "xgboost":
        matrix, booster = peer("xgboost", "DMatrix"), model.get_booster()
        return lambda new: (
            booster.predict(matrix(new), pred_contribs=True).sum(axis=1),
            booster.predict(matrix(new), output_margin=True),
        )

    def ours(new: np.ndarray) -> tuple[Any, np.ndarray]:
        explained = model.shap_values(new)
        return explained.values.sum(axis=1) + explained.base_value, explained.scores

    return ours


@pytest.mark.parametrize("library", LIBRARIES)
def test_boosted_trees(contest: Contest, library: str) -> None:
    X, y = two_classes(20_000, 20)
    explain, new = explainer(library, X, y), X[: rows(10_000)]
    explain(new[:200])  # loops are compiled
    contest.run(
        "shap_values, 100 trees of 31 leaves",
        f"n={len(new)} d=20",
        library,
        lambda: explain(new),
        lambda sums: float(np.max(np.abs(sums[0] - sums[1]))),
        rounds=2,
    )
