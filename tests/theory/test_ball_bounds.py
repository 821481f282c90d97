"""Bounds of the risk over balls of an RKHS: their formulas, their refusals, and how they fare on laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from assay.theory import (
    KernelBall,
    distance_to_hyperplane,
    hinge_bound_trial,
    hinge_risk_bound,
    lipschitz_oracle_bound,
    lipschitz_risk_bound,
    margin,
    rademacher_complexity,
    svr_bound_trial,
    svr_oracle_bound,
)


@pytest.mark.spec("sangnier/T-1.4.7-b")
def test_theorem_42_by_hand():
    bound = lipschitz_risk_bound(0.2, 0.03, 400, lipschitz=1.5, largest_loss=2.5, delta=0.1)
    assert_allclose(bound.value, 0.2 + 4 * 1.5 * 0.03 + 2.5 * math.sqrt(math.log(10) / 800))
    assert_allclose(bound.value, bound.mean_loss + bound.complexity + bound.confidence)
    assert not bound.vacuous
    assert lipschitz_risk_bound(0.9, 0.03, 400, lipschitz=1.5, largest_loss=2.5).vacuous
    shown = bound.certificate("error on the rows", 0.1)
    assert shown.holds
    assert shown.informative
    assert shown.assumptions


@pytest.mark.spec("sangnier/T-1.4.7-b")
def test_corollary_43_is_theorem_42_on_a_ball():
    # L = 1, B = 1 + cκ and R_n ≤ cκ/√n, which the complexity measured on rows respects.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X *= 2.0 / np.linalg.norm(X, axis=1, keepdims=True)  # κ = 2
    ball = rademacher_complexity(KernelBall(X @ X.T, 1.5), n_draws=50, random_state=0)
    assert ball.value <= ball.bound <= 1.5 * 2.0 / math.sqrt(300) + 1e-12
    general = lipschitz_risk_bound(
        0.1, 1.5 * 2.0 / math.sqrt(300), 300, lipschitz=1.0, largest_loss=1 + 1.5 * 2.0, delta=0.02
    )
    corollary = hinge_risk_bound(0.1, 1.5, 2.0, 300, 0.02)
    assert_allclose(corollary.value, general.value)
    assert_allclose(
        corollary.value, 0.1 + 4 * 3 / math.sqrt(300) + 4 * math.sqrt(math.log(50) / 600), rtol=1e-12
    )


def test_radii_of_a_grid_share_delta():
    grid = hinge_risk_bound([0.5, 0.3, 0.2], [1.0, 2.0, 4.0], 1.0, 5000, 0.06)
    for place, (loss, radius) in enumerate(((0.5, 1.0), (0.3, 2.0), (0.2, 4.0))):
        assert_allclose(grid.values[place], hinge_risk_bound(loss, radius, 1.0, 5000, 0.02).value)
    assert grid.value == grid.values.min()
    inside = hinge_risk_bound(0.3, [1.0, 2.0, 4.0], 1.0, 5000, norm=1.5)
    assert inside.values[0] == np.inf
    assert inside.value == inside.values[1]


@pytest.mark.parametrize("radius", [None, "auto", lambda data: 1.0, 0.0, [], [1.0, -1.0]])
def test_a_radius_that_was_not_fixed_before_is_refused(radius):
    with pytest.raises(ValueError, match=r"'radius' parameter of hinge_risk_bound must be .*fixed before"):
        hinge_risk_bound(0.1, radius, 1.0, 100)


def test_hinge_risk_is_below_its_bound_as_often_as_promised():
    trial = hinge_bound_trial(n_repeats=40, n_test=4000, random_state=0)
    assert trial.bites
    assert trial.share_above <= trial.delta


def test_the_complexity_is_needed_where_nothing_can_be_learnt():
    """In many dimensions the function that fits noise best has a mean loss far below its risk."""
    trial = hinge_bound_trial(
        n_samples=400, n_features=200, radius=4.0, signal=0.0, delta=0.5, n_repeats=20, n_test=2000,
        random_state=1,
    )  # fmt: skip
    assert trial.share_above == 0.0
    without = trial.bound - trial.complexity
    assert np.mean(trial.surrogate > without) > trial.delta
    # More of the complexity than its confidence would cover is used.
    assert np.mean(trial.surrogate > without + 0.05 * trial.complexity) > trial.delta


@pytest.mark.slow
def test_hinge_risk_is_below_its_bound_on_many_training_sets():
    for n_samples, radius, signal in ((1000, 1.0, 0.9), (4000, 3.0, 0.5), (4000, 2.0, 0.0)):
        trial = hinge_bound_trial(
            n_samples=n_samples, radius=radius, signal=signal, n_repeats=300, n_test=20_000, random_state=2
        )
        assert trial.share_above <= trial.delta


@pytest.mark.spec("sangnier/T-1.5.3-c")
def test_theorem_46_by_hand_and_on_a_ball():
    bound = lipschitz_oracle_bound(0.02, 900, lipschitz=0.5, largest_target=3.0, largest_loss=4.0, delta=0.05)
    spread = 8 * 0.5 * (0.02 + 3 * math.sqrt(2 * math.log(2) / 900))
    assert_allclose(bound.value, spread + 2 * 4 * math.sqrt(math.log(20) / 1800))
    assert bound.trivial == 4.0
    c, kappa, B, n = 1.5, 2.0, 3.0, 900
    corollary = svr_oracle_bound(c, kappa, B, n, 0.05)
    general = lipschitz_oracle_bound(
        c * kappa / math.sqrt(n), n, lipschitz=1.0, largest_target=B, largest_loss=B + c * kappa, delta=0.05
    )
    assert_allclose(corollary.value, general.value)
    by_hand = 8 * c * kappa / math.sqrt(n) + 8 * B * math.sqrt(2 * math.log(2) / n)
    assert_allclose(corollary.value, by_hand + 2 * (B + c * kappa) * math.sqrt(math.log(20) / (2 * n)))
    assert svr_oracle_bound(c, kappa, B, 10).vacuous
    assert not svr_oracle_bound(c, kappa, B, 100_000).vacuous


@pytest.mark.spec("sangnier/T-1.5.3-c")
def test_the_excess_risk_is_below_its_bound_as_often_as_promised():
    for epsilon in (0.0, 0.2):  # median regression and a tube
        trial = svr_bound_trial(n_repeats=20, n_test=5000, epsilon=epsilon, random_state=0)
        assert trial.bites
        assert trial.share_above <= trial.delta
        assert trial.truth.max() > 0  # the fit is not the best of the ball


@pytest.mark.slow
def test_the_excess_risk_is_below_its_bound_on_many_training_sets():
    for n_samples in (300, 1000):
        trial = svr_bound_trial(n_samples=n_samples, n_repeats=300, random_state=1)
        assert trial.share_above <= trial.delta


# Small linear programs: the lemmas behind the slack variables.


def test_hinge_is_the_least_slack():
    for x in (-2.0, -0.3, 0.0, 0.4, 1.0, 3.0):  # minimise ξ ≥ 0 with x ≥ 1 − ξ
        least = linprog([1.0], A_ub=[[-1.0]], b_ub=[x - 1.0], bounds=[(0, None)])
        assert_allclose(least.fun, max(0.0, 1.0 - x), atol=1e-12)


@pytest.mark.spec("sangnier/T-1.5.3-a")
def test_the_insensitive_loss_is_the_least_sum_of_slacks():
    from assay.losses import EpsilonInsensitive

    for epsilon in (0.0, 0.5):
        for x in (-2.0, -0.5, -0.1, 0.0, 0.3, 0.5, 4.0):
            # Minimise ξ⁺ + ξ⁻ ≥ 0 with x ≤ ξ⁺ + ε and −ξ⁻ − ε ≤ x.
            least = linprog(
                [1.0, 1.0],
                A_ub=[[-1.0, 0.0], [0.0, -1.0]],
                b_ub=[epsilon - x, epsilon + x],
                bounds=[(0, None), (0, None)],
            )
            assert_allclose(least.fun, max(0.0, abs(x) - epsilon), atol=1e-12)
            loss = EpsilonInsensitive(epsilon).value(np.array([x]), np.zeros(1))
            assert_allclose(loss, least.fun, atol=1e-12)
            if least.fun > 0:  # at most one of the two slacks is used
                assert min(least.x) == 0.0


@pytest.mark.spec("sangnier/T-1.4.1-b")
def test_the_distance_to_a_hyperplane_is_the_least_over_its_points():
    rng = np.random.default_rng(0)
    for d in (1, 2, 5):
        w, b, X = rng.normal(size=d), rng.normal(), rng.normal(size=(6, d))
        distances = distance_to_hyperplane(w, b, X)
        # The foot of the perpendicular by least squares: min ‖x − z‖ with wᵀz = −b, from the KKT system.
        system = np.block([[np.eye(d), w[:, None]], [w[None], np.zeros((1, 1))]])
        for x, distance in zip(X, distances, strict=True):
            z = np.linalg.solve(system, np.append(x, -b))[:d]
            assert_allclose(w @ z + b, 0.0, atol=1e-12)
            assert_allclose(np.linalg.norm(x - z), distance)
            others = z + rng.normal(size=(50, d)) @ (np.eye(d) - np.outer(w, w) / (w @ w))
            assert np.all(np.linalg.norm(x - others, axis=1) >= distance - 1e-12)
        assert margin(w, b, X) == distances.min()
        assert_allclose(distance_to_hyperplane(1e200 * w, 1e200 * b, X), distances)
    with pytest.raises(ValueError, match="not all 0"):
        distance_to_hyperplane([0.0, 0.0], 1.0, [[1.0, 2.0]])
