"""Surrogate losses of binary classification: what their risk tells about the error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.certificates import Certificate, Details, at_most
from assay.losses import Exponential, Hinge, Logistic, MarginLoss, ZeroOne
from assay.parameters import refusal
from assay.theory.least_squares import Array

_ETA = np.concatenate([np.linspace(0.05, 0.45, 9), np.linspace(0.55, 0.95, 9)])
_THREE = (Exponential(), Logistic(base=2), Hinge())
_REACH = 30.0  # raw predictions searched for minimisers: σ(30) is 1 up to 1e-13


def _margin_function(owner: str, loss: Any) -> Callable[[NDArray], NDArray]:
    if isinstance(loss, MarginLoss):
        return loss.margin_value
    if callable(loss):
        return lambda u: np.asarray(loss(u), dtype=float)
    raise refusal(owner, "loss", "a MarginLoss or a function of the margin", loss)


def _probabilities(owner: str, eta: ArrayLike) -> Array:
    values = np.atleast_1d(np.asarray(eta, dtype=float))
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise refusal(owner, "eta", "a list of numbers from 0 to 1", eta)
    return values


def conditional_risk(loss: Any, eta: ArrayLike, u: ArrayLike) -> Array:
    """Risk E[φ(Y u) | X] = η φ(u) + (1 − η) φ(−u) of the raw prediction u where P(Y = 1 | X) = η.

    Parameters
    ----------
    loss : MarginLoss or callable
        The function φ of the margin.
    eta, u : array-like
        Broadcast together.

    Examples
    --------
    >>> from assay.losses import Hinge
    >>> from assay.theory import conditional_risk
    >>> float(conditional_risk(Hinge(), 0.75, 1.0))
    0.5
    """
    phi = _margin_function("conditional_risk", loss)
    share, prediction = np.asarray(eta, dtype=float), np.asarray(u, dtype=float)
    return np.asarray(share * phi(prediction) + (1 - share) * phi(-prediction))


class NumericalMinimum(NamedTuple):
    """Result of `minimise_conditional_risk`."""

    minimisers: Array
    minimal_risks: Array


def minimise_conditional_risk(
    loss: Any, eta: ArrayLike, *, low: float = -_REACH, high: float = _REACH
) -> NumericalMinimum:
    """Smallest conditional risk over `low` ≤ u ≤ `high`, by grids that close in on the best point.

    Nothing is asked of the loss; between minimisers, the one found is any of them.

    Examples
    --------
    >>> from assay.losses import SquaredHinge
    >>> from assay.theory import minimise_conditional_risk
    >>> minimise_conditional_risk(SquaredHinge(), [0.25, 0.9]).minimisers.round(6)
    array([-0.5,  0.8])
    """
    share = _probabilities("minimise_conditional_risk", eta)[:, None]
    left, right = np.full(share.shape, low), np.full(share.shape, high)
    steps = np.linspace(0.0, 1.0, 201)
    for _ in range(6):
        grid = left + (right - left) * steps
        risks = conditional_risk(loss, share, grid)
        best = np.argmin(risks, axis=1)[:, None]
        width = (right - left) / 100
        lowest, smallest = np.take_along_axis(grid, best, 1), np.take_along_axis(risks, best, 1)
        left, right = np.maximum(lowest - width, left), np.minimum(lowest + width, right)
    return NumericalMinimum(lowest[:, 0], smallest[:, 0])


class PopulationMinimisers(NamedTuple):
    """Result of `population_minimisers`: one row per loss, one column per probability.

    Attributes
    ----------
    losses : tuple of MarginLoss
    eta : array of shape (m,)
        P(Y = 1 | X).
    minimisers, minimal_risks : arrays of shape (n_losses, m)
        u*(η) and the conditional risk there.
    bayes_risk : array of shape (m,)
        min(η, 1 − η).
    """

    losses: tuple[MarginLoss, ...]
    eta: Array
    minimisers: Array
    minimal_risks: Array
    bayes_risk: Array

    @property
    def bayes_consistent(self) -> NDArray[np.bool_]:
        """For each loss, whether u*(η) has the sign of 2η − 1 at every η ≠ ½ of the table."""
        apart = self.eta != 0.5
        return np.all(np.sign(self.minimisers) == np.sign(self.eta - 0.5), axis=1, where=apart)


def population_minimisers(
    losses: Sequence[MarginLoss] = _THREE, eta: ArrayLike = _ETA
) -> PopulationMinimisers:
    """Table of the population minimisers u*(η) = argmin_u η φ(u) + (1 − η) φ(−u) and of their risks.

    Closed forms, of which the losses tell the ties and limits; `minimise_conditional_risk` finds them again.

    Examples
    --------
    >>> from assay.theory import population_minimisers
    >>> table = population_minimisers(eta=[0.2, 0.8])
    >>> table.minimisers.round(3)
    array([[-0.693,  0.693],
           [-1.386,  1.386],
           [-1.   ,  1.   ]])

    References
    ----------
    Sangnier, exercise 1.5.
    """
    share = _probabilities("population_minimisers", eta)
    for loss in losses:
        if not isinstance(loss, MarginLoss):
            raise refusal("population_minimisers", "losses", "a list of MarginLoss objects", loss)
    lowest = np.stack([loss.minimiser(share) for loss in losses])
    risks = np.stack([loss.minimal_risk(share) for loss in losses])
    return PopulationMinimisers(tuple(losses), share, lowest, risks, np.minimum(share, 1 - share))


class ClassificationLossCheck(NamedTuple):
    """Result of `check_classification_loss`: what was measured on a grid.

    Attributes
    ----------
    convex, strictly_convex, differentiable, non_increasing, non_negative : bool
        On the grid of margins.
    slope_before, slope_after : float
        One-sided derivatives at 0.
    majorises_zero_one : bool
        Whether φ(u) ≥ 1{u ≤ 0} on the grid.
    eta, minimisers, minimal_risks : arrays of shape (m,)
        Minimisers found numerically.
    wrong_sign_excess : array of shape (m,)
        Smallest conditional risk over predictions u with u(2η − 1) ≤ 0, less the smallest over all.
    """

    convex: bool
    strictly_convex: bool
    differentiable: bool
    non_increasing: bool
    non_negative: bool
    slope_before: float
    slope_after: float
    majorises_zero_one: bool
    eta: Array
    minimisers: Array
    minimal_risks: Array
    wrong_sign_excess: Array

    @property
    def meets_the_proposition(self) -> bool:
        """Strictly convex, differentiable, non-increasing and non-negative: sufficient, not necessary."""
        return self.strictly_convex and self.differentiable and self.non_increasing and self.non_negative

    @property
    def meets_the_slope_condition(self) -> bool:
        """Convex, differentiable at 0 with φ'(0) < 0: for a convex φ, calibrated exactly when this holds."""
        smooth = abs(self.slope_after - self.slope_before) < 1e-3 * (1 + abs(self.slope_before))
        return bool(self.convex and smooth and self.slope_after < -1e-6)

    @property
    def bayes_consistent(self) -> bool:
        """Whether, at every η, a prediction of the wrong sign (or 0) is strictly worse than the best."""
        return bool(np.all(self.wrong_sign_excess > 1e-9))


