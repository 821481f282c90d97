"""Every public estimator has its pictures, with data and without, and they say what they show."""

from __future__ import annotations

import builtins
import importlib
import inspect
from dataclasses import dataclass

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from assay import display
from assay.base import Model
from assay.cluster import KMeans
from assay.datasets import diabetes, us_arrests
from assay.kernel_machines import KernelRidge
from assay.linear import LinearRegression, Ridge

ROOMS = ("linear", "cluster", "kernel_machines")


def public_estimators() -> list[type[Model]]:
    found = []
    for room in ROOMS:
        module = importlib.import_module(f"assay.{room}")
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isclass(member) and issubclass(member, Model) and not inspect.isabstract(member):
                found.append(member)
    return found


@pytest.fixture(scope="module")
def table():
    return diabetes(as_frame=True)


@pytest.fixture(scope="module")
def linear(table):
    return LinearRegression().fit(table.X, table.y)


@pytest.fixture(scope="module")
def ridge(table):
    return Ridge(alpha=0.05).fit(table.X, table.y)


@pytest.fixture(scope="module")
def arrests():
    return us_arrests(as_frame=True).X


@pytest.fixture(scope="module")
def kmeans(arrests):
    return KMeans(4, n_init=5, random_state=0).fit(arrests)


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3, 3, 80)).reshape(-1, 1)
    return x, np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=80)


@pytest.fixture(scope="module")
def kernel_ridge(wave):
    return KernelRidge(alpha=0.1, kernel="rbf", gamma=1.0).fit(*wave)


def tick_labels(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def legend_words(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


NEED_TWO_COLUMNS = {
    "BlockBiclustering",
    "OverlappingClustering",
    "SparseSVDBiclustering",
    "SpectralBiclustering",
    "SphericalKMeans",
}
"""Estimators of groups of columns, or of directions, of which a line has two."""


# A perceptron on classes that overlap says that it does not end, as it should.
@pytest.mark.filterwarnings("ignore:Perceptron:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_every_public_estimator_draws_itself_with_and_without_data(estimator, n_features, rng):
    if n_features == 1 and estimator.__name__ in NEED_TWO_COLUMNS:
        pytest.skip("has nothing to say about one column")
    X = rng.normal(size=(40, n_features))
    if get_tags(estimator()).input_tags.positive_only:
        X = np.abs(X)
    y = X.sum(axis=1) + 0.1 * rng.normal(size=40)
    if is_classifier(estimator()):
        y = (y > 0).astype(int)
    # A start drawn afresh in every run may once be a poor one, which warns.
    seeded = {"random_state": 0} if "random_state" in estimator().get_params() else {}
    model = estimator().set_params(**seeded).fit(X, y)
    for ax in (model.plot(X, y), model.plot(), display.plot(model, X, y)):
        assert isinstance(ax, Axes)
        assert ax.get_title()
        assert ax.has_data()


def test_linear_regression_shows_predictions_against_observations(linear, table):
    ax = linear.plot(table.X, table.y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("observed", "predicted")
    assert ax.get_title() == f"R² = {linear.score(table.X, table.y):.2f}"


def test_linear_regression_shows_residuals(linear, table):
    ax = linear.plot(table.X, table.y, kind="residuals")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted", "observed − predicted")
    drawn = ax.collections[0].get_offsets()
    np.testing.assert_allclose(drawn[:, 1], table.y - linear.predict(table.X))


def test_coefficients_are_named_and_in_order_of_size(linear):
    ax = linear.plot()
    names = tick_labels(ax.yaxis)
    order = np.argsort(np.abs(linear.coef_))
    assert names == [str(linear.feature_names_in_[index]) for index in order]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], linear.coef_[order])


def test_many_coefficients_are_cut_to_the_largest(rng):
    X = rng.normal(size=(60, 40))
    ax = LinearRegression().fit(X, X[:, 0]).plot()
    assert ax.get_title() == "the 20 largest of 40 coefficients, with 95% intervals"
    assert tick_labels(ax.yaxis)[-1] == "x0"


def test_ridge_shows_its_path_and_marks_its_penalty(ridge, table):
    ax = ridge.plot(table.X, table.y)
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "alpha (penalty)")
    assert "bmi" in legend_words(ax)
    assert "alpha = 0.05" in [text.get_text() for text in ax.texts]
    curve = next(line for line in ax.lines if line.get_label() == "bmi")
    at_choice = np.argmin(np.abs(curve.get_xdata() - 0.05))
    np.testing.assert_allclose(
        curve.get_ydata()[at_choice], ridge.coef_[list(ridge.feature_names_in_).index("bmi")]
    )


def test_names_are_shown_as_they_are(rng):
    names = ["_hidden", "$_$ and $^$", "price in $"]
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=names)
    model = Ridge(alpha=1.0).fit(X, X.sum(axis=1))
    ax = model.plot(X, X.sum(axis=1))
    ax.figure.canvas.draw()
    assert {word.strip().replace("\\$", "$") for word in legend_words(ax)} == set(names)


