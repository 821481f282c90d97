"""Rows on disk: few units in memory, every kind of number, one sentence for what cannot be read."""

from __future__ import annotations

import decimal
import threading
import weakref
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from assay.rows import is_external, rows, threads
from assay.rows._stream import ArrayMap, StreamRows


class Unit:
    """A unit that can be watched: it is alive as long as somebody holds it."""

    def __init__(self, n_rows):
        self.X = np.ones((n_rows, 2))


class CountingSource:
    """A table of ones that counts the units alive when it makes another."""

    shape, dtype, feature_names, n_targets, has_weight = (100 * 65_536, 2), np.dtype(float), None, 0, False

    def __init__(self):
        self.alive, self.most = weakref.WeakSet(), 0

    def units(self, n_rows):
        for start in range(0, self.shape[0], n_rows):
            unit = Unit(min(n_rows, self.shape[0] - start))
            self.alive.add(unit)
            self.most = max(self.most, len(self.alive))
            yield unit
            del unit

    def arrays(self, unit, n_rows):
        for start in range(0, len(unit.X), n_rows):
            yield unit.X[start : start + n_rows], None, None

    def take(self, indices):
        return np.ones((len(indices), 2))

    def release(self):
        pass


def row_count(block):
    return block.X.shape[0]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.usefixtures("small_units")
def test_few_units_are_in_memory_at_a_time(count):
    source = CountingSource()
    with threads(count):
        assert StreamRows(source).reduce(row_count) == source.shape[0]
    assert source.most <= count + 4


@pytest.mark.usefixtures("small_units")
def test_an_error_in_a_step_stops_the_reader(folder):
    def fail(block):
        raise RuntimeError("no")

    with threads(2), pytest.raises(RuntimeError, match="no"):
        rows(folder, "y", "w").reduce(fail)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("assay-reader")]


def test_units_do_not_depend_on_the_number_of_threads(folder):
    with threads(1):
        one = rows(folder)
    with threads(8):
        eight = rows(folder)
    assert (one._step, one._unit_rows) == (eight._step, eight._unit_rows)


def test_units_of_a_very_wide_table_stay_small():
    source = CountingSource()
    source.shape = (1_000, 1_000_000)
    data = StreamRows(source)
    assert data._unit_rows == data._step == 64


# Numbers of every kind


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int8(), [1, -2, 3]),
        (pa.uint64(), [1, 2, 2**40]),
        (pa.float16(), [0.5, 1.5, -2.0]),
        (pa.float32(), [0.5, 1.5, -2.0]),
        (pa.float64(), [0.1, 1.5, -2.0]),
        (pa.bool_(), [True, False, True]),
        (pa.decimal128(10, 2), [decimal.Decimal("1.25"), decimal.Decimal("-3.50"), decimal.Decimal("0.00")]),
        (pa.dictionary(pa.int32(), pa.int64()), [7, 8, 7]),
    ],
)
def test_numbers_of_every_type_are_read(tmp_path, kind, values):
    plain = pa.array(np.array(values, dtype=np.float16) if kind == pa.float16() else values)
    array = plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain.cast(kind)
    assert array.type == kind
    pq.write_table(pa.table({"a": array, "b": [1.0, 2.0, 3.0]}), tmp_path / "t.parquet")
    data = rows(tmp_path / "t.parquet")
    assert data.dtype == np.float64
    found = data.map(lambda block: block.X, dtype=float, width=2)
    np.testing.assert_array_equal(found, np.column_stack([np.array(values, dtype=float), [1.0, 2.0, 3.0]]))


def test_float32_columns_stay_float32(tmp_path):
    single = np.arange(3, dtype=np.float32)
    pq.write_table(pa.table({"a": single, "b": single, "y": [1.0, 2.0, 3.0]}), tmp_path / "t.parquet")
    data = rows(tmp_path / "t.parquet", "y")
    assert data.dtype == np.float32
    assert data.head(3, lambda block: block.X.dtype) == np.float32
    assert rows(tmp_path / "t.parquet").dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.bool_, ">f8", np.float16])
