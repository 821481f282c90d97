"""Tables, a saved model and a way to run the command in an empty folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import assay
from assay import cli
from assay.cluster import KMeans
from assay.datasets import us_arrests
from assay.report import writing


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def invoke(*arguments: object, **options):
        return runner.invoke(cli.application(), [str(argument) for argument in arguments], **options)

    return invoke


@pytest.fixture
def _short_page(monkeypatch):
    """The page has its own tests; a word of it is enough where the command is tested."""
    monkeypatch.setattr(writing, "render", lambda comparison, model_path: comparison.headline)


@pytest.fixture
def files() -> list[str]:
    """What a comparison writes."""
    return sorted(writing.FILES)


@pytest.fixture
def table(tmp_path, rng) -> Path:
    X = rng.normal(size=(60, 2))
    frame = pd.DataFrame({"height": X[:, 0], "age": X[:, 1], "town": ["Paris", "Lyon", "Nice"] * 20})
    frame["price"] = 3 * frame["height"] - frame["age"] + 0.5 * rng.normal(size=60)
    frame["class"] = np.arange(60) % 3
    frame.to_csv(tmp_path / "sales.csv", index=False)
    return tmp_path / "sales.csv"


@pytest.fixture
def saved(tmp_path) -> Path:
    """K-means of the embedded table us_arrests."""
    assay.save(KMeans(2, n_init=2, random_state=0).fit(us_arrests().X), tmp_path / "good.skops")
    return tmp_path / "good.skops"
