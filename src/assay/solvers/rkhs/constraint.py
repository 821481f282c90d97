"""The ball ‖h‖ ≤ c, the budget Σ ℓ ≤ B and the penalty ½‖h‖² + C Σ ℓ: three names of one path.

As C grows, the norm of the solution grows and the sum of its losses falls, both continuously. A radius that
is below the largest norm, or a budget between the smallest and the largest loss, is therefore met at some
C, which is closed in by secants and halvings of log C, each solve started from the one before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from assay.losses import Loss

Solve: TypeAlias = Callable[[float, Any], tuple[float, float, Any]]
"""From C and an earlier solution (or None): the norm ‖h‖, Σ ℓ without C, and the solution."""

STRIDE, MOST_SOLVES = 10.0, 60
LARGEST, SMALLEST = 1e11, 1e-12
"""Costs that are tried, relative to the first."""
PROVED = 1e-5
"""Gap over the ball, relative to the loss, at which it is taken not to bind."""
STILL = 1e-6
"""Relative change over two strides below which a norm or a loss is taken to have ended."""


class OnPath(NamedTuple):
    """A point of the path: C, the norm and the loss there, and what the solver gave.

    `active` tells whether the constraint binds. Where a ball holds every solution the point is the one of
    the largest C that was tried, and the constraint changes nothing; where a budget is no less than the
    loss of the zero function, the point is the one of the smallest C.
    """

    cost: float
    norm: float
    loss: float
    solution: Any
    active: bool
    n_solves: int


def radius_of_strength(solve: Solve, cost: float) -> float:
    """The radius c = ‖h‖ of the ball whose solution is that of the penalty with C = `cost`.

    Examples
    --------
    >>> from assay.solvers.rkhs.constraint import radius_of_strength, strength_of_radius
    >>> def solve(cost, start):  # ½h² + C ½(h − 2)²
    ...     h = 2 * cost / (1 + cost)
    ...     return h, 0.5 * (h - 2) ** 2, h
    >>> radius_of_strength(solve, 1.0)
    1.0
    >>> round(strength_of_radius(solve, 1.0).cost, 6)
    1.0
    """
    return solve(cost, None)[0]


def strength_of_radius(
    solve: Solve,
    radius: float,
    *,
    first: float = 1.0,
    tol: float = 1e-10,
    solved: Callable[[Any], bool] = lambda solution: True,
) -> OnPath:
    """The point of the path whose norm is `radius`, to a relative `tol`.

    Not active where the norm ends below the radius however small the penalty. `solved` tells of a solution
    whether it is one: where rounding keeps smaller penalties from theirs, the last that has one is kept.
    """

    def proved(point: OnPath) -> bool:
        # Over the ball the loss is at most this above its minimum.
        return (radius - point.norm) * point.norm <= PROVED * point.cost * point.loss

    return _meet(solve, lambda norm, loss: norm / radius - 1.0, first, tol, (proved, solved))


def strength_of_budget(solve: Solve, budget: float, *, first: float = 1.0, tol: float = 1e-10) -> OnPath:
    """The point of the path whose sum of losses is `budget`, to a relative `tol`.

    Raises
    ------
    ValueError
        If no function has so small a loss.
    """
    point = _meet(solve, lambda norm, loss: 1.0 - loss / budget if budget > 0 else -loss, first, tol)
    if not point.active and point.loss > budget * (1 + tol):
        raise ValueError(
            f"No function has a sum of losses of {budget:g}: it is {point.loss:g} at the least; allow "
            f"more, or take a "
            "kernel of more functions."
        )
    return point


def _meet(
    solve: Solve,
    excess: Callable[[float, float], float],
    first: float,
    tol: float,
    ends: tuple[Callable[[OnPath], bool], Callable[[Any], bool]] = (
        lambda point: True,
        lambda solution: True,
    ),
) -> OnPath:
    """The root in log C of an excess that rises with C; where there is none, a point that is `proved`."""
    proved, solved = ends
    tried: list[tuple[float, float, OnPath]] = []

    def look(place: float) -> tuple[float, float, OnPath]:
        start = min(tried, key=lambda item: abs(item[0] - place))[2].solution if tried else None
        norm, loss, solution = solve(math.exp(place), start)
        point = OnPath(math.exp(place), norm, loss, solution, True, len(tried) + 1)
        tried.append((place, excess(norm, loss), point))
        return tried[-1]

    here = look(math.log(first))
    step = math.log(STRIDE) if here[1] < 0 else -math.log(STRIDE)
    while True:
        following = look(here[0] + step)
        if (following[1] < 0) != (here[1] < 0):
            low, high = (here, following) if here[1] < 0 else (following, here)
            break
        if step > 0 and not solved(following[2].solution) and solved(here[2].solution):
            return here[2]._replace(active=False, n_solves=len(tried))
        here = following
        if (_ended(tried) and proved(here[2])) or not SMALLEST < here[2].cost / first < LARGEST:
            return here[2]._replace(active=False, n_solves=len(tried))
    brentq(
        lambda place: _flat(look(place)[1], tol), low[0], high[0], xtol=1e-14, maxiter=MOST_SOLVES, disp=False
    )
    return min(tried, key=lambda item: abs(item[1]))[2]._replace(n_solves=len(tried))


def _flat(excess: float, tol: float) -> float:
    """Exactly 0 where an excess is small enough, which ends the search."""
    return 0.0 if abs(excess) <= tol else excess


def _ended(tried: list[tuple[float, float, OnPath]]) -> bool:
    """Whether neither norm nor loss has moved over the last two strides."""
    if len(tried) < 3:
        return False
    last, before = tried[-1][2], tried[-3][2]
    still = (abs(last.norm - before.norm) <= STILL * max(last.norm, before.norm)) and (
        abs(last.loss - before.loss) <= STILL * max(last.loss, before.loss)
    )
    return bool(still)


# Problems without a solution.


class Unsolvable(NamedTuple):
    """Why a risk has no minimiser: its kind ("unbounded" or "not attained") and a sentence."""

    kind: str
    sentence: str


def why_unsolvable(
    loss: Loss, target: NDArray, cost: NDArray, diagonal: NDArray, *, fit_intercept: bool
) -> Unsolvable | None:
    """Whether ½‖h‖² + Σ c ℓ(y, h + b) is unbounded below, or approaches its infimum only at infinity.

    A convex loss lies above a line, which the penalty outgrows: along functions nothing can escape. An
    intercept is not penalised: where the loss of all rows falls for ever in one direction of it there is no
    best one. Without convexity the objective is followed along t k(x_i, ·).

    Parameters
    ----------
    loss : Loss
    target, cost, diagonal : arrays of shape (n,)
        y, c and k(x, x) of each row.
    fit_intercept : bool

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Exponential
    >>> from assay.solvers.rkhs.constraint import why_unsolvable
    >>> one = np.ones(1)
    >>> why_unsolvable(Exponential(), one, one, one, fit_intercept=True).kind
    'not attained'
    >>> why_unsolvable(Exponential(), one, one, one, fit_intercept=False) is None
    True
    """
    name = type(loss).__name__
    if not loss.convex:
        for size in (1e2, 1e4, 1e8):
            for sign in (-1.0, 1.0):
                scores = sign * size * np.maximum(diagonal, 1e-300)
                with np.errstate(over="ignore", invalid="ignore"):
                    values = 0.5 * size**2 * diagonal + cost * loss.value(target, scores)
                if np.nanmin(values) < -size:
                    return Unsolvable(
                        "unbounded",
                        f"The risk with {name} is unbounded below: along t k(x, ·) of a row it falls to "
                        f"{np.nanmin(values):.3g} at t = {sign * size:g}; take a convex loss.",
                    )
        return None
    if fit_intercept and not np.all(np.isfinite(loss.constant_minimiser(target, cost))):
        return Unsolvable(
            "not attained",
            f"The risk with {name} and a free intercept approaches its infimum only as the intercept "
            f"goes to infinity: "
            "all targets are alike; leave out the intercept (fit_intercept=False), or give rows of "
            "other targets.",
        )
    return None
