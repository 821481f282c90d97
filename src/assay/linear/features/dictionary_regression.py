"""Regression on a dictionary of functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import clone

from assay import parameters
from assay.linear.features.base import FeatureMap
from assay.linear.features.dictionaries import FourierMap, FunctionMap, Functions, HistogramMap
from assay.linear.features.polynomial import PolynomialMap
from assay.linear.features.regression import FeatureRegression
from assay.linear.features.splines import SplineMap
from assay.linear.features.wavelets import WaveletMap
from assay.parameters import Domain

NAMES = ("fourier", "histogram", "spline", "wavelet", "polynomial")


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
