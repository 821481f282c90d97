"""What models of the law of the rows share: log-densities of rows, and rows drawn anew."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import DensityMixin

from assay.base import Model


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
