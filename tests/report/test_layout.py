"""How the page looks, measured in a real browser: nothing flat, cut, broken or white in the dark."""

from __future__ import annotations

import dataclasses
import io
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from assay.certificates import Certificates
from assay.report import Comparison, Data, compare, render
from assay.report.page.proofs import certificates_overview
from assay.report.trials.candidate import final_step
from browsers import BROKEN, COVERED, LETTERS, OPEN_ALL, PHONE, WIDE, open_tab, seen

N_CLASSES = 9
NAMES = (
    "income_per_head", "unemployment_rate_of_men_25_to_54", "share born abroad", "crime", "nitrogen oxides",
    "rooms_per_dwelling", "age", "distance", "radial_highways", "tax", "pupil_teacher_ratio", "lower_status",
    "population_density", "median_age", "temperature_in_january", "rainfall", "education", "divorced",
)  # fmt: skip


@pytest.fixture(scope="module")
def large():
    """Twenty columns, half of which matter, and ten methods, one of which explodes on one row."""
    rng = np.random.default_rng(4)
    factors = rng.normal(size=(150, 5))
    numbers = factors @ rng.normal(size=(5, 18)) + rng.normal(size=(150, 18))
    frame = pd.DataFrame(numbers, columns=list(NAMES))
    frame["region"] = rng.choice(["North", "South", "East", "West"], 150)
    frame["coastal"] = rng.random(150) < 0.3
    weights = np.array([3, -2, 2, -3, 2, -2, 2, -2, 2, -2]) / 3
    target = 400_000 + 20_000 * (numbers[:, :10] @ weights + rng.normal(size=150))
    data = Data.from_frame(frame, target, name="communities.csv", target="house_price_in_euros")
    forests = ["ExtraTreesRegressor", "HistGradientBoostingRegressor", "RandomForestRegressor"]
    found = compare(
        data,
        folds=3,
        repeats=1,
        exclude=[*forests, "SVR", "SparseRegressor", "ElasticNet", "KNeighborsRegressor"],
    )
    assert sum(not item.is_baseline for item in found.candidates) == 10
    *others, worst = sorted(
        found.candidates, key=lambda item: item.name != "PolynomialRegression", reverse=True
    )
    predictions = worst.predictions.copy()
    predictions[7] = 3e13
    exploded = dataclasses.replace(
        worst, score=-2e8, standard_error=3e8, scores=np.array([0.4, 0.5, -6e8]), predictions=predictions
    )
    ordered = sorted([*others, exploded], key=lambda item: -item.score)
    return dataclasses.replace(found, candidates=tuple(ordered))


@pytest.fixture(scope="module")
def classes():
    """More classes than colours."""
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(N_CLASSES), 20)
    middles = rng.normal(size=(N_CLASSES, 6))
    frame = pd.DataFrame(middles[labels] + 0.5 * rng.normal(size=(labels.size, 6)), columns=list("abcdef"))
    data = Data.from_frame(
        frame, np.array([f"kind {label}" for label in labels]), name="kinds", target="kind"
    )
    return compare(data, folds=2, repeats=1, methods=["LogisticRegression", "LinearSVC"])


@pytest.fixture(scope="module")
def trees():
    """A tree that is recommended, beside a forest and boosted trees."""
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.normal(size=(160, 4)), columns=["height above sea", "slope", "rain", "wind"])
    kind = np.where(
        frame["slope"] > 0.3, "meadow", np.where(frame["rain"] < -0.2, "forest of pines", "scree")
    )
    data = Data.from_frame(frame, kind, name="valleys", target="cover")
    kinds = ["DecisionTree", "HistGradientBoosting", "RandomForest"]
    return compare(data, folds=3, repeats=1, methods=[f"{name}Classifier" for name in kinds])


@pytest.fixture(scope="module")
def tabs(browser, large, classes, trees, small_pages, tmp_path_factory):
    """The pages, all parts unfolded."""
    folder, opened = tmp_path_factory.mktemp("layout"), {}
    pages = {"large": render(large), "classes": render(classes), "trees": render(trees)}
    pages["clusters"] = small_pages["clustering"]
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
        opened[name] = open_tab(browser, viewport=WIDE)
        opened[name].goto((folder / f"{name}.html").as_uri())
        opened[name].evaluate(OPEN_ALL)
    return opened


