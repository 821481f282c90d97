"""A fitted sum of learners: what it says about rows, round by round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from assay.losses import softmax
from assay.models.classes import class_of
from assay.rows import Block
from assay.trees.decision.regressor import DecisionTreeRegressor

Array = NDArray[np.float64]


class Additive(NamedTuple):
    """f = f_0 + Σ_t ν w_t g_t.

    Attributes
    ----------
    members : object array of shape (n_rounds, n_scores)
    steps : array of shape (n_rounds,)
        ν w_t.
    start : float or array of shape (n_scores,)
        The constant of f_0.
    signs : bool
        Whether g_t is the sign of what a member predicts.
    first : callable, optional
        What f_0 adds to the constant for given rows.
    """

    members: NDArray
    steps: Array
    start: Any
    signs: bool
    first: Callable[[Any], Array] | None = None

    def begin(self, X: Any) -> Array:
        """f_0 of rows."""
        shape = (X.shape[0],) if self.members.shape[1] == 1 else (X.shape[0], self.members.shape[1])
        scores = np.array(np.broadcast_to(np.asarray(self.start, dtype=np.float64), shape))
        return scores if self.first is None else scores + self.first(X)

    def say(self, members: Any, X: Any) -> Array:
        """What the members of one round say about rows: a number per row, or one per score."""
        said = [answers_of(member, X, signs=self.signs) for member in members]
        return said[0] if len(said) == 1 else np.column_stack(said)

    def staged(self, X: Any) -> Iterator[Array]:
        """Scores after each round; one array, reused."""
        scores = self.begin(X)
        for members, step in zip(self.members, self.steps, strict=True):
            scores += step * self.say(members, X)
            yield scores

    def scores(self, X: Any) -> Array:
        """Scores after the last round."""
        total = self.begin(X)
        for members, step in zip(self.members, self.steps, strict=True):
            total += step * self.say(members, X)
        return total

    def chances(self, scores: Array, sharpness: float) -> Array:
        """Probabilities of the classes: softmax, or 1/(1 + e^{−sharpness f}) of the second of two."""
        if scores.ndim > 1:
            return softmax(scores)
        second = expit(sharpness * scores)
        return np.column_stack([1.0 - second, second])


def answers_of(member: Any, X: Any, *, signs: bool) -> Array:
    """What a member predicts, or its sign."""
    if type(member) is DecisionTreeRegressor:
        dense = np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X)
        return member.tree_.predict(member.columns_.levels_as_codes(dense))[:, 0]
    said = np.asarray(member.predict(X), dtype=np.float64).reshape(X.shape[0])
    return np.where(said > 0, 1.0, -1.0) if signs else said


def numbers_of_rows(block: Block, additive: Additive) -> NDArray:
    """Scores of the rows of a block."""
    return additive.scores(block.X).astype(block.X.dtype, copy=False)


def labels_of_rows(block: Block, additive: Additive, classes: NDArray) -> NDArray:
    """The class of each row of a block: that of the sign of its score, or of its largest one."""
    return class_of(additive.scores(block.X), classes)


def shares_of_rows(block: Block, additive: Additive, sharpness: float) -> NDArray:
    """Probabilities of the classes for the rows of a block."""
    return additive.chances(additive.scores(block.X), sharpness).astype(block.X.dtype, copy=False)
