"""The same table gives the same numbers wherever it lives."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.linear import LinearRegression
from assay.rows import MemoryRows, rows, threads

IN_MEMORY = ("array", "fortran", "pandas", "polars", "sparse")
ON_DISK = ("memmap", "npy", "npy_fortran", "file", "folder", "pattern", "dataset", "filtered", "arrow")
ON_DASK = ("dask_array", "dask_narrow", "dask_unknown", "dask_frame", "dask_empty")
LOCAL = (*IN_MEMORY, *ON_DISK)
EVERYWHERE = (*LOCAL, *ON_DASK)
NAMED = (
    "pandas",
    "polars",
    "file",
    "folder",
    "pattern",
    "dataset",
    "filtered",
    "arrow",
    "dask_frame",
    "dask_empty",
)


def moments(block):
    """Weight, weighted sums, weighted Gram matrix, weighted products with the target."""
    dense = block.X if isinstance(block.X, np.ndarray) else block.X.toarray()
    weighted = dense * block.weight[:, None]
    return block.weight.sum(), weighted.sum(axis=0), weighted.T @ dense, weighted.T @ block.y


def weighted_sum_of_row(block, factor):
    return factor * np.asarray(block.X.sum(axis=1)).ravel()


def first_two(block):
    return block.X[:, :2] if isinstance(block.X, np.ndarray) else block.X.toarray()[:, :2]


def edges(block):
    return [(block.start, block.X.shape[0])]


@pytest.mark.parametrize("source", EVERYWHERE, indirect=True)
def test_reduce_is_the_sum_over_the_whole_table(source, table):
    X, y, weight = table
    data = rows(*source)
    assert data.shape == X.shape
    assert data.dtype == np.float64
    assert data.n_targets == 1
    assert data.has_weight
    expected = (weight.sum(), weight @ X, (X.T * weight) @ X, (X.T * weight) @ y)
    for found, exact in zip(data.reduce(moments), expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-8)
    assert data.total_weight == pytest.approx(weight.sum())


@pytest.mark.parametrize("source", ON_DISK, indirect=True)
def test_disk_gives_the_same_bits_as_memory(source, table):
    on_disk, in_memory = rows(*source).reduce(moments), rows(*table).reduce(moments)
    assert all(map(np.array_equal, on_disk, in_memory))


@pytest.mark.parametrize("source", LOCAL, indirect=True)
def test_blocks_follow_each_other_and_are_those_of_memory(source, table):
    in_memory = rows(*table).reduce(edges)
    assert len(in_memory) > 2
    assert rows(*source).reduce(edges) == in_memory


@pytest.mark.parametrize("source", EVERYWHERE, indirect=True)
def test_map_gives_one_value_or_several_a_row(source, table):
    data = rows(*source)
    values = data.map(weighted_sum_of_row, 2.0, dtype=np.float64)
    pairs = data.map(first_two, dtype=np.float32, width=2)
    assert values.shape == (table.X.shape[0],)
    assert pairs.shape == (table.X.shape[0], 2)
    assert pairs.dtype == np.float32
    np.testing.assert_allclose(np.asarray(values), 2 * table.X.sum(axis=1), atol=1e-12)
    np.testing.assert_array_equal(np.asarray(pairs), table.X[:, :2].astype(np.float32))


@pytest.mark.parametrize("source", EVERYWHERE, indirect=True)
def test_take_gives_rows_in_order(source, table):
    data = rows(*source)
    for indices in ([0], [3, 8_999, 9_000, 9_001, 20_010], np.arange(0, 20_011, 997), []):
        taken = data.take(np.array(indices, dtype=int))
        assert isinstance(taken, np.ndarray)
        assert taken.flags.c_contiguous
        np.testing.assert_array_equal(taken, table.X[np.array(indices, dtype=int)])


@pytest.mark.parametrize("source", EVERYWHERE, indirect=True)
@pytest.mark.parametrize("n_rows", [1, 100, 9_500, 10**9])
def test_head_is_one_block_of_the_first_rows(source, table, n_rows):
    rows_seen, total, target, start = rows(*source).head(n_rows, _summary)
    n_rows = min(n_rows, len(table.X))
    assert (rows_seen, start) == (n_rows, 0)
    assert total == pytest.approx(table.X[:n_rows].sum())
    assert target == pytest.approx(table.y[:n_rows].sum())


def _summary(block):
    return block.X.shape[0], block.X.sum(), block.y.sum(), block.start


@pytest.mark.parametrize("source", LOCAL, indirect=True)
def test_rowwise_arrays_are_written_in_place(source, table):
    labels, bounds = np.full(len(table.X), -1), np.zeros((len(table.X), 2))
    rows(*source).reduce(_label, 3.0, rowwise=(labels, bounds))
    np.testing.assert_array_equal(labels, np.arange(len(table.X)))
    np.testing.assert_allclose(bounds[:, 0], 3 * table.X.sum(axis=1), atol=1e-12)


def _label(block, factor, labels, bounds):
    labels[:] = np.arange(block.start, block.start + len(labels))
    bounds[:, 0] = factor * np.asarray(block.X.sum(axis=1)).ravel()


@pytest.mark.parametrize("source", ["npy", "folder", "dataset", "dask_array", "dask_frame"], indirect=True)
def test_a_fit_is_the_same_wherever_the_table_lives(source, table):
    model, exact = LinearRegression().fit(*source), LinearRegression().fit(*table)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-10)
    assert model.certificates_.holds


@pytest.mark.parametrize("source", ON_DASK[:1], indirect=True)
def test_rowwise_arrays_do_not_travel_to_a_cluster(source):
    with pytest.raises(ValueError, match="use map instead"):
        rows(*source).reduce(_label, rowwise=(np.zeros(5),))


@pytest.mark.parametrize("source", LOCAL, indirect=True)
def test_the_number_of_threads_does_not_change_a_bit(source):
    data = rows(*source)
    with threads(1):
        alone = data.reduce(moments)
    for count in (2, 5):
        with threads(count):
            assert all(map(np.array_equal, data.reduce(moments), alone))


@pytest.mark.parametrize("source", NAMED, indirect=True)
def test_columns_are_features_unless_they_are_target_or_weight(source, table):
    data = rows(*source)
    assert list(data.feature_names) == [f"x{index}" for index in range(table.X.shape[1])]
    without = rows(source[0])
    assert list(without.feature_names[-2:]) == ["y", "w"]
    assert (without.n_targets, without.has_weight) == (0, False)


@pytest.mark.parametrize("source", NAMED, indirect=True)
def test_features_are_read_in_the_order_asked_for(source, table):
    data = rows(source[0], features=np.array(["x3", "x0"], dtype=object))
    np.testing.assert_array_equal(data.take(np.array([4, 7])), table.X[[4, 7]][:, [3, 0]])
    np.testing.assert_array_equal(np.asarray(data.map(first_two, dtype=float, width=2)), table.X[:, [3, 0]])


@pytest.mark.parametrize("source", NAMED, indirect=True)
def test_a_list_of_target_names_gives_a_matrix(source, table):
    data = rows(source[0], ["y", "x1"])
    assert data.n_targets == 2
    assert data.shape[1] == table.X.shape[1]
    np.testing.assert_allclose(data.reduce(_target_sum), [table.y.sum(), table.X[:, 1].sum()], rtol=1e-9)
    assert rows(source[0], ["y"]).head(3, _target_shape) == (3, 1)
    assert rows(source[0], "y").head(3, _target_shape) == (3,)


def _target_sum(block):
    return block.y.sum(axis=0)


def _target_shape(block):
    return block.y.shape


@pytest.mark.parametrize("source", NAMED, indirect=True)
def test_target_and_weights_may_be_arrays_beside_named_columns(source, table):
    names = np.array([f"x{index}" for index in range(table.X.shape[1])], dtype=object)
    data = rows(source[0], table.y, table.weight, features=names)
    expected = rows(*table).reduce(moments)
    for found, exact in zip(data.reduce(moments), expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("source", ON_DASK, indirect=True)
def test_dask_results_stay_lazy_and_in_the_partitions_of_the_source(source):
    data = rows(*source)
    lazy = data.map(weighted_sum_of_row, 1.0, dtype=np.float64)
    assert not data.local
    assert isinstance(lazy, da.Array)
    assert sum(lazy.chunks[0]) == data.shape[0]
    assert len(lazy.chunks[0]) >= 3


def test_the_lengths_of_a_dask_array_of_the_caller_stay_unknown(table):
    whole = da.from_array(table.X, chunks=(7_000, -1))
    unknown = whole[whole[:, 0] > -np.inf]
    assert rows(unknown).shape == table.X.shape
    assert np.isnan(unknown.shape[0])


def test_a_dask_take_computes_only_the_partitions_it_needs():
    computed = []

    def load(block_info=None):
        start = block_info[None]["array-location"][0][0]
        computed.append(start)
        return np.full((10, 2), float(start))

    X = da.map_blocks(load, chunks=((10,) * 8, (2,)), dtype=float, meta=np.empty((0, 0)))
    data = rows(X)
    computed.clear()
    np.testing.assert_array_equal(data.take(np.array([12, 71]))[:, 0], [10.0, 70.0])
    assert sorted(computed) == [10, 70]
    computed.clear()
    assert data.head(5, _summary_of_features) == (5, 0.0)
    assert computed == [0]


def _summary_of_features(block):
    return block.X.shape[0], block.X.sum()


@settings(max_examples=15, deadline=None)
@given(
    n_rows=st.integers(1, 9_000),
    n_features=st.sampled_from([1, 3, 200]),
    count=st.integers(1, 3),
    single=st.booleans(),
)
def test_reduce_sees_each_row_once(n_rows, n_features, count, single):
    X = np.arange(n_rows * n_features, dtype=np.float32 if single else np.float64).reshape(n_rows, n_features)
    data = MemoryRows(X)
    with threads(count):
        assert sum(size for _, size in data.reduce(edges)) == n_rows
        assert np.array_equal(data.map(_first_column, dtype=X.dtype), X[:, 0])


def _first_column(block):
    return block.X[:, 0]
