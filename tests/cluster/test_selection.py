"""One front end for the choice of k and of other parameters."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import sklearn.cluster
import sklearn.mixture
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs
from sklearn.linear_model import LinearRegression
from sklearn.metrics import (
    adjusted_rand_score,
    calinski_harabasz_score,
    davies_bouldin_score,
    silhouette_score,
)
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay.cluster import DBSCAN, KMeans, select_k, within_inertia
from assay.cluster.selection.criteria import CRITERIA
from assay.datasets import Rings, iris
from assay.graphs import eigengap, gaussian_graph, nearest_neighbors_graph
from assay.models import Selection
from assay.rows import threads

RANGE = range(1, 7)


@pytest.fixture(scope="module")
def X():
    centers = [[0.0, 0.0], [7.0, 0.0], [0.0, 7.0], [8.0, 8.0]]
    return make_blobs(160, 2, centers=centers, cluster_std=0.8, random_state=0)[0]


@pytest.fixture(scope="module")
def kmeans():
    return KMeans(n_init=4, random_state=0)


@pytest.mark.spec("sangnier/EV-P2")
@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_finds_four_clear_clusters(X, kmeans, criterion):
    found = select_k(kmeans, X, RANGE, criterion=criterion, random_state=0)
    assert isinstance(found, Selection)
    assert (found.k, found.best, found.ambiguous) == (4, 4, False)
    assert found.model.n_clusters == 4
    assert len(found.curve) == len(found.models) == len(found.to_frame()) == 6
    assert found.to_frame().columns[0] == "n_clusters"
    assert repr(found).count("←") == 1
    assert found.reason


@pytest.mark.spec("sangnier/EV-P2")
@pytest.mark.parametrize("criterion", ["elbow", "silhouette", "calinski_harabasz", "gap", "stability"])
def test_any_clusterer_of_any_library(X, criterion):
    options = {"n_references": 5} if criterion == "gap" else {}
    found = select_k(AgglomerativeClustering, X, RANGE, criterion=criterion, random_state=0, **options)
    assert found.k == 4
    assert isinstance(found.model, AgglomerativeClustering)
    theirs = select_k(sklearn.cluster.KMeans(n_init=3), X, RANGE, criterion="elbow", random_state=0)
    assert theirs.k == 4


@pytest.mark.spec("sangnier/EV-P2")
def test_curves_are_the_scores_of_the_fits(X, kmeans):
    labels = [kmeans.set_params(n_clusters=k).fit(X).labels_ for k in RANGE]
    for criterion, score in {
        "silhouette": silhouette_score,
        "calinski_harabasz": calinski_harabasz_score,
        "davies_bouldin": davies_bouldin_score,
    }.items():
        found = select_k(kmeans, X, RANGE, criterion=criterion)
        assert np.isnan(found.curve[0])
        assert_allclose(found.curve[1:], [score(X, of_k) for of_k in labels[1:]], rtol=1e-9)
    elbow = select_k(kmeans, X, RANGE, criterion="elbow")
    within = [within_inertia(X, of_k) for of_k in labels]
    assert_allclose(elbow.curve, within)
    assert_allclose(elbow.table["explained"], 1 - np.array(within) / within[0], atol=1e-12)
    assert elbow.candidates["chord"] == 4


@pytest.mark.spec("sangnier/EV-M2", "sangnier/EV-F2")
def test_the_elbow_of_real_data_is_not_always_clear(kmeans):
    noise = np.random.default_rng(0).normal(size=(300, 4))
    found = select_k(kmeans, noise, range(1, 11), criterion="elbow")
    assert found.ambiguous
    flowers = select_k(kmeans, iris(return_X_y=True)[0], range(1, 9), criterion="elbow")
    assert flowers.k in (2, 3)


@pytest.mark.spec("wei/M10.3")
def test_decreases_are_compared_with_a_share_of_the_first_inertia(X, kmeans):
    found = select_k(kmeans, X, RANGE, criterion="elbow_decrease", threshold=0.1)
    within = found.table["within"]
    assert_allclose(found.curve[:-1], within[:-1] - within[1:])
    assert np.isnan(found.curve[-1])
    assert found.details == pytest.approx(0.1 * within[0])
    assert found.curve[found.index] <= found.details < found.curve[found.index - 1]
    strict = select_k(kmeans, X, RANGE, criterion="elbow_decrease", threshold=1e-9)
    assert (strict.k, strict.ambiguous) == (6, True)


@pytest.mark.spec("wei/M10.4")
@pytest.mark.parametrize("reference", ["box", "principal"])
def test_gap_compares_with_references_and_can_choose_one_cluster(X, kmeans, reference):
    found = select_k(kmeans, X, RANGE, criterion="gap", reference=reference, n_references=8, random_state=0)
    assert found.k == 4
    gap = found.details
    assert gap.reference_log_within.shape == (8, 6)
    assert_allclose(gap.log_within, np.log(found.table["within"]))
    assert_allclose(found.curve, gap.reference_log_within.mean(axis=0) - gap.log_within)
    assert_allclose(found.standard_error, gap.reference_log_within.std(axis=0) * np.sqrt(1 + 1 / 8))
    rule = [k for k in range(5) if found.curve[k] >= found.curve[k + 1] - found.standard_error[k + 1]]
    assert found.index == rule[0]
    frame = found.to_frame()
    assert {"gap", "standard_error", "log_within", "expected_log_within"} <= set(frame.columns)
    one = np.random.default_rng(1).normal(size=(150, 2))
    alone = select_k(kmeans, one, range(1, 5), criterion="gap", reference=reference, random_state=0)
    assert alone.k == 1


@pytest.mark.spec("rudi/M7.4")
def test_penalised_choice_minimises_inertia_plus_penalty_times_k(X, kmeans):
    for penalty in (1.0, 50.0, 500.0, 1e5):
        found = select_k(kmeans, X, RANGE, criterion="penalised", penalty=penalty)
        total = found.table["within"] + penalty * np.arange(1, 7)
        assert found.k == 1 + np.argmin(total)
        assert_allclose(found.curve, total)
        low, high = (found.table[name][found.index] for name in ("penalty_from", "penalty_to"))
        assert low <= penalty <= high
    path = found.details
    for breakpoint in path.breakpoints:
        below = select_k(kmeans, X, RANGE, criterion="penalised", penalty=0.99 * breakpoint).k
        above = select_k(kmeans, X, RANGE, criterion="penalised", penalty=1.01 * breakpoint).k
        assert below > above
    near = select_k(kmeans, X, RANGE, criterion="penalised", penalty=float(path.breakpoints[0]) * 1.01)
    assert near.ambiguous


@pytest.mark.spec("sangnier/EV-P2")
@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_information_criteria_are_those_of_hard_spherical_gaussians(X, kmeans, criterion):
    found = select_k(kmeans, X, RANGE, criterion=criterion)
    n, d = X.shape
    for k, value in zip(RANGE, found.curve, strict=True):
        labels = kmeans.set_params(n_clusters=k).fit(X).labels_
        variance = within_inertia(X, labels) / (n * d)
        log_likelihood = sum(
            multivariate_normal(X[labels == c].mean(axis=0), variance).logpdf(X[labels == c]).sum()
            + (labels == c).sum() * np.log(np.mean(labels == c))
            for c in range(k)
        )
        n_parameters = k * d + (k - 1) + 1
        price = np.log(n) if criterion == "bic" else 2.0
        assert_allclose(value, n_parameters * price - 2 * log_likelihood, rtol=1e-10)


def test_as_many_clusters_as_rows_are_not_judged():
    rows = np.random.default_rng(0).normal(size=(6, 2))
    for criterion in ("bic", "aic", "calinski_harabasz", "davies_bouldin"):
        found = select_k(AgglomerativeClustering, rows, range(1, 7), criterion=criterion)
        assert np.isnan(found.curve[-1])
        assert found.k < 6
    nothing = select_k(DBSCAN(min_samples=3), rows, parameter="eps", values=[1e-3, 9.0], criterion="bic")
    assert np.isnan(nothing.curve[0])
    assert nothing.best == 9.0
    gap = select_k(AgglomerativeClustering, rows, criterion="gap", n_references=3, random_state=0)
    assert np.isnan(gap.curve[-1])
    assert gap.k < 6


@pytest.mark.spec("sangnier/EV-P2")
def test_a_model_with_its_own_information_criterion_is_asked(X):
    mixture = sklearn.mixture.GaussianMixture(random_state=0)
    found = select_k(mixture, X, RANGE, criterion="bic", parameter="n_components")
    assert_allclose(found.curve, [model.bic(X) for model in found.models])
    assert found.k == 4


@pytest.mark.spec("sangnier/EV-P2")
def test_eigengap_is_that_of_the_graph(X, kmeans):
    found = select_k(kmeans, X, RANGE, criterion="eigengap", n_neighbors=12)
    expected = eigengap(nearest_neighbors_graph(X, 12), k_max=6)
    assert_allclose(found.curve, expected.gaps, atol=1e-8)
    W = gaussian_graph(X, 1.0)
    given = select_k(kmeans, X, RANGE, criterion="eigengap", weights=W, laplacian="symmetric")
    assert_allclose(given.curve, eigengap(W, laplacian="symmetric", k_max=6).gaps, atol=1e-8)
    assert given.k == 4


def test_eigengap_sees_rings_that_convex_criteria_do_not(kmeans):
    rings = Rings(radii=(1.0, 5.0), noise_std=0.1).sample(240, random_state=0)[0]
    assert select_k(kmeans, rings, range(1, 6), criterion="eigengap", n_neighbors=8).k == 2
    assert select_k(kmeans, rings, range(1, 6), criterion="silhouette").k != 2


@pytest.mark.parametrize("resample", ["half", "bootstrap"])
@pytest.mark.parametrize("agreement", ["adjusted_rand", "jaccard"])
def test_stability_is_one_for_clusters_found_again(X, kmeans, resample, agreement):
    found = select_k(
        kmeans,
        X,
        range(1, 6),
        criterion="stability",
        n_resamples=6,
        resample=resample,
        agreement=agreement,
        random_state=0,
    )
    assert found.k == 4
    assert found.curve[3] == pytest.approx(1.0)
    assert np.isnan(found.curve[0]), "one cluster is always found again"
    assert (found.curve[[1, 4]] < 0.99).any()
    assert found.details.agreement.shape == (5, 6)


@pytest.mark.spec("sangnier/EV-P2")
def test_another_parameter_can_be_tuned(X):
    eps = [0.3, 1.2, 30.0]
    found = select_k(DBSCAN(), X, parameter="eps", values=eps, criterion="silhouette")
    assert (found.best, found.k) == (1.2, 4)
    assert np.isnan(found.curve[2]), "everything is one cluster"
    assert_array_equal(found.table["clusters_found"][1:], [4, 1])
    words = select_k(
        AgglomerativeClustering(4),
        X,
        parameter="linkage",
        values=["ward", "single"],
        criterion="calinski_harabasz",
    )
    assert words.best in ("ward", "single")


def test_much_noise_puts_a_choice_in_doubt():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 9, rng.uniform(-40, 40, (40, 2))])
    found = select_k(DBSCAN(min_samples=5), X, parameter="eps", values=[0.8, 1.0], criterion="silhouette")
    assert found.ambiguous
    assert "noise" in found.reason
    assert found.table["rows_of_noise"][found.index] > 12


def test_a_pipeline_is_judged_where_its_last_step_sees_the_rows(X):
    stretched = X * [1.0, 1e4]
    pipeline = make_pipeline(StandardScaler(), KMeans(n_init=4, random_state=0))
    found = select_k(pipeline, stretched, RANGE, criterion="elbow", parameter="kmeans__n_clusters")
    assert found.k == 4
    scaled = StandardScaler().fit_transform(stretched)
    assert_allclose(found.curve[0], within_inertia(scaled, np.zeros(len(X))))


def test_weights_are_repetitions(X):
    weight = np.random.default_rng(0).integers(0, 3, size=len(X))
    repeated = np.repeat(X, weight, axis=0)
    start = KMeans(n_init=6, random_state=0)
    for criterion in ("elbow", "silhouette", "calinski_harabasz", "davies_bouldin", "bic"):
        weighted = select_k(start, X, range(2, 6), criterion=criterion, sample_weight=weight)
        plain = select_k(start, repeated, range(2, 6), criterion=criterion)
        assert weighted.k == plain.k
        assert_allclose(weighted.curve[2], plain.curve[2], rtol=1e-9)  # at four the optimum is found


def test_rows_outside_memory(X, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    model = KMeans(init="k-means++", n_init=6, random_state=0)
    for criterion in ("elbow", "davies_bouldin", "penalised", "bic"):
        inside = select_k(model, X, RANGE, criterion=criterion)
        on_disk = select_k(model, tmp_path / "rows.npy", RANGE, criterion=criterion)
        assert inside.k == on_disk.k == 4
        assert_allclose(on_disk.curve[3], inside.curve[3], rtol=1e-9)
    lazy = select_k(model, da.from_array(X, chunks=(50, 2)), RANGE, criterion="elbow")
    assert lazy.k == 4
    for criterion in ("silhouette", "gap", "eigengap", "stability"):
        with pytest.raises(ValueError, match="pairs or samples"):
            select_k(model, tmp_path / "rows.npy", RANGE, criterion=criterion)


def test_dissimilarities_are_judged_by_silhouette_and_stability(X):
    D = euclidean_distances(X)
    model = AgglomerativeClustering(metric="precomputed", linkage="average")
    for criterion in ("silhouette", "stability"):
        assert select_k(model, D, range(2, 7), criterion=criterion, random_state=0).k == 4
    for criterion in ("elbow", "gap", "bic", "eigengap"):
        with pytest.raises(ValueError, match="needs the features"):
            select_k(model, D, RANGE, criterion=criterion)


@pytest.mark.parametrize("criterion", ["gap", "stability"])
def test_same_seed_same_result_on_any_number_of_threads(X, criterion):
    curves = []
    for count in (1, 3):
        with threads(count):
            found = select_k(KMeans(), X, range(1, 4), criterion=criterion, random_state=7)
            curves.append(found.curve)
    assert_array_equal(*curves)


def test_frames_and_lists_are_tables(X, kmeans):
    frame = select_k(kmeans, pd.DataFrame(X, columns=["a", "b"]), RANGE, criterion="stability", n_resamples=3)
    assert frame.k == 4
    assert select_k(kmeans, X.tolist(), RANGE).k == 4
    assert select_k(kmeans, X.astype(np.float32), RANGE, criterion="elbow").k == 4
    assert adjusted_rand_score(frame.model.labels_, kmeans.set_params(n_clusters=4).fit(X).labels_) == 1.0


def test_a_short_table_has_a_short_default_range():
    rows = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    found = select_k(AgglomerativeClustering, rows, criterion="silhouette")
    assert found.values == [1, 2, 3, 4, 5]
    assert found.k == 3


@pytest.mark.parametrize(
    ("k_range", "message"),
    [
        ([], "at least one value"),
        ([3, 2], r"increasing ints from 1 to the number of rows \(160\)"),
        ([2, 2], "increasing ints"),
        ([0, 1], "increasing ints"),
        ([2.5, 3.0], "increasing ints"),
        ([2, 161], r"number of rows \(160\)"),
        ("23", "a list of values"),
        (4, "a list of values"),
    ],
)
def test_bad_ranges_get_a_sentence(X, kmeans, k_range, message):
    with pytest.raises(ValueError, match=f"The 'k_range' parameter of select_k must be .*{message}"):
        select_k(kmeans, X, k_range)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "luck"}, "'criterion' parameter of select_k must be one of 'elbow'"),
        (
            {"criterion": "gap", "n_references": 0},
            "'n_references' parameter of select_k must be an int at least 1",
        ),
        ({"criterion": "gap", "reference": "cube"}, "'reference'.*'box', 'principal'"),
        (
            {"criterion": "gap", "penalty": 1.0},
            "options of select_k with criterion='gap' are: 'n_references'",
        ),
        ({"criterion": "elbow", "threshold": 1.0}, "are: none"),
        ({"criterion": "penalised", "penalty": -1.0}, "'penalty'"),
        ({"criterion": "stability", "n_resamples": 0}, "'n_resamples'"),
        ({"criterion": "elbow_decrease", "threshold": "low"}, "'threshold'"),
        ({"parameter": "k"}, "'parameter' parameter of select_k must be a parameter of KMeans"),
        ({"values": [1, 2], "k_range": [1, 2]}, "not both"),
        ({"parameter": "tol"}, "'values' parameter of select_k must be a list of values of 'tol'"),
        ({"criterion": "elbow", "k_range": [1, 2]}, "at least 3 values"),
        ({"criterion": "gap", "sample_weight": np.ones(160)}, "takes no sample_weight"),
        ({"random_state": "seed"}, "random_state"),
        ({"k_range": [1]}, "No value gives a partition"),
    ],
)
def test_bad_options_get_a_sentence(X, kmeans, options, message):
    with pytest.raises(ValueError, match=message):
        select_k(kmeans, X, **options)


def test_bad_estimators_get_a_sentence(X):
    with pytest.raises(ValueError, match="'estimator' parameter of select_k must be a clusterer"):
        select_k("kmeans", X)
    with pytest.raises(ValueError, match="a parameter of LinearRegression"):
        select_k(LinearRegression(), X)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        select_k(AgglomerativeClustering(), X, sample_weight=np.ones(160))


def test_bad_rows_get_a_sentence(kmeans):
    with pytest.raises(ValueError, match="NaN"):
        select_k(kmeans, [[np.nan], [1.0], [2.0]], range(1, 4))
    for criterion in ("elbow", "gap", "calinski_harabasz", "bic"):
        with pytest.raises(ValueError, match="All rows of X are equal"):
            select_k(AgglomerativeClustering, np.ones((5, 2)), range(1, 4), criterion=criterion)
    with pytest.raises(ValueError, match="No value gives a partition"):
        select_k(DBSCAN(), np.ones((5, 2)), parameter="eps", values=[1.0, 2.0], criterion="silhouette")


def test_duplicated_rows_have_as_many_clusters_as_distinct_ones():
    rows = np.repeat([[0.0, 0.0], [1.0, 5.0], [6.0, 1.0]], 20, axis=0)
    for criterion in ("silhouette", "davies_bouldin", "gap"):
        found = select_k(AgglomerativeClustering, rows, range(1, 5), criterion=criterion, random_state=0)
        assert found.k == 3, criterion
