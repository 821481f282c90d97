"""The penalised mean loss of a linear score, its gradient and its Hessian, each by one walk over the rows.

Points are arrays of shape (p, k): the coefficients of k scores and, in the last row, their intercepts when
there are some. The intercept belongs to columns shifted by `center`, so that a column with a large mean does
not tie its coefficient to the intercept.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from assay.losses import Loss
from assay.rows import Block, MappedRows, Rows
from assay.solvers.least_squares.moments import PILOT_ROWS, require_finite
from assay.solvers.smooth.row_sums import (
    Array,
    LinearScore,
    Split,
    Sums,
    curvature_sum,
    full_step,
    gradient_step,
    row_weights,
)

HUGE = 1e100
"""Mean losses below this come from scores that a fit may have, whatever the squares of the columns."""

NARROW = 1e-145
"""Range of a column whose squares are lost below the smallest float."""

FAR = 1e4
"""Standard deviations from zero beyond which a column is shifted before anything is computed."""


class RowMeasure(NamedTuple):
    """What one walk says of a point, on the scale of the mean.

    `risk` is the mean loss and `value` adds the penalty; `gradient` is of `value`, shape (p, k).
    """

    value: float
    gradient: Array
    hessian: Array | None
    risk: float
    mistakes: float
    split: Split | None = None


class RowRisk:
    """f(θ) = (1/W) Σ s ℓ(y, x·w + b) + ½ Σ_j α_j w_j², for rows wherever they live.

    Parameters
    ----------
    data : Rows
        With a target, and an offset of the score as its second column if `has_offset`.
    loss : Loss
    alpha : array of shape (d,)
        Penalty of each feature.
    fit_intercept, has_offset : bool
    weight : float, optional
        W; Σ s, times the weights of the classes, by default.
    center : array of shape (d,), optional
        Shift of the columns; the mean of the first rows by default.
    class_weight : array of shape (n_classes,), optional
        Multiplies the weight of each row, whose class is its target.
    """

    def __init__(
        self,
        data: Rows,
        loss: Loss,
        alpha: Array,
        *,
        fit_intercept: bool,
        has_offset: bool = False,
        weight: float | None = None,
        center: Array | None = None,
        class_weight: Array | None = None,
    ) -> None:
        self.data = self.source = data
        self.loss = loss
        self.fit_intercept, self.has_offset = fit_intercept, has_offset
        self.class_weight = class_weight
        if weight is None:
            weight = data.total_weight if class_weight is None else data.reduce(total_weight, class_weight)
        self.weight = weight
        d = data.shape[1]
        shifts: Array | None = None
        if center is None:
            center = np.zeros(d)
            if fit_intercept and not data.is_sparse:
                center, shifts, width = data.head(PILOT_ROWS, block_moments)
                require_wide(width)
        self.center = self.inner = center
        if shifts is not None and np.any(np.abs(center) > FAR * shifts):
            # Scores would be small differences of large numbers: the rows themselves are shifted.
            self.data, self.inner = MappedRows(data, shifted, center), np.zeros(d)
        self.shape = d + fit_intercept, loss.n_scores
        self.rounding = float(np.finfo(data.dtype).eps)
        self.span: tuple[Array, Array] | None = None  # of the rows, where there are fewer than columns
        self._set_penalty(alpha)

    def with_alpha(self, alpha: Array) -> RowRisk:
        """The same risk with another squared-norm penalty."""
        other = copy.copy(self)
        other._set_penalty(alpha)
        return other

    def _set_penalty(self, alpha: Array) -> None:
        self.alpha = alpha
        self.ridge = np.append(alpha, np.zeros(int(self.fit_intercept)))[:, None]
        self.free = self.ridge[:, 0] == 0  # rows of a point that no penalty holds

    def split_point(self, point: Array) -> tuple[Array, Array]:
        """Coefficients (d, k) and intercepts (k,) of the columns as they are."""
        return self._parts(point, self.center)

    def walk_point(self, point: Array) -> tuple[Array, Array]:
        """Coefficients and intercepts for the columns as they are walked, `data`."""
        return self._parts(point, self.inner)

    def _parts(self, point: Array, shift: Array) -> tuple[Array, Array]:
        if not self.fit_intercept:
            return point, np.zeros(point.shape[1])
        return point[:-1], point[-1] - shift @ point[:-1]

    def join_point(self, coef: Array, intercept: Array) -> Array:
        """The point of coefficients and intercepts."""
        if not self.fit_intercept:
            return coef
        return np.vstack([coef, intercept + self.center @ coef])

    def gradient(self, point: Array) -> tuple[float, Array]:
        """Value and gradient at a point, by one walk."""
        return self._measured(self._walk(gradient_step, point), point)[:2]

    def measure(self, point: Array, *, hessian: bool = False, split: bool = False) -> RowMeasure:
        """All that one walk can say of a point; the Hessian is ordered score by score, (k p, k p)."""
        split = split and self.loss.n_groups > 0
        sums, groups, curved = self._walk(full_step, point, hessian, split)
        measured = self._measured(sums, point)
        if curved is not None:
            if measured.risk < HUGE:  # beyond, a step went too far and will be cut
                require_finite(curved, self.data)
            measured = measured._replace(hessian=self._regularised(curved / self.weight))
        return measured._replace(split=groups)

    def mean_curvature(self, point: Array) -> Array:
        """Mean second derivative of the loss in each score, rows counted once, shape (k,)."""
        return np.maximum(self._walk(curvature_sum, point) / self.data.shape[0], 1e-6)

    def at(self, point: Array) -> LinearScore:
        """The loss of the score of a point, for steps over the rows of `data`."""
        scores = self.walk_point(point)
        shift = self.inner, self.fit_intercept
        return LinearScore(*scores, self.loss, self.has_offset, self.class_weight, *shift)

    def _walk(self, step: Callable[..., Any], point: Array, *state: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.data.reduce(step, self.at(point), *state)

    def _measured(self, sums: Sums, point: Array) -> RowMeasure:
        slope = sums.slope
        if np.isnan(sums.loss) or np.isnan(slope).any() or (sums.loss < HUGE and np.isinf(slope).any()):
            require_finite(np.array([np.nan]), self.data)
        if self.fit_intercept:
            slope = np.vstack([slope - np.outer(self.inner, sums.total), sums.total])
        risk = sums.loss / self.weight
        with np.errstate(over="ignore", invalid="ignore"):
            value = risk + 0.5 * float(np.sum(np.where(self.ridge > 0, self.ridge * point**2, 0.0)))
        gradient = slope / self.weight + self.ridge * point
        return RowMeasure(value, gradient, None, risk, sums.mistakes / self.weight)

    def _regularised(self, hessian: Array) -> Array:
        p, k = self.shape
        places = np.arange(p * k)
        hessian[places, places] += np.tile(self.ridge[:, 0], k)
        if self.loss.symmetric:
            # A common shift of all scores has no curvature, and the gradient no part in it: any will do.
            view = hessian.reshape(k, p, k, p)
            for j in np.flatnonzero(self.free):
                view[:, j, :, j] += np.trace(view[:, j, :, j]) / k**2
        return hessian


def shifted(block: Block, shift: Array) -> Block:
    """A block with a number subtracted from each column, in float64."""
    return block._replace(X=block.X - shift)


def require_wide(width: Array) -> None:
    """Refuse columns that vary by so little that their squares vanish; constant ones are no matter."""
    lost = np.flatnonzero((width > 0) & (width < NARROW))
    if lost.size:
        raise ValueError(
            f"Input X is too small: column {lost[0]} varies by {width[lost[0]]:.2g} and its squares vanish. "
            "Divide the columns by their scale first."
        )


def block_moments(block: Block) -> tuple[Array, Array, Array]:
    """Weighted mean, standard deviation and range of the columns of a block; 0 and inf where not finite."""
    X = block.X.astype(np.float64)
    weight = block.weights
    with np.errstate(all="ignore"):
        mean = weight @ X / weight.sum()
        spread = np.sqrt(weight @ (X - mean) ** 2 / weight.sum())
        width = np.ptp(X[weight > 0], axis=0)
    finite = np.isfinite(mean) & np.isfinite(spread)
    return np.where(finite, mean, 0.0), np.where(finite, spread, np.inf), width


def total_weight(block: Block, class_weight: Array) -> float:
    """Sum of the weights of one block."""
    weight = row_weights(block, class_weight)
    assert weight is not None
    return float(weight.sum(dtype=np.float64))


# The duality gap of a penalised risk in a linear score, from sums that a walk has already taken.
#
# With slopes u_i = ℓ'(y_i, f_i) the problem min (1/W) Σ s ℓ(y, Xw + b) + Ω(w) has the dual value
#
#     D(u) = −(1/W) Σ s ℓ*(y, u) − Ω*(−c),        c = Xᵀ(s u)/W,        Σ s u = 0 for the intercept.
#
# The slopes of a fit satisfy the last condition up to the solver's tolerance only. A dual point u' that
# does, exactly, is a convex combination of u, of the slopes of single groups of rows (the others at 0), and
# of 0: its sums are the combination of sums known from one walk, and as ℓ* is convex the combination of the
# conjugates is a bound of its conjugate. So D(u') is bounded below without another look at the rows.


def row_duality_gap(
    risk: RowRisk, point: Array, measured: RowMeasure, split: Split | None = None, *, l1: Array | None = None
) -> float:
    """Value at a point less a lower bound of the minimum; inf when there is no feasible dual point.

    Parameters
    ----------
    risk : RowRisk
        Its `alpha` is the squared-norm part of the penalty.
    point : array of shape (p, k)
    measured : RowMeasure
        At the point.
    split : Split, optional
        Of this or any other point, from which the repairing slopes are taken; that of `measured` by default.
    l1 : array of shape (d,), optional
        Strengths of a further penalty Σ_j l1_j |w_j|, summed over scores.
    """
    split = measured.split if split is None else split
    coef, _ = risk.split_point(point)
    d = coef.shape[0]
    weak = np.zeros(d) if l1 is None else l1
    if np.any((risk.alpha <= 0) & (weak <= 0)):
        return float("inf")
    slope = measured.gradient[:d] - risk.alpha[:, None] * coef  # c in the shifted columns
    if not risk.fit_intercept:
        share = 1.0
        conjugate = float(np.sum(slope * coef)) - measured.risk
        rest = 0.0 if l1 is None else _rest(split, risk)
    else:
        assert split is not None
        total = measured.gradient[-1]
        repair = _repair(split.total / risk.weight, total, symmetric=risk.loss.symmetric)
        if repair is None:
            return float("inf")
        share, parts = 1 / (1 + repair.sum()), repair / (1 + repair.sum())
        moved = split.slope - risk.inner[:, None] * split.total[:, None, :]
        rest = _rest(split, risk)
        # A part takes the slopes of one group and leaves the others at 0, where ℓ* is `rest`.
        alone = split.conjugate + (split.rest.sum() - split.rest)
        conjugate = share * (float(np.sum(slope * coef) + total @ point[-1]) - measured.risk)
        conjugate += float(parts @ alone) / risk.weight
        slope = share * slope + np.tensordot(parts, moved, axes=1) / risk.weight
    penalty = 0.5 * float(np.sum(risk.alpha[:, None] * coef**2)) + float(weak @ np.abs(coef).sum(axis=1))
    scale = _scale(slope, risk.alpha, weak)
    dual = scale * conjugate + (1 - scale) * rest + _conjugate_penalty(scale * slope, risk.alpha, weak)
    return max(measured.risk + penalty + dual, 0.0)


NOTHING = 1e-13
"""Share of the largest slopes of a group below which those of another are taken for rounding."""


def _rest(split: Split | None, risk: RowRisk) -> float:
    return 0.0 if split is None else float(split.rest.sum()) / risk.weight


def _repair(totals: Array, total: Array, *, symmetric: bool) -> Array | None:
    """Weights δ ≥ 0 of the groups with Σ δ_g totals_g = −total, up to rounding; None when there are none."""
    if symmetric:  # slopes of a row have sum 0 but for rounding
        totals, total = totals - totals.mean(axis=1, keepdims=True), total - total.mean()
    size, sizes = float(np.abs(total).max()), np.abs(totals).max(axis=1)
    if size == 0.0:
        return np.zeros(len(totals))
    # What a group without weight adds up to is rounding, of which a huge multiple would repair anything.
    totals = np.where(sizes[:, None] > NOTHING * sizes.max(), totals, 0.0)
    weights, residual = optimize.nnls(totals.T / size, -total / size)
    return weights if residual <= max(1e-9, 1e-14 / size) else None


def _scale(slope: Array, alpha: Array, l1: Array) -> float:
    """Largest factor at most 1 that keeps |c_j| ≤ l1_j where there is no squared norm."""
    only = alpha <= 0
    if not only.any():
        return 1.0
    largest = np.abs(slope[only]).max(axis=1)
    with np.errstate(divide="ignore"):
        return float(min(1.0, np.min(np.where(largest > 0, l1[only] / largest, np.inf))))


def _conjugate_penalty(slope: Array, alpha: Array, l1: Array) -> float:
    """Σ (|c| − l1)₊²/(2α), which is 0 where α is."""
    excess = np.maximum(np.abs(slope) - l1[:, None], 0.0)
    with np.errstate(over="ignore"):
        squares = np.divide(
            excess**2, 2 * alpha[:, None], out=np.zeros_like(excess), where=alpha[:, None] > 0
        )
        return float(squares.sum())
