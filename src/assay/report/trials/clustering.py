"""Comparing clusterers: each with its main parameter chosen, all scored on the same rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any, Literal

import numpy as np
from sklearn.pipeline import Pipeline

from assay.certificates import Certificates
from assay.cluster import ClusterSelection, KMeans, select_k
from assay.report.tables.data import Data
from assay.report.trials.cluster_comparison import Clustering, ClusteringComparison
from assay.report.trials.cluster_trial import (
    MAX_CLUSTERS,
    N_RESAMPLES,
    ClusterTrial,
    Encoded,
    OutOfTimeError,
    Scan,
    encode,
    load,
    measure,
    run_cluster_trial,
    values_to_try,
)
from assay.report.trials.comparison import Candidate, certificates_of, joined, plus_minus, ranked
from assay.report.trials.progress import Event, Progress
from assay.report.trials.roster import Entry, roster

BASELINE = "Baseline"
CRITERIA_ROWS = 1000
"""Rows that the gap statistic and the eigengap are measured on."""

N_REFERENCES = 10


def compare_clusterings(
    data: Data,
    *,
    seed: int,
    methods: Sequence[str] = (),
    exclude: Sequence[str] = (),
    budget: float | None = None,
    progress: Progress,
) -> ClusteringComparison:
    """Choose the main parameter of every clusterer by silhouette on standardised columns, and rank them."""
    start = perf_counter()
    deadline = math.inf if budget is None else monotonic() + budget
    encoded = encode(data, seed)
    chosen, skipped = roster("clustering", *encoded.Z.shape, methods=methods, exclude=exclude)
    # The simplest first: if time runs out, those are there.
    chosen.sort(key=lambda entry: entry.suits.complexity)
    totals = {entry.name: len(values_to_try(entry.make(seed), encoded)[1]) + N_RESAMPLES for entry in chosen}
    progress(Event(BASELINE, "waiting", 0, 1))
    for name, total in totals.items():
        progress(Event(name, "waiting", 0, total))
    progress(Event(BASELINE, "running", 0, 1))
    candidates: list[Candidate] = [_baseline(encoded, seed)]
    progress(Event(BASELINE, "done", 1, 1, "silhouette 0 by convention"))
    for place, entry in enumerate(chosen):
        step = _Step(entry.name, totals[entry.name], deadline, progress)
        try:
            trial = run_cluster_trial(entry, encoded, seed=seed, step=step)
            found = _candidate(entry, encoded, trial, data.row_names)
        except OutOfTimeError:
            skipped.append(f"{entry.name} was left out: the {budget:g} s of --budget were spent.")
            step.end("left out", "out of time")
        except KeyboardInterrupt:
            if all(candidate.is_baseline for candidate in candidates):
                raise
            left = [item.name for item in chosen[place:]]
            skipped.append(f"Interrupted before the end: {', '.join(left)} left out.")
            deadline = -math.inf
            break
        except (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
            skipped.append(f"{entry.name} was left out: its fit failed ({str(error).rstrip('.')}).")
            step.end("left out", "its fit failed")
        else:
            candidates.append(found)
            step.end("done", f"silhouette {plus_minus(found.score, found.standard_error)}")
    ordered = ranked(candidates, skipped)
    return ClusteringComparison(
        task="clustering",
        data=data,
        score_name="silhouette",
        candidates=ordered,
        folds=None,
        seed=seed,
        skipped=tuple(skipped),
        **_numbers(encoded, seed, deadline),
        seconds=perf_counter() - start,
    )


@dataclass(frozen=True)
class _Step:
    """Tells of the fits of one method, and stops it when the time is spent."""

    name: str
    total: int
    deadline: float
    progress: Progress

    def __call__(self, fit: int) -> None:
        if monotonic() > self.deadline:
            raise OutOfTimeError
        self.progress(Event(self.name, "running", fit, self.total))

    def end(self, state: Literal["done", "left out"], note: str) -> None:
        self.progress(Event(self.name, state, self.total if state == "done" else 0, self.total, note))


def _numbers(encoded: Encoded, seed: int, deadline: float) -> dict[str, Any]:
    """What the criteria of the table say about the number of groups, as long as there is time."""
    found = dict[str, Any]()
    with suppress(KeyboardInterrupt):  # the methods are done: what they found is kept
        for criterion in ("gap", "eigengap"):
            if monotonic() <= deadline:
                found[criterion] = select_number(encoded, criterion, seed)
    return found


def select_number(encoded: Encoded, criterion: str, seed: int) -> ClusterSelection | None:
    """The number of groups, one included, by a criterion of the table; None where it does not judge it."""
    Z = encoded.Z[encoded.measured[:: math.ceil(len(encoded.measured) / CRITERIA_ROWS)]]
    options: dict[str, Any] = {"n_references": N_REFERENCES} if criterion == "gap" else {}
    most = min(MAX_CLUSTERS, len(Z) - 1)
    if encoded.n_distinct <= most < len(Z) - 1:  # rows that repeat so much are unlike any drawn at random
        return None
    with warnings.catch_warnings(), suppress(ValueError, np.linalg.LinAlgError):
        warnings.simplefilter("ignore")
        kmeans = KMeans(n_init=3, random_state=seed)
        return select_k(kmeans, Z, range(1, most + 1), criterion=criterion, random_state=seed, **options)
    return None


def _baseline(encoded: Encoded, seed: int) -> Clustering:
    """All rows in one group: silhouettes are not defined there, and count 0."""
    load(KMeans(random_state=seed))
    start = perf_counter()
    model = KMeans(1, random_state=seed).fit(encoded.Z)
    item, scores, widths = measure(encoded.Z, np.asarray(model.labels_), encoded.measured)
    return Clustering(
        name=BASELINE,
        summary="All rows in one group; its silhouette is 0 by convention, as it is not defined. What any "
        "split must beat.",
        score=0.0,
        standard_error=0.0,
        scores=scores,
        measures={"groups": 1.0, "explained": 0.0},
        fit_seconds=perf_counter() - start,
        parameters={},
        model=Pipeline([("table", encoded.encoder), ("model", model)]),
        certificates=Certificates(),
        predictions=np.asarray(model.labels_),
        complexity=0,
        scan=Scan("n_clusters", (1,), (item,), 0),
        widths=widths,
    )


def _candidate(
    entry: Entry, encoded: Encoded, trial: ClusterTrial, row_names: Sequence[str] | None
) -> Clustering:
    scan, model = trial.scan, Pipeline([("table", encoded.encoder), ("model", trial.model)])
    item = scan.found[scan.place]
    measures = {"groups": float(item.n_groups), "explained": item.explained}
    if np.isfinite(trial.stability):
        measures["stability"] = trial.stability
    if scan.parameter == "min_cluster_size":
        measures["noise"] = item.n_noise / len(trial.labels)
    return Clustering(
        name=entry.name,
        summary=entry.summary,
        score=item.silhouette,
        standard_error=item.standard_error,
        scores=trial.scores,
        measures=measures,
        fit_seconds=trial.fit_seconds,
        parameters={scan.parameter: scan.values[scan.place]},
        model=model,
        certificates=certificates_of(model),
        predictions=trial.labels,
        family=entry.family,
        complexity=entry.suits.complexity,
        notes=(*_representers(trial, row_names), *trial.notes),
        scan=scan,
        widths=trial.widths,
    )


def _representers(trial: ClusterTrial, row_names: Sequence[str] | None) -> tuple[str, ...]:
    """The rows that stand for their groups, by name, where the method has such rows."""
    rows = getattr(trial.model, "medoid_indices_", None)
    if rows is None or row_names is None:
        return ()
    return (f"The rows that stand for their groups: {joined([str(row_names[row]) for row in rows])}.",)
