"""The one place where loops are compiled, and the elementary functions that the compiler can vectorise.

`compiled` is Numba's `njit` with the house settings: no GIL, cached on disk, compiled at the first call,
serial (parallelism is the row blocks of `assay.rows`). Floating-point sums may be reordered so that they
vectorise; NaN and infinities keep their meaning.

`exp` and `log` replace `np.exp` and `np.log` inside compiled loops: those stay scalar calls there, these are
polynomials without branches that become vector code.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache
from numba.extending import overload
from numpy.typing import NDArray

from assay.compiler import InnerCompiler

Function = TypeVar("Function", bound=Callable[..., Any])

REORDER = frozenset({"reassoc", "contract", "nsz", "arcp"})
"""Permission to reorder and fuse sums; nothing is assumed about NaN or infinity."""


def compiled(function: Function) -> Function:
    """Compile a loop with the house settings.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.loops import compiled
    >>> @compiled
    ... def total(values):
    ...     result = 0.0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> total(np.array([1.0, 2.0, 3.5]))
    6.5
    """
    return _njit(function, set(REORDER))


def searching(function: Function) -> Function:
    """Compile a loop that looks for largest and least values among numbers that are never NaN.

    Then a largest value is found by vector code; infinities keep their meaning.
    """
    return _njit(function, {*REORDER, "nnan"})


def inlined(function: Function) -> Function:
    """Compile a small function of scalars that is copied into each loop that calls it, which vectorises."""
    return _njit(function, set(REORDER), forceinline=True)


def part(function: Function) -> Function:
    """Compile as lines of the loop that calls it: nothing to hand over, nothing to compile apart."""
    return _njit(function, set(REORDER), inline="always")


def inner(function: Function) -> Function:
    """Compile a loop that other loops call and Python never does; see `InnerCompiler`."""
    return numba.njit(**choices(forceinline=False))(function)


def within(loop: Any) -> Any:
    """A loop that Python calls, as `inner` compiles it, for loops that call it with other arguments."""
    settings = choices(forceinline=False) | {"fastmath": loop.targetoptions["fastmath"]}
    return numba.njit(**settings)(loop.py_func)


def choices(*, forceinline: bool = True) -> Any:
    """Settings (`jit_options`) of what loops choose by the class of an argument, by Numba's `overload`.

    Numba keeps the type of this dictionary private.
    """
    return {
        "forceinline": forceinline,
        "nogil": True,
        "fastmath": set(REORDER),
        "error_model": "numpy",
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "pipeline_class": InnerCompiler,
    }


def lean(function: Function) -> Function:
    """Compile a loop that allocates nothing: no array is counted as it is handed on.

    Counting takes longer than a small node of a tree, and compiling it longer than the rest of the loop.
    """
    return _njit(function, set(REORDER), _nrt=False)


def lean_inner(function: Function) -> Function:
    """Compile a loop that allocates nothing, copied into the `lean` ones that call it; see `InnerCompiler`.

    Loops of many parts compile a third faster than where each is a `part`, and run as fast.
    """
    return numba.njit(**{**choices(), "_nrt": False})(function)


def read_only(values: NDArray) -> NDArray:
    """The same numbers, in C order and not to be written to, as those of a memory map are.

    A loop that only reads them is compiled once, wherever they come from.
    """
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view


def _exact(function: Function) -> Function:
    """Compile without reordering: the two-part constants below cancel if the compiler rearranges them."""
    return _njit(function, {"contract"})


def _exact_inlined(function: Function) -> Function:
    """Compile without reordering, copied into each loop that calls it."""
    return _njit(function, {"contract"}, forceinline=True)


def _njit(function: Any, fastmath: set[str], **options: bool | str) -> Any:
    # No entry for callers in C, of which there are none: it takes a twentieth of the compilation.
    settings: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", **options}
    settings["fastmath"] = fastmath
    dispatcher = numba.njit(**settings)(function)
    with contextlib.suppress(RuntimeError):  # typed at a prompt: there is no file to keep the cache beside
        dispatcher._cache = LoopCache(function)
    return dispatcher


LOTS = (50_000, 5, 1000)
"""When cycles are searched for while the compiler runs; see `gc.set_threshold`."""


class _Compilations(event.Listener):
    """Counts the compilations under way; what comes from the cache on disk is none.

    The compiler makes millions of objects. To search them all for cycles takes a tenth of its time, never to
    search half as much memory again: new ones are searched, in large lots, all of them when the last
    compilation has ended.
    """

    under_way = 0
    shared: Any = None  # the same number for several processes
    _usual = gc.get_threshold()
    _lock = threading.Lock()

    def on_start(self, event: Any) -> None:
        """Take the beginning of a compilation."""
        self._add(1)

    def on_end(self, event: Any) -> None:
        """Take its end."""
        self._add(-1)

    def _add(self, change: int) -> None:
        with self._lock:
            if self.under_way == 0:
                self._usual = gc.get_threshold()
                gc.set_threshold(*LOTS)
            self.under_way += change
            if self.under_way == 0:
                gc.set_threshold(*self._usual)
        if self.shared is not None:
            with self.shared.get_lock():
                self.shared.value += change


_compilations = _Compilations()
event.register("numba:compile", _compilations)


def is_compiling() -> bool:
    """Whether a loop is being compiled at this moment, in this process or in those beside it."""
    # Read without the lock: a process that was killed may hold it.
    shared = _compilations.shared
    return _compilations.under_way > 0 or (shared is not None and shared.get_obj().value > 0)


def share_compilations(count: Any) -> None:
    """Count the compilations of several processes together; None ends it.

    Parameters
    ----------
    count : multiprocessing.Value of type "i" or None
        The number of compilations under way, which each of the processes is handed.
    """
    _compilations.shared = count


class LoopCache(FunctionCache):
    """Numba's cache on disk, which outlives the classes that it names.

    An index tells signatures by their classes, and Numba opens it before it asks whether it belongs to this
    version of the file: one that names a class since moved or renamed would raise.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The loop compiled for a signature, or None: then it is compiled anew."""
        try:
            return super().load_overload(sig, target_context)
        except (ImportError, AttributeError):
            try:
                self.flush()
            except OSError:  # a cache that cannot be written cannot be mended
                self.disable()
            return None


LOG2_E = 1.4426950408889634
# ln 2 in two parts: the first has trailing zeros, so that k * LN2_HIGH is exact for |k| < 2^11.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
EXP_MIN, EXP_MAX = -708.0, 709.0
ROUND = 6755399441055744.0  # 1.5 · 2^52: adding it rounds a double to the nearest integer


@_exact
def exp(x):  # type: ignore[no-untyped-def]
    """Exponential, with arguments clamped to [−708, 709]; relative error below 4e-16 · 2 there.

    Range reduction x = k ln 2 + r with |r| ≤ ln 2 / 2, then a polynomial of degree 13 in r, then the
    exponent bits of 2^k.
    """
    y = min(max(x, EXP_MIN), EXP_MAX)
    k = np.floor(y * LOG2_E + 0.5)
    r = (y - k * LN2_HIGH) - k * LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # The low bits of (k + 1023) + ROUND hold the integer itself: shifting them gives the bits of 2^k.
    bits = np.float64(k + 1023.0 + ROUND).view(np.int64) << 52
    return p * np.int64(bits).view(np.float64)


LOG2_E_SINGLE, HALF = np.float32(LOG2_E), np.float32(0.5)
# ln 2 in two parts: k times the first is exact in single precision for |k| < 2^8.
LN2_HIGH_SINGLE, LN2_LOW_SINGLE = np.float32(0.693359375), np.float32(-2.12194440e-4)
EXP_MIN_SINGLE, EXP_MAX_SINGLE = np.float32(-87.0), np.float32(88.0)
SIXTH, TWENTY_FOURTH = np.float32(1.0 / 6.0), np.float32(1.0 / 24.0)
THE_120TH, THE_720TH = np.float32(1.0 / 120.0), np.float32(1.0 / 720.0)
ONE, THE_5040TH = np.float32(1.0), np.float32(1.0 / 5040.0)


@_exact
def exp_single(x):  # type: ignore[no-untyped-def]
    """Exponential in single precision, arguments clamped to [−87, 88]; relative error below 2e-7 there.

    As `exp`, with a polynomial of degree 7: half as many values, twice as many at a time.
    """
    y = min(max(x, EXP_MIN_SINGLE), EXP_MAX_SINGLE)
    k = np.floor(y * LOG2_E_SINGLE + HALF)
    r = (y - k * LN2_HIGH_SINGLE) - k * LN2_LOW_SINGLE
    p = THE_5040TH * r + THE_720TH
    p = p * r + THE_120TH
    p = p * r + TWENTY_FOURTH
    p = p * r + SIXTH
    p = p * r + HALF
    p = p * r + ONE
    p = p * r + ONE
    bits = np.int32((np.int32(k) + np.int32(127)) << np.int32(23))
    return p * bits.view(np.float32)


def exp_alike(x: Any) -> Any:
    """Exponential in the precision of its argument, for compiled loops: `exp_single` or `exp`."""
    raise NotImplementedError


@overload(exp_alike)
def _exp_alike(x):  # type: ignore[no-untyped-def]
    if x == numba.types.float32:
        return lambda x: exp_single(x)
    return lambda x: exp(x)


@_exact
def log(x):  # type: ignore[no-untyped-def]
    """Natural logarithm of a positive normal number; relative error below 1e-15.

    Exponent bits e and mantissa m in [√½, √2) give log x = e ln 2 + log m, and log m = 2 artanh(s) with
    s = (m − 1)/(m + 1), summed as an odd series in s, |s| < 0.172.
    """
    bits = np.float64(x).view(np.int64)
    # Subtracting the bits of √½ moves the exponent by one where the mantissa is below √½.
    shifted = bits - np.int64(0x3FE6A09E667F3BCD)
    e = shifted >> 52
    m = np.int64((shifted & np.int64(0x000FFFFFFFFFFFFF)) + np.int64(0x3FE6A09E667F3BCD)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    q = 1.0 / 21.0
    q = q * z + 1.0 / 19.0
    q = q * z + 1.0 / 17.0
    q = q * z + 1.0 / 15.0
    q = q * z + 1.0 / 13.0
    q = q * z + 1.0 / 11.0
    q = q * z + 1.0 / 9.0
    q = q * z + 1.0 / 7.0
    q = q * z + 1.0 / 5.0
    q = q * z + 1.0 / 3.0
    k = np.float64(e)
    return k * LN2_HIGH + (2.0 * s + (2.0 * s * z * q + k * LN2_LOW))
