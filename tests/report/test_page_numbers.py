"""Every figure of the verdict and of the leaderboard is that of results.json, to the digits shown."""

from __future__ import annotations

import dataclasses
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from assay.report import choose_data, compare, read_table, render
from assay.report.results import to_json


class Page(HTMLParser):
    """Rows of the leaderboard as cells of text and value, cards, titles and scores of the models."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[tuple[str, float | None]]] = []
        self.cards: dict[str, str] = {}
        self.headings: list[str] = []
        self.headline, self.scores = "", dict[str, str]()
        self._open, self._said, self._value, self._hidden = "", "", None, 0
        self._section, self._name, self._term = "", "", ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if tag == "section" or (tag == "header" and "id" in named):
            self._section = named.get("id", "")
        self._hidden += tag == "svg"
        if tag == "tr" and self._section == "leaderboard":
            self.rows.append([])
        if tag in ("th", "td", "h1", "h3", "dt", "dd") or named.get("class") == "score":
            self._open, self._said = named.get("class", "") if tag == "span" else tag, ""
            value = named.get("data-value")
            self._value = None if value is None else float(value)

    def handle_data(self, data):
        if not self._hidden:
            self._said += data

    def handle_endtag(self, tag):
        self._hidden -= tag == "svg"
        said = self._said.strip()
        if tag in ("th", "td") and self._section == "leaderboard":
            self.rows[-1].append((said, self._value))
        elif tag == "h1":
            self.headline = said
        elif tag == "dt":
            self._term = said
        elif tag == "dd" and self._section == "verdict":
            self.cards.setdefault(self._term, said)
        elif tag == "h3":
            self._name = said
        elif tag == "span" and self._open == "score":
            self.scores[self._name], self._open = said, ""


CASES = {
    "numbers": ("diabetes", ("LinearRegression", "Ridge", "HuberRegressor"), None),
    "numbers by an error": ("diabetes", ("LinearRegression", "Ridge"), "rmse"),
    "classes": ("breast_cancer", ("LogisticRegression", "LinearSVC"), None),
    "classes by probabilities": ("breast_cancer", ("LogisticRegression",), "log-loss"),
}


@pytest.fixture(scope="module", params=CASES, ids=lambda name: name.replace(" ", "-"))
def case(request):
    name, methods, metric = CASES[request.param]
    whole = read_table(name)
    columns = [*whole.frame.columns.drop(whole.target)[:6], whole.target]
    some = whole.frame.loc[::3, columns].reset_index(drop=True)
    data = choose_data(dataclasses.replace(whole, frame=some))
    comparison = compare(data, folds=3, repeats=2, methods=methods, metric=metric)
    return comparison, Page(render(comparison)), json.loads(to_json(comparison))


def number(text):
    """The first number of a text, written with commas and a minus."""
    return float(
        re.search(r"−?[\d,]+(?:\.\d+)?(?:e[+−]?\d+)?", text).group().replace(",", "").replace("−", "-")
    )


def agrees(text, value):
    """Whether a text shows a value, rounded to the digits that it has."""
    shown = re.search(r"−?[\d,]+(?:\.(\d+))?", text)
    if shown.group(1) is None:  # whole numbers are shown to three digits at least
        return number(text) == pytest.approx(value, rel=5e-3)
    return number(text) == pytest.approx(value, abs=0.5000001 * 10 ** -len(shown.group(1)))


def test_the_leaderboard_is_the_results(case):
    _, page, told = case
    heads, *rows = page.rows
    names = [text.lower() for text, _ in heads]
    assert len(rows) == len(told["candidates"])
    for row, item in zip(rows, told["candidates"], strict=True):
        assert row[0][0].startswith(item["name"])
        assert agrees(row[1][0], item["score"])
        assert agrees(row[1][0].split("±")[1], item["standard_error"])
        assert abs(row[1][1]) == pytest.approx(abs(item["score"]))
        place = names.index("against the best")
        if row[place][0] != "best":
            assert agrees(row[place][0], item["against_best"]["difference"])
        known = {name.lower(): value for name, value in item["measures"].items()}
        for name, (text, value) in zip(names, row, strict=True):
            if name in known and name != names[1] and text != "—":
                assert value == pytest.approx(known[name])
                assert agrees(text.rstrip("%"), 100 * value if text.endswith("%") else value)


def test_scores_of_a_leaderboard_have_the_same_decimals(case):
    comparison, _, _ = case
    shown = [comparison.shown_score(item) for item in comparison.candidates]
    digits = {len(part.partition(".")[2]) for text in shown for part in text.split(" ± ")}
    assert len(digits) == 1


def test_the_same_score_stands_in_every_place(case):
    comparison, page, told = case
    chosen = next(item for item in told["candidates"] if item["name"] == told["recommended"])
    said = comparison.shown_score(comparison.recommended)
    assert agrees(said, chosen["score"])
    assert page.headline == told["headline"]
    assert page.headline.endswith(f"{told['score']} {said}")
    assert page.cards[told["score"]] == said
    for item in comparison.candidates:
        assert page.scores[item.name] == f"{told['score']} {comparison.shown_score(item)}"


def test_the_sentences_are_computed_from_the_same_splits(case):
    comparison, page, told = case
    items = {item["name"]: item for item in told["candidates"]}
    chosen, remarks = items[told["recommended"]], " ".join(told["remarks"])
    sign = 1 if told["greater_is_better"] else -1
    gains = sign * (np.array(chosen["scores"]) - np.array(items["Baseline"]["scores"]))
    said = re.search(r"it (?:gains|lowers the .*? by) (\S+) ± (\S+?)(?: in|\.(?: |$))", remarks)
    assert agrees(said[1], gains.mean())
    assert agrees(said[2], np.sqrt((1 / gains.size + 1 / 2) * gains.var(ddof=1)))
    assert chosen["score"] == pytest.approx(np.mean(chosen["scores"]))
    if comparison.task == "regression":
        root = re.search(r"off by (\S+) \(root", remarks)[1]
        assert agrees(root, chosen["measures"]["RMSE"])
        assert page.cards["error (RMSE)"] == root
    else:
        accuracy = chosen["measures"].get("accuracy", chosen["score"])
        assert agrees(re.search(r"wrong class in (\S+)%", remarks)[1], 100 * (1 - accuracy))
        assert agrees(
            re.search(r"right by (\S+) percentage", remarks)[1], 100 * chosen["measures"]["calibration error"]
        )
        losses = re.search(r"their log-loss is (\S+), (\S+) for", remarks)
        assert agrees(losses[1], chosen["measures"]["log-loss"])
        assert agrees(losses[2], items["Baseline"]["measures"]["log-loss"])
        assert items["Baseline"]["measures"]["ROC AUC"] == 0.5


def test_nothing_is_called_as_good_that_is_clearly_worse(case):
    """As well as any: no other method is better by its own paired test."""
    comparison, page, _ = case
    if "as well as any" in page.headline:
        loss = comparison.against_best(comparison.recommended)
        assert loss.mean <= loss.standard_error or loss.mean <= 0


def test_no_number_is_written_with_an_exponent_or_a_second_separator(case):
    comparison, page, _ = case
    cells = [text for row in page.rows for text, _ in row]
    for text in (*cells, page.headline, *page.cards.values(), *comparison.remarks):
        assert not re.search(r"\de[+−-]?\d", text), text
        assert not re.search(r"\d[  ]\d{3}\b(?! ×)", text), text
