"""The gap statistic: how far the inertia of clusters lies below that of rows without any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.rows import ordered_map

Array = NDArray[np.float64]
Law = Callable[[np.random.Generator], NDArray]


class GapStatistic(NamedTuple):
    """Gap statistic of several numbers of clusters.

    Attributes
    ----------
    log_within : array of shape (n_values,)
        log W_K of the rows.
    reference_log_within : array of shape (n_references, n_values)
        log W_K of each reference table.
    """

    log_within: Array
    reference_log_within: Array

    @property
    def expected(self) -> Array:
        """Mean of log W_K over the references."""
        return self.reference_log_within.mean(axis=0)

    @property
    def gap(self) -> Array:
        """Gap(K) = mean_b log W_K^b − log W_K."""
        with np.errstate(invalid="ignore"):
            return self.expected - self.log_within

    @property
    def standard_error(self) -> Array:
        """s'_K = s_K √(1 + 1/B), with s_K the standard deviation over the references (divisor B)."""
        n_references = len(self.reference_log_within)
        with np.errstate(invalid="ignore"):
            return self.reference_log_within.std(axis=0) * np.sqrt(1.0 + 1.0 / n_references)


def uniform_box(X: NDArray) -> Law:
    """Rows drawn uniformly from the ranges of the features."""
    low, high = X.min(axis=0), X.max(axis=0)

    def draw(random: np.random.Generator) -> NDArray:
        return (low + (high - low) * random.random(X.shape)).astype(X.dtype)

    return draw


def principal_box(X: NDArray) -> Law:
    """Rows drawn uniformly from a box along the principal axes of the rows."""
    mean = X.mean(axis=0, dtype=np.float64)
    _, _, axes = np.linalg.svd(X - mean, full_matrices=False)
    turned = (X - mean) @ axes.T
    low, high = turned.min(axis=0), turned.max(axis=0)

    def draw(random: np.random.Generator) -> NDArray:
        drawn = low + (high - low) * random.random(turned.shape)
        return (mean + drawn @ axes).astype(X.dtype)

    return draw


REFERENCES: Mapping[str, Callable[[NDArray], Law]] = {"box": uniform_box, "principal": principal_box}


def gap_statistic(
    within: Array, law: Law, within_of: Callable[[NDArray, int], Array], randoms: list[np.random.Generator]
) -> GapStatistic:
    """Compare inertias with those of reference tables, one table a generator, on threads.

    `within_of(rows, seed)` clusters a table with every number of clusters and gives the inertias.
    """

    def of_reference(random: np.random.Generator) -> Array:
        return within_of(law(random), int(random.integers(2**31 - 1)))

    with np.errstate(divide="ignore"):
        references = np.log(np.array(list(ordered_map(of_reference, randoms))))
        return GapStatistic(np.log(within), references)
