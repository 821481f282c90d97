"""Laws beyond Gaussian columns: yes-no columns beside Gaussian ones, a uniform column, labels that flip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import log_softmax, logsumexp, ndtr, softmax, xlog1py, xlogy
from scipy.stats import binom

from assay.datasets import requirements as checked
from assay.datasets.gaussian import GaussianClasses
from assay.datasets.laws import ClassificationLaw, Sample
from assay.datasets.requirements import Array, Labels, refuse

# Patterns of counts of ones over which the closed form of the Bayes risk is summed at most.
_MOST_PATTERNS = 2**16


@dataclass(frozen=True, eq=False, init=False)
class GaussianBernoulli(ClassificationLaw):
    """Classes with Gaussian and yes-no features.

        P(Y = k) = π_k,   U | Y = k ~ N(μ_k, C_k),   V_j | Y = k ~ B(p_kj),   all independent given Y,

    and X = (U, V). The log-odds of two classes are ½uᵀQu + αᵀu + βᵀv + b. For two classes of equal covariance
    the Bayes risk is a closed form: given the number of ones among columns of the same probabilities, the
    log-odds are Gaussian, and these numbers are binomial. Otherwise it is Monte Carlo.

    Parameters
    ----------
    means : array-like of shape (n_classes, n_gaussian)
        The means μ_k of the Gaussian columns, which come first.
    probabilities : array-like of shape (n_classes, n_binary)
        The probabilities p_kj of a one, between 0 and 1, ends excluded.
    covariances : array-like of shape (n_gaussian, n_gaussian) or (n_classes, n_gaussian, n_gaussian), \
