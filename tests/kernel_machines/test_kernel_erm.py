"""Any convex risk in the Hilbert space of a kernel: the representer theorem, the ball, what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from assay.kernel_machines import KernelERM, KernelRidge
from assay.kernels import Gaussian
from assay.losses import Quantile
from endless import Quartic


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    target = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40)
    return X, target, np.where(target > 0, 1.0, -1.0)


@pytest.mark.spec("wei/T6.6", "sangnier/T-1.4.3-a")
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "huber", Quantile(0.8)], ids=str)
def test_no_other_function_has_a_lower_objective(rows, loss):
    X, target, labels = rows
    y = labels if loss in ("logistic", "hinge") else target
    model = KernelERM(loss, C=2.0, gamma=0.7).fit(X, y)
    assert model.certify(X, y).holds
    # Functions Σ β_j k(z_j, ·) on other points too: what is orthogonal to the rows adds to the norm alone.
    rng = np.random.default_rng(2)
    Z = np.vstack([X, rng.normal(size=(10, 2))])
    big = Gaussian(0.7).gram(Z)
    alpha = np.append(model.dual_coef_, np.zeros(10))

    def objective(beta, b):
        return 0.5 * beta @ big @ beta + 2.0 * model.loss_.value(y, big[:40] @ beta + b).sum()

    least = objective(alpha, model.intercept_)
    assert least == pytest.approx(model.objective_, rel=1e-9)
    for _ in range(20):
        step = rng.normal(size=50)
        across = np.append(
            -np.linalg.lstsq(big[:40, :40], big[:40, 40:] @ step[40:], rcond=None)[0], step[40:]
        )
        np.testing.assert_allclose(big[:40] @ across, 0, atol=1e-6)
        for size in (1e-3, 1e-1):
            assert objective(alpha + size * across, model.intercept_) >= least - 1e-9
            assert objective(alpha + size * step, model.intercept_ + size * step[0]) >= least * (1 - 1e-7)


def test_the_squared_loss_is_kernel_ridge(rows):
    X, y, _ = rows
    ours = KernelERM("squared", C=2.0, gamma=0.7).fit(X, y)
    ridge = KernelRidge(0.5, kernel="rbf", gamma=0.7, fit_intercept=True).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), ridge.predict(X), atol=1e-6)


@pytest.mark.spec("sangnier/M-1.4.7-a", "sangnier/T-1.4.7-a")
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_ball_is_a_penalty_and_its_minimum_is_that_of_scipy(rows, loss):
    X, _, y = rows
    model = KernelERM(loss, constraint="ball", radius=2.0, gamma=0.7, fit_intercept=False).fit(X, y)
    assert model.constraint_active_
    assert model.certify(X, y).holds
    assert model.rkhs_norm_ == pytest.approx(2.0, rel=1e-6)
    same = KernelERM(loss, penalty_strength=model.penalty_strength_, gamma=0.7, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(same.predict(X), model.predict(X), atol=2e-4)
    plain = KernelERM(loss, gamma=0.7, fit_intercept=False)
    assert plain.radius_of_strength(X, y, model.penalty_strength_) == pytest.approx(2.0, rel=1e-3)
    assert plain.strength_of_radius(X, y, same.rkhs_norm_) == pytest.approx(same.penalty_strength_, rel=2e-2)
    # The ball in coordinates of an orthonormal basis of the span.
    values, vectors = np.linalg.eigh(Gaussian(0.7).gram(X))
    phi = vectors * np.sqrt(values.clip(min=0))

    def risk(w):
        return model.loss_.value(y, phi @ w).mean(), phi.T @ model.loss_.gradient(y, phi @ w) / 40

    inside = {"type": "ineq", "fun": lambda w: 4.0 - w @ w, "jac": lambda w: -2 * w}
    peer = minimize(
        risk, 0.01 * np.ones(40), jac=True, method="SLSQP", constraints=[inside], options={"maxiter": 500}
    )
    assert model.empirical_risk_ <= peer.fun * (1 + 1e-5)
    if loss == "logistic":
        assert model.empirical_risk_ == pytest.approx(peer.fun, rel=1e-4)


def test_a_ball_that_is_too_large_says_so(rows):
    X, y, _ = rows
    # Two features of the linear kernel: least squares has a norm, and a larger ball changes nothing.
    model = KernelERM("squared", constraint="ball", radius=50.0, kernel="linear").fit(X, y)
    coef = np.linalg.lstsq(np.column_stack([X, np.ones(40)]), y, rcond=None)[0]
    assert not model.constraint_active_
    # Coefficients are a million times the function at so small a penalty, and cancel: αᵀKα has no digit of
    # the norm left, which is read from the features.
    least = 0.5 * np.mean((y - np.column_stack([X, np.ones(40)]) @ coef) ** 2)
    assert model.empirical_risk_ == pytest.approx(least, rel=1e-7)
    assert model.rkhs_norm_ == pytest.approx(np.linalg.norm(coef[:2]), rel=1e-6)
    np.testing.assert_allclose(X.T @ model.dual_coef_, coef[:2], rtol=1e-6)
    assert model.certify(X, y).holds


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "hinge", "absolute"])
def test_a_ball_of_any_size_that_does_not_bind_has_the_least_loss_and_its_norm(rows, loss):
    X, t, labels = rows
    rng = np.random.default_rng(0)
    y = labels * np.where(rng.random(40) < 0.35, -1, 1) if loss in ("hinge", "logistic") else t
    y = y + rng.normal(size=40) if loss not in ("hinge", "logistic") else y
    small = KernelERM(loss, constraint="ball", radius=60.0, kernel="linear").fit(X, y)
    huge = KernelERM(loss, constraint="ball", radius=1e4, kernel="linear").fit(X, y)
    for model in (small, huge):
        assert not model.constraint_active_
        assert model.certify(X, y).holds
    assert huge.empirical_risk_ == pytest.approx(small.empirical_risk_, rel=1e-6)
    assert huge.rkhs_norm_ == pytest.approx(small.rkhs_norm_, rel=1e-4)
    assert huge.rkhs_norm_ == pytest.approx(np.linalg.norm(X.T @ huge.dual_coef_), rel=1e-4)


@pytest.mark.parametrize("kernel", ["linear", lambda x, z: float(x @ z)], ids=["features", "eigenvectors"])
@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
def test_the_norm_is_that_of_the_function_however_small_the_penalty(rows, kernel, C):
    X, y, _ = rows
    model = KernelERM("squared", C=C, kernel=kernel).fit(X, y)
    assert model.rkhs_norm_ == pytest.approx(np.linalg.norm(X.T @ model.dual_coef_), rel=1e-6)
    A = np.column_stack([X, np.ones(40)])
    coef = np.linalg.solve(C * A.T @ A + np.diag([1.0, 1.0, 0.0]), C * A.T @ y)
    assert model.rkhs_norm_ == pytest.approx(np.linalg.norm(coef[:2]), rel=1e-6)
    assert model.certify(X, y).holds


@pytest.mark.spec("sangnier/T-1.4.3-b")
@pytest.mark.parametrize(
    ("loss", "target", "words"),
    [
        ("exponential", np.ones(40), "approaches its infimum only as the intercept goes to infinity"),
        ("poisson", np.zeros(40), "approaches its infimum only as the intercept goes to infinity"),
        ("savage", np.sign(np.arange(40) - 19.5), "a loss with a dual problem"),
        ("hinge", np.arange(40.0), "y must hold −1 and \\+1 only"),
        ("cross_entropy", np.arange(40.0), "between 0 and 1"),
    ],
)
def test_what_has_no_solution_is_refused_in_a_sentence(rows, loss, target, words):
    with pytest.raises(ValueError, match=words):
        KernelERM(loss).fit(rows[0], target)


@pytest.mark.spec("sangnier/T-1.4.3-b")
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_risk_without_a_lower_bound_is_refused_with_the_way_it_falls(rows, fit_intercept):
    with pytest.raises(ValueError, match=r"Quartic is unbounded below: along t k\(x, ·\) .* convex loss"):
        KernelERM(Quartic(), fit_intercept=fit_intercept).fit(*rows[::2])


def test_a_cost_beyond_the_digits_of_the_gap_has_not_converged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelERM("hinge", C=1e12).fit(X, y)
    assert model.converged_ == model.certificates_[0].holds
