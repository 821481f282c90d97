"""What is told of the recommended model beside its score: effects, learning curve, threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.report.trials.explaining.importance import Importances
from assay.report.trials.scoring.resampling import Difference
from assay.report.wording import NOTHING, joined, plus_minus, short

CLEAR = 0.05
"""A gain with a smaller p-value is called clear."""

SMALL_GAIN = 0.01
"""A gain in the score that is surely below this is hardly worth more rows."""

NAMED = 3
"""Columns that the sentence on importances names."""


class Effect(NamedTuple):
    """How the prediction moves with one column, around its mean, in the units of the table.

    Attributes
    ----------
    column : str
    kind : {"number", "date", "level"}
        Dates are told in days since 1970.
    positions : array of shape (n_values,)
        The values; 0, 1, ... for levels.
    names : tuple of str
        The levels.
    curves, errors : arrays of shape (n_values, n_outputs)
        Mean over the models of the splits, each on rows that it has not seen, and standard errors.
    outputs : tuple of str
        The classes whose probabilities the curves are; empty for a regression.
    partner : str
        The column that goes together with this one, for which reason the effect is accumulated from local
        steps; empty for a partial dependence.
    correlation : float
        With the partner.
    """

    column: str
    kind: str
    positions: NDArray
    names: tuple[str, ...]
    curves: NDArray
    errors: NDArray
    outputs: tuple[str, ...] = ()
    partner: str = ""
    correlation: float = 0.0

    @property
    def is_local(self) -> bool:
        """Whether it was accumulated from local steps."""
        return bool(self.partner)


class LearningCurve(NamedTuple):
    """The score on the same unseen rows after learning from ever more rows.

    Attributes
    ----------
    sizes : array of shape (n_sizes,)
        Rows learnt from, increasing, on average over the splits; the last is what the folds have.
    scores, errors : arrays of shape (n_sizes,)
        Mean score over the splits and its standard error.
    gain : Difference
        What the last step gained, split by split; positive for the better.
    score_name : str
    sign : int
        −1 where the score is an error, which better models have less of.
    n_splits : int or None
        Splits that the scores are means over, where those are not all.
    member : str
        The member of an ensemble whose scores they are: the one of the greatest weight.
    """

    sizes: NDArray
    scores: NDArray
    errors: NDArray
    gain: Difference
    score_name: str
    sign: int = 1
    n_splits: int | None = None
    member: str = ""

    @property
    def sentence(self) -> str:
        """Whether more rows would help."""
        before, after = (f"{size:,}" for size in self.sizes[-2:])
        return f"{self.verdict.rstrip('.')}: from {before} to {after} rows {self._change}."

    @property
    def verdict(self) -> str:
        """Whether more rows would help, in a few words."""
        # An error has a unit: what is small is small beside the error itself.
        small = SMALL_GAIN if self.sign > 0 else SMALL_GAIN * abs(float(self.scores[-1]))
        if self.gain.mean > 0 and self.gain.p_value < CLEAR and not self._is_nothing:
            return "More rows would help."
        if self.gain.mean + 2 * self.gain.standard_error < small:
            return "More rows would hardly help."
        return "Whether more rows would help is not clear."

    @property
    def _is_nothing(self) -> bool:
        """Whether the last step changed the score by nothing that its decimals would show."""
        return self.sign > 0 and max(abs(self.gain.mean), self.gain.standard_error) < NOTHING

    @property
    def _change(self) -> str:
        size = plus_minus(abs(self.gain.mean) if self.sign < 0 else self.gain.mean, self.gain.standard_error)
        size = "less than 0.001" if self._is_nothing else size
        member = f"{self.member}, its strongest member," if self.member else ""
        if self.sign > 0:
            return f"{member or 'it'} gained {size} in {self.score_name}"
        verb = "fell" if self.gain.mean >= 0 else "rose"
        whose = f"the {self.score_name} of {member}" if member else f"its {self.score_name}"
        return f"{whose} {verb} by {size}"


class Threshold(NamedTuple):
    """From which probability on the rarer of two classes is best named.

    Attributes
    ----------
    label : str
        Name of the rarer class.
    place : int
        Its place among the sorted labels.
    value : float
        The probability.
    before, after : float
        The measure out of fold when the likelier class is named, and with a threshold chosen on the other
        folds: means over the splits, as the scores are.
    caught, right : tuple of float
        Share of the rows of the rarer class that are named, and share of the rows named that are right,
        before and after.
    grid, curve : arrays
        The measure by threshold.
    method : str
        Whose probabilities they are, if not those of the recommended model.
    measure : str
        What the threshold was chosen by.
    sign : int
        −1 for an error, which better thresholds have less of.
    """

    label: str
    place: int
    value: float
    before: float
    after: float
    caught: tuple[float, float]
    right: tuple[float, float]
    grid: NDArray
    curve: NDArray
    method: str = ""
    measure: str = "balanced accuracy"
    sign: int = 1

    @property
    def helps(self) -> bool:
        """Whether the measure gets better by more than a hundredth."""
        return self.sign * (self.after - self.before) > 0.01

    @property
    def sentence(self) -> str:
        """What the threshold is good for and what it costs."""
        if not self.helps:
            return (
                f"No other threshold than the likelier class would name {self.label!r} better: "
                f"{self.measure} {self.before:.2f}, with a threshold {self.after:.2f}."
            )
        begin = f"With {self.method}, named" if self.method else "Named"
        return (
            f"{begin} from a probability of {self.value:.2f} on, {self.caught[1]:.0%} of the {self.label!r} "
            f"are caught in place of {self.caught[0]:.0%}, and {self.right[1]:.0%} of those named are right "
            f"in place of {self.right[0]:.0%}: {self.measure} {self.after:.2f} in place of "
            f"{self.before:.2f}."
        )


@dataclass(frozen=True)
class Explanation:
    """What the recommended model has learnt.

    Attributes
    ----------
    importances : Importances or None
    effects : tuple of Effect
        Of the columns that matter most.
    learning : LearningCurve or None
    threshold : Threshold or None
        For two classes of which one is rare.
    cautions : tuple of str
        What else must be known of the predictions.
    n_splits : int or None
        Splits that it comes from, where those are not all.
    """

    importances: Importances | None = None
    effects: tuple[Effect, ...] = ()
    learning: LearningCurve | None = None
    threshold: Threshold | None = None
    cautions: tuple[str, ...] = ()
    n_splits: int | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What stands beside the headline."""
        return tuple(self._sentences())

    def _sentences(self) -> Iterator[str]:
        if self.importances is not None and len(self.importances.columns) > 1:
            yield weight_of_columns(self.importances)
        if self.threshold is not None:
            yield self.threshold.sentence
        yield from self.cautions
        if self.learning is not None:
            yield self.learning.sentence


