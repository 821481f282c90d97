"""Minimum spanning trees: Borůvka on a tree, Prim on all pairs, SciPy's and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from assay.distances import NeighborSearch, distance_matrix, euclidean_spanning_tree, spanning_tree
from assay.distances.metrics import SCALES
from assay.distances.spanning import _sorted, boruvka, distances_of_rows, prim
from assay.distances.tree import build_tree
from assay.rows import threads

NAMES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine")


def kruskal(D):
    """The edges of the spanning tree, taken by length, then by their ends, unless they close a cycle."""
    n = len(D)
    component, edges = np.arange(n), []
    first, second = np.triu_indices(n, 1)
    for e in np.lexsort((second, first, D[first, second])):
        i, j = first[e], second[e]
        if component[i] != component[j]:
            component[component == component[j]] = component[i]
            edges.append((i, j, D[i, j]))
    return [np.array(part) for part in zip(*edges, strict=True)] if edges else [np.empty(0)] * 3


def by_boruvka(X, metric, cores=None):
    scale = SCALES[metric]
    cores = None if cores is None else cores / scale.factor
    edges = boruvka(build_tree(scale.prepare(X)), cores, power=scale.power, root=scale.root)
    return _sorted(edges._replace(length=edges.length * scale.factor), X.dtype)


def by_prim(X, metric, cores=None):
    return _sorted(prim(len(X), distances_of_rows(X, metric), cores), X.dtype)


def assert_same(found, other):
    for one, two in zip(found, other, strict=True):
        assert_array_equal(one, two)


@pytest.mark.parametrize("metric", NAMES)
@pytest.mark.parametrize("n_features", [1, 3, 12])
@pytest.mark.parametrize("mutual", [False, True])
def test_the_length_is_that_of_scipys_tree(rng, metric, n_features, mutual):
    X = rng.standard_normal((400, n_features))
    D = cdist(X, X, metric)
    cores = NeighborSearch(X, metric=metric).nearest(5).distances[:, -1] if mutual else None
    if mutual:
        D = np.maximum(D, np.maximum.outer(cores, cores))
    total = minimum_spanning_tree(D + 1.0).sum() - 399.0  # SciPy takes 0 for no edge
    for tree in (by_boruvka(X, metric, cores), by_prim(X, metric, cores)):
        assert tree.length.sum() == pytest.approx(total, rel=1e-9, abs=1e-9)
        assert_allclose(D[tree.first, tree.second], tree.length, rtol=1e-10, atol=1e-14)
        assert (tree.first < tree.second).all()
        assert (np.diff(tree.length) >= 0).all()
    assert_same(by_boruvka(X, metric, cores), by_prim(X, metric, cores))


@pytest.mark.parametrize("metric", NAMES)
@pytest.mark.parametrize("mutual", [False, True])
def test_more_features_than_rows_have_the_tree_of_their_distances(rng, metric, mutual):
    X = rng.standard_normal((90, 300)) + 1e3
    D = distance_matrix(X, metric=metric)
    cores = np.sort(D, axis=1)[:, 4] if mutual else None
    if mutual:
        D = np.maximum(D, np.maximum.outer(cores, cores))
        np.fill_diagonal(D, 0.0)
    assert_same(by_prim(X, metric, cores), kruskal(D))


lattice = arrays(
    np.float64, st.tuples(st.integers(1, 70), st.integers(1, 2)), elements=st.integers(1, 4).map(float)
)


@given(X=lattice, metric=st.sampled_from(NAMES[:4]), mutual=st.booleans())
@settings(max_examples=60, deadline=None)
def test_with_ties_and_duplicates_every_method_finds_the_one_tree_of_the_order(X, metric, mutual):
    D = distance_matrix(X, metric=metric)
    cores = np.sort(D, axis=1)[:, min(3, len(X) - 1)] if mutual else None
    if mutual:
        D = np.maximum(D, np.maximum.outer(cores, cores))
        np.fill_diagonal(D, 0.0)
    expected = kruskal(D)
    for tree in (
        by_boruvka(X, metric, cores),
        by_prim(X, metric, cores),
        spanning_tree(D, metric="precomputed"),
    ):
        assert_same(tree, expected)


def test_equal_points_form_a_star_around_the_first():
    tree = euclidean_spanning_tree(np.ones((3_000, 2)))
    assert not tree.length.any()
    assert_array_equal(tree.first, np.zeros(2_999))
    assert_array_equal(tree.second, np.arange(1, 3_000))


def test_single_linkage_heights_are_those_of_the_tree(rng):
    from scipy.cluster.hierarchy import linkage

    X = rng.standard_normal((3_000, 3))
    assert_allclose(euclidean_spanning_tree(X).length, linkage(X, "single")[:, 2], rtol=1e-13)


@pytest.mark.parametrize("method", [by_boruvka, by_prim])
def test_float32_and_large_offsets_keep_their_digits(rng, method):
    steps = rng.integers(-99, 99, size=(500, 3)).astype(float)
    assert_same(method(steps + 1e8, "euclidean"), method(steps, "euclidean"))
    single = method(steps.astype(np.float32), "euclidean")
    assert single.length.dtype == np.float32
    assert_allclose(single.length, method(steps, "euclidean").length, rtol=1e-6)


def test_the_tree_does_not_depend_on_threads(rng):
    X = rng.integers(0, 30, size=(8_000, 3)).astype(float)
    cores = NeighborSearch(X).nearest(4).distances[:, -1]
    with threads(1):
        one = euclidean_spanning_tree(X, core_distances=cores)
    with threads(3):
        other = euclidean_spanning_tree(X, core_distances=cores)
    assert_same(one, other)


def test_many_features_and_functions_go_through_all_pairs(rng):
    X = rng.standard_normal((60, 80))
    total = minimum_spanning_tree(cdist(X, X)).sum()
    assert spanning_tree(X).length.sum() == pytest.approx(total)
    found = spanning_tree(X[:, :2], metric=lambda x, z: float(np.abs(x - z).sum()))
    assert_allclose(found.length, spanning_tree(X[:, :2], metric="manhattan").length)


def test_one_row_has_no_edges_and_two_have_one():
    assert euclidean_spanning_tree(np.ones((1, 2))).length.size == 0
    tree = euclidean_spanning_tree(np.array([[3.0], [1.0]]))
    assert (tree.first[0], tree.second[0], tree.length[0]) == (0, 1, 2.0)


def test_the_rows_are_not_written_to(rng):
    X = rng.standard_normal((200, 1))
    X.flags.writeable = False
    for method in (by_boruvka, by_prim):
        method(X, "euclidean")


def test_bad_input_is_refused_in_one_sentence():
    X = np.ones((4, 2))
    with pytest.raises(ValueError, match=r"'core_distances' must be 4, one per row. Got \(3,\)"):
        euclidean_spanning_tree(X, core_distances=np.ones(3))
    with pytest.raises(ValueError, match="contains NaN"):
        euclidean_spanning_tree(X * np.nan)
    with pytest.raises(ValueError, match="square"):
        spanning_tree(X, metric="precomputed")
