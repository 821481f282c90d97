"""The page: complete, well formed, self-contained, with a picture and the certificates of every model."""

from __future__ import annotations

import dataclasses
import itertools
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from assay.certificates import Certificate, Certificates
from assay.report import Data, choose_data, compare, read_table, render
from assay.report.page.document import command
from assay.report.page.pieces import headed
from assay.report.page.proofs import assumption_that_matters
from assay.report.results import fingerprint
from assay.report.writing import MODEL

VOID = {"meta", "br", "img", "link", "input", "hr", "wbr"}


class Page(HTMLParser):
    """Collects sections, ids, links and pictures, and checks that tags close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.sections: list[dict] = []
        self.text = ""
        self.title = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append(tag)
        if "id" in values:
            self.ids.append(values["id"])
        self.fetched += [
            values[name] for name in ("src", "href", "xlink:href", "data", "action") if name in values
        ]
        if tag == "section":
            self.sections.append({"class": values.get("class"), "id": values.get("id"), "svg": 0, "text": ""})
        if tag == "svg" and values.get("role") == "img" and self.sections:
            self.sections[-1]["svg"] += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"style", "script"} & set(self.open):
            return
        if self.open and self.open[-1] == "title":
            self.title += data
        self.text += data
        if "section" in self.open:
            self.sections[-1]["text"] += data


@pytest.fixture(scope="module")
def regression(small_comparisons):
    return small_comparisons["regression"]


@pytest.fixture(scope="module")
def clustering(small_comparisons):
    return small_comparisons["clustering"]


@pytest.fixture(scope="module")
def regression_page(small_pages):
    return small_pages["regression"]


@pytest.fixture(scope="module")
def clustering_page(small_pages):
    return small_pages["clustering"]


@pytest.fixture(scope="module", params=["regression", "classification", "clustering"])
def pair(request, small_comparisons, small_pages):
    text = small_pages[request.param]
    return small_comparisons[request.param], text, Page(text)


def test_tags_close_and_ids_are_unique(pair):
    _, _, page = pair
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))


def test_nothing_is_fetched_from_outside(pair):
    _, text, page = pair
    assert all(address.startswith(("#", "data:")) for address in page.fetched)
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    assert page.tags.count("script") == 1
    assert not re.search(r"@import|url\((?!#)", text)
    assert "http://" not in text
    assert "https://" not in text


def test_links_inside_the_page_lead_somewhere(pair):
    _, _, page = pair
    assert {address[1:] for address in page.fetched if address.startswith("#")} <= set(page.ids)


def test_a_long_name_may_break_between_its_words_in_the_headline_and_on_a_phone():
    assert headed("LinearDiscriminantAnalysis predicts y: 0.61 ± 0.01") == (
        'Linear<wbr/>Discriminant<wbr/>Analysis predicts y: <span class="figure">0.61 ± 0.01</span>'
    )


def test_the_headline_comes_first(pair):
    comparison, _, page = pair
    assert page.title == comparison.headline
    assert page.text.index(comparison.headline) < page.text.index("Leaderboard")


def test_every_model_has_a_picture_and_its_certificates(pair):
    comparison, _, page = pair
    models = [section for section in page.sections if section["class"] == "model"]
    assert len(models) == len(comparison.candidates)
    for section, candidate in zip(models, comparison.candidates, strict=True):
        assert section["text"].startswith(candidate.name)
        assert section["svg"] >= 1 or candidate.is_baseline
        claims = next(part["text"] for part in page.sections if part["id"] == "certificates")
        for item in candidate.certificates:
            assert item.claim in claims
            assert item.source in claims
            assert item.quantity in section["text"]
            assert f"{item.value:.3g}".replace("-0", "−").replace("-", "−") in section["text"]


def test_the_method_the_data_and_the_use_are_told(regression, regression_page):
    sections = {section["id"]: section["text"] for section in Page(regression_page).sections}
    assert "5 folds" in sections["method"]
    assert "seed 0" in sections["method"]
    assert "scikit-learn 1." in sections["reproduce"]
    assert fingerprint(regression.data) in sections["reproduce"]
    assert "price (target)" in sections["data"]
    assert all(name in sections["data"] for name in regression.data.feature_names)
    assert f"assay.load('{MODEL}')" in sections["usage"]
    assert f"assay predict {MODEL} new-rows.csv" in sections["usage"]


def test_clusters_are_described_in_the_units_of_the_table(clustering, clustering_page):
    text = Page(clustering_page).text
    inside = clustering.best.predictions == 0
    assert f"{clustering.data.X.loc[inside, 'Murder'].mean():.4g}" in text
    assert "Alabama" in text


def test_names_are_escaped(rng):
    X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["<b>bold</b>", 'a"&b 年齢 $_$'])
    data = Data.from_frame(X, rng.normal(size=30), name="<script>alert(1)</script>", target="<y>")
    text = render(compare(data, folds=2, repeats=1, methods=["LinearRegression"]), model_path="a<b>.skops")
    page = Page(text)
    assert page.tags.count("script") == 1
    assert "<script>alert" not in text
    assert "<b>bold" not in text
    assert page.open == []
    assert "<b>bold</b>" in page.text


def test_a_certificate_that_fails_is_shown_as_failed(clustering):
    broken = Certificates([Certificate("The claim is broken.", "gap", 2.0, "<=", 1.0)])
    first, *others = clustering.candidates
    damaged = dataclasses.replace(
        clustering,
        candidates=(dataclasses.replace(first, certificates=broken, notes=("It warned.",)), *others),
    )
    text = render(damaged)
    assert '<span class="fails">0/1 hold</span>' in text
    assert '<span class="fails">fails</span>' in text
    assert "It warned." in text


def test_one_feature_shows_the_curve_and_skipped_candidates_are_told(rng):
    X = pd.DataFrame({"x": rng.normal(size=40)})
    data = Data.from_frame(X, np.sin(X["x"].to_numpy()), notes=("A note.",))
    comparison = dataclasses.replace(
        compare(data, folds=2, repeats=1, methods=["KernelRidge"]),
        skipped=("Something was left out.",),
    )
    text = render(comparison)
    assert "The fitted function of the standardised column" in text
    assert "Error of predicting each row from all others" in text
    assert "Something was left out." in text
    assert "A note." in text


def test_the_page_follows_the_colours_of_the_reader_and_prints(regression_page):
    assert "prefers-color-scheme: dark" in regression_page
    assert "@media print" in regression_page
    assert "fill: var(--ink)" in regression_page


def test_clusters_of_many_columns_are_listed_downwards(rng):
    X = pd.DataFrame(rng.normal(size=(30, 12)), columns=[f"measure {index}" for index in range(12)])
    X.iloc[:15] += 5.0
    comparison = compare(Data.from_frame(X), methods=["KMeans"])
    page = Page(render(comparison))
    assert "Cluster 1" in page.text
    assert comparison.best.parameters["n_clusters"] == 2


def test_the_contents_name_every_section_and_every_model(pair):
    comparison, text, page = pair
    contents = text[text.index('<nav class="contents"') : text.index("</nav>")]
    linked = re.findall(r'href="#([^"]*)"', contents)
    assert linked[0] == "verdict"
    for section in page.sections:
        assert section["id"] in linked
    for candidate in comparison.candidates:
        assert f">{candidate.name}</a>" in contents.replace("<wbr/>", "")


def test_headings_go_down_one_step_at_a_time(pair):
    _, _, page = pair
    levels = [int(tag[1]) for tag in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_tables_say_what_they_tell_and_what_their_heads_head(pair):
    _, text, _ = pair
    tables = re.findall(r"<table.*?</table>", text, flags=re.DOTALL)
    assert len(tables) >= 3
    for table in tables:
        assert re.search(r"<caption[^>]*>[^<]", table)
        assert all("scope=" in head for head in re.findall(r"<th\b[^>]*>", table))


def test_every_picture_is_told_in_words_of_its_own(pair):
    _, text, _ = pair
    figures = re.findall(r'<figure[^>]*><svg[^>]*aria-label="([^"]*)".*?<figcaption>(.*?)</figcaption>', text)
    assert len(figures) > 3
    assert len({words for words, _ in figures}) == len(figures)
    for words, caption in figures:
        assert words != caption
        assert len(words) > 40
        assert re.search(r"\d", words)


def test_the_overview_of_certificates_counts_them_and_names_what_they_assume(clustering):
    resting = Certificate("It is near.", "gap", 2.0, "<=", 1.0, assumptions=("the earth is flat",))
    empty = Certificate("It is below.", "risk", 0.1, "<=", 1.0, trivial=0.5)
    plain = Certificate("It is small.", "rest", 0.0, "<=", 1.0)
    first, *others = clustering.candidates
    theorem = Certificate("It is so.", "law", 0.0, "<=", 1.0, informative=True)
    damaged = dataclasses.replace(first, certificates=Certificates([resting, empty, plain, theorem]))
    assert damaged.verdict == "2/3 hold, 1 vacuous"
    text = render(dataclasses.replace(clustering, candidates=(damaged, *others)))
    overview = text[text.index('<section id="certificates"') : text.index('<div class="models"')]
    row = next(row for row in overview.split("<tr")[1:] if damaged.name in row)
    assert re.findall(r'data-value="(\d+)"', row) == ["1", "1", "1", "1"]
    assert "some fail" in row
    assert "gap (fails), risk (vacuous)" in row
    assert "the earth is flat" in row


def test_the_assumption_that_matters_most_is_that_of_most_claims():
    def claim(*assumptions, value=0.0):
        return Certificate("So it is.", "gap", value, "<=", 1.0, assumptions=assumptions)

    held = Certificates([claim("a"), claim("b", "c"), claim("c")])
    assert assumption_that_matters(held) == "c"
    assert assumption_that_matters(Certificates([*held, claim("d", value=2.0)])) == "d"


def test_the_command_that_reproduces_it_says_every_choice(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["size", "b c", "price"])
    frame.to_csv("my sales.csv", index=False)
    data = choose_data(read_table("my sales.csv"), target="price", drop=["b c"])
    found = compare(data, folds=4, repeats=2, seed=7, methods=["Ridge", "LinearRegression"])
    assert command(found).strip() == (
        "assay compare 'my sales.csv' --task regression --target price --drop 'b c' --folds 4 --repeats 2 "
        "--methods LinearRegression,Ridge --seed 7"
    )
    data = choose_data(read_table("us_arrests"))
    again = command(compare(data, methods=["KMeans"]))
    assert again == "assay compare us_arrests --task clustering --methods KMeans --seed 0\n"


def test_the_intervals_of_a_regression_are_told_with_what_they_held(regression, regression_page):
    sections = {section["id"]: section["text"] for section in Page(regression_page).sections}
    for rank, candidate in enumerate(regression.candidates):
        told = f"held {100 * candidate.intervals.held:.1f}% of "
        whose = (
            "the rows that the models had not seen" if candidate is regression.recommended else "unseen rows"
        )
        assert told + whose in sections[f"model-{rank + 1}"]


def test_a_page_of_ten_models_stays_below_three_megabytes(pair):
    comparison, text, _ = pair
    assert 10 * len(text.encode()) / len(comparison.candidates) < 3e6
