"""The house's own checks on every public estimator, chosen by what it can do."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BiclusterMixin, is_classifier, is_outlier_detector
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning

import assay
from assay.base import IterativeModel
from assay.linear.features.base import FeatureMap
from assay.rows import threads
from estimators import estimator_classes
from samples import ON_ROWS, agree, assert_same_bits, few_trees, fitted, outputs, prepared, sample

CLASSES = estimator_classes()
REFUSES = r"pairs|outside memory|in memory"  # the words of a method that needs the whole table, and says so

# What an estimator cannot choose by itself where the rows live outside memory.
OUTSIDE = {"OverlappingClustering": {"delta": 0.5}}

# Estimators with loops of their own for a table in memory, whose sums have another order.
OWN_LOOPS = {"KMeans"}


def of(kinds):
    return pytest.mark.parametrize("kind", list(kinds), ids=lambda kind: kind.__name__)


def says(kind):
    """The methods of an estimator that speak about rows."""
    return tuple(name for name in ON_ROWS if hasattr(kind(), name))


def for_outside(kind):
    return prepared(kind(**OUTSIDE.get(kind.__name__, {})))


each_class = of(CLASSES)


@each_class
def test_an_estimator_predicts_transforms_scores_or_labels(kind):
    model = fitted(kind())
    X, y = sample(kind())
    for name, values in outputs(model, X).items():
        if not isinstance(model, BiclusterMixin):
            assert len(values) == len(X), name
    if hasattr(model, "fit_predict"):
        said = model.predict(X) if is_outlier_detector(model) else model.labels_
        assert np.array_equal(prepared(kind()).fit_predict(X), said)
    if hasattr(model, "fit_transform"):
        assert np.array_equal(prepared(kind()).fit_transform(X, y), model.transform(X))
    if hasattr(model, "sample"):
        drawn, again = (model.sample(7, random_state=0) for _ in range(2))
        if is_classifier(model):  # labelled rows
            assert np.array_equal(drawn.y, again.y)
            assert set(drawn.y) <= set(model.classes_)
            drawn, again = drawn.X, again.X
        assert drawn.shape == (7, X.shape[1])
        assert np.array_equal(drawn, again)
    if isinstance(model, BiclusterMixin):
        assert model.rows_.shape[1] == X.shape[0]
        assert model.columns_.shape[1] == X.shape[1]
        assert model.get_submatrix(0, X).shape == model.get_shape(0)


@of(kind for kind in CLASSES if "random_state" in kind().get_params())
def test_every_kind_of_random_state_is_accepted(kind):
    X, y = sample(kind())
    for make in (
        lambda: None,
        lambda: 5,
        lambda: np.random.default_rng(5),
        lambda: np.random.SeedSequence(5),
        lambda: np.random.RandomState(5),
    ):
        with warnings.catch_warnings():
            if make() is None:  # an unlucky draw may say that it has not converged
                warnings.simplefilter("ignore", ConvergenceWarning)
            first = few_trees(kind(random_state=make())).fit(X, y)
        if make() is not None:
            second = outputs(few_trees(kind(random_state=make())).fit(X, y), X)
            for name, values in outputs(first, X).items():
                assert np.array_equal(values, second[name]), name
    with pytest.raises(ValueError, match="'random_state' parameter"):
        kind(random_state="lucky").fit(X, y)


@each_class
def test_disk_gives_the_bits_of_memory(kind, tmp_path, small_blocks):
    X, y = sample(kind())
    path = str(tmp_path / "rows.npy")
    np.save(path, X)
    in_memory = on_threads(1, kind, X, y)
    try:
        streamed = on_threads(3, kind, path, y)
    except ValueError as refusal:
        assert re.search(REFUSES, str(refusal)), "only methods that need the whole table may refuse"
        with pytest.raises(ValueError, match=r"pairs|memory"):
            in_memory.certify(path, y)
    else:
        assert_same_outside(streamed, in_memory, X)
        if hasattr(streamed, "certificates_"):
            assert streamed.certificates_.holds
        assert streamed.certify(path, y).holds
    for name in says(kind):
        assert_allclose(getattr(in_memory, name)(path), getattr(in_memory, name)(X), atol=1e-10)


@each_class
def test_a_memory_map_gives_the_bits_of_memory(kind, tmp_path, monkeypatch, small_blocks):
    monkeypatch.setattr("assay.rows.IN_MEMORY_BYTES", 0)
    X, y = sample(kind())
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    try:
        streamed = on_threads(3, kind, mapped, y)
    except ValueError as refusal:
        assert re.search(REFUSES, str(refusal))
    else:
        assert_same_outside(streamed, on_threads(1, kind, X, y), X)


def on_threads(count, kind, X, y):
    with threads(count):
        return for_outside(kind).fit(X, y)


def assert_same_outside(streamed, in_memory, X):
    if type(streamed).__name__ in OWN_LOOPS:
        agree(streamed, in_memory, X, atol=1e-9)
    else:
        assert_same_bits(streamed, in_memory, X)


@each_class
def test_dask_gives_the_result_of_memory_and_stays_lazy(kind, small_blocks):
    da = pytest.importorskip("dask.array")
    X, y = sample(kind())
    # Two partitions of two blocks each, cut across the columns too.
    lazy, lazy_y = da.from_array(X, chunks=(120, 2)), None if y is None else da.from_array(y, chunks=120)
    in_memory = for_outside(kind).fit(X, y)
    try:
        remote = for_outside(kind).fit(lazy, lazy_y)
    except ValueError as refusal:
        assert re.search(REFUSES, str(refusal))
    else:
        agree(remote, in_memory, X, atol=1e-9)
        if hasattr(remote, "certificates_"):
            assert remote.certificates_.holds
    for name in says(kind):
        spoken = getattr(in_memory, name)(lazy)
        assert isinstance(spoken, da.Array), name
        assert_allclose(spoken.compute(), getattr(in_memory, name)(X), atol=1e-10)


@each_class
def test_polars_and_pandas_give_the_result_of_numpy(kind):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = sample(kind())
    names = [f"column {index}" for index in range(X.shape[1])]
    expected = outputs(fitted(kind()), X)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        framed = prepared(kind()).fit(frame, y)
        assert list(framed.feature_names_in_) == names
        for name, values in outputs(framed, frame).items():
            assert_allclose(values, expected[name], atol=1e-10)


@each_class
def test_a_saved_model_comes_back_whole(kind, tmp_path):
    X, y = sample(kind())
    model = fitted(kind())
    assay.save(model, tmp_path / "model.skops")
    loaded = assay.load(tmp_path / "model.skops")
    for name, values in outputs(loaded, X).items():
        assert np.array_equal(values, outputs(model, X)[name]), name
    assert getattr(loaded, "certificates_", None) == getattr(model, "certificates_", None)
    assert loaded.certify(X, y).holds


@each_class
def test_plot_draws_with_and_without_data(kind):
    from matplotlib.axes import Axes

    X, y = sample(kind())
    for data in ((X, y), ()):
        ax = fitted(kind()).plot(*data)
        assert isinstance(ax, Axes)
        assert ax.has_data()
        # Each axis says what it shows: by a label, or by the names of features on its ticks.
        for label, ticks in (
            (ax.get_xlabel(), ax.get_xticklabels()),
            (ax.get_ylabel(), ax.get_yticklabels()),
        ):
            assert label or any(tick.get_text().strip("−-0123456789.") for tick in ticks)


@of(kind for kind in CLASSES if issubclass(kind, IterativeModel))
def test_iterating_models_tell_their_progress(kind, capsys):
    model = prepared(kind()).set_callbacks(ProgressBar()).fit(*sample(kind()))
    assert "fit" in capsys.readouterr().out
    assert model.n_iter_ >= 1
    assert model.converged_
    assert model.optimality_ >= 0


@each_class
def test_the_docstring_says_what_is_computed_and_certified(kind):
    text = inspect.getdoc(kind)
    if not issubclass(kind, FeatureMap):  # which computes features, not a fit
        assert re.search(r"^(Minimises|Maximises|Finds)\b", text, re.MULTILINE), "say what the fit is"
    for part in (
        "Certificates:",
        "Parameters\n---",
        "Attributes\n---",
        "Examples\n---",
        "References\n---",
    ):
        assert part in text, part
    for name in inspect.signature(kind).parameters:
        assert re.search(rf"^(\w+, )*{name}\b.*:", text, re.MULTILINE), f"{name} is not documented"
    assert set(inspect.signature(kind).parameters) == set(kind._domains), "every parameter has a domain"


@each_class
def test_bad_parameters_are_refused_in_one_sentence(kind):
    X, y = sample(kind())
    for name in kind._domains:
        model = kind(**{name: object()})
        with pytest.raises(ValueError, match=rf"The '{name}' parameter of {kind.__name__} must be .* Got "):
            model.fit(X, y)
