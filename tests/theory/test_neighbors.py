"""Risks of neighbours: asymptotic formulas, Stone's theorem, Theorem 63 and the curse of dimensionality."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr
from scipy.stats import binom

from assay.datasets import ClassificationLaw, GaussianClasses, LatticeLaw
from assay.neighbors import KNeighborsClassifier
from assay.theory import (
    ball_share_of_cube,
    cover_hart,
    inner_share,
    knn_certificate,
    knn_lower_bound_n,
    knn_risk_bound,
    knn_sample_complexity,
    lattice_size,
    nearest_neighbor_risk,
    neighbor_risk_curve,
    smallest_risk,
)

GRID = np.linspace(0.0, 1.0, 401)


class CubeLaw(ClassificationLaw):
    """X uniform on [0, 1]^d, η(x) = ½ + s (x₁ − ½): L-Lipschitz with L = s, slope at most 1."""

    def __init__(self, slope, n_features):
        self._set(n_features=n_features, slope=slope, classes=np.array([0, 1]), priors=np.array([0.5, 0.5]))

    def log_joint(self, X):
        eta = 0.5 + self.slope * (np.asarray(X)[:, 0] - 0.5)
        with np.errstate(divide="ignore"):
            return np.log(np.column_stack([1 - eta, eta]))

    def _draw_features(self, n_samples, rng):
        return rng.uniform(size=(n_samples, self.n_features))

    def _draw_rows(self, n_samples, rng):
        from assay.datasets import Sample

        X = self._draw_features(n_samples, rng)
        eta = 0.5 + self.slope * (X[:, 0] - 0.5)
        return Sample(X, (rng.uniform(size=n_samples) < eta).astype(int))

    def _draw(self, components, rng):
        raise NotImplementedError

    def _closed_form_bayes_risk(self):
        return 0.5 - self.slope / 4  # E min(η, 1 − η), η uniform on ½ ± s/2


@pytest.mark.spec("rudi/T6.4")
def test_the_risk_of_one_neighbour_tends_to_the_formula_between_its_bounds():
    law = GaussianClasses([[0.0], [2.0]])
    eta = law.posterior(law.sample(200_000, random_state=0).X)[:, 1]
    formula = np.mean(2 * eta * (1 - eta))
    assert_allclose(nearest_neighbor_risk(eta, 1), formula)
    bayes = law.bayes_risk().value
    assert_allclose(bayes, ndtr(-1.0))
    assert bayes <= formula <= 2 * bayes * (1 - bayes)
    curve = neighbor_risk_curve(lambda: KNeighborsClassifier(1), law, [3000], n_fits=12)
    assert abs(curve.risk[0] - formula) < 4 * curve.standard_error[0] + 1e-3
    lower, upper = cover_hart(formula)
    assert lower <= bayes <= upper
    # The bounds are reached: R₁ = R* for η in {0, ½, 1}, R₁ = 2R*(1 − R*) for a constant η.
    assert_allclose(nearest_neighbor_risk([0.0, 0.5, 1.0]), smallest_risk([0.0, 0.5, 1.0]))
    assert_allclose(cover_hart(nearest_neighbor_risk([0.3])).lower, 0.3)


@pytest.mark.spec("rudi/T6.5")
def test_a_fixed_number_of_neighbours_keeps_an_excess_that_falls_over_odd_numbers():
    by_hand = {
        k: GRID * binom.cdf((k - 1) // 2, k, GRID) + (1 - GRID) * (1 - binom.cdf((k - 1) // 2, k, GRID))
        for k in (1, 3, 5, 7, 11, 51)
    }
    bayes, before = np.minimum(GRID, 1 - GRID), np.full(GRID.size, np.inf)
    for k, expected in by_hand.items():
        risks = np.array([nearest_neighbor_risk([eta], k) for eta in GRID])
        assert_allclose(risks, expected, atol=1e-12)
        inside = (GRID > 0) & (GRID < 1) & (GRID != 0.5)
        excess = risks - bayes
        # Beyond the last digit: for η near 0 the excess of 51 neighbours is below it.
        assert (excess[inside & (GRID > 0.35) & (GRID < 0.65)] > 0).all()
        assert (excess > -1e-12).all()
        assert_allclose(excess[[0, GRID.size // 2, -1]], 0.0, atol=1e-12)
        assert excess.max() <= 1 / np.sqrt(k * np.e)
        assert (risks <= before + 1e-12).all()
        before = risks
    largest = [max(nearest_neighbor_risk([eta], k) - min(eta, 1 - eta) for eta in GRID) for k in (1, 3)]
    assert_allclose(largest, [0.125, 0.087], atol=5e-4)


@pytest.mark.spec("rudi/T6.5")
def test_an_even_number_is_worse_than_the_odd_one_below_where_ties_go_to_the_less_likely_class():
    for k in (2, 4, 10):
        # With a tie to class 1 the average over η and 1 − η is that of k − 1; each alone may be far worse.
        both = [nearest_neighbor_risk([eta, 1 - eta], k) for eta in GRID]
        odd = [nearest_neighbor_risk([eta, 1 - eta], k - 1) for eta in GRID]
        assert_allclose(both, odd, atol=1e-12)
        for eta in GRID[1:-1]:
            gain = nearest_neighbor_risk([eta], k - 1) - nearest_neighbor_risk([eta], k)
            # P(B < k/2) and P(B ≥ k/2) differ from those of k − 1 by half of the ties.
            assert_allclose(gain, (eta - 0.5) * binom.pmf(k // 2, k, eta), atol=1e-12)
    # η = 0.4: the tie goes to class 1, the wrong one more often than not, and two are worse than one.
    assert nearest_neighbor_risk([0.4], 2) > nearest_neighbor_risk([0.4], 1)
    # A tie happens in the simulation too, with the rule of the notes.
    rng, n_rows = np.random.default_rng(0), 20_000
    X = rng.uniform(size=(n_rows, 1))
    y = (rng.uniform(size=n_rows) < 0.4).astype(int)
    answers = KNeighborsClassifier(2, ties="positive").fit(X, y).predict(None)
    risk = np.mean(np.where(answers == 1, 0.6, 0.4))
    assert abs(risk - nearest_neighbor_risk([0.4], 2)) < 4 * 0.1 / np.sqrt(n_rows / 3)


def consistency(sizes, n_fits):
    law = GaussianClasses([[0.0], [1.5]])
    curves = {
        name: neighbor_risk_curve(lambda k=k: KNeighborsClassifier(k), law, sizes, n_fits=n_fits, n_test=4000)
        for name, k in (("growing", "auto"), ("one", 1), ("three", 3))
    }
    bayes = law.bayes_risk().value
    eta = law.posterior(law.sample(200_000, random_state=1).X)[:, 1]
    growing = curves["growing"]
    assert growing.n_neighbors[-1] > growing.n_neighbors[0]
    excess = growing.risk - bayes
    assert (np.diff(growing.risk) < 2 * growing.standard_error[1:]).all()
    assert excess[-1] < 0.35 * excess[0]
    for name, k in (("one", 1), ("three", 3)):
        limit = nearest_neighbor_risk(eta, k)
        last = curves[name]
        assert abs(last.risk[-1] - limit) < 5 * last.standard_error[-1] + 2e-3
        assert last.risk[-1] - bayes > 0.5 * (limit - bayes) > 5 * excess[-1] / 2
    return excess


@pytest.mark.spec("rudi/T6.6")
def test_the_risk_of_a_growing_number_tends_to_that_of_bayes_and_of_a_fixed_one_does_not():
    consistency([50, 400, 3200], n_fits=12)


@pytest.mark.slow
@pytest.mark.spec("rudi/T6.6")
def test_the_excess_of_a_growing_number_vanishes():
    excess = consistency([50, 400, 3200, 25_600], n_fits=20)
    assert excess[-1] < 0.004


@pytest.mark.spec("sangnier/CD-T1")
def test_theorem_63_bounds_the_risk_on_a_law_and_fails_below_its_slope():
    law = CubeLaw(slope=1.0, n_features=1)
    for n_rows in (200, 20_000):
        X, y = law.sample(n_rows, random_state=0)
        model = KNeighborsClassifier(10).fit(X, y)
        proof = knn_certificate(model, law, lipschitz=1.0, random_state=1)
        assert proof.holds
        expected = (1 + np.sqrt(0.8)) * 0.25 + (6 * 1.0 + 10) * n_rows**-0.5
        assert_allclose(proof.bound, expected)
        assert proof.vacuous == (expected >= 0.5)
    # A rule far worse than the neighbours of the law breaks the bound: labels turned around.
    turned = KNeighborsClassifier(10).fit(X, 1 - y)
    assert not knn_certificate(turned, law, lipschitz=1.0, random_state=1).holds
    # One neighbour short of the theorem is refused.
    with pytest.raises(ValueError, match="n_neighbors"):
        knn_risk_bound(100, 1, 9, 1.0, 0.1)


@pytest.mark.spec("sangnier/CD-T1")
def test_a_slope_below_that_of_the_law_makes_the_bound_fail():
    law = LatticeLaw(3000, 1, random_state=0)  # noise-free labels; η rises with the slope 3000
    model = KNeighborsClassifier(10).fit(*law.sample(3000, random_state=1))
    honest = knn_certificate(model, law, lipschitz=3000.0, random_state=2)
    assert honest.holds
    assert honest.vacuous
    claimed = knn_certificate(model, law, lipschitz=0.1, random_state=2)
    assert_allclose(claimed.bound, (0.6 + 10) / np.sqrt(3000))
    assert claimed.value > 0.3 > claimed.bound
    assert not claimed.holds
    assert not claimed.vacuous


@pytest.mark.spec("sangnier/CD-T1")
def test_calculators_are_the_formulas_and_invert_each_other():
    n = knn_sample_complexity(0.2, 3, 12, 1.5)
    assert_allclose(n, ((6 * 1.5 * np.sqrt(3) + 12) / 0.2) ** 4)
    assert_allclose(knn_risk_bound(int(np.ceil(n)), 3, 12, 1.5, 0.0), 0.2, rtol=1e-6)
    assert knn_lower_bound_n(2.0, 4) == 40.5
    grown = [knn_sample_complexity(0.1, d, 10, 1.0) for d in (1, 2, 5, 8)]
    assert (np.diff(np.log(grown)) > 0).all()


def lattice_errors(slope, n_features, n_laws):
    """Mean errors of 1 and 3 neighbours over lattices, at half the points and at a multiple of them."""
    half = int(knn_lower_bound_n(float(slope), n_features))
    sizes = [half // 4 + 1, half, 12 * half]
    errors = np.empty((n_laws, len(sizes), 2))
    for place in range(n_laws):
        law = LatticeLaw(slope, n_features, random_state=place)
        assert law.bayes_risk().value == 0.0
        assert law.n_points == (slope + 1) ** n_features
        for column, size in enumerate(sizes):
            X, y = law.sample(size, random_state=1000 + place)
            if len(np.unique(y)) < 2:
                errors[place, column] = 0.5
                continue
            for last, k in enumerate((1, 3)):
                model = KNeighborsClassifier(min(k, size)).fit(X, y)
                errors[place, column, last] = law.risk(model, 1500, random_state=place).value
    return errors


@pytest.mark.spec("sangnier/CD-T1")
@pytest.mark.parametrize(
    "n_features", [1, 2, 4, 8, *(pytest.param(d, marks=pytest.mark.slow) for d in (3, 5, 6, 7))]
)
def test_on_the_lattice_a_quarter_is_wrong_until_half_of_it_is_drawn(n_features):
    slope = {1: 60, 2: 8, 3: 5, 4: 3}.get(n_features, 2)
    errors = lattice_errors(slope, n_features, n_laws=6 if n_features == 8 else 16)
    mean, error = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    assert (mean[:2] >= 0.25 - 3 * error[:2]).all()
    # At twelve times as many rows nearly every point was drawn: one neighbour has learnt the table.
    assert mean[2, 0] < 0.02
    assert (mean[1] < mean[0] + 3 * error[0]).all()


def test_the_smallest_lattice_has_both_labels():
    for seed in range(20):
        assert sorted(LatticeLaw(1, 1, random_state=seed).labels) == [0, 1]


@pytest.mark.spec("sangnier/CD-T2")
def test_a_lattice_of_spacing_epsilon_has_epsilon_to_the_minus_d_points():
    assert_allclose([lattice_size(0.01, d) for d in (1, 10)], [1e2, 1e20])
    for d in (1, 2, 3):
        corners = np.stack(np.meshgrid(*[np.arange(0, 1, 0.25)] * d), axis=-1).reshape(-1, d)
        assert lattice_size(0.25, d) == len(corners)


@pytest.mark.spec("sangnier/CD-T3", "sangnier/CD-T4")
def test_balls_vanish_in_their_cubes_and_mass_lies_near_the_surface():
    rng = np.random.default_rng(0)
    n_rows = 100_000
    for d in (1, 2, 3, 6):
        inside = np.linalg.norm(rng.uniform(-1, 1, size=(n_rows, d)), axis=1) <= 1
        share = ball_share_of_cube(d)
        assert abs(inside.mean() - share) < 4.5 * np.sqrt(share * (1 - share) / n_rows) + 1e-12
        assert_allclose(np.linalg.norm(np.full(d, 0.7)), 0.7 * np.sqrt(d))  # the corner at r√d
    assert_allclose(ball_share_of_cube(2), np.pi / 4)
    shares = np.array([ball_share_of_cube(d) for d in range(1, 60)])
    assert (np.diff(shares) < 0).all()
    assert shares[-1] < 1e-30
    # Rows uniform in the unit ball: a direction, and the d-th root of a uniform number as radius.
    for d, epsilon in ((2, 0.1), (10, 0.1), (100, 0.05)):
        radius = rng.uniform(size=n_rows) ** (1 / d)
        inner = np.mean(radius <= 1 - epsilon)
        share = inner_share(epsilon, d)
        assert abs(inner - share) < 4.5 * np.sqrt(share * (1 - share) / n_rows)
        cube = (np.abs(rng.uniform(-1, 1, size=(20_000, d))).max(axis=1) <= 1 - epsilon).mean()
        assert abs(cube - share) < 4.5 * np.sqrt(share * (1 - share) / 20_000)
