"""Naive Bayes: families of columns against scikit-learn, SciPy and direct counts."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.naive_bayes as theirs
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.integrate import quad
from scipy.stats import bernoulli, multinomial, norm, poisson
from sklearn.linear_model import LogisticRegression

from assay.datasets import iris
from assay.discriminant import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes
from assay.discriminant.naive_bayes.binned_columns import bins_of
from assay.discriminant.naive_bayes.columns import chosen_columns
from assay.discriminant.naive_bayes.loops import count_bins, share_to_nodes
from assay.rows import rows
from blocks import small_blocks

FAMILIES = [
    "gaussian",
    "bernoulli",
    "categorical",
    "poisson",
    "multinomial",
    "multinomial",
    "histogram",
    "kernel",
]


@pytest.fixture
def table(rng):
    """One column of each family and three classes that they tell apart."""
    y = rng.integers(0, 3, 400)
    X = np.column_stack(
        [
            rng.normal(y, 1.0 + 0.3 * y),
            rng.random(400) < 0.2 + 0.25 * y,
            (rng.integers(0, 4, 400) + (rng.random(400) < 0.5) * y) % 5,
            rng.poisson(1.0 + 2 * y),
            rng.poisson(2.0 + y),
            rng.poisson(4.0 - y),
            rng.gumbel(y, 1.0, 400),
            rng.standard_t(4, 400) + y,
        ]
    )
    return X, y


PEERS = [
    ("GaussianNB", {}, "numbers"),
    ("GaussianNB", {"priors": [0.2, 0.3, 0.5], "var_smoothing": 1e-3}, "numbers"),
    ("BernoulliNB", {}, "numbers"),
    ("BernoulliNB", {"alpha": 0.3, "binarize": 1.0, "fit_prior": False}, "numbers"),
    ("BernoulliNB", {"alpha": 0.0, "class_prior": [0.5, 0.25, 0.25]}, "numbers"),
    ("MultinomialNB", {"alpha": 0.1}, "counts"),
    ("MultinomialNB", {"alpha": [0.5, 1.0, 2.0], "fit_prior": False}, "counts"),
    ("CategoricalNB", {}, "counts"),
    ("CategoricalNB", {"alpha": 0.5, "min_categories": 12, "class_prior": [0.5, 0.25, 0.25]}, "counts"),
    ("CategoricalNB", {"min_categories": [12, 15, 18], "alpha": 1e-3}, "counts"),
]


@pytest.fixture
def data(rng):
    y = rng.choice(["x", "y", "z"], 300, p=[0.5, 0.3, 0.2])
    shift = np.searchsorted(["x", "y", "z"], y)[:, None]
    return {
        "numbers": rng.normal(shift * [1.0, 0.0, -1.0]),
        "counts": rng.integers(0, 8, (300, 3)) + shift,
    }, y


@pytest.mark.parametrize(("name", "options", "kind"), PEERS)
def test_parameters_attributes_and_answers_are_those_of_scikit_learn(name, options, kind, data, rng):
    X, y = data[0][kind], data[1]
    # Where scikit-learn takes weights for repetitions: not in epsilon_, nor in the number of levels.
    weight = None if name == "GaussianNB" else rng.integers(1, 4, len(y)).astype(float)
    classes = {"GaussianNB": GaussianNB, "BernoulliNB": BernoulliNB}
    ours = (classes | {"MultinomialNB": MultinomialNB, "CategoricalNB": CategoricalNB})[name](**options)
    other = getattr(theirs, name)(**options)
    assert ours.get_params().keys() == other.get_params().keys()
    ours.fit(X, y, sample_weight=weight)
    other.fit(X, y, sample_weight=weight)
    for method in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        assert_allclose(getattr(ours, method)(X), getattr(other, method)(X), rtol=1e-9, atol=1e-9)
    assert np.array_equal(ours.predict(X), other.predict(X))
    for attribute in vars(other):
        if attribute.endswith("_") and attribute not in ("classes_", "n_features_in_"):
            mine, their = getattr(ours, attribute), getattr(other, attribute)
            pairs = zip(mine, their, strict=True) if isinstance(their, list) else [(mine, their)]
            for first, second in pairs:
                assert_allclose(first, second, rtol=1e-9, err_msg=attribute)
    assert ours.certify(X, y, weight).holds


def test_large_tables_of_whole_numbers_are_counted_as_floats_are(rng):
    X, y = rng.integers(0, 5, (70_000, 4)), rng.integers(0, 3, 70_000)
    weight = rng.random(70_000)
    ours = CategoricalNB().fit(X, y, sample_weight=weight)
    other = theirs.CategoricalNB().fit(X, y, sample_weight=weight)
    for first, second in zip(ours.category_count_, other.category_count_, strict=True):
        assert_allclose(first, second, rtol=1e-9)
    assert np.array_equal(ours.predict(X[:500]), other.predict(X[:500]))


def test_pseudo_counts_of_each_column_and_tiny_ones(data):
    X, y = data[0]["numbers"], data[1]
    alphas = np.array([0.5, 1.0, 2.0])  # of which scikit-learn takes one per class by mistake
    model = BernoulliNB(alpha=alphas).fit(X[y != "z"], y[y != "z"])
    ones = np.array([(X[y == label] > 0).sum(axis=0) for label in "xy"])
    counts = np.array([[np.sum(y == label)] for label in "xy"])
    assert_allclose(np.exp(model.feature_log_prob_), (ones + alphas) / (counts + 2 * alphas))
    assert model.certify(X[y != "z"], y[y != "z"]).holds
    marks, labels = np.array([[1], [1], [0]]), [0, 0, 1]
    assert np.isneginf(BernoulliNB(alpha=0.0).fit(marks, labels).feature_log_prob_[1, 0])
    raised = BernoulliNB(alpha=0.0, force_alpha=False).fit(marks, labels).feature_log_prob_[1, 0]
    assert raised == pytest.approx(np.log(1e-10), rel=1e-6)


@pytest.mark.parametrize(("name", "options", "kind"), PEERS[:1] + PEERS[2:4] + PEERS[5:8])
def test_parts_give_the_fit_of_the_whole(name, options, kind, data):
    X, y = data[0][kind], data[1]
    model = {m.__name__: m for m in (GaussianNB, BernoulliNB, MultinomialNB, CategoricalNB)}[name]
    whole, parts = model(**options).fit(X, y), model(**options)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        parts.partial_fit(X, y)
    for start in range(0, 300, 70):
        parts.partial_fit(X[start : start + 70], y[start : start + 70], classes=["x", "y", "z"])
    assert_allclose(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-12)
    assert parts.certify(X, y).holds
    with pytest.raises(ValueError, match="not the same as on last call"):
        parts.partial_fit(X, y, classes=["x", "y"])
    whole.partial_fit(X, y)  # goes on from a fit
    assert whole.class_count_.sum() == 600


def test_parts_far_from_zero_lose_no_digits(rng):
    X = 1e8 + rng.standard_normal((400, 2)) + 50 * (np.arange(400) % 2)[:, None]
    y = np.arange(400) % 2
    parts = GaussianNB(var_smoothing=0)
    for start in range(0, 400, 40):
        parts.partial_fit(X[start : start + 40], y[start : start + 40], classes=[0, 1])
    for k in range(2):
        assert_allclose(parts.var_[k], X[y == k].var(axis=0), rtol=1e-6)
    assert_allclose(GaussianNB(var_smoothing=0).fit(X, y).var_, parts.var_, rtol=1e-6)


def reference_log_joint(model, X, y):
    """log π_k + Σ_j log p_kj(x_j) of the mixed table, each factor by SciPy or by counting."""
    n, result = len(y), np.empty((len(X), 3))
    for k in range(3):
        own = X[y == k]
        m = len(own)
        total = np.full(len(X), np.log(m / n))
        variance = own[:, 0].var() + 1e-9 * X[:, 0].var()
        total += norm.logpdf(X[:, 0], own[:, 0].mean(), np.sqrt(variance))
        total += bernoulli.logpmf(X[:, 1], (own[:, 1].sum() + 1) / (m + 2))
        levels = np.bincount(own[:, 2].astype(int), minlength=5) + 1
        total += np.log(levels / levels.sum())[X[:, 2].astype(int)]
        total += poisson.logpmf(X[:, 3], (own[:, 3].sum() + X[:, 3].mean()) / (m + 1))
        words = own[:, 4:6].sum(axis=0) + 1
        sums = X[:, 4:6].sum(axis=1)
        bag = multinomial(sums.astype(int), words / words.sum())
        ways = multinomial(sums.astype(int), [0.5, 0.5]).logpmf(X[:, 4:6]) - sums * np.log(0.5)
        total += bag.logpmf(X[:, 4:6]) - ways  # without the number of orders
        edges = np.histogram_bin_edges(X[:, 6], 20)
        heights = (np.histogram(own[:, 6], edges)[0] + 1) / (m + 20) / np.diff(edges)
        total += np.log(heights)[np.clip(np.digitize(X[:, 6], edges) - 1, 0, 19)]
        total += np.log(kernel_density(own[:, 7], X[:, 7], X[:, 7]))
        result[:, k] = total
    return result


def kernel_density(sample, column, x):
    """A Gaussian kernel density by Silverman's rule, with one row spread over the grid of the column."""
    spread = np.ptp(column)
    length = 1.4 * spread
    quartiles = np.quantile(sample, [0.25, 0.75])
    h = 0.9 * min(sample.std(), np.ptp(quartiles) / 1.34) * len(sample) ** -0.2
    smooth = norm.pdf(x[:, None], sample, h).mean(axis=1)
    return (len(sample) * smooth + 1 / length) / (len(sample) + 1)


