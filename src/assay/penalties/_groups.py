"""Partitions of the features into groups."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal
from assay.penalties._penalty import non_negative


class Partition(NamedTuple):
    """Groups of features as plain arrays; the members of group g are order[starts[g]:starts[g + 1]]."""

    labels: NDArray[np.intp]
    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]

    def norms(self, coef: NDArray) -> NDArray:
        """Euclidean norm of each group in each column: shape (n_groups,) or (n_groups, t)."""
        return np.sqrt(self.sums(coef**2))

    def sums(self, values: NDArray) -> NDArray:
        """Sum over each group in each column."""
        return np.add.reduceat(values[self.order], self.starts, axis=0)


def partition(owner: str, groups: Any) -> Partition:
    """Read the groups, given as one label a feature or as one list of indices a group."""
    entries = list(groups) if hasattr(groups, "__iter__") and not isinstance(groups, str) else []
    if not entries:
        raise refusal(owner, "groups", "one label a feature or one list of indices a group", groups)
    if isinstance(entries[0], (list, tuple, range)) or np.ndim(entries[0]) == 1:
        labels = _labels_of_lists(owner, entries)
    else:
        labels = np.asarray(entries)
        if labels.ndim != 1:
            raise refusal(owner, "groups", "one label a feature or one list of indices a group", groups)
    _, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return Partition(labels, np.argsort(labels, kind="stable"), starts, sizes)


def _labels_of_lists(owner: str, lists: list[Any]) -> NDArray:
    must_be = "lists of indices that hold each feature exactly once"
    try:
        members = [np.asarray(indices, dtype=np.intp) for indices in lists]
        indices = np.concatenate(members)
    except (TypeError, ValueError):
        raise refusal(owner, "groups", must_be, lists) from None
    if min(map(len, members)) == 0 or not np.array_equal(np.sort(indices), np.arange(len(indices))):
        raise refusal(owner, "groups", must_be, lists)
    labels = np.empty(len(indices), dtype=np.intp)
    labels[indices] = np.repeat(np.arange(len(members)), [len(member) for member in members])
    return labels


def group_weights(owner: str, weights: Any, groups: Partition) -> NDArray:
    """One weight a group, √size unless given."""
    if weights is None:
        return np.sqrt(groups.sizes)
    found = non_negative(owner, "weights", weights, ndim=(1,), infinite=True)
    if len(found) != len(groups.sizes):
        raise refusal(owner, "weights", f"of length {len(groups.sizes)}, one a group", weights)
    return found


def checked(owner: str, groups: Partition, coef: NDArray) -> NDArray:
    """The coefficients, refused when the groups are those of another number of features."""
    if len(groups.labels) != len(coef):
        raise refusal(owner, "groups", f"a partition of {len(coef)} features", len(groups.labels))
    return coef
