"""Quadratic discriminant analysis: Gaussian classes with a covariance each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificate, Certificates
from assay.datasets.requirements import covariance_stack, finite_array
from assay.discriminant.gaussian.assumptions import (
    CovarianceTest,
    box_m,
    normality_certificate,
    own_whitenings,
    quantile_shares,
)
from assay.discriminant.gaussian.covariance import factored
from assay.discriminant.gaussian.gathering import ESTIMATOR, SHRINKAGE, Gathered
from assay.discriminant.gaussian.laws import OwnGaussian
from assay.discriminant.gaussian.moments import class_moments
from assay.discriminant.generative import GenerativeModel
from assay.discriminant.linear.certificates import left_out
from assay.discriminant.priors import PRIORS
from assay.discriminant.quadratic import certificates as proofs
from assay.discriminant.quadratic.quadric import Quadric, quadric
from assay.discriminant.quadratic.solver import QuadraticFamily, QuadraticSolution, solve_quadratic
from assay.parameters import Domain
from assay.rows import Rows
from assay.suitability import Suitability

Array = NDArray[np.float64]


class QuadraticDiscriminantAnalysis(GenerativeModel):
    """Gaussian classes with a covariance each: quadratic frontiers.

    Maximises over priors, means and covariances the likelihood of

        P(Y = k) = π_k,   X | Y = k ~ N(μ_k, Σ_k),

    whose solution is closed: shares, means and covariances of the classes, by one walk over the rows. It
    predicts argmin_k ½(x − μ_k)ᵀΣ_k⁻¹(x − μ_k) + ½ log|Σ_k| − log π_k; between two classes the frontier is
    the quadric ½xᵀQx + ⟨w, x⟩ + b = 0. Directions in which no class varies are left out; a class that does
    not vary where others do has no density and is refused by name.

    Assumes: rows of each class from a Gaussian law, more of them than columns unless covariances are shrunk;
    `certify` tests normality.

    Certificates: gradient of the likelihood, whitening of each class, conditioning; `certify` adds that
    (Q, w, b) is the difference of log-joints on every row, and normal quantiles of each class.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        scikit-learn's names; one method serves both.
    shrinkage : None, "auto", "oas" or float in [0, 1], default=None
        Pulls each covariance towards a sphere: by a share, by Ledoit and Wolf's rule ("auto"; needs a second
        walk), or by that of Gaussian rows ("oas").
    priors : None, "empirical", "uniform" or array of shape (n_classes,), default=None
        Probabilities of the classes; their shares of the rows by default.
    reg_param : float in [0, 1], default=0.0
        Share r of the identity: Σ_k becomes (1 − r) Σ_k + r I.
    store_covariance : bool, default=False
        Accepted for scikit-learn's sake: the covariances are always kept.
    tol : float, default=1e-4
        Standard deviation, in units of the pooled covariance, at or below which a direction is left out, or a
        class is singular.
    covariance_estimator : object, optional
        Finds the covariance of each class instead: has `fit`, then `covariance_`. Rows in memory only.
    towards_linear : float in [0, 1], default=0.0
        Share t of the pooled covariance: Σ_k becomes (1 − t) Σ_k + t Σ; 1 is linear discriminant analysis.
    covariance : {"within", "unbiased"}, default="within"
        Divisor n_k (maximum likelihood) or n_k − 1.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    priors_ : array of shape (n_classes,)
    class_count_ : array of shape (n_classes,)
        Rows of each class, counted by weight.
    means_ : array of shape (n_classes, n_features)
    covariance_ : array of shape (n_classes, n_features, n_features)
    rotations_ : array of shape (n_classes, n_features, rank)
        Principal axes of each class as columns.
    scalings_ : array of shape (n_classes, rank)
        Variances along them, decreasing.
    whitenings_ : array of shape (n_classes, n_features, rank)
        W_k with W_kᵀ Σ_k W_k = I, which predictions read.
    log_determinants_ : array of shape (n_classes,)
        log|Σ_k| over the directions kept.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.discriminant import QuadraticDiscriminantAnalysis
    >>> X, y = iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> model.certificates_.holds, round(model.score(X, y), 2)
    (True, 0.98)
    >>> model.quadric(1, 2).kind
    'hyperboloid'

    References
    ----------
    Sangnier §1.1.2; Wei §7.3; Douc & Le Corff §3.2, §8.4.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=2,
        max_features=700,
        settings={"shrinkage": "auto", "towards_linear": 0.05},  # a class of one row in a fold has a density
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        "solver": parameters.one_of("svd", "eigen"),
        "shrinkage": SHRINKAGE,
        "priors": PRIORS,
        "reg_param": parameters.real(at_least=0, at_most=1),
        "store_covariance": parameters.boolean,
        "tol": parameters.real(at_least=0, at_most=1),
        "covariance_estimator": ESTIMATOR,
        "towards_linear": parameters.real(at_least=0, at_most=1),
        "covariance": parameters.one_of("within", "unbiased"),
    }
    _checks_finite = True

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        towards_linear: float = 0.0,
        covariance: str = "within",
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.towards_linear = towards_linear
        self.covariance = covariance

    @classmethod
    def from_parameters(
        cls, means: Any, covariances: Any, priors: Any = None, classes: Any = None, *, tol: float = 1e-4
    ) -> Self:
        """The oracle: the classifier of a known law.

        Parameters
        ----------
        means : array-like of shape (n_classes, n_features)
        covariances : array-like of shape (n_classes, n_features, n_features)
            Or one matrix for all classes.
        priors : array-like of shape (n_classes,), optional
            Equal by default.
        classes : array-like of shape (n_classes,), optional
            Increasing labels; 0, 1, … by default.
        tol : float, default=1e-4
            As in the constructor.

        Examples
        --------
        >>> from assay.discriminant import QuadraticDiscriminantAnalysis
        >>> oracle = QuadraticDiscriminantAnalysis.from_parameters([[0.0], [0.0]], [[[1.0]], [[4.0]]])
        >>> oracle.predict([[0.0], [3.0]])
        array([0, 1])
        """
        centers = finite_array(cls.__name__, "means", means, 2)
        n_classes, d = centers.shape
        stack = np.array(covariance_stack(cls.__name__, "covariances", covariances, n_classes, d))
        model = cls._given(classes, priors, n_classes, tol=tol)
        model.n_features_in_ = d
        pooled = factored(np.tensordot(model.priors_, stack, axes=1), tol)
        solution = solve_quadratic(np.array(centers), stack, pooled, tol)
        model._store(solution)
        model.certificates_ = Certificates(proofs.structure(model, solution.condition))
        return model

    def _family(self) -> QuadraticFamily:
        if self.shrinkage is not None and self.covariance_estimator is not None:
            raise self._refuse("shrinkage", "None when 'covariance_estimator' is given")
        return QuadraticFamily(
            type(self).__name__,
            self.covariance == "unbiased",
            self.shrinkage,
            self.covariance_estimator,
            float(self.reg_param),
            float(self.towards_linear),
            float(self.tol),
            self.classes_,
        )

    def _keep_laws(self, laws: QuadraticSolution, statistics: Gathered, data: Rows) -> None:
        self._store(laws)

    def _store(self, solution: QuadraticSolution) -> None:
        self.means_, self.covariance_ = solution.means, solution.covariances
        self.whitenings_, self.log_determinants_ = solution.whitenings, solution.log_determinants
        self.rotations_, self.scalings_ = proofs.principal_axes(solution.covariances, solution.basis)

    def _laws(self) -> OwnGaussian:
        # VᵀW = I and VVᵀ = Σ give V = ΣW.
        roots = [matrix @ white for matrix, white in zip(self.covariance_, self.whitenings_, strict=True)]
        return OwnGaussian(self.means_, list(self.whitenings_), roots, self.log_determinants_)

    def quadric(self, first: Any = None, second: Any = None) -> Quadric:
        """The frontier between two classes, by label; between the first and the last by default.

        Returns
        -------
        quadric : Quadric
            Q, w, b, its type and signature.
        """
        check_is_fitted(self)
        low, high = (self._place(label, default) for label, default in ((first, 0), (second, -1)))
        d = self.n_features_in_
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._quadric_about(np.zeros(d), np.ones(d), low, high)
        if not np.isfinite(found.matrix).all():
            raise ValueError("The quadric overflows: columns of X are too small; scale them first.")
        return found

    def _units(self) -> Array:
        """The largest deviation of each column within a class, 1 where it has none."""
        scale = np.sqrt(np.maximum(np.diagonal(self.covariance_, axis1=1, axis2=2).max(axis=0), 0.0))
        return np.where(scale > 0, scale, 1.0)

    def _quadric_about(self, origin: Array, units: Array, low: int, high: int) -> Quadric:
        """The frontier in coordinates about a point, in some units of the columns."""
        whitenings = [self.whitenings_[k] * units[:, None] for k in (low, high)]
        precisions = [whitening @ whitening.T for whitening in whitenings]
        means = [(self.means_[k] - origin) / units for k in (low, high)]
        normals = [precision @ mean for precision, mean in zip(precisions, means, strict=True)]
        logs = self._log_priors()
        offset = 0.5 * float(means[0] @ normals[0] - means[1] @ normals[1])
        offset -= 0.5 * float(self.log_determinants_[high] - self.log_determinants_[low])
        offset += float(logs[high] - logs[low])
        return quadric(precisions[0] - precisions[1], normals[1] - normals[0], offset, self._units() / units)

    def equal_covariances(self, X: Any, y: Any = None, sample_weight: Any = None) -> CovarianceTest | None:
        """Box's test that the classes have one covariance, so that a linear model would do.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.

        Returns
        -------
        test : CovarianceTest or None
            None where a class has too few rows.
        """
        data = self._open_new_classes(X, y, sample_weight)
        return box_m(class_moments(data, len(self.classes_), apart=True))

    @property
    def _is_likelihood(self) -> bool:
        plain = self.shrinkage is None and self.covariance_estimator is None
        return plain and self.covariance == "within" and self.reg_param == 0 and self.towards_linear == 0

    def _proofs(self, laws: QuadraticSolution, statistics: Gathered, data: Rows) -> list[Certificate]:
        found = [self._stored_counts(statistics.moments.weight), proofs.stored(self, laws)]
        if self._is_likelihood:
            found.append(proofs.likelihood_gradient(statistics.moments, self, self._has_own_priors))
        shares = np.asarray(self.class_count_) / np.sum(self.class_count_)
        found += left_out(np.asarray(self.means_), shares, laws.basis, laws.basis)
        return [*found, *proofs.structure(self, laws.condition)]

    def _certify_more(self, data: Rows) -> list[Certificate]:
        moments = class_moments(data, len(self.classes_), apart=True)
        shares = quantile_shares(data, moments.means, own_whitenings(moments, self.tol))
        return [proofs.forms_agree(data, self), normality_certificate(*shares)]
