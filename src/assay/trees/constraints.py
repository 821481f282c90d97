"""Constraints of columns, as parameters give them and as the grower takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_PAIRED = 800
"""Columns up to which all pairs of them are listed as groups."""


def signs_of(model: Any, categorical: NDArray[np.bool_]) -> NDArray[np.int8] | None:
    """The direction of each column from `monotonic_cst`, None where no column has one."""
    given, d = model.monotonic_cst, model.n_features_in_
    if given is None:
        return None
    must_be = f"a list of -1, 0 and 1, one for each of the {d} columns, or a dict of names of columns"
    if isinstance(given, Mapping):
        names = list(getattr(model, "feature_names_in_", ()))
        if not set(given) <= set(names):
            raise model._refuse("monotonic_cst", must_be)
        given = [given.get(name, 0) for name in names]
    try:
        signs = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise model._refuse("monotonic_cst", must_be) from None
    if signs.shape != (d,) or not np.isin(signs, (-1, 0, 1)).all():
        raise model._refuse("monotonic_cst", must_be)
    if np.any((signs != 0) & categorical):
        raise model._refuse("monotonic_cst", "0 for columns of categories, which have no order")
    return signs.astype(np.int8) if signs.any() else None


def groups_of(model: Any) -> NDArray[np.bool_] | None:
    """Groups of columns that may meet on a path, from `interaction_cst`; None where all may."""
    given, d = model.interaction_cst, model.n_features_in_
    if given is None:
        return None
    names = list(getattr(model, "feature_names_in_", ()))
    sets: list[set[int]]
    if isinstance(given, str):
        size = 2 if given == "pairwise" else 1
        if size == 2 and d > MOST_PAIRED:
            raise model._refuse("interaction_cst", f"a list of groups where there are {d} columns")
        sets = [set(pair) for pair in combinations(range(d), min(size, d))]
    else:
        if isinstance(given, np.ndarray) and given.ndim == 0:
            raise model._refuse("interaction_cst", "a list of groups of columns")
        sets = [_places(model, group, names) for group in given]
        rest = set(range(d)).difference(*sets)
        sets += [rest] if rest else []
    groups = np.zeros((len(sets), d), dtype=np.bool_)
    for place, group in enumerate(sets):
        groups[place, sorted(group)] = True
    return groups


def _places(model: Any, group: Any, names: list[str]) -> set[int]:
    must_be = "a list of groups, each of places or names of columns"
    if isinstance(group, str) or not isinstance(group, Iterable):
        raise model._refuse("interaction_cst", must_be)
    places = set()
    for item in group:
        place = names.index(item) if item in names else item
        if not isinstance(place, (int, np.integer)) or not 0 <= place < model.n_features_in_:
            raise model._refuse("interaction_cst", must_be)
        places.add(int(place))
    return places
