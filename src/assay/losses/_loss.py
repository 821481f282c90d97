"""What a loss is: a function of a target and a raw prediction, with its derivatives and constants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import NDArray

from assay import parameters
from assay.parameters import Domain


class Loss(ABC):
    """Base of all losses ℓ(y, f): small immutable objects, compared by value.

    All methods work entry by entry on arrays that broadcast together (row by row for losses of several
    scores), keep float32, and do not look at whether `y` is a legal target: that is for the estimator.
    Values beyond the largest float are inf, without a warning.

    The constants are the best ones over all targets and predictions: `smoothness` bounds |ℓ''| (inf when
    there is no bound or no derivative), `strong_convexity` is the smallest ℓ'' (0 when it is not positive),
    `lipschitz` bounds |ℓ'| (inf when there is no bound).
    """

    __slots__ = ()

    @property
    @abstractmethod
    def convex(self) -> bool:
        """Whether f ↦ ℓ(y, f) is convex for every y."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Lipschitz constant of the derivative in f, inf when there is none."""

    @property
    @abstractmethod
    def strong_convexity(self) -> float:
        """Largest μ ≥ 0 such that ℓ(y, f) − μf²/2 is convex in f; 0 when ℓ is not convex itself."""

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """Lipschitz constant in f, inf when there is none."""

    @abstractmethod
    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row."""

    @abstractmethod
    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Derivative in the prediction, or the subgradient that the class names."""

    @abstractmethod
    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Second derivative in the prediction, where there is one."""

    @abstractmethod
    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = sup_f u f − ℓ(y, f), inf outside its domain."""

    @abstractmethod
    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> Any:
        """argmin_c Σ_i s_i ℓ(y_i, c); with weights that are probabilities, the population minimiser.

        Where the minimisers form an interval, its middle.
        """


def require(owner: object, name: str, domain: Domain) -> None:
    """Raise one sentence if a field of a loss is outside its domain."""
    value: Any = getattr(owner, name)
    if not domain.contains(value):
        raise parameters.refusal(type(owner).__name__, name, domain.words, value)
