"""Tables of real data with their names, units and sources."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from importlib.resources import files
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from assay.parameters import refusal

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
        try:
            import pandas
        except ImportError as error:
            words = "A table as a frame needs pandas: install it with pip install 'assay[frames]'."
            raise ImportError(words) from error
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


@loader
def iris() -> Table:
    """Three species of iris, 150 flowers, four measures in cm.

    Examples
    --------
    >>> from assay.datasets import iris
    >>> X, y = iris(return_X_y=True)
    >>> X.shape, iris().target_names
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    """
    return _from_sklearn(
        "iris",
        load_iris(),
        "species",
        "Lengths and widths of the sepals and petals of 150 iris flowers, all in centimetres. "
        "The target is the species, 50 flowers of each of three.",
        "R. A. Fisher, The use of multiple measurements in taxonomic problems (1936); scikit-learn.",
    )


@loader
def diabetes() -> Table:
    """Progression of diabetes in 442 patients from ten baseline measures.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> diabetes()
    Table(name='diabetes', n_samples=442, n_features=10, target='progression')
    """
    return _from_sklearn(
        "diabetes",
        load_diabetes(),
        "progression",
        "Age, sex, body mass index, blood pressure and six blood serum measures of 442 patients, each column "
        "centred and scaled to norm 1, hence without unit. "
        "The target is an index of disease progression one year later, from 25 to 346.",
        "B. Efron, T. Hastie, I. Johnstone, R. Tibshirani, Least angle regression (2004); scikit-learn.",
    )


@loader
def digits() -> Table:
    """Handwritten digits, 1797 images of 8 × 8 pixels.

    Examples
    --------
    >>> from assay.datasets import digits
    >>> X, y = digits(return_X_y=True)
    >>> X.shape, X.max()
    ((1797, 64), np.float64(16.0))
    """
    return _from_sklearn(
        "digits",
        load_digits(),
        "digit",
        "Images of 1797 handwritten digits, 8 × 8 pixels row by row, each a count of inked points "
        "from 0 to 16. The target is the digit, 0 to 9.",
        "E. Alpaydin, C. Kaynak, Optical recognition of handwritten digits, UCI (1998); scikit-learn.",
    )


@loader
def wine() -> Table:
    """Three cultivars of wine, 178 bottles, 13 chemical measures.

    Examples
    --------
    >>> from assay.datasets import wine
    >>> wine()
    Table(name='wine', n_samples=178, n_features=13, target='cultivar')
    """
    return _from_sklearn(
        "wine",
        load_wine(),
        "cultivar",
        "Chemical analysis of 178 Italian wines: 13 measures, each in its own unit, which the source "
        "does not state. The target is the cultivar the wine was made from, one of three.",
        "M. Forina et al., Wine, UCI (1991); scikit-learn.",
    )


@loader
def breast_cancer() -> Table:
    """Malignant and benign breast tumours, 569 samples, 30 measures of cell nuclei.

    Examples
    --------
    >>> from assay.datasets import breast_cancer
    >>> breast_cancer().target_names
    ('malignant', 'benign')
    """
    return _from_sklearn(
        "breast_cancer",
        load_breast_cancer(),
        "diagnosis",
        "Mean, standard error and worst value of ten shape measures of cell nuclei in images of 569 tumours, "
        "lengths in the unit of the image, which the source does not state, and ratios without unit. "
        "The target is the diagnosis, 0 for malignant and 1 for benign.",
        "W. Street, W. Wolberg, O. Mangasarian, Breast cancer Wisconsin (diagnostic), UCI (1995); "
        "scikit-learn.",
    )


@loader
def us_arrests() -> Table:
    """Arrests for three crimes and urban population in the 50 states of the USA, 1973.

    Examples
    --------
    >>> from assay.datasets import us_arrests
    >>> table = us_arrests()
    >>> table.row_names[0], table.X[0]
    ('Alabama', array([ 13.2, 236. ,  58. ,  21.2]))
    """
    text = files("assay.datasets").joinpath("data", "us_arrests.csv").read_text(encoding="utf-8")
    header, *lines = csv.reader(text.splitlines())
    X, states = np.array([line[1:] for line in lines], dtype=np.float64), tuple(line[0] for line in lines)
    description = (
        "Arrests for murder, assault and rape per 100 000 inhabitants in each of the 50 states "
        "of the USA in 1973, and percentage of the population in urban areas. There is no target."
    )
    books = "World Almanac and Book of Facts 1975; Statistical Abstracts of the United States 1975"
    source = f"{books}; R datasets, USArrests."
    return Table("us_arrests", X, None, tuple(header[1:]), None, None, states, description, source)


_LOADERS = {table.__name__: table for table in (iris, diabetes, digits, wine, breast_cancer, us_arrests)}


def available() -> dict[str, str]:
    """Give the names of the tables, each with a line that describes it.

    Examples
    --------
    >>> from assay.datasets import available
    >>> sorted(available())
    ['breast_cancer', 'diabetes', 'digits', 'iris', 'us_arrests', 'wine']
    """
    return {name: (table.__doc__ or "").strip().splitlines()[0] for name, table in _LOADERS.items()}


def load(name: str) -> Table:
    """Give a table by its name.

    Parameters
    ----------
    name : str
        One of the names that `available` gives.

    Examples
    --------
    >>> from assay.datasets import load
    >>> load("iris")
    Table(name='iris', n_samples=150, n_features=4, target='species')
    """
    if name not in _LOADERS:
        raise refusal("load", "name", f"one of {', '.join(_LOADERS)}", name)
    return _LOADERS[name]()


def _from_sklearn(name: str, bunch: Any, target_name: str, description: str, source: str) -> Table:
    X, y = np.asarray(bunch["data"], dtype=np.float64), np.asarray(bunch["target"])
    features, labels = tuple(map(str, bunch["feature_names"])), bunch.get("target_names")
    classes = None if labels is None else tuple(map(str, labels))
    return Table(name, X, y, features, target_name, classes, None, description, source)
