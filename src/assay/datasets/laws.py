"""What every law can do: be sampled, and tell the truth about itself; laws of classes and of regressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from assay.datasets.requirements import Array, Labels, integer_between, refuse, rows_of
from assay.randomness import RandomState, generator


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
        """Give one value per row."""


Rule: TypeAlias = Callable[[Array], Any] | Predictor


@dataclass(frozen=True, eq=False, init=False)
class Law(ABC):
    """The law of a pair (X, Y) that can be sampled and asked for its truth."""

    n_features: int = field(init=False, repr=False)

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
        n_samples = integer_between(self._name, "n_samples", n_samples, 1)
        return self._draw_rows(n_samples, generator(random_state))

    def risk(self, rule: Rule, n_samples: int = 100_000, random_state: RandomState = None) -> Estimate:
        """Estimate the risk of any rule: a classifier's probability of error, a predictor's E(Y − f(X))².

        Given X the risk is known, so that only the rows of X are random: 1 − P(Y = rule(X) | X), or
        (f(X) − f*(X))² + Var(ε). A label that the law does not have is always an error.

        Parameters
        ----------
        rule : callable or fitted model
            A function of X or an object with a `predict` method.
        n_samples : int, default=100_000
            Number of rows drawn, at least 2.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Where the randomness comes from.
        """
        n_samples = integer_between(self._name, "n_samples", n_samples, 2)
        X = self._draw_features(n_samples, generator(random_state))
        losses = self._losses(answers(rule, X), X)
        return Estimate(float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(n_samples)), False)

    @abstractmethod
    def _draw_rows(self, n_samples: int, rng: np.random.Generator) -> Sample:
        """Draw independent rows."""

    @abstractmethod
    def _draw_features(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Draw rows of X."""

    @abstractmethod
    def _losses(self, given: Labels, X: Array) -> Array:
        """Expected loss of these answers given X, one per row."""

    def _set(self, **values: object) -> None:
        """Fill the fields of a frozen law, from its constructor only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _rows(self, X: ArrayLike) -> Array:
        return rows_of(self._name, X, self.n_features)


def answers(rule: Rule, X: Array) -> Labels:
    """Give the answers of a fitted model or of a plain function, one per row."""
    given = np.asarray(rule.predict(X) if isinstance(rule, Predictor) else rule(X))
    if given.shape != (len(X),):
        asked = f"A rule must answer one value per row, shape ({len(X)},)."
        raise ValueError(f"{asked} Got shape {given.shape} instead.")
    return given


@dataclass(frozen=True, eq=False, init=False)
class RegressionLaw(Law):
    """A law Y = f*(X) + ε with ε Gaussian, independent of X, centred, of known variance."""

    @abstractmethod
    def regression_function(self, X: ArrayLike) -> Array:
        """Give f*(x) = E[Y | X = x], one value per row."""

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """Var(Y | X), the same everywhere."""

    def _draw_rows(self, n_samples: int, rng: np.random.Generator) -> Sample:
        X = self._draw_features(n_samples, rng)
        noise = np.sqrt(self.noise_variance) * rng.standard_normal(n_samples)
        return Sample(X, self.regression_function(X) + noise)

    def _losses(self, given: Labels, X: Array) -> Array:
        return (given - self.regression_function(X)) ** 2 + self.noise_variance

    def bayes_risk(self) -> Estimate:
        """Give the smallest squared risk, that of f*: the variance of the noise."""
        return Estimate(self.noise_variance, 0.0, True)


# Nodes per axis of a quadrature over a line and over the plane.
LINE_NODES, PLANE_NODES = 20_000, 400

Method = Literal["auto", "closed_form", "quadrature", "monte_carlo"]


@dataclass(frozen=True, eq=False, init=False)
class ClassificationLaw(Law):
    """A law P(Y = k) = π_k, X | Y = k ~ p_k, with all of it known.

    Two classes are −1 and +1 unless the law says otherwise. Ties of the posterior go to the class of lowest
    index, hence sign(0) = −1.
    """

    classes: Labels
    priors: Array

    @abstractmethod
    def log_joint(self, X: ArrayLike) -> Array:
        """Give log π_k + log p_k(x), one row per point and one column per class."""

    @abstractmethod
    def _draw(self, components: Labels, rng: np.random.Generator) -> Array:
        """Draw one row of each of these classes, given by index."""

    def _quadrature(self, coarser: int) -> Iterator[tuple[Array, Array]] | None:
        """Blocks (log_joint at the nodes, weights), the weights those of the law of X, total 1.

        `coarser` divides the number of nodes per axis. None when the law has no such rule.
        """
        return None

    def _closed_form_bayes_risk(self) -> float | None:
        """Bayes risk in closed form, None when there is none."""
        return None

    def _draw_rows(self, n_samples: int, rng: np.random.Generator) -> Sample:
        """The class first, then X given the class."""
        components = rng.choice(len(self.priors), size=n_samples, p=self.priors)
        return Sample(self._draw(components, rng), self.classes[components])

    def _draw_features(self, n_samples: int, rng: np.random.Generator) -> Array:
        return self._draw_rows(n_samples, rng).X

    def _losses(self, given: Labels, X: Array) -> Array:
        return 1.0 - np.sum(self.posterior(X) * (given[:, np.newaxis] == self.classes), axis=1)

    def posterior(self, X: ArrayLike) -> Array:
        """Give P(Y = k | X = x), one row per point and one column per class, in the order of `classes`."""
        return np.asarray(softmax(self.log_joint(X), axis=1))

    def log_density(self, X: ArrayLike) -> Array:
        """Give log p(x) = log Σ_k π_k p_k(x), one value per row."""
        return np.asarray(logsumexp(self.log_joint(X), axis=1))

    def bayes_rule(self, X: ArrayLike) -> Labels:
        """Give the class of largest posterior, one per row; ties go to the lowest index (−1 when binary)."""
        return self.classes[np.argmax(self.log_joint(X), axis=1)]

    def bayes_risk(
        self, *, method: Method = "auto", n_samples: int = 100_000, random_state: RandomState = None
    ) -> Estimate:
        """Give the smallest probability of error, E[1 − max_k P(Y = k | X)].

        Parameters
        ----------
        method : {"auto", "closed_form", "quadrature", "monte_carlo"}, default="auto"
            How; "auto" takes the first of the other three that the law has.
        n_samples : int, default=100_000
            Number of rows drawn by "monte_carlo".
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Where the randomness of "monte_carlo" comes from.
        """
        if method not in ("auto", "closed_form", "quadrature", "monte_carlo"):
            refuse(self._name, "method", "'auto', 'closed_form', 'quadrature' or 'monte_carlo'", repr(method))
        closed_form = self._closed_form_bayes_risk() if method in ("auto", "closed_form") else None
        if closed_form is not None:
            return Estimate(closed_form, 0.0, True)
        value = self._quadrature_bayes_risk(1) if method in ("auto", "quadrature") else None
        if value is not None:
            # Two coarser grids: the errors of a fine and of one coarse grid may agree by chance.
            coarse = [self._quadrature_bayes_risk(coarser) for coarser in (3, 4)]
            return Estimate(value, max(abs(value - other) for other in coarse if other is not None), False)
        if method in ("closed_form", "quadrature"):
            refuse(self._name, "method", "'auto', or a method that this law has", repr(method))
        return self.risk(self.bayes_rule, n_samples, random_state)

    def _quadrature_bayes_risk(self, coarser: int) -> float | None:
        blocks = self._quadrature(coarser)
        if blocks is None:
            return None
        return float(sum(weights @ (1.0 - softmax(joint, axis=1).max(axis=1)) for joint, weights in blocks))


def default_classes(n_classes: int) -> Labels:
    """Give −1 and +1 for two classes, 0, …, C − 1 for more."""
    return np.array([-1, 1]) if n_classes == 2 else np.arange(n_classes)