def test_array_files_of_every_number_are_read(tmp_path, dtype):
    X = (np.arange(12).reshape(6, 2) % 2).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    data = rows(tmp_path / "x.npy")
    assert data.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(data.map(lambda block: block.X, dtype=float, width=2), X.astype(float))
    np.testing.assert_array_equal(data.take(np.array([1, 4])), X[[1, 4]].astype(float))


def test_a_part_of_a_memory_map_is_read_right(array_file, table):
    part = np.load(array_file, mmap_mode="r")[5:1_000:3]
    data = StreamRows(ArrayMap(part))
    np.testing.assert_array_equal(data.map(lambda block: block.X, dtype=float, width=40), table.X[5:1_000:3])


def test_unsaved_values_of_a_private_map_survive_the_walk(array_file):
    private = np.load(array_file, mmap_mode="c")
    private[0, 0] = 1e6
    data = StreamRows(ArrayMap(private))
    assert data.reduce(lambda block: block.X[:, 0].sum()) > 9e5
    assert private[0, 0] == 1e6


def test_small_memory_maps_are_arrays_and_large_ones_are_streams(tmp_path, array_file):
    assert not is_external(np.load(array_file, mmap_mode="r"))
    assert is_external(np.memmap(tmp_path / "large", dtype=np.float64, mode="w+", shape=(2**20, 9)))


@pytest.mark.parametrize("format", ["feather", "csv"])
def test_datasets_of_other_formats_are_scanned(tmp_path, frame, format):
    part = pa.Table.from_pandas(frame.iloc[:500], preserve_index=False)
    pads.write_dataset(part, tmp_path / "set", format=format)
    data = rows(pads.dataset(tmp_path / "set", format=format), "y", "w")
    assert data.shape == (500, 40)
    np.testing.assert_allclose(data.take(np.array([2, 499])), frame.iloc[[2, 499], :40])


def test_a_filter_of_a_dataset_is_respected(folder, frame):
    data = rows(pads.dataset(folder).filter(pads.field("w") > 2), "y", "w")
    assert data.shape[0] == (frame["w"] > 2).sum()
    assert data.reduce(row_count) == data.shape[0]


def test_columns_made_from_the_path_are_read(tmp_path, frame):
    part = pa.Table.from_pandas(frame[["x0", "y"]].iloc[:100].assign(year=2024), preserve_index=False)
    pq.write_to_dataset(part, tmp_path / "set", partition_cols=["year"])
    data = rows(pads.dataset(tmp_path / "set", partitioning="hive"), "y")
    assert list(data.feature_names) == ["x0", "year"]
    np.testing.assert_array_equal(data.take(np.array([0, 1]))[:, 1], [2024.0, 2024.0])


# What cannot be read


