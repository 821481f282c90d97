"""Processor seconds of one fit of each method that `assay compare` tries, by the size of the table.

    python -m benchmarks.method_costs --shapes 1000x12 10000x50 --task regression --limit 60

A fit chooses the main parameter too, as in a comparison. Each runs in a process of its own which the system
ends after the limit of processor seconds; a method that was ended is not tried on larger tables of as many
columns. The limits of `_suits` come from these figures by the rule of `assay.suitability.FIT_SECONDS`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.report.trials.roster import entries
from assay.report.trials.trial import Recipe

TASKS = ("regression", "classification", "clustering")
WARM = (120, 12)


def table(task: str, n_rows: int, n_features: int, n_classes: int = 2) -> tuple[np.ndarray, Any]:
    """Columns that go together, ten of which matter, and a positive number or a class to predict."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 1:] += 0.4 * X[:, :-1]
    used = min(10, n_features)
    score = X[:, :used] @ rng.normal(size=used) / np.sqrt(used) + 0.5 * np.sin(2 * X[:, 0])
    if task == "regression":
        return X, np.exp(0.5 * score + 0.3 * rng.normal(size=n_rows))
    noisy = score + 0.5 * rng.logistic(size=n_rows)
    edges = np.quantile(noisy, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, noisy)


def prepared(entry: Any, target: Any) -> Recipe:
    """How a method is fitted to a target, as a comparison does it."""
    from dataclasses import replace

    return Recipe(replace(entry, suits=entry.suits.among(target) or entry.suits))


def seconds_of_fit(recipe: Recipe, X: np.ndarray, y: Any, limit: float) -> float:
    """Processor seconds of one fit, in a process of its own; infinite where the limit ended it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        soft = math.ceil(limit + time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, soft + 1))
        said = "failed"
        try:
            warnings.simplefilter("ignore")
            start = time.process_time()
            recipe.fit(X, y, 0)
            said = f"{time.process_time() - start:.4f}"
        except (ValueError, MemoryError, ArithmeticError, np.linalg.LinAlgError) as error:
            said = f"failed {error}"
        finally:
            os.write(writing, said.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    try:
        return float(said)
    except ValueError:
        return math.nan if said.startswith("failed") else math.inf


def measure(
    task: str, shapes: Sequence[tuple[int, int]], names: Sequence[str], limit: float, classes: int
) -> list[dict]:
    """One line for each method and shape; compiled loops are ready before the clock starts."""
    lines: list[dict] = []
    known = [entry for entry in entries() if entry.task == task and (not names or entry.name in names)]
    if task == "clustering":
        raise SystemExit("Clusterings are scanned, not fitted once: see bench_cluster.")
    warm = table(task, *WARM, classes)
    for entry in known:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prepared(entry, warm[1]).fit(*warm, 0)
    for n_rows, n_features in shapes:
        X, y = table(task, n_rows, n_features, classes)
        for entry in known:
            ended = [
                line
                for line in lines
                if line["method"] == entry.name
                and math.isinf(line["seconds"])
                and line["rows"] <= n_rows
                and line["columns"] <= n_features
            ]
            seconds = math.inf if ended else seconds_of_fit(prepared(entry, y), X, y, limit)
            lines.append({"method": entry.name, "rows": n_rows, "columns": n_features, "seconds": seconds})
            sys.stdout.write(f"{entry.name:32}{n_rows:>10,} × {n_features:<8,}{seconds:10.3f}\n")
            sys.stdout.flush()
    return lines


def main() -> None:
    """Measure and print; `--json FILE` keeps the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--task", choices=TASKS[:2], default="regression")
    parser.add_argument("--shapes", nargs="+", default=["1000x12", "1000x50", "10000x12", "10000x50"])
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--json")
    given = parser.parse_args()
    shapes = [tuple(map(int, text.split("x"))) for text in given.shapes]
    lines = measure(given.task, shapes, given.methods, given.limit, given.classes)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(lines, file, indent=1)


if __name__ == "__main__":
    main()
