"""A table of real data with its names, units and source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table of real data.

    Attributes
    ----------
    name : str
        Name of the table, as `load` takes it.
    X : ndarray or DataFrame of shape (n_samples, n_features)
        The features.
    y : ndarray, Series or None
        The target; None when the table has none.
    feature_names : tuple of str
        Names of the columns of X.
    target_name : str or None
        Name of the target.
    target_names : tuple of str or None
        Names of the classes 0, 1, …; None for a numeric target or none.
    row_names : tuple of str or None
        Names of the rows.
    description : str
        What a row is, what the columns are and in which units.
    source : str
        Where the data come from.

    Examples
    --------
    >>> from assay.datasets import us_arrests
    >>> us_arrests()
    Table(name='us_arrests', n_samples=50, n_features=4, target=None)
    """

    name: str
    X: Any
    y: Any
    feature_names: tuple[str, ...]
    target_name: str | None
    target_names: tuple[str, ...] | None
    row_names: tuple[str, ...] | None
    description: str
    source: str

    @property
    def frame(self) -> pd.DataFrame:
        """Features and target (last column, when there is one) as a pandas DataFrame."""
        pandas = _import_pandas()
        index = None if self.row_names is None else list(self.row_names)
        frame = pandas.DataFrame(np.asarray(self.X), columns=list(self.feature_names), index=index)
        if self.target_name is not None:
            frame[self.target_name] = np.asarray(self.y)
        return frame

    def as_frame(self) -> Table:
        """Give the same table with X a DataFrame and y a Series."""
        frame = self.frame
        y = None if self.target_name is None else frame[self.target_name]
        return replace(self, X=frame[list(self.feature_names)], y=y)

    def __repr__(self) -> str:
        n_samples, n_features = self.X.shape
        target = self.target_name
        return f"Table(name={self.name!r}, {n_samples=}, {n_features=}, {target=})"


class Loader(Protocol):
    """A function that gives a table, whole or as a pair (X, y)."""

    __name__: str

    @overload
    def __call__(self, *, return_X_y: Literal[False] = False, as_frame: bool = False) -> Table: ...

    @overload
    def __call__(self, *, return_X_y: Literal[True], as_frame: bool = False) -> tuple[Any, Any]: ...


def loader(build: Callable[[], Table]) -> Loader:
    """Give a function that builds a table its two keyword parameters."""

    @wraps(build, assigned=("__module__", "__name__", "__qualname__"))
    def load_table(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
        table = build().as_frame() if as_frame else build()
        return (table.X, table.y) if return_X_y else table

    # Help and documentation show the parameters of the loader, not of the function inside.
    del load_table.__wrapped__
    summary, examples = cleandoc(build.__doc__ or "").split("\n\n", 1)
    load_table.__doc__ = f"{summary}\n\n{_PARAMETERS}\n{examples}"
    return load_table


_PARAMETERS = """\
Parameters
----------
return_X_y : bool, default=False
    Whether to give the pair (X, y) instead of the whole table.
as_frame : bool, default=False
    Whether X is a pandas DataFrame and y a Series instead of arrays.

Returns
-------
Table or tuple
    The table, or (X, y).
"""


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "A table as a frame needs pandas: install it with pip install 'assay[frames]'."
        ) from error
    return pandas
