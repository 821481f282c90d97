"""The columns of the rows of one tree, as codes, arranged so that nodes stay together as they are divided.

Two arrangements serve one grower, which is compiled for one of them at a time. *Sorted* tables hold, for
each column, the rows in the order of their codes (any number of codes: exact splits); dividing a node divides
every column and keeps the order. *Binned* tables hold a byte per value and one list of rows; a node counts
the codes of a column when it looks at it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import NDArray

from assay.loops import choices, inner
from assay.trees.growing.criteria import OPTIONS
from assay.trees.growing.nodes import COLUMN, END, LEAF, START
from assay.trees.growing.statistics import add_row, copy_row, room_for

APART = choices(forceinline=False)
"""Settings of loops that are long enough to be called."""

FEW = 128
"""Rows up to which marking the codes that occur is cheaper than reading a whole histogram."""

PRESENT_WORDS = 4
BIT_HASH = np.uint64(0x03F79D71B4CB0A89)
"""A de Bruijn sequence: the top six bits of its product with a power of two tell which power it is."""

BIT_PLACES = np.zeros(64, dtype=np.uint8)
BIT_PLACES[[((int(BIT_HASH) << p) % 2**64) >> 58 for p in range(64)]] = np.arange(64)

NEAR = 4096
"""Rows up to which a node gets a copy of its own of codes and statistics, close together in memory."""

LOW_BITS = 0xFFFFFFFF


class SortedTable(NamedTuple):
    """Codes of the rows of a tree, sorted; the code of a missing value is one past the last of its column.

    Attributes
    ----------
    pairs : uint64 array of shape (n_columns, n_rows)
        Code · 2³² + row, in increasing order within each node.
    rows : int32 array of shape (n_rows,)
        The rows of the tree; those of a node are consecutive.
    n_codes : int32 array of shape (n_columns,)
        Codes of each column, the missing one not counted.
    """

    pairs: NDArray[np.uint64]
    rows: NDArray[np.int32]
    n_codes: NDArray[np.int32]


class BinnedTable(NamedTuple):
    """The same as bytes in the order of the rows: `codes` has shape (n_columns, n_table_rows)."""

    codes: NDArray[np.uint8]
    rows: NDArray[np.int32]
    n_codes: NDArray[np.int32]


def sorted_table(pairs: NDArray[np.uint64], n_codes: NDArray[np.int32]) -> SortedTable:
    """A table whose columns are sorted already; the pairs are rearranged as the tree grows."""
    return SortedTable(pairs, (pairs[0] & np.uint64(LOW_BITS)).astype(np.int32), n_codes)


class Near(NamedTuple):
    """Copies of the codes and statistics of small nodes of a binned table, in the order of its rows.

    The rows of a large table are far apart in memory, each from the next in a node. A node of few rows is
    copied once, and its rows are called by their places from then on; `origin` has the row of each place.
    """

    table: BinnedTable
    rows: Any
    origin: NDArray[np.int32]


def room_near(table: Any, rows: Any) -> Near | None:
    """Room for the copies of all small nodes; None where the table is sorted, no rows where it is small.

    Nor where rows are also listed by target (`MedianRows`): such lists would have to be copied, too.
    """
    if isinstance(table, SortedTable):
        return None
    n_rows = len(table.rows) if len(table.rows) > NEAR and not hasattr(rows, "order") else 0
    codes = np.empty((table.codes.shape[0], n_rows), dtype=np.uint8)
    return Near(table._replace(codes=codes), room_for(rows, n_rows), np.empty(n_rows, dtype=np.int32))


def is_near(node: Any, tree: Any, near: Any) -> bool:
    """Whether a node is small enough for a copy of its own; for compiled loops only."""
    raise NotImplementedError("is_near is called inside compiled loops.")


@overload(is_near, jit_options=OPTIONS)
def _chosen_nearness(node, tree, near):  # type: ignore[no-untyped-def]
    if isinstance(near, types.NoneType):
        return lambda node, tree, near: False

    def is_small(node, tree, near):  # type: ignore[no-untyped-def]
        return near.origin.shape[0] > 0 and tree.whole[node, END] - tree.whole[node, START] <= NEAR

    return is_small


def where_it_is(table: Any, rows: Any, near: Any, copied: bool) -> Any:
    """The table and rows of a node, or their copies; for compiled loops only."""
    raise NotImplementedError("where_it_is is called inside compiled loops.")


@overload(where_it_is, jit_options=OPTIONS)
def _chosen_place(table, rows, near, copied):  # type: ignore[no-untyped-def]
    if isinstance(near, types.NoneType):
        return lambda table, rows, near, copied: (table, rows)

    def either(table, rows, near, copied):  # type: ignore[no-untyped-def]
        return (near.table, near.rows) if copied else (table, rows)

    return either


def bring_near(table: Any, rows: Any, start: Any, end: Any, near: Any) -> None:
    """Copy the rows of a node; they are called by their places afterwards. For compiled loops only."""
    raise NotImplementedError("bring_near is called inside compiled loops.")


def _copy_near(table, rows, start, end, near):  # type: ignore[no-untyped-def]
    for p in range(start, end):
        i = table.rows[p]
        near.origin[p] = i
        copy_row(rows, i, near.rows, p)
    for j in range(table.codes.shape[0]):
        for p in range(start, end):
            near.table.codes[j, p] = table.codes[j, np.uint64(table.rows[p])]
    for p in range(start, end):
        table.rows[p] = p


@overload(bring_near, jit_options=APART)
def _chosen_copying(table, rows, start, end, near):  # type: ignore[no-untyped-def]
    return _nothing_near if isinstance(near, types.NoneType) else _copy_near


def _nothing_near(table, rows, start, end, near):  # type: ignore[no-untyped-def]
    return None


def bring_back(table: Any, tree: Any, n_nodes: Any, near: Any) -> None:
    """Call the rows of leaves that were copied by their own numbers again; for compiled loops only."""
    raise NotImplementedError("bring_back is called inside compiled loops.")


@overload(bring_back, jit_options=APART)
def _chosen_return(table, tree, n_nodes, near):  # type: ignore[no-untyped-def]
    if isinstance(near, types.NoneType):
        return lambda table, tree, n_nodes, near: None

    def back(table, tree, n_nodes, near):  # type: ignore[no-untyped-def]
        for node in range(n_nodes):
            if tree.whole[node, COLUMN] == LEAF and is_near(node, tree, near):
                for p in range(tree.whole[node, START], tree.whole[node, END]):
                    table.rows[p] = near.origin[table.rows[p]]

    return back


@inner
def tally_sorted(keys, start, end, absent, rows, tally, codes, missing):  # type: ignore[no-untyped-def]
    """Sums of each code along sorted keys; gives the number of codes, `absent` is the missing one."""
    n_sums = missing.shape[0]
    count, last = 0, np.int64(-1)
    for k in range(n_sums):
        missing[k] = 0
    for p in range(start, end):
        key = keys[p]
        code = np.int64(key >> np.uint64(32))
        i = np.int64(key & np.uint64(LOW_BITS))
        if code == absent:
            add_row(rows, i, missing)
            continue
        if code != last:
            codes[count] = code
            for k in range(n_sums):
                tally[count, k] = 0
            count += 1
            last = code
        add_row(rows, i, tally[count - 1])
    return count


@inner
def tally_counts(column, places, absent, rows, tally, codes, missing, histogram):  # type: ignore[no-untyped-def]
    """Sums of each code by a histogram of zeros, which is read out and cleared again code by code."""
    n_sums = missing.shape[0]
    for p in range(places.shape[0]):
        i = np.uint64(places[p])
        add_row(rows, i, histogram[column[i]])
    count = 0
    for c in range(absent):
        if histogram[c, 0] > 0:
            codes[count] = c
            for k in range(n_sums):
                tally[count, k] = histogram[c, k]
                histogram[c, k] = 0
            count += 1
    for k in range(n_sums):
        missing[k] = histogram[absent, k]
        histogram[absent, k] = 0
    return count


@inner
def tally_present(column, places, absent, rows, tally, codes, missing, histogram):  # type: ignore[no-untyped-def]
    """The same for few rows: the codes that occur are marked as bits, and only those are read out."""
    n_sums = missing.shape[0]
    words = PRESENT_WORDS
    first = second = third = fourth = np.uint64(0)
    for p in range(places.shape[0]):
        i = np.uint64(places[p])
        code = np.int64(column[i])
        bit = np.uint64(1) << np.uint64(code & 63)
        quarter = code >> 6
        first |= bit if quarter == 0 else np.uint64(0)
        second |= bit if quarter == 1 else np.uint64(0)
        third |= bit if quarter == 2 else np.uint64(0)
        fourth |= bit if quarter == 3 else np.uint64(0)
        add_row(rows, i, histogram[np.uint64(code)])
    count = 0
    for word in range(words):
        bits = first if word == 0 else (second if word == 1 else (third if word == 2 else fourth))
        while bits != 0:
            lowest = bits & (~bits + np.uint64(1))
            code = (word << 6) + np.int64(BIT_PLACES[(lowest * BIT_HASH) >> np.uint64(58)])
            bits ^= lowest
            if code == absent:
                break
            codes[count] = code
            for k in range(n_sums):
                tally[count, k] = histogram[code, k]
                histogram[code, k] = 0
            count += 1
    for k in range(n_sums):
        missing[k] = histogram[absent, k]
        histogram[absent, k] = 0
    return count


def tally_column(table: Any, j: Any, node: Any, tree: Any, rows: Any, space: Any) -> int:
    """Sums of each code of a column in a node, in the order of the codes; for compiled loops only.

    Gives the number of codes. The sums are in `space.tally`, the codes in `space.codes`, the sums of missing
    values in `space.sums[1]`.
    """
    raise NotImplementedError("tally_column is called inside compiled loops.")


def _tally_pairs(table, j, node, tree, rows, space):  # type: ignore[no-untyped-def]
    start, end, absent = tree.whole[node, START], tree.whole[node, END], np.int64(table.n_codes[j])
    return tally_sorted(table.pairs[j], start, end, absent, rows, space.tally, space.codes, space.sums[1])


def _tally_bytes(table, j, node, tree, rows, space):  # type: ignore[no-untyped-def]
    start, end, absent = tree.whole[node, START], tree.whole[node, END], np.int64(table.n_codes[j])
    column, places, missing = table.codes[j], table.rows[start:end], space.sums[1]
    if end - start > FEW:
        return tally_counts(column, places, absent, rows, space.tally, space.codes, missing, space.histogram)
    return tally_present(column, places, absent, rows, space.tally, space.codes, missing, space.histogram)


@overload(tally_column, jit_options=OPTIONS)
def _chosen_tally(table, j, node, tree, rows, space):  # type: ignore[no-untyped-def]
    return _tally_pairs if table.instance_class is SortedTable else _tally_bytes


def entry(table: Any, j: Any, p: Any) -> Any:
    """Row and code at a place of a column; for compiled loops only."""
    raise NotImplementedError("entry is called inside compiled loops.")


def _pair_at(table, j, p):  # type: ignore[no-untyped-def]
    key = table.pairs[j, np.uint64(p)]
    return key & np.uint64(LOW_BITS), np.int64(key >> np.uint64(32))


def _byte_at(table, j, p):  # type: ignore[no-untyped-def]
    i = np.uint64(table.rows[np.uint64(p)])  # unsigned: no place counts from the end
    return i, np.int64(table.codes[j, i])


@overload(entry, jit_options=OPTIONS)
def _chosen_entry(table, j, p):  # type: ignore[no-untyped-def]
    return _pair_at if table.instance_class is SortedTable else _byte_at


def divide(table: Any, start: Any, end: Any, goes_left: Any, buffer: Any) -> None:
    """Bring the marked rows of a node to its front, keeping their order; for compiled loops only."""
    raise NotImplementedError("divide is called inside compiled loops.")


def _divide_sorted(table, start, end, goes_left, buffer):  # type: ignore[no-untyped-def]
    divide_rows(table.rows, start, end, goes_left, buffer)
    for j in range(table.pairs.shape[0]):
        divide_pairs(table.pairs[j], start, end, goes_left, buffer)


def _divide_binned(table, start, end, goes_left, buffer):  # type: ignore[no-untyped-def]
    divide_rows(table.rows, start, end, goes_left, buffer)


@overload(divide, jit_options=OPTIONS)
def _chosen_division(table, start, end, goes_left, buffer):  # type: ignore[no-untyped-def]
    return _divide_sorted if table.instance_class is SortedTable else _divide_binned


@inner
def divide_rows(rows, start, end, goes_left, buffer):  # type: ignore[no-untyped-def]
    """Stable division of a list of rows."""
    front, back = start, np.int64(0)
    for p in range(start, end):
        i = rows[p]
        left = np.int64(goes_left[np.uint64(i)])
        # Both are written and one place is taken: no branch to foresee.
        rows[front] = i
        buffer[back] = i
        front += left
        back += 1 - left
    for p in range(back):
        rows[front + p] = np.int32(buffer[p])


@inner
def divide_pairs(pairs, start, end, goes_left, buffer):  # type: ignore[no-untyped-def]
    """Stable division of the sorted rows of one column."""
    front, back = start, np.int64(0)
    for p in range(start, end):
        key = pairs[p]
        left = np.int64(goes_left[key & np.uint64(LOW_BITS)])
        pairs[front] = key
        buffer[back] = key
        front += left
        back += 1 - left
    for p in range(back):
        pairs[front + p] = buffer[p]
