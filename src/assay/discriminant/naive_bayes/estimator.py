"""Naive Bayes with a family of its own for each column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay import parameters, rows
from assay.discriminant.naive_bayes.base import IndependentColumns
from assay.discriminant.naive_bayes.binned_columns import CategoricalFamily, HistogramFamily
from assay.discriminant.naive_bayes.columns import (
    MOST_ALPHA,
    BernoulliFamily,
    ColumnFamily,
    PoissonFamily,
)
from assay.discriminant.naive_bayes.gaussian_columns import GaussianFamily
from assay.discriminant.naive_bayes.kernel_columns import KernelFamily
from assay.discriminant.naive_bayes.product import LAWS, Group, ProductLaws, ProductStatistics
from assay.discriminant.naive_bayes.words import MultinomialFamily
from assay.discriminant.priors import PRIORS
from assay.models import convergence
from assay.models.levels import CATEGORICAL_FEATURES, LevelledTable
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows
from assay.suitability import Suitability

NAMES = tuple(LAWS)

FAMILIES = parameters.one_of("auto", *NAMES) | Domain(
    "a list of them, one per column, or a dict of columns and families",
    lambda value: (
        all(item in ("auto", *NAMES) for item in value.values())
        if isinstance(value, Mapping)
        else isinstance(value, (list, tuple, np.ndarray))
        and np.ndim(value) == 1
        and all(str(item) in ("auto", *NAMES) for item in value)
    ),
)


class NaiveBayes(LevelledTable, IndependentColumns):
    """Naive Bayes for columns of every kind: within a class they are independent, each of its own family.

    Maximises over the priors and the laws of the columns the smoothed likelihood of

        P(Y = k) = π_k,   p_k(x) = Π_j p_kj(x_j),        predicts argmax_k log π_k + Σ_j log p_kj(x_j).

    that is Σ_i s_i log π_{y_i} p_{y_i}(x_i) with `alpha` rows more for each level, bin or count, by one walk
    over the rows (one more for the ranges of columns in bins). Text and categories are taken as they are. A
    missing value leaves its factor out, at the fit and afterwards. A level that the fit has not seen has the
    probability of one without any row, and a warning says so.

    Assumes: the columns are independent within a class, and each is of its family there.

    Certificates: the counts of the classes and the numbers of all columns walked again; the gradient of the
    smoothed log-likelihood of every column; the log-joint as a linear form (without kernel densities).

    Parameters
    ----------
    families : {"auto", "gaussian", "bernoulli", "categorical", "poisson", "multinomial", "histogram", \
"kernel"}, list or dict, default="auto"
        Family of all columns, of each in a list, or by name or place in a dict (the others are "auto").
        "auto" goes by the type of the column: categories and text are "categorical", booleans "bernoulli",
        numbers "gaussian". Columns of "multinomial" are the words of one bag.
    priors : {"empirical", "uniform"} or array of shape (n_classes,), default=None
        Probabilities of the classes; None for their shares among the rows.
    alpha : float, default=1.0
        Rows added to each level, bin and side of a yes-no column; as many rows draw a rate towards the mean
        of the column, and are spread over the range of a kernel density.
    var_smoothing : float, default=1e-9
        Share of the largest variance of a column that is added to all variances.
    n_bins : int, default=20
        Bins of a histogram.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Columns of categories where `families` does not say: those whose type says so, none, or those named,
        placed or marked. In an array they hold whole numbers from 0 on.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    priors_, class_count_ : arrays of shape (n_classes,)
        Probabilities of the classes, and their rows counted by weight.
    families_ : list of str
        Family of each column.
    laws_ : dict
        For each family that there is, its columns and its numbers by class.
    levels_ : dict
        Levels of the columns of categories of a frame.
    n_features_in_ : int
    feature_names_in_ : array of str
        With named columns.
    certificates_ : Certificates

    Examples
    --------
    >>> import pandas as pd
    >>> from assay.discriminant import NaiveBayes
    >>> table = pd.DataFrame({"town": ["Lyon", "Lyon", "Nice", None], "age": [31.0, 35.0, 62.0, 55.0]})
    >>> model = NaiveBayes().fit(table, ["stays", "stays", "leaves", "leaves"])
    >>> model.families_, model.certificates_.holds
    (['categorical', 'gaussian'], True)
    >>> model.predict(pd.DataFrame({"town": ["Lyon", None], "age": [None, 60.0]})).tolist()
    ['stays', 'leaves']

    References
    ----------
    Wei §7.3.2; Sangnier, examination of 2022, exercise 1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "families": FAMILIES,
        "priors": PRIORS,
        "alpha": parameters.real(at_least=0, at_most=MOST_ALPHA),
        "var_smoothing": parameters.real(at_least=0),
        "n_bins": parameters.integer(at_least=1),
        "categorical_features": CATEGORICAL_FEATURES,
    }
    _text_is_categorical: ClassVar[bool] = True
    _unseen_words: ClassVar[str] = "each has the probability of a level without any row"
    _suits: ClassVar[Suitability | None] = Suitability(complexity=1, encoding="codes")
    families_: list[str]
    laws_: dict[str, dict[str, Any]]

    def __init__(
        self,
        families: Any = "auto",
        *,
        priors: Any = None,
        alpha: float = 1.0,
        var_smoothing: float = 1e-9,
        n_bins: int = 20,
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.families = families
        self.priors = priors
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.n_bins = n_bins
        self.categorical_features = categorical_features

    @classmethod
    def from_parameters(cls, laws: Mapping[str, Any], priors: Any = None, classes: Any = None) -> Self:
        """The oracle: the classifier of known laws of the columns.

        Parameters
        ----------
        laws : dict
            For each family its columns and its numbers, as `laws_` has them after a fit.
        priors, classes : array-like of shape (n_classes,), optional
            Equal priors, and classes 0, 1, … by default.

        Examples
        --------
        >>> import numpy as np
        >>> from assay.discriminant import NaiveBayes
        >>> oracle = NaiveBayes.from_parameters({
        ...     "gaussian": {"columns": [0], "means": [[-1.0], [1.0]], "variances": [[1.0], [1.0]]},
        ...     "poisson": {"columns": [1], "rates": [[2.0], [5.0]]}})
        >>> oracle.predict([[-0.5, 1], [0.5, 6]])
        array([0, 1])
        """
        stored, columns = {}, []
        for name, numbers in laws.items():
            if name not in LAWS or "columns" not in numbers:
                must_be = f"a dict of families ({', '.join(NAMES)}), each with its 'columns' and its numbers"
                raise parameters.refusal(cls.__name__, "laws", must_be, laws)
            stored[name] = {key: _numbers(value) for key, value in numbers.items()}
            stored[name]["columns"] = np.asarray(numbers["columns"], dtype=np.intp)
            if name == "categorical" and "log_unseen" not in numbers:  # an unseen level tells nothing
                shape = len(stored[name]["columns"]), len(stored[name]["log_probabilities"][0])
                stored[name]["log_unseen"] = np.zeros(shape)
            columns += [(int(place), name) for place in stored[name]["columns"]]
        if [place for place, _ in sorted(columns)] != list(range(len(columns))) or not columns:
            raise parameters.refusal(cls.__name__, "laws", "laws of columns 0, 1, … without gaps", laws)
        first = next(iter(stored))
        known = LAWS[first](**{key: value for key, value in stored[first].items() if key != "columns"})
        model = cls._given(classes, priors, known.n_classes)
        model.n_features_in_, model.levels_ = len(columns), {}
        model.families_, model.laws_ = [name for _, name in sorted(columns)], stored
        return model._as_oracle()

    # Columns: which family each has, and levels of text as numbers.

    def _open_classes(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> Any:
        self._check_parameters()
        self.levels_, self._booleans = {}, _boolean_columns(X)
        self.__dict__.pop("is_categorical_", None)
        opened = super()._open_classes(X, y, sample_weight, offset=offset)
        self._mark_categories()
        names = getattr(self, "feature_names_in_", None)
        self.families_ = self._resolved(self.n_features_in_, None if names is None else names.tolist())
        del self.is_categorical_, self._booleans
        return opened

    def _open_new_classes(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Rows:
        if not hasattr(X, "columns") or rows.is_external(X):
            return super()._open_new_classes(X, y, sample_weight, offset=offset)
        # A frame is opened once: its levels must not be numbered a second time.
        check_is_fitted(self)
        named = [item for item in (y, sample_weight) if isinstance(item, str)]
        y, sample_weight = (X[item] if isinstance(item, str) else item for item in (y, sample_weight))
        table = X[[name for name in X.columns if name not in named]] if named else X
        weight = None if sample_weight is None else np.asarray(sample_weight)
        target = rows.code(np.asarray(y), self.classes_, weight).astype(np.float64)
        return self._open_new_rows(table, target, sample_weight, with_target=True)

    def _open_new_rows(self, X: Any, *others: Any, **options: Any) -> Rows:
        data = super()._open_new_rows(X, *others, **options)
        if isinstance(data, MemoryRows) and not hasattr(X, "columns"):
            self._tell_of_unseen(data)
        return data

    def _tell_of_unseen(self, data: MemoryRows) -> None:
        stored = getattr(self, "laws_", {}).get("categorical")
        if stored is None:
            return
        values = data.X[:, stored["columns"]]
        values = values.toarray() if data.is_sparse else values
        sizes = np.array([table.shape[1] for table in stored["log_probabilities"]])
        beyond = np.fmax.reduce(values, axis=0, initial=0.0) >= sizes
        unseen = np.flatnonzero(beyond | (np.fmin.reduce(values, axis=0, initial=0.0) < 0))
        if unseen.size:
            place = int(stored["columns"][unseen[0]])
            convergence.warn(
                f"Column {place} has levels that were not there at the fit (of 0 … {sizes[unseen[0]] - 1}); "
                f"{self._unseen_words}.",
                UserWarning,
            )

    def _stays_a_number(self, column: Any) -> bool:
        return False

    def _place_of_unseen(self, known: list[Any]) -> float:
        return float(len(known))

    def _mask(self, n_columns: int, names: list[Any] | None) -> NDArray[np.bool_]:
        mask = super()._mask(n_columns, names)
        return mask | np.array([name == "categorical" for name in self._named(n_columns, names)], dtype=bool)

    def _named(self, n_columns: int, names: list[Any] | None) -> list[str]:
        """Families as the parameter says, "auto" where it says nothing."""
        given = self.families
        if isinstance(given, str):
            return [given] * n_columns
        if not isinstance(given, Mapping):
            if len(given) != n_columns:
                raise self._refuse("families", f"a list of {n_columns} families, one per column")
            return [str(item) for item in given]
        result = ["auto"] * n_columns
        for key, family in given.items():
            place = names.index(key) if names is not None and key in names else key
            if not isinstance(place, (int, np.integer)) or not 0 <= place < n_columns:
                raise self._refuse("families", f"a dict of names or places of columns; there is no {key!r}")
            result[place] = family
        return result

    def _resolved(self, n_columns: int, names: list[Any] | None) -> list[str]:
        """Families of the columns, each by the parameter or by its type."""
        named, booleans = self._named(n_columns, names), self._booleans
        result = []
        for j, family in enumerate(named):
            name = j if names is None else names[j]
            by_type = "bernoulli" if booleans is True or (booleans and name in booleans) else "gaussian"
            result.append(
                ("categorical" if self.is_categorical_[j] else by_type) if family == "auto" else family
            )
        return result

    # The fit.

    def _groups(self) -> list[Group]:
        kinds = np.array(self.families_)
        present = [name for name in NAMES if (kinds == name).any()]
        return [Group(self._family_named(name), np.flatnonzero(kinds == name)) for name in present]

    def _family_named(self, name: str) -> ColumnFamily:
        alpha = float(self.alpha)
        if name == "gaussian":
            return GaussianFamily(float(self.var_smoothing))
        if name == "histogram":
            return HistogramFamily(alpha, int(self.n_bins))
        if name == "categorical":
            places = [j for j, family in enumerate(self.families_) if family == "categorical"]
            return CategoricalFamily(alpha, [len(self.levels_.get(j, ())) for j in places])
        makers: dict[str, type[Any]] = {
            "bernoulli": BernoulliFamily,
            "poisson": PoissonFamily,
            "multinomial": MultinomialFamily,
            "kernel": KernelFamily,
        }
        return makers[name](alpha)

    def _keep_laws(self, laws: ProductLaws, statistics: ProductStatistics, data: Rows) -> None:
        pairs = zip(self._groups(), laws.parts, strict=True)
        self.laws_ = {group.family.name: {"columns": group.columns, **part.numbers} for group, part in pairs}

    def _laws(self) -> ProductLaws:
        columns, parts = [], []
        for name, stored in self.laws_.items():
            numbers = {key: value for key, value in stored.items() if key != "columns"}
            columns.append(stored["columns"])
            parts.append(LAWS[name](**numbers))
        return ProductLaws(columns, parts, self.n_features_in_)


def _numbers(value: Any) -> Any:
    """Numbers of a law: one of them, an array, or a list of arrays of several shapes."""
    several = isinstance(value, (list, tuple))
    if value is None or (not several and np.ndim(value) == 0):
        return value
    if several and len({np.shape(item) for item in value}) > 1:
        return [np.asarray(item, dtype=np.float64) for item in value]
    return np.asarray(value, dtype=np.float64)


def _boolean_columns(X: Any) -> Any:
    """Names of the columns of booleans of a frame; for an array, whether it is one of booleans."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        pairs = zip(X.columns, X.dtypes, strict=False)
        return {name for name, dtype in pairs if str(dtype).lower() in ("bool", "boolean")}
    return getattr(X, "dtype", None) == np.bool_
