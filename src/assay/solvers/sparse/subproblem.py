"""The problem restricted to a working set of columns, which only grows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from assay.penalties.coordinates import CoordinateForm, ElasticNetForm
from assay.rows import alone
from assay.solvers.sparse.design import Array, Design, SparseDesign, by_blocks
from assay.solvers.sparse.loops import (
    DEPTH,
    column_epoch,
    extrapolation,
    gram_descent,
    penalty_value,
    quadratic_gap,
)

LARGEST_WORKING_SET = 8192
"""Columns beyond which no Gram matrix of the working set is kept."""


Profile = CoordinateForm
"""The penalty of each coordinate of the working set, as compiled loops take it."""

ROWS_A_BLOCK = 128
"""Columns of the working set that one thread multiplies at a time."""

EPOCHS_A_JUMP = 60
MOST_DROPS = 30
"""Cycles between two jumps to the minimum on the support, and coefficients that one of them may drop."""

DEGENERATE = 1e-13
"""Share of the largest entry below which a squared pivot is taken for rounding: no jump."""


class WorkingSetTooLargeError(Exception):
    """The Gram matrix of the working set would not fit; the columns must be walked instead."""


class Point(NamedTuple):
    """What a check on all columns needs to know of coefficients: the mean loss, what it keeps of each row.

    `residual` is the negative gradient of the loss in the predictions, centred and scaled by √h, less its
    projection on the unpenalised columns: any multiple κ ≤ 1 that the penalty admits is a dual point.
    """

    residual: Array
    loss: float
    rows: Array


class Subproblem(ABC):
    """Working set, in the order in which columns entered it; unpenalised columns are the first.

    `strong_concavity` is that of the dual objective in the scale of the residual, 1/(smoothness of the loss);
    `null` the objective of the model without features.
    """

    strong_concavity = 1.0
    null: float

    def __init__(self, design: Design, free: NDArray) -> None:
        self.design, self.free = design, free
        self.which = np.empty(0, dtype=np.intp)
        self.inside = np.zeros(design.shape[1], dtype=bool)
        self.null = design.square / 2
        if free.size:
            self.grow(free)

    def grow(self, new: NDArray) -> None:
        """Let columns into the working set."""
        self._enter(new)
        self.which = np.concatenate([self.which, new])
        self.inside[new] = True

    @abstractmethod
    def _enter(self, new: NDArray) -> None: ...

    @abstractmethod
    def solve(
        self, coef: Array, profile: Profile, target: float, max_epochs: int, trace: Array
    ) -> tuple[int, float]:
        """Improve `coef` (of the working set) in place; returns the epochs used and the measure reached."""

    @abstractmethod
    def point(self, coef: Array) -> Point:
        """The dual point of coefficients of the working set."""

    def gap(self, point: Point, coef: Array, corr: Array, profile: Profile) -> tuple[float, float]:
        """Duality gap from the correlations of the (listed) columns with the point, and the multiple κ used.

        With r the residual and r' its projection, the gap is ½‖r − r'‖² + ½(1 − κ)²‖r'‖² plus the
        Fenchel–Young terms of the penalty: none is negative.
        """
        kept = float(point.residual @ point.residual)
        cross = float(self.design.target @ point.residual)
        gap, scale = quadratic_gap(cross, kept, coef, corr, profile)
        return float(gap) + max(point.loss - kept / 2, 0.0), float(scale)

    def intercept(self, coef: Array) -> float:
        """The intercept that belongs to coefficients of the working set."""
        return self.design.intercept(self.which[: coef.size], coef)


def _without(residual: Array, columns: Array) -> Array:
    """Residual less its projection on a few columns, given as rows."""
    if not len(columns):
        return residual
    step = np.linalg.pinv(columns @ columns.T, hermitian=True) @ (columns @ residual)
    return residual - step @ columns


class GramSubproblem(Subproblem):
    """Working set of a dense table: its columns are copied once, and its Gram matrix grows."""

    def __init__(self, design: Design, free: NDArray) -> None:
        self._columns = np.empty((0, design.shape[0]))
        self._gram = np.empty((0, 0))
        super().__init__(design, free)

    @property
    def gram(self) -> Array:
        """The Gram matrix of the working set."""
        return self._gram[: self.which.size, : self.which.size]

    def _enter(self, new: NDArray) -> None:
        m, k = self.which.size, new.size
        if m + k > LARGEST_WORKING_SET:
            raise WorkingSetTooLargeError
        if m + k > self._gram.shape[0]:
            capacity = min(max(64, 2 * (m + k)), LARGEST_WORKING_SET)
            columns, gram = np.empty((capacity, self.design.shape[0])), np.zeros((capacity, capacity))
            columns[:m], gram[:m, :m] = self._columns[:m], self._gram[:m, :m]
            self._columns, self._gram = columns, gram
        self._columns[m : m + k] = self.design.columns(new)
        block = products(self._columns[m : m + k], self._columns[: m + k])
        self._gram[m : m + k, : m + k] = block
        self._gram[:m, m : m + k] = block[:, :m].T
        # What is left of a constant column is rounding of its mean.
        noise = 8 * np.finfo(np.float64).eps * np.abs(self.design.mean_x[new])
        for place in m + np.flatnonzero(np.sqrt(np.diagonal(block[:, m:])) <= noise):
            self._gram[place] = self._gram[:, place] = 0.0

    def solve(
        self, coef: Array, profile: Profile, target: float, max_epochs: int, trace: Array
    ) -> tuple[int, float]:
        """Coordinate descent on the Gram matrix."""
        linear, square = self.design.linear[self.which], self.design.square
        return solve_gram(self.gram, linear, square, coef, profile, target, max_epochs, trace)

    def point(self, coef: Array) -> Point:
        """Target less the columns times the coefficients."""
        residual = self.design.target - alone(np.matmul, coef, self._columns[: coef.size])
        kept = _without(residual, self._columns[: self.free.size])
        return Point(kept, float(residual @ residual) / 2, residual)


def products(few: Array, many: Array) -> Array:
    """All inner products of rows, by blocks of `many` on threads, each with one BLAS thread."""
    out = np.empty((len(few), len(many)))
    by_blocks(lambda part: np.matmul(few, many[part].T, out=out[:, part]), len(many), ROWS_A_BLOCK)
    return out


def solve_gram(
    gram: Array,
    linear: Array,
    square: float,
    coef: Array,
    profile: Profile,
    target: float,
    max_epochs: int,
    trace: Array,
) -> tuple[int, float]:
    """Coordinate descent on ½ square − qᵀw + ½ wᵀGw plus a penalty, from `coef`, which it updates."""
    used, measure = 0, np.inf
    gram = np.ascontiguousarray(gram)  # often a corner of a larger one
    while True:
        support = np.flatnonzero(coef)
        corr = linear - coef[support] @ gram[support]
        epochs = min(EPOCHS_A_JUMP, max_epochs - used)
        room = trace[used:]
        epochs, measure = gram_descent(gram, linear, square, coef, corr, profile, target, epochs, room)
        used += int(epochs)
        if measure <= target or used >= max_epochs:
            return used, float(measure)
        if isinstance(profile, ElasticNetForm):
            jump_to_minimum(gram, linear, coef, profile)


def jump_to_minimum(gram: Array, linear: Array, coef: Array, profile: Profile) -> None:
    """Minimise over the coefficients on the support while they keep their signs, in place.

    There the objective is a quadratic: go to its minimiser, or as far as the first coefficient that reaches
    zero, drop that one and go on. The objective falls at every step. Coordinate descent alone is slow where
    columns of the support are nearly collinear.
    """
    for _ in range(MOST_DROPS):
        support = np.flatnonzero(coef)
        if not support.size:
            return
        now, sign = coef[support], np.sign(coef[support])
        matrix = gram[np.ix_(support, support)] + np.diag(profile.curvature[support])
        try:
            factor = linalg.cho_factor(matrix, lower=True, check_finite=False)
        except linalg.LinAlgError:
            return
        best = linalg.cho_solve(factor, linear[support] - sign * profile.slope[support])
        if not np.all(np.isfinite(best)) or np.min(np.diagonal(factor[0])) ** 2 < DEGENERATE * np.max(matrix):
            return
        # An unpenalised coefficient may change its sign.
        bound = (best * sign < 0) & ((profile.slope[support] > 0) | profile.positive)
        if not bound.any():
            coef[support] = best
            return
        shares = now[bound] / (now[bound] - best[bound])
        coef[support] = now + shares.min() * (best - now)
        coef[support[np.flatnonzero(bound)[shares == shares.min()]]] = 0.0


class ColumnSubproblem(Subproblem):
    """Working set of a sparse table: its columns are walked, the residual is kept."""

    design: SparseDesign

    def _enter(self, new: NDArray) -> None:
        pass

    def solve(
        self, coef: Array, profile: Profile, target: float, max_epochs: int, trace: Array
    ) -> tuple[int, float]:
        """Coordinate descent on the columns, with the same extrapolation as on a Gram matrix."""
        design, which = self.design, self.which
        share = design.share
        pull = design.root * design.target - share * design.predictions(which, coef)
        level = float(pull.sum())
        past, past_pull = np.empty((DEPTH + 1, coef.size)), np.empty((DEPTH + 1, pull.size))
        weights = np.empty(DEPTH)
        measure = np.inf
        for epoch in range(max_epochs):
            level = column_epoch(
                design.entries, which, design.mean_x, design.column_squares, share, coef, pull, level, profile
            )
            place = epoch % (DEPTH + 1)
            past[place], past_pull[place] = coef, pull
            last = place == DEPTH
            if last and extrapolation(past, weights):
                trial, trial_pull = weights @ past[1:], weights @ past_pull[1:]
                allowed = not profile.positive or bool(np.all(trial >= 0))
                if allowed and self._value(trial, trial_pull, profile) < self._value(coef, pull, profile):
                    coef[:], pull[:] = trial, trial_pull
                    level = float(pull.sum())
            if epoch < trace.size:
                trace[epoch] = self._value(coef, pull, profile)
            if last or epoch == 0 or epoch + 1 == max_epochs:
                measure = self._gap(coef, pull, level, profile)
                if measure <= target:
                    return epoch + 1, measure
        return max_epochs, measure

    def _value(self, coef: Array, pull: Array, profile: Profile) -> float:
        residual = float(pull @ (pull / self.design.share)) - self.design.center * float(pull.sum()) ** 2
        return max(residual, 0.0) / 2 + float(penalty_value(coef, profile))

    def _gap(self, coef: Array, pull: Array, level: float, profile: Profile) -> float:
        design = self.design
        centred = (pull - design.center * level * design.share) / design.root
        corr = design.correlations(centred[None], self.which)[0]
        cross, residual = float(design.target @ centred), float(centred @ centred)
        return float(quadratic_gap(cross, residual, coef, corr, profile)[0])

    def point(self, coef: Array) -> Point:
        """Target less the centred columns times the coefficients."""
        residual = self.design.target - self._centred(self.which[: coef.size], coef)
        columns = np.array([self._centred(self.free, unit) for unit in np.eye(self.free.size)])
        return Point(_without(residual, columns), float(residual @ residual) / 2, residual)

    def _centred(self, which: NDArray, coef: Array) -> Array:
        design = self.design
        return design.root * (design.predictions(which, coef) - design.mean_x[which] @ coef)
