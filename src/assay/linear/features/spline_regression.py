"""Spline regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from assay.linear.features.regression import FeatureRegression
from assay.linear.features.splines import SplineMap
from assay.parameters import Domain
from assay.suitability import Suitability


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
    rank_, condition_number_ : int, float
        Of the table of features.
    noise_variance_ : float or array of shape (n_targets,)
        ‖y − ŷ‖²/(n − p), p the effective number of parameters; NaN where that is not known.
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
