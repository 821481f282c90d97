"""Forward stagewise additive modelling with a finite class of base functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters, rows
from assay.certificates import Certificates, agreement, at_most
from assay.losses import LOSS_NAMES, Loss
from assay.losses import loss as loss_of
from assay.models.capabilities import Regressor
from assay.parameters import LARGEST, Domain
from assay.rows import Block, MemoryRows
from assay.trees.decision.regressor import require_range
from assay.trees.stagewise.choosing import HasRounds
from assay.trees.stagewise.engine import Array, State, boost
from assay.trees.stagewise.oracles import ExhaustiveOracle
from assay.trees.stagewise.steps import bounded_step

SOURCE = "Wei §8.3"


class StagewiseAdditive(Regressor, HasRounds):
    """A sum of simple functions, chosen one by one from a finite class for any convex loss.

    Minimises (1/n) Σ_i ℓ(y_i, f(x_i)) over f = Σ_t β_t b(x; γ_t), one term per round and none revised:

        (β_t, γ_t) = arg min over β, γ of Σ_i ℓ(y_i, g(x_i) + β b(x_i, γ)),   g the sum of the terms before,

    by an exact line search along every base function. With squares it is matching pursuit, with the
    exponential loss and stumps AdaBoost.

    Assumes: nothing about the law of the rows. Losses of the margin take targets −1 and 1; `predict` then
    gives scores.

    Certificates: the terms have the risk of the trace, which never rises; `certify` adds that no function of
    the class with any step would have lowered the risk more in any round.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        A name of `assay.losses.LOSS_NAMES` or an object; convex, of one score.
    base : {"columns", "stumps"}, default="columns"
        b(x; j) = x_j; or ±1 by the side of x_j at a threshold, one for each quantile.
    n_thresholds : int, default=20
        Thresholds of each column for stumps, at most; all midpoints where there are fewer.
    n_estimators : int, default=50
        Rounds T.
    learning_rate : float, default=1.0
        Shrinkage ν in (0, 1] of every step.
    fit_intercept : bool, default=True
        Whether f_0 is the best constant; else 0.

    Attributes
    ----------
    columns_ : int array of shape (n_rounds,)
        Column of the base function of each round.
    thresholds_ : array of shape (n_rounds,)
        Its threshold; empty where the columns themselves are the functions.
    steps_ : array of shape (n_rounds,)
        ν β_t.
    intercept_ : float
        f_0.
    coef_ : array of shape (n_features_in_,)
        Sums of the steps of each column.
    risks_ : array of shape (n_rounds + 1,)
        Mean loss from f_0 on.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.trees import StagewiseAdditive
    >>> X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> model = StagewiseAdditive(n_estimators=2).fit(X, X @ [3.0, 1.0] + 5.0)
    >>> model.columns_, model.steps_
    (array([0, 1]), array([3., 1.]))

    References
    ----------
    Wei §8.3; Sangnier §1.3.1, algorithm 1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "loss": Domain(
            "a name of assay.losses.LOSS_NAMES or a Loss",
            lambda value: isinstance(value, Loss) or (isinstance(value, str) and value in LOSS_NAMES),
        ),
        "base": parameters.one_of("columns", "stumps"),
        "n_thresholds": parameters.integer(at_least=1),
        "n_estimators": parameters.integer(at_least=1),
        "learning_rate": parameters.real(above=0.0, at_most=1.0),
        "fit_intercept": parameters.boolean,
    }
    _accepts_sparse: ClassVar[bool] = False

    def __init__(
        self,
        *,
        loss: Any = "squared",
        base: str = "columns",
        n_thresholds: int = 20,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        self.loss = loss
        self.base = base
        self.n_thresholds = n_thresholds
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.fit_intercept = fit_intercept

    def _require_memory(self, X: Any) -> None:
        if rows.is_external(X):
            self._check_parameters()
            raise ValueError(
                f"{type(self).__name__} tries every base function on all rows and takes rows in memory only: "
                "histogram boosting reads them block by block, or bring them into memory as an array."
            )

    def _loss(self) -> Loss:
        loss = loss_of(self.loss)
        if not loss.convex or loss.n_scores != 1:
            raise self._refuse("loss", "a convex loss of one score")
        return loss

    def _weighty(self, data: MemoryRows) -> tuple[NDArray, Array, Array]:
        X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
        if data.weight is None:
            return X, y, np.ones(len(y))
        there = data.weight > 0
        return X[there], y[there], data.weight[there].astype(np.float64)

    def _functions(self, X: NDArray) -> tuple[NDArray[np.int64], Array]:
        """Columns and thresholds of the class; no thresholds where it is the columns themselves."""
        if self.base == "columns":
            return np.arange(X.shape[1]), np.empty(0)
        columns, cuts = [], []
        for j, column in enumerate(X.T):
            values = np.unique(column)
            middles = (values[1:] + values[:-1]) / 2
            if len(middles) > self.n_thresholds:
                places = np.linspace(0, len(middles) - 1, self.n_thresholds + 2)[1:-1]
                middles = middles[places.round().astype(int)]
            columns += [j] * len(middles)
            cuts += list(middles)
        if not columns:
            raise ValueError("StagewiseAdditive of stumps needs a column with two values; all are constant.")
        return np.array(columns), np.array(cuts)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the terms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        self._require_memory(X)
        data: Any = self._open_vector(X, y, sample_weight)
        loss, (table, target, weight) = self._loss(), self._weighty(data)
        require_range(self, target)
        if self.base == "columns" and (size := float(np.abs(table).max(initial=0.0))) > LARGEST:
            raise ValueError(
                f"{type(self).__name__} squares the columns, so X must be at most {LARGEST:g} in size. Got "
                f"{size:g}; scale it first."
            )
        columns, cuts = self._functions(table)
        self.intercept_ = float(loss.constant_minimiser(target, weight)) if self.fit_intercept else 0.0
        trace = boost(
            loss,
            ExhaustiveOracle(said_by(table, columns, cuts), bounded_step),
            bounded_step,
            self.learning_rate,
            self.n_estimators,
            y=target,
            weight=weight,
            start=self.intercept_,
        )
        places = np.array([item.learner for item in trace.rounds], dtype=np.int64)
        self.columns_, self.thresholds_ = columns[places], cuts[places] if len(cuts) else cuts
        self.steps_ = np.array([item.step for item in trace.rounds])
        self.risks_ = np.array([trace.risk, *(item.risk for item in trace.rounds)])
        risk = State(loss, target, weight, self._scores(table)).risk()
        self.certificates_ = Certificates(self._risk(risk))
        return self

    @property
    def coef_(self) -> Array:
        """Sums of the steps of each column."""
        return np.bincount(self.columns_, self.steps_, self.n_features_in_).astype(np.float64)

    def _risk(self, risk: float) -> list[Any]:
        size = abs(self.risks_[0]) or 1.0
        rise = float(np.diff(self.risks_).max(initial=0.0)) / size
        apart = abs(risk - self.risks_[-1]) / size
        claim = "The terms have the risk that the rounds say."
        return [
            at_most(claim, "relative deviation of the risk", apart, 1e-9, SOURCE),
            at_most("No round raises the risk.", "largest relative rise", rise, 1e-10, SOURCE),
        ]

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Try every base function in every round again.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        self._require_memory(X)
        data: Any = self._open_new_vector(X, y, sample_weight)
        loss, (table, target, weight) = self._loss(), self._weighty(data)
        columns, cuts = self._functions(table)
        every = said_by(table, columns, cuts)
        taken = said_by(table, self.columns_, self.thresholds_)
        state = State(loss, target, weight, np.full(len(target), self.intercept_))
        risks, worst = [state.risk()], 0.0
        size = abs(risks[0]) or 1.0
        for values, step in zip(taken, self.steps_, strict=True):
            best = ExhaustiveOracle(every, bounded_step)(state)
            least = _after(state, best.values, bounded_step(state, best))
            reached = _after(state, values, step / self.learning_rate)
            worst = max(worst, (reached - least) / size)
            state = State(loss, target, weight, state.scores + step * values)
            risks.append(state.risk())
        start = float(loss.constant_minimiser(target, weight)) if self.fit_intercept else 0.0
        nearest = [
            cuts[columns == j][np.argmin(np.abs(cuts[columns == j] - near))]
            for j, near in zip(self.columns_, self.thresholds_, strict=False)
        ]
        kept = {
            "thresholds": (self.thresholds_, np.array(nearest)),
            "risks": (self.risks_, np.array(risks)),
            "intercept": (self.intercept_, start),
        }
        return Certificates(
            [
                *self._risk(risks[-1]),
                agreement("Risks of every round are those of the terms.", kept, SOURCE, rtol=1e-9),
                at_most(
                    "No base function with any step lowers the risk more, in any round.",
                    "largest relative excess",
                    worst,
                    1e-9,
                    SOURCE,
                ),
            ]
        )

    def _scores(self, X: NDArray) -> Array:
        return sum_of_terms(X, self.columns_, self.thresholds_, self.steps_, self.intercept_)

    def predict(self, X: Any) -> Any:
        """f(x) of each row: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        terms = (self.columns_, self.thresholds_, self.steps_, self.intercept_)
        return data.map(terms_of_rows, *terms, dtype=data.dtype)

    def staged_predict(self, X: Any) -> Iterator[NDArray]:
        """`predict` after each round."""
        data: Any = self._open_new_rows(X)
        total = np.full(data.shape[0], self.intercept_)
        for values, step in zip(said_by(data.X, self.columns_, self.thresholds_), self.steps_, strict=True):
            total = total + step * values
            yield total

    def _staged_answers(self, X: Any) -> Iterator[NDArray]:
        yield from self.staged_predict(X)

    def _row_loss(self, y: NDArray, answers: NDArray) -> Array:
        return np.asarray(self._loss().value(y, np.asarray(answers, dtype=np.float64)))


def _after(state: State, values: Array, step: float) -> float:
    return State(state.loss, state.y, state.weight, state.scores + step * values).risk()


def said_by(X: NDArray, columns: NDArray[np.int64], cuts: Array) -> Array:
    """What base functions say about rows, one row of the result per function."""
    values = np.asarray(X, dtype=np.float64).T[columns]
    return np.where(values > cuts[:, np.newaxis], 1.0, -1.0) if len(cuts) else values


def sum_of_terms(
    X: NDArray, columns: NDArray[np.int64], cuts: Array, steps: Array, intercept: float
) -> Array:
    """f(x) of rows, terms added up in their order."""
    total = np.full(len(X), intercept)
    for values, step in zip(said_by(X, columns, cuts), steps, strict=True):
        total += step * values
    return total


def terms_of_rows(block: Block, *terms: Any) -> NDArray:
    """f(x) of the rows of a block, in their precision; see `sum_of_terms`."""
    return sum_of_terms(block.dense, *terms).astype(block.X.dtype, copy=False)
