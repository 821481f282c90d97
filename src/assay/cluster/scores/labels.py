"""Reading the labels of a partition, and the rows that a score of one is measured on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
        raise refusal(owner, name, "a one-dimensional array of labels, one a row", labels)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"The {name!r} of {owner} hold NaN or infinity: every row needs a label.")
    if values.dtype.kind == "O" and any(value is None or value != value for value in values):
        raise ValueError(f"The {name!r} of {owner} hold missing values: every row needs a label.")
    return values


def code_labels(owner: str, labels: Any, n_rows: int | None) -> Coded:
    """Number the clusters of labels, one a row; −1 is noise."""
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
    found = f"{len(coded.clusters)} cluster" + ("" if len(coded.clusters) == 1 else "s")
    noise = f" and {coded.n_noise} rows of noise (−1)" if coded.n_noise else ""
    needed = "at least one cluster" if at_least == 1 else f"at least {at_least} clusters"
    raise ValueError(f"The 'labels' of {owner} must name {needed}. Got {found}{noise} instead.")
