"""Labels of a partition: reading them, and matching clusters with the classes of a truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from assay.parameters import refusal

NOISE = -1


class Coded(NamedTuple):
    """A partition with its clusters numbered 0, 1, … in sorted order; noise is −1 in `codes`."""

    codes: NDArray[np.int64]
    clusters: NDArray

    @property
    def n_noise(self) -> int:
        """Rows that belong to no cluster."""
        return int(np.count_nonzero(self.codes < 0))


def plain_labels(owner: str, name: str, labels: Any) -> NDArray:
    """Labels as a one-dimensional array without missing values; a lazy Dask array is computed."""
    values = np.asarray(labels)
    if values.ndim != 1 or values.size == 0:
        raise refusal(owner, name, "a one-dimensional array of labels, one per row", labels)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"The {name!r} of {owner} hold NaN or infinity: every row needs a label.")
    if values.dtype.kind == "O" and any(value is None or value != value for value in values):
        raise ValueError(f"The {name!r} of {owner} hold missing values: every row needs a label.")
    return values


def code_labels(owner: str, labels: Any, n_rows: int | None) -> Coded:
    """Number the clusters of labels, one per row; −1 is noise."""
    values = plain_labels(owner, "labels", labels)
    if n_rows is not None and values.shape[0] != n_rows:
        raise ValueError(f"X has {n_rows} rows but labels has {values.shape[0]}; they must be as many.")
    if values.dtype.kind in "iu" and values.min() >= NOISE and values.max() <= values.size:
        return _code_small(values)
    try:
        clusters, codes = np.unique(values, return_inverse=True)
    except TypeError:
        raise refusal(owner, "labels", "labels of one kind, all numbers or all strings", labels) from None
    codes = codes.astype(np.int64).reshape(-1)
    if clusters.dtype.kind in "iuf" and (clusters == NOISE).any():
        place = int(np.flatnonzero(clusters == NOISE)[0])
        codes = np.where(codes == place, NOISE, codes - (codes > place))
        clusters = np.delete(clusters, place)
    return Coded(codes, clusters)


def _code_small(values: NDArray) -> Coded:
    """Labels −1, 0, 1, … without sorting them."""
    clusters = np.flatnonzero(np.bincount(values[values >= 0] if values.min() < 0 else values))
    if len(clusters) == 0 or clusters[-1] == len(clusters) - 1:
        return Coded(values.astype(np.int64), clusters.astype(values.dtype))
    place = np.full(int(clusters[-1]) + 2, NOISE, dtype=np.int64)  # the last entry is that of noise
    place[clusters] = np.arange(len(clusters))
    return Coded(place[values], clusters.astype(values.dtype))


def require_clusters(owner: str, coded: Coded, at_least: int) -> None:
    """Refuse a partition with fewer clusters than a score compares."""
    if len(coded.clusters) >= at_least:
        return
    got = f"{len(coded.clusters)} cluster" + ("" if len(coded.clusters) == 1 else "s")
    noise = f" and {coded.n_noise} rows of noise (−1)" if coded.n_noise else ""
    needed = "at least one cluster" if at_least == 1 else f"at least {at_least} clusters"
    raise ValueError(f"The 'labels' of {owner} must name {needed}. Got {got}{noise} instead.")


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """Clusters named after classes; see `align_labels`.

    Attributes
    ----------
    labels : array of shape (n_samples,)
        The label of each row's cluster after the renaming. A cluster without a class keeps a label of its
        own: a number above all classes, or "cluster <label>" where classes are not numbers.
    mapping : dict
        Class of each cluster; None for a cluster without one.
    n_agreeing : int
        Rows whose renamed label is their class.
    n_samples : int
    """

    labels: NDArray
    mapping: Mapping[Any, Any]
    n_agreeing: int
    n_samples: int

    @property
    def accuracy(self) -> float:
        """Share of the rows whose renamed label is their class: the largest over one-to-one renamings."""
        return self.n_agreeing / self.n_samples

    @property
    def error(self) -> float:
        """Share of the other rows."""
        return 1.0 - self.accuracy

    def __repr__(self) -> str:
        named = ", ".join(f"{cluster} → {'–' if to is None else to}" for cluster, to in self.mapping.items())
        return f"Alignment(accuracy={self.accuracy:.4f}, {named})"


def align_labels(truth: Any, labels: Any) -> Alignment:
    """Rename clusters so that they agree with the classes on as many rows as possible.

    Each class takes at most one cluster and each cluster at most one class: an assignment problem on the
    contingency table (the Hungarian method). With more clusters than classes, those left over stay without a
    class and all their rows count as errors. Noise (label −1) has no class either.

    Parameters
    ----------
    truth : array of shape (n_samples,)
        Classes.
    labels : array of shape (n_samples,)
        Clusters; −1 is noise.

    Returns
    -------
    alignment : Alignment

    Examples
    --------
    >>> from assay.cluster import align_labels
    >>> align_labels(["a", "a", "b", "b", "b"], [1, 1, 0, 0, 2])
    Alignment(accuracy=0.8000, 0 → b, 1 → a, 2 → –)

    References
    ----------
    Peyré, clustering. Kuhn (1955).
    """
    classes, class_codes, clusters, cluster_codes = code_both("align_labels", truth, labels)
    table = np.zeros((len(classes), len(clusters)), dtype=np.int64)
    np.add.at(table, (class_codes, cluster_codes), 1)
    is_noise = clusters == -1 if clusters.dtype.kind in "iuf" else np.zeros(len(clusters), dtype=bool)
    taken, given = linear_sum_assignment(np.where(is_noise, -1, table), maximize=True)
    class_of = {int(cluster): int(label) for label, cluster in zip(taken, given, strict=True)}
    # A match on no row at all is none.
    class_of = {c: label for c, label in class_of.items() if table[label, c] > 0 and not is_noise[c]}
    names = _names(classes, clusters, class_of)
    named = enumerate(zip(clusters.tolist(), names.tolist(), strict=True))
    mapping = {cluster: name if c in class_of else None for c, (cluster, name) in named}
    n_agreeing = int(sum(table[label, c] for c, label in class_of.items()))
    return Alignment(names[cluster_codes], mapping, n_agreeing, len(class_codes))


def matched_accuracy(truth: Any, labels: Any) -> float:
    """Share of rows on which clusters and classes agree, for the best one-to-one renaming of clusters.

    Parameters are those of `align_labels`.

    Examples
    --------
    >>> from assay.cluster import matched_accuracy
    >>> matched_accuracy([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return align_labels(truth, labels).accuracy


def permutation_invariant_error(truth: Any, labels: Any) -> float:
    """Share of rows on which clusters and classes differ, for the best one-to-one renaming of clusters.

    Parameters are those of `align_labels`.

    Examples
    --------
    >>> from assay.cluster import permutation_invariant_error
    >>> permutation_invariant_error([0, 0, 1, 1], [1, 1, 0, 1])
    0.25
    """
    return align_labels(truth, labels).error


def code_both(owner: str, truth: Any, labels: Any) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Distinct classes, their codes, distinct clusters, their codes."""
    first, second = plain_labels(owner, "truth", truth), plain_labels(owner, "labels", labels)
    if first.shape != second.shape:
        raise ValueError(f"truth has {len(first)} rows but labels has {len(second)}; they must be as many.")
    classes, class_codes = np.unique(first, return_inverse=True)
    clusters, cluster_codes = np.unique(second, return_inverse=True)
    return classes, class_codes.reshape(-1), clusters, cluster_codes.reshape(-1)


def _names(classes: NDArray, clusters: NDArray, class_of: Mapping[int, int]) -> NDArray:
    """New labels of the clusters."""
    left = [c for c in range(len(clusters)) if c not in class_of]
    if classes.dtype.kind in "iuf":
        names = np.zeros(len(clusters), dtype=np.result_type(classes, np.int64))
        names[left] = np.floor(classes.max()) + 1 + np.arange(len(left))
        if clusters.dtype.kind in "iuf" and not (classes == -1).any():
            names[clusters == -1] = -1
    else:
        names = np.empty(len(clusters), dtype=object)
        names[left] = [f"cluster {clusters[c]}" for c in left]
    for cluster, label in class_of.items():
        names[cluster] = classes[label]
    return names
