"""How sure: intervals, class sets and probabilities of ensembles hold what they promise."""

from __future__ import annotations

import copy

import numpy as np
import pandas
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression

import assay
from assay.datasets import (
    Blobs,
    ElectricityLoad,
    LinearGaussian,
    SparseLinear,
    TwoMoons,
    house_prices_law,
)
from assay.models.calibration import (
    Calibrator,
    balancing_factors,
    calibration_error,
    fit_calibrator,
    fit_isotonic,
    fit_sigmoid,
    log_odds,
)
from assay.models.conformal import conformal_quantile, fewest_rows
from assay.trees import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)

NUMBERS = {
    "electricity": ElectricityLoad(),
    "houses": house_prices_law(),
    "sparse": SparseLinear(8, 3, random_state=0),
    "linear": LinearGaussian([1.0, -2.0, 0.5], noise_std=0.7),
    "nothing to learn": LinearGaussian([0.0, 0.0], noise_std=2.0),
}
CLASSES = {"moons": TwoMoons(0.35), "blobs": Blobs(4, 2, cluster_std=3.0, random_state=0)}
SMALL = {"max_iter": 8, "max_leaf_nodes": 6, "min_samples_leaf": 5, "calibration": 0.25}


def mean_coverage(law, fit, held, n_repeats=30, n_rows=156):
    """Coverage over fresh fits and fresh rows, and its standard error."""
    shares = []
    for repeat in range(n_repeats):
        X, y = law.sample(n_rows, repeat)
        new = law.sample(150, 10_000 + repeat)
        shares.append(held(fit(repeat).fit(X, y), new.X, new.y).mean())
    return np.mean(shares), np.std(shares, ddof=1) / np.sqrt(n_repeats)


def inside(model, X, y):
    low, high = model.predict_interval(X, coverage=0.9).T
    return (low <= y) & (y <= high)


N_ASIDE = 39  # a quarter of 156: the 36th least of 39 scores is the quantile of 0.9
PROMISED = 36 / 40


@pytest.mark.parametrize("law", NUMBERS)
def test_intervals_of_constant_width_hold_as_many_new_rows_as_promised(law):
    def fit(seed):
        return HistGradientBoostingRegressor(**SMALL, random_state=seed)

    mean, error = mean_coverage(NUMBERS[law], fit, inside)
    assert abs(mean - PROMISED) <= 2 * error


@pytest.mark.parametrize("law", ["electricity", "sparse"])
def test_conformalised_quantiles_hold_as_many_new_rows_as_promised(law):
    def fit(seed):
        return HistGradientBoostingRegressor("quantile", quantile=[0.1, 0.9], **SMALL, random_state=seed)

    mean, error = mean_coverage(NUMBERS[law], fit, inside)
    assert abs(mean - PROMISED) <= 2 * error


@pytest.mark.parametrize("law", CLASSES)
def test_class_sets_hold_at_least_as_many_new_rows_as_promised(law):
    def fit(seed):
        return HistGradientBoostingClassifier(**SMALL, random_state=seed)

    def held(model, X, y):
        members = model.predict_sets(X, coverage=0.9)
        assert np.all(members[np.arange(len(X)), model.predict_proba(X).argmax(axis=1)])
        return np.any(members & (y[:, None] == model.classes_), axis=1)

    mean, error = mean_coverage(CLASSES[law], fit, held)
    assert mean >= PROMISED - 2 * error


def test_intervals_are_the_prediction_and_the_rank_of_the_residuals_of_rows_kept_aside():
    X, y = NUMBERS["linear"].sample(200, 0)
    model = HistGradientBoostingRegressor(**SMALL, random_state=0).fit(X, y)
    rows = model.calibration_rows_
    residuals = np.sort(np.abs(y[rows] - model.predict(X[rows])))
    half = residuals[int(np.ceil(51 * 0.8)) - 1]
    expected = model.predict(X)[:, None] + np.array([-half, half])
    np.testing.assert_allclose(model.predict_interval(X, coverage=0.8), expected)
    spread = HistGradientBoostingRegressor("quantile", quantile=[0.2, 0.5, 0.8], **SMALL, random_state=0)
    low, _, high = spread.fit(X, y).predict(X[rows]).T
    score = np.sort(np.maximum(low - y[rows], y[rows] - high))[int(np.ceil(51 * 0.8)) - 1]
    expected = spread.predict(X)[:, [0, 2]] + np.array([-score, score])
    np.testing.assert_allclose(spread.predict_interval(X, coverage=0.8), expected)