def check_classification_loss(
    loss: Any, *, eta: ArrayLike = _ETA, radius: float = 10.0
) -> ClassificationLossCheck:
    """Measure on a grid what makes φ a loss for classification, and whether its minimiser is the Bayes rule.

    Parameters
    ----------
    loss : MarginLoss or callable
        The function φ of the margin.
    eta : array-like of numbers other than ½, optional
        Conditional probabilities at which minimisers are found.
    radius : float, default=10.0
        Conditions are measured for margins from −radius to radius.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Hinge, Logistic
    >>> from assay.theory import check_classification_loss
    >>> check_classification_loss(Logistic()).meets_the_proposition
    True
    >>> hinge = check_classification_loss(Hinge())
    >>> hinge.meets_the_proposition, hinge.meets_the_slope_condition, hinge.bayes_consistent
    (False, True, True)
    >>> check_classification_loss(lambda u: np.maximum(-u, 0)).bayes_consistent
    False

    References
    ----------
    Sangnier §1.2.1, proposition 11; examination of 2023, exercise 3.
    """
    phi = _margin_function("check_classification_loss", loss)
    share = _probabilities("check_classification_loss", eta)
    if np.any(share == 0.5):
        raise refusal("check_classification_loss", "eta", "other than 1/2, where every sign is Bayes", 0.5)
    half = int(np.ceil(256 * radius))
    grid = np.arange(-half, half + 1) / 256  # equally spaced without rounding
    values = phi(grid)
    # Rounding of the values, and of the margins times the slope.
    error = np.abs(values) + np.abs(grid * np.gradient(values, grid))
    rounding = 8 * np.finfo(float).eps * error
    bends = np.diff(values, 2)
    step = 1e-6
    before, centre, after = phi(np.array([-step, 0.0, step]))
    minimum = minimise_conditional_risk(phi, share)
    below, above = (minimise_conditional_risk(phi, share, **side) for side in ({"high": 0.0}, {"low": 0.0}))
    wrong = np.where(share > 0.5, below.minimal_risks, above.minimal_risks)
    return ClassificationLossCheck(
        convex=bool(np.all(bends >= -rounding[1:-1])),
        strictly_convex=bool(np.all(bends > rounding[1:-1])),
        differentiable=not _has_a_kink(phi, radius),
        non_increasing=bool(np.all(np.diff(values) <= rounding[1:])),
        non_negative=bool(np.all(values >= 0)),
        slope_before=float((centre - before) / step),
        slope_after=float((after - centre) / step),
        majorises_zero_one=bool(np.all(values >= (grid <= 0))),
        eta=share,
        wrong_sign_excess=wrong - minimum.minimal_risks,
        **minimum._asdict(),
    )