@pytest.mark.spec("wei/M7.4")
def test_every_family_is_its_law_and_columns_multiply(table):
    X, y = table
    model = NaiveBayes(FAMILIES).fit(X, y)
    expected = reference_log_joint(model, X, y)
    found = model.predict_joint_log_proba(X)
    assert_allclose(found, expected, atol=0.06)  # the kernel density is binned
    exact = [name if name != "kernel" else "gaussian" for name in FAMILIES]
    kernel = np.column_stack([np.log(kernel_density(X[y == k, 7], X[:, 7], X[:, 7])) for k in range(3)])
    normal = np.column_stack(
        [norm.logpdf(X[:, 7], X[y == k, 7].mean(), X[y == k, 7].std()) for k in range(3)]
    )
    without = NaiveBayes(exact).fit(X, y).predict_joint_log_proba(X)
    assert_allclose(without, expected - kernel + normal, atol=2e-7)
    assert model.certify(X, y).holds
    assert model.score(X, y) > NaiveBayes().fit(X[:, :1], y).score(X[:, :1], y)


def test_weights_are_repetitions_of_rows_with_and_without_missing_values(rng):
    y, weight = rng.integers(0, 2, 80), rng.integers(0, 4, 80)
    X = rng.normal(y[:, None], 1.0, (80, 3))
    X[::5, 1] = np.nan
    model = NaiveBayes("gaussian").fit(X, y, weight)
    again = NaiveBayes("gaussian").fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for name in ("means", "variances"):
        assert_allclose(model.laws_["gaussian"][name], again.laws_["gaussian"][name], rtol=1e-12)


