"""Neighbours by tree, by balls and by brute force, against SciPy and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from assay.distances import NeighborSearch, brute
from assay.distances.brute import BruteSearch
from assay.distances.metrics import SCALES
from assay.distances.radius_loops import near_leaves
from assay.distances.search import TreeSearch
from assay.distances.tree import build_tree
from assay.rows import threads

METHODS = ("kd_tree", "ball_tree", "brute")
NAMES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine")


def brute_nearest(X, queries, metric, k):
    """Distances and indices by a full sort; without queries, of the rows, themselves left out."""
    distances = cdist(X if queries is None else queries, X, metric)
    if queries is None:
        np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, order, axis=1), order


def assert_same(found, other):
    for one, two in zip(found, other, strict=True):
        assert_array_equal(one, two)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metric", NAMES)
@pytest.mark.parametrize("n_features", [1, 3, 30])
def test_the_nearest_rows_are_those_of_a_full_sort(rng, metric, method, n_features):
    X, queries = rng.standard_normal((300, n_features)), rng.standard_normal((40, n_features))
    search = NeighborSearch(X, metric=metric, method=method)
    for asked in (None, queries):
        found = search.nearest(7, asked)
        distances, indices = brute_nearest(X, asked, metric, 7)
        assert_allclose(found.distances, distances, rtol=1e-11, atol=1e-13)
        if not (metric == "cosine" and n_features == 1):  # every distance there is 0 or 2
            assert_array_equal(found.indices, indices)


@pytest.mark.parametrize("method", ["kd_tree", "ball_tree"])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize("is_tied", [False, True])
def test_the_nearest_rows_of_a_tree_of_many_levels_are_those_of_a_full_sort(rng, metric, method, is_tied):
    X, queries = rng.standard_normal((20_000, 3)), 1.5 * rng.standard_normal((60, 3))
    if is_tied:  # on a lattice, where the lower number decides
        X, queries = np.round(4 * X), np.round(4 * queries)
    found = NeighborSearch(X, metric=metric, method=method).nearest(9, queries)
    distances, indices = brute_nearest(X, queries, metric, 9)
    assert_allclose(found.distances, distances, rtol=1e-11, atol=1e-13)
    assert_array_equal(found.indices, indices)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metric", NAMES)
def test_the_rows_within_a_radius_are_those_of_the_full_matrix(rng, metric, method):
    X, queries = rng.standard_normal((500, 4)), rng.standard_normal((30, 4))
    weight = rng.integers(0, 4, size=500)
    search = NeighborSearch(X, metric=metric, method=method)
    for asked in (None, queries):
        distances = cdist(X if asked is None else asked, X, metric)
        for radius in np.quantile(distances, [0.01, 0.3, 0.9]):
            near = distances <= radius
            found = search.within(radius, asked)
            assert_array_equal(np.diff(found.indptr), near.sum(axis=1))
            assert_array_equal(found.indices, np.nonzero(near)[1])
            assert_allclose(found.distances, distances[near], rtol=1e-12, atol=1e-13)
            assert_array_equal(search.count_within(radius, asked), near.sum(axis=1))
            assert_array_equal(search.count_within(radius, asked, weight=weight), near @ weight)


def test_many_rows_agree_with_scipy(rng):
    X, queries = rng.standard_normal((20_000, 3)), rng.standard_normal((5_000, 3))
    search, tree = NeighborSearch(X), cKDTree(X)
    distances, indices = tree.query(queries, 10)
    found = search.nearest(10, queries)
    assert_array_equal(found.indices, indices)
    assert_allclose(found.distances, distances, rtol=1e-14)
    assert_array_equal(search.count_within(0.3), tree.query_ball_point(X, 0.3, return_length=True))


def test_most_rows_are_not_opened(rng):
    """A tree that opened every leaf would be right, and useless."""
    tree = build_tree(rng.standard_normal((50_000, 2)))
    found, whole = np.empty((len(tree.leaves), 2), dtype=int), np.empty((len(tree.leaves), 3), dtype=int)
    origin, n_leaves = np.zeros(2), len(tree.leaves)
    n_found, _ = near_leaves(tree.boxes, n_leaves, origin, origin, 2, 1e-4, False, found, whole)
    assert n_found < n_leaves / 100
    n_found, n_whole = near_leaves(tree.boxes, n_leaves, origin, origin, 2, 4.0, True, found, whole)
    assert n_found + n_whole < n_leaves / 4


def test_auto_takes_a_tree_where_the_rows_fill_few_dimensions(rng):
    flat = rng.standard_normal((20_000, 2)) @ rng.standard_normal((2, 30))
    full = rng.standard_normal((20_000, 30))
    assert isinstance(NeighborSearch(flat)._engine, TreeSearch)
    assert isinstance(NeighborSearch(full)._engine, BruteSearch)
    assert isinstance(NeighborSearch(rng.standard_normal((100, 65)))._engine, BruteSearch)
    queries = flat[:50] + 0.01
    assert_same(
        NeighborSearch(flat).nearest(4, queries), NeighborSearch(flat, method="brute").nearest(4, queries)
    )


lattice = arrays(
    np.float64,
    st.tuples(st.integers(2, 90), st.integers(1, 3)),
    elements=st.integers(1, 3).map(float),
)


@given(X=lattice, k=st.integers(1, 5), metric=st.sampled_from(NAMES))
@settings(max_examples=60, deadline=None)
def test_every_method_gives_the_same_answers_on_duplicates_and_ties(X, k, metric):
    k = min(k, len(X) - 1)
    searches = [NeighborSearch(X, metric=metric, method=method) for method in METHODS]
    for asked in (None, X[::2] + 0.5):
        found = [search.nearest(k, asked) for search in searches]
        assert_same(found[0], found[1])
        assert_same(found[0], found[2])
        order = np.lexsort((found[0].indices, found[0].distances))
        assert_array_equal(order, np.broadcast_to(np.arange(k), order.shape))
        radius = float(found[0].distances[0, -1])
        listed = [search.within(radius, asked) for search in searches]
        assert_same(listed[0], listed[1])
        assert_same(listed[0], listed[2])
        assert (listed[0].distances <= radius).all()


def test_ties_go_to_the_lowest_index():
    X = np.zeros((5_000, 3))
    for method in METHODS:
        found = NeighborSearch(X, method=method).nearest(3)
        assert_array_equal(found.indices[0], [1, 2, 3])
        assert_array_equal(found.indices[1], [0, 2, 3])
        assert_array_equal(found.indices[4_000], [0, 1, 2])
        assert not found.distances.any()


@pytest.mark.parametrize("method", METHODS)
def test_powers_that_differ_by_rounding_tie_when_their_roots_do(rng, method):
    values = rng.random(6)
    X = np.array([rng.permutation(values) for _ in range(300)])  # equally far from 0, but for rounding
    powers = (
        NeighborSearch(X, metric="sqeuclidean", method=method).nearest(300, np.zeros((1, 6))).distances[0]
    )
    found = NeighborSearch(X, method=method).nearest(300, np.zeros((1, 6)))
    roots = np.sqrt(powers)
    assert np.any((np.diff(powers) > 0) & (np.diff(roots) == 0))
    assert_array_equal(np.lexsort((found.indices[0], found.distances[0])), np.arange(300))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metric", NAMES)
@pytest.mark.parametrize("n_features", [4, 40])
def test_float32_stays_float32(rng, metric, method, n_features):
    X = rng.standard_normal((400, n_features)).astype(np.float32)
    search = NeighborSearch(X, metric=metric, method=method)
    found, distances = search.nearest(5), brute_nearest(X.astype(float), None, metric, 5)[0]
    assert found.distances.dtype == np.float32
    assert_allclose(found.distances, distances, rtol=3e-6)
    listed = search.within(float(np.median(distances)))
    assert listed.distances.dtype == np.float32
    assert (listed.distances <= np.float32(np.median(distances))).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [3, 40])
def test_methods_agree_to_the_last_bit(rng, dtype, n_features):
    X = rng.standard_normal((700, n_features)).astype(dtype)
    radius = np.median(NeighborSearch(X).nearest(20).distances)
    for metric in NAMES:
        trees = NeighborSearch(X, metric=metric, method="kd_tree")
        others = NeighborSearch(X, metric=metric, method="brute")
        assert_same(trees.nearest(9), others.nearest(9))
        assert_same(trees.within(radius), others.within(radius))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_features", [3, 40])
def test_an_offset_of_1e8_leaves_the_digits_that_the_rows_have(rng, method, n_features):
    steps = rng.integers(-50, 50, size=(300, n_features)).astype(float)
    near, far = (NeighborSearch(X, method=method) for X in (steps, steps + 1e8))
    assert_same(near.nearest(5), far.nearest(5))
    assert_same(near.within(60.0), far.within(60.0))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metric", NAMES)
def test_answers_do_not_depend_on_threads(rng, metric, method):
    X = rng.standard_normal((6_000, 3))
    queries = X[:3_000] + 0.01
    with threads(1):
        one = NeighborSearch(X, metric=metric, method=method)
        first = (one.nearest(3, queries), one.count_within(0.1, weight=X[:, 0] ** 2))
    with threads(3):
        other = NeighborSearch(X, metric=metric, method=method)
        second = (other.nearest(3, queries), other.count_within(0.1, weight=X[:, 0] ** 2))
    assert_same(first[0], second[0])
    assert_array_equal(first[1], second[1])


@pytest.mark.parametrize("method", METHODS)
def test_radius_zero_finds_duplicates_and_an_infinite_one_finds_all(rng, method):
    X = np.repeat(rng.standard_normal((40, 3)), 3, axis=0)
    search = NeighborSearch(X, method=method)
    assert_array_equal(search.count_within(0.0), np.full(120, 3))
    assert_array_equal(search.within(0.0).indices.reshape(40, 3, 3)[:, 0], np.arange(120).reshape(40, 3))
    assert_array_equal(search.count_within(np.inf), np.full(120, 120))


@pytest.mark.parametrize("radius", [0.1, 0.3, 1 / 3, 1e-3, 1e-170, 1e200, 7.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_limit_is_the_largest_power_whose_root_is_within_the_radius(radius, dtype):
    with np.errstate(over="ignore", under="ignore"):
        limit = dtype(SCALES["euclidean"].limit(radius, np.dtype(dtype)))
        assert np.sqrt(limit) <= dtype(radius)
        following = np.nextafter(limit, dtype(np.inf))
        assert np.isinf(following) or np.sqrt(following) > dtype(radius)


def test_distances_are_left_out_on_request(rng):
    search = NeighborSearch(rng.standard_normal((100, 2)))
    short, full = search.within(0.5, return_distance=False), search.within(0.5)
    assert short.distances.size == 0
    assert_array_equal(short.indices, full.indices)


def test_integers_and_fortran_order_are_rows_too(rng):
    X = rng.integers(0, 9, size=(60, 3))
    expected = NeighborSearch(X.astype(float)).nearest(3)
    assert_same(NeighborSearch(X).nearest(3), expected)
    assert_same(NeighborSearch(np.asfortranarray(X.astype(float))).nearest(3), expected)
    assert_same(NeighborSearch(X.astype(float)[::1, ::-1][:, ::-1]).nearest(3), expected)


def test_the_rows_are_not_written_to(rng):
    X = rng.standard_normal((400, 1))
    X.flags.writeable = False
    for method in METHODS:
        NeighborSearch(X, method=method).nearest(2)
        NeighborSearch(X, method=method).within(0.1, X[:10])


def manhattan(x, z):
    return float(np.abs(x - z).sum())


def test_a_function_is_searched_like_the_metric_that_it_is(rng):
    X, queries = rng.standard_normal((150, 3)), rng.standard_normal((9, 3))
    named = NeighborSearch(X, metric="manhattan")
    for method in ("auto", "ball_tree", "brute"):
        search = NeighborSearch(X, metric=manhattan, method=method)
        for asked in (None, queries):
            found, expected = search.nearest(4, asked), named.nearest(4, asked)
            assert_array_equal(found.indices, expected.indices)
            assert_allclose(found.distances, expected.distances, rtol=1e-14)
            assert_array_equal(search.within(1.0, asked).indices, named.within(1.0, asked).indices)
        assert_array_equal(search.count_within(0.8), named.count_within(0.8))
        weight = rng.integers(0, 3, size=150)
        assert_array_equal(search.count_within(0.8, weight=weight), named.count_within(0.8, weight=weight))


def test_a_tree_of_balls_calls_a_function_less_often(rng):
    X, calls = rng.standard_normal((600, 2)), []

    def counted(x, z):
        calls.append(1)
        return manhattan(x, z)

    search = NeighborSearch(X, metric=counted, method="ball_tree")
    calls.clear()
    search.nearest(1, X[:50] + 0.01)
    assert len(calls) < 50 * 600 / 4


@pytest.mark.parametrize("method", METHODS)
def test_one_row_has_itself_alone(method):
    search = NeighborSearch(np.ones((1, 2)), method=method)
    assert_array_equal(search.nearest(1, np.zeros((3, 2))).indices, np.zeros((3, 1)))
    assert_array_equal(search.within(0.0).indices, [0])
    with pytest.raises(ValueError, match="'n_neighbors' parameter of nearest must be an int from 1 to 0"):
        search.nearest(1)


def test_bad_input_is_refused_in_one_sentence(rng):
    X = rng.standard_normal((5, 2))
    search = NeighborSearch(X)
    for k in (0, 5, 2.5, "2"):
        with pytest.raises(ValueError, match="'n_neighbors' parameter of nearest must be an int from 1 to 4"):
            search.nearest(k)
    for radius in (-1.0, np.nan, "wide"):
        with pytest.raises(ValueError, match=r"'radius' parameter of .* must be a number at least 0"):
            search.within(radius)
    with pytest.raises(ValueError, match="3 columns but the rows have 2"):
        search.nearest(1, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="queries contains NaN"):
        search.nearest(1, np.array([[np.nan, 0.0]]))
    with pytest.raises(ValueError, match="'weight' parameter of count_within must be one number per row"):
        search.count_within(1.0, weight=np.ones(4))
    with pytest.raises(ValueError, match="'method' parameter of NeighborSearch must be one of"):
        NeighborSearch(X, method="cover_tree")
    with pytest.raises(ValueError, match="needs a named metric"):
        NeighborSearch(X, metric=manhattan, method="kd_tree")
    for bad in (np.empty((0, 2)), np.empty((3, 0)), np.ones(3)):
        with pytest.raises(ValueError, match="as a table of rows and columns"):
            NeighborSearch(bad)
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        NeighborSearch(np.array([[np.inf, 1.0]]))
    with pytest.raises(ValueError, match="must be one of 'euclidean'"):
        NeighborSearch(X, metric="taxicab")
    with pytest.raises(ValueError, match="row 1 is"):
        NeighborSearch(np.array([[1.0, 0.0], [0.0, 0.0]]), metric="cosine")
    with pytest.raises(ValueError, match="must return a finite number at least 0"):
        NeighborSearch(X, metric=lambda x, z: -1.0).nearest(1)


@pytest.mark.parametrize("own", [False, True])
def test_only_rows_that_may_be_among_the_nearest_are_summed_feature_by_feature(rng, monkeypatch, own):
    """Sums of very many features take longer than the products that bound them."""
    X, queries = rng.standard_normal((200, 500)), rng.standard_normal((20, 500))
    monkeypatch.setattr(brute, "absorb_tile", brute.absorb_tile.py_func)
    sums, exact = [], brute.squared_distance

    def counted(*args):
        sums.append(args)
        return exact(*args)

    monkeypatch.setattr(brute, "squared_distance", counted)
    asked = X[:20] if own else queries
    _, numbers = BruteSearch(X, 2).nearest(7, None if own else queries)
    distances = cdist(asked, X)
    if own:
        np.fill_diagonal(distances, np.inf)
    assert_array_equal(numbers[:20], np.argsort(distances, axis=1)[:, :7])
    assert len(sums) <= 8 * len(numbers)
