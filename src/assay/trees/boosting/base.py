"""What boosted trees of classes and of numbers share: parameters, rounds, prediction, proofs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.base import IterativeModel, Watch
from assay.certificates import Certificates
from assay.losses import Loss
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Block, one_blas_thread
from assay.trees.boosting.boost import (
    Boosted,
    Settings,
    Units,
    assembled,
    best_constants,
    boost,
    joined,
    least_curvature,
    loss_scale_of,
    noise_per_curvature,
    searches_residuals,
    side_by_side,
)
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.boosting.gathering import CodedRows, Opened, code_rows, make_columns, target_of, train_rows
from assay.trees.boosting.holding import Earlier, HeldOut, divide_rows, divided, judge_of
from assay.trees.boosting.importance import gained, permuted, unbiased
from assay.trees.boosting.proofs.certificates import certify_boosting, fit_certificates
from assay.trees.boosting.rounds import A_SAMPLING, A_STOPPING, SHARE, STOPPING_DOMAINS, Sampling, Stopping
from assay.trees.constraints import groups_of, signs_of
from assay.trees.decision.solver import HEAVY, units_of
from assay.trees.growing.binned.leafwise import Plan, make_plan
from assay.trees.growing.build import column_rules
from assay.trees.growing.columns import Columns
from assay.trees.growing.criteria import NumberCost
from assay.trees.growing.space import Limits
from assay.trees.growing.statistics import unit_of
from assay.trees.importance import KINDS, Importance, names_of, summarised
from assay.trees.opening import CATEGORICAL_FEATURES, TreeModel

MANY_ROWS = 10_000
"""Rows above which early_stopping="auto" holds some out, as in scikit-learn."""

OTHERS = "these are others. Fit with warm_start=False to begin anew."

LISTED = Domain("a list or dict", lambda value: isinstance(value, (list, tuple, set, dict, np.ndarray)))

BOOSTING_DOMAINS: Mapping[str, Domain] = {
    "learning_rate": SHARE,
    "max_iter": parameters.integer(at_least=1),
    "max_leaf_nodes": parameters.nothing | parameters.integer(at_least=2),
    "max_depth": parameters.nothing | parameters.integer(at_least=1),
    "min_samples_leaf": parameters.integer(at_least=1),
    "l2_regularization": parameters.real(at_least=0.0),
    "max_features": SHARE,
    "max_bins": Domain(
        "an int from 2 to 255", lambda value: parameters.integer(at_least=2).contains(value) and value < 256
    ),
    "categorical_features": CATEGORICAL_FEATURES,
    "monotonic_cst": parameters.nothing | LISTED,
    "interaction_cst": parameters.nothing | parameters.one_of("pairwise", "no_interactions") | LISTED,
    "warm_start": parameters.boolean,
    "early_stopping": parameters.boolean | parameters.one_of("auto") | A_STOPPING,
    **STOPPING_DOMAINS,
    "verbose": parameters.boolean | parameters.integer(at_least=0),
    "random_state": parameters.random_state,
    "line_search": parameters.one_of("newton", "leaf"),
    "subsample": SHARE | A_SAMPLING,
}


class OpenedRows(NamedTuple):
    """The data of a fit, opened once more: rows, coded target, weights, a loss per run."""

    data: Opened
    target: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    losses: list[Loss]


class Boosting(TreeModel, IterativeModel):
    """Base of boosted trees."""

    _accepts_sparse: ClassVar[bool] = False
    _domains: ClassVar[Mapping[str, Domain]] = BOOSTING_DOMAINS
    loss: Any
    learning_rate: float
    max_iter: int
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    l2_regularization: float
    max_features: float
    max_bins: int
    early_stopping: Any
    scoring: Any
    validation_fraction: float | None
    n_iter_no_change: int
    tol: float
    random_state: Any
    line_search: str
    subsample: float | Sampling
    trees_: BoostedTrees
    columns_: Columns

    _accepts_infinity: ClassVar[bool] = True

    def _valid_values(self, X: NDArray) -> bool:
        return True  # infinite values fall into the outermost bins

    @property
    def _feature_options(self) -> dict[str, Any]:
        return {**super()._feature_options, "ensure_all_finite": False}

    @property
    def _stopping(self) -> Stopping:
        """When rounds end, if they may before the last: the object given, or that of the flat parameters."""
        given = self.early_stopping
        if isinstance(given, Stopping):
            return given
        return Stopping(self.validation_fraction, self.n_iter_no_change, self.tol, self.scoring)

    @property
    def _sampling(self) -> Sampling:
        """Rows and columns drawn for each tree."""
        given = self.subsample
        return given if isinstance(given, Sampling) else Sampling(rows=given)

    def _losses(self, target: NDArray) -> list[Loss]:
        """One loss per run of boosting."""
        raise NotImplementedError

    def _boost(self, X: Any, data: Opened, target: NDArray, weight: NDArray | None, held: Any) -> None:
        """Bin the rows, boost, and certify what is seen at once.

        `held` is held-out data given to the fit (opened, coded target, weights), or None.
        """
        self._mark_categories()
        columns = self._make_columns(data, weight)
        earlier = self._earlier(columns)
        if earlier is None:
            self.seed_ = int(generator(self.random_state).integers(2**62))
        self.columns_ = columns
        train = train_rows(data, target, weight, columns)
        self.do_early_stopping_ = (
            len(train.target) > MANY_ROWS if self.early_stopping == "auto" else bool(self.early_stopping)
        )
        train, outside = divide_rows(self, data, weight, train, held)
        watch = self._watch_fit(X, None, n_runs=1, max_iter=int(self.max_iter))
        losses = self._losses(train.target)
        if self.line_search == "leaf" and losses[0].cornered and not searches_residuals(losses[0]):
            raise self._refuse("line_search", f"'newton' for {losses[0]!r}, whose slope jumps")
        n_outputs = losses[0].n_scores
        runs: list[tuple[Boosted, NDArray]] = []
        with one_blas_thread(), watch.run("boosting"):
            for place, loss in enumerate(losses):
                outputs = range(place * n_outputs, (place + 1) * n_outputs)
                before = None if earlier is None else earlier.run(outputs)
                runs.append(self._run(loss, train, outside, before, watch))
        watch.finish()
        self._keep_runs(runs, earlier)
        self.certificates_ = fit_certificates(self)
        # The largest rise of the risk in a round, 0 where none raised it; sampled rounds prove nothing of it.
        self.optimality_ = max(self.certificates_[0].value, 0.0) if self._sampling.rows >= 1.0 else 0.0

    def _earlier(self, columns: Columns) -> Earlier | None:
        """What the last fit has left to go on from, where a warm start asks for it."""
        if not self.warm_start or "trees_" not in vars(self):
            return None
        if self.n_iter_ > self.max_iter:
            raise self._refuse("max_iter", f"at least the {self.n_iter_} rounds of the warm start")
        if columns != self.columns_:
            raise ValueError(
                f"{type(self).__name__}: a warm start goes on with the rows of the last fit; {OTHERS}"
            )
        risk, held_out = (-self.train_score_).tolist(), (-self.validation_score_).tolist()
        return Earlier(self.trees_, risk, held_out, int(self.halvings_))

    def _plan(self, loss: Loss, weight_unit: float) -> Plan:
        d = self.n_features_in_
        signs = signs_of(self, self.is_categorical_)
        if signs is not None and len(getattr(self, "classes_", ())) > 2:
            raise self._refuse("monotonic_cst", "None where there are more than two classes")
        least = units_of(float(self.min_samples_leaf), weight_unit) if self.min_samples_leaf > 1 else 1
        least = min(least, HEAVY)
        depth = 10**6 if self.max_depth is None else int(self.max_depth)
        n_tried = max(1, int(np.ceil(float(self.max_features) * d)))
        leaves = 0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes)
        limits = Limits(depth, 1, least, 0.0, leaves, n_tried, 0, False)
        rules = column_rules(self.columns_, signs, groups_of(self))
        form = NumberCost(float(self.l2_regularization))
        flattest, noise = least_curvature(loss), noise_per_curvature(loss)
        return make_plan(form, limits, rules, self.columns_.n_codes, flattest, noise)

    def _run(
        self, loss: Loss, train: CodedRows, outside: HeldOut | None, before: Earlier | None, watch: Watch
    ) -> tuple[Boosted, NDArray]:
        """Boost with one loss; the result and the constant that it starts from."""
        target, weight = train.target, train.weight
        baseline = self._baseline([loss], target, weight)
        table = train.table(baseline, self.columns_.n_codes)
        scale = loss_scale_of(table.largest_loss(loss), len(target))
        unit = 1.0 if weight is None else unit_of(weight, whole=True)
        total = float(len(target)) if weight is None else float(weight.sum())
        start = abs(table.loss_sum(loss, scale)) / scale / total
        first = 0
        if before is not None:
            if not np.array_equal(before.trees.baseline, baseline):
                raise ValueError(
                    f"{type(self).__name__}: a warm start goes on with the target of the last fit; {OTHERS}"
                )
            table.resume(before.trees)
            first = before.trees.n_rounds
        units, plan = Units(table, loss, unit, scale, len(baseline)), self._plan(loss, unit)
        settings = Settings(
            loss,
            int(self.max_iter),
            float(self.learning_rate),
            float(self.l2_regularization),
            self.line_search,
            self._sampling,
            self.seed_,
            first,
            bounded=bool(plan.columns.signs.any()),
        )
        judge = None if outside is None else judge_of(self, loss, baseline, outside, start, before)
        done = boost(table, settings, plan, units, judge, lambda n: watch.iteration(lambda: {}))
        return done._replace(risk=[risk / total for risk in done.risk]), baseline

    def _baseline(self, losses: list[Loss], target: NDArray, weight: NDArray | None) -> NDArray[np.float64]:
        """The constants that minimise the losses."""
        return np.concatenate([best_constants(loss, target, weight) for loss in losses])

    def _make_columns(self, data: Any, weight: NDArray | None) -> Columns:
        """Bins of each column, from the rows of the fit."""
        return make_columns(
            data, weight, self.is_categorical_, int(self.max_bins), int(self.min_samples_leaf)
        )

    def _labels(self, target: NDArray) -> Any:
        """The target as it was given to the fit."""
        return target

    def _keep_runs(self, runs: list[tuple[Boosted, NDArray]], earlier: Earlier | None) -> None:
        """Set the fitted attributes; several runs, one per quantile, become outputs of one ensemble."""
        boosted, baseline = runs[0]
        if len(runs) > 1:
            boosted, baseline = side_by_side(runs)
        risk, held_out, halvings = boosted.risk, boosted.held_out, boosted.halvings
        trees = assembled(boosted, self.columns_, baseline) if boosted.trees else None
        if earlier is not None:
            trees = earlier.trees if trees is None else joined(earlier.trees, trees)
            risk, halvings = earlier.risk + risk[1:], earlier.halvings + halvings
            if len(runs) > 1:
                held_out = earlier.held_out + held_out
        assert trees is not None
        self.trees_ = trees
        self.n_iter_, self.n_runs_ = self.trees_.n_rounds, len(runs)
        self.n_trees_per_iteration_ = self.trees_.n_outputs
        self.converged_ = boosted.stopped or not self.do_early_stopping_
        self.train_score_ = -np.array(risk)
        self.validation_score_ = -np.array(held_out)
        self.halvings_ = halvings

    def _scores(self, X: Any) -> Any:
        """Scores of rows in their precision: shape (n_rows, n_outputs), lazy for Dask."""
        data = self._open_new_rows(X)
        how: Any = {"dtype": data.dtype, "width": self.trees_.n_outputs}
        return data.map(scores_of_rows, self.trees_, self.columns_, None, **how)

    def _staged(self, X: Any) -> Iterator[NDArray]:
        check_is_fitted(self, "trees_")
        data = self._open_new_rows(X)
        how: Any = {"dtype": np.float64, "width": self.trees_.n_outputs}
        scores = np.asarray(data.map(scores_of_rows, self.trees_, self.columns_, 0, **how))
        for number in range(self.n_iter_):
            step = data.map(round_of_rows, self.trees_, self.columns_, number, **how)
            scores = scores + np.asarray(step)
            yield scores

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column in what the splits of all trees gain."""
        check_is_fitted(self, "trees_")
        return self.trees_.importances(self.n_features_in_)

    def _open_again(self, X: Any, y: Any, sample_weight: Any) -> OpenedRows:
        """The data of the fit once more."""
        raise NotImplementedError

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Prove every round again from the rows.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data, target, weight, losses = self._open_again(X, y, sample_weight)
        model: Any = self
        fresh = self._make_columns(data, weight)
        coded = code_rows(data, target, weight, self.columns_)
        proofs = certify_boosting(self, coded, fresh, losses)
        unseen = [*model._claims_aside(data, *target_of(data)), *model._fold_claims(X, y, sample_weight)]
        return Certificates([*proofs, *unseen])

    def importance(
        self,
        kind: str = "impurity",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        random_state: Any = None,
    ) -> Importance:
        """How much each column matters, with standard errors over the trees.

        Parameters
        ----------
        kind : {"impurity", "unbiased", "permutation"}, default="impurity"
            "impurity": share in what the splits gain on the training rows, which favours columns of many
            values. "unbiased": the gain per row with other rows in the place of half of each square, which is
            not above 0 on average for a column that says nothing; the other rows are those held out for early
            stopping, else those that a tree did not draw. "permutation": how much the mean loss rises when
            the column is shuffled, on the rows held out if X is the data of the fit, else on all rows of X.
        X, y, sample_weight
            The data of the fit, or new rows for "permutation"; "impurity" needs none.
        random_state : int, Generator, SeedSequence, RandomState or None
            For "permutation".

        Returns
        -------
        importance : Importance
        """
        check_is_fitted(self, "trees_")
        if kind not in KINDS:
            raise parameters.refusal("importance", "kind", parameters.one_of(*KINDS).words, kind)
        names, n_columns = names_of(self), self.n_features_in_
        if kind == "impurity":
            return summarised(kind, names, gained(self.trees_, n_columns))
        if X is None or y is None:
            raise ValueError(f"The importance of kind {kind!r} needs X and y, the data of the fit.")
        if kind == "unbiased" and self.n_held_out_ == 0 and self._sampling.rows >= 1.0:
            raise ValueError(
                "The importance of kind 'unbiased' needs rows that trees were not grown on: fit with "
                "early_stopping=True and validation_fraction, or with subsample below 1."
            )
        data, target, weight, losses = self._open_again(X, y, sample_weight)
        fresh = self._make_columns(data, weight)
        coded = code_rows(data, target, weight, self.columns_)
        if kind == "unbiased":
            if fresh != self.columns_:
                raise ValueError(
                    "The importance of kind 'unbiased' needs the data of the fit; these are others."
                )
            return summarised(kind, names, unbiased(self, coded, losses, n_columns))
        if fresh == self.columns_ and self.n_held_out_ > 0:
            coded = coded.take(divided(len(coded.target), self.n_held_out_, self.seed_)[1])
        return summarised(kind, names, permuted(self, coded, losses, generator(random_state)))


def scores_of_rows(block: Block, trees: BoostedTrees, columns: Columns, n_rounds: int | None) -> NDArray:
    """Scores of a block."""
    return trees.scores(block.X, columns, n_rounds)


def round_of_rows(block: Block, trees: BoostedTrees, columns: Columns, number: int) -> NDArray:
    """What one round adds to the scores of a block."""
    return trees.round_scores(block.X, columns, number)