def write(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_null_is_nan(tmp_path):
    path = write(tmp_path / "t.parquet", a=[1.0, None], y=[1, None], w=[1.0, None])
    with pytest.raises(ValueError, match=r"^X contains NaN; drop or fill those rows first\.$"):
        rows(path, "y", "w").reduce(row_count)
    with pytest.raises(ValueError, match="X contains NaN"):
        rows(path, features=np.array(["a"])).take(np.array([1]))
    path = write(tmp_path / "t.parquet", a=[1.0, 2.0], y=[1, None], w=[1.0, None])
    with pytest.raises(ValueError, match="y contains NaN; drop or fill"):
        rows(path, "y", "w").reduce(row_count)
    with pytest.raises(ValueError, match="sample_weight holds NaN or infinity"):
        rows(path, None, "w", features=np.array(["a"])).reduce(row_count)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("place", ["parquet", "npy"])
def test_what_is_not_finite_is_found_at_the_first_walk(tmp_path, table, value, word, place):
    X = table.X.copy()
    X[19_000, 3] = value
    if place == "npy":
        np.save(tmp_path / "x.npy", X)
    else:
        write(tmp_path / "x.parquet", **{f"x{j}": X[:, j] for j in range(5)})
    with pytest.raises(ValueError, match=f"X contains {word}; drop or fill those rows first"):
        rows(tmp_path / f"x.{place}").reduce(row_count)
    with pytest.raises(ValueError, match=f"X contains {word}"):
        rows(tmp_path / f"x.{place}").take(np.array([19_000]))


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        ([1.0, -1.0, 1.0], r"sample_weight must be at least 0. Got -1 at row 1 instead"),
        ([1.0, np.nan, 1.0], "sample_weight holds NaN or infinity"),
        ([0.0, 0.0, 0.0], "All sample weights are zero"),
    ],
)
def test_bad_weights_in_a_column_are_the_sentences_of_memory(tmp_path, weight, sentence):
    path = write(tmp_path / "t.parquet", a=[1.0, 2.0, 3.0], w=weight)
    with pytest.raises(ValueError, match=sentence):
        rows(path, None, "w").reduce(row_count)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (np.zeros(2), "X has 3 rows but y has 2; they must be as many"),
        (np.zeros((3, 1, 1)), r"y must have one or two dimensions. Got shape \(3, 1, 1\) instead"),
        (np.array([1.0, np.nan, 2.0]), "y contains NaN"),
        (["a", 1, 2], "y must hold numbers"),
    ],
)
def test_a_bad_target_in_memory_is_one_sentence(tmp_path, y, sentence):
    path = write(tmp_path / "t.parquet", a=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=sentence):
        rows(path, y)


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"city": ["Paris", "Rome"]}, "string"),
        ({"city": pa.array(["Paris", "Rome"]).dictionary_encode()}, "dictionary"),
        ({"city": np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[s]")}, "timestamp"),
        ({"city": [[1.0], [2.0]]}, "list"),
    ],
)
def test_text_where_numbers_are_needed_names_the_column_and_its_type(tmp_path, columns, kind):
    path = write(tmp_path / "t.parquet", a=[1.0, 2.0], **columns)
    for arguments in ((path,), (path, "city"), (path, None, "city")):
        with pytest.raises(ValueError, match=rf"column 'city' of .*t.parquet' has type {kind}.*encode it"):
            rows(*arguments)
    assert rows(path, features=np.array(["a"])).shape == (2, 1)


def test_a_missing_column_is_one_sentence(folder):
    with pytest.raises(ValueError, match=r"has no column 'target'; it has 'x0', 'x1', .*\.\.\.\.$"):
        rows(folder, "target")
    with pytest.raises(ValueError, match="has no columns 'a', 'b'"):
        rows(folder, features=np.array(["a", "b", "x0"]))


def test_files_that_differ_are_one_sentence(tmp_path):
    write(tmp_path / "1.parquet", a=[1.0], b=[1.0])
    write(tmp_path / "2.parquet", b=[1.0], a=[2.0])
    assert rows(tmp_path).take(np.array([0, 1])).tolist() == [[1.0, 1.0], [2.0, 1.0]]
    write(tmp_path / "3.parquet", a=[1], b=[1.0])
    with pytest.raises(ValueError, match=r"'a' is double in '.*1.parquet' and int64 in '.*3.parquet'"):
        rows(tmp_path)
    write(tmp_path / "3.parquet", a=[1.0])
    with pytest.raises(ValueError, match=r"'b' is double in '.*1.parquet' and absent in '.*3.parquet'"):
        rows(tmp_path)


