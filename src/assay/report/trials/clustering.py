"""Comparing clusterers: each with its main parameter chosen, all scored on the same rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from assay.certificates import Certificates
from assay.cluster import KMeans, select_k
from assay.models import Selection
from assay.registry import Entry
from assay.report.tables.data import Data
from assay.report.trials.cluster_comparison import Clustering, ClusteringComparison
from assay.report.trials.cluster_trial import (
    MAX_CLUSTERS,
    N_RESAMPLES,
    ChosenPartition,
    EncodedTable,
    Scan,
    agreement,
    choose_partition,
    encode,
    halves,
    load,
    measure,
)
from assay.report.trials.comparison import Candidate, certificates_of, ranked
from assay.report.trials.engine import Engine, Progress, Work
from assay.report.trials.roster import roster
from assay.report.trials.wording import joined, plus_minus

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
    start, engine = perf_counter(), Engine(progress, budget)
    encoded = encode(data, seed)
    chosen, skipped = roster("clustering", *encoded.Z.shape, methods=methods, exclude=exclude)
    # The simplest first: if time runs out, those are there.
    chosen.sort(key=lambda entry: entry.suits.complexity)
    methods_to_try = [Grouping(entry, encoded, seed, data.row_names) for entry in chosen]
    candidates = engine.run([OneGroup(encoded, seed), *methods_to_try])
    skipped += engine.skipped
    ordered = ranked(candidates, skipped)
    selections: dict[str, Any] = {}
    with suppress(KeyboardInterrupt):  # the methods are done: what they found is kept
        for criterion in ("gap", "eigengap"):
            if engine.has_time:
                selections[criterion] = select_number(encoded, criterion, seed)
    return ClusteringComparison(
        task="clustering",
        data=data,
        score_name="silhouette",
        candidates=ordered,
        folds=None,
        seed=seed,
        skipped=tuple(skipped),
        **selections,
        seconds=perf_counter() - start,
    )


def select_number(encoded: EncodedTable, criterion: str, seed: int) -> Selection | None:
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


@dataclass(frozen=True)
class OneGroup:
    """All rows in one group: silhouettes are not defined there, and count 0."""

    encoded: EncodedTable
    seed: int
    name: str = "Baseline"
    is_baseline: bool = True
    n_fits: int = 1

    def work(self, fit: int, results: Sequence[Any]) -> Work:
        """Measure the one group."""
        return self._measured

    def conclude(self, results: Sequence[Any]) -> Candidate:
        """The line of the leaderboard."""
        return results[0]

    def note(self, candidate: Candidate) -> str:
        """The score in words."""
        return "silhouette 0 by convention"

    def _measured(self) -> Clustering:
        encoded = self.encoded
        load(KMeans(random_state=self.seed))
        start = perf_counter()
        model = KMeans(1, random_state=self.seed).fit(encoded.Z)
        labels = np.asarray(model.labels_)
        measures, scores, widths = measure(encoded.Z, labels, encoded.measured)
        return Clustering(
            name=self.name,
            summary="All rows in one group; its silhouette is 0 by convention, as it is not defined. What "
            "any split must beat.",
            score=0.0,
            standard_error=0.0,
            scores=scores,
            measures={"groups": 1.0, "explained": 0.0},
            fit_seconds=perf_counter() - start,
            parameters={},
            model=Pipeline([("table", encoded.encoder), ("model", model)]),
            certificates=Certificates(),
            predictions=labels,
            complexity=0,
            scan=Scan("n_clusters", (1,), (measures,), 0),
            widths=widths,
        )


@dataclass(frozen=True)
class Grouping:
    """A clusterer in a comparison: one fit that chooses its main parameter, then one for each half."""

    entry: Entry
    encoded: EncodedTable
    seed: int
    row_names: Sequence[str] | None
    is_baseline: bool = False
    n_fits: int = 1 + N_RESAMPLES

    @property
    def name(self) -> str:
        """Name of the method."""
        return self.entry.name

    @cached_property
    def halves(self) -> list[Any]:
        """The rows that it is fitted on again."""
        return halves(len(self.encoded.Z), self.seed)

    def work(self, fit: int, results: Sequence[Any]) -> Work:
        """Choose the main parameter; after that, look for the same groups in half of the rows."""
        if fit == 0:
            return partial(choose_partition, self.entry, self.encoded, self.seed)
        return partial(agreement, results[0], self.encoded.Z, self.halves[fit - 1])

    def conclude(self, results: Sequence[Any]) -> Candidate:
        """The line of the leaderboard."""
        chosen, agreements = results[0], np.array(results[1:])
        scan, model = chosen.scan, Pipeline([("table", self.encoded.encoder), ("model", chosen.model)])
        partition = scan.partitions[scan.place]
        measures = {"groups": float(partition.n_groups), "explained": partition.explained}
        if np.isfinite(agreements).any():
            measures["stability"] = float(np.nanmean(agreements))
        if scan.parameter == "min_cluster_size":
            measures["noise"] = partition.n_noise / len(chosen.labels)
        return Clustering(
            name=self.name,
            summary=self.entry.summary,
            score=partition.silhouette,
            standard_error=partition.standard_error,
            scores=chosen.scores,
            measures=measures,
            fit_seconds=chosen.fit_seconds,
            parameters={scan.parameter: scan.values[scan.place]},
            model=model,
            certificates=certificates_of(model),
            predictions=chosen.labels,
            family=self.entry.family,
            complexity=self.entry.suits.complexity,
            notes=(*_representers(chosen, self.row_names), *chosen.notes),
            scan=scan,
            widths=chosen.widths,
        )

    def note(self, candidate: Candidate) -> str:
        """The score in words."""
        return f"silhouette {plus_minus(candidate.score, candidate.standard_error)}"


def _representers(chosen: ChosenPartition, row_names: Sequence[str] | None) -> tuple[str, ...]:
    """The rows that stand for their groups, by name, where the method has such rows."""
    rows = getattr(chosen.model, "medoid_indices_", None)
    if rows is None or row_names is None:
        return ()
    return (f"The rows that stand for their groups: {joined([str(row_names[row]) for row in rows])}.",)
