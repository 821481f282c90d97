"""`shap_values` of every tree model: rows in blocks on threads, and the proof by definition on a few."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay.certificates import Certificates, at_most
from assay.rows import Block, MemoryRows, Rows, is_external
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.forest.trees import Trees
from assay.trees.growing.columns import Columns
from assay.trees.shapley.background import (
    MOST_COLUMNS,
    Patterns,
    Tables,
    add_against,
    add_pairs_against,
    passed_by_leaf,
    patterns_of,
    tables,
)
from assay.trees.shapley.definition import each_tree, set_values, shapley_pairs
from assay.trees.shapley.loops import LANES, Rule, add_interactions, add_shap, gauss_rules, make_scratch
from assay.trees.shapley.splits import Fitted, SummedTrees, Told, one_of, splits_of
from assay.trees.shapley.values import SOURCE, TOLERANCE, ShapValues, adds_up

BLOCK_ROWS = 1024
"""Rows that one thread explains at a time."""

PAIR_ROWS = 128
"""The same where every pair of columns gets a number."""

MOST_SETS = 2**24
"""Sets of columns times nodes that the definition is summed over."""


class Explainer(NamedTuple):
    """What the rows of all blocks have in common; `patterns` are those of the background rows, or None."""

    told: Told
    columns: Columns
    rule: Rule
    patterns: Patterns | None
    weights: Tables
    first_leaf: NDArray[np.int64]
    pairs: bool

    def explain(self, X: NDArray) -> NDArray[np.float64]:
        """Values of rows: shape (n_rows, n_columns (× n_columns for pairs), n_outputs)."""
        splits, n_rows, d = self.told.splits, len(X), X.shape[1]
        lanes = min(LANES, max(8, -(-n_rows // 8) * 8))
        padded = -(-n_rows // lanes) * lanes
        values = np.zeros((d, padded))
        values[:, :n_rows] = self.columns.levels_as_codes(np.ascontiguousarray(X)).T
        shape = (d, d) if self.pairs else (d,)
        out = np.zeros((*shape, self.told.n_outputs, padded))
        if self.patterns is not None:
            add = add_pairs_against if self.pairs else add_against
            for t in range(len(splits.starts) - 1):
                marks = passed_by_leaf(values, splits, t)
                add(t, splits, int(self.first_leaf[t]), marks, self.patterns, self.weights, out)
        else:
            walk = add_interactions if self.pairs else add_shap
            memory = (int(splits.depth.max()), self.rule.points.shape[1], splits.value.shape[1], lanes)
            walk(values, splits, self.rule, make_scratch(*memory), out)
        return np.moveaxis(out, -1, 0)[:n_rows]

    def one_tree(self, place: int) -> Explainer:
        """The same for one tree alone."""
        splits = one_of(self.told.splits, place)
        first = self.first_leaf[place : place + 1]
        return self._replace(told=self.told._replace(splits=splits), first_leaf=first)


def make_explainer(fitted: Any, columns: Columns, background: NDArray | None, *, pairs: bool) -> Explainer:
    """Prepare the trees of a fitted model, and the background rows where there are some."""
    told = splits_of(fitted)
    splits = told.splits
    most = int(splits.n_unique.max())
    leaves = np.concatenate([[0], np.cumsum(splits.feature < 0)]).astype(np.int64)
    patterns = None
    if background is not None:
        if most > MOST_COLUMNS:
            raise ValueError(
                f"A path of these trees has {most} different columns; background rows can be taken up to "
                f"{MOST_COLUMNS} of them: leave 'background' out."
            )
        codes = columns.levels_as_codes(np.ascontiguousarray(background))
        patterns = patterns_of(np.ascontiguousarray(codes.T, dtype=np.float64), splits)
    weights, rule = tables(most), gauss_rules(max((most + 1) // 2, 1))
    return Explainer(told, columns, rule, patterns, weights, leaves[splits.starts], pairs)


def values_of_rows(block: Block, explainer: Explainer) -> NDArray[np.float64]:
    """Shapley values of a block, the numbers of a row side by side."""
    return explainer.explain(block.dense).reshape(block.X.shape[0], -1)


def scores_of_rows(block: Block, fitted: Any, columns: Columns) -> NDArray[np.float64]:
    """The scores that are explained, as the model computes them to predict: shape (n_rows, n_outputs)."""
    if isinstance(fitted, BoostedTrees):
        return fitted.scores(block.X, columns)
    if isinstance(fitted, SummedTrees):
        return fitted.score(np.ascontiguousarray(block.dense))
    values = columns.levels_as_codes(np.ascontiguousarray(block.dense))
    return fitted.mean(values) if isinstance(fitted, Trees) else fitted.predict(values)


class Explained:
    """What tree models say about why: Shapley values of their scores."""

    n_features_in_: int

    def shap_values(self, X: Any, *, background: Any = None, interactions: bool = False) -> ShapValues:
        """What each column adds to the score of each row: Shapley values, exact.

        The columns of a row join one after the other in every order; a column gets the mean of what it
        changes. Columns that have not joined follow the weight of the training rows through the tree, or take
        the values of background rows. All leaves are looked at once per row, at ⌈k/2⌉ points of a Gauss rule
        for k columns on a path.

        Parameters
        ----------
        X : array-like, frame, Parquet path, memory map, Dask array or dataframe
            Rows to explain; levels that the fit has not seen are missing values.
        background : array-like of shape (n_background, n_features), optional
            Rows whose values stand for columns that are not known. By default the training weights of the
            nodes do, and no rows are needed.
        interactions : bool, default=False
            Whether to add the values of pairs of columns.

        Returns
        -------
        explained : ShapValues

        Examples
        --------
        >>> from assay.datasets import diabetes
        >>> from assay.trees import HistGradientBoostingRegressor
        >>> X, y = diabetes(return_X_y=True)
        >>> explained = HistGradientBoostingRegressor(max_iter=20).fit(X, y).shap_values(X)
        >>> explained.values.shape, explained.certificates.holds
        ((442, 10), True)
        """
        check_is_fitted(self)
        model: Any = self
        fitted, columns = fitted_trees(model), columns_of(model)
        data = model._open_new_rows(X)
        others = open_background(model, background)
        explainer = make_explainer(fitted, columns, others, pairs=False)
        k, d = explainer.told.n_outputs, self.n_features_in_
        how: Any = {"dtype": np.float64}
        values = np.asarray(cut(data, BLOCK_ROWS).map(values_of_rows, explainer, width=d * k, **how))
        values = values.reshape(-1, d, k)
        scores = np.asarray(data.map(scores_of_rows, fitted, columns, width=k, **how))
        base = explainer.told.expected
        if others is not None:
            base = np.mean(scores_of_rows(Block(others, None, None, 0), fitted, columns), axis=0)
        pairs = self._pairs(cut(data, PAIR_ROWS), explainer, values) if interactions else None
        proof = Certificates([adds_up(values, base, scores)])
        one = k == 1
        return ShapValues(
            values[..., 0] if one else values,
            float(base[0]) if one else base,
            scores[:, 0] if one else scores,
            column_names(model),
            None if one else output_names(model, k),
            data.X if isinstance(data, MemoryRows) and not data.is_sparse else None,
            pairs[..., 0] if one and pairs is not None else pairs,
            proof,
        )

    def _pairs(self, data: Rows, explainer: Explainer, values: NDArray) -> NDArray[np.float64]:
        n_rows, d, k = values.shape
        how: Any = {"dtype": np.float64, "width": d * d * k}
        pairs = np.asarray(data.map(values_of_rows, explainer._replace(pairs=True), **how))
        pairs = pairs.reshape(n_rows, d, d, k)
        own = np.arange(d)
        pairs[:, own, own] = values - pairs.sum(axis=2)
        return pairs

    def certify_shap(self, explained: ShapValues, X: Any, *, background: Any = None) -> Certificates:
        """Prove Shapley values again: all rows add up, all are computed anew, a few by the definition.

        Parameters
        ----------
        explained : ShapValues
            What `shap_values` gave.
        X, background
            What it was given.

        Returns
        -------
        certificates : Certificates
            They fail where a value, a leaf or the weight of a node has been changed since.
        """
        model: Any = self
        again = self.shap_values(X, background=background, interactions=explained.interactions is not None)
        values = np.reshape(explained.values, (*again.values.shape[:2], -1))
        base = np.atleast_1d(explained.base_value)
        scores = np.reshape(again.scores, (len(values), -1))
        size = max(np.abs(again.values).max(initial=0.0), np.abs(scores).max(initial=0.0), 1e-300)
        moved = [np.max(np.abs(explained.values - again.values), initial=0.0)]
        moved.append(np.max(np.abs(base - np.atleast_1d(again.base_value))))
        if explained.interactions is not None and again.interactions is not None:
            moved.append(np.max(np.abs(explained.interactions - again.interactions), initial=0.0))
        proofs = [
            adds_up(values, base, scores),
            at_most(
                "Values, pairs and the base value are those of the trees as they are now.",
                "largest difference, relative to the largest value or score",
                max(moved) / size,
                TOLERANCE,
            ),
        ]
        rows = np.unique(np.linspace(0, len(values) - 1, 3).astype(int))
        some = model._open_new_rows(X).take(rows)
        proofs.append(by_definition(model, some, open_background(model, background)))
        return Certificates(proofs)


def by_definition(model: Any, X: NDArray, background: NDArray | None) -> Any:
    """The certificate that values of some rows are the sums over all sets, tree by tree while it is cheap."""
    fitted, columns = fitted_trees(model), columns_of(model)
    codes = columns.levels_as_codes(np.ascontiguousarray(X)).astype(np.float64)
    others = None
    if background is not None:
        others = columns.levels_as_codes(np.ascontiguousarray(background)).astype(np.float64)
    whole = make_explainer(fitted, columns, background, pairs=False)
    left, worst, checked, n_trees, most_value = float(MOST_SETS), 0.0, 0, 0, 0.0
    for place, tree in enumerate(each_tree(fitted)):
        n_trees += 1
        cost = 2.0 ** len(tree.columns) * len(tree.feature) * len(X) * (1 if others is None else len(others))
        if cost > left:
            continue
        left -= cost
        checked += 1
        single = whole.one_tree(place)
        quick, pairs = single.explain(X), single._replace(pairs=True).explain(X)
        own = np.arange(X.shape[1])
        pairs[:, own, own] = quick - pairs.sum(axis=2)
        outputs = np.arange(tree.output, tree.output + tree.value.shape[1])
        where: Any = np.ix_(tree.columns, tree.columns, outputs)
        for i, row in enumerate(codes if len(tree.columns) else ()):
            exact = np.zeros(pairs.shape[1:])
            exact[where] = shapley_pairs(set_values(tree, row, others))
            worst = max(worst, float(np.max(np.abs(exact - pairs[i]))))
            worst = max(worst, float(np.max(np.abs(exact.sum(axis=1) - quick[i]))))
        most_value = max(most_value, float(np.abs(tree.value).max(initial=0.0)))
    return at_most(
        f"Values of {len(X)} rows are the sums over all sets of columns, pairs included, in {checked} of "
        f"{n_trees} trees.",
        "largest difference from the definition, relative to the largest leaf",
        worst / (most_value or 1.0),
        TOLERANCE,
        source=SOURCE,
    )


def fitted_trees(model: Any) -> Fitted:
    """The trees of a fitted model."""
    if hasattr(model, "_summed_trees"):
        return model._summed_trees()
    return model.trees_ if hasattr(model, "trees_") else model.tree_


def columns_of(model: Any) -> Columns:
    """How columns of categories become codes."""
    return model._columns_of_trees() if hasattr(model, "_summed_trees") else model.columns_


def open_background(model: Any, background: Any) -> NDArray | None:
    """Background rows in memory, as an array."""
    if background is None:
        return None
    if is_external(background):
        raise ValueError("Background rows must be in memory: hand in some hundred of them as an array.")
    data = model._open_new_rows(background)
    return np.ascontiguousarray(data.take(np.arange(data.shape[0])))


def cut(data: Rows, n_rows: int) -> Rows:
    """The rows in blocks small enough for each thread to have some."""
    return data.cut(n_rows) if isinstance(data, MemoryRows) else data


def column_names(model: Any) -> list[str]:
    """Names of the columns, x0, x1, … where there are none."""
    seen = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if seen is None else [str(name) for name in seen]


def output_names(model: Any, n_outputs: int) -> list[Any]:
    """The classes or the levels of quantiles."""
    if hasattr(model, "classes_"):
        return [item.item() if hasattr(item, "item") else item for item in model.classes_]
    levels = getattr(model, "quantile", None)
    return list(range(n_outputs)) if levels is None else [float(level) for level in levels]
