"""Separable, quasi-separable and overlapping labels are told apart, each with a proof that can fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize, sparse
from sklearn.linear_model import LogisticRegression

from assay.parameters import ParameterError
from assay.solvers import separability


def oracle(X, y, intercept):
    """Status and number of strict margins by one programme over all margins: max Σ t, 0 ≤ t ≤ 1, Zw ≥ t."""
    labels, codes = np.unique(y, return_inverse=True)
    design = np.column_stack([X, np.ones(len(X))]) if intercept else X
    rows = []
    for x, own in zip(design, codes, strict=True):
        for other in range(len(labels)):
            if other != own:
                z = np.zeros((len(labels), len(x)))
                z[own], z[other] = x, -x
                rows.append(z.ravel())
    Z = np.array(rows)
    m, p = Z.shape
    found = optimize.linprog(
        np.append(np.zeros(p), -np.ones(m)),
        A_ub=np.hstack([-Z, np.eye(m)]),
        b_ub=np.zeros(m),
        bounds=[(None, None)] * p + [(0, 1)] * m,
    )
    strict = round(-found.fun)
    return ("overlapping" if strict == 0 else "separable" if strict == m else "quasi-separable"), strict


def labelled(seed):
    rng = np.random.default_rng(seed)
    n, d, K = rng.integers(3, 30), rng.integers(1, 4), rng.integers(2, 5)
    X = rng.integers(-2, 3, (n, d)).astype(float) if seed % 2 else rng.standard_normal((n, d))
    noise = rng.choice([0.0, 0.3, 1.5])
    y = np.argmax(X @ rng.standard_normal((d, K)) + noise * rng.standard_normal((n, K)), axis=1)
    y[:2] = [0, 1]
    return X, y


@pytest.mark.spec("sangnier/T-1.2.2-b", "rudi/M2.10", "rudi/T2.6")
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000), st.booleans(), st.sampled_from([0, 6]))
def test_the_status_is_that_of_the_linear_programme_and_is_proved(seed, intercept, max_iter):
    X, y = labelled(seed)
    found = separability(X, y, fit_intercept=intercept, max_iter=max_iter)
    assert (found.status, found.n_strict) == oracle(X, y, intercept)
    assert found.certificates.holds
    assert found.certify(X, y).holds


@pytest.mark.spec("sangnier/T-1.2.2-b")
def test_a_separating_direction_drives_the_risk_strictly_to_zero(rng):
    X = rng.standard_normal((40, 2))
    y = X @ [1.0, -2.0] + 0.3 > 0
    found = separability(X, y)
    assert found.status == "separable"
    margins = np.where(y, 1, -1) * (X @ found.direction + found.intercept)
    assert margins.min() > 0
    risk = np.array([np.logaddexp(0, -t * margins).mean() for t in 10.0 ** np.arange(0, 9)])
    assert np.all(np.diff(risk) <= 0)
    assert risk[-1] < 1e-12


def test_quasi_separation_names_the_rows_that_stay_on_the_plane():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 1.5], [0.0, 1.7], [1.0, 3.0], [1.0, 0.0]])
    y = np.array([0, 0, 1, 1, 1, 1])
    found = separability(X, y)
    signs = np.where(y == 1, 1, -1)
    margins = signs * (X @ found.direction + found.intercept)
    assert margins.min() > -1e-9 * margins.max()
    on_plane = found.weights > 0
    assert_allclose(margins[on_plane], 0, atol=1e-9)
    assert np.all(margins[~on_plane] > 1e-6)
    design = np.column_stack([X, np.ones(6)]) * signs[:, None]
    assert_allclose(found.weights @ design, 0, atol=1e-9)


@pytest.mark.spec("rudi/M2.10", "rudi/T2.3")
def test_weights_of_overlap_are_positive_and_balance(rng):
    X = rng.standard_normal((300, 4)) * [1.0, 1e-4, 1e8, 3.0] + [0.0, 1.0, 0.0, 5.0]
    y = rng.uniform(size=300) < 0.5
    found = separability(X, y)
    assert found.status == "overlapping"
    assert found.direction is None
    assert found.weights.min() > 0
    signed = np.column_stack([X, np.ones(300)]) * np.where(y, 1, -1)[:, None]
    assert_allclose((found.weights @ signed) / (found.weights @ np.abs(signed)), 0, atol=1e-10)


def test_a_logistic_fit_decides_overlap_in_one_walk(rng):
    X = rng.standard_normal((500, 3))
    y = rng.uniform(size=500) < 1 / (1 + np.exp(-X @ [3.0, -2.0, 1.0]))
    fit = LogisticRegression(C=np.inf).fit(X, y)
    found = separability(X, y, start=(fit.coef_, fit.intercept_))
    assert (found.status, found.n_iter) == ("overlapping", 1)
    probabilities = fit.predict_proba(X)[np.arange(500), 1 - y.astype(int)]
    assert separability(X, y, weights=probabilities).n_iter == 1
    several = rng.integers(0, 3, 500)
    fit = LogisticRegression(C=np.inf).fit(X, several)
    assert separability(X, several, start=(fit.coef_, fit.intercept_)).n_iter == 1


@pytest.mark.parametrize("status", ["separable", "quasi-separable", "overlapping"])
def test_a_wrong_answer_does_not_pass_the_check(status):
    x = {"separable": [0.0, 1, 2, 3], "quasi-separable": [0.0, 1, 1, 3], "overlapping": [0.0, 2, 1, 3]}[
        status
    ]
    X, y = np.array(x)[:, None], np.array([0, 0, 1, 1])
    found = separability(X, y)
    assert found.status == status
    assert found.certify(X, y).holds
    if found.direction is not None:
        assert not found._replace(direction=-found.direction).certify(X, y).holds
        assert not found._replace(intercept=found.intercept + 5).certify(X, y).holds
    if found.weights is not None:
        assert not found._replace(weights=found.weights * [1, 9, 1, 1]).certify(X, y).holds
        assert not found._replace(weights=-found.weights).certify(X, y).holds
    swapped = y.copy()
    swapped[[0, 3]] = [1, 0]
    assert not found.certify(X, swapped).holds


def test_the_programme_is_handed_violated_rows_only_when_there_are_many(rng):
    X = rng.standard_normal((20_000, 3))
    X[:, 0] = rng.uniform(size=20_000) < 0.01
    y = rng.uniform(size=20_000) < 0.5
    y[X[:, 0] == 1] = True
    found = separability(X, y, max_iter=0)
    assert found.status == "quasi-separable"
    assert found.n_strict == int(X[:, 0].sum())
    assert found.certificates.holds


def test_weights_of_zero_leave_rows_out_and_other_weights_do_not_matter(rng):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0], [5.0]]), np.array([0, 0, 1, 1, 0])
    assert separability(X, y).status == "overlapping"
    found = separability(X, y, sample_weight=[1, 1, 1, 1, 0])
    assert found.status == "separable"
    assert found.certify(X, y, sample_weight=[1, 1, 1, 1, 0]).holds
    assert separability(X, y, sample_weight=[1, 2, 3, 4, 1e-9]).status == "overlapping"


@pytest.mark.parametrize("change", ["float32", "sparse", "duplicated", "constant", "collinear", "scaled"])
def test_the_form_of_the_table_does_not_change_the_answer(change, rng):
    X = rng.integers(-3, 4, (40, 3)).astype(float)
    y = X @ [1.0, 1.0, -1.0] + rng.standard_normal(40) > 0
    before = separability(X, y)
    table = {
        "float32": lambda: X.astype(np.float32),
        "sparse": lambda: sparse.csr_array(X),
        "duplicated": lambda: np.vstack([X, X]),
        "constant": lambda: np.column_stack([X, np.full(40, 7.0)]),
        "collinear": lambda: np.column_stack([X, X[:, 0] - X[:, 1]]),
        "scaled": lambda: X * [1e8, 1e-8, 1.0],
    }[change]()
    found = separability(table, np.tile(y, 2) if change == "duplicated" else y)
    assert found.status == before.status
    assert found.certificates.holds


def test_any_labels_will_do():
    X = [[0.0], [1.0], [2.0], [3.0]]
    assert separability(X, ["no", "no", "yes", "yes"]).status == "separable"
    found = separability(X, ["a", "b", "c", "c"])
    assert found.status == "separable"
    assert found.direction.shape == (3, 1)
    scores = np.array(X) @ found.direction.T + found.intercept
    assert np.argmax(scores, axis=1).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"X": [[np.nan], [1.0]]}, "X"),
        ({"X": [[np.inf], [1.0]]}, "X"),
        ({"X": [1.0, 2.0]}, "X"),
        ({"X": [["a"], ["b"]]}, "X"),
        ({"X": np.empty((0, 2)), "y": []}, "X"),
        ({"y": [0, 0]}, "y"),
        ({"y": [0, 1, 1]}, "y"),
        ({"X": [[1.0]], "y": [1]}, "y"),
        ({"sample_weight": [1.0, -1.0]}, "sample_weight"),
        ({"sample_weight": [1.0]}, "sample_weight"),
        ({"sample_weight": [1.0, 0.0]}, "y"),
        ({"weights": [1.0]}, "weights"),
        ({"start": 3}, "start"),
        ({"start": ([np.nan], 0.0)}, "start"),
        ({"start": ([1.0, 2.0], 0.0)}, "start"),
        ({"max_iter": -1}, "max_iter"),
        ({"fit_intercept": 1}, "fit_intercept"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, name):
    with pytest.raises(ParameterError, match=f"'{name}' parameter of separability"):
        separability(**{"X": [[0.0], [1.0]], "y": [0, 1], **arguments})
