"""The page: complete, well formed, self-contained, with a picture and the certificates of every model."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from assay.certificates import Certificate, Certificates
from assay.report import Data, compare, render

VOID = {"meta", "br", "img", "link", "input", "hr"}


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
        if "style" in self.open:
            return
        if self.open and self.open[-1] == "title":
            self.title += data
        self.text += data
        if "section" in self.open:
            self.sections[-1]["text"] += data


@pytest.fixture(scope="module")
def regression_page(regression):
    return render(regression, model_path="assay-report/model.assay")


@pytest.fixture(scope="module")
def classification_page(classification):
    return render(classification)


@pytest.fixture(scope="module")
def clustering_page(clustering):
    return render(clustering)


@pytest.fixture(scope="module", params=["regression", "classification", "clustering"])
def pair(request):
    comparison = request.getfixturevalue(request.param)
    text = request.getfixturevalue(f"{request.param}_page")
    return comparison, text, Page(text)


def test_tags_close_and_ids_are_unique(pair):
    _, _, page = pair
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))


def test_nothing_is_fetched_from_outside(pair):
    _, text, page = pair
    assert all(address.startswith(("#", "data:")) for address in page.fetched)
    assert not {"script", "link", "iframe", "object", "embed"} & set(page.tags)
    assert not re.search(r"@import|url\((?!#)", text)
    assert "http://" not in text
    assert "https://" not in text


def test_links_inside_the_page_lead_somewhere(pair):
    _, _, page = pair
    assert {address[1:] for address in page.fetched if address.startswith("#")} <= set(page.ids)


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
        assert section["svg"] >= 1
        for item in candidate.certificates:
            assert item.claim in section["text"]
            assert item.quantity in section["text"]
            assert f"{item.value:.3g}" in section["text"]
            assert item.source in section["text"]


def test_the_method_the_data_and_the_use_are_told(regression, regression_page):
    sections = {section["id"]: section["text"] for section in Page(regression_page).sections}
    assert "5 folds" in sections["method"]
    assert "seed 0" in sections["method"]
    assert "scikit-learn 1." in sections["method"]
    assert "progression (target)" in sections["data"]
    assert all(name in sections["data"] for name in regression.data.feature_names)
    assert "assay.load('assay-report/model.assay')" in sections["usage"]


def test_clusters_are_described_in_the_units_of_the_table(clustering, clustering_page):
    text = Page(clustering_page).text
    inside = clustering.best.predictions == 0
    assert f"{clustering.data.X.loc[inside, 'Murder'].mean():.4g}" in text
    assert "Alabama" in text


def test_names_are_escaped(rng):
    X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["<b>bold</b>", 'a"&b 年齢 $_$'])
    data = Data.from_frame(X, rng.normal(size=30), name="<script>alert(1)</script>", target="<y>")
    text = render(compare(data, "regression", folds=2, repeats=1), model_path="a<b>.assay")
    page = Page(text)
    assert "script" not in page.tags
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
        compare(data, "regression", folds=2, repeats=1), skipped=("Something was left out.",)
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
    comparison = compare(Data.from_frame(X), "clustering")
    page = Page(render(comparison))
    assert "Cluster 1" in page.text
    assert comparison.best.parameters["n_clusters"] == 2