@pytest.fixture(params=["large", "classes", "trees", "clusters"])
def tab(request, tabs):
    return seen(tabs[request.param], WIDE)


def test_a_model_that_explodes_leaves_the_others_apart(tabs, large):
    strips = seen(tabs["large"], WIDE).evaluate(
        """() => [...document.querySelectorAll('#leaderboard tbody tr')].map((row) => {
          const box = row.querySelector('.strip').getBoundingClientRect();
          const dot = row.querySelector('circle.mean')?.getBoundingClientRect();
          const edge = row.querySelector('path.mean')?.getBoundingClientRect();
          const place = dot && dot.x + dot.width / 2 - box.x;
          return [row.querySelector('a').textContent, place, edge && edge.x - box.x];
        })"""
    )
    places = {name: place for name, place, _ in strips if place is not None}
    assert {name for name, _, edge in strips if edge is not None} == {"PolynomialRegression"}
    assert max(edge for *_, edge in strips if edge is not None) < 5
    scores = {item.name: item.score for item in large.candidates if item.name in places}
    # One scale for all, on which the best and the baseline are most of a strip apart.
    slope, start = np.polyfit(list(scores.values()), [places[name] for name in scores], 1)
    assert slope * (max(scores.values()) - min(scores.values())) > 80
    for name, score in scores.items():
        assert abs(places[name] - start - slope * score) < 1.5


def test_predictions_fill_their_frame_and_a_far_one_is_marked_at_its_edge(tabs, large):
    tab = seen(tabs["large"], WIDE)
    rank = next(place for place, item in enumerate(large.candidates, 1) if item.score < -1e8)
    figure = tab.locator(f"#model-{rank} figure").first
    assert "1 row beyond the frame" in figure.locator("svg").text_content()
    box = figure.locator("svg").bounding_box()
    points = figure.evaluate(
        """figure => [...figure.querySelectorAll('g[style*="#0072b2"] use')].map((dot) => {
          const box = dot.getBoundingClientRect(); return [box.x, box.y];
        })"""
    )
    assert len(points) == len(large.data.X) - 1
    across, up = np.ptp(np.array(points), axis=0)
    assert across > 0.5 * box["width"]
    assert up > 0.35 * box["height"]


def test_on_a_wide_screen_no_table_is_cut(tab):
    cut = tab.evaluate(
        """() => [...document.querySelectorAll('.scroll:has(table)')]
          .filter((place) => place.scrollWidth > place.clientWidth + 1)
          .map((place) => place.getAttribute('aria-label'))"""
    )
    assert cut == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= WIDE["width"]


def test_a_short_name_of_a_column_has_one_line(tabs):
    lines = (
        seen(tabs["large"], WIDE)
        .locator("#data .columns tbody th")
        .evaluate_all(
            """all => all.map((head) => {
          const range = document.createRange();
          range.selectNodeContents(head);
          return [head.textContent, new Set([...range.getClientRects()].map((box) => box.top)).size];
        })"""
        )
    )
    assert len(lines) == 21
    assert [name for name, number in lines if len(name) <= 22 and number > 1] == []


def test_what_scrolls_on_a_phone_says_so_until_its_end(tab):
    seen(tab, PHONE)
    # The page hears of its new width a moment later.
    told = tab.wait_for_function(
        """() => {
          const frames = [...document.querySelectorAll('.frame:has(table)')].map((frame) => {
            const place = frame.querySelector('.scroll');
            return [place.scrollWidth > place.clientWidth + 1, frame.classList.contains('more'),
              frame.querySelector('.hint').getBoundingClientRect().height > 8];
          });
          return frames.every(([wider, fades, hinted]) => wider === fades && wider === hinted) && frames;
        }"""
    )
    assert any(wider for wider, *_ in told.json_value())
    board = tab.locator("#leaderboard .scroll").first
    board.evaluate("place => { place.scrollLeft = place.scrollWidth; }")
    tab.wait_for_function("!document.querySelector('#leaderboard .frame').classList.contains('more')")
    board.evaluate("place => { place.scrollLeft = 0; }")


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_no_word_is_broken(tab, viewport):
    assert seen(tab, viewport).evaluate(BROKEN) == []


