"""A real browser for the tests of the page: the Chromium of the system, driven by playwright."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

PATIENCE = 240_000
"""Milliseconds after which a browser that does nothing is given up."""

OPEN_ALL = "for (const part of document.querySelectorAll('details')) part.open = true"


def playwright() -> Any:
    """The driver, or skip the test where there is no browser."""
    if CHROMIUM is None:
        pytest.skip("There is no Chromium here: apt-get install chromium.")
    return pytest.importorskip("playwright.sync_api", reason="The browser is driven by playwright.")


def open_tab(browser: Any, **options: Any) -> Any:
    """A tab of its own, with patience."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    return context.new_page()


# Elements that reach beyond the right edge of the page; what scrolls inside its own frame does not.
TOO_WIDE = """() => {
  const scrolls = (place) => ['auto', 'scroll'].includes(getComputedStyle(place).overflowX);
  const inside = (element) => {
    let place = element.parentElement;
    while (place && !scrolls(place)) place = place.parentElement;
    return place !== null;
  };
  const edge = document.documentElement.clientWidth + 1;
  return [...document.querySelectorAll('main *')]
    .filter((element) => element.getBoundingClientRect().right > edge)
    .filter((element) => !element.closest('svg, .aloud') && !inside(element))
    .map((element) => `${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`);
}"""

# Words of the page that stand on two lines.
BROKEN = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange(), broken = [];
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (text.parentElement.closest('pre, svg, script, style, .hash, .aloud, .skip')) continue;
    for (const word of text.data.matchAll(/[\\p{L}\\p{N}]{2,}/gu)) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const tops = [...range.getClientRects()].map((box) => box.top);
      if (Math.max(...tops) - Math.min(...tops) > 4) broken.push(word[0]);
    }
  }
  return broken;
}"""

# Sizes of the letters of pictures, in pixels of the screen.
LETTERS = """() => [...document.querySelectorAll('figure svg text')]
  .filter((text) => !text.querySelector('tspan')).map((text) => {
    const svg = text.ownerSVGElement;
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return [parseFloat(getComputedStyle(text).fontSize) * scale, text.textContent];
  })"""

# Pairs of words of one picture that cover each other, and words beyond its edge.
COVERED = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('figure svg')) {
    const frame = svg.getBoundingClientRect();
    const words = [...svg.querySelectorAll('text')].filter((text) => text.textContent.trim())
      .map((text) => [text.textContent, text.getBoundingClientRect()]);
    for (const [index, [word, box]] of words.entries()) {
      if (box.left < frame.left - 6 || box.right > frame.right + 6) found.push([word, 'beyond the edge']);
      for (const [other, space] of words.slice(index + 1)) {
        const across = Math.min(box.right, space.right) - Math.max(box.left, space.left);
        const down = Math.min(box.bottom, space.bottom) - Math.max(box.top, space.top);
        const least = Math.min(box.width * box.height, space.width * space.height);
        if (across > 0 && down > 0 && across * down > 0.3 * least) found.push([word, other]);
      }
    }
  }
  return found;
}"""


def seen(tab: Any, viewport: Any, theme: str = "light") -> Any:
    """A tab at this width and in these colours, drawn anew."""
    tab.set_viewport_size(viewport)
    tab.emulate_media(media="screen", color_scheme=theme)
    # A page hears of its new width when it is next drawn; the second drawing comes after that.
    tab.wait_for_function("width => innerWidth === width", arg=viewport["width"])
    tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return tab
