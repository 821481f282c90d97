"""Losses of the error of a number: squared, absolute, Huber, pinball, ε-insensitive."""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import NDArray

from assay import parameters
from assay.losses._loss import require, weighted_mean
from assay.losses._sided import SidedForm, SidedLoss
from assay.parameters import Domain

_LEVEL = Domain(
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

    @property
    def row_form(self) -> SidedForm:
        """A corner, and slope 1 on both sides."""
        return SidedForm()


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
        require(self, "level", _LEVEL)

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
