"""For which tables an estimator is tried by `assay compare`, and what is chosen for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

FIT_SECONDS = 15
"""Processor seconds that one fit may take in a comparison, its choice of a parameter included.

The limits of `_suits` are sizes at which `python -m benchmarks.method_costs` measures about so much or less:
six fits of a method then take at most a minute and a half.
"""

FEW = 10
"""Whole numbers that never come as low as this are amounts, not counts of something."""


@dataclass(frozen=True, slots=True)
class Suitability:
    """What an estimator declares about itself, as its class attribute `_suits`.

    Parameters
    ----------
    complexity : int
        How much there is to understand, 1 for the least: among models that are equally good within the
        noise, the one of least complexity is recommended.
    max_rows, max_features, max_numbers : int, optional
        Size beyond which a fit takes too long for a comparison; numbers are rows × features.
    max_side : int, optional
        As these, for the lesser of rows and features: the order of the matrices that a fit decomposes.
    max_pairs : int, optional
        As these, for rows × rows × features: what is read when every row is compared with every other.
    max_class_numbers : int, optional
        As these, for rows × features × classes where there are more than two classes.
    max_class_rows : int, optional
        As these, for rows × classes where there are more than two.
    per_class : bool, default=False
        Whether a fit does the same for each of more than two classes: numbers then count once for each.
    min_rows : int, optional
        Rows below which others do the same better.
    select : mapping of str to Any, optional
        The main parameter is chosen by the estimator's own `select`, with these options. None: it has nothing
        to choose.
    settings : mapping of str to Any, optional
        Parameters that differ from the defaults in a comparison.
    target : {"counts", "positive"}, optional
        What a target must be: whole numbers from zero or a few up, or numbers above zero. Any by default.
    form : str, optional
        What the settings make of the estimator, beside its name: the family and the link of a likelihood.
    summary : str, optional
        What the estimator does with these settings, where that says more than its own first line.
    encoding : {"numbers", "codes"}, default="numbers"
        How the columns of a table become numbers: standardised, with marks of levels and of what is missing;
        or each as it is, with places of levels and NaN, which the estimator must take.
    otherwise : Suitability, optional
        Tried in the place of this one for a target that this one is not for.

    Examples
    --------
    >>> from assay.suitability import Suitability
    >>> Suitability(complexity=2, select={}).admits(n_rows=10**6, n_features=50)
    True
    >>> Suitability(complexity=3, max_rows=5000).admits(n_rows=10**6, n_features=50)
    False
    >>> Suitability(complexity=3, max_numbers=10**7).admits(n_rows=10**6, n_features=50)
    False
    >>> Suitability(complexity=3, max_numbers=10**7, per_class=True).admits(10**5, 50, n_classes=9)
    False
    >>> Suitability(complexity=2, max_pairs=10**9).admits(n_rows=10**4, n_features=20)
    False
    >>> Suitability(complexity=2, target="counts").serves([3, 0, 1])
    True
    """

    complexity: int
    max_rows: int | None = None
    max_features: int | None = None
    max_numbers: int | None = None
    min_rows: int | None = None
    select: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    target: Literal["counts", "positive"] | None = None
    summary: str = ""
    otherwise: Suitability | None = None
    encoding: Literal["numbers", "codes"] = "numbers"
    form: str = ""
    per_class: bool = False
    max_side: int | None = None
    max_pairs: int | None = None
    max_class_numbers: int | None = None
    max_class_rows: int | None = None

    @property
    def limits(self) -> dict[str, int]:
        """The limits that there are, by their names."""
        names = [item.name for item in fields(self) if item.name.startswith("max_")]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def admits(self, n_rows: int, n_features: int, n_classes: int = 2) -> bool:
        """Whether a table is small enough."""
        numbers, several = n_rows * n_features, n_classes if n_classes > 2 else 0
        sizes = {
            "max_rows": n_rows,
            "max_features": n_features,
            "max_numbers": numbers * several if self.per_class and several else numbers,
            "max_side": min(n_rows, n_features),
            "max_pairs": n_rows * numbers,
            "max_class_numbers": numbers * several,
            "max_class_rows": n_rows * several,
        }
        return all(sizes[name] <= most for name, most in self.limits.items())

    def serves(self, target: Any) -> bool:
        """Whether a target is what the estimator is for."""
        if self.target is None:
            return True
        values = np.asarray(target, dtype=np.float64)
        if self.target == "counts":
            return bool(np.all(values == np.round(values))) and 0 <= float(values.min()) <= FEW
        return bool(np.all(values > 0))

    def among(self, target: Any) -> Suitability | None:
        """The first of this suitability and those otherwise that is for a target; None if none is."""
        if self.serves(target):
            return self
        return None if self.otherwise is None else self.otherwise.among(target)
