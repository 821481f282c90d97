"""Machines along a path of costs C, and the choice of C and of the width of the kernel by folds.

Squared distances of all rows serve every width, and the Gram matrix of a width every fold. Along C each
solution starts from the one before: it stays in the box as the box grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from assay import parameters
from assay.kernel_machines.parameters import kernel_of
from assay.kernel_machines.support_vectors.machine import MachineData, solve_machine
from assay.kernels import Kernel, Precomputed
from assay.kernels.stationary import Stationary
from assay.kernels.tiles import squared_distances_of
from assay.models.selection import (
    Criterion,
    FoldTable,
    Said,
    Selection,
    criterion_losses,
    folds,
    folds_at,
    one_standard_error,
    open_table,
    over_folds,
)
from assay.randomness import RandomState, generator
from assay.rows import ordered_map
from assay.solvers.rkhs.box import BoxOptions
from assay.solvers.rkhs.kernel_rows import GramLines
from assay.solvers.rkhs.problem import Array

COSTS = np.array([0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0])
WIDTHS = np.array([0.01, 0.03, 0.1, 0.3, 1.0])
"""Scales of a kernel times the number of features, on rows of unit variance."""

SHARED = 8000
"""Rows up to which their squared distances are kept beside the Gram matrix of a width: 512 MB."""

CHOICE_GAP = 1e-4
"""Relative gap that suffices to rank parameters."""

POSITIVE = parameters.array(
    "a list of finite numbers above 0",
    lambda values: values.ndim == 1 and values.size > 0 and bool((values > 0).all()),
)


class Search(NamedTuple):
    """What `select` is told; see there."""

    Cs: Any = None
    gammas: Any = None
    rule: str = "min"
    cv: Any = 5
    max_rows: int = 2000
    criterion: Criterion | None = None
    random_state: RandomState = None
    standardise: bool = False


class HeldOut(NamedTuple):
    """Rows, the folds of them that are trained on and held out, and their places in the table."""

    table: FoldTable
    pairs: list[tuple[NDArray, NDArray]]
    shown: NDArray


@dataclass(frozen=True, eq=False)
class MachinePath:
    """Machines along a grid of costs.

    Attributes
    ----------
    Cs : array of shape (n_costs,)
        Increasing.
    n_support : array of shape (n_costs,)
        Support vectors of each model.
    rkhs_norm, loss : arrays of shape (n_costs, n_machines)
        ‖h‖, which rises with C, and Σ s ξ, which falls.
    dual_gap : array of shape (n_costs,)
    models : tuple of estimators
    """

    Cs: Array
    n_support: NDArray
    rkhs_norm: Array
    loss: Array
    dual_gap: Array
    models: tuple[Any, ...]

    def predict(self, X: Any) -> NDArray:
        """Predictions of every model, shape (n_samples, n_costs)."""
        return np.column_stack([np.asarray(model.predict(X)) for model in self.models])


class SelectsMachines:
    """Gives a model of support vectors `path` over C, and `select` of C and γ."""

    kernel: Any
    _limit: Any
    _with: Callable[..., Any]
    _gram_problems: Callable[..., list[MachineData]]
    _predictions_of: Callable[[NDArray], NDArray]

    def path(self, X: Any, y: Any, Cs: Any = None, sample_weight: Any = None) -> MachinePath:
        """Models at every cost of a grid, each started from the one before; this model stays as it is.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        Cs : array-like of positive numbers, optional
            Nine from 0.03 to 300 by default.
        """
        self._require_penalty("path")
        if getattr(self, "approximation", None) is not None:
            raise ValueError(
                f"{type(self).__name__}.path goes over machines of all pairs: leave 'approximation' out."
            )
        grid = np.sort(_positive(self, "path", "Cs", COSTS if Cs is None else Cs))
        models, start = [], None
        for cost in grid.tolist():
            model = self._with(C=cost, penalty_strength=None)
            model._start = start
            models.append(model.fit(X, y, sample_weight=sample_weight))
            start = model.__dict__.pop("_solved", None)
        n_support = np.array([len(model.support_) for model in models])
        norms = np.array([model.rkhs_norm_ for model in models])
        losses = np.array([model.loss_value_ / model.C_ for model in models])
        gaps = np.array([model.dual_gap_ for model in models])
        return MachinePath(grid, n_support, norms, losses, gaps, tuple(models))

    def select(
        self,
        X: Any,
        y: Any,
        *,
        Cs: Any = None,
        gammas: Any = None,
        rule: str = "min",
        cv: Any = 5,
        max_rows: int = 2000,
        criterion: Criterion | None = None,
        random_state: RandomState = None,
        standardise: bool = False,
    ) -> Selection:
        """Choose the cost and the width of the kernel by folds, and fit at the choice.

        Parameters
        ----------
        X, y
            As in `fit`.
        Cs : array-like of positive numbers, optional
            Nine from 0.03 to 300 by default. On a sample or a fold of the rows a cost is larger by as much as
            the rows are fewer: the penalty λ on the mean is the same.
        gammas : array-like of positive numbers, optional
            Scales of a named kernel; 0.01 to 1 over the number of features by default. The linear kernel, a
            precomputed one and `Kernel` objects keep theirs.
        rule : {"min", "one_se"}, default="min"
            Least validation loss (share of wrong classes, or the loss of the machine); or for its width the
            smallest cost within one paired standard error of it.
        cv : int, "split" or splitter, default=5
        max_rows : int, default=2000
            Beyond so many rows the choice is made on a sample of them.
        criterion : assay.models.Criterion, optional
            What folds make least in place of the loss.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Draws the sample, and shuffles the rows of the folds.
        standardise : bool, default=False
            Whether costs and the tube of a regression are in units of the standard deviation of its target:
            the choice is then the same in any unit. Classes have no unit.
        """
        return self._selected(
            X, y, Search(Cs, gammas, rule, cv, max_rows, criterion, random_state, standardise)
        )

    def _selected(self, X: Any, y: Any, search: Search, **others: Array) -> Selection:
        """Search the costs and widths, and the values of further parameters that are named."""
        owner = f"{type(self).__name__}.select"
        if search.rule not in ("min", "one_se"):
            raise parameters.refusal(owner, "rule", "one of 'min', 'one_se'", search.rule)
        self._require_penalty("select")
        costs = np.sort(_positive(self, "select", "Cs", COSTS if search.Cs is None else search.Cs))
        probe: Any = self._with()
        probe._check_parameters()
        table = open_table(owner, X, y, None, code=probe._code if is_classifier(self) else None)
        held_out = self._held_out(owner, probe, table, search)
        grams, runs = GramsOfWidths(held_out.table.X.astype(np.float64)), []
        named = [
            {name: value.item() for name, value in zip(others, values, strict=True)}
            for values in product(*others.values())
        ]
        for width, base in self._of_widths(search.gammas, table.X.shape[1]):
            gram = grams.of(kernel_of(base, held_out.table.X))
            for given in named:
                variant = base._with(**given)
                changed, factor = variant._in_units(table.y) if search.standardise else ({}, 1.0)
                told = {name: changed.get(name, value) for name, value in given.items()}
                machine = variant._with(**changed)
                curve = _curve(machine, probe, held_out, gram, factor * costs, search.criterion)
                points = [{"C": factor * cost, "gamma": width, **told} for cost in costs.tolist()]
                runs.append((machine, curve, points))
        # Widths go round within each value of the further parameters, as names do in `tried`.
        runs = [run for place in range(len(named)) for run in runs[place :: len(named)]]
        machines, curves, parts = zip(*runs, strict=True)
        tried = [point for part in parts for point in part]
        errors = np.stack([curve.mean for curve in curves])
        best = int(np.argmin(errors.min(axis=1)))
        place = one_standard_error(curves[best]) if search.rule == "one_se" else int(np.argmin(errors[best]))
        index = best * costs.size + place
        chosen = machines[best]._with(C=tried[index]["C"], penalty_strength=None).fit(X, y)
        name = search.criterion.name if search.criterion else "validation loss"
        flat = np.concatenate([each.standard_error for each in curves])
        measured = tried, name, errors.reshape(-1), flat, index, search.rule, tried[index], chosen
        return Selection(", ".join(tried[index]), *measured)

    def _held_out(self, owner: str, probe: Any, table: FoldTable, search: Search) -> HeldOut:
        """The rows on which the choice is made, and the folds that hold some of them out."""
        shown = np.arange(len(table.y))
        if shown.size > search.max_rows and not probe._is_precomputed:
            drawn = generator(search.random_state).choice(shown.size, search.max_rows, replace=False)
            shown = np.sort(drawn)
        sample = table.take(shown)
        if probe._is_precomputed:
            sample = FoldTable(table.X, table.y, None)
        pairs = folds(owner, folds_at(search.cv, shown), sample, search.random_state)
        return HeldOut(sample, pairs, shown)

    def _in_units(self, y: NDArray) -> tuple[dict[str, float], float]:
        """Parameters in units of the target, and what costs are multiplied by: nothing for classes."""
        return {}, 1.0

    def _require_penalty(self, call: str) -> None:
        if self._limit is not None:
            raise ValueError(
                f"{type(self).__name__}.{call} goes over costs of a penalty: leave 'radius' and 'budget' out."
            )

    def _of_widths(self, gammas: Any, n_features: int) -> list[tuple[float, Self]]:
        """The widths to search and the model of each; NaN and this model where there is no width."""
        if not isinstance(self.kernel, str) or self.kernel in ("linear", "precomputed"):
            return [(np.nan, self._with())]
        gammas = WIDTHS / n_features if gammas is None else gammas
        widths = _positive(self, "select", "gammas", gammas).tolist()
        return [(width, self._with(gamma=width)) for width in widths]


class GramsOfWidths:
    """Gram matrices of one table: those of distances alone are made from squared distances, found once."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self._squared: Array | None = None

    def of(self, kernel: Kernel) -> Array:
        """The Gram matrix of a kernel."""
        kernel = kernel.for_features(self.X.shape[1])
        if not isinstance(kernel, Stationary) or self.X.shape[0] > SHARED or kernel.leaves_range(self.X):
            return kernel.gram(self.X)
        if self._squared is None:
            self._squared = squared_distances_of(self.X)
        return kernel.gram_of_distances(self._squared)


