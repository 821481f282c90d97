"""How neighbours decide: the weight of each by its distance, the votes of the classes, and who wins a tie."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.distances import Nearest, Neighborhoods
from assay.losses import chosen
from assay.neighbors.loops import path_mistakes
from assay.parameters import Domain

Array = NDArray[np.float64]

TIES = ("first", "positive", "nearest")

WEIGHTS = (
    parameters.one_of("uniform", "distance", "gaussian") | parameters.nothing | Domain("a callable", callable)
)


class Weighing(NamedTuple):
    """The weight of a neighbour: 1, 1/d, exp(−γ d²), or a function of the distances."""

    kind: Any
    gamma: float = 1.0

    @property
    def is_uniform(self) -> bool:
        """Whether every neighbour counts the same."""
        return self.kind is None or (isinstance(self.kind, str) and self.kind == "uniform")

    def of_nearest(self, distances: NDArray) -> Array | None:
        """Weights of the nearest rows of each query, shape (n_queries, k); None for ones.

        A row at distance 0 leaves, for "distance", no weight to those farther away. Gaussian weights are
        divided by that of the nearest, which changes no vote and keeps them from vanishing all at once.
        """
        if self.is_uniform:
            return None
        far = distances.astype(np.float64)
        if callable(self.kind):
            return self._given(far)
        if self.kind == "gaussian":
            # (d − d₁)(d + d₁), not d² − d₁², which may overflow where the difference does not.
            with np.errstate(over="ignore", under="ignore"):
                return np.exp(-self.gamma * (far - far[:, :1]) * (far + far[:, :1]))
        at_zero = far[:, :1] == 0.0
        # The nearest over each: the same votes as 1/d, and no overflow where distances are tiny.
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = far[:, :1] / far
        return np.where(at_zero, (far == 0.0).astype(np.float64), inverse)

    def of_lists(self, near: Neighborhoods) -> Array | None:
        """Weights of the rows within a radius, in the order of the lists; None for ones."""
        if self.is_uniform:
            return None
        far, owners = near.distances.astype(np.float64), owners_of(near)
        if callable(self.kind):
            parts = [self._given(part) for part in np.split(far, near.indptr[1:-1]) if part.size]
            return np.concatenate(parts) if parts else np.empty(0)
        least = least_of_lists(near)[owners]
        if self.kind == "gaussian":
            with np.errstate(over="ignore", under="ignore"):
                return np.exp(-self.gamma * (far - least) * (far + least))
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = least / far
        return np.where(least == 0.0, (far == 0.0).astype(np.float64), inverse)

    def _given(self, distances: Array) -> Array:
        """The weights that a function gives, checked."""
        weights = np.asarray(self.kind(distances), dtype=np.float64)
        if weights.shape != distances.shape:
            raise ValueError(
                f"A function given as 'weights' must return one number per distance, shape "
                f"{distances.shape}. Got shape {weights.shape}."
            )
        if np.isinf(weights).any():  # one over a distance of zero: these rows decide alone
            there = np.isposinf(weights)
            rows = there.any(axis=-1, keepdims=True)
            weights = np.where(rows, there.astype(np.float64), weights)
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError("A function given as 'weights' must return numbers at least 0, not NaN.")
        if (weights.sum(axis=-1) == 0).any():
            raise ValueError(
                "All neighbors of some row get the weight 0; change the function given as 'weights', or take "
                "more neighbours."
            )
        return weights


def owners_of(near: Neighborhoods) -> NDArray[np.intp]:
    """The query of each entry of lists."""
    return np.repeat(np.arange(len(near.indptr) - 1), np.diff(near.indptr))


def least_of_lists(near: Neighborhoods) -> Array:
    """The least distance in each list; infinity for an empty one."""
    least = np.full(len(near.indptr) - 1, np.inf)
    np.minimum.at(least, owners_of(near), near.distances.astype(np.float64))
    return least


def masses(indices: NDArray, weight: NDArray, n_neighbors: float, own: NDArray | None = None) -> Array:
    """How often each of the nearest rows counts: a row of weight 3 is three neighbours, as far as they go.

    The last one counts for what is missing to `n_neighbors`. `own` is the row that each query is: one of its
    repetitions is the query itself.
    """
    each = weight[indices].astype(np.float64)
    if own is not None:
        each = np.where(indices == own[:, None], np.maximum(each - 1.0, 0.0), each)
    each = np.minimum(each, n_neighbors)  # a row counts at most so often: sums keep their digits
    before = np.cumsum(each, axis=1) - each
    return np.clip(n_neighbors - before, 0.0, each)


def votes(labels: NDArray, weights: Array | None, n_classes: int) -> Array:
    """Sum of the weights of each class among the neighbours, shape (n_queries, n_classes).

    Rows of several labels, (n_queries, k, n_outputs), vote for each of them.
    """
    n_queries = len(labels)
    if labels.ndim == 3:
        weights = None if weights is None else np.repeat(weights, labels.shape[2], axis=1)
        labels = labels.reshape(n_queries, -1)
    places = labels + n_classes * np.arange(n_queries)[:, None]
    flat = None if weights is None else np.broadcast_to(weights, labels.shape).ravel()
    counts = np.bincount(places.ravel(), flat, minlength=n_queries * n_classes)
    return counts.reshape(n_queries, n_classes).astype(np.float64)


def list_votes(near: Neighborhoods, labels: NDArray, weights: Array | None, n_classes: int) -> Array:
    """The votes of lists of neighbours; an empty list has none."""
    n_queries = len(near.indptr) - 1
    own, owners = labels[near.indices], owners_of(near)
    if own.ndim == 2:
        weights = None if weights is None else np.repeat(weights, own.shape[1])
        own, owners = own.ravel(), np.repeat(owners, own.shape[1])
    places = own + n_classes * owners
    counts = np.bincount(places, weights, minlength=n_queries * n_classes)
    return counts.reshape(n_queries, n_classes).astype(np.float64)


def winners(counts: Array, ties: str, labels: NDArray | None = None) -> NDArray[np.intp]:
    """The class of most votes; a tie goes to the first class, to the last, or to that of the nearest row.

    `labels` are those of the neighbours, nearest first, for ties="nearest".
    """
    if ties == "first":
        return chosen(counts)
    if ties == "positive":
        return counts.shape[1] - 1 - np.argmax(counts[:, ::-1], axis=1)
    assert labels is not None
    most = counts == counts.max(axis=1, keepdims=True)
    rows = np.arange(len(counts))
    first = np.argmax(most[rows[:, None], labels], axis=1)
    return labels[rows, first].astype(np.intp)


def voted(counts: Array, classes: Any, ties: str, labels: NDArray | None = None) -> NDArray:
    """The class of most votes, in each column of classes where there are several."""
    if not isinstance(classes, list):
        return classes[winners(counts, ties, labels)]
    ends = np.cumsum([len(own) for own in classes])
    answers = []
    for column, (end, own) in enumerate(zip(ends.tolist(), classes, strict=True)):
        start = end - len(own)
        mine = None if labels is None else labels[:, :, column] - start
        answers.append(own[winners(counts[:, start:end], ties, mine)])
    return np.column_stack(answers)


def mistakes_along(
    labels: NDArray, weights: Array | None, truth: NDArray, n_classes: int, ties: str
) -> NDArray[np.bool_]:
    """Whether the 1, 2, … nearest rows decide for another class than the true one, (n_queries, k)."""
    each = np.ones((1, 1)) if weights is None else weights
    wrong = np.empty(labels.shape, dtype=np.bool_)
    path_mistakes(labels, each, truth.astype(np.int64), n_classes, TIES.index(ties), wrong)
    return wrong


def means_along(targets: NDArray, weights: Array | None) -> Array:
    """Weighted means of the targets of the 1, 2, … nearest rows: (n_queries, k) or (n_queries, k, t)."""
    values = targets.astype(np.float64)
    if weights is None:
        count = np.arange(1.0, values.shape[1] + 1)
        return np.cumsum(values, axis=1) / (count if values.ndim == 2 else count[:, None])
    each = weights if values.ndim == 2 else weights[:, :, None]
    total = np.cumsum(each, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.cumsum(each * values, axis=1) / total


def repeated(near: Nearest, weight: NDArray, n_neighbors: int, own: NDArray | None = None) -> Nearest:
    """Each of the nearest rows as many times as it weighs, the first `n_neighbors` of them."""
    each = masses(near.indices, weight, n_neighbors, own).astype(np.intp)
    if (each.sum(axis=1) < n_neighbors).any():
        raise ValueError(f"The rows weigh too little for {n_neighbors} neighbours.")
    shape = (len(each), n_neighbors)
    places = np.repeat(np.arange(each.size), each.ravel()).reshape(shape)
    return Nearest(near.distances.ravel()[places], near.indices.ravel()[places])
