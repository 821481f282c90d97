"""Line searches: how far to go along a direction."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.losses import Absolute, Exponential, Logistic, Loss, SidedLoss, Squared
from assay.losses.base import weighted_quantile
from assay.trees.stagewise.engine import Array, Direction, LineSearch, State

MOST_STEPS = 200
"""Newton steps and halvings of a line search; far fewer are ever needed."""


class ClosedForm(NamedTuple):
    """The exact step of the exponential loss along a classifier, from its error under D_t.

    w = ((C − 1)²/C)(log((1 − ε)/ε) + log(C − 1)), which is ½ log((1 − ε)/ε) for two classes; inf at ε = 0,
    and 0 where the classifier is not better than chance, ε ≥ (C − 1)/C.
    """

    n_classes: int = 2

    def __call__(self, state: State, direction: Direction) -> float:
        """The step."""
        error, others = direction.error, self.n_classes - 1
        if error <= 0.0:
            return math.inf
        if error >= others / self.n_classes * (1.0 - 1e-12):
            return 0.0
        return others**2 / self.n_classes * (math.log((1.0 - error) / error) + math.log(others))


def unit_step(state: State, direction: Direction) -> float:
    """1: the direction already has the right length."""
    return 1.0


def squared_step(state: State, direction: Direction) -> float:
    """Σ s r g / Σ s g²: exact for the squared loss."""
    size = float(np.sum(state.weight * direction.values**2))
    return float(np.sum(state.weight * state.residuals * direction.values)) / size if size > 0 else 0.0


def median_step(state: State, direction: Direction) -> float:
    """The median of (y − f)/g with weights s|g|: exact for the absolute loss."""
    there = (direction.values != 0) & (state.weight > 0)
    if not there.any():
        return 0.0
    g = direction.values[there]
    ratios = (state.y - state.scores)[there] / g
    return weighted_quantile(ratios, state.weight[there] * np.abs(g), 0.5)


def newton_step(state: State, direction: Direction) -> float:
    """The minimiser of a convex mean loss along the direction, by Newton steps kept inside a bracket.

    inf where the risk falls without end: every row that the direction moves is moved the right way, and the
    loss never reaches its infimum.
    """
    scores, weight = state.along()
    values = direction.values
    there = (weight > 0) & (values != 0 if values.ndim == 1 else np.any(values != 0, axis=1))
    if not there.any():
        return 0.0
    y, g, scores, weight = state.y[there], values[there], scores[there], weight[there]
    scale = 1.0 / float(np.abs(g).max())

    def slope(step: float) -> tuple[float, float]:
        return derivatives(state.loss, y, scores + step * g, g, weight)

    first, bend = slope(0.0)
    if first == 0.0 or not math.isfinite(first):
        return 0.0
    away = -1.0 if first > 0 else 1.0
    if is_endless(state.loss, y, away * g):
        return math.inf * away
    # A bracket: the slope changes its sign between `low` and `high`.
    low, high, limit = 0.0, away * scale, away * scale * 2.0**40
    while away * slope(high)[0] < 0.0:
        low, high = high, 2.0 * high
        if abs(high) > abs(limit):
            return math.inf * away
    point = (
        -first / bend if bend > 0 and min(low, high) < -first / bend < max(low, high) else (low + high) / 2
    )
    for _ in range(MOST_STEPS):
        value, bend = slope(point)
        if value == 0.0:
            break
        if away * value < 0.0:
            low = point
        else:
            high = point
        new = point - value / bend if bend > 0 else math.nan
        if not min(low, high) < new < max(low, high):
            new = (low + high) / 2
        if abs(new - point) <= 4e-16 * abs(new) or new in (low, high):
            point = new
            break
        point = new
    return point


def derivatives(loss: Loss, y: Array, scores: Array, g: Array, weight: Array) -> tuple[float, float]:
    """First and second derivative of Σ s ℓ(y, f + w g) in w, at w = 0; the scores are overwritten."""
    terms = loss.terms(y, scores)
    if g.ndim == 1:
        return float(np.sum(weight * terms.slope * g)), float(np.sum(weight * terms.curvature * g * g))
    p = terms.curvature  # of several scores the probabilities: the curvature is diag(p) − p pᵀ
    bend = np.sum(p * g * g, axis=1) - np.sum(p * g, axis=1) ** 2
    return float(weight @ np.sum(terms.slope * g, axis=1)), float(weight @ np.maximum(bend, 0.0))


def is_endless(loss: Loss, y: Array, g: Array) -> bool:
    """Whether the loss falls without end along g: no row is moved the wrong way."""
    if g.ndim > 1:
        own = g[np.arange(len(g)), y.astype(np.intp)]
        return bool(np.all(own[:, np.newaxis] >= g))
    return isinstance(loss, (Exponential, Logistic)) and bool(np.all(y * g >= 0))


def falling_step(state: State, direction: Direction) -> float:
    """1, halved until the mean loss does not rise."""
    step, before = 1.0, state.risk()
    for _ in range(MOST_STEPS):
        moved = State(state.loss, state.y, state.weight, state.scores + step * direction.values)
        if moved.risk() <= before:
            return step
        step /= 2
    return 0.0


def step_for(loss: Loss) -> LineSearch:
    """The line search that suits a loss: closed, a weighted median, or Newton's."""
    if isinstance(loss, Squared):
        return squared_step
    if isinstance(loss, Absolute):
        return median_step
    return newton_step


def bounded_step(state: State, direction: Direction) -> float:
    """The step that suits the loss; Newton's first one where the risk falls without end along it."""
    step = step_for(state.loss)(state, direction)
    if math.isfinite(step):
        return step
    scores, weight = state.along()
    slope, bend = derivatives(state.loss, state.y, scores.copy(), direction.values, weight)
    return -slope / bend if bend > 0 else math.copysign(1.0, step)


def constant_step(loss: Loss, y: Array, weight: Array, scores: Array) -> float:
    """What to add to the scores of the rows of a leaf.

    The best constant of losses of the residual; of smooth others Newton's step, halved until it lowers the
    risk, which stays bounded where all rows pull the same way.
    """
    state, ones = State(loss, y, weight, scores), Direction(None, np.ones_like(scores))
    if isinstance(loss, SidedLoss):  # a function of the residual alone
        return float(loss.constant_minimiser(y - scores, weight))
    if loss.cornered:
        return bounded_step(state, ones)
    terms = loss.terms(y, scores.copy())
    bend = float(np.sum(weight * terms.curvature))
    if not bend > 0:
        return bounded_step(state, ones)
    step = -float(np.sum(weight * terms.slope)) / bend
    before = float(np.sum(weight * loss.value(y, scores)))
    for _ in range(MOST_STEPS):
        if float(np.sum(weight * loss.value(y, scores + step))) <= before:
            return step
        step /= 2
    return 0.0
