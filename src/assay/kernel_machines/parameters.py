"""Parameters that all kernel machines share: the kernel, and what its name leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay import parameters
from assay.kernels import KERNEL_NAMES, Kernel, kernel
from assay.kernels.tiles import is_sparse
from assay.parameters import Domain

KERNEL = Domain(
    f"a Kernel, a callable or one of {', '.join(map(repr, KERNEL_NAMES))}",
    lambda value: (
        isinstance(value, Kernel) or callable(value) or (isinstance(value, str) and value in KERNEL_NAMES)
    ),
    # Those that suit any table: "exponential" overflows on large values, "precomputed" wants a Gram matrix.
    ("linear", "rbf", "laplacian", "polynomial"),
)

KERNEL_DOMAINS: Mapping[str, Domain] = {
    "kernel": KERNEL,
    "gamma": parameters.nothing | parameters.one_of("scale", "auto") | parameters.real(above=0.0),
    "degree": parameters.integer(at_least=1),
    "coef0": parameters.real(),
    "kernel_params": parameters.nothing | Domain("a dict", lambda value: isinstance(value, dict)),
}


def kernel_of(model: Any, X: Any) -> Kernel:
    """The kernel that a model asks for, with what depends on the table filled in.

    A γ of "scale" is one over the number of features times the variance of all entries (1 where they are all
    alike), "auto" or None one over the number of features.
    """
    gamma = model.gamma
    if isinstance(gamma, str):
        gamma = _one_over_spread(X) if gamma == "scale" else None
    chosen = kernel(
        model.kernel,
        gamma=gamma,
        degree=model.degree,
        coef0=model.coef0,
        function_parameters=getattr(model, "kernel_params", None),
    )
    return chosen.for_features(X.shape[1])


def _one_over_spread(X: Any) -> float:
    if is_sparse(X):
        size = X.shape[0] * X.shape[1]
        mean = float(X.sum(dtype=np.float64)) / size
        variance = float(X.multiply(X).sum(dtype=np.float64)) / size - mean**2
    else:
        variance = float(X.var(dtype=np.float64))
    scale = X.shape[1] * variance
    return 1.0 / scale if scale > 0 and np.isfinite(1.0 / scale) else 1.0
