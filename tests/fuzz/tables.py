"""Bad tables, targets and weights, each made from a good sample of the estimator."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from scipy import sparse


class Input(NamedTuple):
    """What `fit` is given."""

    X: Any
    y: Any = None
    weight: Any = None


EXPONENTS = (8, 20, 100, 155, 200, 300)
LARGE_AND_SMALL = (1e8, 1e155, 1e200, 1e308, 1e-155, 1e-308, 5e-324)


def to_scale(values: NDArray, largest: float) -> NDArray:
    """The same numbers with this largest absolute value."""
    top = np.abs(values).max()
    return values / top * largest


def scales(X: NDArray, y: Any) -> dict[str, Callable[[], Input]]:
    """Numbers at the ends of the floating-point range: what spoils arithmetic and, after it, indices."""
    largest = [10.0 ** (sign * exponent) for exponent in EXPONENTS for sign in (1, -1)] + [
        1e308,
        1e-308,
        1e-320,
    ]
    kinds: dict[str, Callable[[], Input]] = {}
    for size in largest:
        kinds[f"X at {size:g}"] = lambda size=size: Input(to_scale(X, size), y)
        kinds[f"a column at {size:g}"] = lambda size=size: Input(with_column(X, to_scale(X[:, 0], size)), y)
    for size in (1e16, 1e160, 1e300, 1.7e308):
        kinds[f"one entry of {size:g}"] = lambda size=size: Input(with_entry(X, size), y)
    apart = 10.0 ** np.linspace(-150, 150, X.shape[1])
    kinds["columns 1e300 apart"] = lambda: Input(X * apart, y)
    kinds["rows 1e300 apart"] = lambda: Input(X * 10.0 ** np.linspace(-150, 150, len(X))[:, None], y)
    for size in (3e38, 1e30, 1e20, 1e-20, 1e-30, 1e-44):
        kinds[f"float32 at {size:g}"] = lambda size=size: Input(
            to_scale(X, size).astype(np.float32), single(y)
        )
    kinds["float32, one entry of 3e38"] = lambda: Input(with_entry(X, 3e38).astype(np.float32), single(y))
    kinds["offset of 1e15"] = lambda: Input(X + 1e15, y)
    return kinds


def single(y: Any) -> Any:
    return y.astype(np.float32) if y is not None and y.dtype.kind == "f" else y


def with_column(X: NDArray, column: NDArray) -> NDArray:
    """The table with another first column."""
    return np.column_stack([column, X[:, 1:]])


def with_entry(X: NDArray, value: float) -> NDArray:
    """The table with another number in the middle."""
    changed = X.copy()
    changed[len(X) // 2, X.shape[1] // 2] = value
    return changed


def shapes(X: NDArray, y: Any) -> dict[str, Callable[[], Input]]:
    """Tables without rows, with few or equal ones, and with far more columns than rows."""
    n = len(X)
    wide = np.random.default_rng(0).normal(size=(12, 1500))

    def target(places: Any) -> Any:
        return None if y is None else y[places]

    return {
        "no rows": lambda: Input(X[:0], target(slice(0))),
        "no columns": lambda: Input(X[:, :0], y),
        "one row": lambda: Input(X[:1], target(slice(1))),
        "two rows": lambda: Input(X[:2], target(slice(2))),
        "three rows": lambda: Input(X[:3], target(slice(3))),
        "one column": lambda: Input(X[:, :1], y),
        "one dimension": lambda: Input(X[:, 0], y),
        "three dimensions": lambda: Input(X[:, :, None], y),
        "a number": lambda: Input(1.0, y),
        "None": lambda: Input(None, y),
        "all zeros": lambda: Input(np.zeros_like(X), y),
        "all equal": lambda: Input(np.full_like(X, 0.1), y),
        "a constant column": lambda: Input(with_column(X, np.full(n, 0.1)), y),
        "equal columns": lambda: Input(np.repeat(X[:, :1], 4, axis=1), y),
        "rows repeated": lambda: Input(np.repeat(X[:3], n // 3, axis=0), target(slice(3 * (n // 3)))),
        "two distinct rows": lambda: Input(X[np.arange(n) % 2], y),
        "few distinct numbers": lambda: Input(np.round(X), y),
        "wide": lambda: Input(wide, target(slice(None, None, max(1, n // 12))) if y is None else ends(y, 12)),
        "wider than long": lambda: Input(wide[:5, :40], None if y is None else ends(y, 5)),
        "a row less than columns": lambda: Input(X[: X.shape[1]], target(slice(X.shape[1]))),
    }


def ends(y: NDArray, n: int) -> NDArray:
    """A few targets, of all classes where they are labels."""
    order = np.argsort(y, kind="stable")
    return y[order[np.linspace(0, len(y) - 1, n).astype(int)]]


def not_numbers(X: NDArray, y: Any) -> dict[str, Callable[[], Input]]:
    """NaN, infinity, text, dates and other things where numbers are needed."""
    words, dates = np.array(["red", "blue"] * len(X))[: len(X)], pd.date_range("2020-01-01", periods=len(X))
    names = [f"column {place}" for place in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    mixed = X.astype(object)
    mixed[0, 0] = "red"
    absent, huge = X.astype(object), np.round(X).astype(object)
    absent[0, 0], huge[0, 0] = None, 10**400
    return {
        **{
            f"an entry of {value}": lambda value=value: Input(with_entry(X, value), y)
            for value in (np.nan, np.inf, -np.inf)
        },
        "a column of NaN": lambda: Input(with_column(X, np.full(len(X), np.nan)), y),
        "all NaN": lambda: Input(np.full_like(X, np.nan), y),
        "float32 NaN": lambda: Input(with_entry(X, np.nan).astype(np.float32), single(y)),
        "text": lambda: Input(np.tile(words[:, None], 3), y),
        "bytes": lambda: Input(np.tile(words[:, None], 3).astype("S"), y),
        "text among numbers": lambda: Input(mixed, y),
        "None among numbers": lambda: Input(absent, y),
        "an int of 400 digits": lambda: Input(huge, y),
        "numbers as text": lambda: Input(X.astype(str), y),
        "complex": lambda: Input(X + 1j, y),
        "dates": lambda: Input(np.tile(dates.to_numpy()[:, None], 3), y),
        "durations": lambda: Input(X.astype("m8[s]"), y),
        "records": lambda: Input(np.zeros(len(X), dtype=[("a", float), ("b", int)]), y),
        "a ragged list": lambda: Input([[1.0, 2.0], [3.0]] * (len(X) // 2), y),
        "a dict": lambda: Input({"a": X[:, 0], "b": X[:, 1]}, y),
        "a set": lambda: Input({1.0, 2.0}, y),
        "an object": lambda: Input(object(), y),
        "fractions": lambda: Input(np.vectorize(Fraction, otypes=[object])(X), y),
        "a frame with a name twice": lambda: Input(frame.set_axis([names[0], *names[:-1]], axis=1), y),
        "a frame with all names equal": lambda: Input(frame.set_axis(["same"] * X.shape[1], axis=1), y),
        "a frame with dates": lambda: Input(frame.assign(when=dates), y),
        "a frame with dates in a zone": lambda: Input(frame.assign(when=dates.tz_localize("UTC")), y),
        "a frame with durations": lambda: Input(frame.assign(lasts=dates - dates[0]), y),
        "a frame with periods": lambda: Input(frame.assign(month=dates.to_period("M")), y),
        "a frame with text": lambda: Input(frame.assign(colour=words), y),
        "a frame with categories": lambda: Input(frame.assign(colour=pd.Categorical(words)), y),
        "a frame with complex numbers": lambda: Input(frame.assign(z=X[:, 0] + 1j), y),
        "a frame with objects": lambda: Input(frame.assign(thing=[object() for _ in X]), y),
        "a frame with lists": lambda: Input(frame.assign(thing=[[1, 2] for _ in X]), y),
        "a frame with NA": lambda: Input(frame.assign(count=pd.array([None, *range(len(X) - 1)])), y),
        "a frame with NaN": lambda: Input(pd.DataFrame(with_entry(X, np.nan), columns=names), y),
        "a frame with names of two kinds": lambda: Input(frame.set_axis([0, *names[1:]], axis=1), y),
        "a frame without columns": lambda: Input(frame[[]], y),
        "a frame without rows": lambda: Input(frame[:0], None if y is None else y[:0]),
        "a polars frame with dates": lambda: Input(
            pl.DataFrame(X, schema=names).with_columns(pl.Series("when", dates.to_numpy())), y
        ),
        "a polars frame with text": lambda: Input(
            pl.DataFrame(X, schema=names).with_columns(pl.Series("colour", words.tolist())), y
        ),
        "a polars frame with null": lambda: Input(
            pl.DataFrame(X, schema=names).with_columns(pl.Series("gap", [None, *range(len(X) - 1)])), y
        ),
    }


def layouts(X: NDArray, y: Any) -> dict[str, Callable[[], Input]]:
    """Good numbers in every kind of array, sparse matrix and frame."""
    frozen, csr = X.copy(), sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    frozen.flags.writeable = False
    doubled = sparse.coo_array((np.ones(4), ([0, 0, 1, 2], [1, 1, 0, 2])), shape=X.shape)
    backwards = csr.copy()
    for row in range(len(X)):
        part = slice(backwards.indptr[row], backwards.indptr[row + 1])
        backwards.indices[part], backwards.data[part] = (
            backwards.indices[part][::-1],
            backwards.data[part][::-1],
        )
    backwards.has_sorted_indices = False
    wide_indices = csr.copy()
    wide_indices.indices, wide_indices.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    spoilt = csr.copy()
    spoilt.data[0] = np.nan
    huge = csr.copy()
    huge.data[0] = 1e300
    frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
    return {
        "read-only": lambda: Input(frozen, y),
        "Fortran order": lambda: Input(np.asfortranarray(X), y),
        "every other row": lambda: Input(np.repeat(X, 2, axis=0)[::2], y),
        "rows backwards": lambda: Input(X[::-1, ::-1], y),
        "other byte order": lambda: Input(X.astype(">f8"), y),
        "a masked array": lambda: Input(np.ma.masked_greater(X, 1.0), y),
        "a list of lists": lambda: Input(X.tolist(), None if y is None else y.tolist()),
        **{
            f"of {dtype}": lambda dtype=dtype: Input(X.astype(dtype), y)
            for dtype in ("float16", "longdouble", "int8", "bool", "object")
        },
        "of int64 near its end": lambda: Input((to_scale(X, 1.0) * 2**62).astype(np.int64), y),
        "of uint64 near its end": lambda: Input((np.abs(to_scale(X, 1.0)) * 2**63).astype(np.uint64), y),
        **{
            f"sparse {name}": lambda name=name: Input(csr.asformat(name), y)
            for name in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
        },
        "a sparse matrix": lambda: Input(sparse.csr_matrix(csr), y),
        "sparse of float32": lambda: Input(csr.astype(np.float32), single(y)),
        "sparse of int": lambda: Input(csr.astype(np.int32), y),
        "sparse with entries twice": lambda: Input(doubled, y),
        "sparse with columns backwards": lambda: Input(backwards, y),
        "sparse with wide indices": lambda: Input(wide_indices, y),
        "sparse with NaN": lambda: Input(spoilt, y),
        "sparse with an entry of 1e300": lambda: Input(huge, y),
        "sparse without entries": lambda: Input(sparse.csr_array(X.shape), y),
        "sparse complex": lambda: Input(csr.astype(complex), y),
        "sparse without rows": lambda: Input(csr[:0], None if y is None else y[:0]),
        "a pandas frame": lambda: Input(frame, y),
        "a pandas frame of whole numbers": lambda: Input(frame.round().astype("Int64"), y),
        "a frame with numbered columns": lambda: Input(frame.set_axis(range(X.shape[1]), axis=1), y),
        "a polars frame": lambda: Input(pl.from_pandas(frame), y),
    }


def weights(X: NDArray, y: Any) -> dict[str, Callable[[], Input]]:
    """Weights of every size and kind."""
    n = len(X)
    alternating, first = np.arange(n) % 2, np.eye(1, n)[0]
    of_one_class = np.ones(n) if y is None else (y != y[0]).astype(float)
    values = {
        "ones": np.ones(n),
        "zeros": np.zeros(n),
        "zero but one": first,
        "zero but three": (np.arange(n) < 3).astype(float),
        "zero and one": alternating.astype(float),
        "zero for the label of the first row": of_one_class,
        "negative": -np.ones(n),
        "one negative": 1.0 - 2 * first,
        "one NaN": np.where(first > 0, np.nan, 1.0),
        "one infinite": np.where(first > 0, np.inf, 1.0),
        **{f"all {size:g}": np.full(n, size) for size in (1e155, 1e308, 1e-155, 1e-308, 5e-324)},
        **{f"one of {size:g}": np.where(first > 0, size, 1.0) for size in (1e20, 1e300, 1e-300, 5e-324)},
        "1e300 and 1e-300": np.where(alternating > 0, 1e300, 1e-300),
        "too few": np.ones(n - 1),
        "too many": np.ones(n + 1),
        "of two dimensions": np.ones((n, 1)),
        "a number": 2.0,
        "text": np.array(["heavy"] * n),
        "a name": "no such column",
        "None among them": [None, *[1.0] * (n - 1)],
        "complex": np.ones(n) + 1j,
        "dates": pd.date_range("2020-01-01", periods=n).to_numpy(),
        "ints of 400 digits": [10**400] * n,
        "booleans": alternating.astype(bool),
        "empty": [],
    }
    return {f"weights {name}": lambda value=value: Input(X, y, value) for name, value in values.items()}


def targets(X: NDArray, y: NDArray, *, of_classes: bool) -> dict[str, Callable[[], Input]]:
    """Targets of every size and kind; labels for a classifier."""
    n = len(X)
    numbers = np.linspace(0.5, 2.0, n)
    apart = [0] * (n - 1) + [1]
    values: dict[str, Any] = {
        "None": None,
        "too short": y[:-1],
        "too long": np.concatenate([y, y[:1]]),
        "empty": y[:0],
        "one NaN": np.where(np.arange(n) == 0, np.nan, y),
        "one infinite": np.where(np.arange(n) == 0, np.inf, y),
        "constant": np.full(n, y[0]),
        "all zero": np.zeros(n),
        "a column": y[:, None],
        "three columns": np.column_stack([y, y, y]),
        "no columns": np.empty((n, 0)),
        "three dimensions": np.ones((n, 1, 1)),
        "a number": 1.0,
        "a name": "no such column",
        "text": np.array(["yes", "no"] * n)[:n],
        "text as objects": np.array(["yes", "no"] * n, dtype=object)[:n],
        "text and numbers": np.array(["yes", 1] * n, dtype=object)[:n],
        "numbers as objects": y.astype(object),
        "None among them": np.array([None, *y[1:]], dtype=object),
        "complex": y + 1j,
        "dates": pd.date_range("2020-01-01", periods=n).to_numpy(),
        "ints of 400 digits": np.array([10**400, *y[1:]], dtype=object),
        "booleans": np.arange(n) % 2 == 0,
        "a list": y.tolist(),
        "a series": pd.Series(y),
        "a frame": pd.DataFrame({"a": y, "b": y}),
        "categories": pd.Categorical.from_codes(np.arange(n) % 2, ["a", "b"]),
        "sparse": sparse.csr_array(y[:, None].astype(float)),
        "negative": -numbers,
        "one entry of 1e300": np.where(np.arange(n) == 3, 1e300, y),
        **{
            f"at {size:g}": to_scale(numbers, size)
            for size in (1e8, 1e155, 1e200, 1e308, 1e-155, 1e-308, 5e-324)
        },
    }
    if of_classes:
        values |= {
            "a class of one row": np.array(apart),
            "a class of each row": np.arange(n),
            "half as many classes as rows": np.arange(n) // 2,
            "numbers that are no labels": numbers,
            "labels of 300 digits": np.where(np.arange(n) % 2 == 0, 1e300, -1e300),
            "labels near the end of int64": np.where(np.arange(n) % 2 == 0, 2**63 - 1, -(2**63)),
            "labels of uint64": np.where(np.arange(n) % 2 == 0, 2**64 - 1, 0).astype(np.uint64),
            "empty text": np.array(["", "a"] * n)[:n],
        }
    kinds = {f"y {name}": lambda value=value: Input(X, value) for name, value in values.items()}
    if of_classes:
        many = np.repeat(X, 4, axis=0)
        kinds["y of 100 classes"] = lambda: Input(many, np.arange(len(many)) % 100)
    return kinds


def new_rows(X: NDArray) -> dict[str, Callable[[], Any]]:
    """Rows that a fitted model is asked about."""
    frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
    return {
        "NaN": lambda: with_entry(X, np.nan),
        "infinity": lambda: with_entry(X, np.inf),
        "no rows": lambda: X[:0],
        "one row": lambda: X[:1],
        "a column less": lambda: X[:, 1:],
        "a column more": lambda: np.column_stack([X, X[:, 0]]),
        "one dimension": lambda: X[0],
        "three dimensions": lambda: X[:, :, None],
        "text": lambda: X.astype(str).astype(object).astype("U"),
        "dates": lambda: frame.assign(x0=pd.date_range("2020-01-01", periods=len(X))),
        "a name twice": lambda: frame.set_axis([*frame.columns[1:], frame.columns[1]], axis=1),
        "complex": lambda: X + 1j,
        "None": lambda: None,
        "an object": lambda: object(),
        "sparse": lambda: sparse.csr_array(X),
        "sparse csc": lambda: sparse.csc_array(X),
        "float32": lambda: X.astype(np.float32),
        "read-only Fortran": lambda: _frozen(np.asfortranarray(X)),
        "far away": lambda: X + 1e12,
        **{
            f"at {size:g}": lambda size=size: to_scale(X, size)
            for size in (1e155, 1e200, 1e308, 1e-155, 1e-320)
        },
    }


def _frozen(X: NDArray) -> NDArray:
    X.flags.writeable = False
    return X
