"""Whether a matrix is symmetric positive semi-definite, with the numbers that decide it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels._kernel import Kernel
from assay.kernels._tiles import asymmetry


class Definiteness(NamedTuple):
    """Result of `is_psd`; true in a condition when the matrix is symmetric positive semi-definite."""

    psd: bool
    min_eigenvalue: float
    max_eigenvalue: float
    asymmetry: float
    tolerance: float
    direction: NDArray
    """A unit vector v with vᵀKv = min_eigenvalue."""

    def __bool__(self) -> bool:
        return self.psd


def is_psd(K: Any, *, tolerance: float | None = None) -> Definiteness:
    """Whether a square matrix is symmetric positive semi-definite up to rounding.

    Parameters
    ----------
    K : array of shape (n, n)
    tolerance : float, optional
        Relative to the largest eigenvalue in absolute value; ten times n times the machine precision by
        default.

    Returns
    -------
    result : Definiteness
        Its smallest eigenvalue, a direction that reaches it, and the largest |K_ij − K_ji|.

    Examples
    --------
    >>> from assay.kernels import is_psd
    >>> found = is_psd([[1.0, 2.0], [2.0, 1.0]])
    >>> bool(found), round(found.min_eigenvalue, 12)
    (False, -1.0)
    """
    K = np.asarray(K)
    K = K if K.dtype in (np.float32, np.float64) else K.astype(np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] == 0:
        raise ValueError(f"is_psd needs a square matrix. Got shape {K.shape} instead.")
    relative = 10.0 * K.shape[0] * float(np.finfo(K.dtype).eps) if tolerance is None else tolerance
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    allowed = relative * float(np.abs(values).max())
    skew = asymmetry(K)
    return Definiteness(
        psd=bool(values[0] >= -allowed and skew <= allowed),
        min_eigenvalue=float(values[0]),
        max_eigenvalue=float(values[-1]),
        asymmetry=skew,
        tolerance=allowed,
        direction=vectors[:, 0],
    )


def check_psd(kernel: Kernel, X: Any, *, tolerance: float | None = None) -> Definiteness:
    """Whether the Gram matrix of a kernel on these rows is symmetric positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Gaussian, check_psd
    >>> bool(check_psd(Gaussian(), np.arange(10.0)[:, None]))
    True
    """
    # All pairs in both orders: a Gram matrix is symmetric by construction, the function may not be.
    return is_psd(kernel.cross(X, X), tolerance=tolerance)
