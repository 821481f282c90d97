"""Classes by the vote of all rows within a radius."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates
from assay.models.class_columns import ClassColumns
from assay.neighbors.asking import HasRadius
from assay.neighbors.rule import list_shares
from assay.neighbors.supervised import VOTE_DOMAINS, RadiusVote
from assay.neighbors.voting import voted
from assay.parameters import Domain
from assay.rows import Block


def _is_label(value: Any) -> bool:
    """Whether a value is one label, or a list of them, one per column of labels."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return len(np.shape(value) if isinstance(value, np.ndarray) else (1,)) == 1 and (
            len(value) >= 1 and all(_is_label(item) for item in value)
        )
    return value is None or isinstance(value, (str, bool, int, float, np.number, np.bool_))


LABEL = Domain("a label, 'most_frequent', 'abstain' or None", _is_label)


class RadiusNeighborsClassifier(RadiusVote, HasRadius, ClassColumns):
    """The class that most of the rows within a radius have, and no answer where there are none.

    Finds for each query x the ball V_x = {i : d(x, x_i) ≤ r} and estimates

        η̂_c(x) = Σ_{i ∈ V_x} w_i 1[y_i = c] / Σ_{i ∈ V_x} w_i,        ĝ(x) = argmax_c η̂_c(x),

    which is not defined where V_x is empty: `is_defined` tells, and `outlier_label` says what to answer. A
    radius that suits dense regions leaves sparse ones without neighbours: k nearest rows always exist.

    Assumes: columns on comparable scales and a density of rows that one radius suits.

    Certificates: the neighbours of evenly spaced rows are those of a sort of all distances; `certify` looks
    at more of them, at the rows that are kept, and at the votes.

    Parameters
    ----------
    radius : float, default=1.0
        r.
    weights : {"uniform", "distance", "gaussian"}, callable or None, default="uniform"
        The weight of a neighbour at distance d: 1, 1/d (rows at distance 0 then decide alone), exp(−γ d²),
        or a function of the array of distances.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How to search; the answers are the same.
    leaf_size : int, default=30
        Accepted as in scikit-learn; leaves have 32 rows.
    p : float, default=2
        Power of the Minkowski metric.
    metric : str or callable, default="minkowski"
        The name of a metric, "precomputed" (X is the square matrix of distances at the fit, and of distances
        to the rows of the fit afterwards) or a function of two rows.
    outlier_label : label, "most_frequent", "abstain" or None, default=None
        The answer where no row is within the radius: a label, that of most rows, a masked entry, or with None
        an error.
    metric_params : dict, optional
        Further arguments of the metric.
    n_jobs : int, optional
        Accepted as in scikit-learn; `assay.rows.threads` sets the number of threads.
    gamma : float, optional
        γ of the Gaussian weights; one over the number of features by default.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), or a list of them, one per column of labels
    outlier_label_ : list of one label per column of y, or None
    gamma_ : float
        γ as used.
    outputs_2d_ : bool
        Whether y had several columns of labels.
    n_samples_fit_ : int
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    certificates_ : Certificates
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.neighbors import RadiusNeighborsClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = RadiusNeighborsClassifier(radius=1.0, outlier_label="abstain").fit(X, y)
    >>> model.predict([[0.5], [9.0]])
    masked_array(data=[0, --],
                 mask=[False,  True],
           fill_value=999999)
    >>> model.is_defined([[0.5], [9.0]])
    array([ True, False])

    References
    ----------
    Sangnier §1.6.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "radius": parameters.real(at_least=0.0),
        **VOTE_DOMAINS,
        "outlier_label": LABEL,
    }

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        outlier_label: Any = None,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        gamma: float | None = None,
    ) -> None:
        self.radius = radius
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.outlier_label = outlier_label
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.gamma = gamma

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> RadiusNeighborsClassifier:
        """Keep the rows and build their search.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, memory map, Arrow dataset or Dask collection
            The rows; with metric="precomputed" the square matrix of their distances.
        y : array of shape (n_samples,) or column name
            Labels; in memory, of shape (n_samples, n_outputs) for several at once.
        sample_weight : array of shape (n_samples,), optional
            A row of weight 3 is three neighbours; one of weight 0 is absent.

        Returns
        -------
        self : RadiusNeighborsClassifier
        """
        data, weights = self._open_classes(X, y, sample_weight)
        target, _ = self._keep_rows(data)
        assert target is not None
        self._y = target.astype(np.int64)
        self._settle(self._mass)
        self.outputs_2d_, self.outlier_label_ = self._several, self._outlier(weights)
        self.certificates_ = Certificates(self._cheap(data))
        return self

    def _outlier(self, weights: NDArray) -> list[Any] | None:
        """The label of a row without neighbours, as scikit-learn keeps it."""
        given = self.outlier_label
        if given is None or (isinstance(given, str) and given == "abstain"):
            return None
        lists = self.classes_ if self._several else [self.classes_]
        if isinstance(given, str) and given == "most_frequent":
            parts = np.split(weights, self._ends[:-1])
            return [own[int(np.argmax(part))] for own, part in zip(lists, parts, strict=True)]
        is_list = isinstance(given, (list, tuple, np.ndarray))
        labels = list(given) if is_list else [given] * len(lists)
        if len(labels) != len(lists):
            words = f"one label, or {len(lists)} of them, one per column of y"
            raise self._refuse("outlier_label", words)
        for label, own in zip(labels, lists, strict=True):
            if np.append(own, label).dtype != own.dtype:
                raise TypeError(
                    f"The dtype of outlier_label {label!r} is inconsistent with the classes {own} in y."
                )
        return labels

    def is_defined(self, X: Any) -> Any:
        """Whether some row is within the radius of each query, so that the rule has an answer."""
        rule = self._vote(X)
        return self._answer(X, _defined, rule, int(self._ends[-1]), dtype=np.bool_)

    def predict(self, X: Any) -> Any:
        """The class of most votes within the radius; `outlier_label` where there are none.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset, Dask collection or None
            New rows; None for the rows of the fit, each of which is left out in turn.

        Returns
        -------
        labels : array of shape (n_samples,)
            Masked where undefined, with outlier_label="abstain".
        """
        rule, n_classes, outlier = self._vote(X), int(self._ends[-1]), self.outlier_label_
        if isinstance(self.outlier_label, str) and self.outlier_label == "abstain":
            shares = np.asarray(
                self._answer(X, list_shares, rule, n_classes, dtype=np.float64, width=n_classes)
            )
            empty = ~shares.any(axis=1)
            labels = voted(shares, self.classes_, "first")
            mask = np.repeat(empty, labels.size // max(len(labels), 1)).reshape(labels.shape)
            return np.ma.masked_array(labels, mask=mask)
        return self._answer(X, _list_classes, rule, self.classes_, outlier, **self._answer_type)

    def predict_proba(self, X: Any) -> Any:
        """Share of each class in the votes within the radius.

        Parameters
        ----------
        X : as in `predict`

        Returns
        -------
        shares : array of shape (n_samples, n_classes)
            Without a neighbour: 1 for an outlier label that is a class, zeros for another, NaN with
            "abstain".
        """
        rule, n_classes, dtype = self._vote(X), int(self._ends[-1]), self._dtype
        abstain = isinstance(self.outlier_label, str) and self.outlier_label == "abstain"
        how = rule, self.classes_, self.outlier_label_, abstain, dtype
        return self._apart(self._answer(X, _filled_shares, *how, dtype=dtype, width=n_classes))

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit, expensive ones included.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.

        Returns
        -------
        certificates : Certificates
        """
        data = self._open_new_classes(X, y, sample_weight)
        return Certificates([*self._measured(data, self._y), self._settings(data), self._answers(data)])


