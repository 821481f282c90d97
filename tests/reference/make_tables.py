"""Write the small tables that make_reference.R reads: python tests/reference/make_tables.py.

Numbers are rounded to six decimals, so that every reader of a table has the same ones.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from assay.datasets import GaussianClasses, breast_cancer, diabetes

HERE = Path(__file__).parent


def write(name: str, columns: dict[str, Any]) -> None:
    """Write columns as a CSV file with a header."""
    with (HERE / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            out.writerow(
                [value if isinstance(value, str) else f"{value:.6f}".rstrip("0").rstrip(".") for value in row]
            )


def patients() -> dict[str, Any]:
    """Diabetes, 150 rows, columns in hundredths so that six decimals keep their digits."""
    table = diabetes()
    columns = {name: 100 * table.X[:150, j] for j, name in enumerate(table.feature_names)}
    return columns | {"y": table.y[:150]}


def tumours() -> dict[str, Any]:
    """Breast cancer, 250 rows, three measures (two in hundredths) that do not separate the diagnoses."""
    X, y = breast_cancer(return_X_y=True)
    return {"x0": X[:250, 1], "x1": 100 * X[:250, 4], "x2": 100 * X[:250, 8], "y": y[:250]}


def responses() -> dict[str, Any]:
    """Counts with an exposure, positive amounts, and successes of several trials, from known scores."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(120, 3)), 6)
    exposure = np.round(rng.uniform(0.5, 4.0, 120), 6)
    trials = rng.integers(1, 12, 120)
    score = 0.4 + X @ [0.5, -0.3, 0.1]
    return {
        **{f"x{j}": X[:, j] for j in range(3)},
        "exposure": exposure,
        "count": rng.poisson(exposure * np.exp(score)),
        "dispersed": rng.negative_binomial(2.0, 2.0 / (2.0 + np.exp(score))),
        "amount": rng.gamma(3.0, np.exp(score) / 3.0),
        "trials": trials,
        "successes": rng.binomial(trials, 1 / (1 + np.exp(-score))),
    }


def classes() -> dict[str, Any]:
    """Three overlapping Gaussian classes, 200 rows."""
    law = GaussianClasses([[0.0, 0.8], [0.7, -0.4], [-0.7, -0.4]], classes=["blue", "green", "red"])
    X, y = law.sample(200, random_state=1)
    return {"x0": X[:, 0], "x1": X[:, 1], "y": y.tolist()}


if __name__ == "__main__":
    for table in (patients, tumours, responses, classes):
        write(table.__name__, table())
