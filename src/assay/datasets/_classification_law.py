"""Classification laws: posterior, Bayes rule and Bayes risk are known."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from assay.datasets._law import Estimate, Law, Rule, Sample, answers, monte_carlo
from assay.datasets._requirements import Array, Labels, integer_between, refuse, rows_of
from assay.randomness import RandomState, generator

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
        """Give log π_k + log p_k(x), one row a point and one column a class."""

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

    def sample(self, n_samples: int, random_state: RandomState = None) -> Sample:
        """Draw independent rows (X, Y): the class first, then X given the class.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Where the randomness comes from.
        """
        n_samples = integer_between(self._name, "n_samples", n_samples, 1)
        rng = generator(random_state)
        components = rng.choice(len(self.priors), size=n_samples, p=self.priors)
        return Sample(self._draw(components, rng), self.classes[components])

    def posterior(self, X: ArrayLike) -> Array:
        """Give P(Y = k | X = x), one row a point and one column a class, in the order of `classes`."""
        probabilities: Array = softmax(self.log_joint(X), axis=1)
        return probabilities

    def log_density(self, X: ArrayLike) -> Array:
        """Give log p(x) = log Σ_k π_k p_k(x), one value a row."""
        density: Array = logsumexp(self.log_joint(X), axis=1)
        return density

    def bayes_rule(self, X: ArrayLike) -> Labels:
        """Give the class of largest posterior, one a row; ties go to the lowest index (−1 when binary)."""
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

    def risk(self, rule: Rule, n_samples: int = 100_000, random_state: RandomState = None) -> Estimate:
        """Estimate the probability of error P(rule(X) ≠ Y) of any classifier.

        Given X the probability of error is known, 1 − P(Y = rule(X) | X), so that only X is drawn.

        Parameters
        ----------
        rule : callable or fitted model
            The classifier, a function of X or an object with a `predict` method; a label that the law does
            not have is always an error.
        n_samples : int, default=100_000
            Number of rows drawn, at least 2.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Where the randomness comes from.
        """
        n_samples = integer_between(self._name, "n_samples", n_samples, 2)
        X, _ = self.sample(n_samples, random_state)
        chosen = answers(rule, X)[:, np.newaxis] == self.classes
        return monte_carlo(1.0 - np.sum(self.posterior(X) * chosen, axis=1))

    def _quadrature_bayes_risk(self, coarser: int) -> float | None:
        blocks = self._quadrature(coarser)
        if blocks is None:
            return None
        return float(sum(weights @ (1.0 - softmax(joint, axis=1).max(axis=1)) for joint, weights in blocks))

    def _rows(self, X: ArrayLike) -> Array:
        return rows_of(self._name, X, self.n_features)


def default_classes(n_classes: int) -> Labels:
    """Give −1 and +1 for two classes, 0, …, C − 1 for more."""
    return np.array([-1, 1]) if n_classes == 2 else np.arange(n_classes)
