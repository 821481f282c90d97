"""Tables of every kind that people bring: no sentence on the page is false.

Each kind is a file as it comes, and what is known of it. Headline, remarks and figures are checked against
the predictions themselves by `sentences.Audit`, which knows every kind of sentence there is; the warnings and
what was decided about the table are compared with what was put into it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from assay.report import ReportError, choose_data, compare, read_table, render
from assay.report.page.data import count_doubles, double_remarks
from sentences import Audit

LINES = ("LinearRegression", "Ridge", "DecisionTreeRegressor", "KNeighborsRegressor")
CLASSIFIERS = (
    "LogisticRegression",
    "LinearSVC",
    "DecisionTreeClassifier",
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
    "NaiveBayes",
    "KNeighborsClassifier",
)


@dataclass
class Kind:
    """A table as a text, what is asked of it, and what must be said of it and of nothing else."""

    text: str
    target: str = "price"
    methods: tuple[str, ...] = LINES
    asked: dict[str, Any] = field(default_factory=dict)
    folds: int = 5
    repeats: int | None = 2
    alarms: tuple[str, ...] = ()  # how each alarm begins
    notes: tuple[str, ...] = ()  # what stands in some note
    remarks: tuple[str, ...] = ()
    headline: str = ""
    truth: Callable[[Any], None] = lambda comparison: None


def csv(**columns: Any) -> str:
    return pd.DataFrame(columns).to_csv(index=False)


def numbers(rng, n=120):
    """Three columns and a price that two of them tell."""
    size, age, noise = rng.normal(size=(3, n)).round(3)
    return {"size": size, "age": age, "noise": noise}, 10 + 3 * size - age + rng.normal(size=n).round(3)


def erratic_salaries(rng):
    """Baseball: salaries of a heavy tail that a curve of the years tells, a fifth of them missing."""
    n = 160
    years, hits = rng.integers(1, 20, n), rng.gamma(3.0, 30.0, n).round()
    salary = np.exp(
        5 + 0.35 * np.minimum(years, 8) - 0.1 * np.maximum(years - 8, 0) + 0.5 * rng.normal(size=n)
    )
    salary = np.where(rng.random(n) < 0.2, np.nan, salary.round(1))
    missing = int(np.isnan(salary).sum())
    return Kind(
        csv(years=years, hits=hits, price=salary),
        methods=(*LINES, "SplineRegression"),
        notes=(f"{missing} rows have no value of 'price': left out.",),
        truth=lambda it: np.testing.assert_equal(it.recommended.name.split(" ")[0], "SplineRegression"),
    )


def mistyped_price(rng):
    columns, price = numbers(rng)
    price = price.round(2)
    price[17] = 12_345_678.0

    def never_below_the_baseline(it):
        assert it.recommended.score >= it.baseline.score

    return Kind(
        csv(**columns, price=price),
        methods=(*LINES, "HuberRegressor"),
        notes=("a mistyped digit? Correct it, or use --na price=12345678",),
        truth=never_below_the_baseline,
        repeats=None,
    )


def bike_rentals(rng):
    weather = rng.normal(size=150).round(2)
    casual, registered = rng.poisson(np.exp(3 + 0.5 * weather)), rng.poisson(np.exp(5 + 0.2 * weather))
    return Kind(
        csv(weather=weather, casual=casual, registered=registered, price=casual + registered),
        alarms=("price is casual + registered: together they give it away", "So good a score"),
        headline="LinearRegression has R² 1.000 ± 0.000, but the table may give price away",
    )


def two_columns_that_make_the_class(rng):
    spent, limit, age = rng.gamma(8.0, 20.0, (3, 400)).round(1)
    late = np.where(spent > limit, "late", "paid")
    return Kind(
        csv(spent=spent, limit=limit, age=age, price=late),
        methods=CLASSIFIERS[:1],
        alarms=("Whether spent − limit is above 0",),
    )


def drifting_days(rng):
    days = pd.date_range("2024-01-01", periods=200).strftime("%Y-%m-%d")
    level = np.cumsum(rng.normal(size=200))
    return csv(day=days, x=rng.normal(size=200).round(3), price=level.round(3))


def dated_rows(rng):
    return Kind(drifting_days(rng), alarms=("Rows that are near in 'day' have similar price",))


def dated_rows_in_order(rng):
    def judged_by_the_future(it):
        assert len(it.data.y) < 200
        assert it.repeats == 1

    return Kind(drifting_days(rng), asked={"time": "day"}, folds=4, repeats=None, truth=judged_by_the_future)


def many_rows_of_a_patient(rng):
    who = np.repeat(np.arange(30), 6)
    x = rng.normal(size=30)[who] + 0.02 * rng.normal(size=180)
    y = rng.normal(size=30)[who] + 0.1 * rng.normal(size=180)
    return csv(
        patient=[f"p{name}" for name in who], x=x.round(3), z=rng.normal(size=180).round(3), price=y.round(3)
    )


def grouped_rows(rng):
    return Kind(many_rows_of_a_patient(rng), alarms=("Rows with the same 'patient' have similar price",))


def grouped_rows_kept_together(rng):
    return Kind(
        many_rows_of_a_patient(rng),
        asked={"group": "patient"},
        headline="No model predicts price clearly better than its mean",
    )


def total_row(rng):
    columns, price = numbers(rng, 60)
    frame = pd.DataFrame({"town": rng.choice(["Lyon", "Nice"], 60), **columns, "price": price.round(2)})
    last = ["Total", "", "", "", round(float(frame["price"].sum()), 2)]
    text = frame.to_csv(index=False) + ",".join(map(str, last)) + "\n"

    def is_not_learnt(it):
        assert len(it.data.y) == 60
        assert {column.name: column.kind for column in it.data.columns}["size"] == "numeric"

    return Kind(
        text, notes=("The last row ('Total') is the sum of those above: left out.",), truth=is_not_learnt
    )


def money_and_percent(rng):
    columns, price = numbers(rng, 100)
    rent = (7440 + 900 * columns["size"]).round()
    text = [f"${value:,.0f}" for value in rent]
    share = [f"{value:.0f}%" for value in 50 + 20 * columns["age"]]

    def are_numbers(it):
        assert {column.name: column.kind for column in it.data.columns}["rent"] == "numeric"
        assert it.recommended.score > 0.8

    return Kind(
        csv(rent=text, share=share, price=price.round(2)),
        notes=("Column 'rent' holds", "Column 'share' is in per cent: 60% is read as 60."),
        truth=are_numbers,
    )


def sentinels(rng):
    columns, price = numbers(rng)
    columns["age"] = np.where(rng.random(120) < 0.1, -999.0, columns["age"])
    count = int((columns["age"] == -999).sum())
    return Kind(
        csv(**columns, price=price.round(2)),
        notes=(f"'age' is −999 in {count} rows", "if that means missing, use --na age=-999."),
    )


def constant_and_empty_columns(rng):
    columns, price = numbers(rng)
    nothing = {"country": ["France"] * 120, "comment": [""] * 120, "row": np.arange(120)}
    return Kind(
        csv(**nothing, **columns, price=price.round(2)),
        notes=("'country' is left out: every value is", "'comment' is left out", "'row' is left out"),
    )


def repeated_rows(rng):
    columns, price = numbers(rng, 60)
    frame = pd.DataFrame({**columns, "price": price.round(2)})
    frame = pd.concat([frame, frame.iloc[:20]])

    def are_told(it):
        assert any(
            "20 rows repeat earlier ones" in told
            for told in double_remarks(count_doubles(it.data), it.data, it.task)
        )

    return Kind(frame.to_csv(index=False), truth=are_told)


def titles_above_the_header(rng):
    columns, price = numbers(rng, 60)

    def is_found(it):
        assert it.data.feature_names == ["size", "age", "noise"]
        assert len(it.data.y) == 60

    text = "Prices of the year\nmade by the office of prices\n\n" + csv(**columns, price=price.round(2))
    return Kind(text, notes=("above the",), truth=is_found)


def counts_with_zeros(rng):
    x, z = rng.normal(size=(2, 200)).round(3)

    def is_poisson(it):
        assert it.best.name == "GeneralizedLinear (Poisson, log link)"

    return Kind(
        csv(x=x, z=z, price=rng.poisson(np.exp(0.5 + x))),
        methods=("LinearRegression", "GeneralizedLinear"),
        asked={"task": "regression"},
        truth=is_poisson,
    )


def line_below_zero(rng):
    x = rng.normal(size=150).round(3)
    return Kind(
        csv(x=x, z=rng.normal(size=150).round(3), price=(np.maximum(x, 0) + 0.05 * rng.random(150)).round(3)),
        methods=("LinearRegression",),
        remarks=("of its predictions of unseen rows are below zero, where price never is",),
    )


def nothing_to_find(rng):
    columns, _ = numbers(rng, 100)
    return Kind(
        csv(**columns, price=rng.normal(size=100).round(3)),
        headline="No model predicts price clearly better than its mean",
    )


def few_rows(rng):
    x = rng.normal(size=24).round(3)
    return Kind(
        csv(x=x, z=rng.normal(size=24).round(3), price=(2 * x + rng.normal(size=24)).round(3)),
        remarks=("With 24 rows, another sample could well rank the methods otherwise.",),
    )


def words_as_target(rng):
    x, z = rng.normal(size=(2, 150)).round(3)
    return Kind(
        csv(x=x, z=z, price=np.where(x + 0.7 * rng.normal(size=150) > 0, "Yes", "No")),
        methods=CLASSIFIERS,
        truth=lambda it: np.testing.assert_equal(it.data.classes, ("No", "Yes")),
    )


def unbalanced_classes(rng):
    rare = rng.random(400) < 0.12
    x = (rng.normal(size=400) + 2 * rare).round(3)
    return Kind(
        csv(x=x, z=rng.normal(size=400).round(3), price=np.where(rare, "fraud", "fine")),
        methods=("LogisticRegression", "LinearDiscriminantAnalysis", "NaiveBayes"),
        remarks=("of the rows are 'fine', which flatters the accuracy", "'fraud'"),
    )


def noisy_labels(rng):
    x, z = rng.normal(size=(2, 800)).round(3)
    right = x + z > 0
    kind = np.where(right ^ (rng.random(800) < 0.2), "b", "a")
    return Kind(
        csv(x=x, z=z, price=kind),
        methods=("LogisticRegression", "AdaBoostClassifier"),
        folds=3,
        remarks=("Labels look noisy: of the half of the rows that LogisticRegression is surest of",),
    )


def classes_of_one_row(rng):
    x = rng.normal(size=91).round(3)
    kind = np.where(x > 0, "a", "b").astype(object)
    kind[:1] = "lonely"

    def is_set_aside(it):
        assert it.data.classes == ("a", "b")
        assert len(it.data.y) == 90

    return Kind(
        csv(x=x + rng.normal(size=91).round(3), z=rng.normal(size=91).round(3), price=kind),
        methods=CLASSIFIERS[:1],
        notes=("The class 'lonely' of 'price' with one row only: set aside",),
        truth=is_set_aside,
    )


def wide_classes(rng, n=36, p=60, k=3, methods=CLASSIFIERS[:2]):
    labels = rng.permutation(np.arange(n) % k)
    X = rng.normal(size=(n, p)).round(3)
    X[:, :k] += 3 * (labels[:, None] == np.arange(k))
    columns = {f"g{place}": column for place, column in enumerate(X.T)}
    return Kind(csv(**columns, price=[f"t{label}" for label in labels]), methods=methods, folds=3, repeats=1)


KINDS = {
    made.__name__: made
    for made in (
        erratic_salaries,
        mistyped_price,
        bike_rentals,
        two_columns_that_make_the_class,
        dated_rows,
        dated_rows_in_order,
        grouped_rows,
        grouped_rows_kept_together,
        total_row,
        money_and_percent,
        sentinels,
        constant_and_empty_columns,
        repeated_rows,
        titles_above_the_header,
        counts_with_zeros,
        line_below_zero,
        nothing_to_find,
        few_rows,
        words_as_target,
        unbalanced_classes,
        noisy_labels,
        classes_of_one_row,
        wide_classes,
    )
}


@pytest.fixture(scope="module")
def known():
    """Comparisons made so far, for those that look at the same table."""
    return {}


def of_kind(name, rng, folder, known):
    """A kind of table and its comparison, made once."""
    kind = KINDS[name](rng)
    if name not in known:
        known[name] = compared(kind, folder)
    return kind, copy.deepcopy(known[name])


def compared(kind: Kind, folder: Any) -> Any:
    path = folder / "sales.csv"
    path.write_text(kind.text, encoding="utf-8")
    data = choose_data(read_table(path), target=kind.target, **kind.asked)
    return compare(data, methods=kind.methods, folds=kind.folds, repeats=kind.repeats)


def check(kind: Kind, comparison: Any) -> None:
    Audit(comparison).check()
    assert len(comparison.alarms) == len(kind.alarms), comparison.alarms
    for told, begin in zip(comparison.alarms, kind.alarms, strict=True):
        assert told.startswith(begin)
    for words in kind.notes:
        assert any(words in note for note in comparison.data.notes), (words, comparison.data.notes)
    for words in kind.remarks:
        assert any(words in remark for remark in comparison.remarks), (words, comparison.remarks)
    assert comparison.headline.startswith(kind.headline)
    kind.truth(comparison)
    for text in (comparison.headline, *comparison.remarks, *comparison.alarms, *comparison.data.notes):
        assert not re.search(r"\de[+−-]?\d|\bnan\b|\binf\b", text), text  # 1,130 and not 1.13e+03
        assert not re.search(r"\d[   ']\d{3}\b(?! ×)", text), text  # one thousands separator


@pytest.mark.parametrize("name", KINDS)
def test_no_sentence_is_false(name, rng, tmp_path, known):
    check(*of_kind(name, rng, tmp_path, known))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_sentence_is_false_of_a_very_wide_table_of_many_classes(rng, tmp_path):
    kind = wide_classes(rng, n=64, p=6830, k=14)
    check(kind, compared(kind, tmp_path))


def test_the_page_says_what_the_comparison_says(rng, tmp_path, known):
    """The sentences that were checked are those on the page, warnings before the headline."""
    _, comparison = of_kind("bike_rentals", rng, tmp_path, known)
    page = render(comparison)
    text = re.sub(r"<[^>]+>", "", page).replace("&#x27;", "'").replace("&amp;", "&")
    for sentence in (comparison.headline, *comparison.alarms, *comparison.remarks):
        assert sentence in text
    assert page.index('id="alarm"') < page.index("<h1")


def test_groups_of_a_mixed_table_are_not_made_of_its_words(rng, tmp_path):
    """Penguins: three species by their measures, on islands and of a sex that tell nothing of them."""
    species = np.repeat(np.arange(3), 40)
    measures = rng.normal(size=(120, 4)) + 4 * np.array([[0, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]])[species]
    frame = pd.DataFrame(measures.round(2), columns=["bill", "depth", "flipper", "mass"])
    frame["island"], frame["sex"] = rng.choice(["A", "B", "C"], 120), rng.choice(["f", "m"], 120)
    frame.to_csv(tmp_path / "penguins.csv", index=False)
    found = compare(
        choose_data(read_table(tmp_path / "penguins.csv")), methods=("KMedoids", "AgglomerativeClustering")
    )
    assert adjusted_rand_score(species, found.recommended.predictions) > 0.9
    count = len(np.unique(found.recommended.predictions))
    assert f"falls best into {count} groups" in found.headline
    assert "merely repeat" not in found.headline
    said = re.search(r"A silhouette of ([\d.]+) (?:speaks|would speak) of (\w+)", " ".join(found.remarks))
    words = {"no": (-1, 0.25), "weak": (0.25, 0.5), "reasonable": (0.5, 0.7), "strong": (0.7, 1.0)}
    low, high = words[said[2]]
    assert low - 0.005 <= float(said[1]) <= high + 0.005


def test_a_class_of_one_row_is_refused_where_it_is_to_be_kept(rng, tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text(classes_of_one_row(rng).text)
    with pytest.raises(ReportError, match="leave out --keep-rare"):
        choose_data(read_table(path), target="price", keep_rare=True)


def test_the_audit_finds_a_false_figure(rng, tmp_path, known):
    """A score, a remark or a headline that is moved does not pass."""
    _, comparison = of_kind("words_as_target", rng, tmp_path, known)
    audit = Audit(comparison)
    audit.check()
    wrong = next(text for text in comparison.remarks if "wrong class in" in text)
    with pytest.raises(AssertionError):
        audit.check_remark(re.sub(r"in ([\d.]+)%", "in 49.3%", wrong))
    with pytest.raises(AssertionError, match="no known kind"):
        audit.check_remark("It is the best model that there is.")
    comparison.recommended.scores[0] += 0.01
    with pytest.raises(AssertionError):
        audit.check()