def test_rows_kept_aside_touch_neither_the_trees_nor_the_bins_nor_the_stopping():
    X, y = NUMBERS["linear"].sample(400, 0)
    for early in (False, True):
        settings = {"random_state": 3, "early_stopping": early, "max_iter": 30}
        model = HistGradientBoostingRegressor(calibration=0.3, **settings).fit(X, y)
        rows = model.calibration_rows_
        assert len(rows) == 120
        moved, wild = X.copy(), y.copy()
        moved[rows], wild[rows] = 1e6, -1e6
        assert (
            HistGradientBoostingRegressor(calibration=0.3, **settings).fit(moved, wild).trees_ == model.trees_
        )
        rest = np.setdiff1d(np.arange(400), rows)
        assert HistGradientBoostingRegressor(**settings).fit(X[rest], y[rest]).trees_ == model.trees_
        assert model.certify(X, y).holds


def test_weights_of_rows_kept_aside_count_them_as_often():
    scores, times = np.array([3.0, 1.0, 2.0, 5.0]), np.array([4, 1, 6, 2])
    for coverage in (0.3, 0.5, 0.8, 0.9):
        repeated = conformal_quantile(np.repeat(scores, times), coverage)
        assert conformal_quantile(scores, coverage, times) == repeated
    assert conformal_quantile([1.0], 0.5, [0.5]) == np.inf
    X, y = NUMBERS["linear"].sample(120, 0)
    weight = np.arange(120) % 3
    model = HistGradientBoostingRegressor(calibration=0.5, random_state=0).fit(X, y, weight)
    assert np.all(weight[model.calibration_rows_] > 0)
    assert list(model.calibration_weight_) == list(weight[model.calibration_rows_])
    assert model.certify(X, y, weight).holds


def test_intervals_of_counts_do_not_reach_below_zero():
    X, y = NUMBERS["linear"].sample(300, 0)
    counts = np.random.default_rng(0).poisson(np.exp(y / 3))
    model = HistGradientBoostingRegressor("poisson", **SMALL, random_state=0).fit(X, counts)
    intervals = model.predict_interval(X)
    assert intervals.min() == 0.0 < intervals[:, 1].min()


def test_coverage_on_other_rows_is_certified_and_fails_under_another_law():
    law = NUMBERS["linear"]
    X, y = law.sample(800, 0)
    new = law.sample(1000, 1)
    model = HistGradientBoostingRegressor(**SMALL, random_state=0).fit(X, y)
    assert model.certify_interval(new.X, new.y).holds
    assert not model.certify_interval(new.X, new.y + 1.5).holds
    sets = HistGradientBoostingClassifier(**SMALL, random_state=0)
    X, y = CLASSES["moons"].sample(800, 0)
    new = CLASSES["moons"].sample(1000, 1)
    assert sets.fit(X, y).certify_sets(new.X, new.y).holds
    assert not sets.certify_sets(new.X, -new.y).holds


def test_what_cannot_be_promised_is_refused_in_one_sentence():
    X, y = NUMBERS["linear"].sample(40, 0)
    model = HistGradientBoostingRegressor(calibration=0.2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"coverage of 0\.9 needs at least 9 rows kept aside; .* has 8"):
        model.predict_interval(X)
    assert np.isfinite(model.predict_interval(X, coverage=0.88)).all()
    assert fewest_rows(0.9) == 9
    with pytest.raises(ValueError, match=r"above 0 and below 1\. Got 1\.0"):
        model.predict_interval(X, coverage=1.0)
    with pytest.raises(ValueError, match=r"fit with calibration=0\.2"):
        HistGradientBoostingRegressor().fit(X, y).predict_interval(X)
    with pytest.raises(ValueError, match=r"fit with calibration=0\.2"):
        HistGradientBoostingClassifier().fit(X, y > 0).predict_sets(X)
    with pytest.raises(ValueError, match=r"'calibration' parameter.*1 row aside and 2 to fit, of 40 rows"):
        HistGradientBoostingRegressor(calibration=0.99).fit(X, y)
    with pytest.raises(ValueError, match=r"'calibration' parameter.*above 0 and below 1"):
        HistGradientBoostingRegressor(calibration=1.5).fit(X, y)
    with pytest.raises(ValueError, match="None without rows kept aside"):
        HistGradientBoostingClassifier(calibration_method="sigmoid").fit(X, y > 0)
    with pytest.raises(ValueError, match="without bootstrap"):
        RandomForestClassifier(3, bootstrap=False, calibration_method="sigmoid").fit(X, y > 0)
    with pytest.raises(ValueError, match="'calibration_method' parameter"):
        RandomForestClassifier(3, calibration_method="magic").fit(X, y > 0)


