"""The function that draws any model, and how a class gets its pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any, NamedTuple, TypeVar

from sklearn.utils.validation import check_is_fitted

from assay.display.base import Display, unwrapped

T = TypeVar("T")


def plot(model: Any, X: Any = None, y: Any = None, *, ax: Any = None, **options: Any) -> Any:
    """Draw a fitted model.

    Parameters
    ----------
    model : fitted estimator
        A model of this library, or a `Pipeline` that ends in one.
    X, y : array-like, optional
        Data to show the model on. Without them the picture shows the fitted parameters.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    **options
        `kind` chooses among the pictures of the model, and `feature_names` names the columns:

        - LinearRegression: "predictions" (default with data), "residuals", "coefficients";
        - Ridge: "path" (default with data), "leave_one_out", and those of LinearRegression;
        - Lasso, ElasticNet, GroupLasso, SparseRegressor: "path" (default with data), "selection", and those
          of LinearRegression;
        - PolynomialRegression, SplineRegression, DictionaryRegression: "curve" (default for one feature),
          "effects", and those of LinearRegression; feature maps: "functions" (`column` chooses);
        - ReducedRankRegression: "matrix" (default without data), "singular_values", and those of
          LinearRegression;
        - LogisticRegression, LinearSVC, Perceptron, SGDClassifier: "map" (default with data), "confusion",
          "roc", "precision_recall", "calibration" (with probabilities), "probability" (two classes),
          "coefficients" (`image_shape` shows them as images), "history" (fit with history=True);
        - AgglomerativeClustering, DivisiveClustering: "map" (default with data), "dendrogram" (`max_leaves`
          truncates it), "heights", "inertia" (Ward);
        - KMedoids, KMedian, KGeometricMedian, KCoordinateMedian, SphericalKMeans, KernelKMeans,
          CentroidClustering: "map" (default with data), "centers", "convergence", "restarts";
        - FuzzyCMeans: "memberships", and those of KMedoids;
        - KMeans: "map" (default with data), "centers", "restarts", "convergence", "iterations" (`history`);
        - MiniBatchKMeans: "map" (default with data), "centers", "convergence";
        - BisectingKMeans: "map" (default with data), "tree", "centers";
        - SpectralClustering: "map" (default with data), "graph", "spectrum" (default without), "embedding",
          "eigenvectors";
        - DBSCAN: "map" (default with data), "k_distance", "sizes"; OPTICS: "map" (default with data),
          "reachability", "sizes"; HDBSCAN: "map" (default with data), "condensed_tree", "sizes";
        - ConvexClustering: "map" (default with data), "path", "dendrogram", "centers", "convergence";
        - BlockBiclustering, ConvexBiclustering, SparseSVDBiclustering, SpectralBiclustering,
          SpectralCoclustering: "matrix" (default with data), "fitted", "singular_values", "convergence"
          (those that the model has); OverlappingClustering: "loadings", "cross_validation";
        - every clustering of rows also has "silhouette", by its own metric (`metric` takes another one);
        - KernelRidge: "curve" (default for one feature), "predictions" (default with data), "residuals",
          "leave_one_out", "weights".

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.display import plot
    >>> from assay.linear import LinearRegression
    >>> X, y = diabetes(return_X_y=True)
    >>> plot(LinearRegression().fit(X, y), X, y).get_xlabel()
    'observed'
    """
    check_is_fitted(model)
    inside = unwrapped(model, None, None, {})[0]
    displays = pictures(inside).displays
    kind = options.pop("kind", None)
    if kind is None:
        kind = _taking(options, displays, default_kind(model, X, y))
    shown = choose(inside, kind, displays)
    _require(inside, kind, {name: {"X": X, "y": y}[name] for name in shown.needs})
    return shown.from_estimator(model, X, y, ax=ax, **options).ax_


class Pictures(NamedTuple):
    """The pictures of a class of models.

    Attributes
    ----------
    displays : mapping of str to type of Display
        By kind, in the order in which a reader wants them.
    default : callable
        The kind to draw when none is asked for, of (model, X, y).
    """

    displays: Mapping[str, type[Display]]
    default: Callable[[Any, Any, Any], str]


@singledispatch
def pictures(model: Any) -> Pictures:
    """The pictures that there are of a model; register a function here to give a class its own.

    Examples
    --------
    ::

        @pictures.register(MyModel)
        def pictures_of_my_model(model):
            return Pictures({"weights": WeightsDisplay}, default=lambda model, X, y: "weights")
    """
    known = sorted({kind.__name__ for kind in pictures.registry if kind is not object})
    raise TypeError(
        f"There is no picture of {type(model).__name__}; there is one of {', '.join(known)}, and "
        "assay.display.pictures.register adds one."
    )


def default_kind(model: Any, X: Any = None, y: Any = None) -> str:
    """The kind of picture that `plot` draws of a model when none is asked for."""
    inside, X, y, _ = unwrapped(model, X, y, {})
    return pictures(inside).default(inside, X, y)


def kinds(model: Any) -> tuple[str, ...]:
    """The kinds of pictures that there are of a model, or of the one at the end of a pipeline.

    Examples
    --------
    >>> from assay.display import kinds
    >>> from assay.linear import Ridge
    >>> kinds(Ridge())
    ('path', 'leave_one_out', 'predictions', 'residuals', 'coefficients')
    """
    inside = unwrapped(model, None, None, {})[0]
    return tuple(pictures(inside).displays)


def choose(model: Any, kind: str, pictures: Mapping[str, T]) -> T:
    """The picture of that kind, or a sentence that lists the kinds there are."""
    if kind not in pictures:
        known = ", ".join(repr(name) for name in pictures)
        raise ValueError(
            f"The 'kind' parameter of the picture of {type(model).__name__} must be one of {known}. "
            f"Got {kind!r} instead."
        )
    return pictures[kind]


def _taking(options: Mapping[str, Any], displays: Mapping[str, type[Display]], default: str) -> str:
    """The default kind, or the first that takes the options where the default does not."""
    kinds_that_take = [
        kind for kind, display in displays.items() if set(options) <= set(display.option_names())
    ]
    return default if default in kinds_that_take or not kinds_that_take else kinds_that_take[0]


def _require(model: Any, kind: str, data: Mapping[str, Any]) -> None:
    """Refuse a picture that needs data when there is none."""
    if any(value is None for value in data.values()):
        raise ValueError(
            f"The {kind!r} picture of {type(model).__name__} needs {' and '.join(data)}: "
            f"plot({', '.join(data)}, kind={kind!r})."
        )
