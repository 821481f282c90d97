"""The thread pool behind every local walk.

Each count of threads has one pool for the life of the process. A step that walks rows itself, inside a walk,
runs on the thread it is on: nested walks neither deadlock nor multiply threads.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from numbers import Integral
from typing import Any, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}
_count: contextvars.ContextVar[int | None] = contextvars.ContextVar("assay_threads", default=None)
_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("assay_inside_a_walk", default=False)

_END = object()


def n_threads() -> int:
    """Threads used by walks: as `threads` says, else `ASSAY_NUM_THREADS`, else the cores of this process."""
    count = _count.get()
    if count is not None:
        return count
    given = os.environ.get("ASSAY_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use `count` threads inside a `with` block; other threads and tasks of the program are not affected.

    Examples
    --------
    >>> from assay.rows import threads, n_threads
    >>> with threads(1):
    ...     n_threads()
    1
    """
    if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
        raise ValueError(
            f"The 'count' parameter of threads must be an int at least 1. Got {count!r} instead."
        )
    token = _count.set(int(count))
    try:
        yield
    finally:
        _count.reset(token)


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, window: int | None = None
) -> Generator[Result, None, None]:
    """Results of `function(item)` in the order of the items, computed on the pool, few held at a time.

    The first error, in the order of the items, is raised as soon as the items before it are done; what has
    not begun is cancelled and what has begun is waited for, so that nothing writes to the caller's arrays
    afterwards. Steps see the caller's context variables (`np.errstate`, scikit-learn's configuration).

    Parameters
    ----------
    function : callable
        Called on one item at a time, on any thread.
    items : iterable
        Consumed on the calling thread, as the results are.
    window : int, optional
        Items handed out and not yet given back, besides the one waited for; two per thread by default.
    """
    if _inside.get():
        yield from map(function, items)
        return
    count = n_threads()
    context = contextvars.copy_context()
    context.run(_inside.set, True)
    if count == 1:
        with _single_threaded_blas:
            for item in items:
                yield context.run(function, item)
        return
    pool, window = _pool(count), 2 * count if window is None else window
    pending: deque[Future[Result]] = deque()
    with _single_threaded_blas:
        try:
            for item in items:
                pending.append(pool.submit(context.copy().run, function, item))
                del item  # the pool holds it until it is computed, and no longer
                if len(pending) > window:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            wait([future for future in pending if not future.cancel()])


def read_ahead(items: Iterable[Item], *, depth: int = 2) -> Generator[Item, None, None]:
    """The same items, taken by a reader thread: at most `depth` of them are waiting or being read.

    Closing the iterator stops the reader after the item it is reading and closes the source.
    """
    source, context = iter(items), contextvars.copy_context()

    def read() -> Any:
        return context.run(next, source, _END)

    reader = ThreadPoolExecutor(1, thread_name_prefix="assay-reader")
    pending: deque[Future[Any]] = deque()
    try:
        pending.extend(reader.submit(read) for _ in range(depth))
        while (item := pending.popleft().result()) is not _END:
            pending.append(reader.submit(read))
            handed = [item]
            del item  # whoever takes it is the only one to hold it
            yield handed.pop()
    finally:
        reader.shutdown(cancel_futures=True)
        if hasattr(source, "close"):
            source.close()


def alone(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function as the pool would: one BLAS thread, nested walks on this thread."""
    context = contextvars.copy_context()
    context.run(_inside.set, True)
    with _single_threaded_blas:
        return context.run(function, *arguments)


def one_blas_thread() -> AbstractContextManager[None]:
    """Keep BLAS on one thread between walks too: for solvers whose own matrices are small."""
    return _single_threaded_blas


def _pool(count: int) -> ThreadPoolExecutor:
    with _lock:
        if count not in _pools:
            _pools[count] = ThreadPoolExecutor(count, thread_name_prefix="assay-rows")
        return _pools[count]


class _SingleThreadedBlas:
    """One BLAS thread while any walk is under way.

    The limit belongs to the whole process: walks of several threads overlap, so the first one in sets it and
    the last one out restores it, be they different threads. The look-up of libraries costs more than a small
    fit: it is done again only when modules were imported since, which may have brought a BLAS of their own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._controller: ThreadpoolController | None = None
        self._limit: Any = None
        self._n_modules = self._walks = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._walks == 0:
                if self._controller is None or self._n_modules != len(sys.modules):
                    self._controller, self._n_modules = ThreadpoolController(), len(sys.modules)
                _let_any_thread_set_blas()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._walks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._walks = max(0, self._walks - 1)  # a forked child may leave a walk that it never entered
            if self._walks == 0 and self._limit is not None:
                _let_any_thread_set_blas()
                self._limit.restore_original_limits()
                _let_any_thread_set_blas()
                self._limit = None

    def forget(self) -> None:
        """Start afresh in a forked child, where no walk is under way."""
        self._lock = threading.Lock()
        self._limit, self._walks = None, 0


def _let_any_thread_set_blas() -> None:
    """Lift threadpoolctl's rule that only the thread which set OpenBLAS first may set it again.

    Any other thread is ignored without a word, so a walk entered on one thread and left last on another would
    keep the process on one BLAS thread for good.
    """
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)  # older versions have no such rule
    if clear is not None:
        clear(force=True)


_single_threaded_blas = _SingleThreadedBlas()


def _forget_threads() -> None:
    """After a fork the child has no threads: it makes its own pool."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()
    _single_threaded_blas.forget()
    _inside.set(False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
