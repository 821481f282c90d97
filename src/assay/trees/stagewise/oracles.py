"""Direction oracles: which learner a round adds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from assay.trees.stagewise.engine import Array, Direction, LineSearch, State
from assay.trees.stagewise.stumps import Choice, SortedRows, best_stump, units_of

SMALLEST_CHANCE = float(np.finfo(np.float64).eps)
"""What probabilities of classes are clipped at before their logarithm is taken."""

ROUNDING = 1e-11
"""Relative rounding of whole units from which floats are added up instead: weights of very different size."""


class Votes(NamedTuple):
    """What a classifier that is right or wrong adds to the margin of a row, by the number of classes.

    The code of a class is 1 at its place and −1/(C − 1) elsewhere; the margin of a row of class y with scores
    f is ỹᵀf/C: a learner adds 1/(C − 1) where it is right and −1/(C − 1)² where it is wrong. ±1 for two.
    """

    right: float
    wrong: float

    def of(self, is_wrong: NDArray[np.bool_]) -> Array:
        """What is added to each row."""
        return np.where(is_wrong, self.wrong, self.right)


def samme_votes(n_classes: int) -> Votes:
    """Votes of coded classes."""
    return Votes(1.0 / (n_classes - 1), -1.0 / (n_classes - 1) ** 2)


NAIVE_VOTES = Votes(1.0, -1.0)


def fresh_copy(learner: Any, draws: np.random.Generator) -> Any:
    """A copy of a learner that is not fitted, with a drawn seed for each of its parts that takes one."""
    member = clone(learner)
    names = [name for name in member.get_params(deep=True) if name.rpartition("__")[2] == "random_state"]
    return member.set_params(**{name: int(draws.integers(2**31)) for name in sorted(names)})


@dataclass(frozen=True)
class StumpOracle:
    """The exact stump most correlated with the negative gradient: the one of least weighted error."""

    rows: SortedRows
    votes: Votes
    keep: Callable[[Choice, Array], Any]

    def __call__(self, state: State) -> Direction:
        """The stump under the distribution D_t of the state, and its error."""
        pull = np.abs(state.residuals)
        top = float(pull[state.weight > 0].max(initial=0.0))
        units = units_of(np.minimum(pull / (top or 1.0), 1.0), state.weight)
        choice = best_stump(self.rows, units)
        stump = choice.stump
        said = np.where(choice.goes_left, stump.left, stump.right)
        is_wrong = said != self.rows.labels
        error = weighted_error(is_wrong, units, state)
        return Direction(self.keep(choice, state.shares()), self.votes.of(is_wrong), error, said)


def weighted_error(is_wrong: NDArray[np.bool_], units: NDArray[np.int64], state: State) -> float:
    """Share D_t of the rows that are wrong: exactly 0 only where no row that weighs anything is."""
    if not np.any(is_wrong & (state.weight > 0)):
        return 0.0
    wrong = int(units[is_wrong].sum())
    if 0.5 * np.count_nonzero(is_wrong) <= ROUNDING * wrong:
        return wrong / int(units.sum())
    return float(f"{max(state.shares()[is_wrong].sum(), np.finfo(np.float64).tiny):.12e}")


@dataclass(frozen=True)
class ClassifierOracle:
    """Any classifier, fitted under D_t: `fit` takes these weights, `say` gives places of classes."""

    fit: Callable[[Array], Any]
    say: Callable[[Any], NDArray[np.int64]]
    labels: NDArray[np.int64]
    votes: Votes

    def __call__(self, state: State) -> Direction:
        """The classifier and its error."""
        share = state.shares()
        learner = self.fit(share)
        said = self.say(learner)
        is_wrong = said != self.labels
        error = float(share[is_wrong].sum()) if np.any(is_wrong & (state.weight > 0)) else 0.0
        return Direction(learner, self.votes.of(is_wrong), error, said)


@dataclass(frozen=True)
class ProbabilityOracle:
    """SAMME.R: a classifier adds centred logarithms of probabilities, h_k = (C−1)(log p_k − mean log p).

    On the margin of a row of class y that is log p_y − (1/C) Σ_k log p_k.
    """

    fit: Callable[[Array], Any]
    say: Callable[[Any], Array]
    labels: NDArray[np.int64]

    def __call__(self, state: State) -> Direction:
        """The classifier and the error of its largest probability."""
        share = state.shares()
        learner = self.fit(share)
        chances = self.say(learner)
        logs = centred_logs(chances)
        is_wrong = chances.argmax(axis=1) != self.labels
        values = logs[np.arange(len(logs)), self.labels]
        return Direction(learner, values, float(share[is_wrong].sum()), (len(logs[0]) - 1) * logs)


def centred_logs(chances: Array) -> Array:
    """Give log p_k − (1/C) Σ_j log p_j of each row, with p clipped away from 0."""
    logs = np.log(np.maximum(chances, SMALLEST_CHANCE))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


@dataclass(frozen=True)
class LeastSquaresOracle:
    """Any regressor, fitted to the pseudo-residuals."""

    fit: Callable[[Array, Array], Any]
    say: Callable[[Any], Array]

    def __call__(self, state: State) -> Direction:
        """The regressor."""
        learner = self.fit(state.slopes, state.weight)
        return Direction(learner, self.say(learner))


@dataclass(frozen=True)
class SignOracle:
    """The ±1 classifier most correlated with the residuals: fitted to their signs, weighed by their sizes."""

    fit: Callable[[Array, Array], Any]
    say: Callable[[Any], Array]

    def __call__(self, state: State) -> Direction:
        """The classifier."""
        signs = np.where(state.residuals >= 0, 1.0, -1.0)
        learner = self.fit(signs, state.shares())
        values = self.say(learner)
        return Direction(learner, values, float(state.shares()[values != signs].sum()))


@dataclass(frozen=True)
class ExhaustiveOracle:
    """The member of a finite class whose best step lowers the mean loss most: Algorithm 1.

    Attributes
    ----------
    candidates : array of shape (n_candidates, n_rows)
        What each member says about the rows of the fit.
    search : LineSearch
    positive : bool
        Whether only steps above 0 count, as for a class that has −g for every g.
    """

    candidates: Array
    search: LineSearch
    positive: bool = False

    def __call__(self, state: State) -> Direction:
        """The best member, by its place."""
        scores, weight = state.along()
        best, least = 0, np.inf
        for place, values in enumerate(self.candidates):
            step = self.search(state, Direction(place, values))
            if not np.isfinite(step) or (self.positive and step < 0):
                if step == np.inf:
                    return Direction(place, values, 0.0)
                continue
            risk = float(np.sum(weight * state.loss.value(state.y, scores + step * values)))
            if risk < least * (1.0 - 1e-13):
                best, least = place, risk
        return Direction(best, self.candidates[best])
