"""Ensembles: how votes of independent members get better, and what averaging does to the variance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from assay.parameters import ParameterError, integer, refusal, require
from assay.randomness import RandomState, generator
from assay.trees import RandomForestRegressor


class Disagreement(NamedTuple):
    """Members of an ensemble beside the independent ideal.

    Attributes
    ----------
    accuracy : float
        Mean accuracy of a member.
    ideal : float
        Accuracy of the majority of as many independent members of that accuracy.
    vote : float
        Accuracy of the majority vote that was measured (ties count one half).
    correlation : float
        Mean correlation of the mistakes of two members; 0 for independent ones.
    disagreement : float
        Share of rows on which two members differ, on average over pairs.
    """

    accuracy: float
    ideal: float
    vote: float
    correlation: float
    disagreement: float


class VarianceDecomposition(NamedTuple):
    """Variance of a mean of trees over training sets, predicted and observed, by columns tried per node.

    Attributes
    ----------
    max_features : int array of shape (n_settings,)
    correlation, variance : arrays of shape (n_settings,)
        ρ of two trees on one training set, and σ² of one tree, from the first half of the training sets.
    predicted : array of shape (n_settings,)
        ρσ² + (1 − ρ)σ²/B.
    observed : array of shape (n_settings,)
        Variance of the mean of B trees over the second half of the training sets.
    standard_error : array of shape (n_settings,)
        Of observed − predicted, over the points where predictions are made.
    limit : array of shape (n_settings,)
        ρσ², what is left with ever more trees.
    n_trees : int
    """

    max_features: NDArray[np.int64]
    correlation: NDArray[np.float64]
    variance: NDArray[np.float64]
    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    limit: NDArray[np.float64]
    n_trees: int


def vote_accuracy(p: ArrayLike, n_members: ArrayLike) -> Any:
    """Accuracy of the majority vote of independent members: P(Bin(T, p) > T/2), a tie counting one half.

    Parameters
    ----------
    p : float or array
        Accuracy of each member, in [0, 1].
    n_members : int or array
        Their number T.

    Examples
    --------
    >>> from assay.theory import vote_accuracy
    >>> [round(vote_accuracy(0.6, T), 4) for T in (1, 11, 101)]
    [0.6, 0.7535, 0.9791]

    References
    ----------
    Sangnier §1.6.3.
    """
    share, count = np.asarray(p, dtype=float), np.asarray(n_members)
    if not np.all((share >= 0) & (share <= 1)):
        raise refusal("vote_accuracy", "p", "between 0 and 1", p)
    if count.dtype.kind not in "iu" or not np.all(count >= 1):
        raise refusal("vote_accuracy", "n_members", "an int at least 1", n_members)
    result = binom.sf(np.floor(count / 2), count, share)
    result = result + np.where(count % 2 == 0, 0.5 * binom.pmf(count // 2, count, share), 0.0)
    return float(result) if result.ndim == 0 else result


def vote_disagreement(predictions: ArrayLike, y: ArrayLike) -> Disagreement:
    """Measure how far the members of an ensemble of two classes are from independent ones.

    Parameters
    ----------
    predictions : array of shape (n_members, n_rows)
        Labels that each member predicts.
    y : array of shape (n_rows,)
        The true labels, two at most.

    Examples
    --------
    >>> from assay.theory import vote_disagreement
    >>> vote_disagreement([[0, 1, 1], [0, 1, 0], [1, 1, 1]], [0, 1, 1]).vote
    1.0
    """
    said, truth = np.atleast_2d(np.asarray(predictions)), np.asarray(y)
    if said.shape[1] != truth.shape[0] or len(np.unique(np.append(said.ravel(), truth))) > 2:
        raise ParameterError("predictions must be labels of two classes, one row per member, as long as y.")
    right = (said == truth).astype(float)
    n_members, n_rows = right.shape
    accuracy = float(right.mean())
    shares = right.mean(axis=0)
    vote = float(np.mean(np.where(shares == 0.5, 0.5, shares > 0.5)))
    # Two of two classes differ where one of them is right: from the shares of right members at each row.
    pairs = n_members / max(n_members - 1, 1)
    disagreement = float(np.mean(2 * shares * (1 - shares)) * pairs)
    correlation = 0.0
    if n_members > 1 and n_rows > 1:
        spread = right.std(axis=1)
        varying = spread > 0
        if varying.sum() > 1:
            table = np.corrcoef(right[varying])
            correlation = float((table.sum() - len(table)) / (len(table) * (len(table) - 1)))
    return Disagreement(accuracy, vote_accuracy(accuracy, n_members), vote, correlation, disagreement)


def ensemble_variance_decomposition(
    make_data: Callable[[np.random.Generator], tuple[Any, Any]],
    n_trees: int = 25,
    *,
    at: ArrayLike,
    max_features: Sequence[int] | None = None,
    n_repeats: int = 60,
    random_state: RandomState = None,
) -> VarianceDecomposition:
    """Variance of the mean of B trees: ρσ² + (1 − ρ)σ²/B, estimated and observed over training sets.

    ρ and σ² come from the first half of the training sets, the variance of the mean from the second half, so
    that their agreement is no identity. Trying fewer columns per node lowers ρ: that of a forest is below
    that of bagging, which tries all.

    Parameters
    ----------
    make_data : callable
        Draws a training set (X, y) with a generator.
    n_trees : int, default=25
        B.
    at : array of shape (n_points, n_features)
        Where predictions are made; variances are means over these points.
    max_features : list of int, optional
        Columns tried per node; 1, all and what is halfway by default.
    n_repeats : int, default=60
        Training sets.
    random_state : int, Generator, SeedSequence, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import ensemble_variance_decomposition
    >>> def draw(random):
    ...     X = random.normal(size=(60, 3))
    ...     return X, X.sum(axis=1) + random.normal(size=60)
    >>> result = ensemble_variance_decomposition(draw, 5, at=np.eye(3), n_repeats=20, random_state=0)
    >>> bool(result.correlation[0] < result.correlation[-1])
    True

    References
    ----------
    Wei §8.2.
    """
    require("ensemble_variance_decomposition", integer(at_least=2), n_trees=n_trees)
    require("ensemble_variance_decomposition", integer(at_least=8), n_repeats=n_repeats)
    points = np.atleast_2d(np.asarray(at, dtype=float))
    d = points.shape[1]
    tried = sorted({1, (d + 1) // 2, d}) if max_features is None else [int(m) for m in max_features]
    random = generator(random_state)
    drawn = [make_data(random) for _ in range(n_repeats)]
    seeds = random.integers(2**31, size=n_repeats)
    columns = [_decomposed(drawn, seeds, points, n_trees, m) for m in tried]
    numbers = [np.array(column) for column in zip(*columns, strict=True)]
    correlation, variance, predicted, observed, error = numbers
    return VarianceDecomposition(
        np.array(tried), correlation, variance, predicted, observed, error, correlation * variance, n_trees
    )


def _decomposed(
    drawn: list[tuple[Any, Any]], seeds: NDArray, points: NDArray, n_trees: int, max_features: int
) -> tuple[float, float, float, float, float]:
    said = []
    for (X, y), seed in zip(drawn, seeds, strict=True):
        forest = RandomForestRegressor(n_trees, max_features=max_features, random_state=int(seed)).fit(X, y)
        said.append([tree.predict(points)[:, 0] for tree in forest.trees_])
    trees = np.array(said)  # training sets × trees × points
    first, second = trees[: len(trees) // 2], trees[len(trees) // 2 :]
    variance = first.var(axis=0, ddof=1).mean(axis=0)
    total = first.sum(axis=1).var(axis=0, ddof=1)  # = B σ² + B (B − 1) ρσ² at each point
    shared = (total - n_trees * variance) / (n_trees * (n_trees - 1))
    predicted = shared + (variance - shared) / n_trees
    observed = second.mean(axis=1).var(axis=0, ddof=1)
    gap = observed - predicted
    error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.inf
    rho = float(shared.mean() / variance.mean()) if variance.mean() > 0 else 0.0
    return rho, float(variance.mean()), float(predicted.mean()), float(observed.mean()), float(error)
