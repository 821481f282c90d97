"""Whitening: rows in coordinates in which a covariance is the identity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.datasets.requirements import of_shape
from assay.discriminant.gaussian.covariance import Factored, factored
from assay.discriminant.gaussian.moments import class_moments
from assay.discriminant.generative import in_precision
from assay.discriminant.linear.certificates import LARGEST_CONDITION, of_one_class, rounding
from assay.models.capabilities import LinearMap, ThereAndBack, Transformer
from assay.models.classes import Classifier
from assay.parameters import Domain
from assay.rows import Block, MappedRows, Rows

Array = NDArray[np.float64]

SOURCE = "Sangnier §1.1.2, remark 1.1.2"


class WhitenerSolution(NamedTuple):
    """Mean, factored covariance and the maps there and back."""

    mean: Array
    factor: Factored
    whitening: Array
    unwhitening: Array


class Whitener(LinearMap, Transformer):
    """Rows about their mean in coordinates in which their covariance is the identity.

    Finds the matrix A with AᵀΣA = I on the directions in which Σ has variance, and maps x ↦ Aᵀ(x − μ).
    Σ is the covariance of the rows, that within classes (`scope="within"`, fitted with labels), or given.
    Euclidean distances after the map are Mahalanobis distances before it: with equal priors, linear
    discriminant analysis is the nearest mean after whitening by the covariance within the classes.

    Assumes: finite second moments.

    Certificates: AᵀΣA = I, the condition of Σ; `certify` adds that the transformed rows have mean zero and
    the identity as covariance (within the classes), measured on the rows themselves.

    Parameters
    ----------
    covariance : array of shape (n_features, n_features), optional
        Σ, where it is known.
    scope : {"total", "within"}, default="total"
        Covariance of all rows, or about the mean of the class of each.
    method : {"symmetric", "principal"}, default="symmetric"
        A = Σ^(−1/2), which moves rows least, or coordinates along the principal axes of the columns in unit
        variance.
    tol : float, default=1e-4
        Standard deviation, of columns of unit variance, at or below which a direction is left out.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
    covariance_ : array of shape (n_features, n_features)
        Divisor n.
    whitening_ : array of shape (n_features, n_features_out)
        A.
    unwhitening_ : array of shape (n_features, n_features_out)
        The way back: x ≈ μ + unwhitening_ z.
    classes_ : array of shape (n_classes,)
        With scope="within".
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.datasets import iris
    >>> from assay.discriminant import Whitener
    >>> X, _ = iris(return_X_y=True)
    >>> Z = Whitener().fit_transform(X)
    >>> np.allclose(np.cov(Z.T, bias=True), np.eye(4))
    True

    References
    ----------
    Sangnier §1.1.2.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "covariance": parameters.nothing | parameters.matrix,
        "scope": parameters.one_of("total", "within"),
        "method": parameters.one_of("symmetric", "principal"),
        "tol": parameters.real(at_least=0, at_most=1),
    }
    _checks_finite = True

    def __init__(
        self, covariance: Any = None, *, scope: str = "total", method: str = "symmetric", tol: float = 1e-4
    ) -> None:
        self.covariance = covariance
        self.scope = scope
        self.method = method
        self.tol = tol

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = isinstance(self.scope, str) and self.scope == "within"
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name, optional
            Labels; read with scope="within" alone.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        data, n_classes = self._open_scope(X, y, sample_weight, fitting=True)
        solution = self._solve(data, n_classes)
        self.mean_, self.covariance_ = solution.mean, solution.factor.covariance
        maps = in_precision(self, data.dtype, solution.whitening, solution.unwhitening)
        self.whitening_, self.unwhitening_ = maps
        self.certificates_ = Certificates(self._proofs(solution, data.dtype))
        return self

    def _open_scope(self, X: Any, y: Any, sample_weight: Any, *, fitting: bool) -> tuple[Rows, int]:
        """The rows with the places of their classes as target: all zero where classes do not matter."""
        if fitting:
            self._check_parameters()
        if self.scope == "within":
            if y is None:
                raise ValueError("Whitener with scope='within' needs labels: requires y to be passed.")
            reader = Labels(self)
            data = reader.open(X, y, sample_weight, fitting=fitting)
            if fitting:
                self.classes_ = reader.classes_
            return data, len(self.classes_)
        self.__dict__.pop("classes_", None)
        names = rows_target(y)
        opener = self._open_rows if fitting else self._open_new_rows
        data = opener(X, names, sample_weight, with_target=names is not None)
        return MappedRows(data, without_target), 1

    def _solve(self, data: Rows, n_classes: int) -> WhitenerSolution:
        moments = class_moments(data, n_classes, apart=False)
        covariance = moments.within / moments.total_weight
        if self.covariance is not None:
            d = data.shape[1]
            covariance = np.array(of_shape("Whitener", "covariance", self.covariance, (d, d)))
            off = np.abs(covariance - covariance.T).max()
            if off > 1e-8 * np.abs(covariance).max() or np.linalg.eigvalsh(covariance)[0] < 0:
                raise self._refuse("covariance", "symmetric and positive semi-definite")
        factor = factored(covariance, self.tol)
        if factor.rank == 0:
            n = data.shape[0]
            raise ValueError(f"Whitener needs a column of X that varies; all are constant (n_samples={n}).")
        whitening, unwhitening = factor.whitening, factor.unwhitening
        if self.method == "symmetric":
            whitening, unwhitening = _symmetric(covariance, factor)
        return WhitenerSolution(moments.mean, factor, whitening, unwhitening)

    def transform(self, X: Any) -> Any:
        """Aᵀ(x − μ) of each row."""
        data = self._open_new_rows(X)
        width = self.whitening_.shape[1]
        state = np.asarray(self.mean_).astype(data.dtype), self.whitening_
        return data.map(whiten_block, *state, dtype=data.dtype, width=width)

    def _there_and_back(self) -> ThereAndBack:
        forward = np.asarray(self.whitening_).T
        return ThereAndBack(forward, -forward @ self.mean_, self.unwhitening_, self.mean_)

    def _names(self, columns: list[str]) -> list[str]:
        width = self.whitening_.shape[1]
        if self.method == "symmetric" and width == len(columns):
            return columns
        return [f"whitener{j}" for j in range(width)]

    def _proofs(self, solution: WhitenerSolution, dtype: np.dtype) -> list[Certificate]:
        covariance, scale = solution.factor.covariance, np.sqrt(np.diagonal(solution.factor.covariance))
        size = np.where(scale > 0, scale, np.maximum(np.abs(solution.mean), 1e-300))
        forward = np.asarray(self.whitening_, dtype=np.float64)
        backward = np.asarray(self.unwhitening_, dtype=np.float64)
        gram = forward.T @ covariance @ forward - _projector(solution)
        level = np.maximum(1.0, np.abs(solution.mean / size).max())
        mean = 1 + (self.mean_ - solution.mean) / size / level
        matrix = 1 + (self.covariance_ - covariance) / size / size[:, None]
        back = 1 + (backward @ backward.T - covariance) / size / size[:, None]
        pairs = {
            "mean_": (mean, np.ones_like(mean)),
            "covariance_": (matrix, np.ones_like(matrix)),
            "unwhitening_": (back, np.ones_like(back)),
        }
        tolerance, condition = 10 * rounding(dtype), solution.factor.condition
        claim = "The condition of the covariance leaves four digits."
        return [
            at_most("AᵀΣA = I.", "whitening", np.abs(gram).max(initial=0.0), tolerance, SOURCE),
            at_most(claim, "condition number", condition, LARGEST_CONDITION, SOURCE),
            agreement(
                "Mean, covariance and the way back are those of the rows.", pairs, SOURCE, rtol=tolerance
            ),
        ]

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates afresh, on the transformed rows themselves too.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data, n_classes = self._open_scope(X, y, sample_weight, fitting=False)
        solution = self._solve(data, n_classes)
        found = self._proofs(solution, data.dtype)
        state = np.asarray(self.mean_), np.asarray(self.whitening_, dtype=np.float64)
        white = MappedRows(data, whitened, *state, width=self.whitening_.shape[1])
        moments = class_moments(white, n_classes, apart=False)
        mean = class_moments(MappedRows(white, of_one_class), 1, apart=False).mean
        off = np.abs(mean).max(initial=0.0)
        if self.covariance is None:
            off = max(off, np.abs(moments.within / moments.total_weight - _projector(solution)).max())
        claim = "The transformed rows have mean 0 and covariance I."
        return Certificates([*found, at_most(claim, "defect", off, 10 * rounding(data.dtype), SOURCE)])


