"""Trying one method on the splits of a table: fitted on the training rows of each, asked about the others."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from assay.models import Selection
from assay.registry import Entry
from assay.report.tables.encoding.code_encoder import CodeEncoder
from assay.report.tables.encoding.encoder import TableEncoder
from assay.report.tables.encoding.plain_numbers import read_once
from assay.report.tables.schema import Column
from assay.report.trials.explaining.effects import Traced, Tracing, traced_columns
from assay.report.trials.explaining.importance import Examination
from assay.report.trials.rounds import choose_rounds
from assay.report.trials.scoring.resampling import COVERAGE, FoldSplit, for_all_classes
from assay.report.trials.tuning import Tuning

MEMORY = 1 << 30
"""Encoded splits are kept up to so many bytes; beyond, a split is encoded again for every method."""


class EncodedSplit(NamedTuple):
    """One split as numbers: the training rows, and those to predict, none for the fit on the whole table."""

    encoder: TableEncoder
    train: NDArray
    target: NDArray
    test: NDArray


class StoredSplit(NamedTuple):
    """The arrays of an encoded split as files, which several processes map into memory."""

    train: Path
    target: Path
    test: Path

    def open(self) -> tuple[NDArray, NDArray, NDArray]:
        """The arrays, as views of the files."""
        # Plain arrays, not memory maps: a model walks those as tables on disk.
        train, target, test = (np.asarray(np.load(path, mmap_mode="r")) for path in self)
        return train, target, test


class Encodings:
    """The encoded splits of a table, made when they are first asked for.

    The number of a split past the last one stands for the whole table, to fit on and nothing to predict.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        target: NDArray,
        columns: Sequence[Column],
        parts: Sequence[FoldSplit],
        kind: type[TableEncoder] = TableEncoder,
    ) -> None:
        self.frame, self.target, self.columns, self.parts = frame, target, columns, parts
        self.kind = kind
        self._others: dict[type[TableEncoder], Encodings] = {}
        self._read = read_once(frame, columns)
        self._kept: dict[int, EncodedSplit] = {}
        self._encoders: dict[int, TableEncoder] = {}
        self._stored: dict[int, StoredSplit] = {}
        self._tracings: dict[int, Tracing] = {}
        self._stack = ExitStack()
        self._folder: Path | None = None

    def __enter__(self) -> Encodings:
        return self

    def __exit__(self, *error: Any) -> None:
        self._kept.clear()
        for other in self._others.values():
            other.__exit__(*error)
        self._stack.close()

    def of(self, kind: type[TableEncoder]) -> Encodings:
        """The same splits, encoded in another way."""
        if kind is self.kind:
            return self
        if kind not in self._others:
            self._others[kind] = Encodings(self.frame, self.target, self.columns, self.parts, kind)
        return self._others[kind]

    def __getitem__(self, number: int) -> EncodedSplit:
        """The split of that number."""
        if number in self._kept:
            return self._kept[number]
        made = self._encode(number)
        held = sum(item.train.nbytes + item.test.nbytes for item in self._kept.values())
        if held + made.train.nbytes + made.test.nbytes <= MEMORY:
            self._kept[number] = made
        return made

    def encoder(self, number: int) -> TableEncoder:
        """What was learnt of the columns of a split that has been asked for."""
        return self._encoders[number]

    @cached_property
    def traced(self) -> tuple[Traced, ...]:
        """The columns whose effects on every model are measured."""
        return traced_columns(self.frame, self.columns, self.kind)

    def tracing(self, number: int, labels: NDArray | None, repeats: int) -> Tracing | None:
        """Asks models how their predictions of a split move with its columns; None where these are many."""
        if not self.traced:
            return None
        if number not in self._tracings:
            frame = self.frame.iloc[self.parts[number].test]
            encoder = self.encoder(number)
            self._tracings[number] = Tracing.of(self.traced, encoder, frame, labels, repeats)
        return self._tracings[number]

    def stored(self, number: int) -> StoredSplit:
        """The split of that number, as files that vanish with this object."""
        if number not in self._stored:
            if self._folder is None:
                self._folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="assay-")))
            encoded = self._encode(number)
            paths = StoredSplit(*(self._folder / f"{number}-{name}.npy" for name in StoredSplit._fields))
            target = encoded.target.astype("U") if encoded.target.dtype == object else encoded.target
            for path, array in zip(paths, (encoded.train, target, encoded.test), strict=True):
                np.save(path, array, allow_pickle=False)
            self._stored[number] = paths
        return self._stored[number]

    def _encode(self, number: int) -> EncodedSplit:
        encoder = self._encoders[number] = self.kind(self.columns)
        if number == len(self.parts):
            train = encoder.fit_transform(self._read)
            test, target = train[:0], self.target
        else:
            rows, shown = self.parts[number]
            train = encoder.fit_transform(self._read.iloc[rows])
            test, target = encoder.transform(self._read.iloc[shown]), self.target[rows]
        return EncodedSplit(encoder, train, target, test)


