"""When rounds end and what trees are drawn from, said by small objects: as flat parameters, and beyond."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.base import clone

import assay
from assay.losses import SquaredHinge
from assay.parameters import ParameterError
from assay.rows import threads
from assay.trees import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    Sampling,
    Stopping,
)
from assay.trees.boosting import table as tables
from assay.trees.boosting.proofs.replay import drawn_columns
from assay.trees.growing.binned.searching import make_plan
from assay.trees.growing.criteria import NumberCost
from assay.trees.growing.space import ColumnRules, Limits
from boosted import changed, claim

FLAT = {"validation_fraction": 0.3, "n_iter_no_change": 2, "tol": 1e-3, "scoring": "roc_auc"}
OBJECTS = {"early_stopping": Stopping(tol=1e-3), "subsample": Sampling(rows=0.7, columns=0.5)}
SHAPE = {"max_iter": 12, "max_leaf_nodes": 6, "min_samples_leaf": 5, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 6))
    X[::9, 2] = np.nan
    return X, (X[:, 0] + X[:, 1] * X[:, 3] + rng.standard_normal(500) > 0).astype(int)


def columns_of_trees(trees):
    """The columns that each tree is divided by."""
    each = (trees.feature[trees.tree(place)] for place in range(trees.n_trees))
    return [set(feature[feature >= 0].tolist()) for feature in each]


@pytest.mark.parametrize("flat", [FLAT, {**FLAT, "scoring": "loss", "validation_fraction": None}])
def test_a_stopping_is_the_flat_parameters(rows, flat):
    one = HistGradientBoostingClassifier(early_stopping=True, **flat, **SHAPE).fit(*rows)
    # The parameters beside the object say nothing.
    other = HistGradientBoostingClassifier(early_stopping=Stopping(**flat), tol=0.0, **SHAPE).fit(*rows)
    assert other.do_early_stopping_
    assert other.n_iter_ == one.n_iter_
    assert other.trees_ == one.trees_
    assert np.array_equal(other.validation_score_, one.validation_score_)
    assert other.certify(*rows).holds


@pytest.mark.parametrize("field", ["n_iter_no_change", "validation_fraction", "scoring", "tol"])
def test_every_part_of_a_stopping_counts(rows, field):
    usual = {"validation_fraction": 0.1, "n_iter_no_change": 10, "tol": 1e-7, "scoring": "loss"}
    other = {**usual, field: {**FLAT, "n_iter_no_change": 1, "tol": 0.05}[field]}
    shape = {**SHAPE, "max_iter": 60, "learning_rate": 0.5}
    one, two = (
        HistGradientBoostingClassifier(early_stopping=Stopping(**parts), **shape).fit(*rows)
        for parts in (usual, other)
    )
    if field in ("tol", "n_iter_no_change"):
        assert two.n_iter_ < one.n_iter_ < 60
    else:
        assert two.validation_score_[0] != one.validation_score_[0]


def test_a_share_of_the_rows_is_the_flat_parameter(rows):
    one = HistGradientBoostingClassifier(subsample=0.5, **SHAPE).fit(*rows)
    other = HistGradientBoostingClassifier(subsample=Sampling(rows=0.5), **SHAPE).fit(*rows)
    assert other.trees_ == one.trees_
    everything = HistGradientBoostingClassifier(subsample=Sampling(), **SHAPE).fit(*rows)
    assert everything.trees_ == HistGradientBoostingClassifier(**SHAPE).fit(*rows).trees_
    assert "No round raises" in str(everything.certificates_[0])


@pytest.mark.parametrize(("share", "most"), [(0.5, 3), (0.01, 1), (0.9, 6)])
def test_a_tree_is_divided_by_no_other_column(rows, share, most):
    model = HistGradientBoostingClassifier(subsample=Sampling(columns=share), **SHAPE).fit(*rows)
    used = columns_of_trees(model.trees_)
    assert max(map(len, used)) <= most
    if most < 6:  # each tree has columns of its own
        assert len(set().union(*used)) > most
        assert len(set(map(frozenset, used))) > 2
    assert model.certificates_.holds  # the risk never rises, whatever the columns
    assert model.certify(*rows).holds


def test_a_split_in_a_column_that_was_not_drawn_is_seen(rows):
    model = HistGradientBoostingClassifier(subsample=Sampling(columns=0.4), **SHAPE).fit(*rows)
    feature = model.trees_.feature.copy()
    feature[0] = np.flatnonzero(~drawn_columns(model, 0))[0]
    other = changed(model, feature=feature)
    assert not claim(other, rows, "Every tree is divided by none but the columns").holds


def test_the_best_column_of_those_drawn_is_proved(rows):
    """A tree that has not looked at all of its columns is seen."""
    model = HistGradientBoostingClassifier(subsample=Sampling(columns=0.7), **SHAPE).fit(*rows)
    assert claim(model, rows, "No admissible split").holds
    model.subsample = Sampling(columns=1.0)  # as if every column had been there
    assert not claim(model, rows, "No admissible split").holds


@pytest.mark.parametrize("n_threads", [1, 3])
def test_columns_are_drawn_alike_on_any_number_of_threads(rows, monkeypatch, n_threads):
    monkeypatch.setattr(tables, "SMALL", 0)
    X, y = rows[0], np.digitize(rows[0][:, 0] + rows[0][:, 1], [-1.0, 1.0])
    options = {**SHAPE, "max_iter": 4, "subsample": Sampling(rows=0.8, columns=0.5)}
    for target in (rows[1], y):  # outputs of several classes are grown at the same time
        usual = HistGradientBoostingClassifier(**options)
        with threads(2):
            usual.fit(X, target)
        with threads(n_threads):
            assert HistGradientBoostingClassifier(**options).fit(X, target).trees_ == usual.trees_


def test_quantiles_side_by_side_draw_the_same_columns(rows):
    X, y = rows[0], rows[0][:, 0] + rows[0][:, 1] * rows[0][:, 3]
    options = {**SHAPE, "loss": "quantile", "subsample": Sampling(rows=0.8, columns=0.3)}
    model = HistGradientBoostingRegressor(quantile=[0.2, 0.8], **options).fit(X, y)
    used = columns_of_trees(model.trees_)
    assert all(len(one | other) <= 2 for one, other in zip(used[::2], used[1::2], strict=True))
    assert model.certify(X, y).holds


def test_categories_groups_and_constraints_meet_drawn_columns(rows):
    X, y = rows[0].copy(), rows[0][:, 0] + rows[0][:, 1]
    X[:, 5] = np.arange(len(X)) % 7
    y = y + np.isin(X[:, 5], (1, 4))
    model = HistGradientBoostingRegressor(
        subsample=Sampling(columns=0.5),
        categorical_features=[5],
        interaction_cst=[[0, 1], [2, 3, 4, 5]],
        monotonic_cst=[1, 0, 0, 0, 0, 0],
        max_features=0.7,
        **SHAPE,
    ).fit(X, y)
    assert model.certify(X, y).holds


def test_a_warm_start_draws_on(rows):
    long = HistGradientBoostingClassifier(**{**SHAPE, **OBJECTS}).fit(*rows)
    model = HistGradientBoostingClassifier(**{**SHAPE, **OBJECTS, "max_iter": 5}, warm_start=True).fit(*rows)
    assert model.set_params(max_iter=12).fit(*rows).trees_ == long.trees_


def test_models_carry_the_objects(rows, tmp_path):
    model = HistGradientBoostingClassifier(**{**SHAPE, **OBJECTS})
    assert clone(model).get_params() == model.get_params()
    assert "Sampling(rows=0.7, columns=0.5)" in repr(model)
    assert "n_iter_no_change=10" in repr(model)
    assert copy.deepcopy(model).subsample == OBJECTS["subsample"]
    assert model.set_params(subsample=Sampling(columns=0.9)).subsample == Sampling(1.0, 0.9)
    model.set_params(**OBJECTS).fit(*rows)
    assay.save(model, tmp_path / "model.skops")
    loaded = assay.load(tmp_path / "model.skops")
    assert loaded.get_params() == model.get_params()
    assert loaded.certify(*rows).holds
    assert hash(Stopping()) == hash(Stopping())
    assert Stopping() != Stopping(tol=1e-3)
    with pytest.raises(AttributeError):
        OBJECTS["subsample"].rows = 0.1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Stopping(validation_fraction=1.0),
            "validation_fraction' parameter of Stopping must be",
        ),
        (lambda: Stopping(n_iter_no_change=0), "n_iter_no_change' parameter of Stopping must be an int at"),
        (lambda: Stopping(tol=-1), "tol' parameter of Stopping must be a finite number at least 0"),
        (lambda: Stopping(scoring=3), "scoring' parameter of Stopping must be None or a callable or a name"),
        (lambda: Sampling(rows=0.0), "rows' parameter of Sampling must be a finite number above 0"),
        (lambda: Sampling(columns=2), r"columns' parameter of Sampling must be .* at most 1. Got 2 instead."),
    ],
)
def test_bad_parts_are_refused_when_they_are_made(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_an_object_in_the_place_of_the_other_is_refused(rows):
    with pytest.raises(ParameterError, match=r"'early_stopping' .* or a Stopping\. Got Sampling"):
        HistGradientBoostingClassifier(early_stopping=Sampling()).fit(*rows)
    with pytest.raises(ParameterError, match=r"'subsample' .* or a Sampling\. Got Stopping"):
        HistGradientBoostingClassifier(subsample=Stopping()).fit(*rows)


def test_threads_that_grow_trees_at_the_same_time_overwrite_nothing_of_each_other():
    limits = Limits(3, 1, 1, 0.0, 4, 2, 0, False)
    rules = ColumnRules(
        *(np.zeros(2, kind) for kind in ("bool", "int8")), np.empty((0, 2), bool), *[None] * 2
    )
    plan = make_plan(NumberCost(0.0), limits, rules, np.array([3, 4], dtype=np.int32))
    own = plan.for_thread()
    for one, other in zip(
        (*plan.memory, plan.unit, plan.drawn), (*own.memory, own.unit, own.drawn), strict=True
    ):
        assert not np.shares_memory(one, other)


def test_scores_become_the_probabilities_that_their_loss_means():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    y = X[:, 0] + random.normal(size=300) > 0
    for loss, chance in (
        ("exponential", lambda score: 1 / (1 + np.exp(-2 * score))),
        ("log_loss", lambda score: 1 / (1 + np.exp(-score))),
        (SquaredHinge(), lambda score: np.clip((1 + score) / 2, 0, 1)),
    ):
        model = HistGradientBoostingClassifier(loss, max_iter=10).fit(X, y)
        assert model.predict_proba(X)[:, 1] == pytest.approx(chance(model.decision_function(X)), abs=1e-12)
