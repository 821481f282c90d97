"""Curves of scores and probabilities, against scikit-learn and by hand."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score

from assay.datasets import breast_cancer, iris
from assay.display import CalibrationDisplay, ConfusionDisplay, PrecisionRecallDisplay, RocCurveDisplay
from assay.linear import LinearSVC, LogisticRegression
from assay.models.calibration import calibration_curve

CURVES = [RocCurveDisplay, PrecisionRecallDisplay, CalibrationDisplay]


@pytest.fixture(scope="module")
def tumours():
    X, y = breast_cancer(return_X_y=True)
    return X, np.array(["benign", "malignant"])[y]


@pytest.fixture(scope="module")
def two(tumours):
    return LogisticRegression(penalty_strength=1.0).fit(*tumours)


@pytest.fixture(scope="module")
def flowers():
    return iris(return_X_y=True)


@pytest.fixture(scope="module")
def three(flowers):
    return LogisticRegression().fit(*flowers)


def legend_words(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("kind", CURVES)
def test_given_probabilities_are_drawn_like_those_of_the_model(kind, three, flowers):
    X, y = flowers
    of_model = kind.from_estimator(three, X, y)
    given = kind.from_predictions(y, three.predict_proba(X))
    assert legend_words(of_model.ax_) == legend_words(given.ax_)
    assert len(legend_words(given.ax_)) == 3
    assert given.ax_.get_xlabel()
    assert given.ax_.get_ylabel()
    renamed = kind.from_predictions(y, three.predict_proba(X), names=["a", "b", "c"])
    assert [word.partition(":")[0] for word in legend_words(renamed.ax_)] == ["a", "b", "c"]


def test_the_areas_are_those_of_scikit_learn(two, tumours, three, flowers):
    X, y = tumours
    area = roc_auc_score(y == "malignant", two.predict_proba(X)[:, 1])
    shown = RocCurveDisplay.from_estimator(two, X, y)
    assert shown.areas == pytest.approx([area])
    assert legend_words(shown.ax_) == [f"malignant: {area:.3f}"]
    X, y = flowers
    scores = three.predict_proba(X)
    each = [roc_auc_score(y == k, scores[:, k]) for k in range(3)]
    assert RocCurveDisplay.from_estimator(three, X, y).areas == pytest.approx(each)
    shown = PrecisionRecallDisplay.from_estimator(three, X, y)
    each = [average_precision_score(y == k, scores[:, k]) for k in range(3)]
    assert shown.average_precisions == pytest.approx(each)
    assert shown.shares == pytest.approx([1 / 3] * 3)


def test_a_machine_without_probabilities_is_judged_by_its_scores(tumours):
    X, y = tumours
    machine = LinearSVC().fit(X, y)
    area = roc_auc_score(y == "malignant", machine.decision_function(X))
    assert RocCurveDisplay.from_estimator(machine, X, y).areas == pytest.approx([area])
    assert machine.plot(X, y, kind="precision_recall").get_xlabel() == "recall"
    with pytest.raises(ValueError, match=r"'calibration' picture needs predict_proba, which LinearSVC lacks"):
        machine.plot(X, y, kind="calibration")
    with pytest.raises(ValueError, match=r"must be probabilities, from 0 to 1\. Got scores from -"):
        CalibrationDisplay.from_predictions(y, machine.decision_function(X))


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


def test_the_calibration_error_is_the_mean_miss_of_the_rows():
    rng = np.random.default_rng(1)
    probability = rng.uniform(size=4000)
    truth = rng.uniform(size=4000) < probability**2
    shown = CalibrationDisplay.from_predictions(truth, probability)
    mean, share, size = calibration_curve(truth, probability)
    assert shown.errors == pytest.approx([np.average(np.abs(mean - share), weights=size)])
    # E|p − p²| for a uniform p is 1/6.
    assert shown.errors[0] == pytest.approx(1 / 6, abs=0.03)


def test_a_constant_probability_makes_one_bin():
    mean, share, size = calibration_curve(np.array([True, False, False, True]), np.full(4, 0.5))
    assert (mean, share, size) == (0.5, 0.5, 4)
    said = np.repeat([0.6, 0.7, 0.9], [40, 30, 30])  # three things said are three bins
    mean, share, size = calibration_curve(said > 0.65, said)
    np.testing.assert_allclose([mean, share, size], [[0.6, 0.7, 0.9], [0, 1, 1], [40, 30, 30]])
    assert CalibrationDisplay.from_predictions([1, 0, 0, 1], np.full(4, 0.5)).errors == pytest.approx([0.0])


def test_a_class_without_rows_has_no_curve_and_one_class_alone_is_refused():
    scores = np.full((4, 3), 1 / 3)
    shown = RocCurveDisplay.from_predictions([0, 1, 0, 1], scores, classes=[0, 1, 2], names=["a", "b", "c"])
    assert shown.names == ["a", "b"]
    with pytest.raises(ValueError, match="needs rows of at least two classes"):
        RocCurveDisplay.from_predictions([0, 0], scores[:2], classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"a column for each of the 2 classes\. Got shape \(4, 3\)"):
        RocCurveDisplay.from_predictions([0, 1, 0, 1], scores)
    assert len(plt.get_fignums()) == 1


def test_of_many_classes_the_most_frequent_have_curves():
    y = np.repeat(np.arange(16), np.arange(3, 19))
    scores = np.random.default_rng(0).dirichlet(np.ones(16), size=y.size)
    shown = RocCurveDisplay.from_predictions(y, scores)
    assert shown.names == [str(k) for k in range(4, 16)]
    assert shown.ax_.get_legend() is None
    assert {text.get_text() for text in shown.ax_.texts} >= set(shown.names)


def test_a_legend_leaves_the_curves_of_a_small_picture_alone(rng):
    """The smaller the picture, the more of it a legend takes: here no corner is free for it."""
    labels = rng.integers(3, size=400)
    noise = rng.normal(size=(400, 3)) + 1.2 * np.eye(3)[labels] * [1, 0.1, 1]
    scores = np.exp(noise) / np.exp(noise).sum(axis=1, keepdims=True)
    ax = plt.figure(figsize=(3.6, 2.15), layout="constrained").subplots()
    shown = PrecisionRecallDisplay.from_predictions(labels, scores, classes=np.arange(3), ax=ax)
    shown.figure_.canvas.draw()
    frame = shown.ax_.get_legend().get_window_extent()
    for recall, precision in zip(shown.recalls, shown.precisions, strict=True):
        places = shown.ax_.transData.transform(np.column_stack([recall, precision]))
        assert not any(frame.contains(*place) for place in places)


def test_a_legend_leaves_the_curves_alone():
    # Precision is low from the left to the middle: only the right or the outside is free.
    y = np.repeat([1, 0], [60, 240])
    score = np.concatenate([np.linspace(0, 1, 60), np.linspace(0, 0.99, 240)])
    shown = PrecisionRecallDisplay.from_predictions(y, score)
    shown.figure_.canvas.draw()
    frame = shown.ax_.get_legend().get_window_extent()
    places = shown.ax_.transData.transform(np.column_stack([shown.recalls[0], shown.precisions[0]]))
    assert not any(frame.contains(*place) for place in places)


def test_the_confusion_of_given_predictions_is_counted_and_named(two, tumours):
    X, y = tumours
    said = two.predict(X)
    counts = confusion_matrix(y, said)
    given = ConfusionDisplay.from_predictions(y, said)
    np.testing.assert_array_equal(given.counts, counts)
    np.testing.assert_array_equal(ConfusionDisplay.from_estimator(two, X, y).counts, counts)
    turned = ConfusionDisplay.from_predictions(
        y, said, classes=["malignant", "benign"], names=["ill", "well"]
    )
    np.testing.assert_array_equal(turned.counts, counts[::-1, ::-1])
    assert [label.get_text() for label in turned.ax_.get_xticklabels()] == ["ill", "well"]
    assert given.ax_.get_title() == f"{np.trace(counts)} of 569 rows right ({np.trace(counts) / 569:.1%})"
