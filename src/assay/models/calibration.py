"""Honest probabilities: how far they are from observed shares, and maps that bring them there.

A calibrator is fitted on rows that the model has not seen. It takes probabilities to probabilities through
their logarithms: for two classes through the log-odds z of the second,

    sigmoid 1 / (1 + e^−(a z + b)),    isotonic g(z) with g rising,    temperature 1 / (1 + e^−β z),

and for more through one class against the rest, times a factor per class, divided by the sum (temperature:
softmax of β log p). The first two make the mean probability of every class its share, the factors those of
more than two. A temperature keeps the order of the classes and therefore cannot; it makes the mean of log p
over the true classes what the probabilities themselves expect of it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Array = NDArray[np.float64]

LEAST = 1e-6
"""Least value of a map of one class against the rest, so that any shares can be reached."""

HOTTEST = 1000.0
"""Inverse temperature from which none is looked for: the classes are apart."""

METHODS = ("sigmoid", "isotonic", "temperature")

STEPS = 100


def calibration_curve(
    truth: NDArray, probability: NDArray, n_bins: int = 10
) -> tuple[NDArray, NDArray, NDArray]:
    """Mean probability, observed share and number of rows in bins of about equal numbers of rows.

    Rows of one probability stay together: the order among them would be that of the table.
    """
    _, value, counts = np.unique(probability, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * counts
    place = (middle * n_bins / probability.size).astype(np.intp)[value]
    size = np.bincount(place)
    kept = size > 0
    mean = np.bincount(place, probability)[kept] / size[kept]
    share = np.bincount(place, truth.astype(np.float64))[kept] / size[kept]
    return mean, share, size[kept].astype(np.float64)


def calibration_error(y: NDArray, probabilities: NDArray, labels: NDArray) -> float:
    """Mean gap between the confidence in the class that is named and how often it is right.

    Rows are put into ten groups of equally many by their confidence; each group weighs as many rows as it
    has. Groups this size are off by chance alone, so that the gap of a perfect model is small but not zero.

    Examples
    --------
    >>> y = np.repeat(["a", "b"], [80, 20])
    >>> calibration_error(y, np.tile([0.9, 0.1], (100, 1)), np.array(["a", "b"])).__round__(3)
    0.1
    """
    named = probabilities.argmax(axis=1)
    confidence = probabilities[np.arange(len(named)), named]
    mean, share, size = calibration_curve(labels[named] == y, confidence)
    return float(size @ np.abs(mean - share) / size.sum())


@dataclass(frozen=True, eq=False)
class Calibrator:
    """A fitted map from probabilities to probabilities.

    Attributes
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
    slope, offset : arrays of shape (n_maps,)
        a and b of each map; β and 0 for a temperature 1/β. One map for two classes, else one per class.
    knots, levels : arrays of shape (n_knots,)
        Of isotonic maps, one after the other: arguments and values that are joined by straight lines.
    starts : int array of shape (n_maps + 1,)
        Where the knots of each map begin.
    floor : float
        Probabilities below it are taken for it, so that their logarithms are numbers.
    factors : array of shape (n_classes,)
        What the maps of more than two classes are multiplied by before they are divided by their sum.
    """

    method: str
    slope: Array
    offset: Array
    knots: Array
    levels: Array
    starts: NDArray[np.int64]
    floor: float
    factors: Array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calibrator) and all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]

    def apply(self, probabilities: NDArray) -> Array:
        """Honest probabilities of rows: shape (n_rows, n_classes), rows of sum 1."""
        odds = log_odds(probabilities, self.floor)
        if self.method == "temperature":
            if probabilities.shape[1] == 2:
                second = special.expit(self.slope[0] * odds[:, 0])
                return np.column_stack([1 - second, second])
            return np.asarray(special.softmax(self.slope[0] * logarithms(probabilities, self.floor), axis=1))
        mapped = np.column_stack([self._map(k, odds[:, k]) for k in range(odds.shape[1])])
        if probabilities.shape[1] == 2:
            return np.column_stack([1 - mapped[:, 0], mapped[:, 0]])
        weighed = self.factors * np.maximum(mapped, LEAST)
        return np.asarray(weighed / weighed.sum(axis=1, keepdims=True))

    def _map(self, k: int, odds: Array) -> Array:
        if self.method == "sigmoid":
            return np.asarray(special.expit(self.slope[k] * odds + self.offset[k]))
        part = slice(self.starts[k], self.starts[k + 1])
        return np.interp(odds, self.knots[part], self.levels[part])


def logarithms(probabilities: NDArray, floor: float) -> Array:
    """Logarithms of probabilities, none below that of the floor."""
    return np.log(np.maximum(np.asarray(probabilities, dtype=np.float64), floor))


def log_odds(probabilities: NDArray, floor: float) -> Array:
    """Log p / (1 − p) of the second of two classes, or of each of more: shape (n_rows, n_maps)."""
    chances = np.clip(np.asarray(probabilities, dtype=np.float64), floor, 1 - floor)
    chances = chances[:, 1:] if chances.shape[1] == 2 else chances
    return np.log(chances) - np.log1p(-chances)


def fit_calibrator(
    method: str, probabilities: NDArray, places: NDArray, weight: NDArray | None = None, floor: float = 1e-12
) -> Calibrator:
    """Fit a map on rows that the model has not seen.

    Parameters
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
    probabilities : array of shape (n_rows, n_classes)
    places : int array of shape (n_rows,)
        Place of the true class among the columns.
    weight : array of shape (n_rows,), optional
    floor : float, default=1e-12
        Probability that stands for smaller ones.

    Examples
    --------
    >>> chances = np.repeat([[0.1, 0.9], [0.9, 0.1]], 50, axis=0)
    >>> truth = np.repeat([1, 0, 0, 1], [35, 15, 35, 15])
    >>> fit_calibrator("isotonic", chances, truth).apply(chances[:1]).round(2).tolist()
    [[0.3, 0.7]]
    """
    weights = np.ones(len(places)) if weight is None else np.asarray(weight, dtype=np.float64)
    odds = log_odds(probabilities, floor)
    n_maps, two = odds.shape[1], probabilities.shape[1] == 2
    slope, offset, empty = np.ones(n_maps), np.zeros(n_maps), np.empty(0)
    knots, levels = [empty] * n_maps, [empty] * n_maps
    if method == "temperature":
        scores = np.column_stack([np.zeros(len(odds)), odds]) if two else logarithms(probabilities, floor)
        slope[:] = best_scale(scores, places, weights)
    else:
        for k in range(n_maps):
            truth = (places == (1 if two else k)).astype(np.float64)
            if method == "sigmoid":
                slope[k], offset[k] = fit_sigmoid(odds[:, k], truth, weights)
            else:
                knots[k], levels[k] = fit_isotonic(odds[:, k], truth, weights)
    starts = np.concatenate([[0], np.cumsum([len(part) for part in knots])]).astype(np.int64)
    parts = (slope, offset, np.concatenate(knots), np.concatenate(levels), starts, floor)
    calibrator = Calibrator(method, *parts, np.ones(probabilities.shape[1]))
    if two or method == "temperature":
        return calibrator
    mapped = np.column_stack([calibrator._map(k, odds[:, k]) for k in range(n_maps)])
    return replace(calibrator, factors=balancing_factors(np.maximum(mapped, LEAST), places, weights))


def balancing_factors(values: Array, places: NDArray, weight: Array) -> Array:
    """Factors a_k that make the mean of a_k v_k / Σ_j a_j v_j the share of class k among the rows.

    With b = log a they minimise the convex Σ w log Σ_k e^{b_k} v_k − Σ_k n_k b_k, here by Newton's method.
    Shares are those with half a row more in every class, so that none is 0.
    """
    n_classes, total = values.shape[1], float(weight.sum())
    shares = np.bincount(places, weight, n_classes) + 0.5
    shares /= shares.sum()
    logs, b = np.log(values), np.zeros(n_classes)

    def objective(point: Array) -> float:
        return float(weight @ special.logsumexp(logs + point, axis=1)) / total - float(shares @ point)

    for _ in range(STEPS):
        chances = special.softmax(logs + b, axis=1)
        slope = weight @ chances / total - shares
        if np.abs(slope).max() <= 1e-12:
            break
        mean = (weight[:, np.newaxis] * chances).T @ chances / total
        curvature = np.diag(weight @ chances / total) - mean + 1e-12 * np.eye(n_classes)
        step, before, size = np.linalg.solve(curvature, slope), objective(b), 1.0
        step *= min(1.0, 5.0 / np.abs(step).max())
        while size > 1e-8 and objective(b - size * step) > before:
            size *= 0.5
        b = b - size * step
        b -= b.mean()
    return np.asarray(np.exp(b))


def fit_sigmoid(odds: Array, truth: Array, weight: Array) -> tuple[float, float]:
    """A and b of least log-loss (Platt 1999), with his targets a little inside of 0 and 1.

    They keep the slope finite where the classes are apart; a is at least 0, so that no order is reversed.
    """
    positive, total = float(weight @ truth), float(weight.sum())
    target = np.where(truth > 0, (positive + 1) / (positive + 2), 1 / (total - positive + 2))
    scale = float(np.abs(odds).max(initial=0.0)) or 1.0
    design = np.column_stack([odds / scale, np.ones(len(odds))])

    def loss(point: Array) -> float:
        margin = design @ point
        return float(weight @ (np.logaddexp(0.0, margin) - target * margin))

    point = np.array([scale, 0.0])
    for _ in range(STEPS):
        chance = special.expit(design @ point)
        slope = design.T @ (weight * (chance - target))
        curvature = (design * (weight * chance * (1 - chance))[:, np.newaxis]).T @ design
        step = np.linalg.solve(curvature + 1e-10 * total * np.eye(2), slope)
        before, size = loss(point), 1.0
        while size > 1e-8 and loss(point - size * step) > before:
            size *= 0.5
        point = point - size * step
        if np.abs(step).max() <= 1e-10 * (1 + np.abs(point).max()):
            break
    if point[0] < 0:
        share = float(weight @ target) / total
        return 0.0, float(np.log(share) - np.log1p(-share))
    return float(point[0] / scale), float(point[1])


def fit_isotonic(odds: Array, truth: Array, weight: Array) -> tuple[Array, Array]:
    """The rising step function of least squares, as the ends of its steps and their levels."""
    values, place = np.unique(odds, return_inverse=True)
    total = np.bincount(place, weight)
    mean = np.bincount(place, weight * truth) / np.where(total > 0, total, 1.0)
    fitted = optimize.isotonic_regression(mean[total > 0], weights=total[total > 0])
    first, last = np.asarray(fitted.blocks)[:-1], np.asarray(fitted.blocks)[1:] - 1
    kept = np.unique(np.concatenate([first, last]))
    return values[total > 0][kept], np.clip(np.asarray(fitted.x)[kept], 0.0, 1.0)


def best_scale(scores: Array, places: NDArray, weight: Array) -> float:
    """β ≥ 0 that minimises the log-loss of softmax(β scores), up to about 1000."""
    true = scores[np.arange(len(scores)), places]

    def slope(beta: float) -> float:
        shares = special.softmax(beta * scores, axis=1)
        return float(weight @ (np.sum(shares * scores, axis=1) - true))

    if slope(0.0) >= 0:
        return 0.0
    high = 1.0
    while slope(high) < 0 and high < HOTTEST:
        high *= 2
    return high if slope(high) < 0 else float(optimize.brentq(slope, 0.0, high, xtol=1e-12))
