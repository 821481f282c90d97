"""k-medoids over a matrix of dissimilarities: swaps of one medoid, and the alternation of the course."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.base import Watch
from assay.cluster.medoids import loops
from assay.cluster.quantizer.base import Alternation, Step, alternate, seed_rows
from assay.rows import ordered_map

PIECE = 128  # candidates, or rows of the matrix, that a thread takes at a time: a constant, for the same bits

SERIAL = 256
"""Candidates scanned on one thread after a swap, before all threads are called: swaps come in runs."""

ROUNDING = 1e-13
"""Changes of the cost below this share of it are rounding, not improvement."""


class Nearness(NamedTuple):
    """Nearest and next medoid of every row, and the dissimilarities to them."""

    nearest: NDArray
    runner_up: NDArray
    first: NDArray
    second: NDArray


Report = Callable[[Any, int, float], dict[str, Any]]
Pairs = tuple[NDArray, NDArray]
"""Dissimilarities of all pairs, C-ordered, and weights (empty where all are 1)."""


def nearness(distances: NDArray, medoids: NDArray) -> Nearness:
    """Measure every row against every medoid; ties go to the lowest place in the list."""
    places, values = np.empty((2, len(distances)), np.int32), np.empty((2, len(distances)), distances.dtype)
    result = Nearness(*places, *values)
    loops.two_nearest(distances, medoids, 0, len(distances), *result)
    return result


def swap_medoids(
    pairs: Pairs, start: NDArray, *, eager: bool, max_iter: int, watch: Watch, report: Report
) -> Alternation:
    """Swap one medoid for another row as long as that lowers the cost.

    A candidate is compared with all medoids at once, in O(n). Eager (FasterPAM): every improving swap is made
    at once. Else (PAM): one swap for each pass over all candidates, the best one. Both end where no swap of
    one medoid lowers the cost. An empty `weight` stands for weights that are all 1; rows of weight 0 are
    never medoids. The optimality is the share of candidates not tried since the last swap.
    """
    (distances, weight), medoids = pairs, start.copy()
    n_rows = len(distances)
    if len(medoids) == 1:
        return _single_medoid(distances, weight, medoids, watch, report)
    state = nearness(distances, medoids)
    losses = np.empty(len(medoids))
    trace = [loops.weighted_cost(weight, state.first)]
    position, n_quiet, n_scanned, stopped = 0, 0, 0, False
    while n_quiet < n_rows and n_scanned < max_iter * n_rows and not stopped:
        loops.removal_losses(weight, tuple(state), losses)
        arguments = (distances, weight, tuple(state), losses, medoids)
        candidate, place, n_seen = _scan(
            arguments, position, n_rows - n_quiet if eager else n_rows, -ROUNDING * trace[-1], eager=eager
        )
        passes = n_scanned // n_rows
        n_scanned += n_seen
        position = (position + n_seen) % n_rows
        n_quiet += n_seen
        if candidate >= 0:
            medoids[place] = candidate
            loops.apply_swap(distances, medoids, place, *state)
            trace.append(loops.weighted_cost(weight, state.first))
            n_quiet = 0
        for n_done in range(passes, n_scanned // n_rows):
            stopped = stopped or watch.iteration(lambda: report(medoids, n_done + 1, trace[-1]))  # noqa: B023
    n_iter = max(1, -(-n_scanned // n_rows))
    return Alternation(medoids, trace, n_iter, n_quiet >= n_rows, max(0.0, 1.0 - n_quiet / n_rows))


def _scan(
    arguments: tuple[Any, ...], position: int, n_wanted: int, threshold: float, *, eager: bool
) -> tuple[int, int, int]:
    """Scan candidates cyclically from a position: the swap, and how many candidates that took."""
    best, n_seen = (-1, -1, threshold), 0

    def one(piece: tuple[int, int]) -> Any:
        return loops.best_swap(*arguments, piece, threshold, eager)  # type: ignore[call-arg]

    pieces = list(_pieces(position, n_wanted, len(arguments[0])))
    n_serial = SERIAL // PIECE if eager else 0
    for piece in pieces[:n_serial]:
        candidate, place, change, n_piece = one(piece)
        n_seen += n_piece
        if candidate >= 0:
            return candidate, place, n_seen
    rest = pieces[n_serial:]
    few = len(rest) <= SERIAL // PIECE
    with closing((one(piece) for piece in rest) if few else ordered_map(one, rest)) as results:
        for candidate, place, change, n_piece in results:
            n_seen += n_piece
            if candidate >= 0 and change < best[2]:
                best = (candidate, place, change)
                if eager:
                    break
    return best[0], best[1], n_seen


def _pieces(position: int, n_wanted: int, n_rows: int) -> Iterator[tuple[int, int]]:
    """Ranges of candidates from a position on, around the end to the beginning."""
    while n_wanted > 0:
        stop = min(position + min(PIECE, n_wanted), n_rows)
        yield position, stop
        n_wanted -= stop - position
        position = stop % n_rows


def _single_medoid(
    distances: NDArray, weight: NDArray, medoids: NDArray, watch: Watch, report: Report
) -> Alternation:
    """The best single medoid is found by looking at all."""
    totals = single_costs(distances, weight)
    best = int(np.argmin(totals))
    trace = [float(totals[medoids[0]])]
    if totals[best] < (1.0 - ROUNDING) * trace[0]:
        medoids[0] = best
        trace.append(float(totals[best]))
    watch.iteration(lambda: report(medoids, 1, trace[-1]))
    return Alternation(medoids, trace, 1, True, 0.0)


def single_costs(distances: NDArray, weight: NDArray) -> NDArray:
    """Cost of every row as the only medoid; infinite for rows of weight 0."""
    return over_pieces(functools.partial(loops.costs, distances, weight), len(distances))


def over_pieces(work: Callable[[int, int, NDArray], object], n_rows: int) -> NDArray:
    """One number per row, written by `work` on ranges of rows, on threads where there are many."""
    result = np.empty(n_rows)
    if n_rows <= 4 * PIECE:
        work(0, n_rows, result)
        return result
    starts = range(0, n_rows, PIECE)
    list(ordered_map(lambda start: work(start, min(start + PIECE, n_rows), result), starts))
    return result


def alternate_medoids(
    pairs: Pairs, start: NDArray, *, max_iter: int, watch: Watch, report: Report
) -> Alternation:
    """Assign rows to the nearest medoid; take as medoid of a cluster the row, of all rows, that costs least.

    Every medoid is the best for its cluster at the end; a swap may still lower the cost.
    """
    distances, weight = pairs

    def step(medoids: NDArray) -> Step:
        state = nearness(distances, medoids)
        sums = cluster_costs(distances, weight, state.nearest, len(medoids))
        places = np.arange(len(medoids))
        successor = np.argmin(sums, axis=1)
        current = sums[places, medoids]
        # A cluster keeps its medoid, and an empty one always does, where no row is better.
        kept = ~(sums[places, successor] < current)
        successor[kept] = medoids[kept]
        cost = loops.weighted_cost(weight, state.first)
        gain = float((current - sums[places, successor]).sum())
        return Step(cost, medoids, successor, gain / cost if cost > 0.0 else 0.0)

    return alternate(step, start, tol=ROUNDING, max_iter=max_iter, watch=watch, report=report)


def cluster_costs(distances: NDArray, weight: NDArray, labels: NDArray, n_clusters: int) -> NDArray:
    """Cost of each row as the medoid of each cluster, of shape (n_clusters, n_samples).

    Infinite for rows of weight 0, which are absent; 0 for clusters without rows.
    """
    n_rows = len(distances)
    step = max(PIECE, -(-n_rows // 8))

    def one(start: int) -> NDArray:
        part = np.zeros((n_clusters, n_rows))
        loops.add_rows(distances, weight, labels, start, min(start + step, n_rows), part)
        return part

    starts = range(0, n_rows, step)
    parts = ordered_map(one, starts) if n_rows > 4 * PIECE else map(one, starts)
    sums = functools.reduce(np.add, parts)
    if weight.size:
        sums[:, weight == 0.0] = np.inf
    return sums


# Initial medoids: BUILD, k-medoids++, random rows.
#
# Draws look up uniform numbers in the cumulative weights of the rows, ordered by what they cost as the only
# medoid: a row of weight 3 and three copies of it are drawn alike, wherever they stand.


def build(distances: NDArray, weight: NDArray, n_clusters: int, random: np.random.Generator) -> NDArray:
    """BUILD of PAM: the best single medoid, then always the row that lowers the cost most.

    What a row would gain only falls as medoids are added: gains of earlier rounds are upper bounds, and few
    candidates have to be measured again.
    """
    medoids = np.empty(n_clusters, dtype=np.int64)
    medoids[0] = np.argmin(single_costs(distances, weight))
    if n_clusters == 1:
        return medoids
    first, fresh = distances[medoids[0]].copy(), np.zeros(len(distances), dtype=np.bool_)
    bounds = over_pieces(functools.partial(loops.gains, distances, weight, first), len(distances))
    for k in range(1, n_clusters):
        bounds[medoids[:k]] = -np.inf
        medoids[k] = loops.lazy_gain(distances, weight, first, bounds, fresh)
        np.minimum(first, distances[medoids[k]], out=first)
    return medoids


def plus_plus(distances: NDArray, weight: NDArray, n_clusters: int, random: np.random.Generator) -> NDArray:
    """Greedy k-medoids++: of 2 + ⌊ln K⌋ rows drawn ∝ w · d(x, medoids), the one of least cost left."""
    uniforms = random.random((n_clusters, 2 + int(np.log(n_clusters))))
    return _drawn(distances, weight, uniforms, greedy=True)


def random_rows(distances: NDArray, weight: NDArray, n_clusters: int, random: np.random.Generator) -> NDArray:
    """Rows drawn ∝ their weights without replacement, and without copies of those drawn."""
    return _drawn(distances, weight, random.random((n_clusters, 1)), greedy=False)


def _drawn(distances: NDArray, weight: NDArray, uniforms: NDArray, *, greedy: bool) -> NDArray:
    present = np.ones(len(distances)) if weight.size == 0 else weight.astype(np.float64)
    order = np.argsort(single_costs(distances, weight), kind="stable")
    return seed_rows(distances.__getitem__, present, uniforms, order, greedy=greedy)


INITS: dict[str, Callable[[NDArray, NDArray, int, np.random.Generator], NDArray]] = {
    "build": build,
    "k-medoids++": plus_plus,
    "random": random_rows,
}