@dataclass(frozen=True)
class Recipe:
    """How a method is fitted to numbers."""

    entry: Entry | None  # None for the baseline
    baseline: type | None = None

    @property
    def name(self) -> str:
        """Name of the method."""
        return "Baseline" if self.entry is None else self.entry.name

    @property
    def encoder(self) -> type[TableEncoder]:
        """What makes numbers of the columns of a table for this method."""
        plain = self.entry is not None and self.entry.suits.encoding == "codes"
        return CodeEncoder if plain else TableEncoder

    def fit(self, features: NDArray, target: NDArray, tuning: Tuning) -> FittedMethod:
        """Choose the main parameter and fit: all from these rows."""
        entry, seed = self.entry, tuning.seed
        if entry is None:
            assert self.baseline is not None
            return FittedMethod(self.baseline().fit(features, target), {}, None)
        model = entry.make(seed)
        if entry.suits.select is None:
            stops = getattr(model, "early_stopping", False)
            chosen = choose_rounds(model, features, target, tuning) if stops else None
            model = model.fit(features, target) if chosen is None else chosen
            return FittedMethod(model, chosen_parameters(entry, model, seed), None)
        options = tuning.options(entry, model.select, features.size, target)
        chosen = model.select(features, target, **options)
        curve = replace(chosen, model=None) if isinstance(chosen.best, float) else None
        return FittedMethod(chosen.model, chosen_parameters(entry, chosen.model, seed), curve)

    def refit(self, model: Any, features: NDArray, target: NDArray, tuning: Tuning) -> Any:
        """A model with the parameters of another, fitted to other rows."""
        return clone(model).fit(features, target)


class FittedMethod(NamedTuple):
    """A fitted model, the parameters chosen for it, the curve they were chosen on, and the warnings."""

    model: Any
    parameters: Mapping[str, float]
    selection: Selection | None
    notes: tuple[str, ...] = ()


def chosen_parameters(entry: Entry, model: Any, seed: int) -> dict[str, float]:
    """The numbers that were chosen: parameters that differ from those the estimator was made with."""
    made, now = entry.make(seed).get_params(deep=False), model.get_params(deep=False)
    return {
        name: float(value)
        for name, value in now.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value != made[name]
    }


class Answers(NamedTuple):
    """What a model says about rows it has not seen, the time of its fit, and the warnings."""

    predictions: NDArray
    probabilities: NDArray | None  # (n_rows, n_classes), where the model has any
    bounds: NDArray | None  # (n_rows, 2), its own intervals, where it has any
    seconds: float
    notes: tuple[str, ...]
    examined: NDArray | None = None  # (n_columns,), what shuffling each column costs, where it was asked for
    traced: Sequence[NDArray] | None = None  # its curve over the values of each column, where it was asked
    model: Any = None  # the model itself, where it was asked for