@pytest.mark.parametrize(("viewport", "least"), [(WIDE, 9.0), (PHONE, 10.5)], ids=["wide", "phone"])
def test_letters_of_pictures_can_be_read(tab, viewport, least):
    letters = seen(tab, viewport).evaluate(LETTERS)
    assert len(letters) > 20
    assert [pair for pair in letters if pair[0] < least] == []


def test_no_words_of_a_picture_cover_each_other(tab):
    assert tab.evaluate(COVERED) == []


def test_models_of_which_all_is_well_share_one_sentence(tabs, large):
    tab = seen(tabs["large"], WIDE)
    sentence = tab.locator("#certificates .alike").text_content()
    rows = tab.locator("#certificates tbody th a").all_text_contents()
    proven = [item for item in large.candidates if item.certificates]
    holding = [
        item for item in proven if {claim.verdict for claim in item.certificates} <= {"holds", "bound"}
    ]
    assumed = {words for item in holding for claim in item.certificates for words in claim.assumptions}
    assert len(holding) > 5
    assert assumed
    assert all(item.name in sentence for item in holding)
    assert any(words in sentence for words in assumed)
    assert set(rows) == {item.name for item in proven} - {item.name for item in holding}


def test_a_model_whose_certificates_fail_keeps_its_line(large):
    *others, last = [item for item in large.candidates if item.certificates]
    claim, *rest = last.certificates
    broken = Certificates([dataclasses.replace(claim, value=10 * abs(claim.bound) + 1, relation="<="), *rest])
    candidates = (*others, dataclasses.replace(last, certificates=broken))
    html = certificates_overview(dataclasses.replace(large, candidates=candidates))
    sentence, _, lines = html.partition("<table")
    assert f">{last.name}</a>" in lines
    assert f">{last.name}</a>" not in sentence
    assert f">{others[0].name}</a>" in sentence


def test_calibration_of_many_classes_has_a_small_frame_for_each(tabs, classes):
    tab = seen(tabs["classes"], WIDE)
    rank = classes.candidates.index(classes.recommended) + 1
    figure = tab.locator(f"#model-{rank} figure").filter(has_text="turn out that often")
    if classes.recommended.probabilities is None:
        pytest.skip("the recommended model has no probabilities")
    heads = figure.evaluate(
        """figure => [...figure.querySelectorAll('svg text')]
          .filter((text) => text.textContent.startsWith('kind')).map((text) => {
            const box = text.getBoundingClientRect();
            return [text.textContent, box.x, box.y];
          })"""
    )
    assert {name for name, *_ in heads} == set(classes.data.classes)
    assert len({(round(x), round(y)) for _, x, y in heads}) == N_CLASSES
    assert len({round(y) for *_, y in heads}) >= 2


def test_a_recommended_tree_is_drawn_over_the_whole_width(tabs, trees):
    tab, tree = seen(tabs["trees"], WIDE), final_step(trees.recommended.model)
    assert trees.recommended.name == "DecisionTreeClassifier"
    figure = tab.locator("figure.wide")
    assert figure.count() == 1
    assert figure.bounding_box()["width"] > 900
    assert "Fitted on all rows." in figure.text_content()
    words = figure.locator("svg").text_content()
    assert f"{tree.get_n_leaves()} leaves" in words
    assert "slope ≤ 0.3" in words
    # Of the others, how their predictions move out of fold.
    assert tab.locator("figure", has_text="Of the columns that matter.").count() == 2
    frame = seen(tab, PHONE).locator(".frame:has(figure.wide)")
    assert "more" in frame.get_attribute("class")


def test_coefficients_of_many_classes_are_no_rainbow(tabs):
    tab = seen(tabs["classes"], WIDE)
    figures = tab.locator("figure").filter(has_text="one standard deviation more")
    assert figures.count() == 1  # of the recommended model; effects of the others are drawn
    for figure in figures.all():
        assert figure.locator("svg image").count() == 1
        colors = set(re.findall(r"fill: (#[0-9a-f]{6})", figure.inner_html()))
        assert len(colors) <= 2


