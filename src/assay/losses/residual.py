"""Losses of the error that are linear or quadratic in pieces, with one factor above the target, one below.

With the residual r = y − f and the excess t = max(0, |r| − ε),

    ℓ(y, f) = side · h(t),    side = upper where r > 0, lower where r < 0,

where h(t) = t; or, for a loss of a positive reach δ, h(t) = ½ κ t² up to δ and κδ(t − ½ δ) beyond. Pinball:
upper τ, lower 1 − τ. Huber: κ = 1 up to δ. Squares: a reach without end. Hinge of the label y = ±1:
max(0, 1 − yf) is (y − f)₊ for y = 1 and (f − y)₊ for y = −1, so that a row has one side only.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.loops import inlined
from assay.losses.base import (
    Loss,
    piecewise_linear_root,
    require,
    weighted_mean,
    weighted_quantile,
    weights_of,
)
from assay.losses.row_form import terms_of
from assay.parameters import Domain


class SidedForm(NamedTuple):
    """Row form of all sided losses: factors above and below the target, errors ε that cost nothing.

    `curve` is the curvature κ and `reach` how far δ the excess stays quadratic; a reach of 0 is a corner.
    With `labelled` the target is a label ±1, and a row has the side of its label alone.
    """

    upper: float = 1.0
    lower: float = 1.0
    epsilon: float = 0.0
    curve: float = 0.0
    reach: float = 0.0
    labelled: bool = False

    @property
    def steepest(self) -> float:
        """Largest derivative of h."""
        return self.curve * self.reach if self.reach > 0 else 1.0


@inlined
def row_sides(form, y):  # type: ignore[no-untyped-def]
    """Factors of one row above and below its target."""
    upper = form.upper * (1.0 - (form.labelled & (y < 0.0)))
    lower = form.lower * (1.0 - (form.labelled & (y > 0.0)))
    return upper, lower


@terms_of(SidedForm)
def sided_terms(form, y, score):  # type: ignore[no-untyped-def]
    """Loss, slope and curvature in the score; the slope is 0 in corners."""
    # Signs of errors are hard to foresee: products with them in place of branches.
    residual = y - score
    upper, lower = row_sides(form, y)
    above, under = upper * (residual > 0.0), lower * (residual < 0.0)
    beyond = abs(residual) - form.epsilon
    excess = max(beyond, 0.0)
    # At the end of the reach the line goes on with the slope that the parabola has there.
    rest = excess - 0.5 * form.reach if excess > form.reach else 0.5 * excess
    steep = form.curve * min(excess, form.reach) if form.reach > 0.0 else 1.0 * (excess > 0.0)
    bend = form.curve * ((beyond >= 0.0) & (beyond <= form.reach))
    side = above + under + min(upper, lower) * (residual == 0.0)
    return side * steep * rest, (under - above) * steep, side * bend


@inlined
def slope_bound(form, side):  # type: ignore[no-untyped-def]
    """Largest slope of a row on a side with that factor; infinite for squares."""
    if side == 0.0 or form.reach == 0.0:
        return side
    return side * form.curve * form.reach


@inlined
def dual_step(form, upper, lower, stiffness, pull):  # type: ignore[no-untyped-def]
    """The slope u that minimises ½ stiffness u² − pull u + ε|u| + u²/(2κ side) between its bounds."""
    side = upper if pull > 0.0 else lower
    away = abs(pull) - form.epsilon
    if away <= 0.0 or side == 0.0:
        return 0.0
    total = stiffness + (1.0 / (form.curve * side) if form.reach > 0.0 else 0.0)
    size = slope_bound(form, side)
    if total > 0.0:
        size = min(away / total, size)
    return size if pull > 0.0 else -size


class SidedLoss(Loss):
    """Base of the losses that are linear or quadratic in pieces of the error y − f; see `SidedForm`.

    Solvers for such losses need no more than the form: the factors of the two sides, the errors that cost
    nothing, and whether there are corners.
    """

    __slots__ = ()
    convex: ClassVar[bool] = True

    @property
    @abstractmethod
    def row_form(self) -> SidedForm:
        """The two sides, the free errors, the curvature and its reach."""

    @property
    def cornered(self) -> bool:
        """Whether the loss has corners and is linear beyond them."""
        return self.row_form.reach == 0

    @property
    def smoothness(self) -> float:
        """κ times the larger side, inf for a loss with corners."""
        form = self.row_form
        return math.inf if self.cornered else form.curve * max(form.upper, form.lower)

    @property
    def strong_convexity(self) -> float:
        """κ for squares that forgive no error, else 0."""
        form = self.row_form
        everywhere = form.reach == math.inf and form.epsilon == 0 and not form.labelled
        return form.curve * min(form.upper, form.lower) if everywhere else 0.0

    @property
    def lipschitz(self) -> float:
        """The larger side times the slope at the end of the reach, inf for squares."""
        form = self.row_form
        return form.steepest * max(form.upper, form.lower)

    def sides(self, y: NDArray) -> tuple[NDArray, NDArray]:
        """Factors of each row above and below its target."""
        form, y = self.row_form, np.asarray(y)
        if form.labelled:
            return form.upper * (y > 0), form.lower * (y < 0)
        return np.full(y.shape, form.upper), np.full(y.shape, form.lower)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = u y + ε |u| + u²/(2κ side) for slopes u that the side has."""
        form, slope = self.row_form, np.asarray(slope)
        sides: Any = self.sides(y) if form.labelled else (form.upper, form.lower)
        side = np.where(slope < 0, *sides).astype(np.result_type(slope, np.float32))
        size = np.abs(slope)
        squares = form.reach == math.inf
        inside = (side > 0) | (size == 0) if squares else size <= form.steepest * side
        value = slope * y + form.epsilon * size + self.conjugate_square(slope, side)
        return np.where(inside, value, np.inf)

    def conjugate_square(self, slope: NDArray, side: NDArray) -> NDArray:
        """The quadratic part u²/(2κ side) of the conjugate; 0 for a loss with corners."""
        if self.cornered:
            return np.zeros_like(slope)
        return slope**2 / np.where(side > 0, 2 * self.row_form.curve * side, 1)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """A weighted quantile for corners; else the root of the sum of slopes, exact up to rounding."""
        form = self.row_form
        values, weight = np.asarray(y, dtype=float), weights_of(y, sample_weight)
        edge = form.epsilon + (form.reach if form.reach < math.inf else 0.0)
        edges = np.concatenate([values - edge, values + edge])
        if not self.cornered:
            return piecewise_linear_root(
                lambda c: float(weight @ self.gradient(values, np.array(c))), np.sort(edges)
            )
        level = form.upper / (form.upper + form.lower)
        if edge == 0:
            return weighted_quantile(values, weight, level)
        return weighted_quantile(edges, np.concatenate([form.upper * weight, form.lower * weight]), level)


