"""Kernel ridge regression: the closed forms of the courses, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge as ScikitLearnKernelRidge

from assay.kernel_machines import KernelRidge
from assay.kernels import Gaussian, Laplacian, Linear, Polynomial

KERNELS = ["linear", "rbf", "laplacian", "polynomial", "exponential"]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((60, 3))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(60) + 2.0


def bordered_solution(K, y, alpha, weight=None):
    """Dual coefficients and free intercept from one dense solve of size n + 1."""
    n = len(y)
    ridge = alpha / (np.ones(n) if weight is None else weight)
    system = np.block([[K + np.diag(ridge), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return solution[:n], solution[n]


@pytest.mark.spec("wei/M6.5", "peyre/M9", "douc/M8.15")
@pytest.mark.parametrize("kernel", KERNELS)
def test_dual_coefficients_solve_the_regularised_system(data, kernel):
    X, y = data
    model = KernelRidge(0.3, kernel=kernel).fit(X, y)
    K = model.kernel_.gram(X)
    beta = np.linalg.solve(K + 0.3 * np.eye(60), y)
    assert_allclose(model.dual_coef_, beta, rtol=1e-8, atol=1e-10)
    assert_allclose(model.fitted_values_, K @ beta, rtol=1e-8)
    assert_allclose(model.residuals_, y - K @ beta, atol=1e-9)
    assert_allclose(model.rkhs_norm_**2, beta @ K @ beta, rtol=1e-8)
    assert_allclose(model.predict(X), K @ beta, rtol=1e-8)
    assert model.intercept_ == 0.0
    assert model.solver_ == "cholesky"
    assert model.certificates_.holds
    assert model.certify(X, y).holds


@pytest.mark.spec("wei/M6.5")
@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
def test_scikit_learn_agrees(data, kernel, rng):
    X, y = data
    Z = rng.standard_normal((20, 3))
    theirs = ScikitLearnKernelRidge(0.5, kernel=kernel).fit(X, y)
    assert_allclose(KernelRidge(0.5, kernel=kernel).fit(X, y).predict(Z), theirs.predict(Z), rtol=1e-9)


def test_scikit_learn_agrees_with_weights_targets_and_penalties(data, rng):
    X, y = data
    Y = np.column_stack([y, X[:, 2] ** 2, -y])
    weight = rng.uniform(0.5, 2, 60)
    alpha = [0.1, 1.0, 0.1]
    ours = KernelRidge(alpha, kernel="rbf").fit(X, Y, weight)
    theirs = ScikitLearnKernelRidge(alpha, kernel="rbf").fit(X, Y, weight)
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-8)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)
    assert_allclose(ours.alpha_, alpha)
    assert_allclose(ours.penalty_strength_, np.array(alpha) / weight.sum())
    assert ours.certify(X, Y, weight).holds
    assert ours.predict(X).shape == (60, 3)


@pytest.mark.spec("sangnier/M-1.5.1-a")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_free_intercept_solves_the_bordered_system(data, kernel, weighted, rng):
    X, y = data
    weight = rng.uniform(0.2, 3, 60) if weighted else None
    model = KernelRidge(0.7, kernel=kernel, fit_intercept=True).fit(X, y, weight)
    beta, b = bordered_solution(model.kernel_.gram(X), y, 0.7, weight)
    assert_allclose(model.dual_coef_, beta, rtol=1e-7, atol=1e-9)
    assert_allclose(model.intercept_, b, rtol=1e-7)
    assert abs(model.dual_coef_.sum()) < 1e-10
    assert model.certify(X, y, weight).holds
    shifted = KernelRidge(0.7, kernel=kernel, fit_intercept=True).fit(X, y + 1e6, weight)
    assert_allclose(shifted.dual_coef_, beta, rtol=1e-5, atol=1e-6)
    assert_allclose(shifted.intercept_, b + 1e6)


@pytest.mark.spec("sangnier/M-1.5.1-a", "douc/M8.15", "sangnier/E-1.12")
def test_the_parametrisations_of_the_courses_are_conversions_of_alpha(data):
    X, y = data
    n = len(y)
    K = Gaussian(1 / 3).gram(X)

    def value(beta, loss_factor, penalty_factor):
        return loss_factor * np.sum((y - K @ beta) ** 2) + penalty_factor * beta @ K @ beta

    lam = 0.05
    for alpha, loss_factor, penalty_factor in [
        (n * lam, 1 / n, lam),  # λ‖h‖² + mean
        (lam * n / 2, 1 / n, lam / 2),  # Sangnier's (λ/2)‖h‖² + mean
        (lam, 1 / n, lam / n),  # Douc & Le Corff's λ/n
        (1 / lam, lam / 2, 0.5),  # ½‖h‖² + (C/2)‖ξ‖² with C = lam
    ]:
        beta = KernelRidge(alpha, kernel="rbf").fit(X, y).dual_coef_
        gradient = -2 * loss_factor * K @ (y - K @ beta) + 2 * penalty_factor * K @ beta
        assert np.abs(gradient).max() < 1e-10
        assert value(beta, loss_factor, penalty_factor) <= value(1.01 * beta, loss_factor, penalty_factor)
    by_strength = KernelRidge(penalty_strength=lam, kernel="rbf").fit(X, y)
    assert by_strength.alpha_ == pytest.approx(n * lam)
    assert by_strength.penalty_strength_ == pytest.approx(lam)
    assert_allclose(by_strength.dual_coef_, KernelRidge(n * lam, kernel="rbf").fit(X, y).dual_coef_)


@pytest.mark.spec("peyre/T5")
def test_linear_kernel_gives_ridge_without_intercept(data):
    X, y = data
    w = np.linalg.solve(X.T @ X + 0.8 * np.eye(3), X.T @ y)
    model = KernelRidge(0.8, kernel=Linear()).fit(X, y)
    assert_allclose(model.predict(X), X @ w, rtol=1e-9)
    assert_allclose(X.T @ model.dual_coef_, w, rtol=1e-9)
    centred = X - X.mean(axis=0)
    w = np.linalg.solve(centred.T @ centred + 0.8 * np.eye(3), centred.T @ (y - y.mean()))
    with_intercept = KernelRidge(0.8, kernel=Linear(), fit_intercept=True).fit(X, y)
    assert_allclose(with_intercept.predict(X), centred @ w + y.mean(), rtol=1e-9)


@pytest.mark.spec("sangnier/E-1.12")
def test_dual_and_representer_routes_agree_with_no_gap(data):
    X, y = data
    C = 4.0
    model = KernelRidge(1 / C, kernel="rbf").fit(X, y)
    K, alpha = model.kernel_.gram(X), model.dual_coef_
    primal = 0.5 * alpha @ K @ alpha + C / 2 * np.sum((y - K @ alpha) ** 2)
    dual = -0.5 * alpha @ (K + np.eye(60) / C) @ alpha + y @ alpha
    assert primal - dual == pytest.approx(0.0, abs=1e-10)
    assert_allclose(y - model.predict(X), alpha / C, rtol=1e-8)
    representer = np.linalg.lstsq(K @ (K + np.eye(60) / C), K @ y, rcond=None)[0]
    assert_allclose(K @ representer, K @ alpha, rtol=1e-6)
    proof = model.certify(X, y)
    assert 0 <= proof.named("relative duality gap").value < 1e-12
    assert proof.named("relative difference of the two routes").value < 1e-10


@pytest.mark.spec("sangnier/X21-1.2")
def test_an_orthogonal_component_keeps_the_data_term_and_raises_the_norm(data, rng):
    """h + g with g(x_i) = 0 for all i: g is orthogonal to the span of the k(x_i, ·)."""
    X, y = data
    lam = 0.6  # (λ/2)‖h‖² + Σ (h(x_i) − y_i)²: α = λ/2
    model = KernelRidge(lam / 2, kernel="rbf").fit(X, y)
    K = model.kernel_.gram(X)
    assert_allclose(model.dual_coef_, np.linalg.solve(K + lam / 2 * np.eye(60), y), rtol=1e-8)
    new = rng.standard_normal((5, 3))
    cross = model.kernel_.cross(X, new)
    correction = np.linalg.solve(K, cross)
    centres = np.vstack([X, new])
    coef = np.concatenate([-correction @ np.ones(5), np.ones(5)])  # g = Σ_j (k(z_j, ·) − projection)
    everywhere = model.kernel_.gram(centres)
    g_norm = coef @ everywhere @ coef
    assert_allclose(model.kernel_.apply(X, centres, coef), 0.0, atol=1e-8)
    assert g_norm > 0.1
    padded = np.concatenate([model.dual_coef_, np.zeros(5)])
    total = padded + coef
    assert total @ everywhere @ total == pytest.approx(model.rkhs_norm_**2 + g_norm, rel=1e-7)
    assert_allclose(model.kernel_.apply(X, centres, total), model.fitted_values_, atol=1e-7)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_weight_is_a_repetition_and_zero_an_absence(data, fit_intercept, rng):
    X, y = data
    times = rng.integers(0, 4, 60)
    model = KernelRidge(0.4, kernel="rbf", fit_intercept=fit_intercept).fit(X, y, times)
    repeated = KernelRidge(0.4, kernel="rbf", fit_intercept=fit_intercept).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    assert_allclose(model.predict(X), repeated.predict(X), rtol=1e-8)
    assert_allclose(model.rkhs_norm_, repeated.rkhs_norm_, rtol=1e-8)
    assert_allclose(model.penalty_strength_, repeated.penalty_strength_)
    assert_allclose(model.effective_df_, repeated.effective_df_, rtol=1e-8)
    assert_allclose(model.gcv_, repeated.gcv_, rtol=1e-8)
    assert np.all(model.dual_coef_[times == 0] == 0)
    assert_allclose(model.fitted_values_, model.predict(X), rtol=1e-8)
    assert model.certify(X, y, times).holds


def test_float32_stays_float32(data):
    X, y = data
    double = KernelRidge(kernel="rbf", fit_intercept=True).fit(X, y)
    single = KernelRidge(kernel="rbf", fit_intercept=True).fit(X.astype(np.float32), y.astype(np.float32))
    assert single.dual_coef_.dtype == single.predict(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.predict(X), double.predict(X), rtol=1e-4)
    assert single.certificates_.holds
    assert single.certify(X.astype(np.float32), y).holds


def test_csr_equals_dense(data):
    X, y = data
    X = np.where(X > 0, X, 0.0)
    for kernel in ("rbf", "linear", "polynomial"):
        dense = KernelRidge(kernel=kernel).fit(X, y)
        from_csr = KernelRidge(kernel=kernel).fit(sparse.csr_matrix(X), y)
        assert_allclose(from_csr.dual_coef_, dense.dual_coef_, rtol=1e-8)
        assert_allclose(from_csr.predict(sparse.csr_array(X[:7])), dense.predict(X[:7]), rtol=1e-8)
        assert_allclose(from_csr.predict(X[:7]), dense.predict(X[:7]), rtol=1e-8)


def test_precomputed_and_callable_kernels_give_the_same_fit(data, rng):
    X, y = data
    Z = rng.standard_normal((9, 3))
    kernel = Laplacian(0.5)
    K = kernel.gram(X)
    expected = KernelRidge(0.2, kernel=kernel, fit_intercept=True).fit(X, y)
    precomputed = KernelRidge(0.2, kernel="precomputed", fit_intercept=True).fit(K, y)
    assert_allclose(precomputed.predict(kernel.cross(Z, X)), expected.predict(Z), rtol=1e-8)
    assert_allclose(precomputed.effective_df_, expected.effective_df_)
    called = KernelRidge(
        0.2,
        kernel=lambda x, z, gamma: np.exp(-gamma * np.linalg.norm(x - z)),
        kernel_params={"gamma": 0.5},
        fit_intercept=True,
    ).fit(X, y)
    assert_allclose(called.predict(Z), expected.predict(Z), rtol=1e-8)
    assert precomputed.__sklearn_tags__().input_tags.pairwise
    assert not called.__sklearn_tags__().input_tags.pairwise
    weight = rng.integers(0, 3, 60)
    a = KernelRidge(0.2, kernel="precomputed").fit(sparse.csr_matrix(K), y, weight)
    b = KernelRidge(0.2, kernel=kernel).fit(X, y, weight)
    assert_allclose(a.dual_coef_, b.dual_coef_, rtol=1e-8)


def test_predictions_by_blocks_equal_the_whole_cross_matrix(rng):
    X = rng.standard_normal((700, 2))
    y = np.sin(X).sum(axis=1)
    model = KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, y)
    Z = rng.standard_normal((3000, 2))
    assert_allclose(model.predict(Z), Gaussian(1.0).cross(Z, X) @ model.dual_coef_, rtol=1e-8, atol=1e-10)
    two = KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, np.column_stack([y, -y]))
    assert_allclose(two.predict(Z)[:, 1], -model.predict(Z), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_dask_rows_are_predicted_lazily_and_refused_at_the_fit(data, kernel):
    dask_array = pytest.importorskip("dask.array")
    X, y = data
    model = KernelRidge(kernel=kernel).fit(X, y)
    lazy = model.predict(dask_array.from_array(X, chunks=(25, 3)))
    assert isinstance(lazy, dask_array.Array)
    assert_allclose(lazy.compute(), model.predict(X))
    with pytest.raises(ValueError, match=r"compares all pairs of rows .* Nyström"):
        KernelRidge().fit(dask_array.from_array(X, chunks=(25, 3)), y)
    with pytest.raises(ValueError, match="compares all pairs of rows"):
        KernelRidge().fit("rows.parquet", "y")


def test_parquet_rows_are_predicted_block_by_block(data, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = data
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = KernelRidge(kernel="rbf").fit(frame, y)
    frame.to_parquet(tmp_path / "rows.parquet")
    assert_allclose(model.predict(tmp_path / "rows.parquet"), model.predict(frame))


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10_000), st.floats(1e-3, 1e3), st.booleans(), st.sampled_from(["rbf", "linear", "poly"])
)
def test_any_fit_is_certified(seed, alpha, fit_intercept, kernel):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 2))
    y = rng.standard_normal(12)
    model = KernelRidge(alpha, kernel=kernel, fit_intercept=fit_intercept).fit(X, y)
    assert model.certify(X, y).holds
    df = float(model.effective_df_)
    assert (1.0 if fit_intercept else 0.0) - 1e-9 <= df <= 12 + 1e-9
    # A larger penalty never gives a larger norm.
    larger = KernelRidge(2 * alpha, kernel=kernel, fit_intercept=fit_intercept).fit(X, y)
    assert larger.rkhs_norm_ <= model.rkhs_norm_ * (1 + 1e-9) + 1e-12


@pytest.mark.spec("peyre/M9")
def test_width_and_penalty_are_chosen_by_cross_validation(rng):
    from sklearn.model_selection import GridSearchCV

    X = rng.uniform(0, 6, (80, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(80)
    grid = {"kernel": [Gaussian.from_bandwidth(sigma) for sigma in (0.01, 0.3, 10.0)], "alpha": [0.1, 100.0]}
    search = GridSearchCV(KernelRidge(), grid, cv=5).fit(X, y)
    assert search.best_params_ == {"kernel": Gaussian.from_bandwidth(0.3), "alpha": 0.1}
    by_matrix = GridSearchCV(KernelRidge(kernel="precomputed"), {"alpha": [0.1, 100.0]}, cv=5)
    by_matrix.fit(Gaussian.from_bandwidth(0.3).gram(X), y)
    assert by_matrix.best_score_ == pytest.approx(search.best_score_, rel=1e-8)


def test_polynomial_objects_and_names_agree(data):
    X, y = data
    named = KernelRidge(kernel="poly", degree=2, gamma=0.5, coef0=0.0).fit(X, y)
    assert named.kernel_ == Polynomial(2, 0.5, 0.0)
    assert_allclose(named.predict(X), KernelRidge(kernel=Polynomial(2, 0.5, 0.0)).fit(X, y).predict(X))