def weight_of_columns(importances: Importances) -> str:
    """The columns that matter most and what shuffling them costs, in a sentence."""
    names = importances.matters[:NAMED]
    if not names:
        any_one = "any one"
        if importances.n_columns is not None:
            any_one += f" of the {len(importances.columns)} that move its predictions most"
        return f"No single column matters by itself: shuffling {any_one} costs nothing clear."
    places = [importances.columns.index(name) for name in names]  # one that is not clear may stand between
    sizes = [plus_minus(importances.means[place], importances.errors[place]) for place in places]
    cost = f"takes {joined(sizes)} from the R²"
    if importances.measure != "R²":
        cost = f"adds {joined(sizes)} to the {importances.measure}"
    shuffled = "shuffling it" if len(names) == 1 else "shuffling one of them"
    told = joined([short(name) for name in names])
    return f"It relies most on {told}: {shuffled} {cost}{', in turn' * (len(names) > 1)}."


def below_zero(y: NDArray, predictions: NDArray, target: str | None) -> Iterator[str]:
    """A sentence on predictions below zero of a target that never is."""
    negative = float(np.mean(predictions < 0))
    if y.min() >= 0 and negative > 0:
        share = f"{negative:.1%}" if negative >= 0.0005 else "A few"
        yield (
            f"{share} of its predictions of unseen rows are below zero, where {target} never is: read them "
            "as zero, or take a method for such targets."
        )
