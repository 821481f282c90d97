"""What a split gains: every criterion is the cost of a node as a function of sums of per-row statistics.

The first sum is always the weight W of the rows. Trees of classes have the weight of each class behind it,
all others the sum S of a statistic and the sum H of a curvature (the weight again where there is none). A
split is worth

    gain = cost(node) − cost(left) − cost(right),

which is never negative for the costs here. A criterion hands compiled loops its *form*: a NamedTuple of its
parameters, whose class says which criterion it is (as losses do with their row forms).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from assay.loops import REORDER, inlined, log

Form = TypeVar("Form", bound=tuple[Any, ...])

_COSTS: dict[type, Any] = {}

OPTIONS: Any = {
    "forceinline": True,
    "nogil": True,
    "fastmath": set(REORDER),
    "error_model": "numpy",
}


def cost_of(form: type[Form]) -> Callable[[Callable[..., Any]], Any]:
    """Register the cost of a criterion: a function of (form, sums) that gives a number."""

    def register(cost: Callable[..., Any]) -> Any:
        _COSTS[form] = cost
        return inlined(cost)

    return register


def cost(form: Any, sums: NDArray) -> float:
    """Cost of a node with these sums; for compiled loops only."""
    raise NotImplementedError("cost is called inside compiled loops.")


@overload(cost, jit_options=OPTIONS)
def _chosen_cost(form, sums):  # type: ignore[no-untyped-def]
    return _COSTS[form.instance_class]


class Gini(NamedTuple):
    """W (1 − Σ p_k²): the error of a label drawn from the node, times its weight."""

    classes: bool = True


@cost_of(Gini)
def gini_cost(form, sums):  # type: ignore[no-untyped-def]
    """W − Σ W_k² / W."""
    total = sums[0]
    if total <= 0.0:
        return 0.0
    squares = 0.0
    for k in range(1, sums.shape[0]):
        squares += sums[k] * sums[k]
    return total - squares / total


class Entropy(NamedTuple):
    """−W Σ p_k log p_k: the negative log-likelihood of the rows under the shares of the node."""

    classes: bool = True


@cost_of(Entropy)
def entropy_cost(form, sums):  # type: ignore[no-untyped-def]
    """W log W − Σ W_k log W_k."""
    total = sums[0]
    if total <= 0.0:
        return 0.0
    result = 0.0
    for k in range(1, sums.shape[0]):
        if sums[k] > 0.0:
            result -= sums[k] * log(sums[k] / total)
    return result


class Misclassification(NamedTuple):
    """W (1 − max p_k): the weight that the commonest class gets wrong."""

    classes: bool = True


@cost_of(Misclassification)
def misclassification_cost(form, sums):  # type: ignore[no-untyped-def]
    """W − max W_k."""
    largest = 0.0
    for k in range(1, sums.shape[0]):
        largest = max(largest, sums[k])
    return sums[0] - largest


class Newton(NamedTuple):
    """−S² / (H + λ): twice what a Newton step in the node gains; squared error where H is the weight.

    The statistic is the negative slope of the loss, or the target less any constant: the sum of squares is
    left out of the cost, being the same before and after a split.
    """

    l2: float = 0.0
    classes: bool = False


@cost_of(Newton)
def newton_cost(form, sums):  # type: ignore[no-untyped-def]
    """−S² / (H + λ)."""
    size = sums[2] + form.l2
    return -sums[1] * sums[1] / size if size > 0.0 else 0.0


class PoissonDeviance(NamedTuple):
    """−S log(S / W): half the Poisson deviance of the node, up to a term that no split changes."""

    classes: bool = False


@cost_of(PoissonDeviance)
def poisson_cost(form, sums):  # type: ignore[no-untyped-def]
    """−S log(S / W), infinite where a node has no count: its mean 0 would make any count impossible."""
    if sums[1] <= 0.0 or sums[0] <= 0.0:
        return np.inf
    return -sums[1] * log(sums[1] / sums[0])


def impurity(form: Any, sums: NDArray, squares: NDArray | None = None) -> NDArray:
    """Cost per unit of weight of many nodes, one row of sums each.

    Parameters
    ----------
    form : NamedTuple
        One of this file.
    sums : array of shape (n_nodes, n_sums)
    squares : array of shape (n_nodes,), optional
        Σ w t² of the statistic t of the rows: what the squared error adds to the Newton cost.

    Returns
    -------
    impurity : array of shape (n_nodes,)
        Gini index, entropy, share of mistakes, variance, or half the mean Poisson deviance less the part that
        depends on the rows alone.
    """
    weight = np.where(sums[:, 0] > 0, sums[:, 0], 1.0)
    if form.classes:
        shares = sums[:, 1:] / weight[:, np.newaxis]
        if isinstance(form, Gini):
            return 1.0 - np.sum(shares**2, axis=1)
        if isinstance(form, Misclassification):
            return 1.0 - shares.max(axis=1)
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        return -np.sum(shares * logs, axis=1)
    if isinstance(form, PoissonDeviance):
        mean = np.where(sums[:, 1] > 0, sums[:, 1] / weight, 1.0)
        return -sums[:, 1] / weight * np.log(mean)
    size = np.where(sums[:, 2] + form.l2 > 0, sums[:, 2] + form.l2, 1.0)
    rest = 0.0 if squares is None else squares
    return np.maximum((rest - sums[:, 1] ** 2 / size) / weight, 0.0 if squares is not None else -np.inf)