def test_ridge_shows_the_leave_one_out_error_of_a_grid(ridge, table):
    alphas = np.logspace(-3, 1, 9)
    ax = ridge.plot(table.X, table.y, kind="leave_one_out", alphas=alphas)
    assert "leave-one-out" in ax.get_ylabel()
    path = ridge.path(table.X, table.y, alphas=alphas)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), path.leave_one_out_error)


@pytest.mark.parametrize("kind", ["path", "leave_one_out", "predictions", "residuals", "coefficients"])
def test_ridge_pictures_take_several_targets(kind, rng):
    X = rng.normal(size=(30, 3))
    Y = X @ rng.normal(size=(3, 2)) + 0.1 * rng.normal(size=(30, 2))
    ax = Ridge(alpha=1.0).fit(X, Y).plot(X, Y, kind=kind)
    assert ax.has_data()
    if kind != "leave_one_out":
        assert any("target 1" in word for word in legend_words(ax))


def test_kmeans_map_stands_in_the_plane_of_the_principal_axes(kmeans, arrests):
    ax = kmeans.plot(arrests)
    assert ax.get_xlabel().startswith("first principal axis (")
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2", "3"]
    points = ax.collections[0].get_offsets()
    assert points.shape == (50, 2)
    centered = arrests.to_numpy() - arrests.to_numpy().mean(axis=0)
    np.testing.assert_allclose(
        np.var(points, axis=0), np.linalg.eigvalsh(centered.T @ centered / 50)[::-1][:2], rtol=1e-6
    )


def test_kmeans_map_of_two_features_has_their_names_and_exact_cells(arrests):
    X = arrests[["Murder", "Rape"]]
    model = KMeans(3, n_init=5, random_state=0).fit(X)
    ax = model.plot(X)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Murder", "Rape")
    cells = [patch.get_path() for patch in ax.patches]
    assert len(cells) == 3
    inside = np.array([cell.contains_points(X.to_numpy()) for cell in cells])
    np.testing.assert_array_equal(inside.sum(axis=0), 1)
    np.testing.assert_array_equal(inside.argmax(axis=0), model.predict(X))


def test_kmeans_map_of_one_feature_is_a_histogram(arrests):
    X = arrests[["Murder"]]
    ax = KMeans(3, n_init=5, random_state=0).fit(X).plot(X)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Murder", "rows")
    assert sum(bar.get_height() for bar in ax.patches) == 50


def test_kmeans_centers_are_written_in_their_cells(kmeans):
    ax = kmeans.plot()
    assert tick_labels(ax.xaxis) == ["Murder", "Assault", "UrbanPop", "Rape"]
    assert ax.texts[0].get_text() == f"{kmeans.cluster_centers_[0, 0]:.3g}"


def test_kmeans_restarts_and_convergence(kmeans):
    ax = kmeans.plot(kind="restarts")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("restart", "inertia")
    assert f"of {len(kmeans.restart_inertias_)} restarts" in ax.get_title()
    ax = kmeans.plot(kind="convergence")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("iteration", "inertia")
    trace = ax.lines[0].get_ydata()
    assert np.all(np.diff(trace) <= 1e-9 * trace[0])
    assert trace[-1] == pytest.approx(kmeans.inertia_)


def test_many_clusters_have_distinct_colours(rng):
    X = rng.normal(size=(200, 2))
    model = KMeans(12, n_init=1, random_state=0).fit(X)
    ax = model.plot(X)
    colors = ax.collections[0].get_facecolor()
    assert len(np.unique(colors, axis=0)) == 12


