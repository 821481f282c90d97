"""The risk of a linear score over rows: derivatives, loops, guided steps, and the duality gap."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse

from assay.families import Gamma, LinkedFamily, link
from assay.losses import CrossEntropy, Multinomial, Poisson, ReferenceMultinomial
from assay.rows import MemoryRows, threads
from assay.solvers import (
    RowRisk,
    fit_smooth,
    proximal_rows,
    quasi_newton,
    row_duality_gap,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) + [0.0, 5.0, -2.0]
CLASSES = RNG.integers(0, 3, size=60).astype(float)
BINARY = (CLASSES > 0).astype(float)
COUNTS = RNG.poisson(1.5, size=60).astype(float)
LOSSES = {
    "logistic": (CrossEntropy(shares=False), BINARY),
    "poisson": (Poisson(), COUNTS),
    "softmax": (Multinomial(3), CLASSES),
    "reference": (ReferenceMultinomial(3, reference=1), CLASSES),
    "gamma": (LinkedFamily(Gamma(), link("log")), COUNTS + 0.5),
}
each_loss = pytest.mark.parametrize("name", LOSSES)


def problem(name, *, fit_intercept=True, weight=None, alpha=0.1, table=X, offset=None, **options):
    loss, y = LOSSES[name]
    target = y if offset is None else np.column_stack([y, offset])
    data = MemoryRows(table, target, weight)
    return RowRisk(
        data,
        loss,
        np.full(3, alpha),
        fit_intercept=fit_intercept,
        has_offset=offset is not None,
        **options,
    )


@each_loss
def test_the_terms_of_rows_are_those_of_the_losses(name):
    loss, y = LOSSES[name]
    scores = np.random.default_rng(1).normal(size=(60, loss.n_scores)) * 3
    scores = scores[:, 0] if loss.n_scores == 1 else scores
    terms = loss.terms(y, scores.copy())
    peer = {
        "logistic": CrossEntropy(),
        "poisson": Poisson(),
        "softmax": Multinomial(),
        "reference": ReferenceMultinomial(),
    }.get(name)
    if peer is None:
        mean = np.exp(scores)
        assert_allclose(terms.slope, (mean - y) / mean)
        return
    target = y
    if name == "reference":  # the twin has the reference last
        target = np.array([0.0, 2.0, 1.0])[y.astype(int)]
    assert_allclose(terms.value, peer.value(target, scores), rtol=1e-12, atol=1e-14)
    assert_allclose(terms.slope, peer.gradient(target, scores), rtol=1e-11, atol=1e-14)
    # The conjugate at the slope of a score, and at 0, as the duality gap takes them.
    product = terms.slope * scores
    reach = product if product.ndim == 1 else product.sum(axis=1)
    assert_allclose(reach - terms.value, peer.conjugate(target, terms.slope), atol=1e-9)
    smallest = loss.smallest(y)
    at_zero = peer.conjugate(target, np.zeros_like(terms.slope))
    assert_allclose(-smallest, at_zero, atol=1e-12)
    if loss.n_scores == 1:
        assert_allclose(terms.curvature, peer.curvature(target, scores), rtol=1e-11, atol=1e-15)


@each_loss
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("case", ["plain", "weighted", "sparse", "offset"])
def test_gradient_and_hessian_are_derivatives(name, fit_intercept, case):
    loss, _ = LOSSES[name]
    options = {
        "plain": {},
        "weighted": {"weight": np.random.default_rng(1).integers(0, 3, size=60).astype(float)},
        "sparse": {"table": sparse.csr_matrix(X)},
        "offset": {"offset": np.random.default_rng(1).normal(size=60)} if loss.n_scores == 1 else {},
    }[case]
    risk = problem(name, fit_intercept=fit_intercept, **options)
    point = 0.1 * np.random.default_rng(1).normal(size=risk.shape)
    measured = risk.measure(point, hessian=True)

    def value(flat):
        return risk.gradient(flat.reshape(risk.shape))[0]

    numeric = optimize.approx_fprime(point.ravel(), value, 1e-7).reshape(risk.shape)
    assert_allclose(measured.gradient, numeric, rtol=5e-6, atol=2e-6)
    assert_allclose(risk.gradient(point)[1], measured.gradient, rtol=1e-12)
    if name == "gamma":  # the expected curvature is not the observed one
        return
    change = np.array(
        [
            (risk.gradient(point + 1e-6 * e)[1] - risk.gradient(point - 1e-6 * e)[1]).T.ravel() / 2e-6
            for e in _units(risk.shape)
        ]
    )
    hessian = measured.hessian
    if loss.symmetric:  # curvature along the common shift is added on purpose
        flat = np.array([e.T.ravel() for e in _units(risk.shape)])
        shift = np.array([np.kron(np.ones(3), row) for row in np.eye(risk.shape[0])])
        basis = np.linalg.svd(shift)[2][len(shift) :]
        order = flat @ hessian @ flat.T
        assert_allclose(basis @ order @ basis.T, basis @ change @ basis.T, atol=1e-6)
    else:
        assert_allclose(hessian, change, rtol=1e-6, atol=1e-6)


def _units(shape):
    for j in range(shape[1]):
        for i in range(shape[0]):
            unit = np.zeros(shape)
            unit[i, j] = 1.0
            yield unit


@each_loss
def test_every_solver_reaches_the_minimum_that_scipy_finds(name):
    risk = problem(name)
    start = np.zeros(risk.shape)

    def evaluate(flat):
        value, gradient = risk.gradient(flat.reshape(risk.shape))
        return value, gradient.ravel()

    best = optimize.minimize(evaluate, start.ravel(), jac=True, method="BFGS", options={"gtol": 1e-9})
    for solver in ("newton", "quasi_newton"):
        fit = fit_smooth(risk, start, solver=solver, tol=1e-8, max_iter=200)
        assert fit.converged
        assert fit.measured.value <= best.fun + 1e-12
        assert np.all(np.diff(fit.values) <= 1e-12)


@pytest.mark.parametrize("name", ["logistic", "poisson", "softmax", "reference"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("l1", [None, 0.05])
@pytest.mark.parametrize("alpha", [0.1, 0.0])
def test_the_gap_is_above_what_is_to_gain_and_closes_at_the_minimum(name, fit_intercept, l1, alpha):
    if l1 is None and alpha == 0.0:
        pytest.skip("nothing is penalised")
    offset = np.random.default_rng(1).normal(size=60) if LOSSES[name][0].n_scores == 1 else None
    risk = problem(name, fit_intercept=fit_intercept, alpha=alpha, offset=offset)
    strengths = np.zeros(3) if l1 is None else np.full(3, l1)
    best = proximal_rows(risk, np.zeros(risk.shape), strengths, tol=1e-11, max_iter=500)
    assert best.converged

    def objective(point):
        return risk.measure(point).value + strengths @ np.abs(risk.split_point(point)[0]).sum(axis=1)

    minimum = objective(best.point)
    away = np.random.default_rng(1).normal(size=risk.shape)
    gaps = []
    for size in (0.3, 0.03, 0.003):
        point = best.point + size * away
        measured = risk.measure(point, split=True)
        gap = row_duality_gap(risk, point, measured, l1=None if l1 is None else strengths)
        assert gap >= objective(point) - minimum - 1e-12
        gaps.append(gap)
    assert gaps[0] > gaps[1] > gaps[2]
    # Slopes of another point repair the intercept as well.
    other = risk.measure(np.zeros(risk.shape), split=True).split
    measured = risk.measure(best.point)
    measured = measured._replace(split=None)
    repaired = row_duality_gap(risk, best.point, measured, other, l1=None if l1 is None else strengths)
    assert repaired < 1e-6


def test_there_is_no_gap_where_a_feature_is_not_penalised():
    risk = problem("logistic", alpha=0.0)
    measured = risk.measure(np.zeros(risk.shape), split=True)
    assert row_duality_gap(risk, np.zeros(risk.shape), measured) == np.inf


def test_the_wide_problem_takes_gradient_steps():
    rng = np.random.default_rng(5)
    wide = rng.normal(size=(80, 400))
    y = rng.integers(0, 3, size=80).astype(float)
    risk = RowRisk(MemoryRows(wide, y), Multinomial(3), np.full(400, 0.05), fit_intercept=True)
    strengths = np.full(400, 0.01)
    fit = proximal_rows(risk, np.zeros(risk.shape), strengths, tol=1e-8, max_iter=2000)
    assert fit.solver == "proximal_gradient"
    assert fit.converged
    assert 0 < np.count_nonzero(fit.point[:-1]) < 1200
    slope = fit.measured.gradient[:-1]
    assert np.all(np.abs(slope[fit.point[:-1] == 0]) <= 0.01 + 1e-6)


def test_quasi_newton_minimises_a_quadratic_and_says_when_it_does_not():
    matrix = np.diag([1.0, 10.0, 100.0])

    def evaluate(point):
        return 0.5 * point @ matrix @ point, matrix @ point

    exact = quasi_newton(evaluate, np.ones(3), lambda g: np.linalg.solve(matrix, g), tol=1e-12, max_iter=5)
    assert exact.n_iter == 1
    rough = quasi_newton(evaluate, np.ones(3), lambda g: 0.01 * g, tol=1e-10, max_iter=100)
    assert rough.converged
    assert rough.n_iter > 1
    short = quasi_newton(evaluate, np.ones(3), lambda g: 0.01 * g, tol=1e-10, max_iter=2)
    assert not short.converged
    seen = []
    stopped = quasi_newton(
        evaluate,
        np.ones(3),
        lambda g: 0.01 * g,
        tol=1e-10,
        max_iter=50,
        report=lambda x: seen.append(x) or True,
    )
    assert stopped.n_iter == len(seen) == 1


def test_a_sample_guides_the_steps_to_the_minimum_of_all_rows():
    rng = np.random.default_rng(7)
    table = rng.normal(size=(30_000, 4))
    y = (rng.random(30_000) < 1 / (1 + np.exp(-table[:, 0]))).astype(float)
    risk = RowRisk(MemoryRows(table, y), CrossEntropy(shares=False), np.full(4, 1e-3), fit_intercept=True)
    newton = fit_smooth(risk, np.zeros(risk.shape), solver="newton", tol=1e-10, max_iter=50)
    with threads(1):
        one = fit_smooth(risk, np.zeros(risk.shape), solver="quasi_newton", tol=1e-10, max_iter=50)
    with threads(3):
        three = fit_smooth(risk, np.zeros(risk.shape), solver="quasi_newton", tol=1e-10, max_iter=50)
    assert_allclose(one.point, newton.point, atol=1e-9)
    assert np.array_equal(one.point, three.point)
    assert one.n_iter <= 8
