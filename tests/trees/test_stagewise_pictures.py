"""Pictures of boosting show what the fit and the theory say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from assay.datasets import GaussianClasses
from assay.display import (
    BoundChainDisplay,
    ErrorDecompositionDisplay,
    FlippedWeightDisplay,
    MarginsDisplay,
    RoundErrorsDisplay,
    RoundFrontiersDisplay,
    RoundRiskDisplay,
    ShrinkageGridDisplay,
)
from assay.theory import error_decomposition, flipped_weight
from assay.trees import AdaBoostClassifier, GradientBoostingRegressor


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.3, random_state=1)


@pytest.fixture(scope="module")
def vote(moons):
    return AdaBoostClassifier(n_estimators=30).fit(*moons)


def drawn(display, label):
    """The line of a name in a picture."""
    return next(line for line in display.ax_.get_lines() if line.get_label() == label)


@pytest.mark.spec("sangnier/X-Fig1.9")
def test_the_errors_of_the_learners_are_drawn_below_chance(vote):
    shown = RoundErrorsDisplay.from_estimator(vote)
    assert_allclose(drawn(shown, "learner, reweighted rows").get_ydata(), vote.history_.error)
    assert shown.chance == 0.5


def test_the_chain_is_drawn_on_a_log_axis_in_its_order(vote):
    shown = BoundChainDisplay.from_estimator(vote)
    assert shown.ax_.get_yscale() == "log"
    last = [values[-1] for values in shown.curves.values()]
    assert last == sorted(last)


def test_margins_and_frontiers_are_those_of_the_rounds(vote, moons):
    X, y = moons
    shown = MarginsDisplay.from_estimator(vote, X, y, rounds=(1, 30))
    assert_allclose(shown.margins[30], np.sort(vote.margins(X, y)))
    with pytest.raises(ValueError, match="'n_rounds' must be"):
        MarginsDisplay.from_estimator(vote, X, y, rounds=(31,))
    planes = RoundFrontiersDisplay.from_estimator(vote, X, y)
    assert max(planes.scores) == 30
    assert planes.scores[30].min() < 0 < planes.scores[30].max()


@pytest.mark.spec("sangnier/X-1.3.3")
def test_the_grid_of_shrinkage_and_rounds_marks_the_least_risk(patients):
    X, y = patients
    path = GradientBoostingRegressor(n_estimators=15, max_depth=2).path(X[:300], y[:300], (0.1, 1.0))
    shown = ShrinkageGridDisplay.from_path(path, X[300:], y[300:])
    assert_allclose(drawn(shown, "least").get_ydata(), [shown.risks.min()])
    by_hand = [np.mean((y[300:] - f) ** 2) / 2 for f in path.models[0].staged_predict(X[300:])]
    assert_allclose(drawn(shown, "ν = 0.1").get_ydata(), by_hand)
    risk = RoundRiskDisplay.from_estimator(path.models[1])
    assert_allclose(drawn(risk, "risk").get_ydata(), path.models[1].history_.risk)


def test_noise_and_parts_of_the_error_are_drawn():
    law = GaussianClasses([[1.0, 1.0], [-1.0, -1.0]])
    model = AdaBoostClassifier(n_estimators=10)
    noise = flipped_weight(model, law, (0.0, 0.2), n_samples=150, n_test=500, random_state=0)
    shown = FlippedWeightDisplay.from_result(noise)
    assert_allclose(drawn(shown, "weight on flipped rows").get_ydata(), noise.weight)
    parts = error_decomposition(model, law, 50, n_repeats=2, n_population=500, n_test=500, random_state=0)
    assert_allclose(drawn(ErrorDecompositionDisplay.from_result(parts), "fit").get_ydata(), parts.fit)
