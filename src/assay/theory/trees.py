"""Trees in theory: three impurities of two classes, and what greedy growth loses to the best tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.parameters import integer, require

Array = NDArray[np.float64]


class ImpurityCurves(NamedTuple):
    """Result of `impurity_curves`: impurities of a node where the second of two classes has the share p."""

    p: Array
    misclassification: Array
    gini: Array
    entropy: Array
    scaled_entropy: Array


def impurity_curves(n_points: int = 201) -> ImpurityCurves:
    """The three impurities of two classes against the share p of one of them.

    Misclassification min(p, 1 − p), Gini 2p(1 − p) and entropy −p log p − (1 − p) log(1 − p), the last also
    scaled to pass through (½, ½). All three are concave, so that no split raises the cost; Gini and entropy
    strictly, so that a split which changes the shares lowers it.

    Parameters
    ----------
    n_points : int, default=201
        Values of p from 0 to 1.

    Examples
    --------
    >>> from assay.theory import impurity_curves
    >>> curves = impurity_curves(5)
    >>> curves.gini
    array([0.   , 0.375, 0.5  , 0.375, 0.   ])

    References
    ----------
    Wei §8.1, figure 8.1.
    """
    require("impurity_curves", integer(at_least=2), n_points=n_points)
    p = np.linspace(0.0, 1.0, n_points)
    q = 1.0 - p
    logs = [share * np.log(np.where(share > 0, share, 1.0)) for share in (p, q)]
    entropy = -logs[0] - logs[1]
    return ImpurityCurves(p, np.minimum(p, q), 2 * p * q, entropy, entropy / (2 * np.log(2)))


class DepthTwo(NamedTuple):
    """Result of `best_tree_of_depth_two`.

    `greedy` and `best` are the costs of the leaves, `excess` their difference as a share of the root's cost;
    `columns` and `thresholds` are those of the root, left and right split of the best tree (−1, NaN where a
    side is not divided).
    """

    greedy: float
    best: float
    root: float
    excess: float
    columns: NDArray[np.int64]
    thresholds: Array


def best_tree_of_depth_two(X: Any, y: Any) -> DepthTwo:
    """The tree of depth 2 with the least squared error, by trying all, beside the greedy one.

    For every first cut the best cut of each side is found by one walk along its sorted columns, in
    O(n² d²) steps altogether: meant for small tables. On an exclusive or the first greedy cut gains nothing
    and may be any; the best tree is exact.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
    y : array-like of shape (n_rows,)
        Numbers; 0 and 1 for two classes, whose squared error is half their Gini cost.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import best_tree_of_depth_two
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 2.0]])
    >>> result = best_tree_of_depth_two(X, [0, 1, 1, 0, 1])
    >>> round(result.best, 12), round(result.greedy, 12)
    (0.0, 1.0)

    References
    ----------
    Wei §8.1; Sangnier §1.6.2.
    """
    rows, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if rows.ndim != 2 or target.shape != rows.shape[:1] or len(target) < 2:
        raise ValueError("best_tree_of_depth_two takes a table of at least two rows and a number for each.")
    if not (np.isfinite(rows).all() and np.isfinite(target).all()):
        raise ValueError("best_tree_of_depth_two takes finite numbers only.")
    target = target - target.mean()
    root = float(target @ target)
    best, columns, thresholds = root, np.full(3, -1), np.full(3, np.nan)
    greedy_first, greedy = np.inf, root
    for j in range(rows.shape[1]):
        values = np.unique(rows[:, j])
        for threshold in 0.5 * (values[:-1] + values[1:]):
            left = rows[:, j] <= threshold
            sides = [_best_cut(rows[side], target[side]) for side in (left, ~left)]
            total = sides[0][0] + sides[1][0]
            first = _squares(target[left]) + _squares(target[~left])
            if first < greedy_first * (1 - 1e-12):
                greedy_first, greedy = first, total
            if total < best:
                best = total
                columns = np.array([j, sides[0][1], sides[1][1]])
                thresholds = np.array([threshold, sides[0][2], sides[1][2]])
    excess = (greedy - best) / root if root > 0 else 0.0
    return DepthTwo(float(greedy), float(best), root, float(excess), columns, thresholds)


def _squares(target: Array) -> float:
    return float(np.sum((target - target.mean()) ** 2))


def _best_cut(rows: Array, target: Array) -> tuple[float, int, float]:
    """Least cost of one cut, its column and threshold; that of no cut where there is none."""
    best = (_squares(target), -1, np.nan)
    n, total, squares = len(target), target.sum(), float(target @ target)
    for j in range(rows.shape[1]):
        order = np.argsort(rows[:, j], kind="stable")
        x, sums = rows[order, j], np.cumsum(target[order])[:-1]
        sizes = np.arange(1, n)
        costs = squares - sums**2 / sizes - (total - sums) ** 2 / (n - sizes)
        costs = np.where(x[1:] > x[:-1], np.maximum(costs, 0.0), np.inf)
        if len(costs) and costs.min() < best[0]:
            place = int(np.argmin(costs))
            best = (float(costs[place]), j, float(0.5 * (x[place] + x[place + 1])))
    return best
