"""Remarks on a cloud of predictions: a curve and a fan are seen, and nothing where there is nothing."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from assay.report.page.model_pictures import is_flat
from assay.report.page.patterns import patterns
from assay.report.page.strips import MARGIN, WIDTH, scale_of


def test_a_curve_is_seen_and_which_way_it_goes(rng):
    x = rng.normal(size=400)
    noise = 0.3 * rng.normal(size=400)
    (up,) = patterns(x + 0.3 * x**2 + noise, x)
    assert up == "The cloud bends: predictions at both ends are too low, those between too high."
    (down,) = patterns(x - 0.3 * x**2 + noise, x)
    assert "at both ends are too high, those between too low" in down


def test_a_fan_is_seen_with_its_size(rng):
    x = rng.uniform(1, 2, size=2000)
    for observed, large in (
        (x + (x - 0.9) * rng.normal(size=2000), "great"),
        (x + (2.1 - x) * rng.normal(size=2000), "small"),
    ):
        (told,) = patterns(observed, x)
        assert told.startswith(f"It fans out: {large} predictions miss by ")
        # Mean error in the outer thirds: 0.1 to 0.43 against 0.77 to 1.1, a ratio of 3.5.
        ratio = float(told.split("by ")[1].split(" ")[0])
        assert ratio == pytest.approx(3.5, abs=0.5)


@pytest.mark.parametrize("law", ["normal", "heavy tails", "skewed", "counts"])
def test_a_cloud_without_a_pattern_gets_no_remark(rng, law):
    """At four standard errors less than one in a thousand clouds is remarked on; 400 are looked at."""
    remarked = 0
    for _ in range(400):
        x = rng.normal(size=120)
        noise = {
            "normal": rng.normal(size=120),
            "heavy tails": rng.standard_t(2, size=120),
            "skewed": rng.gamma(1.0, size=120) - 1.0,
            "counts": rng.poisson(3.0, size=120) - 3.0,
        }[law]
        remarked += bool(patterns(x + noise, x))
    assert remarked <= 3


def test_few_rows_constant_predictions_and_perfect_ones_say_nothing(rng):
    x = rng.normal(size=200)
    assert patterns(x[:30] ** 2, x[:30]) == ()
    assert patterns(x, np.full(200, 0.4)) == ()
    assert patterns(x, x) == ()
    assert patterns(np.append(x, np.nan), np.append(x + 0.1 * rng.normal(size=200), np.inf)) == ()


def test_one_far_row_makes_no_pattern(rng):
    x = rng.normal(size=200)
    observed = x + 0.5 * rng.normal(size=200)
    observed[np.argmax(x)] += 1e6
    assert patterns(observed, x) == ()


def test_a_level_line_is_no_picture():
    assert is_flat(np.array([104.96, 104.96, 104.960001]))
    assert is_flat(np.array([]))
    assert not is_flat(np.array([104.96, 142.8]))


def test_the_scale_of_the_strips_is_that_of_the_useful_methods(small_comparisons):
    for comparison in small_comparisons.values():
        scale = scale_of(comparison.candidates)
        assert all(scale.holds(item.score) for item in comparison.candidates)
        assert MARGIN <= scale.place(comparison.best.score) <= WIDTH - MARGIN
        assert scale.place(-1e9) == MARGIN


def test_a_method_that_is_unsure_of_itself_does_not_widen_the_scale():
    baseline = SimpleNamespace(is_baseline=True, score=0.0, standard_error=0.0, sign=1)
    best = SimpleNamespace(is_baseline=False, score=0.5, standard_error=0.02, sign=1)
    unsure = SimpleNamespace(is_baseline=False, score=-0.2, standard_error=3.0, sign=1)
    scale = scale_of([best, baseline, unsure])
    room = 0.04 * 1.2  # beside half of what the best is above the baseline, beyond all scores on both sides
    assert (scale.low, scale.high) == pytest.approx((-0.45 - room, 0.75 + room))
