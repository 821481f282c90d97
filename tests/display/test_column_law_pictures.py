"""Pictures of laws of columns and of costs show the numbers of the fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from numpy.testing import assert_allclose
from scipy.stats import norm, poisson

from assay.datasets import GaussianBernoulli, iris, two_gaussians_law
from assay.discriminant import (
    BayesClassifier,
    GaussianNB,
    GenerativeClassifier,
    MixedDiscriminant,
    MultinomialNB,
    NaiveBayes,
    PlugInClassifier,
)


def curves(ax):
    return [line.get_xydata().T for line in ax.lines]


def bars(ax, n_classes):
    """Heights of the bars of each class, in the order of their places."""
    return [[bar.get_height() for bar in group] for group in ax.containers[:n_classes]]


def test_gaussian_columns_are_normal_curves_of_the_most_telling_column():
    X, y = iris(return_X_y=True)
    model = GaussianNB().fit(X, y)
    ax = model.plot(X, y)
    assert ax.get_xlabel() == "x3"  # width of petals
    for k, (grid, heights) in enumerate(curves(ax)):
        assert_allclose(
            heights, norm.pdf(grid, X[y == k, 3].mean(), X[y == k, 3].std()), rtol=1e-4, atol=1e-9
        )
    assert model.plot(column=0).get_xlabel() == "x0"
    with pytest.raises(ValueError, match="'column' must be a name or a place below 4"):
        model.plot(column="nowhere")


def test_histograms_and_kernel_densities_have_area_one():
    X, y = iris(return_X_y=True)
    for family in ("histogram", "kernel"):
        ax = NaiveBayes(family).fit(X, y).plot(column=0)
        for grid, heights in curves(ax):
            assert np.trapezoid(heights, grid) == pytest.approx(1, abs=1e-6)


def test_levels_counts_and_words_are_bars_of_their_probabilities(rng):
    y = rng.integers(0, 2, 300)
    frame = pd.DataFrame({"town": rng.choice(["Lyon", "Nice"], 300), "n": rng.poisson(1 + 3 * y)})
    model = NaiveBayes({"n": "poisson"}).fit(frame, y)
    ax = model.plot(column="town")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["Lyon", "Nice"]
    for k, heights in enumerate(bars(ax, 2)):
        counts = [np.sum((frame.town == town) & (y == k)) + 1 for town in ("Lyon", "Nice")]
        assert_allclose(heights, np.array(counts) / np.sum(counts))
    assert model.plot().get_xlabel() == "n"
    for k, heights in enumerate(bars(model.plot(column="n"), 2)):
        rate = model.laws_["poisson"]["rates"][k, 0]
        assert_allclose(heights, poisson.pmf(np.arange(len(heights)), rate))
    words = MultinomialNB().fit(rng.poisson(2, (50, 4)), y[:50])
    assert_allclose(bars(words.plot(), 2), np.exp(words.feature_log_prob_))


def test_mixed_columns_are_shown_by_their_kind():
    X, y = GaussianBernoulli([[-0.5], [0.5]], [[0.2], [0.8]]).sample(300, 0)
    model = MixedDiscriminant().fit(X, y)
    heights = bars(model.plot(column=1), 2)
    assert_allclose(heights, np.column_stack([1 - model.probabilities_, model.probabilities_]))
    grid, first = curves(model.plot(column=0))[0]
    assert_allclose(first, norm.pdf(grid, model.means_[0, 0], np.sqrt(model.covariance_[0, 0, 0])))


def test_costs_meet_at_the_threshold():
    X, y = two_gaussians_law().sample(200, random_state=0)
    ax = PlugInClassifier(costs=[[0, 1], [4, 0]]).fit(X, y).plot()
    first, second, mark = (line.get_xydata() for line in ax.lines)
    assert_allclose(first, [[0, 0], [1, 4]])
    assert_allclose(second, [[0, 1], [1, 0]])
    assert_allclose(mark[:, 0], 0.2)
    X, y = iris(return_X_y=True)
    costs = np.array([[0, 1, 2], [3, 0, 1], [1, 5, 0]])
    ax = BayesClassifier(costs=costs).fit(X, y).plot()
    assert [text.get_text() for text in ax.texts] == [str(cost) for cost in costs.ravel()]
    assert_allclose(ax.images[0].get_array()[:, :, 3], 0.85 * costs / 5, atol=0.01)


def test_shares_of_classes_are_bars():
    X, y = iris(return_X_y=True)
    ax = GenerativeClassifier(priors=[0.2, 0.3, 0.5]).fit(X, y).plot()
    assert [bar.get_width() for bar in ax.patches] == [0.2, 0.3, 0.5]
    assert ax.patches[0].get_facecolor() != to_rgba("white")