class Labels(Classifier):
    """Opens labelled rows for a transformer that only sometimes reads labels."""

    def __init__(self, owner: Any = None) -> None:
        self.owner = owner

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Nothing: what is learned goes to the owner."""
        return self

    def _check_parameters(self) -> None:
        self.owner._check_parameters()

    def open(self, X: Any, y: Any, sample_weight: Any, *, fitting: bool) -> Rows:
        """The rows with places of classes as target; what a fit learns of the columns goes to the owner."""
        names = ("n_features_in_", "feature_names_in_", "classes_")
        if not fitting:
            self.__dict__.update(
                {name: vars(self.owner)[name] for name in names if hasattr(self.owner, name)}
            )
            return self._open_new_classes(X, y, sample_weight)
        data, _ = self._open_classes(X, y, sample_weight)
        self.owner.__dict__.pop("feature_names_in_", None)
        self.owner.__dict__.update({name: vars(self)[name] for name in names if hasattr(self, name)})
        return data


def rows_target(y: Any) -> Any:
    """A column name, which must be kept apart from the features; anything else is not read."""
    return y if isinstance(y, str) else None


def without_target(block: Block) -> Block:
    """A block of one class."""
    return block._replace(y=np.zeros(block.X.shape[0]))


def _symmetric(covariance: Array, factor: Factored) -> tuple[Array, Array]:
    """Σ^(−1/2) and Σ^(1/2), on the directions kept."""
    if factor.rank == len(covariance):
        # Polar factor: W = U S Vᵀ gives W (V Uᵀ) = U S Uᵀ, symmetric.
        u, _, vt = np.linalg.svd(factor.whitening)
        turn = vt.T @ u.T
        return factor.whitening @ turn, factor.unwhitening @ turn
    basis = np.linalg.qr(factor.unwhitening)[0]
    values, vectors = np.linalg.eigh(basis.T @ covariance @ basis)
    along, roots = basis @ vectors, np.sqrt(np.maximum(values, 1e-300))
    return (along / roots) @ along.T, (along * roots) @ along.T


def _projector(solution: WhitenerSolution) -> Array:
    """The identity on the directions kept, in the coordinates of the whitened rows."""
    width = solution.whitening.shape[1]
    if width == solution.factor.rank:
        return np.eye(width)
    basis = np.linalg.qr(solution.factor.unwhitening)[0]
    return np.asarray(basis @ basis.T)


def whiten_block(block: Block, mean: NDArray, whitening: NDArray) -> NDArray:
    """Whitened rows of one block."""
    return np.asarray((block.dense - mean) @ whitening)


def whitened(block: Block, mean: NDArray, whitening: NDArray) -> Block:
    """A block with its rows whitened."""
    return block._replace(X=whiten_block(block, mean, whitening))
