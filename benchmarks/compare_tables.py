"""Tables that `assay compare` and other tools are asked about: those that installed packages bring along.

scikit-learn and statsmodels bundle some, R's packages others (`apt-get install r-cran-mlbench
r-cran-kernlab`); nothing is downloaded.
"""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Table(NamedTuple):
    """A frame, the column to predict and what is asked."""

    name: str
    frame: Any
    target: str
    task: str  # "regression" or "classification"


class Origin(NamedTuple):
    """Where a table comes from and how it is read."""

    package: str
    read: Callable[[], Table | None]


def bundled(name: str, target: str, task: str) -> Origin:
    """A table of scikit-learn."""

    def read() -> Table:
        from sklearn import datasets

        bunch = getattr(datasets, f"load_{name}")(as_frame=True)
        frame = bunch.data.copy()
        frame[target] = bunch.target if task == "regression" else np.asarray(bunch.target_names)[bunch.target]
        if task == "classification":  # words, so that no tool takes them for numbers
            frame[target] = [f"{target} {label}" for label in frame[target]]
        return Table(name, frame, target, task)

    return Origin("scikit-learn", read)


def surveyed(name: str, target: str, task: str) -> Origin:
    """A table of statsmodels."""

    def read() -> Table:
        from importlib import import_module

        frame = import_module(f"statsmodels.datasets.{name}").load_pandas().data
        if task == "classification":
            frame[target] = [f"{target} {label:g}" for label in frame[target]]
        return Table(name, frame, target, task)

    return Origin("statsmodels", read)


def of_r(package: str, name: str, target: str, task: str) -> Origin:
    """A table of an R package, if there are Rscript and the package."""

    def read() -> Table | None:
        import pandas as pd

        if shutil.which("Rscript") is None:
            return None
        code = f'data("{name}", package="{package}"); write.csv({name}, stdout(), row.names=FALSE)'
        done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        frame = pd.read_csv(io.StringIO(done.stdout)).dropna(subset=[target]).reset_index(drop=True)
        if task == "classification":
            frame[target] = [f"{target} {label}" for label in frame[target]]
        return Table(name, frame, target, task)

    return Origin(f"R, {package}", read)


ORIGINS = {
    "diabetes": bundled("diabetes", "progression", "regression"),
    "breast_cancer": bundled("breast_cancer", "diagnosis", "classification"),
    "wine": bundled("wine", "cultivar", "classification"),
    "digits": bundled("digits", "digit", "classification"),
    "anes96": surveyed("anes96", "vote", "classification"),
    "fair": surveyed("fair", "affairs", "regression"),
    "randhie": surveyed("randhie", "mdvis", "regression"),
    "star98": surveyed("star98", "NABOVE", "regression"),
    "airquality": of_r("datasets", "airquality", "Ozone", "regression"),
    "ChickWeight": of_r("datasets", "ChickWeight", "weight", "regression"),
    "BostonHousing": of_r("mlbench", "BostonHousing", "medv", "regression"),
    "Ozone": of_r("mlbench", "Ozone", "V4", "regression"),
    "PimaIndiansDiabetes2": of_r("mlbench", "PimaIndiansDiabetes2", "diabetes", "classification"),
    "Sonar": of_r("mlbench", "Sonar", "Class", "classification"),
    "Glass": of_r("mlbench", "Glass", "Type", "classification"),
    "Vehicle": of_r("mlbench", "Vehicle", "Class", "classification"),
    "spam": of_r("kernlab", "spam", "type", "classification"),
}


def halves(table: Table, seed: int) -> tuple[Any, Any]:
    """Three quarters of the rows to learn from and a quarter to be judged on, classes in their shares."""
    from sklearn.model_selection import train_test_split

    shares = table.frame[table.target] if table.task == "classification" else None
    return tuple(train_test_split(table.frame, test_size=0.25, random_state=seed, stratify=shares))
