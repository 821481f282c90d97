"""Figures of the courses on Gaussian classes: what is drawn is where the mathematics puts it."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from numpy.testing import assert_allclose

from assay.datasets import GaussianClasses, two_gaussians_law
from assay.discriminant import (
    FisherDiscriminant,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from assay.display import (
    EllipsesDisplay,
    FrontierDisplay,
    FrontierPanelsDisplay,
    OutlierTiltDisplay,
    ProjectedDensitiesDisplay,
)
from assay.display.style import ACCENT, INK
from assay.linear import LogisticRegression

NARROW, WIDE = np.array([[1.0, 0.3], [0.3, 0.5]]), np.array([[3.0, -1.0], [-1.0, 2.0]])
EQUAL = GaussianClasses([[0.0, 0.0], [2.0, 1.0]], NARROW, [0.4, 0.6])
UNEQUAL = GaussianClasses([[0.0, 0.0], [2.0, 1.0]], [NARROW, WIDE], [0.4, 0.6])


def frontier(ax, color):
    """Points of the contours drawn in a colour."""
    drawn = [item for item in ax.collections if hasattr(item, "get_paths") and item.get_paths()]
    lines = [
        path.vertices
        for item in drawn
        if len(item.get_edgecolor()) and np.allclose(item.get_edgecolor()[0][:3], to_rgba(color)[:3])
        for path in item.get_paths()
        if type(item).__name__.endswith("ContourSet")
    ]
    return np.vstack(lines)


@pytest.mark.spec("sangnier/X-Fig1.1")
def test_a_point_may_be_nearer_to_one_mean_and_belong_to_the_other():
    long = np.array([[9.0, 0.0], [0.0, 0.25]])
    model = LinearDiscriminantAnalysis.from_parameters([[0.0, 0.0], [4.0, 3.0]], long)
    shown = EllipsesDisplay.from_estimator(model, point=[4.5, 0.5])
    point = np.array([4.5, 0.5])
    euclid = np.linalg.norm(point - model.means_, axis=1)
    metric = [np.sqrt((point - m) @ np.linalg.solve(long, point - m)) for m in model.means_]
    assert (
        (shown.judged.euclidean, shown.judged.mahalanobis) == (np.argmin(euclid), np.argmin(metric)) == (1, 0)
    )
    curves = [line.get_xydata() for line in shown.ax_.get_lines() if len(line.get_xydata()) > 100]
    assert len(curves) == 4
    for curve, mean, radius in zip(curves, model.means_[[0, 0, 1, 1]], [1, 2, 1, 2], strict=True):
        steps = curve - mean
        assert_allclose(np.einsum("ij,jk,ik->i", steps, np.linalg.inv(long), steps), radius**2)
    assert "1 by Euclidean" in shown.ax_.get_title()


@pytest.mark.spec("sangnier/X-Fig1.2", "douc/M3.6")
@pytest.mark.parametrize("law", [EQUAL, UNEQUAL], ids=["same covariance", "different covariances"])
def test_frontiers_lie_on_the_hyperplane_or_quadric_and_beside_the_oracle(law):
    X, y = law.sample(400, random_state=0)
    linear, quadratic = LinearDiscriminantAnalysis().fit(X, y), QuadraticDiscriminantAnalysis().fit(X, y)
    oracle = QuadraticDiscriminantAnalysis.from_parameters(
        law.means, law.covariances, law.priors, law.classes
    )
    shown = FrontierDisplay.from_estimator(linear, X, y, oracle=oracle)
    line = frontier(shown.ax_, INK)
    plane = linear.hyperplane().unit()
    assert_allclose(line @ plane[:2] + plane[2], 0.0, atol=0.02)
    truth = frontier(shown.ax_, ACCENT)
    shape = oracle.quadric()
    slope = np.linalg.norm(truth @ shape.matrix + shape.normal, axis=1)
    assert_allclose(shape.value(truth) / slope, 0.0, atol=0.02)
    alone = FrontierDisplay.from_estimator(quadratic, X, y)
    curve, shape = frontier(alone.ax_, INK), quadratic.quadric()
    named = [text.get_text() for text in alone.ax_.get_legend().get_texts()]
    assert f"fitted: {shape.kind}" in named
    assert alone.shape in ("ellipse", "hyperbola", "parabola")
    slope = np.linalg.norm(curve @ shape.matrix + shape.normal, axis=1)
    assert_allclose(shape.value(curve) / slope, 0.0, atol=0.02)
    wrong = np.mean(linear.predict(X) != y)
    assert f"{1 - wrong:.1%}" in shown.ax_.get_title()
    risks = [law.risk(model, 40_000, random_state=1).value for model in (linear, quadratic)]
    least = law.bayes_risk().value
    assert min(risks) > least - 0.005
    if law is UNEQUAL:
        assert risks[1] < risks[0] - 0.01


@pytest.mark.spec("douc/F3.1")
def test_four_panels_of_oracle_and_fit():
    X, y = UNEQUAL.sample(200, random_state=0)
    pooled = np.tensordot(UNEQUAL.priors, UNEQUAL.covariances, axes=1)
    known = UNEQUAL.means, UNEQUAL.covariances, UNEQUAL.priors, UNEQUAL.classes
    models = [
        LinearDiscriminantAnalysis.from_parameters(known[0], pooled, *known[2:]),
        LinearDiscriminantAnalysis().fit(X, y),
        QuadraticDiscriminantAnalysis.from_parameters(*known),
        QuadraticDiscriminantAnalysis().fit(X, y),
    ]
    names = ["LDA, true", "LDA, fitted", "QDA, true", "QDA, fitted"]
    shown = FrontierPanelsDisplay.from_models(models, X, y, names=names)
    panels = shown.ax_.child_axes
    assert [panel.get_title().partition(":")[0] for panel in panels] == names
    for panel, model in zip(panels, models, strict=True):
        curve = frontier(panel, INK)
        assert_allclose(np.tanh(model.decision_function(curve)), 0.0, atol=0.05)
    # linear frontiers are straight, quadratic ones are not
    bends = [np.linalg.svd(c - c.mean(0))[1][1] for c in (frontier(p, INK) for p in panels)]
    assert max(bends[:2]) < 0.05 < min(bends[2:])


@pytest.mark.spec("sangnier/X-Fig1.3")
def test_projected_densities_are_those_of_the_axis():
    X, y = EQUAL.sample(500, random_state=0)
    model = FisherDiscriminant().fit(X, y)
    shown = ProjectedDensitiesDisplay.from_estimator(model, X, y)
    h = X @ model.components_[0]
    for k, label in enumerate(model.classes_):
        wanted = np.histogram(h[y == label], shown.edges, density=True)[0]
        assert_allclose(shown.heights[k], wanted)
        assert_allclose(np.trapezoid(shown.curves[k], shown.grid), 1.0, atol=0.02)
    assert_allclose(shown.quotient, model.eigenvalues_[0])
    other = X @ np.array([1.0, -1.0])
    assert shown.quotient > _quotient(other, y)
    middle = 0.5 * sum(h[y == label].mean() for label in model.classes_)
    assert abs(shown.cut - middle) < 0.1
    bars = [bar.get_height() for bar in shown.ax_.patches]
    assert_allclose(np.sort(bars), np.sort(shown.heights.ravel()))


def _quotient(h, y):
    shares = np.array([np.mean(y == k) for k in np.unique(y)])
    means = np.array([h[y == k].mean() for k in np.unique(y)])
    return shares @ (means - shares @ means) ** 2 / (shares @ [h[y == k].var() for k in np.unique(y)])


def skewed(n, seed):
    """A class of a Gaussian law, and one that is far from Gaussian: a long arm to one side."""
    random = np.random.default_rng(seed)
    near = random.normal(size=(n, 2)) * [1.0, 0.6]
    arm = random.exponential(8.0, n)
    far = np.column_stack([arm + 0.5, 2.0 + 0.5 * random.normal(size=n)])
    return np.vstack([near, far]), np.repeat([0, 1], n)


@pytest.mark.spec("sangnier/X-Fig1.5")
def test_logistic_regression_beats_linear_discriminant_analysis_on_other_classes():
    X, y = skewed(300, 0)
    new, target = skewed(20_000, 1)
    models = [LinearDiscriminantAnalysis().fit(X, y), LogisticRegression().fit(X, y)]
    errors = [np.mean(model.predict(new) != target) for model in models]
    assert errors[1] < 0.7 * errors[0]
    shown = FrontierPanelsDisplay.from_models(models, X, y, names=["LDA", "logistic"])
    for panel, model in zip(shown.ax_.child_axes, models, strict=True):
        w, b = model.coef_[0], model.intercept_[0]
        line = frontier(panel, INK)
        assert_allclose((line @ w + b) / np.linalg.norm(w), 0.0, atol=0.1)
        assert f"{np.mean(model.predict(X) != y):.1%} wrong" in panel.get_title()


@pytest.mark.spec("sangnier/X-Fig1.7")
def test_an_outlier_tilts_linear_discriminant_analysis_and_not_logistic_regression():
    X, y = two_gaussians_law(2, 2.5).sample(100, random_state=0)
    models = [LinearDiscriminantAnalysis(), LogisticRegression(C=float("inf"))]
    direction = np.array([1.0, 0.2])  # well inside its own half-plane
    shown = OutlierTiltDisplay.from_models(models, X, y, direction, [0.0, 5.0, 20.0, 80.0])
    lda, logistic = shown.angles
    assert lda[0] < 1.0
    assert np.all(np.diff(lda) > 0)
    assert lda[-1] > 25
    assert logistic.max() < 2.0
    # the angle is that of the normals with and without the row
    far = X[y == 1].mean(0) + 20 * direction / np.linalg.norm(direction)
    tilted = LinearDiscriminantAnalysis().fit(np.vstack([X, far]), np.append(y, 1)).coef_[0]
    plain = LinearDiscriminantAnalysis().fit(X, y).coef_[0]
    cosine = tilted @ plain / np.linalg.norm(tilted) / np.linalg.norm(plain)
    assert_allclose(lda[2], np.degrees(np.arccos(cosine)))
    assert len(shown.ax_.get_lines()) == 2
    assert_allclose(shown.ax_.get_lines()[0].get_ydata(), lda)
