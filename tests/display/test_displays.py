"""Every picture of every public estimator is a display: it keeps its data and draws them again by itself."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

import assay
from assay import display
from assay.base import Model
from estimators import estimator_classes
from samples import few_trees

TIMED = {"gap"}
"""Pictures of seconds, which no second fit takes again."""

ONE_COLUMN = {"curve", "members"}
"""Pictures of models of one column."""

NO_PROBABILITIES = {
    (name, kind)
    for name in ("LinearSVC", "Perceptron", "SGDClassifier")
    for kind in ("calibration", "probability")
}
"""Pictures that a method refuses because it has no probabilities."""


def fitted(kind: type[Model], n_features: int) -> tuple[Model, np.ndarray, np.ndarray]:
    """A small fit that keeps its iterations, and its data."""
    rng = np.random.default_rng(5)
    # Two groups, dense enough for methods that look for density, with classes that overlap a little.
    X = 0.2 * rng.normal(size=(40, n_features)) + 2.0 * (np.arange(40)[:, None] % 2)
    if get_tags(kind()).input_tags.positive_only:
        X = np.abs(X)
    y = X.sum(axis=1) + 0.5 * rng.normal(size=40)
    if is_classifier(kind()):
        y = (y > np.median(y)).astype(int)
    model = few_trees(kind())
    if "random_state" in model.get_params():
        model.set_params(random_state=0)  # a start drawn afresh may once be a poor one, which warns
    if "history" in model.get_params():
        model.set_params(history=True)
    for name, value in {"keep_rows": True, "calibration": 0.5, "calibration_method": "sigmoid"}.items():
        if name in model.get_params():
            model.set_params(**{name: value})
    if "bandwidths" in model.get_params():
        model.set_params(bandwidth="ucv")  # a choice, whose criterion is a picture
    if "oob_score" in model.get_params():
        model.set_params(oob_score=True, bootstrap=True, n_estimators=60)  # every row is out of some bag
    return model.fit(X, y), X, y


def described(ax: Any) -> tuple[Any, ...]:
    """What an axes says, and how many marks it has of each sort."""
    marks = (ax.lines, ax.patches, ax.collections, ax.images, ax.texts)
    return ax.get_title(), ax.get_xlabel(), ax.get_ylabel(), *(len(each) for each in marks)


def arrays_in(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [array for each in value for array in arrays_in(each)] if isinstance(value, (list, tuple)) else []


# A perceptron on classes that overlap says that it does not end, as it should.
@pytest.mark.filterwarnings("ignore:Perceptron:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", estimator_classes(), ids=lambda kind: kind.__name__)
def test_every_picture_keeps_its_data_and_is_drawn_again_from_them_alone(estimator):
    fits = {4: fitted(estimator, 4)}
    kinds = display.kinds(fits[4][0])
    assert kinds
    for kind in kinds:
        n_features = 1 if kind in ONE_COLUMN else 4
        if n_features not in fits:
            fits[n_features] = fitted(estimator, n_features)
        model, X, y = fits[n_features]
        shown_by = display.pictures(model).displays[kind]
        if (estimator.__name__, kind) in NO_PROBABILITIES:
            with pytest.raises(ValueError, match=f"The '{kind}' picture needs predict_proba"):
                shown_by.from_estimator(model, X, y)
            continue

        ax = Figure().subplots()
        shown = shown_by.from_estimator(model, X, y, ax=ax)
        assert shown.ax_ is ax
        assert shown.figure_ is ax.figure
        assert any(each.has_data() for each in (ax, *ax.child_axes))

        assert is_dataclass(shown)
        values = [getattr(shown, field.name) for field in fields(shown)]
        assert arrays_in(values)
        assert not any(isinstance(value, BaseEstimator) for value in values)

        # A pipeline that ends in the model shows the same.
        if kind not in TIMED:
            pipeline = Pipeline([("same", FunctionTransformer().fit(X)), ("model", model)])
            again = display.plot(pipeline, X, y, kind=kind, ax=Figure().subplots())
            assert described(again) == described(ax)

        # What was kept suffices: a copy without model and figure draws the same, on a figure of its own.
        copy = pickle.loads(pickle.dumps(shown))
        assert not hasattr(copy, "ax_")
        assert described(copy.plot().ax_) == described(ax)
        assert copy.figure_ is not ax.figure
        plt.close("all")


def test_every_display_of_the_package_says_what_it_is():
    displays = [getattr(display, name) for name in display.__all__ if name.endswith("Display")]
    assert len(displays) > 40
    for each in displays:
        assert issubclass(each, display.Display)
        if each is not display.Display:
            assert is_dataclass(each), each
            assert "Examples" in each.__doc__, each


def test_the_displays_of_all_estimators_are_public():
    public = {getattr(display, name) for name in display.__all__}
    for estimator in estimator_classes():
        used = set(display.pictures(estimator()).displays.values())
        assert used <= public, (estimator, used - public)


def test_an_option_that_no_picture_takes_is_refused_in_one_sentence():
    model, X, y = fitted(assay.linear.Ridge, 3)
    with pytest.raises(TypeError, match=r"PathDisplay takes the options 'alphas', .*Got 'colour' instead"):
        model.plot(X, y, kind="path", colour="red")
    assert not plt.get_fignums()


def test_an_option_of_another_kind_chooses_it():
    model, X, y = fitted(assay.linear.LogisticRegression, 4)
    assert model.plot(X, y, image_shape=(2, 2)).get_title() == "coefficients as 2 × 2 images"


def test_what_a_display_needs_is_said_in_its_own_words():
    model, X, _ = fitted(assay.linear.Ridge, 3)
    with pytest.raises(
        ValueError, match=r"PathDisplay of Ridge needs X and y: from_estimator\(model, X, y\)"
    ):
        display.PathDisplay.from_estimator(model, X)
    assert not plt.get_fignums()


def test_a_display_of_numbers_alone_says_that_it_is_not_read_off_a_model():
    with pytest.raises(TypeError, match="ElbowDisplay is not read off a model: make it from its data"):
        display.ElbowDisplay.from_estimator(object())
