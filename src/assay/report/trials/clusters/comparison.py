"""Comparing clusterers: each with its main parameter chosen, all scored on the same rows, and summed up."""

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
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, rand_score
from sklearn.pipeline import Pipeline

from assay.certificates import Certificates
from assay.cluster import KMeans, Silhouette, select_k
from assay.models import Selection
from assay.registry import Entry
from assay.report.tables.data import Data
from assay.report.trials.candidate import Candidate, certificates_of, final_step, ranked
from assay.report.trials.clusters.chance import Chance, chance_of
from assay.report.trials.clusters.repeating import repeated, told_by_columns
from assay.report.trials.clusters.trial import (
    MAX_CLUSTERS,
    N_RESAMPLES,
    STABILITY_ROWS,
    EncodedTable,
    Scan,
    agreement,
    choose_partition,
    encode,
    one_group,
)
from assay.report.trials.comparison import Comparison, is_tie
from assay.report.trials.engine import Contender, Engine, Progress, Work
from assay.report.trials.roster import roster
from assay.report.wording import joined, plus_minus

CLEAR_SILHOUETTE = 0.25
"""Below this mean silhouette there is no substantial structure (Kaufman and Rousseeuw 1990)."""

REASONABLE_SILHOUETTE, STRONG_SILHOUETTE = 0.5, 0.7
"""Above the first the structure is reasonable, above the second strong; between, it is weak."""

OF_DISTANCES = (
    "Distances are Gower's, over columns of numbers and words: numbers count alike, words half as much, so "
    "that their levels alone do not make the groups."
)

FIRM = 0.8
"""A partition is found again when fits on half of the rows agree with it this well."""

OTHER = 0.5
"""Partitions whose adjusted Rand index is below this one are different answers."""

CRITERIA = {
    "silhouette": "silhouette",
    "calinski_harabasz": "Calinski–Harabasz",
    "davies_bouldin": "Davies–Bouldin",
}
"""Measures that choose a number of groups, as readers know them."""


@dataclass(frozen=True, kw_only=True)
class Clustering(Candidate):
    """A clusterer on the leaderboard."""

    scan: Scan
    widths: Silhouette | None  # of the measured rows; None where there is one group

    @property
    def n_groups(self) -> int:
        """Number of groups, rows in none not counted."""
        return self.scan.partitions[self.scan.place].n_groups

    @property
    def n_noise(self) -> int:
        """Rows in no group."""
        return self.scan.partitions[self.scan.place].n_noise


