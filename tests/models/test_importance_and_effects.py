"""What a column is worth, and how a prediction moves with it, against laws that are known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.models.effects import (
    accumulated_local_effects,
    asked_together,
    bins_of,
    dependence_question,
    local_question,
    partial_dependence,
    quantile_edges,
)
from assay.models.importance import permutation_importance, squared_error

BETA = np.array([3.0, -1.0, 0.5, 0.0])


def linear(X):
    return X @ BETA


def test_the_importance_in_a_linear_law_is_twice_beta_squared_times_the_variance(rng):
    n, scales = 4000, np.array([1.0, 2.0, 3.0, 5.0])
    X = rng.normal(size=(n, 4)) * scales
    y = linear(X) + rng.normal(size=n)
    measured = permutation_importance(linear, X, y, random_state=0, n_repeats=5)
    exact = 2 * BETA**2 * scales**2
    assert np.all(np.abs(measured.mean - exact)[:3] <= 3 * measured.standard_error[:3])
    assert measured.mean[3] == 0 == measured.standard_error[3]


def test_a_column_that_the_model_uses_but_that_is_noise_is_worth_nothing(rng):
    """f = b·x with y independent of x: shuffling changes nothing on average, whatever b is."""
    X, y = rng.normal(size=(5000, 2)), rng.normal(size=5000)
    measured = permutation_importance(lambda X: 0.7 * X[:, 0], X, y, random_state=1)
    assert abs(measured.mean[0]) <= 3 * measured.standard_error[0]


def test_all_cycles_together_give_the_mean_over_all_other_rows(rng):
    """Each row meets every other equally often: the mean over many repeats is the U-statistic."""
    X, y = rng.normal(size=(6, 1)), rng.normal(size=6)
    pairs = [(i, j) for i, j in itertools.product(range(6), repeat=2) if i != j]
    exact = np.mean([(y[i] - X[j, 0]) ** 2 - (y[i] - X[i, 0]) ** 2 for i, j in pairs])
    runs = [
        permutation_importance(lambda X: X[:, 0], X, y, n_repeats=5, random_state=seed).mean[0]
        for seed in range(600)
    ]
    assert abs(np.mean(runs) - exact) <= 3 * np.std(runs) / np.sqrt(600)


def test_features_of_one_group_are_shuffled_together(rng):
    """x₀ − x₁ of one row is what the model reads: shuffled apart, the two would seem worth far more."""
    shared = 10 * rng.normal(size=500)
    X = np.column_stack([shared, shared - rng.normal(size=500)])

    def predict(X):
        return X[:, 0] - X[:, 1]

    y = predict(X)
    together = permutation_importance(predict, X, y, groups=[[0, 1]], random_state=0).mean[0]
    apart = permutation_importance(predict, X, y, random_state=0).mean
    assert_allclose(together, 2 * y.var(), rtol=0.2)
    assert apart.min() > 50 * together


def test_losses_of_probabilities_are_taken_too(rng):
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)

    def probabilities(X):
        share = 1 / (1 + np.exp(-5 * X[:, 0]))
        return np.column_stack([1 - share, share])

    def log_loss(y, table):
        return -np.log(table[np.arange(len(y)), y])

    mean = permutation_importance(probabilities, X, y, log_loss, random_state=0).mean
    assert mean[0] > 0.5
    assert mean[1] == 0


def test_pieces_do_not_change_the_numbers(rng, monkeypatch):
    X = rng.normal(size=(20, 3))
    y = X.sum(axis=1)
    whole = permutation_importance(lambda X: X @ [1.0, 2.0, 3.0], X, y, random_state=0)
    curve = partial_dependence(lambda X: X.prod(axis=1), X, [1], np.arange(5.0))
    monkeypatch.setattr("assay.models.importance.PREDICTED_AT_ONCE", 1)
    monkeypatch.setattr("assay.models.importance.WIDE_ROWS", 1)
    again = permutation_importance(lambda X: X @ [1.0, 2.0, 3.0], X, y, random_state=0)
    assert_allclose(whole.increases, again.increases)
    assert_allclose(curve, partial_dependence(lambda X: X.prod(axis=1), X, [1], np.arange(5.0)))


@pytest.mark.parametrize("numbers", [1, 150, 1 << 22])
def test_columns_are_asked_about_together_and_get_the_curves_that_they_have_alone(rng, monkeypatch, numbers):
    monkeypatch.setattr("assay.models.importance.PREDICTED_AT_ONCE", numbers)
    monkeypatch.setattr("assay.models.importance.WIDE_ROWS", 1)
    X, edges, calls = rng.normal(size=(20, 3)), np.array([-2.0, 0.0, 2.0]), []

    def predict(rows):
        calls.append(len(rows))
        return np.column_stack([rows.prod(axis=1), rows[:, 1] ** 2])

    where = bins_of(X[:, 1], edges)
    questions = [dependence_question(X, [0], edges), local_question(X, [1], where, edges)]
    questions.append(dependence_question(X[:5], [1, 2], np.eye(2)))
    curves = asked_together(predict, questions)
    assert sum(calls) == 3 * 20 + 2 * 20 + 2 * 5
    assert len(calls) == {1: 6, 150: 3, 1 << 22: 1}[numbers]
    alone = (
        partial_dependence(predict, X, [0], edges),
        accumulated_local_effects(predict, X, [1], where, edges),
        partial_dependence(predict, X[:5], [1, 2], np.eye(2)),
    )
    for curve, expected in zip(curves, alone, strict=True):
        assert_allclose(curve, expected)


def test_a_question_makes_its_rows_when_its_turn_comes(rng, monkeypatch):
    """Of a wide table, those of all columns together would fill the memory."""
    monkeypatch.setattr("assay.models.importance.PREDICTED_AT_ONCE", 150)
    monkeypatch.setattr("assay.models.importance.WIDE_ROWS", 1)
    X, edges, made, held = rng.normal(size=(20, 3)), np.arange(5.0), [], []

    def noted(question):
        answers = None
        while True:
            try:
                rows = question.send(answers)
            except StopIteration as end:
                return end.value
            made.append(rows.size)
            answers = yield rows

    def predict(rows):
        held.append(sum(made))
        made.clear()
        return rows.sum(axis=1)

    curves = asked_together(predict, [noted(dependence_question(X, [k % 3], edges)) for k in range(6)])
    assert_allclose(curves[0], np.arange(5.0) + X[:, 1:].sum(axis=1).mean())
    assert max(held) <= 2 * 150
    assert len(held) == 15


def test_columns_are_shuffled_too_where_each_row_has_several_answers(rng):
    """As where columns are screened by how far they move the probabilities of the classes."""
    X = rng.normal(size=(30, 3))

    def both(rows):
        return np.column_stack([rows[:, 0], rows[:, 0] - rows[:, 1]])

    def moved(before, after):
        return np.square(after - before).sum(axis=1)

    measured = permutation_importance(both, X, both(X), moved, n_repeats=3, random_state=0)
    apart = [
        permutation_importance(
            lambda rows, k=k: both(rows)[:, k], X, both(X)[:, k], n_repeats=3, random_state=0
        )
        for k in range(2)
    ]
    assert_allclose(measured.increases, apart[0].increases + apart[1].increases)
    assert measured.mean[0] > 0 < measured.mean[1]
    assert measured.mean[2] == 0


def test_all_columns_and_repeats_are_shuffled_in_one_call(rng):
    X, calls = rng.normal(size=(20, 3)), []
    permutation_importance(lambda rows: calls.append(len(rows)) or rows[:, 0], X, X[:, 0], n_repeats=2)
    assert calls == [20, 3 * 2 * 20]


def test_too_few_rows_or_repeats_are_refused():
    with pytest.raises(ValueError, match="two rows"):
        permutation_importance(linear, np.ones((1, 4)), np.ones(1))
    with pytest.raises(ValueError, match="n_repeats"):
        permutation_importance(linear, np.ones((3, 4)), np.ones(3), n_repeats=0)


def test_squared_errors_are_those_of_rows():
    assert squared_error(np.array([1.0, 2.0]), [3.0, 2.0]).tolist() == [4.0, 0.0]


def test_partial_dependence_is_the_mean_over_rows_with_the_value_set(rng):
    X = rng.normal(size=(40, 3))

    def predict(X):
        return np.sin(X[:, 0]) * X[:, 2] + X[:, 1]

    values = np.array([-1.0, 0.0, 2.0])
    expected = []
    for value in values:
        moved = X.copy()
        moved[:, 0] = value
        expected.append(predict(moved).mean())
    assert_allclose(partial_dependence(predict, X, [0], values), expected)


def test_partial_dependence_of_marks_and_of_several_outputs(rng):
    X = rng.normal(size=(10, 3))
    settings = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    curve = partial_dependence(lambda X: np.column_stack([X[:, 1], X[:, 2] + X[:, 0]]), X, [1, 2], settings)
    assert curve.shape == (3, 2)
    assert_allclose(curve[:, 0], [0, 1, 0])
    assert_allclose(curve[:, 1] - X[:, 0].mean(), [0, 0, 1], atol=1e-12)


def test_local_effects_are_right_under_correlation_where_partial_dependence_is_wrong(rng):
    """f = x₀² where x₁ is near x₀, and 40 elsewhere: partial dependence mostly asks elsewhere."""
    x = rng.uniform(-2, 2, size=3000)
    X = np.column_stack([x, x + 0.05 * rng.normal(size=3000)])

    def predict(X):
        return np.where(np.abs(X[:, 0] - X[:, 1]) < 0.6, X[:, 0] ** 2, 40.0)

    edges = quantile_edges(x, 20)
    truth = edges**2 - np.mean(x**2)
    local = accumulated_local_effects(predict, X, [0], bins_of(x, edges), edges)
    partial = partial_dependence(predict, X, [0], edges)
    assert np.max(np.abs(local - truth)) < 0.1
    assert np.max(np.abs(partial - partial.mean() - truth)) > 1.0


def test_local_effects_of_a_sum_are_its_terms_however_columns_go_together(rng):
    x = rng.normal(size=2000)
    X = np.column_stack([x, 0.95 * x + 0.3 * rng.normal(size=2000)])
    edges = quantile_edges(x, 10)
    curve = accumulated_local_effects(
        lambda X: np.exp(X[:, 0]) + 9 * X[:, 1], X, [0], bins_of(x, edges), edges
    )
    assert_allclose(np.diff(curve), np.diff(np.exp(edges)), rtol=1e-12)
    counts = np.bincount(bins_of(x, edges))
    assert_allclose(counts @ (curve[:-1] + curve[1:]), 0.0, atol=1e-9)


def test_rows_without_a_value_are_left_out_and_an_empty_bin_asks_the_rows_of_the_nearest():
    x = np.array([0.0, 1.0, np.nan, 9.0])
    edges = np.array([0.0, 1.0, 5.0, 9.0])
    where = bins_of(x, edges)
    assert where.tolist() == [0, 0, -1, 2]
    curve = accumulated_local_effects(lambda X: X[:, 0], x[:, None], [0], where, edges)
    assert_allclose(np.diff(curve), [1.0, 4.0, 4.0])
    with pytest.raises(ValueError, match="two different values"):
        accumulated_local_effects(lambda X: X[:, 0], x[:, None], [0], where, edges[:1])


def test_edges_are_different_values_of_the_column():
    assert quantile_edges(np.array([1.0, 1.0, 1.0, 2.0, np.nan]), 10).tolist() == [1.0, 2.0]
    assert quantile_edges(np.array([np.nan])).size == 0
