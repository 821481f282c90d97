"""Penalties against numerical minimisation, their conjugates and their subdifferentials."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

from assay.penalties import (
    L1,
    MCP,
    SCAD,
    Box,
    ElasticNet,
    GroupL2,
    Nuclear,
    Penalty,
    RowSparse,
    SparseGroup,
    SquaredNorm,
    soft_threshold,
)

WEIGHTS = [1.0, 0.0, 2.0, 0.5]
SEPARABLE = {
    "squared norm": SquaredNorm(0.8),
    "l1": L1(0.7),
    "weighted l1": L1(0.7, WEIGHTS),
    "elastic net": ElasticNet(0.9, 0.4),
    "weighted elastic net": ElasticNet(0.9, 0.4, WEIGHTS),
    "elastic net, all l1": ElasticNet(0.9, 1.0),
    "elastic net, all squares": ElasticNet(0.9, 0.0),
    "group": GroupL2(0.5, [0, 1, 0, 1]),
    "group lists": GroupL2(0.5, [[0, 3], [1], [2]], [1.0, 0.0, 2.0]),
    "sparse group": SparseGroup(0.6, ["b", "a", "b", "a"], 0.3),
    "box": Box(-0.4, [0.3, 1.0, np.inf, 0.0]),
}
CONVEX = {
    **SEPARABLE,
    "rows": RowSparse(0.8),
    "weighted rows": RowSparse(0.8, WEIGHTS),
    "nuclear": Nuclear(0.8),
}
CONCAVE = {"mcp": MCP(0.7, 2.5), "scad": SCAD(0.7, 3.2)}
NORMS = {
    "l1": L1(1.0, [1.0, 3.0, 2.0, 0.5]),
    "group": GroupL2(1.0, [0, 1, 0, 1]),
    "sparse group": SparseGroup(1.0, [0, 1, 0, 1], 0.3, [1.0, 0.7]),
    "sparse group, all l1": SparseGroup(1.0, [0, 1, 0, 1], 1.0),
    "sparse group, all l2": SparseGroup(1.0, [0, 1, 0, 1], 0.0),
    "rows": RowSparse(1.0, [1.0, 3.0, 2.0, 0.5]),
    "nuclear": Nuclear(1.0),
}


def each(penalties):
    return pytest.mark.parametrize("penalty", penalties.values(), ids=penalties.keys())


def points(rng, n, scale=2.0):
    """Matrices of four features and two columns, some entries exactly zero."""
    draws = scale * rng.standard_normal((n, 4, 2))
    return draws * (rng.random(draws.shape) < 0.8)


@each({**CONVEX, **CONCAVE})
def test_offers_the_interface(penalty):
    assert isinstance(penalty, Penalty)
    assert penalty.convex == (type(penalty) not in (MCP, SCAD))


@each({**CONVEX, **CONCAVE})
def test_proximal_map_beats_every_other_point(penalty, rng):
    step = 0.8
    for w in points(rng, 4):
        best = penalty.proximal(w, step)

        def objective(v, w=w):
            return np.sum((v - w) ** 2) / 2 + step * np.sum(penalty.value(v))

        nearby = best + 0.01 * rng.standard_normal((30, 4, 2))
        far = [*(best + rng.standard_normal((30, 4, 2))), np.zeros_like(w), w]
        assert all(objective(best) <= objective(v) + 1e-12 for v in [*nearby, *far])


@each({**CONVEX, **CONCAVE})
def test_proximal_map_satisfies_its_optimality_condition(penalty, rng):
    step = 0.8
    for w in points(rng, 6):
        v = penalty.proximal(w, step)
        assert np.max(penalty.subgradient_distance(v, (w - v) / step)) < 1e-12
        assert np.max(penalty.subgradient_distance(v, (w - v) / step + 3.0)) > 0.1


@each({name: penalty for name, penalty in CONVEX.items() if name != "box"})
def test_proximal_map_is_what_scipy_finds(penalty, rng):
    w = points(rng, 1)[0]
    v = penalty.proximal(w, 0.5)

    def objective(x):
        x = x.reshape(w.shape)
        return np.sum((x - w) ** 2) / 2 + 0.5 * np.sum(penalty.value(x))

    found = optimize.minimize(
        objective, w.ravel() + 0.01, method="Powell", options={"xtol": 1e-10, "ftol": 1e-14}
    )
    assert_allclose(objective(v.ravel()), found.fun, atol=1e-6)
    assert objective(v.ravel()) <= found.fun + 1e-12


@each(CONCAVE)
def test_concave_proximal_map_is_the_global_minimiser_on_a_grid(penalty):
    grid = np.linspace(-4, 4, 16_001)
    for step in (0.3, 1.0, 1.9):
        for w in np.linspace(-3, 3, 41):
            values = (grid - w) ** 2 / 2 + step * penalty.value(grid[None, :])
            best = penalty.proximal(np.array([w]), step)
            assert abs(best[0] - grid[np.argmin(values)]) < 2e-3
            assert (best[0] - w) ** 2 / 2 + step * penalty.value(best) <= np.min(values) + 1e-12


@each(CONCAVE)
def test_concave_penalties_are_weakly_convex_and_end_flat(penalty):
    x = np.linspace(-5, 5, 2001)
    for excess, convex in ((1e-9, True), (-0.05, False)):
        lifted = penalty.value(x[None, :]) + (penalty.weak_convexity + excess) * x**2 / 2
        assert (np.min(np.diff(lifted, 2)) >= -1e-12) == convex
    far = np.array([penalty.gamma * penalty.strength + 0.1, 50.0])
    assert_allclose(np.diff(penalty.value(far[None, :])), 0, atol=1e-12)
    assert_array_equal(penalty.proximal(far, 1.0), far)
    assert_array_equal(penalty.conjugate(np.array([[0.0, 1.0], [0.0, 0.0]])), [0, np.inf])


@each(CONVEX)
def test_moreau_identity(penalty, rng):
    """prox_{sΩ}(w) + s prox_{Ω*/s}(w/s) = w, the second found without the first: it minimises Ω*."""
    step = 0.7
    for w in points(rng, 4):
        first = penalty.proximal(w, step)
        second = (w - first) / step

        def dual_objective(u, w=w):
            return step * np.sum((u - w / step) ** 2) / 2 + np.sum(penalty.conjugate(u))

        best = dual_objective(second)
        assert np.isfinite(best)
        others = second + 0.1 * rng.standard_normal((50, 4, 2))
        assert all(best <= dual_objective(u) + 1e-10 for u in others)
        assert np.max(penalty.fenchel_young_gap(first, second)) < 1e-10


@each(CONVEX)
def test_conjugate_is_a_supremum(penalty, rng):
    """No point exceeds it, and the point where u is a subgradient reaches it."""
    for w in points(rng, 5):
        v = penalty.proximal(w, 1.0)
        u = w - v
        conjugate = penalty.conjugate(u)
        reached = np.sum(v * u) - np.sum(penalty.value(v))
        assert_allclose(np.sum(conjugate), reached, atol=1e-10)
        others = points(rng, 40)
        assert all(np.sum(x * u) - np.sum(penalty.value(x)) <= np.sum(conjugate) + 1e-10 for x in others)


@each(NORMS)
def test_conjugate_of_a_norm_is_the_indicator_of_the_dual_ball(penalty, rng):
    for u in points(rng, 5):
        size = penalty.dual_norm(u)
        assert np.all(penalty.conjugate(u / size) == 0)
        assert np.all(np.isinf(penalty.conjugate(u / size * 1.001)))
        # Outside the ball the supremum is infinite: the objective grows along a ray.
        v = penalty.proximal(2 * u / size, 1.0)
        rise = [np.sum(t * v * 2 * u / size) - np.sum(penalty.value(t * v)) for t in (1, 10, 100)]
        assert rise[0] > 0
        assert_allclose(rise, rise[0] * np.array([1, 10, 100]))


@each(NORMS)
def test_dual_norm_by_brute_force(penalty, rng):
    """sup ⟨w, u⟩/Ω(w): no w exceeds it, a proximal point just inside the threshold nearly reaches it."""
    for u in points(rng, 3):
        size = penalty.dual_norm(u)
        matrix_penalty = np.ndim(size) == 0
        for column in [slice(None)] if matrix_penalty else [slice(0, 1), slice(1, 2)]:
            part = u[:, column]
            bound = float(np.max(penalty.dual_norm(part)))
            draws = rng.standard_normal((300, *part.shape))
            assert all(np.sum(w * part) <= bound * np.sum(penalty.value(w)) + 1e-10 for w in draws)
            w = penalty.proximal(part, bound * (1 - 1e-6))
            assert np.sum(w * part) >= bound * np.sum(penalty.value(w)) * (1 - 1e-5)


@each(CONVEX)
def test_fenchel_young_gap_is_never_negative_and_is_the_sum(penalty, rng):
    for w, x in zip(points(rng, 6), points(rng, 6), strict=True):
        v = penalty.proximal(w, 1.0)
        u = x - penalty.proximal(x, 1.0)
        gap = penalty.fenchel_young_gap(v, u)
        direct = np.sum(penalty.value(v)) + np.sum(penalty.conjugate(u)) - np.sum(v * u)
        assert np.all(gap >= 0)
        assert_allclose(np.sum(gap), direct, atol=1e-10)


@each(CONVEX)
def test_subgradient_distance_is_the_distance_to_the_nearest_subgradient(penalty, rng):
    """The flow v' ∈ u − ∂Ω(v) takes the direction of smallest norm, which a short proximal step follows."""
    for w in points(rng, 4):
        v = penalty.proximal(w, 1.0)
        u = rng.standard_normal(v.shape)
        distance = np.sqrt(np.sum(np.square(penalty.subgradient_distance(v, u))))
        eps = 1e-6
        slope = (penalty.proximal(v + eps * u, eps) - v) / eps
        assert_allclose(np.linalg.norm(slope), distance, rtol=1e-4, atol=1e-5)


