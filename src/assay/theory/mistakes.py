"""Risks of classifiers: shares of mistakes, mean costs, and the estimate of less variance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.datasets import ClassificationLaw, Estimate
from assay.datasets.laws import Rule, answers
from assay.losses.costs import zero_one
from assay.parameters import ParameterError, integer, refusal
from assay.randomness import RandomState, generator
from assay.theory.least_squares import Array


class Misclassification(NamedTuple):
    """Share of mistakes on labels −1 and +1, and the same through the mean of products.

    Attributes
    ----------
    error : float
        Weighted share of rows with y ≠ h.
    product_mean : float
        Weighted mean of y h.
    """

    error: float
    product_mean: float

    @property
    def identity(self) -> float:
        """(1 − E[Y h(X)])/2, equal to the error."""
        return (1.0 - self.product_mean) / 2.0


class RiskEstimates(NamedTuple):
    """Two unbiased estimates of the risk of one rule on one sample.

    Attributes
    ----------
    conditional : Estimate
        Mean of P(Y ≠ h(X) | X), which asks the law instead of the drawn labels.
    drawn : Estimate
        Share of drawn labels that differ from h(X).
    label_variance : float
        E[r(1 − r)] with r = P(Y ≠ h(X) | X): the part of the variance of a mistake that the labels add, and
        that the first estimate is spared.
    """

    conditional: Estimate
    drawn: Estimate
    label_variance: float

    @property
    def variance_ratio(self) -> float:
        """Variance of the second estimate over that of the first; infinite where the first has none."""
        least = self.conditional.standard_error**2
        return self.drawn.standard_error**2 / least if least > 0 else float("inf")


def conditional_error(eta: ArrayLike, positive: ArrayLike) -> Array:
    """P(Y ≠ h(x) | x) of decisions for the second of two classes, of probability η(x).

        η 1{h = first} + (1 − η) 1{h = second}   =   (2η − 1) 1{h = first} + 1 − η.

    Parameters
    ----------
    eta : array-like of numbers between 0 and 1
    positive : array-like of bool
        Whether the decision is the second class.

    Examples
    --------
    >>> from assay.theory import conditional_error
    >>> conditional_error([0.9, 0.9, 0.5], [True, False, True]).round(3)
    array([0.1, 0.9, 0.5])

    References
    ----------
    Rudi & Şimşekli §6.2.1, lemma 6.1; Douc & Le Corff §8.5.
    """
    share, second = _shares("conditional_error", "eta", eta), np.asarray(positive, dtype=bool)
    return np.where(second, 1.0 - share, share)


def misclassification(
    y: ArrayLike, prediction: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> Misclassification:
    """Share of mistakes of labels −1 and +1, which is (1 − mean of y h)/2.

    Parameters
    ----------
    y, prediction : array-like of −1 and +1
    sample_weight : array-like, optional

    Examples
    --------
    >>> from assay.theory import misclassification
    >>> misclassification([1, -1, 1, 1], [1, 1, 1, -1]).identity
    0.5

    References
    ----------
    Douc & Le Corff §3.1.
    """
    truth, said = np.asarray(y, dtype=float), np.asarray(prediction, dtype=float)
    if truth.shape != said.shape or not np.all(np.abs([truth, said]) == 1.0):
        raise ParameterError("y and prediction must be labels −1 and +1, as many of each.")
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    error = np.average(truth != said, weights=weight)
    return Misclassification(float(error), float(np.average(truth * said, weights=weight)))


def empirical_risk(
    y: ArrayLike,
    prediction: ArrayLike,
    costs: ArrayLike | None = None,
    *,
    classes: Sequence[Any] | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean cost of predictions, the share of mistakes by default.

    Parameters
    ----------
    y, prediction : array-like of labels
    costs : array-like of shape (n_classes, n_classes), optional
        C(l, k), the cost of saying k where l is true; classes in their sorted order, or as given.
    classes : sequence of labels, optional
    sample_weight : array-like, optional

    Examples
    --------
    >>> from assay.theory import empirical_risk
    >>> empirical_risk(["a", "b", "b"], ["b", "b", "a"], [[0.0, 1.0], [5.0, 0.0]])
    2.0

    References
    ----------
    Wei §7.1.
    """
    truth, said = np.asarray(y), np.asarray(prediction)
    labels = np.unique(np.concatenate([truth, said])) if classes is None else np.asarray(classes)
    table = zero_one(len(labels)) if costs is None else np.asarray(costs, dtype=float)
    if table.shape != (len(labels), len(labels)):
        raise refusal("empirical_risk", "costs", f"of shape ({len(labels)}, {len(labels)})", table.shape)
    places = [np.argmax(given[:, np.newaxis] == labels, axis=1) for given in (truth, said)]
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    return float(np.average(table[places[0], places[1]], weights=weight))


def risk_estimates(
    rule: Rule, law: ClassificationLaw, n_samples: int = 10_000, random_state: RandomState = None
) -> RiskEstimates:
    """Estimate the risk of a rule from drawn labels, and with less variance from the posterior.

    Parameters
    ----------
    rule : callable or fitted model
    law : ClassificationLaw
        A law of `assay.datasets`.
    n_samples : int, default=10_000
    random_state : None, int, Generator, SeedSequence or RandomState, default=None

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.theory import risk_estimates
    >>> law = two_gaussians_law(omega=1.0)
    >>> risk_estimates(law.bayes_rule, law, random_state=0).variance_ratio > 2
    True

    References
    ----------
    Rudi & Şimşekli §6.2.1, lemma 6.1.
    """
    count = sample_size("risk_estimates", n_samples)
    X, y = law.sample(count, generator(random_state))
    said = answers(rule, X)
    losses, mistakes = law._losses(said, X), (said != y).astype(float)
    conditional, drawn = (
        Estimate(float(each.mean()), float(each.std(ddof=1) / np.sqrt(count)), False)
        for each in (losses, mistakes)
    )
    return RiskEstimates(conditional, drawn, float(np.mean(losses * (1.0 - losses))))


def _shares(owner: str, name: str, values: ArrayLike) -> Array:
    given = np.asarray(values, dtype=float)
    if not np.all((given >= 0) & (given <= 1)):
        raise refusal(owner, name, "numbers between 0 and 1", values)
    return given


def sample_size(owner: str, n_samples: int) -> int:
    """A number of rows to draw, at least 2."""
    if not integer(at_least=2).contains(n_samples):
        raise refusal(owner, "n_samples", "an int at least 2", n_samples)
    return int(n_samples)
