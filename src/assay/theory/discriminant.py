"""Gaussian classes: Bayes errors, what logistic regression loses beside them, likelihoods compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad
from scipy.special import ndtr
from sklearn.base import clone

from assay.certificates import Certificates, at_least, equal
from assay.datasets import GaussianClasses
from assay.datasets.gaussian import two_class_errors
from assay.datasets.laws import Sample
from assay.datasets.requirements import number_at_least, probabilities
from assay.discriminant import Likelihoods, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from assay.linear import LogisticRegression
from assay.randomness import RandomState, generator, spawn

Array = NDArray[np.float64]

SINGULAR = 1e-8
"""Eigenvalue of a correlation matrix at or below which a covariance has no density."""


class BayesErrors(NamedTuple):
    """Errors of the Bayes rule of two Gaussian classes of one covariance.

    Attributes
    ----------
    error : float
        π₀ P(h* = 1 | 0) + π₁ P(h* = 0 | 1); Φ(−δ/2) with equal priors.
    false_positive, false_negative : float
        P(h* = 1 | Y = 0) and P(h* = 0 | Y = 1).
    """

    error: float
    false_positive: float
    false_negative: float


def mahalanobis(first: ArrayLike, second: ArrayLike, covariance: ArrayLike) -> float:
    """Distance δ = √((μ₁ − μ₀)ᵀΣ⁻¹(μ₁ − μ₀)) of two means.

    Examples
    --------
    >>> from assay.theory import mahalanobis
    >>> mahalanobis([0.0, 0.0], [2.0, 0.0], [[4.0, 0.0], [0.0, 1.0]])
    1.0
    """
    step = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    return float(np.sqrt(step @ np.linalg.solve(np.asarray(covariance, dtype=float), step)))


def lda_bayes_error(separation: float, priors: ArrayLike | None = None) -> BayesErrors:
    """Bayes error of two Gaussian classes of one covariance, from the distance of their means.

    Parameters
    ----------
    separation : float
        δ, at least 0.
    priors : array-like of shape (2,), optional
        Equal by default.

    Examples
    --------
    >>> from assay.theory import lda_bayes_error
    >>> round(lda_bayes_error(2.0).error, 4)        # Φ(−1)
    0.1587

    References
    ----------
    Douc & Le Corff §8.4.
    """
    distance = number_at_least("lda_bayes_error", "separation", separation, 0)
    shares = probabilities("lda_bayes_error", "priors", priors, 2)
    errors = two_class_errors(distance, shares)
    return BayesErrors(float(shares @ errors), float(errors[0]), float(errors[1]))


def efron_efficiency(separation: float, priors: ArrayLike | None = None) -> float:
    """Asymptotic efficiency of logistic regression beside linear discriminant analysis on Gaussian classes.

        Eff(Δ) = (1 + π₀π₁Δ²) e^(−Δ²/8) E[1/(π₁e^(ΔZ/2) + π₀e^(−ΔZ/2))],        Z ~ N(0, 1),

    the ratio of the excess errors of the two in many dimensions: logistic regression needs 1/Eff times as
    many rows. It is 0.90 at Δ = 2, 0.64 at 3, 0.34 at 4 and has no positive lower bound.

    Parameters
    ----------
    separation : float
        Δ, the Mahalanobis distance of the means, at least 0.
    priors : array-like of shape (2,), optional
        Equal by default.

    Examples
    --------
    >>> from assay.theory import efron_efficiency
    >>> [round(efron_efficiency(delta), 2) for delta in (2, 3, 4)]
    [0.9, 0.64, 0.34]

    References
    ----------
    Sangnier §1.2.3; Efron (1975), The efficiency of logistic regression compared to normal discriminant
    analysis.
    """
    delta = number_at_least("efron_efficiency", "separation", separation, 0)
    low, high = probabilities("efron_efficiency", "priors", priors, 2)

    def density(z: float) -> float:
        # Both exponents together: neither overflows.
        tilts = np.array([delta * z / 2, -delta * z / 2]) + np.log([high, low])
        return float(np.exp(-(z**2) / 2 - np.logaddexp(*tilts)) / np.sqrt(2 * np.pi))

    reach = 10 + delta
    mean = quad(density, -reach, reach, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
    return float((1 + low * high * delta**2) * np.exp(-(delta**2) / 8) * mean)


# Risk of linear rules, exactly, and its excess as rows come in.


def linear_rule_error(normal: ArrayLike, offset: float, law: GaussianClasses) -> float:
    """Probability of error of the rule "second class where ⟨w, x⟩ + b > 0" on two Gaussian classes.

    Parameters
    ----------
    normal, offset : w and b
    law : GaussianClasses
        Of two classes, of any covariances.

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.theory import linear_rule_error
    >>> round(linear_rule_error([1.0, 1.0], 0.0, two_gaussians_law()), 4)        # Φ(−1)
    0.1587
    """
    direction = np.asarray(normal, dtype=float).ravel()
    heights = law.means @ direction + float(offset)
    spreads = np.sqrt(np.einsum("i,kij,j->k", direction, law.covariances, direction))
    if not spreads.all():
        return float(law.priors[0] if offset > 0 else law.priors[1])
    errors = ndtr(np.array([1.0, -1.0]) * heights / spreads)
    return float(law.priors @ errors)


class ExcessErrors(NamedTuple):
    """Mean excess errors of linear classifiers over the Bayes error, by number of rows.

    Attributes
    ----------
    sizes : array of shape (n_sizes,)
    excess : array of shape (n_models, n_sizes)
    standard_errors : array of shape (n_models, n_sizes)
    """

    sizes: NDArray
    excess: Array
    standard_errors: Array

    @property
    def ratios(self) -> Array:
        """Excess of the first model over that of each: its efficiency beside the first."""
        return np.asarray(self.excess[0] / self.excess)


def excess_error_curve(
    law: GaussianClasses,
    sizes: Sequence[int],
    *,
    models: Sequence[Any] | None = None,
    n_repeats: int = 100,
    random_state: RandomState = None,
) -> ExcessErrors:
    """Fit linear classifiers to samples of a law and measure exactly how far each is from the Bayes rule.

    Parameters
    ----------
    law : GaussianClasses
        Two classes of one covariance.
    sizes : sequence of int
        Numbers of rows.
    models : sequence of classifiers with coef_ and intercept_, optional
        Linear discriminant analysis and logistic regression without penalty by default.
    n_repeats : int, default=100
    random_state : None, int, Generator, SeedSequence or RandomState, default=None

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.theory import excess_error_curve
    >>> curve = excess_error_curve(two_gaussians_law(), [50, 400], n_repeats=20, random_state=0)
    >>> bool((curve.excess[:, 1] < curve.excess[:, 0]).all())
    True

    References
    ----------
    Sangnier §1.2.3; Douc & Le Corff §3.2.
    """
    if models is None:
        models = [LinearDiscriminantAnalysis(), LogisticRegression(C=float("inf"))]
    least = law.bayes_risk().value
    values = np.empty((len(models), len(sizes), n_repeats))
    for repeat, child in enumerate(spawn(random_state, n_repeats)):
        X, y = law.sample(max(sizes), child)
        for place, size in enumerate(sizes):
            for index, model in enumerate(models):
                fitted = clone(model).fit(X[:size], y[:size])
                error = linear_rule_error(fitted.coef_, float(fitted.intercept_[0]), law)
                values[index, place, repeat] = error - least
    spread = values.std(axis=2, ddof=1) / np.sqrt(n_repeats) if n_repeats > 1 else np.zeros(values.shape[:2])
    return ExcessErrors(np.asarray(sizes), values.mean(axis=2), spread)


def mixture_then_label(law: Any, n_samples: int, random_state: RandomState = None) -> Sample:
    """Draw rows of the mixture first and their labels given the rows: the same joint law as `law.sample`.

    Parameters
    ----------
    law : law of classes
        With `sample`, `posterior` (or `log_joint`) and `classes`.
    n_samples : int
    random_state : None, int, Generator, SeedSequence or RandomState, default=None

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.theory import mixture_then_label
    >>> mixture_then_label(two_gaussians_law(), 5, random_state=0).X.shape
    (5, 2)

    References
    ----------
    Sangnier §1.2.1, remark 1.2.4.
    """
    rng = generator(random_state)
    X = law.sample(n_samples, rng).X
    joint = law.log_joint(X)
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    places = (rng.random((len(X), 1)) > np.cumsum(shares, axis=1)).sum(axis=1)
    return Sample(X, law.classes[np.minimum(places, len(law.classes) - 1)])


class LikelihoodReport(NamedTuple):
    """Log-likelihoods of a generative and of a conditional model on the same rows.

    Attributes
    ----------
    generative : Likelihoods
        Of the generative model.
    conditional : Likelihoods
        Of the conditional model, with the marginal law of the generative one.
    certificates : Certificates
        full = conditional + marginal; the conditional likelihood of a maximum of it is not below; no Gaussian
        classes have a larger full likelihood than a discriminant analysis (of divisor n) of these rows.
    """

    generative: Likelihoods
    conditional: Likelihoods
    certificates: Certificates

    def __str__(self) -> str:
        lines = [f"{'':12}{'full':>14}{'conditional':>14}{'marginal':>14}"]
        for name, row in (("generative", self.generative), ("conditional", self.conditional)):
            lines.append(f"{name:12}{row.full:14.4f}{row.conditional:14.4f}{row.marginal:14.4f}")
        return "\n".join(lines)


def likelihood_report(generative: Any, conditional: Any, X: Any, y: Any) -> LikelihoodReport:
    """Full, conditional and marginal log-likelihoods of two fitted models, and what must hold between them.

    Parameters
    ----------
    generative : fitted model with `likelihoods`
        Such as `LinearDiscriminantAnalysis`, which maximises the full likelihood.
    conditional : fitted classifier with `predict_log_proba`
        Such as `LogisticRegression(C=inf)`, which maximises the conditional one.
    X, y : array-like
        The rows of the fits, in memory.

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.discriminant import LinearDiscriminantAnalysis
    >>> from assay.linear import LogisticRegression
    >>> from assay.theory import likelihood_report
    >>> X, y = two_gaussians_law().sample(200, random_state=0)
    >>> lda, logistic = LinearDiscriminantAnalysis().fit(X, y), LogisticRegression(C=float("inf")).fit(X, y)
    >>> likelihood_report(lda, logistic, X, y).certificates.holds
    True

    References
    ----------
    Sangnier §1.2.2.
    """
    own = generative.likelihoods(X, y)
    places = np.searchsorted(conditional.classes_, np.asarray(y))
    logs = np.asarray(conditional.predict_log_proba(X), dtype=float)
    given = float(logs[np.arange(len(places)), places].sum())
    other = Likelihoods(given + own.marginal, given, own.marginal)
    source, room = "Sangnier §1.2.2", 1e-8 * (1 + abs(own.full))
    claim = "No conditional model of this form has a larger conditional likelihood than its maximum."
    split = "The full likelihood is the conditional one plus the marginal one."
    total = own.conditional + own.marginal
    proofs = [
        at_least(claim, "conditional log-likelihood", given, own.conditional, source, tolerance=room),
        equal(split, "full log-likelihood", own.full, total, source, tolerance=room),
    ]
    if isinstance(generative, (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis)):
        shared = isinstance(generative, LinearDiscriminantAnalysis)
        most = largest_gaussian_likelihood(X, y, shared_covariance=shared)
        claim = "No priors, means and covariances of Gaussian classes have a larger full likelihood."
        if np.isfinite(most):
            proofs.append(at_least(claim, "full log-likelihood", own.full, most, source, tolerance=room))
    return LikelihoodReport(own, other, Certificates(proofs))


def largest_gaussian_likelihood(X: ArrayLike, y: ArrayLike, *, shared_covariance: bool = True) -> float:
    """The largest log-likelihood that Gaussian classes can give to labelled rows, in closed form.

        Σ_k n_k log(n_k/n) − ½ n (d log 2π + log|S/n| + d),        S the scatter within the classes;

    with a covariance of its own, each class has its n_k and S_k in the second term. It is infinite where such
    a covariance is singular.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    shared_covariance : bool, default=True
        Whether the classes have one covariance.

    Examples
    --------
    >>> from assay.theory import largest_gaussian_likelihood
    >>> round(largest_gaussian_likelihood([[0.0], [2.0], [5.0], [9.0]], [0, 0, 1, 1]), 4)
    -10.2809

    References
    ----------
    Sangnier §1.2.2; Douc & Le Corff §3.2.1.
    """
    rows, labels = np.asarray(X, dtype=float), np.asarray(y)
    n, d = rows.shape
    parts = [rows[labels == label] for label in np.unique(labels)]
    sizes = np.array([len(part) for part in parts])
    scatters = np.array([(part - part.mean(axis=0)).T @ (part - part.mean(axis=0)) for part in parts])
    if shared_covariance:
        scatters, counts = scatters.sum(axis=0)[np.newaxis], np.array([n])
    else:
        counts = sizes
    units = np.sqrt(np.maximum(np.diagonal(scatters, axis1=1, axis2=2), 1e-300))
    correlations = np.linalg.eigvalsh(scatters / units[:, :, np.newaxis] / units[:, np.newaxis, :])
    if np.any(correlations[:, 0] <= SINGULAR):
        return float("inf")
    logs = np.log(correlations).sum(axis=1) + 2 * np.log(units).sum(axis=1) - d * np.log(counts)
    return float(sizes @ np.log(sizes / n) - 0.5 * counts @ (d * np.log(2 * np.pi) + logs + d))
