"""What densities of this room share: densities and their logarithms of rows wherever they live, intervals."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.utils.validation import check_is_fitted

from assay.models import Density
from assay.parameters import integer, real, require
from assay.randomness import RandomState, generator
from assay.rows import Block

Array = NDArray[np.float64]


class PdfInterval(NamedTuple):
    """An estimate of a density at each row, with an interval around it."""

    pdf: Array
    low: Array
    high: Array


class RoomDensity(Density):
    """Base of the densities of this room.

    A subclass gives `_evaluator()`, a function of rows (n, d) to densities that travels to other processes,
    and `_draw(n_samples, rng)`.
    """

    _accepts_sparse = False

    def pdf(self, X: Any) -> Any:
        """Density at each row: an array, or a lazy Dask array for Dask input."""
        check_is_fitted(self)
        data = self._open_new_rows(X)
        return data.map(_pdf_of_block, self._evaluator(), dtype=data.dtype)

    def log_density(self, X: Any) -> Any:
        """Logarithm of the density at each row; −∞ where the density is zero."""
        check_is_fitted(self)
        data = self._open_new_rows(X)
        return data.map(_log_of_block, self._evaluator(), dtype=data.dtype)

    def score_samples(self, X: Any) -> Any:
        """Logarithm of the density at each row; `log_density` under scikit-learn's name."""
        return self.log_density(X)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> Array:
        """Rows drawn from the estimate.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, Generator, SeedSequence, RandomState or None, default=None

        Returns
        -------
        X : array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        require(type(self).__name__, integer(at_least=1), n_samples=n_samples)
        return self._draw(n_samples, generator(random_state))

    @abstractmethod
    def _evaluator(self) -> Any:
        """An object with `pdf(rows)` and `log_pdf(rows)`."""

    @abstractmethod
    def _draw(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Rows of the estimate."""

    def _quantile_of(self, coverage: float) -> float:
        """Z of a two-sided normal interval."""
        require(type(self).__name__, COVERAGE, coverage=coverage)
        return normal_quantile(coverage)


SMALLEST_SPREAD, LARGEST_SPREAD = 1e-140, 1e140
MOST_COLUMNS = 150

COVERAGE = real(above=0.0, at_most=1.0 - 1e-15)


def normal_quantile(coverage: float) -> float:
    """Z with P(|N(0, 1)| ≤ z) = coverage."""
    return float(math.sqrt(2.0) * special.erfinv(coverage))


def check_spread(owner: Any, low: Array, high: Array) -> None:
    """Refuse columns whose squared deviations are beyond the range of floats."""
    with np.errstate(over="ignore"):
        spread = np.asarray(high, dtype=np.float64) - np.asarray(low, dtype=np.float64)
    wrong = (spread > LARGEST_SPREAD) | ((spread > 0.0) & (spread < SMALLEST_SPREAD))
    if wrong.any():
        name, size = type(owner).__name__, float(spread[np.argmax(wrong)])
        raise ValueError(
            f"{name} needs columns that range over {SMALLEST_SPREAD:g} to {LARGEST_SPREAD:g}. Got one that "
            f"ranges over {size:g}; rescale it."
        )


def check_volume(owner: Any, widths: Any) -> None:
    """Refuse widths whose product, or its inverse, is beyond the range of floats, and too many columns."""
    sizes = np.atleast_1d(np.asarray(widths, dtype=np.float64))
    if len(sizes) > MOST_COLUMNS:
        raise ValueError(
            f"{type(owner).__name__} takes at most {MOST_COLUMNS} columns: heights of more are beyond "
            f"floats. Got {len(sizes)}; reduce them first."
        )
    if not abs(float(np.log(sizes).sum())) < 600.0:
        raise ValueError(
            f"{type(owner).__name__} has heights beyond the range of floats for {len(sizes)} columns with "
            f"widths of about {float(np.median(sizes)):.3g}; rescale the columns."
        )


def _pdf_of_block(block: Block, evaluator: Any) -> Array:
    return evaluator.pdf(np.asarray(block.X, dtype=np.float64))


def _log_of_block(block: Block, evaluator: Any) -> Array:
    return evaluator.log_pdf(np.asarray(block.X, dtype=np.float64))


def log_of(values: Array) -> Array:
    """Logarithms, −∞ of zero without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(values)
