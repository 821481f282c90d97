"""Features of a kernel in the place of the kernel: which they are, and the rows seen through them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from assay import parameters
from assay.base import IterativeModel
from assay.kernel_machines.features.base import KernelFeatures, mapped_block
from assay.kernel_machines.features.nystroem import Nystroem
from assay.kernel_machines.scale import kernel_of_rows
from assay.kernels import Gaussian, Kernel, Laplacian
from assay.parameters import Domain
from assay.rows import Block, MappedRows, MemoryRows, Rows

APPROXIMATION = (
    parameters.nothing
    | parameters.integer(at_least=1)
    | Domain("Nystroem or RandomFourierFeatures", lambda value: isinstance(value, KernelFeatures))
)

HELD = 2**26
"""Features that are held in memory (512 MiB); more are made anew in every walk."""


def features_of_kernel(model: Any, kernel: Kernel) -> KernelFeatures:
    """The transformer that a model's `approximation` asks for, with the kernel of the model."""
    given = model.approximation
    if not isinstance(given, KernelFeatures):
        draws = getattr(model, "random_state", None)
        return Nystroem(kernel, n_components=int(given), random_state=draws)
    if isinstance(given, Nystroem):
        return clone(given).set_params(kernel=kernel)
    if not isinstance(kernel, (Gaussian, Laplacian)):
        raise ValueError(
            f"{type(given).__name__} draws the frequencies of the Gaussian or the Laplacian kernel. Got "
            f"{kernel} instead; take Nystroem."
        )
    name = "rbf" if isinstance(kernel, Gaussian) else "laplacian"
    return clone(given).set_params(kernel=name, gamma=kernel.gamma)


class ApproximatesKernel(IterativeModel):
    """Base of models of a kernel that may be fitted on features of it."""

    approximation: Any = None
    _is_precomputed: Any
    kernel_: Kernel
    features_: KernelFeatures
    feature_coef_: NDArray
    intercept_: Any

    @property
    def _is_approximate(self) -> bool:
        """Whether the last fit was one on features."""
        return "features_" in self.__dict__

    def _forget(self) -> None:
        """Drop what an earlier fit left: an exact fit and one on features have other attributes."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            del self.__dict__[name]

    def _fit_features(self, data: Rows) -> Rows:
        """Choose kernel and features by the rows; the rows as these show them."""
        if self._is_precomputed:
            raise ValueError(
                f"{type(self).__name__} with 'approximation' needs rows, not a precomputed matrix."
            )
        self.kernel_ = kernel_of_rows(self, data)
        self.features_ = features_of_kernel(self, self.kernel_).fit(only_features(data))
        return self._featured(data)

    def _featured(self, data: Rows) -> Rows:
        """The features of the rows: in memory where they are few, else made anew in every walk."""
        mapping = self.features_._map()
        if isinstance(data, MemoryRows) and data.shape[0] * mapping.width <= HELD:
            held = np.asarray(self.features_.transform(data.X))
            return MemoryRows(held, data.y, data.weight)
        return MappedRows(data, mapped_block, mapping, width=mapping.width)

    def _values_on_features(self, X: Any, after: Any, *, dtype: Any, width: int | None) -> Any:
        """What is made of the scores of new rows: an array, or a lazy Dask array for Dask input."""
        intercept = np.atleast_1d(self.intercept_).astype(self.feature_coef_.dtype)
        mapped = self.features_._map(), self.feature_coef_, intercept
        return self._open_new_rows(X).map(after_features, mapped, after, dtype=dtype, width=width)


def only_features(data: Rows) -> Any:
    """A table as features are fitted to: an array, or open rows, whose target is left alone."""
    return data.X if isinstance(data, MemoryRows) else data


def watched(watch: Any) -> Any:
    """What tells a fit's watch of each step."""

    def report(*point: Any, **more: Any) -> bool:
        return bool(watch.iteration(dict))

    return report


def feature_values(block: Block, mapping: Any, coefs: NDArray, intercept: NDArray) -> NDArray:
    """Values of every machine at the rows of a block, from their features."""
    return (mapping(block.X) @ coefs.T + intercept).astype(intercept.dtype, copy=False)


def after_features(block: Block, fitted: tuple[Any, ...], after: Any) -> NDArray:
    """What is made of the values of machines on features at the rows of a block."""
    return np.asarray(after(feature_values(block, *fitted)))


def first_value(values: NDArray) -> NDArray:
    """The values of a model of one score."""
    return values[:, 0]
