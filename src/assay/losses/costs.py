"""Decisions from probabilities of classes: the most probable class, a threshold, the least expected cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.parameters import Domain, ParameterError

Ties = Literal["first", "last"]

COSTS = Domain(
    "None, or a square matrix of finite costs, one row per true class", lambda value: _is_square(value)
)


def _is_square(value: Any) -> bool:
    if value is None:
        return True
    try:
        table = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return table.ndim == 2 and table.shape[0] == table.shape[1] > 1 and bool(np.isfinite(table).all())


def zero_one(n_classes: int) -> NDArray[np.float64]:
    """Costs 1 of every mistake."""
    return 1.0 - np.eye(n_classes)


def threshold_costs(threshold: float) -> NDArray[np.float64]:
    """Costs of two classes under which the second is chosen where its probability is above a threshold.

    A missed second class costs 1 − t, a false one t.
    """
    return np.array([[0.0, threshold], [1.0 - threshold, 0.0]])


def expected_costs(posterior: NDArray, costs: NDArray) -> NDArray:
    """Expected cost Σ_l P(l | x) C(l, k) of each decision k, one row per point."""
    return np.asarray(posterior @ np.asarray(costs, dtype=posterior.dtype))


def least_cost(posterior: NDArray, costs: NDArray | None = None, *, ties: Ties = "first") -> NDArray[np.intp]:
    """The decision argmin_k Σ_l P(l | x) C(l, k), as a place among the classes, one per row.

    Parameters
    ----------
    posterior : array of shape (n_samples, n_classes)
        Probabilities P(l | x).
    costs : array of shape (n_classes, n_classes), optional
        C(l, k): what it costs to say k where l is true; 1 for each mistake by default, so that the most
        probable class is chosen.
    ties : {"first", "last"}, default="first"
        Which of several best decisions is taken. Of two classes, "first" is 1{η > ½} and "last" 1{η ≥ ½}.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses.costs import least_cost
    >>> posterior = np.array([[0.8, 0.2], [0.5, 0.5]])
    >>> least_cost(posterior), least_cost(posterior, ties="last")
    (array([0, 0]), array([0, 1]))
    >>> least_cost(posterior, np.array([[0.0, 1.0], [9.0, 0.0]]))
    array([1, 1])
    """
    scores = posterior if costs is None else -expected_costs(posterior, costs)
    if ties == "first":
        return np.argmax(scores, axis=1)
    return scores.shape[1] - 1 - np.argmax(scores[:, ::-1], axis=1)


def bayes_classifier(
    posterior: Callable[[Any], ArrayLike],
    costs: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    ties: Ties = "first",
) -> Callable[[Any], NDArray]:
    """Build the rule of least expected cost from a posterior.

    Parameters
    ----------
    posterior : callable
        From rows to probabilities: one column per class, or those of the second of two classes.
    costs, ties
        As in `least_cost`.
    classes : array-like of shape (n_classes,), optional
        Labels to answer; places by default.

    Returns
    -------
    rule : callable
        From rows to labels.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses.costs import bayes_classifier
    >>> def eta(X):
    ...     return 1 / (1 + np.exp(-np.asarray(X)[:, 0]))
    >>> bayes_classifier(eta, classes=["no", "yes"])([[0.1], [-2.0]]).tolist()
    ['yes', 'no']

    References
    ----------
    Wei §7.1; Rudi & Şimşekli §6.2.1; Douc & Le Corff §3.1.
    """
    table = None if costs is None else np.asarray(costs, dtype=np.float64)
    labels = None if classes is None else np.asarray(classes)

    def rule(X: Any) -> NDArray:
        places = least_cost(two_columns(posterior(X)), table, ties=ties)
        return places if labels is None else labels[places]

    return rule


def two_columns(probabilities: ArrayLike) -> NDArray:
    """Probabilities of the classes, one column each, from those of the second of two or from all."""
    given = np.asarray(probabilities)
    given = given if given.dtype.kind == "f" else given.astype(np.float64)
    if given.ndim == 1:
        return np.column_stack([1.0 - given, given])
    if given.ndim != 2 or given.shape[1] < 2:
        raise ParameterError(
            "Probabilities must be one per row, of the second class, or one column per class. "
            f"Got shape {given.shape} instead."
        )
    return given
