"""Bases by capability: models that predict numbers, transform rows, have a density, or compare pairs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin, RegressorMixin, TransformerMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from assay import rows
from assay.base import Model
from assay.kernels import Precomputed
from assay.models import convergence
from assay.rows import Block, MemoryRows, Rows


class Regressor(RegressorMixin, Model):
    """Base of regressors: rows with a target, and what is left of it after the prediction."""

    def residuals(self, X: Any, y: Any) -> Any:
        """Observed minus predicted target."""
        return np.asarray(y) - self.predict(X)

    def _open_vector(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        """Validate parameters and data of a fit; the target becomes a vector."""
        return vector_target(self._open_rows(X, y, sample_weight, with_target=True), self)

    def _open_new_vector(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        """Validate data given after the fit in the same way."""
        return vector_target(self._open_new_rows(X, y, sample_weight, with_target=True), self)


def vector_target(data: Rows, owner: Any) -> Rows:
    """The same rows with a vector as target: one column is flattened, with a warning; several are refused."""
    if data.n_targets > 1:
        raise ValueError(
            f"{type(owner).__name__} predicts one number, so y must be one-dimensional. Got "
            f"{data.n_targets} columns instead; fit one model per column."
        )
    if isinstance(data, MemoryRows) and data.y is not None and data.y.ndim == 2:
        convergence.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel().",
            DataConversionWarning,
        )
        return MemoryRows(data.X, data.y[:, 0], data.weight)
    return data


def target_dimension(block: Block) -> int:
    """1 for a vector target, 2 for a matrix."""
    assert block.y is not None
    return int(block.y.ndim)


class Transformer(TransformerMixin, Model):
    """Base of transformers: the precision of the rows is kept, and features are named after the columns.

    A subclass gives `transform` and, from the names of the columns, those of the features (`_names`).
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Names of the features, made of the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns; those seen at fit, or x0, x1, … by default.
        """
        check_is_fitted(self)
        seen = getattr(self, "feature_names_in_", None)
        if input_features is None:
            names = [f"x{j}" for j in range(self.n_features_in_)] if seen is None else list(seen)
        else:
            names = [str(name) for name in input_features]
            if seen is not None and names != list(seen):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(names) != self.n_features_in_:
                raise ValueError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), "
                    f"got {len(names)}"
                )
        return np.array(self._names([str(name) for name in names]), dtype=object)

    @abstractmethod
    def _names(self, columns: list[str]) -> list[str]:
        """Names of the features, from those of the columns."""


class ThereAndBack(NamedTuple):
    """The map φ(x) = Wx + w₀ and a decompression ψ(z) = Bz + b₀."""

    forward: NDArray
    offset: NDArray
    backward: NDArray
    center: NDArray


class LinearMap(Model):
    """Transformers by a linear map that has a way back; a subclass gives `_there_and_back`."""

    def _there_and_back(self) -> ThereAndBack:
        raise NotImplementedError

    def inverse_transform(self, X: Any) -> NDArray:
        """Rows of which these are the coordinates, as far as the coordinates tell, in memory.

        Parameters
        ----------
        X : array of shape (n_samples, n_features_out)

        Returns
        -------
        rows : array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        maps, given = self._there_and_back(), np.asarray(X)
        if given.ndim != 2 or given.shape[1] != maps.backward.shape[1]:
            raise ValueError(
                f"{type(self).__name__}.inverse_transform takes rows of {maps.backward.shape[1]} "
                f"coordinates. Got shape {given.shape}."
            )
        return np.asarray(given @ maps.backward.T + maps.center)

    def reconstruction_error(self, X: Any, sample_weight: Any = None) -> float:
        """Mean squared distance of rows from what their coordinates give back, ‖x − ψ(φ(x))‖².

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset or Dask collection
        sample_weight : array of shape (n_samples,) or column name, optional

        Returns
        -------
        error : float
        """
        check_is_fitted(self)
        data = self._open_new_rows(X, None, sample_weight)
        lost = data.reduce(lost_in_block, self._there_and_back())
        return float(lost.squares / lost.weight)


class Lost(NamedTuple):
    """Weighted sum of squared distances, and the weight."""

    squares: float
    weight: float


def lost_in_block(block: Block, maps: ThereAndBack) -> Lost:
    """What the rows of a block lose on the way there and back."""
    rows = np.asarray(block.dense, dtype=np.float64)
    again = (rows @ maps.forward.T + maps.offset) @ maps.backward.T + maps.center
    squares = np.einsum("ij,ij->i", rows - again, rows - again)
    return Lost(float(block.weights @ squares), float(block.weights.sum()))


class Density(DensityMixin, Model):
    """Base of densities: a subclass gives the log-density of rows and, where it can, draws rows."""

    @abstractmethod
    def score_samples(self, X: Any) -> Any:
        """Logarithm of the density at each row: an array, or a lazy Dask array for Dask input."""

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of the rows; larger is better."""
        return float(np.mean(np.asarray(self.score_samples(X))))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Rows drawn from the fitted law, where the model can."""
        raise NotImplementedError(f"{type(self).__name__} has a density but draws no rows.")


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
    """Refuse rows outside memory to a method that needs them at once; `instead` names what to take for them.

    A model says why in `_memory_reason`; by default it compares all pairs.
    """
    if rows.is_external(X):
        model._check_parameters()
        reason = getattr(model, "_memory_reason", "compares all pairs of rows")
        raise ValueError(
            f"{type(model).__name__} {reason} and does not take rows outside memory: "
            f"{instead}, or bring the rows into memory as an array."
        )
