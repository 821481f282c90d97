"""The one engine of boosting: loss × direction oracle × line search × shrinkage.

The score f of every row grows by one learner per round,

    f_t = f_{t−1} + ν w_t g_t,        g_t from the oracle, w_t from the line search,

and nothing else distinguishes AdaBoost, its variants, forward stagewise models and gradient boosting. Votes
of several classes walk on margins: the target of every row is then 1, its score the margin of its own class,
and a learner adds to it what it says about that class. Sums of several classes have a score per class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.losses import Exponential, Loss

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class State:
    """Where a round begins: the loss, the targets, the weights of the rows, and their scores so far."""

    loss: Loss
    y: Array
    weight: Array
    scores: Array

    @cached_property
    def log_scale(self) -> float:
        """Logarithm of the factor that `residuals` leave out: exponentials of any size stay numbers."""
        if not isinstance(self.loss, Exponential):
            return 0.0
        return float((-self.y * self.scores)[self.weight > 0].max())

    @cached_property
    def residuals(self) -> Array:
        """−∂ℓ/∂f of each row of weight 1, up to the factor e^`log_scale`."""
        if isinstance(self.loss, Exponential):
            return np.asarray(self.y * np.exp(np.minimum(-self.y * self.scores - self.log_scale, 0.0)))
        return -np.asarray(self.loss.gradient(self.y, self.scores), dtype=np.float64)

    @property
    def slopes(self) -> Array:
        """−∂ℓ/∂f of each row of weight 1; up to a factor only where exponentials are no floats any more."""
        return self.residuals * np.exp(min(self.log_scale, 300.0)) if self.log_scale else self.residuals

    def shares(self) -> Array:
        """D_t: share of each row in the slope of the risk, as a distribution over the rows."""
        return self._shares

    @cached_property
    def _shares(self) -> Array:
        pull = self.weight * np.abs(self.residuals)
        total = pull.sum()
        return pull / total if total > 0 else self.weight / self.weight.sum()

    def along(self) -> tuple[Array, Array]:
        """Scores and weights from which the risk along a direction is a mean of losses, up to a factor.

        Of the exponential loss, e^{−y(f + wg)} = e^{−yf} e^{−ywg}: the first factor is a weight.
        """
        if isinstance(self.loss, Exponential):
            return np.zeros_like(self.scores), self.weight * np.abs(self.residuals)
        return self.scores, self.weight

    def log_risk(self) -> float:
        """Logarithm of the mean loss."""
        return self._log_risk

    @cached_property
    def _log_risk(self) -> float:
        if isinstance(self.loss, Exponential):
            mean = float(np.sum(self.weight * np.abs(self.residuals)) / self.weight.sum())
            return float(np.log(mean)) + self.log_scale
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.log(self.risk()))

    def risk(self) -> float:
        """Mean loss; inf where it is no float any more."""
        if isinstance(self.loss, Exponential):
            with np.errstate(over="ignore"):
                return float(np.exp(self.log_risk()))
        return self._mean_loss

    @cached_property
    def _mean_loss(self) -> float:
        return float(np.average(self.loss.value(self.y, self.scores), weights=self.weight))


class Direction(NamedTuple):
    """What an oracle answers.

    Attributes
    ----------
    learner : object
        What says the same about other rows.
    values : array of shape (n_rows,)
        What a step of 1 adds to the score of each row.
    error : float
        Share D_t of the rows that a classifier gets wrong; NaN for other learners.
    answers : array, optional
        What the learner says about each row, for an observer: places of classes, or a score per class.
    """

    learner: Any
    values: Array
    error: float = np.nan
    answers: Any = None


Oracle = Callable[[State], Direction]
LineSearch = Callable[[State, Direction], float]
Observer = Callable[[State, Direction, float], None]


class Round(NamedTuple):
    """One round: its learner, the step before shrinkage, and the numbers of the round.

    Attributes
    ----------
    learner : object
    step : float
        ν w_t.
    error : float
        As in `Direction`.
    agreement : float
        γ_t = 1 − ‖r − w g‖²/‖r‖² under the weights of the rows, at the multiple w of g nearest to r.
    log_risk, risk : float
        The mean loss after the round and its logarithm, which stays a number where the loss does not.
    """

    learner: Any
    step: float
    error: float
    agreement: float
    log_risk: float
    risk: float


class Trace(NamedTuple):
    """What `boost` gives.

    Attributes
    ----------
    rounds : list of Round
    scores : array of shape (n_rows,)
        After the last round.
    log_risk, risk : float
        The mean loss before the first round, and its logarithm.
    stop : {"rounds", "perfect", "chance"}
        All rounds were made; a learner made no mistake, and is kept alone; no learner was any better than
        chance, or nothing was left to fit.
    """

    rounds: list[Round]
    scores: Array
    log_risk: float
    risk: float
    stop: str


def boost(
    loss: Loss,
    oracle: Oracle,
    line_search: LineSearch,
    shrinkage: float,
    n_rounds: int,
    *,
    y: Array,
    weight: Array,
    start: Any = 0.0,
    observer: Observer | None = None,
) -> Trace:
    """Boost: a pure function of its arguments.

    Parameters
    ----------
    loss : Loss
    oracle : callable
        `oracle(state)` gives the direction of a round.
    line_search : callable
        `line_search(state, direction)` gives its step; inf for a direction that no step exhausts, 0 to stop.
    shrinkage : float
        ν in (0, 1].
    n_rounds : int
    y, weight : arrays of shape (n_rows,)
        Targets, and weights that mean repetition.
    start : float or array of scores
        f_0, a constant or the score of each row.
    observer : callable, optional
        Told the state after each round, its direction and its step.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Squared
    >>> from assay.trees.stagewise.engine import Direction, boost
    >>> from assay.trees.stagewise.steps import squared_step
    >>> y, signs = np.array([3.0, 1.0]), np.array([1.0, -1.0])
    >>> trace = boost(Squared(), lambda state: Direction("signs", signs), squared_step, 1.0, 1,
    ...               y=y, weight=np.ones(2), start=2.0)
    >>> trace.scores
    array([3., 1.])
    """
    first_scores = np.full(len(y), start) if np.ndim(start) == 0 else np.array(start, dtype=np.float64)
    state = State(loss, y, weight, first_scores)
    first = state.log_risk(), state.risk()
    rounds: list[Round] = []
    for _ in range(n_rounds):
        direction = oracle(state)
        step = line_search(state, direction)
        if np.isinf(step):
            alone = Round(direction.learner, step, direction.error, 1.0, -np.inf, 0.0)
            return Trace([alone], np.sign(step) * np.inf * direction.values, *first, "perfect")
        if step == 0.0 or not np.any(direction.values[weight > 0]):
            return Trace(rounds, state.scores, *first, "chance")
        agreement = projection(state.residuals, direction.values, weight)
        state = replace(state, scores=state.scores + (shrinkage * step) * direction.values)
        risks = state.log_risk(), state.risk()
        rounds.append(Round(direction.learner, shrinkage * step, direction.error, agreement, *risks))
        if observer is not None:
            observer(state, direction, shrinkage * step)
    return Trace(rounds, state.scores, *first, "rounds")


def by_row(weight: Array, values: Array) -> Array:
    """Weights of rows that multiply a number per row, or a number per row and class."""
    return weight if values.ndim == 1 else weight[:, np.newaxis]


def projection(residuals: Array, values: Array, weight: Array) -> float:
    """1 − ‖r − w g‖²/‖r‖² at the best w: the squared cosine of the angle between r and g."""
    weight = by_row(weight, values)
    both = float(np.sum(weight * residuals * values))
    size = float(np.sum(weight * residuals**2)) * float(np.sum(weight * values**2))
    return min(both * both / size, 1.0) if size > 0 else 0.0
