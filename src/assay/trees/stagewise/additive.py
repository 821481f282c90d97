"""A fitted sum of learners: what it says about rows, round by round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from assay.models.classes import class_of
from assay.rows import Block

Array = NDArray[np.float64]


class Additive(NamedTuple):
    """f = f_0 + Σ_t ν w_t g_t.

    Attributes
    ----------
    members : list of estimators
    steps : array of shape (n_rounds,)
        ν w_t.
    start : float
        f_0.
    signs : bool
        Whether g_t is the sign of what a member predicts.
    """

    members: list[Any]
    steps: Array
    start: float
    signs: bool

    def say(self, member: Any, X: Any) -> Array:
        """What one member says about rows."""
        return answers_of(member, X, signs=self.signs)

    def staged(self, X: Any) -> Iterator[Array]:
        """Scores after each round; one array, reused."""
        scores = np.full(X.shape[0], self.start)
        for member, step in zip(self.members, self.steps, strict=True):
            scores += step * self.say(member, X)
            yield scores

    def scores(self, X: Any) -> Array:
        """Scores after the last round."""
        total = np.full(X.shape[0], self.start)
        for scores in self.staged(X):
            total = scores
        return total


def answers_of(member: Any, X: Any, *, signs: bool) -> Array:
    """What a member predicts, or its sign."""
    said = np.asarray(member.predict(X), dtype=np.float64).reshape(X.shape[0])
    return np.where(said > 0, 1.0, -1.0) if signs else said


def numbers_of_rows(block: Block, additive: Additive) -> NDArray:
    """Scores of the rows of a block."""
    return additive.scores(block.X).astype(block.X.dtype, copy=False)


def labels_of_rows(block: Block, additive: Additive, classes: NDArray) -> NDArray:
    """The class of each row of a block: that of the sign of its score."""
    return class_of(additive.scores(block.X), classes)


def shares_of_rows(block: Block, additive: Additive, sharpness: float) -> NDArray:
    """Probabilities of the two classes for the rows of a block: 1/(1 + e^{−sharpness f}) of the second."""
    second = expit(sharpness * additive.scores(block.X))
    return np.column_stack([1.0 - second, second]).astype(block.X.dtype, copy=False)
