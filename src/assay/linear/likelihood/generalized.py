"""Generalised linear models: a family, a link, and a linear score."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from assay import parameters, rows
from assay.certificates import Certificates
from assay.families import FAMILIES, LINKS, Family, Link, LinkedFamily, NegativeBinomial, Tweedie, link
from assay.linear.likelihood.base import LikelihoodPath
from assay.linear.likelihood.certificates import finite_or_none, generalized_certificates
from assay.linear.likelihood.generalized_fit import (
    Likelihoods,
    fit_generalized,
    likelihoods,
    mean_rows,
    over_targets,
    target_summary,
)
from assay.linear.likelihood.generalized_results import GeneralizedResults
from assay.linear.predictor import vector_target
from assay.losses.response_laws import is_response
from assay.parameters import Domain
from assay.rows import Rows
from assay.solvers import RowRisk
from assay.suitability import Suitability

# Only the families that take any positive number are options: data made for a check are no counts.
FAMILY = Domain(
    parameters.one_of(*FAMILIES).words,
    lambda value: isinstance(value, str) and value in FAMILIES,
    ("gaussian", "quasi_poisson", "gamma", "inverse_gaussian", "tweedie"),
)
LINK = Domain(
    f"{parameters.one_of(*LINKS).words}, a Link, a law with SciPy's methods, or a function of scores that "
    "rises from 0 to 1",
    lambda value: value in LINKS if isinstance(value, str) else isinstance(value, Link) or is_response(value),
)
PENALTY = parameters.real(at_least=0) | parameters.array(
    "an array of non-negative numbers, one per feature",
    lambda values: values.ndim == 1 and bool(np.all(values >= 0)),
)


class GeneralizedLinear(RegressorMixin, GeneralizedResults):
    """Generalised linear model: the mean of the target is g⁻¹(xᵀw + b), its variance φ V(mean).

    Minimises over (w, b), with n = Σ s and d the unit deviance of the family,

        (1/2n) Σ_i s_i d(y_i, g⁻¹(x_iᵀw + b + o_i)) + ½ Σ_j α_j w_j²,        b not penalised,

    which is the maximum of the likelihood for α = 0. Fisher's scoring (iteratively reweighted least squares),
    one walk over the rows a step; for many rows in memory, quasi-Newton steps from the fit of a part of them.

    Assumes: independent rows whose target has the law of the family, and a mean that the link makes linear in
    the columns. Without a penalty, that the maximum is finite (no separation).

    Certificates: the distance to the maximum in standard errors; with a penalty on every feature and the
    Poisson family with its logarithm, the duality gap; on `certify`, that dispersion, information and the
    other numbers behind inference are those of the rows.

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson", "quasi_poisson", "negative_binomial", "gamma", \
"inverse_gaussian", "tweedie"}, default="gaussian"
        Law of the target. "binomial" takes shares of successes, weighted by the number of trials;
        "quasi_poisson" any target that is not negative, with a dispersion.
    link : {"identity", "log", "logit", "probit", "cloglog", "loglog", "cauchit", "inverse", \
"inverse_squared", "sqrt"}, law, callable or Link, optional
        g; the usual one of the family by default. For "binomial" also any response F, with P(Y = 1) = F(f)
        for the score f and g = F⁻¹: a law with SciPy's methods (`scipy.stats.t(4)`), or a function of arrays
        of scores that rises from 0 to 1. A `Link` of one's own suits any family.
    alpha : float or array of shape (n_features,), default=0.0
        Squared-norm penalty on the scale of the mean, as in scikit-learn; one for all features or one each.
    power : float, default=1.5
        Of the Tweedie variance, above 1 and below 2.
    overdispersion : float, default=1.0
        θ of the negative binomial variance μ + θμ².
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    solver : {"auto", "newton", "quasi_newton"}, default="auto"
        "newton" is Fisher's scoring.
    tol : float, default=1e-9
        The fit stops when the objective is within tol²/2 of its minimum by the Newton decrement.
    max_iter : int, default=1000
        Most iterations.
    history : bool, default=False
        Whether the objective of every iteration is kept in `history_`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    link_ : str
        Name of the link used.
    dispersion_ : float or None
        φ: Pearson's statistic over n − p, or 1 where the family knows it; None where n − p is not above 0.
    deviance_, null_deviance_ : float
        Σ s d of the model, and of a constant score.
    log_likelihood_, null_log_likelihood_ : float or None
        Both at the dispersion of the fit; None for "tweedie" and "quasi_poisson", which have no density in
        closed form, and where the dispersion is 0 or None.
    dual_gap_ : float or None
        Relative duality gap; None where the loss has no dual, a feature no penalty, or no dual point was
        found.
    information_ : array of shape (p, p)
        Expected Hessian of half the mean deviance about `center_`, or None where it was not formed.
    center_ : array of shape (n_features,)
    rank_ : int
    total_weight_ : float
        n.
    solver_ : str
        What "auto" chose.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Iterations, whether they ended by `tol`, and the value of the first certificate.
    history_ : array
        With `history=True`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.linear import GeneralizedLinear
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> model = GeneralizedLinear("poisson").fit(X, [1, 2, 3, 6, 13])
    >>> round(float(model.coef_[0]), 3), model.certificates_.holds
    (0.659, True)
    >>> model.inference().bse.round(3)
    array([0.599, 0.181])

    References
    ----------
    Sangnier §1.2.1; Wei §7.3.3; McCullagh & Nelder (1989).
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=3,
        max_side=2000,
        select={"alphas": np.logspace(-5.0, 0.0, 6)},
        settings={"family": "poisson"},
        target="counts",
        form="Poisson, log link",
        summary="Poisson regression: the logarithm of the mean count is linear in the columns.",
        otherwise=Suitability(
            complexity=3,
            max_side=2000,
            select={"alphas": np.logspace(-5.0, 0.0, 6)},
            settings={"family": "gamma", "link": "log"},
            target="positive",
            form="gamma, log link",
            summary="Gamma regression with a logarithm: columns multiply a mean that stays above zero.",
        ),
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        "family": FAMILY,
        "link": parameters.nothing | LINK,
        "alpha": PENALTY,
        "power": Domain(
            "a number above 1 and below 2",
            lambda value: parameters.real().contains(value) and 1 < value < 2,
        ),
        "overdispersion": parameters.real(above=0),
        "fit_intercept": parameters.boolean,
        "solver": parameters.one_of("auto", "newton", "quasi_newton"),
        "tol": parameters.real(above=0, squared=True),
        "max_iter": parameters.integer(at_least=1),
        "history": parameters.boolean,
    }
    _checks_finite = True

    def __init__(
        self,
        family: str = "gaussian",
        *,
        link: Any = None,
        alpha: Any = 0.0,
        power: float = 1.5,
        overdispersion: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-9,
        max_iter: int = 1000,
        history: bool = False,
    ) -> None:
        self.family = family
        self.link = link
        self.alpha = alpha
        self.power = power
        self.overdispersion = overdispersion
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.history = history

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kind = FAMILIES.get(self.family) if isinstance(self.family, str) else None
        tags.target_tags.positive_only = bool(kind is not None and kind.positive)
        return tags

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
    ) -> GeneralizedLinear:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        offset : array-like of shape (n_samples,) or column name, optional
            Known part of the score.
        exposure : array-like of shape (n_samples,), optional
            Time, area or number at risk, above 0: its logarithm is added to the score. Needs the log link.
        """
        data, has_offset = self._open_target(X, y, sample_weight, offset, exposure, fitted=False)
        law = self._law()
        self.link_ = law.link.name
        weight, mean = over_targets(data, target_summary, law.family, self._owner())
        self.total_weight_ = float(weight)
        risk = self._problem(data, law, has_offset)
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)
        report = partial(self._report, watch, risk)
        with watch.run(self.solver):
            fit = fit_generalized(risk, law, float(mean / weight), report=report, **self._stop)
        watch.finish()
        self.__dict__.update(self._attributes(risk, fit.point))
        self.rank_, self.n_iter_, self.converged_ = fit.rank, max(fit.n_iter, 1), fit.converged
        self.solver_, self.center_, self.information_ = fit.solver, risk.center, fit.measured.hessian
        if self.history:
            self.history_ = np.array(fit.values)
        free = self.total_weight_ - self.rank_
        self._store(likelihoods(risk, law, fit.point, fit.measured, float(mean / weight), free))
        self.certificates_ = generalized_certificates(risk, fit.point, fit.measured, fit.split)
        self.optimality_ = finite_or_none(self.certificates_[0].value)
        gap = "gap" in self.certificates_[0].quantity
        self.dual_gap_ = self.optimality_ if gap else None
        self._warn_unless_converged(", or add a penalty")
        return self

    def _owner(self) -> str:
        return f"GeneralizedLinear with family={self.family!r}"

    def _law(self) -> LinkedFamily:
        kind = FAMILIES[self.family]
        family: Family
        if kind is Tweedie:
            family = Tweedie(self.power)
        elif kind is NegativeBinomial:
            family = NegativeBinomial(self.overdispersion)
        else:
            family = kind()
        chosen = link(family.usual if self.link is None else self.link)
        own = not isinstance(self.link, str) and (isinstance(self.link, Link) or self.family == "binomial")
        if not own and chosen.standard not in family.links:
            shown = ", ".join(repr(option) for option in family.links)
            raise self._refuse("link", f"one that gives means of family={self.family!r} ({shown})")
        return LinkedFamily(family, chosen)

    def _open_target(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any, *, fitted: bool
    ) -> tuple[Rows, bool]:
        """Rows whose target has the offset, if any, as second column."""
        if exposure is not None:
            self._check_parameters()
            offset = self._with_exposure(offset, exposure)
        if not rows.is_external(X):
            X, y, sample_weight = rows.split_columns(X, y, sample_weight)
        if offset is not None and y is not None:
            y = rows.beside(y, offset)
        opened = self._open_new_rows if fitted else self._open_rows
        data = opened(X, y, sample_weight, with_target=True)
        if offset is None:
            return vector_target(data, self), False
        return data, True

    def _with_exposure(self, offset: Any, exposure: Any) -> NDArray:
        if self._law().link.standard != "log":
            raise ValueError("An exposure multiplies the mean: it needs link='log'.")
        try:
            size = np.asarray(exposure, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("exposure must hold numbers above 0, one per row.") from None
        if not np.all((size > 0) & np.isfinite(size)):
            raise ValueError("exposure must hold finite numbers above 0, one per row.")
        return np.log(size) if offset is None else np.log(size) + np.asarray(offset, dtype=np.float64)

    def _problem(self, data: Rows, law: LinkedFamily, has_offset: bool) -> RowRisk:
        d = data.shape[1]
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim == 1 and alpha.shape[0] != d:
            raise self._refuse("alpha", f"a number or an array of {d} numbers, one per feature")
        return RowRisk(
            data,
            law.compiled,
            np.broadcast_to(alpha, (d,)).copy(),
            fit_intercept=self.fit_intercept,
            has_offset=has_offset,
            weight=self.total_weight_,
        )

    def _attributes(self, risk: RowRisk, point: NDArray) -> dict[str, Any]:
        coef, intercept = risk.split_point(point)
        dtype = risk.data.dtype
        return {"coef_": coef[:, 0].astype(dtype), "intercept_": dtype.type(intercept[0])}

    def _store(self, measured: Likelihoods) -> None:
        self.dispersion_ = measured.dispersion
        self.deviance_, self.null_deviance_ = measured.deviance, measured.null_deviance
        self.log_likelihood_ = measured.log_likelihood
        self.null_log_likelihood_ = measured.null_log_likelihood

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """Mean of the target at each row: an array, or a lazy Dask array for Dask input.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        offset, exposure : array-like of shape (n_samples,), optional
            As in `fit`; none by default, that is an exposure of 1.
        """
        data = self._open_new_rows(X)
        law = self._law()
        if offset is None and exposure is None:
            return data.map(mean_rows, self.coef_, self.intercept_, law, dtype=self.coef_.dtype)
        shift = self._with_exposure(offset, exposure) if exposure is not None else np.asarray(offset, float)
        return law.mean(self._scores(X) + shift)

    def certify(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
    ) -> Certificates:
        """Measure the certificates on the rows themselves, by one walk.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure
            The data of the fit.
        """
        risk = self._fitted_problem(X, y, sample_weight, offset, exposure)
        point = self._point(risk)
        measured = risk.measure(point, hessian=True, split=True)
        proofs = generalized_certificates(risk, point, measured, measured.split)
        return Certificates([*proofs, self._stored(risk, point, measured)])

    def _path(self, X: Any, y: Any, alphas: Any, sample_weight: Any, **grid: Any) -> LikelihoodPath:
        data, _ = self._open_target(X, y, sample_weight, None, None, fitted=False)
        return self._path_of(data, alphas, **grid)

    def _fitted_problem(
        self, X: Any, y: Any, sample_weight: Any, offset: Any = None, exposure: Any = None
    ) -> RowRisk:
        check_is_fitted(self)
        data, has_offset = self._open_target(X, y, sample_weight, offset, exposure, fitted=True)
        return self._problem(data, self._law(), has_offset)
