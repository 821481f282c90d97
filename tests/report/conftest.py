"""Comparisons that many tests look at."""

from __future__ import annotations

import pytest

from assay.report import choose_data, compare, read_table


@pytest.fixture(scope="session")
def regression():
    task, data = choose_data(read_table("diabetes"))
    return compare(data, task)


@pytest.fixture(scope="session")
def classification():
    task, data = choose_data(read_table("iris"))
    return compare(data, task, repeats=1)


@pytest.fixture(scope="session")
def clustering():
    task, data = choose_data(read_table("us_arrests"))
    return compare(data, task)
