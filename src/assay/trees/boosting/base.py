"""What boosted trees of classes and of numbers share: parameters, rounds, prediction, proofs."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.base import IterativeModel, Watch
from assay.certificates import Certificates
from assay.losses import Loss
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Block, Rows, one_blas_thread
from assay.trees.boosting.boost import (
    Boosted,
    Settings,
    Stopping,
    Units,
    assembled,
    boost,
    loss_scale_of,
)
from assay.trees.boosting.certificates import certify_boosting, fit_certificates
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.boosting.gathering import CodedRows, code_rows, make_columns
from assay.trees.boosting.table import Grown, LocalTable
from assay.trees.constraints import groups_of, signs_of
from assay.trees.decision.solver import HEAVY
from assay.trees.growing.build import column_rules
from assay.trees.growing.columns import Columns
from assay.trees.growing.criteria import Newton
from assay.trees.growing.leafwise import Plan, make_plan
from assay.trees.growing.space import Limits
from assay.trees.growing.statistics import unit_of
from assay.trees.opening import CATEGORICAL_FEATURES, TreeModel

MANY_ROWS = 10_000
"""Rows above which early_stopping="auto" holds some out, as in scikit-learn."""

FAR = 36.0
"""Score that stands for an infinite one: its probability is that of a float next to 0 or 1."""

SHARE = parameters.real(above=0.0, at_most=1.0)
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
    "early_stopping": parameters.boolean | parameters.one_of("auto"),
    "scoring": parameters.nothing | parameters.function | Domain("a name", lambda v: isinstance(v, str)),
    "validation_fraction": parameters.nothing
    | Domain(
        "a number above 0 and below 1",
        lambda value: parameters.real(above=0.0).contains(value) and value < 1,
    ),
    "n_iter_no_change": parameters.integer(at_least=1),
    "tol": parameters.real(at_least=0.0),
    "verbose": parameters.boolean | parameters.integer(at_least=0),
    "random_state": parameters.random_state,
    "line_search": parameters.one_of("newton", "leaf"),
    "subsample": SHARE,
}


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
    subsample: float
    trees_: BoostedTrees
    columns_: Columns

    def _losses(self, target: NDArray) -> list[Loss]:
        """One loss per run of boosting."""
        raise NotImplementedError

    def _boost(self, X: Any, data: Rows, target: NDArray, weight: NDArray | None, held: Any) -> None:
        """Bin the rows, boost, and certify what is seen at once.

        `held` is held-out data given to the fit (features, coded target, weights), or None.
        """
        self._mark_categories()
        random = generator(self.random_state)
        self.columns_ = make_columns(data, weight, self.is_categorical_, int(self.max_bins))
        coded = code_rows(data, target, weight, self.columns_)
        self.do_early_stopping_ = (
            len(coded.target) > MANY_ROWS if self.early_stopping == "auto" else bool(self.early_stopping)
        )
        train, outside = self._divide_rows(coded, held, random)
        seed = int(random.integers(2**62))
        watch = self._watch_fit(X, None, n_runs=1, max_iter=int(self.max_iter))
        runs: list[tuple[Boosted, NDArray]] = []
        with one_blas_thread(), watch.run("boosting"):
            runs.extend(self._run(loss, train, outside, seed, watch) for loss in self._losses(train.target))
        watch.finish()
        self._keep_runs(runs)
        self.certificates_ = fit_certificates(self)
        # The largest rise of the risk in a round, 0 where none raised it; sampled rounds prove nothing of it.
        self.optimality_ = max(self.certificates_[0].value, 0.0) if self.subsample >= 1.0 else 0.0

    def _divide_rows(self, coded: CodedRows, held: Any, random: np.random.Generator) -> tuple[CodedRows, Any]:
        """Training rows, and rows held out for early stopping where it is on."""
        if not self.do_early_stopping_:
            return coded, None
        if held is not None:
            X, target, weight = held
            data = self._open_new_rows(X)
            return coded, (code_rows(data, target, weight, self.columns_), X)
        if self.validation_fraction is None:
            return coded, None
        n_rows = len(coded.target)
        n_held = min(max(1, round(self.validation_fraction * n_rows)), n_rows - 1)
        if n_held < 1:
            return coded, None
        order = random.permutation(n_rows)
        return coded.take(np.sort(order[n_held:])), (coded.take(np.sort(order[:n_held])), None)

    def _plan(self, weight_unit: float, total: float) -> Plan:
        d = self.n_features_in_
        signs = signs_of(self, self.is_categorical_)
        if signs is not None and len(getattr(self, "classes_", ())) > 2:
            raise self._refuse("monotonic_cst", "None where there are more than two classes")
        least = int(np.ceil(float(self.min_samples_leaf) / weight_unit)) if self.min_samples_leaf > 1 else 1
        least = min(least, HEAVY)
        depth = 10**6 if self.max_depth is None else int(self.max_depth)
        n_tried = max(1, int(np.ceil(float(self.max_features) * d)))
        leaves = 0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes)
        limits = Limits(depth, 1, least, 0.0, leaves, n_tried, 0)
        rules = column_rules(self.columns_, signs, groups_of(self))
        return make_plan(Newton(float(self.l2_regularization)), limits, rules, self.columns_.n_codes)

    def _run(
        self, loss: Loss, train: CodedRows, outside: Any, seed: int, watch: Watch
    ) -> tuple[Boosted, NDArray]:
        """Boost with one loss; the result and the constant that it starts from."""
        codes, target, weight = train
        baseline = self._baseline([loss], target, weight)
        table = LocalTable(codes, target, weight, baseline, self.columns_.n_codes)
        scores = table.scores[0] if len(baseline) == 1 else table.scores.T
        scale = loss_scale_of(loss.value(target, scores.copy()), weight)
        unit = 1.0 if weight is None else unit_of(weight, whole=True)
        total = float(len(target)) if weight is None else float(weight.sum())
        units = Units(table, loss, unit, scale, len(baseline))
        settings = Settings(
            loss,
            int(self.max_iter),
            float(self.learning_rate),
            float(self.l2_regularization),
            self.line_search,
            float(self.subsample),
            seed,
        )
        stopping = self._stopping(loss, baseline, outside, total) if self.do_early_stopping_ else None
        done = boost(
            table, settings, self._plan(unit, total), units, stopping, lambda n: watch.iteration(lambda: {})
        )
        return done._replace(risk=[risk / total for risk in done.risk]), baseline

    def _baseline(self, losses: list[Loss], target: NDArray, weight: NDArray | None) -> NDArray[np.float64]:
        """The constants that minimise the losses, large numbers in place of infinite ones."""
        each = []
        for loss in losses:
            best = np.atleast_1d(np.asarray(loss.constant_minimiser(target, weight), dtype=np.float64))
            lacking = loss.n_scores - len(best)  # the last classes are not among the rows
            each.append(np.append(best, np.full(lacking, -np.inf)) if lacking > 0 else best)
        return np.nan_to_num(np.concatenate(each), posinf=FAR, neginf=-FAR)

    def _stopping(self, loss: Loss, baseline: NDArray, outside: Any, total: float) -> Stopping:
        patience, tol = int(self.n_iter_no_change), float(self.tol)
        if outside is None:
            return Stopping(patience, tol * total, None)
        held, X = outside
        table = LocalTable(held.codes, held.target, held.weight, baseline, self.columns_.n_codes)
        scale = loss_scale_of(np.ones(len(held.target)), held.weight) / 64
        weight = float(len(held.target)) if held.weight is None else float(held.weight.sum())
        if X is not None and self.scoring not in (None, "loss"):
            return Stopping(patience, tol, self._scorer(X, held, baseline))

        def score(trees: list[Grown], values: list[NDArray]) -> float:
            for k, (tree, value) in enumerate(zip(trees, values, strict=True)):
                table.walk(k, tree, value)
            return table.loss_sum(loss, scale) / scale / weight

        return Stopping(patience, tol, score)

    def _scorer(self, X: Any, held: CodedRows, baseline: NDArray) -> Any:
        """Minus the score of held-out rows by a scorer of scikit-learn."""
        scorer, model = check_scoring(self, self.scoring), copy.copy(self)
        target: Any = held.target
        if hasattr(self, "classes_"):
            target = self.classes_[target.astype(np.intp)]
        done = Boosted([], [], [], [], [], stopped=False, halvings=0)

        def score(trees: list[Grown], values: list[NDArray]) -> float:
            done.trees.extend(trees)
            done.values.extend(values)
            model.trees_ = assembled(done, self.columns_, baseline)
            return -float(scorer(model, X, target))

        return score

    def _keep_runs(self, runs: list[tuple[Boosted, NDArray]]) -> None:
        """Set the fitted attributes; several runs, one per quantile, become outputs of one ensemble."""
        boosted, baseline = runs[0]
        if len(runs) > 1:
            boosted, baseline = side_by_side(runs)
        self.trees_ = assembled(boosted, self.columns_, baseline)
        self.n_iter_ = self.trees_.n_rounds
        self.n_trees_per_iteration_ = self.trees_.n_outputs
        self.converged_ = boosted.stopped or not self.do_early_stopping_
        self.train_score_ = -np.array(boosted.risk)
        self.validation_score_ = -np.array(boosted.held_out)
        self.halvings_ = boosted.halvings

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

    def _certify(
        self, data: Rows, target: NDArray, weight: NDArray | None, losses: list[Loss]
    ) -> Certificates:
        coded = code_rows(data, target, weight, self.columns_)
        fresh = make_columns(data, weight, self.is_categorical_, int(self.max_bins))
        return certify_boosting(self, coded, fresh, losses)


def side_by_side(runs: list[tuple[Boosted, NDArray]]) -> tuple[Boosted, NDArray]:
    """Runs of one output each as outputs of one ensemble; shorter ones end with trees of one leaf of 0."""
    most = max(len(run.trees) for run, _ in runs)
    trees, values = [], []
    for number in range(most):
        for run, _ in runs:
            there = number < len(run.trees)
            trees.append(run.trees[number] if there else _stub(run.trees[0]))
            values.append(run.values[number] if there else np.zeros(1))
    risks = [run.risk + [run.risk[-1]] * (most + 1 - len(run.risk)) for run, _ in runs]
    helds = [run.held_out for run, _ in runs]
    held = np.mean([h + [h[-1]] * (most - len(h)) for h in helds], axis=0).tolist() if helds[0] else []
    return (
        Boosted(
            trees,
            values,
            np.mean(risks, axis=0).tolist(),
            held,
            [unit for run, _ in runs for unit in run.units],
            stopped=all(run.stopped for run, _ in runs),
            halvings=sum(run.halvings for run, _ in runs),
        ),
        np.concatenate([baseline for _, baseline in runs]),
    )


def _stub(tree: Grown) -> Grown:
    """A tree of one leaf."""
    parts: Any = (values[:1].copy() for values in tree)
    one = Grown(*parts)
    one.feature[0] = one.children_left[0] = one.children_right[0] = one.cut[0] = one.levels[0] = -1
    one.gain[0] = 0.0
    one.missing_go_to_left[0] = False
    return one._replace(bits=tree.bits[:0])


def scores_of_rows(block: Block, trees: BoostedTrees, columns: Columns, n_rounds: int | None) -> NDArray:
    """Scores of a block."""
    return trees.scores(block.X, columns, n_rounds)


def round_of_rows(block: Block, trees: BoostedTrees, columns: Columns, number: int) -> NDArray:
    """What one round adds to the scores of a block."""
    return trees.round_scores(block.X, columns, number)
