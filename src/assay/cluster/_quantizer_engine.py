"""The alternation behind every clustering around centres: assign the rows, then represent the clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from assay.base import Watch

ROUNDING = 2e-15
"""No step tells an optimality below this from 0."""


class Step(NamedTuple):
    """One assignment of the rows to representers, and what follows from it.

    Parameters
    ----------
    cost : float
        Of the representers, each row being assigned to the best of them.
    representers : object
        Those that were measured; a step may settle for others than it was given.
    successor : object
        Representers of the clusters so formed: the next ones.
    optimality : float
        How far the representers are from representing their clusters best; in the unit of `tol`, and 0 when
        no row would be better represented.
    """

    cost: float
    representers: Any
    successor: Any
    optimality: float


class Alternation(NamedTuple):
    """Result of `alternate`: `trace` holds the cost after every assignment."""

    representers: Any
    trace: list[float]
    n_iter: int
    converged: bool
    optimality: float


def alternate(
    step: Callable[[Any], Step],
    start: Any,
    *,
    tol: float,
    max_iter: int,
    watch: Watch,
    report: Callable[[Any, int, float], dict[str, Any]],
) -> Alternation:
    """Alternate assignments and representers until the representers are optimal for their clusters.

    If neither half-step raises the cost, the trace never rises: a row goes to a representer that is no
    farther, a cluster gets a representer that is no worse (Sangnier Prop. 56).

    Parameters
    ----------
    step : callable
        From representers to a `Step`.
    start : object
        The initial representers.
    tol, max_iter
        The stopping rule: an optimality of at most `tol`, up to rounding, or so many changes of the
        representers.
    watch : Watch
        Told about every iteration.
    report : callable
        Fitted attributes, for the watch, of (representers, iterations, cost).
    """
    tol = max(tol, ROUNDING)
    found, n_iter, stopped = step(start), 0, False
    trace = [found.cost]
    while found.optimality > tol and n_iter < max_iter and not stopped:
        found = step(found.successor)
        trace.append(found.cost)
        n_iter += 1
        current = found.representers
        stopped = watch.iteration(lambda: report(current, n_iter, trace[-1]))  # noqa: B023
    return Alternation(found.representers, trace, max(n_iter, 1), found.optimality <= tol, found.optimality)
