"""Columns that add up: a column that others give exactly, and a target that a few columns give away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.data import sampled
from assay.report.tables.encoding.cells import finite
from assay.report.tables.schema import Column
from assay.report.wording import short
from assay.rows import alone

FEWEST = 10
MAX_COLUMNS = 500
MOST_ROWS = 20_000

EXACT = 1e-8
"""A column is linear in others when they leave at most this share of its variance."""

TOGETHER = 0.999
"""A few columns that explain more than this share of the target's variance give it away."""

MOST_TOGETHER = 4
"""As many columns, at most, are named as giving the target away together."""

KNOWN = 0.8
"""Columns with fewer known values than this share are not looked at together."""

ROWS_PER_COLUMN = 5
"""With fewer rows per column, a fit of the columns looks exact by chance."""


MOST_ROBUST, ROBUST_ROWS, OTHERWISE, STEPS = 100, 2000, 0.05, 4
"""Columns and rows among which a sum is looked for that a few rows do not keep; the share of these at most;
rounds of it."""

NEAR_ONE, SHIFT = 1e-3, 1e-3
"""A multiple that is so near to ±1 is one; a constant below this share of the greatest value is none."""


class Relation(NamedTuple):
    """A column that is a sum of multiples of others, with or without a constant."""

    name: str
    terms: tuple[tuple[str, float], ...]  # columns and their multiples
    product: bool = False  # whether it holds for the logarithms: a product of powers
    shifted: bool = False  # whether there is a constant
    n_otherwise: int = 0  # rows that do not keep it, where these are few
    whole: float = 0.0  # of a share of two columns, 1 or 100: whole × a / (a + b)

    @property
    def formula(self) -> str:
        """The right-hand side, where it is one that people write: "a + b − c", "a × b / c"; else empty."""
        weights = np.array([weight for _, weight in self.terms])
        if not np.allclose(np.abs(weights), 1.0, atol=NEAR_ONE):
            return ""
        plus, minus = (" × ", " / ") if self.product else (" + ", " − ")
        first, *rest = sorted(self.terms, key=lambda term: term[1] < 0)
        if first[1] < 0:
            return ""
        if self.whole:
            a, b = short(first[0]), short(rest[0][0])
            return f"{a} / ({a} + {b})"
        sum_ = short(first[0]) + "".join(
            (plus if weight > 0 else minus) + short(name) for name, weight in rest
        )
        return f"{sum_} {'times' if self.product else 'plus'} a constant" if self.shifted else sum_


class NumberColumns(NamedTuple):
    """The columns of numbers of a table over the rows where all of them are known, and the target there."""

    names: list[str]
    values: NDArray
    target: NDArray | None


def numbers_of(frame: pd.DataFrame, columns: Sequence[Column], y: NDArray | None = None) -> NumberColumns:
    """The columns of numbers, of all rows or of some drawn at random, always the same ones."""
    if len(frame) > MOST_ROWS:
        rows = sampled(len(frame), MOST_ROWS)
        frame, y = frame.iloc[rows], None if y is None else y[rows]
    used = [column.name for column in columns if column.learnable and column.kind == "numeric"]
    known = {name: values for name in used[:MAX_COLUMNS] if _is_known(values := finite(frame[name]))}
    if not known:
        return NumberColumns([], np.empty((len(frame), 0)), y)
    table = np.column_stack(list(known.values()))
    whole = ~np.isnan(table).any(axis=1)
    return NumberColumns(list(known), table[whole], None if y is None else y[whole])


def _is_known(values: NDArray) -> bool:
    return float(np.mean(~np.isnan(values))) >= KNOWN


def linear_relations(names: Sequence[str], table: NDArray) -> list[Relation]:
    """Columns that are linear in those before them, each with the columns that give it.

    Examples
    --------
    >>> a, b = np.random.default_rng(0).normal(size=(2, 50))
    >>> [(found.name, found.formula) for found in linear_relations("abc", np.column_stack([a, b, a + b]))]
    [('c', 'a + b')]
    """
    if len(table) < max(FEWEST, ROWS_PER_COLUMN * table.shape[1]):
        return []
    return alone(_linear_relations, names, table)


def _linear_relations(names: Sequence[str], table: NDArray) -> list[Relation]:
    unit, scale = standardised(table)
    gram = unit.T @ unit
    left = gram.copy()  # what the columns in the basis leave of each other: a Cholesky factorisation by steps
    basis, relations = list[int](), list[Relation]()
    for place in map(int, np.flatnonzero(scale > 0)):
        if left[place, place] > EXACT:
            basis.append(place)
            step = left[:, place] / np.sqrt(left[place, place])
            left -= np.outer(step, step)
            continue
        weights = np.linalg.lstsq(gram[np.ix_(basis, basis)], gram[basis, place], rcond=None)[0]
        used = np.flatnonzero(np.abs(weights) > 1e-3)
        multiples = weights * scale[place] / scale[basis]
        terms = tuple((names[basis[index]], float(multiples[index])) for index in used)
        shifted = _is_shifted(table[:, place], table[:, np.array(basis)[used]], multiples[used])
        relations.append(Relation(names[place], terms, shifted=shifted))
    return relations


def _is_shifted(values: NDArray, others: NDArray, weights: NDArray) -> bool:
    """Whether a sum of multiples of other columns needs a constant, multiples near ±1 taken for these."""
    plain = np.where(np.abs(np.abs(weights) - 1) < NEAR_ONE, np.sign(weights), weights)
    return abs(float(np.mean(values - others @ plain))) > SHIFT * float(np.abs(values).max(initial=0.0))