def answer(
    recipe: Recipe,
    train: NDArray,
    target: NDArray,
    test: NDArray,
    *,
    tuning: Tuning,
    classes: NDArray | None,
    examine: Examination | None = None,
    trace: Tracing | None = None,
    keep: bool = False,
) -> Answers:
    """Fit on the training rows and ask about the others; the model is kept where it is to explain them."""
    with noted() as notes:
        start = perf_counter()
        model = recipe.fit(train, target, tuning).model
        seconds = perf_counter() - start
        predictions = np.asarray(model.predict(test))
        probabilities = bounds = None
        if classes is not None and hasattr(model, "predict_proba"):
            probabilities = for_all_classes(model.predict_proba(test), model.classes_, classes)
        if classes is None and hasattr(model, "predict_interval"):
            with suppress(ValueError):  # penalised, or with no row to spare: the model says that it has none
                bounds = np.asarray(model.predict_interval(test, coverage=COVERAGE), dtype=np.float64)
                bounds = bounds if np.isfinite(bounds).all() else None
        examined = None if examine is None else examine(model, test)
        traced = None if trace is None else trace(model, test)
    kept = model if keep else None
    return Answers(predictions, probabilities, bounds, seconds, tuple(notes), examined, traced, kept)


def finish(recipe: Recipe, train: NDArray, target: NDArray, test: NDArray, *, tuning: Tuning) -> FittedMethod:
    """Fit on the whole table, where there is no row left to predict."""
    with noted() as notes:
        fitted = recipe.fit(train, target, tuning)
    return fitted._replace(notes=tuple(notes))


@contextmanager
def noted() -> Iterator[list[str]]:
    """Gather warnings, each once, in place of showing them."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes.extend(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))


NUMBER = re.compile(r"\d+([.,]\d+)*(e[+-]?\d+)?")


def without_repeats(notes: Sequence[str]) -> tuple[str, ...]:
    """Each note once; of those that differ in their numbers alone, as fits to other rows do, the first.

    Examples
    --------
    >>> without_repeats(["Stopped after 221 rounds.", "tied", "Stopped after 147 rounds.", "tied"])
    ('Stopped after 221 rounds; 2 fits say so, each with its numbers.', 'tied')
    """
    alike: dict[str, list[str]] = {}
    for note in notes:
        alike.setdefault(NUMBER.sub("#", note), []).append(note)
    return tuple(
        same[0]
        if len(set(same)) == 1
        else f"{same[0].rstrip('.')}; {len(same)} fits say so, each with its numbers."
        for same in alike.values()
    )


class Outputs(NamedTuple):
    """What models that have not seen a row say about it, for every row of the table, in one repetition.

    Folds in the order of the time leave the first rows unpredicted: the answers are then those of `rows`
    alone.
    """

    predictions: NDArray
    probabilities: NDArray | None
    bounds: NDArray | None
    folds: NDArray
    rows: NDArray | None = None

    def at(self, rows: NDArray) -> Outputs:
        """The answers about some rows."""
        probabilities = None if self.probabilities is None else self.probabilities[rows]
        bounds = None if self.bounds is None else self.bounds[rows]
        return Outputs(self.predictions[rows], probabilities, bounds, self.folds[rows], rows)


def gather(parts: Sequence[FoldSplit], answers: Sequence[Answers], y: NDArray, folds: int) -> list[Outputs]:
    """Put the answers of the splits together, for each repetition: one for every row, in their order."""
    together = []
    for start in range(0, len(parts), folds):
        some, told = parts[start : start + folds], answers[start : start + folds]
        predictions, fold = np.empty_like(y), np.full(len(y), -1)
        for number, (part, said) in enumerate(zip(some, told, strict=True)):
            predictions[part.test], fold[part.test] = said.predictions, start + number
        probabilities = _table([said.probabilities for said in told], some, len(y))
        bounds = _table([said.bounds for said in told], some, len(y))
        whole = Outputs(predictions, probabilities, bounds, fold)
        together.append(whole if fold.min() >= 0 else whole.at(np.flatnonzero(fold >= 0)))
    return together


def _table(answers: Sequence[NDArray | None], parts: Sequence[FoldSplit], n_rows: int) -> NDArray | None:
    """Answers of the splits of one repetition in the order of the rows; None if a model had none."""
    there = [rows for rows in answers if rows is not None]
    if len(there) < len(answers):
        return None
    table = np.empty((n_rows, there[0].shape[1]))
    table[np.concatenate([part.test for part in parts])] = np.concatenate(there)
    return table
