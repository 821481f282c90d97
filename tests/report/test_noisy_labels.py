"""Labels that are wrong at random look noisy; classes that overlap do not."""

from __future__ import annotations

import numpy as np
import pytest

from assay.report.trials.scoring.noisy_labels import LEVEL, contradicting_rows

LABELS = np.array([0, 1])
N_DRAWS = 150


def share_of_alarms(rng, slope, flips, n_rows):
    """How often labels of P(1 | x) = 1 / (1 + exp(−slope x)), some of them turned around, look noisy."""
    alarms = 0
    for _ in range(N_DRAWS):
        chance = 1 / (1 + np.exp(-slope * rng.normal(size=n_rows)))
        y = (rng.random(n_rows) < chance) ^ (rng.random(n_rows) < flips)
        told = (1 - flips) * chance + flips * (1 - chance)  # what a model learns from such labels
        told = np.clip(told, 1e-12, 1 - 1e-12)
        said = 1 / (1 + np.exp(-np.log(told / (1 - told)) - 0.3 * rng.normal(size=n_rows)))
        alarms += contradicting_rows(y.astype(int), np.column_stack([1 - said, said]), LABELS).size > 0
    return alarms / N_DRAWS


@pytest.mark.parametrize("slope", [0.0, 1.0, 2.0, 5.0, 50.0])
@pytest.mark.parametrize("n_rows", [120, 1000])
def test_classes_that_overlap_do_not_look_noisy(rng, slope, n_rows):
    assert share_of_alarms(rng, slope, 0.0, n_rows) <= LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / N_DRAWS)


CHANCES = {
    "heavy tails": lambda rng, n: 0.5 + np.arctan(rng.standard_cauchy(n)) / np.pi,
    "a rare class": lambda rng, n: 1 / (1 + np.exp(4 - 2 * rng.normal(size=n))),
    "two sides": lambda rng, n: 1 / (1 + np.exp(2 - 2 * rng.normal(size=n) ** 2)),
    "few values": lambda rng, n: np.array([0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99])[rng.integers(0, 7, n)],
    "shares at random": lambda rng, n: rng.random(n),
}


@pytest.mark.parametrize("law", CHANCES)
@pytest.mark.parametrize("n_rows", [160, 640])
def test_clean_labels_of_other_laws_do_not_look_noisy(rng, law, n_rows):
    """Known chances, and chances known up to noise: how strange a clean label is falls as they get surer."""
    alarms = 0
    for draw in range(N_DRAWS):
        chance = np.clip(CHANCES[law](rng, n_rows), 1e-9, 1 - 1e-9)
        y = (rng.random(n_rows) < chance).astype(int)
        odds = np.log(chance / (1 - chance)) + (draw % 2) * 0.5 * rng.normal(size=n_rows)
        said = 1 / (1 + np.exp(-odds))
        alarms += contradicting_rows(y, np.column_stack([1 - said, said]), LABELS).size > 0
    assert alarms / N_DRAWS <= LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / N_DRAWS)


def test_clean_labels_of_three_classes_do_not_look_noisy(rng):
    alarms, n_rows = 0, 400
    for _ in range(N_DRAWS):
        centre = rng.normal(size=(n_rows, 3)) * 1.5
        shares = np.exp(centre) / np.exp(centre).sum(axis=1, keepdims=True)
        y = (shares.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1)
        alarms += contradicting_rows(y, shares, np.arange(3)).size > 0
    assert alarms / N_DRAWS <= LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / N_DRAWS)


def test_labels_turned_around_look_noisy_the_more_rows_the_surer(rng):
    few, many = (share_of_alarms(rng, 10.0, 0.1, n_rows) for n_rows in (300, 2000))
    assert few > 0.2
    assert many > 0.9


def test_the_rows_are_those_turned_around(rng):
    x = rng.normal(size=2000)
    right, turned = x > 0, rng.random(2000) < 0.1
    chance = np.clip(0.5 + 2 * x, 0.1, 0.9)
    rows = contradicting_rows((right ^ turned).astype(int), np.column_stack([1 - chance, chance]), LABELS)
    assert turned[rows].all()
    assert rows.size > 0.8 * turned[np.argsort(-np.abs(chance - 0.5), kind="stable")[:1000]].sum()