def together(columns: NumberColumns, target: str) -> Relation | None:
    """The few columns that give a number target away between them, though none does alone.

    Sums are looked for, then products, then shares: `count = casual + registered`,
    `total = price × quantity`, `rate = hits / (hits + misses)`.

    Examples
    --------
    >>> casual, registered = np.random.default_rng(0).gamma(2.0, 50.0, (2, 80)).round()
    >>> columns = NumberColumns(["a", "b"], np.column_stack([casual, registered]), casual + registered)
    >>> together(columns, "count").formula
    'a + b'
    """
    names, table, y = columns
    if y is None or len(y) < ROWS_PER_COLUMN * FEWEST or len(names) < 2:
        return None
    exact = linear_relations([*names, target], np.column_stack([table, y]))
    if exact and exact[-1].name == target:
        return exact[-1] if len(exact[-1].terms) > 1 else None  # a single column is told by `leaking`
    chosen = alone(_chosen, names, table, y, target)
    positive = np.flatnonzero((table > 0).all(axis=0))
    if chosen is None and (y > 0).all() and len(positive) > 1:
        some = [names[place] for place in positive]
        chosen = alone(_chosen, some, np.log(table[:, positive]), np.log(y), target)
        chosen = None if chosen is None else chosen._replace(product=True)
        chosen = alone(_share, some, np.log(table[:, positive]), y, target) if chosen is None else chosen
    return alone(_but_for_few_rows, columns, target) if chosen is None else chosen


def _share(names: Sequence[str], logs: NDArray, y: NDArray, target: str) -> Relation | None:
    """A share or percentage of two columns, a / (a + b): its odds are their quotient."""
    for whole in (1.0, 100.0):
        if y.max() < whole:
            found = _chosen(names, logs, np.log(y / (whole - y)), target)
            found = None if found is None else found._replace(product=True)
            is_share = (
                found is not None and len(found.terms) == 2 and bool(found.formula) and not found.shifted
            )
            return found._replace(whole=whole) if found is not None and is_share else None
    return None


def _but_for_few_rows(columns: NumberColumns, target: str) -> Relation | None:
    """A sum of a few columns that all but a few rows keep: these hide it from squares.

    Least squares of the rows that they miss least, again and again (least trimmed squares), leave those rows
    aside. What remains must be a sum that people write: multiples near ±1 are no chance.
    """
    names, table, y = columns
    if y is None or len(names) > MOST_ROBUST or len(y) < ROWS_PER_COLUMN * len(names):
        return None
    every = slice(None, None, -(-len(y) // ROBUST_ROWS))
    unit, aim = standardised(table[every])[0], y[every]
    design = np.column_stack([np.full(len(aim), 1 / np.sqrt(len(aim))), unit])
    kept = np.arange(len(aim))
    for _ in range(STEPS):
        weights = np.linalg.lstsq(design[kept], aim[kept], rcond=None)[0]
        miss = np.abs(aim - design @ weights)
        kept = np.sort(np.argsort(miss, kind="stable")[: int(np.ceil((1 - OTHERWISE) * len(aim)))])
    kept = np.arange(len(y))[every][kept]
    found = _chosen(names, table[kept], y[kept], target)
    if found is None or not found.formula:
        return None
    terms = np.column_stack([np.sign(weight) * table[:, names.index(name)] for name, weight in found.terms])
    off = y - terms.sum(axis=1)
    middle = np.median(off)
    most = max(NEAR_ONE * float(np.std(y[kept])), float(np.quantile(np.abs(off - middle), 1 - OTHERWISE)))
    n_otherwise = int((np.abs(off - middle) > 2 * most).sum())
    return found._replace(n_otherwise=n_otherwise) if n_otherwise else None


def _chosen(names: Sequence[str], table: NDArray, y: NDArray, target: str) -> Relation | None:
    """The first few columns that explain nearly all of the target, chosen one by one."""
    unit, scale = standardised(table)
    aim, spread = standardised(y[:, None])
    if not spread[0] > 0:
        return None
    rest, chosen, frame = aim[:, 0].copy(), list[int](), np.empty((len(y), 0))
    for _ in range(min(MOST_TOGETHER, int((scale > 0).sum()))):
        free = unit - frame @ (frame.T @ unit)
        size = np.sqrt(np.maximum((free**2).sum(axis=0), 0.0))
        free[:, size < np.sqrt(EXACT)] = 0.0
        gain = np.abs(rest @ free) / np.where(size > 0, size, 1.0)
        best = int(gain.argmax())
        if not gain[best] > 0:
            return None
        chosen.append(best)
        direction = free[:, best] / size[best]
        frame = np.column_stack([frame, direction])
        rest -= (rest @ direction) * direction
        if float(rest @ rest) * (len(y) - 1) / (len(y) - 1 - len(chosen)) < 1 - TOGETHER:
            break
    else:
        return None
    if len(chosen) < 2:
        return None
    weights = np.linalg.lstsq(unit[:, chosen], aim[:, 0], rcond=None)[0] * spread[0] / scale[chosen]
    terms = tuple((names[place], float(w)) for place, w in zip(chosen, weights, strict=True))
    return Relation(target, terms, shifted=_is_shifted(y, table[:, chosen], weights))


def standardised(table: NDArray) -> tuple[NDArray, NDArray]:
    """Columns centred and of norm 1, and the norms; zero where a column does not vary."""
    size = np.abs(table).max(axis=0)
    scaled = table / np.where(size > 0, size, 1.0)
    centred = scaled - scaled.mean(axis=0)
    norm = np.sqrt((centred**2).sum(axis=0))
    norm = np.where(norm > 1e-12 * np.sqrt(len(table)), norm, 0.0)
    return np.where(norm > 0, centred / np.where(norm > 0, norm, 1.0), 0.0), norm * size
