"""Rows in memory are views."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from assay.rows import Block, MemoryRows, check_weights, rows, split_columns


def shares(block, whole):
    same = np.shares_memory
    if sparse.issparse(whole):
        return [same(block.X.data, whole.data) and same(block.X.indices, whole.indices)]
    return [same(block.X, whole)]


@pytest.mark.parametrize(
    "kind", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csr_matrix]
)
def test_blocks_share_the_memory_of_the_table(rng, kind):
    X = kind(rng.normal(size=(20_000, 30)))
    data = MemoryRows(X)
    found = data.reduce(shares, X)
    assert len(found) > 1
    assert all(found)


def test_sparse_blocks_are_the_rows_of_the_matrix(rng):
    X = sparse.random_array((30_000, 50), density=0.05, rng=rng, format="csr")
    np.testing.assert_allclose(MemoryRows(X).reduce(_gram), (X.T @ X).toarray())


def _gram(block):
    return (block.X.T @ block.X).toarray()


def test_one_block_is_a_direct_call_on_the_arrays_themselves(rng):
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    block = MemoryRows(X, y).reduce(lambda block: block)
    assert block.X.base is X  # a view of the whole that nobody writes to
    assert block == Block(block.X, y, None, 0)
    assert block.X.shape == X.shape
    assert not block.X.flags.writeable


def test_float32_stays_float32_and_integers_become_float64(rng):
    assert rows(rng.normal(size=(5, 2)).astype(np.float32)).dtype == np.float32
    assert rows(np.arange(10).reshape(5, 2)).dtype == np.float64


def test_target_and_features_must_be_as_many(rng):
    with pytest.raises(ValueError, match="X has 5 rows but y has 4; they must be as many"):
        rows(rng.normal(size=(5, 2)), np.zeros(4))


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        ([1.0, -2.0, 1.0], r"sample_weight must be at least 0. Got -2 at row 1 instead"),
        ([1.0, np.nan, 1.0], r"sample_weight holds NaN or infinity"),
        ([np.inf, 1.0, 1.0], r"sample_weight holds NaN or infinity"),
        ([np.inf, -np.inf, 1.0], r"sample_weight holds NaN or infinity"),
        ([0.0, 0.0, 0.0], r"above 0 for at least one row. All sample weights are zero"),
        ([1.0, 2.0], r"one-dimensional with 3 entries, one per row. Got shape \(2,\) instead"),
        (["a", "b", "c"], r"sample_weight must hold numbers"),
    ],
)
def test_bad_weights_are_one_sentence(weight, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_weights(weight, 3, np.float64)


def test_large_finite_weights_are_not_taken_for_infinity():
    assert check_weights([1e308, 1e308], 2, np.float64) is not None


def test_a_missing_column_of_a_frame_is_one_sentence(frame):
    with pytest.raises(ValueError, match="the table has no column 'target'; it has 'x0', 'x1'"):
        rows(frame, "target")


def test_a_list_of_labels_is_not_taken_for_names(frame):
    labels = ["yes", "no"] * 5
    X, y, _ = split_columns(frame.iloc[:10], labels, None)
    assert y is labels
    assert X.shape[1] == frame.shape[1]
