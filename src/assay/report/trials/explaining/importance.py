"""What each column of the table is worth to a model, on rows that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.models.importance import RowLoss, permutation_importance, squared_error
from assay.report.tables.encoding.encoder import TableEncoder
from assay.report.trials.scoring.resampling import brier_error, corrected_error, for_all_classes

PREDICTIONS_OF_A_SPLIT = 5_000
"""Rows that every model is asked about for its importances on one split, a fraction of what its fit takes;
repetitions of the folds share them."""

PREDICTIONS_OF_THE_CHOSEN = 100_000
"""Rows that the recommended model is asked about, on all splits together."""

NUMBERS_OF_THE_CHOSEN = 1_000_000_000
"""Numbers that those rows have at most: of a very wide table fewer are asked about."""

ROWS, REPEATS = 400, 5
"""Rows of a split and shuffles of each column, at most."""

MAX_COLUMNS, SCREENED_ROWS, FEWEST_SCREENED = 200, 8, 2
"""In a wider table the recommended model is examined on the columns that move the most, for so many rows:
fewer where they are very wide."""

PIECES, CUTS, ROUNDS = 1000, 4, 5
"""Of more columns so many pieces of neighbours are shuffled; the most moving are cut into so many each, in
about so many rounds."""

TRIFLE = 0.01
"""Importances below this share of the greatest are not spoken of."""

FEWEST_ROWS = 20
"""With fewer rows for each column, over all repetitions, only the recommended model is examined."""


class Importances(NamedTuple):
    """What shuffling a column costs, the greatest cost first.

    Attributes
    ----------
    measure : str
        What grows: "R²" (of which so much is lost), "Brier score", or "share of wrong classes".
    columns : tuple of str
        Columns as they are in the table: a column of words is one column.
    means, errors : arrays of shape (n_columns,)
        Mean growth over the rows that no fit had seen, and its standard error over the splits.
    n_columns : int or None
        Columns of the table, where those that move the predictions of a few rows most were shuffled alone.
    """

    measure: str
    columns: tuple[str, ...]
    means: NDArray
    errors: NDArray
    n_columns: int | None = None

    @property
    def matters(self) -> tuple[str, ...]:
        """Columns of importance above zero by two standard errors, and no trifle beside the greatest."""
        least = TRIFLE * max(float(self.means.max(initial=0.0)), 0.0)
        return tuple(
            name
            for name, mean, error in zip(self.columns, self.means, self.errors, strict=True)
            if mean > 2 * error and mean > least
        )


def n_asked_of_the_chosen(n_features: int) -> int:
    """Rows of so many features that the recommended model is asked about for its importances.

    Examples
    --------
    >>> n_asked_of_the_chosen(1000), n_asked_of_the_chosen(100_000)
    (100000, 10000)
    """
    return min(PREDICTIONS_OF_THE_CHOSEN, NUMBERS_OF_THE_CHOSEN // max(1, n_features))


def answers_of(model: Any, labels: NDArray | None) -> Callable[[NDArray], NDArray]:
    """What a model says about rows as numbers: its prediction, or a probability for each class.

    A classifier without probabilities gives 1 to the class that it names.
    """
    if labels is None:
        return lambda rows: np.asarray(model.predict(rows), dtype=np.float64)
    if hasattr(model, "predict_proba"):
        return lambda rows: for_all_classes(model.predict_proba(rows), model.classes_, labels)
    return lambda rows: np.asarray(np.asarray(model.predict(rows))[:, None] == labels, dtype=np.float64)


def wrong_class(y: NDArray, shares: NDArray) -> NDArray:
    """1 for each row whose class is not the one named, else 0."""
    return np.asarray(shares[np.arange(len(shares)), y] < 1.0, dtype=np.float64)


def loss_of(model: Any, labels: NDArray | None) -> RowLoss:
    """What the answers of a model are judged by: by what they are, not by their values in a few rows."""
    if labels is None:
        return squared_error
    return brier_error if hasattr(model, "predict_proba") else wrong_class


@dataclass(frozen=True)
class Examination:
    """Asks a model about the rows of a split with each column shuffled in turn."""

    truth: NDArray  # the target of the rows
    groups: Sequence[NDArray]  # features of each column
    labels: NDArray | None  # all classes, for a classification
    seed: int
    predictions: int = PREDICTIONS_OF_A_SPLIT
    repeats: int = 1  # repetitions of the folds, which share the predictions

    def __call__(self, model: Any, features: NDArray) -> NDArray | None:
        """Mean growth of the loss for each column; None where there would be too few rows for each."""
        n_asked = self.predictions // max(1, len(self.groups) * self.repeats)
        n_rows = min(len(features), ROWS, n_asked)
        if n_rows < min(FEWEST_ROWS / self.repeats, len(features)) or n_rows < 2:
            return None
        rng = np.random.default_rng([self.seed, len(features)])
        rows = np.sort(rng.choice(len(features), n_rows, replace=False))
        truth = self.truth[rows] if self.labels is None else np.searchsorted(self.labels, self.truth[rows])
        options: dict[str, Any] = {"groups": self.groups, "random_state": rng}
        options["n_repeats"] = int(np.clip(n_asked // n_rows, 1, REPEATS))
        predict = answers_of(model, self.labels)
        return permutation_importance(
            predict, features[rows], truth, loss_of(model, self.labels), **options
        ).mean


def screened(
    model: Any, encoder: TableEncoder, features: NDArray, labels: NDArray | None
) -> NDArray[np.intp]:
    """Places of the columns that move the predictions of a few rows most; all of them where they are few.

    Of very many columns, neighbours are shuffled together: pieces that move the predictions most are cut
    further, until each is a single column. Asking about every column would take the square of their number.
    """
    groups = encoder.groups()
    if len(groups) <= MAX_COLUMNS:
        return np.arange(len(groups))
    n_asked = n_asked_of_the_chosen(features.shape[1])
    n_rows = int(np.clip(n_asked // (ROUNDS * PIECES), FEWEST_SCREENED, SCREENED_ROWS))
    rows, predict = features[:n_rows], answers_of(model, labels)
    said = np.asarray(predict(rows))

    def moved(before: NDArray, after: NDArray) -> NDArray:
        return np.square(after - before).reshape(len(before), -1).sum(axis=1)

    def most_moving(pieces: Sequence[NDArray], count: int) -> list[NDArray]:
        together = [np.concatenate([groups[place] for place in piece]) for piece in pieces]
        options: dict[str, Any] = {"groups": together, "n_repeats": 1, "random_state": 0}
        moves = permutation_importance(predict, rows, said, moved, **options).mean
        return [pieces[place] for place in np.sort(np.argsort(-moves, kind="stable")[:count])]

    pieces = np.array_split(np.arange(len(groups)), min(PIECES, len(groups)))
    while max(map(len, pieces)) > 1:
        kept = most_moving(pieces, PIECES // CUTS)
        pieces = [part for piece in kept for part in np.array_split(piece, CUTS) if part.size]
    return np.concatenate(most_moving(pieces, MAX_COLUMNS))


def summarise(
    examined: Sequence[NDArray | None],
    columns: Sequence[str],
    *,
    y: NDArray,
    labels: NDArray | None,
    certain: bool,
    share: float,
) -> Importances | None:
    """Importances from those on each split; None where a split has none.

    Parameters
    ----------
    examined : sequence of arrays of shape (n_columns,)
        What an `Examination` measured on each split.
    columns : sequence of str
        Their names.
    y : array
        The target of all rows.
    labels : array or None
        The classes.
    certain : bool
        Whether a classifier names classes without probabilities.
    share : float
        Share of the rows that a split predicts.
    """
    there = [item for item in examined if item is not None]
    if not there or len(there) < len(examined):
        return None
    growth = np.array(there)
    measure = "R²" if labels is None else "share of wrong classes" if certain else "Brier score"
    if labels is None:
        growth = growth / (float(np.var(y)) or 1.0)
    means = growth.mean(axis=0)
    errors = np.array([corrected_error(line, share) for line in growth.T])
    order = np.argsort(-means, kind="stable")
    return Importances(measure, tuple(columns[place] for place in order), means[order], errors[order])
