"""Functions of a reproducing kernel Hilbert space, feature maps of rows, and the cheaper of two problems."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificates, at_most
from assay.kernels.definiteness import is_psd
from assay.kernels.kernel import Kernel
from assay.kernels.tiles import as_matrix, is_sparse
from assay.parameters import integer, real, refusal, require


class TwoSides(NamedTuple):
    """An inequality left ≤ right, entry by entry; true in a condition when it holds up to rounding."""

    left: NDArray
    right: NDArray

    @property
    def holds(self) -> bool:
        """Whether no left side exceeds its right side by more than rounding."""
        room = 1e-9 * max(float(np.max(np.abs(self.right), initial=0.0)), 1e-300)
        return bool(np.all(self.left <= self.right + room))

    def __bool__(self) -> bool:
        return self.holds


@dataclass(frozen=True, eq=False)
class RKHSFunction:
    """f = Σ_i α_i k(·, x_i), an element of the reproducing kernel Hilbert space H of a kernel.

    f(x) = Σ_i α_i k(x_i, x), ⟨f, g⟩ = Σ_ij α_i β_j k(x_i, z_j), ‖f‖² = αᵀKα, and ⟨f, k(·, x)⟩ = f(x): values
    are inner products (the reproducing property), so that |f(x)| ≤ ‖f‖ √k(x, x). Functions of one kernel can
    be added, subtracted and multiplied by numbers.

    Parameters
    ----------
    alpha : array of shape (n_samples,)
    X : array or CSR matrix of shape (n_samples, n_features)
    kernel : Kernel
        Positive semi-definite; otherwise there is no space.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Gaussian, RKHSFunction
    >>> f = RKHSFunction([1.0, -1.0], [[0.0], [1.0]], Gaussian(0.5))
    >>> f([[0.0]]).round(4), round(f.norm(), 4)
    (array([0.3935]), 0.8871)
    >>> float(f.inner(Gaussian(0.5).at([0.0]))) == float(f([[0.0]])[0])
    True

    References
    ----------
    Sangnier §1.4.2, Theorem 30; Wei §6.2.2; Douc & Le Corff §8.11.
    """

    alpha: Any
    X: Any
    kernel: Kernel

    def __post_init__(self) -> None:
        X = as_matrix(self.X)
        alpha = np.asarray(self.alpha, dtype=X.dtype)
        if alpha.shape != (X.shape[0],) or not np.all(np.isfinite(alpha)):
            asked = f"one finite number per row of X, shape ({X.shape[0]},)"
            raise refusal("RKHSFunction", "alpha", asked, self.alpha)
        if not isinstance(self.kernel, Kernel):
            raise refusal("RKHSFunction", "kernel", "a Kernel", self.kernel)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "kernel", self.kernel.for_features(X.shape[1]))

    @classmethod
    def of(cls, model: Any) -> RKHSFunction:
        """The function h of a fitted kernel machine of one target, without its intercept.

        Reads `kernel_`, `dual_coef_` and `X_fit_` (or `support_vectors_`).
        """
        rows = getattr(model, "X_fit_", None)
        rows = getattr(model, "support_vectors_", None) if rows is None else rows
        coef = np.asarray(getattr(model, "dual_coef_", np.empty((0, 0))))
        if (
            rows is None
            or not isinstance(getattr(model, "kernel_", None), Kernel)
            or coef.size != rows.shape[0]
        ):
            words = "a fitted kernel machine of one target, with kernel_, dual_coef_ and X_fit_"
            raise refusal("RKHSFunction.of", "model", words, model)
        return cls(coef.ravel(), rows, model.kernel_)

    def __call__(self, X: Any) -> NDArray:
        """The values f(x) of every row, without the cross matrix in memory."""
        return self.kernel.apply(X, self.X, self.alpha)

    def inner(self, other: RKHSFunction) -> float:
        """⟨f, g⟩ = Σ_ij α_i β_j k(x_i, z_j)."""
        self._require_same_space(other)
        return float(self.alpha.astype(np.float64) @ other(self.X))

    def norm_squared(self) -> float:
        """‖f‖² = αᵀKα."""
        return max(self.inner(self), 0.0)

    def norm(self) -> float:
        """‖f‖ = √(αᵀKα)."""
        return math.sqrt(self.norm_squared())

    def distance(self, other: RKHSFunction) -> float:
        """‖f − g‖."""
        return (self - other).norm()

    def __add__(self, other: Any) -> RKHSFunction:
        if not isinstance(other, RKHSFunction):
            return NotImplemented
        self._require_same_space(other)
        if other.X is self.X:
            return RKHSFunction(self.alpha + other.alpha, self.X, self.kernel)
        left, right = (rows.toarray() if is_sparse(rows) else rows for rows in (self.X, other.X))
        alpha = np.concatenate([self.alpha, other.alpha])
        return RKHSFunction(alpha, np.vstack([left, right]), self.kernel)

    def __mul__(self, number: Any) -> RKHSFunction:
        require("a multiple of an RKHSFunction", real(), factor=number)
        return RKHSFunction(float(number) * self.alpha, self.X, self.kernel)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> RKHSFunction:
        require("an RKHSFunction divided by a number", real(), divisor=number)
        return self * (1.0 / float(number))

    def __neg__(self) -> RKHSFunction:
        return self * -1.0

    def __sub__(self, other: Any) -> RKHSFunction:
        return self + -other if isinstance(other, RKHSFunction) else NotImplemented

    def evaluation_bound(self, X: Any) -> TwoSides:
        """|f(x)| and ‖f‖ √k(x, x) of every row: evaluation is continuous."""
        sizes = np.sqrt(np.maximum(self.kernel.diagonal(X), 0.0))
        return TwoSides(np.abs(self(X)), self.norm() * sizes)

    def variation_bound(self, X: Any, Z: Any) -> TwoSides:
        """|f(x_i) − f(z_j)| and ‖f‖ d_k(x_i, z_j) of all pairs: f is Lipschitz for that distance."""
        left = np.abs(self(X)[:, None] - self(Z))
        return TwoSides(left, self.norm() * self.kernel.distance(X, Z))

    def certify(self, X: Any) -> Certificates:
        """Measure both bounds on rows, and the values by the reproducing property at the first of them."""
        X = as_matrix(X)
        value, change = self.evaluation_bound(X), self.variation_bound(X, X)
        one = self.kernel.at(X[:1].toarray() if is_sparse(X) else X[:1])
        gap = abs(self.inner(one) - float(self(X[:1])[0])) / max(float(value.right[0]), 1e-300)
        details: Any = {"source": "Sangnier §1.4.2; Douc & Le Corff §8.11", "tolerance": 1e-6}
        return Certificates(
            [
                at_most(
                    "No value exceeds ‖f‖ √k(x, x).",
                    "largest |f(x)|/(‖f‖ √k(x, x))",
                    _ratio(value),
                    1.0,
                    **details,
                ),
                at_most(
                    "No difference exceeds ‖f‖ times the distance of the kernel.",
                    "largest |f(x) − f(z)|/(‖f‖ d_k(x, z))",
                    _ratio(change),
                    1.0,
                    **details,
                ),
                at_most("⟨f, k(·, x)⟩ is f(x).", "relative difference", gap, 1e-6, source=details["source"]),
            ]
        )

    def _require_same_space(self, other: RKHSFunction) -> None:
        if not isinstance(other, RKHSFunction) or other.kernel != self.kernel:
            got = getattr(other, "kernel", other)
            raise refusal("RKHSFunction", "other", f"a function of the space of {self.kernel!r}", got)


def _ratio(sides: TwoSides) -> float:
    # Where both sides vanish up to rounding, their ratio says nothing: the right one is not taken below that.
    smallest = 1e-7 * max(float(np.max(sides.right, initial=0.0)), 1e-300)
    return float(np.max(sides.left / np.maximum(sides.right, smallest), initial=0.0))


class MinimumNorm(NamedTuple):
    """Result of `minimum_norm_weights`: w with f = ⟨w, φ(·)⟩ and ‖w‖ = ‖f‖."""

    weights: NDArray
    norm: float


def minimum_norm_weights(function: RKHSFunction, feature_map: Callable[[Any], Any]) -> MinimumNorm:
    """The shortest w with ⟨w, φ(x)⟩ = f(x), for any feature map φ of the kernel of f.

    Different maps of one kernel give different w of the same length: ‖f‖ = min{‖w‖ : f = ⟨w, φ(·)⟩}.

    Parameters
    ----------
    function : RKHSFunction
    feature_map : callable
        Takes a table and returns one row of features per row, with φ(X)φ(X)ᵀ the Gram matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Linear, RKHSFunction, minimum_norm_weights
    >>> f = RKHSFunction([1.0, 2.0], [[1.0, 0.0], [1.0, 1.0]], Linear())
    >>> twice = lambda X: np.hstack([X, X]) / np.sqrt(2)
    >>> minimum_norm_weights(f, Linear().feature_map).weights.round(6)
    array([3., 2.])
    >>> abs(minimum_norm_weights(f, twice).norm - f.norm()) < 1e-12
    True

    References
    ----------
    Sangnier §1.4.2, Theorem 32 and Remark 1.4.1; Rudi & Şimşekli §4.2.
    """
    features = feature_map(function.X)
    features = np.asarray(features.toarray() if is_sparse(features) else features, dtype=np.float64)
    gram = function.kernel.gram(function.X).astype(np.float64)
    if features.ndim != 2 or features.shape[0] != len(gram):
        words = "The 'feature_map' parameter of minimum_norm_weights must return one row of features per row."
        raise ValueError(f"{words} Got shape {features.shape} instead.")
    off = float(np.abs(features @ features.T - gram).max())
    if off > 1e-6 * max(float(np.abs(gram).max()), 1e-300):
        words = (
            "must be one of the kernel of the function: its inner products differ from the kernel by up to"
        )
        raise ValueError(f"The 'feature_map' parameter of minimum_norm_weights {words} {off:.3g}.")
    weights = np.linalg.lstsq(features, gram @ function.alpha, rcond=1e-12)[0]
    return MinimumNorm(weights, float(np.linalg.norm(weights)))


@dataclass(frozen=True, eq=False)
class EmpiricalFeatureMap:
    """Features of rows from the eigenvectors of their Gram matrix, and of new rows; see its function.

    Attributes
    ----------
    kernel : Kernel
    X : array or CSR matrix of shape (n_samples, n_features)
    eigenvalues : array of shape (rank,)
        The eigenvalues of K that are not 0 up to rounding, from the largest.
    vectors : array of shape (n_samples, rank)
        Their eigenvectors V.
    """

    kernel: Kernel
    X: Any
    eigenvalues: NDArray
    vectors: NDArray

    @property
    def features(self) -> NDArray:
        """V D^{1/2}, one row per row: ⟨φ_i, φ_j⟩ = K_ij."""
        return self.vectors * np.sqrt(self.eigenvalues)

    def __call__(self, X: Any) -> NDArray:
        """K(X, rows) V D^{−1/2}: features of new rows, k(·, x) projected on the span of the rows."""
        return self.kernel.apply(X, self.X, self.vectors / np.sqrt(self.eigenvalues))

    def n_features_out(self, n_features: int) -> int:
        """The rank of the Gram matrix."""
        return self.eigenvalues.size


def empirical_feature_map(kernel: Kernel, X: Any) -> EmpiricalFeatureMap:
    """A finite feature map of any kernel on given rows: K = VDVᵀ gives φ_i = (D^{1/2}Vᵀ)_i.

    On the rows inner products of features are the kernel's. For a new row x the features are those of the
    projection of k(·, x) on the span of the rows: inner products with the rows stay exact, and
    k(x, x) − ‖φ(x)‖² ≥ 0 is its squared distance from the span.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR matrix of shape (n_samples, n_features)
        Costs n_samples² numbers and an eigendecomposition.

    Returns
    -------
    map : EmpiricalFeatureMap
        `map.features` for the rows, `map(Z)` for new ones.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Gaussian, empirical_feature_map
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> phi = empirical_feature_map(Gaussian(1.0), X)
    >>> np.allclose(phi.features @ phi.features.T, Gaussian(1.0).gram(X)), phi([[2.0]]).shape
    (True, (1, 3))

    References
    ----------
    Rudi & Şimşekli §4.3 (Aronszajn's theorem).
    """
    X = as_matrix(X)
    kernel = kernel.for_features(X.shape[1])
    gram = kernel.gram(X)
    verdict = is_psd(gram)
    if not verdict:
        raise ValueError(
            "empirical_feature_map needs a positive semi-definite kernel on the rows. Got smallest "
            f"eigenvalue {verdict.min_eigenvalue:.3g} instead: see check_psd."
        )
    values, vectors = np.linalg.eigh(gram)
    kept = values > max(verdict.tolerance, 0.0)
    return EmpiricalFeatureMap(kernel, X, values[kept][::-1].copy(), vectors[:, kept][:, ::-1].copy())


class Side(NamedTuple):
    """Result of `cheaper_side`.

    Attributes
    ----------
    side : "primal" or "dual"
        A problem in ℝ^D (weights of features), or in ℝ^n (coefficients of rows).
    n_unknowns : int
        D or n.
    primal_cost, dual_cost : float
        Multiplications: nD² + D³/3 for the D × D matrix of moments and its factor, n²d + n³/3 for the Gram
        matrix and its factor; inf where no number of features suffices.
    """

    side: str
    n_unknowns: int
    primal_cost: float
    dual_cost: float


def cheaper_side(kernel: Kernel, n_samples: int, n_features: int) -> Side:
    """Whether a penalised fit is cheaper on explicit features or on the Gram matrix.

    Both give the same function, w = Σ_i α_i φ(x_i). The primal problem has as many unknowns as features
    D = `kernel.n_features_out(n_features)`, the dual one as many as rows. With a linear kernel the cheaper
    one is that of min(n, d); with others the Gram matrix spares the features (the kernel trick), and D must
    be smaller still.

    Examples
    --------
    >>> from assay.kernels import Gaussian, Polynomial, cheaper_side
    >>> [cheaper_side(Polynomial(2), n, 10).side for n in (50, 100, 200)]    # 66 monomials
    ['dual', 'dual', 'primal']
    >>> cheaper_side(Gaussian(), 5000, 10).side
    'dual'

    References
    ----------
    Rudi & Şimşekli §4.2.
    """
    require("cheaper_side", integer(at_least=1), n_samples=n_samples, n_features=n_features)
    n, size = float(n_samples), kernel.n_features_out(n_features)
    primal, dual = n * size**2 + size**3 / 3, n**2 * n_features + n**3 / 3
    if primal <= dual:
        return Side("primal", int(size), primal, dual)
    return Side("dual", n_samples, primal, dual)
