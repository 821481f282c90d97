"""Neighbours in theory: asymptotic risks, possible Bayes risks, bounds in n and d, high dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import binom

from assay.certificates import Certificate, at_most
from assay.datasets import ClassificationLaw
from assay.neighbors.certificates import least_bayes_risk
from assay.parameters import integer, real, require
from assay.randomness import generator

Array = NDArray[np.float64]

LEAST_NEIGHBORS = 10
"""Neighbours from which on Theorem 63 holds."""


def _shares(owner: str, eta: ArrayLike) -> Array:
    """Values of P(Y = 1 | x), checked."""
    values = np.atleast_1d(np.asarray(eta, dtype=np.float64))
    if values.size == 0 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"The 'eta' of {owner} must be probabilities, from 0 to 1.")
    return values


def nearest_neighbor_risk(eta: ArrayLike, n_neighbors: int = 1) -> float:
    """Asymptotic risk of a fixed number of neighbours on two classes, by the law of η(X) = P(Y = 1 | X).

        R_k = E[η P(B < k/2) + (1 − η) P(B ≥ k/2)],        B ~ Bin(k, η) given η,

    a tie going to class 1. For k = 1 it is E[2η(1 − η)]. It exceeds R* = E min(η, 1 − η) unless η is 0, ½
    or 1 almost surely; over odd k it falls; an even k is worse than k − 1 where class 1 is the less likely
    one, better where it is the likelier, and as good in the mean over η and 1 − η.

    Parameters
    ----------
    eta : array-like of shape (n_values,)
        Values of η(X), each as likely as another: a sample, or nodes of a quadrature.
    n_neighbors : int, default=1

    Returns
    -------
    risk : float

    Examples
    --------
    >>> from assay.theory import nearest_neighbor_risk
    >>> round(nearest_neighbor_risk([0.2], 1), 4), round(nearest_neighbor_risk([0.2], 3), 4)
    (0.32, 0.2624)

    References
    ----------
    Rudi & Şimşekli §6.3.2. Cover & Hart (1967).
    """
    require("nearest_neighbor_risk", integer(at_least=1), n_neighbors=n_neighbors)
    values = _shares("nearest_neighbor_risk", eta)
    below = binom.cdf(math.ceil(n_neighbors / 2) - 1, n_neighbors, values)  # P(B < k/2)
    return float(np.mean(values * below + (1.0 - values) * (1.0 - below)))


def smallest_risk(eta: ArrayLike) -> float:
    """The Bayes risk E min(η, 1 − η).

    Examples
    --------
    >>> from assay.theory import smallest_risk
    >>> smallest_risk([0.2, 0.5])
    0.35
    """
    values = _shares("smallest_risk", eta)
    return float(np.mean(np.minimum(values, 1.0 - values)))


class CoverHart(NamedTuple):
    """What the risk R₁ of one neighbour says of the Bayes risk: `lower` ≤ R* ≤ `upper`."""

    lower: float
    upper: float


def cover_hart(first_risk: float) -> CoverHart:
    """The Bayes risks that an asymptotic risk R₁ of one neighbour on two classes allows.

        R* ≤ R₁ ≤ 2R*(1 − R*),        hence (1 − √(1 − 2R₁))/2 ≤ R* ≤ R₁.

    Examples
    --------
    >>> from assay.theory import cover_hart
    >>> lower, upper = cover_hart(0.32)
    >>> round(lower, 12), upper
    (0.2, 0.32)

    References
    ----------
    Rudi & Şimşekli §6.3.2. Cover & Hart (1967).
    """
    require("cover_hart", real(at_least=0.0, at_most=0.5), first_risk=first_risk)
    return CoverHart(least_bayes_risk(first_risk), float(first_risk))


def knn_risk_bound(
    n_samples: int, n_features: int, n_neighbors: int, lipschitz: float, bayes_risk: float
) -> float:
    """Bound on the expected risk of k neighbours in [0, 1]^d with an L-Lipschitz η, for k ≥ 10.

        E R(ĝ_n) ≤ (1 + √(8/k)) R* + (6L√d + k) n^{−1/(d + 1)}.

    Examples
    --------
    >>> from assay.theory import knn_risk_bound
    >>> round(knn_risk_bound(10**9, 1, 32, 1.0, 0.1), 4)
    0.1512

    References
    ----------
    Sangnier §3.1, Theorem 63.
    """
    owner = "knn_risk_bound"
    require(owner, integer(at_least=1), n_samples=n_samples, n_features=n_features)
    require(owner, integer(at_least=LEAST_NEIGHBORS), n_neighbors=n_neighbors)
    require(owner, real(at_least=0.0), lipschitz=lipschitz)
    require(owner, real(at_least=0.0, at_most=0.5), bayes_risk=bayes_risk)
    slope = 6.0 * lipschitz * math.sqrt(n_features) + n_neighbors
    return (1.0 + math.sqrt(8.0 / n_neighbors)) * bayes_risk + slope * n_samples ** (-1.0 / (n_features + 1))


def knn_sample_complexity(epsilon: float, n_features: int, n_neighbors: int, lipschitz: float) -> float:
    """Rows that make the second term of `knn_risk_bound` at most ε: ((6L√d + k)/ε)^{d + 1}.

    Examples
    --------
    >>> from assay.theory import knn_sample_complexity
    >>> f"{knn_sample_complexity(0.1, 10, 10, 1.0):.1e}"
    '1.2e+27'

    References
    ----------
    Sangnier §3.1, Theorem 63.
    """
    owner = "knn_sample_complexity"
    require(owner, real(above=0.0), epsilon=epsilon)
    require(owner, integer(at_least=1), n_features=n_features)
    require(owner, integer(at_least=LEAST_NEIGHBORS), n_neighbors=n_neighbors)
    require(owner, real(at_least=0.0), lipschitz=lipschitz)
    return ((6.0 * lipschitz * math.sqrt(n_features) + n_neighbors) / epsilon) ** (n_features + 1)


def knn_lower_bound_n(lipschitz: float, n_features: int) -> float:
    """Rows up to which some law with R* = 0 and an L-Lipschitz η leaves an error of ¼: (L + 1)^d / 2.

    `assay.datasets.LatticeLaw` is such a law.

    Examples
    --------
    >>> from assay.theory import knn_lower_bound_n
    >>> knn_lower_bound_n(3.0, 2), knn_lower_bound_n(3.0, 8)
    (8.0, 32768.0)

    References
    ----------
    Sangnier §3.1, Theorem 63.
    """
    require("knn_lower_bound_n", real(above=1.0), lipschitz=lipschitz)
    require("knn_lower_bound_n", integer(at_least=1), n_features=n_features)
    return (lipschitz + 1.0) ** n_features / 2.0


def knn_certificate(
    model: Any, law: ClassificationLaw, lipschitz: float, n_samples: int = 20_000, random_state: Any = None
) -> Certificate:
    """Whether the risk of fitted neighbours on a law is at most the bound of Theorem 63 with a given L.

    Parameters
    ----------
    model : fitted KNeighborsClassifier
        Fitted to rows of the law; needs uniform weights and k ≥ 10.
    law : ClassificationLaw
        On [0, 1]^d; knows the risk of any rule.
    lipschitz : float
        L. A value below the slope of η makes the bound too small, and the certificate can fail.
    n_samples, random_state
        Of the rows on which the risk is measured.

    Returns
    -------
    certificate : Certificate
        Vacuous where the bound is above ½.
    """
    n_rows, n_features = int(model.n_samples_fit_), int(model.n_features_in_)
    bayes = float(law.bayes_risk(random_state=random_state).value)
    bound = knn_risk_bound(n_rows, n_features, int(model.n_neighbors_), lipschitz, bayes)
    risk = law.risk(model, n_samples, random_state)
    claim = f"The risk on the law is at most the bound for an η of slope {lipschitz:g} on the unit cube."
    assumptions = ("rows in [0, 1]^d", "η is L-Lipschitz", "k ≥ 10", "the bound is on the mean over fits")
    return at_most(
        claim, "risk of the neighbours", risk.value, bound, "Sangnier §3.1, Theorem 63",
        assumptions=assumptions, trivial=0.5,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class NeighborRisks:
    """Mean risk over fits for each number of rows, and its standard error; see `neighbor_risk_curve`."""

    n_samples: NDArray
    n_neighbors: NDArray
    risk: Array
    standard_error: Array
    bayes_risk: float


def neighbor_risk_curve(
    make: Any,
    law: ClassificationLaw,
    n_samples: Any,
    *,
    n_fits: int = 20,
    n_test: int = 2000,
    random_state: Any = 0,
) -> NeighborRisks:
    """Mean risk of fitted neighbours as the number of rows grows, on a law with a known truth.

    The risk given X is known, so that only the rows are random. With k = ⌈n^a⌉ it tends to the Bayes risk,
    with k fixed it does not.

    Parameters
    ----------
    make : callable
        Gives an unfitted classifier.
    law : ClassificationLaw
    n_samples : sequence of int
    n_fits, n_test : int
        Fits per size, and rows on which each is judged.
    random_state : int, Generator, SeedSequence, RandomState or None

    Returns
    -------
    curve : NeighborRisks
    """
    rng, sizes = generator(random_state), np.asarray(n_samples, dtype=np.int64)
    risks, counts = np.empty((len(sizes), n_fits)), np.empty(len(sizes), dtype=np.int64)
    for place, size in enumerate(sizes.tolist()):
        for fit in range(n_fits):
            model = make().fit(*law.sample(size, rng))
            risks[place, fit] = law.risk(model, n_test, rng).value
        counts[place] = model.n_neighbors_
    error = risks.std(axis=1, ddof=1) / np.sqrt(n_fits)
    bayes = float(law.bayes_risk(random_state=rng).value)
    return NeighborRisks(sizes, counts, risks.mean(axis=1), error, bayes)


def lattice_size(epsilon: float, n_features: int) -> float:
    """Points of a lattice of spacing ε in the unit cube: ε^{−d}.

    Examples
    --------
    >>> from assay.theory import lattice_size
    >>> [f"{lattice_size(0.01, d):.0e}" for d in (1, 10)]
    ['1e+02', '1e+20']

    References
    ----------
    Sangnier §3.1.
    """
    require("lattice_size", real(above=0.0, at_most=1.0), epsilon=epsilon)
    require("lattice_size", integer(at_least=1), n_features=n_features)
    return float(epsilon) ** -n_features


def ball_share_of_cube(n_features: int) -> float:
    """Volume of the ball of radius r over that of the cube of side 2r around it.

        π^{d/2} / (2^{d − 1} d Γ(d/2)) → 0,

    while the corners of the cube are at the distance r√d from the centre.

    Examples
    --------
    >>> from assay.theory import ball_share_of_cube
    >>> [round(ball_share_of_cube(d), 4) for d in (1, 2, 3, 10)]
    [1.0, 0.7854, 0.5236, 0.0025]

    References
    ----------
    Sangnier §3.1.
    """
    require("ball_share_of_cube", integer(at_least=1), n_features=n_features)
    d = n_features
    return float(np.exp(0.5 * d * np.log(np.pi) - (d - 1) * np.log(2.0) - np.log(d) - gammaln(d / 2.0)))


def inner_share(epsilon: float, n_features: int) -> float:
    """Share (1 − ε)^d of the volume of a ball, or a cube, that is not in its outer layer of thickness ε.

    Examples
    --------
    >>> from assay.theory import inner_share
    >>> round(inner_share(0.05, 100), 4)
    0.0059

    References
    ----------
    Sangnier §3.1.
    """
    require("inner_share", real(at_least=0.0, at_most=1.0), epsilon=epsilon)
    require("inner_share", integer(at_least=1), n_features=n_features)
    return (1.0 - float(epsilon)) ** n_features
