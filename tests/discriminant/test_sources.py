"""Discriminants on disk and on a cluster, with weights, in one walk: the numbers of memory."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.datasets import GaussianClasses
from assay.discriminant import (
    FisherDiscriminant,
    LinearDiscriminantAnalysis,
    NearestCentroid,
    QuadraticDiscriminantAnalysis,
)
from assay.discriminant.gaussian.moments import class_moments, class_squares
from assay.rows import MemoryRows

KINDS = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(shrinkage="auto"),
    QuadraticDiscriminantAnalysis(),
    FisherDiscriminant(rule="optimal_threshold"),
    NearestCentroid(),
]


@pytest.fixture
def table():
    law = GaussianClasses([[0.0, 0.0, 0.0], [1.5, -0.5, 0.3]], np.diag([1.0, 4.0, 0.2]), [0.4, 0.6], [0, 1])
    X, y = law.sample(700, random_state=0)
    return X + 1e5, y, np.random.default_rng(1).integers(0, 3, len(y)).astype(float)


@pytest.mark.parametrize("model", KINDS, ids=repr)
def test_parquet_and_dask_give_the_numbers_of_memory(model, table, tmp_path):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y, weight = table
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y.astype(float), s=weight)
    (tmp_path / "rows").mkdir()
    for part in range(3):
        frame.iloc[part::3].to_parquet(tmp_path / "rows" / f"{part}.parquet")
    order = np.concatenate([np.arange(part, len(y), 3) for part in range(3)])
    memory = model.fit(X[order], y[order], weight[order])
    scores = memory.decision_function(X)
    names = "label", "s"
    sources = [str(tmp_path / "rows" / "*.parquet"), dd.from_pandas(frame, npartitions=4)]
    for source in sources:
        other = type(model)(**model.get_params()).fit(source, *names)
        assert_allclose(other.decision_function(frame[["a", "b", "c"]]), scores, rtol=1e-7, atol=1e-7)
        assert other.certificates_.holds


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
