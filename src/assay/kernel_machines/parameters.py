"""Parameters of kernels that all kernel machines share, and the kernel that they mean."""

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
    """The kernel that a model's parameters mean for the rows of a table in memory.

    "scale" is 1/(n_features · Var X) over all entries, 1 where they do not vary; "auto" and None are
    1/n_features.
    """
    scales: Any = {"degree": model.degree, "coef0": model.coef0, "gamma": model.gamma}
    if isinstance(model.gamma, str):
        scales["gamma"] = 1.0 / X.shape[1] if model.gamma == "auto" else scale_of(X)
    made = kernel(model.kernel, **scales, function_parameters=model.kernel_params)
    return made.for_features(X.shape[1])


def scale_of(X: Any) -> float:
    """1/(n_features · Var X) over all entries of a table; 1 where they do not vary."""
    if is_sparse(X):
        mean = float(X.mean())
        variance = float(X.multiply(X).mean()) - mean**2
    else:
        variance = float(np.var(X, dtype=np.float64))
    spread = X.shape[1] * variance
    return 1.0 / spread if spread > 0 and np.isfinite(1.0 / spread) else 1.0
