"""Convex biclustering: the joint minimiser, its gap, and penalties by held-out entries."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.metrics import adjusted_rand_score

from assay.cluster import ConvexBiclustering, ConvexClustering
from assay.cluster.convex.biclustering_solver import (
    additive_fill,
    block_averaged,
    cobra,
    complete,
    dual_matrix,
    joint_gap,
    side_graph,
)


def planted(n_rows=40, n_columns=24, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    values = np.array([[0.0, 6.0], [6.0, 0.0], [-6.0, 3.0]])
    rows, columns = rng.permutation(n_rows) % 3, rng.permutation(n_columns) % 2
    return values[rows][:, columns] + noise * rng.normal(size=(n_rows, n_columns)), rows, columns


def objective(X, U, rows, columns):
    """The criterion, written out."""
    value = 0.5 * ((X - U) ** 2).sum()
    for (a, b), radius in zip(rows.edges, rows.radii, strict=True):
        value += radius * np.linalg.norm(U[a] - U[b])
    for (a, b), radius in zip(columns.edges, columns.radii, strict=True):
        value += radius * np.linalg.norm(U[:, a] - U[:, b])
    return value


@pytest.mark.spec("wei/M10.9b")
@pytest.mark.parametrize("share", [0.05, 0.4])
def test_the_minimum_is_that_of_a_smoothed_general_solver(share):
    X = np.random.default_rng(1).normal(size=(6, 5))
    row_side, column_side = side_graph(X, 3, None), side_graph(X.T, 3, None)
    rows = row_side.at(share * row_side.penalty_max)
    columns = column_side.at(share * column_side.penalty_max)
    found = cobra(X, rows, columns, tol=1e-9, max_iter=5000)
    assert found.converged
    assert_allclose(found.board.gap.primal, objective(X, found.board.fitted, rows, columns))

    def smoothed(flat, width):
        U = flat.reshape(X.shape)
        value, gradient = 0.5 * ((X - U) ** 2).sum(), U - X
        for side, turned in ((rows, False), (columns, True)):
            matrix, slope = (U.T, gradient.T) if turned else (U, gradient)
            drops = matrix[side.edges[:, 0]] - matrix[side.edges[:, 1]]
            sizes = np.sqrt((drops**2).sum(axis=1) + width**2)
            value += side.radii @ sizes
            np.add.at(slope, side.edges[:, 0], (side.radii / sizes)[:, np.newaxis] * drops)
            np.add.at(slope, side.edges[:, 1], -(side.radii / sizes)[:, np.newaxis] * drops)
        return value, gradient.ravel()

    point = X.ravel()
    for width in (1e-1, 1e-2, 1e-3):
        point = minimize(
            smoothed,
            point,
            args=(width,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9},
        ).x
    assert_allclose(found.board.gap.primal, objective(X, point.reshape(X.shape), rows, columns), rtol=1e-3)
    assert found.board.gap.primal <= objective(X, point.reshape(X.shape), rows, columns) * (1 + 1e-8)


@pytest.mark.spec("wei/M10.9b", "wei/M10.8")
def test_without_a_column_penalty_it_is_convex_clustering_of_the_rows():
    X, _, _ = planted(24, 6)
    rows = ConvexClustering(n_neighbors=5, tol=1e-9).fit(X)
    both = ConvexBiclustering(rows.penalty_, 0.0, n_neighbors=5, tol=1e-9).fit(X)
    assert_allclose(both.fitted_, rows.centroids_, atol=1e-3)
    assert_allclose(both.objective_, rows.objective_, rtol=1e-7)
    assert adjusted_rand_score(both.row_labels_, rows.labels_) == 1.0
    assert_array_equal(both.column_labels_, np.arange(6))
    turned = ConvexBiclustering(0.0, rows.penalty_, n_neighbors=5, tol=1e-9).fit(X.T)
    assert_allclose(turned.fitted_, both.fitted_.T, atol=1e-3)


@pytest.mark.spec("wei/M10.9b")
def test_the_objective_is_that_of_the_course_with_gaussian_weights_on_neighbours():
    X = np.random.default_rng(3).normal(size=(12, 8))
    model = ConvexBiclustering(0.4, 0.3, n_neighbors=4, tol=1e-8).fit(X)
    total = 0.5 * np.sum((X - model.fitted_) ** 2)
    for penalty, table, fitted in ((0.4, X, model.fitted_), (0.3, X.T, model.fitted_.T)):
        squares = np.sum((table[:, None] - table[None, :]) ** 2, axis=2)
        ranks = np.argsort(np.argsort(squares, axis=1), axis=1)
        near = (ranks > 0) & (ranks <= 4)
        near = np.triu(near | near.T)
        weights = np.where(near, np.exp(-squares / np.median(squares[near])), 0.0)
        lengths = np.sqrt(np.sum((fitted[:, None] - fitted[None, :]) ** 2, axis=2))
        total += penalty * np.sum(weights * lengths)
    assert_allclose(model.objective_, total, rtol=1e-6)


@pytest.mark.spec("wei/M10.9b")
def test_no_penalty_gives_the_matrix_and_large_ones_its_mean():
    X, _, _ = planted(12, 8)
    assert_allclose(ConvexBiclustering(0.0, 0.0).fit(X).fitted_, X, atol=1e-12)
    far = ConvexBiclustering(1e9, 1e9).fit(X)
    assert_allclose(far.fitted_, np.full(X.shape, X.mean()), atol=1e-10)
    assert far.rows_.shape == (1, 12)


@pytest.mark.spec("wei/M10.9b")
def test_planted_blocks_are_found_and_certified():
    X, rows, columns = planted()
    model = ConvexBiclustering().fit(X)
    assert adjusted_rand_score(rows, model.row_labels_) > 0.9
    assert adjusted_rand_score(columns, model.column_labels_) == 1.0
    assert model.certify(X).require()
    assert model.gap_trace_[-1] <= 1e-6
    blocks = block_averaged(model.fitted_, model.row_labels_, model.column_labels_)
    assert_allclose(model.fitted_, blocks, atol=1e-12)


def test_the_gap_is_the_objective_minus_the_dual_value():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(7, 5))
    rows, columns = side_graph(X, 3, None).at(0.3), side_graph(X.T, 3, None).at(0.2)
    duals = []
    for side, size in ((rows, 5), (columns, 7)):
        dual = rng.normal(size=(len(side.edges), size))
        duals.append(dual * (0.9 * side.radii / np.linalg.norm(dual, axis=1))[:, np.newaxis])
    U = X + 0.2 * rng.normal(size=X.shape)
    pulled = dual_matrix(X, (rows, columns), duals)
    dual_value = 0.5 * (X**2).sum() - 0.5 * (pulled**2).sum()
    measured = joint_gap(X, (rows, columns), U, duals)
    assert_allclose(measured.primal, objective(X, U, rows, columns))
    assert_allclose(measured.gap, measured.primal - dual_value)


@pytest.mark.spec("wei/M10.9b")
def test_filling_held_out_entries_never_raises_the_objective_on_those_seen():
    X, _, _ = planted(20, 12)
    seen = np.random.default_rng(3).uniform(size=X.shape) > 0.15
    filled = np.where(seen, X, additive_fill(X, seen))
    rows, columns = side_graph(filled, 5, None), side_graph(filled.T, 5, None)
    found = complete(
        X,
        seen,
        rows.at(0.3 * rows.penalty_max),
        columns.at(0.3 * columns.penalty_max),
        additive_fill(X, seen),
        tol=1e-4,
        max_iter=60,
    )
    assert len(found.trace) > 2
    assert np.all(np.diff(found.trace) <= 2e-6 * found.trace[0])
    assert_allclose(found.filled[seen], X[seen])
    assert_allclose(found.filled[~seen], found.fit.board.fitted[~seen])


@pytest.mark.spec("wei/M10.9b")
def test_held_out_entries_choose_penalties_that_find_the_blocks():
    X, rows, columns = planted(30, 20, noise=1.5, seed=4)
    model = ConvexBiclustering(n_neighbors=6)
    comparison = model.select(X, [0.001, 0.1, 0.5, 1.0], random_state=0)
    assert comparison.errors.shape == (4,)
    assert comparison.errors.min() < 0.8 * comparison.errors[0]
    best = ConvexBiclustering(*comparison.best, n_neighbors=6).fit(X)
    assert adjusted_rand_score(columns, best.column_labels_) > 0.8
    assert adjusted_rand_score(rows, best.row_labels_) > 0.8
    again = model.select(X, [0.001, 0.1, 0.5, 1.0], random_state=0)
    assert_array_equal(again.errors, comparison.errors)


def test_a_share_that_holds_out_nothing_is_refused():
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(ValueError, match=r"'held_out' parameter of ConvexBiclustering\.select"):
        ConvexBiclustering().select(X, held_out=1.5)
    with pytest.raises(ValueError, match="holds out none or all"):
        ConvexBiclustering().select(X, held_out=1e-9, random_state=0)
