"""Biclustering: blocks, sparse singular vectors, singular vectors of normalised matrices."""

from __future__ import annotations

import inspect
import itertools
import re

import numpy as np
import pytest
import sklearn.cluster
from matplotlib.axes import Axes
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.datasets import make_biclusters, make_checkerboard
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, consensus_score

import assay
from assay.base import IterativeModel
from assay.cluster import (
    BlockBiclustering,
    ConvexBiclustering,
    SparseSVDBiclustering,
    SpectralBiclustering,
    SpectralCoclustering,
)
from assay.cluster.biclustering.base import block_values, label_costs
from assay.cluster.biclustering.sparse_svd import soft_adaptive, threshold_by_bic

KINDS = [
    BlockBiclustering,
    ConvexBiclustering,
    SparseSVDBiclustering,
    SpectralBiclustering,
    SpectralCoclustering,
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def seeded(kind, **options):
    model = kind(**options)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def board(n_rows=30, n_columns=20, noise=0.3, seed=0):
    """A checkerboard of positive blocks with noise, and its labels."""
    rng = np.random.default_rng(seed)
    values = np.array([[1.0, 6.0], [5.0, 2.0]])
    row_labels, column_labels = rng.permutation(n_rows) % 2, rng.permutation(n_columns) % 2
    X = values[row_labels][:, column_labels] + noise * rng.normal(size=(n_rows, n_columns))
    return np.abs(X), row_labels, column_labels


def objective(X, row_labels, column_labels, penalty):
    """½ Σ (x − μ)² + λ Σ |μ|, the best over the three points where a block value can be stationary."""
    value = 0.0
    for k, r in itertools.product(np.unique(row_labels), np.unique(column_labels)):
        block = X[row_labels == k][:, column_labels == r]
        stationary = (0.0, block.mean() - penalty / block.size, block.mean() + penalty / block.size)
        value += min(0.5 * ((block - mu) ** 2).sum() + penalty * abs(mu) for mu in stationary)
    return value


@pytest.mark.spec("wei/M10.9a")
@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_restarts_find_the_best_of_all_checkerboards(penalty):
    X = np.random.default_rng(0).normal(size=(5, 4))
    best = min(
        objective(X, np.array((0, *rows)), np.array((0, *columns)), penalty)
        for rows in itertools.product([0, 1], repeat=4)
        for columns in itertools.product([0, 1], repeat=3)
    )
    model = BlockBiclustering(2, penalty_strength=penalty, n_init=40, random_state=0).fit(X)
    assert_allclose(model.objective_, best, rtol=1e-8)
    assert_allclose(model.restart_objectives_.min(), model.objective_, rtol=1e-10)
    assert model.certify(X).require()


@pytest.mark.spec("wei/M10.9a")
def test_block_values_are_soft_thresholded_block_means():
    X, row_labels, column_labels = board()
    plain = block_values(X, row_labels, column_labels, (2, 2), 0.0)
    for k, r in itertools.product(range(2), range(2)):
        block = X[row_labels == k][:, column_labels == r]
        assert_allclose(plain.values[k, r], block.mean())
        sparse_value = block_values(X, row_labels, column_labels, (2, 2), 200.0).values[k, r]
        assert_allclose(sparse_value, max(block.mean() - 200.0 / block.size, 0.0))
    far = BlockBiclustering(2, penalty_strength=1e6, random_state=0).fit(X)
    assert not far.block_values_.any()


@pytest.mark.spec("wei/M10.9a")
def test_alternation_recovers_a_checkerboard_and_never_rises():
    X, row_labels, column_labels = board()
    model = BlockBiclustering((2, 2), random_state=0).fit(X)
    assert adjusted_rand_score(row_labels, model.row_labels_) == 1.0
    assert adjusted_rand_score(column_labels, model.column_labels_) == 1.0
    assert np.all(np.diff(model.objective_trace_) <= 1e-9)
    assert_allclose(np.sort(model.block_values_.ravel()), [1, 2, 5, 6], atol=0.1)
    assert model.rows_.shape == (4, 30)
    assert model.get_submatrix(0, X).shape == model.get_shape(0)


def test_costs_of_labels_are_their_twin():
    rng = np.random.default_rng(1)
    X, values, columns = rng.normal(size=(6, 5)), rng.normal(size=(3, 2)), np.array([0, 1, 1, 0, 1])
    twin = [
        [0.5 * ((row - values[k][columns]) ** 2).sum() - 0.5 * (row**2).sum() for k in range(3)] for row in X
    ]
    assert_allclose(label_costs(X, columns, values), twin)


def test_more_clusters_than_rows_or_columns_are_refused():
    X = np.arange(12.0).reshape(4, 3)
    for kind in (BlockBiclustering, SpectralBiclustering):
        with pytest.raises(ValueError, match=r"'n_clusters' parameter of .* \(n_samples=4\)"):
            kind((5, 2)).fit(X)
        with pytest.raises(ValueError, match=r"'n_clusters' parameter of .* \(n_features=3\)"):
            kind((2, 4)).fit(X)
    with pytest.raises(ValueError, match=r"at most the rank of the matrix \(n_features=3\)"):
        SparseSVDBiclustering(4).fit(X)
    with pytest.raises(ValueError, match="number of rows and columns"):
        SpectralCoclustering(8).fit(X)


def test_empty_clusters_of_duplicated_rows_are_told():
    X = np.repeat([[1.0, 1.0, 5.0, 5.0]], 6, axis=0)
    with pytest.warns(ConvergenceWarning, match="Only . of the 3 row clusters"):
        model = BlockBiclustering((3, 2), n_init=1, random_state=0).fit(X)
    assert_allclose(model.objective_, 0.0, atol=1e-12)


@pytest.mark.spec("wei/M10.9c")
@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_the_threshold_is_the_minimiser_and_bic_is_least_there(power):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(12, 7)) + 4 * np.outer(np.arange(12) < 4, np.arange(7) < 3)
    u = np.linalg.svd(X)[0][:, 0]
    z, squares = X.T @ u, (X**2).sum()
    found = threshold_by_bic(z, squares, X.size, power)
    variance = ((X - np.outer(u, z)) ** 2).sum() / (X.size - 7)

    def criterion(penalty):
        v = soft_adaptive(z, penalty, power)
        fit = ((X - np.outer(u, v)) ** 2).sum() / (X.size * variance)
        return fit + np.log(X.size) / X.size * np.count_nonzero(v)

    largest = 2 * np.abs(z).max() ** (1 + power)
    penalties = np.concatenate([np.linspace(0, 0.999 * largest, 4000), 2 * np.abs(z) ** (1 + power)])
    values = [criterion(penalty) for penalty in penalties if soft_adaptive(z, penalty, power).any()]
    assert found.criterion <= min(values) + 1e-9
    penalty = found.penalty * np.abs(z).max() ** (1 + power)
    assert_allclose(criterion(penalty), found.criterion)
    for j, value in enumerate(found.vector):  # each entry is the minimiser of its own convex problem
        weight = penalty * abs(z[j]) ** -power
        entry = minimize_scalar(
            lambda v, j=j, weight=weight: v**2 - 2 * v * z[j] + weight * abs(v), tol=1e-12
        )
        assert_allclose(value, entry.x, atol=1e-5)