@dataclass(frozen=True, kw_only=True)
class ClusteringComparison(Comparison):
    """The result of `compare` without a target."""

    # What the gap statistic of k-means, and the eigenvalues of the graph of neighbours, say about the number
    # of groups; None when there was no time for them.
    gap: Selection | None = None
    eigengap: Selection | None = None
    # How well k-means splits this table and tables without groups that resemble it.
    chance: Chance | None = None

    @property
    def clusterings(self) -> tuple[Clustering, ...]:
        """The candidates that look for groups, best first."""
        real = [item for item in self.candidates if not item.is_baseline]
        return tuple(item for item in real if isinstance(item, Clustering))

    @property
    def chosen(self) -> Clustering:
        """The candidate recommended."""
        chosen = self.recommended
        assert isinstance(chosen, Clustering)
        return chosen

    @cached_property
    def agreement(self) -> NDArray:
        """Adjusted Rand index of the partitions, two by two, in the order of `clusterings`."""
        labels = [item.predictions for item in self.clusterings]
        return np.array([[adjusted_rand_score(one, other) for other in labels] for one in labels])

    @property
    def is_clear(self) -> bool:
        """Whether the groups are more than what rows without any would show."""
        chosen = self.chosen
        clear = chosen.n_groups > 1 and chosen.score >= CLEAR_SILHOUETTE
        by_chance = self._gap_finds_one or (self.chance is not None and self.chance.explains)
        return clear and not by_chance and not self._are_single_rows

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        chosen = self.chosen
        score = f"{self.score_name} {chosen.score:.2f}"
        if chosen.n_groups < 2:
            return f"No clear groups in {self.data.name}: {chosen.name} finds none"
        if not self.is_clear:
            return f"No clear groups in {self.data.name}: the best split, into {chosen.n_groups}, has {score}"
        verdict = f"{self.data.name} falls best into {chosen.n_groups} groups: {score}"
        return (
            f"{verdict}, but they merely repeat {self.repeated_columns}" if self.repeated_columns else verdict
        )

    @cached_property
    def repeated_columns(self) -> str:
        """The column, or the two columns together, whose values the groups merely repeat; else empty."""
        return repeated(self.data, self.chosen.predictions)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What one must know beside the headline."""
        return (
            *self._group_remarks(),
            *told_by_columns(self.data, self.chosen.predictions),
            *self._noise_remarks(),
            *self._number_remarks(),
            *self._agreement_remarks(),
            *((OF_DISTANCES,) if self.is_mixed else ()),
            "The silhouette favours round groups: it does not see long or bent ones, which the maps show.",
        )

    @property
    def is_mixed(self) -> bool:
        """Whether words are among the columns, so that distances are Gower's."""
        return getattr(self.chosen.model[0], "metric_", "euclidean") != "euclidean"

    @property
    def _gap_finds_one(self) -> bool:
        return self.gap is not None and self.gap.best == 1 and not self.gap.ambiguous

    @property
    def _are_single_rows(self) -> bool:
        """Whether all groups but one are a row each, which is far from the others rather than a group."""
        labels = self.chosen.predictions
        return int(np.sum(np.unique(labels[labels >= 0], return_counts=True)[1] > 1)) < 2

    def _group_remarks(self) -> tuple[str, ...]:
        chosen = self.chosen
        if chosen.n_groups < 2:
            return ()
        sizes = np.unique(chosen.predictions[chosen.predictions >= 0], return_counts=True)[1]
        listed = joined([f"{size:,}" for size in sorted(sizes, reverse=True)])
        left_out = ""
        if chosen.n_noise:
            share = chosen.n_noise / len(chosen.predictions)
            left_out = (
                f" {chosen.name} leaves {chosen.n_noise:,} rows ({share:.0%}) in no group; they count 0."
            )
        return (
            f"The groups of {chosen.name} explain {chosen.measures['explained']:.0%} of the variance of the "
            "columns.",
            f"They have {listed} rows.{left_out}",
            f"A silhouette of {chosen.score:.2f} {self._what_it_speaks_of()}.",
        )

    def _what_it_speaks_of(self) -> str:
        """How clear the groups are by their silhouette, and what speaks against it."""
        strength, said = strength_of(self.chosen.score), ""
        if self.chance is not None and self.chance.explains:
            said = (
                "tables without groups, whose columns have the same tails and go together as much, are split "
                f"as well: k-means reaches up to {self.chance.without_groups:.2f} on them, and "
                f"{self.chance.own:.2f} here"
            )
        if self._gap_finds_one:
            said = "rows drawn without any groups are split about as well: the gap statistic says 1"
        if self._are_single_rows:
            said = "all groups but one are single rows"
        if not said or self.chosen.score < CLEAR_SILHOUETTE:
            return f"speaks of {strength} structure: 1 means groups far apart, 0 groups that touch"
        return f"would speak of {strength} structure, but {said}"

    def _noise_remarks(self) -> tuple[str, ...]:
        chosen, best = self.chosen, self.best
        if chosen is best:
            return ()
        loss = self.against_best(chosen)
        size = plus_minus(loss.mean, loss.standard_error) if loss.mean >= 0.0005 else "less than 0.001"
        size = "the same" if is_tie(loss) else f"{size} more"
        if not best.certificates.holds:
            return (f"{best.name} scores {size}, but its certificates do not all hold.",)
        close = "" if is_tie(loss) else ", which is within the noise of the rows"
        return (f"{best.name} scores {size}{close}; {chosen.name} is the simplest method that close.",)

    def _number_remarks(self) -> tuple[str, ...]:
        """What other criteria say about the number of groups."""
        chosen, said = self.chosen, dict[str, str]()
        if chosen.scan.parameter == "n_clusters" and len(chosen.scan.values) > 1:
            for name, words in CRITERIA.items():
                number = chosen.scan.choice_of(name)
                if name != "silhouette" and number is not None:
                    said[words] = str(number)
        for words, selection in (("the gap statistic", self.gap), ("the eigengap", self.eigengap)):
            if selection is not None:
                said[words] = f"{selection.best} (in doubt)" if selection.ambiguous else str(selection.best)
        says = [f"{name} says {number}" for name, number in said.items()]
        return (f"On the number of groups, {joined(says)}.",) if says else ()

    def _agreement_remarks(self) -> tuple[str, ...]:
        """Which methods say the same, and which firmly say something else."""
        chosen, remarks = self.chosen, list[str]()
        others = [item for item in self.clusterings if item is not chosen and item.n_groups > 1]
        adjusted = {item.name: adjusted_rand_score(chosen.predictions, item.predictions) for item in others}
        same = [item for item in others if adjusted[item.name] >= OTHER]
        if same:
            shares = [f"{item.name} {rand_score(chosen.predictions, item.predictions):.0%}" for item in same]
            remarks.append(
                f"Share of the pairs of rows that others put together or apart as {chosen.name} does: "
                f"{joined(shares)}."
            )
        for item in others:
            stability = item.measures.get("stability", 0.0)
            centred = hasattr(final_step(item.model), "cluster_centers_")  # those the silhouette is fair to
            if adjusted[item.name] < OTHER and stability >= FIRM and not centred:
                remarks.append(
                    f"{item.name} finds {item.n_groups} other groups, and finds them again in half of the "
                    f"rows (adjusted Rand {stability:.2f}): look at its map before you decide."
                )
        return tuple(remarks)


