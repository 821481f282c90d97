"""Data that suit an estimator, what a fitted one says about rows, and one fit of each for all checks."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import (
    BiclusterMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_clusterer,
    is_outlier_detector,
    is_regressor,
)
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import get_tags

from assay.datasets import Blobs, GaussianClasses, LinearGaussian
from assay.models import Density

FITTED = re.compile(r"^[a-z].*[^_]_$")

Sample = tuple[NDArray, NDArray | None]


def sample(model: Any, n_samples: int = 240, seed: int = 3) -> Sample:
    """Features and target from a law with a known truth."""
    name = type(model).__name__
    if name == "OverlappingClustering":
        return _overlapping_groups(n_samples, seed), None
    if is_clusterer(model):
        centers = 6 * np.vstack([np.eye(4), -np.eye(4)])  # as many blobs as the default number of clusters
        return Blobs(centers=centers, cluster_std=0.5).sample(n_samples, random_state=seed).X, None
    if is_classifier(model):
        means = [[0.6, -0.4, 0.0, 0.0], [-0.6, 0.4, 0.3, 0.0]]  # overlapping: an unpenalised fit exists
        X, y = GaussianClasses(means).sample(n_samples, random_state=seed)
        if name == "Perceptron":  # converges exactly where a plane separates the classes
            normal = np.array([1.0, -0.8, 0.2, 0.4])
            side = np.where(X @ normal > 0.1, 1.0, -1.0)
            X, y = X + 0.1 * side[:, np.newaxis] * normal, (side > 0).astype(y.dtype)
        return suited(model, X), y
    if isinstance(model, BiclusterMixin):
        return _board(n_samples // 2, seed), None
    if isinstance(model, Density):
        means = [[0.0, 0.0, 1.0, 0.0], [2.0, -1.0, 0.0, 1.0]]  # two modes, so that a bandwidth is a choice
        return GaussianClasses(means).sample(n_samples, random_state=seed).X, None
    if name == "NearestNeighbors" or is_outlier_detector(model):
        return np.random.default_rng(seed).normal(size=(n_samples, 4)), None
    if not is_regressor(model):
        assert isinstance(model, TransformerMixin), f"add a law for {name} to tests/samples.py"
        return np.random.default_rng(seed).uniform(-1, 1, (n_samples, 4)), None
    law = LinearGaussian([1.0, -2.0, 0.5, 0.0], intercept=3.0, noise_std=0.5, covariance=np.eye(4))
    X, y = law.sample(n_samples, random_state=seed)
    return suited(model, X), np.exp(y / 4) if get_tags(model).target_tags.positive_only else y


def suited(model: Any, X: NDArray) -> NDArray:
    """Rows of any numbers about 0 as a model can take them."""
    if type(model).__name__ in ("RadiusNeighborsClassifier", "RadiusNeighborsRegressor"):
        return 0.2 * X  # the default radius is to reach others from every row
    if is_classifier(model) and get_tags(model).input_tags.positive_only:  # counts, or places of levels
        return np.clip(np.round(3 + X), 1, 5)
    return X


def _board(n_rows: int, seed: int) -> NDArray:
    """A checkerboard of positive blocks with noise."""
    random = np.random.default_rng(seed)
    values = np.array([[1.0, 6.0], [5.0, 2.0]])
    rows, columns = random.permutation(n_rows) % 2, random.permutation(12) % 2
    return np.abs(values[rows][:, columns] + 0.3 * random.normal(size=(n_rows, 12)))


def _overlapping_groups(n_rows: int, seed: int) -> NDArray:
    """Variables that hang on one factor each, and one that hangs on two."""
    random = np.random.default_rng(seed)
    loadings = np.array([[1, 0], [1, 0], [-1, 0], [0, 1], [0, 1], [0.5, 0.5]])
    return 2 * random.normal(size=(n_rows, 2)) @ loadings.T + 0.5 * random.normal(size=(n_rows, 6))


def prepared(model: Any) -> Any:
    """An unfitted copy with a fixed seed, and few trees if it is an ensemble of them."""
    model = few_trees(clone(model))
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model


def few_trees(model: Any) -> Any:
    """The model, with at most twenty trees: what is true of a hundred is seen on them."""
    if type(model).__module__ == "assay.trees":
        given = model.get_params(deep=False)
        model.set_params(
            **{name: min(given[name], 20) for name in ("n_estimators", "max_iter") if name in given}
        )
    return model


_FITS: dict[str, Any] = {}


def fitted(model: Any) -> Any:
    """A model fitted to its sample: one fit in a process, a copy for each check."""
    name = repr(model)
    if name not in _FITS:
        _FITS[name] = prepared(model).fit(*sample(model))
    return copy.deepcopy(_FITS[name])


ON_ROWS = ("predict", "decision_function", "predict_proba", "transform", "score_samples")
ON_TRAINING_ROWS = ("labels_", "row_labels_", "column_labels_", "rows_", "columns_")


def outputs(model: Any, X: Any, *, only: tuple[str, ...] = ON_ROWS) -> dict[str, Any]:
    """What a fitted model says about rows, by the name of the method; its partition where it says nothing."""
    said = {name: getattr(model, name)(X) for name in only if hasattr(model, name)}
    if not said:
        said = {name: getattr(model, name) for name in ON_TRAINING_ROWS if hasattr(model, name)}
    if not said and hasattr(model, "kneighbors"):
        said = dict(zip(("distances", "indices"), model.kneighbors(X), strict=True))
    assert said, f"{type(model).__name__} neither predicts nor transforms nor labels: tests/samples.py"
    return said


def can_speak(kind: type) -> bool:
    """Whether an estimator has something to say about new rows."""
    return any(hasattr(kind, name) for name in (*ON_ROWS, "kneighbors"))


def disagreement(first: NDArray, second: NDArray) -> float:
    """Share of rows on which two clusterings differ, under the numbering that suits them best."""
    counts = contingency_matrix(first, second)
    return 1 - counts[linear_sum_assignment(-counts)].sum() / len(first)


def agree(first: Any, second: Any, X: Any, *, atol: float = 1e-7) -> None:
    """Equal answers: for clusters up to their numbers and a few rows on a border, else to rounding."""
    if is_clusterer(first):
        assert disagreement(np.asarray(first.predict(X)), np.asarray(second.predict(X))) < 0.01
        return
    if (is_classifier(first) or is_outlier_detector(first)) and hasattr(first, "decision_function"):
        assert_allclose(first.decision_function(X), second.decision_function(X), atol=atol)
        return
    ours, theirs = outputs(first, X), outputs(second, X)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        if name in ("row_labels_", "column_labels_", "labels_"):
            assert disagreement(value, theirs[name]) < 0.01
        elif name in ("rows_", "columns_"):  # biclusters in some order
            assert sorted(map(bytes, value)) == sorted(map(bytes, theirs[name]))
        else:
            assert_allclose(value, theirs[name], atol=atol)


def assert_same_bits(first: Any, second: Any, X: Any) -> None:
    """Equal numbers to the last bit, fitted and said about rows."""
    arrays = float_arrays(first)
    assert arrays.keys() == float_arrays(second).keys()
    for name, value in arrays.items():
        assert np.array_equal(value, getattr(second, name), equal_nan=True), name
    theirs = outputs(second, X)
    for name, value in outputs(first, X).items():
        assert np.array_equal(value, theirs[name]), name


def float_arrays(model: Any) -> dict[str, NDArray]:
    """Fitted arrays of floats, by name."""
    return {
        name: value
        for name, value in vars(model).items()
        if FITTED.match(name) and isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size
    }
