"""When the rounds of boosting end, and which rows and columns their trees are grown on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.parameters import Domain
from assay.trees.boosting.table import Grown

SHARE = parameters.real(above=0.0, at_most=1.0)

STOPPING_DOMAINS = {
    "validation_fraction": parameters.nothing
    | Domain(
        "a number above 0 and below 1",
        lambda value: parameters.real(above=0.0).contains(value) and value < 1,
    ),
    "n_iter_no_change": parameters.integer(at_least=1),
    "tol": parameters.real(at_least=0.0),
    "scoring": parameters.nothing | parameters.function | Domain("a name", lambda v: isinstance(v, str)),
}


@dataclass(frozen=True, slots=True)
class Stopping:
    """When boosting ends before its last round: rows that trees are not grown on no longer gain.

    Given as `early_stopping` of boosted trees, it takes the place of the four parameters of the same names.

    Parameters
    ----------
    validation_fraction : float or None, default=0.1
        Share of the rows held out; None: the training loss decides.
    n_iter_no_change : int, default=10
        Rounds without progress that end the fit.
    tol : float, default=1e-7
        Least fall of the loss that counts as progress, as a share of the loss of the constant that boosting
        starts from; of a score by `scoring`, its least rise.
    scoring : str, callable or None, default="loss"
        What the rows held out are judged by after each round: the loss, or a scorer of scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from assay.trees import HistGradientBoostingClassifier, Stopping
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rule = Stopping(n_iter_no_change=3, tol=1e-3)
    >>> model = HistGradientBoostingClassifier(early_stopping=rule, random_state=0).fit(X, y)
    >>> model.n_iter_ < 100
    True
    """

    validation_fraction: float | None = 0.1
    n_iter_no_change: int = 10
    tol: float = 1e-7
    scoring: Any = "loss"

    def __post_init__(self) -> None:
        parameters.check("Stopping", asdict(self), STOPPING_DOMAINS)

    @property
    def by_scorer(self) -> bool:
        """Whether a scorer of scikit-learn judges the rounds, not the loss."""
        return self.scoring not in (None, "loss")


@dataclass(frozen=True, slots=True)
class Sampling:
    """What each tree of boosting is grown on: rows and columns drawn anew for every tree.

    Given as `subsample` of boosted trees. The draws follow the seed of the fit: `certify` draws them again.

    Parameters
    ----------
    rows : float, default=1.0
        Share of the rows.
    columns : float, default=1.0
        Share of the columns, the same for all nodes of a tree; `max_features` draws among them node by node.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.trees import HistGradientBoostingRegressor, Sampling
    >>> X, y = diabetes(return_X_y=True)
    >>> model = HistGradientBoostingRegressor(subsample=Sampling(rows=0.8, columns=0.5), random_state=0)
    >>> model.fit(X, y).certify(X, y).holds
    True
    """

    rows: float = 1.0
    columns: float = 1.0

    def __post_init__(self) -> None:
        parameters.check("Sampling", asdict(self), {"rows": SHARE, "columns": SHARE})

    def draw_columns(self, n_columns: int, state: int) -> NDArray[np.bool_]:
        """The columns of the tree whose draws begin with `state`."""
        n_drawn = max(1, ceil(self.columns * n_columns))
        return np.random.default_rng(state).permutation(n_columns) < n_drawn


A_STOPPING = Domain("a Stopping", lambda value: isinstance(value, Stopping))
A_SAMPLING = Domain("a Sampling", lambda value: isinstance(value, Sampling))


class Judge(NamedTuple):
    """When to stop before the last round: `patience` rounds that lower the loss by less than `tol`.

    `score` gives the loss of held-out rows after each round, given the new trees and values; None: that of
    the mean of the training rows. `seen` are the losses of the rounds that were there before.
    """

    patience: int
    tol: float
    score: Callable[[list[Grown], list[NDArray]], float] | None
    seen: list[float]

    def settled(self, losses: list[float]) -> bool:
        """Whether none of the last losses is below the one before them by more than the tolerance."""
        if len(losses) <= self.patience:
            return False
        reference = losses[-self.patience - 1] - self.tol
        return all(loss >= reference for loss in losses[-self.patience :])