def _has_a_kink(phi: Callable[[NDArray], NDArray], radius: float) -> bool:
    """Close in on the largest relative change of slope: at a kink it does not shrink with the step."""
    low, high = -radius, radius
    change = np.inf
    for _ in range(4):
        grid = np.linspace(low, high, 301)
        slopes = np.diff(phi(grid)) / np.diff(grid)
        changes = np.abs(np.diff(slopes)) / (1 + np.abs(slopes[1:]))
        worst = int(np.argmax(changes))
        change, low, high = changes[worst], grid[worst], grid[worst + 2]
    return bool(change > 1e-3)


class SurrogateBound(NamedTuple):
    """Result of `surrogate_bound`.

    Attributes
    ----------
    zero_one_risk : float
        Weighted share of rows with y f ≤ 0.
    surrogate_risk : float
        Weighted mean of φ(y f).
    scale : float
        What the surrogate risk is divided by, so that φ/scale majorises the 0-1 loss.
    """

    zero_one_risk: float
    surrogate_risk: float
    scale: float

    @property
    def bound(self) -> float:
        """The surrogate risk over the scale."""
        return self.surrogate_risk / self.scale

    @property
    def holds(self) -> bool:
        """Whether the error rate is at most the bound."""
        return self.certificate.holds

    @property
    def certificate(self) -> Certificate:
        """The inequality as a certificate; vacuous when the bound is 1 or more."""
        claim = "The error rate is at most the surrogate risk."
        source, assumed = "Sangnier §1.2.1; Rudi & Şimşekli §2.1.2", ("the scaled loss majorises 1{u ≤ 0}",)
        details = Details(assumptions=assumed, trivial=1.0, tolerance=1e-12)
        return at_most(claim, "error rate", self.zero_one_risk, self.bound, source, **details)


def surrogate_bound(
    loss: MarginLoss,
    y: ArrayLike,
    prediction: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    scale: float | None = None,
) -> SurrogateBound:
    """Bound the error rate of raw predictions by their surrogate risk: mean 1{y f ≤ 0} ≤ mean φ(y f)/scale.

    A non-increasing φ ≥ 0 divided by φ(0) majorises the 0-1 loss. For the natural logarithm φ(0) = log 2, and
    the inequality without that division is false.

    Parameters
    ----------
    loss : MarginLoss
        A non-increasing loss.
    y : array-like of −1 and +1
    prediction : array-like
        Raw predictions f.
    sample_weight : array-like, optional
    scale : float above 0, optional
        Divisor of the surrogate risk; φ(0) when it is not given.

    Examples
    --------
    >>> from assay.losses import Logistic
    >>> from assay.theory import surrogate_bound
    >>> result = surrogate_bound(Logistic(), [1, -1, 1], [0.8, 0.2, 1.5])
    >>> result.holds, round(result.zero_one_risk, 3), round(result.bound, 3)
    (True, 0.333, 0.659)
    """
    if not isinstance(loss, MarginLoss):
        raise refusal("surrogate_bound", "loss", "a MarginLoss", loss)
    if scale is not None and not scale > 0:
        raise refusal("surrogate_bound", "scale", "None (the loss at margin 0) or a number above 0", scale)
    label = np.asarray(y, dtype=float)
    if not np.all(np.abs(label) == 1):
        raise refusal("surrogate_bound", "y", "made of -1 and +1", y)
    margin = label * np.asarray(prediction, dtype=float)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    values = (each.margin_value(margin) for each in (ZeroOne(), loss))
    risks = [float(np.average(value, weights=weight)) for value in values]
    at_zero = loss.margin_value(np.zeros(1))[0]
    return SurrogateBound(risks[0], risks[1], float(at_zero if scale is None else scale))
