"""Domains of parameters: what a value must be, said in one sentence when it is not.

An estimator lists the domain of each of its parameters once, in the class attribute `_domains`; `Model`
checks them all at the start of `fit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from assay.randomness import generator

SMALLEST, LARGEST = 1e-150, 1e150
"""Sizes of numbers whose squares are numbers too."""

BEYOND = 2**63
"""The first int that is none of 64 bits: nothing can be counted up to it."""


class ParameterError(ValueError):
    """A parameter is outside its domain."""


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of values, with the words that describe it ("an int at least 1").

    `options` lists its named members, where it has some ("auto", "qr").
    """

    words: str
    contains: Callable[[Any], bool]
    options: tuple[str, ...] = ()

    def __or__(self, other: Domain) -> Domain:
        def either(value: Any) -> bool:
            return self.contains(value) or other.contains(value)

        return Domain(f"{self.words} or {other.words}", either, self.options + other.options)


def integer(*, at_least: int) -> Domain:
    """Ints of 64 bits from `at_least` on."""

    def contains(value: Any) -> bool:
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        return whole and at_least <= int(value) < BEYOND

    return Domain(f"an int at least {at_least}", contains)


def real(
    *, at_least: float = -math.inf, above: float = -math.inf, at_most: float = math.inf, squared: bool = False
) -> Domain:
    """Finite numbers in an interval, and where they are `squared` those whose squares are numbers too.

    Their inverses and products with a number of rows are numbers then as well.
    """
    limits = {"at least": at_least, "above": above, "at most": at_most}
    words = " and ".join(f"{name} {limit:g}" for name, limit in limits.items() if math.isfinite(limit))
    if squared:
        zero = "0 or " if above < 0 else ""
        words += f" ({zero}{SMALLEST:g} to {LARGEST:g} in size)"

    def contains(value: Any) -> bool:
        if not isinstance(value, (Integral, float, np.floating)) or isinstance(value, bool):
            return False  # a Fraction is a number, though none that arrays compute with
        try:
            number = float(value)
        except OverflowError:  # an int of four hundred digits
            return False
        sized = not squared or number == 0 or SMALLEST <= abs(number) <= LARGEST
        return math.isfinite(number) and sized and at_least <= number <= at_most and number > above

    return Domain(f"a finite number {words}".strip(), contains)


def one_of(*options: str) -> Domain:
    """A string of a list."""
    words = f"{'one of ' if len(options) > 1 else ''}{', '.join(map(repr, options))}"
    return Domain(words, lambda value: isinstance(value, str) and value in options, options)


def array(words: str, check: Callable[[np.ndarray], bool] = lambda values: True) -> Domain:
    """Array-likes of numbers that pass a check."""

    def contains(value: Any) -> bool:
        if isinstance(value, str) or not hasattr(value, "__len__"):
            return False
        try:
            values = np.asarray(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            return False
        return bool(np.all(np.isfinite(values)) and check(values))

    return Domain(words, contains)


def vector(size: int | None = None) -> Domain:
    """Vectors of finite numbers, of one size or of any."""
    if size is None:
        return array("a vector of finite numbers", lambda values: values.ndim == 1 and values.size > 0)
    return array(f"a vector of {size} finite numbers", lambda values: values.shape == (size,))


matrix = array("a matrix of finite numbers", lambda values: values.ndim == 2 and values.size > 0)


def _is_random_state(value: Any) -> bool:
    if isinstance(value, np.random.RandomState):  # looked at, not advanced
        return True
    try:
        generator(value)
    except ValueError:
        return False
    return True


boolean = Domain("True or False", lambda value: isinstance(value, (bool, np.bool_)))
nothing = Domain("None", lambda value: value is None)
function = Domain("a callable", callable)
random_state = Domain(
    "None, a non-negative int, a numpy Generator, SeedSequence or RandomState", _is_random_state
)


def check(owner: str, values: Mapping[str, Any], domains: Mapping[str, Domain]) -> None:
    """Raise `ParameterError` for the first value outside its domain."""
    for name, domain in domains.items():
        if not domain.contains(values[name]):
            raise refusal(owner, name, domain.words, values[name])


def require(owner: str, domain: Domain, **values: Any) -> None:
    """Raise `ParameterError` for the first of these values outside one domain."""
    check(owner, values, dict.fromkeys(values, domain))


def refusal(owner: str, name: str, must_be: str, got: Any) -> ParameterError:
    """The one sentence: whose parameter, what it must be, what it got."""
    if isinstance(got, int) and abs(got) >= BEYOND:  # Python does not even write those of many digits
        shown = "an int beyond 64 bits"
    else:
        shown = " ".join(repr(got).split())
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return ParameterError(f"The {name!r} parameter of {owner} must be {must_be}. Got {shown} instead.")
