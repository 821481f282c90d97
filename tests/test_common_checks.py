"""The house's own checks on every public estimator, found by walking the package."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone, is_classifier, is_clusterer, is_regressor
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

import assay
from assay.base import IterativeModel
from assay.datasets import Blobs, GaussianClasses, LinearGaussian
from assay.rows import threads
from estimators import estimator_classes, instances

# A feature map predicts nothing and has no fit to certify: tests/linear/test_feature_maps.py checks it.
CLASSES = [kind for kind in estimator_classes() if hasattr(kind, "predict")]
INSTANCES = [
    model for model in instances() if hasattr(model, "predict") and not get_tags(model).input_tags.pairwise
]
FITTED = re.compile(r"^[a-z].*[^_]_$")

each_class = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
each_instance = pytest.mark.parametrize("model", INSTANCES, ids=repr)


def sample(model, n_samples=240, seed=3):
    """Data that suits an estimator: a law with a known truth."""
    if is_clusterer(model):
        centers = 6 * np.vstack([np.eye(4), -np.eye(4)])  # as many blobs as the default number of clusters
        return Blobs(centers=centers, cluster_std=0.5).sample(n_samples, random_state=seed).X, None
    if is_classifier(model):
        means = [[0.6, -0.4, 0.0, 0.0], [-0.6, 0.4, 0.3, 0.0]]  # overlapping: an unpenalised fit exists
        X, y = GaussianClasses(means).sample(n_samples, random_state=seed)
        if type(model).__name__ == "Perceptron":  # converges exactly where a plane separates the classes
            normal = np.array([1.0, -0.8, 0.2, 0.4])
            side = np.where(X @ normal > 0.1, 1.0, -1.0)
            X, y = X + 0.1 * side[:, np.newaxis] * normal, (side > 0).astype(y.dtype)
        return X, y
    assert is_regressor(model), "add a law for the new kind of estimator here"
    law = LinearGaussian([1.0, -2.0, 0.5, 0.0], intercept=3.0, noise_std=0.5, covariance=np.eye(4))
    X, y = law.sample(n_samples, random_state=seed)
    if get_tags(model).target_tags.positive_only:
        y = np.exp(y / 4)
    return X, y


def prepared(model):
    """A copy with a fixed seed and, where it iterates, enough iterations."""
    model = clone(model)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model


def outputs(model, X):
    return np.asarray(model.predict(X))


def disagreement(first, second):
    """Share of rows on which two clusterings differ, under the numbering that suits them best."""
    counts = contingency_matrix(first, second)
    return 1 - counts[linear_sum_assignment(-counts)].sum() / len(first)


def agree(first, second, X, *, atol=1e-7):
    """Equal predictions: for clusters up to their numbers and a few rows on a border, else to rounding."""
    if is_classifier(first):
        assert_allclose(first.decision_function(X), second.decision_function(X), atol=atol)
    elif is_clusterer(first):
        assert disagreement(outputs(first, X), outputs(second, X)) < 0.01
    else:
        assert_allclose(outputs(first, X), outputs(second, X), atol=atol)


def float_attributes(model):
    """Fitted arrays of floats, by name."""
    return {
        name: value
        for name, value in vars(model).items()
        if FITTED.match(name) and isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size
    }


@each_instance
def test_certificates_hold_on_a_good_fit(model):
    X, y = sample(model)
    fitted = prepared(model).fit(X, y)
    assert len(fitted.certificates_) > 0
    fitted.certificates_.require()
    fitted.certify(X, y).require()


@each_instance
def test_certificates_fail_on_a_damaged_fit(model):
    X, y = sample(model)
    fitted = prepared(model).fit(X, y)
    for value in float_attributes(fitted).values():
        value += 0.3 * (1 + np.abs(value)) * np.cos(np.arange(value.size)).reshape(value.shape)
    assert not fitted.certify(X, y).holds


@each_instance
def test_weights_are_repetitions(model):
    if not has_fit_parameter(model, "sample_weight"):
        pytest.skip("takes no weights")
    X, y = sample(model)
    weight = np.tile([1, 2, 0, 1], 60)
    keep = np.repeat(np.arange(len(X)), weight)
    weighted = prepared(model).fit(X, y, sample_weight=weight)
    repeated = prepared(model).fit(X[keep], None if y is None else y[keep])
    agree(weighted, repeated, X)


@each_instance
def test_float32_stays_float32(model):
    X, y = sample(model)
    X32 = X.astype(np.float32)
    fitted = prepared(model).fit(X32, None if y is None else y.astype(np.float32))
    for name, value in float_attributes(fitted).items():
        if re.match(r"(coef|intercept|cluster_centers|dual_coef)_$", name):
            assert value.dtype == np.float32, name
    if is_classifier(model):
        assert fitted.decision_function(X32).dtype == np.float32
    elif not is_clusterer(model):
        assert fitted.predict(X32).dtype == np.float32
    agree(fitted, prepared(model).fit(X, y), X32, atol=2e-2)


@each_instance
def test_same_seed_same_result_on_any_number_of_threads(model):
    X, y = sample(model, n_samples=600 if "Kernel" in type(model).__name__ else 6000)
    with threads(1):
        one = prepared(model).fit(X, y)
    with threads(3):
        three = prepared(model).fit(X, y)
    names = float_attributes(one)
    assert names.keys() == float_attributes(three).keys()
    for name in names:
        assert np.array_equal(getattr(one, name), getattr(three, name)), name


@each_class
def test_every_kind_of_random_state_is_accepted(kind):
    if "random_state" not in kind().get_params():
        pytest.skip("draws nothing")
    X, y = sample(kind())
    for make in (
        lambda: None,
        lambda: 5,
        lambda: np.random.default_rng(5),
        lambda: np.random.SeedSequence(5),
        lambda: np.random.RandomState(5),
    ):
        first = kind(random_state=make()).fit(X, y)
        if make() is not None:
            assert np.array_equal(first.predict(X), kind(random_state=make()).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="'random_state' parameter"):
        kind(random_state="lucky").fit(X, y)


@each_class
def test_disk_gives_the_result_of_memory(kind, tmp_path):
    X, y = sample(kind())
    path = tmp_path / "rows.npy"
    np.save(path, X)
    model = prepared(kind())
    try:
        streamed = clone(model).fit(str(path), y)
    except ValueError as refusal:
        assert re.search(r"pairs", str(refusal)), "only all-pairs methods may refuse, and say so"
        fitted = clone(model).fit(X, y)
        with pytest.raises(ValueError, match=r"pairs|memory"):
            fitted.certify(str(path), y)
    else:
        fitted = clone(model).fit(X, y)
        agree(streamed, fitted, X, atol=1e-9)
        assert streamed.certificates_.holds
        assert streamed.certify(str(path), y).holds
    assert_allclose(fitted.predict(str(path)), fitted.predict(X), atol=1e-10)


@each_class
def test_a_memory_map_gives_the_result_of_memory(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.rows.IN_MEMORY_BYTES", 0)
    X, y = sample(kind())
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    model = prepared(kind())
    try:
        streamed = clone(model).fit(mapped, y)
    except ValueError as refusal:
        assert re.search(r"pairs", str(refusal))
    else:
        agree(streamed, clone(model).fit(X, y), X, atol=1e-9)


@each_class
def test_dask_gives_the_result_of_memory_and_stays_lazy(kind):
    da = pytest.importorskip("dask.array")
    X, y = sample(kind())
    lazy, lazy_y = da.from_array(X, chunks=(70, 2)), None if y is None else da.from_array(y, chunks=70)
    model = prepared(kind())
    fitted = clone(model).fit(X, y)
    try:
        remote = clone(model).fit(lazy, lazy_y)
    except ValueError as refusal:
        assert re.search(r"pairs", str(refusal))
    else:
        agree(remote, fitted, X, atol=1e-9)
        assert remote.certificates_.holds
    predicted = fitted.predict(lazy)
    assert isinstance(predicted, da.Array)
    assert_allclose(predicted.compute(), fitted.predict(X), atol=1e-10)


@each_class
def test_polars_and_pandas_give_the_result_of_numpy(kind):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = sample(kind())
    names = list("abcd")
    fitted = prepared(kind()).fit(X, y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        framed = prepared(kind()).fit(frame, y)
        assert list(framed.feature_names_in_) == names
        assert_allclose(framed.predict(frame), fitted.predict(X), atol=1e-10)


@each_class
def test_a_saved_model_comes_back_whole(kind, tmp_path):
    X, y = sample(kind())
    fitted = prepared(kind()).fit(X, y)
    assay.save(fitted, tmp_path / "model.skops")
    loaded = assay.load(tmp_path / "model.skops")
    assert np.array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.certificates_ == fitted.certificates_
    assert loaded.certify(X, y).holds


@each_class
@pytest.mark.parametrize("with_data", [True, False])
def test_plot_draws(kind, with_data):
    from matplotlib.axes import Axes

    X, y = sample(kind())
    fitted = prepared(kind()).fit(X, y)
    ax = fitted.plot(X, y) if with_data else fitted.plot()
    assert isinstance(ax, Axes)
    assert ax.has_data()
    # Each axis says what it shows: by a label, or by the names of features on its ticks.
    for label, ticks in ((ax.get_xlabel(), ax.get_xticklabels()), (ax.get_ylabel(), ax.get_yticklabels())):
        assert label or any(tick.get_text().strip("−-0123456789.") for tick in ticks)


@pytest.mark.parametrize(
    "kind", [kind for kind in CLASSES if issubclass(kind, IterativeModel)], ids=lambda kind: kind.__name__
)
def test_iterating_models_tell_their_progress(kind, capsys):
    X, y = sample(kind())
    fitted = prepared(kind()).set_callbacks(ProgressBar()).fit(X, y)
    assert "fit" in capsys.readouterr().out
    assert fitted.n_iter_ >= 1
    assert fitted.converged_
    assert fitted.optimality_ >= 0


@each_class
def test_the_docstring_says_what_is_computed_and_certified(kind):
    text = inspect.getdoc(kind)
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
        assert re.search(rf"^{name}\b.*:", text, re.MULTILINE), f"{name} is not documented"
    assert set(inspect.signature(kind).parameters) == set(kind._domains), "every parameter has a domain"


@each_class
def test_bad_parameters_are_refused_in_one_sentence(kind):
    X, y = sample(kind())
    for name in kind._domains:
        model = kind(**{name: object()})
        with pytest.raises(ValueError, match=rf"The '{name}' parameter of {kind.__name__} must be .* Got "):
            model.fit(X, y)


@each_instance
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused_in_one_sentence(model, value):
    X, y = sample(model)
    X[5, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity") as refusal:
        prepared(model).fit(X, y)
    assert "\n" not in str(refusal.value)


@each_instance
def test_hard_tables_neither_crash_nor_lie(model):
    X, y = sample(model)
    hard = {
        "constant column": np.column_stack([X, np.full(len(X), 7.0)]),
        "duplicate column": np.column_stack([X, X[:, 0]]),
        "duplicated rows": np.vstack([X[:120], X[:120]]),
        "huge": X * 1e8,
        "tiny": X * 1e-8,
    }
    for name, table in hard.items():
        fitted = prepared(model)
        with np.errstate(all="raise", under="ignore"):
            try:
                fitted.fit(table, y)
            except ConvergenceWarning:  # warnings are errors here; saying so is honest
                continue
        for key, value in float_attributes(fitted).items():
            assert not np.isnan(value).any(), (name, key)