def test_every_picture_says_whether_the_rows_were_seen(tab):
    told = tab.locator("figcaption").evaluate_all(
        "all => all.map((one) => one.querySelector('.basis')?.textContent ?? one.textContent)"
    )
    assert told
    known = re.compile(
        r"(Out of fold(, the first of \d+ repetitions)?|Rows left out in turn|Fitted on all rows|All rows)\."
    )
    assert [words for words in told if not known.fullmatch(words)] == []


def pixels(place) -> np.ndarray:
    """Red, green and blue of a part of the page."""
    return np.asarray(Image.open(io.BytesIO(place.screenshot())).convert("RGB"), dtype=float)


def test_in_the_dark_no_picture_is_white(tab):
    seen(tab, WIDE, "dark")
    pictures = tab.locator("figure svg").all()
    assert len(pictures) > 3
    for picture in pictures:
        light = pixels(picture).mean(axis=2) > 200
        assert light.mean() < 0.12


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_dots_of_the_splits_are_seen(tabs, theme):
    tab = seen(tabs["large"], WIDE, theme)
    strip = tab.locator("#leaderboard tr:has(circle.split) .strip").first
    picture, box = pixels(strip), strip.bounding_box()
    dots = strip.locator("circle.split").all()
    assert dots
    for dot in dots:
        place = dot.bounding_box()
        column, row = place["x"] + place["width"] / 2 - box["x"], place["y"] + 1.2 - box["y"]
        ground = picture[1, -2]
        assert np.abs(picture[round(row), round(column)] - ground).max() > 35


def test_the_matrix_of_correlations_has_names_and_equal_cells(tabs):
    tab = seen(tabs["large"], WIDE)
    sizes = tab.locator(".heat tbody td").evaluate_all(
        "all => all.map((cell) => [cell.getBoundingClientRect().width, cell.getBoundingClientRect().height])"
    )
    widths, heights = np.array(sizes).T
    assert np.ptp(widths) < 0.6
    assert np.ptp(heights) < 0.6
    heads = tab.locator(".heat thead th span").evaluate_all(
        "all => all.map((one) => [one.title, one.textContent, one.getBoundingClientRect().height])"
    )
    assert [title for title, *_ in heads] == list(NAMES)
    for title, text, height in heads:
        assert text.split("…")[0] == title[: len(text.split("…")[0])]
        assert height > 15


def test_a_page_of_twenty_columns_and_ten_methods_is_not_too_long(tabs):
    tab = seen(tabs["large"], WIDE)
    height = "document.documentElement.scrollHeight"
    assert tab.locator("details:not([open])").count() == 0
    assert tab.locator("#explained figure").count() == 10
    assert tab.evaluate(height) < 8000


def test_an_alarm_stands_above_everything(browser, large, tmp_path):
    class Alarmed(Comparison):
        alarms = ("casual and registered together give count away.", "The rows are <dated>.")

    parts = {part.name: getattr(large, part.name) for part in dataclasses.fields(Comparison) if part.init}
    parts.pop("alarms", None)
    kept = [item for item in large.candidates if item.name in ("Ridge", "Baseline")]
    (tmp_path / "page.html").write_text(
        render(Alarmed(**parts | {"candidates": tuple(kept)})), encoding="utf-8"
    )
    tab = open_tab(browser, viewport=WIDE)
    tab.goto((tmp_path / "page.html").as_uri())
    banner, title = tab.locator(".alarm"), tab.locator("h1")
    assert banner.locator("p").all_text_contents() == list(Alarmed.alarms)
    above, below = banner.bounding_box(), title.bounding_box()
    assert above["y"] + above["height"] <= below["y"]
    assert above["y"] < 60
    red, green, blue = pixels(banner)[3, -12]
    assert red > blue + 15
    assert green > blue
    tab.close()


def test_numbers_are_written_in_one_way(tab):
    text = tab.locator("main").inner_text()
    assert re.findall(r"\d\.?\d*e\+\d+", text) == []
    assert re.findall(r"\d[\u202f\u2009\u00a0]\d{3}\b", text) == []
