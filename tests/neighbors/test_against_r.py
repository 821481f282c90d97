"""Neighbours, votes, means and leave-one-out classes against R's class and FNN."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from assay.neighbors import KNeighborsClassifier, KNeighborsRegressor

HERE = Path(__file__).resolve().parent.parent / "reference"


@pytest.fixture(scope="module")
def crabs():
    """The features without ties, the widths, and whether they are wide, as make_neighbors.R makes them."""
    fl, rw, cl, cw, bd = np.loadtxt(HERE / "crabs.csv", delimiter=",", skiprows=1).T
    places = np.arange(1, len(fl) + 1)
    X = np.column_stack([fl, rw, cl, bd]) + 1e-3 * np.sin(np.outer(places, [1, 2, 3, 5]))
    wide = np.where(cw > np.median(cw) + 3 * np.sin(places), "wide", "narrow")
    return X, cw, wide, json.loads((HERE / "neighbors.json").read_text())


@pytest.mark.parametrize("k", [1, 7])
def test_votes_means_and_left_out_classes_are_those_of_r(crabs, k):
    X, width, wide, reference = crabs
    model = KNeighborsClassifier(k).fit(X[::2], wide[::2])
    assert_array_equal(model.predict(X[1::2]), reference[f"class_{k}"])
    assert_allclose(model.predict_proba(X[1::2]).max(axis=1), reference[f"share_{k}"], rtol=1e-10)
    assert_array_equal(KNeighborsClassifier(k).fit(X, wide).predict(None), reference[f"left_out_{k}"])
    means = KNeighborsRegressor(k).fit(X[::2], width[::2]).predict(X[1::2])
    assert_allclose(means, reference[f"mean_{k}"], rtol=1e-10)


def test_neighbours_are_those_of_r(crabs):
    X, width, _, reference = crabs
    distances, indices = KNeighborsRegressor(7).fit(X[::2], width[::2]).kneighbors(X[1::2])
    assert_array_equal(indices, reference["index"])
    assert_allclose(distances, reference["distance"], rtol=1e-9)
