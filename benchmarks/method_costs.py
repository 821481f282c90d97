"""Processor seconds of one fit of each method that `assay compare` tries, by the size of the table.

    python -m benchmarks.method_costs --task regression --shapes 10000x1000 1000000x10

A fit chooses the main parameter too, as in a comparison. Each runs on one thread in a process of its own,
which the system ends after the limit of processor seconds; a method that was ended is not tried on tables of
at least as many rows and columns. The figures go to `docs/method_costs.json`, each in the place of an earlier
one, and from there to `docs/method_costs.md` (`--page` writes it again and measures nothing). The limits of
`_suits` follow from them by the rule of `assay.suitability.FIT_SECONDS`, as a test sees.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["ASSAY_NUM_THREADS"] = "1"

import argparse
import json
import math
import resource
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.registry import Entry
from assay.report.trials.roster import entries
from assay.report.trials.trial import Recipe
from assay.report.trials.tuning import Tuning
from benchmarks.cost_page import Cost, limited, page
from benchmarks.results import this_run

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = (ROOT / "docs" / f"method_costs.{ending}" for ending in ("json", "md"))
TASKS = ("regression", "classification")
WARM = (120, 12)
SHAPES = (
    "1000x12", "10000x12", "100000x12", "2000x50", "100000x50",
    "1000000x10", "100000x100", "10000x1000", "3000x3333", "1000x10000", "100x100000",
)  # fmt: skip


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


def prepared(entry: Entry, target: Any) -> Recipe:
    """How a method is fitted to a target, as a comparison does it."""
    return Recipe(replace(entry, suits=entry.suits.among(target) or entry.suits))


def fit(entry: Entry, X: np.ndarray, y: Any) -> None:
    """One fit as in a comparison."""
    labels = np.unique(y) if entry.task == "classification" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared(entry, y).fit(X, y, Tuning(labels=labels))


def seconds_of_fit(entry: Entry, X: np.ndarray, y: Any, limit: float) -> float:
    """Processor seconds of one fit, in a process of its own; infinite where the limit ended it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        soft = math.ceil(limit + time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, soft + 1))
        said = "failed"
        try:
            start = time.process_time()
            fit(entry, X, y)
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
) -> Iterator[Cost]:
    """The cost of each method on each shape; compiled loops are ready before the clock starts."""
    known = [entry for entry in entries() if entry.task == task and (not names or entry.name in names)]
    warm, ended = table(task, *WARM, classes), list[Cost]()
    for entry in known:
        fit(entry, *warm)
    for n_rows, n_features in shapes:
        X, y = table(task, n_rows, n_features, classes)
        for entry in known:
            if entry.suits.min_rows is not None and n_rows < entry.suits.min_rows:
                continue
            known_cost = Cost(task, entry.name, n_rows, n_features, classes if task == TASKS[1] else 0)
            hopeless = any(
                item.method == entry.name and item.rows <= n_rows and item.columns <= n_features
                for item in ended
            )
            seconds = math.inf if hopeless else seconds_of_fit(entry, X, y, limit)
            cost = replace(known_cost, seconds=limited(seconds))
            ended += [cost] if math.isinf(seconds) else []
            yield cost


def main() -> None:
    """Measure, keep the figures and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--task", choices=TASKS, default="regression")
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--page", action="store_true", help="write the page again and measure nothing")
    given = parser.parse_args()
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"costs": []}
    kept = {cost.place: cost for cost in (Cost(**item) for item in stored["costs"])}
    if not given.page:
        shapes = [tuple(map(int, text.split("x"))) for text in given.shapes]
        stored["run"] = asdict(this_run())
        for cost in measure(given.task, shapes, given.methods, given.limit, given.classes):
            kept[cost.place] = cost
            sys.stdout.write(f"{cost.method:32}{cost.rows:>10,} × {cost.columns:<8,}{cost.words}\n")
            sys.stdout.flush()
            keep(stored, kept)
    keep(stored, kept)


def keep(stored: dict[str, Any], kept: dict[tuple[Any, ...], Cost]) -> None:
    """Write the figures and the page."""
    costs = sorted(kept.values(), key=lambda cost: cost.place)
    stored["costs"] = [asdict(cost) for cost in costs]
    RESULTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(costs, stored["run"]), encoding="utf-8")


if __name__ == "__main__":
    main()
