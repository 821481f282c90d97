"""What every law can do: be sampled, and tell the truth about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from assay.datasets._requirements import Array, Labels
from assay.randomness import RandomState


class Sample(NamedTuple):
    """Rows drawn from a law, unpacked as `X, y = law.sample(n)`."""

    X: Array
    y: Labels


class Estimate(NamedTuple):
    """A number known to `standard_error`.

    Attributes
    ----------
    value : float
        The number.
    standard_error : float
        Standard error of a Monte Carlo mean; for a quadrature, the largest change of the value when the
        number of nodes per axis is divided by 3 and by 4; 0 for a closed form.
    exact : bool
        Whether the value is a closed form, exact to rounding.
    """

    value: float
    standard_error: float
    exact: bool


@runtime_checkable
class Predictor(Protocol):
    """A fitted model, as far as a law is concerned."""

    def predict(self, X: Any, /) -> Any:
        """Give one value a row."""


Rule: TypeAlias = Callable[[Array], Any] | Predictor


@dataclass(frozen=True, eq=False, init=False)
class Law(ABC):
    """The law of a pair (X, Y) that can be sampled and asked for its truth."""

    n_features: int = field(init=False, repr=False)

    @abstractmethod
    def sample(self, n_samples: int, random_state: RandomState = None) -> Sample:
        """Draw independent rows.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Where the randomness comes from; the global NumPy state is never touched.

        Returns
        -------
        Sample
            X of shape (n_samples, n_features) and y of shape (n_samples,).
        """

    def _set(self, **values: object) -> None:
        """Fill the fields of a frozen law, from its constructor only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def _name(self) -> str:
        return type(self).__name__


def answers(rule: Rule, X: Array) -> Labels:
    """Give the answers of a fitted model or of a plain function, one a row."""
    given = np.asarray(rule.predict(X) if isinstance(rule, Predictor) else rule(X))
    if given.shape != (len(X),):
        raise ValueError(
            f"A rule must answer one value a row, shape ({len(X)},). Got shape {given.shape} instead."
        )
    return given


def monte_carlo(losses: Array) -> Estimate:
    """Mean of independent losses with its standard error."""
    return Estimate(float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(len(losses))), False)
