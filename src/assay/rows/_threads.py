"""The thread pool behind every local walk."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}
_controller: ThreadpoolController | None = None
_inside = threading.local()
_override: list[int] = []


def n_threads() -> int:
    """Threads used by walks: `ASSAY_NUM_THREADS`, else the cores this process may use."""
    if _override:
        return _override[-1]
    given = os.environ.get("ASSAY_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use `count` threads inside a `with` block.

    Examples
    --------
    >>> from assay.rows import threads, n_threads
    >>> with threads(1):
    ...     n_threads()
    1
    """
    if count < 1:
        raise ValueError(
            f"The 'count' parameter of threads must be an int at least 1. Got {count!r} instead."
        )
    _override.append(count)
    try:
        yield
    finally:
        _override.pop()


def ordered_map(function: Callable[..., Any], items: Iterable[Any]) -> Iterator[Any]:
    """Results of `function(item)` in the order of the items, computed on the pool, few held at a time."""
    count = n_threads()
    if count == 1 or getattr(_inside, "busy", False):
        yield from map(function, items)
        return
    pool, window = _pool(count), 2 * count
    pending: deque[Future] = deque()
    with _single_threaded_blas():
        try:
            for item in items:
                pending.append(pool.submit(_run, function, item))
                if len(pending) > window:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _run(function: Callable[[Any], Any], item: Any) -> Any:
    _inside.busy = True
    try:
        return function(item)
    finally:
        _inside.busy = False


def _pool(count: int) -> ThreadPoolExecutor:
    with _lock:
        if count not in _pools:
            _pools[count] = ThreadPoolExecutor(count, thread_name_prefix="assay-rows")
        return _pools[count]


def _single_threaded_blas() -> AbstractContextManager[Any]:
    """One BLAS thread a block. Libraries are looked up once: the look-up costs more than a small fit."""
    global _controller
    with _lock:
        if _controller is None:
            _controller = ThreadpoolController()
    return _controller.limit(limits=1, user_api="blas") if n_threads() > 1 else nullcontext()


def _forget_threads() -> None:
    """After a fork the child has no threads: it makes its own pool."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
