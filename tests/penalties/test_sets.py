"""Convex sets: projections, linear functions over them, the algebra of sets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

from assay.penalties import (
    AffineSubspace,
    Ball,
    Box,
    ColumnSpace,
    ConvexHull,
    HalfSpace,
    Homothetic,
    Hyperplane,
    Intersection,
    L1Ball,
    NonNegative,
    Polytope,
    PositiveSemidefinite,
    SecondOrderCone,
    Simplex,
)

DIMENSION = 4
_rng = np.random.default_rng(3)
POINTS = _rng.standard_normal((7, DIMENSION))
NORMAL = np.array([1.0, -2.0, 0.5, 1.0])
FACES = np.vstack([np.eye(DIMENSION), -np.ones(DIMENSION)])
COMPACT = {
    "ball": Ball([0.5, 0.0, -1.0, 2.0], 1.3),
    "l1 ball around a centre": Ball([0.5, 0.0, -1.0, 2.0], 1.3, "l1"),
    "linf ball": Ball(0.2, 0.7, "linf"),
    "box": Box([-1.0, 0.0, -0.5, 0.2], [1.0, 0.5, 0.5, 0.2]),
    "simplex": Simplex(1.5),
    "l1 ball": L1Ball(1.2),
    "polytope": Polytope(FACES, [-1.0, -1.0, -0.5, -2.0, -3.0]),
    "hull": ConvexHull(POINTS),
    "homothetic": Homothetic(Simplex(1.5), -0.8, [1.0, 0.0, 0.0, -1.0]),
}
UNBOUNDED = {
    "half-space": HalfSpace(NORMAL, 0.7),
    "hyperplane": Hyperplane(NORMAL, 0.7),
    "affine subspace": AffineSubspace([NORMAL, 2 * NORMAL, [0.0, 1.0, 0.0, 0.0]], [0.7, 1.4, 0.3]),
    "second-order cone": SecondOrderCone(),
    "orthant": NonNegative(),
    "half-box": Box(0.0, [1.0, np.inf, np.inf, 2.0]),
    "column space": ColumnSpace(np.column_stack([POINTS[:2].T, POINTS[0] + POINTS[1]])),
    "unbounded polytope": Polytope(FACES[:2], [0.0, 1.0]),
    "translated cone": SecondOrderCone().translated([0.0, 1.0, 0.0, -1.0]),
}
MEETING = {
    "half ball": Ball(0.0, 1.5) & HalfSpace(NORMAL, 0.7),
    "three sets": Intersection([Ball(0.0, 2.0), Hyperplane(NORMAL, 0.7), NonNegative()]),
}
VECTOR_SETS = {**COMPACT, **UNBOUNDED, **MEETING}


def each(sets):
    return pytest.mark.parametrize("members", sets.values(), ids=sets.keys())


def sample(members, rng, n=12):
    """Points of the set: projections and means of projections."""
    shape = (n, DIMENSION)
    found = [members.project(x) for x in 3 * rng.standard_normal(shape)]
    return [*found, *((x + y) / 2 for x, y in pairwise(found))]


@each(VECTOR_SETS)
@pytest.mark.spec("douc/T5.6", "rudi/M2.8")
def test_projection_variational_inequality_and_pythagoras(members, rng):
    inside = sample(members, rng)
    for x in 3 * rng.standard_normal((6, DIMENSION)):
        nearest = members.project(x)
        assert members.contains(nearest, 1e-7)
        assert members.contains(x, 1e-6) == (np.linalg.norm(x - nearest) < 1e-6)
        for c in inside:
            assert (x - nearest) @ (c - nearest) <= 1e-8
            legs = np.sum((x - nearest) ** 2) + np.sum((c - nearest) ** 2)
            assert legs <= np.sum((x - c) ** 2) + 1e-8


@pytest.mark.spec("douc/T5.6")
def test_the_inequalities_tell_a_wrong_projection(rng):
    """Scaling every entry into the box by one factor stays inside, but is not the nearest point."""
    box, x = Box(-1.0, 1.0), np.array([2.0, 0.5, -0.3, 0.1])
    wrong = x / np.max(np.abs(x))
    assert box.contains(wrong)
    assert max((x - wrong) @ (c - wrong) for c in sample(box, rng)) > 0.01


@each(VECTOR_SETS)
def test_projection_is_idempotent_and_does_not_expand(members, rng):
    for x, y in 3 * rng.standard_normal((5, 2, DIMENSION)):
        first, second = members.project(x), members.project(y)
        assert_allclose(members.project(first), first, atol=1e-8)
        assert np.linalg.norm(first - second) <= np.linalg.norm(x - y) + 1e-8
        assert members.distance(x) == pytest.approx(np.linalg.norm(x - first))
        assert members.distance(first) < 1e-7
        assert members.contains(x) == (members.distance(x) < 1e-7)


@each(VECTOR_SETS)
def test_projection_leaves_its_argument_alone(members, rng):
    x = rng.standard_normal(DIMENSION)
    copy = x.copy()
    nearest = members.project(x)
    nearest += 1.0
    assert_array_equal(x, copy)


def slsqp(x, constraints=(), bounds=None):
    found = optimize.minimize(
        lambda y: np.sum((y - x) ** 2) / 2,
        np.full(DIMENSION, 0.3),
        jac=lambda y: y - x,
        method="SLSQP",
        bounds=bounds,
        constraints=constraints,
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


@pytest.mark.parametrize(
    ("name", "constraints", "bounds"),
    [
        ("ball", [{"type": "ineq", "fun": lambda y: 1.3**2 - np.sum((y - [0.5, 0, -1, 2]) ** 2)}], None),
        ("half-space", [{"type": "ineq", "fun": lambda y: NORMAL @ y - 0.7}], None),
        ("hyperplane", [{"type": "eq", "fun": lambda y: NORMAL @ y - 0.7}], None),
        ("simplex", [{"type": "eq", "fun": lambda y: np.sum(y) - 1.5}], [(0, None)] * DIMENSION),
        ("polytope", [{"type": "ineq", "fun": lambda y: FACES @ y - [-1, -1, -0.5, -2, -3]}], None),
        (
            "affine subspace",
            [{"type": "eq", "fun": lambda y: np.array([NORMAL @ y - 0.7, y[1] - 0.3])}],
            None,
        ),
        (
            "second-order cone",
            [{"type": "ineq", "fun": lambda y: y[3] - np.sqrt(np.sum(y[:3] ** 2) + 1e-16)}],
            None,
        ),
        (
            "half ball",
            [
                {"type": "ineq", "fun": lambda y: 1.5**2 - np.sum(y**2)},
                {"type": "ineq", "fun": lambda y: NORMAL @ y - 0.7},
            ],
            None,
        ),
    ],
)
@pytest.mark.spec("rudi/M2.8")
def test_projection_is_what_slsqp_finds(name, constraints, bounds, rng):
    for x in 2 * rng.standard_normal((3, DIMENSION)):
        assert_allclose(VECTOR_SETS[name].project(x), slsqp(x, constraints, bounds), atol=2e-5)


def test_l1_ball_projection_is_what_slsqp_finds_in_split_variables(rng):
    for x in 2 * rng.standard_normal((3, DIMENSION)):
        found = optimize.minimize(
            lambda z, x=x: np.sum((z[:4] - z[4:] - x) ** 2) / 2,
            np.full(8, 0.1),
            method="SLSQP",
            bounds=[(0, None)] * 8,
            constraints=[{"type": "ineq", "fun": lambda z: 1.2 - np.sum(z)}],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert_allclose(L1Ball(1.2).project(x), found.x[:4] - found.x[4:], atol=1e-5)


@each(COMPACT)
@pytest.mark.spec("rudi/M3.7", "rudi/M2.8")
def test_linear_minimiser_is_in_the_set_and_below_every_point(members, rng):
    inside = sample(members, rng)
    for a in rng.standard_normal((6, DIMENSION)):
        best = members.linear_minimiser(a)
        assert members.contains(best, 1e-8)
        assert all(a @ best <= a @ c + 1e-8 for c in inside)
        assert members.support(-a) == pytest.approx(-(a @ best))
        # Far along −a the projection tends to a minimiser.
        assert a @ members.project(-1e5 * a) == pytest.approx(a @ best, abs=1e-3)


@pytest.mark.spec("rudi/M3.7")
def test_minimum_over_points_is_the_minimum_over_their_hull(rng):
    """Against the linear programme over the weights of the hull."""
    hull = ConvexHull(POINTS)
    for a in rng.standard_normal((5, DIMENSION)):
        programme = optimize.linprog(POINTS @ a, A_eq=np.ones((1, len(POINTS))), b_eq=[1.0])
        best = hull.linear_minimiser(a)
        assert a @ best == pytest.approx(programme.fun)
        assert any(np.array_equal(best, point) for point in POINTS)


@each({**COMPACT, **UNBOUNDED})
@pytest.mark.spec("rudi/M2.8")
def test_support_function_bounds_the_set_and_describes_the_projection(members, rng):
    """σ(a) ≥ ⟨a, c⟩ on the set; for a = x − Πx it is finite and reached at Πx."""
    inside = sample(members, rng)
    for x in 3 * rng.standard_normal((5, DIMENSION)):
        nearest = members.project(x)
        if np.linalg.norm(x - nearest) > 1e-8:
            assert members.support(x - nearest) == pytest.approx((x - nearest) @ nearest, abs=1e-7)
        assert all(members.support(x) >= x @ c - 1e-8 for c in inside)


@each(UNBOUNDED)
def test_unbounded_directions_have_an_infinite_support_and_no_minimiser(members):
    a = np.array([0.3, 1.0, 1.0, 0.4])
    assert members.support(a) == np.inf
    with pytest.raises(ValueError, match="direction in which the set is bounded below"):
        members.linear_minimiser(-a)


def test_half_space_is_unbounded_along_its_normal():
    half = UNBOUNDED["half-space"]
    assert half.support(2 * NORMAL) == np.inf
    assert half.support(-2 * NORMAL) == pytest.approx(-1.4)
    with pytest.raises(ValueError, match="direction in which the set is bounded below"):
        half.linear_minimiser(-NORMAL)


def test_bounded_directions_of_unbounded_sets_have_a_minimiser():
    cases = [
        (UNBOUNDED["half-space"], NORMAL, 0.7),
        (UNBOUNDED["hyperplane"], -NORMAL, -0.7),
        (UNBOUNDED["affine subspace"], NORMAL + [0, 1, 0, 0], 1.0),
        (UNBOUNDED["orthant"], np.ones(4), 0.0),
        (UNBOUNDED["second-order cone"], np.array([0.0, 0.6, 0.0, 1.0]), 0.0),
        (UNBOUNDED["half-box"], np.array([-1.0, 1.0, 0.0, 1.0]), -1.0),
        (UNBOUNDED["unbounded polytope"], np.array([1.0, 1.0, 0.0, 0.0]), 1.0),
        (UNBOUNDED["translated cone"], np.array([0.0, 0.0, 0.0, 1.0]), -1.0),
    ]
    for members, a, smallest in cases:
        best = members.linear_minimiser(a)
        assert members.contains(best)
        assert a @ best == pytest.approx(smallest, abs=1e-12)
        assert members.support(-a) == pytest.approx(-smallest, abs=1e-12)
    space = UNBOUNDED["column space"]
    orthogonal = np.ones(4) - space.project(np.ones(4))
    assert space.support(orthogonal) == 0
    assert_array_equal(space.linear_minimiser(orthogonal), 0)


@each({name: VECTOR_SETS[name] for name in ("ball", "l1 ball", "simplex", "half-space", "second-order cone")})
@pytest.mark.spec("rudi/T2.2")
def test_intersection_of_convex_sets_is_convex(members, rng):
    other = Box(-1.0, 1.0)
    # The middle of the box is moved to a point of the set, so that the two meet.
    shift = members.project(np.zeros(DIMENSION))
    both = members & other.translated(shift)
    inside = [both.project(x) for x in 2 * rng.standard_normal((8, DIMENSION))]
    for x in inside:
        for y in inside:
            for t in rng.random(3):
                mean = t * x + (1 - t) * y
                assert members.contains(mean, 1e-7)
                assert other.contains(mean - shift, 1e-7)


@each({name: VECTOR_SETS[name] for name in ("ball", "l1 ball", "simplex", "hull", "second-order cone")})
@pytest.mark.spec("rudi/T2.2")
def test_affine_image_of_a_convex_set_is_convex(members, rng):
    """Membership in the image is decided through the inverse of the map."""
    matrix = rng.standard_normal((DIMENSION, DIMENSION)) + 2 * np.eye(DIMENSION)
    shift = rng.standard_normal(DIMENSION)

    def image_contains(z):
        return members.contains(np.linalg.solve(matrix, z - shift), 1e-7)

    images = [matrix @ x + shift for x in sample(members, rng, n=6)]
    assert all(image_contains(z) for z in images)
    assert not image_contains(matrix @ (-50 * np.ones(DIMENSION)) + shift)
    for z, v in zip(images, reversed(images), strict=True):
        for t in rng.random(3):
            assert image_contains(t * z + (1 - t) * v)


@pytest.mark.spec("rudi/T2.2")
def test_affine_image_of_a_hull_is_the_hull_of_the_images(rng):
    """Also where the map loses dimensions."""
    matrix, shift = rng.standard_normal((2, DIMENSION)), rng.standard_normal(2)
    image = ConvexHull(POINTS @ matrix.T + shift)
    for weights in rng.dirichlet(np.ones(len(POINTS)), size=10):
        assert image.contains(matrix @ (weights @ POINTS) + shift)
    # A point beyond every image in some direction is not in the image of the hull.
    for direction in rng.standard_normal((10, 2)):
        far = matrix @ POINTS[np.argmax(POINTS @ matrix.T @ direction)] + shift
        assert image.contains(far, 1e-9)
        assert not image.contains(far + 0.01 * direction / np.linalg.norm(direction), 1e-9)


def test_a_set_that_is_not_convex_fails_the_sampled_check(rng):
    """The complement of a ball holds pairs of points whose mean it does not hold."""
    outside = [x for x in 2 * rng.standard_normal((20, 2)) if not Ball().contains(x)]
    assert any(Ball().contains((x + y) / 2) for x in outside for y in outside)


@each(VECTOR_SETS)
def test_separating_hyperplane_has_the_set_on_one_side(members, rng):
    x = np.array([-3.0, 3.0, -4.0, -2.0])
    plane = members.separating_hyperplane(x)
    assert plane.excess(x) > 0
    assert all(plane.excess(c) < 0 for c in sample(members, rng))
    with pytest.raises(ValueError, match="outside the set"):
        members.separating_hyperplane(members.project(members.project(x)))


@pytest.mark.spec("rudi/M2.8")
def test_scaled_and_translated_sets(rng):
    beta = np.array([1.0, -1.0, 0.0, 2.0])
    pairs = [
        (Ball(0.5, 1.0).scaled(-2.0).translated(beta), Ball(beta - 1.0, 2.0)),
        (Box(-1.0, 2.0).scaled(-2.0).translated(beta), Box(beta - 4.0, beta + 2.0)),
        (Simplex().scaled(3.0), Simplex(3.0)),
        (L1Ball(1.0).scaled(2.0).translated(beta), Ball(beta, 2.0, "l1")),
        (HalfSpace(NORMAL, 1.0).scaled(2.0).translated(beta), HalfSpace(NORMAL, 2.0 + NORMAL @ beta)),
    ]
    for copy, direct in pairs:
        for x in 3 * rng.standard_normal((4, DIMENSION)):
            assert_allclose(copy.project(x), direct.project(x), atol=1e-12)
            assert copy.contains(x) == direct.contains(x)
            assert copy.support(-NORMAL) == pytest.approx(direct.support(-NORMAL))


@pytest.mark.spec("rudi/M2.8")
def test_polytope_is_the_intersection_of_its_half_spaces(rng):
    polytope = COMPACT["polytope"]
    halves = Intersection([HalfSpace(a, b) for a, b in zip(polytope.matrix, polytope.offset, strict=True)])
    for x in 3 * rng.standard_normal((4, DIMENSION)):
        assert polytope.contains(x) == halves.contains(x)
        assert_allclose(polytope.project(x), halves.project(x), atol=1e-7)


def test_affine_subspace_handles_dependent_rows():
    subspace = UNBOUNDED["affine subspace"]
    assert subspace.dimension == 2
    independent = AffineSubspace([NORMAL, [0.0, 1.0, 0.0, 0.0]], [0.7, 0.3])
    x = np.arange(4.0)
    assert_allclose(subspace.project(x), independent.project(x), atol=1e-12)


def test_positive_semidefinite_cone(rng):
    cone = PositiveSemidefinite()
    for x in rng.standard_normal((4, 3, 3)):
        nearest = cone.project(x)
        assert cone.contains(nearest)
        symmetric = (x + x.T) / 2
        # Moreau: the symmetric part splits into the cone and its polar, orthogonally.
        rest = symmetric - nearest
        assert cone.contains(-rest)
        assert np.sum(rest * nearest) == pytest.approx(0, abs=1e-12)
        for root in rng.standard_normal((5, 3, 3)):
            c = root @ root.T
            assert np.sum((x - nearest) * (c - nearest)) <= 1e-10
        assert cone.support(rest) == 0
        assert cone.support(np.eye(3)) == np.inf
        assert_array_equal(cone.linear_minimiser(nearest), 0)
    assert not cone.contains(np.array([[1.0, 1.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="square matrix"):
        cone.project(np.zeros((2, 3)))


def test_sets_without_a_common_point_are_refused():
    apart = Intersection([Ball([0.0, 0.0], 1.0), Ball([5.0, 0.0], 1.0)], max_iter=200)
    with pytest.raises(ValueError, match=r"'max_iter' parameter of Intersection .* common point"):
        apart.project(np.zeros(2))
    empty = Polytope([[1.0, 0.0], [-1.0, 0.0]], [1.0, 1.0])
    for method in (empty.project, empty.support, empty.linear_minimiser):
        with pytest.raises(ValueError, match=r"'offset' parameter of Polytope .* satisfies every inequality"):
            method(np.zeros(2))


finite = st.floats(-1e4, 1e4, allow_subnormal=False)
vectors = st.integers(1, 12).flatmap(lambda d: arrays(float, d, elements=finite))


@settings(max_examples=40, deadline=None)
@given(vectors, st.floats(1e-2, 1e3))
def test_simplex_projection_is_a_shift_cut_at_zero(x, total):
    nearest = Simplex(total).project(x)
    room = 1e-10 * max(total, np.max(np.abs(x)))
    assert np.all(nearest >= 0)
    assert np.sum(nearest) == pytest.approx(total, abs=10 * room)
    shift = (x - nearest)[nearest > 0]
    assert np.ptp(shift) <= room
    assert np.all(x[nearest == 0] <= np.min(shift) + room)


@settings(max_examples=40, deadline=None)
@given(vectors, st.floats(0, 1e3))
def test_l1_ball_projection_keeps_signs_and_reaches_the_sphere(x, radius):
    nearest = L1Ball(radius).project(x)
    assert np.all(nearest * x >= 0)
    expected = min(radius, np.sum(np.abs(x)))
    assert np.sum(np.abs(nearest)) == pytest.approx(expected, abs=1e-8 * max(1, np.max(np.abs(x))))


def test_simplex_projection_of_huge_entries():
    assert_array_equal(Simplex(4.0).project(np.array([1e16, 1e16 - 2, 0.0])), [3.0, 1.0, 0.0])


def test_float32_stays_float32(rng):
    x = rng.standard_normal(DIMENSION).astype(np.float32)
    for name, members in VECTOR_SETS.items():
        assert members.project(x).dtype == np.float32, name
