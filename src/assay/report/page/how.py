"""How a comparison was measured where it was not as usual."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.report.tables.checks.associations import short
from assay.report.trials.clusters.comparison import ClusteringComparison
from assay.report.trials.comparison import Comparison

IN_ORDER = (
    "Cross-validation: the rows are put in the order of {by} and cut into stretches of time; each of "
    "{folds}, the same for every method, is predicted by a model fitted on the rows before it, without the "
    "last ones (a hundredth of the rows, at least one time). The first stretch is learnt from alone."
)
BY_GROUPS = (
    "Cross-validation: the groups that {by} names are shuffled (seed {seed}) and cut into {folds} folds, "
    "{times}, the same for every method. Each fold is predicted by a model fitted on the others, which has "
    "seen no row of its groups; {by} itself is not learnt from."
)
GOWER = (
    "Rows are compared by Gower's distance, a sum over the columns: numbers differ by their difference over "
    "the mean difference of two rows, words by one or nothing, which counts half as much on average. What is "
    "missing counts as the middle."
)
STANDARDISED = (
    "Every column is centred and scaled to standard deviation 1, so that units do not matter; a missing "
    "number counts as the median."
)
SHUFFLED = (
    "The eigengap looks at the graph of 10 neighbours of each row, of up to 1000 rows. Where the silhouette "
    "is no better than the best of 19 tables whose columns were shuffled, so that none goes with another, "
    "the page says that there are no clear groups."
)


def own_words(comparison: Comparison, usual: Sequence[str]) -> Iterator[str]:
    """The sentences on how the numbers came about, with those in place that hold for this table."""
    data = comparison.data
    by = repr(short(str(data.time or data.group))).replace("{", "{{").replace("}", "}}")
    for sentence in usual:
        if sentence.startswith("Cross-validation: the rows are shuffled"):
            other = IN_ORDER if data.times is not None else BY_GROUPS if data.groups is not None else sentence
            yield other.replace("{by}", by)
        elif sentence.startswith("Every fold has its share of each class.") and data.times is not None:
            yield sentence.removeprefix("Every fold has its share of each class. ")
        elif isinstance(comparison, ClusteringComparison) and sentence.startswith("Every column is centred"):
            yield GOWER if comparison.is_mixed else STANDARDISED
        elif isinstance(comparison, ClusteringComparison) and sentence.startswith("The gap statistic"):
            yield SHUFFLED if comparison.is_mixed else sentence
        else:
            yield sentence
