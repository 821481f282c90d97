"""Small machines, each solved from its first step to its proof by one compiled call.

A machine of a few hundred rows takes less time to solve than Python takes to look at it. What
the call leaves unfinished, because pairs creep, is for `assay.solvers.rkhs.box`.

The Gram matrix of a machine of two classes is put together, line by line as lines are asked for, from three
blocks: that of either class, which its machines share, and that across. A machine of all rows has one block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels.tiles import Fill, filled
from assay.rows import n_threads, ordered_map
from assay.solvers.rkhs.machines.loops import N_NUMBERS, solve_machines
from assay.solvers.rkhs.problem import Array

SMALL = 1000
"""Rows of a machine up to which it is solved by one call."""


class Layout(NamedTuple):
    """Where the rows of a machine are: in the stack of all machines, in its own blocks and in that across.

    Row i of its first class is row `first + i` of `own`, whose columns begin at `first_column`; and so on.
    """

    start: int
    n_first: int
    n_second: int
    first: int
    first_column: int
    second: int
    second_column: int
    cross_row: int
    cross_column: int


class Span(NamedTuple):
    """Rows of a machine in a table: those of its first class, and of its second (none for one block)."""

    first: int
    first_end: int
    second: int = 0
    second_end: int = 0


class SmallMachines(NamedTuple):
    """What is solved: targets and box of the rows of all machines, one after the other, and their spans."""

    target: Array
    upper: Array
    lower: Array
    epsilon: float
    spans: Sequence[Span]


class SmallSolutions(NamedTuple):
    """ν and K ν⁺, K ν⁻ of all rows, and the numbers of each machine; see `N_ITER`."""

    coef: Array
    products: Array
    numbers: Array


def solve_small(
    machines: SmallMachines,
    gram: Array | tuple[Fill, int],
    *,
    tol: float,
    max_iter: int,
    polished: bool = True,
) -> SmallSolutions:
    """Solve small machines with an intercept, several at a time.

    Parameters
    ----------
    machines : SmallMachines
    gram : array of shape (n, n), or (fill, n)
        The Gram matrix of the table in C order; or what fills its tiles: only blocks of it are made then,
        those of the classes, and one across for each machine.
    tol, max_iter, polished
        See `assay.solvers.rkhs.box.BoxOptions`.
    """
    target, upper, lower, epsilon, spans = machines
    total, numbers = len(target), np.empty((len(spans), N_NUMBERS))
    solution = SmallSolutions(np.zeros(total), np.empty((total, 2)), numbers)
    stack = target, upper, lower, solution.coef, solution.products
    settings = float(epsilon), float(tol), int(max_iter), bool(polished)
    layout = layout_of(spans, whole=isinstance(gram, np.ndarray))
    largest = max(end - a for a, end, _, _ in spans) + max(end - b for _, _, b, end in spans)
    if isinstance(gram, np.ndarray):
        room = np.empty((largest, largest)) if len(spans) > 1 else gram
        solve_machines((gram, gram, room), layout, stack, settings, numbers, 0, len(spans))
        return solution
    fill, n = gram
    widest = max(max(a_end - a, b_end - b) for a, a_end, b, b_end in spans)
    own = np.empty((n, widest))

    def of_class(rows: slice) -> None:
        filled(fill, rows, rows, own[rows, : rows.stop - rows.start])

    def some(places: range) -> None:
        room, tile = np.empty((largest, largest)), np.empty(widest * widest)
        for m in places:
            a, a_end, b, b_end = spans[m]
            cross = tile[: (a_end - a) * (b_end - b)].reshape(a_end - a, b_end - b)
            fill(slice(a, a_end), slice(b, b_end), cross)
            solve_machines((own, cross, room), layout, stack, settings, numbers, m, m + 1)

    classes = sorted({span[:2] for span in spans} | {span[2:] for span in spans})
    for _ in ordered_map(of_class, [slice(*each) for each in classes]):
        pass
    n_tasks = min(len(spans), 2 * n_threads())
    for _ in ordered_map(some, [range(task, len(spans), n_tasks) for task in range(n_tasks)]):
        pass
    return solution


def layout_of(spans: Sequence[Span], *, whole: bool) -> NDArray[np.intp]:
    """The `Layout` of each machine: on the whole Gram matrix, or on blocks that begin at 0."""
    at = np.array(spans, dtype=np.intp)
    layout = np.zeros((len(at), len(Layout._fields)), dtype=np.intp)
    first, second = at[:, 1] - at[:, 0], at[:, 3] - at[:, 2]
    layout[:, 0] = np.cumsum(first + second) - first - second
    layout[:, 1], layout[:, 2], layout[:, 3], layout[:, 5] = first, second, at[:, 0], at[:, 2]
    if whole:
        layout[:, 4], layout[:, 6], layout[:, 7], layout[:, 8] = at[:, 0], at[:, 2], at[:, 0], at[:, 2]
    return layout
