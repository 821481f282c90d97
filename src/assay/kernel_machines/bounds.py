"""What losses on the rows say about the risk: Theorems 42 and 46, and their corollaries for balls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_most
from assay.parameters import integer, real, refusal, require

Array = NDArray[np.float64]

DRAWN = "rows are drawn independently from the law of those to come"
BALL = "the function has no intercept and lies in a ball of the RKHS whose radius was fixed before the data"
KAPPA = "k(x, x) is at most κ² for all rows to come"

POSITIVE = real(above=0.0)
NOT_NEGATIVE = real(at_least=0.0)


class RiskBound(NamedTuple):
    """A bound that holds with probability 1 − δ, one value for each radius of a grid.

    Attributes
    ----------
    radius : array
        Radii c of the balls, fixed before the data; they share δ.
    mean_loss : array
        Mean loss on the rows (0 for a bound of the excess risk).
    complexity : array
        The term of the Rademacher complexity.
    confidence : array
        The term with √(log(k/δ)/(2n)), k the number of radii.
    values : array
        The sum: infinite for a ball that does not hold the function.
    trivial : float
        What is known without the theorem.
    delta : float
    claim, source : str
    assumptions : tuple of str
    """

    radius: Array
    mean_loss: Array
    complexity: Array
    confidence: Array
    values: Array
    trivial: float
    delta: float
    claim: str
    source: str
    assumptions: tuple[str, ...]

    @property
    def value(self) -> float:
        """The least of the bounds, all of which hold together."""
        return float(self.values.min())

    @property
    def vacuous(self) -> bool:
        """Whether the bound is no better than what is known without it."""
        return bool(self.value >= self.trivial)

    def certificate(self, quantity: str, measured: float) -> Certificate:
        """The bound as a certificate, beside a quantity that was measured."""
        return at_most(
            self.claim,
            quantity,
            measured,
            self.value,
            self.source,
            assumptions=self.assumptions,
            trivial=self.trivial,
            informative=True,
        )


def lipschitz_risk_bound(
    mean_loss: float, complexity: float, n: int, *, lipschitz: float, largest_loss: float, delta: float = 0.05
) -> RiskBound:
    """Bound the probability of error by the mean of a loss above it, uniformly over a class of functions.

    With probability 1 − δ, for all f of the class,

        P(Y f(X) ≤ 0) ≤ (1/n) Σ φ(Y_i f(X_i)) + 4 L E R_n + B √(log(1/δ)/(2n)).

    Parameters
    ----------
    mean_loss : float
        (1/n) Σ φ(Y_i f(X_i)).
    complexity : float
        E R_n of the class, or a bound of it: see `rademacher_complexity`.
    n : int
        Number of rows.
    lipschitz : float
        L: φ is L-Lipschitz and at least the 0-1 loss.
    largest_loss : float
        B, the largest φ(Y f(X)) over the class.
    delta : float, default=0.05

    Examples
    --------
    >>> from assay.theory import lipschitz_risk_bound
    >>> bound = lipschitz_risk_bound(0.1, 0.02, 5000, lipschitz=1.0, largest_loss=2.0)
    >>> round(bound.value, 3), bound.vacuous
    (0.215, False)

    References
    ----------
    Sangnier §1.4.7, theorem 42.
    """
    owner = "lipschitz_risk_bound"
    _check_sizes(owner, n, delta)
    numbers = {"mean_loss": mean_loss, "complexity": complexity, "lipschitz": lipschitz}
    require(owner, NOT_NEGATIVE, **numbers, largest_loss=largest_loss)
    spread = 4.0 * lipschitz * complexity
    confidence = largest_loss * _deviation(n, delta, 1)
    claim = f"With probability {1 - delta:g} the risk is at most mean loss + 4 L R_n + B √(log(1/δ)/2n)."
    return _assembled(
        (np.array([np.nan]), [mean_loss], [spread], [confidence]),
        (1.0, delta, claim, "Sangnier §1.4.7, theorem 42"),
        (DRAWN, "the class of functions was fixed before the data"),
    )


def hinge_risk_bound(
    mean_hinge: Any, radius: Any, kappa: float, n: int, delta: float = 0.05, *, norm: float | None = None
) -> RiskBound:
    """Bound the probability of error of a function in a ball of an RKHS by its mean hinge loss.

    With probability 1 − δ, for all h with ‖h‖ ≤ c, without intercept,

        P(Y h(X) ≤ 0) ≤ (1/n) Σ max(0, 1 − Y_i h(X_i)) + 4cκ/√n + (1 + cκ) √(log(1/δ)/(2n)).

    Parameters
    ----------
    mean_hinge : float or array of shape (n_radii,)
    radius : float or sequence of floats
        c, fixed before the data are seen; or a grid of radii fixed before, which share δ, so that the best
        may be taken.
    kappa : float
        Root of the largest k(x, x).
    n : int
        Number of rows.
    delta : float, default=0.05
    norm : float, optional
        ‖h‖; balls that do not hold it say nothing. Given h is in all of them otherwise.

    Examples
    --------
    >>> from assay.theory import hinge_risk_bound
    >>> bound = hinge_risk_bound(0.2, radius=2.0, kappa=1.0, n=4000)
    >>> round(bound.value, 3), bound.vacuous
    (0.385, False)
    >>> grid = hinge_risk_bound(0.2, radius=[1.0, 2.0, 4.0], kappa=1.0, n=4000, norm=1.5)
    >>> round(grid.value, 3)
    0.394

    References
    ----------
    Sangnier §1.4.7, corollary 43.
    """
    owner = "hinge_risk_bound"
    radii = _radii(owner, radius)
    _check_sizes(owner, n, delta)
    require(owner, POSITIVE, kappa=kappa)
    losses = np.broadcast_to(np.asarray(mean_hinge, dtype=np.float64), radii.shape)
    if not (np.isfinite(losses).all() and (losses >= 0).all()):
        raise refusal(owner, "mean_hinge", "a number at least 0, or one per radius", mean_hinge)
    spread = 4.0 * radii * kappa / np.sqrt(n)
    confidence = (1.0 + radii * kappa) * _deviation(n, delta, len(radii))
    claim = (
        f"With probability {1 - delta:g} the risk is at most mean hinge loss + 4cκ/√n + (1 + cκ) "
        f"√(log({len(radii)}/δ)/2n)."
    )
    return _assembled(
        (radii, losses, spread, confidence),
        (1.0, delta, claim, "Sangnier §1.4.7, corollary 43"),
        (DRAWN, BALL, KAPPA),
        norm,
    )


def lipschitz_oracle_bound(
    complexity: float,
    n: int,
    *,
    lipschitz: float,
    largest_target: float,
    largest_loss: float,
    delta: float = 0.05,
) -> RiskBound:
    """Bound how much worse than the best of a class the minimiser of the mean loss is.

    With probability 1 − δ, for φ(Y − f(X)) with |Y| ≤ C,

        risk(f_n) − min_F risk ≤ 8 L (E R_n + C √(2 log 2/n)) + 2B √(log(1/δ)/(2n)).

    Parameters
    ----------
    complexity : float
        E R_n of the class.
    n : int
        Number of rows.
    lipschitz : float
        L of the loss φ.
    largest_target : float
        C.
    largest_loss : float
        B, the largest loss over the class: no excess risk is larger.
    delta : float, default=0.05

    Examples
    --------
    >>> from assay.theory import lipschitz_oracle_bound
    >>> bound = lipschitz_oracle_bound(0.01, 10_000, lipschitz=1.0, largest_target=1.0, largest_loss=2.0)
    >>> round(bound.value, 3)
    0.223

    References
    ----------
    Sangnier §1.5.3, theorem 46.
    """
    owner = "lipschitz_oracle_bound"
    _check_sizes(owner, n, delta)
    numbers = {"complexity": complexity, "lipschitz": lipschitz, "largest_target": largest_target}
    require(owner, NOT_NEGATIVE, **numbers, largest_loss=largest_loss)
    spread = 8.0 * lipschitz * (complexity + largest_target * _signs(n))
    confidence = 2.0 * largest_loss * _deviation(n, delta, 1)
    claim = (
        f"With probability {1 - delta:g} the risk exceeds the least of the class by at most "
        "8L(R_n + C √(2 log 2/n)) + 2B √(log(1/δ)/2n)."
    )
    return _assembled(
        (np.array([np.nan]), [0.0], [spread], [confidence]),
        (float(largest_loss), delta, claim, "Sangnier §1.5.3, theorem 46"),
        (DRAWN, "the class was fixed before the data", "|Y| is at most C"),
    )


def svr_oracle_bound(
    radius: float, kappa: float, largest_target: float, n: int, delta: float = 0.05
) -> RiskBound:
    """Bound how much worse than the best of a ball the support vector or median regressor in it is.

    With probability 1 − δ, for the ε-insensitive loss (any ε ≥ 0) and |Y| ≤ B, without intercept,

        risk(h_n) − min over ‖h‖ ≤ c ≤ 8cκ/√n + 8B √(2 log 2/n) + 2(B + cκ) √(log(1/δ)/(2n)).

    Parameters
    ----------
    radius : float
        c, fixed before the data: the fit minimises the mean loss over the ball.
    kappa : float
        Root of the largest k(x, x).
    largest_target : float
        B.
    n : int
        Number of rows.
    delta : float, default=0.05

    Examples
    --------
    >>> from assay.theory import svr_oracle_bound
    >>> bound = svr_oracle_bound(radius=1.0, kappa=1.0, largest_target=1.0, n=10_000)
    >>> round(bound.value, 3), bound.vacuous
    (0.223, False)

    References
    ----------
    Sangnier §1.5.3, corollary 47.
    """
    owner = "svr_oracle_bound"
    (radius,) = _radii(owner, radius).tolist()
    _check_sizes(owner, n, delta)
    require(owner, POSITIVE, kappa=kappa)
    require(owner, NOT_NEGATIVE, largest_target=largest_target)
    reach = radius * kappa
    spread = 8.0 * reach / np.sqrt(n) + 8.0 * largest_target * _signs(n)
    largest_loss = largest_target + reach
    confidence = 2.0 * largest_loss * _deviation(n, delta, 1)
    claim = (
        f"With probability {1 - delta:g} the risk exceeds the least of the ball by at most 8cκ/√n + "
        "8B √(2 log 2/n) + 2(B + cκ) √(log(1/δ)/2n)."
    )
    return _assembled(
        (np.array([radius]), [0.0], [spread], [confidence]),
        (largest_loss, delta, claim, "Sangnier §1.5.3, corollary 47"),
        (DRAWN, BALL, KAPPA, "|Y| is at most B", "the fit minimises the mean loss over the ball"),
    )


def _assembled(
    terms: tuple[Any, Any, Any, Any],
    words: tuple[float, float, str, str],
    assumptions: Sequence[str],
    norm: float | None = None,
) -> RiskBound:
    radius, mean_loss, complexity, confidence = (np.asarray(term, dtype=np.float64) for term in terms)
    values = mean_loss + complexity + confidence
    if norm is not None:
        require("hinge_risk_bound", NOT_NEGATIVE, norm=norm)
        values = np.where(radius >= norm, values, np.inf)
    return RiskBound(radius, mean_loss, complexity, confidence, values, *words, tuple(assumptions))


def _radii(owner: str, radius: Any) -> Array:
    """A radius, or a grid of them, that was fixed before the data were seen; refused where it was not."""
    grid = None
    if radius is not None and not isinstance(radius, str) and not callable(radius):
        grid = np.atleast_1d(np.asarray(radius, dtype=np.float64))
    if grid is None or grid.ndim != 1 or not len(grid) or not np.all(np.isfinite(grid) & (grid > 0)):
        expected = "above 0 and fixed before the data were seen: a number, or a grid of them that share delta"
        raise refusal(owner, "radius", expected, radius)
    return grid


def _check_sizes(owner: str, n: Any, delta: Any) -> None:
    require(owner, integer(at_least=1), n=n)
    require(owner, real(above=0.0, at_most=1.0), delta=delta)


def _deviation(n: int, delta: float, n_radii: int) -> float:
    """√(log(k/δ)/(2n))."""
    return float(np.sqrt(np.log(n_radii / delta) / (2.0 * n)))


def _signs(n: int) -> float:
    """√(2 log 2/n), the complexity of two functions."""
    return float(np.sqrt(2.0 * np.log(2.0) / n))