@each(SEPARABLE)
def test_separable_penalties_treat_columns_alone(penalty, rng):
    for w, u in zip(points(rng, 3), points(rng, 3), strict=True):
        for j in range(2):
            assert_allclose(penalty.value(w)[j], penalty.value(w[:, j]))
            assert_allclose(penalty.proximal(w, 0.5)[:, j], penalty.proximal(w[:, j], 0.5))
            for name in ("conjugate", "critical_strength"):
                assert_allclose(getattr(penalty, name)(u)[j], getattr(penalty, name)(u[:, j]))
            for name in ("subgradient_distance", "fenchel_young_gap"):
                assert_allclose(getattr(penalty, name)(w, u)[j], getattr(penalty, name)(w[:, j], u[:, j]))


@each({**CONVEX, **CONCAVE})
def test_float32_stays_float32(penalty, rng):
    w = points(rng, 1)[0].astype(np.float32)
    v = penalty.proximal(w, 0.5)
    assert v.dtype == np.float32
    assert np.max(penalty.subgradient_distance(v, (w - v) / np.float32(0.5))) < 1e-5


def test_members_of_the_families_coincide(rng):
    w, u = points(rng, 2)
    pairs = [
        (ElasticNet(0.7, 1.0), L1(0.7)),
        (ElasticNet(0.7, 0.0), SquaredNorm(0.7)),
        (GroupL2(0.7, range(4)), L1(0.7)),
        (SparseGroup(0.7, [0, 0, 1, 1], 0.0), GroupL2(0.7, [0, 0, 1, 1])),
        (SparseGroup(0.7, [0, 0, 1, 1], 1.0), L1(0.7)),
    ]
    for first, second in pairs:
        assert_allclose(first.value(w), second.value(w))
        assert_allclose(first.proximal(w, 0.4), second.proximal(w, 0.4))
        assert_allclose(first.subgradient_distance(w, u), second.subgradient_distance(w, u))
        assert_allclose(first.critical_strength(u), second.critical_strength(u))
    vector = w[:, 0]
    assert_allclose(RowSparse(0.7).value(vector), L1(0.7).value(vector))
    assert_allclose(Nuclear(0.7).value(vector), 0.7 * np.linalg.norm(vector))
    wide = MCP(0.7, 1e9), SCAD(0.7, 1e9)
    assert all(np.allclose(penalty.proximal(w, 0.4), L1(0.7).proximal(w, 0.4)) for penalty in wide)


