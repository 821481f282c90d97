"""Kernels of the caller: a function, a matrix, or a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.kernels.angles import ArcCosine, Geometric
from assay.kernels.dot_product import Exponential, Linear, Polynomial, Sigmoid
from assay.kernels.kernel import Kernel
from assay.kernels.periodic import BernoulliSpline, ExpSineSquared
from assay.kernels.stationary import Gaussian, Laplacian, Matern
from assay.kernels.tiles import Fill, Matrix, as_matrix, is_sparse
from assay.parameters import refusal


@dataclass(frozen=True, eq=False)
class Custom(Kernel):
    """A function of two rows, or of two tables, as a kernel.

    Parameters
    ----------
    function : callable
        `function(x, z)`, a number for two rows; with `on_tables=True`, `function(X, Z)`, the cross matrix of
        two tables. It must be symmetric, and positive semi-definite where a method needs it: see `check_psd`.
    parameters : mapping, optional
        Further arguments by name.
    on_tables : bool, default=False
        Whether the function takes tables; far faster than one call per pair.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Custom
    >>> Custom(lambda x, z: float(np.minimum(x, z).sum())).gram([[1.0, 2.0], [3.0, 1.0]])
    array([[3., 2.],
           [2., 4.]])
    """

    function: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    on_tables: bool = False
    positive_definite: ClassVar[bool] = False

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        def on_tables(rows: slice, columns: slice, tile: NDArray) -> None:
            tile[...] = self.function(X[rows], Z[columns], **self.parameters)

        def on_rows(rows: slice, columns: slice, tile: NDArray) -> None:
            left, right = _dense(X[rows]), _dense(Z[columns])
            for i, x in enumerate(left):
                for j, z in enumerate(right):
                    tile[i, j] = self.function(x, z, **self.parameters)

        return on_tables if self.on_tables else on_rows

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        fill = self._open(X, X)
        values = np.empty(X.shape[0], dtype=X.dtype)
        for i in range(X.shape[0]):
            fill(slice(i, i + 1), slice(i, i + 1), values[i : i + 1, None])
        return values


def _dense(X: Matrix) -> NDArray:
    return X.toarray() if is_sparse(X) else X


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The table itself holds the kernel: X is the Gram matrix at the fit, the cross matrix afterwards.

    Examples
    --------
    >>> from assay.kernels import Precomputed
    >>> Precomputed().gram([[2.0, 1.0], [1.0, 2.0]])
    array([[2., 1.],
           [1., 2.]])
    """

    positive_definite: ClassVar[bool] = False
    combines: ClassVar[bool] = False

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            values = X[rows, columns]
            tile[...] = values.toarray() if is_sparse(values) else values

        return fill

    def gram(self, X: Any, *, out: NDArray | None = None) -> NDArray:
        """See `Kernel.gram`; the lower triangle of a square table is read."""
        X = as_matrix(X)
        if X.shape[0] != X.shape[1]:
            square = "A precomputed kernel must be a square matrix, one row and one column per sample."
            raise ValueError(f"{square} Got shape {X.shape} instead.")
        return super().gram(X, out=out)

    def apply(self, X: Any, Z: Any, coef: NDArray) -> NDArray:
        """The product of the cross matrix with the coefficients."""
        return np.asarray(as_matrix(X) @ coef)

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        return np.array(as_matrix(X).diagonal())


_MAKERS: Mapping[str, Callable[[float | None, int, float], Kernel]] = {
    "linear": lambda gamma, degree, coef0: Linear(),
    "rbf": lambda gamma, degree, coef0: Gaussian(gamma),
    "gaussian": lambda gamma, degree, coef0: Gaussian(gamma),
    "laplacian": lambda gamma, degree, coef0: Laplacian(gamma),
    "polynomial": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "poly": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "exponential": lambda gamma, degree, coef0: Exponential(gamma),
    "sigmoid": lambda gamma, degree, coef0: Sigmoid(gamma, coef0),
    "matern": lambda gamma, degree, coef0: Matern(gamma=gamma),
    "geometric": lambda gamma, degree, coef0: Geometric(),
    "arc_cosine": lambda gamma, degree, coef0: ArcCosine(),
    "bernoulli_spline": lambda gamma, degree, coef0: BernoulliSpline(),
    "exp_sine_squared": lambda gamma, degree, coef0: ExpSineSquared(),
    "precomputed": lambda gamma, degree, coef0: Precomputed(),
}

KERNEL_NAMES: tuple[str, ...] = tuple(_MAKERS)


def kernel(
    which: Any,
    *,
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1.0,
    function_parameters: Mapping[str, Any] | None = None,
) -> Kernel:
    """Give the kernel of a name, of a function of two rows, or the kernel itself.

    Parameters
    ----------
    which : str, Kernel or callable
        A kernel is returned as it is; a callable is wrapped in `Custom`; the names are "linear", "rbf" (or
        "gaussian"), "laplacian", "polynomial" (or "poly"), "exponential", "sigmoid", "matern" (ν = 3/2),
        "geometric", "arc_cosine" (ReLU), "bernoulli_spline" and "exp_sine_squared" (period 1), "precomputed".
    gamma, degree, coef0
        Parameters of the named kernel; those that it does not have are ignored, as in scikit-learn.
    function_parameters : mapping, optional
        Further arguments of a callable.

    Examples
    --------
    >>> from assay.kernels import kernel
    >>> kernel("rbf", gamma=0.5)
    Gaussian(gamma=0.5)
    """
    if isinstance(which, Kernel):
        return which
    if isinstance(which, str) and which in _MAKERS:
        return _MAKERS[which](gamma, degree, coef0)
    if callable(which):
        return Custom(which, dict(function_parameters or {}))
    names = ", ".join(map(repr, KERNEL_NAMES))
    raise refusal("kernel", "which", f"a Kernel, a callable or one of {names}", which)
