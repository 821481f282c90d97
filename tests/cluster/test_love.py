"""Overlapping clusters of variables: identifiability, recovery, certificates."""

from __future__ import annotations

import inspect
import itertools
import re

import numpy as np
import pytest
from matplotlib.axes import Axes
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

import assay
from assay.cluster import OverlappingClustering, check_identifiability
from assay.cluster.biclustering.overlapping_solver import (
    dantzig,
    factor_covariance,
    onto_unit_ball,
    overlapping_loadings,
    pure_sets,
    reaching,
)

A = np.array(
    [
        [1, 0, 0],
        [-1, 0, 0],
        [1, 0, 0],
        [0, 1, 0],
        [0, 1, 0],
        [0, 0, 1],
        [0, 0, -1],
        [0.5, 0.5, 0],
        [0, -0.4, 0.6],
        [0.3, 0.3, -0.4],
        [0, 0, 0],
    ]
)
C = np.array([[3.0, 0.5, 0.0], [0.5, 2.0, -0.4], [0.0, -0.4, 2.5]])


def sample(n_rows=3000, noise=0.5, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    Z = rng.multivariate_normal(np.zeros(3), C, size=n_rows)
    return Z @ A.T + noise * rng.normal(size=(n_rows, len(A))) + offset, Z


def aligned(loadings, truth):
    """Least difference from the truth over signed permutations of the factors."""
    n_factors = truth.shape[1]
    assert loadings.shape == truth.shape
    return min(
        np.abs(loadings[:, order] * signs - truth).max()
        for order in itertools.permutations(range(n_factors))
        for signs in itertools.product([1.0, -1.0], repeat=n_factors)
    )


@pytest.mark.spec("wei/M10.14")
@pytest.mark.parametrize("method", ["dantzig", "soft", "hard"])
def test_the_population_covariance_gives_back_the_loadings(method):
    covariance = A @ C @ A.T + np.diag(np.linspace(0.3, 1.5, len(A)))
    found = overlapping_loadings(covariance, 1e-9, method)
    assert aligned(found.loadings, A) < 1e-6
    assert [group.tolist() for group in found.pure.members] == [[0, 1, 2], [3, 4], [5, 6]]
    assert_allclose(np.abs(found.factor_covariance), np.abs(C), atol=1e-9)


@pytest.mark.spec("wei/M10.14")
@pytest.mark.parametrize("method", ["dantzig", "soft", "hard"])
def test_samples_give_back_clusters_overlaps_and_factors(method):
    X, Z = sample()
    model = OverlappingClustering(loadings=method, random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert [group.tolist() for group in model.pure_sets_] == [[0, 1, 2], [3, 4], [5, 6]]
    assert aligned(model.loadings_, A) < (0.15 if method != "soft" else 0.4)
    assert set(model.overlaps_) <= {7, 8, 9}
    assert 7 in model.overlaps_
    assert_allclose(model.memberships_[:10].sum(axis=1), 1.0)
    factors = model.transform(X)
    correlations = np.abs(np.corrcoef(factors.T, Z.T)[:3, 3:])
    assert np.all(correlations.max(axis=1) > 0.95)
    assert_allclose(np.diag(model.factor_covariance_), np.diag(C), rtol=0.15)
    assert model.certify(X).require()


@pytest.mark.spec("wei/M10.14")
def test_identifiability_needs_two_pure_variables_and_rows_within_one():
    assert check_identifiability(A).require()
    one_pure = A[[0, 1, 2, 3, 5, 6, 7, 8, 9]]
    failed = check_identifiability(one_pure)
    assert not failed.named("fewest pure variables of a factor").holds
    assert failed.named("largest sum of absolute loadings").holds
    too_large = A.copy()
    too_large[7] = [0.8, 0.5, 0.0]
    assert not check_identifiability(too_large).named("largest sum of absolute loadings").holds
    assert not check_identifiability(0.5 * A).holds
    with pytest.raises(ValueError, match="'loadings' parameter of check_identifiability"):
        check_identifiability([1.0, 2.0])


@pytest.mark.spec("wei/M10.14")
def test_without_a_second_pure_variable_two_models_have_one_covariance():
    # A pure pair fixes the variance of its factor; with one pure variable, variance and noise can be traded.
    first, noise = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.25, 0.5]]), np.array([1.0, 1.0, 2.0, 1.0])
    second, other_noise = first.copy(), noise.copy()
    second[3] = [0.25, 0.8]
    factors, other = np.diag([2.0, 1.6]), np.diag([2.0, 1.0])
    other_noise[2] = 2.0 + 1.6 - 1.0
    other_noise[3] = (first[3] @ factors @ first[3] + 1.0) - second[3] @ other @ second[3]
    assert_allclose(
        first @ factors @ first.T + np.diag(noise),
        second @ other @ second.T + np.diag(other_noise),
        atol=1e-12,
    )
    assert np.all(other_noise > 0)
    assert aligned(first, second) > 0.2
    assert not check_identifiability(first).holds


