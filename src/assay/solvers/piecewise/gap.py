"""What certifies a machine with a two-sided loss: sums over its rows, and the duality gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.rows import Block, Rows, add
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.tilted import Tilt, sides, slopes

# The evidence of a two-sided loss on dense rows, each of which is read once.


LOSS, LOSS_AT_ZERO, OUTSIDE, WRONG, TOTAL = range(5)
"""Places in `sums` of `evidence_rows`."""


@compiled
def evidence_rows(  # type: ignore[no-untyped-def]
    X,
    target,
    upper,
    lower,
    weight,
    coef,
    intercept,
    dual,
    epsilon,
    squared,
    digits,
    sums,
    sided,
    signs,
    pulls,
):
    """Add rows to `sums`, to the rows (slack, squares, mass, number) of `sided`, to `signs` and to `pulls`.

    The dual point is `dual`, brought back into its box, or the slopes of the loss when that is empty.
    """
    n, d = X.shape
    given = dual.shape[0] == n
    for i in range(n):
        score = 0.0
        for j in range(d):
            score += X[i, j] * coef[j]
        t, up, down = target[i], upper[i], lower[i]
        residual = t - score - intercept
        above, under = max(residual - epsilon, 0.0), max(-residual - epsilon, 0.0)
        if squared:
            sums[LOSS] += up * above * above + down * under * under
            nu = 2.0 * (up * above - down * under)
        else:
            sums[LOSS] += up * above + down * under
            nu = (up if above > 0.0 else 0.0) - (down if under > 0.0 else 0.0)
        if given:
            nu = float(dual[i])
            if not squared:
                beyond = max(nu - up, -down - nu, 0.0)
                sums[OUTSIDE] = max(sums[OUTSIDE], beyond / (up + down) if up + down > 0.0 else beyond)
                nu = min(max(nu, -down), up)
        above, under = max(t - epsilon, 0.0), max(-t - epsilon, 0.0)
        if squared:
            sums[LOSS_AT_ZERO] += up * above * above + down * under * under
        else:
            sums[LOSS_AT_ZERO] += up * above + down * under
        sums[TOTAL] += up + down
        if t * (t - residual) <= 0.0:
            sums[WRONG] += up + down
        noise = digits * (2.0 * abs(t) + abs(residual) + abs(intercept))
        signs[1 if abs(residual) <= noise else 0 if residual > 0.0 else 2] += weight[i]
        if nu == 0.0:
            continue
        side = 0 if nu > 0.0 else 1
        size, slope = abs(nu), up if nu > 0.0 else down
        sided[0, side] += size * ((residual if nu > 0.0 else -residual) - epsilon)
        if squared:
            sided[1, side] += size * size / (4.0 * slope if slope > 0.0 else 1.0)
        sided[2, side] += size
        sided[3, side] += 1.0
        for j in range(d):
            pulls[side, j] += nu * X[i, j]


PERFECT = 1e-6
"""Share of the loss at zero below which an objective is rounding: gaps are relative to no less."""


class Evidence(NamedTuple):
    """Sums over the rows that the certificates of a tilted loss are computed from.

    Parts of ν above and below zero are kept apart, `[above, below]`, because either may be scaled down to
    make Σν vanish. `slack` are Σ ν(r ∓ ε), `squares` Σ ν²/(4 s slope), `mass` Σ|ν|, `pulls` Σ ν x,
    `signs` the weights of rows with r above, at and below zero, `total` and `wrong` the slopes of all rows
    and of those with tf ≤ 0.
    """

    loss: float
    loss_at_zero: float
    slack: Array
    squares: Array
    mass: Array
    pulls: Array
    signs: Array
    n_support: Array
    wrong: float
    total: float
    weight: float

    @property
    def sizes(self) -> Array:
        """Sizes of the two parts of Xᵀν, the unit of what is left when they cancel."""
        return np.abs(self.pulls).sum(axis=0)


def gather_tilted(
    data: Rows, tilt: Tilt, coef: Array, intercept: float, dual: NDArray | None = None
) -> tuple[Evidence, float]:
    """Evidence at coefficients and a dual point (the slopes themselves when None), and its box violation."""
    rowwise = () if dual is None else (dual,)
    found, outside = data.reduce(evidence_step, tilt, coef, intercept, combine=_add, rowwise=rowwise)
    return found, float(outside)


def _add(left: tuple[Evidence, float], right: tuple[Evidence, float]) -> tuple[Evidence, float]:
    return add(left[0], right[0]), max(left[1], right[1])


def evidence_step(
    block: Block, tilt: Tilt, coef: Array, intercept: float, dual: NDArray | None = None
) -> tuple[Evidence, float]:
    """Evidence of one block; `outside` is the largest violation of the box, relative to its width."""
    target, upper, lower = sides(block, tilt)
    weight = block.weights
    digits = 1e-9 if block.X.dtype == np.float64 else 1e-5
    if block.is_sparse:
        # One column that holds the scores: the rows are multiplied here, all else is the same loop.
        X, slope, shown = np.asarray(block.X @ coef, dtype=np.float64)[:, np.newaxis], np.ones(1), 1
    else:
        X, slope, shown = block.X, np.asarray(coef, dtype=np.float64), block.X.shape[1]
    sums, sided, signs, pulls = np.zeros(5), np.zeros((4, 2)), np.zeros(3), np.zeros((2, shown))
    nu = np.empty(0) if dual is None else dual
    evidence_rows(
        X,
        target,
        upper,
        lower,
        weight,
        slope,
        float(intercept),
        nu,
        float(tilt.epsilon),
        tilt.squared,
        digits,
        sums,
        sided,
        signs,
        pulls,
    )
    if block.is_sparse:
        pulls = _sparse_pulls(block, tilt, X[:, 0] + intercept, dual)
    found = Evidence(
        float(sums[LOSS]),
        float(sums[LOSS_AT_ZERO]),
        sided[0],
        sided[1],
        sided[2],
        pulls,
        signs,
        sided[3].astype(np.int64),
        float(sums[WRONG]),
        float(sums[TOTAL]),
        float(weight.sum()),
    )
    return found, float(sums[OUTSIDE])


def _sparse_pulls(block: Block, tilt: Tilt, prediction: Array, dual: NDArray | None) -> Array:
    """Σ ν x over the rows with ν above and below zero."""
    target, upper, lower = sides(block, tilt)
    if dual is None:
        nu = slopes(target - prediction, upper, lower, tilt)
    else:
        nu = dual.astype(np.float64)
        nu = nu if tilt.squared else np.clip(nu, -lower, upper)
    parts = np.stack([np.maximum(nu, 0), np.minimum(nu, 0)])
    return np.asarray(block.X.T @ parts.T, dtype=np.float64).T


class Gap(NamedTuple):
    """Objective and its distance from a lower bound, by a feasible dual point."""

    objective: float
    gap: float
    scale: float

    @property
    def relative(self) -> float:
        """The gap over the objective, or over what rounding leaves of its value at zero, if larger."""
        return self.gap / self.scale if self.scale > 0 else 0.0


def tilted_gap(
    evidence: Evidence, coef: Array, intercept: float, *, fit_intercept: bool, intercept_penalty: float
) -> Gap:
    """Duality gap of ½‖w‖² + ½ρb² + Σℓ: the dual is Σ(ν target − ℓ*(ν)) − ½‖Xᵀν‖² − (Σν)²/(2ρ).

    With a free intercept (ρ = 0) the dual point must have Σν = 0: the heavier of its sides is scaled down.
    """
    share = np.ones(2)
    up, down = evidence.mass
    free = fit_intercept and intercept_penalty == 0
    if free and max(up, down) > 0:
        share = np.array([min(1.0, down / up) if up > 0 else 1.0, min(1.0, up / down) if down > 0 else 1.0])
    pull = share @ evidence.pulls
    gap = evidence.loss - share @ evidence.slack + share**2 @ evidence.squares
    gap += np.sum((coef - pull) ** 2) / 2
    objective = evidence.loss + coef @ coef / 2
    if fit_intercept and intercept_penalty > 0:
        balance = share @ (evidence.mass * [1.0, -1.0])
        gap += (intercept_penalty * intercept - balance) ** 2 / (2 * intercept_penalty)
        objective += intercept_penalty * intercept**2 / 2
    floor = PERFECT * evidence.loss_at_zero
    return Gap(float(objective), max(float(gap), 0.0), max(float(objective), float(floor)))
