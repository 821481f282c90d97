"""Comparisons that many tests look at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.report import Data, choose_data, compare, read_table, render
from browsers import CHROMIUM, PATIENCE, playwright


@pytest.fixture(scope="session")
def browser():
    """Chromium, for all tests of the page in a process."""
    with playwright().sync_playwright() as driver:
        # No sandbox: tests often run in a container as root, and the pages are our own.
        arguments = ["--no-sandbox", "--disable-gpu"]
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=arguments, timeout=PATIENCE)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def regression():
    data = choose_data(read_table("diabetes"))
    return compare(data, repeats=1)


@pytest.fixture(scope="session")
def classification():
    data = choose_data(read_table("iris"))
    return compare(data, repeats=1)


@pytest.fixture(scope="session")
def clustering():
    data = choose_data(read_table("us_arrests"))
    return compare(data)


@pytest.fixture(scope="session")
def small_comparisons():
    """A few methods for each task, for the tests of the page; the first table has gaps and words."""
    rng = np.random.default_rng(5)
    names = ["height", "weight", "a rather long name of a column"]
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=names)
    frame["town"] = np.where(rng.random(60) < 0.5, "Lyon", "Nice")
    target = 2 * frame["height"].to_numpy() + rng.normal(size=60)
    frame.loc[::9, "weight"] = np.nan
    table = Data.from_frame(frame, target, name="people", target="price")
    found = {"regression": compare(table, repeats=1, methods=["LinearRegression", "Ridge"])}
    for name, methods in (
        ("iris", ["LogisticRegression", "LinearSVC"]),
        ("us_arrests", ["KMeans", "KMedoids"]),
    ):
        data = choose_data(read_table(name))
        found[data.task] = compare(data, repeats=1, methods=methods)
    return found


@pytest.fixture(scope="session")
def small_pages(small_comparisons):
    """Their pages."""
    return {task: render(comparison) for task, comparison in small_comparisons.items()}
