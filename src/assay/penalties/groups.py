"""Penalties of groups of features and of rows of a matrix; the nuclear norm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal
from assay.penalties import penalty as shared
from assay.penalties.penalty import BlockNorms, euclidean, floating, product
from assay.penalties.separable import l1_residual, soft_threshold


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
    """Read the groups, given as one label per feature or as one list of indices per group."""
    entries = list(groups) if np.iterable(groups) and not isinstance(groups, str) else []
    if not entries:
        raise refusal(owner, "groups", "one label per feature or one list of indices per group", groups)
    if isinstance(entries[0], (list, tuple, range)) or np.ndim(entries[0]) == 1:
        labels = _labels_of_lists(owner, entries)
    else:
        labels = np.asarray(entries)
        if labels.ndim != 1:
            raise refusal(owner, "groups", "one label per feature or one list of indices per group", groups)
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
    """One weight per group, √size unless given."""
    if weights is None:
        return np.sqrt(groups.sizes)
    given = shared.non_negative(owner, "weights", weights, ndim=(1,), infinite=True)
    if len(given) != len(groups.sizes):
        raise refusal(owner, "weights", f"of length {len(groups.sizes)}, one per group", weights)
    return given


def checked(owner: str, groups: Partition, coef: NDArray) -> NDArray:
    """The coefficients, refused when the groups are those of another number of features."""
    if len(groups.labels) != len(coef):
        raise refusal(owner, "groups", f"a partition of {len(coef)} features", len(groups.labels))
    return coef


@dataclass(frozen=True, slots=True, eq=False)
class GroupL2(BlockNorms):
    """Ω(w) = α Σ_g ω_g ‖w_g‖₂ over a partition of the features, column by column.

    The columns of a (d, t) array are problems of their own; to tie the columns of a row together, use
    `RowSparse`.

    Parameters
    ----------
    strength : float
        α, at least 0.
    groups : array of d labels, or list of lists of indices
        The partition; labels are numbered in sorted order.
    weights : array of shape (n_groups,), default=None
        ω, at least 0; 0 leaves the group unpenalised, ∞ keeps it at zero. None means √size.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import GroupL2
    >>> penalty = GroupL2(1.0, groups=[[0, 1], [2]], weights=[1.0, 1.0])
    >>> penalty.proximal(np.array([3.0, 4.0, 0.5]), step=1.0)
    array([2.4, 3.2, 0. ])

    References
    ----------
    Yuan & Lin (2006).
    """

    strength: float
    groups: Any
    weights: Any = None
    _partition: Partition = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _read_groups(self)

    def _sums(self, values: NDArray) -> NDArray:
        return self._partition.sums(checked("GroupL2", self._partition, values))

    def _spread(self, factors: NDArray, coef: NDArray) -> NDArray:
        return coef * factors[self._partition.labels]


def _read_groups(penalty: GroupL2 | SparseGroup) -> None:
    owner = type(penalty).__name__
    shared.non_negative(owner, "strength", penalty.strength, ndim=(0,))
    groups = partition(owner, penalty.groups)
    object.__setattr__(penalty, "_partition", groups)
    object.__setattr__(penalty, "weights", group_weights(owner, penalty.weights, groups))


@dataclass(frozen=True, slots=True, eq=False)
class SparseGroup:
    """Ω(w) = α (ρ ‖w‖₁ + (1 − ρ) Σ_g ω_g ‖w_g‖₂), column by column.

    Few groups, and few features in each of them. The columns of a (d, t) array are problems of their own.

    Parameters
    ----------
    strength : float
        α, at least 0.
    groups : array of d labels, or list of lists of indices
        The partition; labels are numbered in sorted order.
    l1_ratio : float, default=0.5
        ρ between 0 (`GroupL2`) and 1 (`L1`).
    weights : array of shape (n_groups,), default=None
        ω, at least 0; ∞ keeps the group at zero. None means √size.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import SparseGroup
    >>> penalty = SparseGroup(2.0, groups=["a", "a", "b"], weights=[1.0, 1.0])
    >>> penalty.proximal(np.array([3.0, 0.5, 1.5]), step=1.0)
    array([1., 0., 0.])

    References
    ----------
    Simon, Friedman, Hastie & Tibshirani (2013).
    """

    convex: ClassVar[bool] = True

    strength: float
    groups: Any
    l1_ratio: float = 0.5
    weights: Any = None
    _partition: Partition = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _read_groups(self)
        object.__setattr__(self, "l1_ratio", shared.ratio("SparseGroup", self.l1_ratio))

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of each column."""
        coef = self._checked(coef)
        norms = self._partition.norms(coef)
        l1 = self.strength * self.l1_ratio * np.sum(np.abs(coef), axis=0)
        return l1 + np.sum(product(self._radius(norms), norms), axis=0)

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Soft thresholding of the entries, then of the groups."""
        shrunk = soft_threshold(self._checked(coef), step * self.strength * self.l1_ratio)
        norms = self._partition.norms(shrunk)
        return shrunk * shared.shrinkage(norms, step * self._radius(norms))[self._partition.labels]

    def conjugate(self, dual: NDArray) -> NDArray:
        """0 where every ‖S(u_g, αρ)‖ ≤ α(1 − ρ) ω_g, S the soft threshold (within rounding); ∞ elsewhere."""
        dual = self._checked(dual)
        threshold = self.strength * self.l1_ratio
        norms = self._partition.norms(soft_threshold(dual, threshold))
        # Where ρ is 1 nothing is left of the group part, and rounding is that of the threshold.
        radius = self._radius(norms)
        slack = shared.rounding(dual) * (threshold * np.sqrt(self._partition.sizes).max() + radius)
        return np.where(np.all(norms <= radius + slack, axis=0), 0.0, np.inf)

    def fenchel_young_gap(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Ω(w) − ⟨w, u⟩ where u is feasible, ∞ elsewhere; no group adds a negative term."""
        coef = self._checked(coef)
        norms = self._partition.norms(coef)
        l1 = self.strength * self.l1_ratio * np.abs(coef)
        inner = self._partition.sums(l1 - coef * dual)
        terms = np.maximum(product(self._radius(norms), norms) + inner, 0)
        return np.sum(terms, axis=0) + self.conjugate(dual)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Distance from u to ∂Ω(w), column by column."""
        coef, groups = self._checked(coef), self._partition
        norms, threshold = groups.norms(coef), self.strength * self.l1_ratio
        radius = np.broadcast_to(self._radius(norms), norms.shape)
        excluded = np.isinf(radius)
        scale = np.divide(np.where(excluded, 0, radius), norms, out=np.zeros_like(norms), where=norms > 0)
        active = groups.norms(l1_residual(coef, dual - scale[groups.labels] * coef, threshold))
        at_zero = np.maximum(groups.norms(soft_threshold(floating(dual), threshold)) - radius, 0)
        return euclidean(np.where(norms > 0, np.where(excluded, np.inf, active), at_zero))

    def dual_norm(self, dual: NDArray) -> NDArray:
        """The norm dual to ρ ‖w‖₁ + (1 − ρ) Σ ω_g ‖w_g‖: the largest s with ‖S(u_g, sρ)‖ = s(1 − ρ) ω_g."""
        return self._largest_root(dual, unpenalised=np.inf)

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """The dual norm of the gradient, over the penalised groups.

        With unpenalised groups (ρ = 0 and ω_g = 0), the gradient is that at the fit of those alone.
        """
        return self._largest_root(gradient_at_zero, unpenalised=0.0)

    def _largest_root(self, dual: NDArray, unpenalised: float) -> NDArray:
        dual = self._checked(dual)
        columns = np.abs(dual).reshape(len(dual), -1)
        members = np.split(self._partition.order, self._partition.starts[1:])
        largest = np.zeros(columns.shape[1], dtype=dual.dtype)
        for indices, weight in zip(members, self.weights, strict=True):
            roots = [group_root(column, self.l1_ratio, weight, unpenalised) for column in columns[indices].T]
            largest = np.maximum(largest, np.asarray(roots, dtype=dual.dtype))
        return largest.reshape(dual.shape[1:])[()]

    def _checked(self, coef: NDArray) -> NDArray:
        return checked("SparseGroup", self._partition, floating(coef))

    def _radius(self, norms: NDArray) -> NDArray:
        weights = self.weights.reshape((-1,) + (1,) * (norms.ndim - 1)).astype(norms.dtype)
        finite = np.where(np.isinf(weights), 0, weights) * (1 - self.l1_ratio)
        return shared.bounds(self.strength, np.where(np.isinf(weights), weights, finite))


def group_root(magnitudes: NDArray, l1_ratio: float, weight: float, unpenalised: float) -> float:
    """The s with ‖S(u, sρ)‖ = s(1 − ρ)ω, exactly, by sorting.

    Between two consecutive |u_i|/ρ the equation is a quadratic in s over the k largest entries.
    """
    radius = 0.0 if np.isinf(weight) else (1 - l1_ratio) * weight
    if np.isinf(weight) or not np.any(magnitudes):
        return 0.0
    if l1_ratio == 0:
        return float(np.linalg.norm(magnitudes) / radius) if radius > 0 else unpenalised
    ordered = np.sort(magnitudes.astype(np.float64))[::-1]
    counts = np.arange(1, len(ordered) + 1)
    sums, squares = np.cumsum(ordered), np.cumsum(ordered**2)
    knots = ordered / l1_ratio
    above = squares - 2 * ordered * sums + counts * ordered**2 - (knots * radius) ** 2
    k = max(int(np.sum(above < 0)), 1) - 1
    slope = l1_ratio * sums[k]
    discriminant = slope**2 - squares[k] * (counts[k] * l1_ratio**2 - radius**2)
    return float(squares[k] / (slope + np.sqrt(max(discriminant, 0.0))))


@dataclass(frozen=True, slots=True, eq=False)
class RowSparse(BlockNorms):
    """Ω(B) = α ‖B‖_{1,2} = α Σ_i ω_i ‖B_i‖₂, B_i the rows of B.

    A matrix penalty: a row of a (d, t) array is zero in all columns or in none, and every method returns one
    number for the whole matrix. A (d,) array is a matrix of one column.

    Parameters
    ----------
    strength : float
        α, at least 0.
    weights : array of shape (d,), default=None
        ω, at least 0; 0 leaves the row unpenalised, ∞ keeps it at zero. None means ones.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import RowSparse
    >>> RowSparse(1.0).proximal(np.array([[3.0, 4.0], [0.3, 0.4]]), step=1.0)
    array([[2.4, 3.2],
           [0. , 0. ]])

    References
    ----------
    Wei §1.2.1.
    """

    strength: float
    weights: Any = None

    def _sums(self, values: NDArray) -> NDArray:
        return np.sum(values.reshape(len(values), -1), axis=1)

    def _spread(self, factors: NDArray, coef: NDArray) -> NDArray:
        return coef * factors.reshape((-1,) + (1,) * (coef.ndim - 1))
