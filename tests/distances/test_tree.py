"""The flat arrays of a tree, and its loops against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from assay.distances.loops import (
    bunch_bounds,
    bunch_far_bounds,
    farthest_bound,
    leaf_distances,
    nearest_bound,
)
from assay.distances.radius_loops import merge_runs
from assay.distances.tree import (
    BUNCH,
    LEAF,
    SAMPLE,
    build_tree,
    leaf_ranges,
    partition,
    wide_tree,
    with_balls,
)
from assay.rows import threads

METRICS = {2: "sqeuclidean", 1: "cityblock", 0: "chebyshev"}


def points_of(tree):
    """The points of a tree in its own order."""
    return tree.leaves.transpose(0, 2, 1).reshape(-1, tree.leaves.shape[1])[: tree.n_points]


@pytest.mark.parametrize("n_points", [1, LEAF, LEAF + 1, 1_000, 20_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_tree_holds_every_point_once_in_boxes_that_fit(rng, n_points, dtype):
    X = rng.standard_normal((n_points, 3)).astype(dtype)
    tree = build_tree(X)
    points, (firsts, lasts) = points_of(tree), leaf_ranges(0, len(tree.leaves))
    assert_array_equal(np.sort(tree.order), np.arange(n_points))
    assert_array_equal(points, X[tree.order])
    for node, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        inside = slice(first * LEAF, last * LEAF)
        assert_array_equal(tree.boxes[node], [points[inside].min(axis=0), points[inside].max(axis=0)])
        assert tree.lowest[node] == tree.order[inside].min()
    assert np.isinf(tree.leaves.transpose(0, 2, 1).reshape(-1, 3)[n_points:]).all()


def test_children_share_only_the_cut(rng):
    X = rng.standard_normal((5_000, 2))
    tree = build_tree(X)
    firsts, lasts = leaf_ranges(0, len(tree.leaves))
    for node, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        if last - first > 1:
            left, right = tree.boxes[node + 1], tree.boxes[node + 2 * ((first + last) // 2 - first)]
            assert (left[1] <= right[0]).any()


def test_a_tree_does_not_depend_on_threads(rng):
    X = rng.standard_normal((40_000, 4))
    with threads(1):
        one = build_tree(X)
    with threads(3):
        other = build_tree(X)
    for mine, yours in zip(one, other, strict=True):
        assert_array_equal(mine, yours)


@given(
    values=st.lists(st.integers(0, 6), min_size=2, max_size=200),
    place=st.floats(0, 1, exclude_max=True),
)
@settings(max_examples=60, deadline=None)
def test_a_partition_puts_the_smaller_first(values, place):
    points = np.array(values, dtype=float)[:, None]
    order, middle = np.arange(len(values)), int(place * len(values))
    partition(points, order, 0, middle, len(values), 0, np.empty(2 * SAMPLE))
    assert_array_equal(points[:, 0], np.array(values, dtype=float)[order])
    assert points[:middle].max(initial=-1.0) <= points[middle:].min()


@pytest.mark.parametrize("power", METRICS)
@pytest.mark.parametrize("balls", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_of_a_node_enclose_the_computed_distances(rng, power, balls, dtype):
    X = (rng.standard_normal((600, 5)) + 100.0).astype(dtype)
    tree = build_tree(X)
    tree = with_balls(tree, power) if balls else tree
    firsts, lasts = leaf_ranges(0, len(tree.leaves))
    room, widths = np.empty(LEAF, dtype), []
    for point in X[::40] + dtype(0.3):
        for node in range(len(firsts)):
            low = nearest_bound(tree.boxes, node, point, point, power)
            high = farthest_bound(tree.boxes, node, point, point, power)
            for leaf in range(firsts[node], lasts[node]):
                leaf_distances(tree.leaves, leaf, point, power, room)
                distances = room[: min(LEAF, 600 - leaf * LEAF)]
                assert low <= distances.min()
                assert distances.max() <= high
                if lasts[node] - firsts[node] == 1:
                    widths.append(low / distances.min())
    assert np.mean(widths) > 0.02  # zero would be a bound, too


@pytest.mark.parametrize("power", METRICS)
@pytest.mark.parametrize("balls", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_points", [1, 600, 16 * LEAF + 1, 3_000, 20_000])
def test_a_wide_tree_has_the_nodes_of_the_tree_four_levels_at_a_time(rng, n_points, dtype, balls, power):
    X = (rng.standard_normal((n_points, 5)) + 100.0).astype(dtype)
    tree = build_tree(X)
    tree = with_balls(tree, power) if balls else tree
    wide, bounds = wide_tree(tree), np.empty(BUNCH, dtype)
    n_leaves, n_inner = len(tree.leaves), len(wide.starts) - 1
    assert wide.starts[0] == 1
    assert wide.starts[-1] == n_inner + n_leaves == len(wide.lowest)
    sizes = np.diff(wide.starts)
    assert 1 <= sizes.min() <= sizes.max() <= BUNCH
    below = [range(place, place + 1) for place in range(-n_inner, n_leaves)]
    for entry in range(n_inner - 1, -1, -1):  # children stand after their parents
        first, last = wide.starts[entry], wide.starts[entry + 1]
        assert all(below[i].stop == below[i + 1].start for i in range(first, last - 1))
        below[entry] = range(below[first].start, below[last - 1].stop)
    assert below[0] == range(n_leaves)
    nodes = {
        (first, last): node for node, (first, last) in enumerate(zip(*leaf_ranges(0, n_leaves), strict=True))
    }
    point = X[n_points // 2] + dtype(0.3)
    for entry in range(n_inner):
        children = range(wide.starts[entry], wide.starts[entry + 1])
        own = [nodes[below[child].start, below[child].stop] for child in children]
        assert_array_equal(wide.lowest[children], tree.lowest[own])
        bunch_bounds(wide.corners, entry, point, power, bounds)
        single = [nearest_bound(tree.boxes, node, point, point, power) for node in own]
        assert_array_equal(bounds[: len(own)], single)
        if not balls:
            assert np.all(bounds[len(own) :] == np.inf)
            bunch_far_bounds(wide.corners, entry, point, power, bounds)
            single = [farthest_bound(tree.boxes, node, point, point, power) for node in own]
            assert_array_equal(bounds[: len(own)], single)


@pytest.mark.parametrize("power", METRICS)
def test_a_box_of_one_point_is_bounded_by_its_distance_to_the_last_bit(rng, power):
    X = rng.standard_normal((LEAF, 7))
    leaves, room = np.ascontiguousarray(X.T)[None], np.empty(LEAF)
    boxes = np.stack([X, X], axis=1)
    for point in rng.standard_normal((20, 7)):
        leaf_distances(leaves, 0, point, power, room)
        for node in range(LEAF):
            assert nearest_bound(boxes, node, point, point, power) == room[node]
            assert farthest_bound(boxes, node, point, point, power) == room[node]
        np.testing.assert_allclose(room, cdist(point[None], X, METRICS[power])[0], rtol=1e-14)


@given(st.lists(st.lists(st.integers(0, 1_000), min_size=1, max_size=8), max_size=9))
@settings(max_examples=60, deadline=None)
def test_merged_runs_are_sorted_with_their_values(runs):
    numbers = np.array([number for run in runs for number in sorted(run)], dtype=np.int32)
    starts = np.cumsum([0, *map(len, runs)])
    values, others = numbers * 0.5, (np.empty_like(numbers), np.empty(numbers.size))
    expected = np.sort(numbers)
    swapped = merge_runs(starts, len(runs), numbers, values, *others)
    numbers, values = others if swapped else (numbers, values)
    assert_array_equal(numbers, expected)
    assert_array_equal(values, expected * 0.5)
