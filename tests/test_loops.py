"""The vectorisable exponential and logarithm against NumPy's."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
from numba import types
from numba.core import event
from numba.core.caching import NullCache
from numba.core.compiler import Flags
from numba.core.errors import TypingError
from numba.extending import overload
from numpy.testing import assert_allclose

from assay.loops import LOTS, compiled, exp, exp_alike, inner, is_compiling, lean_inner, log


@compiled
def apply_exp(values, result):
    for i in range(values.size):
        result[i] = exp(values[i])


@compiled
def apply_log(values, result):
    for i in range(values.size):
        result[i] = log(values[i])


@pytest.mark.parametrize("width", [1e-300, 1e-8, 1.0, 50.0, 708.0])
def test_exp_is_numpys_to_the_last_digits(rng, width):
    values = rng.uniform(-width, width, size=20_000)
    result = np.empty_like(values)
    apply_exp(values, result)
    assert_allclose(result, np.exp(values), rtol=5e-16)


@compiled
def apply_exp_alike(values, result):
    for i in range(values.shape[0]):
        result[i] = exp_alike(values[i])


def test_exp_of_single_precision_is_numpys_to_its_last_digits(rng):
    values = np.concatenate([[-87.0, 0.0, 88.0], rng.uniform(-87, 88, size=20_000), rng.normal(size=20_000)])
    single = values.astype(np.float32)
    result = np.empty_like(single)
    apply_exp_alike(single, result)
    assert_allclose(result, np.exp(single.astype(np.float64)), rtol=2e-7)
    double = np.empty_like(values)
    apply_exp_alike(values, double)
    assert_allclose(double, np.exp(values), rtol=5e-16)
    apply_exp_alike(np.array([-1e30, 1e30], dtype=np.float32), result[:2])
    assert_allclose(result[:2], np.exp([-87.0, 88.0]), rtol=2e-7)


def test_exp_is_clamped_at_both_ends():
    values, result = np.array([-1e9, -708.0, 709.0, 1e9]), np.empty(4)
    apply_exp(values, result)
    assert_allclose(result, np.exp([-708.0, -708.0, 709.0, 709.0]), rtol=5e-16)


@pytest.mark.parametrize(("low", "high"), [(1e-300, 1e-290), (0.5, 2.0), (0.999, 1.001), (1.0, 1e300)])
def test_log_is_numpys_to_the_last_digits(rng, low, high):
    values = np.concatenate([[low, high], rng.uniform(low, high, size=20_000)])
    result = np.empty_like(values)
    apply_log(values, result)
    assert_allclose(result, np.log(values), rtol=1e-15, atol=1e-300)


def test_compiled_loops_accept_both_precisions():
    for dtype in (np.float32, np.float64):
        values, result = np.linspace(-3, 3, 7).astype(dtype), np.empty(7, dtype)
        apply_exp(values, result)
        assert_allclose(result, np.exp(values), rtol=1e-6)


STALE = """
from typing import NamedTuple
from assay.loops import compiled

class {name}(NamedTuple):
    factor: float

@compiled
def times(form, x):
    return form.factor * x

print(times({name}(2.0), 3.0), len(times.stats.cache_hits))
"""


def test_a_cache_that_names_a_class_of_an_older_version_is_made_anew(tmp_path):
    """The index of a compiled loop holds the classes of its arguments: renaming one must not raise."""
    module = tmp_path / "versions.py"

    def run(name):
        text = STALE.format(name=name)
        if not module.exists() or module.read_text(encoding="utf-8") != text:
            module.write_text(text, encoding="utf-8")
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
        code = [sys.executable, "-c", "import versions"]
        return subprocess.run(code, env=environment, capture_output=True, text=True, check=True).stdout

    assert run("First") == "6.0 0\n"
    assert run("Other") == "6.0 0\n"  # as long as the first, on the same line: the same index
    assert run("Other") == "6.0 1\n"


def test_a_compilation_under_way_is_known_and_one_already_made_is_none():
    seen = []

    class Watch(event.Listener):
        def on_start(self, event):
            seen.append(is_compiling())

        def on_end(self, event):
            pass

    @compiled
    def twice(x):
        return 2 * x

    twice._cache = NullCache()  # not that of an earlier run
    with event.install_listener("numba:compile", Watch()):
        assert twice(3.0) == 6.0
        assert seen == [True]
        assert twice(4.0) == 8.0
    assert seen == [True]
    assert not is_compiling()


def test_cycles_are_searched_for_in_lots_while_a_loop_is_compiled_and_as_before_after_it():
    @compiled
    def outer(x):
        return searched(x) + 1

    def searched(x):
        raise NotImplementedError

    outer._cache = NullCache()
    during = []

    @overload(searched)
    def compiled_search(x):
        during.append(gc.get_threshold())
        if x == types.unicode_type:
            raise TypingError("no words")
        return lambda x: x

    before = gc.get_threshold()
    try:
        gc.set_threshold(701, 11, 12)
        outer(1.0)
        with pytest.raises(TypingError):
            outer("word")
        assert during
        assert set(during) == {LOTS}
        assert gc.get_threshold() == (701, 11, 12)
    finally:
        gc.set_threshold(*before)


def test_a_loop_that_only_loops_call_is_copied_into_them_and_has_no_address():
    @inner
    def total(values):
        result = 0.0
        for value in values:
            result += value
        return result

    @compiled
    def mean(values):
        return total(values) / values.shape[0]

    assert mean(np.array([1.0, 2.0, 6.0])) == 3.0
    (made,) = total.overloads.values()
    assert made.library.get_pointer_to_function(made.fndesc.mangled_name) == 0
    (caller,) = mean.overloads.values()
    assert caller.library.get_pointer_to_function(caller.fndesc.mangled_name) != 0


@pytest.mark.parametrize("kind", [inner, lean_inner])
def test_a_loop_that_only_loops_call_is_refused_to_python(kind):
    @kind
    def total(values):
        return values[0] + values[1]

    @compiled
    def mean(values):
        return total(values) / 2

    values = np.array([1.0, 2.0])
    for _ in range(2):  # the second call finds it compiled
        with pytest.raises(TypeError, match="total has no code of its own: only compiled loops may call it"):
            total(values)
        assert mean(values) == 1.5


def test_settings_of_the_compiler_are_equal_where_all_their_values_are():
    plain, same, other = Flags(), Flags(), Flags()
    same.nrt = Flags.options["nrt"].default
    other.nrt = not Flags.options["nrt"].default
    assert plain == same
    assert hash(plain) == hash(same)
    assert plain.values() == same.values()
    assert plain != other
    assert plain != "nrt"
