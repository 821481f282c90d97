"""k-means on batches: the steps, the draws, what is measured, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.cluster
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from assay.cluster import KMeans, MiniBatchKMeans
from assay.cluster.kmeans.centers import place
from assay.cluster.kmeans.minibatch.solver import Draws, StoppingRule, averaged, minibatch_steps
from assay.datasets import Blobs
from assay.rows import rows


@pytest.fixture(scope="module")
def many():
    return Blobs(10, 5, random_state=2).sample(20_000, random_state=2).X


class Unwatched:
    def iteration(self, attributes):
        return False


@pytest.mark.spec("sangnier/KM-M2", "peyre/M4")
def test_centres_are_running_means_of_the_rows_they_were_given(rng):
    batches = [rng.normal(size=(40, 3)) for _ in range(6)]
    start = batches[0][:4].copy()
    centers, counts = start.copy(), np.zeros(4)
    for batch in batches:
        nearest = ((batch[:, np.newaxis] - centers) ** 2).sum(axis=2).argmin(axis=1)
        counts += np.bincount(nearest, minlength=4)
        for k in range(4):
            part = batch[nearest == k]
            centers[k] += (part - centers[k]).sum(axis=0) / counts[k] if len(part) else 0.0
    found = minibatch_steps(
        iter(batches),
        place(start, np.zeros(3), 3),
        StoppingRule(6, 1.0, 0.0, None, 0.0),
        random=rng,
        watch=Unwatched(),
    )
    assert_allclose(found.centers, centers, atol=1e-12)
    assert_array_equal(found.counts, counts)
    assert found.n_steps == 6


def test_a_centre_without_rows_stays(rng):
    points, counts = rng.normal(size=(3, 2)), np.array([4.0, 0.0, 7.0])
    weights = np.array([2.0, 0.0, 0.0])
    moved, total = averaged(
        points, counts, weights[:, np.newaxis] * points + 1.0 * (weights > 0)[:, None], weights
    )
    assert_allclose(moved[0], points[0] + 1.0 / 6.0)
    assert_array_equal(moved[1:], points[1:])
    assert_array_equal(total, [6.0, 0.0, 7.0])


def test_rows_are_drawn_by_their_weights(rng):
    X, weight = np.arange(5.0)[:, np.newaxis], np.array([1.0, 0.0, 2.0, 3.0, 0.0])
    drawn = Draws(rows(X, sample_weight=weight), rng).batch(6000).ravel().astype(int)
    share = np.bincount(drawn, minlength=5) / 6000
    assert np.all(np.abs(share - weight / 6) <= 4 * np.sqrt(weight / 6 * (1 - weight / 6) / 6000))


def test_the_same_rows_are_drawn_in_any_order_from_any_place(tmp_path, rng):
    X = rng.normal(size=(300, 3))
    np.save(tmp_path / "rows.npy", X)
    weight = rng.integers(1, 4, size=300)
    order = rng.permutation(300)
    drawn = [
        Draws(rows(*source), np.random.default_rng(1)).batch(50)
        for source in (
            (np.repeat(X, weight, axis=0),),
            (X, None, weight),
            (X[order], None, weight[order]),
            (str(tmp_path / "rows.npy"), None, weight),
        )
    ]
    for other in drawn[1:]:
        assert_array_equal(drawn[0], other)


def test_many_rows_are_drawn_in_the_order_they_have(monkeypatch, rng):
    monkeypatch.setattr("assay.cluster.kmeans.seeding.SAMPLE_ROWS", 10)
    X = np.arange(40.0)[:, np.newaxis]
    drawn = Draws(rows(X), np.random.default_rng(3)).batch(25)
    assert_array_equal(drawn.ravel(), np.floor(40 * np.random.default_rng(3).random(25)))


def test_it_comes_near_to_lloyd_and_proves_what_it_claims(many):
    best = KMeans(10, n_init=5, random_state=0).fit(many)
    model = MiniBatchKMeans(10, n_init=5, random_state=0).fit(many)
    assert model.inertia_ <= 1.02 * best.inertia_
    assert adjusted_rand_score(model.labels_, best.labels_) > 0.98
    assert model.certificates_.holds
    squares = ((many[:, np.newaxis] - model.cluster_centers_) ** 2).sum(axis=2)
    assert_array_equal(model.labels_, squares.argmin(axis=1))
    assert_allclose(model.inertia_, squares.min(axis=1).sum())
    means = np.array([many[model.labels_ == k].mean(axis=0) for k in range(10)])
    saved = model.inertia_ - ((many - means[model.labels_]) ** 2).sum()
    assert_allclose(model.optimality_, saved / model.inertia_, atol=1e-9)
    assert_allclose(model.anova_.total, model.anova_.within + model.anova_.between)


def test_quality_is_that_of_scikit_learn(many):
    ours = [MiniBatchKMeans(10, random_state=seed).fit(many).inertia_ for seed in range(5)]
    with threadpool_limits(1):
        theirs = [
            sklearn.cluster.MiniBatchKMeans(10, n_init=1, random_state=seed).fit(many).inertia_
            for seed in range(5)
        ]
    assert np.median(ours) <= 1.03 * np.median(theirs)


def test_damage_is_found_out(many):
    model = MiniBatchKMeans(10, random_state=0).fit(many)
    model.certify(many).require()
    model.labels_[5] = (model.labels_[5] + 1) % 10
    assert {item.quantity for item in model.certify(many).failed} >= {"assignment excess"}
    model = MiniBatchKMeans(10, random_state=0).fit(many)
    model.inertia_ *= 1 - 1e-6
    assert [item.quantity for item in model.certify(many).failed] == ["Huygens residual"]


@pytest.mark.filterwarnings("ignore:Only .* clusters")
def test_a_fit_stopped_far_from_stationary_says_so(many):
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1 passes"):
        model = MiniBatchKMeans(
            10, init=many[:10], batch_size=10_000, max_iter=1, reassignment_ratio=0.0
        ).fit(many)
    assert not model.converged_
    assert not model.certificates_.named("saving of an exact update").holds


def test_a_fixed_number_of_passes_needs_no_warning(many):
    model = MiniBatchKMeans(5, max_no_improvement=None, max_iter=2, random_state=0).fit(many)
    assert model.n_steps_ == 2 * 20
    assert model.n_iter_ == 3  # 40 batches of 1024 rows
    assert len(model.batch_inertias_) == 40


def test_idle_centres_start_afresh(many):
    start = np.vstack([many[:5], np.full((5, 5), 1e6)])
    moved = MiniBatchKMeans(10, init=start, random_state=0).fit(many)
    assert np.all(moved.cluster_weights_ > 0)
    with pytest.warns(ConvergenceWarning, match="Only 5 of the 10 clusters"):
        stuck = MiniBatchKMeans(10, init=start, reassignment_ratio=0.0, random_state=0).fit(many)
    assert stuck.inertia_ > 1.2 * moved.inertia_


def test_partial_fit_is_one_step_a_call(rng):
    batches = [rng.normal(size=(60, 2)) + shift for shift in (0.0, 0.1, -0.1)]
    start = batches[0][:3]
    model = MiniBatchKMeans(3, init=start)
    for batch in batches:
        model.partial_fit(batch)
    whole = minibatch_steps(
        iter(batches),
        place(start, np.zeros(2), 2),
        StoppingRule(3, 1.0, 0.0, None, 0.0),
        random=rng,
        watch=Unwatched(),
    )
    assert_allclose(model.cluster_centers_, whole.centers, atol=1e-12)
    assert_array_equal(model.center_weights_, whole.counts)
    assert model.n_steps_ == 3
    assert_array_equal(model.labels_, model.predict(batches[-1]))
    assert model.certify(batches[-1]).named("assignment excess").holds
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.partial_fit(rng.normal(size=(5, 3)))


def test_partial_fit_weights_are_repetitions(rng):
    X, weight = rng.normal(size=(50, 2)), rng.integers(0, 4, size=50)
    a = MiniBatchKMeans(3, init=X[:3]).partial_fit(X, sample_weight=weight)
    b = MiniBatchKMeans(3, init=X[:3]).partial_fit(np.repeat(X, weight, axis=0))
    assert_allclose(a.cluster_centers_, b.cluster_centers_)
    assert_allclose(a.center_weights_, b.center_weights_)


@pytest.mark.parametrize("window_bytes", [2**27, 400_000])
def test_parquet_npy_and_dask_give_the_fit_of_memory(many, tmp_path, monkeypatch, window_bytes):
    monkeypatch.setattr("assay.cluster.kmeans.minibatch.solver.WINDOW_BYTES", window_bytes)
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    da = pytest.importorskip("dask.array")
    X = many
    np.save(tmp_path / "rows.npy", X)
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(5)}), tmp_path / "rows.parquet")
    memory = MiniBatchKMeans(10, random_state=0).fit(X)
    for source in (
        str(tmp_path / "rows.npy"),
        str(tmp_path / "rows.parquet"),
        da.from_array(X, chunks=(6000, 5)),
    ):
        other = MiniBatchKMeans(10, random_state=0).fit(source)
        assert_allclose(other.cluster_centers_, memory.cluster_centers_, atol=1e-9)
        assert_array_equal(np.asarray(other.labels_), memory.labels_)
        assert other.certificates_.holds


def test_sparse_rows_give_the_fit_of_dense_rows(rng):
    dense = rng.normal(size=(500, 20)) * (rng.uniform(size=(500, 20)) < 0.2)
    a = MiniBatchKMeans(4, random_state=1).fit(dense)
    b = MiniBatchKMeans(4, random_state=1).fit(sparse.csr_array(dense))
    assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-9)
    assert_array_equal(a.labels_, b.labels_)
    assert b.certificates_.holds


def test_duplicates_everywhere_and_coordinates_of_1e8(rng):
    with pytest.warns(ConvergenceWarning, match="Only 2 of the 4 clusters"):
        twice = MiniBatchKMeans(4, random_state=0).fit(np.repeat([[0.0], [1.0]], 50, axis=0))
    assert_allclose(twice.inertia_, 0.0, atol=1e-12)
    far = Blobs(centers=[[0.0, 0.0], [50.0, 0.0]]).sample(500, random_state=0).X + 1e8
    assert MiniBatchKMeans(2, random_state=0).fit(far).certificates_.holds


def test_refusals_are_one_sentence(many):
    with pytest.raises(ValueError, match=r"at most the number of distinct rows \(3\). Got 8 instead"):
        MiniBatchKMeans().fit(many[:3])
    with pytest.raises(ValueError, match=r"'init' parameter of MiniBatchKMeans must give finite centres"):
        MiniBatchKMeans(3, init=many[:2]).fit(many)
    with pytest.raises(ValueError, match="certify takes the rows of the fit"):
        MiniBatchKMeans(3, random_state=0).fit(many).certify(many[:50])
    with pytest.raises(ValueError, match="'reassignment_ratio' parameter"):
        MiniBatchKMeans(reassignment_ratio=1.5).fit(many)
