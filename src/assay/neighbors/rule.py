"""What fitted neighbours decide by: rows to search, their targets and weights, and how many count."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.distances import Nearest, Neighborhoods
from assay.neighbors.searching import GivenDistances, GivenGraph, PairwiseSearch, Search
from assay.neighbors.voting import Array, Weighing, list_votes, masses, owners_of, repeated, voted, votes
from assay.rows import Block

ENOUGH = 1.0 - 1e-9
"""Part of the asked mass of neighbours that counts as all of it: weights are sums of rounded numbers."""


class NeighborRule(NamedTuple):
    """The rows that vote, and what their votes weigh.

    Attributes
    ----------
    search : object with `nearest` and `within`
    target : array of shape (n_rows,) or (n_rows, n_targets) or None
        Places of the classes, or numbers.
    weight : array of shape (n_rows,) or None
        How often each row counts; None for once.
    reach : float
        The number of neighbours, or the radius.
    weighing : Weighing
    columns : int array or None
        The columns of given distances that belong to the rows.
    """

    search: Search
    target: Any
    weight: NDArray | None
    reach: float
    weighing: Weighing
    columns: NDArray | None = None

    def queries(self, block: Block) -> Any:
        """The queries of a block as the search takes them; None for the rows of the fit themselves."""
        if block.X is None:
            return None
        asked = block.X if self.columns is None else block.X[:, self.columns]
        is_dense = not isinstance(self.search, GivenDistances | GivenGraph | PairwiseSearch) or (
            isinstance(self.search, PairwiseSearch) and not sparse.issparse(self.search.X)
        )
        return asked.toarray() if is_dense and hasattr(asked, "toarray") else asked

    def nearest(self, queries: Any) -> tuple[Nearest, Array | None]:
        """The nearest rows of queries and the weight of each; None for ones."""
        k = int(self.reach)
        if self.weight is None:
            near = self.search.nearest(k, queries)
            return near, self.weighing.of_nearest(near.distances)
        near, each = self._weighted(k, queries)
        # The nearest that counts sets the scale: a row of no weight, or the query itself, is no neighbour.
        first = np.argmax(each > 0, axis=1)[:, None]
        least = np.take_along_axis(near.distances, first, axis=1)
        weights = self.weighing.of_nearest(np.maximum(near.distances, least))
        return near, each if weights is None else weights * each

    def _weighted(self, k: int, queries: Any) -> tuple[Nearest, Array]:
        """As many rows as it takes to weigh k, and how often each counts."""
        assert self.weight is not None
        own = None if queries is not None else np.arange(len(self.weight))
        asked: Any = self.search.X if queries is None else queries  # type: ignore[union-attr]
        count = min(len(self.weight), k + (own is not None))
        while True:
            near = self.search.nearest(count, asked)
            each = masses(near.indices, self.weight, k, own)
            if count == len(self.weight) or (each.sum(axis=1) >= k * ENOUGH).all():
                return near, each
            count = min(len(self.weight), 2 * count)

    def within(self, queries: Any) -> tuple[Neighborhoods, Array | None]:
        """The rows within the radius of queries and the weight of each; None for ones.

        A row that is a query itself is not among its own neighbours.
        """
        near = self.search.within(float(self.reach), queries)
        owners, each = owners_of(near), None if self.weight is None else self.weight[near.indices]
        stay = near.indices != owners if queries is None else np.ones(len(owners), dtype=np.bool_)
        if each is not None:  # other repetitions of a row are its neighbours
            each = np.where(stay, each, np.maximum(each - 1.0, 0.0))
            stay = each > 0
            each = each[stay]
        if not stay.all():
            counts = np.bincount(owners[stay], minlength=len(near.indptr) - 1)
            indptr = np.concatenate([[0], np.cumsum(counts)])
            near = Neighborhoods(indptr, near.indices[stay], near.distances[stay])
        weights = self.weighing.of_lists(near)
        if each is None or weights is None:
            return near, each if weights is None else weights
        return near, weights * each


def nearest_of(block: Block, rule: NeighborRule, k: int) -> Nearest:
    """The nearest rows of the queries of a block, whatever they weigh."""
    return rule.search.nearest(k, rule.queries(block))


def stacked(left: Nearest, right: Nearest) -> Nearest:
    """Neighbours of the queries of two blocks."""
    return Nearest(*(np.concatenate(pair) for pair in zip(left, right, strict=True)))


def class_votes(block: Block, rule: NeighborRule, n_classes: int) -> tuple[Array, NDArray]:
    """Votes of the classes among the nearest rows, and the classes of these, nearest first."""
    near, weights = rule.nearest(rule.queries(block))
    labels = rule.target[near.indices]
    return votes(labels, weights, n_classes), labels


def class_shares(block: Block, rule: NeighborRule, n_classes: int, dtype: Any) -> NDArray:
    """Share of each class in the votes of the nearest rows."""
    counts, labels = class_votes(block, rule, n_classes)
    n_outputs = labels.shape[2] if labels.ndim == 3 else 1  # each of which has all the votes
    return (counts * (n_outputs / counts.sum(axis=1, keepdims=True))).astype(dtype)


def voted_classes(block: Block, rule: NeighborRule, classes: Any, ties: str) -> NDArray:
    """The class of most votes."""
    n_classes = sum(map(len, classes)) if isinstance(classes, list) else len(classes)
    counts, labels = class_votes(block, rule, n_classes)
    return voted(counts, classes, ties, labels)


def mean_targets(block: Block, rule: NeighborRule, dtype: Any) -> NDArray:
    """Weighted means of the targets of the nearest rows."""
    near, weights = rule.nearest(rule.queries(block))
    targets = rule.target[near.indices].astype(np.float64)
    if weights is None:
        with np.errstate(over="ignore"):
            means = targets.mean(axis=1)
        if np.isfinite(means).all():
            return means.astype(dtype)
        weights = np.ones(near.indices.shape)  # the sum overflows where the mean does not
    shares = weights / weights.sum(axis=1, keepdims=True)
    return np.einsum("qk,qk...->q...", shares, targets).astype(dtype)


def list_shares(block: Block, rule: NeighborRule, n_classes: int) -> Array:
    """Share of each class among the rows within the radius; zeros where there are none."""
    near, weights = rule.within(rule.queries(block))
    counts = list_votes(near, rule.target, weights, n_classes)
    total = counts.sum(axis=1, keepdims=True) / (rule.target.shape[1] if rule.target.ndim == 2 else 1)
    return counts / np.where(total > 0, total, 1.0)


def list_means(block: Block, rule: NeighborRule, dtype: Any) -> NDArray:
    """Weighted means of the targets within the radius; NaN where there are none."""
    near, weights = rule.within(rule.queries(block))
    values, owners = rule.target[near.indices].astype(np.float64), owners_of(near)
    each = np.ones(len(values)) if weights is None else weights
    n_queries = len(near.indptr) - 1
    total = np.bincount(owners, each, minlength=n_queries)
    columns = values.reshape(len(values), int(np.prod(values.shape[1:])))
    sums = [np.bincount(owners, each * columns[:, t], minlength=n_queries) for t in range(columns.shape[1])]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.column_stack(sums) / total[:, None]
    return means.reshape(n_queries, *values.shape[1:]).astype(dtype)


class Sorted(NamedTuple):
    """Targets and weights of sorted neighbours, (n_queries, K), and the truth of the queries."""

    targets: NDArray
    weights: Array | None
    truth: NDArray
    mass: Array  # how often each query counts


def sorted_neighbors(rule: NeighborRule, queries: Any, truth: NDArray, mass: Array) -> Sorted:
    """The nearest rows of queries, each as often as it weighs."""
    k = int(rule.reach)
    if rule.weight is None:
        near = rule.search.nearest(k, queries)
    else:
        if (rule.weight != np.rint(rule.weight)).any():
            raise ValueError("Errors along all numbers of neighbours need sample_weight of whole numbers.")
        near, _ = rule._weighted(k, queries)
        own = np.arange(len(rule.weight)) if queries is None else None
        near = repeated(near, rule.weight, k, own)
    weights = rule.weighing.of_nearest(near.distances)
    return Sorted(rule.target[near.indices], weights, truth, mass)