def test_the_pieces_are_their_definitions():
    X, _ = sample(400)
    covariance = np.cov(X.T, bias=True)
    pure = pure_sets(covariance, 0.2)
    factors = factor_covariance(covariance, pure)
    for a, b in itertools.product(range(len(pure.members)), repeat=2):
        values = [
            s * t * covariance[i, j]
            for i, s in zip(pure.members[a], pure.signs[a], strict=True)
            for j, t in zip(pure.members[b], pure.signs[b], strict=True)
            if i != j
        ]
        assert_allclose(factors[a, b], np.mean(values))
    row = dantzig(factors, factors @ [0.5, 0.0, -0.2], 0.1)
    assert np.abs(factors @ row - factors @ [0.5, 0.0, -0.2]).max() <= 0.1 + 1e-9
    assert np.abs(row).sum() <= 0.7
    point = np.array([0.9, -0.8, 0.1])
    nearest = onto_unit_ball(point)
    assert_allclose(np.abs(nearest).sum(), 1.0)
    assert_allclose(nearest, [0.55, -0.45, 0.0])


@pytest.mark.spec("wei/M10.14")
def test_cross_validation_compares_covariances_of_halves():
    X, _ = sample(600, noise=1.0)
    model = OverlappingClustering(random_state=0).fit(X)
    errors = model.delta_errors_.mean(axis=1)
    chosen = int(np.flatnonzero(model.delta_candidates_ == model.delta_)[0])
    assert errors.argmin() <= chosen
    assert errors[chosen] < 2 * errors.min()
    assert errors[-1] > errors.min()
    again = OverlappingClustering(random_state=0).fit(X)
    assert_array_equal(again.delta_errors_, model.delta_errors_)
    given = OverlappingClustering(delta=model.delta_).fit(X)
    assert_array_equal(given.loadings_, model.loadings_)
    assert given.delta_candidates_.size == 0


@pytest.mark.spec("wei/M10.14")
@pytest.mark.parametrize(("u", "expected"), [(0.74, [0, 1]), (0.76, [0, 1, 2])])
def test_a_variable_is_near_a_row_maximum_within_two_delta(u, expected):
    # 0 and 1 are pure with covariance 1; δ = 1/8, so that 2 is near their maximum from 0.75 on.
    covariance = np.array([[2.0, 1.0, u], [1.0, 2.0, -u], [u, -u, 2.0]])
    assert [group.tolist() for group in pure_sets(covariance, 0.125).members] == [expected]


@pytest.mark.spec("wei/M10.14")
@pytest.mark.parametrize(("u", "expected"), [(0.74, [0, 1, 2]), (0.76, [0, 1])])
def test_a_variable_is_pure_when_it_reaches_the_maxima_of_its_set_within_two_delta(u, expected):
    # 3 is near 0 and 1 alone: from 0.75 on it counts as pure, and its set meets {0, 1, 2} in {0, 1}.
    covariance = np.full((4, 4), 1.0)
    covariance[3, :2] = covariance[:2, 3] = u
    covariance[3, 2] = covariance[2, 3] = u - 0.3
    assert [group.tolist() for group in pure_sets(covariance, 0.125).members] == [expected]


@pytest.mark.spec("wei/M10.14")
@pytest.mark.parametrize(("u", "expected"), [(0.74, [0, 1]), (0.76, [0, 1, 2])])
def test_a_member_stays_when_its_maximum_is_reached_inside_within_two_delta(u, expected):
    sizes = np.array([[-np.inf, 1.0, u], [1.0, -np.inf, u], [u, u, -np.inf]])
    assert reaching(sizes, np.ones(3), np.arange(3), 0.125).tolist() == expected


