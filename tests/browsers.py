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
