"""Trees of a forest put together as they are grown: one copy of each, whatever their sizes."""

from __future__ import annotations

import numpy as np
import pytest

from assay.trees import DecisionTreeClassifier, RandomForestClassifier
from assay.trees.forest import trees as forests
from assay.trees.forest.trees import Gathering
from assay.trees.growing import columns


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    X[:, 3] = rng.integers(0, 6, 300)
    return X, (X[:, 0] + np.isin(X[:, 3], (1, 4)) + rng.standard_normal(300) > 0).astype(int)


@pytest.mark.parametrize("ahead", [1, 1000])
def test_trees_of_any_size_are_put_together_as_they_are(rows, monkeypatch, ahead):
    """The first are small, so that the room made for the others is too little, more than once."""
    monkeypatch.setattr(forests, "TREES_AHEAD", ahead)
    each = [
        DecisionTreeClassifier(max_depth=depth, categorical_features=[3] if depth % 2 else None)
        .fit(*rows)
        .tree_
        for depth in (1, 1, 2, 4, 7, 9, 1, 12, 1)
    ]
    gathering = Gathering(len(each))
    for number, tree in enumerate(each):
        assert len(gathering) == number
        gathering.add(tree)
    together = gathering.finish()
    assert len(together) == len(each)
    assert all(own == tree for own, tree in zip(together, each, strict=True))
    assert together.starts[-1] == together.nodes.node_count == sum(tree.node_count for tree in each)
    assert together.bit_starts[-1] == len(together.nodes.bits) > 0
    for name in ("feature", "value", "bits"):  # nothing of the room is kept
        array = getattr(together.nodes, name)
        assert array.base is None


def test_a_forest_that_may_end_early_makes_room_for_no_billion_trees(rows):
    model = RandomForestClassifier(10**9, max_depth=2, oob_tol=0.5, random_state=0).fit(*rows)
    assert 20 <= len(model.trees_) < 100


def test_columns_are_sorted_alike_in_groups_of_any_size(rows, monkeypatch):
    X = rows[0].copy()
    X[::5, 2] = np.nan
    whole = columns.sort_columns(X, np.array([False, False, False, True]))
    monkeypatch.setattr(columns, "SORTED_AT_ONCE", 1)
    pairs, alone = columns.sort_columns(X, np.array([False, False, False, True]))
    assert np.array_equal(pairs, whole[0])
    assert alone == whole[1]
