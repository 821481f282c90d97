"""A fitted committee of classifiers: what its members say, and what they score together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from assay.loops import compiled
from assay.models.calibration import Calibrator
from assay.models.classes import class_of
from assay.rows import Block, code
from assay.trees.decision.classifier import DecisionTreeClassifier
from assay.trees.stagewise.oracles import centred_logs
from assay.trees.stagewise.stumps import Stumps, say_stumps, stumps_of
from assay.trees.stagewise.votes.fitting import SourceRows

Array = NDArray[np.float64]

ROWS_AT_ONCE = 256
"""Rows that all stumps of a vote look at, one after the other."""

MEMBERS_AT_ONCE = 64
"""Members whose answers about a block of rows are kept at a time."""


class Committee(NamedTuple):
    """Members, their steps w_t, and how their answers become scores.

    Attributes
    ----------
    members : list of classifiers
    stumps : Stumps or None
        The members as flat arrays, where all are stumps.
    steps : float64 array of shape (n_members,)
    classes : array of shape (n_classes,)
    other : float
        Entry of the code of a class at the place of another: −1/(C − 1), or −1 of the naive rule.
    chances : bool
        Whether members add the logarithms of their probabilities (SAMME.R).
    sharpness : float
        Probabilities are proportional to e^{sharpness · f_k}.
    """

    members: list[Any]
    stumps: Stumps | None
    steps: Array
    classes: NDArray
    other: float
    chances: bool
    sharpness: float

    @property
    def n_answers(self) -> int:
        """Number of classes; 2 for the naive rule, whose answers are right or wrong."""
        return 2 if self.other == -1.0 else len(self.classes)

    def places(self, X: Any) -> Iterator[NDArray[np.int64]]:
        """Which class each member says about each row, member by member."""
        if isinstance(X, SourceRows):
            for first in range(0, len(self.members), MEMBERS_AT_ONCE):
                some = self.some(slice(first, first + MEMBERS_AT_ONCE))
                how: Any = {"dtype": np.int64, "width": len(some.members)}
                said = np.asarray(X.data.map(places_of_rows, some, **how))
                yield from np.ascontiguousarray(said[X.there].T)
            return
        if self.stumps is None:
            for member in self.members:
                yield places_of(member, X, self.classes)
            return
        dense = np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X)
        for first in range(0, len(self.members), MEMBERS_AT_ONCE):
            said = np.empty((min(MEMBERS_AT_ONCE, len(self.members) - first), len(dense)), dtype=np.int64)
            say_stumps(self.stumps, dense, first, said)
            yield from said

    def some(self, part: slice) -> Committee:
        """The committee of some of the members."""
        arrays: Any = () if self.stumps is None else (values[part] for values in self.stumps)
        stumps = None if self.stumps is None else Stumps(*arrays)
        return self._replace(members=self.members[part], stumps=stumps, steps=self.steps[part])

    def logs(self, X: Any) -> Iterator[Array]:
        """Scores (C − 1)(log p_k − mean log p) of each class, member by member."""
        for member in self.members:
            yield (len(self.classes) - 1) * centred_logs(chances_of(member, X, self.classes))

    def staged_scores(self, X: Any) -> Iterator[Array]:
        """Scores after each member (one array, reused): of the second of two classes, or all."""
        two = len(self.classes) == 2
        scores = np.zeros(X.shape[0] if two else (X.shape[0], len(self.classes)))
        if self.chances:
            for logs, step in zip(self.logs(X), self.steps, strict=True):
                scores += step * (logs[:, 1] if two else logs)
                yield scores
            return
        for said, step in zip(self.places(X), self.steps, strict=True):
            if two:
                add_signs(said, step, scores)
            else:
                add_votes(said, step, self.other, scores)
            yield scores

    def scores(self, X: Any) -> Array:
        """Scores of all members together."""
        if self.stumps is not None and not isinstance(X, SourceRows):
            dense = np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X)
            votes = np.zeros((len(dense), 1 if len(self.classes) == 2 else len(self.classes)))
            vote_stumps(self.stumps, self.steps, self.other, dense, votes)
            return votes[:, 0] if len(self.classes) == 2 else votes
        total: Array = np.zeros(0)
        for scores in self.staged_scores(X):
            total = scores
        return total

    def probabilities(self, scores: Array) -> Array:
        """Probability of each class from the scores."""
        both = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        return np.asarray(softmax(self.sharpness * both, axis=1))

    def margins(self, scores: Array, labels: NDArray[np.int64]) -> Array:
        """The margin of each row of a known class: y f of two classes, f_y/(C − 1) of more."""
        if scores.ndim == 1:
            return np.where(labels == 1, scores, -scores)
        own = scores[np.arange(len(labels)), labels]
        return own if self.other == -1.0 else own / (len(self.classes) - 1)


def committee_of(
    members: list[Any], steps: Array, classes: NDArray, *, naive: bool, chances: bool, sharpness: float
) -> Committee:
    """The committee, with stumps as flat arrays where all members are."""
    are_stumps = not chances and all(
        isinstance(member, DecisionTreeClassifier)
        and member.tree_.node_count <= 3
        and not member.is_categorical_.any()
        for member in members
    )
    stumps = stumps_of([member.tree_ for member in members]) if are_stumps else None
    other = -1.0 if naive else -1.0 / (len(classes) - 1)
    return Committee(members, stumps, steps, classes, other, chances, sharpness)


def places_of(member: Any, X: Any, classes: NDArray) -> NDArray[np.int64]:
    """Place among the classes of what a member predicts."""
    return code(np.asarray(member.predict(X)), classes).astype(np.int64)


def chances_of(member: Any, X: Any, classes: NDArray) -> Array:
    """Probability of every class by a member, 0 for classes that it does not know."""
    chances = np.zeros((X.shape[0], len(classes)))
    chances[:, code(np.asarray(member.classes_), classes)] = member.predict_proba(X)
    return chances


@compiled
def add_signs(said, step, scores):  # type: ignore[no-untyped-def]
    """Add the step where the second class is said, take it off elsewhere."""
    for i in range(scores.shape[0]):
        scores[i] += step if said[i] == 1 else -step


@compiled
def add_votes(said, step, other, scores):  # type: ignore[no-untyped-def]
    """Add the code of the class that is said about each row, times the step."""
    for i in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            scores[i, k] += step if k == said[i] else step * other


@compiled
def vote_stumps(stumps, steps, other, X, scores):  # type: ignore[no-untyped-def]
    """Scores of all stumps, some rows at a time, which stay in the cache; added up in their order."""
    for begin in range(0, X.shape[0], ROWS_AT_ONCE):
        end = min(begin + ROWS_AT_ONCE, X.shape[0])
        for t in range(steps.shape[0]):
            j, threshold, missing_left = stumps.feature[t], stumps.threshold[t], stumps.missing_left[t]
            left, right, step = stumps.left[t], stumps.right[t], steps[t]
            for i in range(begin, end):
                said = left
                if j >= 0:
                    value = X[i, j]
                    goes_left = value <= threshold if value == value else missing_left
                    said = left if goes_left else right
                if scores.shape[1] == 1:
                    scores[i, 0] += step if said == 1 else -step
                else:
                    for k in range(scores.shape[1]):
                        scores[i, k] += step if k == said else step * other


# What is mapped over blocks of rows.


def scores_of_rows(block: Block, committee: Committee) -> NDArray:
    """Scores of the rows of a block."""
    return committee.scores(block.X).astype(block.X.dtype, copy=False)


def exact_scores_of_rows(block: Block, committee: Committee) -> Array:
    """The same in double precision, one column per score."""
    return committee.scores(block.X).reshape(block.X.shape[0], -1)


def places_of_rows(block: Block, committee: Committee) -> NDArray[np.int64]:
    """The place of the class that each member says about the rows of a block."""
    return np.column_stack(list(committee.places(block.X)))


def classes_of_rows(block: Block, committee: Committee, calibrator: Calibrator | None) -> NDArray:
    """The class of each row of a block: of the largest score, or of the largest honest probability."""
    scores = committee.scores(block.X)
    if calibrator is not None:
        scores = calibrator.apply(committee.probabilities(scores))
    return class_of(scores, committee.classes)


def chances_of_rows(block: Block, committee: Committee, calibrator: Calibrator | None) -> NDArray:
    """Probability of each class for the rows of a block."""
    chances = committee.probabilities(committee.scores(block.X))
    chances = chances if calibrator is None else calibrator.apply(chances)
    return chances.astype(block.X.dtype, copy=False)


def signs_of_rows(block: Block, committee: Committee) -> NDArray:
    """What each member says about the rows of a block: ±1 for two classes, else the place of the class."""
    said = np.column_stack(list(committee.places(block.X)))
    return (2 * said - 1 if len(committee.classes) == 2 else said).astype(block.X.dtype)
