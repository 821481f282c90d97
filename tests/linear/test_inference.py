"""Inference from least squares, against statsmodels, wherever the rows live."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse, stats

from assay.linear import LinearRegression, Ridge
from assay.persistence import load, save

HC = ("HC0", "HC1", "HC2", "HC3")


@pytest.fixture
def table(rng):
    X = rng.standard_normal((60, 4)) * [1, 2, 0.5, 3] + [0, 1, -2, 10]
    y = X @ [1.0, 0.0, 0.5, -0.2] + 3 + np.abs(X[:, 1]) * rng.standard_normal(60)
    return X, y


def reference(X, y, fit_intercept=True, **options):
    return sm.OLS(y, sm.add_constant(X) if fit_intercept else X).fit(**options)


def assert_same_inference(found, expected, rtol=1e-8):
    assert_allclose(found.params, expected.params, rtol=rtol)
    assert_allclose(found.bse, expected.bse, rtol=rtol)
    assert_allclose(found.tvalues, expected.tvalues, rtol=rtol)
    assert_allclose(found.pvalues, expected.pvalues, rtol=rtol, atol=1e-300)
    assert_allclose(found.conf_int(0.9), expected.conf_int(alpha=0.1), rtol=rtol)
    assert_allclose(found.covariance, expected.cov_params(), rtol=rtol, atol=1e-12)
    for name in ("rsquared", "rsquared_adj", "fvalue", "f_pvalue", "llf", "aic", "bic", "nobs"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=rtol), name
    assert (found.df_resid, found.df_model) == (expected.df_resid, expected.df_model)
    assert found.noise_variance == pytest.approx(expected.mse_resid, rel=rtol)


@pytest.mark.spec("rudi/M1.11", "douc/M6.3")
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_classical_inference_is_that_of_statsmodels(table, fit_intercept):
    X, y = table
    model = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    expected = reference(X, y, fit_intercept)
    assert_same_inference(model.inference(), expected)
    assert_same_inference(model.inference(X, y), expected)
    assert any("Gaussian" in assumption for assumption in model.inference().assumptions)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", HC)
def test_robust_covariances_are_those_of_statsmodels(table, kind, fit_intercept):
    X, y = table
    model = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    found = model.inference(X, y, covariance=kind)
    assert_same_inference(found, reference(X, y, fit_intercept, cov_type=kind, use_t=True))
    assert found.covariance_type == kind
    assert not any("Gaussian" in assumption for assumption in found.assumptions)
    test = found.wald_test(np.eye(len(found.names))[1:3], [0.1, 0.2])
    matrix = np.eye(len(found.names))[1:3]
    expected = reference(X, y, fit_intercept, cov_type=kind, use_t=True).f_test((matrix, [0.1, 0.2]))
    assert test.fvalue == pytest.approx(float(expected.fvalue), rel=1e-8)


@pytest.mark.parametrize("kind", ["classical", *HC])
def test_weights_are_repetitions(table, rng, kind):
    X, y = table
    weight = rng.integers(0, 4, size=len(X))
    model = LinearRegression().fit(X, y, sample_weight=weight)
    options = {} if kind == "classical" else {"cov_type": kind, "use_t": True}
    expected = reference(np.repeat(X, weight, axis=0), np.repeat(y, weight), **options)
    assert_same_inference(model.inference(X, y, weight, covariance=kind), expected)
    if kind == "classical":
        assert_same_inference(model.inference(), expected)


@pytest.mark.spec("rudi/M1.11", "douc/M6.4")
def test_linear_hypotheses_have_fishers_law(table):
    X, y = table
    found, expected = LinearRegression().fit(X, y).inference(), reference(X, y)
    L, r = np.array([[0, 1, -1, 0, 0], [0, 0, 0, 2, 1.0]]), np.array([0.3, -0.1])
    test, oracle = found.wald_test(L, r), expected.f_test((L, r))
    assert test.fvalue == pytest.approx(float(oracle.fvalue), rel=1e-8)
    assert test.pvalue == pytest.approx(float(oracle.pvalue), rel=1e-8)
    assert (test.df_num, test.df_denom) == (2, 55)
    gap = L @ expected.params - r
    middle = L @ np.linalg.inv(sm.add_constant(X).T @ sm.add_constant(X)) @ L.T
    by_hand = gap @ np.linalg.solve(middle, gap) / (2 * expected.mse_resid)
    assert test.fvalue == pytest.approx(by_hand)
    assert test.pvalue == pytest.approx(stats.f.sf(by_hand, 2, 55))
    # One row of L is Student's test, squared; names pick parameters.
    assert found.wald_test("x1").fvalue == pytest.approx(found.tvalues[2] ** 2)
    assert found.wald_test("x1").pvalue == pytest.approx(found.pvalues[2])
    assert found.wald_test(["x0", "x2"]).fvalue == pytest.approx(found.wald_test(np.eye(5)[[1, 3]]).fvalue)


@pytest.mark.spec("douc/M6.4")
def test_confidence_region_is_what_the_test_does_not_reject(table, rng):
    found = LinearRegression().fit(*table).inference()
    L = np.array([[0, 1.0, 1.0, 0, 0], [0, 0, 1.0, 0, -1.0]])
    region = found.confidence_region(L, level=0.9)
    points = region.center + 0.8 * rng.standard_normal((200, 2))
    accepted = np.array([found.wald_test(L, point).pvalue >= 0.1 for point in points])
    assert 0 < accepted.sum() < 200
    assert np.array_equal(region.contains(points), accepted)
    assert region.contains(region.center) is True
    ends = np.concatenate([region.center + region.axes, region.center - region.axes])
    assert region.contains(region.center + 0.999999 * (ends - region.center)).all()
    assert not region.contains(region.center + 1.000001 * (ends - region.center)).any()
    assert region.axes[0] @ region.axes[1] == pytest.approx(0, abs=1e-12)
    assert np.linalg.norm(region.axes[0]) >= np.linalg.norm(region.axes[1])
    assert_allclose(region.shape, L @ found.covariance @ L.T)
    one = found.confidence_region("x2")
    assert_allclose(one.center + one.axes[0] * [1], found.conf_int()[3, int(one.axes[0, 0] > 0)])
    assert found.confidence_region().center.shape == (5,)


@pytest.mark.spec("douc/T6.4")
def test_noise_variance_interval_inverts_the_chi_square_law(table):
    found = LinearRegression().fit(*table).inference()
    low, high = found.noise_variance_interval(0.8)
    law = stats.chi2(found.df_resid)
    assert law.cdf(found.df_resid * found.noise_variance / low) == pytest.approx(0.9)
    assert law.cdf(found.df_resid * found.noise_variance / high) == pytest.approx(0.1)


@pytest.mark.spec("douc/M8.12", "rudi/M1.11")
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_prediction_intervals_are_those_of_statsmodels(table, rng, fit_intercept):
    X, y = table
    new = rng.standard_normal((7, 4)) * 5
    model = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    rows = sm.add_constant(new, has_constant="add") if fit_intercept else new
    expected = reference(X, y, fit_intercept).get_prediction(rows)
    assert_allclose(model.predict_interval(new, 0.8), expected.conf_int(obs=True, alpha=0.2), rtol=1e-8)
    assert_allclose(model.predict_interval(new, 0.8, kind="mean"), expected.conf_int(alpha=0.2), rtol=1e-8)
    table_ = sm.add_constant(X) if fit_intercept else X
    spread = np.einsum("ij,jk,ik->i", rows, np.linalg.inv(table_.T @ table_), rows)
    known = model.predict_interval(new, 0.8, kind="mean", noise_std=2.0)
    assert_allclose(known[:, 1] - model.predict(new), stats.norm.ppf(0.9) * 2 * np.sqrt(spread), rtol=1e-8)
    assert known.shape == (7, 2)


@pytest.mark.parametrize("weighted", [False, True])
def test_influence_is_that_of_statsmodels(table, rng, weighted):
    X, y = table
    weight = rng.integers(1, 3, size=len(X)) if weighted else np.ones(len(X), dtype=int)
    first = np.cumsum(weight) - weight
    found = LinearRegression().fit(X, y, sample_weight=weight if weighted else None).influence(X, y)
    expected = reference(np.repeat(X, weight, axis=0), np.repeat(y, weight)).get_influence()
    for name in ("resid_studentized_internal", "resid_studentized_external", "resid_press"):
        assert_allclose(getattr(found, name), getattr(expected, name)[first], rtol=1e-8)
    assert_allclose(found.leverage, expected.hat_matrix_diag[first], rtol=1e-8)
    assert_allclose(found.cooks_distance, expected.cooks_distance[0][first], rtol=1e-8)
    assert_allclose(found.dffits, expected.dffits[0][first], rtol=1e-8)
    assert weight @ found.leverage == pytest.approx(5)


def test_deleting_a_row_does_what_influence_says(table):
    X, y = table
    full, found = LinearRegression().fit(X, y), LinearRegression().fit(X, y).influence(X, y)
    i = int(np.argmax(found.cooks_distance))
    kept = np.delete(np.arange(60), i)
    without = LinearRegression().fit(X[kept], y[kept])
    move = full.predict(X) - without.predict(X)
    assert found.cooks_distance[i] == pytest.approx(move @ move / (5 * full.noise_variance_))
    assert found.resid_press[i] == pytest.approx(y[i] - without.predict(X[[i]])[0])
    assert found.dffits[i] == pytest.approx(
        move[i] / np.sqrt(without.noise_variance_ * found.leverage[i]), rel=1e-8
    )


def test_a_row_that_decides_its_own_fit_is_said_to(table):
    X, y = table
    X = np.column_stack([X, np.eye(60)[0]])
    model = LinearRegression().fit(X, y)
    found = model.influence(X, y)
    assert found.leverage[0] == pytest.approx(1)
    assert np.isnan(found.cooks_distance[0])
    assert np.isfinite(found.cooks_distance[1:]).all()
    for kind in ("HC2", "HC3"):
        with pytest.raises(ValueError, match=f"leverage 1.*{kind} is not defined; use covariance='HC1'"):
            model.inference(X, y, covariance=kind)
    assert np.isfinite(model.inference(X, y, covariance="HC1").bse).all()


def test_rows_on_disk_and_on_a_cluster_give_the_same(table, tmp_path):
    X, y = table
    np.save(tmp_path / "rows.npy", X)
    sources = {"disk": tmp_path / "rows.npy", "cluster": da.from_array(X, chunks=(17, 4))}
    here = LinearRegression().fit(X, y)
    for where, source in sources.items():
        model = LinearRegression().fit(source, y)
        for kind in ("classical", "HC3"):
            found, expected = (
                model.inference(source, y, covariance=kind),
                here.inference(X, y, covariance=kind),
            )
            assert_allclose(found.covariance, expected.covariance, rtol=1e-9, atol=1e-14)
            assert_allclose(found.pvalues, expected.pvalues, rtol=1e-8)
        assert_allclose(model.inference().bse, here.inference().bse, rtol=1e-9)
        interval, influence = model.predict_interval(source), model.influence(source, y)
        assert (
            isinstance(interval, da.Array) == isinstance(influence.dffits, da.Array) == (where == "cluster")
        )
        assert_allclose(interval, here.predict_interval(X), rtol=1e-9)
        for name in ("leverage", "cooks_distance", "dffits"):
            assert_allclose(getattr(influence, name), getattr(here.influence(X, y), name), rtol=1e-7)


def test_sparse_rows_give_the_dense_inference(rng):
    X = sparse.random(200, 5, density=0.4, random_state=np.random.RandomState(0), format="csr")
    y = rng.standard_normal(200)
    model, dense = LinearRegression().fit(X, y), LinearRegression().fit(X.toarray(), y)
    for kind in ("classical", "HC2"):
        found = model.inference(X, y, covariance=kind)
        assert_allclose(found.bse, dense.inference(X.toarray(), y, covariance=kind).bse, rtol=1e-9)
    assert_allclose(model.predict_interval(X), dense.predict_interval(X.toarray()), rtol=1e-9)
    assert_allclose(model.influence(X, y).leverage, dense.leverage(X.toarray()), rtol=1e-9)


def test_float32_rows_give_float64_inference_and_float32_intervals(table):
    X, y = (values.astype(np.float32) for values in table)
    model = LinearRegression().fit(X, y)
    found, expected = model.inference(), reference(X.astype(float), y.astype(float))
    assert found.bse.dtype == np.float64
    assert_allclose(found.bse, expected.bse, rtol=1e-6)
    assert_allclose(found.params, expected.params, rtol=1e-4, atol=1e-5)
    assert_allclose(model.inference(X, y, covariance="HC1").bse, expected.HC1_se, rtol=1e-5)
    assert model.predict_interval(X).dtype == np.float32
    assert_allclose(model.influence(X, y).leverage, expected.get_influence().hat_matrix_diag, rtol=1e-6)


@pytest.mark.parametrize("solver", ["qr", "dual", "gradient_descent", "conjugate_gradient"])
def test_every_solver_leads_to_the_same_inference(table, solver):
    X, y = table
    X = (X - X.mean(axis=0)) / X.std(axis=0) + 1
    model = LinearRegression(solver=solver, tol=1e-13).fit(X, y)
    for kind in ("classical", "HC3"):
        expected = LinearRegression().fit(X, y).inference(X, y, covariance=kind)
        assert_allclose(model.inference(X, y, covariance=kind).bse, expected.bse, rtol=1e-8)
    if solver in ("dual", "conjugate_gradient"):
        for ask in (model.inference, lambda: model.predict_interval(X), lambda: model.influence(X, y)):
            with pytest.raises(ValueError, match="formed no XᵀX; fit with solver='cholesky' or 'qr'"):
                ask()


def test_collinear_columns_keep_their_digits(rng):
    # The condition number is 1e7: (XᵀX)⁻¹ through XᵀX would have no more than two digits.
    u, _ = np.linalg.qr(rng.standard_normal((200, 4)))
    v, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    X = (u * np.geomspace(1, 1e-7, 4)) @ v.T
    y = X @ np.ones(4) + 1e-9 * rng.standard_normal(200)
    found = LinearRegression(fit_intercept=False).fit(X, y).inference()
    inverse = (v * np.geomspace(1, 1e-7, 4) ** -2.0) @ v.T
    assert_allclose(
        np.sqrt(np.diagonal(found.normalized_cov_params)), np.sqrt(np.diagonal(inverse)), rtol=1e-7
    )


def test_large_means_keep_their_digits(rng):
    X = rng.standard_normal((300, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(300)
    found, centred = (LinearRegression().fit(X + shift, y).inference() for shift in (1e7, 0.0))
    assert_allclose(found.bse[1:], centred.bse[1:], rtol=1e-6)
    assert_allclose(found.tvalues[1:], centred.tvalues[1:], rtol=1e-6)


def test_several_targets_have_a_last_axis(table, rng):
    X, y = table
    Y = np.column_stack([y, rng.standard_normal(60), y**2])
    model = LinearRegression().fit(X, Y)
    for kind in ("classical", "HC3"):
        found = model.inference(X, Y, covariance=kind)
        assert found.params.shape == found.bse.shape == found.pvalues.shape == (5, 3)
        assert found.conf_int().shape == (5, 2, 3)
        assert found.covariance.shape == (5, 5, 3)
        assert found.noise_variance_interval().shape == (2, 3)
        test = found.wald_test(["x0", "x1"])
        for k in range(3):
            one = LinearRegression().fit(X, Y[:, k]).inference(X, Y[:, k], covariance=kind)
            for each in (found.target(k), one):
                assert_allclose(found.bse[:, k], each.bse)
                assert_allclose(found.conf_int()[..., k], each.conf_int())
                assert_allclose(found.noise_variance_interval()[:, k], each.noise_variance_interval())
                assert found.fvalue[k] == pytest.approx(each.fvalue)
                assert found.aic[k] == pytest.approx(each.aic)
                assert test.pvalue[k] == pytest.approx(each.wald_test(["x0", "x1"]).pvalue)
        assert found.summary().count("tvalues") == found._repr_html_().count("tvalues") == 3
        assert "5 parameters" in repr(found)
        with pytest.raises(ValueError, match=r"one target; take inference\.target\(k\)"):
            found.confidence_region()
        with pytest.raises(ValueError, match="A frame is of one target"):
            found.to_frame()
    interval, influence = model.predict_interval(X), model.influence(X, Y)
    lazy = model.predict_interval(da.from_array(X, chunks=(20, 4)))
    assert interval.shape == lazy.shape == (60, 2, 3)
    assert_allclose(lazy, interval)
    for k in range(3):
        one = LinearRegression().fit(X, Y[:, k])
        assert_allclose(interval[..., k], one.predict_interval(X))
        assert_allclose(influence.dffits[:, k], one.influence(X, Y[:, k]).dffits)
    column = LinearRegression().fit(X, y[:, None])
    assert column.inference().params.shape == (5, 1)
    assert column.predict_interval(X).shape == (60, 2, 1)
    assert column.influence(X, y[:, None]).resid.shape == (60, 1)
    with pytest.raises(ValueError, match="already of one target"):
        LinearRegression().fit(X, y).inference().target(0)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("signal", [1e2, 1e4, 1e6, 1e8])
def test_a_noise_variance_lost_in_rounding_is_found_out(rng, signal, fit_intercept):
    X = rng.standard_normal((500, 3))
    noise = rng.standard_normal(500)
    y = X @ [signal, signal, -signal] + noise
    model = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    stored, measured = model.inference(), model.inference(X, y)
    truth = reference(X, noise, fit_intercept).mse_resid  # the residual does not depend on the signal
    assert measured.certificates.holds
    assert measured.noise_variance == pytest.approx(truth, rel=1e-4)
    if stored.certificates.holds:
        assert stored.noise_variance == pytest.approx(truth, rel=1e-4)
    assert stored.certificates.holds == (signal < 1e5)
    if signal == 1e8:
        assert stored.noise_variance != pytest.approx(truth, rel=1e-2)
        assert "fails: relative rounding" in stored.summary()
        assert "give inference the rows" in stored._repr_html_()


def test_rows_in_many_blocks_and_in_a_parquet_file(rng, tmp_path):
    pd = pytest.importorskip("pandas")
    X, weight = rng.standard_normal((5000, 3)), rng.integers(0, 3, size=5000)
    y = X @ [1.0, -1.0, 0.0] + np.abs(X[:, 0]) * rng.standard_normal(5000)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y, copies=weight)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=1500)
    path = tmp_path / "rows.parquet"
    repeated = reference(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    influence = repeated.get_influence()
    first = np.cumsum(weight) - weight
    for source, target, copies in ((X, y, weight), (path, "y", "copies")):
        model = LinearRegression().fit(source, target, sample_weight=copies)
        assert_allclose(model.inference().bse, repeated.bse, rtol=1e-9)
        found = model.inference(source, target, copies, covariance="HC3")
        assert_allclose(found.bse, repeated.HC3_se, rtol=1e-9)
    model = LinearRegression().fit(X, y, sample_weight=weight)
    cooks = model.influence(X, y).cooks_distance
    kept = weight > 0
    assert_allclose(cooks[kept], influence.cooks_distance[0][first[kept]], rtol=1e-7)
    interval = model.predict_interval(X)[kept]
    assert_allclose(interval, repeated.get_prediction().conf_int(obs=True, alpha=0.1)[first[kept]], rtol=1e-9)


def test_names_come_from_the_columns(table):
    pd = pytest.importorskip("pandas")
    X, y = table
    frame = pd.DataFrame(X, columns=["age", "size", "pH", "mass"]).assign(price=y)
    model = LinearRegression().fit(frame, "price")
    found = model.inference(frame, "price", covariance="HC1")
    assert found.names == ("intercept", "age", "size", "pH", "mass")
    assert found.wald_test("age").fvalue == pytest.approx(found.tvalues[1] ** 2)
    assert found.wald_test(model.feature_names_in_[:2]).df_num == 2
    assert LinearRegression(fit_intercept=False).fit(X, y).inference().names == ("x0", "x1", "x2", "x3")


def test_summary_lines_up_and_escapes(table):
    pd = pytest.importorskip("pandas")
    X, y = table
    frame = pd.DataFrame(X, columns=["a", "a very long name", "<b>", "d"])
    found = LinearRegression().fit(frame, y).inference()
    shown = found.to_frame(level=0.9)
    assert list(shown.index) == list(found.names)
    assert_allclose(shown[["lower", "upper"]], found.conf_int(0.9))
    text = found.summary(level=0.9)
    rows = text.split("\n\n")[1].splitlines()
    assert len(rows) == 6
    assert len({len(row) for row in rows}) == 1
    assert rows[0].split() == ["params", "bse", "tvalues", "pvalues", "[0.05", "0.95]"]
    assert f"{found.rsquared:.4f}" in text
    assert "one variance" in text
    assert str(found) == found.summary()
    assert repr(found).startswith("Inference(5 parameters, 60 rows, covariance='classical')\n")
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()


def test_a_wrong_coefficient_shows_in_what_inference_claims(table):
    X, y = table
    model = LinearRegression().fit(X, y)
    good = model.inference(X, y)
    model.coef_ = model.coef_ + [0, 1.0, 0, 0]
    assert not model.certify(X, y).holds
    stored, measured = model.inference(), model.inference(X, y)
    for found in (stored, measured):
        assert found.params[2] == pytest.approx(good.params[2] + 1)
    assert stored.tvalues[2] == pytest.approx((good.params[2] + 1) / good.bse[2])
    assert stored.fvalue != pytest.approx(good.fvalue)
    # The rows tell what the stored numbers cannot: the noise about these coefficients is larger.
    assert measured.noise_variance > 2 * good.noise_variance
    assert measured.rsquared < good.rsquared


def test_inference_survives_saving(table, tmp_path):
    X, y = table
    model = LinearRegression().fit(X, y)
    save(model, tmp_path / "model.skops")
    assert_allclose(load(tmp_path / "model.skops").inference().bse, model.inference().bse)


def test_plug_in_excess_risk(table):
    found = LinearRegression().fit(*table).inference()
    assert found.excess_risk == pytest.approx(found.noise_variance * 5 / 60)


def test_a_perfect_fit_is_no_accident():
    X = np.arange(10.0)[:, None]
    found = LinearRegression().fit(X, np.full(10, 2.0)).inference()
    assert np.isnan(found.rsquared)
    exact = LinearRegression().fit(X, X[:, 0], sample_weight=np.ones(10)).inference()
    assert exact.rsquared == pytest.approx(1)
    assert exact.summary()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_any_small_table_agrees_with_statsmodels(d, seed, fit_intercept):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((d + 4, d)), rng.standard_normal(d + 4)
    found = LinearRegression(fit_intercept=fit_intercept).fit(X, y).inference()
    expected = reference(X, y, fit_intercept)
    assert_allclose(found.bse, expected.bse, rtol=1e-6)
    assert_allclose(found.pvalues, expected.pvalues, rtol=1e-6)


def test_too_few_rows_and_dependent_columns_are_refused(table, rng):
    X, y = table
    few = LinearRegression().fit(X[:5], y[:5])
    wide = LinearRegression().fit(X[:3], y[:3])
    for model, rows in ((few, 5), (wide, 3)):
        for ask in (model.inference, lambda model=model: model.predict_interval(X)):
            with pytest.raises(
                ValueError, match=rf"{rows} rows for 5 parameters; .*drop columns or use Ridge"
            ):
                ask()
    double = np.column_stack([X, X[:, 0] - X[:, 1]])
    model = LinearRegression().fit(double, y)
    for ask in (
        model.inference,
        lambda: model.inference(double, y, covariance="HC1"),
        lambda: model.predict_interval(double),
        lambda: model.influence(double, y),
    ):
        with pytest.raises(ValueError, match="X is of rank 4 of 5; drop columns or use Ridge"):
            ask()
    descent = LinearRegression(solver="gradient_descent", tol=1e-3).fit(double, y)
    with pytest.raises(ValueError, match="collinear up to rounding; drop columns or use Ridge"):
        descent.inference()


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.5, np.nan, "high", True])
def test_levels_outside_zero_and_one_are_refused(table, value):
    X, y = table
    model = LinearRegression().fit(X, y)
    found = model.inference()
    for ask in (found.conf_int, found.noise_variance_interval, found.summary):
        with pytest.raises(ValueError, match=r"'level' parameter of Inference\.\w+ must be a number above 0"):
            ask(value)
    with pytest.raises(ValueError, match=r"'level' parameter of Inference\.confidence_region"):
        found.confidence_region(level=value)
    with pytest.raises(ValueError, match=r"'coverage' parameter of LinearRegression\.predict_interval"):
        model.predict_interval(X, value)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (
            lambda m, X, y: m.inference(covariance="HC9"),
            "'covariance' parameter of LinearRegression.inference",
        ),
        (lambda m, X, y: m.inference(covariance="HC1"), r"made of residuals: give the data of the fit"),
        (
            lambda m, X, y: m.inference(X, covariance="HC1"),
            "target of the fit, which had 1 columns. It has 0",
        ),
        (lambda m, X, y: m.inference(X[:-1], y[:-1]), "count 59 here and counted 60 in the fit"),
        (lambda m, X, y: m.inference(X, y, np.full(60, 2.0), covariance="HC0"), "count 120 here"),
        (lambda m, X, y: m.influence(X), "target of the fit"),
        (lambda m, X, y: m.predict_interval(X, kind="median"), "'kind' parameter .* 'prediction', 'mean'"),
        (lambda m, X, y: m.predict_interval(X, noise_std=-1.0), "'noise_std' parameter"),
        (lambda m, X, y: m.predict_interval(X[:, :2]), "expecting 4 features"),
        (lambda m, X, y: m.inference().wald_test(np.eye(3)), r"must have 5 columns.*Got shape \(3, 3\)"),
        (lambda m, X, y: m.inference().wald_test(np.ones((2, 5))), "independent rows. Got 2 rows of rank 1"),
        (lambda m, X, y: m.inference().wald_test(np.zeros(5)), "Got 1 rows of rank 0"),
        (lambda m, X, y: m.inference().wald_test(np.full(5, np.nan)), "finite"),
        (lambda m, X, y: m.inference().wald_test("x9"), "names of parameters .*Got 'x9'"),
        (lambda m, X, y: m.inference().wald_test("x1", [1.0, 2.0]), "'r' parameter .* 1 numbers"),
        (lambda m, X, y: m.inference().confidence_region(np.eye(3)), "must have 5 columns"),
        (
            lambda m, X, y: m.inference().confidence_region("x1").contains([1.0, 2.0]),
            "must have 1 coordinates",
        ),
    ],
)
def test_bad_questions_are_refused_in_one_sentence(table, ask, sentence):
    X, y = table
    with pytest.raises(ValueError, match=sentence) as refusal:
        ask(LinearRegression().fit(X, y), X, y)
    assert "\n" not in str(refusal.value)


def test_ridge_makes_no_such_claims():
    assert not hasattr(Ridge(), "inference")
    assert not hasattr(Ridge(), "predict_interval")
