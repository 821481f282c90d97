"""Kernel logistic regression, against scikit-learn, SciPy and closed forms."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy.special import expit
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression as Peer

from assay.datasets import TwoMoons
from assay.display import ErrorSurfaceDisplay, FrontierDisplay, WidthAccuracyDisplay
from assay.kernel_machines import SVC, KernelLogisticRegression, KernelRidge
from assay.kernels import Gaussian


@pytest.fixture(scope="module")
def moons():
    return TwoMoons(noise_std=0.25).sample(90, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    return KernelLogisticRegression(C=5.0, gamma=1.0).fit(*moons)


@pytest.mark.spec("wei/M7.8", "peyre/M14")
def test_the_mode_is_that_of_a_gaussian_process_classifier(moons):
    X, y = moons
    scale = 5.0  # prior variance 5: ½ fᵀ(5K)⁻¹f + Σ ℓ is ½‖h‖² + 5 Σ ℓ over 5
    process = GaussianProcessClassifier(
        ConstantKernel(scale) * RBF(np.sqrt(0.5)), optimizer=None, max_iter_predict=200
    ).fit(X, y)
    model = KernelLogisticRegression(C=scale, gamma=1.0, fit_intercept=False).fit(X, y)
    mode = process.base_estimator_.f_cached if hasattr(process.base_estimator_, "f_cached") else None
    base = process.base_estimator_
    at_rows = ConstantKernel(scale)(X) * RBF(np.sqrt(0.5))(X) @ (base.y_train_ - base.pi_)
    np.testing.assert_allclose(model.decision_function(X), at_rows if mode is None else mode, atol=2e-4)
    # (K + λW⁻¹)α = z with z = Kα + W⁻¹(y − u), at λ = 1/C: the fixed point of Wei's iteration.
    gram, alpha = Gaussian(1.0).gram(X), model.dual_coef_
    u = expit(gram @ alpha)
    w, targets = u * (1 - u), (y > 0).astype(float)
    z = gram @ alpha + (targets - u) / w
    np.testing.assert_allclose(gram @ alpha + alpha / (scale * w), z, atol=1e-4 * np.abs(z).max())
    # Peyré's gradient of the risk in the coefficients, K∇L(Kα), and of the penalty, which it balances.
    np.testing.assert_allclose(scale * gram @ (u - targets) + gram @ alpha, 0.0, atol=1e-4)
    assert model.optimality_ == pytest.approx(
        np.abs(alpha - scale * (targets - u)).max() / np.abs(scale * (targets - u)).max(), abs=1e-12
    )
    wrong = copy.copy(model)
    wrong.dual_coef_ = alpha * np.where(np.arange(90) == 0, 1.05, 1.0)
    assert wrong.certify(X, y)[1].value > 1e-3


def test_a_linear_kernel_is_logistic_regression(moons):
    X, y = moons
    ours = KernelLogisticRegression(C=2.0, kernel="linear").fit(X, y)
    peer = Peer(C=2.0, tol=1e-12, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    three = np.digitize(X[:, 0], [0.0, 1.0])
    several = KernelLogisticRegression(C=2.0, kernel="linear").fit(X, three)
    softmax = Peer(C=2.0, tol=1e-12, max_iter=10000).fit(X, three)
    np.testing.assert_allclose(several.predict_proba(X), softmax.predict_proba(X), atol=1e-5)
    assert several.certificates_.holds
    assert several.rkhs_norm_.shape == (3,)


@pytest.mark.spec("peyre/M15")
@pytest.mark.parametrize(("penalty", "ratio"), [("l2", 0.0), ("l1", 1.0)])
def test_penalties_on_the_coefficients_are_logistic_regression_on_the_columns_of_the_gram_matrix(
    moons, penalty, ratio
):
    X, y = moons
    gram = Gaussian(1.0).gram(X)
    ours = KernelLogisticRegression(C=3.0, gamma=1.0, penalty=penalty).fit(X, y)
    assert ours.certify(X, y).holds
    # λ on the mean: λ‖α‖² beside C, or λ‖α‖₁, which has no half to lose.
    assert ours.penalty_strength_ == pytest.approx(1 / ((1.0 if penalty == "l1" else 2.0) * 3.0 * 90))
    same = KernelLogisticRegression(penalty_strength=ours.penalty_strength_, gamma=1.0, penalty=penalty)
    np.testing.assert_allclose(same.fit(X, y).C_, 3.0)
    if penalty == "l2":
        peer = Peer(C=3.0, tol=1e-12, max_iter=100000).fit(gram, y)
        np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(gram), atol=1e-4)
        assert len(ours.centers_) == 90
        return
    # KKT of the l1 norm, written out: the pull of the slopes is ±C⁻¹ at centres and no larger elsewhere.
    pull = 3.0 * gram @ ((y > 0) - ours.predict_proba(X)[:, 1])
    active = np.zeros(90, dtype=bool)
    active[ours.centers_] = True
    np.testing.assert_allclose(pull[active], np.sign(ours.dual_coef_[active]), atol=1e-5)
    assert np.all(np.abs(pull[~active]) <= 1 + 1e-6)
    assert active.sum() < 30


@pytest.mark.spec("peyre/X15", "peyre/M14")
def test_few_centres_under_l1_all_under_l2_and_no_fit_without_penalty(moons):
    X, y = moons
    sparse = KernelLogisticRegression(gamma=1.0, penalty="l1").path(X, y, Cs=[0.1, 1.0, 100.0])
    dense = KernelLogisticRegression(gamma=1.0, penalty="l2").path(X, y, Cs=[0.1, 1.0, 100.0])
    assert sparse.n_nonzero[0] < sparse.n_nonzero[2] < 45
    assert np.all(dense.n_nonzero == 90)
    assert np.all(np.diff(sparse.losses) < 0)
    assert np.all(np.diff(dense.losses) < 0)
    assert np.max(sparse.dual_gap) < 1e-8
    # F(h) = mean loss of Kh: its gradient is K∇L/n, and along K⁻¹y it falls to 0 without reaching it.
    gram = Gaussian(20.0).gram(X)
    direction = np.linalg.solve(gram, y)
    falling = [np.logaddexp(0, -y * (gram @ (t * direction))).mean() for t in (1.0, 10.0, 100.0)]
    assert falling[0] > falling[1] > falling[2] > 0
    assert falling[2] < 1e-30
    with pytest.raises(
        ValueError, match="Gram matrix is invertible, so that some function separates the classes"
    ):
        KernelLogisticRegression(gamma=20.0, penalty_strength=0.0).fit(X, y)


@pytest.mark.spec("peyre/X14")
def test_the_map_shows_the_probability_at_each_place(moons, fitted):
    X, y = moons
    ax = fitted.plot(X, y, kind="map")
    (image,) = ax.images
    left, right, bottom, top = image.get_extent()
    shades = np.asarray(image.get_array())
    side = len(shades)
    across, up = ((np.arange(side) + 0.5) / side * size for size in (right - left, top - bottom))
    cells = np.column_stack([grid.ravel() for grid in np.meshgrid(left + across, bottom + up)])
    # 1/(1 + e^{−f}) with f = Σ α_i k(x_i, ·) + b, written out.
    chance = expit(Gaussian(1.0).cross(cells, X) @ fitted.dual_coef_ + fitted.intercept_[0])
    shares = FrontierDisplay.from_estimator(fitted, X, y).shares
    np.testing.assert_allclose(shares[:, :, 1].ravel(), chance, atol=1e-9)
    # The colour of a cell goes from that of one class to that of the other as the probability does.
    ends = shades.reshape(-1, shades.shape[2])[[chance.argmin(), chance.argmax()]][:, :3]
    way = (shades[:, :, :3].reshape(-1, 3) - ends[0]) @ (ends[1] - ends[0])
    order = np.argsort(chance)
    assert np.all(np.diff(way[order][::500]) > -1e-2 * np.ptp(way))
    assert np.corrcoef(way, chance)[0, 1] > 0.95
    frontier = np.vstack([path.vertices for path in ax.collections[0].get_paths()])
    np.testing.assert_allclose(fitted.predict_proba(frontier)[:, 1], 0.5, atol=0.01)


@pytest.mark.spec("peyre/X13")
def test_accuracy_along_the_width(moons, fitted):
    X, y = moons
    shown = fitted.plot(X, y, kind="width").figure
    assert len(shown.axes[0].lines) >= 2
    display = WidthAccuracyDisplay.from_estimator(fitted, X, y)
    assert display.train[-1] == 1.0
    assert display.test[-1] < display.test.max()
    assert display.train[0] < display.test.max()
    # Each accuracy is that of a fit at that width.
    place = len(display.gammas) // 2
    kept = np.arange(90) % 3 != 0
    again = KernelLogisticRegression(C=5.0, gamma=float(display.gammas[place])).fit(X[kept], y[kept])
    assert display.train[place] == again.score(X[kept], y[kept])
    assert display.test[place] == again.score(X[~kept], y[~kept])


@pytest.mark.spec("peyre/X9")
def test_the_error_surface_has_its_least_point_at_the_choice(moons):
    X, y = moons
    for model in (KernelLogisticRegression(), SVC(), KernelRidge(kernel="rbf")):
        options = (
            {"Cs": [0.1, 10.0]}
            if model is not None and hasattr(model, "C")
            else {"penalty_strengths": [1e-3, 1]}
        )
        chosen = model.select(X, y, gammas=[0.1, 1.0, 10.0], **options)
        surface = ErrorSurfaceDisplay.from_selection(chosen)
        assert list(surface.gammas) == [0.1, 1.0, 10.0]
        assert surface.names[0] == surface.ax_.get_ylabel() == "gamma"
        for pair, error in zip(chosen.values, chosen.curve, strict=True):
            place = surface.gammas == pair["gamma"], surface.penalties == pair[surface.names[1]]
            assert surface.errors[place] == error
        row, column = np.unravel_index(np.nanargmin(surface.errors), surface.errors.shape)
        assert (surface.gammas[row], surface.penalties[column]) == surface.chosen
        # The star is in the middle of its cell, and every cell is whole, on logarithmic axes.
        ax = surface.ax_
        corners = np.log(ax.collections[0].get_coordinates())
        middles = (corners[1:, 1:] + corners[:-1, :-1]) / 2
        np.testing.assert_allclose(middles[row, column], np.log(surface.chosen[::-1]), atol=1e-9)
        np.testing.assert_allclose(np.log([ax.get_xlim(), ax.get_ylim()]).T, corners[[0, -1], [0, -1]])
        assert chosen.model.certificates_.holds
    with pytest.raises(ValueError, match="needs a kernel whose width is chosen"):
        ErrorSurfaceDisplay.from_selection(SVC(kernel="linear").select(X, y, Cs=[0.1, 1.0]))


def test_selection_measures_what_a_refit_of_each_fold_gives(moons):
    X, y = moons
    chosen = KernelLogisticRegression().select(X, y, Cs=[0.5, 50.0], gammas=[1.0], cv=3)
    parts = np.array_split(np.arange(90), 3)
    for place, cost in enumerate([0.5, 50.0]):
        losses = []
        for part in parts:
            train = np.setdiff1d(np.arange(90), part)
            model = KernelLogisticRegression(C=cost * 90 / 60, gamma=1.0).fit(X[train], y[train])
            chance = model.predict_proba(X[part])
            losses.append(-np.log(np.where(y[part] > 0, chance[:, 1], chance[:, 0])).mean())
        assert chosen.curve[place] == pytest.approx(np.mean(losses), rel=1e-3)
    simple = KernelLogisticRegression().select(X, y, gammas=[1.0], rule="one_se")
    assert simple.best["C"] <= KernelLogisticRegression().select(X, y, gammas=[1.0]).best["C"]


def test_strengths_and_weights_mean_what_they_say(moons):
    X, y = moons
    one = KernelLogisticRegression(penalty_strength=0.01, gamma=1.0).fit(X, y)
    other = KernelLogisticRegression(C=1 / (2 * 0.01 * 90), gamma=1.0).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-9)
    weight = np.arange(90) % 3
    weighted = KernelLogisticRegression(gamma=1.0).fit(X, y, sample_weight=weight)
    repeated = KernelLogisticRegression(gamma=1.0).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)
    assert not repeated.alpha_unique_


@pytest.mark.spec("sangnier/T-1.4.3-c")
def test_coefficients_are_unique_where_the_gram_matrix_has_full_rank(moons):
    X, y = moons
    twice, labels = np.vstack([X, X[:1]]), np.append(y, y[0])
    model = KernelLogisticRegression(gamma=20.0).fit(twice, labels)
    assert not model.alpha_unique_
    assert KernelLogisticRegression(gamma=20.0).fit(X, y).alpha_unique_
    moved = model.dual_coef_.copy()
    moved[0], moved[-1] = moved[0] + 0.1, moved[-1] - 0.1
    gram = Gaussian(20.0).cross(X, twice)
    np.testing.assert_allclose(gram @ moved, gram @ model.dual_coef_, atol=1e-12)


def test_certificates_fail_on_damage(moons, fitted):
    import copy

    X, y = moons
    assert fitted.certify(X, y).holds
    for name in (
        "dual_coef_",
        "intercept_",
        "rkhs_norm_",
        "empirical_risk_",
        "C_",
        "penalty_strength_",
        "objective_",
    ):
        broken = copy.copy(fitted)
        setattr(broken, name, 1.01 * getattr(fitted, name))
        assert not broken.certify(X, y).holds, name
    swapped = y.copy()
    swapped[:2] *= -1
    assert not fitted.certify(X, swapped).holds


@pytest.mark.parametrize("gamma", [0.5, 3.0])
def test_huge_costs_are_solved_from_nothing_and_along_a_path(moons, gamma):
    X, y = moons
    y = np.where(np.arange(len(y)) % 9 == 0, -y, y)  # rows that only a steep function tells apart
    costs = 10.0 ** np.arange(0, 13, 2)
    path = KernelLogisticRegression(gamma=gamma).path(X, y, Cs=costs)
    assert path.converged.all()
    assert path.dual_gap.max() < 1e-7
    for cost, norm in zip(costs[-3:], path.rkhs_norms[-3:], strict=True):
        model = KernelLogisticRegression(C=cost, gamma=gamma).fit(X, y)
        assert model.certify(X, y).holds
        assert model.rkhs_norm_ == pytest.approx(norm, rel=1e-3)
