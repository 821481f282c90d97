"""Randomness: every kind of seed, independent children, nothing global."""

from __future__ import annotations

import numpy as np
import pytest

from assay.randomness import generator, spawn, spawn_each


@pytest.mark.parametrize(
    "make",
    [
        lambda: 7,
        lambda: np.int64(7),
        lambda: np.random.default_rng(7),
        lambda: np.random.SeedSequence(7),
        lambda: np.random.RandomState(7),
    ],
)
def test_the_same_seed_gives_the_same_numbers(make):
    assert np.array_equal(generator(make()).random(5), generator(make()).random(5))
    first, second = spawn(make(), 3), spawn(make(), 3)
    assert [child.random() for child in first] == [child.random() for child in second]


def test_children_are_different():
    values = {child.random() for child in spawn(0, 50)}
    assert len(values) == 50


def test_more_children_keep_the_first_ones():
    assert [c.random() for c in spawn(1, 2)] == [c.random() for c in spawn(1, 5)[:2]]


def test_a_seed_sequence_is_not_advanced():
    sequence = np.random.SeedSequence(3)
    assert [c.random() for c in spawn(sequence, 2)] == [c.random() for c in spawn(sequence, 2)]


def test_a_generator_advances_like_scikit_learns_states():
    source = np.random.default_rng(0)
    assert generator(source) is source
    assert spawn(source, 1)[0].random() != spawn(source, 1)[0].random()


@pytest.mark.parametrize("bad", ["seed", -1, 1.5, True])
def test_other_things_are_refused(bad):
    with pytest.raises(ValueError, match="'random_state' parameter must be None, a non-negative int"):
        generator(bad)


def test_a_billion_children_are_made_one_at_a_time():
    children = spawn_each(np.random.SeedSequence(4), 10**9)
    assert [next(children).random() for _ in range(3)] == [child.random() for child in spawn(4, 3)]
