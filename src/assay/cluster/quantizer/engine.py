"""The alternation behind every clustering around centres: assign the rows, then represent the clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from assay.base import IterativeModel, Watch
from assay.certificates import Certificate, at_most
from assay.cluster.kmeans.empty import count_distinct
from assay.models.clusterer import Clusterer
from assay.randomness import RandomState, generator, spawn
from assay.rows import Block, Rows

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


# What clusterings around representers share: restarts, warnings, and the quantizer of the fit.


class Run(Protocol):
    """Result of one restart."""

    @property
    def trace(self) -> list[float]:
        """The cost after every change."""


AnyRun = TypeVar("AnyRun", bound=Run)


class RepresenterModel(Clusterer, IterativeModel):
    """Base of clusterings of least cost Σ_i w_i d(x_i, representer of its cluster)."""

    n_clusters: int
    max_iter: int
    inertia_: float
    inertia_trace_: NDArray
    restart_inertias_: NDArray

    def _best_run(
        self, starts: Iterable[Any], run: Callable[[Any], AnyRun], watch: Watch, *, n_runs: int
    ) -> AnyRun:
        """Run from every start; keep the first of those that reach the least cost, but for rounding."""
        best: AnyRun | None = None
        costs = np.empty(n_runs)
        for number, start in enumerate(starts):
            with watch.run():
                result = run(start)
            costs[number] = result.trace[-1]
            if best is None or costs[number] < (1.0 - 1e-9) * best.trace[-1]:
                best = result
        assert best is not None
        self.restart_inertias_ = costs
        self.inertia_trace_ = np.array(best.trace)
        return best

    def _require_rows(self, data: Rows) -> None:
        """Refuse more clusters than rows; fewer distinct rows than clusters are said after the fit."""
        n_rows = data.shape[0]
        if data.has_weight and n_rows >= self.n_clusters:
            n_rows = int(data.reduce(_count_rows))
        if n_rows < self.n_clusters:
            shown = "1 sample" if data.shape[0] == 1 else str(count_distinct(data, self.n_clusters))
            raise self._refuse("n_clusters", f"at most the number of distinct rows ({shown})")

    def _warn(self, n_filled: int, remedy: str) -> None:
        """Say what the user should know about an end that is not one."""
        name = type(self).__name__
        if n_filled < self.n_clusters:
            warnings.warn(
                f"Only {n_filled} of the {self.n_clusters} clusters of {name} have rows: there are no more "
                "distinct rows, or the start was poor. Take fewer clusters.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if not self.converged_ and self.n_iter_ >= self.max_iter:
            warnings.warn(
                f"{name} did not converge in max_iter={self.max_iter} iterations "
                f"(optimality {self.optimality_:.2g}). {remedy}",
                ConvergenceWarning,
                stacklevel=4,
            )


def generators(random_state: RandomState, n_runs: int) -> Iterator[np.random.Generator]:
    """One generator a restart."""
    first = generator(random_state)
    yield from [first] if n_runs == 1 else spawn(first, n_runs)


def draw_rows(masses: NDArray, uniforms: NDArray, order: NDArray) -> NDArray:
    """Rows at which the cumulative mass, in a given order, passes uniform shares of its total.

    Never a row without mass. In an order that depends on what rows are and not on where they stand, the same
    numbers draw the same rows whether a row stands there three times or has weight 3.
    """
    cumulative = np.cumsum(masses[order])
    last = int(np.searchsorted(cumulative, cumulative[-1], side="left"))
    return order[np.minimum(np.searchsorted(cumulative, uniforms * cumulative[-1], side="right"), last)]


def dense64(X: Any) -> NDArray:
    """The rows of a block as a dense array of doubles."""
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def weights_of(block: Block) -> NDArray:
    """The weights of a block as doubles, 1 where there are none."""
    return block.weights


def monotone_certificate(trace: Any, cost: float, *, rounding: float, scale: float = 0.0) -> Certificate:
    """The cost never rises along the trace, and to the final measurement."""
    trace = np.asarray(trace, dtype=np.float64)
    rises = np.diff([*trace, cost], prepend=trace[0])
    scale = max(scale, cost, float(np.finfo(np.float64).tiny))
    return at_most(
        "The cost never rises, from one step to the next and to the final measurement.",
        "largest rise of the cost",
        float(max(rises.max(), 0.0)) / scale,
        rounding,
        source="Sangnier Prop. 56",
    )


def cost_certificate(claimed: float, measured: float, *, rounding: float, scale: float = 0.0) -> Certificate:
    """The cost that the fit claims is the one its labels and representers have."""
    scale = max(scale, abs(measured), float(np.finfo(np.float64).tiny))
    return at_most(
        "The cost is that of the labels and the representers, summed afresh.",
        "error of the cost",
        abs(claimed - measured) / scale,
        rounding,
        source="Sangnier §2.2.1",
    )


def assignment_certificate(excess: float, *, rounding: float) -> Certificate:
    """No row is nearer to another representer than to that of its cluster."""
    return at_most(
        "Every row belongs to its nearest representer.",
        "assignment excess",
        excess,
        rounding,
        source="Sangnier Prop. 55",
    )


def _count_rows(block: Block) -> int:
    assert block.weight is not None
    return int(np.count_nonzero(block.weight))