def _defined(block: Block, rule: Any, n_classes: int) -> NDArray:
    return np.asarray(list_shares(block, rule, n_classes).any(axis=1))


def _refuse_empty(empty: NDArray) -> None:
    if empty.any():
        places = np.flatnonzero(empty)[:8].tolist()
        raise ValueError(
            f"No neighbors found for test samples {places}: no row of the fit is within the radius, so that "
            "no class has a vote. Take a larger radius, give 'outlier_label' ('abstain' for no answer), or "
            "take KNeighborsClassifier."
        )


def _list_classes(block: Block, rule: Any, classes: Any, outlier: list[Any] | None) -> NDArray:
    shares = list_shares(block, rule, _n_classes(classes))
    empty, labels = np.asarray(~shares.any(axis=1)), voted(shares, classes, "first")
    if outlier is None:
        _refuse_empty(empty)
        return labels
    given = outlier if labels.ndim == 2 else outlier[0]
    labels[empty] = np.asarray(given, dtype=labels.dtype)
    return labels


def _filled_shares(
    block: Block, rule: Any, classes: Any, outlier: list[Any] | None, abstain: bool, dtype: Any
) -> NDArray:
    shares = list_shares(block, rule, _n_classes(classes))
    empty = np.asarray(~shares.any(axis=1))
    if abstain:
        shares[empty] = np.nan
    elif outlier is None:
        _refuse_empty(empty)
    elif empty.any():
        lists = classes if isinstance(classes, list) else [classes]
        marks = np.concatenate([own == label for own, label in zip(lists, outlier, strict=True)])
        shares[np.ix_(empty, marks)] = 1.0
    return shares.astype(dtype)


def _n_classes(classes: Any) -> int:
    return sum(map(len, classes)) if isinstance(classes, list) else len(classes)
