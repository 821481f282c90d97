"""Kernels made of kernels by `+`, `*` and `**`: what keeps them positive semi-definite, and nothing else.

Each combination inherits what is known of its parts: where one of them is not positive semi-definite by a
theorem, neither is the combination, and `check_psd` looks at the data.
"""

from __future__ import annotations

from typing import Any

from assay.kernels.kernel import POSITIVE, Kernel
from assay.kernels.powers import ExponentialOf, PolynomialOf
from assay.kernels.reweighting import Composed, Normalized, Reweighted, composed
from assay.kernels.sums import NON_NEGATIVE, Constant, Multiple, Product, Sum
from assay.parameters import Domain, integer, refusal, require

__all__ = ["Composed", "Constant", "ExponentialOf", "Multiple", "Normalized", "PolynomialOf", "Product"]
__all__ += ["Reweighted", "Sum", "added", "composed", "divided", "lost", "multiplied", "power"]


LARGEST_EXPONENT = 1000

_EXPONENT = Domain(
    f"an int from 1 to {LARGEST_EXPONENT}",
    lambda value: integer(at_least=1).contains(value) and value <= LARGEST_EXPONENT,
)


def lost(what: str, way_out: str) -> ValueError:
    """The sentence for a combination that is no kernel in general."""
    return ValueError(f"{what} is not positive semi-definite in general: {way_out}.")


def added(left: Any, right: Any) -> Kernel:
    """The kernel left + right, of kernels and numbers at least 0."""
    terms: list[Kernel] = []
    for term in (left, right):
        if isinstance(term, Kernel):
            terms += term.kernels if isinstance(term, Sum) else [term]
        elif not NON_NEGATIVE.contains(term):
            raise refusal("a sum of kernels", "term", "a kernel or a finite number at least 0", term)
        elif term != 0:  # sum(...) begins with 0
            terms.append(Constant(float(term)))
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def multiplied(left: Any, right: Any) -> Kernel:
    """The kernel left * right, of kernels and numbers at least 0."""
    if isinstance(left, Kernel) and isinstance(right, Kernel):
        factors: list[Kernel] = []
        for factor in (left, right):
            factors += factor.kernels if isinstance(factor, Product) else [factor]
        return Product(tuple(factors))
    kernel, number = (left, right) if isinstance(left, Kernel) else (right, left)
    require("a multiple of a kernel", NON_NEGATIVE, factor=number)
    if isinstance(kernel, Multiple):
        return Multiple(number * kernel.factor, kernel.kernel)
    return Multiple(number, kernel)


def divided(kernel: Kernel, number: Any) -> Kernel:
    """The kernel divided by a number above 0."""
    require("a kernel divided by a number", POSITIVE, divisor=number)
    return multiplied(1.0 / float(number), kernel)


def power(kernel: Kernel, exponent: Any) -> Kernel:
    """The kernel k ** exponent, for a whole exponent."""
    require("a power of a kernel", _EXPONENT, exponent=exponent)
    return PolynomialOf(kernel, (0.0,) * int(exponent) + (1.0,))