def test_values_on_borders_are_counted_where_a_search_among_the_edges_finds_them(rng):
    X = np.round(rng.standard_normal((600, 3)), 1)
    X[::7, 1] = np.nan
    codes, weights = rng.integers(0, 3, 600), rng.random(600)
    table = chosen_columns(X, np.arange(3))
    edges = np.linspace([-2.1, -4.2, -1.4], [2.1, 4.2, 2.8], 43, axis=1)  # tenths, to rounding
    counts, shared = np.zeros((3, 3, 42)), np.zeros((3, 3, 43))
    count_bins(table, codes, weights, edges, counts)
    share_to_nodes(table, codes, weights, edges, shared)
    for j, (low, *_, high) in enumerate(edges):
        there = ~np.isnan(X[:, j])
        x, k, weight = X[there, j], codes[there], weights[there]
        wanted = np.bincount(42 * k + bins_of(x, edges[j]), weight, 126).reshape(3, 42)
        assert_allclose(counts[:, j], wanted, atol=1e-12)
        # Shared out by their distance: what each node gets is the mean of a hat about it.
        hats = np.maximum(0, 1 - np.abs(np.clip(x, low, high)[:, None] - edges[j]) / (edges[j][1] - low))
        assert_allclose(shared[:, j], (np.eye(3)[k] * weight[:, None]).T @ hats, atol=1e-12)


