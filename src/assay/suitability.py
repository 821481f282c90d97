"""For which tables an estimator is tried by `assay compare`, and what is chosen for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Suitability:
    """What an estimator declares about itself, as its class attribute `_suits`.

    Parameters
    ----------
    complexity : int
        How much there is to understand, 1 for the least: among models that are equally good within the
        noise, the one of least complexity is recommended.
    max_rows, max_features : int, optional
        Size beyond which a fit takes too long for a comparison.
    select : mapping of str to Any, optional
        The main parameter is chosen by the estimator's own `select`, with these options. None: it has nothing
        to choose.
    settings : mapping of str to Any, optional
        Parameters that differ from the defaults in a comparison.

    Examples
    --------
    >>> from assay.suitability import Suitability
    >>> Suitability(complexity=2, select={}).admits(n_rows=10**6, n_features=50)
    True
    >>> Suitability(complexity=3, max_rows=5000).admits(n_rows=10**6, n_features=50)
    False
    """

    complexity: int
    max_rows: int | None = None
    max_features: int | None = None
    select: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def admits(self, n_rows: int, n_features: int) -> bool:
        """Whether a table is small enough."""
        return (self.max_rows is None or n_rows <= self.max_rows) and (
            self.max_features is None or n_features <= self.max_features
        )
