"""The page of the data: what each column holds, what is missing, what goes together, what to beware of."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

from assay.report import Comparison, Data, choose_data
from assay.report.page.columns import histogram, summarise_levels, summarise_numbers
from assay.report.page.data import count_doubles, data_section, double_remarks, target_remarks
from assay.report.tables.checks.associations import signed, with_target
from assay.report.tables.files.reading import RawTable


def section(data: Data, task: str) -> ElementTree.Element:
    """The section, read as XML: everything closes and is escaped."""
    return ElementTree.fromstring(data_section(Comparison(task, data, "score", (), None, 0)))


def words(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def rows(element: ElementTree.Element, kind: str) -> list[list[str]]:
    """Cells of a table of the page, by the class of what holds it."""
    found = next(node for node in element.iter() if node.get("class") == kind)
    body = next(found.iter("tbody"))
    return [[words(cell) for cell in row] for row in body]


@pytest.fixture
def customers(rng):
    x = rng.normal(size=200)
    frame = pd.DataFrame(
        {
            "customer": [f"c{index}" for index in range(200)],
            "age": np.where(np.arange(200) < 20, np.nan, 40 + 10 * x),
            "income": np.exp(rng.normal(10, 1.5, 200)),
            "town": rng.choice(["Lyon", "Nice", "<b>Brest</b>"], 200, p=[0.7, 0.2, 0.1]),
            "size": rng.choice(["small", "medium", "large"], 200),
            "since": pd.date_range("2001-03-01", periods=200, freq="9D").astype(str),
            "empty": np.nan,
            "constant": 3,
            "churn": np.where(x > 1.3, "leaves", "stays"),
        }
    )
    frame.loc[5:7, "town"] = None
    return choose_data(RawTable("customers", frame, None), target="churn")


def test_the_target_comes_first_and_every_column_is_described(customers):
    data, task = customers, customers.task
    element = section(data, task)
    lines = rows(element, "columns")
    assert [line[0] for line in lines] == ["churn (target)", "age", "income", "town", "size", "since"]
    by_name = {line[0]: line[1:] for line in lines}
    assert by_name["churn (target)"][0] == "classes"
    assert by_name["age"][:2] == ["numeric", "20 (10%)"]
    assert by_name["town"][1] == "3 (1.5%)"
    assert by_name["town"][2] == "3"
    assert by_name["size"][0] == "ordinal"
    assert by_name["size"][4].startswith("small (")
    assert by_name["since"][4] == "2001-03-01 … 2003-08-13 … 2006-01-25"
    assert "<b>Brest</b>" in by_name["town"][4]
    assert words(element).startswith("The data200 rows, 5 columns to learn from.")


def test_every_small_picture_has_a_text_alternative(customers):
    data, task = customers, customers.task
    pictures = list(section(data, task).iter("svg"))
    assert len(pictures) == 6
    labels = [picture.get("aria-label") for picture in pictures]
    assert all(picture.get("role") == "img" for picture in pictures)
    assert labels[0].startswith("Rows of each level: stays (")
    assert "on a logarithmic scale" in labels[2]
    assert labels[5].startswith("Histogram from 2001-03-01 to 2006-01-25, highest between")


def test_what_is_left_out_is_told_once_with_its_reason(customers):
    data, task = customers, customers.task
    text = words(section(data, task))
    assert "customer (identifier): it names the rows: nearly every value differs." in text
    assert "empty (empty): it has no value." in text
    assert "constant (constant): every value is '3'." in text
    assert "is left out:" not in text  # the sentences of the notes say the same


def test_missing_values_are_said_to_be_filled_inside_the_folds(customers, rng):
    data, task = customers, customers.task
    text = words(section(data, task))
    assert "23 values are missing, in 2 of 5 columns." in text
    assert "from the training rows of each fold alone: numbers by the median" in text
    assert "categories by a level of their own" in text
    assert "middle date" not in text  # no date is missing
    frame = pd.DataFrame(
        {"x": rng.normal(size=30), "y": np.where(np.arange(30) < 1, np.nan, 1.5 * np.arange(30))}
    )
    alone = words(section(Data.from_frame(frame), "clustering"))
    assert "1 value is missing, in 1 of 2 columns." in alone
    assert "cross-validation" not in alone
    assert "No value is missing" in words(section(Data.from_frame(frame[["x"]]), "clustering"))


def test_columns_are_ranked_by_what_they_tell(customers):
    data, task = customers, customers.task
    told = {line[0]: line[-1] for line in rows(section(data, task), "columns")}
    associations = with_target(data, task)
    assert associations[0].name == "age"
    for item in associations:
        assert told[item.name] == signed(item.strength)


def test_of_many_columns_the_strongest_are_ranked(rng):
    frame = pd.DataFrame(rng.normal(size=(80, 70)), columns=[f"column {index}" for index in range(70)])
    element = section(Data.from_frame(frame, frame["column 69"].to_numpy()), "regression")
    ranked = next(
        node for node in element.iter("table") if "Association" in words(node.find("caption"))
    ).find("tbody")
    assert words(ranked[0][0]) == "column 69"
    strengths = [abs(float(words(line[2]).replace("−", "-"))) for line in ranked]
    assert strengths == sorted(strengths, reverse=True)


def test_correlations_are_told_in_words_and_numbers(rng):
    x = rng.normal(size=400)
    frame = pd.DataFrame({"bmi": x, "s5": x + rng.normal(size=400), "s3": rng.normal(size=400) - x})
    element = section(Data.from_frame(frame), "clustering")
    matrix = np.corrcoef(frame.to_numpy().T)
    text = words(element)
    assert f"bmi and s5 rise together ({matrix[0, 1]:.2f})" in text
    assert f"bmi falls as s3 rises (−{-matrix[0, 2]:.2f})" in text
    table = next(node for node in element.iter("table") if node.get("class") == "heat")
    cells = [(cell.get("class"), cell.text) for cell in table.iter("td") if cell.get("class")]
    assert cells == [
        ("up", f"{matrix[0, 1]:.2f}"),
        ("down", f"−{-matrix[0, 2]:.2f}"),
        ("down", f"−{-matrix[1, 2]:.2f}"),
    ]
    assert "repeat each other" not in text


def test_columns_that_repeat_each_other_are_warned_about(rng):
    cents = rng.normal(size=50)
    frame = pd.DataFrame({"cents": cents, "euros": cents / 100, "other": rng.normal(size=50)})
    element = section(Data.from_frame(frame), "clustering")
    warned = [words(node) for node in element.iter("p") if node.get("class") == "warning"]
    assert len(warned) == 1
    assert warned[0].startswith("cents and euros nearly repeat each other (correlation 1.00)")
    assert words(element).count("cents and euros") == 1  # once is enough


def test_years_are_written_as_years(rng):
    frame = pd.DataFrame({"built": rng.integers(1890, 2023, 50), "price": rng.integers(1890, 9000, 50)})
    text = words(section(Data.from_frame(frame), "clustering"))
    assert f"{frame['built'].min()} … " in text
    assert f"{frame['price'].min():,} … " in text


def test_of_many_columns_those_that_matter_are_in_the_heat_map(rng):
    frame = pd.DataFrame(rng.normal(size=(200, 70)), columns=[f"column {index}" for index in range(70)])
    y = frame["column 69"].to_numpy() + 0.5 * rng.normal(size=200)
    element = section(Data.from_frame(frame, y), "regression")
    table = next(node for node in element.iter("table") if node.get("class") == "heat")
    heads = [words(head) for head in table.iter("th") if head.get("scope") == "row"]
    assert len(heads) == 19  # below the first, which has nothing to its left
    assert heads[-1] == "column 69"
    across = [words(head) for head in table.iter("th") if head.get("scope") == "col"]
    assert across[1:] == heads[:-1]
    assert "The first 60 of 70 columns are shown." in words(element)
    assert "20 of 70 columns are shown." in words(element)


def test_a_leak_is_warned_about_before_everything_else(rng):
    y = rng.normal(size=60)
    frame = pd.DataFrame({"later": 2 * y, "x": rng.normal(size=60)})
    element = section(Data.from_frame(frame, y, target="price"), "regression")
    warned = next(node for node in element.iter("p") if node.get("class") == "warning")
    assert words(warned).startswith("'later' alone gives price away")


def test_classes_of_unequal_size_and_long_tails_are_told(rng):
    frame = pd.DataFrame({"x": rng.normal(size=200)})
    rare = np.repeat(["no", "yes"], [190, 10])
    (told,) = target_remarks(Data.from_frame(frame, rare), "classification")
    assert told == "The classes are of unequal size: 95% of the rows are 'no', 5% are 'yes'."
    assert target_remarks(Data.from_frame(frame, np.repeat(["no", "yes"], 100)), "classification") == ()
    prices = np.exp(1.5 * rng.normal(size=200))
    (told,) = target_remarks(Data.from_frame(frame, prices, target="price"), "regression")
    assert told.startswith("price has a long tail to the right")
    assert told.endswith("its logarithm may be easier to predict.")
    (told,) = target_remarks(Data.from_frame(frame, -prices), "regression")
    assert "to the left (skewness −" in told
    assert "logarithm" not in told
    assert target_remarks(Data.from_frame(frame, rng.normal(size=200)), "regression") == ()
    assert target_remarks(Data.from_frame(frame), "clustering") == ()


def test_rows_that_are_there_twice_or_contradict_each_other_are_counted():
    frame = pd.DataFrame({"x": [1.5, 1.5, 1.5, 2.5, np.nan, np.nan], "town": ["a", "a", "a", "a", "b", "b"]})
    data = Data.from_frame(frame, np.array(["p", "p", "q", "q", "p", "p"]))
    assert count_doubles(data) == (6, 2, 1)
    doubled, contradicting = double_remarks(count_doubles(data), data, "classification")
    assert doubled.startswith("2 rows repeat earlier ones in every column:")
    assert contradicting.startswith("1 row has the values of a row of another class")
    alone = Data.from_frame(frame)
    assert count_doubles(alone) == (6, 3, 0)
    assert double_remarks(count_doubles(alone), alone, "clustering") == (
        "3 rows repeat earlier ones in every column.",
    )
    assert count_doubles(Data.from_frame(frame.iloc[2:5])) == (3, 0, 0)


def test_many_doubles_are_a_warning_and_few_a_note(rng):
    frame = pd.DataFrame({"x": rng.normal(size=300), "z": rng.normal(size=300)})
    for n_doubles, kind in ((2, "note"), (3, "warning")):
        twice = pd.concat([frame.iloc[n_doubles:], frame.iloc[-n_doubles:]], ignore_index=True)
        element = section(Data.from_frame(twice), "clustering")
        (told,) = (node for node in element.iter("p") if "repeat earlier ones" in words(node))
        assert words(told).startswith(f"{n_doubles} rows")
        assert told.get("class") == kind


def test_strange_names_and_values_are_safe(rng):
    names = ["<script>alert(1)</script>", "🙂 & \"quotes\" 'too'", "long " * 60, "年齢 $_$"]
    frame = pd.DataFrame(rng.normal(size=(40, 4)), columns=names)
    frame["level"] = rng.choice(["<img src=x>", "b" * 300], 40)
    y = frame[names[0]].to_numpy() * 2.0
    element = section(Data.from_frame(frame, y, target="<y>", notes=("<i>note</i>",)), "regression")
    tags = {node.tag for node in element.iter()}
    assert not tags & {"script", "img"}
    text = words(element)
    assert "<script>alert(1)</script>" in text
    assert "<i>note</i>" in text
    assert "🙂 & \"quotes\" 'too'" in text
    titles = [node.get("title") for node in element.iter("span") if node.get("title")]
    assert names[2] in titles  # shown short, whole when pointed at
    assert names[2] not in text


def test_a_large_table_is_sampled_and_says_so(rng):
    frame = pd.DataFrame({"x": rng.normal(size=100_001), "y": rng.normal(size=100_001)})
    text = words(section(Data.from_frame(frame), "clustering"))
    assert "Distributions and associations are those of 100,000 rows drawn at random." in text


@pytest.mark.parametrize(
    "values",
    [
        np.array([-1.7e308, 1.7e308, 0.0]),
        np.array([1e16, 1e16 + 2, 1e16 + 4]),
        np.array([5e-324, 1e-323]),
        np.array([2.0]),
        np.zeros(5),
        np.append(np.linspace(0, 1, 1000), 1e9),
    ],
    ids=["huge", "close", "tiny", "one", "zeros", "far"],
)
def test_histograms_hold_every_value_whatever_its_size(values):
    counts, (low, high), folded = histogram(values)
    assert counts.sum() == len(values)
    assert values.min() <= low <= high <= values.max()
    assert folded == (values.max() == 1e9)
    assert ElementTree.fromstring(summarise_numbers(values).picture.partition("<small")[0]).tag == "svg"


def test_a_column_without_any_value_has_nothing_to_show():
    assert summarise_numbers(np.array([np.nan])).values == "none known"
    assert summarise_levels([], np.array([], dtype=int)).picture == ""
