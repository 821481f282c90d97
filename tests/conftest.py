"""Settings of the whole test run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from blocks import small_blocks as in_small_blocks

# The same examples on every machine, however slow it is.
settings.register_profile(
    "house", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")


@pytest.fixture(autouse=True)
def _global_random_state_is_untouched(request):
    """No test and no code under test may advance NumPy's global random state.

    Some of scikit-learn's own checks shuffle with it: they are let be.
    """
    if request.node.get_closest_marker("shuffles_globally"):
        yield
        return
    before = np.random.get_state()
    yield
    after = np.random.get_state()
    assert before[2] == after[2]
    assert np.array_equal(before[1], after[1])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240131)


@pytest.fixture
def small_blocks():
    """Walk rows in blocks of 64: a table of a few hundred rows is many blocks."""
    with in_small_blocks():
        yield
