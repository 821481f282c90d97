"""The group lasso penalty."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.penalties._groups import Partition, checked, group_weights, partition
from assay.penalties._penalty import bounds, euclidean, floating, non_negative, product, quotient, rounding


@dataclass(frozen=True, slots=True, eq=False)
class GroupL2:
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

    convex: ClassVar[bool] = True

    strength: float
    groups: Any
    weights: Any = None
    _partition: Partition = field(init=False, repr=False)

    def __post_init__(self) -> None:
        non_negative("GroupL2", "strength", self.strength, ndim=(0,))
        object.__setattr__(self, "_partition", partition("GroupL2", self.groups))
        object.__setattr__(self, "weights", group_weights("GroupL2", self.weights, self._partition))

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of each column."""
        norms = self._norms(coef)
        return np.sum(product(self._bound(norms), norms), axis=0)

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Each group scaled by (1 − step · α ω_g/‖w_g‖)₊."""
        norms = self._norms(coef)
        return floating(coef) * group_shrinkage(norms, step * self._bound(norms))[self._partition.labels]

    def conjugate(self, dual: NDArray) -> NDArray:
        """0 where every ‖u_g‖ ≤ α ω_g (within rounding), ∞ elsewhere."""
        norms = self._norms(dual)
        inside = norms <= self._bound(norms) * (1 + rounding(norms))
        return np.where(np.all(inside, axis=0), 0.0, np.inf)

    def fenchel_young_gap(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Σ_g α ω_g ‖w_g‖ − ⟨w_g, u_g⟩ where u is feasible, ∞ elsewhere; no term is negative."""
        norms = self._norms(coef)
        inner = self._partition.sums(floating(coef) * dual)
        terms = np.maximum(product(self._bound(norms), norms) - inner, 0)
        return np.sum(terms, axis=0) + self.conjugate(dual)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Distance from u to ∂Ω(w), column by column."""
        norms = self._norms(coef)
        return euclidean(group_residual(self._partition, floating(coef), dual, norms, self._bound(norms)))

    def dual_norm(self, dual: NDArray) -> NDArray:
        """max_g ‖u_g‖/ω_g, the norm dual to Σ ω_g ‖w_g‖."""
        norms = self._norms(dual)
        return np.max(quotient(norms, self._weights(norms)), axis=0)

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """max_g ‖∇_g‖/ω_g over the penalised groups.

        With unpenalised groups, the gradient is that at the fit of those alone, where their entries vanish.
        """
        norms = self._norms(gradient_at_zero)
        weights = self._weights(norms)
        return np.max(quotient(np.where(weights > 0, norms, 0), weights), axis=0)

    def _norms(self, coef: NDArray) -> NDArray:
        return self._partition.norms(checked("GroupL2", self._partition, floating(coef)))

    def _weights(self, norms: NDArray) -> NDArray:
        return self.weights.reshape((-1,) + (1,) * (norms.ndim - 1)).astype(norms.dtype)

    def _bound(self, norms: NDArray) -> NDArray:
        return bounds(self.strength, self._weights(norms))


def group_shrinkage(norms: NDArray, threshold: NDArray) -> NDArray:
    """(1 − threshold/norm)₊, and 0 for a group of norm zero."""
    ratio = np.divide(threshold, norms, out=np.ones_like(norms), where=norms > 0)
    return np.maximum(1 - ratio, 0)


def group_residual(
    groups: Partition, coef: NDArray, dual: NDArray, norms: NDArray, bound: NDArray
) -> NDArray:
    """Distance from u_g to the subdifferential of bound_g ‖w_g‖, group by group."""
    bound = np.broadcast_to(bound, norms.shape)
    active = norms > 0
    finite = np.where(np.isinf(bound), 0, bound)
    scale = np.divide(finite, norms, out=np.zeros_like(norms), where=active)
    at_coef = np.where(np.isinf(bound), np.inf, groups.norms(dual - scale[groups.labels] * coef))
    return np.where(active, at_coef, np.maximum(groups.norms(floating(dual)) - bound, 0))
