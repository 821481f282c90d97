"""What methods of all pairs of rows share: rows in memory, or a matrix that already compares them."""

from __future__ import annotations

from typing import Any, ClassVar

from assay import rows
from assay.base import Model
from assay.kernels import Precomputed
from assay.rows import MemoryRows


class PairwiseModel(Model):
    """Base of models that compare all pairs of rows, or are given the matrix of the comparisons.

    The parameter named by `_comparison` ("metric" or "kernel") says how; with "precomputed", `X` is the
    square matrix itself, and scikit-learn's tags say so. Such a model needs rows in memory: `_open_pairs`
    refuses others in a sentence that names what to take instead.
    """

    _comparison: ClassVar[str] = "metric"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        given = getattr(self, self._comparison)
        return isinstance(given, Precomputed) or (isinstance(given, str) and given == "precomputed")

    def _require_memory(self, X: Any, *, instead: str) -> None:
        require_memory(self, X, instead=instead)

    def _open_pairs(
        self, X: Any, sample_weight: Any = None, *, instead: str, y: Any = None, with_target: bool = False
    ) -> MemoryRows:
        """Validate parameters and training data, which must be in memory."""
        self._require_memory(X, instead=instead)
        data: Any = self._open_rows(X, y, sample_weight, with_target=with_target)
        return data

    def _open_new_pairs(
        self, X: Any, sample_weight: Any = None, *, y: Any = None, with_target: bool = False
    ) -> MemoryRows:
        """The rows of the fit again, in memory, to certify on."""
        self._require_memory(X, instead="certify on a sample of them")
        data: Any = self._open_new_rows(X, y, sample_weight, with_target=with_target)
        return data


def require_memory(model: Any, X: Any, *, instead: str) -> None:
    """Refuse rows outside memory to a method of all pairs; `instead` names what to take for them."""
    if rows.is_external(X):
        model._check_parameters()
        raise ValueError(
            f"{type(model).__name__} compares all pairs of rows and does not take rows outside memory: "
            f"{instead}, or bring the rows into memory as an array."
        )
