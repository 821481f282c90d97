"""Calibration by folds: no row is lost, and intervals, sets and probabilities hold what they promise."""

from __future__ import annotations

import copy

import numpy as np
import pandas
import pytest

import assay
from assay.models.calibration import calibration_error, fit_calibrator
from assay.models.conformal import proven_coverage
from assay.trees import AdaBoostClassifier, HistGradientBoostingClassifier, HistGradientBoostingRegressor
from assay.trees.calibration.aside import KnownScores, coverage_claim, held_claim
from trees.test_honesty import CLASSES, NUMBERS, inside, mean_coverage, noisy

SMALL = {"max_iter": 8, "max_leaf_nodes": 6, "min_samples_leaf": 5}
FOLDS = {**SMALL, "calibration": 5, "random_state": 0}
WIDER = 0.025
"""What models without a fifth of the rows may hold above 0.9, as their residuals are larger."""


def by_folds(seed):
    return HistGradientBoostingRegressor(**SMALL, calibration=5, random_state=seed)


@pytest.mark.parametrize("law", NUMBERS)
def test_intervals_by_folds_hold_about_what_is_asked_on_five_laws(law):
    mean, error = mean_coverage(NUMBERS[law], by_folds, inside, n_repeats=16)
    assert 0.9 - 2 * error <= mean <= 0.9 + WIDER + 2 * error
    assert mean > proven_coverage(0.9, 156, 5)


@pytest.mark.slow
@pytest.mark.parametrize("calibration", [0.25, 5])
@pytest.mark.parametrize("law", NUMBERS)
def test_intervals_hold_what_is_promised_on_five_laws_over_many_fits(law, calibration):
    """The same of larger trees on more rows, within two standard errors of 900 and 200 fits."""

    def fit(seed):
        return HistGradientBoostingRegressor(max_iter=40, calibration=calibration, random_state=seed)

    n_repeats = 900 if calibration < 1 else 200
    mean, error = mean_coverage(NUMBERS[law], fit, inside, n_repeats, n_rows=396)
    exact = 90 / 100  # the 90th least of 99 scores kept aside
    assert exact - 2 * error <= mean <= exact + 2 * error + (WIDER if calibration == 5 else 0.0)


@pytest.mark.parametrize("law", CLASSES)
def test_class_sets_by_folds_hold_at_least_what_is_asked(law):
    def fit(seed):
        return HistGradientBoostingClassifier(**SMALL, calibration=5, random_state=seed)

    def held(model, X, y):
        members = model.predict_sets(X, coverage=0.9)
        assert np.all(members[np.arange(len(X)), model.predict_proba(X).argmax(axis=1)])
        return np.any(members & (y[:, None] == model.classes_), axis=1)

    mean, error = mean_coverage(CLASSES[law], fit, held, n_repeats=12)
    assert mean >= 0.9 - 2 * error


def parts_of(model, n_rows):
    parts = [fold.calibration_rows_ for fold in model.fold_models_]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n_rows))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    return parts


def test_intervals_are_the_ranks_of_fits_without_each_fold_and_the_model_loses_no_row():
    X, y = NUMBERS["linear"].sample(103, 0)
    new = NUMBERS["linear"].sample(20, 1).X
    for options in ({}, {"loss": "quantile", "quantile": [0.2, 0.5, 0.8]}):
        model = HistGradientBoostingRegressor(**options, **FOLDS).fit(X, y)
        plain = HistGradientBoostingRegressor(**options, **SMALL).fit(X, y)
        assert model.trees_ == plain.trees_
        lows, highs = [], []
        for part in parts_of(model, 103):
            rest = np.setdiff1d(np.arange(103), part)
            other = copy.deepcopy(plain).fit(X[rest], y[rest])
            said, known = (other.predict(rows).reshape(len(rows), -1) for rows in (new, X[part]))
            score = np.maximum(known[:, 0] - y[part], y[part] - known[:, -1])
            lows.append(said[:, :1] - score)
            highs.append(said[:, -1:] + score)
        low = np.sort(np.hstack(lows), axis=1)[:, 104 - int(np.ceil(104 * 0.8)) - 1]
        high = np.sort(np.hstack(highs), axis=1)[:, int(np.ceil(104 * 0.8)) - 1]
        np.testing.assert_allclose(model.predict_interval(new, coverage=0.8), np.column_stack([low, high]))