def overconfident(n_rows=600, seed=0, n_classes=2):
    """Probabilities that are too sure, and classes drawn from the true ones."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=(n_rows, n_classes))
    true = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    said = np.exp(3 * scores) / np.exp(3 * scores).sum(axis=1, keepdims=True)
    places = (true.cumsum(axis=1) < random.random((n_rows, 1))).sum(axis=1)
    return said, places, true


def test_temperature_finds_the_factor_that_made_the_probabilities_too_sure():
    for n_classes in (2, 4):
        said, places, true = overconfident(20_000, n_classes=n_classes)
        calibrator = fit_calibrator("temperature", said, places)
        assert abs(calibrator.slope[0] - 1 / 3) < 0.02  # the standard error is about 0.005
        assert np.abs(calibrator.apply(said) - true).max() < 0.03


def test_the_isotonic_map_is_the_one_of_scikit_learn():
    said, places, _ = overconfident()
    weight = np.random.default_rng(1).integers(0, 4, len(places)).astype(float)
    odds = log_odds(said, 1e-12)[:, 0]
    peer = IsotonicRegression(out_of_bounds="clip").fit(odds, places, weight)
    new = np.linspace(-9, 9, 500)
    ours = fit_calibrator("isotonic", said, places, weight)
    np.testing.assert_allclose(ours._map(0, new), peer.predict(new), atol=1e-9)


def test_the_sigmoid_is_the_minimum_of_its_loss_and_classes_apart_give_a_finite_slope():
    said, places, _ = overconfident(300)
    odds, weight = log_odds(said, 1e-12)[:, 0], np.ones(300)
    a, b = fit_sigmoid(odds, places.astype(float), weight)
    positive = places.sum()
    target = np.where(places, (positive + 1) / (positive + 2), 1 / (300 - positive + 2))
    slope = stats.logistic.cdf(a * odds + b) - target
    assert abs(slope.sum()) < 1e-6
    assert abs(slope @ odds) < 1e-6 * np.abs(odds).max() * 300
    apart = np.linspace(-3, 3, 40)
    a, b = fit_sigmoid(apart, (apart > 0).astype(float), np.ones(40))
    assert 0 < a < 50
    assert fit_sigmoid(apart, (apart < 0).astype(float), np.ones(40))[0] == 0.0  # no order is reversed
    knots, levels = fit_isotonic(apart, (apart > 0).astype(float), np.ones(40))
    assert np.all(np.diff(knots) > 0)
    assert set(levels) == {0.0, 1.0}


MODELS = [
    HistGradientBoostingClassifier(max_iter=60, calibration=0.3, random_state=0),
    HistGradientBoostingClassifier("exponential", max_iter=60, calibration=0.3, random_state=0),
    RandomForestClassifier(25, random_state=0),
    ExtraTreesClassifier(25, bootstrap=True, random_state=0),
]


def short(place):
    """A copy of a model, of few rounds."""
    model = copy.deepcopy(MODELS[place])
    return model.set_params(max_iter=10) if "max_iter" in model.get_params() else model


def noisy(seed, n_rows=700, n_classes=2):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    score = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + random.logistic(size=n_rows)
    return X, np.array(["no", "yes", "very"])[np.digitize(score, [0.0, 1.5][: n_classes - 1])]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("place", range(4))
def test_probabilities_are_honest_the_class_is_the_likeliest_and_the_means_are_the_shares(place, method):
    X, y = noisy(0)
    new, labels = noisy(1, 2000)
    plain = copy.deepcopy(MODELS[place]).fit(X, y)
    model = copy.deepcopy(MODELS[place]).set_params(calibration_method=method).fit(X, y)
    assert model.trees_ == plain.trees_
    chances = model.predict_proba(new)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(model.predict(new) == model.classes_[chances.argmax(axis=1)])
    before, after = (calibration_error(labels, m.predict_proba(new), m.classes_) for m in (plain, model))
    if isinstance(model, HistGradientBoostingClassifier):
        assert after < 0.6 * before
    else:
        assert after < before + 0.02  # votes are nearly honest here
    assert model.calibration_errors_[1] < model.calibration_errors_[0] + 0.02
    assert model.certificates_.holds
    assert model.certify(X, y).holds
    balance = model.certificates_[-1]
    if method == "temperature":
        assert "no other temperature" in balance.claim
    else:
        assert "mean probability" in balance.claim
    if method == "isotonic":
        assert balance.value < 1e-6  # of two classes the means agree exactly


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_three_classes_stay_a_law_and_the_class_is_the_likeliest(method):
    X, y = noisy(2, n_classes=3)
    for place in (0, 2):
        model = short(place).set_params(calibration_method=method).fit(X, y)
        chances = model.predict_proba(X)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
        assert chances.min() >= 0
        assert np.all(model.predict(X) == model.classes_[chances.argmax(axis=1)])
        proof = model.certify(X, y)
        assert proof.holds, proof
        # The means are the shares also after the maps of three classes are divided by their sum.
        if method != "temperature" and place == 0:
            rows = model.calibration_rows_
            sums = chances[rows].sum(axis=0) - (y[rows][:, None] == model.classes_).sum(axis=0)
            assert np.abs(sums).max() <= 1.5
        other = copy.deepcopy(model)
        if method == "isotonic":
            other.calibrator_.levels[...] = np.clip(other.calibrator_.levels + 0.05, 0, 1)
        elif method == "sigmoid":
            other.calibrator_.offset[0] += 0.3
        else:
            other.calibrator_.slope[...] *= 1.2
        failed = {item.quantity.partition(" of")[0] for item in other.certify(X, y).failed}
        claim = "difference" if method == "temperature" else "largest difference"
        assert claim in failed


def test_factors_balance_any_maps_of_many_classes():
    random = np.random.default_rng(0)
    for n_classes in (3, 7):
        values = random.random((300, n_classes)) ** 4 + 1e-6
        places = random.choice(
            n_classes, 300, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
        )
        weight = random.integers(1, 4, 300).astype(float)
        weighed = balancing_factors(values, places, weight) * values
        means = weight @ (weighed / weighed.sum(axis=1, keepdims=True))
        shares = np.bincount(places, weight, n_classes) + 0.5
        np.testing.assert_allclose(means, shares / shares.sum() * weight.sum(), rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_adaboost_is_honest_on_rows_kept_aside(method, n_classes):
    X, y = noisy(0, n_classes=n_classes)
    new, labels = noisy(1, 2000, n_classes)
    options = {"n_estimators": 60, "calibration": 0.3, "random_state": 0}
    plain = AdaBoostClassifier(**options).fit(X, y)
    model = AdaBoostClassifier(calibration_method=method, **options).fit(X, y)
    assert model.history_ == plain.history_
    rest = np.setdiff1d(np.arange(len(X)), model.calibration_rows_)
    assert AdaBoostClassifier(n_estimators=60).fit(X[rest], y[rest]).history_ == model.history_
    chances = model.predict_proba(new)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(model.predict(new) == model.classes_[chances.argmax(axis=1)])
    before, after = (calibration_error(labels, m.predict_proba(new), m.classes_) for m in (plain, model))
    assert after < 0.6 * before
    proof = model.certify(X, y)
    assert proof.holds, proof
    members = model.predict_sets(new, coverage=0.9)
    held = np.any(members & (labels[:, None] == model.classes_), axis=1).mean()
    assert held > 0.9 - 3 * np.sqrt(0.09 * (1 / 210 + 1 / 2000))
    for name in ("calibration_errors_", "calibration_scores_", "calibration_weight_"):
        other = copy.deepcopy(model)
        getattr(other, name)[...] *= 1.01
        assert not other.certify(X, y).holds, name


def test_adaboost_refuses_what_rows_kept_aside_cannot_give():
    X, y = noisy(0, 40)
    with pytest.raises(ValueError, match="None without rows kept aside"):
        AdaBoostClassifier(calibration_method="sigmoid").fit(X, y)
    with pytest.raises(ValueError, match=r"fit with calibration=0\.2"):
        AdaBoostClassifier().fit(X, y).predict_sets(X)
    few = AdaBoostClassifier(calibration=0.2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"coverage of 0\.9 needs at least 9 rows"):
        few.predict_sets(X)


def test_class_weights_do_not_change_what_probabilities_are_brought_to():
    X, y = noisy(3)
    model = HistGradientBoostingClassifier(
        max_iter=20, calibration=0.4, calibration_method="sigmoid", class_weight={"no": 5.0}, random_state=0
    ).fit(X, y)
    share = np.mean(y[model.calibration_rows_] == "yes")
    rows = X[model.calibration_rows_]
    assert abs(model.predict_proba(rows)[:, 1].mean() - share) < 0.01
    assert model.certify(X, y).holds


@pytest.mark.parametrize("place", [0, 2])
def test_the_proof_fails_when_what_probabilities_and_sets_read_is_moved(place):
    X, y = noisy(4)
    for method in ("sigmoid", "isotonic"):
        model = short(place).set_params(calibration_method=method).fit(X, y)
        names = ["calibration_errors_"]
        names += ["calibration_scores_", "calibration_weight_"] if place == 0 else []
        for name in names:
            other = copy.deepcopy(model)
            getattr(other, name)[...] *= 1.01
            assert not other.certify(X, y).holds, name
        for name in ("slope", "offset") if method == "sigmoid" else ("knots", "levels"):
            other = copy.deepcopy(model)
            getattr(other.calibrator_, name)[...] *= 1.01
            assert not other.certify(X, y).holds, name


def test_the_proof_of_intervals_fails_when_scores_or_weights_are_moved():
    X, y = NUMBERS["linear"].sample(300, 0)
    model = HistGradientBoostingRegressor(**SMALL, random_state=0).fit(X, y)
    for name in ("calibration_scores_", "calibration_weight_", "calibration_rows_"):
        other = copy.deepcopy(model)
        values = getattr(other, name)
        setattr(other, name, values * 1.01 if values.dtype.kind == "f" else np.roll(values + 1, 1))
        assert not other.certify(X, y).holds, name


def test_calibrated_models_are_saved_and_loaded_and_take_frames(tmp_path):
    X, y = noisy(5)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    for place in (0, 2):
        model = copy.deepcopy(MODELS[place]).set_params(calibration_method="isotonic").fit(frame, y)
        assay.save(model, tmp_path / f"{place}.assay")
        again = assay.load(tmp_path / f"{place}.assay")
        assert isinstance(again.calibrator_, Calibrator)
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
        single = copy.deepcopy(model).fit(X.astype(np.float32), y)
        assert single.predict_proba(X.astype(np.float32)).dtype == np.float32


def test_intervals_sets_and_probabilities_are_read_from_files_and_dask_block_by_block(tmp_path):
    dask_frame = pytest.importorskip("dask.dataframe")
    X, y = NUMBERS["linear"].sample(300, 0)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=40)
    numbers = HistGradientBoostingRegressor(**SMALL, random_state=0).fit(frame, y)
    options = {"calibration": 0.3, "calibration_method": "sigmoid", "random_state": 0}
    votes = AdaBoostClassifier(n_estimators=9, **options).fit(frame, y > 0)
    trees = HistGradientBoostingClassifier(max_iter=5, **options).fit(frame, y > 0)
    for source in (tmp_path / "rows.parquet", dask_frame.from_pandas(frame, npartitions=4)):
        np.testing.assert_array_equal(numbers.predict_interval(source), numbers.predict_interval(frame))
        for model in (votes, trees):
            np.testing.assert_array_equal(model.predict_sets(source), model.predict_sets(frame))
            chances = np.asarray(model.predict_proba(source))
            np.testing.assert_array_equal(chances, model.predict_proba(frame))
            named = model.classes_[chances.argmax(axis=1)]
            np.testing.assert_array_equal(np.asarray(model.predict(source)), named)
