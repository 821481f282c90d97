"""Scores that are too good to be true: what gives a target away is told, and nothing else is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from assay.report import Data, RawTable, choose_data, compare, read_table
from assay.report.tables.checks.doubts import _of_sums
from assay.report.tables.checks.leakage import alarms, likeness_in_time
from assay.report.tables.checks.relations import linear_relations, numbers_of, together


def of_columns(frame, y):
    data = Data.from_frame(frame, y, target="total")
    return together(numbers_of(data.X, data.columns, data.y), "total")


@pytest.fixture
def rentals(rng):
    """Bike rentals: those of casual and of registered users add up to the count."""
    n = 300
    weather = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "weather": weather,
            "wind": rng.gamma(2.0, 5.0, n),
            "casual": rng.poisson(np.exp(4 + 0.5 * weather + 0.3 * rng.normal(size=n))),
            "registered": rng.poisson(np.exp(5 + 0.2 * weather)),
        }
    )
    return frame, (frame["casual"] + frame["registered"]).to_numpy(dtype=float)


def test_columns_that_give_the_target_away_together_are_told_and_the_headline_does_not_boast(rentals):
    frame, count = rentals
    data = Data.from_frame(frame, count, target="count")
    told = alarms(data, "regression")
    assert told == (
        "count is casual + registered: together they give it away; unless they are known beforehand, "
        "--drop them.",
    )
    comparison = compare(data, repeats=1, methods=["LinearRegression"])
    assert comparison.alarms[0] == told[0]
    assert comparison.recommended.score > 0.999
    assert comparison.headline == ("LinearRegression has R² 1.00 ± 0.00, but the table may give count away")
    without = Data.from_frame(frame.drop(columns="casual"), count, target="count")
    honest = compare(without, repeats=1, methods=["LinearRegression"])
    assert honest.alarms == ()
    assert honest.headline.startswith("LinearRegression predicts count: R² ")  # the only one: no best


def test_columns_that_are_half_empty_do_not_hide_a_sum_of_others(rentals, rng):
    frame, count = rentals
    gaps = {f"gap {k}": np.where(rng.random(300) < 0.5, np.nan, rng.normal(size=300)) for k in range(10)}
    assert of_columns(frame.assign(**gaps), count).formula == "casual + registered"


def test_a_constant_beside_a_sum_or_a_product_is_told(rng):
    a, b = rng.gamma(3.0, 10.0, (2, 200))
    frame = pd.DataFrame({"a": a, "b": b})
    assert of_columns(frame, a + b).formula == "a + b"
    assert of_columns(frame, a + b + 40).formula == "a + b plus a constant"
    assert of_columns(frame, a * b).formula == "a × b"
    assert of_columns(frame, 3 * a * b).formula == "a × b times a constant"
    copies = frame.assign(same=a, moved=a + 7)
    columns = Data.from_frame(copies, b, target="total").columns
    assert _of_sums(copies, columns) == (
        "'same' equals a: it adds nothing to them; --drop same leaves it out.",
        "'moved' is a plus a constant: it adds nothing to them; --drop moved leaves it out.",
    )


def test_sums_of_many_columns_products_and_nearly_exact_sums_are_seen(rng):
    months = rng.gamma(3.0, 10.0, (200, 12))
    frame = pd.DataFrame(months, columns=[f"month {number}" for number in range(12)])
    found = of_columns(frame, months.sum(axis=1))
    assert [name for name, _ in found.terms] == list(frame.columns)
    assert "month 0 + month 1 + " in found.formula
    price, quantity, other = rng.lognormal(size=(3, 200))
    frame = pd.DataFrame({"price": price, "other": other, "quantity": quantity})
    found = of_columns(frame, price * quantity)
    assert sorted(found.formula.split(" × ")) == ["price", "quantity"]
    nearly = 3 * price - 2 * quantity + 0.01 * rng.normal(size=200)
    assert of_columns(frame, nearly).formula == ""
    (told,) = alarms(Data.from_frame(frame, nearly, target="total"), "regression")
    assert "together give total away: it is nearly a sum of multiples of them" in told


@pytest.mark.parametrize(("wrong", "words"), [([0], "1 row"), ([0, 7, 30, 31], "4 rows")])
def test_a_few_rows_do_not_hide_a_sum(rng, wrong, words):
    """Real interest is the rate less inflation, to two decimals, but where a quarter was not known."""
    rate, inflation = rng.gamma(3.0, 2.0, 200).round(2), rng.normal(4, 3, 200).round(2)
    frame = pd.DataFrame({"rate": rate, "real": (rate - inflation).round(2), "x": rng.normal(size=200)})
    inflation[wrong], frame.loc[wrong, "real"] = 0.0, 0.0
    (told,) = alarms(Data.from_frame(frame, inflation, target="infl"), "regression")
    assert told == (
        f"infl is rate − real in all but {words}: together they give it away; unless they are known "
        "beforehand, --drop them."
    )


@pytest.mark.parametrize("seed", range(20))
def test_noise_that_a_few_rows_have_more_of_is_no_sum(seed):
    """Neither a sum with heavy tails, nor one of other multiples that is missed by little, is an identity."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, 200))
    frame = pd.DataFrame({"a": a, "b": b, "c": c})
    for y in (a + b + 0.1 * rng.standard_t(1.5, 200), 1.3 * a - 0.7 * b + 0.02 * rng.standard_t(1.5, 200)):
        found = of_columns(frame, y)
        assert found is None or not found.n_otherwise


