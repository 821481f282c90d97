"""Regression on polynomials, on splines, and on any dictionary of functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from assay import parameters
from assay.linear.features.base import FeatureMap
from assay.linear.features.dictionaries import FourierMap, FunctionMap, Functions, HistogramMap
from assay.linear.features.polynomial import PolynomialMap
from assay.linear.features.regression import FeatureRegression
from assay.linear.features.splines import SplineMap
from assay.linear.features.wavelets import WaveletMap
from assay.parameters import Domain
from assay.suitability import Suitability

NAMES = ("fourier", "histogram", "spline", "wavelet", "polynomial")


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
    rank_, condition_number_ : int, float or None
        Of the table of features, as in `Ridge`.
    noise_variance_ : float or array of shape (n_targets,), or None
        ‖y − ŷ‖²/(n − p), p the effective number of parameters; None where no degrees of freedom are left, or
        where the solver formed no XᵀX to count the parameters of a penalised fit.
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


class SplineRegression(FeatureRegression):
    """Least squares, or ridge, on the B-splines of each column: an additive model of smooth pieces.

    Minimises over piecewise polynomials f_1, …, f_d with given knots, and b,

        Σ_i s_i (y_i − f_1(x_i1) − … − f_d(x_id) − b)² + α ‖w‖²,

    w the coefficients of the f_j in B-splines, by one walk for the knots, one over the splines of each
    block, and the solvers of `LinearRegression`. Cyclic columns have cyclic splines.

    Assumes: a mean of y that is a sum of smooth functions of one column each, without interactions.

    Certificates: normal-equation residual, Pythagoras' identity, condition number (or least norm) of the
    features; with α > 0 the duality gap.

    Parameters
    ----------
    n_knots : int, default=5
        Knots of each column, both boundaries counted.
    degree : int, default=3
        Degree of the pieces.
    knots : {"uniform", "quantile"} or array of shape (n_knots,) or (n_knots, n_features), default="uniform"
        Where the pieces join; see `SplineMap`.
    continuity : int, optional
        Derivatives that are continuous at an inner knot; degree − 1 by default.
    extrapolation : {"constant", "linear", "continue"}, default="constant"
        What f_j does beyond its boundary knots.
    cyclic : bool or list of columns, default=False
        Columns that are cyclic, by position or name; True for all.
    period : float or list of floats, optional
        Period of the cyclic columns; their range by default.
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
    rank_, condition_number_ : int, float or None
        Of the table of features, as in `Ridge`.
    noise_variance_ : float or array of shape (n_targets,), or None
        ‖y − ŷ‖²/(n − p), p the effective number of parameters; None where no degrees of freedom are left, or
        where the solver formed no XᵀX to count the parameters of a penalised fit.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Iterations, whether they ended by `tol`, and the relative normal-equation residual.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.linear import SplineRegression
    >>> hour = np.arange(48.0)[:, None]
    >>> model = SplineRegression(9, cyclic=True, period=24.0).fit(hour, np.sin(2 * np.pi * hour[:, 0] / 24))
    >>> model.certificates_.holds, round(model.score(hour, np.sin(2 * np.pi * hour[:, 0] / 24)), 3)
    (True, 1.0)

    References
    ----------
    Rudi & Şimşekli §1.3.4.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=4,
        max_features=100,
        select={"alphas": np.logspace(-3.0, 5.0, 17)},
        summary="Least squares on cubic splines of each column: smooth curves that add up.",
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        **FeatureRegression._domains,
        **{name: domain for name, domain in SplineMap._domains.items() if name != "include_bias"},
    }

    def __init__(
        self,
        n_knots: int = 5,
        degree: int = 3,
        *,
        knots: Any = "uniform",
        continuity: int | None = None,
        extrapolation: str = "constant",
        cyclic: Any = False,
        period: Any = None,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-10,
        max_iter: int = 10_000,
    ) -> None:
        self.n_knots = n_knots
        self.degree = degree
        self.knots = knots
        self.continuity = continuity
        self.extrapolation = extrapolation
        self.cyclic = cyclic
        self.period = period
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _feature_map(self) -> SplineMap:
        return SplineMap(
            self.n_knots,
            self.degree,
            knots=self.knots,
            continuity=self.continuity,
            extrapolation=self.extrapolation,
            cyclic=self.cyclic,
            period=self.period,
            include_bias=not self.fit_intercept,
        )


class DictionaryRegression(FeatureRegression):
    """Least squares, or ridge, on any features: a named dictionary, a list of functions, or a map.

    Minimises over (w, b)

        Σ_i s_i (y_i − Σ_k w_k φ_k(x_i) − b)² + α ‖w‖²

    by one walk over the rows, whose functions are evaluated block by block, and the solvers of
    `LinearRegression`.

    Assumes: a mean of y that is a combination of the functions; which functions, is chosen before y is seen.

    Certificates: normal-equation residual, Pythagoras' identity, condition number (or least norm) of the
    features; with α > 0 the duality gap.

    Parameters
    ----------
    dictionary : str, list of functions or feature map, default="fourier"
        The functions φ_k: "fourier", "histogram", "spline", "wavelet" or "polynomial"; a list of functions
        from rows (n, d) to (n,) or (n, k) values, see `FunctionMap`; a map such as `SplineMap(8)`, which is
        fitted to the rows on the way.
    size : int, default=4
        Size of a named dictionary for each column: frequencies, bins, knots, wavelet levels, or the total
        degree (of Legendre polynomials).
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
    rank_, condition_number_ : int, float or None
        Of the table of features, as in `Ridge`.
    noise_variance_ : float or array of shape (n_targets,), or None
        ‖y − ŷ‖²/(n − p), p the effective number of parameters; None where no degrees of freedom are left, or
        where the solver formed no XᵀX to count the parameters of a penalised fit.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Iterations, whether they ended by `tol`, and the relative normal-equation residual.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.linear import DictionaryRegression
    >>> x = np.linspace(0, 4, 50)[:, None]
    >>> model = DictionaryRegression([np.sin, np.cos]).fit(x, 2 * np.sin(x[:, 0]) + 1)
    >>> model.coef_.round(6) + 0.0, round(float(model.intercept_), 6)
    (array([2., 0.]), 1.0)

    References
    ----------
    Rudi & Şimşekli §1.3.4, §4.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **FeatureRegression._domains,
        "dictionary": parameters.one_of(*NAMES)
        | Functions
        | Domain("a feature map", lambda value: isinstance(value, FeatureMap)),
        "size": parameters.integer(at_least=2),
    }

    def __init__(
        self,
        dictionary: Any = "fourier",
        *,
        size: int = 4,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-10,
        max_iter: int = 10_000,
    ) -> None:
        self.dictionary = dictionary
        self.size = size
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _feature_map(self) -> FeatureMap:
        if isinstance(self.dictionary, FeatureMap):
            return clone(self.dictionary)
        if not isinstance(self.dictionary, str):
            return FunctionMap(self.dictionary)
        maps: dict[str, FeatureMap] = {
            "fourier": FourierMap(self.size),
            "histogram": HistogramMap(self.size, include_bias=not self.fit_intercept),
            "spline": SplineMap(self.size, include_bias=not self.fit_intercept),
            "wavelet": WaveletMap(self.size),
            "polynomial": PolynomialMap(self.size, basis="legendre"),
        }
        return maps[self.dictionary]