def _curve(
    model: Any, probe: Any, held_out: HeldOut, gram: Array, costs: Array, criterion: Criterion | None
) -> Any:
    """Validation losses of one width along the costs."""
    table, pairs, shown = held_out
    options = BoxOptions(tol=max(model.tol, CHOICE_GAP), polished=False)
    model.__dict__.update({name: getattr(probe, name) for name in ("classes_",) if hasattr(probe, name)})

    def one(pair: tuple[NDArray, NDArray]) -> Array:
        train, test = pair
        values = _along(model, gram, table, costs, train, test, options)
        said = model._predictions_of(values)
        if criterion is not None:
            return criterion_losses(criterion, model, table.y[test], Said(said), shown[test])
        return model._validation_loss(table.y[test], said).mean(axis=0)

    scores = np.stack(list(ordered_map(one, pairs)))
    return over_folds(scores, np.array([float(len(test)) for _, test in pairs]))


def _along(
    model: Any,
    gram: Array,
    table: FoldTable,
    costs: Array,
    train: NDArray,
    test: NDArray,
    options: BoxOptions,
) -> NDArray:
    """Values of every machine at the rows held out, for each cost: shape (n_test, n_costs, n_machines)."""
    share, to_test = len(table.y) / len(train), gram[test]
    machines = model._gram_problems(table.y[train], None, None)
    values = np.empty((len(test), len(costs), len(machines)))
    for place, machine in enumerate(machines):
        rows = train[machine.rows]
        data, start, coef = machine._replace(gram=GramLines(gram, rows)), None, np.zeros(len(gram))
        for step, cost in enumerate(costs.tolist()):
            problem = data.problem._replace(cost=data.problem.cost * (cost * share))
            solution = solve_machine(Precomputed(), data._replace(problem=problem), options, start)
            start = solution
            coef[rows] = solution.coef
            values[:, step, place] = to_test @ coef + solution.intercept
    return values


def _positive(owner: Any, call: str, name: str, values: Any) -> NDArray:
    parameters.require(f"{type(owner).__name__}.{call}", POSITIVE, **{name: values})
    return np.asarray(values, dtype=np.float64)
