"""Reduced-rank regression: exact, nuclear, row-sparse; against brute force and closed forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from sklearn.cross_decomposition import CCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from assay.linear import LinearRegression, ReducedRankRegression
from assay.linear.low_rank.solver import (
    LowRankProblem,
    by_proximal_gradient,
    by_rank,
    by_splitting,
    duality_gap,
    shrink,
    spectral_norm,
)

METHODS = ("rank", "nuclear", "row_sparse")


@pytest.fixture
def table(rng):
    X = rng.standard_normal((70, 6)) @ np.diag([3, 2, 1, 1, 0.5, 1]) + 1
    B = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 4))
    B[4:] = 0
    noise = rng.standard_normal((70, 4)) @ (np.eye(4) + 0.5)
    return X, X @ B + noise + [0.0, 5.0, -5.0, 1.0]


def centred(X, Y):
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


# Hard rank


@pytest.mark.spec("wei/M1.18")
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_hard_rank_is_least_squares_projected_on_the_first_singular_vectors(table, rank):
    X, Y = table
    model = ReducedRankRegression(rank).fit(X, Y)
    Xc, Yc = centred(X, Y)
    plain = np.linalg.lstsq(Xc, Yc, rcond=None)[0]
    right = np.linalg.svd(Xc @ plain, full_matrices=False)[2][:rank].T
    assert_allclose(model.coef_.T, plain @ right @ right.T, atol=1e-9)
    assert model.rank_ == rank == np.linalg.matrix_rank(model.coef_)
    assert_allclose(model.left_factor_ @ model.right_factor_.T, model.coef_.T, atol=1e-9)
    assert_allclose(model.right_factor_.T @ model.right_factor_, np.eye(rank), atol=1e-12)
    assert_allclose(model.singular_values_, np.linalg.svd(Xc @ plain, compute_uv=False), atol=1e-9)
    if rank == 4:
        assert_allclose(model.coef_, LinearRegression().fit(X, Y).coef_, atol=1e-9)


@pytest.mark.spec("wei/M1.18")
@pytest.mark.parametrize("weighting", ["identity", "residual", "canonical"])
def test_no_search_over_factors_finds_a_better_matrix_of_that_rank(table, weighting, rng):
    X, Y = table
    Xc, Yc = centred(X, Y)
    model = ReducedRankRegression(1, weighting=weighting).fit(X, Y)
    root = np.linalg.cholesky(model.weighting_matrix_)

    def loss(point):
        return np.sum(((Yc - Xc @ np.outer(point[:6], point[6:])) @ root) ** 2)

    best = np.sum(((Yc - Xc @ model.coef_.T) @ root) ** 2)
    found = min(optimize.minimize(loss, rng.standard_normal(10)).fun for _ in range(4))
    assert best <= found + 1e-6 * best
    assert found == pytest.approx(best, rel=1e-4)  # the search gets there, and no further


@pytest.mark.spec("wei/M1.18")
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_residual_and_response_weightings_are_one_and_follow_canonical_correlations(table, rank):
    X, Y = table
    residual = ReducedRankRegression(rank, weighting="residual").fit(X, Y)
    canonical = ReducedRankRegression(rank, weighting="canonical").fit(X, Y)
    assert_allclose(residual.coef_, canonical.coef_, atol=1e-8)
    Xc, Yc = centred(X, Y)
    noise = Yc - Xc @ np.linalg.lstsq(Xc, Yc, rcond=None)[0]
    assert_allclose(residual.weighting_matrix_, np.linalg.inv(noise.T @ noise / 70), atol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = CCA(rank, scale=False, max_iter=5000, tol=1e-12).fit(Xc, Yc).transform(Xc)
    ours = Xc @ canonical.left_factor_
    combined = scores @ np.linalg.lstsq(scores, ours, rcond=None)[0]
    assert_allclose(combined, ours, atol=1e-4 * np.abs(ours).max())  # the same canonical variables


@pytest.mark.spec("wei/M1.18")
def test_rank_is_chosen_by_cross_validation(rng):
    X = rng.standard_normal((150, 8))
    B = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 6))
    Y = X @ B + rng.standard_normal((150, 6))
    folds = KFold(5)
    selection = ReducedRankRegression().select(X, Y, cv=folds)
    assert selection.best == 2 == selection.model.rank_
    errors = np.array(
        [
            [
                np.mean(np.sum((Y[test] - ReducedRankRegression(k).fit(X[a], Y[a]).predict(X[test])) ** 2, 1))
                for k in range(1, 7)
            ]
            for a, test in folds.split(X)
        ]
    )
    assert_allclose(selection.curve, errors.mean(axis=0))
    assert_allclose(selection.standard_error, errors.std(axis=0, ddof=1) / np.sqrt(5))
    simple = ReducedRankRegression().select(X, Y, cv=folds, rule="one_se")
    assert simple.best <= selection.best
    with pytest.raises(ValueError, match="'rule' parameter"):
        ReducedRankRegression().select(X, Y, rule="lucky")


def test_selection_takes_frames_and_sparse_rows_and_refuses_rows_elsewhere(table, tmp_path):
    pd, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    X, Y = table
    expected = ReducedRankRegression().select(X, Y)
    framed = ReducedRankRegression().select(pd.DataFrame(X, columns=list("abcdef")), Y)
    assert list(framed.model.feature_names_in_) == list("abcdef")
    thin = ReducedRankRegression().select(sparse.csr_array(X), Y)
    for found in (framed, thin):
        assert_allclose(found.curve, expected.curve)
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match="needs them in memory"):
        ReducedRankRegression().select(str(tmp_path / "rows.npy"), Y)


def test_the_path_of_ranks_is_the_sequence_of_fits(table):
    X, Y = table
    path = ReducedRankRegression().path(X, Y)
    assert path.ranks.tolist() == [1, 2, 3, 4]
    for k in range(4):
        model = ReducedRankRegression(k + 1).fit(X, Y)
        assert_allclose(path.coef[k], model.coef_, atol=1e-10)
        assert_allclose(path.intercept[k], model.intercept_, atol=1e-10)
        assert path.training_error[k] == pytest.approx(np.mean(np.sum((Y - model.predict(X)) ** 2, axis=1)))
    assert np.all(np.diff(path.training_error) < 0)


def test_more_predictors_than_rows_are_no_obstacle(rng):
    X, Y = rng.standard_normal((15, 40)), rng.standard_normal((15, 3))
    model = ReducedRankRegression(2).fit(X, Y)
    assert model.rank_ == 2
    assert model.certificates_.holds
    free = ReducedRankRegression(2, weighting="residual").fit(X, Y)  # no residuals, no covariance
    assert free.weighting_ == "canonical"
    assert_allclose(free.coef_, ReducedRankRegression(2, weighting="canonical").fit(X, Y).coef_)
    with pytest.raises(ValueError, match=r"'weighting' parameter .* covariance of its responses is singular"):
        ReducedRankRegression(2, weighting="canonical").fit(X, Y[:, [0, 0, 1]])


def test_eckart_youngs_values_are_those_of_every_rank(table):
    Xc, Yc = centred(*table)
    problem = LowRankProblem(Xc, Yc, np.eye(4))
    least = by_rank(problem, 1).least
    for k in range(1, 5):
        assert np.sum((Yc - Xc @ by_rank(problem, k).coef) ** 2) == pytest.approx(least[k])
    assert least[0] == pytest.approx(np.sum(Yc**2))


# Nuclear norm


@pytest.mark.spec("wei/M1.19")
@pytest.mark.parametrize("weighting", ["identity", "residual"])
def test_nuclear_solution_satisfies_its_optimality_conditions(table, weighting):
    X, Y = table
    model = ReducedRankRegression(method="nuclear", alpha=40.0, weighting=weighting, tol=1e-12).fit(X, Y)
    Xc, Yc = centred(X, Y)
    B, gamma = model.coef_.T, model.weighting_matrix_
    pull = Xc.T @ (Yc - Xc @ B) @ gamma
    left, values, right = np.linalg.svd(B)
    rank = np.sum(values > 1e-8)
    assert rank == model.rank_
    assert 0 < rank < 4
    assert np.linalg.norm(pull, 2) == pytest.approx(40.0, rel=1e-5)  # ‖∇L‖ ≤ λ
    # … and α L Rᵀ on the singular vectors of B
    assert_allclose(left[:, :rank].T @ pull @ right[:rank].T, 40.0 * np.eye(rank), atol=1e-3)


@pytest.mark.spec("wei/M1.19")
def test_an_orthogonal_design_soft_thresholds_singular_values(rng):
    Q = np.linalg.qr(rng.standard_normal((50, 5)))[0]
    Y = rng.standard_normal((50, 3)) * 3
    model = ReducedRankRegression(method="nuclear", alpha=1.5, fit_intercept=False, tol=1e-13).fit(Q, Y)
    left, values, right = np.linalg.svd(Q.T @ Y, full_matrices=False)
    assert_allclose(model.coef_.T, (left * np.maximum(values - 1.5, 0)) @ right, atol=1e-6)


@pytest.mark.spec("wei/M1.19")
def test_the_critical_penalty_is_the_spectral_norm_of_the_products(table):
    X, Y = table
    Xc, Yc = centred(X, Y)
    critical = np.linalg.norm(Xc.T @ Yc, 2)
    above = ReducedRankRegression(method="nuclear", alpha=critical * 1.0001).fit(X, Y)
    assert above.critical_alpha_ == pytest.approx(critical)
    assert np.all(above.coef_ == 0)
    assert above.rank_ == 0
    below = ReducedRankRegression(method="nuclear", alpha=critical * 0.99).fit(X, Y)
    assert below.rank_ == 1


def test_one_response_shrinks_the_whole_vector(table):
    X, Y = table
    Xc, yc = X - X.mean(axis=0), Y[:, 0] - Y[:, 0].mean()
    model = ReducedRankRegression(method="nuclear", alpha=30.0, tol=1e-13).fit(X, Y[:, 0])
    w = model.coef_
    assert_allclose(Xc.T @ (yc - Xc @ w), 30.0 * w / np.linalg.norm(w), atol=1e-3)


# Row sparsity


@pytest.mark.spec("wei/M1.20")
@pytest.mark.parametrize("axis", ["predictors", "responses"])
def test_row_sparse_solution_minimises_the_sum_of_the_three_terms(table, axis):
    X, Y = table
    model = ReducedRankRegression(
        method="row_sparse", alpha=10.0, row_alpha=25.0, axis=axis, tol=1e-11, max_iter=50_000
    ).fit(X, Y)
    Xc, Yc = centred(X, Y)

    def objective(B):
        rows = B if axis == "predictors" else B.T
        smooth = np.sum((Yc - Xc @ B) ** 2) / 2
        return smooth + 10 * np.linalg.norm(B, "nuc") + 25 * np.linalg.norm(rows, axis=1).sum()

    best = objective(model.coef_.T)
    # An independent minimiser: a smooth approximation of both norms, followed to the limit.
    point = model.coef_.T.ravel() * 0 + 0.1
    for epsilon in (1e-1, 1e-2, 1e-3, 1e-4):

        def smoothed(flat, epsilon=epsilon):
            B = flat.reshape(6, 4)
            rows = B if axis == "predictors" else B.T
            residual = Yc - Xc @ B
            gram = B.T @ B + epsilon**2 * np.eye(4)
            values, vectors = np.linalg.eigh(gram)
            lengths = np.sqrt(np.sum(rows**2, axis=1) + epsilon**2)
            value = np.sum(residual**2) / 2 + 10 * np.sqrt(values).sum() + 25 * lengths.sum()
            slope = -Xc.T @ residual + 10 * B @ ((vectors / np.sqrt(values)) @ vectors.T)
            pull = 25 * rows / lengths[:, None]
            return value, (slope + (pull if axis == "predictors" else pull.T)).ravel()

        point = optimize.minimize(smoothed, point, jac=True, method="L-BFGS-B", options={"maxiter": 3000}).x
    assert best <= objective(point.reshape(6, 4)) * (1 + 1e-9)
    assert best == pytest.approx(objective(point.reshape(6, 4)), rel=1e-4)
    assert model.certificates_.holds


@pytest.mark.spec("wei/M1.20")
def test_whole_predictors_or_whole_responses_are_left_out(rng):
    X = rng.standard_normal((200, 10))
    B = np.zeros((10, 5))
    B[:3, :2] = rng.standard_normal((3, 1)) @ rng.standard_normal((1, 2)) * 3
    Y = X @ B + rng.standard_normal((200, 5))
    predictors = ReducedRankRegression(method="row_sparse", alpha=90.0, row_alpha=50.0).fit(X, Y)
    assert predictors.selected_.tolist() == [0, 1, 2]
    assert np.all(predictors.coef_[:, 3:] == 0)
    responses = ReducedRankRegression(method="row_sparse", alpha=90.0, row_alpha=60.0, axis="responses")
    responses.fit(X, Y)
    assert responses.selected_.tolist() == [0, 1]
    assert np.all(responses.coef_[2:] == 0)
    assert predictors.rank_ == responses.rank_ == 1


@pytest.mark.spec("wei/M1.20")
@pytest.mark.parametrize("method", ["nuclear", "row_sparse"])
def test_the_rank_path_grows_from_zero(table, method):
    X, Y = table
    path = ReducedRankRegression(method=method, row_alpha=5.0).path(X, Y)
    assert path.ranks[0] == 0
    assert path.ranks[-1] >= 3
    assert np.all(np.diff(path.training_error) < 1e-6)
    assert path.n_selected[-1] > 0 == path.n_selected[0]
    middle = 8
    model = ReducedRankRegression(method=method, row_alpha=5.0, alpha=path.alphas[middle]).fit(X, Y)
    assert_allclose(path.coef[middle], model.coef_, atol=2e-3)
    with pytest.raises(ValueError, match="'alphas' parameter"):
        ReducedRankRegression(method=method).path(X, Y, alphas=[-1.0])


def test_penalties_are_chosen_by_cross_validation(table):
    X, Y = table
    selection = ReducedRankRegression(method="nuclear").select(X, Y)
    assert selection.best == selection.model.alpha
    assert selection.curve[selection.index] == selection.curve.min()
    assert selection.curve[selection.index] < selection.curve[0]


# Gap and certificates


@pytest.mark.spec("wei/M1.19", "wei/M1.20")
@pytest.mark.parametrize("row_alpha", [0.0, 15.0])
def test_the_gap_bounds_the_distance_from_the_minimum_whatever_the_dual_proposal(table, rng, row_alpha):
    Xc, Yc = centred(*table)
    problem = LowRankProblem(Xc, Yc, np.eye(4), 20.0, row_alpha)
    solver = by_splitting if row_alpha else by_proximal_gradient
    best = solver(problem, tol=1e-12, max_iter=20_000, report=lambda coef: False)
    assert best.converged
    null = np.sum(Yc**2) / 2
    for size in (0.0, 1e-3, 1e-1, 1.0):
        coef = best.coef + size * rng.standard_normal(best.coef.shape)
        proposal = best.row_dual + (size * rng.standard_normal(coef.shape) if row_alpha else 0)
        gap = duality_gap(problem, coef, proposal)
        assert gap >= (problem.objective(coef) - problem.objective(best.coef)) / null - 1e-12
        assert gap >= 0


@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (5, 1)])
@pytest.mark.parametrize("threshold", [0.0, 1e-6, 0.5, 2.0, 100.0])
def test_singular_values_are_shrunk_as_by_a_decomposition(rng, shape, threshold):
    matrix = rng.standard_normal(shape)
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    expected = (left * np.maximum(values - threshold, 0)) @ right
    assert_allclose(shrink(matrix, threshold), expected, atol=1e-10)
    assert spectral_norm(matrix) == pytest.approx(values[0])


def test_splitting_without_rows_is_the_proximal_gradient(table):
    Xc, Yc = centred(*table)
    problem = LowRankProblem(Xc, Yc, np.eye(4), 30.0, 0.0)
    options = {"tol": 1e-13, "max_iter": 20_000, "report": lambda coef: False}
    assert_allclose(
        by_splitting(problem, **options).coef, by_proximal_gradient(problem, **options).coef, atol=1e-5
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("damage", ["coef_", "intercept_"])
def test_damage_is_found(table, method, damage):
    X, Y = table
    model = ReducedRankRegression(2, method=method, alpha=20.0, row_alpha=10.0).fit(X, Y)
    assert model.certify(X, Y).holds
    setattr(model, damage, getattr(model, damage) * 1.01 + 0.01)
    assert not model.certify(X, Y).holds


@pytest.mark.parametrize("method", ["nuclear", "row_sparse"])
def test_a_stopped_solver_says_so(table, method):
    model = ReducedRankRegression(method=method, max_iter=3, tol=1e-12, history=True)
    with pytest.warns(ConvergenceWarning, match="relative duality gap of"):
        model.fit(*table)
    assert not model.converged_
    assert not model.certificates_.holds
    done = ReducedRankRegression(method=method, alpha=20.0, history=True).fit(*table)
    assert done.history_[-1] <= 1e-8
    assert done.dual_gap_ <= 2e-8


@pytest.mark.parametrize("method", METHODS)
def test_hard_input_is_refused_or_survived(table, method):
    X, Y = table
    make = lambda: ReducedRankRegression(method=method)  # noqa: E731
    bad = Y.copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"NaN"):
        make().fit(X, bad)
    with pytest.raises(ValueError, match="0 sample"):
        make().fit(X[:0], Y[:0])
    with pytest.raises(ValueError, match="weight"):
        make().fit(X, Y, sample_weight=np.zeros(70))
    constant = make().fit(np.ones((10, 2)), Y[:10])
    assert np.all(constant.coef_ == 0)
    assert_allclose(constant.predict(np.ones((1, 2)))[0], Y[:10].mean(axis=0))
    assert_allclose(make().fit(X, np.ones((70, 2))).coef_, 0, atol=1e-12)
    assert np.isfinite(make().fit(X[:1], Y[:1]).coef_).all()


def test_a_rank_beyond_the_table_is_refused(table):
    with pytest.raises(ValueError, match="'rank' parameter of ReducedRankRegression must be at most 4"):
        ReducedRankRegression(5).fit(*table)
