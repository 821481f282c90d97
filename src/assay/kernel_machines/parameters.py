"""Parameters that all kernel machines share: the kernel, and what its name leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from assay import parameters
from assay.kernel_machines.scale import kernel_of_rows
from assay.kernels import KERNEL_NAMES, Kernel
from assay.parameters import Domain
from assay.rows import MemoryRows

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


def kernel_of(model: Any, X: Any, weight: NDArray | None = None) -> Kernel:
    """The kernel that a model asks for, with what depends on the table in memory filled in.

    See `assay.kernel_machines.scale.kernel_of_rows`; a weight of 2 is a row that counts twice.
    """
    return kernel_of_rows(model, MemoryRows(X, None, weight))
