"""The splits of a table as numbers: encoded once for all methods, by what the training rows alone tell."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.encoder import TableEncoder
from assay.report.tables.schema import Column
from assay.report.trials.resampling import FoldSplit

MEMORY = 1 << 30
"""EncodedSplit splits are kept up to so many bytes; beyond, a split is encoded again for every method."""


class EncodedSplit(NamedTuple):
    """One split as numbers.

    Attributes
    ----------
    encoder : TableEncoder
        Fitted on the training rows.
    train, target : arrays
        Features and target of the training rows.
    test : array
        Features of the rows to predict; none for the fit on the whole table.
    """

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

    Parameters
    ----------
    frame : DataFrame
    target : array of shape (n_rows,)
    columns : sequence of Column
    parts : sequence of FoldSplit
    """

    def __init__(
        self, frame: pd.DataFrame, target: NDArray, columns: Sequence[Column], parts: Sequence[FoldSplit]
    ) -> None:
        self.frame = frame
        self.target = target
        self.columns = columns
        self.parts = parts
        self._kept: dict[int, EncodedSplit] = {}
        self._encoders: dict[int, TableEncoder] = {}
        self._stored: dict[int, StoredSplit] = {}
        self._stack = ExitStack()
        self._folder: Path | None = None

    def __enter__(self) -> Encodings:
        return self

    def __exit__(self, *error: Any) -> None:
        self._kept.clear()
        self._stack.close()

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
        whole = number == len(self.parts)
        encoder = TableEncoder(self.columns)
        if whole:
            train = encoder.fit_transform(self.frame)
            test, target = train[:0], self.target
        else:
            rows, shown = self.parts[number]
            train = encoder.fit_transform(self.frame.iloc[rows])
            test, target = encoder.transform(self.frame.iloc[shown]), self.target[rows]
        self._encoders[number] = encoder
        return EncodedSplit(encoder, train, target, test)
