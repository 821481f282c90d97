"""What models of neighbours prove: exact neighbours, the rows of the data, an error that is no leak."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import betaincinv

from assay.certificates import Certificate, agreement, at_least, at_most
from assay.distances import METRICS, Nearest
from assay.distances.others import other_distances
from assay.rows import Block, MemoryRows, Rows

NAMES = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock"}
LEVEL = 0.999
"""Probability with which each of the two errors of the Cover–Hart certificate is inside its interval."""


class Truth(NamedTuple):
    """Distances of queries from all rows: the least, in order, and those of the claimed neighbours."""

    least: NDArray
    claimed: NDArray


def exact_certificate(
    found: Nearest, queries: Any, data: Rows, metric: Any, options: Mapping[str, Any]
) -> Certificate:
    """Neighbours of some rows against the distances to all rows, in double precision, sorted."""
    k = found.indices.shape[1]
    how = queries, found.indices, k, metric, dict(options)
    truth: Truth = data.reduce(compare_block, *how, combine=partial(merge_truths, k=k))
    scale = max(
        float(np.abs(truth.least[np.isfinite(truth.least)]).max(initial=0.0)), np.finfo(np.float64).tiny
    )
    if isinstance(metric, str) and metric in ("cosine", "correlation"):
        scale = max(scale, 1.0)  # differences of angles: rounding is that of 1
    apart = [np.abs(found.distances - side) for side in truth]
    worst = max(float(np.nan_to_num(side, nan=np.inf).max(initial=0.0)) for side in apart) / scale
    slack = 8.0 * (data.shape[1] + 16) * float(np.finfo(found.distances.dtype).eps)
    if sparse.issparse(queries):
        slack = float(np.sqrt(np.finfo(found.distances.dtype).eps))  # from inner products
    claim = f"The neighbours of {queries.shape[0]} rows are those of a sort of all distances."
    return at_most(claim, "largest error of a neighbour's distance", worst, slack, "Sangnier §1.6.1; Peyré")


def compare_block(
    block: Block, queries: Any, claimed: NDArray, k: int, metric: Any, options: dict[str, Any]
) -> Truth:
    """The k least distances to the rows of a block, and those to the claimed rows that are in it."""
    matrix = plain_distances(queries, block, metric, options)
    place = claimed - block.start
    inside = (place >= 0) & (place < matrix.shape[1])
    asked = np.take_along_axis(matrix, np.clip(place, 0, matrix.shape[1] - 1), axis=1)
    if block.weight is not None:
        matrix[:, block.weight == 0] = np.inf
    least = np.full((len(matrix), k), np.inf)
    kept = np.sort(np.partition(matrix, min(k, matrix.shape[1]) - 1, axis=1)[:, :k], axis=1)
    least[:, : kept.shape[1]] = kept
    return Truth(least, np.where(inside, asked, np.inf))


def merge_truths(left: Truth, right: Truth, *, k: int) -> Truth:
    """The least of two blocks."""
    least = np.sort(np.concatenate([left.least, right.least], axis=1), axis=1)[:, :k]
    return Truth(least, np.minimum(left.claimed, right.claimed))


def plain_distances(queries: Any, block: Block, metric: Any, options: dict[str, Any]) -> NDArray:
    """Distances to all rows of a block, by SciPy, in double precision."""
    if isinstance(metric, str) and metric == "precomputed":
        if hasattr(queries, "indptr"):  # sparse: what is not stored is no neighbour
            given = np.full(queries.shape, np.inf)
            lines = np.repeat(np.arange(queries.shape[0]), np.diff(queries.indptr))
            given[lines, queries.indices] = queries.data
            return given
        return np.array(queries, dtype=np.float64)
    rows = block.X
    if callable(metric) or (metric in METRICS and not block.is_sparse):
        function: Any = partial(metric, **options) if callable(metric) else NAMES.get(metric, metric)
        dtype = None if callable(metric) else np.float64
        return np.asarray(cdist(np.asarray(queries, dtype), np.asarray(rows, dtype), function))
    return other_distances(queries, rows, metric, options).astype(np.float64)


class Kept(NamedTuple):
    """What a model keeps of its data: the rows that weigh something (or where they live) and their sides."""

    X: Any
    target: Any
    weight: NDArray | None
    places: NDArray | None


def kept_certificate(kept: Kept, data: Rows, precomputed: bool) -> Certificate:
    """Whether what is kept is what the data are."""
    pairs: dict[str, tuple[Any, Any]] = {}
    if isinstance(data, MemoryRows):
        target, weight, X = data.y, data.weight, data.X
        places = None if weight is None or (weight > 0).all() else np.flatnonzero(weight > 0)
        if places is not None:
            target, weight = (None if side is None else side[places] for side in (target, weight))
            X = X[places][:, places] if precomputed else X[places]
        weight = None if weight is None or (weight == 1).all() else weight
        pairs["places"] = (kept.places, places)
        if isinstance(kept.X, Rows):
            sample = np.linspace(0, kept.X.shape[0] - 1, 16).astype(np.intp)
            pairs["rows"] = (kept.X.take(sample), data.take(sample))
        elif sparse.issparse(X) and sparse.issparse(kept.X):
            for name in ("indptr", "indices", "data"):
                pairs[f"rows, {name}"] = (getattr(kept.X, name), getattr(X, name))
        else:
            pairs["rows"] = (_dense(kept.X), _dense(X))
    else:
        sides = data.reduce(_both_sides, combine=_chain)
        target, weight = (None if s[0] is None else np.concatenate(s) for s in zip(*sides, strict=True))
        weight = None if weight is None or (weight == 1).all() else weight
        sample = np.unique(np.linspace(0, data.shape[0] - 1, 16).astype(np.intp))
        if kept.places is None:
            stored = kept.X.take(sample) if isinstance(kept.X, Rows) else kept.X[sample]
            pairs["rows"] = (stored, data.take(sample))
    pairs["weights"] = (kept.weight, weight)
    if kept.target is not None:
        pairs["targets"] = (kept.target, target)
    claim = "The rows, targets and weights that are kept are those of the data."
    return agreement(claim, pairs, rtol=1e-12)


def _dense(X: Any) -> NDArray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def _both_sides(block: Block) -> list[Any]:
    return [(block.y, block.weight)]


def _chain(left: list[Any], right: list[Any]) -> list[Any]:
    return [*left, *right]


def error_interval(n_wrong: float, n_rows: float, level: float = LEVEL) -> tuple[float, float]:
    """The interval of Clopper and Pearson for the probability of an error.

    Examples
    --------
    >>> low, high = error_interval(0, 100, 0.95)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    tail = (1.0 - level) / 2.0
    low = 0.0 if n_wrong <= 0 else float(betaincinv(n_wrong, n_rows - n_wrong + 1.0, tail))
    high = 1.0 if n_wrong >= n_rows else float(betaincinv(n_wrong + 1.0, n_rows - n_wrong, 1.0 - tail))
    return low, high


