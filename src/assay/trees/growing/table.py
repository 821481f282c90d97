"""The columns of the rows of one tree, as codes, arranged so that nodes stay together as they are divided.

Two arrangements serve one grower. *Sorted* tables hold, for each column, the rows in the order of their codes
(any number of codes: exact splits); dividing a node divides every column and keeps the order. *Binned* tables
hold a byte per value and one list of rows; a node sorts or counts the codes of a column when it looks at it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.trees.growing.statistics import add_row, copy_row, room_for

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


class CodeTable(NamedTuple):
    """Codes of the rows of a tree; the code of a missing value is one past the last of its column.

    Attributes
    ----------
    pairs : uint64 array of shape (n_columns, n_rows)
        Sorted tables: code · 2³² + row, in increasing order within each node. Else of no columns.
    codes : uint8 array of shape (n_columns, n_table_rows)
        Binned tables. Else of no columns.
    rows : int32 array of shape (n_rows,)
        The rows of the tree; those of a node are consecutive.
    n_codes : int32 array of shape (n_columns,)
        Codes of each column, the missing one not counted.
    """

    pairs: NDArray[np.uint64]
    codes: NDArray[np.uint8]
    rows: NDArray[np.int32]
    n_codes: NDArray[np.int32]


def sorted_table(pairs: NDArray[np.uint64], n_codes: NDArray[np.int32]) -> CodeTable:
    """A table whose columns are sorted already; the pairs are rearranged as the tree grows."""
    rows = (pairs[0] & np.uint64(LOW_BITS)).astype(np.int32)
    return CodeTable(pairs, np.empty((0, 0), dtype=np.uint8), rows, n_codes)


def binned_table(codes: NDArray[np.uint8], rows: NDArray[np.int32], n_codes: NDArray[np.int32]) -> CodeTable:
    """A table of bytes, one row of the array per column, and the rows of it that the tree is grown on."""
    return CodeTable(np.empty((0, 0), dtype=np.uint64), codes, rows, n_codes)


class Near(NamedTuple):
    """Copies of the codes and statistics of small nodes of a binned table, in the order of its rows.

    The rows of a large table are far apart in memory, each from the next in a node. A node of few rows is
    copied once, and its rows are called by their places from then on; `origin` has the row of each place.
    """

    table: CodeTable
    rows: Any
    origin: NDArray[np.int32]


def room_near(table: CodeTable, rows: Any) -> Near:
    """Room for the copies of all small nodes; none where the table is sorted, or small itself."""
    n_rows = len(table.rows) if table.codes.size and len(table.rows) > NEAR else 0
    codes = np.empty((table.codes.shape[0], n_rows), dtype=np.uint8)
    return Near(table._replace(codes=codes), room_for(rows, n_rows), np.empty(n_rows, dtype=np.int32))


@compiled
def bring_near(table, rows, start, end, near):  # type: ignore[no-untyped-def]
    """Copy the rows of a node; they are called by their places afterwards."""
    for p in range(start, end):
        i = table.rows[p]
        near.origin[p] = i
        copy_row(rows, i, near.rows, p)
    for j in range(table.codes.shape[0]):
        for p in range(start, end):
            near.table.codes[j, p] = table.codes[j, np.uint64(table.rows[p])]
    for p in range(start, end):
        table.rows[p] = p


@compiled
def bring_back(table, start, end, near):  # type: ignore[no-untyped-def]
    """Call the rows of a node that was copied by their own numbers again."""
    for p in range(start, end):
        table.rows[p] = near.origin[table.rows[p]]


@compiled
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


@compiled
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


@compiled
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


@compiled
def tally_column(table, j, start, end, rows, tally, codes, missing, histogram):  # type: ignore[no-untyped-def]
    """Sums of each code of a column in a node, in the order of the codes; gives their number."""
    absent = np.int64(table.n_codes[j])
    if table.pairs.shape[0] > 0:
        return tally_sorted(table.pairs[j], start, end, absent, rows, tally, codes, missing)
    column, places = table.codes[j], table.rows[start:end]
    if end - start > FEW:
        return tally_counts(column, places, absent, rows, tally, codes, missing, histogram)
    return tally_present(column, places, absent, rows, tally, codes, missing, histogram)


@compiled
def mark_sides(table, split, start, end, goes_left):  # type: ignore[no-untyped-def]
    """Mark the rows of a node that go left; gives their number."""
    j = split.column
    absent = np.int64(table.n_codes[j])
    is_sorted = table.pairs.shape[0] > 0
    count = 0
    for p in range(start, end):
        if is_sorted:
            key = table.pairs[j, p]
            i = np.int64(key & np.uint64(LOW_BITS))
            code = np.int64(key >> np.uint64(32))
        else:
            i = np.int64(table.rows[p])
            code = np.int64(table.codes[j, np.uint64(i)])
        if code == absent:
            left = split.missing_left
        elif split.is_category:
            left = (split.bits[code >> 5] >> np.uint32(code & 31)) & np.uint32(1) == 1
        else:
            left = code <= split.cut
        goes_left[i] = left
        count += left
    return count


@compiled
def divide(table, start, end, goes_left, buffer):  # type: ignore[no-untyped-def]
    """Bring the marked rows of a node to its front, in every column, keeping their order."""
    divide_rows(table.rows, start, end, goes_left, buffer)
    for j in range(table.pairs.shape[0]):
        divide_pairs(table.pairs[j], start, end, goes_left, buffer)


@compiled
def divide_rows(rows, start, end, goes_left, buffer):  # type: ignore[no-untyped-def]
    """Stable division of a list of rows."""
    front, back = start, np.int64(0)
    for p in range(start, end):
        i = rows[p]
        left = np.int64(goes_left[i])
        # Both are written and one place is taken: no branch to foresee.
        rows[front] = i
        buffer[back] = i
        front += left
        back += 1 - left
    for p in range(back):
        rows[front + p] = np.int32(buffer[p])


@compiled
def divide_pairs(pairs, start, end, goes_left, buffer):  # type: ignore[no-untyped-def]
    """Stable division of the sorted rows of one column."""
    front, back = start, np.int64(0)
    for p in range(start, end):
        key = pairs[p]
        left = np.int64(goes_left[np.int64(key & np.uint64(LOW_BITS))])
        pairs[front] = key
        buffer[back] = key
        front += left
        back += 1 - left
    for p in range(back):
        pairs[front + p] = buffer[p]
