"""The page in a real browser: it loads, shows, sorts, prints and reads aloud what it should."""

from __future__ import annotations

import io
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from assay.report import render
from browsers import OPEN_ALL, PATIENCE, PHONE, TOO_WIDE, WIDE, open_tab, playwright

TASKS = ("regression", "classification", "clustering")
PAPER = {"width": 680, "height": 1000}
"""Pixels between the margins of a sheet of A4."""

THEMES = ("light", "dark")
# Text in pictures that follows the colours of the page, with its contrast to the ground of the cards.
PICTURE_CONTRASTS = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const light = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const part = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const card = light(getComputedStyle(document.querySelector('section')).backgroundColor);
  const found = [];
  for (const text of document.querySelectorAll('figure svg text')) {
    if (!(text.getAttribute('style') ?? '').includes('var(')) continue;
    const ink = light(getComputedStyle(text).fill);
    found.push([text.textContent, (Math.max(ink, card) + 0.05) / (Math.min(ink, card) + 0.05)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def addresses(small_pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for task, text in small_pages.items():
        (folder / f"{task}.html").write_text(text, encoding="utf-8")
    return {task: (folder / f"{task}.html").as_uri() for task in small_pages}


@pytest.fixture(scope="module")
def pages(browser, addresses):
    """Every page open in a tab of its own, with what the browser complained of and asked for."""
    tabs = {}
    for task, address in addresses.items():
        tab = open_tab(browser, viewport=WIDE)
        tab.complaints, tab.asked = [], []
        tab.on("console", lambda message, tab=tab: tab.complaints.append(message.text))
        tab.on("pageerror", lambda error, tab=tab: tab.complaints.append(str(error)))
        tab.on("request", lambda request, tab=tab: tab.asked.append(request.url))
        tab.goto(address)
        tabs[task] = tab
    return tabs


@pytest.fixture
def tab(request, pages):
    """One page as it opens on a wide screen, light; all its parts unfolded."""
    found = pages[getattr(request, "param", "regression")]
    found.set_viewport_size(WIDE)
    found.emulate_media(media="screen", color_scheme="light")
    found.evaluate(OPEN_ALL)
    return found


every_task = pytest.mark.parametrize("tab", TASKS, indirect=True)


def names(tab) -> list[str]:
    return tab.locator("#leaderboard table.sortable tbody th a").all_text_contents()


@pytest.mark.parametrize("task", TASKS)
def test_a_page_loads_without_complaint_and_asks_for_nothing_else(pages, addresses, task):
    assert pages[task].complaints == []
    assert [url for url in pages[task].asked if not url.startswith("data:")] == [addresses[task]]


@every_task
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_every_picture_is_drawn_and_stands_inside_the_window(tab, viewport):
    tab.set_viewport_size(viewport)
    boxes = tab.locator("figure > svg").evaluate_all(
        "all => all.map(svg => [svg.getBoundingClientRect().toJSON(), "
        "svg.querySelectorAll('path, use, image, text').length])"
    )
    assert len(boxes) > 3
    for box, n_marks in boxes:
        assert box["width"] > 180
        assert box["height"] > 80
        assert box["left"] >= 0
        assert box["right"] <= viewport["width"]
        assert n_marks > 5


@every_task
def test_nothing_is_wider_than_a_phone_or_a_sheet_of_paper(tab):
    for media, viewport in (("screen", PHONE), ("print", PAPER), ("screen", WIDE)):
        tab.emulate_media(media=media)
        tab.set_viewport_size(viewport)
        assert tab.evaluate(TOO_WIDE) == [], media
        assert tab.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


@every_task
def test_on_a_wide_screen_the_leaderboard_needs_no_scrolling(tab):
    board = tab.locator("#leaderboard .scroll").first
    assert board.evaluate("place => place.scrollWidth - place.clientWidth") <= 0
    assert board.get_attribute("tabindex") is None


@every_task
def test_on_paper_no_table_and_no_formula_is_cut(tab):
    tab.emulate_media(media="print")
    tab.set_viewport_size(PAPER)
    places = tab.locator(".scroll, .formula, pre")
    assert places.count() > 5
    cut = places.evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.textContent)"
    )
    assert cut == []


def test_a_click_sorts_a_table_and_another_turns_it_round(tab, small_comparisons):
    by_score = [candidate.name for candidate in small_comparisons["regression"].candidates]
    times = {
        candidate.name: candidate.fit_seconds for candidate in small_comparisons["regression"].candidates
    }
    header = tab.locator("#leaderboard th", has_text="Fit time")
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert names(tab) == sorted(by_score, key=times.__getitem__)
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert names(tab) == sorted(by_score, key=times.__getitem__, reverse=True)
    assert tab.locator("#leaderboard th[aria-sort]").count() == 1
    assert "Fit time, descending" in tab.locator("#said").text_content()
    tab.locator("#leaderboard th button", has_text="R²").click()
    assert names(tab) == by_score


def test_a_column_of_pictures_is_not_offered_for_sorting(tab):
    headers = tab.locator("#data .columns thead th")
    offered = {
        header.inner_text().split("\n")[0].strip(): header.locator("button").count()
        for header in headers.all()
    }
    assert offered["Distribution"] == 0
    assert offered["Column"] == 1


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_the_keyboard_sorts_a_table(tab, key):
    header = tab.locator("#leaderboard th", has_text="Method")
    header.locator("button").focus()
    before = header.get_attribute("aria-sort")
    tab.keyboard.press(key)
    direction = "descending" if before == "ascending" else "ascending"
    assert header.get_attribute("aria-sort") == direction
    listed = [name.lower() for name in names(tab)]
    assert listed == sorted(listed, reverse=direction == "descending")


def test_numbers_are_read_as_people_write_them(tab):
    read = tab.evaluate(
        "['−0.5 ± 0.1', '12.5 ms', '2 s', '3 min', '93%', '201,000', '1e−3', '−4.68 × 10⁻⁹', 'best']"
        ".map(numberIn)"
    )
    assert read[:-1] == pytest.approx([-0.5, 0.0125, 2.0, 180.0, 0.93, 201000.0, 0.001, -4.68e-9], abs=1e-15)
    assert read[-1] is None or np.isnan(read[-1])


@every_task
def test_dark_and_light_differ_and_words_in_pictures_stand_out_in_both(tab):
    grounds = set()
    for theme in THEMES:
        tab.emulate_media(color_scheme=theme)
        grounds.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
        contrasts = tab.evaluate(PICTURE_CONTRASTS)
        assert len(contrasts) > 20
        assert [(text, ratio) for text, ratio in contrasts if ratio < 4.5] == []
    assert len(grounds) == 2


def violations(tab, **options) -> list[tuple[str, str]]:
    """What the rules of axe find wrong, with the beginning of the element."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(tab, options={"preload": False, "resultTypes": ["violations"], **options}).response
    assert {"color-contrast"} <= {rule["id"] for rule in found["passes"]}
    return [(rule["id"], node["html"][:120]) for rule in found["violations"] for node in rule["nodes"]]


@every_task
def test_the_page_breaks_no_rule_of_accessibility(tab):
    assert violations(tab) == []


@every_task
def test_words_stand_out_in_the_dark_too(tab):
    tab.emulate_media(color_scheme="dark")
    assert violations(tab, runOnly={"type": "rule", "values": ["color-contrast"]}) == []


def test_the_rules_see_what_is_wrong(browser, addresses):
    tab = open_tab(browser, viewport=WIDE)
    tab.goto(addresses["regression"])
    tab.evaluate(
        "document.querySelector('figure svg').removeAttribute('aria-label');"
        "document.querySelector('h1').style.color = '#dddddd'"
    )
    assert {rule for rule, _ in violations(tab)} == {"svg-img-alt", "color-contrast"}
    tab.close()


def test_the_first_stop_of_the_keyboard_leads_to_the_verdict(browser, addresses):
    tab = open_tab(browser, viewport=WIDE)
    tab.goto(addresses["regression"])
    tab.keyboard.press("Tab")
    stop = tab.locator(":focus")
    assert stop.text_content() == "Skip to the verdict"
    assert stop.bounding_box()["y"] >= 0
    tab.keyboard.press("Enter")
    assert tab.locator(":focus").get_attribute("id") == "content"
    tab.close()


def test_a_link_opens_the_model_that_it_leads_to(browser, addresses, small_comparisons):
    comparison = small_comparisons["regression"]
    closed = next(
        rank for rank, other in enumerate(comparison.candidates) if other is not comparison.recommended
    )
    tab = open_tab(browser, viewport=WIDE)
    tab.goto(addresses["regression"])
    part = tab.locator(f"#model-{closed + 1} > details")
    assert part.get_attribute("open") is None
    tab.locator(f'.contents a[href="#model-{closed + 1}"]').click()
    playwright().expect(part).to_have_attribute("open", "", timeout=PATIENCE)
    tab.locator("button.unfold").click()
    # The page hears of what was opened a moment later.
    playwright().expect(tab.locator(".model > details:not([open])")).to_have_count(0, timeout=PATIENCE)
    playwright().expect(tab.locator("button.unfold")).to_have_text("Close all", timeout=PATIENCE)
    tab.close()


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no script"])
def test_printed_it_tells_everything_also_what_was_folded(browser, addresses, small_comparisons, scripted):
    pypdf = pytest.importorskip("pypdf")
    tab = open_tab(browser, java_script_enabled=scripted)
    tab.goto(addresses["regression"])
    printed = pypdf.PdfReader(io.BytesIO(tab.pdf(format="A4", prefer_css_page_size=True)))
    # Letters that are printed as one sign, like ffi, are told apart again.
    text = unicodedata.normalize("NFKC", "".join(sheet.extract_text() for sheet in printed.pages))
    text = "".join(text.split())
    tab.close()
    comparison = small_comparisons["regression"]
    told = [comparison.headline, "Leaderboard", "The data", "How it was measured", "Reproduce it"]
    for candidate in comparison.candidates:
        told += [candidate.name, candidate.summary, *(item.claim for item in candidate.certificates)]
    missing = [words for words in told if unicodedata.normalize("NFKC", "".join(words.split())) not in text]
    assert missing == []
    assert 3 <= len(printed.pages) <= 20


def test_without_the_script_all_is_there_to_read(browser, addresses, small_comparisons):
    tab = open_tab(browser, java_script_enabled=False, viewport=PHONE)
    tab.goto(addresses["classification"])
    assert tab.locator("th button").count() == 0
    assert not tab.locator("button.unfold").is_visible()
    name = tab.locator(".model:has(> details:not([open]))").first.get_attribute("id")
    assert not tab.locator(f"#{name} figure svg").first.is_visible()
    tab.locator(f"#{name} summary").click()
    assert tab.locator(f"#{name} figure svg").first.is_visible()
    for candidate in small_comparisons["classification"].candidates:
        assert tab.get_by_role("heading", name=candidate.name, exact=True).first.is_visible()
    tab.close()


def test_the_script_is_one_that_a_browser_takes_from_the_page_itself():
    script = Path(render.__code__.co_filename).with_name("script.js").read_text(encoding="utf-8")
    assert "fetch(" not in script
    assert "XMLHttpRequest" not in script
    assert "</script" not in script
