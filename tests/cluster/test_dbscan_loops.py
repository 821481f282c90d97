"""Compiled loops of DBSCAN against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from assay.cluster.density import dbscan_loops as boxes
from assay.cluster.density import dbscan_loops as loops
from assay.cluster.density.dbscan_solver import CELL_ROWS, make_cells


@pytest.fixture(params=["spread", "same rows"])
def table(request):
    rng = np.random.default_rng(0)
    if request.param == "spread":
        return rng.normal(size=(500, 3))
    return rng.integers(0, 3, size=(500, 3)).astype(float)


def test_cells_hold_every_row_once_in_tight_boxes(table):
    weight = np.random.default_rng(1).integers(0, 4, size=500).astype(float)
    cells = make_cells(table, weight)
    assert_array_equal(np.sort(cells.order), np.arange(500))
    assert_array_equal(cells.columns.T, table[cells.order])
    covered = np.zeros(500, dtype=int)
    for node, (start, stop) in enumerate(zip(cells.starts, cells.stops, strict=True)):
        rows = table[cells.order[start:stop]]
        assert_array_equal(cells.lower[node], rows.min(axis=0))
        assert_array_equal(cells.upper[node], rows.max(axis=0))
        assert cells.weights[node] == weight[cells.order[start:stop]].sum()
        if cells.left[node] < 0:
            covered[start:stop] += 1
            assert stop - start <= CELL_ROWS or np.ptp(rows, axis=0).max() == 0.0
        else:
            assert cells.left[node] > node
            assert cells.starts[cells.left[node]] == start
            assert cells.stops[cells.left[node]] == cells.starts[cells.right[node]]
            assert cells.stops[cells.right[node]] == stop
    assert_array_equal(covered, 1)
    assert_array_equal(np.diff(cells.starts[cells.leaves]) > 0, True)


def test_distances_of_boxes_bound_those_of_rows(table):
    cells = make_cells(table, np.ones(500))
    rng = np.random.default_rng(2)
    for a, b in rng.choice(cells.leaves, size=(30, 2)):
        first, second = (table[cells.order[cells.starts[n] : cells.stops[n]]] for n in (a, b))
        squares = cdist(first, second, "sqeuclidean")
        least = boxes.least_between(cells.lower, cells.upper, a, b)
        assert least <= squares.min() * (1 + 1e-12)
        assert boxes.most_between(cells.lower, cells.upper, a, b) >= squares.max() * (1 - 1e-12)
        i = cells.starts[a]
        to_box = boxes.least_to(cells.columns, i, cells.lower, cells.upper, b)
        assert least <= to_box * (1 + 1e-12)
        assert to_box <= squares[0].min() * (1 + 1e-12)
        found = np.empty(loops.CHUNK)
        start, stop = cells.starts[b], min(cells.stops[b], cells.starts[b] + loops.CHUNK)
        boxes.squares_to(cells.columns, i, start, stop, found)
        assert_allclose(found[: stop - start], squares[0][: stop - start], rtol=1e-12)


def test_core_rows_are_those_with_enough_weight(table):
    weight = np.random.default_rng(3).integers(0, 3, size=500).astype(float)
    cells = make_cells(table, weight)
    for limit, enough in ((0.09, 3.0), (0.5, 20.0), (1.0, 60.0), (4.0, 200.0)):
        core = np.zeros(500, dtype=bool)
        loops.mark_core(cells, cells.leaves, limit, enough, core)
        near = cdist(table, table, "sqeuclidean") <= limit
        assert_array_equal(core, ((near @ weight >= enough) & (weight > 0))[cells.order])


def test_unions_are_those_of_sets():
    rng = np.random.default_rng(4)
    parent, other = np.arange(40), np.arange(40)
    sets = [{i} for i in range(40)]
    for k, (i, j) in enumerate(rng.integers(0, 40, size=(25, 2))):
        loops.unite(parent if k % 2 else other, i, j)
        joined = sets[i] | sets[j]
        for member in joined:
            sets[member] = joined
    loops.merge_unions(parent, other)
    for i in range(40):
        assert loops.find_root(parent, i) == min(sets[i])