@pytest.mark.spec("wei/M10.14")
@pytest.mark.parametrize("method", ["dantzig", "soft", "hard"])
def test_loadings_of_other_variables_are_thresholded_at_two_delta(method):
    delta, covariance = 0.06, A @ C @ A.T + np.diag(np.linspace(0.3, 1.5, len(A)))
    found = overlapping_loadings(covariance, delta, method)
    assert [group.tolist() for group in found.pure.members] == [[0, 1, 2], [3, 4], [5, 6]]
    inverse = np.linalg.inv(found.factor_covariance)
    level = 2 * delta * np.linalg.norm(inverse, np.inf)
    for variable in (7, 8, 9, 10):
        sets = zip(found.pure.members, found.pure.signs, strict=True)
        theta = np.array([np.mean(signs * covariance[variable, group]) for group, signs in sets])
        plain, row = inverse @ theta, found.loadings[variable]
        if method == "soft":
            assert_allclose(row, np.sign(plain) * np.maximum(np.abs(plain) - level, 0), atol=1e-12)
        elif method == "hard":
            assert_allclose(row, np.where(np.abs(plain) > level, plain, 0), atol=1e-12)
        else:  # minimise Σt over −t ≤ a ≤ t and |θ − Ca| ≤ 2δ
            eye, none, factors = np.eye(3), np.zeros((3, 3)), found.factor_covariance
            program = optimize.linprog(
                np.repeat([0.0, 1.0], 3),
                A_ub=np.block([[eye, -eye], [-eye, -eye], [factors, none], [-factors, none]]),
                b_ub=np.concatenate([np.zeros(6), 2 * delta + theta, 2 * delta - theta]),
                bounds=(None, None),
            )
            assert_allclose(np.abs(row).sum(), program.fun, atol=1e-8)
            assert np.abs(theta - factors @ row).max() <= 2 * delta + 1e-9
    assert np.any(found.loadings[7:10] != A[7:10])


@pytest.mark.spec("wei/M10.14")
def test_candidates_follow_the_rate_and_the_largest_within_one_standard_error_is_chosen():
    X, _ = sample(600, noise=1.0)
    model = OverlappingClustering(random_state=0, n_splits=5).fit(X)
    rate = X.var(axis=0).mean() * np.sqrt(np.log(11) / 600)
    assert_allclose(model.delta_candidates_, rate * np.geomspace(0.1, 4.0, 16))
    excess = model.delta_errors_ - model.delta_errors_[model.delta_errors_.mean(axis=1).argmin()]
    noise = excess.std(axis=1) / np.sqrt(5)
    within = excess.mean(axis=1) <= noise + 1e-12
    assert model.delta_ == model.delta_candidates_[within].max()
    # The error of the first split: the covariances of one half against those the other half implies.
    order = np.random.default_rng(0).permutation(600)
    first, second = (np.cov(X[half].T, bias=True) for half in (order[:300], order[300:]))
    for place in (0, 5, 11):
        fit = overlapping_loadings(first, np.sqrt(2) * model.delta_candidates_[place], "hard")
        difference = second - fit.loadings @ fit.factor_covariance @ fit.loadings.T
        error = np.mean(difference[~np.eye(11, dtype=bool)] ** 2) / X.var(axis=0).mean() ** 2
        assert_allclose(model.delta_errors_[place, 0], error)
    shortfall = model.certificates_.named("largest shortfall of a pure variable")
    assert shortfall.bound == pytest.approx(2 * model.delta_)


def test_rows_on_disk_give_the_fit_of_memory(tmp_path):
    X, _ = sample(500)
    np.save(tmp_path / "X.npy", X)
    memory = OverlappingClustering(delta=0.2).fit(X)
    disk = OverlappingClustering(delta=0.2).fit(str(tmp_path / "X.npy"))
    assert_allclose(disk.loadings_, memory.loadings_, atol=1e-9)
    assert_allclose(disk.transform(str(tmp_path / "X.npy")), memory.transform(X), atol=1e-8)
    assert disk.certify(str(tmp_path / "X.npy")).holds
    with pytest.raises(ValueError, match=r"'delta' parameter.*outside memory"):
        OverlappingClustering().fit(str(tmp_path / "X.npy"))


def test_dask_gives_the_fit_of_memory_and_stays_lazy():
    da = pytest.importorskip("dask.array")
    X, _ = sample(300)
    lazy = da.from_array(X, chunks=(100, 4))
    memory = OverlappingClustering(delta=0.2).fit(X)
    remote = OverlappingClustering(delta=0.2).fit(lazy)
    assert_allclose(remote.loadings_, memory.loadings_, atol=1e-9)
    assert isinstance(remote.transform(lazy), da.Array)