def strength_of(silhouette: float) -> str:
    """The usual word for a mean silhouette (Kaufman and Rousseeuw 1990).

    Examples
    --------
    >>> [strength_of(value) for value in (0.2, 0.4, 0.6, 0.8)]
    ['no substantial', 'weak', 'reasonable', 'strong']
    """
    if silhouette > STRONG_SILHOUETTE:
        return "strong"
    if silhouette > REASONABLE_SILHOUETTE:
        return "reasonable"
    return "weak" if silhouette >= CLEAR_SILHOUETTE else "no substantial"


CRITERIA_ROWS = 1000
"""Rows that the gap statistic and the eigengap are measured on."""

N_REFERENCES = 10
TOLD = {
    "gap": "the gap statistic",
    "eigengap": "the eigengap",
    "chance": "tables without groups to compare with",
}


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
    candidates = engine.run([Grouping(entry, encoded, seed, data.row_names) for entry in (None, *chosen)])
    skipped += engine.skipped
    ordered = ranked(candidates, skipped)
    selections: dict[str, Any] = {}
    with suppress(KeyboardInterrupt):  # the methods are done: what they found is kept
        asked: dict[str, Any] = {name: partial(select_number, encoded, name) for name in ("gap", "eigengap")}
        asked["chance"] = partial(chance_of, encoded)
        if encoded.metric != "euclidean":  # words have no gap statistic
            del asked["gap"]
        for criterion, ask in asked.items():
            if engine.has_time:
                selections[criterion] = ask(seed)
        if not engine.interrupted:
            skipped += engine.no_time_for([TOLD[name] for name in asked if name not in selections])
    selections |= {"skipped": tuple(skipped), "seconds": perf_counter() - start}
    return ClusteringComparison("clustering", data, "silhouette", ordered, None, seed, **selections)


def select_number(encoded: EncodedTable, criterion: str, seed: int) -> Selection | None:
    """The number of groups, one included, by a criterion of the table; None where it does not judge it."""
    Z = encoded.Z[encoded.measured[:: math.ceil(len(encoded.measured) / CRITERIA_ROWS)]]
    options: dict[str, Any] = {"n_references": N_REFERENCES} if criterion == "gap" else {}
    most = min(MAX_CLUSTERS, len(Z) - 1)
    if encoded.n_distinct <= most < len(Z) - 1:  # rows that repeat so much are unlike any drawn at random
        return None
    if criterion == "gap" and encoded.metric != "euclidean":  # and so are marks of words
        return None
    with warnings.catch_warnings(), suppress(ValueError):
        warnings.simplefilter("ignore")
        kmeans = KMeans(n_init=3, random_state=seed)
        return select_k(kmeans, Z, range(1, most + 1), criterion=criterion, random_state=seed, **options)
    return None


class Grouping(Contender):
    """A clusterer in a comparison: one fit that chooses its main parameter, then one for each half.

    Without an entry it is the baseline, all rows in one group.
    """

    baseline_summary = (
        "All rows in one group; its silhouette is 0 by convention, as it is not defined. What any split must "
        "beat."
    )
    score_name = "silhouette"

    def __init__(
        self, entry: Entry | None, encoded: EncodedTable, seed: int, row_names: Sequence[str] | None
    ) -> None:
        self.entry, self.encoded, self.seed, self.row_names = entry, encoded, seed, row_names
        self.n_fits = 1 if entry is None else 1 + N_RESAMPLES
        # Rows drawn at random, half of the table each time, or as many as are enough.
        random, n_rows = np.random.default_rng(seed), len(encoded.Z)
        size = min(n_rows // 2, STABILITY_ROWS)
        self._halves = [np.sort(random.choice(n_rows, size, replace=False)) for _ in range(N_RESAMPLES)]

    def work(self, fit: int, results: Sequence[Any]) -> Work:
        """Choose the main parameter; after that, look for the same groups in half of the rows."""
        if self.entry is None:
            return partial(one_group, self.encoded, self.seed)
        if fit == 0:
            return partial(choose_partition, self.entry, self.encoded, self.seed)
        return partial(agreement, results[0], self.encoded.Z, self._halves[fit - 1])

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
        # The rows that stand for their groups, by name, where the method has such rows.
        medoids, representers = getattr(chosen.model, "medoid_indices_", None), []
        if medoids is not None and self.row_names is not None:
            names = joined([str(self.row_names[row]) for row in medoids])
            representers.append(f"The rows that stand for their groups: {names}.")
        return Clustering(
            **self.headings,
            score=partition.silhouette,
            standard_error=partition.standard_error,
            scores=chosen.scores,
            measures=measures,
            fit_seconds=chosen.fit_seconds,
            parameters={} if self.entry is None else {scan.parameter: scan.values[scan.place]},
            model=model,
            certificates=Certificates() if self.entry is None else certificates_of(model),
            predictions=chosen.labels,
            notes=(*representers, *chosen.notes),
            scan=scan,
            widths=chosen.widths,
        )

    def note(self, candidate: Candidate) -> str:
        """The score in words."""
        return "silhouette 0 by convention" if self.entry is None else super().note(candidate)
