"""How the prediction moves with the columns that matter, in their own units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.models.effects import (
    Question,
    asked_together,
    bins_of,
    dependence_question,
    local_question,
    quantile_edges,
)
from assay.report.tables.encoding.cells import SECONDS_OF_DAY, days_of, level_places, read_numbers, words_in
from assay.report.tables.encoding.encoder import TableEncoder
from assay.report.tables.schema import Column
from assay.report.trials.explaining.explanation import Effect
from assay.report.trials.explaining.importance import answers_of
from assay.report.trials.scoring.resampling import corrected_error

MAX_COLUMNS = 8
"""Columns whose effects are shown."""

MAX_LEVELS = 8
"""Levels of a column of words that are shown, the most frequent ones."""

N_VALUES = 20
ROWS_OF_PARTIAL, ROWS_OF_LOCAL = 500, 2000
"""Rows of all splits that a partial dependence, and accumulated local effects, are measured on."""

TOGETHER = 0.5
"""Columns with a greater correlation go together: other values of one would make rows that there are not."""

CORRELATED_ROWS = 2000


FEW_VALUES, PREDICTIONS_OF_A_SPLIT, FEWEST_ROWS = 8, 4_000, 8
"""Values of a column at which every model is asked, rows that it is asked about on one split, and rows with
which it is worth it: beyond some sixty columns, effects are those of the recommended model alone."""


class Split(NamedTuple):
    """A model and rows that it has not seen, as they are in the table and as numbers."""

    model: Any
    encoder: TableEncoder
    frame: pd.DataFrame
    features: NDArray


class Scale(NamedTuple):
    """The values of a column at which its effect is measured."""

    kind: str
    positions: NDArray
    names: tuple[str, ...]
    values: pd.Series[Any]  # as they would be in the table

    @property
    def ordered(self) -> bool:
        """Whether there are steps from one value to the next."""
        return self.kind != "level" or self.values.name == "ordinal"


def effects_of(
    splits: Sequence[Split],
    columns: Sequence[str],
    table: pd.DataFrame,
    whole: Split,
    *,
    share: float,
    labels: NDArray | None = None,
    followed: Mapping[str, int] | None = None,
) -> tuple[Effect, ...]:
    """Effects of some columns on the predictions of the models of a cross-validation.

    Parameters
    ----------
    splits : sequence of Split
    columns : sequence of str
        Which columns, those first that matter most.
    table : DataFrame
        All rows, from which the values of the columns are taken.
    whole : Split
        The model of all rows with some of them, which tell what goes together.
    share : float
        Share of the rows that a split predicts.
    labels : array, optional
        All classes, sorted.
    followed : mapping of str to int, optional
        Names of the classes whose probabilities are followed, and their places among the labels.
    """
    known = {column.name: column for column in whole.encoder.columns if column.learnable}
    scales = {name: scale_of(table[name], known[name]) for name in columns[:MAX_COLUMNS]}
    traced = [Traced.of(whole, name, scale) for name, scale in scales.items() if len(scale.positions) > 1]
    curves = []
    for split in splits:
        traces = [
            trace_of(split.encoder, split.frame, item, max(FEWEST_ROWS, item.n_rows // len(splits)))
            for item in traced
        ]
        curves.append(Tracing(tuple(traces), labels)(split.model, split.features))
    return summarise_effects(traced, curves, columns, share=share, followed=followed)


def scale_of(values: pd.Series[Any], column: Column, n_values: int = N_VALUES) -> Scale:
    """Values of a column that stand for it: quantiles of numbers and dates, the frequent levels of words."""
    if column.kind == "date":
        edges = quantile_edges(days_of(values, day_first=column.day_first), n_values)
        moments = pd.Series(pd.to_datetime(edges * SECONDS_OF_DAY, unit="s"))
        return Scale("date", edges, (), moments)
    if column.kind == "boolean":
        return Scale("level", np.arange(2.0), ("no", "yes"), pd.Series([0.0, 1.0], name="boolean"))
    if column.kind == "numeric":
        edges = quantile_edges(read_numbers(values, column), n_values)
        return Scale("number", edges, (), pd.Series(edges))
    ordinal = column.kind == "ordinal"
    levels = column.levels if ordinal else column.levels[:MAX_LEVELS]
    series = pd.Series(list(levels), name=column.kind, dtype=object)
    return Scale("level", np.arange(float(len(levels))), tuple(levels), series)


class Traced(NamedTuple):
    """A column whose effect on every model is measured: its scale, and the column that goes with it."""

    name: str
    scale: Scale
    partner: str
    correlation: float

    @property
    def n_rows(self) -> int:
        """Rows of all splits that the effect on the recommended model is measured on."""
        return ROWS_OF_LOCAL if self.partner else ROWS_OF_PARTIAL

    @classmethod
    def of(cls, whole: Split, name: str, scale: Scale) -> Traced:
        """With a partner where single steps from row to row are needed: the other column goes with it."""
        partner, correlation = partner_of(whole, name)
        local = scale.ordered and correlation >= TOGETHER
        return cls(name, scale, partner, correlation) if local else cls(name, scale, "", 0.0)


def traced_columns(
    table: pd.DataFrame, columns: Sequence[Column], kind: type[TableEncoder]
) -> tuple[Traced, ...]:
    """The columns whose effects are measured for every model; none where they are too many."""
    used = [column for column in columns if column.learnable]
    if len(used) * FEW_VALUES * FEWEST_ROWS > PREDICTIONS_OF_A_SPLIT:
        return ()
    some = table.iloc[spread(len(table), CORRELATED_ROWS)]
    encoder = kind(columns).fit(some)
    whole, traced = Split(None, encoder, some, encoder.transform(some)), []
    for column in used:
        scale = scale_of(table[column.name], column, FEW_VALUES)
        if len(scale.positions) > 1:
            traced.append(Traced.of(whole, column.name, scale))
    return tuple(traced)


@dataclass(frozen=True)
class Tracing:
    """Asks a model how its prediction moves with each column, on a few rows of a split."""

    traces: tuple[Trace, ...]
    labels: NDArray | None

    @classmethod
    def of(
        cls,
        traced: Sequence[Traced],
        encoder: TableEncoder,
        frame: pd.DataFrame,
        labels: NDArray | None,
        repeats: int = 1,
    ) -> Tracing:
        """For the rows of a split, as they are in the table, and what encodes them."""
        n_rows = max(2, PREDICTIONS_OF_A_SPLIT // max(1, len(traced) * FEW_VALUES * repeats))
        return cls(tuple(trace_of(encoder, frame, item, n_rows) for item in traced), labels)

    def __call__(self, model: Any, features: NDArray) -> list[NDArray]:
        """The curve of each column."""
        return asked_together(
            answers_of(model, self.labels), [trace.question(features) for trace in self.traces]
        )


def summarise_effects(
    traced: Sequence[Traced],
    curves: Sequence[Sequence[NDArray] | None],
    ranking: Sequence[str],
    *,
    share: float,
    followed: Mapping[str, int] | None,
) -> tuple[Effect, ...]:
    """Effects of the columns that matter most to a model, from its curves on each split."""
    told = [item for item in curves if item is not None]
    if not told or len(told) < len(curves):
        return ()
    places, effects = {item.name: place for place, item in enumerate(traced)}, []
    for name in [name for name in ranking if name in places][:MAX_COLUMNS]:
        item = traced[places[name]]
        table = np.array([split[places[name]] for split in told])
        table = table if followed is None else table[:, :, list(followed.values())]
        errors = np.apply_along_axis(corrected_error, 0, table, share)
        scale, outputs = item.scale, tuple(followed or ())
        where = name, scale.kind, scale.positions, scale.names
        effects.append(Effect(*where, table.mean(axis=0), errors, outputs, item.partner, item.correlation))
    return tuple(effects)


def partner_of(whole: Split, name: str) -> tuple[str, float]:
    """The other column with the greatest correlation of any two of their features, and how great.

    A missing value counts as the mean of its feature.
    """
    groups = whole.encoder.groups()
    names = [column.name for column in whole.encoder.columns if column.learnable]
    place = names.index(name)
    features = whole.features[spread(len(whole.features), CORRELATED_ROWS)]
    known = ~np.isnan(features)
    means = features.sum(axis=0, where=known) / np.maximum(known.sum(axis=0), 1)
    features = np.where(known, features - means, 0.0)
    lengths = np.sqrt(np.square(features).sum(axis=0))
    features = features / np.where(lengths > 0, lengths, 1.0)
    together = np.abs(features[:, groups[place]].T @ features).max(axis=0, initial=0.0)
    widths = [len(group) for group in groups]  # a column may have no feature
    best = np.zeros(len(groups))
    np.maximum.at(best, np.repeat(np.arange(len(groups)), widths), together[np.concatenate(groups)])
    best[place] = 0.0
    partner = int(np.argmax(best))
    return names[partner], float(best[partner])


class Trace(NamedTuple):
    """A column set to some values in some rows of a split, as numbers."""

    group: NDArray  # features of the column
    settings: NDArray  # (n_values, n_features of the column)
    bins: NDArray | None  # between which values each row lies, for local steps
    rows: NDArray  # places of the rows that it is set in

    def question(self, features: NDArray) -> Question:
        """Asks for the effect of the column on one model, around 0, of shape (n_values, n_outputs)."""
        rows = features[self.rows]
        if self.bins is not None:
            curve = yield from local_question(rows, self.group, self.bins, self.settings)
            return curve.reshape(len(curve), -1)
        curve = yield from dependence_question(rows, self.group, self.settings)
        curve = curve.reshape(len(curve), -1)
        return curve - curve.mean(axis=0)


def trace_of(encoder: TableEncoder, frame: pd.DataFrame, traced: Traced, n_rows: int) -> Trace:
    """How a column is set to the values of its scale, in so many rows of a table."""
    name, scale = traced.name, traced.scale
    used = [column for column in encoder.columns if column.learnable]
    place = [column.name for column in used].index(name)
    group, column = encoder.groups()[place], used[place]
    settings = encoder.codes_[place].encode(scale.values.rename(name), column)
    settings = (settings - encoder.mean_[group]) / encoder.scale_[group]
    rows = spread(len(frame), n_rows)
    if traced.partner:
        bins = bins_of(_positions(frame[name].iloc[rows], column, scale), scale.positions)
        if np.any(bins >= 0):
            return Trace(group, settings, bins, rows)
    return Trace(group, settings, None, rows)


def spread(n_rows: int, most: int) -> NDArray[np.intp]:
    """Places of so many rows at equal distances: the first ones of a sorted table are not like the others.

    Examples
    --------
    >>> spread(10, 4).tolist(), spread(3, 4).tolist()
    ([0, 3, 6, 9], [0, 1, 2])
    """
    return np.linspace(0, n_rows - 1, min(n_rows, most)).round().astype(np.intp)


def _positions(values: pd.Series[Any], column: Column, scale: Scale) -> NDArray:
    """Where the rows stand on the scale of a column."""
    if column.kind == "date":
        return days_of(values, day_first=column.day_first)
    if column.kind == "ordinal":
        return level_places(words_in(values), scale.names)
    return read_numbers(values, column)
