"""The Gram matrix of the training rows, checked to be one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernel_machines._gram_system import GramSystem
from assay.kernels import Custom, Kernel, Precomputed, asymmetry

N_PROBED = 16
# Matrices of doubles are often made from single precision: that much is rounding, not a negative eigenvalue.
SINGLE_ROUNDING = 1e-6


def training_gram(kernel: Kernel, X: Any) -> NDArray:
    """The Gram matrix of the rows, or one sentence why there is none."""
    if isinstance(kernel, Precomputed):
        X = X if isinstance(X, np.ndarray) else X.toarray()
        if X.shape[0] == X.shape[1]:
            _require_symmetric(X, "The precomputed kernel")
    elif isinstance(kernel, Custom):
        probe = X[:N_PROBED]
        _require_symmetric(kernel.cross(probe, probe), "The kernel function")
    # A positive semi-definite matrix is nowhere larger than on its diagonal.
    if not isinstance(kernel, Custom) and not np.isfinite(kernel.diagonal(X)).all():
        raise _overflow(kernel)
    gram = kernel.gram(X)
    if isinstance(kernel, Custom) and not np.isfinite(gram).all():
        raise _overflow(kernel)
    return gram


def _overflow(kernel: Kernel) -> ValueError:
    return ValueError(
        f"The kernel {kernel_name(kernel)} overflows on these rows or is not a number: scale the columns "
        "(StandardScaler) or give a smaller 'gamma'."
    )


def require_psd(system: GramSystem, kernel: Kernel) -> None:
    """Raise one sentence, with the curvature found, if the matrix is not positive semi-definite."""
    eps, tiny = (float(getattr(np.finfo(system.diagonal.dtype), name)) for name in ("eps", "tiny"))
    n_samples = system.shape[0]
    scale = float(np.abs(system.diagonal).max())
    jitter = max(scale * max(10.0 * n_samples * eps, SINGLE_ROUNDING), tiny)
    order = system.factor(jitter)
    if order:
        _, curvature = system.negative_direction(order)
        what = "precomputed kernel" if isinstance(kernel, Precomputed) else f"kernel {kernel_name(kernel)}"
        raise ValueError(
            f"The {what} is not positive semi-definite: vᵀKv = {curvature:.3g} for a unit vector v; use a "
            "positive semi-definite kernel, or add a multiple of the identity to the matrix."
        )
    system.restore()


def kernel_name(kernel: Kernel) -> str:
    """Short name for a sentence."""
    if isinstance(kernel, Custom):
        return getattr(kernel.function, "__name__", repr(kernel.function))
    return type(kernel).__name__


def _require_symmetric(matrix: NDArray, what: str) -> None:
    found, size = asymmetry(matrix), float(np.abs(matrix).max(initial=0.0))
    if found > float(np.sqrt(np.finfo(matrix.dtype).eps)) * size:
        raise ValueError(
            f"{what} is not symmetric: k(x, z) and k(z, x) differ by up to {found:.3g}; symmetrise it "
            "((K + Kᵀ)/2) or check how it was computed."
        )
