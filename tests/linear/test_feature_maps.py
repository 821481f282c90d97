"""Feature maps: against independent evaluations, on every source of rows, and inside pipelines."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.interpolate import BSpline
from scipy.special import eval_chebyt, eval_legendre
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

import assay
from assay.linear import FourierMap, FunctionMap, HistogramMap, PolynomialMap, SplineMap, WaveletMap
from assay.linear.features.base import column_quantiles
from assay.rows import rows, threads

MAPS = [
    PolynomialMap(3),
    PolynomialMap(3, basis="legendre", include_bias=True),
    FourierMap(2),
    HistogramMap(4),
    HistogramMap(4, edges="quantile", include_bias=True),
    SplineMap(4),
    SplineMap(4, knots="quantile", extrapolation="linear"),
    SplineMap(4, cyclic=[1], period=2.0),
    WaveletMap(3),
    WaveletMap(3, wavelet="daubechies"),
    FunctionMap(),
]
each_map = pytest.mark.parametrize("feature_map", MAPS, ids=repr)
KINDS = [PolynomialMap, FourierMap, HistogramMap, SplineMap, WaveletMap, FunctionMap]
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def table(rng):
    return rng.random((300, 3)) * [1, 10, 100] - [0, 5, 0]


# What is computed


@pytest.mark.spec("rudi/M1.7")
@pytest.mark.parametrize("interaction_only", [True, False])
@pytest.mark.parametrize("include_bias", [True, False])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_monomials_are_scikit_learns_in_its_order(table, degree, interaction_only, include_bias):
    options = {"interaction_only": interaction_only, "include_bias": include_bias}
    ours = PolynomialMap(degree, **options).fit(table)
    theirs = PolynomialFeatures(degree, **options).fit(table)
    assert_allclose(ours.transform(table), theirs.transform(table), rtol=1e-13)
    assert np.array_equal(ours.powers_, theirs.powers_)
    assert list(ours.get_feature_names_out(list("abc"))) == list(theirs.get_feature_names_out(list("abc")))


@pytest.mark.spec("rudi/M1.7")
@pytest.mark.parametrize(("basis", "polynomial"), [("legendre", eval_legendre), ("chebyshev", eval_chebyt)])
def test_orthogonal_bases_are_products_of_scipys_polynomials(table, basis, polynomial):
    found = PolynomialMap(5, basis=basis).fit(table)
    low, high = table.min(axis=0), table.max(axis=0)
    u = 2 * (table - low) / (high - low) - 1
    expected = [np.prod(polynomial(powers, u), axis=1) for powers in found.powers_]
    assert_allclose(found.transform(table), np.column_stack(expected), atol=1e-12)


def test_an_orthogonal_basis_stays_conditioned_where_monomials_do_not():
    x = np.linspace(1000, 1001, 400)[:, None]
    value = {
        basis: PolynomialMap(12, basis=basis).fit(x).certify(x)[0].value for basis in ("monomial", "legendre")
    }
    assert value["legendre"] < 100
    assert value["monomial"] > 1e11
    assert not PolynomialMap(12).fit(x).certify(x).holds


@pytest.mark.spec("rudi/M1.8")
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("continuity", [None, -1, 0, 1])
def test_splines_are_scipys_for_every_degree_and_continuity(table, degree, continuity):
    if continuity is not None and continuity > degree - 1:
        with pytest.raises(ValueError, match="'continuity' parameter of SplineMap must be at most degree"):
            SplineMap(5, degree, continuity=continuity).fit(table)
        return
    found = SplineMap(5, degree, continuity=continuity, include_bias=True).fit(table)
    designs = []
    for j in range(3):
        knots = found.knots_[found.first_knot_[j] : found.first_knot_[j + 1]]
        multiplicity = 1 if continuity is None else degree - continuity
        assert np.sum(knots == knots[degree + multiplicity]) == multiplicity
        designs.append(BSpline.design_matrix(table[:, j], knots, degree).toarray())
    assert_allclose(found.transform(table), np.hstack(designs), atol=1e-12)
    dropped = SplineMap(5, degree, continuity=continuity).fit(table).transform(table)
    assert_allclose(dropped, np.hstack([design[:, :-1] for design in designs]), atol=1e-12)


@pytest.mark.spec("rudi/M1.8")
def test_continuity_is_the_number_of_continuous_derivatives_at_a_knot():
    knots, h = [0.0, 0.4, 1.0], 1e-4
    around = 0.4 + h * np.arange(-4, 5)[:, None]
    for continuity in (-1, 0, 1, 2):
        spline = SplineMap(knots=knots, degree=3, continuity=continuity, include_bias=True).fit(around)
        left, right = (spline.transform(side) for side in (around[:4][::-1], around[5:]))
        coef = np.cos(np.arange(left.shape[1]) * 1.7)
        for order in range(4):
            # Derivatives from either side, by differences of `order + 1` points.
            weights = {0: [1], 1: [-1, 1], 2: [1, -2, 1], 3: [-1, 3, -3, 1]}[order]
            below, above = (
                sign**order * np.dot(weights, (side @ coef)[: order + 1]) / h**order
                for side, sign in ((left, -1), (right, 1))
            )
            jump = abs(above - below) / (1 + abs(above))
            if order <= continuity:
                assert jump < 0.05, (continuity, order)
            elif order == continuity + 1:
                assert jump > 0.05, (continuity, order)


@pytest.mark.spec("rudi/M1.8")
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_cyclic_splines_span_scikit_learns_periodic_splines(degree):
    x = np.linspace(0, 24, 200, endpoint=False)[:, None]
    ours = SplineMap(9, degree, cyclic=True, period=24.0, include_bias=True).fit(x)
    knots = np.linspace(0, 24, 9)[:, None]
    theirs = SplineTransformer(degree=degree, knots=knots, extrapolation="periodic").fit(x)
    new = np.linspace(-50, 80, 300)[:, None]
    assert ours.n_features_out_ == theirs.n_features_out_ == 8
    weights = np.linalg.lstsq(theirs.transform(x), ours.transform(x), rcond=None)[0]
    assert_allclose(theirs.transform(new) @ weights, ours.transform(new), atol=1e-10)
    assert_allclose(ours.transform(new).sum(axis=1), 1)
    assert_allclose(ours.transform(new + 24), ours.transform(new), atol=1e-10)


def test_a_cyclic_spline_with_few_knots_wraps_onto_itself():
    x = np.linspace(0, 1, 50, endpoint=False)[:, None]
    found = SplineMap(3, 3, cyclic=True, period=1.0, include_bias=True).fit(x).transform(x)
    assert found.shape == (50, 2)  # two intervals, degree 3: every spline meets itself again
    assert_allclose(found.sum(axis=1), 1)
    assert_allclose(found[25:], found[:25, ::-1], atol=1e-12)


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_extrapolation_is_the_value_the_tangent_or_the_polynomial(side, degree):
    x = np.linspace(-1, 1, 60)[:, None]
    edge, far, h = np.array([[side * 1.0]]), np.array([[side * 1.7]]), 1e-6
    values = {
        mode: SplineMap(4, degree, extrapolation=mode, include_bias=True).fit(x)
        for mode in ("constant", "linear", "continue")
    }
    at_edge = values["constant"].transform(edge)
    assert_allclose(values["constant"].transform(far), at_edge)
    slope = (at_edge - values["constant"].transform(edge - side * h)) / (side * h)
    assert_allclose(values["linear"].transform(far), at_edge + side * 0.7 * slope, atol=1e-4)
    # The outermost piece as a polynomial through degree + 1 of its points.
    inside = side * np.linspace(0.5, 1.0, degree + 1)
    continued = values["continue"].transform(far)[0]
    pieces = values["constant"].transform(inside[:, None])
    for column in range(pieces.shape[1]):
        assert np.polyval(np.polyfit(inside, pieces[:, column], degree), far[0, 0]) == pytest.approx(
            continued[column], abs=1e-8
        )


@pytest.mark.spec("rudi/M1.9")
def test_fourier_functions_are_orthonormal_over_a_period():
    x = np.linspace(3, 10, 1000, endpoint=False)[:, None]
    features = FourierMap(4, period=7.0).fit_transform(x)
    table = np.column_stack([np.ones(1000), features])
    assert_allclose(table.T @ table / 1000, np.eye(9), atol=1e-12)
    assert_allclose(features[:, 4], np.sqrt(2) * np.cos(2 * np.pi * 3 * x[:, 0] / 7), atol=1e-12)
    assert FourierMap(1).fit(x).get_feature_names_out().tolist() == ["cos1(x0)", "sin1(x0)"]


@pytest.mark.spec("rudi/M1.9")
@pytest.mark.parametrize(("wavelet", "tolerance"), [("haar", 1e-12), ("daubechies", 1e-4)])
def test_wavelets_are_orthonormal_over_the_range_and_to_constants(wavelet, tolerance):
    u = (np.arange(2**13) + 0.5)[:, None] / 2**13
    features = WaveletMap(4, wavelet=wavelet, bounds=[0.0, 1.0]).fit_transform(u)
    table = np.column_stack([np.ones(len(u)), features])
    assert_allclose(table.T @ table / len(u), np.eye(16), atol=tolerance)


def test_daubechies_wavelets_do_not_see_lines():
    u = (np.arange(2**14) + 0.5)[:, None] / 2**14
    features = WaveletMap(5, wavelet="daubechies", bounds=[0.0, 1.0]).fit_transform(u)
    sees = features.T @ u[:, 0] / len(u)
    finest = sees[-16:]  # those that do not wrap around the period have two vanishing moments
    assert np.sum(np.abs(finest) > 1e-4) <= 2
    haar = WaveletMap(5, bounds=[0.0, 1.0]).fit_transform(u).T @ u[:, 0] / len(u)
    assert np.all(np.abs(haar[-16:]) > 1e-4)


def test_histogram_puts_every_value_in_one_bin(table):
    features = HistogramMap(6, include_bias=True).fit_transform(table).reshape(300, 3, 6)
    assert np.all(features.sum(axis=2) == 1)
    for j in range(3):
        edges = np.linspace(table[:, j].min(), table[:, j].max(), 7)
        assert_allclose(features[:, j].sum(axis=0), np.histogram(table[:, j], edges)[0])
    even = HistogramMap(6, edges="quantile", include_bias=True).fit_transform(table).reshape(300, 3, 6)
    assert np.all(np.abs(even.sum(axis=0) - 50) <= 1)


@pytest.mark.spec("rudi/M1.9")
def test_any_functions_make_features_side_by_side(table):
    found = FunctionMap([np.sin, lambda X: X[:, 0] * X[:, 2]]).fit(table)
    assert_allclose(
        found.transform(table), np.column_stack([np.sin(table), table[:, 0] * table[:, 2]]), atol=1e-15
    )
    assert found.get_feature_names_out().tolist() == ["sin0_0", "sin0_1", "sin0_2", "function1"]
    with pytest.raises(ValueError, match="'functions' parameter of FunctionMap must be functions from"):
        FunctionMap([np.sum]).fit(table)
    with pytest.raises(ValueError, match="functions with 1 columns in all"):
        FunctionMap([lambda X: X[:, : len(X) - 7]]).fit(table).transform(table[:10])


def test_quantiles_count_repetitions(rng):
    X = rng.standard_normal((50, 2))
    weight = rng.integers(0, 4, 50)
    levels = np.linspace(0, 1, 7)
    found = column_quantiles(rows(X, sample_weight=weight), levels)
    assert_allclose(found, np.quantile(np.repeat(X, weight, axis=0), levels, axis=0))


def test_quantiles_of_a_long_table_read_evenly_spaced_rows(rng, monkeypatch):
    X = rng.standard_normal((20_000, 1))
    monkeypatch.setattr("assay.linear.features.base.MAX_QUANTILE_ROWS", 5000)
    levels = np.linspace(0.1, 0.9, 5)
    assert_allclose(column_quantiles(rows(X), levels), np.quantile(X[::4], levels, axis=0))


# As transformers


@pytest.mark.spec("rudi/M2.7")
@pytest.mark.parametrize("feature_map", [PolynomialMap(2), SplineMap(6), HistogramMap(8)], ids=repr)
def test_a_classifier_on_features_separates_what_no_line_does(feature_map, rng):
    X = rng.uniform(-1, 1, (600, 2))
    y = (np.sum(X**2, axis=1) < 0.6).astype(int)
    straight = LogisticRegression().fit(X, y).score(X, y)
    curved = make_pipeline(feature_map, LogisticRegression(C=1e3, max_iter=2000)).fit(X, y).score(X, y)
    assert straight < 0.65
    assert curved > 0.9


@each_map
def test_disk_dask_frames_and_threads_give_the_features_of_memory(feature_map, table, tmp_path):
    da, pd = pytest.importorskip("dask.array"), pytest.importorskip("pandas")
    np.save(tmp_path / "rows.npy", table)
    fitted = clone(feature_map).fit(table)
    expected = fitted.transform(table)
    assert expected.shape == (300, fitted.n_features_out_) == (300, len(fitted.get_feature_names_out()))
    path = str(tmp_path / "rows.npy")
    assert_allclose(clone(feature_map).fit(path).transform(path), expected, atol=1e-12)
    lazy = da.from_array(table, chunks=(70, 2))
    remote = clone(feature_map).fit(lazy).transform(lazy)
    assert isinstance(remote, da.Array)
    assert_allclose(remote.compute(), expected, atol=1e-12)
    frame = pd.DataFrame(table, columns=list("abc"))
    framed = clone(feature_map).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(framed.columns) == list(fitted.get_feature_names_out(list("abc")))
    assert_allclose(framed.to_numpy(), expected, atol=1e-12)
    with threads(1):
        assert np.array_equal(fitted.transform(table), expected)


@each_map
def test_weights_are_repetitions_and_float32_stays_float32(feature_map, table):
    weight = np.tile([1, 2, 0], 100)
    weighted = clone(feature_map).fit(table, sample_weight=weight)
    repeated = clone(feature_map).fit(np.repeat(table, weight, axis=0))
    assert_allclose(weighted.transform(table), repeated.transform(table), atol=1e-12)
    single = table.astype(np.float32)
    assert clone(feature_map).fit(single).transform(single).dtype == np.float32


@each_map
def test_a_saved_map_comes_back_whole(feature_map, table, tmp_path):
    fitted = clone(feature_map).fit(table)
    assay.save(fitted, tmp_path / "map.assay")
    assert np.array_equal(assay.load(tmp_path / "map.assay").transform(table), fitted.transform(table))


@each_map
def test_hard_tables_give_finite_features(feature_map, table):
    for hard in (table * 1e8, table * 1e-8, np.column_stack([table[:, :2], np.full(300, 7.0)]), table[:1]):
        assert np.isfinite(clone(feature_map).fit_transform(hard)).all()


@each_kind
def test_the_docstring_and_domains_are_complete(kind):
    text = inspect.getdoc(kind)
    for part in ("Certificates:", "Parameters\n---", "Attributes\n---", "Examples\n---", "References\n---"):
        assert part in text, part
    for name in inspect.signature(kind).parameters:
        assert re.search(rf"^{name}\b.*:", text, re.MULTILINE), name
    assert set(inspect.signature(kind).parameters) == set(kind._domains)


@each_kind
def test_bad_parameters_and_bad_rows_are_refused_in_one_sentence(kind, table):
    for name in kind._domains:
        with pytest.raises(ValueError, match=rf"The '{name}' parameter of {kind.__name__} must be .* Got "):
            kind(**{name: object()}).fit(table)
    for value in (np.nan, np.inf):
        bad = table.copy()
        bad[3, 1] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            kind().fit(bad)
    with pytest.raises(ValueError, match="0 sample"):
        kind().fit(table[:0])
    with pytest.raises(ValueError, match="features"):
        kind().fit(table).transform(table[:, :2])


@pytest.mark.parametrize(
    ("feature_map", "words"),
    [
        (PolynomialMap(30), "degree"),
        (PolynomialMap(0), "degree"),
        (FourierMap(period=[1.0, 2.0]), "period"),
        (WaveletMap(17), "n_levels"),
        (WaveletMap(bounds=[1.0, 0.0]), "bounds"),
        (WaveletMap(bounds=np.array([[0.0, 0.0], [1.0, 1.0]])), "bounds"),
        (SplineMap(knots=[0.0, 0.0, 1.0]), "knots"),
        (SplineMap(knots=np.arange(8.0).reshape(4, 2)), "knots"),
        (SplineMap(2, 0), "n_knots"),
        (SplineMap(cyclic=[3]), "cyclic"),
        (SplineMap(cyclic=["hour"]), "cyclic"),
        (SplineMap(period=2.0), "period"),
        (SplineMap(cyclic=[0, 1], period=[2.0]), "period"),
    ],
    ids=repr,
)
def test_parameters_that_do_not_suit_the_table_are_refused(feature_map, words, table):
    with pytest.raises(ValueError, match=rf"The '{words}' parameter of {type(feature_map).__name__} must be"):
        feature_map.fit(np.vstack([table] * 1)[:, :3] if words != "degree" else np.hstack([table] * 4))


def test_certificates_of_a_map_fail_where_the_features_are_dependent(table):
    assert SplineMap(5).fit(table).certify(table).holds
    assert not SplineMap(5, include_bias=True).fit(table).certify(table).holds  # three sums of 1
    assert not SplineMap(5).fit(table).certify(table[:4]).holds
    assert not HistogramMap(5).fit(table).certify(np.zeros((50, 3))).holds


# For any knots


@settings(max_examples=60, deadline=None)
@given(
    knots=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=9, unique=True),
    degree=st.integers(0, 5),
    cyclic=st.booleans(),
    points=st.lists(st.floats(-2e3, 2e3), min_size=1, max_size=20),
)
def test_splines_are_non_negative_with_sum_one_for_any_knots(knots, degree, cyclic, points):
    increasing = np.sort(knots)
    assume(np.diff(increasing).min() > 1e-6)
    x = np.array(points)[:, None]
    found = SplineMap(knots=increasing, degree=degree, cyclic=cyclic, include_bias=True).fit(x)
    values = found.transform(x)
    assert values.min() >= -1e-12
    assert_allclose(values.sum(axis=1), 1, atol=1e-9)
    assert np.all(np.count_nonzero(values, axis=1) <= degree + 1)
