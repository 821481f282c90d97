"""Forests on a cluster: the codes of all rows go to every worker once, then each tree is one task."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any

from assay.rows import alone

ATTEMPTS = 3
"""How often the codes are sent again after all workers that had them were lost."""


def grow_on_workers(client: Any, forest: Any, seeds: Iterable[int]) -> Iterator[Any]:
    """The trees in the order of their seeds, which are drawn as workers become free.

    A tree is a function of the codes and its seed: one that a lost worker was growing is grown by another.
    """
    held = _send(client, forest)
    at_once = 2 * max(1, sum(client.nthreads().values()))
    growing: deque[tuple[int, Any]] = deque()
    try:
        for seed in seeds:
            growing.append((seed, client.submit(_grow, held, seed, pure=False)))
            if len(growing) >= at_once:
                yield _grown(client, forest, *growing.popleft())
        while growing:
            yield _grown(client, forest, *growing.popleft())
    finally:
        client.cancel([future for _, future in growing])


def _send(client: Any, forest: Any) -> Any:
    return client.scatter(forest, broadcast=True, hash=False)


def _grown(client: Any, forest: Any, seed: int, future: Any) -> Any:
    for attempt in range(ATTEMPTS):
        try:
            return future.result()
        except CancelledError:  # with the codes that it needs
            if attempt + 1 == ATTEMPTS:
                raise
            future = client.submit(_grow, _send(client, forest), seed, pure=False)
    return None


def _grow(forest: Any, seed: int) -> Any:
    return alone(forest.grow, seed)
