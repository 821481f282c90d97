"""Rows that a fit has not seen, kept aside or in folds, which say how sure it may be."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_is_fitted

from assay import parameters
from assay.certificates import Certificate, at_least, at_most
from assay.models.conformal import conformal_quantile, conformal_rank, fewest_rows
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import MemoryRows, Rows
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.boosting.gathering import Opened, again
from assay.trees.shapley.explaining import fitted_trees, scores_of_rows

CALIBRATION = (
    parameters.nothing
    | Domain(
        "a number above 0 and below 1", lambda value: parameters.real(above=0.0).contains(value) and value < 1
    )
    | parameters.integer(at_least=2)
)
"""A share of the rows to keep aside, or a number of folds."""

PROMISE = 0.9
"""The coverage that is measured at the fit."""

SOURCE = "Vovk, Gammerman & Shafer (2005); Lei et al. (2018)"
BY_FOLDS = "Vovk (2015); Barber, Candès, Ramdas & Tibshirani (2021)"

KEPT = ("calibration_rows_", "calibration_scores_", "calibration_weight_", "fold_models_")
LEARNT = ("calibrator_", "calibration_errors_")
"""What is kept of rows that a model has not seen, and what probabilities learn from them."""


class KnownScores(NamedTuple):
    """How strange rows are to models that have not seen them, their weights, and their folds."""

    scores: NDArray[np.float64]
    weight: NDArray[np.float64]
    folds: NDArray[np.int64]


class KeepsAside:
    """What models with the parameter `calibration` share: rows that they have not seen, and their scores.

    A share keeps rows aside from the fit. A number K of folds keeps none: the model is fitted to all rows,
    and K others, each of which keeps one fold aside, say how strange its rows are.

    Attributes
    ----------
    calibration_rows_ : int array of shape (n_aside,)
    calibration_scores_, calibration_weight_ : arrays of shape (n_aside,)
        How strange each of them is to the model, and its weight.
    fold_models_ : list of models
        With folds: the models that lack each, with the three attributes above.
    """

    calibration: float | None
    random_state: Any
    calibration_rows_: NDArray[np.int64]
    calibration_scores_: NDArray[np.float64]
    calibration_weight_: NDArray[np.float64]
    fold_models_: list[Any]

    @property
    def _n_folds(self) -> int:
        """Number of folds, 0 without."""
        return int(self.calibration) if self.calibration is not None and self.calibration >= 1 else 0

    def _fit_calibrated(
        self,
        run: Callable[[Any, NDArray | None], None],
        weight: NDArray | None,
        kept: tuple[Opened, NDArray, NDArray | None],
    ) -> None:
        """Fit, and score rows that the fit has not seen.

        Parameters
        ----------
        run : function of a model and weights
            Fits the model to the rows that weigh something; the weights are its own.
        weight : array of shape (n_rows,), optional
            Weights of the fit.
        kept : tuple
            Rows, targets and weights that rows are scored with.
        """
        n_rows, going_on = len(kept[1]), self._goes_on(len(kept[1]))
        if not going_on:
            for name in KEPT:
                self.__dict__.pop(name, None)
        if self._n_folds:
            parts = self._draw_folds(n_rows, weight)
            blank = [self._without_fold(part) for part in parts]
            run(self, None if weight is None else weight.copy())
            for fold in blank:
                run(fold, without(fold.calibration_rows_, n_rows, weight))
                fold._keep_scores(*kept)
            self.fold_models_ = blank
        else:
            if self.calibration is not None and not going_on:
                self.calibration_rows_ = self._draw_aside(n_rows, weight)
            run(self, self._weight_of_fit(n_rows, weight))
        model: Any = self
        model._keep_scores(*kept)

    def _own_rows(self, data: Opened, target: NDArray) -> tuple[Opened, NDArray]:
        """Rows and targets for one of several fits, as a fit writes to what was gathered from files."""
        return (again(data), target.copy()) if self._n_folds else (data, target)

    def _goes_on(self, n_rows: int) -> bool:
        """Whether a warm start keeps the rows aside that the last fit kept."""
        rows = vars(self).get("calibration_rows_", ())
        asked = getattr(self, "warm_start", False) and not self._n_folds
        return bool(asked and len(rows) and rows[-1] < n_rows)

    def _shuffled(self, n_rows: int, weight: NDArray | None) -> NDArray[np.int64]:
        """The rows that weigh something, in an order drawn for the calibration alone."""
        there = np.arange(n_rows) if weight is None else np.flatnonzero(weight > 0)
        return generator(self.random_state).spawn(1)[0].permutation(there)

    def _draw_aside(self, n_rows: int, weight: NDArray | None) -> NDArray[np.int64]:
        order = self._shuffled(n_rows, weight)
        n_aside = round((self.calibration or 0.0) * len(order))
        if n_aside < 1 or len(order) - n_aside < 2:
            model: Any = self
            raise model._refuse(
                "calibration",
                f"a share that keeps at least 1 row aside and 2 to fit, of {len(order)} rows",
            )
        return np.sort(order[:n_aside])

    def _draw_folds(self, n_rows: int, weight: NDArray | None) -> list[NDArray[np.int64]]:
        order, n_folds = self._shuffled(n_rows, weight), self._n_folds
        if n_folds > len(order) or len(order) - -(-len(order) // n_folds) < 2:
            model: Any = self
            raise model._refuse(
                "calibration",
                f"a number of folds that leaves 1 row aside and 2 to fit at least, of {len(order)} rows",
            )
        return [np.sort(part) for part in np.array_split(order, n_folds)]

    def _without_fold(self, part: NDArray[np.int64]) -> Any:
        """A model with these parameters that keeps the rows of a fold aside; not fitted yet."""
        fold: Any = copy.copy(self)
        for name in (*KEPT, *LEARNT, "_skl_callbacks"):
            vars(fold).pop(name, None)
        off = {"calibration": None, "calibration_method": None, "warm_start": False}
        for name in off.keys() & self.get_params(deep=False).keys():  # type: ignore[attr-defined]
            setattr(fold, name, off[name])
        fold.calibration_rows_ = part
        return fold

    @property
    def _judges(self) -> list[Any]:
        """The models that have scored rows they have not seen: those of the folds, or this one."""
        if "fold_models_" in vars(self):
            return self.fold_models_
        return [self] if "calibration_scores_" in vars(self) else []

    @property
    def _known(self) -> KnownScores:
        """Scores of all rows that were not seen."""
        judges = self._judges
        sizes = [len(judge.calibration_scores_) for judge in judges]
        return KnownScores(
            np.concatenate([judge.calibration_scores_ for judge in judges]),
            np.concatenate([judge.calibration_weight_ for judge in judges]),
            np.repeat(np.arange(len(judges)), sizes),
        )

    def keep_scores(self, scores: Any, sample_weight: Any = None) -> Self:
        """Take scores of rows from models like this one that had not seen them, in place of `calibration`.

        Whoever has cross-validated a model has such scores already. Intervals and class sets are then those
        of this model with the rank of these scores. About the coverage asked is held where the model changes
        little with the fold; unlike with `calibration`, it is not proven, and `certify` does not measure the
        scores again: it has not got the models that they are of.

        Parameters
        ----------
        scores : array of shape (n,)
            |y − prediction|, or how far y is outside the lowest and the highest quantile; of classes 1 − the
            probability of the true one.
        sample_weight : array of shape (n,), optional
            How often each counts; 1/R where there are R scores of each row.
        """
        check_is_fitted(self)
        known = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="scores")
        weight = np.ones(len(known)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if known.ndim != 1 or weight.shape != known.shape or not np.all(weight > 0):
            raise ValueError(
                f"{type(self).__name__}.keep_scores needs one score per row and as many weights above 0. Got "
                f"the shapes {known.shape} and {weight.shape}."
            )
        for name in (*KEPT, *LEARNT):
            vars(self).pop(name, None)
        self.calibration_scores_, self.calibration_weight_ = known, weight
        return self

    def _counted(self, weight: NDArray | None) -> NDArray[np.float64]:
        """Weights of the rows kept aside: as often as each counts, without the factors of classes."""
        rows = self.calibration_rows_
        return np.ones(len(rows)) if weight is None else np.asarray(weight[rows], dtype=np.float64)

    def _weight_of_fit(self, n_rows: int, weight: NDArray | None) -> NDArray | None:
        """The weights that the trees were grown with: 0 for rows kept aside."""
        kept = getattr(self, "calibration_rows_", None)
        return weight if kept is None or kept[-1] >= n_rows else without(kept, n_rows, weight)

    def _kept_scores(self, data: Opened) -> NDArray[np.float64]:
        """What the trees say of the rows kept aside: shape (n_aside, n_outputs)."""
        table = data if isinstance(data, MemoryRows) else data.data
        return self._row_scores(MemoryRows(table.take(self.calibration_rows_)))

    def _row_scores(self, data: Rows) -> NDArray[np.float64]:
        """Scores of opened rows, in double precision: shape (n_rows, n_outputs)."""
        model: Any = self
        return row_scores(model, data)

    def _coverage_of(self, what: str) -> Certificate:
        known = self._known
        if "fold_models_" in vars(self):
            parts = [np.flatnonzero(known.folds == fold) for fold in range(len(self.fold_models_))]
            return coverage_claim(known, parts, f"{what} by {len(parts)} folds")
        order = np.random.default_rng(len(known.scores)).permutation(len(known.scores))
        return coverage_claim(known, np.array_split(order, 2), what)

    def _fold_claims(self, X: Any, y: Any, sample_weight: Any) -> list[Certificate]:
        """That the models of the folds prove themselves, their scores among it."""
        if "fold_models_" not in vars(self):
            return []
        failed = sum(len(fold.certify(X, y, sample_weight).failed) for fold in self.fold_models_)
        claim = f"The models of the {len(self.fold_models_)} folds and the scores of their rows prove again."
        return [at_most(claim, "certificates that fail", failed, 0, BY_FOLDS)]

    def _require_scores(self, method: str, coverage: float) -> KnownScores:
        """The scores, where they are enough for a coverage; refused where intervals would be infinite."""
        check_is_fitted(self)
        if not parameters.real(above=0.0).contains(coverage) or not coverage < 1:
            raise parameters.refusal(method, "coverage", "a number above 0 and below 1", coverage)
        if not self._judges:
            raise ValueError(
                f"{type(self).__name__}.{method} needs rows that a fit has not seen: fit with "
                "calibration=0.2, or with calibration=5 for folds."
            )
        known, fewest = self._known, fewest_rows(coverage)
        total = float(known.weight.sum())
        if conformal_rank(total, coverage) > total * (1 + 1e-12):
            more = "give more rows" if "fold_models_" in vars(self) else "raise 'calibration'"
            raise ValueError(
                f"A coverage of {coverage:g} needs at least {fewest} rows kept aside; {type(self).__name__} "
                f"has {total:g}: {more} or ask for less."
            )
        return known


def row_scores(model: Any, data: Rows) -> NDArray[np.float64]:
    """Scores of opened rows by a fitted model, in double precision: shape (n_rows, n_outputs)."""
    fitted = fitted_trees(model)
    n_outputs = fitted.n_outputs if isinstance(fitted, BoostedTrees) else len(model.classes_)
    how: Any = {"dtype": np.float64, "width": n_outputs}
    return np.asarray(data.map(scores_of_rows, fitted, model.columns_, **how))


def without(kept: NDArray[np.int64], n_rows: int, weight: NDArray | None) -> NDArray[np.float64]:
    """Weights with 0 in the place of some rows."""
    left = np.ones(n_rows) if weight is None else weight.astype(np.float64)
    left[kept] = 0.0
    return left


def coverage_claim(known: KnownScores, parts: list[NDArray], what: str) -> Certificate:
    """Coverage measured on rows that were not seen: each part is judged by the quantile of the others."""
    scores, weight, _ = known
    held, by_folds = 0.0, "folds" in what
    for judged in parts:
        others = np.ones(len(scores), dtype=np.bool_)
        others[judged] = False
        if others.any():
            limit = conformal_quantile(scores[others], PROMISE, weight[others])
            held += float(weight[judged] @ (scores[judged] <= limit))
    total = float(weight.sum())
    size = total**2 / float(weight @ weight)
    error = float(np.sqrt(PROMISE * (1 - PROMISE) / size))
    how = "each fold by the scores of the others" if by_folds else "each half of them by the other's scores"
    where = "" if by_folds else " kept aside"
    return at_least(
        f"{what} of {PROMISE:.0%} hold what they promise on {len(scores)} rows{where}, {how}, within four "
        "standard errors.",
        "share of the rows that is held",
        held / total,
        PROMISE - 4 * error - 1 / len(scores),
        BY_FOLDS if by_folds else SOURCE,
        assumptions=("rows are exchangeable",),
        informative=True,
    )


def held_claim(held: NDArray, coverage: float, known: KnownScores, what: str) -> Certificate:
    """Coverage on new rows: at least what was asked, within two standard errors of both samples."""
    n_known, by_folds = float(known.weight.sum()), bool(known.folds[-1] > 0)
    error = float(np.sqrt(coverage * (1 - coverage) * (1 / len(held) + 1 / (n_known + 2))))
    assumptions = ("rows are exchangeable with those that the fit has not seen",)
    stable = ("the model changes little with the fold",) if by_folds else ()
    return at_least(
        f"{what} of {coverage:.0%} hold what they promise on {len(held)} new rows, within two standard "
        "errors.",
        "share of the rows that is held",
        float(held.mean()),
        coverage - 2 * error,
        BY_FOLDS if by_folds else SOURCE,
        assumptions=(*assumptions, *stable),
    )
