"""Regret of classifiers: what a rule loses against the Bayes rule, and what bounds it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.certificates import Certificate, at_most, equal
from assay.datasets import ClassificationLaw
from assay.datasets.laws import answers
from assay.losses.costs import expected_costs, least_cost, two_columns, zero_one
from assay.parameters import ParameterError, real, refusal
from assay.randomness import RandomState, generator
from assay.theory.least_squares import Array
from assay.theory.mistakes import sample_size

SOURCE = "Douc & Le Corff §8.5; Rudi & Şimşekli §6.2.2; Wei §7.1"


class Regret(NamedTuple):
    """What a rule loses against the Bayes rule, and the bounds of a plug-in rule on it.

    Every field is a mean over the same points, so that the order of the bounds is exact.

    Attributes
    ----------
    risk, bayes_risk : float
        R(h) and R*, from P(Y ≠ h(X) | X).
    identity : float
        E[(max_k P_k − P_h) 1{h ≠ h*}]; of two classes 2E[|η − ½| 1{h ≠ h*}].
    disagreement : float
        P(h(X) ≠ h*(X)).
    on_disagreement, l1, l2 : float or None
        E[(|P̂ − P|_{h*} + |P̂ − P|_h) 1{h ≠ h*}], E Σ_k|P̂_k − P_k| and (K E‖P̂ − P‖²)^½, each above the one
        before; of two classes 2E[|η − η̂| 1{h ≠ h*}], 2E|η − η̂| and 2‖η − η̂‖. None without an estimate P̂.
    standard_error : float
        Of the regret, over the points.
    """

    risk: float
    bayes_risk: float
    identity: float
    disagreement: float
    on_disagreement: float | None
    l1: float | None
    l2: float | None
    standard_error: float

    @property
    def regret(self) -> float:
        """R(h) − R*."""
        return self.risk - self.bayes_risk

    @property
    def certificates(self) -> list[Certificate]:
        """The identity and, for a plug-in rule, the chain of bounds."""
        claim = "The regret is the mean gap of the posterior where the rule is not the Bayes rule."
        proofs = [equal(claim, "regret", self.regret, self.identity, SOURCE, tolerance=1e-12)]
        if self.on_disagreement is None or self.l1 is None or self.l2 is None:
            return proofs
        steps = (
            (
                "regret",
                self.identity,
                "the error of the estimate where the rules differ",
                self.on_disagreement,
            ),
            ("error where the rules differ", self.on_disagreement, "the mean error of the estimate", self.l1),
            ("mean error of the estimate", self.l1, "its quadratic mean error", self.l2),
        )
        for name, value, words, bound in steps:
            claim = f"The {name} is at most {words}."
            proofs.append(at_most(claim, name, value, bound, SOURCE, tolerance=1e-12, trivial=1.0))
        return proofs


def plug_in_regret(
    posterior: ArrayLike,
    estimate: ArrayLike,
    *,
    decisions: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Regret:
    """Regret of the plug-in rule of an estimated posterior, its identity and its bounds.

    Parameters
    ----------
    posterior, estimate : array-like of shape (n,) or (n, n_classes)
        P(Y = k | x) and its estimate at n points of X: one column per class, or those of the second of two.
        An estimate made on other rows may stand in for the posterior.
    decisions : array-like of int, optional
        Places of the decisions among the classes; those of largest estimate by default. Other decisions than
        these have no bound.
    weights : array-like of shape (n,), optional
        Of the points: those of a quadrature, or repetitions.

    Examples
    --------
    >>> from assay.theory import plug_in_regret
    >>> found = plug_in_regret([0.9, 0.6, 0.2], [0.7, 0.4, 0.1])
    >>> round(found.regret, 4), round(found.identity, 4)
    (0.0667, 0.0667)
    >>> [round(float(bound), 4) for bound in (found.on_disagreement, found.l1, found.l2)]
    [0.1333, 0.3333, 0.3464]

    References
    ----------
    Wei §7.1; Rudi & Şimşekli §6.2.2, lemmas 6.2 and 6.3; Douc & Le Corff §8.5.
    """
    truth = _posterior("plug_in_regret", "posterior", posterior)
    guess = _posterior("plug_in_regret", "estimate", estimate)
    if guess.shape != truth.shape:
        raise refusal("plug_in_regret", "estimate", f"of shape {truth.shape}", guess.shape)
    mass = _masses("plug_in_regret", weights, len(truth))
    plugged = least_cost(guess)
    said = plugged if decisions is None else np.asarray(decisions)
    found = _against_bayes(truth, said, mass)
    if not np.array_equal(said, plugged):
        return found
    rows, best = np.arange(len(truth)), least_cost(truth)
    errors = np.abs(guess - truth)
    where_different = (errors[rows, best] + errors[rows, said]) * (said != best)
    quadratic = np.sqrt(truth.shape[1] * (mass @ np.sum(errors**2, axis=1)))
    return found._replace(
        on_disagreement=float(mass @ where_different),
        l1=float(mass @ errors.sum(axis=1)),
        l2=float(quadratic),
    )


def regret(
    rule: Any, law: ClassificationLaw, n_samples: int = 100_000, random_state: RandomState = None
) -> Regret:
    """Regret of any classifier on a law, and the plug-in bounds where it estimates probabilities.

    Given X everything is known, so that the identity is exact at every row and only the rows are random.

    Parameters
    ----------
    rule : callable or fitted model
        A function of X or an object with `predict`; with `predict_proba` whose largest probability it
        predicts, the bounds are there too.
    law : ClassificationLaw
        A law of `assay.datasets`.
    n_samples : int, default=100_000
        Rows drawn from it.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.linear import LogisticRegression
    >>> from assay.theory import regret
    >>> law = two_gaussians_law(omega=2.0)
    >>> model = LogisticRegression().fit(*law.sample(50, random_state=0))
    >>> found = regret(model, law, random_state=1)
    >>> 0 < found.regret < found.on_disagreement < found.l1 < found.l2
    True

    References
    ----------
    Wei §7.1; Rudi & Şimşekli §6.2; Douc & Le Corff §8.5.
    """
    X = law._draw_features(sample_size("regret", n_samples), generator(random_state))
    truth, said = law.posterior(X), answers(rule, X)
    known = said[:, np.newaxis] == law.classes
    if not known.any(axis=1).all():
        raise ParameterError(f"The rule answers labels that the law does not have: {law.classes.tolist()}.")
    places = np.argmax(known, axis=1)
    if hasattr(rule, "predict_proba") and np.array_equal(rule.classes_, law.classes):
        return plug_in_regret(truth, np.asarray(rule.predict_proba(X), dtype=float), decisions=places)
    return _against_bayes(truth, places, _masses("regret", None, len(truth)))


class EasierDecision(NamedTuple):
    """Estimates of η that are ever worse and decide as the Bayes rule does.

    Attributes
    ----------
    sharpness : array of shape (m,)
        t of η̂ = σ(t logit η).
    l1, largest : arrays of shape (m,)
        Mean and largest error |η̂ − η|.
    regret : array of shape (m,)
        Of the plug-in rule: 0 for every t > 0.
    bound : array of shape (m,)
        2E|η − η̂|, which does not see that.
    """

    sharpness: Array
    l1: Array
    largest: Array
    regret: Array
    bound: Array


def easier_decision(
    law: ClassificationLaw,
    sharpness: ArrayLike = (0.01, 0.1, 1.0, 10.0, 100.0),
    n_samples: int = 10_000,
    random_state: RandomState = None,
) -> EasierDecision:
    """Show that the decision is easier than the probability: bad estimates of η with no regret at all.

    The estimate η̂ = σ(t logit η) is on the same side of ½ as η for every t > 0; as t goes to 0 or to ∞ it is
    wrong nearly everywhere.

    Parameters
    ----------
    law : ClassificationLaw
        A law of two classes.
    sharpness : array-like of numbers above 0
        t; 1 is the true η.
    n_samples : int, default=10_000
    random_state : None, int, Generator, SeedSequence or RandomState, default=None

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.theory import easier_decision
    >>> found = easier_decision(two_gaussians_law(omega=1.0), random_state=0)
    >>> bool((found.regret == 0).all()), bool(found.bound[-1] > 0.5)
    (True, True)

    References
    ----------
    Rudi & Şimşekli §6.2.2.
    """
    grid = np.atleast_1d(np.asarray(sharpness, dtype=float))
    if not all(real(above=0).contains(float(t)) for t in grid):
        raise refusal("easier_decision", "sharpness", "numbers above 0", sharpness)
    if len(law.classes) != 2:
        raise refusal("easier_decision", "law", "a law of two classes", len(law.classes))
    X = law._draw_features(sample_size("easier_decision", n_samples), generator(random_state))
    truth = law.posterior(X)
    rows = []
    for t in grid:
        raised = truth**t
        guess = raised / raised.sum(axis=1, keepdims=True)
        found = plug_in_regret(truth, guess)
        rows.append((found.l1 or 0.0, np.abs(guess - truth).max(), found.identity))
    l1, largest, identity = np.array(rows).T
    return EasierDecision(grid, l1 / 2.0, largest, identity, l1)


def _against_bayes(truth: Array, said: Any, mass: Array) -> Regret:
    rows, best = np.arange(len(truth)), least_cost(truth)
    losses = expected_costs(truth, zero_one(truth.shape[1]))
    gap = (truth[rows, best] - truth[rows, said]) * (said != best)
    risk, least = float(mass @ losses[rows, said]), float(mass @ losses.min(axis=1))
    mean = float(mass @ gap)
    spread = float(np.sqrt(np.sum((mass * (gap - mean)) ** 2)))
    return Regret(risk, least, mean, float(mass @ (said != best)), None, None, None, spread)


def _posterior(owner: str, name: str, values: ArrayLike) -> Array:
    given = two_columns(np.asarray(values, dtype=float))
    if not np.all((given >= 0) & (given <= 1)) or np.abs(given.sum(axis=1) - 1.0).max(initial=0.0) > 1e-5:
        raise refusal(owner, name, "probabilities with sum 1 in each row", values)
    return given


def _masses(owner: str, weights: ArrayLike | None, size: int) -> Array:
    if weights is None:
        return np.full(size, 1.0 / size)
    mass = np.asarray(weights, dtype=float)
    if mass.shape != (size,) or np.any(mass < 0) or not mass.sum() > 0:
        raise refusal(owner, "weights", f"{size} numbers at least 0, not all 0", weights)
    return mass / mass.sum()
