"""Nyström features: the kernel of each row with some landmarks, made orthonormal."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters, rows
from assay.certificates import Certificates
from assay.kernel_machines.features.base import KernelFeatures, evenly_spaced
from assay.kernel_machines.features.certificates import (
    Residuals,
    landmark_certificates,
    residual_block,
    residual_certificates,
    stored_certificates,
)
from assay.kernel_machines.features.landmarks import SCHEMES
from assay.kernel_machines.parameters import KERNEL_DOMAINS
from assay.kernel_machines.scale import kernel_of_rows
from assay.kernels import KERNEL_NAMES, Kernel, Precomputed
from assay.models.capabilities import require_memory
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Block, Rows

MEASURED_ROWS = 1024
"""Evenly spaced rows on which a fit measures what the landmarks lose; `certify` takes all rows."""

LARGEST = 1e100
"""Kernel values beyond which eigenvalues and their roots lose their digits."""

OVERFLOW = "The kernel overflows on these rows; scale the columns of X first."

_NAMES = tuple(name for name in KERNEL_NAMES if name != "precomputed")

KERNEL_OF_ROWS = Domain(
    f"a Kernel, a callable or one of {', '.join(map(repr, _NAMES))}",
    lambda value: (
        not isinstance(value, Precomputed)
        and (isinstance(value, Kernel) or callable(value) or (isinstance(value, str) and value in _NAMES))
    ),
    ("linear", "rbf", "laplacian", "polynomial"),
)

N_JOBS = (
    parameters.nothing
    | Domain("-1", lambda value: isinstance(value, (int, np.integer)) and value == -1)
    | parameters.integer(at_least=1)
)


class NystroemMap(NamedTuple):
    """x ↦ k(x, L) N, as a pure function of rows."""

    kernel: Kernel
    landmarks: NDArray
    normalization: NDArray

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.normalization.shape[0])

    def __call__(self, X: Any) -> NDArray:
        """The features of rows in float64; only a tile of the kernel matrix is ever in memory.

        Roots of small eigenvalues are divided by: in float32 most of them would be rounding.
        """
        rows, landmarks = (table.astype(np.float64, copy=False) for table in (X, self.landmarks))
        return self.kernel.apply(rows, landmarks, self.normalization.T)


class Nystroem(KernelFeatures):
    """Features from some landmarks: φ(x) = k(x, L) K_LL^{−1/2}.

    Finds the projections of the functions k(x, ·) onto the span of k(l, ·), l in L: of all features made of
    those landmarks, ⟨φ(x), φ(z)⟩ = k(x, L) K_LL⁺ k(L, z) is the best. The kernel matrix Q of the features
    never exceeds K (K − Q is positive semi-definite) and is K itself on the landmarks. Only the m × m matrix
    of the landmarks is decomposed; eigenvalues that are rounding are left out (`rank_` tells). With as many
    landmarks as rows Q is K.

    Landmarks are read by one walk over rows anywhere, "k-means++" from a uniform sample of 65,536 of them;
    "pivoted_cholesky" needs rows in memory and n_samples × n_components numbers beside them. The features of
    a table outside memory are made block by block: see `features`.

    Assumes: a positive semi-definite kernel, whose eigenvalues on the rows fall fast enough for few
    landmarks.

    Certificates: the features give K on the landmarks; never more than k(x, x) and the share of the trace of
    K that is lost, on up to 1,024 rows, with tr(K − Q) ≥ ‖K − Q‖_F ≥ ‖K − Q‖₂; smallest eigenvalue that is
    inverted. `certify` measures all rows and that the landmarks are rows of the table.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "rbf" or "gaussian", "laplacian", "polynomial" or "poly", "exponential",
        "sigmoid"), an object of `assay.kernels`, or a function of two rows. "laplacian" takes the Euclidean
        norm.
    gamma : float, "scale", "auto" or None, default=None
        Scale of the named kernels; "scale" is 1/(n_features · Var X), "auto" and None one over the number of
        features.
    coef0 : float, optional
        Constant of the polynomial and sigmoid kernels; 1 by default.
    degree : int, optional
        Degree of the polynomial kernel; 3 by default.
    kernel_params : dict, optional
        Further arguments of a callable kernel.
    n_components : int, default=100
        Landmarks, at most the number of rows; fewer where "k-means++" or "pivoted_cholesky" have chosen a row
        of each kind.
    landmarks : {"uniform", "k-means++", "pivoted_cholesky"}, default="uniform"
        Rows drawn uniformly without repetition; drawn with probability proportional to the squared RKHS
        distance to the landmarks so far; or always the row with the largest k(x, x) − q(x, x).
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Draws of the landmarks; "pivoted_cholesky" draws nothing.
    n_jobs : int, optional
        Threads; those of the process by default, and with −1. It does not change the result.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The landmarks L.
    component_indices_ : array of shape (n_components,)
        Their rows in the table of the fit.
    normalization_ : array of shape (n_components, n_components)
        K_LL^{−1/2}, without the eigenvalues that are rounding.
    rank_ : int
        Eigenvalues of K_LL that are inverted.
    eigenvalues_ : array of shape (n_components,)
        Of K_LL, largest first.
    trace_error_ : float
        tr(K − Q) over tr K, on up to 1,024 evenly spaced rows; 0 where it is rounding.
    kernel_ : Kernel
        The kernel with every parameter filled in.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_machines import Nystroem
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = Nystroem(gamma=0.2, n_components=20, landmarks="pivoted_cholesky").fit(X)
    >>> model.certificates_.holds, model.transform(X).shape
    (True, (500, 20))
    >>> bool(model.trace_error_ < 0.01)
    True

    References
    ----------
    Sangnier §1.4.2; Wei §6.1.3.
    """

    _memory_reason = "with landmarks='pivoted_cholesky' looks at all rows for each landmark"
    _domains: ClassVar[Mapping[str, Domain]] = {
        **KERNEL_DOMAINS,
        "kernel": KERNEL_OF_ROWS,
        "degree": parameters.nothing | KERNEL_DOMAINS["degree"],
        "coef0": parameters.nothing | KERNEL_DOMAINS["coef0"],
        "n_components": parameters.integer(at_least=1),
        "landmarks": parameters.one_of(*SCHEMES),
        "random_state": parameters.random_state,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = None,
        coef0: float | None = None,
        degree: int | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        landmarks: str = "uniform",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose landmarks and decompose their kernel matrix.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
            In memory with landmarks="pivoted_cholesky".
        y : ignored
            But a column name of a table outside memory is left out of the features.
        """
        if isinstance(self.landmarks, str) and self.landmarks == "pivoted_cholesky":
            require_memory(self, X, instead="take landmarks='k-means++' or 'uniform'")
        with self._threads():
            data = self._open_rows(X, y, with_target=rows.is_external(X) and rows.is_name(y))
            self.kernel_ = kernel_of_rows(self, data)
            n_landmarks = min(int(self.n_components), data.shape[0])
            choose, rng = SCHEMES[self.landmarks], generator(self.random_state)
            with np.errstate(over="ignore", invalid="ignore"):
                self.component_indices_, self.components_ = choose(data, self.kernel_, n_landmarks, rng)
                self._decompose()
                residuals = self._measured(data)
            if not np.isfinite(residuals).all():
                raise ValueError(OVERFLOW)
            self.trace_error_ = residuals.error
            self.certificates_ = Certificates([*self._landmark_certificates(), *self._loss(residuals)])
        return self

    def _decompose(self) -> None:
        """K_LL^{−1/2} from the eigenvalues that are more than rounding."""
        gram = self._landmark_gram()
        size = float(np.abs(gram).max())
        if not size < LARGEST:
            raise ValueError(OVERFLOW)
        values, vectors = np.linalg.eigh(gram)
        least = smallest_inverted(values)
        if values[0] < -least:
            raise ValueError(
                "Nystroem needs a positive semi-definite kernel, and on these landmarks this one has the "
                f"eigenvalue {values[0]:.3g}; take another kernel or other parameters of it."
            )
        kept = values > least
        roots = np.sqrt(values[kept])
        self.rank_, self.eigenvalues_ = int(kept.sum()), values[::-1].copy()
        self.normalization_ = (vectors[:, kept] / roots) @ vectors[:, kept].T

    def _landmark_gram(self) -> NDArray[np.float64]:
        return self.kernel_.gram(self.components_.astype(np.float64, copy=False))

    def _map(self) -> NystroemMap:
        return NystroemMap(self.kernel_, self.components_, self.normalization_)

    def transform(self, X: Any) -> Any:
        """The features of each row: an array, or a lazy Dask array for Dask input.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe

        Returns
        -------
        features : array of shape (n_samples, n_components)
        """
        with self._threads():
            return super().transform(X)

    def _threads(self) -> contextlib.AbstractContextManager[None]:
        n_jobs = getattr(self, "n_jobs", None)
        if not isinstance(n_jobs, (int, np.integer)) or n_jobs < 1:
            return contextlib.nullcontext()
        return rows.threads(int(n_jobs))

    def _measured(self, data: Rows) -> Residuals:
        """What the features lose on evenly spaced rows."""
        X = data.take(evenly_spaced(data.shape[0], MEASURED_ROWS))
        return residual_block(Block(X, None, None, 0), self.kernel_, self._map())

    def _landmark_certificates(self) -> list[Any]:
        own = self._map()(self.components_)
        least = smallest_inverted(self.eigenvalues_[::-1])
        return landmark_certificates(own, self._landmark_gram(), self.eigenvalues_, self.rank_, least)

    def _loss(self, residuals: Residuals) -> list[Any]:
        return residual_certificates(residuals, self.components_.shape[0])

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates afresh, on all rows of the fit, by one walk.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
            The rows of the fit.
        y, sample_weight : ignored
        """
        data = self._open_new_rows(X)
        with np.errstate(over="ignore", invalid="ignore"):
            order = np.argsort(self.component_indices_, kind="stable")
            again = data.take(self.component_indices_[order])
            residuals = data.reduce(residual_block, self.kernel_, self._map(), combine=Residuals.merge)
            error = self._measured(data).error
            values = np.linalg.eigvalsh(self._landmark_gram())[::-1]
        stored = {
            "components_": (self.components_[order], again),
            "eigenvalues_": (self.eigenvalues_, values),
        }
        return Certificates(
            [
                *self._landmark_certificates(),
                *self._loss(residuals),
                *stored_certificates(stored, self.component_indices_, (self.trace_error_, error)),
            ]
        )


def smallest_inverted(values: NDArray) -> float:
    """The eigenvalue up to which all are rounding, from increasing ones."""
    return max(10.0 * len(values) * float(np.finfo(np.float64).eps) * float(values[-1]), 0.0)