def test_a_good_linear_law_with_noise_is_no_leak(rng):
    X = rng.normal(size=(200, 4))
    for noise in (0.1, 1.0):
        y = X @ [1.0, 1.0, 1.0, 1.0] + noise * rng.normal(size=200)
        assert alarms(Data.from_frame(pd.DataFrame(X).add_prefix("x"), y), "regression") == ()
    few = pd.DataFrame(X[:12]).add_prefix("x")
    assert of_columns(few, rng.normal(size=12)) is None  # twelve rows fit anything


@pytest.mark.parametrize("name", ["diabetes", "iris", "breast_cancer"])
def test_embedded_tables_raise_no_alarm(name):
    data = choose_data(read_table(name))
    assert alarms(data, data.task) == ()


def test_relations_name_the_columns_of_a_sum_and_no_others(rng):
    a, b, c, d = rng.normal(size=(4, 100)) * [[1], [1e6], [1e-3], [1]]
    table = np.column_stack([a, b, c, d, a - 2 * d, np.full(100, 3.0)])
    (found,) = linear_relations(["a", "b", "c", "d", "e", "constant"], table)
    assert found.name == "e"
    assert [name for name, _ in found.terms] == ["a", "d"]
    np.testing.assert_allclose([weight for _, weight in found.terms], [1.0, -2.0], rtol=1e-9)
    assert linear_relations(["a", "b", "c", "d"], table[:, :4]) == []


@pytest.fixture
def dated(rng):
    """A price that drifts from day to day."""
    days = pd.date_range("2023-01-01", periods=250)
    frame = pd.DataFrame({"day": days.astype(str), "x": rng.normal(size=250)})
    return frame, np.cumsum(rng.normal(size=250))


def test_a_target_that_follows_the_time_is_told_and_one_that_does_not_is_not(dated, rng):
    frame, drift = dated
    (told,) = alarms(Data.from_frame(frame, drift, target="price"), "regression")
    assert told.startswith("Rows that are near in 'day' have similar price (correlation of neighbours 0.9")
    assert told.endswith("if it will predict later rows, use --time day.")
    shuffled = rng.permutation(250)  # the order of the rows does not matter, their dates do
    again = Data.from_frame(frame.iloc[shuffled].reset_index(drop=True), drift[shuffled], target="price")
    assert alarms(again, "regression") == (told,)
    assert alarms(Data.from_frame(frame, rng.normal(size=250)), "regression") == ()
    assert len(alarms(Data.from_frame(frame, np.where(drift > drift.mean(), "up", "down")), "classification"))
    assert alarms(Data.from_frame(frame, rng.choice(["up", "down"], 250)), "classification") == ()
    births = frame.rename(columns={"day": "date_of_birth"})
    assert alarms(Data.from_frame(births, drift), "regression") == ()


def test_many_columns_that_give_the_target_away_are_told_in_few_sentences(rng):
    y = rng.normal(size=100)
    frame = pd.DataFrame({f"copy {number}": y * (number + 1) for number in range(7)})
    told = alarms(Data.from_frame(frame, y, target="price"), "regression")
    assert len(told) == 4
    assert told[3] == "4 more columns do so alone: 'copy 3', 'copy 4', 'copy 5', 'copy 6'."


def test_a_time_that_the_target_follows_is_not_told_to_be_dropped(rng):
    frame = pd.DataFrame({"year": np.repeat(np.arange(1980, 2020), 3), "x": rng.normal(size=120)})
    (told,) = alarms(
        Data.from_frame(frame, frame["year"].to_numpy() / 7 + 0.1 * rng.normal(size=120)), "regression"
    )
    assert "use --time year" in told
    assert "--drop" not in told


def test_years_are_times(rng):
    frame = pd.DataFrame({"year": np.repeat(np.arange(1980, 2020), 3), "x": rng.normal(size=120)})
    y = np.repeat(np.cumsum(rng.normal(size=40)), 3) + 0.1 * rng.normal(size=120)
    (told,) = alarms(Data.from_frame(frame, y), "regression")
    assert "--time year" in told