def test_large_tables_are_sampled(rng):
    X = rng.normal(size=(5000, 2))
    ax = KMeans(2, n_init=1, random_state=0).fit(X).plot(X)
    assert ax.collections[0].get_offsets().shape[0] == 3000


def test_kernel_ridge_of_one_feature_shows_its_curve(kernel_ridge, wave):
    ax = kernel_ridge.plot(*wave)
    assert ax.get_title() == "rbf kernel, alpha = 0.1, gamma = 1"
    assert legend_words(ax) == ["observed", "fitted"]
    grid, curve = ax.lines[0].get_data()
    np.testing.assert_allclose(curve, kernel_ridge.predict(grid.reshape(-1, 1)))
    assert kernel_ridge.plot().get_ylabel() == "fitted"


@pytest.mark.parametrize("kind", ["predictions", "residuals", "leave_one_out", "weights"])
def test_kernel_ridge_pictures_of_several_features(kind, table):
    model = KernelRidge(alpha=1.0, kernel="rbf", gamma=1.0).fit(table.X[:100], table.y[:100])
    assert model.plot(table.X[:100], table.y[:100], kind=kind).has_data()
    with pytest.raises(ValueError, match="needs one feature"):
        model.plot(kind="curve")


def test_a_pipeline_is_drawn_as_its_last_step_with_the_names_of_the_columns(table):
    model = make_pipeline(StandardScaler(), Ridge(alpha=1.0)).fit(table.X, table.y)
    assert "bmi" in legend_words(display.plot(model, table.X, table.y))
    assert "bmi" in tick_labels(display.plot(model).yaxis)


def test_a_transformed_target_is_drawn_on_the_scale_of_the_regressor(table):
    model = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), LinearRegression()), transformer=StandardScaler(with_std=False)
    ).fit(table.X, table.y)
    ax = display.plot(model, table.X, table.y)
    drawn = ax.collections[0].get_offsets()
    np.testing.assert_allclose(drawn[:, 0], table.y - table.y.mean())


def test_plot_draws_on_the_axes_it_is_given(linear):
    figure, ax = plt.subplots()
    assert linear.plot(ax=ax) is ax
    assert plt.get_fignums() == [figure.number]


def test_unknown_kind_lists_the_kinds(linear):
    with pytest.raises(
        ValueError, match=r"must be one of 'predictions', 'residuals', 'coefficients'\. Got 'pie'"
    ):
        linear.plot(kind="pie")


def test_a_picture_that_needs_data_says_so(ridge, kmeans):
    with pytest.raises(ValueError, match="The 'path' picture of Ridge needs X and y"):
        ridge.plot(kind="path")
    with pytest.raises(ValueError, match="The 'map' picture of KMeans needs X"):
        kmeans.plot(kind="map")


def test_unknown_class_gets_one_sentence_and_opens_no_figure():
    scaler = StandardScaler().fit([[0.0], [1.0]])
    with pytest.raises(TypeError, match=r"There is no picture of StandardScaler; there is one of .*KMeans"):
        display.plot(scaler)
    assert plt.get_fignums() == []


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        LinearRegression().plot()


def test_a_class_can_be_given_a_picture():
    class Mine(StandardScaler):
        pass

    @dataclass
    class MineDisplay(display.Display):
        mean: float

        @classmethod
        def _collect(cls, estimator, X, y, *, feature_names=None):
            return cls(estimator.mean_[0])

        def _draw(self, ax):
            ax.set_title(f"mine: {self.mean}")

    @display.pictures.register(Mine)
    def pictures_of_mine(model):
        return display.Pictures({"mean": MineDisplay}, lambda model, X, y: "mean")

    model = Mine().fit([[0.0], [1.0]])
    assert display.kinds(model) == ("mean",)
    assert display.plot(model).get_title() == "mine: 0.5"
    assert display.plot(make_pipeline(StandardScaler(), model).fit([[0.0], [1.0]])).get_title() == "mine: 0.0"


def test_house_style_ends_with_its_block():
    before = matplotlib.rcParams["axes.spines.top"]
    with display.house_style():
        assert matplotlib.rcParams["axes.spines.top"] is False
    assert matplotlib.rcParams["axes.spines.top"] == before


def test_without_matplotlib_the_error_says_what_to_install(linear, monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **options):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install 'assay\[plot\]'"):
        linear.plot()