@pytest.mark.parametrize("penalty", [L1(0.5, [1, 0, np.inf]), ElasticNet(0.5, 0.5, [1, 0, np.inf])])
def test_weights_of_zero_and_infinity(penalty):
    w = np.array([2.0, 2.0, 2.0])
    v = penalty.proximal(w, 1.0)
    assert v[0] < 2
    assert v[1] == 2
    assert v[2] == 0
    assert np.isfinite(penalty.value(v))
    assert penalty.value(w) == np.inf
    assert penalty.subgradient_distance(v, w - v) < 1e-15
    assert penalty.subgradient_distance(w, w - v) == np.inf
    assert penalty.fenchel_young_gap(v, w - v) == pytest.approx(0, abs=1e-12)
    assert penalty.fenchel_young_gap(w, w - v) == np.inf
    assert penalty.critical_strength(np.array([0.2, 0.0, 9.0])) == pytest.approx(
        0.2 / getattr(penalty, "l1_ratio", 1)
    )


def test_infinite_weights_exclude_groups_and_rows():
    w = np.array([[2.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    for penalty in (
        GroupL2(0.5, [0, 0, 1], [1, np.inf]),
        SparseGroup(0.5, [0, 0, 1], 0.5, [1, np.inf]),
        RowSparse(0.5, [1, 1, np.inf]),
        L1(0.0, [1, 1, np.inf]),
    ):
        v = penalty.proximal(w, 1.0)
        assert_array_equal(v[2], 0)
        assert np.all(v[:2] > 0)
        assert np.all(np.isinf(penalty.value(w)))
        assert np.all(np.isinf(penalty.subgradient_distance(w, w - v)))
        assert np.max(penalty.subgradient_distance(v, w - v)) < 1e-12
        assert np.max(penalty.fenchel_young_gap(v, w - v)) < 1e-12


def test_groups_are_labels_or_lists_and_weigh_the_root_of_their_size(rng):
    w = points(rng, 1)[0]
    labels, lists = GroupL2(0.7, ["y", "x", "y", "y"]), GroupL2(0.7, [[1], [0, 2, 3]])
    assert_allclose(labels.value(w), 0.7 * (np.sqrt(3) * np.linalg.norm(w[[0, 2, 3]], axis=0) + np.abs(w[1])))
    assert_allclose(labels.proximal(w, 0.5), lists.proximal(w, 0.5))
    assert_allclose(labels.weights, [1, np.sqrt(3)])


def test_one_strength_a_column(rng):
    w, u = points(rng, 2)
    for penalty in (L1, ElasticNet):
        both = penalty(np.array([0.3, 0.9]))
        for j, strength in enumerate((0.3, 0.9)):
            alone = penalty(strength)
            assert_allclose(both.proximal(w, 0.5)[:, j], alone.proximal(w[:, j], 0.5))
            assert_allclose(both.value(w)[j], alone.value(w[:, j]))
            assert_allclose(both.subgradient_distance(w, u)[j], alone.subgradient_distance(w[:, j], u[:, j]))


numbers = st.floats(-1e3, 1e3, allow_subnormal=False)


@settings(max_examples=25, deadline=None)
@given(arrays(float, 6, elements=numbers), arrays(float, 6, elements=numbers), st.floats(0.01, 50))
def test_proximal_maps_do_not_expand(w, x, strength):
    for penalty in (
        L1(strength, [1, 2, 0, 1, 0.1, np.inf]),
        ElasticNet(strength, 0.3),
        GroupL2(strength, [0, 0, 1, 1, 1, 2]),
        SparseGroup(strength, [0, 0, 1, 1, 1, 2]),
        Nuclear(strength),
        Box(-strength, 1.0),
    ):
        moved = np.linalg.norm(penalty.proximal(w, 1.0) - penalty.proximal(x, 1.0))
        assert moved <= np.linalg.norm(w - x) * (1 + 1e-12) + 1e-9


@settings(max_examples=25, deadline=None)
@given(arrays(float, 5, elements=numbers), st.floats(0, 100))
def test_soft_threshold_is_odd_and_stops_at_zero(x, threshold):
    shrunk = soft_threshold(x, threshold)
    assert_allclose(shrunk, np.sign(x) * np.maximum(np.abs(x) - threshold, 0), atol=1e-12)
    assert_array_equal(soft_threshold(-x, threshold), -shrunk)
