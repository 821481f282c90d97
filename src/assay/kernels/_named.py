"""Kernels by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay import parameters
from assay.kernels._custom import Custom
from assay.kernels._exponential import Exponential
from assay.kernels._gaussian import Gaussian
from assay.kernels._kernel import Kernel
from assay.kernels._laplacian import Laplacian
from assay.kernels._linear import Linear
from assay.kernels._polynomial import Polynomial
from assay.kernels._precomputed import Precomputed
from assay.kernels._sigmoid import Sigmoid

_Maker = Callable[[float | None, int, float], Kernel]

_MAKERS: Mapping[str, _Maker] = {
    "linear": lambda gamma, degree, coef0: Linear(),
    "rbf": lambda gamma, degree, coef0: Gaussian(gamma),
    "gaussian": lambda gamma, degree, coef0: Gaussian(gamma),
    "laplacian": lambda gamma, degree, coef0: Laplacian(gamma),
    "polynomial": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "poly": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "exponential": lambda gamma, degree, coef0: Exponential(gamma),
    "sigmoid": lambda gamma, degree, coef0: Sigmoid(gamma, coef0),
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
        "gaussian"), "laplacian", "polynomial" (or "poly"), "exponential", "sigmoid" and "precomputed".
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
    raise parameters.refusal("kernel", "which", f"a Kernel, a callable or one of {names}", which)