@pytest.mark.parametrize("kind", ["votes", "trees"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sets_and_probabilities_learn_from_fits_without_each_fold(kind, n_classes):
    X, y = noisy(0, 300, n_classes)
    new, _ = noisy(1, 800, n_classes)
    votes = kind == "votes"
    plain = AdaBoostClassifier(n_estimators=40) if votes else HistGradientBoostingClassifier(**SMALL)
    model = copy.deepcopy(plain).set_params(calibration=4, calibration_method="sigmoid", random_state=0)
    model.fit(X, y)
    rows, unseen, strange = [], [], []
    for part in parts_of(model, 300):
        rest = np.setdiff1d(np.arange(300), part)
        other = copy.deepcopy(plain).fit(X[rest], y[rest])
        unseen.append(other.predict_proba(X[part]))
        strange.append(1 - other.predict_proba(new))
        rows.append(part)
    order, chances = np.concatenate(rows), np.concatenate(unseen)
    places = np.searchsorted(model.classes_, y[order])
    fitted = copy.deepcopy(plain).fit(X, y)
    honest = fit_calibrator("sigmoid", chances, places, floor=1e-12)
    np.testing.assert_allclose(model.predict_proba(new), honest.apply(fitted.predict_proba(new)), rtol=1e-9)
    scores = 1 - chances[np.arange(300), places]
    fold = np.repeat(np.arange(4), list(map(len, rows)))
    less = np.sum(np.array(strange)[fold] > scores[:, None, None] + 1e-12, axis=0)
    members = less < np.ceil(301 * 0.8)
    members[np.arange(len(new)), fitted.predict_proba(new).argmax(axis=1)] = True
    np.testing.assert_array_equal(model.predict_sets(new, coverage=0.8), members)
    assert model.certificates_.holds
    assert model.certify(X, y).holds


def test_honest_votes_by_folds_are_nearer_to_the_shares_than_raw_ones():
    X, y = noisy(0, 700)
    new, labels = noisy(1, 3000)
    raw = AdaBoostClassifier(n_estimators=60).fit(X, y)
    model = AdaBoostClassifier(n_estimators=60, calibration=5, calibration_method="sigmoid", random_state=0)
    errors = [calibration_error(labels, m.predict_proba(new), m.classes_) for m in (raw, model.fit(X, y))]
    assert errors[1] < 0.6 * errors[0]
    assert model.calibration_errors_[1] < model.calibration_errors_[0]


def test_the_proof_fails_when_anything_of_a_fold_is_moved():
    X, y = noisy(2, 200)
    number = HistGradientBoostingRegressor(**FOLDS).fit(X, X[:, 0] + X[:, 1] ** 2)
    chance = HistGradientBoostingClassifier(calibration_method="isotonic", **FOLDS).fit(X, y)
    votes = AdaBoostClassifier(n_estimators=5, calibration=5, random_state=0).fit(X, y)
    for model, target in ((number, X[:, 0] + X[:, 1] ** 2), (chance, y), (votes, y)):
        assert model.certify(X, target).holds
        for name in ("calibration_scores_", "calibration_weight_", "calibration_rows_"):
            other = copy.deepcopy(model)
            values = getattr(other.fold_models_[2], name)
            moved = values * 1.01 if values.dtype.kind == "f" else np.roll(values, 1)
            setattr(other.fold_models_[2], name, moved)
            assert "fail" in " ".join(item.quantity for item in other.certify(X, target).failed), name
        other = copy.deepcopy(model)
        if model is votes:
            other.fold_models_[4].estimator_weights_ *= 1.01
        else:
            other.fold_models_[4].trees_.value[...] *= 1.01
        assert not other.certify(X, target).holds
    other = copy.deepcopy(chance)
    other.calibrator_.levels[...] = np.clip(other.calibrator_.levels * 1.01, 0, 1)
    assert not other.certify(X, y).holds


def test_coverage_by_folds_is_certified_on_new_rows_and_fails_under_another_law():
    law = NUMBERS["linear"]
    X, y = law.sample(400, 0)
    new = law.sample(1000, 1)
    model = HistGradientBoostingRegressor(**FOLDS).fit(X, y)
    assert "by 5 folds of 90% hold" in model.certificates_[-1].claim
    proof = model.certify_interval(new.X, new.y)
    assert proof.holds
    assert "changes little with the fold" in " ".join(proof[0].assumptions)
    assert not model.certify_interval(new.X, new.y + 1.5).holds


@pytest.mark.parametrize("what", ["Intervals", "Intervals by 4 folds"])
def test_the_coverage_at_the_fit_is_that_of_each_part_by_the_others_and_can_fail(what):
    random = np.random.default_rng(0)
    scores, times = random.exponential(size=400), random.integers(1, 4, 400).astype(float)
    folds = np.arange(400) % 4
    parts = [np.flatnonzero(folds == fold) for fold in range(4)]
    claim = coverage_claim(KnownScores(scores, times, folds), parts, what)
    held = 0.0
    for part in parts:
        others = np.setdiff1d(np.arange(400), part)
        every = np.sort(np.repeat(scores[others], times[others].astype(int)))
        limit = every[int(np.ceil((len(every) + 1) * 0.9)) - 1]
        held += times[part] @ (scores[part] <= limit)
    assert claim.value == pytest.approx(held / times.sum())
    n_effective = times.sum() ** 2 / np.sum(times**2)
    assert claim.bound == pytest.approx(0.9 - 4 * np.sqrt(0.09 / n_effective) - 1 / 400)
    assert claim.holds
    scores[folds == 1] += 100  # rows of one part follow another law
    assert not coverage_claim(KnownScores(scores, times, folds), parts, what).holds


def test_coverage_on_new_rows_may_fall_short_by_two_standard_errors_of_both_samples():
    known = KnownScores(np.ones(98), np.ones(98), np.zeros(98, dtype=np.int64))
    claim = held_claim(np.arange(400) % 5 > 0, 0.8, known, "Intervals")
    assert claim.value == 0.8
    assert claim.bound == pytest.approx(0.8 - 2 * np.sqrt(0.16 * (1 / 400 + 1 / 100)))


def test_weights_count_rows_as_often_and_rows_of_weight_0_are_in_no_fold():
    X, y = NUMBERS["linear"].sample(120, 0)
    weight = (np.arange(120) % 3).astype(float)
    model = HistGradientBoostingRegressor(**FOLDS).fit(X, y, weight)
    rows = np.concatenate([fold.calibration_rows_ for fold in model.fold_models_])
    assert np.array_equal(np.sort(rows), np.flatnonzero(weight))
    for fold in model.fold_models_:
        assert np.array_equal(fold.calibration_weight_, weight[fold.calibration_rows_])
    assert model.certify(X, y, weight).holds
    assert not model.certify(X, y).holds


@pytest.mark.parametrize(("early", "weight"), [(False, None), (True, "w")])
def test_files_and_dask_give_the_folds_of_memory(tmp_path, early, weight):
    """Rows gathered from a file are written to by a fit that stops early: the next fold must not see it."""
    dask_frame = pytest.importorskip("dask.dataframe")
    X, y = NUMBERS["linear"].sample(160, 0)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    new, few = frame[:30], {**FOLDS, "calibration": 2, "max_iter": 4, "early_stopping": early}
    own = None if weight is None else 1.0 + (y > 1)
    weights = {} if weight is None else {"w": own}
    for kind, target in (
        (HistGradientBoostingRegressor(**few), y),
        (HistGradientBoostingClassifier(**few, calibration_method="sigmoid"), (y > 0).astype(float)),
    ):
        model = copy.deepcopy(kind).fit(frame, target, own)
        table = frame.assign(y=target, **weights)
        table.to_parquet(tmp_path / "rows.parquet", row_group_size=50)
        for source in (tmp_path / "rows.parquet", dask_frame.from_pandas(table, npartitions=2)):
            other = copy.deepcopy(kind).fit(source, "y", weight)
            assert other.trees_ == model.trees_
            for ours, theirs in zip(other.fold_models_, model.fold_models_, strict=True):
                assert ours.trees_ == theirs.trees_
                np.testing.assert_array_equal(ours.calibration_scores_, theirs.calibration_scores_)
            method = "predict_interval" if target is y else "predict_sets"
            np.testing.assert_array_equal(getattr(other, method)(new), getattr(model, method)(new))


def test_models_with_folds_are_saved_loaded_and_fitted_again(tmp_path):
    X, y = noisy(3, 150)
    for model in (
        HistGradientBoostingRegressor(**FOLDS).fit(X, X[:, 0]),
        AdaBoostClassifier(n_estimators=6, calibration=3, calibration_method="isotonic").fit(X, y),
    ):
        assay.save(model, tmp_path / "model.assay")
        again = assay.load(tmp_path / "model.assay")
        if hasattr(model, "predict_interval"):
            np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
        else:
            np.testing.assert_array_equal(again.predict_sets(X), model.predict_sets(X))
    warm = HistGradientBoostingRegressor(**{**FOLDS, "warm_start": True, "max_iter": 4}).fit(X, X[:, 0])
    warm.set_params(max_iter=8).fit(X, X[:, 0])
    whole = HistGradientBoostingRegressor(**FOLDS).fit(X, X[:, 0])
    np.testing.assert_array_equal(warm.predict_interval(X), whole.predict_interval(X))
    warm.set_params(calibration=0.3, warm_start=False).fit(X, X[:, 0])
    assert not hasattr(warm, "fold_models_")
    assert len(warm.calibration_rows_) == 45


def test_scores_of_a_cross_validation_can_be_handed_over():
    X, y = NUMBERS["linear"].sample(300, 0)
    model = HistGradientBoostingRegressor(**SMALL).fit(X, y)
    scores = np.abs(np.random.default_rng(0).normal(size=300))
    half = np.sort(scores)[int(np.ceil(301 * 0.9)) - 1]
    expected = model.predict(X)[:, None] + np.array([-half, half])
    np.testing.assert_allclose(model.keep_scores(scores).predict_interval(X), expected)
    twice = copy.deepcopy(model).keep_scores(np.tile(scores, 2), np.full(600, 0.5))
    np.testing.assert_allclose(twice.predict_interval(X), expected)
    assert model.certify(X, y).holds
    chance = HistGradientBoostingClassifier(**SMALL).fit(X, y > 0).keep_scores(np.linspace(0, 1, 99))
    members = 1 - chance.predict_proba(X) <= 89 / 98 + 1e-12
    np.testing.assert_array_equal(chance.predict_sets(X), members | (chance.predict_proba(X) >= 0.5))
    for bad in ([np.nan], [[1.0]]):
        with pytest.raises(ValueError, match="scores"):
            model.keep_scores(bad)
    with pytest.raises(ValueError, match=r"weights above 0. Got the shapes \(2,\) and \(1,\)"):
        model.keep_scores([1.0, 2.0], [1.0])
    assert not hasattr(model.fit(X, y), "calibration_scores_")


def test_folds_that_cannot_be_are_refused_in_one_sentence():
    X, y = NUMBERS["linear"].sample(12, 0)
    for folds in (1, 0, -3, True, 2.5):
        with pytest.raises(ValueError, match=r"'calibration' parameter.*an int at least 2"):
            HistGradientBoostingRegressor(calibration=folds).fit(X, y)
    with pytest.raises(ValueError, match=r"'calibration' parameter.*folds.*of 12 rows\. Got 13"):
        HistGradientBoostingRegressor(calibration=13).fit(X, y)
    with pytest.raises(ValueError, match=r"'calibration' parameter.*folds.*of 3 rows"):
        HistGradientBoostingRegressor(calibration=2).fit(X[:3], y[:3])
    model = HistGradientBoostingRegressor(calibration=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"0\.95 needs at least 19 rows .* has 12: give more rows or ask"):
        model.predict_interval(X, coverage=0.95)
    assert np.isfinite(model.predict_interval(X, coverage=0.9)).all()
    every = HistGradientBoostingRegressor(calibration=12, random_state=0).fit(X, y)
    assert len(every.fold_models_) == 12
    assert every.certify(X, y).holds
