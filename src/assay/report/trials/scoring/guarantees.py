"""What is kept in a model file for intervals and class sets: quantiles of how strange unseen rows were."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.models.conformal import class_scores, conformal_quantile, conformal_width, stretch_scores

COVERAGES = (*(f"{place / 100:.2f}" for place in range(1, 100)), *(f"0.99{place}" for place in range(1, 10)))
"""Coverages for which a quantile is kept: the next greater one serves those between."""


def residual_quantiles(residuals: NDArray) -> dict[str, float]:
    """Half-widths of intervals by their coverage, from what models that had not seen the rows were off.

    Coverages for which the rows are too few are left out.

    Examples
    --------
    >>> residual_quantiles(np.arange(-9, 10))["0.90"]
    9.0
    """
    return _finite((coverage, conformal_width(residuals, float(coverage))) for coverage in COVERAGES)


def stretch_quantiles(y: NDArray, predictions: NDArray, ends: NDArray) -> dict[str, float]:
    """How far a model's own intervals are to be stretched, by coverage, from rows that it had not seen.

    Examples
    --------
    >>> y = np.arange(1.0, 20.0)
    >>> stretch_quantiles(y, 0 * y, np.tile([-4.0, 4.0], (19, 1)))["0.90"]
    4.5
    """
    scores = stretch_scores(predictions, ends, y)
    return _finite((coverage, conformal_quantile(scores, float(coverage))) for coverage in COVERAGES)


def class_quantiles(y: NDArray, shares: NDArray, labels: NDArray) -> dict[str, float]:
    """Scores up to which classes join a set, by its coverage, from probabilities of unseen rows.

    Parameters
    ----------
    y : array of shape (n_rows,)
    shares : array of shape (n_rows, n_classes)
        Probabilities, or what `confused_shares` gives in their place.
    labels : array of shape (n_classes,)
        The classes, sorted.

    Examples
    --------
    >>> y, labels = np.repeat([0, 1], 10), np.array([0, 1])
    >>> class_quantiles(y, np.tile([0.75, 0.25], (20, 1)), labels)["0.90"]
    0.75
    """
    scores = class_scores(shares, np.searchsorted(labels, y))
    return _finite((coverage, conformal_quantile(scores, float(coverage))) for coverage in COVERAGES)


def confused_shares(y: NDArray, named: NDArray, labels: NDArray) -> NDArray[np.float64]:
    """Shares of the true classes among the unseen rows that were given each name, one row per name.

    They stand for the probabilities of a classifier without any. Each class counts one row more than there
    is, so that no share is zero.

    Examples
    --------
    >>> confused_shares(np.array([0, 0, 1]), np.array([0, 0, 0]), np.array([0, 1])).round(2).tolist()
    [[0.6, 0.4], [0.5, 0.5]]
    """
    counts = _confused(y, named, labels)
    return counts / counts.sum(axis=1, keepdims=True)


def shares_without_the_row(y: NDArray, named: NDArray, labels: NDArray) -> NDArray[np.float64]:
    """The same shares for each row, among the others: its own class would make it look less strange.

    Examples
    --------
    >>> shares_without_the_row(np.array([0, 0, 1]), np.array([0, 0, 0]), np.array([0, 1])).tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.75, 0.25]]
    """
    counts = _confused(y, named, labels)[np.searchsorted(labels, named)]
    counts[np.arange(len(y)), np.searchsorted(labels, y)] -= 1.0
    return counts / counts.sum(axis=1, keepdims=True)


def _confused(y: NDArray, named: NDArray, labels: NDArray) -> NDArray[np.float64]:
    """How many rows of each class were given each name, one row per name, and one more of each class."""
    counts = np.ones((len(labels), len(labels)))
    np.add.at(counts, (np.searchsorted(labels, named), np.searchsorted(labels, y)), 1.0)
    return counts


Named = tuple[NDArray, NDArray | None]
"""The classes that were named out of fold, and their probabilities where there are any."""


def kept_for_classes(y: NDArray, repeats: Sequence[Named], labels: NDArray) -> dict[str, Any]:
    """What a model file keeps for class sets: quantiles, and shares where there are no probabilities.

    Both are means over the repetitions of what was said of every row.
    """
    if all(probabilities is not None for _, probabilities in repeats):
        kept = [class_quantiles(y, shares, labels) for _, shares in repeats if shares is not None]
        return {"class_quantiles": mean_quantiles(kept)}
    tables = [confused_shares(y, named, labels) for named, _ in repeats]
    shares = np.mean(tables, axis=0)
    kept = [class_quantiles(y, shares_without_the_row(y, named, labels), labels) for named, _ in repeats]
    return {"class_quantiles": mean_quantiles(kept), "class_shares": shares.tolist()}


MOST_SCORES = 10_000
"""Scores that a model is handed; of more, each of so many groups in order is counted as its largest."""


def hand_scores(model: Any, scores: Sequence[NDArray]) -> bool:
    """Let a model make intervals or class sets of its own from scores of unseen rows, where it can.

    Parameters
    ----------
    model : fitted model
    scores : one array of shape (n_rows,) per repetition
        |residuals| or `class_scores` of every row by models that had not seen it; NaN where there was none.

    Returns
    -------
    handed : bool
        False for a model that takes no scores, or has its own.
    """
    if not hasattr(model, "keep_scores") or model.calibration is not None:
        return False
    known = np.sort(np.concatenate(scores))
    known = known[~np.isnan(known)]
    size = -(-known.size // MOST_SCORES)
    if not size:
        return False
    last = np.append(np.arange(size - 1, known.size - 1, size), known.size - 1)
    model.keep_scores(known[last], np.diff(last, prepend=-1) / len(scores))
    return True


def quantile_for(quantiles: Mapping[str, float], coverage: float) -> float | None:
    """The quantile kept for a coverage, or for the next greater one; None where all are smaller.

    Examples
    --------
    >>> quantile_for({"0.80": 1.0, "0.90": 2.0}, 0.85)
    2.0
    """
    enough = [float(value) for kept, value in quantiles.items() if float(kept) >= coverage - 1e-9]
    return min(enough, default=None)


def mean_quantiles(kept: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means of quantiles over repetitions, for the coverages that all of them have.

    Examples
    --------
    >>> mean_quantiles([{"0.80": 1.0, "0.90": 2.0}, {"0.80": 2.0}])
    {'0.80': 1.5}
    """
    there = [key for key in kept[0] if all(key in quantiles for quantiles in kept)]
    return {key: float(np.mean([quantiles[key] for quantiles in kept])) for key in there}


def _finite(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    return {coverage: value for coverage, value in pairs if math.isfinite(value)}


def joined_classes(members: NDArray, names: Sequence[Any]) -> list[str]:
    """The classes of each set as a text.

    Examples
    --------
    >>> joined_classes(np.array([[True, False], [True, True]]), ["no", "yes"])
    ['no', 'no | yes']
    """
    return [
        " | ".join(str(name) for name, inside in zip(names, line, strict=True) if inside) for line in members
    ]
