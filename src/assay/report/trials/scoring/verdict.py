"""Which method is recommended, and what may be said of it: pure functions of scores on the same splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.report.trials.scoring.resampling import compare_scores, corrected_error

LEVEL = 0.05
"""A difference with a smaller p-value is called clear."""

MOST_GIVEN_UP = 0.5
"""Share of what the best method gains on the baseline that simplicity may cost, however great the noise."""


class Verdict(NamedTuple):
    """What the scores of some methods say.

    Attributes
    ----------
    recommended : int or None
        Index of the method to use; None where every one is worse than the baseline.
    beating : tuple of bool
        Which methods are clearly above the baseline, corrected for their number.
    is_best : bool
        Whether the recommended method is clearly above every other, corrected for their number.
    as_good : tuple of bool
        Which methods may be recommended by their score: as good as the best, and above the baseline.
    """

    recommended: int | None
    beating: tuple[bool, ...]
    is_best: bool
    as_good: tuple[bool, ...] = ()


def decide(
    scores: Sequence[NDArray],
    complexity: Sequence[int],
    proven: Sequence[bool],
    baseline: NDArray | None,
    test_share: float,
    ceiling: float | None = None,
) -> Verdict:
    """Recommend the simplest method that is as good as the best one.

    As good is who loses no more than the standard error of the paired difference *and* no more than the
    noise of the best method itself, nor than half of what the best one gains on the baseline: being erratic
    earns no forgiveness. Only methods that clearly beat the baseline are eligible, if any does; else those
    that are not below it. No method is recommended while a simpler one scores more, nor one whose
    certificates fail while one whose certificates hold is as good.

    Parameters
    ----------
    scores : sequence of ndarray
        Scores of each method, split by split; the greater the better.
    complexity : sequence of int
        How much there is to understand in each.
    proven : sequence of bool
        Whether the certificates of each hold.
    baseline : ndarray or None
        Scores of what any method must beat.
    test_share : float
        Share of the rows that a split predicts.
    ceiling : float or None
        What the baseline never scores more than: who is clearly above it beats the baseline.
    """
    told = [np.asarray(item, dtype=np.float64) for item in scores]
    table = _Table(told, complexity, baseline, test_share, ceiling)
    beating = table.beating()
    everyone = range(len(scores))
    eligible = [index for index in everyone if beating[index]]
    if not eligible:
        eligible = [index for index in everyone if table.gain(index) >= 0]
    if not eligible:
        return Verdict(None, beating, is_best=False, as_good=(False,) * len(scores))
    best = table.leader(eligible)
    near = [index for index in eligible if table.as_good(best, index)]
    if holding := [index for index in near if proven[index]]:
        # The best whose certificates hold loses no more than one that is as good does.
        eligible = [index for index in eligible if proven[index]]
        near = sorted({*holding, table.leader(eligible)})
    chosen = table.simplest(near, eligible)
    return Verdict(chosen, beating, table.is_clearly_best(chosen), tuple(index in near for index in everyone))


class _Table:
    """Scores of the methods on the same splits, and the comparisons that the rule is made of."""

    def __init__(
        self,
        scores: Sequence[NDArray],
        complexity: Sequence[int],
        baseline: NDArray | None,
        test_share: float,
        ceiling: float | None,
    ) -> None:
        self.scores, self.complexity, self.baseline = scores, complexity, baseline
        self.test_share, self.ceiling = test_share, ceiling
        self.means = [float(item.mean()) for item in scores]

    def gain(self, index: int) -> float:
        """What a method has above the baseline, on average."""
        return np.inf if self.baseline is None else self.means[index] - float(np.mean(self.baseline))

    def beating(self) -> tuple[bool, ...]:
        if self.baseline is None:
            return (True,) * len(self.scores)
        chances = [self._chance_above(item, self.baseline) for item in self.scores]
        if self.ceiling is not None:
            # A baseline that explodes on some splits would hide by its own noise that it is worse. The
            # second test is corrected for being one.
            top = np.full(self.baseline.shape, self.ceiling)
            above = [2 * self._chance_above(item, top) for item in self.scores]
            chances = [min(pair) for pair in zip(chances, above, strict=True)]
        return tuple(bool(chance < LEVEL) for chance in holm(chances))

    def leader(self, indices: Sequence[int]) -> int:
        return max(indices, key=lambda index: (self.means[index], -self.complexity[index]))

    def noise(self, index: int) -> float:
        """Standard error of a method's own score, or of what it gains on the baseline if that is less."""
        errors = [corrected_error(self.scores[index], self.test_share)]
        if self.baseline is not None:
            errors.append(corrected_error(self.scores[index] - self.baseline, self.test_share))
        return float(np.nanmin([*errors, np.inf]))

    def as_good(self, best: int, other: int) -> bool:
        if other == best:
            return True
        loss = compare_scores(self.scores[best], self.scores[other], self.test_share)
        most = min(loss.standard_error, self.noise(best), MOST_GIVEN_UP * max(self.gain(best), 0.0))
        return loss.mean <= max(most, 0.0)

    def simplest(self, near: Sequence[int], eligible: Sequence[int]) -> int:
        """The simplest of those that are as good as the best, and below no simpler one that is eligible."""
        # The leader is among them and dominated by nobody, so that someone is always left.
        front = [index for index in near if not any(self._dominates(other, index) for other in eligible)]
        return min(front, key=lambda index: (self.complexity[index], -self.means[index]))

    def _dominates(self, one: int, other: int) -> bool:
        return self.complexity[one] <= self.complexity[other] and self.means[one] > self.means[other]

    def is_clearly_best(self, index: int) -> bool:
        others = [item for number, item in enumerate(self.scores) if number != index]
        if self.baseline is not None:
            # A rival that explodes on some splits is given the baseline's score there: that only raises its
            # mean, and takes away the noise behind which it would hide that it is worse.
            others = [np.maximum(item, self.baseline) for item in others]
        own = self.scores[index]
        return all(self._chance_above(own, item) * len(others) < LEVEL for item in others)

    def _chance_above(self, one: NDArray, other: NDArray) -> float:
        """Probability of a gain as large as that of one method on another if there were none."""
        gain = compare_scores(one, other, self.test_share)
        return gain.p_value / 2 if gain.mean > 0 else 1.0


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    """p-values corrected for their number: below 0.05 for a true hypothesis in 5% of cases at most.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values)
    grown = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(grown, 1.0)
    return corrected
