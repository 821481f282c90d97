"""Pages of tables that leave little room: long names, many classes, a mistyped price, a tree of many rows."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pandas as pd
import pytest

from assay.persistence import save
from assay.report import Data, compare, render
from assay.report.page.strips import WIDTH, scale_of
from assay.report.serving import ModelServer, ServedModel
from assay.report.writing import about_model
from browsers import BROKEN, COVERED, LETTERS, OPEN_ALL, PHONE, TOO_WIDE, WIDE, open_tab, seen

N_KINDS = 16
LONG = (
    "What is your overall level of satisfaction with the customer service (1 = very poor, 10 = excellent)?",
    "household_disposable_income_after_housing_costs_equivalised_modified_oecd_scale",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
)
PLACES = (
    "The United Kingdom of Great Britain and Northern Ireland",
    "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch",
    "Bosnia-Herzegovina",
)
ANSWERS = (
    "No",
    "Perhaps, it would depend on the circumstances of the person",
    "Yes, I would definitely recommend it to a friend or a colleague",
)


def long_names(rng) -> Data:
    frame = pd.DataFrame(rng.normal(size=(150, 3)), columns=list(LONG))
    frame["region of the interview"] = rng.choice(PLACES, 150)
    answer = np.digitize(frame[LONG[0]] + frame[LONG[2]] + 0.5 * rng.normal(size=150), [-0.5, 0.7])
    return Data.from_frame(frame, np.array(ANSWERS)[answer], name="survey", target="answer")


def many_kinds(rng) -> Data:
    kind = np.repeat(np.arange(N_KINDS), 12)
    middles = 3 * rng.normal(size=(N_KINDS, 4))
    frame = pd.DataFrame(middles[kind] + rng.normal(size=(kind.size, 4)), columns=list("abcd"))
    names = np.array([f"Oberinntal Grey {number:02d}" for number in range(N_KINDS)])
    return Data.from_frame(frame, names[kind], name="cattle", target="breed")


def one_mistyped(rng) -> Data:
    frame = pd.DataFrame({"area": rng.gamma(6, 18, 120), "built": rng.integers(1890, 2023, 120)})
    price = 3000 * frame["area"].to_numpy() + 20_000 * rng.normal(size=120) + 50_000
    price[17] *= 1e5
    return Data.from_frame(frame, np.abs(price), name="houses", target="price")


@pytest.fixture(scope="module")
def comparisons():
    rng = np.random.default_rng(3)
    trees = pd.DataFrame(np.repeat(rng.normal(size=(3, 3)) * 6, 30, axis=0) + rng.normal(size=(90, 3)))
    trees.columns = ["height", "girth", "age"]
    kinds = ["LogisticRegression", "LinearDiscriminantAnalysis", "NaiveBayes"]
    prices = ["HuberRegressor", "KNeighborsRegressor", "LinearRegression", "Ridge"]
    few = {"folds": 3, "repeats": 1}
    return {
        "long": compare(long_names(rng), **few, methods=["LogisticRegression", "NaiveBayes"]),
        "kinds": compare(many_kinds(rng), **few, methods=kinds),
        "mistyped": compare(one_mistyped(rng), **few, methods=prices),
        "trees": compare(Data.from_frame(trees, name="trees"), methods=["KMeans", "AgglomerativeClustering"]),
    }


@pytest.fixture(scope="module")
def tabs(browser, comparisons, tmp_path_factory):
    folder, opened = tmp_path_factory.mktemp("crowded"), {}
    for name, comparison in comparisons.items():
        (folder / f"{name}.html").write_text(render(comparison), encoding="utf-8")
        opened[name] = open_tab(browser, viewport=WIDE)
        opened[name].goto((folder / f"{name}.html").as_uri())
        opened[name].evaluate(OPEN_ALL)
    return opened


@pytest.fixture(params=["long", "kinds", "mistyped", "trees"])
def tab(request, tabs):
    return seen(tabs[request.param], WIDE)


both_screens = pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])


@both_screens
def test_words_keep_apart_and_inside_and_are_whole(tab, viewport):
    seen(tab, viewport)
    assert tab.evaluate(COVERED) == []
    assert tab.evaluate(TOO_WIDE) == []
    assert tab.evaluate(BROKEN) == []
    least = 9.0 if viewport is WIDE else 10.5
    assert [pair for pair in tab.evaluate(LETTERS) if pair[0] < least] == []


# What is read as one, on two lines: a number with its error or its per cent sign, an option with its hyphens.
PARTED = """() => {
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const range = document.createRange(), found = [];
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (text.parentElement.closest('svg, .aloud, .source, .hash')) continue;
    const whole = text.parentElement.closest('pre') ? /--?[a-z]+/g : /[\\d.,]*\\d (?:%|± [\\d.,]*\\d)/g;
    for (const part of text.data.matchAll(whole)) {
      range.setStart(text, part.index);
      range.setEnd(text, part.index + part[0].length);
      const tops = [...range.getClientRects()].map((box) => box.top);
      if (Math.max(...tops) - Math.min(...tops) > 4) found.push(part[0]);
    }
  }
  return found;
}"""


@both_screens
def test_no_line_ends_inside_a_figure_or_an_option(tab, viewport):
    assert seen(tab, viewport).evaluate(PARTED) == []


def test_no_line_ends_inside_a_figure_on_paper(tab):
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 680, "height": 1000})
    assert tab.evaluate(PARTED) == []
    board = tab.locator("#leaderboard tbody .number").evaluate_all(
        "all => all.filter((cell) => /± |ms$/.test(cell.textContent))"
        ".map((cell) => [cell.textContent, cell.scrollWidth - cell.clientWidth])"
    )
    assert board
    assert [words for words, beyond in board if beyond > 0] == []


def test_no_table_is_cut_and_no_cell_reaches_into_the_next(tab):
    assert (
        tab.evaluate(
            """() => [...document.querySelectorAll('.scroll:has(table)')]
          .filter((place) => place.scrollWidth > place.clientWidth + 1)
          .map((place) => place.getAttribute('aria-label'))"""
        )
        == []
    )
    assert (
        tab.evaluate(
            """() => {
          const range = document.createRange();
          return [...document.querySelectorAll('tbody th, tbody td')].filter((cell) => {
            range.selectNodeContents(cell);
            return range.getBoundingClientRect().right > cell.getBoundingClientRect().right + 1;
          }).map((cell) => cell.textContent);
        }"""
        )
        == []
    )


def test_a_formula_of_one_line_is_seen_to_its_end(tab):
    formulas = tab.locator(".formula .scroll")
    cut = formulas.evaluate_all(
        "all => all.filter((one) => !one.querySelector('[style^=\"grid-area: 2 \"]'))"
        ".map((one) => [one.scrollWidth - one.clientWidth, one.textContent])"
    )
    assert cut
    assert [words for beyond, words in cut if beyond > 1] == []


def test_three_pictures_of_a_model_stand_side_by_side(tabs):
    tab = seen(tabs["kinds"], WIDE)
    rows = tab.locator(".brief .figures").evaluate_all(
        "all => all.map((one) => [...one.children].map((figure) => figure.getBoundingClientRect().top))"
    )
    assert max(map(len, rows)) == 3
    assert all(max(tops) - min(tops) < 1 for tops in rows if tops)


def test_pictures_of_some_of_the_classes_say_so(tabs, comparisons):
    tab, comparison = seen(tabs["kinds"], WIDE), comparisons["kinds"]
    rank = comparison.candidates.index(comparison.recommended) + 1
    told = tab.locator(f"#model-{rank} figcaption").all_text_contents()
    assert sum("Of 16 classes the 12 commonest." in words for words in told) == 3


def test_the_cells_of_many_classes_are_as_high_as_their_numbers(tabs):
    tab = seen(tabs["kinds"], WIDE)
    tops = tab.locator(".model figure").first.evaluate(
        """figure => [...figure.querySelectorAll('text')].filter((text) => /^Ober/.test(text.textContent))
          .map((text) => text.getBoundingClientRect()).filter((box) => box.width > box.height)
          .map((box) => box.top)"""
    )
    assert len(tops) == N_KINDS
    assert np.diff(np.sort(tops)).min() > 11


def test_the_key_of_the_classes_has_the_colours_of_their_curves(tabs):
    for theme in ("light", "dark"):
        tab = seen(tabs["kinds"], WIDE, theme)
        keys = tab.locator("#explained .key").evaluate_all(
            "all => all.map((one) => getComputedStyle(one, '::before').backgroundColor)"
        )
        curves = tab.locator("#explained figure path").evaluate_all(
            "all => all.map((path) => getComputedStyle(path).stroke)"
        )
        assert len(keys) > 1
        assert {*keys} <= {*curves}


def test_the_names_in_a_map_are_words_that_a_dark_page_makes_lighter(tabs):
    figure = seen(tabs["long"], WIDE).locator("figure", has_text="the class the model names there")
    assert "No" in figure.locator("svg text").all_text_contents()


def test_a_baseline_that_explodes_leaves_the_strips_of_the_others_apart(tabs, comparisons):
    scores = [item.score for item in comparisons["mistyped"].candidates]
    assert min(scores) < -1000 < 0 < max(scores)
    tab = seen(tabs["mistyped"], WIDE)
    dots = tab.locator("#leaderboard circle.mean").count()
    assert dots == sum(score >= -1000 for score in scores)
    assert tab.locator("#leaderboard .strip path.mean").count() == len(scores) - dots
    ruler = tab.locator("#leaderboard .ruler text").all_text_contents()
    assert all(abs(float(number.replace("−", "-"))) < 10 for number in ruler)


def test_numbers_on_a_page_with_a_mistyped_price_are_written_out(tabs):
    text = seen(tabs["mistyped"], WIDE).locator("main").inner_text()
    assert "e+" not in text
    assert "1,9" not in text.partition("How the columns go together")[0].partition("The data")[2]
    figure = tabs["mistyped"].locator(".model figure", has_text="observed").first
    numbers = figure.locator("svg text").all_text_contents()
    assert {"200,000", "500,000"} & {*numbers}


def test_an_error_that_goes_far_beyond_does_not_widen_the_scale(small_comparisons):
    comparison = small_comparisons["regression"]
    best = max(comparison.candidates, key=lambda item: item.score)
    unsure = dataclasses.replace(best, score=best.score - 0.2, standard_error=50.0)
    scale = scale_of([*comparison.candidates, unsure])
    floor = next(item.score for item in comparison.candidates if item.is_baseline)
    assert scale.place(best.score) - scale.place(floor) > 0.3 * WIDTH


def test_a_served_model_answers_on_a_page_as_wide_as_the_screen(browser, comparisons, tmp_path):
    comparison = comparisons["kinds"]
    save(comparison.recommended.model, tmp_path / "model.skops", about=about_model(comparison))
    server = ModelServer(ServedModel(tmp_path / "model.skops"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tab = open_tab(browser, viewport=WIDE)
    tab.goto(server.address)
    tab.wait_for_selector("#beside li:last-child")
    for viewport in (WIDE, PHONE):
        seen(tab, viewport)
        assert tab.evaluate(TOO_WIDE) == []
        assert tab.evaluate(BROKEN) == []
        assert tab.locator("main").bounding_box()["width"] >= min(viewport["width"], 700)
        beyond = tab.locator("input, select").evaluate_all(
            "all => all.filter((one) => one.getBoundingClientRect().right"
            " > one.closest('section').getBoundingClientRect().right)"
        )
        assert beyond == []
    told = tab.locator("#beside li").all_text_contents()
    shares = [float(line.split(": ")[1].removesuffix("%")) for line in told if line.endswith("%")]
    assert shares[:6] == sorted(shares[:6], reverse=True)
    assert len(shares) == 7
    assert sum(shares) == pytest.approx(100, abs=0.5)
    tab.close()
    server.shutdown()
    server.server_close()