def test_a_kernel_density_has_integral_one_and_is_near_the_sum_of_kernels(rng):
    x = np.concatenate([rng.normal(-3, 0.5, 300), rng.normal(2, 1.5, 200)])
    y = np.r_[np.zeros(250), np.ones(250)]
    rng.shuffle(y)
    model = NaiveBayes("kernel", alpha=0.0).fit(x[:, None], y)
    for k in range(2):
        low, high = model.laws_["kernel"]["nodes"][0][[0, -1]]

        def density(v, k=k):
            return np.exp(model._laws().log_density(np.array([[v]]))[0, k])

        assert quad(density, low, high, limit=400)[0] == pytest.approx(1, abs=1e-4)
        grid = np.linspace(-5, 6, 200)
        sample = x[y == k]
        h = 0.9 * min(sample.std(), np.ptp(np.quantile(sample, [0.25, 0.75])) / 1.34) * len(sample) ** -0.2
        direct = norm.pdf(grid[:, None], sample, h).mean(axis=1)
        ours = np.exp(model._laws().log_density(grid[:, None])[:, k])
        assert np.abs(ours - direct).max() < 0.02 * direct.max()


@pytest.mark.spec("wei/M7.5")
def test_categorical_naive_bayes_is_a_linear_classifier_in_marks_of_levels(rng):
    y = rng.integers(0, 3, 500)
    X = (rng.integers(0, 4, (500, 3)) + (rng.random((500, 3)) < 0.4) * y[:, None]) % 4
    model = CategoricalNB(alpha=0.0).fit(X, y)
    # Maximum likelihood: shares of the levels in each class, counted one by one.
    for j in range(3):
        for k in range(3):
            for level in range(4):
                share = np.mean(X[y == k, j] == level)
                assert np.exp(model.feature_log_prob_[j][k, level]) == pytest.approx(share)
    form = model.linear_form()
    marks = np.hstack([X[:, [j]] == np.arange(4) for j in range(3)]).astype(float)
    assert form.feature_names[:5] == ["x0 = 0", "x0 = 1", "x0 = 2", "x0 = 3", "x1 = 0"]
    assert_allclose(form.features(X), marks)
    scores = marks @ form.coef.T + form.intercept
    assert_allclose(model.predict_joint_log_proba(X), scores, atol=1e-12)
    posterior = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)  # ∝ exp(B_kᵀZ)
    assert_allclose(model.predict_proba(X), posterior, atol=1e-12)
    # The softmax linear model with these coefficients is scikit-learn's own.
    softmax = LogisticRegression().fit(marks, y)
    softmax.coef_, softmax.intercept_ = form.coef, form.intercept
    assert_allclose(model.predict_proba(X), softmax.predict_proba(marks), atol=1e-12)
    assert np.array_equal(model.predict(X), softmax.predict(marks))


@pytest.mark.spec("wei/M7.5")
def test_a_level_without_rows_is_impossible_unless_it_is_smoothed():
    X, y = np.array([[0], [0], [1], [1]]), [0, 0, 0, 1]
    bare = CategoricalNB(alpha=0.0).fit(X, y)
    assert np.isneginf(bare.feature_log_prob_[0][1, 0])
    assert bare.predict_proba([[0]])[0].tolist() == [1.0, 0.0]
    smooth = CategoricalNB(alpha=1.0).fit(X, y)
    assert np.exp(smooth.feature_log_prob_[0][1]) == pytest.approx([1 / 3, 2 / 3])
    with pytest.warns(UserWarning, match="levels that were not there at the fit"):
        unseen = smooth.predict_joint_log_proba([[5]])
    assert unseen[0] == pytest.approx(np.log([0.75 * 1 / 5, 0.25 * 1 / 3]))
    with pytest.warns(UserWarning, match="not there"):
        assert bare.predict_proba([[5]])[0] == pytest.approx([0.75, 0.25])  # tells nothing