@pytest.mark.spec("wei/M10.9c")
def test_sparse_layers_find_planted_biclusters_and_deflate():
    rng = np.random.default_rng(3)
    first = np.outer(np.arange(60) < 15, np.arange(40) < 10)
    second = np.outer((np.arange(60) >= 20) & (np.arange(60) < 40), np.arange(40) >= 28)
    X = 5.0 * first + 3.0 * second + 0.5 * rng.normal(size=(60, 40))
    model = SparseSVDBiclustering(2).fit(X)
    truth = (
        np.array([first.any(axis=1), second.any(axis=1)]),
        np.array([first.any(axis=0), second.any(axis=0)]),
    )
    assert consensus_score(model.biclusters_, truth) > 0.95
    residual = X - model.singular_values_[0] * np.outer(model.left_vectors_[:, 0], model.right_vectors_[:, 0])
    again = SparseSVDBiclustering(1).fit(residual)
    assert_array_equal(again.rows_[0], model.rows_[1])
    assert_allclose(again.singular_values_[0], model.singular_values_[1])
    assert_allclose(np.linalg.norm(model.left_vectors_, axis=0), 1.0)
    assert np.all(np.diff(model.explained_) > 0)


@pytest.mark.spec("wei/M10.9c")
def test_a_sparse_matrix_of_rank_one_is_its_own_layer():
    X = np.outer([3.0, 0.0, -4.0, 0.0], [0.0, 2.0, 1.0])
    model = SparseSVDBiclustering(1).fit(X)
    assert_allclose(
        model.singular_values_[0] * np.outer(model.left_vectors_, model.right_vectors_), X, atol=1e-6
    )
    assert_array_equal(model.rows_[0], [True, False, True, False])
    with pytest.warns(ConvergenceWarning, match="found 1 of 2 layers"):
        SparseSVDBiclustering(2).fit(np.outer([1.0, 0.0, 1.0], [0.0, 2.0, 2.0]))