LEVEL = Domain(
    "a number above 0 and below 1", lambda value: parameters.real(above=0.0).contains(value) and value < 1
)


@dataclass(frozen=True, slots=True)
class Squared(SidedLoss):
    """ℓ(y, f) = ½ (y − f)², a function of the prediction f; or (y − f)², without the half.

    Smooth and strongly convex with the same constant, 1 (or 2); its population minimiser is the conditional
    mean E[Y | X].

    Parameters
    ----------
    halved : bool, default=True
        Whether the square is halved.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Squared
    >>> Squared().value(np.array([3.0]), np.array([1.0]))
    array([2.])

    References
    ----------
    Sangnier §1.4.1; Rudi & Şimşekli §2.1.2.
    """

    halved: bool = True

    def __post_init__(self) -> None:
        require(self, "halved", parameters.boolean)

    @property
    def row_form(self) -> SidedForm:
        """Quadratic everywhere."""
        return SidedForm(curve=1.0 if self.halved else 2.0, reach=math.inf)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """The weighted mean."""
        return weighted_mean(y, sample_weight)


@dataclass(frozen=True, slots=True)
class Absolute(SidedLoss):
    """ℓ(y, f) = |y − f|; its population minimiser is the conditional median.

    At f = y the subgradient is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Absolute
    >>> Absolute().value(np.array([3.0]), np.array([1.0]))
    array([2.])

    References
    ----------
    Sangnier §1.4.1.
    """

    row_form: ClassVar[SidedForm] = SidedForm()


@dataclass(frozen=True, slots=True)
class Huber(SidedLoss):
    """ℓ(y, f) = ½ r² where r = f − y has |r| ≤ δ, and δ|r| − ½ δ² beyond.

    Parameters
    ----------
    delta : float above 0, default=1.0
        Size δ of the errors from which the loss is linear.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Huber
    >>> Huber(delta=1.0).value(np.zeros(2), np.array([0.5, 3.0]))
    array([0.125, 2.5  ])
    """

    delta: float = 1.0

    def __post_init__(self) -> None:
        require(self, "delta", parameters.real(above=0.0))

    @property
    def row_form(self) -> SidedForm:
        """Quadratic up to δ."""
        return SidedForm(curve=1.0, reach=float(self.delta))


@dataclass(frozen=True, slots=True)
class Quantile(SidedLoss):
    """The pinball loss ℓ(y, f) = τ (y − f) where y ≥ f, (1 − τ)(f − y) elsewhere.

    Its population minimiser is the conditional quantile of level τ. At f = y the subgradient is 0.

    Parameters
    ----------
    level : float above 0 and below 1, default=0.5
        The level τ.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Quantile
    >>> Quantile(0.75).value(np.zeros(2), np.array([-1.0, 1.0]))
    array([0.75, 0.25])
    """

    level: float = 0.5

    def __post_init__(self) -> None:
        require(self, "level", LEVEL)

    @property
    def row_form(self) -> SidedForm:
        """Slope τ above, 1 − τ below."""
        return SidedForm(float(self.level), 1 - float(self.level))


@dataclass(frozen=True, slots=True)
class EpsilonInsensitive(SidedLoss):
    """ℓ(y, f) = max(0, |y − f| − ε), which is ½ |f − y − ε| + ½ |f − y + ε| − ε.

    At |f − y| = ε the subgradient is 0.

    Parameters
    ----------
    epsilon : float at least 0, default=0.1
        Half the width ε of the tube.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(0.5).value(np.zeros(2), np.array([0.25, 2.0]))
    array([0. , 1.5])

    References
    ----------
    Sangnier §1.5.
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        require(self, "epsilon", parameters.real(at_least=0.0))

    @property
    def row_form(self) -> SidedForm:
        """Corners at ±ε."""
        return SidedForm(epsilon=float(self.epsilon))


@dataclass(frozen=True, slots=True)
class SquaredEpsilonInsensitive(SidedLoss):
    """ℓ(y, f) = max(0, |y − f| − ε)².

    Parameters
    ----------
    epsilon : float at least 0, default=0.1
        Half the width ε of the tube.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(0.5).value(np.zeros(2), np.array([0.25, 2.0]))
    array([0.  , 2.25])
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        require(self, "epsilon", parameters.real(at_least=0.0))

    @property
    def row_form(self) -> SidedForm:
        """Quadratic beyond ±ε."""
        return SidedForm(epsilon=float(self.epsilon), curve=2.0, reach=math.inf)
