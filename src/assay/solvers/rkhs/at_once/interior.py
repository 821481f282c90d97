"""The dual in its box by an interior point: for pairs that creep, as with a linear kernel and a large C.

Each step solves (K + D) δ = r by one Cholesky factorisation, D the diagonal of the barriers, whatever the
number of free rows: some tens of steps (Mehrotra's predictor and corrector) where pairs of rows take
millions. Rows that end beside a bound are put on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from assay.solvers.rkhs.problem import Array

MOST_STEPS = 60
SMALLEST = 1e-13
"""Products of rooms and multipliers, over the dual value, at which a point is near enough to the maximum."""

FUTILE = 1e-18
"""The same where slopes are left that rounding keeps from going."""

HOPELESS = 0.1
"""Rounding of slopes, over the largest target, beyond which no step is told from another."""

EPSILON = float(np.finfo(np.float64).eps)
TO_THE_WALL = 0.995
SHORTEST = 1e-8


class Sides(NamedTuple):
    """Rooms p ≥ 0 and q ≥ 0 of each variable below and above, p + q its width, with their multipliers."""

    p: Array
    q: Array
    z: Array
    s: Array

    def moved(self, change: Sides, length: float) -> Sides:
        """A step along a change."""
        return Sides(*(value + length * by for value, by in zip(self, change, strict=True)))

    def room(self, change: Sides) -> float:
        """How long a step may be, at most 1, for none of them to fall below 0."""
        least = min(float((by / value).min()) for value, by in zip(self, change, strict=True))
        return min(1.0, -1.0 / least) if least < 0 else 1.0

    @property
    def products(self) -> float:
        """The sum of the products of rooms and multipliers."""
        return float(self.p @ self.z + self.q @ self.s)


class NewtonSystem:
    """The linear equations of a step, factorised at a point.

    `left` is what is left of the slope of each variable when its multipliers are taken off, `excess` Σν.
    """

    def __init__(
        self, gram: Array, ridge: float, signs: Array, point: Sides, left: Array, excess: float | None
    ) -> None:
        n = len(gram)
        self.signs, self.point, self.left, self.excess = signs, point, left, excess
        self.barrier = (point.z / point.p + point.s / point.q).reshape(-1, n)
        self.diagonal = 1.0 / (1.0 / self.barrier).sum(axis=0)
        system = gram.copy()
        system.flat[:: n + 1] += self.diagonal + ridge
        factor, failed = linalg.lapack.dpotrf(system.T, lower=True, overwrite_a=True, clean=False)
        self.factor: Array | None = None if failed else factor
        self.ones = np.zeros(n)
        if not failed and excess is not None:
            self.ones = self._solved(np.ones(n))

    def _solved(self, right: Array) -> Array:
        return np.asarray(linalg.lapack.dpotrs(self.factor, right, lower=True)[0])

    def step(self, aim_p: Array | float, aim_q: Array | float) -> tuple[Sides, float]:
        """The change towards p z = aim_p and q s = aim_q, and that of b."""
        p, q, z, s = self.point
        to_p, to_q = (aim_p - p * z) / p, (aim_q - q * s) / q
        right = (self.left + to_p - to_q).reshape(self.barrier.shape)
        dv = self._solved((self.signs @ (right / self.barrier)) * self.diagonal)
        level = 0.0
        if self.excess is not None:
            level = (self.excess + float(dv.sum())) / float(self.ones.sum())
            dv = dv - level * self.ones
        dp = dv
        if len(self.barrier) == 2:  # of two variables of a row either takes what its barrier leaves it
            above, below = self.barrier
            both = right.sum(axis=0)
            dp = np.concatenate([both + below * dv, both - above * dv]) / np.tile(above + below, 2)
        return Sides(dp, -dp, to_p - z * dp / p, to_q + s * dp / q), level


def interior_point(
    gram: NDArray, target: Array, upper: Array, lower: Array, epsilon: float, *, balanced: bool
) -> Array | None:
    """The ν that maximises Σ(yν − ε|ν|) − ½ νᵀKν in −lower ≤ ν ≤ upper, Σν = 0 if `balanced`, nearly.

    None where rounding leaves no step, or would be larger than the slopes.

    Parameters
    ----------
    gram : array of shape (n, n)
    target, upper, lower : arrays of shape (n,)
    epsilon : float
        With a tube ν is the difference of two variables, of which either has a side of the box.
    """
    n, unit, tube = len(target), float((upper + lower).max()), epsilon > 0
    scale, size = float(np.abs(target).max()) + epsilon, unit * float(gram.diagonal().max())
    if EPSILON * n * size > HOPELESS * scale:
        return None
    # In units of the widest box.
    K = unit * gram
    signs = np.array([1.0, -1.0] if tube else [1.0])
    widths = np.maximum(np.stack([upper, lower]) if tube else (upper + lower)[None], 0.0).ravel() / unit
    widths, shift = np.maximum(widths, 1e-300), np.zeros(n) if tube else lower / unit

    def slopes_at(p: Array, b: float) -> tuple[Array, Array]:
        v = signs @ p.reshape(-1, n) - shift
        return v, (signs[:, None] * (target - K @ v - b) - epsilon).ravel()

    # Begin in the middle of the box, with multipliers that leave no slope.
    middle, b = 0.5 * widths, 0.0
    _, away = slopes_at(middle, b)
    point = Sides(middle, middle, np.maximum(-away, 0.0) + scale, np.maximum(away, 0.0) + scale)
    for _ in range(MOST_STEPS):
        v, away = slopes_at(point.p, b)
        left = away + point.z - point.s
        rounding = EPSILON * size * float(np.abs(v).sum())
        within = np.abs(left).max() <= max(1e-9 * scale, 4 * rounding)
        apart = point.products / max(abs(float(target @ v)), 1e-300)
        if apart <= (SMALLEST if within else FUTILE):
            break
        excess = float(v.sum()) if balanced else None
        system = NewtonSystem(K, EPSILON * n * size, signs, point, left, excess)
        if system.factor is None:
            return None
        first, _ = system.step(0.0, 0.0)
        after = point.moved(first, point.room(first)).products / point.products
        mu = after**3 * point.products / (2 * len(widths))
        change, level = system.step(mu - first.p * first.z, mu - first.q * first.s)
        length = TO_THE_WALL * point.room(change)
        if not length > SHORTEST:
            break
        point, b = point.moved(change, length), b + length * level
    # Of a room and its multiplier one ends at 0: that is smaller tells which.
    share, pressed = point.p / widths, (point.z - point.s) / scale
    share = np.where(share < pressed, 0.0, np.where(1 - share < -pressed, 1.0, share))
    nu = unit * (signs @ (share * widths).reshape(-1, n) - shift)
    # A bound that is reached is reached exactly: which rows are free is read off ν.
    last = 8 * EPSILON * (upper + lower)
    nu = np.where(nu >= upper - last, upper, np.where(nu <= last - lower, -lower, nu))
    return np.where(np.abs(nu) <= last, 0.0, nu) if tube else nu