def test_spectral_coclustering_agrees_with_scikit_learn_and_its_cut_is_bounded():
    X, rows, columns = make_biclusters((60, 40), 4, noise=0.5, minval=5, maxval=10, random_state=0)
    X = np.abs(X)
    ours = SpectralCoclustering(4, random_state=0).fit(X)
    theirs = sklearn.cluster.SpectralCoclustering(4, random_state=0).fit(X)
    assert consensus_score(ours.biclusters_, theirs.biclusters_) == 1.0
    assert consensus_score(ours.biclusters_, (rows, columns)) == 1.0
    # The cut and its bound, from the whole graph.
    graph = np.block([[np.zeros((60, 60)), X], [X.T, np.zeros((40, 40))]])
    degrees = graph.sum(axis=0)
    labels = np.concatenate([ours.row_labels_, ours.column_labels_])
    cut = sum(graph[labels == k][:, labels != k].sum() / degrees[labels == k].sum() for k in range(4))
    laplacian = np.eye(100) - graph / np.sqrt(np.outer(degrees, degrees))
    assert_allclose(ours.normalized_cut_, cut)
    assert_allclose(ours.cut_bound_, np.linalg.eigvalsh(laplacian)[:4].sum(), atol=1e-10)
    assert ours.cut_bound_ <= ours.normalized_cut_


def test_the_cut_of_disconnected_blocks_is_zero_and_reached():
    X = np.kron(np.eye(3), np.ones((4, 3)))
    model = SpectralCoclustering(3, random_state=0).fit(X)
    assert_allclose([model.normalized_cut_, model.cut_bound_], 0.0, atol=1e-12)
    again = SpectralCoclustering(3, random_state=0).fit(sparse.csr_array(X))
    assert_array_equal(again.row_labels_, model.row_labels_)
    assert again.certify(sparse.csr_array(X)).holds


@pytest.mark.parametrize("method", ["bistochastic", "scale", "log"])
def test_spectral_biclustering_agrees_with_scikit_learn(method):
    X, _, _ = make_checkerboard((60, 40), (3, 2), noise=1.0, minval=10, maxval=50, random_state=0)
    X = np.abs(X)
    ours = SpectralBiclustering((3, 2), method=method, n_init=3, random_state=0).fit(X)
    theirs = sklearn.cluster.SpectralBiclustering((3, 2), method=method, n_init=3, random_state=0).fit(X)
    assert adjusted_rand_score(ours.row_labels_, theirs.row_labels_) == 1.0
    assert adjusted_rand_score(ours.column_labels_, theirs.column_labels_) == 1.0
    assert consensus_score(ours.biclusters_, theirs.biclusters_) == 1.0
    assert ours.certify(X).require()


def test_large_matrices_use_few_singular_vectors_and_find_the_same():
    X, rows, columns = make_biclusters((700, 500), 3, noise=1.0, minval=5, maxval=9, random_state=1)
    X = np.abs(X)
    model = SpectralCoclustering(3, random_state=0).fit(X)
    assert consensus_score(model.biclusters_, (rows, columns)) == 1.0
    assert_allclose(
        model.singular_values_,
        np.linalg.svd(X / np.sqrt(np.outer(X.sum(axis=1), X.sum(axis=0))), compute_uv=False)[:3],
    )
    assert model.certificates_.require()


@each_kind
def test_certificates_hold_and_fail_on_a_damaged_fit(kind):
    X, _, _ = board()
    model = seeded(kind).fit(X)
    assert len(model.certificates_) > 0
    model.certificates_.require()
    model.certify(X).require()
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, np.ndarray) and value.dtype.kind == "f":
            value += 0.3 * (1 + np.abs(value)) * np.cos(np.arange(value.size)).reshape(value.shape)
    assert not model.certify(X).holds


def test_swapped_labels_are_found_out():
    X, _, _ = board()
    for kind, quantity in (
        (BlockBiclustering, "gain from moving rows"),
        (SpectralBiclustering, "assignment excess"),
        (SpectralCoclustering, "assignment excess"),
    ):
        model = seeded(kind).fit(X)
        model.row_labels_ = np.roll(model.row_labels_, 1)
        assert not model.certify(X).named(quantity).holds
    damaged = seeded(SparseSVDBiclustering).fit(X)
    damaged.singular_values_ = damaged.singular_values_ * 1.01
    assert not damaged.certify(X).named("error of a value over the norm of the matrix").holds
    damaged = seeded(SpectralCoclustering).fit(X)
    damaged.singular_values_ = damaged.singular_values_ * 0.5
    assert not damaged.certify(X).named("largest singular value").holds
    assert not damaged.certify(X).named("normalised cut").holds


