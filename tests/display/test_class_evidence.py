"""Curves of given probabilities, against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from sklearn.metrics import roc_auc_score

from assay.datasets import breast_cancer, iris
from assay.display import ClassEvidence
from assay.display._class_evidence import calibration_curve
from assay.linear import LinearSVC, LogisticRegression


@pytest.fixture(scope="module")
def two():
    X, y = breast_cancer(return_X_y=True)
    return ClassEvidence.from_estimator(LogisticRegression(penalty_strength=1.0).fit(X, y), X, y)


@pytest.mark.parametrize("kind", ["confusion", "roc", "precision_recall", "calibration"])
def test_every_kind_draws_two_and_three_classes(two, kind):
    X, y = iris(return_X_y=True)
    three = ClassEvidence.from_estimator(LogisticRegression().fit(X, y), X, y)
    for evidence in (two, three):
        ax = evidence.plot(kind)
        assert isinstance(ax, Axes)
        assert ax.get_xlabel()
        assert ax.get_ylabel()
    if kind != "confusion":
        assert len(three.plot(kind).get_legend().get_texts()) == 3


def test_the_area_written_is_the_area(two):
    area = roc_auc_score(two.observed, two.probabilities[:, 1])
    (text,) = two.plot("roc").get_legend().get_texts()
    assert text.get_text() == f"{two.classes[1]}: {area:.3f}"


def test_calibration_of_true_probabilities_is_the_diagonal():
    rng = np.random.default_rng(0)
    probability = rng.uniform(size=200_000)
    truth = rng.uniform(size=200_000) < probability
    mean, share, size = calibration_curve(truth, probability)
    assert size.sum() == 200_000
    assert np.all(np.abs(mean - share) < 5 * np.sqrt(0.25 / size))
    overconfident = np.clip(2 * probability - 0.5, 0, 1)
    mean, share, _ = calibration_curve(truth, overconfident)
    assert np.abs(mean - share).max() > 0.1


def test_a_constant_probability_makes_one_bin():
    mean, share, size = calibration_curve(np.array([True, False, False, True]), np.full(4, 0.5))
    assert (mean, share, size) == (0.5, 0.5, 4)


def test_what_cannot_be_drawn_is_said_in_one_sentence(two):
    X, y = iris(return_X_y=True)
    machine = ClassEvidence.from_estimator(LinearSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"The 'roc' picture needs probabilities"):
        machine.plot("roc")
    with pytest.raises(ValueError, match=r"must be one of 'confusion', .* Got 'pie' instead"):
        two.plot("pie")
    assert machine.plot().get_xlabel() == "predicted"
