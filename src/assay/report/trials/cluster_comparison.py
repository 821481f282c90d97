"""What a comparison of clusterers found, and the sentences that sum it up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, rand_score

from assay.cluster import Silhouette
from assay.models import Selection
from assay.report.trials.cluster_trial import Scan
from assay.report.trials.comparison import Candidate, Comparison, final_step
from assay.report.trials.wording import joined, plus_minus

CLEAR_SILHOUETTE = 0.25
"""Below this mean silhouette there is no substantial structure (Kaufman and Rousseeuw 1990)."""

STRONG_SILHOUETTE = 0.5
"""Above this one it is strong."""

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
    """The result of `compare` without a target.

    Attributes
    ----------
    gap, eigengap : Selection or None
        What the gap statistic of k-means, and the eigenvalues of the graph of neighbours, say about the
        number of groups; None when there was no time for them.
    """

    gap: Selection | None = None
    eigengap: Selection | None = None

    @property
    def clusterings(self) -> tuple[Clustering, ...]:
        """The candidates that look for groups, best first."""
        return tuple(
            item for item in self.candidates if isinstance(item, Clustering) and not item.is_baseline
        )

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
        return chosen.n_groups > 1 and chosen.score >= CLEAR_SILHOUETTE and not self._gap_finds_one

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        chosen = self.chosen
        score = f"{self.score_name} {chosen.score:.2f}"
        if chosen.n_groups < 2:
            return f"No clear groups in {self.data.name}: {chosen.name} finds none"
        if not self.is_clear:
            return f"No clear groups in {self.data.name}: the best split, into {chosen.n_groups}, has {score}"
        return f"{self.data.name} falls best into {chosen.n_groups} groups: {score}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What one must know beside the headline."""
        return (
            *self._group_remarks(),
            *self._noise_remarks(),
            *self._number_remarks(),
            *self._agreement_remarks(),
            "The silhouette favours round groups: it does not see long or bent ones, which the maps show.",
        )

    @property
    def _gap_finds_one(self) -> bool:
        return self.gap is not None and self.gap.best == 1 and not self.gap.ambiguous

    def _group_remarks(self) -> tuple[str, ...]:
        chosen = self.chosen
        if chosen.n_groups < 2:
            return ()
        sizes = np.unique(chosen.predictions[chosen.predictions >= 0], return_counts=True)[1]
        listed = joined([str(size) for size in sorted(sizes, reverse=True)])
        left_out = ""
        if chosen.n_noise:
            share = chosen.n_noise / len(chosen.predictions)
            left_out = f" {chosen.name} leaves {chosen.n_noise} rows ({share:.0%}) in no group; they count 0."
        strength = (
            "strong"
            if chosen.score > STRONG_SILHOUETTE
            else ("reasonable" if chosen.score >= CLEAR_SILHOUETTE else "weak")
        )
        speaks = f"speaks of {strength} structure: 1 means groups far apart, 0 groups that touch"
        if self._gap_finds_one:
            speaks = (
                f"would speak of {strength} structure, but rows drawn without any groups are split about as "
                "well: the gap statistic says 1"
            )
        return (
            f"The groups of {chosen.name} explain {chosen.measures['explained']:.0%} of the variance of the "
            "columns.",
            f"They have {listed} rows.{left_out}",
            f"A silhouette of {chosen.score:.2f} {speaks}.",
        )

    def _noise_remarks(self) -> tuple[str, ...]:
        chosen, best = self.chosen, self.best
        if chosen is best:
            return ()
        loss = self.against_best(chosen)
        if not best.certificates.holds:
            return (f"{best.name} scores more, but its certificates do not all hold.",)
        size = plus_minus(loss.mean, loss.standard_error) if loss.mean >= 0.0005 else "less than 0.001"
        return (
            f"{best.name} scores {size} more, which is within the noise of the rows; {chosen.name} is the "
            "simplest method that close.",
        )

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
        firm = [
            item
            for item in others
            if adjusted[item.name] < OTHER
            and item.measures.get("stability", 0.0) >= FIRM
            and not hasattr(final_step(item.model), "cluster_centers_")  # those the silhouette is fair to
        ]
        for item in firm:
            remarks.append(
                f"{item.name} finds {item.n_groups} other groups, and finds them again in half of the rows "
                f"(adjusted Rand {item.measures['stability']:.2f}): look at its map before you decide."
            )
        return tuple(remarks)
