"""The pass of the perceptron against its NumPy twin."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from assay.rows import MemoryRows
from assay.solvers.in_memory import loop_rows
from assay.solvers.perceptron import perceptron_pass, separation


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_a_pass_moves_by_the_mean_of_the_mistaken_rows(rng, kind, batch_size):
    X, label = rng.standard_normal((40, 3)), rng.choice([-1.0, 1.0], 40)
    weight, order = rng.integers(0, 3, 40).astype(float), rng.permutation(40)
    point, total = np.zeros(4), np.zeros(4)
    table = loop_rows(X if kind == "dense" else sparse.csr_array(X))
    n_updates = perceptron_pass(table, label, weight, order, batch_size, 1.0, point, total)
    twin, sums, count = np.zeros(4), np.zeros(4), 0
    rows = np.column_stack([X, np.ones(40)])
    for first in range(0, 40, batch_size):
        some = order[first : first + batch_size]
        wrong = some[(label[some] * (rows[some] @ twin) <= 0) & (weight[some] > 0)]
        if len(wrong):
            twin = twin + np.average(label[wrong, None] * rows[wrong], axis=0, weights=weight[wrong])
            count += 1
        sums = sums + twin
    assert n_updates == count
    assert_allclose(point, twin)
    assert_allclose(total, sums)


def test_separation_is_measured_on_the_rows_that_count(rng):
    X = rng.standard_normal((50, 3))
    code, weight = (X[:, 0] > 0).astype(float), np.tile([1.0, 0.0], 25)
    point = np.array([1.0, 0.1, 0.0, 0.2])
    margin = np.where(code == 1, 1.0, -1.0) * (X @ point[:3] + point[3])
    for table in (X, sparse.csr_array(X)):
        seen = separation(MemoryRows(table, code, weight), 1, point)
        assert seen.mistakes == weight[margin <= 0].sum()
        assert seen.margin == pytest.approx(margin[weight > 0].min())
        assert seen.radius == pytest.approx(np.max(np.sum(X[weight > 0] ** 2, axis=1)) + 1)
