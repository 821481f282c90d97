"""Other scales of a target: there and back, and back without bias."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from assay.models.target_transform import TargetScale, helpful_scale, learn_scale, smeared


@pytest.mark.parametrize("power", [-1.5, 0.0, 0.5, 1.0, 2.0, 3.0])
def test_the_way_back_from_yeo_johnson_undoes_the_way_there(rng, power):
    y = 3 * rng.normal(size=200)
    scale = TargetScale("yeo-johnson", power, 2.0, -np.inf, np.inf)._replace(low=-1e9, high=1e9)
    assert_allclose(scale.back(scale.forward(y)), y, rtol=1e-8, atol=1e-9)
    assert_allclose(scale.forward(y), stats.yeojohnson(y / 2.0, lmbda=power))


def test_the_power_is_that_of_the_greatest_likelihood(rng):
    y = np.exp(rng.normal(size=300)) - 1
    scale = learn_scale(y, "yeo-johnson")
    around = [stats.yeojohnson_llf(scale.power + step, y / scale.unit) for step in (-0.05, 0.0, 0.05)]
    assert around[1] == max(around)


def test_the_unit_of_the_target_does_not_matter(rng):
    y = np.exp(rng.normal(size=300)) - 1
    one, other = learn_scale(y, "yeo-johnson"), learn_scale(1000 * y, "yeo-johnson")
    assert other.power == pytest.approx(one.power, abs=1e-3)
    assert_allclose(other.back(other.forward(1000 * y)), 1000 * y, rtol=1e-6)


def test_predictions_far_out_stay_finite():
    scale = learn_scale([1.0, 10.0, 100.0], "log")
    assert scale.back([1e6])[0] == pytest.approx(100 * 100**0.25)
    skewed = learn_scale(np.append(np.linspace(-1, 1, 50), 50.0), "yeo-johnson")
    assert np.isfinite(skewed.back([-1e9, 1e9])).all()


def test_smearing_gives_the_mean_where_the_plain_way_back_gives_the_median(rng):
    """E exp(m + ε) = exp(m) E exp(ε), for an ε that is not normal too."""
    errors = rng.gamma(2.0, 0.4, size=20_000) - 0.8
    scale = TargetScale("log", 0.0, 1.0, -50.0, 50.0)
    exact = np.exp(1.5) * np.exp(-0.8) / (1 - 0.4) ** 2
    mean = smeared(scale, [1.5], errors)[0]
    noise = np.exp(1.5) * np.exp(errors).std() / np.sqrt(errors.size)
    assert abs(mean - exact) <= 3 * noise
    assert scale.back([1.5])[0] < exact - 20 * noise


def test_a_scale_helps_only_a_skewed_target(rng):
    normal = rng.normal(size=400)
    assert helpful_scale(np.exp(normal)) == "log"
    assert helpful_scale(np.exp(normal) - 5) == "yeo-johnson"
    assert helpful_scale(normal) is None
    assert helpful_scale(rng.integers(0, 3, size=400) ** 6.0) is None


def test_what_is_no_scale_is_refused():
    with pytest.raises(ValueError, match="above zero"):
        learn_scale([0.0, 1.0], "log")
    with pytest.raises(ValueError, match="'log' or 'yeo-johnson'"):
        learn_scale([1.0, 2.0], "square")
