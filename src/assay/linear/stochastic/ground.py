"""What a stochastic descent stands on, and how it is kept between calls of `partial_fit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.linear.least_squares.engine import Array
from assay.linear.margin.base import LEVEL
from assay.losses import Loss
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows
from assay.solvers.in_memory import targets_and_weights
from assay.solvers.piecewise.frame import Frame, MachineLoss, frame_of
from assay.solvers.stochastic.sgd import LEARNING_RATES, Sgd, SgdState, base_step

# Domains of the parameters that the two stochastic estimators share.


# Of the rules only some are options for the checks that walk the package: "root" and "constant" are "auto"
# and "optimal" with other numbers there, and the steps of "rmsprop" make the rounding of a sum grow.
LEARNING_RATE = Domain(
    parameters.one_of(*LEARNING_RATES).words,
    lambda value: isinstance(value, str) and value in LEARNING_RATES,
    ("auto", "invscaling", "optimal", "adagrad", "adadelta", "adam"),
)

SGD_DOMAINS: Mapping[str, Domain] = {
    "penalty": parameters.nothing | parameters.one_of("l2", "l1", "elasticnet"),
    "alpha": parameters.real(at_least=0),
    "l1_ratio": parameters.real(at_least=0, at_most=1),
    "fit_intercept": parameters.boolean,
    "learning_rate": LEARNING_RATE,
    "eta0": parameters.real(above=0),
    "batch_size": parameters.integer(at_least=1),
    "average": parameters.boolean,
    "tol": parameters.real(above=0),
    "max_iter": parameters.integer(at_least=1),
    "early_stopping": parameters.boolean,
    "validation_fraction": LEVEL,
    "n_iter_no_change": parameters.integer(at_least=1),
    "history": parameters.boolean,
    "random_state": parameters.random_state,
}


class SgdGround(NamedTuple):
    """Coordinates (columns less `shift`, over `scale`), the spread of the target, its level, the step 1/L."""

    shift: Array
    scale: Array
    spread: float
    level: float
    step: float

    def frame(self, intercept: bool) -> Frame:
        """The coordinates as the solvers take them."""
        return Frame(self.shift, self.scale, intercept)


def ground_of(
    data: Rows, loss: Loss, spread: float, level: float, batch: int, intercept: bool, known: SgdGround | None
) -> SgdGround:
    """Columns of mean 0 and mean square 1, and 1/L there.

    With the ground of earlier rows, their coordinates, and a step that is not too long for further rows.
    """
    frame = frame_of(data, intercept=intercept, shift=intercept) if known is None else known.frame(intercept)
    spread = spread if known is None else max(spread, known.spread)
    step = base_step(data, frame, MachineLoss(loss), spread, batch)
    if known is None:
        return SgdGround(frame.shift, frame.scale, spread, level, step)
    return known._replace(spread=spread, step=min(step, known.step))


def packed(ground: SgdGround, fits: list[Sgd], passes: int) -> dict[str, Any]:
    """Where a descent stands as plain arrays and numbers: its ground, the state of each machine, passes.

    The answers are kept beside, in the coordinates of the ground.
    """
    states = {name: np.array([getattr(fit.state, name) for fit in fits]) for name in SgdState._fields}
    answers = np.array([fit.point for fit in fits])
    return {**ground._asdict(), **states, "passes": passes, "answers": answers}


def unpacked(kept: dict[str, Any]) -> tuple[SgdGround, list[SgdState], int]:
    """What `packed` wrote, with arrays of its own; averages forget at the powers of two of passes."""
    ground, passes = SgdGround(*(kept[name] for name in SgdGround._fields)), kept["passes"]
    columns = (kept[name] for name in SgdState._fields)
    states = [SgdState(vectors.copy(), int(n), int(m)) for vectors, n, m in zip(*columns, strict=True)]
    forget = passes & (passes - 1) == 0
    return ground, [state.forgotten() for state in states] if forget else states, passes


# Rows held out of a stochastic descent: when to stop, and what the fit is worth on them.


class HeldOut(NamedTuple):
    """Features, targets (numbers or class numbers) and weights of the rows held out."""

    X: NDArray
    y: NDArray
    weight: Array

    def mean_loss(self, machine: MachineLoss[Loss], coef: Array, intercept: float) -> float:
        """Mean loss of a linear score."""
        losses = machine.loss.value(machine.target(self.y), self.X @ coef + intercept)
        return float(np.average(losses, weights=self.weight))

    def constant_loss(self, machine: MachineLoss[Loss]) -> float:
        """Mean loss of the constant that is best on these rows themselves."""
        target = machine.target(self.y)
        best = machine.loss.constant_minimiser(target, self.weight)
        # One class only among the rows: the best constant of a margin loss is infinite, its loss zero.
        if not np.isfinite(best):
            return 0.0
        return float(np.average(machine.loss.value(target, np.array(best)), weights=self.weight))


class Patience:
    """Remembers the least loss on the rows held out, and where it was."""

    def __init__(self, tol: float, n_iter_no_change: int) -> None:
        self.tol, self.most = tol, n_iter_no_change
        self.losses: list[float] = []
        self.best, self.point, self.waited = np.inf, np.zeros(0), 0

    def exhausted(self, loss: float, point: Array) -> bool:
        """Whether the loss has not fallen by the share `tol` for so many passes."""
        self.losses.append(loss)
        self.waited = 0 if loss < self.best * (1 - self.tol) else self.waited + 1
        if loss < self.best:
            self.best, self.point = loss, point.copy()
        return self.waited >= self.most


def choose_rows(data: Rows, fraction: float, rng: np.random.Generator, *, by_class: bool) -> NDArray:
    """Row numbers to hold out, at random; of every class its share if `by_class`."""
    order = rng.permutation(data.shape[0])
    if by_class:
        y, _ = targets_and_weights(data)
        order = order[np.argsort(y[order], kind="stable")]
    count = int(np.clip(round(fraction * len(order)), 1, len(order) - 1))
    places = ((np.arange(count) + 0.5) * len(order) / count).astype(np.intp)
    return np.sort(order[places])


def divide(data: MemoryRows, chosen: NDArray) -> tuple[MemoryRows, HeldOut]:
    """The table with the chosen rows weighing nothing, and those rows."""
    assert data.y is not None
    weight = np.ones(data.shape[0], dtype=data.dtype) if data.weight is None else data.weight
    masked = weight.copy()
    masked[chosen] = 0.0
    held = HeldOut(data.take(chosen), data.y.reshape(-1)[chosen], weight[chosen].astype(np.float64))
    return MemoryRows(data.X, data.y, masked), held
