"""Minimum spanning trees by four algorithms, and the clusters they give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from assay.graphs import boruvka, kruskal, prim, reverse_delete, spanning_tree_clusters

ALGORITHMS = [kruskal, prim, boruvka, reverse_delete]
each = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda function: function.__name__)


def distances(n_points=40, seed=0):
    return squareform(pdist(np.random.default_rng(seed).normal(size=(n_points, 3))))


def random_graph(n_nodes=60, density=0.06, seed=1):
    upper = sparse.triu(sparse.random_array((n_nodes, n_nodes), density=density, rng=seed), 1)
    return sparse.csr_array(upper + upper.T)


@each
@pytest.mark.spec("sangnier/HC-M4")
def test_the_total_weight_is_the_least_there_is(algorithm):
    for seed in range(3):
        D = distances(seed=seed)
        tree = algorithm(D)
        assert_allclose(tree.total_weight, minimum_spanning_tree(D).sum(), rtol=1e-12)
        assert_allclose(tree.weight, D[tree.first, tree.second])


@each
@pytest.mark.spec("sangnier/HC-T2")
def test_a_tree_has_no_cycle_and_one_edge_less_than_nodes(algorithm):
    tree = algorithm(distances())
    assert len(tree.weight) == 39
    graph = sparse.coo_array((np.ones(39), tree.edges.T), shape=(40, 40))
    # n − 1 edges that connect n nodes leave no room for a cycle.
    assert connected_components(graph, directed=False)[0] == 1
    assert tree.n_components == 1


@each
@pytest.mark.spec("sangnier/HC-M4")
def test_a_graph_that_is_not_connected_has_one_tree_a_component(algorithm):
    graph = random_graph(density=0.02)
    n_components = connected_components(graph, directed=False)[0]
    assert n_components > 1
    forest = algorithm(graph)
    assert forest.n_components == n_components
    assert_allclose(forest.total_weight, minimum_spanning_tree(graph).sum(), rtol=1e-12)


@each
def test_dense_and_sparse_forms_of_a_graph_have_one_tree(algorithm):
    D = distances(15)
    upper = sparse.csr_array(np.triu(D, 1))
    with_infinity = np.where(np.median(D) < D, np.inf, D)
    np.fill_diagonal(with_infinity, 0.0)
    assert algorithm(upper)._asdict().keys() == algorithm(D)._asdict().keys()
    assert_array_equal(algorithm(upper).edges, algorithm(D).edges)
    kept = sparse.csr_array(np.where(np.isfinite(with_infinity), with_infinity, 0.0))
    assert_array_equal(algorithm(with_infinity).edges, algorithm(kept).edges)


@pytest.mark.spec("sangnier/HC-M4")
@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 12).flatmap(
        lambda n: st.lists(st.integers(0, 4), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2)
    )
)
def test_all_algorithms_give_the_same_edges_also_where_weights_tie(weights):
    D = squareform(np.array(weights, dtype=float))
    trees = [algorithm(D) for algorithm in ALGORITHMS]
    for tree in trees[1:]:
        assert_array_equal(tree.edges, trees[0].edges)
        assert_array_equal(tree.weight, trees[0].weight)


def test_edges_stored_twice_count_once_at_their_lesser_weight_and_loops_do_not_count():
    graph = sparse.coo_array(([5.0, 2.0, 7.0, 0.0, 1.0], ([0, 1, 1, 2, 2], [1, 0, 2, 2, 2])), shape=(3, 3))
    for algorithm in ALGORITHMS:
        assert_array_equal(algorithm(graph).weight, [2.0, 7.0])


def test_a_stored_zero_is_an_edge_of_weight_zero():
    graph = sparse.csr_array((np.array([0.0, 3.0]), (np.array([0, 1]), np.array([1, 2]))), shape=(3, 3))
    for algorithm in ALGORITHMS:
        assert_array_equal(algorithm(graph).weight, [0.0, 3.0])


@pytest.mark.spec("sangnier/HC-M5")
@pytest.mark.parametrize("n_clusters", [1, 2, 5, 17, 40])
def test_deleting_the_heaviest_edges_leaves_the_clusters_of_single_linkage(n_clusters):
    D = distances()
    labels = spanning_tree_clusters(kruskal(D), n_clusters)
    reference = fcluster(linkage(squareform(D), "single"), n_clusters, "maxclust")
    assert len(np.unique(labels)) == n_clusters
    assert len({*zip(labels.tolist(), reference.tolist(), strict=True)}) == n_clusters
    assert labels.dtype == np.int32
    assert_array_equal(
        np.unique(labels, return_index=True)[1], np.sort(np.unique(labels, return_index=True)[1])
    )


def test_clusters_of_a_forest_are_at_least_its_components():
    forest = kruskal(random_graph(density=0.02))
    labels = spanning_tree_clusters(forest, forest.n_components)
    assert_array_equal(
        np.unique(labels).size, connected_components(random_graph(density=0.02), directed=False)[0]
    )
    for wrong in (forest.n_components - 1, forest.n_nodes + 1, 2.5, "two", True):
        with pytest.raises(
            ValueError, match="'n_clusters' parameter of spanning_tree_clusters must be an int"
        ):
            spanning_tree_clusters(forest, wrong)


@each
def test_bad_graphs_are_refused_in_one_sentence(algorithm):
    name = algorithm.__name__
    with pytest.raises(ValueError, match=f"{name} takes a square matrix"):
        algorithm(np.ones((2, 3)))
    with pytest.raises(ValueError, match=f"{name} takes a square matrix"):
        algorithm(np.ones((0, 0)))
    with pytest.raises(ValueError, match="symmetric"):
        algorithm(np.array([[0.0, 1.0], [2.0, 0.0]]))
    with pytest.raises(ValueError, match="NaN"):
        algorithm(np.array([[0.0, np.nan], [np.nan, 0.0]]))
    with pytest.raises(ValueError, match="NaN"):
        algorithm(sparse.csr_array(np.array([[0.0, np.nan], [np.nan, 0.0]])))


@each
def test_one_node_and_no_edges(algorithm):
    assert algorithm(np.zeros((1, 1))).total_weight == 0.0
    empty = algorithm(sparse.csr_array((4, 4)))
    assert empty.n_components == 4
    assert_array_equal(spanning_tree_clusters(empty, 4), [0, 1, 2, 3])


@each
def test_huge_and_negative_weights_keep_their_order(algorithm):
    D = distances(12)
    tree = algorithm(D)
    np.fill_diagonal(shifted := D - 10.0, 0.0)
    assert_array_equal(algorithm(1e8 * D).edges, tree.edges)
    assert_array_equal(algorithm(shifted).edges, tree.edges)
