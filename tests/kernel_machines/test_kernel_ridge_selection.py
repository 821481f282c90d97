"""The penalty and the width that a kernel ridge chooses for itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from assay.kernel_machines import KernelRidge


@pytest.fixture
def wave(rng):
    X = rng.uniform(-2, 2, size=(50, 2))
    return X, np.sin(3 * X[:, 0]) + 0.2 * rng.normal(size=50)


@pytest.mark.spec("wei/M6.5")
def test_the_error_is_that_of_leaving_each_row_out(wave):
    X, y = wave
    machine = KernelRidge(kernel="rbf", fit_intercept=True)
    chosen = machine.select(X, y, penalty_strengths=[0.001, 0.1], gammas=[0.2, 1.0])
    for g, gamma in enumerate((0.2, 1.0)):
        for s, strength in enumerate((0.001, 0.1)):
            fit = clone(machine).set_params(alpha=strength * 50, gamma=gamma)
            left_out = [
                fit.fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0] for i in range(50)
            ]
            assert chosen.curve.reshape(2, 2)[g, s] == pytest.approx(np.mean((y - left_out) ** 2))
    g, s = np.unravel_index(np.argmin(chosen.curve), (2, 2))
    assert (chosen.best["gamma"], chosen.best["penalty_strength"]) == ((0.2, 1.0)[g], (0.001, 0.1)[s])
    assert (chosen.model.gamma, chosen.model.penalty_strength_) == (
        chosen.best["gamma"],
        pytest.approx(chosen.best["penalty_strength"]),
    )


def test_the_choice_beats_the_defaults_on_rows_it_has_not_seen(wave, rng):
    X, y = wave
    new = rng.uniform(-2, 2, size=(500, 2))
    truth = np.sin(3 * new[:, 0])
    machine = KernelRidge(kernel="rbf", fit_intercept=True)
    chosen, default = machine.select(X, y).model, clone(machine).fit(X, y)
    assert np.mean((chosen.predict(new) - truth) ** 2) < np.mean((default.predict(new) - truth) ** 2)
    assert not hasattr(machine, "dual_coef_")


def test_beyond_max_rows_a_sample_decides_and_all_rows_are_fitted(wave):
    X, y = wave
    chosen = KernelRidge(kernel="rbf").select(X, y, max_rows=20, random_state=3)
    again = KernelRidge(kernel="rbf").select(X, y, max_rows=20, random_state=3)
    assert len(chosen.model.dual_coef_) == 50
    assert_allclose(chosen.curve, again.curve)


def test_a_kernel_without_a_width_chooses_the_penalty_alone(wave):
    X, y = wave
    chosen = KernelRidge(kernel="linear").select(X, y)
    assert chosen.curve.shape == (27,)
    assert np.isnan(chosen.best["gamma"])
    gram = X @ X.T
    same = KernelRidge(kernel="precomputed").select(gram, y)
    assert same.best["penalty_strength"] == chosen.best["penalty_strength"]


@pytest.mark.parametrize("bad", [[], [-1.0], [np.nan], "many"])
def test_grids_that_are_none_are_refused(wave, bad):
    with pytest.raises(ValueError, match=r"The 'gammas' parameter of KernelRidge\.select must be"):
        KernelRidge(kernel="rbf").select(*wave, gammas=bad)


def test_many_rows_search_the_two_widths_that_win_on_a_part(rng):
    X = rng.normal(size=(600, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=600)
    machine, widths = KernelRidge(kernel="rbf", fit_intercept=True), np.array([0.001, 0.5, 1.0, 50.0])
    strengths = np.array([0.001, 0.01, 0.1])
    chosen = machine.select(X, y, gammas=widths, penalty_strengths=strengths)
    curve = chosen.curve.reshape(4, 3)
    searched = np.flatnonzero(np.isfinite(curve).all(axis=1))
    np.testing.assert_array_equal(searched, [1, 2])
    for place in searched:
        path = KernelRidge(kernel="rbf", fit_intercept=True, gamma=widths[place]).path(X, y, strengths * 600)
        np.testing.assert_allclose(curve[place], path.leave_one_out_error)
    assert chosen.best["gamma"] in (0.5, 1.0)
    assert chosen.curve[chosen.index] == np.nanmin(chosen.curve)
