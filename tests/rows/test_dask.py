"""Dask collections: what cannot be walked is one sentence, what is not finite is found."""

from __future__ import annotations

import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from assay.rows import rows


def row_count(block):
    return block.X.shape[0]


def dask_frame(**columns):
    return dd.from_pandas(pd.DataFrame(columns), npartitions=2)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (da.zeros(5, chunks=2), r"X must be two-dimensional, rows × features. It has shape \(5,\) instead"),
        (da.zeros((5, 2), dtype=complex), "X must hold real numbers. It holds the dtype complex128 instead"),
        (da.zeros((0, 2)), r"at least one row and one column. It has shape \(0, 2\) instead"),
        (
            dask.bag.from_sequence([1, 2]),
            "X must be a Dask array or dataframe, rows × features. Got a Dask Bag",
        ),
        (
            dask_frame(a=[1.0, 2.0])["a"],
            "X must be a Dask array or dataframe, rows × features. Got a Dask Series",
        ),
        (
            dask_frame(a=[1.0, 2.0], city=["Paris", "Rome"]),
            "column 'city' of the dataframe has type .*encode it",
        ),
        (dask_frame(a=pd.Categorical(["u", "v"])), "column 'a' of the dataframe has type category"),
    ],
)
def test_what_is_no_table_of_numbers_is_one_sentence(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        rows(X)


@pytest.mark.parametrize(
    ("y", "weight", "sentence"),
    [
        ("target", None, "the dataframe has no column 'target'; it has 'a', 'b'"),
        (np.zeros(3), None, "X has 4 rows but y has 3; they must be as many"),
        (da.zeros(3), None, "X has 4 rows but y has 3; they must be as many"),
        (None, da.zeros(3), "X has 4 rows but sample_weight has 3"),
        (None, da.zeros((4, 1)), "sample_weight must be one-dimensional"),
        (
            da.from_array(np.array(list("abcd"))),
            None,
            "y must hold numbers, one per row. It holds the dtype <U1",
        ),
        (None, [1.0, -1.0, 1.0, 1.0], "Got -1 at row 1 instead"),
    ],
)
def test_a_bad_target_or_weight_is_one_sentence(y, weight, sentence):
    with pytest.raises(ValueError, match=sentence):
        rows(dask_frame(a=[1.0, 2.0, 3.0, 4.0], b=[0.0, 1.0, 0.0, 1.0]), y, weight)


def test_dask_arrays_have_no_names():
    with pytest.raises(ValueError, match="y must be an array, since a Dask array has no named columns"):
        rows(da.zeros((4, 2)), "target")


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_what_is_not_finite_is_found_at_the_first_walk(value, word):
    X, y = np.ones((20, 3)), np.ones(20)
    X[13, 1] = value
    bad = rows(da.from_array(X, chunks=(5, -1)))
    for walk in (
        lambda: bad.reduce(row_count),
        lambda: bad.map(row_count, dtype=float).compute(),
        lambda: bad.take(np.array([13])),
    ):
        with pytest.raises(ValueError, match=f"X contains {word}; drop or fill those rows first"):
            walk()
    y[2] = value
    with pytest.raises(ValueError, match=f"y contains {word}"):
        rows(da.ones((20, 3)), da.from_array(y)).reduce(row_count)


def test_missing_values_of_nullable_columns_are_nan():
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [True, False, True]})
    with pytest.raises(ValueError, match="X contains NaN"):
        rows(dd.from_pandas(frame, npartitions=1)).reduce(row_count)
    whole = rows(dd.from_pandas(frame.dropna(), npartitions=1))
    np.testing.assert_array_equal(whole.take(np.array([0, 1])), [[1.0, 1.0], [3.0, 1.0]])


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        ([1.0, 1.0, -3.0, 1.0], "Got -3 at row 2 instead"),
        ([1.0, np.nan, 1.0, 1.0], "sample_weight holds NaN or infinity"),
        ([0.0, 0.0, 0.0, 0.0], "All sample weights are zero"),
    ],
)
def test_bad_weights_are_the_sentences_of_memory(weight, sentence):
    weight = np.array(weight)
    for data in (
        rows(da.ones((4, 2), chunks=2), None, da.from_array(weight, chunks=3)),
        rows(dask_frame(a=np.ones(4), w=weight), None, "w"),
    ):
        with pytest.raises(ValueError, match=sentence):
            data.reduce(row_count)


def test_float32_stays_float32_and_integers_become_float64():
    assert rows(da.ones((4, 2), dtype=np.float32)).dtype == np.float32
    single = rows(dask_frame(a=np.ones(4, dtype=np.float32)))
    assert single.dtype == np.float32
    assert single.head(2, lambda block: block.X.dtype) == np.float32
    assert rows(da.ones((4, 2), dtype=int)).head(1, lambda block: block.X.dtype) == np.float64


def test_the_order_of_the_rows_is_kept_by_the_tree():
    X = da.from_array(np.arange(200.0).reshape(100, 2), chunks=(3, -1))
    first_values = rows(X).reduce(lambda block: block.X[:, 0].tolist())
    assert first_values == list(np.arange(0.0, 200.0, 2))
