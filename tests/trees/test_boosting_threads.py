"""Trees grown by several threads inside one compiled loop: what each does must not be seen in the tree."""

from __future__ import annotations

import numpy as np
import pytest

from assay.rows import ordered_map, threads
from assay.trees import HistGradientBoostingRegressor
from assay.trees.boosting import table as tables
from assay.trees.growing.binned.histograms import make_shard
from assay.trees.growing.binned.team import (
    DONE,
    TICKET,
    claim_task,
    draw_rows,
    is_blind,
    make_team,
    post,
)


@pytest.fixture
def team():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (90, 3)).astype(np.uint8)
    statistics = rng.integers(-50, 50, (90, 2)).astype(np.int32)
    return make_team(codes, statistics, np.array([0, 20, 55, 90]), 6, 7)


def python(function):
    """A compiled part as Python runs it, with signals that count as atomic ones do."""
    signal = {
        "load": lambda signals, place: int(signals[place]),
        "store": lambda signals, place, value: signals.__setitem__(place, value),
        "count_up": _count_up,
    }
    own = function.py_func
    known = {
        name: python(value) if hasattr(value, "py_func") else value
        for name, value in own.__globals__.items()
        if name in own.__code__.co_names
    }
    return type(own)(own.__code__, {**own.__globals__, **known, **signal}, own.__name__)


def _count_up(signals, place):
    signals[place] += 1
    return int(signals[place]) - 1


def test_each_task_of_a_stage_is_claimed_once(team):
    signals = team.signals
    for n_tasks in (3, 1, 0, 2):
        python(post)(0, n_tasks, team.task, signals)
        assert signals[DONE] == 0
        claimed = [python(claim_task)(signals) for _ in range(6)]
        assert claimed == [*range(n_tasks)] + [-1] * (6 - n_tasks)
    ticket = int(signals[TICKET])
    python(post)(0, 2, team.task, signals)
    assert signals[TICKET] > ticket  # a late thread cannot take an old ticket for one of this stage


def test_shards_of_a_team_are_those_of_their_rows(team):
    for own, (start, stop) in zip(team.shards(), [(0, 20), (20, 55), (55, 90)], strict=True):
        alone = make_shard(team.shard.codes[start:stop], team.shard.statistics[start:stop], 6, 7)
        for mine, other in zip(own, alone, strict=True):
            if isinstance(mine, np.ndarray) and mine.dtype != np.int64 and mine is not own.buffer:
                np.testing.assert_array_equal(mine, other)
        assert own.bounds.shape == alone.bounds.shape
        assert own.packed.shape == alone.packed.shape
        assert own.bounds.base is not None  # what a shard writes, the team sees


def test_units_are_too_coarse_only_where_they_are_on_all_shards(team):
    shards = team.shards()
    low = team._replace(shard=team.shard._replace(narrow=100, curved=10))
    for place, own in enumerate(shards):
        own.ranges[2] = (40 * place, 40 * place + 30, 4 * place + 3)
    assert not is_blind.py_func(2, low, 3)  # from 0 to 110, curvatures up to 11
    shards[2].ranges[2] = (40, 90, 11)
    assert is_blind.py_func(2, low, 3)
    shards[2].ranges[2] = (80, 110, 9)
    assert is_blind.py_func(2, low, 3)


def test_all_rows_are_drawn_in_order_by_a_share_of_one():
    rows = np.arange(50, dtype=np.int32)[::-1].copy()
    assert draw_rows(rows, 0, 1.0, np.uint64(3)) == 50
    assert rows.tolist() == [*range(50)]
    whole = np.empty(3000, dtype=np.int32)
    count = draw_rows(whole, 0, 0.3, np.uint64(3))
    assert abs(count - 900) < 5 * np.sqrt(3000 * 0.3 * 0.7)
    parts = np.empty(3000, dtype=np.int32)
    first = draw_rows(parts[:1100], 0, 0.3, np.uint64(3))
    second = draw_rows(parts[1100:], 1100, 0.3, np.uint64(3))
    together = [*parts[:first], *(parts[1100 : 1100 + second] + 1100)]
    assert together == whole[:count].tolist()


def test_threads_that_come_late_or_never_change_no_bit(monkeypatch):
    """Inside a walk the leading thread is alone until the tree is finished; five threads share few cores."""
    monkeypatch.setattr(tables, "SMALL", 100)
    rng = np.random.default_rng(4)
    X = rng.standard_normal((3000, 4))
    y = X[:, 0] * X[:, 1] + rng.standard_normal(3000)

    def fit(_: int = 0) -> HistGradientBoostingRegressor:
        return HistGradientBoostingRegressor(max_iter=6, random_state=0).fit(X, y)

    with threads(1):
        alone = fit().trees_
    with threads(5):
        many, nested = fit().trees_, next(ordered_map(fit, [0])).trees_
    for field in ("feature", "threshold", "value", "weight", "gain"):
        np.testing.assert_array_equal(getattr(many, field), getattr(alone, field))
        np.testing.assert_array_equal(getattr(nested, field), getattr(alone, field))
