"""Polynomial regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from assay import parameters
from assay.linear._feature_regression import FeatureRegression
from assay.linear._polynomial_map import PolynomialMap
from assay.parameters import Domain
from assay.suitability import Suitability


class PolynomialRegression(FeatureRegression):
    """Least squares, or ridge, on powers and products of the columns.

    Minimises over (w, b)

        Σ_i s_i (y_i − φ(x_i)ᵀw − b)² + α ‖w‖²,        φ(x) all products of degree at most `degree`,

    by one walk over the rows, whose products are made block by block, and the solvers of
    `LinearRegression`. A high degree wants an orthogonal basis: the same functions, without losing digits.

    Assumes: a mean of y that is a polynomial of the columns; beyond the range of the rows it means nothing.

    Certificates: normal-equation residual, Pythagoras' identity, condition number (or least norm) of the
    features; with α > 0 the duality gap.

    Parameters
    ----------
    degree : int, default=2
        Largest total degree.
    interaction_only : bool, default=False
        Whether a column may enter a product at most once.
    basis : {"monomial", "legendre", "chebyshev"}, default="monomial"
        Polynomials that span the same functions; see `PolynomialMap`.
    alpha : float, default=0.0
        Penalty α on the scale of the sum; 0 for least squares.
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    solver : {"auto", "cholesky", "qr", "dual", "conjugate_gradient"}, default="auto"
        As in `LinearRegression`, on the features.
    tol : float, default=1e-10
        Gradient norm, relative to the gradient at zero, at which conjugate gradients stop.
    max_iter : int, default=10000
        Most iterations of conjugate gradients.

    Attributes
    ----------
    coef_ : array of shape (n_functions,) or (n_targets, n_functions)
        One coefficient a feature, in the order of `get_feature_names_out()`.
    intercept_ : float or array of shape (n_targets,)
    map_ : FeatureMap
        The fitted map.
    alpha_ : float
    rank_, condition_number_ : int, float
        Of the table of features.
    noise_variance_ : float or array of shape (n_targets,)
        ‖y − ŷ‖²/(n − p), p the effective number of parameters; NaN where that is not known.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Iterations, whether they ended by `tol`, and the relative normal-equation residual.

    Examples
    --------
    >>> from assay.linear import PolynomialRegression
    >>> model = PolynomialRegression(2).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 5.0, 10.0])
    >>> model.coef_.round(6) + 0.0, round(float(model.intercept_), 6)
    (array([0., 1.]), 1.0)

    References
    ----------
    Rudi & Şimşekli §1.3.4, §4.1.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=4,
        max_features=40,
        select={"alphas": np.logspace(-3.0, 5.0, 17)},
        summary="Ridge on the columns, their squares and their products two by two.",
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        **FeatureRegression._domains,
        **{name: PolynomialMap._domains[name] for name in ("interaction_only", "basis")},
        "degree": parameters.integer(at_least=1),
    }

    def __init__(
        self,
        degree: int = 2,
        *,
        interaction_only: bool = False,
        basis: str = "monomial",
        alpha: float = 0.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-10,
        max_iter: int = 10_000,
    ) -> None:
        self.degree = degree
        self.interaction_only = interaction_only
        self.basis = basis
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _feature_map(self) -> PolynomialMap:
        return PolynomialMap(self.degree, interaction_only=self.interaction_only, basis=self.basis)
