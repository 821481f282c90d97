"""Rows whose distances, or sums of them, are no numbers are refused, in the same words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from assay.cluster import DBSCAN, AgglomerativeClustering, KMeans, KMedoids
from assay.distances import check_range, check_sums
from assay.distances.ranges import Extent, extent_of
from assay.rows import MemoryRows

OVERFLOW = r"^X reaches .*, so that .* overflow\. Divide X.* by a constant first"
VANISH = r"^X varies by .*, so that .* lose their digits or vanish\. Multiply X.* by a constant first\.$"


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_the_extent_is_that_of_the_columns_in_any_block(make):
    X = np.random.default_rng(0).normal(size=(300, 3)) * [1e-200, 1e-90, 1e-300] + [0.0, -2e-200, 0.0]
    data = MemoryRows(make(X)).cut(16)
    assert extent_of(data) == Extent(np.abs(X).max(), np.ptp(X, axis=0).max() / 2)
    apart = MemoryRows(make(X + np.eye(300, 3))).cut(16)  # clearly apart: it is enough to know that
    assert extent_of(apart).half_spread >= 0.25


@pytest.mark.parametrize(("factor", "words"), [(1e160, OVERFLOW), (1e-200, VANISH)])
def test_every_check_refuses_in_the_same_words(factor, words):
    X = factor * np.random.default_rng(0).normal(size=(60, 3))
    for refused in (
        lambda: check_range(X),
        lambda: check_sums(MemoryRows(X)),
        lambda: check_sums(MemoryRows(sparse.csr_array(X))),
        lambda: KMeans(2, random_state=0).fit(X),
        lambda: KMedoids(2).fit(X),
        lambda: DBSCAN(1.0).fit(X),
        lambda: AgglomerativeClustering(2).fit(X),
    ):
        with pytest.raises(ValueError, match=words):
            refused()


def test_columns_far_from_zero_do_not_hide_that_rows_hardly_differ():
    X = np.column_stack([np.ones(20), 1e-200 * np.arange(20)])
    for check in (check_range, lambda table: check_sums(MemoryRows(table))):
        with pytest.raises(ValueError, match=VANISH):
            check(X)
        check(np.ones((20, 2)))  # rows that are the same have the distance 0


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev"])
def test_sums_of_a_metric_that_does_not_square_may_be_larger(metric):
    X = 1e200 * np.random.default_rng(0).normal(size=(60, 3))
    if metric in ("manhattan", "chebyshev"):
        check_sums(MemoryRows(X), metric)
        check_range(X, metric)
        assert KMedoids(2, metric=metric).fit(X).certificates_.holds
    else:
        with pytest.raises(ValueError, match=OVERFLOW):
            check_sums(MemoryRows(X), metric)
    with pytest.raises(ValueError, match=OVERFLOW):
        check_sums(MemoryRows(X * 1e107), metric)


def test_k_medoids_looks_at_its_rows_once(monkeypatch):
    seen = []
    monkeypatch.setattr("assay.distances.ranges.extent_of", lambda data: seen.append(data) or extent_of(data))
    KMedoids(2).fit(np.random.default_rng(0).normal(size=(30, 2)))
    assert len(seen) == 1
