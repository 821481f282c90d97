"""What a stochastic descent stands on, and how it is kept between calls of `partial_fit`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.linear._engine import Array
from assay.losses import Loss
from assay.rows import Rows
from assay.solvers._sgd import Descent, Sgd
from assay.solvers._sgd_steps import base_step
from assay.solvers._tilted import Frame, frame_of


class Ground(NamedTuple):
    """Coordinates (columns less `shift`, over `scale`), the spread of the target, its level, the step 1/L."""

    shift: Array
    scale: Array
    spread: float
    level: float
    step: float

    def frame(self, *, intercept: bool) -> Frame:
        """The coordinates as the solvers take them."""
        return Frame(self.shift, self.scale, intercept)


class Stream(NamedTuple):
    """Where a descent stands: its ground, the state of each machine, the passes so far."""

    ground: Ground
    machines: list[Descent]
    passes: int

    def rested(self) -> list[Descent]:
        """The machines, whose average forgets at the powers of two of passes."""
        if self.passes & (self.passes - 1):
            return self.machines
        return [
            machine._replace(total=np.zeros_like(machine.total), n_averaged=0) for machine in self.machines
        ]


def new_ground(
    data: Rows, loss: Loss, spread: float, level: float, batch_size: int, *, intercept: bool
) -> Ground:
    """Columns of mean 0 and mean square 1, and 1/L there."""
    frame = frame_of(data, intercept=intercept, shift=intercept)
    step = base_step(data, frame, loss, spread, batch_size)
    return Ground(frame.shift, frame.scale, spread, level, step)


def same_ground(
    known: Ground, data: Rows, loss: Loss, spread: float, batch_size: int, *, intercept: bool
) -> Ground:
    """The coordinates of earlier rows, with a step that is not too long for further ones."""
    spread = max(spread, known.spread)
    step = base_step(data, known.frame(intercept=intercept), loss, spread, batch_size)
    return known._replace(spread=spread, step=min(step, known.step))


def packed(ground: Ground, fits: list[Sgd], passes: int) -> dict[str, Any]:
    """A stream as plain arrays and numbers."""
    states = {name: np.array([getattr(found.descent, name) for found in fits]) for name in Descent._fields}
    return {**ground._asdict(), **states, "passes": passes}


def unpacked(kept: dict[str, Any]) -> Stream:
    """The stream that `packed` wrote, with arrays of its own."""
    arrays = [[np.array(kept[name][k]) for name in Descent._fields[:4]] for k in range(len(kept["point"]))]
    machines = [
        Descent(point, total, first, second, int(updates), int(n_averaged))
        for (point, total, first, second), updates, n_averaged in zip(
            arrays, kept["updates"], kept["n_averaged"], strict=True
        )
    ]
    return Stream(Ground(*(kept[name] for name in Ground._fields)), machines, kept["passes"])
