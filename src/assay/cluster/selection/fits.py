"""One fit for each value of a parameter, and what the criteria ask of them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from assay.cluster.scores.internal import Dispersion, measure_partition
from assay.parameters import refusal
from assay.rows import is_external

OWNER = "select_k"


class Trial(NamedTuple):
    """An estimator fitted at one value: its labels, and the rows as its last step saw them."""

    model: Any
    labels: NDArray
    X: Any

    @property
    def n_clusters(self) -> int:
        """Number of clusters, noise not counted."""
        return len(np.unique(self.labels[self.labels != -1]))

    @property
    def n_noise(self) -> int:
        """Rows in no cluster."""
        return int(np.count_nonzero(self.labels == -1))


class Study:
    """The fits of one selection, made once and measured as often as a criterion likes."""

    def __init__(
        self, estimator: Any, X: Any, values: Sequence[Any], parameter: str, weight: Any, random: Generator
    ) -> None:
        self.estimator = estimator
        self.X = X if hasattr(X, "shape") or is_external(X) else np.asarray(X)
        self.values, self.parameter = list(values), parameter
        self.sample_weight, self.random = weight, random
        if weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            name = type(self.estimator).__name__
            raise ValueError(f"{name}.fit takes no sample_weight: select_k cannot weigh the rows for it.")

    @property
    def is_pairwise(self) -> bool:
        """Whether X holds dissimilarities or similarities instead of features."""
        last = self.estimator[-1] if isinstance(self.estimator, Pipeline) else self.estimator
        given = [getattr(last, name, None) for name in ("metric", "affinity")]
        named = any(isinstance(value, str) and value == "precomputed" for value in given)
        return named or bool(get_tags(self.estimator).input_tags.pairwise)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The values as numbers."""
        return np.asarray(self.values, dtype=float)

    @cached_property
    def trials(self) -> list[Trial]:
        """One fit on all rows for each value."""
        return [self.fit(value, self.X, int(self.random.integers(2**31 - 1))) for value in self.values]

    @cached_property
    def dispersions(self) -> list[Dispersion]:
        """Weights, means and inertias of the clusters of each trial; NaN where all is noise."""
        nothing = Dispersion(np.zeros(1), np.zeros((1, 1)), np.full(1, np.nan))

        def measured(trial: Trial) -> Dispersion:
            return measure_partition(OWNER, trial.X, trial.labels, self.sample_weight)[0]

        return [measured(trial) if trial.n_clusters else nothing for trial in self.trials]

    def fit(self, value: Any, X: Any, seed: int) -> Trial:
        """Fit a copy at one value of the parameter; the seed is for random states of None."""
        model = clone(self.estimator).set_params(**{self.parameter: value})
        unseeded = (name for name, given in model.get_params(deep=True).items() if given is None)
        model.set_params(**{name: seed for name in unseeded if name.rpartition("__")[2] == "random_state"})
        weight = self.sample_weight if X is self.X else None
        model.fit(X) if weight is None else model.fit(X, sample_weight=weight)
        last, seen = model, X
        if isinstance(model, Pipeline):
            last = model[-1]
            seen = model[:-1].transform(X) if len(model) > 1 else X
        labels = getattr(last, "labels_", None)
        labels = model.predict(X) if labels is None else labels
        return Trial(model, np.asarray(labels), seen)

    def array(self, criterion: str) -> NDArray:
        """The rows as a dense array, for criteria that draw from them."""
        self.require_memory(criterion)
        if self.is_pairwise:
            raise ValueError(
                f"select_k with criterion={criterion!r} needs the features of the rows, not their "
                "dissimilarities; 'silhouette' and 'stability' take those."
            )
        X = self.X.toarray() if hasattr(self.X, "toarray") else np.asarray(self.X)
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)

    def require_memory(self, criterion: str) -> None:
        """Refuse rows outside memory for criteria that take pairs or samples of them."""
        if is_external(self.X):
            raise ValueError(
                f"select_k with criterion={criterion!r} takes pairs or samples of rows, in memory; "
                "'elbow', 'calinski_harabasz', 'davies_bouldin', 'penalised' and 'bic' walk rows outside it."
            )

    def refuse_weight(self, criterion: str) -> None:
        """Refuse weights where repetition has no meaning."""
        if self.sample_weight is not None:
            raise ValueError(
                f"select_k with criterion={criterion!r} takes no sample_weight: repeat the rows instead."
            )


def open_estimator(estimator: Any, parameter: str) -> Any:
    """An instance with that parameter."""
    made = estimator() if inspect.isclass(estimator) else estimator
    if not hasattr(made, "fit") or not hasattr(made, "get_params"):
        raise refusal(OWNER, "estimator", "a clusterer or its class", estimator)
    known = made.get_params(deep=True)
    if parameter not in known:
        names = ", ".join(repr(name) for name in sorted(known))
        raise refusal(OWNER, "parameter", f"a parameter of {type(made).__name__} ({names})", parameter)
    return made
