"""Forests from memory, from files and from Dask."""

from __future__ import annotations

from concurrent.futures import CancelledError

import numpy as np
import pytest

from assay.trees import ExtraTreesClassifier, RandomForestRegressor
from assay.trees.forest import base, workers

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table(with_gaps):
    X, y, weight = with_gaps
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    return names, frame.assign(y=y, label=np.digitize(y, [100.0, 180.0]).astype(float), w=weight)


@pytest.mark.parametrize(("kind", "target"), [(RandomForestRegressor, "y"), (ExtraTreesClassifier, "label")])
def test_every_source_gives_the_forest_of_memory(table, tmp_path, small_blocks, kind, target):
    names, frame = table
    used = frame[[*names, target, "w"]]
    model = kind(3, random_state=0, categorical_features=[1])
    kept = model.fit(*(used[name].to_numpy() for name in (names, target, "w"))).trees_
    pq.write_table(
        pa.Table.from_pandas(used, preserve_index=False), tmp_path / "rows.parquet", row_group_size=70
    )
    assert model.fit(tmp_path / "rows.parquet", target, "w").trees_ == kept
    assert model.fit(dd.from_pandas(used, npartitions=4), target, "w").trees_ == kept


def test_bins_of_a_sample_are_the_same_everywhere(table, tmp_path, small_blocks, monkeypatch):
    monkeypatch.setattr("assay.trees.forest.solver.EDGE_ROWS", 90)
    names, frame = table
    used = frame[[*names, "y", "w"]]
    pq.write_table(pa.Table.from_pandas(used, preserve_index=False), tmp_path / "rows.parquet")
    model = RandomForestRegressor(2, random_state=0)
    kept = model.fit(*(used[name].to_numpy() for name in (names, "y", "w"))).trees_
    assert model.fit(tmp_path / "rows.parquet", "y", "w").trees_ == kept


def test_tables_too_large_for_a_forest_are_refused_with_a_way_out(table, monkeypatch):
    names, frame = table
    monkeypatch.setattr(base, "MAX_CODES", 1000)
    with pytest.raises(ValueError, match="fit on a sample of the rows, or boost trees"):
        RandomForestRegressor(2).fit(dd.from_pandas(frame[[*names, "y"]], npartitions=2), "y")


class Future:
    def __init__(self, result, lost):
        self._result, self._lost = result, lost

    def result(self):
        if self._lost:
            raise CancelledError
        return self._result


class Client:
    """A cluster of one worker that loses what it was sent once."""

    def __init__(self, n_losses):
        self.n_sent, self.n_losses, self.cancelled = 0, n_losses, []

    def nthreads(self):
        return {"worker": 1}

    def scatter(self, values, **options):
        assert options == {"broadcast": True, "hash": False}
        self.n_sent += 1
        return values

    def submit(self, function, forest, seed, **options):
        self.n_losses -= 1
        return Future(function(forest, seed), self.n_losses >= 0)

    def cancel(self, futures):
        self.cancelled += futures


class Doubling:
    def grow(self, seed):
        return 2 * seed


def test_codes_that_all_workers_lost_are_sent_again_a_few_times():
    client = Client(1)
    assert list(workers.grow_on_workers(client, Doubling(), iter([1, 2, 3]))) == [2, 4, 6]
    assert client.n_sent == 2
    with pytest.raises(CancelledError):
        list(workers.grow_on_workers(Client(100), Doubling(), iter([1])))


def test_trees_that_nobody_waits_for_are_cancelled():
    client = Client(0)
    trees = workers.grow_on_workers(client, Doubling(), iter(range(10)))
    assert next(trees) == 0
    trees.close()
    assert len(client.cancelled) == 1
