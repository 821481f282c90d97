"""Thousands of free rows at once: their active set by turns, each solved by conjugate gradients.

Over the free rows the dual is a quadratic function, whose matrix has a few large eigenvalues, those of the
smooth functions, and a long tail of small ones. Some columns of it make a matrix UUᵀ + μI near it that is
quickly inverted: gradients that it corrects are conjugate after some tens of products. Rows that the maximum
would take out of their box are pinned to its bound, pinned rows whose slope points inwards are let go, and
the rest is solved for again until no row changes: a few turns. Steps of pairs creep through the smooth
directions instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from assay.rows import ordered_map
from assay.solvers.rkhs.problem import Array

RANK = 512
MOST_TURNS, MOST_STEPS = 8, 50
PRECISE = 1e-7
"""Share of the squared slopes that conjugate gradients leave in a turn."""

PIECE = 512


def conjugate_step(gram: NDArray, pull: Array, up: Array, down: Array, constraints: Array) -> Array:
    """A change δ between `down` and `up` with Aᵀδ = 0 that makes pullᵀδ − ½ δᵀKδ nearly the largest.

    Parameters
    ----------
    gram : array of shape (n, n)
        K, in single precision.
    pull : array of shape (n,)
        Slopes at δ = 0.
    up, down : arrays of shape (n,)
    constraints : array of shape (n, q)
        A, of zeros and ones, at most a one per row.
    """
    near, change, residual = NearMatrix.of(gram), np.zeros_like(pull), pull.copy()
    pinned = np.zeros(len(pull), dtype=np.int8)
    for turn in range(MOST_TURNS):
        inside, moved = pinned == 0, np.where(pinned > 0, up, np.where(pinned < 0, down, change))
        members = constraints * inside[:, None]
        counts = members.sum(axis=0)
        if not np.all(counts > 0):
            break
        # The pinned rows go to their bounds; the others make up for what that adds to Aᵀδ.
        moved = moved - members @ (constraints.T @ moved / counts)
        if turn:
            residual = residual - times(gram, moved - change)
        step = conjugate_gradients(
            gram, near.on(inside, members), residual - constraints @ _levels(residual, members)
        )
        change, residual = moved + step.direction, residual - step.product
        slope = residual - constraints @ _levels(residual, members)
        leaves = np.where(change > up, 1, np.where(change < down, -1, 0))
        stays = np.where(pinned * slope >= 0, pinned, 0)
        before, pinned = pinned, np.where(inside, leaves, stays).astype(np.int8)
        if np.array_equal(before, pinned):
            break
    return balanced(change, up, down, constraints)


def _levels(residual: Array, members: Array) -> Array:
    """The multiplier of each constraint: the mean slope of the rows inside that take part in it."""
    return np.asarray(members.T @ residual / members.sum(axis=0))


def balanced(trial: Array, up: Array, down: Array, constraints: Array) -> Array:
    """The change cut to its box, with Aᵀδ = 0: rows inside make up for it, others where they must."""
    trial = np.clip(trial, down, up)
    widest = float(np.max(up - down, initial=0.0))
    for column in constraints.T:
        inside = (column > 0) & (trial < up) & (trial > down)
        for rows in (inside, column > 0):
            # Rows shifted down together and cut to the box have a sum that falls with the shift.
            low, high = -widest, widest
            for _ in range(70):
                middle = 0.5 * (low + high)
                shifted = np.where(rows, np.clip(trial - middle, down, up), trial)
                low, high = (middle, high) if column @ shifted > 0 else (low, middle)
            trial = np.where(rows, np.clip(trial - high, down, up), trial)
            if abs(column @ trial) <= 1e-9 * widest:
                break
    return trial


def times(gram: NDArray, vector: Array) -> Array:
    """K v, some rows of K per thread."""
    single = vector.astype(gram.dtype)
    result = np.empty(len(gram))

    def piece(start: int) -> None:
        result[start : start + PIECE] = gram[start : start + PIECE] @ single

    for _ in ordered_map(piece, range(0, len(gram), PIECE)):
        pass
    return result


class Face(NamedTuple):
    """The inverse of a matrix near K on some of the rows, and the constraints on them."""

    inside: NDArray[np.bool_]
    low_rank: NDArray
    factor: tuple[Array, bool]
    tail: float
    constraints: Array
    solved: Array
    """The inverse times the constraints."""
    inner: Array

    def apply(self, vector: Array) -> Array:
        """The inverse times a vector of these rows."""
        U = self.low_rank
        inner = linalg.cho_solve(self.factor, (vector.astype(U.dtype) @ U).astype(np.float64))
        return np.where(self.inside, vector - (U @ inner.astype(U.dtype)), 0.0) / self.tail

    def corrected(self, vector: Array) -> Array:
        """The same without what changes the constraints."""
        solved = self.apply(vector)
        return np.asarray(solved - self.solved @ (self.inner @ (self.constraints.T @ solved)))


class NearMatrix(NamedTuple):
    """UUᵀ + μI: K as some of its columns give it, and the mean of what they leave on the diagonal."""

    low_rank: NDArray
    tail: float

    @classmethod
    def of(cls, gram: NDArray) -> NearMatrix:
        """Of evenly spaced columns."""
        n = len(gram)
        places = np.unique(np.linspace(0, n - 1, min(RANK, max(n // 8, 1))).astype(np.intp))
        values, vectors = linalg.eigh(gram[np.ix_(places, places)].astype(np.float64))
        kept = values > 1e-5 * values[-1]
        basis = (vectors[:, kept] / np.sqrt(values[kept])).astype(gram.dtype)
        low_rank = gram[:, places] @ basis
        diagonal = gram.diagonal().astype(np.float64)
        left = diagonal - np.einsum("ij,ij->i", low_rank, low_rank)
        return cls(low_rank, max(float(left.mean()), 1e-6 * float(diagonal.mean())))

    def on(self, inside: NDArray[np.bool_], members: Array) -> Face:
        """Its inverse on some of the rows, with the constraints on them."""
        U = self.low_rank[inside]
        system = (U.T @ U).astype(np.float64)
        system.flat[:: len(system) + 1] += self.tail
        nothing = np.zeros((0, 0))
        face = Face(inside, self.low_rank, linalg.cho_factor(system), self.tail, members, members, nothing)
        if not members.shape[1]:
            return face
        solved = np.column_stack([face.apply(column) for column in members.T])
        return face._replace(solved=solved, inner=np.asarray(np.linalg.pinv(members.T @ solved)))


class Step(NamedTuple):
    """A direction and K times it, on all rows."""

    direction: Array
    product: Array


def conjugate_gradients(gram: NDArray, face: Face, right: Array) -> Step:
    """A direction d of the rows of a face with Aᵀd = 0 and Kd nearly `right` there."""
    step = Step(np.zeros_like(right), np.zeros_like(right))
    left = np.where(face.inside, right, 0.0)
    search = corrected = face.corrected(left)
    slope = first = float(left @ corrected)
    for _ in range(MOST_STEPS):
        if not slope > PRECISE * first:
            break
        product = times(gram, search)
        curvature = float(search @ product)
        if not curvature > 0:
            break
        length = slope / curvature
        step = Step(step.direction + length * search, step.product + length * product)
        left = left - length * np.where(face.inside, product, 0.0)
        corrected = face.corrected(left)
        slope, before = float(left @ corrected), slope
        search = corrected + (slope / before) * search
    return step
