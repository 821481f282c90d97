"""Randomness: every accepted kind of `random_state`, and independent children of one.

The global NumPy state is never read nor advanced, except when the caller passes the global `RandomState`
itself. Same seed, same numbers, whatever the number of threads: work that runs in parallel (restarts,
trees, chains) takes one spawned child each, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import TypeAlias

import numpy as np

RandomState: TypeAlias = "int | np.random.Generator | np.random.SeedSequence | np.random.RandomState | None"


def generator(random_state: RandomState = None) -> np.random.Generator:
    """Turn any accepted kind of `random_state` into a `numpy.random.Generator`.

    A `Generator` is returned as it is (it advances, like scikit-learn's `RandomState` instances do);
    a `RandomState` gives a generator seeded by one draw from it; an int, a `SeedSequence` and None
    seed a new generator.

    Examples
    --------
    >>> from assay.randomness import generator
    >>> float(generator(0).random()) == float(generator(0).random())
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    if random_state is None or isinstance(random_state, np.random.SeedSequence):
        return np.random.default_rng(random_state)
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and int(random_state) >= 0:
        return np.random.default_rng(int(random_state))
    kinds = "None, a non-negative int, a numpy Generator, SeedSequence or RandomState"
    raise ValueError(f"The 'random_state' parameter must be {kinds}. Got {random_state!r} instead.")


def spawn(random_state: RandomState, n_children: int) -> list[np.random.Generator]:
    """Give `n_children` independent generators, one per restart, tree or chain.

    An int or a `SeedSequence` always gives the same children: a sequence handed in is not advanced.
    """
    return _parent(random_state).spawn(n_children)


def spawn_each(random_state: RandomState, n_children: int) -> Iterator[np.random.Generator]:
    """The generators of `spawn` one at a time: a billion restarts begin at once and may be stopped.

    Examples
    --------
    >>> from assay.randomness import spawn, spawn_each
    >>> next(spawn_each(3, 10**9)).random() == spawn(3, 2)[0].random()
    True
    """
    parent = _parent(random_state)
    return (parent.spawn(1)[0] for _ in range(n_children))


def _parent(random_state: RandomState) -> np.random.Generator:
    if isinstance(random_state, np.random.SeedSequence):
        entropy, key = random_state.entropy, random_state.spawn_key
        random_state = np.random.SeedSequence(entropy, spawn_key=key, pool_size=random_state.pool_size)
    return generator(random_state)
