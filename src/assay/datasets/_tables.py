"""The tables of real data."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from assay.datasets._table import Table, loader


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
        "from 0 to 16. "
        "The target is the digit, 0 to 9.",
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
        "does not state. "
        "The target is the cultivar the wine was made from, one of three.",
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
    return Table(
        name="us_arrests",
        X=np.array([line[1:] for line in lines], dtype=np.float64),
        y=None,
        feature_names=tuple(header[1:]),
        target_name=None,
        target_names=None,
        row_names=tuple(line[0] for line in lines),
        description="Arrests for murder, assault and rape per 100 000 inhabitants in each of the 50 states "
        "of the USA in 1973, and percentage of the population in urban areas. There is no target.",
        source="World Almanac and Book of Facts 1975; Statistical Abstracts of the United States 1975; "
        "R datasets, USArrests.",
    )


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
        raise ValueError(
            f"The 'name' parameter of load must be one of {', '.join(_LOADERS)}. Got {name!r} instead."
        )
    return _LOADERS[name]()


def _from_sklearn(name: str, bunch: Any, target_name: str, description: str, source: str) -> Table:
    target_names = getattr(bunch, "target_names", None)
    return Table(
        name=name,
        X=np.asarray(bunch["data"], dtype=np.float64),
        y=np.asarray(bunch["target"]),
        feature_names=tuple(str(feature) for feature in bunch["feature_names"]),
        target_name=target_name,
        target_names=None if target_names is None else tuple(str(label) for label in target_names),
        row_names=None,
        description=description,
        source=source,
    )
