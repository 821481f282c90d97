"""Paths over penalties, and the choice of one: what every penalised model offers, and may do faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from assay.base import Model
from assay.models.selection import (
    Criterion,
    FoldTable,
    Said,
    Selection,
    checked_alphas,
    curve_as_far_as_needed,
    folds,
    information,
    one_standard_error,
    open_table,
    squared_row_loss,
)
from assay.parameters import refusal

Array = NDArray[np.float64]
ROUNDING = 1e-12
"""Relative rounding of a correlation of a column with a residual."""

GRID = np.geomspace(10.0, 1e-5, 25)
"""Penalties on the scale of the mean when none are given."""


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """Linear models along a grid of penalties; every kind of path is one, with what that kind knows besides.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Values of the model's penalty parameter, decreasing unless the model says otherwise.
    coef : array or CSR array of shape (n_alphas, n_features) or (n_alphas, n_targets, n_features)
    intercept : array of shape (n_alphas,) or (n_alphas, n_targets)
    """

    alphas: Any
    coef: Any
    intercept: NDArray

    @property
    def n_nonzero(self) -> NDArray:
        """Features with a coefficient that is not zero, for each penalty."""
        used = self.coef if self.coef.ndim == 2 else np.any(self.coef != 0, axis=1)
        return np.count_nonzero(used, axis=1) if isinstance(used, np.ndarray) else np.diff(used.indptr)

    def predict(self, X: Any) -> NDArray:
        """Predictions of every model, shape (n_samples, n_alphas) or (n_samples, n_alphas, n_targets)."""
        coef = self.coef if isinstance(self.coef, np.ndarray) else self.coef.toarray()
        flat = np.asarray(X @ coef.reshape(-1, coef.shape[-1]).T)
        return flat.reshape(-1, *coef.shape[:-1]) + self.intercept


@dataclass(frozen=True, eq=False)
class FittedPath(PenaltyPath):
    """A path of models that are fitted one by one.

    Attributes
    ----------
    alphas, coef, intercept
        As in `PenaltyPath`; those of each model along a first axis.
    dual_gap : array of shape (n_alphas,)
        Relative duality gaps; NaN where the model has none.
    n_iter, converged : arrays of shape (n_alphas,)
    models : tuple of estimators
        The fitted models.
    """

    dual_gap: Array
    n_iter: NDArray
    converged: NDArray
    models: tuple[Any, ...]

    def predict(self, X: Any) -> NDArray:
        """Predictions of every model, classes of a classifier, shape (n_samples, n_alphas)."""
        return np.column_stack([np.asarray(model.predict(X)).reshape(-1) for model in self.models])


def penalty_grid(
    critical: float, size: Any, eps: float, owner: str, *, name: str = "n_alphas", depth: float = 1.0
) -> Array:
    """Geometric grid from the critical strength, beyond which nothing changes, to eps · depth times it.

    It begins above by what a correlation may round to, so that nothing enters at its first value.
    """
    if not isinstance(size, (int, np.integer)) or size < 1:
        raise refusal(owner, name, "an int at least 1", size)
    if not 0 < eps < 1:
        raise refusal(owner, "eps", "between 0 and 1", eps)
    if not np.isfinite(critical):
        raise refusal(owner, "alphas", "given when nothing of the penalty is an l1 norm", None)
    top = critical * (1 + ROUNDING) if critical > 0 else 1.0
    return np.geomspace(top, eps * depth * top, size)


class HasPenaltyPath(Model):
    """Gives a model `path` and `select` over the parameter named by `_penalty_name`.

    As it stands every penalty is a fit of its own and folds choose among them. A subclass says what differs:
    `_path` and `_along` where one decomposition or warm starts serve all penalties, `_values` for its grid,
    and the `_rules` and numbers of a `_theory` that it knows besides, with `_errors_and_df` and `_oracle`.
    """

    _penalty_name: ClassVar[str] = "alpha"
    _rules: ClassVar[tuple[str, ...]] = ("min", "one_se")
    _theory: ClassVar[tuple[str, ...]] = ()
    _known_noise: ClassVar[float | None] = None

    def path(self, X: Any, y: Any = None, alphas: Any = None, sample_weight: Any = None, **grid: Any) -> Any:
        """Models at every penalty of a grid; needs no earlier fit, and leaves this model as it is.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`.
        alphas : array-like of positive numbers, optional
            Values of the penalty parameter, also by its own name (`penalty_strengths`). By default 100 spread
            over the spectrum of X for ridge; a geometric grid down from the smallest penalty that gives zero
            for sparse and likelihood models (from one that nearly does, 1000 times as deep, for a squared
            norm) and for matrices of low rank (20 down to a hundredth); 25 from 10 to 1e-5 for others.
        grid : int and float, optional
            Size and depth of the default grid, its smallest penalty over the largest: `n_alphas` (100) and
            `eps` (1e-2) of sparse models, `n_strengths` (50) and `eps` (1e-3) of likelihood models.

        Returns
        -------
        path : PenaltyPath
            A `FittedPath`, or what the model knows besides: `RidgePath`, `SparsePath`, `LikelihoodPath` or
            `RankPath`.
        """
        alphas = grid.pop(f"{self._penalty_name}s", alphas)
        return self._with()._path(X, y, alphas, sample_weight, **grid)

    def select(
        self,
        X: Any,
        y: Any = None,
        *,
        rule: str = "min",
        alphas: Any = None,
        cv: Any = 5,
        criterion: Criterion | None = None,
        sample_weight: Any = None,
        random_state: Any = None,
        **theory: Any,
    ) -> Selection:
        """Choose the penalty by validation, by an information criterion or by theory, and refit.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`, in memory; needs no earlier fit.
        rule : {"min", "one_se", "oracle", "aic", "bic"}, default="min"
            Least validation loss (squared error, log-loss, deviance, or share of wrong classes); the
            strongest penalty within one paired standard error of it; and where the model has them, the
            penalty of a theorem (the curve is shown beside it), and n log(RSS/n) + c·df, or −2 log-likelihood
            + c·df of a law without free dispersion, with c = 2 or log n. The theorem is that of ridge, λ* = σ
            √(tr Σ)/(‖θ*‖ √n), which minimises a bound on the expected risk, as α = nλ*; or the universal
            penalty σ √(2 log d / n) · max_j ‖x_j‖/√n of sparse models.
        alphas : array-like of positive numbers, optional
            Values of the penalty parameter, also by its own name (`penalty_strengths`); those of `path` by
            default. Where a penalty is on the scale of the sum over all rows, folds use the same λ = α/n.
        cv : int, "split" or splitter, default=5
            Number of folds, one split that holds out a quarter, or a scikit-learn splitter.
        criterion : assay.models.Criterion, optional
            What validation makes least in place of the loss of the model.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Shuffles the rows before they are cut into folds; None cuts them in their order.
        theory : float, optional
            `noise_std` of ridge and sparse models, σ where it is known: otherwise estimated (oracle) or
            profiled out (aic, bic). `coef_norm` of ridge, ‖θ*‖ for the oracle; by default that of the model
            with the least validation loss.

        Returns
        -------
        selection : Selection
            `selection.alpha` is the chosen penalty, `selection.model` the model refitted at it.
        """
        owner = f"{type(self).__name__}.select"
        alphas = theory.pop(f"{self._penalty_name}s", alphas)
        noise_std = self._check_rule(owner, rule, theory)
        self._check_parameters()
        probe: Any = self._with()
        table = open_table(owner, X, y, sample_weight, code=probe._code if is_classifier(self) else None)
        grid = probe._values(table, alphas)
        if rule in ("aic", "bic"):
            error, df = probe._errors_and_df(table, grid)
            curve = information(rule, error, df, table.total_weight, noise_std)
        else:
            pairs, n_first = folds(owner, cv, table, random_state), probe._n_first(table, grid, alphas)
            curve = curve_as_far_as_needed(probe, table, grid, pairs, criterion, n_first=n_first)
            grid = grid[: len(curve.mean)]
        one_se = one_standard_error(curve)
        index = one_se if rule == "one_se" else int(np.argmin(curve.mean))
        best = grid[index].item()
        if rule == "oracle":
            best = probe._oracle(table, best, **theory)
            index = int(np.argmin(np.abs(np.log(grid) - np.log(best))))
        model = self._at(best).fit(X, y, sample_weight=sample_weight)
        name = rule.upper() if rule in ("aic", "bic") else getattr(criterion, "name", "validation loss")
        measured = curve.mean, curve.standard_error, index, rule, best, model, curve.paired_error, curve.folds
        return Selection(self._penalty_name, grid, name, *measured, one_se)

    def _check_rule(self, owner: str, rule: str, theory: dict[str, Any]) -> float | None:
        """Refuse rules and numbers that the model does not know; the deviation of the noise, if known."""
        for name in set(theory) - set(self._theory):
            raise TypeError(f"{owner}() got an unexpected keyword argument {name!r}")
        if rule not in self._rules:
            raise refusal(owner, "rule", f"one of {', '.join(map(repr, self._rules))}", rule)
        noise_std = theory.get("noise_std", self._known_noise)
        if noise_std is not None and not noise_std > 0:
            raise refusal(owner, "noise_std", "above 0", noise_std)
        return noise_std

    def _with(self, **changed: Any) -> Self:
        """The same model, not fitted, with other values of some parameters."""
        return type(self)(**{**self.get_params(deep=False), **changed})

    def _at(self, alpha: Any) -> Self:
        """The same model at another penalty, whichever parametrisation was given."""
        others = {"penalty_strength", "total_penalty_strength"} & self.get_params(deep=False).keys()
        return clone(self).set_params(**dict.fromkeys(others) | {self._penalty_name: alpha})

    def _path(self, X: Any, y: Any, alphas: Any, sample_weight: Any) -> Any:
        """What `path` gives, on a copy of the model that was made for it."""
        grid = GRID if alphas is None else checked_alphas(alphas, f"{type(self).__name__}.path")
        models: Any = tuple(self._at(float(alpha)).fit(X, y, sample_weight) for alpha in grid)
        names = ("coef_", "intercept_", "dual_gap_", "n_iter_", "converged_")
        coef, intercept, gap, n_iter, converged = (
            np.array([getattr(model, name, None) for model in models]) for name in names
        )
        return FittedPath(grid, coef, intercept, gap.astype(float), n_iter, converged, models)

    def _values(self, table: FoldTable, alphas: Any) -> NDArray:
        """The values to choose from, from simple models to rich ones."""
        if alphas is None:
            return GRID
        return np.unique(checked_alphas(alphas, f"{type(self).__name__}.select"))[::-1].copy()

    def _n_first(self, table: FoldTable, grid: NDArray, alphas: Any) -> int:
        """Values of the grid that are tried first; the others only if the loss still falls there."""
        return grid.size

    def _along(self, table: FoldTable, grid: Array, share: float) -> Callable[[Any], Array]:
        """Predictions of all models of a path on a fold with a share of the whole weight."""
        return self.path(table.X, table.y, grid, table.weight).predict

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> Array:
        """Loss of each row under each model: wrong classes, or squared errors."""
        if is_classifier(self):
            return (predictions != y[:, None]).astype(np.float64)
        return squared_row_loss(y, predictions)

    def _said(self, predictions: NDArray) -> Said:
        """What the models of a path say of rows, from the predictions of `_along`: here as they are."""
        return Said(predictions.reshape(len(predictions), -1))