def test_the_linear_form_of_all_families_is_the_log_joint(table):
    X, y = table
    linear = [name if name != "kernel" else "histogram" for name in FAMILIES]
    model = NaiveBayes(linear).fit(X, y)
    form = model.linear_form()
    difference = model.predict_joint_log_proba(X) - form.log_joint(X)
    assert_allclose(difference, difference[:, :1] * np.ones((1, 3)), atol=1e-9)  # alike in all classes
    assert len(form.feature_names) == form.coef.shape[1]
    with pytest.raises(ValueError, match="'kernel', which have no linear form"):
        NaiveBayes(FAMILIES).fit(X, y).linear_form()


def test_frames_with_text_categories_booleans_and_missing_values(rng):
    y = rng.integers(0, 2, 300)
    frame = pd.DataFrame(
        {
            "town": rng.choice(["Lyon", "Nice", "Paris"], 300),
            "size": pd.Categorical.from_codes((rng.integers(0, 2, 300) + y) % 3, ["small", "mid", "large"]),
            "grade": pd.Categorical(rng.choice([10, 25], 300)),
            "owner": rng.random(300) < 0.3 + 0.3 * y,
            "age": rng.normal(40 + 5 * y, 9),
        }
    )
    model = NaiveBayes().fit(frame, y)
    assert model.families_ == ["categorical"] * 3 + ["bernoulli", "gaussian"]
    codes = frame.assign(
        town=frame.town.map({"Lyon": 0, "Nice": 1, "Paris": 2}),
        size=frame["size"].cat.codes,
        grade=frame.grade.astype(int).map({10: 0, 25: 1}),
    ).to_numpy(float)
    plain = NaiveBayes(["categorical"] * 3 + ["bernoulli", "gaussian"]).fit(codes, y)
    assert_allclose(model.predict_proba(frame), plain.predict_proba(codes), rtol=1e-12)
    assert model.certify(frame, y).holds
    polars = pytest.importorskip("polars")
    other = polars.DataFrame(
        {"town": frame.town.tolist(), "age": frame.age.tolist(), "owner": frame.owner.tolist()}
    )
    shown = frame[["town", "age", "owner"]]
    assert_allclose(
        NaiveBayes().fit(other, y).predict_proba(other), NaiveBayes().fit(shown, y).predict_proba(shown)
    )
    with pytest.warns(
        UserWarning, match="'town' has levels that were not there at the fit .'Metz'.; each has"
    ):
        answer = model.predict_joint_log_proba(frame.assign(town="Metz"))
    counts = np.array([np.sum(y == 0), np.sum(y == 1)])
    gone = model.predict_joint_log_proba(frame.assign(town=None))
    assert_allclose(answer - gone, np.broadcast_to(np.log(1 / (counts + 3)), (300, 2)), atol=1e-10)


def test_a_missing_value_leaves_its_factor_out_at_the_fit_and_afterwards(table):
    X, y = table
    holes = X.copy()
    holes[np.arange(0, 400, 3), np.arange(0, 400, 3) % 4] = np.nan
    names = ["gaussian", "bernoulli", "categorical", "poisson"]
    model = NaiveBayes(names).fit(holes[:, :4], y)
    single = [NaiveBayes([name]).fit(holes[~np.isnan(holes[:, j])][:, [j]], y[~np.isnan(holes[:, j])])
              for j, name in enumerate(names)]  # fmt: skip
    total = np.log(np.bincount(y) / 400) * np.ones((400, 1))
    for j, one in enumerate(single):
        there = ~np.isnan(holes[:, j])
        total[there] += one._laws().log_density(holes[there][:, [j]])
    assert_allclose(model.predict_joint_log_proba(holes[:, :4]), total, rtol=1e-9)
    assert model.certify(holes[:, :4], y).holds
    nothing = model.predict_proba(np.full((1, 4), np.nan))
    assert_allclose(nothing[0], np.bincount(y) / 400)


def test_parquet_memory_and_dask_agree_in_many_blocks(table, tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = table
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)]).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    inside = NaiveBayes(FAMILIES).fit(X, y)
    with small_blocks():
        outside = NaiveBayes(FAMILIES).fit(str(tmp_path / "rows.parquet"), "y")
        remote = NaiveBayes(FAMILIES).fit(da.from_array(X, chunks=(90, 3)), da.from_array(y, chunks=90))
    for other, given in ((outside, frame.drop(columns="y")), (remote, X)):
        assert_allclose(other.predict_proba(given), inside.predict_proba(X), atol=1e-9)
    assert outside.certify(str(tmp_path / "rows.parquet"), "y").holds


