"""What bounds the errors of a support vector machine: on new rows, and on rows left out."""

import numpy as np
import pytest
from sklearn import svm

from assay.datasets import TwoMoons
from assay.kernel_machines import SVC, HardMarginSVC
from assay.kernels import Gaussian


@pytest.fixture(scope="module")
def moons():
    X, y = TwoMoons(noise_std=0.3).sample(60, random_state=0)
    return X, np.where(y == y.max(), 1, -1)


@pytest.mark.spec("sangnier/T-1.4.7-c")
def test_the_risk_bound_is_that_of_a_ball_fixed_beforehand():
    law = TwoMoons(noise_std=0.1)
    X, y = law.sample(1500, random_state=0)
    with pytest.raises(ValueError, match="fixed before the data"):
        SVC(fit_intercept=False, gamma=1.0).fit(X, y).risk_certificate(X, y)
    with pytest.raises(ValueError, match="without an intercept"):
        SVC(radius=2.0, gamma=1.0).fit(X[:100], y[:100]).risk_certificate(X[:100], y[:100])
    model = SVC(radius=2.0, fit_intercept=False, gamma=1.0).fit(X, y)
    bound = model.risk_certificate(X, y, delta=0.1)
    margins = np.where(y == y.max(), 1, -1) * model.decision_function(X)
    mean = np.maximum(0, 1 - margins).mean()
    n, c, kappa = len(y), 2.0, 1.0
    value = mean + 4 * c * kappa / np.sqrt(n) + (1 + c * kappa) * np.sqrt(np.log(1 / 0.1) / (2 * n))
    assert bound.value == pytest.approx(value, rel=1e-9)
    assert not bound.vacuous
    X_new, y_new = law.sample(4000, random_state=1)
    assert np.mean(model.predict(X_new) != y_new) <= bound.value
    # A cost that was chosen on the data: radii fixed before share δ, and the least that holds the fit counts.
    chosen = SVC(C=0.01, fit_intercept=False, gamma=1.0).fit(X, y)
    radii = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
    several = chosen.risk_certificate(X, y, 0.1, radii=radii)
    hinge = np.maximum(0, 1 - np.where(y == y.max(), 1, -1) * chosen.decision_function(X)).mean()
    norm = chosen.rkhs_norm_[0]
    assert 0.5 < norm < 4.0
    c = radii[radii >= norm].min()
    union = hinge + 4 * c / np.sqrt(n) + (1 + c) * np.sqrt(np.log(len(radii) / 0.1) / (2 * n))
    assert several.value == pytest.approx(union, rel=1e-9)
    assert np.isinf(several.values[radii < norm]).all()
    # A penalty λ fixes the ball 1/√λ: the objective at 0 is 1.
    penalised = SVC(penalty_strength=0.25, fit_intercept=False, gamma=1.0).fit(X, y)
    assert penalised.rkhs_norm_[0] <= 2.0
    other = np.maximum(0, 1 - np.where(y == y.max(), 1, -1) * penalised.decision_function(X)).mean()
    assert penalised.risk_certificate(X, y, 0.1).value == pytest.approx(value - mean + other, rel=1e-9)


def test_the_leave_one_out_error_is_below_its_bound(moons):
    X, y = moons
    model = SVC(C=1.0, gamma=2.0).fit(X, y)
    wrong = 0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        wrong += (
            svm.SVC(random_state=0, C=1.0, gamma=2.0, tol=1e-6).fit(X[rest], y[rest]).predict(X[i : i + 1])[0]
            != y[i]
        )
    claim = model.certify(X, y, leave_one_out=True)[-1]
    assert claim.value == pytest.approx(wrong / len(y))
    assert claim.holds
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    range_of_kernel = 1 - Gaussian(2.0).gram(X).min()
    share = np.mean(2 * alpha * range_of_kernel + model.slack_ >= 1 - 1e-9)
    assert model.leave_one_out_bound_ == pytest.approx(share)


def test_without_a_row_on_the_margin_no_share_bounds_the_leave_one_out_error():
    # All rows are at their bounds, with 2αR² + ξ = 4C + 1 − 8C.
    X, y = np.tile([[-1.0], [1.0]], (4, 1)), np.tile([0, 1], 4)
    model = SVC(kernel="linear", C=0.1).fit(X, y)
    assert not (model.point_sets_ == 1).any()
    np.testing.assert_allclose(model.slack_, 0.2)
    assert model.leave_one_out_bound_ == 1.0
    assert SVC(kernel="linear", C=0.1, fit_intercept=False).fit(X, y).leave_one_out_bound_ == 0.0
    assert model.certify(X, y, leave_one_out=True).holds


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("intercept", [True, False])
def test_squares_of_slacks_keep_the_leave_one_out_bound(seed, intercept):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 2))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=24) > 0, 1, -1)
    machine = SVC(C=10.0 ** rng.uniform(-1, 1.5), gamma=0.7, loss="squared_hinge", fit_intercept=intercept)
    claim = machine.fit(X, y).certify(X, y, leave_one_out=True)[-1]
    assert claim.value <= claim.bound
    # The hard margin of K + I/(2C): its range is larger by 1/(2C), and no row is within its margin.
    alpha = np.zeros(24)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    range_of_kernel = 1 - Gaussian(0.7).gram(X).min() + 1 / (2 * machine.C)
    assert claim.bound == pytest.approx(np.mean(2 * alpha * range_of_kernel >= 1 - 1e-5))


@pytest.mark.parametrize("told", [{"radius": 2.0}, {"budget": 15.0}, {"penalty_strength": 0.02}], ids=str)
def test_rows_are_left_out_at_the_cost_of_the_whole_fit(told, moons):
    X, y = moons
    machine = SVC(gamma=2.0, **told).fit(X, y)
    at_cost = SVC(gamma=2.0, C=machine.C_).fit(X, y)
    claim, other = (model.certify(X, y, leave_one_out=True)[-1] for model in (machine, at_cost))
    assert claim.holds
    assert claim.value == pytest.approx(other.value)
    assert claim.bound == pytest.approx(other.bound, abs=0.02)


def test_a_hard_margin_has_the_bound_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.where(y, 0.3, -0.3)
    claim = HardMarginSVC(kernel="linear").fit(X, y).certify(X, y, leave_one_out=True)[-1]
    assert claim.holds
    assert claim.value < 0.2