def test_certificates_fail_on_a_damaged_fit():
    X, _ = sample(800)
    model = OverlappingClustering(random_state=0).fit(X)
    assert model.certify(X).holds
    model.loadings_ = model.loadings_ * 1.1
    assert not model.certify(X).named("largest sum of absolute loadings").holds
    assert not model.certify(X).named("largest error of a loading").holds
    model = OverlappingClustering(random_state=0).fit(X)
    model.pure_sets_ = [np.array([0, 3]), *model.pure_sets_[1:]]
    assert not model.certify(X).named("largest shortfall of a pure variable").holds
    model.factor_covariance_ = -model.factor_covariance_
    assert not model.certify(X).named("least eigenvalue of Cov(Z)").holds


def test_float32_stays_float32_and_a_saved_model_comes_back_whole(tmp_path):
    X, _ = sample(500)
    single = OverlappingClustering(random_state=0).fit(X.astype(np.float32))
    assert single.loadings_.dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.certificates_.holds
    assay.save(single, tmp_path / "model.skops")
    loaded = assay.load(tmp_path / "model.skops")
    assert_array_equal(loaded.loadings_, single.loadings_)
    assert loaded.certificates_ == single.certificates_
    assert list(single.get_feature_names_out()) == [f"overlappingclustering{k}" for k in range(3)]


def test_the_picture_shows_the_loadings():
    X, _ = sample(300)
    model = OverlappingClustering(random_state=0).fit(X)
    for ax in (model.plot(X), model.plot()):
        assert isinstance(ax, Axes)
        assert ax.has_data()
        assert ax.get_xlabel()


def test_the_docstring_says_what_is_computed_and_certified():
    text = inspect.getdoc(OverlappingClustering)
    assert re.search(r"^Finds\b", text, re.MULTILINE)
    for part in ("Certificates:", "Parameters\n---", "Attributes\n---", "Examples\n---", "References\n---"):
        assert part in text
    assert set(inspect.signature(OverlappingClustering).parameters) == set(OverlappingClustering._domains)
    for name in OverlappingClustering._domains:
        with pytest.raises(
            ValueError, match=rf"The '{name}' parameter of OverlappingClustering must be .* Got "
        ):
            OverlappingClustering(**{name: object()}).fit(np.ones((4, 4)))


def test_hard_tables_neither_crash_nor_lie():
    X, _ = sample(300)
    tables = {
        "constant": np.column_stack([X, np.full(len(X), 7.0)]),
        "duplicate column": np.column_stack([X, X[:, 0]]),
        "duplicated rows": np.vstack([X, X]),
        "huge": X * 1e8,
        "tiny": X * 1e-8,
        "far": X + 1e8,
    }
    plain = OverlappingClustering(random_state=0).fit(X)
    for name, table in tables.items():
        with np.errstate(all="raise", under="ignore"):
            model = OverlappingClustering(random_state=0).fit(table)
        assert np.isfinite(model.loadings_).all(), name
        assert np.isfinite(model.transform(table)).all(), name
        if name in ("huge", "tiny", "far"):
            assert_allclose(model.loadings_, plain.loadings_, atol=1e-4)


def test_bad_tables_are_refused_in_one_sentence():
    X, _ = sample(50)
    for value in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 2] = value
        with pytest.raises(ValueError, match=r"NaN|infinity") as refusal:
            OverlappingClustering().fit(broken)
        assert "\n" not in str(refusal.value)
    with pytest.raises(ValueError, match="n_samples=1"):
        OverlappingClustering().fit(X[:1])
    with pytest.raises(ValueError, match="n_features=1"):
        OverlappingClustering().fit(X[:, :1])
    with pytest.raises(ValueError, match="All covariances of X are 0"):
        OverlappingClustering().fit(np.ones((9, 4)))


def test_noise_of_any_kind_has_a_set_of_two_or_more_pure_variables():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(rng.integers(4, 30), rng.integers(2, 12)))
        covariance = np.cov(X, rowvar=False)
        for delta in (0.0, 0.01, 0.05, 0.5):
            found = pure_sets(covariance.copy(), delta * np.abs(covariance).max())
            assert found.members
            assert all(len(group) > 1 for group in found.members)
            assert all(np.all(np.diff(group) > 0) for group in found.members)