def test_sparse_words_are_not_made_dense(data, monkeypatch):
    X, y = data[0]["counts"], data[1]
    for model in (MultinomialNB(), BernoulliNB(binarize=3.0)):
        dense = type(model)(**model.get_params()).fit(X, y).predict_joint_log_proba(X)
        table = sparse.csr_array(X.astype(float))
        with monkeypatch.context() as patch:
            patch.setattr(type(table), "toarray", None)
            assert_allclose(model.fit(table, y).predict_joint_log_proba(table), dense, rtol=1e-12)


def damaged(model):
    """Copies of a fit, each with one array of its laws moved by a per cent."""
    for name, stored in model.laws_.items():
        for key in stored:
            if key in ("columns", "binarize", "log_unseen"):
                continue
            other = copy.deepcopy(model)
            old = other.laws_[name][key]
            if isinstance(old, list):
                old[0] = old[0] * 1.01
            else:
                other.laws_[name][key] = old * 1.01
            yield f"{name} {key}", other


def test_certificates_see_damage_to_any_number_of_the_laws(table):
    X, y = table
    model = NaiveBayes(FAMILIES).fit(X, y)
    seen = [name for name, other in damaged(model) if not other.certify(X, y).holds]
    assert seen == [name for name, _ in damaged(model)]
    assert len(seen) >= 9
    swapped = y.copy()
    swapped[[0, np.argmax(y != y[0])]] = y[np.argmax(y != y[0])], y[0]
    assert not model.certify(X, swapped).holds


def test_the_gradient_vanishes_at_the_fit_alone(table):
    X, y = table
    model = NaiveBayes(FAMILIES[:4]).fit(X[:, :4], y)
    family = model._family()
    data = rows(X[:, :4], y.astype(float))
    statistics = family.gather(data, 3)
    assert family.gradient(model._laws(), statistics) < 1e-12
    for _, other in damaged(model):
        assert family.gradient(other._laws(), statistics) > 1e-4
    # The derivative of the likelihood itself, by differences in one mean and one rate.
    for name, key in (("gaussian", "means"), ("poisson", "rates")):
        values = []
        for step in (-1e-4, 0.0, 1e-4):
            other = copy.deepcopy(NaiveBayes(FAMILIES[:4], alpha=0.0).fit(X[:, :4], y))
            other.laws_[name][key] = other.laws_[name][key] + step * np.eye(3, 1)
            values.append(other.likelihoods(X[:, :4], y).full)
        assert values[1] > max(values[0], values[2])
        assert abs(values[2] - values[0]) < 1e-3 * (values[1] - values[0])


def test_drawn_rows_have_the_law_of_the_fit(table):
    X, y = table
    model = NaiveBayes(FAMILIES, alpha=1e-3).fit(X, y)
    drawn, labels = model.sample(30_000, random_state=0)
    for k in range(3):
        own, rows_of = drawn[labels == k], X[y == k]
        assert abs(np.mean(labels == k) - np.mean(y == k)) < 0.015
        error = np.sqrt(own.var(axis=0) / len(own))
        smoothing = 0.05 * (1 + np.abs(rows_of.mean(axis=0)))
        assert np.all(np.abs(own.mean(axis=0) - rows_of.mean(axis=0)) < 5 * error + smoothing)
        assert np.all(np.abs(own[:, [0, 7]].std(axis=0) / rows_of[:, [0, 7]].std(axis=0) - 1) < 0.15)


