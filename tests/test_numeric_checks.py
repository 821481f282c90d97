"""Numbers of every estimator and every variant: weights, precision, blocks, threads, certificates."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from assay.rows import _memory, threads
from blocks import SHARES, shares, small_blocks
from damage import (
    NOT_READ,
    UNSEEN,
    damages,
    holds,
    holes,
    is_read,
    unseen_of,
)
from estimators import NOT_TRIED, VARIANTS, estimator_classes, instances, variants
from samples import agree, assert_same_bits, fitted, float_arrays, outputs, prepared, sample

INSTANCES = instances()
WEIGHTED = [model for model in INSTANCES if has_fit_parameter(model, "sample_weight")]

# Tables that an estimator refuses in a sentence: numbers of 10⁸ are no places of levels.
# Rows of overlapping classes that come as near as this are separated by no margin to be told from 0.
REFUSED = {("CategoricalNB", "huge")}
REFUSED |= {("HardMarginSVC", f"{kind} column") for kind in ("constant", "duplicate")}
REFUSED |= {("HardMarginSVC", kind) for kind in ("duplicated rows", "huge", "tiny")}
REFUSED |= {("NuSVC", "duplicated rows")}  # of which both classes have the same, so that no margin is above 0

each_instance = pytest.mark.parametrize("model", INSTANCES, ids=repr)


@each_instance
def test_certificates_hold_on_a_good_fit(model):
    X, y = sample(model)
    good = fitted(model)
    if hasattr(good, "certificates_"):  # a feature map has no fit to certify, only features
        assert len(good.certificates_) > 0
        good.certificates_.require()
    again = good.certify(X, y)
    assert len(again) > 0
    again.require()


@pytest.mark.parametrize("kind", estimator_classes(), ids=lambda kind: kind.__name__)
def test_certificates_see_damage_to_any_one_attribute(kind):
    unseen, missed = unseen_of(kind), set()
    for model in (kind(), *variants(kind)):
        X, y = sample(model)
        good = fitted(model)
        for name, damaged in damages(good):
            if holds(damaged, X, y):
                assert name in unseen, f"{model}: no certificate sees a damaged {name}"
                if unseen[name] == NOT_READ:
                    assert not is_read(good, damaged, X), f"{model}: {name} is read"
                missed.add(name)
        for name, damaged in holes(good):
            assert not holds(damaged, X, y), f"{model}: no certificate sees NaN in {name}"
    seen = unseen.keys() - missed
    assert not seen, f"certificates see {sorted(seen)} now: take it off the list in tests/damage.py"


@pytest.mark.parametrize("model", WEIGHTED, ids=repr)
def test_weights_are_repetitions(model):
    X, y = sample(model)
    weight = np.tile([1, 2, 0, 1], 60)
    keep = np.repeat(np.arange(len(X)), weight)
    weighted = prepared(model).fit(X, y, sample_weight=weight)
    repeated = prepared(model).fit(X[keep], None if y is None else y[keep])
    agree(weighted, repeated, X)


@each_instance
def test_float32_stays_float32(model):
    X, y = sample(model)
    X32 = X.astype(np.float32)
    single = prepared(model).fit(X32, None if y is None else y.astype(np.float32))
    for name, value in float_arrays(single).items():
        if re.match(r"(coef|intercept|cluster_centers|dual_coef)_$", name):
            assert value.dtype == np.float32, name
    spoken = outputs(single, X32)
    if is_classifier(model):
        scores = "decision_function" if "decision_function" in spoken else "predict_proba"
        assert spoken[scores].dtype == np.float32
    elif is_regressor(model):
        assert spoken["predict"].dtype == np.float32
    elif "transform" in spoken and not is_clusterer(model):
        assert spoken["transform"].dtype == np.float32
    # Coefficients of 1e5, as those of a narrow margin may be, are rounded by 1e-2 each.
    dual = getattr(single, "dual_coef_", None)
    rounding = 0.0 if dual is None else 4 * np.finfo(np.float32).eps * np.linalg.norm(dual)
    agree(single, fitted(model), X32, atol=max(2e-2, rounding))


@each_instance
def test_many_blocks_on_any_number_of_threads_give_the_result_of_one_block(model):
    X, y = sample(model)
    with small_blocks():
        one, three = fit_on_threads(model, 1), fit_on_threads(model, 3)
        assert_same_bits(one, three, X)
        if hasattr(one, "certificates_"):
            assert one.certificates_.holds
        assert one.certify(X, y).holds
        agree(one, fitted(model), X)


def fit_on_threads(model, count):
    with threads(count):
        return prepared(model).fit(*sample(model))


@pytest.mark.parametrize("name", ["LinearRegression", "LogisticRegression", "KMeans", "FuzzyCMeans", "Ridge"])
def test_the_check_of_threads_sees_partial_results_combined_in_another_order(name, monkeypatch):
    model = next(model for model in INSTANCES if type(model).__name__ == name)
    in_order = _memory.ordered_map

    def backwards(function, items, *, window=None):
        yield from reversed(list(in_order(function, items, window=window)))

    with small_blocks():
        one = fit_on_threads(model, 1)
        monkeypatch.setattr(_memory, "ordered_map", backwards)
        three = fit_on_threads(model, 3)
        monkeypatch.undo()
        with pytest.raises(AssertionError):
            assert_same_bits(one, three, sample(model)[0])


def test_every_name_of_a_share_is_one():
    assert {share for _, share in shares()} == set(SHARES)


@each_instance
def test_values_that_are_not_finite_are_refused_in_one_sentence(model):
    missing = get_tags(model).input_tags.allow_nan
    for value in (np.inf,) if missing else (np.nan, np.inf):
        X, y = sample(model)
        X[5, 1] = value
        if getattr(model, "_accepts_infinity", False):  # the outermost bins take infinite values
            name = "predict_proba" if is_classifier(model) else "predict"
            assert np.isfinite(getattr(prepared(model).fit(X, y), name)(X)).all()
            continue
        with pytest.raises(ValueError, match=r"NaN|infinity") as refusal:
            prepared(model).fit(X, y)
        assert "\n" not in str(refusal.value)


@each_instance
def test_hard_tables_neither_crash_nor_lie(model):
    X, y = sample(model)
    hard = {
        "constant column": np.column_stack([X, np.full(len(X), 7.0)]),
        "duplicate column": np.column_stack([X, X[:, 0]]),
        "duplicated rows": np.vstack([X[:120], X[:120]]),
        "huge": X * 1e8,
        "tiny": X * 1e-8,
    }
    for name, table in hard.items():
        tried = prepared(model)
        with np.errstate(all="raise", under="ignore"):
            try:
                tried.fit(table, y)
            except ConvergenceWarning:  # warnings are errors here; saying so is honest
                continue
            except ValueError as refusal:
                assert (type(model).__name__, name) in REFUSED, refusal
                continue
        for key, value in float_arrays(tried).items():
            assert not np.isnan(value).any(), (name, key)


def test_every_named_option_is_tried_or_left_out_with_a_reason():
    for kind in estimator_classes():
        name, defaults = kind.__name__, inspect.signature(kind).parameters
        for parameter, domain in kind._domains.items():
            if parameter in NOT_TRIED.get(name, {}):
                continue
            tried = {defaults[parameter].default, *VARIANTS.get(name, {}).get(parameter, ())}
            missing = [option for option in domain.options if option not in tried]
            assert not missing, f"{name}({parameter}={missing}): add it to tests/estimators.py"


def test_the_exceptions_to_the_damage_name_estimators():
    names = {kind.__name__ for kind in estimator_classes()}
    assert UNSEEN.keys() <= names, "take it off the list in tests/damage.py"