default=None
        As in `GaussianClasses`.
    priors, classes : array-like of shape (n_classes,), default=None
        As in `GaussianClasses`.

    Examples
    --------
    >>> from assay.datasets import GaussianBernoulli
    >>> law = GaussianBernoulli([[-0.5], [0.5]], [[0.2, 0.2], [0.7, 0.7]])
    >>> law.bayes_rule([[0.0, 1, 1], [0.0, 0, 0]])
    array([ 1, -1])
    >>> round(law.bayes_risk().value, 4)
    0.1756
    >>> law.bayes_risk().exact
    True

    References
    ----------
    Sangnier, examination of 2022, exercise 1.
    """

    gaussian: GaussianClasses = field(init=False, repr=False)
    probabilities: Array

    def __init__(
        self,
        means: ArrayLike,
        probabilities: ArrayLike,
        covariances: ArrayLike | None = None,
        priors: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        gaussian = _renamed(self._name, means, covariances, priors, classes)
        chances = checked.finite_array(self._name, "probabilities", probabilities, 2)
        if len(chances) != len(gaussian.priors) or np.any((chances <= 0.0) | (chances >= 1.0)):
            must_be = f"{len(gaussian.priors)} rows of numbers between 0 and 1, ends excluded"
            refuse(self._name, "probabilities", must_be, chances)
        self._set(n_features=gaussian.n_features + chances.shape[1], gaussian=gaussian, probabilities=chances)
        self._set(priors=gaussian.priors, classes=gaussian.classes)

    @property
    def n_gaussian(self) -> int:
        """Number of Gaussian columns."""
        return self.gaussian.n_features

    def log_joint(self, X: ArrayLike) -> Array:
        """Give log π_k + log p_k(x), one row per point and one column per class; −∞ off {0, 1}."""
        X = self._rows(X)
        marks, chances = X[:, self.n_gaussian :], self.probabilities
        joint = self.gaussian.log_joint(X[:, : self.n_gaussian])
        joint += xlogy(marks, chances[:, np.newaxis]).sum(axis=2).T
        joint += xlog1py(1.0 - marks, -chances[:, np.newaxis]).sum(axis=2).T
        joint[np.any((marks != 0.0) & (marks != 1.0), axis=1)] = -np.inf
        return joint

    def _draw(self, components: Labels, rng: np.random.Generator) -> Array:
        continuous = self.gaussian._draw(components, rng)
        chances = self.probabilities[components]
        return np.column_stack([continuous, rng.random(chances.shape) < chances])

    def _closed_form_bayes_risk(self) -> float | None:
        """Sum over the numbers of ones: given them, the log-odds are N(c ± δ²/2, δ²) in the two classes."""
        means, covariances = self.gaussian.means, self.gaussian.covariances
        if len(self.priors) != 2 or not np.array_equal(covariances[0], covariances[1]):
            return None
        pairs, sizes = np.unique(self.probabilities, axis=1, return_counts=True)
        if np.prod(sizes + 1.0) > _MOST_PATTERNS:
            return None
        distance = float(
            np.linalg.norm(solve_triangular(self.gaussian._factors[0], means[1] - means[0], lower=True))
        )
        ones = np.array(list(product(*(range(size + 1) for size in sizes))))
        masses = [np.prod(binom.pmf(ones, sizes, chances), axis=1) for chances in pairs]
        shift = np.log(self.priors[1] / self.priors[0]) + ones @ np.log(pairs[1] / pairs[0])
        shift = shift + (sizes - ones) @ (np.log1p(-pairs[1]) - np.log1p(-pairs[0]))
        if distance == 0.0:
            wrong = [(shift > 0.0).astype(float), (shift <= 0.0).astype(float)]
        else:
            wrong = [ndtr(shift / distance - distance / 2.0), ndtr(-shift / distance - distance / 2.0)]
        return float(
            sum(p * mass @ errors for p, mass, errors in zip(self.priors, masses, wrong, strict=True))
        )


def _renamed(
    owner: str,
    means: ArrayLike,
    covariances: ArrayLike | None,
    priors: ArrayLike | None,
    classes: ArrayLike | None,
) -> GaussianClasses:
    """Gaussian classes whose refusals name the law that they are part of."""
    try:
        return GaussianClasses(means, covariances, priors, classes)
    except ValueError as error:
        raise ValueError(str(error).replace("of GaussianClasses", f"of {owner}")) from None


@dataclass(frozen=True, eq=False, init=False)
class GaussianUniform(ClassificationLaw):
    """Gaussian classes beside uniform columns that tell nothing of the class.

        U | Y = k ~ N(μ_k, C_k),   V ~ U[0, 1]^m,   independent,   X = (U, V).

    With equal covariances the log-odds are affine although X | Y is not Gaussian: logistic regression is
    right about this law, and the likelihood of a Gaussian model is not.

    Parameters
    ----------
    means : array-like of shape (n_classes, n_gaussian), default=((-1.0,), (1.0,))
        The means μ_k of the Gaussian columns, which come first.
    n_uniform : int, default=1
        Number m of uniform columns.
    covariances : array-like, default=None
        As in `GaussianClasses`.
    priors, classes : array-like of shape (n_classes,), default=None
        As in `GaussianClasses`.

    Examples
    --------
    >>> from assay.datasets import GaussianUniform
    >>> law = GaussianUniform()
    >>> law.bayes_rule([[0.5, 0.9], [-0.5, 0.9]])
    array([ 1, -1])
    >>> round(law.bayes_risk().value, 4)        # Φ(−1)
    0.1587

    References
    ----------
    Sangnier §1.2.1, example 1.2.1.
    """

    gaussian: GaussianClasses = field(init=False, repr=False)
    n_uniform: int

    def __init__(
        self,
        means: ArrayLike = ((-1.0,), (1.0,)),
        n_uniform: int = 1,
        covariances: ArrayLike | None = None,
        priors: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        gaussian = _renamed(self._name, means, covariances, priors, classes)
        count = checked.integer_between(self._name, "n_uniform", n_uniform, 1)
        self._set(n_features=gaussian.n_features + count, gaussian=gaussian, n_uniform=count)
        self._set(priors=gaussian.priors, classes=gaussian.classes)

    def log_joint(self, X: ArrayLike) -> Array:
        """Give log π_k + log p_k(x), one row per point and one column per class; −∞ off the cube."""
        X = self._rows(X)
        joint = self.gaussian.log_joint(X[:, : -self.n_uniform])
        uniform = X[:, -self.n_uniform :]
        joint[np.any((uniform < 0.0) | (uniform > 1.0), axis=1)] = -np.inf
        return joint

    def posterior(self, X: ArrayLike) -> Array:
        """Give P(Y = k | X = x), which does not depend on the uniform columns, on the cube or off it."""
        return self.gaussian.posterior(self._rows(X)[:, : -self.n_uniform])

    def bayes_rule(self, X: ArrayLike) -> Labels:
        """Give the class of largest posterior, one per row."""
        return self.gaussian.bayes_rule(self._rows(X)[:, : -self.n_uniform])

    def _draw(self, components: Labels, rng: np.random.Generator) -> Array:
        continuous = self.gaussian._draw(components, rng)
        return np.column_stack([continuous, rng.random((len(components), self.n_uniform))])

    def _quadrature(self, coarser: int) -> Iterator[tuple[Array, Array]] | None:
        return self.gaussian._quadrature(coarser)

    def _closed_form_bayes_risk(self) -> float | None:
        return self.gaussian._closed_form_bayes_risk()


@dataclass(frozen=True, eq=False, init=False)
class LabelNoise(ClassificationLaw):
    """Another law whose labels flip.

        P(Ỹ = k | Y = j, X) = T_jk,   so that   P(Ỹ = k | x) = Σ_j P(Y = j | x) T_jk.

    A rate ρ means that a label changes with probability ρ, to each other class alike. While
    ρ < (K − 1)/K the Bayes rule stays that of the clean law, and its risk becomes ρ + (1 − ρK/(K − 1)) R*.

    Parameters
    ----------
    law : ClassificationLaw
        The law of the clean labels.
    flips : float or array-like of shape (n_classes, n_classes)
        The rate ρ, at least 0 and below (K − 1)/K; or the matrix T, its rows probabilities with sum 1.

    Examples
    --------
    >>> from assay.datasets import LabelNoise, two_gaussians_law
    >>> clean = two_gaussians_law(omega=4.0)
    >>> noisy = LabelNoise(clean, 0.1)
    >>> round(clean.bayes_risk().value, 4), round(noisy.bayes_risk().value, 4)
    (0.0228, 0.1182)

    References
    ----------
    Sangnier §1.3.2.
    """

    law: ClassificationLaw
    flips: Array

    def __init__(self, law: ClassificationLaw, flips: float | ArrayLike = 0.1) -> None:
        if not isinstance(law, ClassificationLaw):
            refuse(self._name, "law", "a law of classes", repr(law))
        count = len(law.classes)
        if np.ndim(flips) == 0:
            rate = checked.number_at_least(self._name, "flips", flips, 0)
            if rate >= (count - 1) / count:
                refuse(self._name, "flips", f"below {(count - 1) / count:g}, where labels tell nothing", rate)
            table = np.full((count, count), rate / (count - 1))
            np.fill_diagonal(table, 1.0 - rate)
        else:
            table = np.array(checked.of_shape(self._name, "flips", flips, (count, count)))
            if np.any(table < 0.0) or np.any(np.abs(table.sum(axis=1) - 1.0) > 1e-8):
                refuse(self._name, "flips", "a number or rows of probabilities with sum 1", table)
            if np.any(law.priors @ table <= 0.0):
                refuse(self._name, "flips", "such that every class keeps a positive probability", table)
        shares = law.priors @ table
        self._set(law=law, flips=checked.read_only(table), n_features=law.n_features, classes=law.classes)
        self._set(priors=checked.read_only(shares / shares.sum()))

    def log_joint(self, X: ArrayLike) -> Array:
        """Give log P(Ỹ = k) + log p_k(x), one row per point and one column per class."""
        return self._noisy(self.law.log_joint(X))

    def posterior(self, X: ArrayLike) -> Array:
        """Give P(Ỹ = k | X = x)."""
        return self.law.posterior(X) @ self.flips

    def bayes_rule(self, X: ArrayLike) -> Labels:
        """Give the class of largest noisy posterior, one per row."""
        return self.classes[np.argmax(self.posterior(X), axis=1)]

    def _noisy(self, joint: Array) -> Array:
        with np.errstate(divide="ignore"):
            total = np.log(softmax(joint, axis=1) @ self.flips)
        return np.asarray(total + logsumexp(joint, axis=1, keepdims=True))

    def _draw_rows(self, n_samples: int, rng: np.random.Generator) -> Sample:
        """The rows of the clean law first, then the flips."""
        X, labels = self.law._draw_rows(n_samples, rng)
        order = np.argsort(self.classes)
        clean = order[np.searchsorted(self.classes[order], labels)]
        steps = np.cumsum(self.flips, axis=1)[clean]
        places = np.sum(rng.random((n_samples, 1)) >= steps[:, :-1], axis=1)
        return Sample(X, self.classes[places])

    def _draw(self, components: Labels, rng: np.random.Generator) -> Array:
        """The clean class given the noisy one, then a row of it."""
        origins = log_softmax(np.log(self.law.priors)[:, np.newaxis] + _log(self.flips), axis=0)
        steps = np.cumsum(np.exp(origins), axis=0).T[components]
        clean = np.sum(rng.random((len(components), 1)) >= steps[:, :-1], axis=1)
        return self.law._draw(clean, rng)

    def _quadrature(self, coarser: int) -> Iterator[tuple[Array, Array]] | None:
        blocks = self.law._quadrature(coarser)
        if blocks is None:
            return None
        return ((self._noisy(joint), weights) for joint, weights in blocks)

    def _closed_form_bayes_risk(self) -> float | None:
        """ρ + (1 − ρK/(K − 1)) R* for flips of one rate."""
        clean, count = self.law._closed_form_bayes_risk(), len(self.classes)
        rate = 1.0 - self.flips[0, 0]
        alike = np.full((count, count), rate / (count - 1))
        np.fill_diagonal(alike, 1.0 - rate)
        if (
            clean is None
            or rate >= (count - 1) / count
            or not np.allclose(self.flips, alike, rtol=0, atol=1e-15)
        ):
            return None
        return float(rate + (1.0 - rate * count / (count - 1)) * clean)


def _log(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(values)
