"""How the prediction moves with the columns that matter, in their own units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.models.effects import accumulated_local_effects, bins_of, partial_dependence, quantile_edges
from assay.report.tables.encoding.cells import SECONDS_OF_DAY, days_of, read_numbers, read_words
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
ROWS_OF_PARTIAL, ROWS_OF_LOCAL = 100, 400
"""Rows of a split that a partial dependence, and accumulated local effects, are measured on."""

TOGETHER = 0.5
"""Columns with a greater correlation go together: other values of one would make rows that there are not."""

CORRELATED_ROWS = 2000


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
    effects = []
    for name in columns[:MAX_COLUMNS]:
        scale = scale_of(table[name], known[name])
        if len(scale.positions) < 2:
            continue
        partner, correlation = partner_of(whole, name)
        local = scale.ordered and correlation >= TOGETHER
        curves = np.array([_curve(split, name, scale, labels, local=local) for split in splits])
        if followed is not None:
            curves = curves[:, :, list(followed.values())]
        errors = np.apply_along_axis(corrected_error, 0, curves, share)
        told = (partner, correlation) if local else ("", 0.0)
        mean = curves.mean(axis=0)
        effects.append(
            Effect(name, scale.kind, scale.positions, scale.names, mean, errors, tuple(followed or ()), *told)
        )
    return tuple(effects)


def scale_of(values: pd.Series[Any], column: Column) -> Scale:
    """Values of a column that stand for it: quantiles of numbers and dates, the frequent levels of words."""
    if column.kind == "date":
        edges = quantile_edges(days_of(values, day_first=column.day_first), N_VALUES)
        moments = pd.Series(pd.to_datetime(edges * SECONDS_OF_DAY, unit="s"))
        return Scale("date", edges, (), moments)
    if column.kind == "boolean":
        return Scale("level", np.arange(2.0), ("no", "yes"), pd.Series([0.0, 1.0], name="boolean"))
    if column.kind == "numeric":
        edges = quantile_edges(read_numbers(values, column), N_VALUES)
        return Scale("number", edges, (), pd.Series(edges))
    ordinal = column.kind == "ordinal"
    levels = column.levels if ordinal else column.levels[:MAX_LEVELS]
    series = pd.Series(list(levels), name=column.kind, dtype=object)
    return Scale("level", np.arange(float(len(levels))), tuple(levels), series)


def partner_of(whole: Split, name: str) -> tuple[str, float]:
    """The other column with the greatest correlation of any two of their features, and how great."""
    groups = whole.encoder.groups()
    names = [column.name for column in whole.encoder.columns if column.learnable]
    place = names.index(name)
    features = whole.features[:CORRELATED_ROWS]
    features = features - features.mean(axis=0)
    lengths = np.sqrt(np.square(features).sum(axis=0))
    features = features / np.where(lengths > 0, lengths, 1.0)
    together = np.abs(features[:, groups[place]].T @ features).max(axis=0)
    best = [0.0 if other == place else float(together[group].max()) for other, group in enumerate(groups)]
    partner = int(np.argmax(best))
    return names[partner], best[partner]


def _curve(split: Split, name: str, scale: Scale, labels: NDArray | None, *, local: bool) -> NDArray:
    """Effect of a column on one model, around 0, of shape (n_values, n_outputs)."""
    encoder = split.encoder
    used = [column for column in encoder.columns if column.learnable]
    place = [column.name for column in used].index(name)
    group, column = encoder.groups()[place], used[place]
    settings = encoder.codes_[place].encode(scale.values.rename(name), column)
    settings = (settings - encoder.mean_[group]) / encoder.scale_[group]
    predict = answers_of(split.model, labels)
    if local:
        rows = split.features[:ROWS_OF_LOCAL]
        bins = bins_of(_positions(split.frame[name].iloc[: len(rows)], column, scale), scale.positions)
        if np.any(bins >= 0):
            curve = accumulated_local_effects(predict, rows, group, bins, settings)
            return curve.reshape(len(curve), -1)
    curve = partial_dependence(predict, split.features[:ROWS_OF_PARTIAL], group, settings)
    curve = curve.reshape(len(curve), -1)
    return curve - curve.mean(axis=0)


def _positions(values: pd.Series[Any], column: Column, scale: Scale) -> NDArray:
    """Where the rows stand on the scale of a column."""
    if column.kind == "date":
        return days_of(values, day_first=column.day_first)
    if column.kind == "ordinal":
        places = {level: float(number) for number, level in enumerate(scale.names)}
        return read_words(values).map(places).to_numpy(dtype=np.float64)
    return read_numbers(values, column)
