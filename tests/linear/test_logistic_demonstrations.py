"""Statements of the courses about logistic regression, seen on data whose law is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats
from scipy.special import expit, log_ndtr
from sklearn.metrics import accuracy_score, confusion_matrix

from assay.datasets import ClassificationLaw, digits, two_gaussians_law
from assay.display import plot_images, plot_loss_curves, plot_posterior, plot_traces
from assay.linear import LogisticRegression
from assay.losses import Exponential, Hinge, Logistic, ZeroOne
from assay.optimize import gradient_descent, logistic_objective

INF = float("inf")


@dataclass(frozen=True, eq=False, init=False)
class ExponentialClasses(ClassificationLaw):
    """Features X_j | Y = k ~ Exp(r_kj), independent: far from Gaussian, yet their log-odds are affine."""

    rates: np.ndarray

    def __init__(self, rates, priors=(0.5, 0.5)):
        rates = np.asarray(rates, dtype=float)
        self._set(n_features=rates.shape[1], rates=rates, priors=np.array(priors), classes=np.array([-1, 1]))

    def log_joint(self, X):
        return np.log(self.priors) + np.log(self.rates).sum(axis=1) - np.asarray(X) @ self.rates.T

    def _draw(self, components, rng):
        return rng.exponential(size=(len(components), self.n_features)) / self.rates[components]

    @property
    def coef(self):
        """w* of the log-odds w*ᵀx + b*."""
        return self.rates[0] - self.rates[1]

    @property
    def intercept(self):
        """b* of the same."""
        return float(np.log(self.priors[1] / self.priors[0]) + np.log(self.rates[1] / self.rates[0]).sum())


@pytest.fixture(scope="module")
def law():
    return ExponentialClasses([[1.0, 2.5], [2.0, 0.8]], priors=(0.45, 0.55))


def conditional_risk(law, X):
    """The logistic risk of an affine score given the rows: labels are averaged out by their known law."""
    positive = law.posterior(X)[:, 1]

    def risk(point):
        score = X @ point[:-1] + point[-1]
        return float(np.mean(positive * np.logaddexp(0, -score) + (1 - positive) * np.logaddexp(0, score)))

    return risk


@pytest.mark.spec("sangnier/X-Fig1.4", "peyre/X12")
def test_the_drawn_losses_are_convex_above_the_binary_loss_and_meet_at_zero():
    losses = [ZeroOne(), Hinge(), Logistic(base=2), Exponential()]
    picture = plot_loss_curves(losses)
    u = picture.data["margin"]
    formulas = {
        "Hinge": np.maximum(0, 1 - u),
        "Logistic": np.log2(1 + np.exp(-u)),
        "Exponential": np.exp(-u),
    }
    for line, name in zip(picture.ax_.lines[1:], formulas, strict=True):
        assert_allclose(line.get_ydata(), formulas[name], rtol=1e-12)
        assert np.all(np.diff(line.get_ydata(), 2) >= -1e-12), "convex"
        assert np.all(np.diff(line.get_ydata()) <= 1e-15), "falls with the margin"
        assert np.all(picture.data[name] >= picture.data["ZeroOne"] - 1e-12)
        assert np.interp(0.0, u, picture.data[name]) == pytest.approx(1.0, abs=1e-4)
    binary = picture.data["ZeroOne"]
    assert set(np.unique(binary)) == {0.0, 1.0}
    assert np.any(np.diff(binary, 2) < 0), "the binary loss is not convex"


@pytest.mark.spec("sangnier/X-Fig1.6")
def test_the_surface_of_non_gaussian_classes_is_a_sigmoid_of_an_affine_score(law):
    X, y = law.sample(400, random_state=0)
    picture = plot_posterior(law, X, y)
    surface, (low, high) = picture.data["probabilities"][:, :, 1], picture.data["limits"]
    side = len(surface)
    columns, rows = (a + (np.arange(side) + 0.5) / side * (b - a) for a, b in zip(low, high, strict=True))
    x, z = np.meshgrid(columns, rows)
    assert_allclose(surface, expit(law.coef[0] * x + law.coef[1] * z + law.intercept), rtol=1e-10)
    # Not Gaussian: each feature of each class is as skewed as an exponential law, with skewness 2.
    many, labels = law.sample(40_000, random_state=1)
    for label in law.classes:
        assert np.all(stats.skew(many[labels == label]) > 1.8)
    # The fitted surface is this one, within the errors that its inference tells.
    found = LogisticRegression(C=INF).fit(many, labels).inference()
    truth = np.array([law.intercept, *law.coef])
    assert np.all(np.abs(found.params - truth) < 4 * found.bse)
    assert found.wald_test(np.eye(3), truth).pvalue > 1e-4


@pytest.mark.spec("sangnier/T-1.2.1-a")
def test_affine_log_odds_minimise_the_logistic_risk_and_their_sign_is_bayes_rule(law):
    X, y = law.sample(200_000, random_state=2)
    truth = np.append(law.coef, law.intercept)
    risk = conditional_risk(law, X)
    best = optimize.minimize(risk, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    assert_allclose(best.x, truth, atol=1e-4)
    rng = np.random.default_rng(3)
    for size in (0.03, 0.3, 3.0):
        for direction in rng.normal(size=(10, 3)):
            assert risk(truth + size * direction / np.linalg.norm(direction)) > risk(truth)
    # The same from drawn labels only: the mean slope vanishes at the truth within its sampling error …
    design = np.column_stack([X, np.ones(len(X))])

    def statistic(point):
        slopes = (expit(design @ point) - (y == 1))[:, None] * design
        mean = slopes.mean(axis=0)
        return len(X) * mean @ np.linalg.solve(np.cov(slopes.T), mean)

    assert statistic(truth) < stats.chi2(3).ppf(0.9999)
    # … and not a little beside it.
    assert statistic(truth + [0.05, 0.0, 0.0]) > stats.chi2(3).ppf(0.9999)
    assert_allclose(np.where(design @ truth > 0, 1, -1), law.bayes_rule(X))


@pytest.mark.spec("sangnier/T-1.2.1-a")
def test_the_excess_error_of_logistic_regression_vanishes_with_the_rows(law):
    X, _ = law.sample(30_000, random_state=4)
    positive = law.posterior(X)[:, 1]
    best = np.minimum(positive, 1 - positive).mean()
    sizes, n_draws = np.array([50, 500, 5000]), 40
    excess = np.empty((len(sizes), n_draws))
    for row, size in enumerate(sizes):
        for draw in range(n_draws):
            rule = LogisticRegression(C=INF).fit(*law.sample(int(size), random_state=1000 * row + draw))
            chosen = rule.predict(X) == 1
            excess[row, draw] = np.where(chosen, 1 - positive, positive).mean() - best
    assert np.all(excess >= -1e-12), "no rule beats Bayes' on the same rows"
    mean, error = excess.mean(axis=1), excess.std(axis=1, ddof=1) / np.sqrt(n_draws)
    for few, many in ((0, 1), (1, 2)):
        assert mean[many] + 3 * error[many] < mean[few] - 3 * error[few]
    # For a correct model the excess is of order 1/n: a hundred times the rows divide it by about a hundred.
    ratio = mean[0] / mean[2]
    spread = ratio * np.hypot(error[0] / mean[0], error[2] / mean[2])
    assert abs(ratio - 100) < 4 * spread + 20


@pytest.mark.spec("peyre/X10")
@pytest.mark.parametrize("p", [2, 5])
def test_accuracy_and_norm_grow_with_the_offset_as_the_law_says(p):
    n = 20_000
    accuracies, norms = [], []
    for omega in (0.5, 1.0, 2.0, 4.0):
        law = two_gaussians_law(p, omega)
        model = LogisticRegression(C=INF).fit(*law.sample(n, random_state=0))
        X, y = law.sample(n, random_state=1)
        accuracy, bayes = model.score(X, y), np.exp(log_ndtr(omega / 2))
        error = np.sqrt(bayes * (1 - bayes) / n)
        assert abs(accuracy - bayes) < 4 * error + p / n, "the rule is Bayes' but for terms of order p/n"
        found = model.inference()
        normal = np.full(p, 1 / np.sqrt(p))
        along = found.params[1:] @ normal
        spread = np.sqrt(normal @ found.covariance[1:, 1:] @ normal)
        assert abs(along - omega) < 4 * spread
        assert abs(found.params[0]) < 4 * found.bse[0]
        accuracies.append(accuracy)
        norms.append(np.linalg.norm(model.coef_))
    assert np.all(np.diff(accuracies) > 0)
    assert np.all(np.diff(norms) > 0)
    assert_allclose(norms, [0.5, 1.0, 2.0, 4.0], rtol=0.15)


@pytest.mark.spec("peyre/X10")
def test_offset_classes_are_drawn_over_their_probabilities_with_the_hyperplane():
    law = two_gaussians_law(2, 2.0)
    X, y = law.sample(300, random_state=2)
    model = LogisticRegression().fit(X, y)
    ax = model.plot(X, y)
    assert len(ax.images) == 1
    corners = [{tuple(corner) for corner in patch.get_xy()} for patch in ax.patches]
    common = np.array(sorted(corners[0] & corners[1]))
    assert len(common) == 2, "the two regions share the ends of one line"
    assert_allclose(model.decision_function(common), 0.0, atol=1e-9)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 300


@pytest.mark.spec("peyre/X10")
def test_parted_classes_have_no_best_hyperplane_without_a_penalty():
    X, y = two_gaussians_law(2, 12.0).sample(200, random_state=0)
    with pytest.raises(ValueError, match="A hyperplane separates the classes"):
        LogisticRegression(C=INF).fit(X, y)
    norms = [np.linalg.norm(LogisticRegression(C=C).fit(X, y).coef_) for C in (1.0, 1e3, 1e6)]
    assert norms[0] < norms[1] < norms[2], "the norm grows without end as the penalty fades"
    assert all(LogisticRegression(C=C).fit(X, y).score(X, y) == 1.0 for C in (1.0, 1e6))


@pytest.mark.parametrize(
    "bad", [{"omega": 0}, {"omega": -1.0}, {"omega": np.nan}, {"omega": "far"}, {"n_features": 0}]
)
def test_two_gaussians_refuse_offsets_and_sizes_that_are_none(bad):
    with pytest.raises(
        (ValueError, TypeError), match=f"The '{next(iter(bad))}' parameter of two_gaussians_law must be"
    ):
        two_gaussians_law(**bad)


@pytest.mark.spec("peyre/X11")
def test_energies_of_gradient_descent_fall_below_twice_the_inverse_smoothness_and_not_above():
    X, y = two_gaussians_law(2, 1.0).sample(200, random_state=3)
    X = X * [3.0, 1.0]
    objective = logistic_objective(X, y)
    L = objective.smoothness
    top = np.linalg.eigvalsh(X.T @ X / len(X))[-1]
    assert pytest.approx(top / 4) == L
    best = optimize.minimize(
        lambda w: np.mean(np.logaddexp(0, -y * (X @ w))), np.zeros(2), method="BFGS", options={"gtol": 1e-10}
    )
    iterations, runs = {}, {}
    for share in (0.1, 0.5, 1.0, 1.9):
        found = gradient_descent(objective, np.zeros(2), step=share / L, tol=1e-10, max_iter=5000)
        energy, slope = found.trace.values, found.trace.gradient_norms
        assert np.all(np.diff(energy) <= 1e-15), f"the energy never rises for τ = {share}/L"
        # Each step gains at least τ(1 − τL/2)‖∇‖².
        gain = share / L * (1 - share / 2) * slope[:-1] ** 2
        assert np.all(energy[:-1] - energy[1:] >= gain - 1e-14)
        assert energy[-1] - best.fun < 1e-12
        assert slope[-1] < 1e-8
        iterations[share] = int(np.argmax(slope < 1e-6))
        runs[f"τ = {share}/L"] = found.trace
    assert iterations[0.1] > iterations[0.5] > iterations[1.0], "larger steps are faster up to 1/L"
    # The picture: one curve for each τ, energies above their minimum on the left, slopes on the right.
    left, right = plot_traces(runs, minimum=best.fun).child_axes
    assert [text.get_text() for text in right.get_legend().get_texts()] == list(runs)
    for trace, energies, slopes in zip(runs.values(), left.lines, right.lines, strict=True):
        steps = np.arange(len(trace.values))
        assert_allclose(energies.get_xydata(), np.column_stack([steps, trace.values - best.fun]), atol=1e-14)
        assert_allclose(slopes.get_xydata(), np.column_stack([steps, trace.gradient_norms]), atol=1e-16)
        assert energies.get_color() == slopes.get_color()
    assert left.get_yscale() == right.get_yscale() == "log"
    assert_allclose(plot_traces(runs).child_axes[0].lines[0].get_ydata(), runs["τ = 0.1/L"].values)
    with pytest.raises(ValueError, match="'traces' parameter of plot_traces must be a mapping"):
        plot_traces([])


@pytest.mark.spec("peyre/X11")
def test_gradient_descent_rises_or_swings_for_ever_above_the_threshold():
    # The curvature at the minimum is what decides there: for log-odds near zero it is L itself.
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(100, 2))] * 2)
    y = np.repeat([-1.0, 1.0], 100)
    objective = logistic_objective(X, y)
    L, start = objective.smoothness, np.array([0.3, -0.2])
    below = gradient_descent(objective, start, step=1.9 / L, tol=1e-10, max_iter=3000)
    above = gradient_descent(objective, start, step=2.2 / L, tol=1e-10, max_iter=3000)
    assert below.converged
    assert_allclose(below.point, 0.0, atol=1e-8)
    assert not above.converged
    assert np.any(np.diff(above.trace.values) > 0), "the energy rises somewhere"
    assert above.trace.gradient_norms[-500:].min() > 0.01, "and the slope never vanishes"
    assert above.value > below.value + 1e-3


@pytest.mark.spec("peyre/X11")
def test_the_model_keeps_the_energy_of_its_gradient_descent():
    X, y = two_gaussians_law(2, 1.5).sample(200, random_state=5)
    model = LogisticRegression(
        penalty_strength=0.1, solver="gradient_descent", tol=1e-8, max_iter=5000, history=True
    ).fit(X, y)
    assert np.all(np.diff(model.history_) <= 1e-15)
    ax = model.plot(kind="history")
    assert_allclose(ax.lines[0].get_ydata(), model.history_)
    exact = LogisticRegression(penalty_strength=0.1).fit(X, y)
    energy = exact.empirical_risk_ + 0.05 * np.sum(exact.coef_**2)
    assert model.history_[-1] == pytest.approx(energy, abs=1e-12)


@pytest.fixture(scope="module")
def figures():
    """Digits: even rows to fit, odd rows to judge."""
    table = digits()
    return table.X[::2] / 16, table.y[::2], table.X[1::2] / 16, table.y[1::2]


@pytest.mark.spec("peyre/X16")
def test_digits_are_read_alike_on_rows_seen_and_unseen(figures):
    X, y, X_new, y_new = figures
    model = LogisticRegression(C=1.0, history=True).fit(X, y)
    model.certificates_.require()
    assert model.score(X, y) > 0.98
    n = len(y_new)
    accuracy = model.score(X_new, y_new)
    assert accuracy > 0.94
    assert accuracy == accuracy_score(y_new, model.predict(X_new))
    assert accuracy <= model.score(X, y) + 3 * np.sqrt(accuracy * (1 - accuracy) / n)
    ax = model.plot(X_new, y_new, kind="confusion")
    ink = np.asarray(ax.images[0].get_array())[..., 3]  # the paler a cell, the fewer rows of its line
    counts = confusion_matrix(y_new, model.predict(X_new))
    assert_allclose(ink, 0.55 * counts / counts.sum(axis=1, keepdims=True))
    assert np.all(counts.argmax(axis=1) == np.arange(10))
    assert model.plot(kind="history").lines[0].get_ydata()[0] == pytest.approx(np.log(10), rel=0.01)
    assert np.all(np.diff(model.history_) <= 1e-12)


@pytest.mark.spec("peyre/X16")
def test_sample_digits_are_shown_under_their_labels(figures):
    X, y, _, _ = figures
    ax = plot_images(X[:20], (8, 8), y[:20])
    assert [text.get_text() for text in ax.texts] == [str(digit) for digit in y[:20]]
    sheet = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert_allclose(sheet[14:22, 9:17], X[11].reshape(8, 8))
    with pytest.raises(ValueError, match="labels must be as many as the 20 rows"):
        plot_images(X[:20], (8, 8), y[:3])
    with pytest.raises(ValueError, match=r"number of features, 64\. Got \(8, 9\)"):
        plot_images(X[:20], (8, 9))


@pytest.mark.spec("peyre/X16")
def test_images_of_the_coefficients_are_masks_of_the_digits(figures):
    X, y, _, _ = figures
    model = LogisticRegression(C=1.0).fit(X, y)
    ax = model.plot(image_shape=(8, 8))
    sheet = np.ma.filled(ax.images[0].get_array(), np.nan)
    tiles = [sheet[11 * (k // 5) + 3 : 11 * (k // 5) + 11, 9 * (k % 5) : 9 * (k % 5) + 8] for k in range(10)]
    assert_allclose([tile.ravel() for tile in tiles], model.coef_)
    # The score of an image is its product with the mask; on average the mask of its own digit answers most.
    means = np.array([X[y == digit].mean(axis=0) for digit in range(10)])
    answers = means @ np.array([tile.ravel() for tile in tiles]).T + model.intercept_
    assert np.all(answers.argmax(axis=1) == np.arange(10))
    # Pixels that never have ink get no coefficient.
    assert_allclose(model.coef_[:, X.max(axis=0) == 0], 0.0, atol=1e-12)
