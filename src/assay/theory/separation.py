"""What separable classes do to a likelihood, and not to a rule of moments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.losses import Logistic
from assay.optimize.descent.objective import signs
from assay.parameters import real, refusal
from assay.solvers import separability
from assay.theory.experiments import linear_discriminant
from assay.theory.least_squares import Array


class SeparationCurve(NamedTuple):
    """The logistic risk φ(λ) = (1/n) Σ log(1 + exp(−λ y_i(w₀ᵀx_i + b₀))) along a separating hyperplane.

    Attributes
    ----------
    lengths : array of shape (k,)
        λ.
    risk : array of shape (k,)
        φ(λ), which falls strictly to 0 and never reaches it: there is no maximum likelihood.
    direction : array of shape (n_features,)
        w₀.
    intercept : float
        b₀.
    discriminant : array of shape (n_features + 1,)
        Slope and intercept of the linear discriminant with pooled covariance, which stays defined.
    """

    lengths: Array
    risk: Array
    direction: Array
    intercept: float
    discriminant: Array


def separation_curve(X: ArrayLike, y: ArrayLike, lengths: ArrayLike) -> SeparationCurve:
    """Follow the logistic risk along a hyperplane that separates two classes.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
        Labels of two kinds that a hyperplane separates; the larger one is positive.
    lengths : array-like of non-negative numbers
        λ, multiples of the direction found.

    Examples
    --------
    >>> from assay.theory import separation_curve
    >>> curve = separation_curve([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1], [0.0, 1.0, 10.0, 100.0])
    >>> bool((curve.risk[1:] < curve.risk[:-1]).all())
    True

    References
    ----------
    Sangnier §1.2.2, remark 1.2.6.
    """
    owner, table, labels = "separation_curve", np.asarray(X, dtype=float), np.asarray(y)
    grid = np.atleast_1d(np.asarray(lengths, dtype=float))
    if not all(real(at_least=0).contains(float(value)) for value in grid):
        raise refusal(owner, "lengths", "numbers at least 0", lengths)
    sign = signs(owner, labels)
    verdict = separability(table, labels)
    if verdict.status != "separable" or verdict.direction is None:
        raise refusal(owner, "y", "labels that a hyperplane separates strictly", verdict.status)
    intercept = float(np.ravel(verdict.intercept)[0])
    margins = sign * (table @ verdict.direction + intercept)
    risk = Logistic().margin_value(grid[:, np.newaxis] * margins).mean(axis=1)
    return SeparationCurve(grid, risk, verdict.direction, intercept, linear_discriminant(table, sign > 0))
