"""Which methods a table gets: by size, by what its target is, and what a reader is told of the rest."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from assay.linear import Ridge, SplineRegression
from assay.report import Data, compare, render
from assay.report.results import results
from assay.report.trials.comparison import Comparison
from assay.report.trials.landmarks import OnLandmarks
from assay.report.trials.roster import entries, limits_in_words, roster
from assay.suitability import Suitability


def names(task, n_rows=500, n_features=8, **options):
    return {entry.name for entry in roster(task, n_rows, n_features, **options)[0]}


def table(X, y, **options) -> Data:
    frame = pd.DataFrame(X, columns=[f"x{index}" for index in range(X.shape[1])])
    return Data.from_frame(frame, y, name="made", **options)


def test_counts_get_a_poisson_regression_and_amounts_a_gamma_one(rng):
    counts, amounts, signed = rng.poisson(3, 50).astype(float), rng.gamma(2, size=50), rng.normal(size=50)
    family = {}
    for name, target in (("counts", counts), ("amounts", amounts), ("whole", 1000 + counts)):
        chosen = {entry.name: entry for entry in roster("regression", 50, 3, target=target)[0]}
        family[name] = next(
            (word, entry.make(0)) for word, entry in chosen.items() if word.startswith("GeneralizedLinear")
        )
    assert {name: word for name, (word, _) in family.items()} == {
        "counts": "GeneralizedLinear (Poisson, log link)",
        "amounts": "GeneralizedLinear (gamma, log link)",
        "whole": "GeneralizedLinear (gamma, log link)",
    }
    for word, model in family.values():  # the name tells the family and the link of the model itself
        X = rng.normal(size=(50, 1))
        law = model.fit(X, counts + 1 if model.family == "poisson" else amounts)._law()
        assert (law.family.name, law.link.name) == (word[19:].partition(",")[0].lower(), "log")
    assert not any(word.startswith("GeneralizedLinear") for word in names("regression", target=signed))


@pytest.mark.parametrize("wish", ["GeneralizedLinear", "generalizedlinear (poisson, log link)"])
def test_a_method_is_asked_for_with_or_without_its_form(rng, wish):
    counts = rng.poisson(3, 50).astype(float)
    assert names("regression", target=counts, methods=[wish]) == {"GeneralizedLinear (Poisson, log link)"}
    assert "GeneralizedLinear (Poisson, log link)" not in names("regression", target=counts, exclude=[wish])


def test_a_method_asked_for_a_target_it_is_not_for_is_left_out_with_a_sentence(rng):
    X = rng.normal(size=(40, 2))
    comparison = compare(table(X, X[:, 0]), methods=("GeneralizedLinear", "Ridge"), folds=2, repeats=1)
    assert comparison.skipped == (
        "GeneralizedLinear was left out: it is for a target of counts (whole numbers from zero or a few up) "
        "or numbers above zero.",
    )


def test_a_poisson_law_is_won_by_poisson_regression(rng):
    X = rng.normal(size=(400, 2))
    y = rng.poisson(np.exp(1.5 * X[:, 0])).astype(float)
    methods = ("LinearRegression", "Ridge", "GeneralizedLinear")
    comparison = compare(table(X, y), methods=methods, folds=3, repeats=1)
    assert comparison.best.name == "GeneralizedLinear (Poisson, log link)"
    assert comparison.headline.startswith("GeneralizedLinear (Poisson, log link) predicts")
    assert results(comparison)["candidates"][0]["name"] == comparison.best.name
    assert comparison.best.name in render(comparison)
    assert comparison.best.summary.startswith("Poisson regression")
    assert comparison.best.predictions.min() > 0


def test_stochastic_gradients_are_for_many_rows_and_all_pairs_for_few():
    assert "SGDClassifier" not in names("classification", n_rows=500)
    assert "SGDClassifier" in names("classification", n_rows=50_000)
    assert "SGDClassifier" in names("classification", n_rows=500, methods=("SGDClassifier",))
    assert "KernelRidge" in names("regression", n_rows=500)
    assert "KernelRidge" not in names("regression", n_rows=50_000)
    assert "PolynomialRegression" not in names("regression", n_features=150)


def test_methods_for_other_tables_are_left_out_without_a_word():
    _, said = roster("classification", 500, 8)
    assert said == []
    _, said = roster("regression", 500, 8, target=np.array([-1.0, 2.0]))
    assert said == []


def test_every_entry_has_a_family_a_summary_and_settings_that_it_accepts():
    for entry in entries():
        assert entry.family
        assert entry.summary.endswith(".")
        model = entry.make(0)
        if not isinstance(model, OnLandmarks):  # it hands its parameters on
            model._check_parameters()
        assert entry.suits.select is None or hasattr(model, "select")


def test_a_suitability_knows_its_sizes():
    suits = Suitability(complexity=3, max_rows=100, max_features=10)
    assert suits.admits(100, 10)
    assert not suits.admits(101, 10)
    assert not suits.admits(100, 11)
    assert Suitability(complexity=3, max_numbers=1000).admits(100, 10)
    assert not Suitability(complexity=3, max_numbers=1000).admits(100, 11)


def test_the_lesser_of_rows_and_features_may_be_limited():
    suits = Suitability(complexity=3, max_side=10)
    assert suits.admits(10, 1000)
    assert suits.admits(1000, 10)
    assert not suits.admits(11, 11)
    assert limits_in_words(suits) == "10 rows and as many features"


def test_comparing_every_row_with_every_other_may_be_limited():
    suits = Suitability(complexity=3, max_pairs=10_000)
    assert suits.admits(10, 100)
    assert suits.admits(100, 1)
    assert not suits.admits(100, 2)
    assert limits_in_words(suits) == "10,000 rows times rows times features"


def test_more_than_two_classes_may_be_limited_alone():
    rows = Suitability(complexity=3, max_class_rows=300)
    assert rows.admits(100, 50, 3)
    assert not rows.admits(100, 5, 4)
    assert rows.admits(1000, 5, 2)
    suits = Suitability(complexity=3, max_class_numbers=1000)
    assert suits.admits(10_000, 10, n_classes=2)
    assert suits.admits(100, 3, n_classes=3)
    assert not suits.admits(100, 4, n_classes=3)
    assert limits_in_words(suits) == "1,000 numbers times classes"


def test_a_fit_for_each_class_counts_its_numbers_once_for_each():
    suits = Suitability(complexity=3, max_numbers=1000, per_class=True)
    assert suits.admits(100, 10, n_classes=2)
    assert suits.admits(100, 3, n_classes=3)
    assert not suits.admits(100, 4, n_classes=3)
    assert limits_in_words(suits) == "1,000 numbers times classes"


def test_trees_are_tried_by_the_columns_that_they_are_given():
    """Words become many features for other methods, and one for a tree."""
    wide, _ = roster("regression", 1000, 3000)
    narrow, _ = roster("regression", 1000, 3000, n_plain=100)
    added = {entry.name for entry in narrow} - {entry.name for entry in wide}
    assert "RandomForestRegressor" in added
    assert all(entry.suits.encoding == "codes" for entry in narrow if entry.name in added)


def test_a_large_table_is_told_which_trees_take_too_long():
    names, left = roster("regression", 100_000, 50)
    assert "HistGradientBoostingRegressor" in [entry.name for entry in names]
    told = [sentence for sentence in left if sentence.startswith("RandomForestRegressor")]
    assert told == [
        "RandomForestRegressor was left out: it takes too long beyond 500,000 numbers; "
        "--methods RandomForestRegressor tries it all the same."
    ]


def test_a_leaking_column_is_told(rng):
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + rng.normal(size=120)
    X[:, 2] = np.exp(y)
    comparison = compare(table(X, y), methods=("LinearRegression",), folds=3, repeats=1)
    (told,) = comparison.alarms
    assert told.startswith("'x2' alone gives y away")


def test_few_rows_and_a_common_class_are_told(rng):
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 54, "no", "yes")
    small = compare(table(X, y), methods=("LinearSVC",), folds=3, repeats=1)
    said = " ".join(small.remarks)
    assert "With 60 rows, another sample could well rank the methods otherwise." in said
    assert "90% of the rows are 'no', which flatters the accuracy" in said
    assert "LinearSVC names classes without a probability." in said


@pytest.mark.parametrize(("n_common", "told"), [(48, False), (49, True)])
def test_more_than_four_of_five_rows_flatter_the_accuracy(rng, n_common, told):
    y = np.where(np.arange(60) < n_common, "no", "yes")
    comparison = compare(table(rng.normal(size=(60, 2)), y), methods=("LinearSVC",), folds=2, repeats=1)
    assert any("flatters the accuracy" in remark for remark in comparison.remarks) == told


def test_balanced_tables_of_many_rows_get_no_such_word(classification):
    said = " ".join(classification.remarks)
    assert "flatters" not in said
    assert "another sample" not in said


def test_a_best_model_that_is_not_proven_is_told_and_not_recommended(regression):
    best = regression.best
    broken = type(best.certificates)(
        [dataclasses.replace(best.certificates[0], value=np.inf), *best.certificates[1:]]
    )
    assert not broken.holds
    others = [candidate for candidate in regression.candidates if candidate is not best]
    comparison = Comparison(
        task=regression.task,
        data=regression.data,
        score_name=regression.score_name,
        candidates=(dataclasses.replace(best, certificates=broken), *others),
        folds=regression.folds,
        repeats=regression.repeats,
        seed=regression.seed,
    )
    assert comparison.recommended.name != best.name
    told = [remark for remark in comparison.remarks if remark.startswith(best.name)]
    assert "is not recommended: a certificate of its fit does not hold" in told[0]


def test_a_choice_among_penalties_is_that_of_one_fit_each(rng):
    """The decomposition that serves all penalties of a regression on features gives each its own fit."""
    X = rng.uniform(-1, 1, size=(90, 2))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=90)
    alphas = [10.0, 0.1, 0.001]
    chosen = SplineRegression().select(X, y, alphas=alphas, cv="split")
    train, test = np.arange(68), np.arange(68, 90)
    for alpha, loss in zip(chosen.alphas, chosen.curve, strict=True):
        one = SplineRegression(alpha=alpha).fit(X[train], y[train])
        assert loss == pytest.approx(np.mean((y[test] - one.predict(X[test])) ** 2), rel=1e-8)


def test_ridge_chooses_on_solutions_that_are_its_own(rng):
    X, Y = rng.normal(size=(80, 4)), rng.normal(size=(80, 2))
    chosen = Ridge().select(X, Y, alphas=[10.0, 1.0], cv="split")
    for alpha, loss in zip(chosen.alphas, chosen.curve, strict=True):
        one = Ridge(alpha=alpha * 60 / 80).fit(X[:60], Y[:60])
        assert loss == pytest.approx(np.mean((Y[60:] - one.predict(X[60:])) ** 2), rel=1e-8)