@pytest.mark.parametrize(
    ("model", "X", "sentence"),
    [
        (NaiveBayes("bernoulli"), [[2.0], [0.0]], "must hold 0 and 1 alone"),
        (NaiveBayes("poisson"), [[-1.0], [0.0]], "must hold counts at least 0"),
        (NaiveBayes("categorical"), [[0.5], [0.0]], "must hold levels 0, 1"),
        (NaiveBayes("categorical"), [[-1.0], [0.0]], "must hold levels 0, 1"),
        (NaiveBayes("categorical"), [[1e9], [0.0]], "must hold levels below"),
        (NaiveBayes(["gaussian", "gaussian"]), [[1.0], [0.0]], "a list of 1 families"),
        (NaiveBayes({3: "gaussian"}), [[1.0], [0.0]], "there is no 3"),
        (NaiveBayes("fancy"), [[1.0], [0.0]], "'families' parameter of NaiveBayes"),
        (NaiveBayes(var_smoothing=0), [[1.0], [0.0]], "Column 0 does not vary within class 0, so"),
        (MultinomialNB(), [[-1.0], [0.0]], "Negative values in data passed to MultinomialNB"),
        (CategoricalNB(), [[-1.0], [0.0]], "Negative values in data passed to CategoricalNB"),
        (CategoricalNB(min_categories=[2, 2]), [[1.0], [0.0]], "'min_categories' parameter"),
        (BernoulliNB(alpha=[1.0, 2.0]), [[1.0], [0.0]], "'alpha' parameter of BernoulliNB"),
        (GaussianNB(), [[1e200], [0.0]], "too large"),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(model, X, sentence):
    with pytest.raises(ValueError, match=sentence) as refusal:
        model.fit(X, [0, 1])
    assert "\n" not in str(refusal.value)


def test_columns_far_from_zero_and_classes_far_apart_keep_their_digits(rng):
    y = rng.integers(0, 2, 500)
    noise = rng.standard_normal((500, 2))
    X = noise + 1e8 + 1e8 * y[:, None]
    model = GaussianNB(var_smoothing=0).fit(X, y)
    for k in range(2):
        assert_allclose(model.var_[k], X[y == k].var(axis=0), rtol=1e-6)
    assert model.certify(X, y).holds


def test_equal_bits_for_equal_rows_and_no_warning_on_plain_tables():
    X, y = iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = GaussianNB().fit(X, y), NaiveBayes().fit(X, y)
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))


def test_a_flat_column_is_named_with_its_class(rng):
    frame = pd.DataFrame({"town": rng.choice(["Lyon", "Nice"], 40), "age": rng.normal(size=40)})
    labels = np.where(np.arange(40) < 20, "old", "young")
    frame.loc[20:, "age"] = 7.0
    with pytest.raises(ValueError, match="Column 'age' does not vary within class 'young', so"):
        NaiveBayes(var_smoothing=0).fit(frame, labels)
    assert NaiveBayes().fit(frame, labels).certify(frame, labels).holds


def test_priors_of_another_sum_are_divided_by_it_and_told_once(data):
    X, y = data[0]["numbers"], data[1]
    for model, name in (
        (GaussianNB(priors=[2.0, 1.0, 1.0]), "priors"),
        (BernoulliNB(class_prior=[2.0, 1.0, 1.0]), "class_prior"),
    ):
        with pytest.warns(UserWarning, match=f"'{name}' do not sum to 1 but to 4") as told:
            model.fit(X, y)
        assert len(told) == 1
        assert_allclose(np.exp(model._log_priors()), [0.5, 0.25, 0.25])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert model.certify(X, y).holds


@pytest.mark.parametrize("model", [GaussianNB(), BernoulliNB(), NaiveBayes()])
def test_a_class_without_weight_is_never_said_and_nothing_is_warned_of(model, data):
    X, y = data[0]["numbers"], data[1]
    weight = (y != "y").astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y, sample_weight=weight)
        assert model.certify(X, y, weight).holds
    assert "y" not in model.predict(X)
    assert_allclose(model.predict_proba(X)[:, 1], 0.0)


def test_levels_that_are_not_whole_are_cut_and_negative_ones_refused(data):
    X, y = data[0]["counts"], data[1]
    cut, whole = CategoricalNB().fit(X + 0.5, y), CategoricalNB().fit(X, y)
    assert_allclose(cut.predict_joint_log_proba(X + 0.5), whole.predict_joint_log_proba(X))
    assert cut.certify(X + 0.5, y).holds
    with pytest.raises(ValueError, match="Negative values in data passed to CategoricalNB"):
        whole.predict(X - 20)
    with pytest.warns(UserWarning, match="levels that were not there at the fit"):
        NaiveBayes("categorical").fit(X, y).predict(X - 20)
