"""Discriminants on disk and on a cluster, with weights, in one walk: the numbers of memory."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from assay.datasets import GaussianClasses
from assay.density import BinnedKernelDensity, HistogramDensity, KernelDensity
from assay.discriminant import (
    BayesClassifier,
    BernoulliNB,
    FisherDiscriminant,
    GaussianNB,
    GaussianRegression,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MixedDiscriminant,
    MultinomialNB,
    NaiveBayes,
    NearestCentroid,
    PlugInClassifier,
    QuadraticDiscriminantAnalysis,
    RandomClassifier,
    Whitener,
)
from assay.discriminant.gaussian.moments import class_moments, class_squares
from assay.rows import MemoryRows, _arrow
from blocks import small_blocks

KINDS = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(shrinkage="auto"),
    QuadraticDiscriminantAnalysis(),
    FisherDiscriminant(rule="optimal_threshold"),
    NearestCentroid(),
    GaussianNB(),
    BernoulliNB(binarize=1e5),
    MultinomialNB(),
    MixedDiscriminant([3]),
    PlugInClassifier(),
    BayesClassifier(),
    RandomClassifier(),
    GenerativeClassifier(),
    GenerativeClassifier(HistogramDensity(4)),
    GenerativeClassifier(BinnedKernelDensity(0.5, cells_per_bandwidth=4)),
    Whitener(scope="within"),
    GaussianRegression(),
]


@pytest.fixture
def table():
    law = GaussianClasses([[0.0, 0.0, 0.0], [1.5, -0.5, 0.3]], np.diag([1.0, 4.0, 0.2]), [0.4, 0.6], [0, 1])
    X, y = law.sample(700, random_state=0)
    random = np.random.default_rng(1)
    X = np.column_stack([X + 1e5, random.integers(0, 2, len(y))])
    return X, y, random.integers(0, 3, len(y)).astype(float)


def said(model, X):
    """What a fit says of rows, as plainly as it can be compared."""
    for name in ("decision_function", "transform", "predict_joint_log_proba", "predict_proba"):
        if hasattr(model, name):
            return getattr(model, name)(X)
    return model.predict(X)


@pytest.mark.parametrize("model", KINDS, ids=repr)
def test_parquet_and_dask_give_the_numbers_of_memory(model, table, tmp_path):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y, weight = table
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(label=y.astype(float), s=weight)
    (tmp_path / "rows").mkdir()
    for part in range(3):
        frame.iloc[part::3].to_parquet(tmp_path / "rows" / f"{part}.parquet")
    order = np.concatenate([np.arange(part, len(y), 3) for part in range(3)])
    scores = said(model.fit(X[order], y[order], weight[order]), X)
    scale = np.abs(scores[np.isfinite(scores)]).max()  # a histogram gives classes no chance outside their box
    sources = [str(tmp_path / "rows" / "*.parquet"), dd.from_pandas(frame, npartitions=4)]
    for source in sources:
        with small_blocks():
            other = clone(model).fit(source, "label", "s")
        found = said(other, frame[["a", "b", "c", "d"]])
        assert_allclose(found, scores, rtol=1e-9, atol=1e-9 * scale)
        assert other.certificates_.holds


def test_a_density_that_keeps_its_rows_refuses_those_of_a_file(tmp_path):
    with pytest.raises(ValueError, match="does not take rows outside memory: take a density that walks"):
        GenerativeClassifier(KernelDensity()).fit(str(tmp_path / "rows.parquet"), "label")


@pytest.mark.parametrize(
    ("model", "walks"),
    [
        (LinearDiscriminantAnalysis(), 1),
        (LinearDiscriminantAnalysis(shrinkage="auto"), 2),
        (QuadraticDiscriminantAnalysis(), 1),
        (FisherDiscriminant(), 1),
        (NearestCentroid(), 1),
        (GaussianNB(), 1),
        (NaiveBayes(["gaussian", "gaussian", "gaussian", "bernoulli"]), 1),
        (MixedDiscriminant([3]), 1),
        (MixedDiscriminant(), 2),
        (GenerativeClassifier(), 2),
        (GaussianRegression(), 1),
    ],
    ids=repr,
)
def test_a_fit_reads_labels_alone_and_then_the_rows_once(model, walks, table, tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    X, y, weight = table
    frame = pd.DataFrame(X - [1e5, 1e5, 1e5, 0], columns=["a", "b", "c", "d"]).assign(label=y, s=weight)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    read, begun = [], _arrow.TableSource.units

    def units(self, n_rows):
        rows = 0
        for unit in begun(self, n_rows):
            rows += sum(batch.num_rows for batch in unit)
            read.append((tuple(self._columns), rows))
            yield unit

    monkeypatch.setattr(_arrow.TableSource, "units", units)
    model.fit(str(tmp_path / "rows.parquet"), "label", "s")
    whole = [columns for columns, rows in read if rows == len(y)]
    if not isinstance(model, GaussianRegression):
        assert whole.pop(0) == ("label", "s")
    assert set(whole) == {("a", "b", "c", "d", "label", "s")}
    assert len(whole) == walks


def test_labels_on_disk_are_checked_and_kept_as_they_are(tmp_path):
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(label=0.1 * (np.arange(60) % 3))
    place = tmp_path / "rows.parquet"
    frame.to_parquet(place)
    model = LinearDiscriminantAnalysis().fit(str(place), "label")
    assert_allclose(model.classes_, [0.0, 0.1, 0.2], rtol=1e-6)
    assert model.class_count_.tolist() == [20.0, 20.0, 20.0]
    for wrong, words in ((np.nan, "y contains NaN"), (np.inf, "y contains infinity")):
        frame.loc[7, "label"] = wrong
        frame.to_parquet(place)
        with pytest.raises(ValueError, match=words):
            LinearDiscriminantAnalysis().fit(str(place), "label")
    with pytest.raises(ValueError, match="requires y to be passed"):
        LinearDiscriminantAnalysis().fit(str(place))


def test_moments_survive_offsets_and_distant_classes():
    """Against sums in extended precision: shifts of 10⁸ and classes 10⁶ deviations apart cost no digits."""
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 400)
    X = random.normal(size=(400, 3)) + 1e8 + 1e6 * y[:, None]
    weight = random.integers(0, 3, 400).astype(float)
    data = MemoryRows(X, y.astype(float), weight).cut(64)
    apart, pooled = (class_moments(data, 3, apart=flag) for flag in (True, False))
    squares = class_squares(data, 3)
    total = np.zeros((3, 3))
    for k in range(3):
        own, s = X[y == k].astype(np.longdouble), weight[y == k]
        mean = (s[:, None] * own).sum(axis=0) / s.sum()
        scatter = np.asarray(((own - mean) * s[:, None]).T @ (own - mean), dtype=float)
        assert_allclose(apart.means[k], np.asarray(mean, dtype=float), rtol=1e-15)
        assert_allclose(apart.scatters[k], scatter, atol=1e-5)
        assert_allclose(squares.squares[k], np.diag(scatter), atol=1e-5)
        total += scatter
    assert_allclose(pooled.within, total, atol=1e-5)
    assert_allclose(pooled.means, apart.means, rtol=1e-15)


def test_many_classes_take_the_other_road_to_the_same_sums():
    random = np.random.default_rng(0)
    y = random.integers(0, 50, 2000)
    X, weight = random.normal(size=(2000, 3)) + y[:, None], random.integers(0, 3, 2000).astype(float)
    data = MemoryRows(X, y.astype(float), weight)
    pooled, squares = class_moments(data, 50, apart=False), class_squares(data, 50)
    for k in (0, 17, 49):
        own = np.repeat(X[y == k], weight[y == k].astype(int), axis=0)
        assert_allclose(pooled.means[k], own.mean(0))
        assert_allclose(squares.means[k], own.mean(0))
        assert_allclose(squares.squares[k], own.var(0) * len(own))


def test_classes_that_do_not_vary_have_the_same_normal_law_in_memory_and_in_a_file(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    alike = np.tile([0.1, -1e6 / 3, 0.7], (7, 1))  # whose mean is rounded
    X = np.vstack([rng.normal(size=(40, 3)), alike, [[1e5, 2.0, 3.0]]])
    y = np.repeat([0, 1, 2], [40, 7, 1])
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    in_memory = GenerativeClassifier().fit(X, y)
    in_file = GenerativeClassifier().fit(str(tmp_path / "rows.parquet"), "label")
    for one, other in zip(in_memory.densities_, in_file.densities_, strict=True):
        np.testing.assert_allclose(one.mean_, other.mean_, rtol=1e-14)
        np.testing.assert_allclose(one.covariance_, other.covariance_, rtol=1e-9, atol=1e-15)
    for density in in_file.densities_[1:]:
        np.testing.assert_array_equal(density.covariance_, 1e-6 * np.eye(3))
    assert in_file.score(frame[["a", "b", "c"]], y) == 1.0
    assert in_file.certify(str(tmp_path / "rows.parquet"), "label").holds
