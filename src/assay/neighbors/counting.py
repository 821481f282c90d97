"""How many neighbours: a number, a rule of the number of rows, or "auto"."""

from __future__ import annotations

import math
from typing import Any

from assay import parameters
from assay.parameters import Domain

EXPONENT = 0.5
"""The exponent a of the automatic rule ⌈n^a⌉."""

# "auto" is not offered as an option to the walk of the checks: it is a number, not another method.
N_NEIGHBORS = (
    parameters.integer(at_least=1)
    | Domain("'auto'", lambda value: isinstance(value, str) and value == "auto")
    | Domain("a function of the number of rows", callable)
)


def automatic_neighbors(n_rows: float, exponent: float = EXPONENT) -> int:
    """The least odd number from n^a on: it grows with n, and its share of the rows vanishes.

    That is what consistency asks for (Stone, 1977), for any 0 < a < 1. An odd number has no ties between two
    classes; the asymptotic risk of an even one is below that of the odd one before it only where ties go to
    the likelier class.

    Examples
    --------
    >>> [automatic_neighbors(n) for n in (1, 10, 100, 10_000)]
    [1, 5, 11, 101]
    """
    count = math.ceil(round(n_rows**exponent, 9)) | 1
    return count if count <= n_rows else max(1, int(n_rows) - (int(n_rows) % 2 == 0))


def count_neighbors(given: Any, n_rows: float, owner: str) -> int:
    """The number of neighbours that a parameter asks for."""
    if isinstance(given, str):
        return automatic_neighbors(n_rows)
    if callable(given):
        count = given(int(n_rows))
        if not parameters.integer(at_least=1).contains(count):
            raise parameters.refusal(owner, "n_neighbors", "a rule that gives an int at least 1", count)
        return int(count)
    return int(given)