@each_kind
def test_float32_stays_float32_and_gives_the_same_biclusters(kind):
    X, _, _ = board()
    single, double = seeded(kind).fit(X.astype(np.float32)), seeded(kind).fit(X)
    assert consensus_score(single.biclusters_, double.biclusters_) > 0.9
    for name in ("block_values_", "fitted_", "singular_values_", "left_vectors_"):
        if hasattr(single, name):
            assert getattr(single, name).dtype == np.float32
    single.certificates_.require()


@each_kind
def test_a_saved_model_comes_back_whole_and_is_drawn(kind, tmp_path):
    X, _, _ = board()
    model = seeded(kind).fit(X)
    assay.save(model, tmp_path / "model.skops")
    loaded = assay.load(tmp_path / "model.skops")
    assert_array_equal(loaded.rows_, model.rows_)
    assert loaded.certificates_ == model.certificates_
    for ax in (model.plot(X), model.plot()):
        assert isinstance(ax, Axes)
        assert ax.has_data()
        assert ax.get_xlabel()
        assert ax.get_ylabel()


@each_kind
def test_the_docstring_says_what_is_computed_and_certified(kind):
    text = inspect.getdoc(kind)
    assert re.search(r"^(Minimises|Maximises|Finds)\b", text, re.MULTILINE)
    for part in ("Certificates:", "Parameters\n---", "Attributes\n---", "Examples\n---", "References\n---"):
        assert part in text
    assert set(inspect.signature(kind).parameters) == set(kind._domains)
    for name in kind._domains:
        assert re.search(rf"^(\w+, )*{name}\b.*:", text, re.MULTILINE)
        with pytest.raises(ValueError, match=rf"The '{name}' parameter of {kind.__name__} must be .* Got "):
            kind(**{name: object()}).fit(np.ones((4, 4)))


@each_kind
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_tables_are_refused_in_one_sentence(kind, value, tmp_path):
    X, _, _ = board()
    X[3, 2] = value
    with pytest.raises(ValueError, match=r"NaN|infinity") as refusal:
        kind().fit(X)
    assert "\n" not in str(refusal.value)
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="pairs"):
        kind().fit(str(tmp_path / "X.npy"))
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        kind().fit(np.empty((0, 3)))


@each_kind
def test_hard_tables_neither_crash_nor_lie(kind):
    X, _, _ = board()
    tables = {
        "constant": np.column_stack([X, np.full(len(X), 7.0)]),
        "duplicates": np.vstack([X[:10], X[:10]]),
        "huge": X * 1e8,
        "tiny": X * 1e-8,
        "far": X + 1e8,
    }
    for name, table in tables.items():
        with np.errstate(all="raise", under="ignore"):
            try:
                model = seeded(kind).fit(table)
            except ConvergenceWarning:  # warnings are errors here; saying so is honest
                continue
        for key, value in vars(model).items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                assert not np.isnan(value).any(), (name, key)
        if name in ("huge", "tiny"):
            assert model.certify(table).holds, name


@pytest.mark.parametrize("kind", [SpectralBiclustering, SpectralCoclustering])
def test_negative_or_empty_matrices_have_no_spectral_form(kind):
    with pytest.raises(ValueError, match=r"Negative values in data.*BlockBiclustering"):
        kind().fit(-np.ones((4, 4)))
    with pytest.raises(ValueError, match="All are 0"):
        kind().fit(np.zeros((4, 4)))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if issubclass(kind, IterativeModel)])
def test_iterating_models_tell_their_progress(kind, capsys):
    X, _, _ = board()
    model = seeded(kind).set_callbacks(ProgressBar()).fit(X)
    assert "fit" in capsys.readouterr().out
    assert model.n_iter_ >= 1
    assert model.converged_
    assert model.optimality_ >= 0


def test_too_few_passes_are_told():
    X = np.random.default_rng(4).normal(size=(40, 30))
    for model in (
        BlockBiclustering((4, 4), n_init=1, max_iter=1, random_state=1),
        SparseSVDBiclustering(2, max_iter=1, tol=1e-12),
        ConvexBiclustering(max_iter=1, tol=1e-12),
    ):
        with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1"):
            clone(model).fit(X)


def test_certify_takes_the_matrix_of_the_fit():
    X, _, _ = board()
    with pytest.raises(ValueError, match="certify takes the matrix of the fit"):
        BlockBiclustering(random_state=0).fit(X).certify(X[:5])