def least_bayes_risk(first_error: float, n_classes: int = 2) -> float:
    """The least Bayes risk that an error R₁ of one neighbour leaves possible, by Cover and Hart.

    With c classes and r = c/(c − 1), R₁ ≤ R*(2 − r R*), hence R* ≥ (1 − √(1 − r R₁))/r: for two classes
    (1 − √(1 − 2R₁))/2.

    Examples
    --------
    >>> round(least_bayes_risk(0.32), 3)
    0.2
    """
    ratio = n_classes / (n_classes - 1.0)
    return (1.0 - float(np.sqrt(max(0.0, 1.0 - ratio * first_error)))) / ratio


def cover_hart_certificate(
    wrong: float, n_rows: float, first_wrong: float, n_first: float, n_classes: int, *, where: str,
    copies: float = 0.0,
) -> Certificate:  # fmt: skip
    """Whether an error is possible beside that of one neighbour, each with its interval.

    `copies` is the share of the rows whose nearest neighbour is at distance 0: where rows are entered twice,
    one neighbour knows the answer, its error is too small, and the bound says less than it could.
    """
    assumptions = ["independent rows of one law", "many rows: the bound on the Bayes risk is asymptotic"]
    if copies > 0:
        assumptions.append(f"{copies:.2g} of the rows have a copy at distance 0, which is their neighbour")
    error, first = error_interval(wrong, n_rows)[1], error_interval(first_wrong, n_first)[0]
    claim = (
        f"The error {where} ({wrong / n_rows:.3g}, at most {error:.3g}) is not below what the error of one "
        f"neighbour with each row left out ({first_wrong / n_first:.3g}) leaves possible."
    )
    return at_least(
        claim,
        "upper limit of the error",
        error,
        least_bayes_risk(first, n_classes),
        "Rudi & Şimşekli §6.3.2; Cover & Hart (1967)",
        assumptions=tuple(assumptions),
        trivial=0.0,
    )