def test_likeness_in_time_is_rarely_told_by_chance():
    rng = np.random.default_rng(0)
    days = np.arange(100.0)
    told = sum(likeness_in_time(days, rng.normal(size=100)) > 0 for _ in range(2000))
    assert told <= 8  # at most 0.001 each: 2 of 2000, and four standard errors


def test_rows_of_one_person_are_told_where_they_are_alike(rng):
    people = np.repeat(np.arange(40), 5)
    frame = pd.DataFrame({"patient_id": [f"p{person}" for person in people], "x": rng.normal(size=200)})
    own = rng.normal(size=40)[people]
    (told,) = alarms(Data.from_frame(frame, own + 0.3 * rng.normal(size=200)), "regression")
    assert "use --group patient_id" in told
    assert alarms(Data.from_frame(frame, rng.normal(size=200)), "regression") == ()
    towns = frame.rename(columns={"patient_id": "town"})
    assert alarms(Data.from_frame(towns, own + 0.3 * rng.normal(size=200)), "regression") == ()
    slightly = 0.4 * own + rng.normal(size=200)  # people make a seventh of the variance
    assert alarms(Data.from_frame(frame, slightly), "regression") == ()


@pytest.mark.parametrize(("n_people", "told"), [(8, False), (40, True), (200, False)])
def test_moderate_likeness_within_many_people_of_several_rows_is_told(rng, n_people, told):
    people = np.arange(200) % n_people
    frame = pd.DataFrame({"patient_id": [f"p{person}" for person in people], "x": rng.normal(size=200)})
    y = rng.normal(size=n_people)[people] + 0.8 * rng.normal(size=200)
    assert any("--group" in told_of for told_of in alarms(Data.from_frame(frame, y), "regression")) == told


def test_a_score_that_leaves_nothing_to_err_about_is_told_to_be_rare(classification):
    assert classification.alarms == ()
    perfect = dataclasses.replace(classification.recommended, score=1.0, scores=np.ones(5))
    (told,) = dataclasses.replace(classification, candidates=(perfect,)).alarms
    assert told == (
        "So good a score (accuracy 1.000) is rare outside of exercises: make sure that no column is only "
        "known after species."
    )


def decided(frame, y):
    return alarms(Data.from_frame(pd.DataFrame(frame), np.asarray(y), target="late"), "classification")


@pytest.mark.parametrize(
    ("law", "formula"),
    [
        (lambda a, b: a - b > 0.5, "whether a − b is above 0.5"),
        (lambda a, b: a + b > 3, "whether a + b is above 3"),
        (lambda a, b: a * b > 2.2, "whether a × b is above 2.2"),
        (lambda a, b: a / b > 1.5, "whether a / b is above 1.5"),
    ],
)
def test_a_threshold_of_two_columns_that_makes_the_class_is_told(rng, law, formula):
    a, b = rng.gamma(8.0, 0.2, (2, 1500))
    y = np.where(law(a, b), "yes", "no")
    (told,) = decided({"other": rng.normal(size=1500), "a": a, "b": b}, y)
    begin, _, end = told.partition(" decides late in every row: ")
    assert end == "together they give it away; unless they are known beforehand, --drop them."
    assert begin.rpartition(" ")[0].lower() == formula.rpartition(" ")[0]
    assert float(begin.rpartition(" ")[2]) == pytest.approx(float(formula.rpartition(" ")[2]), abs=0.02)
    wrong = y.copy()
    wrong[7] = "no" if y[7] == "yes" else "yes"  # one row of 1500 is enough to say no more
    assert decided({"a": a, "b": b}, wrong) == ()


def test_points_that_add_up_to_a_grade_are_told(rng):
    first, second = rng.integers(0, 60, (2, 600))
    y = np.array(["fail", "pass", "honours"])[np.searchsorted([50, 80], first + second, side="right")]
    (told,) = decided({"first": first, "second": second, "age": rng.normal(40, 9, 600)}, y)
    assert told.startswith("The range of first + second decides late in every row: together")


def test_two_columns_of_words_that_decide_between_them_are_told(rng):
    plan, region = rng.choice(["a", "b", "c"], 300), rng.choice(["north", "south"], 300)
    y = np.where((plan == "a") ^ (region == "south"), "yes", "no")
    (told,) = decided({"plan": plan, "region": region, "x": rng.normal(size=300)}, y)
    assert told.startswith("'plan' and 'region' decide late between them in every row: together")
    assert decided({"plan": plan, "x": rng.normal(size=300)}, y) == ()
    # As many levels as rows decide anything; so do a few rows.
    many = [f"n{number}" for number in rng.integers(0, 20, 300)]
    further, lone = [f"m{number}" for number in rng.integers(0, 20, 300)], rng.choice(["yes", "no"], 300)
    assert decided({"plan": many, "region": further}, lone) == ()
    assert decided({"plan": plan[:30], "region": region[:30]}, y[:30]) == ()