@pytest.mark.parametrize("keep", [0, 3, 500, -8])
def test_a_truncated_file_is_named(tmp_path, frame, keep):
    path = tmp_path / "cut.parquet"
    frame.to_parquet(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(
        ValueError, match=r"cut.parquet' is not a readable Parquet file: it is truncated, damaged"
    ):
        rows(path)


def test_a_dataset_with_a_truncated_file_is_one_sentence(tmp_path, frame):
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_parquet(tmp_path / "b.parquet")
    content = (tmp_path / "b.parquet").read_bytes()
    dataset = pads.dataset(tmp_path)
    (tmp_path / "b.parquet").write_bytes(content[:1_000])
    with pytest.raises(ValueError, match="the dataset cannot be read: "):
        rows(dataset)


def test_damage_inside_a_file_is_named_at_the_walk(tmp_path, frame):
    path = tmp_path / "bad.parquet"
    pq.write_table(pa.Table.from_pandas(frame[["x0"]]), path, use_dictionary=False, compression="zstd")
    content = bytearray(path.read_bytes())
    content[200:50_000] = b"\xff" * (50_000 - 200)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad.parquet' is not a readable Parquet file"):
        rows(path).reduce(row_count)


@pytest.mark.usefixtures("small_units")
def test_files_that_change_between_walks_are_noticed(tmp_path):
    data = rows(write(tmp_path / "t.parquet", a=np.arange(10.0)))
    write(tmp_path / "t.parquet", a=np.arange(7.0))
    with pytest.raises(ValueError, match="had 10 rows when it was opened and has 7 now"):
        data.reduce(row_count)
    pq.write_table(pa.table({"a": np.arange(10.0)}), tmp_path / "t.parquet", row_group_size=3)
    with pytest.raises(ValueError, match="had 10 rows when it was opened"):
        data.take(np.array([4]))
    (tmp_path / "t.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"There is no file .* any more"):
        data.reduce(row_count)


def test_places_without_rows_are_one_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"holds no Parquet file.*\*\*/\*.parquet"):
        rows(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no file or folder"):
        rows(tmp_path / "absent.parquet")
    with pytest.raises(FileNotFoundError, match="No file matches the pattern"):
        rows(str(tmp_path / "*.parquet"))
    with pytest.raises(ValueError, match="has no rows"):
        rows(write(tmp_path / "t.parquet", a=pa.array([], pa.float64())))
    with pytest.raises(ValueError, match="has no column left for the features"):
        rows(write(tmp_path / "t.parquet", a=[1.0]), "a")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"neither a .npy nor a Parquet file; read it with pandas"):
        rows(tmp_path / "t.csv")
    with pytest.raises(ValueError, match=r"matches '.*t.csv', which is not a Parquet file"):
        rows(str(tmp_path / "t.*"))


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros(3), r"must be two-dimensional, rows × features. It has shape \(3,\) instead"),
        (np.zeros((3, 2, 2)), r"must be two-dimensional, rows × features. It has shape \(3, 2, 2\) instead"),
        (np.zeros((3, 2), dtype=complex), "must hold real numbers. It holds the dtype complex128 instead"),
        (np.array([["a", "b"]]), "must hold real numbers. It holds the dtype <U1 instead"),
        (np.array([[1, None]], dtype=object), "must hold real numbers. It holds the dtype object instead"),
        (np.zeros((0, 2)), "must have at least one row and one column"),
    ],
)
def test_an_array_file_that_is_no_table_is_one_sentence(tmp_path, array, sentence):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(ValueError, match=sentence):
        rows(tmp_path / "x.npy")


def test_a_damaged_array_file_is_one_sentence(tmp_path, array_file):
    path = tmp_path / "x.npy"
    content = Path(array_file).read_bytes()
    path.write_bytes(content[:-9])
    with pytest.raises(ValueError, match=r"x.npy' is truncated: its header tells of more rows than it holds"):
        rows(path)
    for bad in (content[:20], b"", b"hello, this is no array at all"):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"x.npy' is not a readable .npy file"):
            rows(path)


def test_arrays_on_disk_have_no_names(array_file):
    with pytest.raises(ValueError, match="y must be an array, since an array on disk has no named columns"):
        rows(array_file, "target")
    with pytest.raises(ValueError, match="sample_weight must be an array"):
        rows(array_file, None, "w")


def test_what_can_be_read_only_once_is_refused(frame):
    reader = pa.Table.from_pandas(frame).to_reader()
    with pytest.raises(ValueError, match=r"walked more than once. Got a RecordBatchReader instead"):
        rows(reader)
    with pytest.raises(ValueError, match=r"X must be an Arrow table or dataset. Got a DoubleArray instead"):
        rows(pa.array([1.0]))


def test_a_name_that_stands_twice_is_refused():
    with pytest.raises(ValueError, match="more than one column 'a'; names must be distinct"):
        rows(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]))


def test_values_are_checked_at_the_first_walk_only(folder, monkeypatch):
    from assay.rows import _stream

    data = rows(folder, "y", "w")
    data.reduce(row_count)
    monkeypatch.setattr(_stream, "check_finite", None)
    assert data.reduce(row_count) == data.shape[0]
