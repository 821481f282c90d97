"""Tables whose columns may be categories: their levels become numbers, their missing values stay missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.base import Model
from assay.models import convergence
from assay.parameters import Domain, nothing, one_of
from assay.rows import is_name, split_columns
from assay.rows._columns import require_distinct

CATEGORICAL_FEATURES = (
    nothing
    | one_of("from_dtype")
    | Domain(
        "a list of names or places of columns or a mask of them",
        lambda value: (
            not isinstance(value, str)
            and isinstance(value, (Sequence, np.ndarray))
            and getattr(value, "ndim", 1) == 1
            and all(isinstance(item, (str, int, np.integer, np.bool_)) for item in value)
        ),
    )
)


class LevelledTable(Model):
    """Base of models that take columns of categories as they are.

    `is_categorical_` tells the columns of categories, `levels_` the names of the levels of those that are not
    numbers: the numbers that stand for them are places in that list.
    """

    _text_is_categorical: ClassVar[bool] = False  # whether "from_dtype" takes columns of text for categories
    _unseen_words: ClassVar[str] = "they are taken for missing values"
    categorical_features: Any
    is_categorical_: NDArray[np.bool_]
    levels_: dict[int, list[Any]]

    def _stays_a_number(self, column: Any) -> bool:
        """Whether a column of categories is taken as the numbers that it holds."""
        return holds_numbers(column)

    def _place_of_unseen(self, known: list[Any]) -> float:
        """The number of a level that the fit has not seen."""
        return float("nan")

    def _split_table(self, X: Any, y: Any, sample_weight: Any, *, fitting: bool) -> tuple[Any, Any, Any]:
        if hasattr(X, "columns"):
            require_distinct(list(X.columns), "the table")
            apart = [item for item in (y, sample_weight) if is_name(item)]
            others = {name for item in apart for name in ([item] if isinstance(item, str) else item)}
            names = [name for name in X.columns if name not in others]
            if len(set(names)) < len(names):
                raise ValueError("X has several columns of one name; give each a name of its own.")
            if fitting:
                self._learn_levels(X, names)
            X = self._numbered(X, names)
        elif fitting:
            self.__dict__.pop("is_categorical_", None)
            self.levels_ = {}
        return split_columns(X, y, sample_weight)

    def _mark_categories(self) -> None:
        """Set `is_categorical_` for a table that is not a frame in memory, once its rows are opened."""
        if "is_categorical_" not in vars(self):
            names = getattr(self, "feature_names_in_", None)
            self.is_categorical_ = self._mask(self.n_features_in_, None if names is None else names.tolist())

    def _mask(self, n_columns: int, names: list[Any] | None) -> NDArray[np.bool_]:
        """Which columns are named, or marked, as categories."""
        chosen = self.categorical_features
        mask = np.zeros(n_columns, dtype=np.bool_)
        if chosen is None or isinstance(chosen, str) or n_columns == 0:
            return mask
        if all(isinstance(item, (bool, np.bool_)) for item in chosen) and len(chosen) > 0:
            if len(chosen) != n_columns:
                raise self._refuse("categorical_features", f"a mask of {n_columns} columns")
            return np.asarray(chosen, dtype=np.bool_)
        for item in chosen:
            place = item
            if isinstance(item, str):
                if names is None or item not in names:
                    raise self._refuse("categorical_features", f"names of columns of X; it has no {item!r}")
                place = names.index(item)
            if not 0 <= place < n_columns:
                raise self._refuse("categorical_features", f"places of columns below {n_columns}")
            mask[place] = True
        return mask

    def _learn_levels(self, X: Any, names: list[Any]) -> None:
        mask = self._mask(len(names), names)
        self.levels_ = {}
        for j, name in enumerate(names):
            if isinstance(self.categorical_features, str):
                text = self._text_is_categorical and not holds_numbers(X[name])
                mask[j] = is_category(X[name]) or (text and not _is_time(X[name]))
            if mask[j] and not self._stays_a_number(X[name]):
                levels, _ = distinct(X[name])
                self.levels_[j] = levels
        self.is_categorical_ = mask

    def _numbered(self, X: Any, names: list[Any]) -> Any:
        """The frame with the levels of text replaced by their places among those of the fit."""
        new = {}
        for j, known in getattr(self, "levels_", {}).items():
            name = names[j] if j < len(names) else None
            if name is None or self._stays_a_number(X[name]):
                continue
            levels, places = distinct(X[name])
            numbers = {level: float(place) for place, level in enumerate(known)}
            unseen = [level for level in levels if level not in numbers]
            if unseen:
                shown = ", ".join(map(repr, unseen[:3])) + (", …" if len(unseen) > 3 else "")
                convergence.warn(
                    f"The column {name!r} has levels that were not there at the fit ({shown}); "
                    f"{self._unseen_words}.",
                    UserWarning,
                )
            unknown = self._place_of_unseen(known)
            values = np.array([numbers.get(level, unknown) for level in levels] + [np.nan])
            new[name] = values[places]  # the place −1 of missing values is the last
        if not new:
            return X
        if hasattr(X, "with_columns"):
            return X.with_columns(**{name: type(X[name])(name, values) for name, values in new.items()})
        return X.assign(**new)


def is_category(column: Any) -> bool:
    """Whether a column of a frame says that it is one of categories."""
    return str(column.dtype).lower().partition("(")[0] in ("category", "categorical", "enum")


def holds_numbers(column: Any) -> bool:
    """Whether the values, or the categories, of a column are numbers."""
    kind = getattr(column.dtype, "kind", None)
    if kind is not None and kind in "biuf":
        return True
    levels = getattr(getattr(column, "cat", None), "categories", None)
    if levels is not None:
        return getattr(levels.dtype, "kind", "O") in "biuf"
    is_numeric = getattr(column.dtype, "is_numeric", None)  # of polars
    return bool(is_numeric and is_numeric()) or str(column.dtype) == "Boolean"


def _is_time(column: Any) -> bool:
    temporal = getattr(column.dtype, "is_temporal", None)  # of polars
    return getattr(column.dtype, "kind", "O") in "Mm" or bool(temporal and temporal())


def distinct(column: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Levels that occur, in order, and the place of each value among them, −1 where it is missing."""
    categories = getattr(getattr(column, "cat", None), "codes", None)
    if categories is not None:
        places = np.asarray(categories, dtype=np.intp)
        every = list(column.cat.categories)
    else:
        values = column.to_list() if hasattr(column, "to_list") else list(column)
        known = [value is not None and value == value for value in values]
        try:
            order = {level: None for level, there in zip(values, known, strict=True) if there}
        except TypeError:  # lists and the like
            raise ValueError(
                f"The column {getattr(column, 'name', '')!r} holds values that are no levels; turn them "
                "into text or numbers first."
            ) from None
        try:
            every = sorted(order)
        except TypeError:  # of several kinds: as they come
            every = list(order)
        number = {level: place for place, level in enumerate(every)}
        places = np.array([number[v] if k else -1 for v, k in zip(values, known, strict=True)], dtype=np.intp)
    there = np.bincount(places + 1, minlength=len(every) + 1)[1:] > 0
    squeezed = np.where(there, np.cumsum(there) - 1, -1)
    return (
        [level for level, occurs in zip(every, there, strict=True) if occurs],
        np.append(squeezed, -1)[places],
    )