def test_a_rare_class_in_cells_of_its_own_by_chance_is_no_leak(rng):
    y = np.full(400, "no")
    y[:2] = "yes"
    first, second = rng.integers(0, 19, (2, 400)).astype(str)
    first[:2], second[:2] = "17", "18"
    keep = ~((first == "17") & (second == "18")) | (y == "yes")
    assert decided({"a": first[keep], "b": second[keep]}, y[keep]) == ()


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_honest_tables_that_part_well_are_no_leaks(name):
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    data = Data.from_frame(X, y.to_numpy().astype(str), target="kind")
    assert not any("decide" in sentence for sentence in alarms(data, "classification"))


@pytest.mark.parametrize("n_rows", [150, 3000])
def test_a_column_that_the_classes_were_cut_from_is_told(n_rows, rng):
    """A low weight at birth is one below 2,500 grams; a second column goes with it and decides nothing."""
    weight = rng.normal(3000, 600, n_rows).round()
    frame = {"mother": weight / 50 + rng.normal(0, 8, n_rows), "weight": weight}
    low = np.where(weight < 2500, "low", "usual")
    cut = (weight[weight < 2500].max() + weight[weight >= 2500].min()) / 2
    (told,) = decided(frame, low)
    assert told.startswith(f"Whether weight is above {cut:,.0f}")
    assert told.endswith(
        "decides late in every row: it gives it away; unless it is known beforehand, --drop it."
    )
    three = np.where(weight < 2500, "low", np.where(weight < 3300, "middle", "great"))
    assert decided(frame, three)[0].startswith("The range of weight decides late in every row")
    wrong = low.copy()
    wrong[np.argsort(weight)[[0, -1]]] = ["usual", "low"]
    assert not any("every row" in sentence for sentence in decided(frame, wrong))


@pytest.mark.parametrize("distance", [2.0, 3.0, 4.0, 8.0])
@pytest.mark.parametrize("n_rows", [100, 1000, 20_000])
def test_classes_that_are_far_apart_are_no_leak(distance, n_rows):
    rng = np.random.default_rng(n_rows)
    labels = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, 4)) + distance / 2 * (2 * labels[:, None] - 1) * [1, 1, -1, 0]
    frame = {f"x{place}": column for place, column in enumerate(X.T)}
    assert not any("in every row" in told for told in decided(frame, labels.astype(str)))


def test_gaps_in_the_rows_of_one_class_alone_are_told(rng):
    died = np.arange(200) % 3 == 0
    y = np.where(died, "died", "lived")
    frame = pd.DataFrame(
        {"age": rng.normal(50, 9, 200), "boat": np.where(died, np.nan, rng.integers(1, 20, 200))}
    )
    data = choose_data(RawTable("t", frame.assign(y=y)), target="y")
    assert alarms(data, "classification") == (
        "Whether 'boat' is missing decides y in every row: it gives it away; unless it is known beforehand, "
        "--drop it.",
    )
    frame["boat"] = frame["boat"].where(rng.random(200) < 0.9)  # missing among the living, too
    data = choose_data(RawTable("t", frame.assign(y=y)), target="y")
    assert alarms(data, "classification") == ()


def test_codes_of_many_levels_that_encode_the_class_are_told(rng):
    y = rng.choice(["A", "B"], 300)
    frame = pd.DataFrame(
        {"code": [f"{k}{place % 7}" for place, k in enumerate(y)], "x": rng.normal(size=300)}
    )
    data = choose_data(RawTable("t", frame.assign(y=y)), target="y")
    (told,) = alarms(data, "classification")
    assert told.startswith("'code' alone gives y away (share of rows decided 1.00)")
    frame["code"] = [f"{place % 150}" for place in range(300)]  # two rows each, and classes by chance
    data = choose_data(
        RawTable(
            "t",
            frame.assign(y=y),
        ),
        target="y",
    )
    assert alarms(data, "classification") == ()


@pytest.mark.parametrize("whole", [1, 100])
def test_a_share_of_two_columns_is_told(whole, rng):
    hits, misses = rng.gamma(2, 50, (2, 200))
    frame = pd.DataFrame({"hits": hits, "misses": misses, "x": rng.normal(size=200)})
    data = Data.from_frame(frame, whole * hits / (hits + misses), target="rate")
    (told,) = alarms(data, "regression")
    assert told.startswith("rate is hits / (hits + misses): together they give it away")
    noisy = Data.from_frame(frame, whole * hits / (hits + misses * rng.lognormal(0, 0.3, 200)), target="rate")
    assert alarms(noisy, "regression") == ()
