"""Boosted trees from memory, from files and from Dask: the same arrays, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from assay.losses import Huber, Squared
from assay.trees import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    Sampling,
    Stopping,
)
from assay.trees.boosting import gathering
from assay.trees.boosting.distributed import steps
from assay.trees.boosting.distributed import table as cluster

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

NAMES = [f"x{j}" for j in range(6)]


@pytest.fixture(scope="module")
def table():
    """Numbers with missing values and a column of levels; labels, numbers, whole weights and others."""
    random = np.random.default_rng(0)
    X = random.standard_normal((700, 6))
    X[::11, 2] = np.nan
    X[:, 5] = random.integers(0, 9, 700)
    number = 3 * X[:, 0] + X[:, 1] ** 2 + 2 * np.isin(X[:, 5], (1, 4, 7)) + random.standard_normal(700)
    weight = random.random(700) * (random.random(700) > 0.2)
    return pd.DataFrame(X, columns=NAMES).assign(
        label=np.digitize(number, [1.0]).astype(float),
        third=np.digitize(number, [0.0, 2.0]).astype(float),
        number=number,
        outlier=np.where(np.arange(700) == 333, 1e12, number),
        count=np.rint(np.abs(number)),
        whole=random.integers(0, 4, 700).astype(float),
        weight=weight,
    )


CASES = {
    "rows drawn": (HistGradientBoostingClassifier, "label", None, {"subsample": 0.7}),
    "rows and columns drawn for each tree, held out": (
        HistGradientBoostingClassifier,
        "third",
        None,
        {"subsample": Sampling(rows=0.7, columns=0.5), "early_stopping": Stopping(tol=1e-3)},
    ),
    "held out, categories": (
        HistGradientBoostingClassifier,
        "label",
        "whole",
        {"early_stopping": True, "categorical_features": [5]},
    ),
    "balanced, columns drawn": (
        HistGradientBoostingClassifier,
        "label",
        "weight",
        {"class_weight": "balanced", "max_leaf_nodes": None, "max_features": 0.5},
    ),
    "margin, monotone, line search": (
        HistGradientBoostingClassifier,
        "label",
        "weight",
        {"loss": "exponential", "line_search": "leaf", "monotonic_cst": [1, 0, 0, 0, 0, 0]},
    ),
    "three classes": (HistGradientBoostingClassifier, "third", "whole", {}),
    "groups of columns": (
        HistGradientBoostingRegressor,
        "number",
        "weight",
        {"interaction_cst": [{0, 1}, {2, 3, 4, 5}]},
    ),
    "absolute, held out": (
        HistGradientBoostingRegressor,
        "number",
        None,
        {"loss": "absolute_error", "early_stopping": True},
    ),
    "two quantiles": (
        HistGradientBoostingRegressor,
        "number",
        "weight",
        {"loss": "quantile", "quantile": [0.1, 0.9]},
    ),
    "counts, few leaves": (
        HistGradientBoostingRegressor,
        "count",
        None,
        {"loss": "poisson", "max_leaf_nodes": 7, "min_samples_leaf": 1},
    ),
    "one number of 10¹²": (HistGradientBoostingRegressor, "outlier", "weight", {"learning_rate": 1.0}),
    "one number of 10¹², another loss": (
        HistGradientBoostingRegressor,
        "outlier",
        None,
        {"loss": Huber(), "line_search": "leaf"},
    ),
    "a scorer, held out": (
        HistGradientBoostingRegressor,
        "number",
        "whole",
        {"early_stopping": True, "scoring": "r2"},
    ),
    "numbers kept aside": (
        HistGradientBoostingRegressor,
        "number",
        "weight",
        {"early_stopping": True, "calibration": 0.3},
    ),
    "classes kept aside": (
        HistGradientBoostingClassifier,
        "label",
        None,
        {"class_weight": "balanced", "calibration": 0.3, "calibration_method": "sigmoid"},
    ),
}


@pytest.mark.parametrize("place", ["parquet", "dask"])
@pytest.mark.parametrize("case", CASES)
def test_every_source_gives_the_trees_of_memory(table, tmp_path, small_blocks, case, place):
    kind, target, weight, options = CASES[case]
    used = table[[*NAMES, target, *([weight] if weight else [])]]
    model = kind(max_iter=5, random_state=0, **options)
    memory = model.fit(
        used[NAMES].to_numpy(), used[target].to_numpy(), None if weight is None else used[weight].to_numpy()
    )
    kept = (memory.trees_, memory.columns_, memory.train_score_, memory.validation_score_)
    names = ("calibration_rows_", "calibration_scores_", "calibration_weight_")
    aside = {name: getattr(memory, name) for name in names if hasattr(memory, name)}
    assert ("calibration" in options) == bool(aside)
    if place == "parquet":  # pandas writes NaN as nulls
        pq.write_table(pa.Table.from_pandas(used), tmp_path / "rows.parquet", row_group_size=70)
        other = model.fit(tmp_path / "rows.parquet", target, weight)
    else:
        other = model.fit(dd.from_pandas(used, npartitions=6), target, weight)
    assert other.trees_ == kept[0]
    assert other.columns_ == kept[1]
    np.testing.assert_array_equal(other.train_score_, kept[2])
    np.testing.assert_array_equal(other.validation_score_, kept[3])
    for name, values in aside.items():
        np.testing.assert_array_equal(getattr(other, name), values)


def test_the_outlier_needs_finer_units_on_the_cluster(table, monkeypatch):
    taken, take = [], steps.Refine.take
    monkeypatch.setattr(steps.Refine, "take", lambda *given: taken.append(1) or take(*given))
    kind, target, weight, options = CASES["one number of 10¹²"]
    used = dd.from_pandas(table[[*NAMES, target, weight]], npartitions=3)
    kind(max_iter=2, **options).fit(used, target, weight)
    assert taken


def test_bins_of_a_sample_are_the_same_everywhere(table, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.trees.growing.bins.SAMPLE_ROWS", 150)
    used = table[[*NAMES, "number", "weight"]]
    pq.write_table(pa.Table.from_pandas(used), tmp_path / "rows.parquet", row_group_size=70)
    model = HistGradientBoostingRegressor(max_iter=2, max_bins=40)
    data = (used[NAMES].to_numpy(), used["number"].to_numpy(), used["weight"].to_numpy())
    memory = model.fit(*data).columns_
    assert memory.low[0] > np.nanmin(data[0][:, 0])  # the smallest of all is not among the sampled ones
    assert model.fit(tmp_path / "rows.parquet", "number", "weight").columns_ == memory
    assert model.fit(dd.from_pandas(used, npartitions=6), "number", "weight").columns_ == memory


def test_rows_given_for_early_stopping_may_live_anywhere(table, tmp_path):
    used = table[[*NAMES, "label"]]
    train, held = used[:500], used[500:]
    pq.write_table(pa.Table.from_pandas(held, preserve_index=False), tmp_path / "held.parquet")
    model = HistGradientBoostingClassifier(max_iter=5, early_stopping=True)

    def losses(X_val, y_val):
        return model.fit(train[NAMES], train["label"], X_val=X_val, y_val=y_val).validation_score_

    memory = losses(held[NAMES], held["label"])
    assert len(memory) == 5
    np.testing.assert_array_equal(losses(tmp_path / "held.parquet", "label"), memory)
    np.testing.assert_array_equal(losses(dd.from_pandas(held, npartitions=2), "label"), memory)


def test_held_out_rows_are_not_overwritten_by_those_that_stay():
    codes = np.arange(40, dtype=np.uint8).reshape(20, 2)
    rows = gathering.CodedRows(codes.copy(), np.arange(20.0), None, owned=True)
    held = np.arange(20) % 3 == 0
    train, outside = rows.divide(held)
    np.testing.assert_array_equal(train.codes, codes[~held])
    np.testing.assert_array_equal(train.target, np.arange(20.0)[~held])
    np.testing.assert_array_equal(outside.codes, codes[held])
    np.testing.assert_array_equal(outside.target, np.arange(20.0)[held])


def test_a_fit_leaves_the_caller_s_arrays_alone(table):
    X, y, weight = (table[name].to_numpy().copy() for name in (NAMES, "number", "weight"))
    kept = X.copy(), y.copy(), weight.copy()
    HistGradientBoostingRegressor(max_iter=2, early_stopping=True).fit(X, y, weight)
    for mine, theirs in zip(kept, (X, y, weight), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_codes_of_large_files_are_kept_in_a_file(table, tmp_path, monkeypatch):
    used = table[[*NAMES, "label"]]
    pq.write_table(pa.Table.from_pandas(used), tmp_path / "rows.parquet")
    model = HistGradientBoostingClassifier(max_iter=3)
    small = model.fit(tmp_path / "rows.parquet", "label").trees_
    monkeypatch.setattr(gathering, "IN_MEMORY_CODES", 100)
    made, new = [], gathering.tempfile.TemporaryFile
    monkeypatch.setattr(
        gathering.tempfile, "TemporaryFile", lambda **options: made.append(1) or new(**options)
    )
    assert model.fit(tmp_path / "rows.parquet", "label").trees_ == small
    assert made


def test_a_file_is_read_twice(table, tmp_path, monkeypatch):
    from assay.rows import _stream

    used = table[[*NAMES, "label", "whole"]]
    pq.write_table(pa.Table.from_pandas(used), tmp_path / "rows.parquet")
    walks = []
    units = _stream.StreamRows._units
    monkeypatch.setattr(_stream.StreamRows, "_units", lambda self: walks.append(1) or units(self))
    monkeypatch.setattr(
        "assay.rows._arrow.TableSource.take", lambda self, indices: pytest.fail("a third walk")
    )
    HistGradientBoostingClassifier(max_iter=3).fit(tmp_path / "rows.parquet", "label", "whole")
    assert len(walks) == 2


def test_a_tree_costs_about_as_many_requests_as_it_is_deep(table, monkeypatch):
    X, y = table[NAMES].to_numpy(), table["number"].to_numpy()
    tables = []
    begin = cluster.ClusterTable.__init__
    monkeypatch.setattr(
        cluster.ClusterTable, "__init__", lambda self, *given: tables.append(self) or begin(self, *given)
    )
    rounds = 4
    model = HistGradientBoostingRegressor(max_iter=rounds, max_leaf_nodes=20, min_samples_leaf=5)
    model.fit(da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100))
    trees = model.trees_
    depths = []
    for place in range(rounds):
        nodes = trees.tree(place)
        left, right = trees.children_left[nodes], trees.children_right[nodes]
        depth = np.zeros(len(left), dtype=int)
        for node in np.flatnonzero(left >= 0):
            depth[[left[node], right[node]]] = depth[node] + 1
        depths.append(depth.max())
    n_divided = int(np.count_nonzero(trees.feature >= 0))
    (asked,) = (table.n_requests for table in tables)
    # The largest loss, then for each tree a request for its round, at most two to fit units, and one for its
    # root; after the root, one per level.
    assert asked <= 1 + 2 + sum(depth + 4 for depth in depths)
    assert asked < n_divided  # which is what one request per division would cost


def test_a_partition_that_forgot_is_brought_back(table, monkeypatch):
    """As after a lost worker: what a partition remembers goes, at many points of the fit."""
    X, y, weight = (table[name].to_numpy() for name in (NAMES, "third", "whole"))
    model = HistGradientBoostingClassifier(max_iter=3, subsample=0.8, random_state=1, early_stopping=True)
    kept = model.fit(X, y, weight).trees_
    forgotten = []
    answer = cluster.answer

    def forgetful(partition, number, start, request):
        if number == 1 and request.before is not None and request.before[1] % 3 == 0:
            forgotten.append(request.before)
            partition.part = partition.state = None
        return answer(partition, number, start, request)

    monkeypatch.setattr(cluster, "answer", forgetful)
    parts = (da.from_array(values, chunks=(150,) + values.shape[1:]) for values in (X, y, weight))
    assert model.fit(*parts).trees_ == kept
    assert len(forgotten) > 10


def test_a_request_is_not_answered_twice_by_one_state(table):
    """A task that runs again after its result was lost finds a later state, and says so."""
    X, y = table[NAMES].to_numpy(), table["number"].to_numpy()
    part = cluster.Partition((np.abs(np.nan_to_num(X)) * 10).astype(np.uint8), y, None)
    setup = cluster.Setup(np.zeros(1), False, False)
    first = cluster.Request(setup, None, "one", [cluster.LargestLoss(Squared())])
    second = cluster.Request(setup, "one", "two", [cluster.LargestLoss(Squared())])
    assert cluster.answer(part, 7, 0, first).lost == ()
    assert cluster.answer(part, 7, 0, second).lost == ()
    assert cluster.answer(part, 7, 0, second) == cluster.Answer(None, (7,))


def test_empty_partitions_and_partitions_without_weight_change_nothing(table):
    used = table[[*NAMES, "label", "whole"]].copy()
    used.loc[:150, "whole"] = 0.0  # the first partition weighs nothing
    model = HistGradientBoostingClassifier(max_iter=3)
    kept = model.fit(used[NAMES].to_numpy(), used["label"].to_numpy(), used["whole"].to_numpy()).trees_
    frame = dd.from_pandas(used, npartitions=6)
    with_empty = dd.concat([frame[frame["x0"] > np.inf], frame])
    assert model.fit(with_empty, "label", "whole").trees_ == kept


def test_a_warm_start_goes_on_on_a_cluster(table):
    frame = dd.from_pandas(table[[*NAMES, "number"]], npartitions=5)
    whole = HistGradientBoostingRegressor(max_iter=6, random_state=0).fit(frame, "number")
    half = HistGradientBoostingRegressor(max_iter=3, random_state=0, warm_start=True).fit(frame, "number")
    assert half.set_params(max_iter=6).fit(frame, "number").trees_ == whole.trees_


def test_proofs_hold_for_rows_on_disk_and_on_a_cluster(table, tmp_path):
    used = table[[*NAMES, "label", "whole"]]
    pq.write_table(pa.Table.from_pandas(used), tmp_path / "rows.parquet")
    frame = dd.from_pandas(used, npartitions=4)
    for X in (tmp_path / "rows.parquet", frame):
        model = HistGradientBoostingClassifier(max_iter=4).fit(X, "label", "whole")
        assert model.certificates_.holds
        assert model.certify(X, "label", "whole").holds


@pytest.mark.parametrize("place", ["parquet", "dask"])
def test_bad_values_outside_memory_get_one_sentence(table, tmp_path, place):
    def opened(frame):
        if place == "dask":
            return dd.from_pandas(frame, npartitions=3)
        pq.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet")
        return tmp_path / "rows.parquet"

    model = HistGradientBoostingClassifier(max_iter=2)
    infinite = table[[*NAMES, "label"]].copy()
    infinite.loc[600, "x3"], infinite.loc[601, "x3"] = np.inf, -np.inf
    with pytest.raises(ValueError, match="X contains infinity"):  # of which boosting takes any
        RandomForestClassifier(2).fit(opened(infinite), "label")
    kept = model.fit(infinite[NAMES].to_numpy(), infinite["label"].to_numpy()).columns_
    assert kept == model.fit(opened(infinite), "label").columns_
    absent = table[[*NAMES, "label"]].copy()
    absent.loc[600, "label"] = np.nan
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(opened(absent), "label")
    negative = table[[*NAMES, "label", "whole"]].copy()
    negative.loc[600, "whole"] = -1.0
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(opened(negative), "label", "whole")
    text = table[[*NAMES, "label"]].assign(x5=table["x5"].map(lambda level: f"level {level}"))
    with pytest.raises(
        ValueError, match=r"The column 'x5' .* where numbers are needed; encode it as numbers"
    ):
        model.fit(opened(text), "label")


def test_columns_of_categories_may_be_named_outside_memory(table, tmp_path):
    used = table[[*NAMES, "number"]]
    pq.write_table(pa.Table.from_pandas(used, preserve_index=False), tmp_path / "rows.parquet")
    named = HistGradientBoostingRegressor(max_iter=3, categorical_features=["x5"])
    placed = HistGradientBoostingRegressor(max_iter=3, categorical_features=[5])
    kept = placed.fit(used[NAMES].to_numpy(), used["number"].to_numpy()).trees_
    assert np.any(kept.levels >= 0)
    assert named.fit(tmp_path / "rows.parquet", "number").trees_ == kept
    assert named.fit(dd.from_pandas(used, npartitions=3), "number").trees_ == kept
    with pytest.raises(ValueError, match="names of columns of X; it has no 'x9'"):
        HistGradientBoostingRegressor(categorical_features=["x9"]).fit(tmp_path / "rows.parquet", "number")


def test_codes_of_a_large_cluster_are_not_brought_here_for_proofs(table, monkeypatch):
    frame = dd.from_pandas(table[[*NAMES, "number"]], npartitions=3)
    model = HistGradientBoostingRegressor(max_iter=2).fit(frame, "number")
    monkeypatch.setattr(gathering, "MOST_CODES", 1000)
    with pytest.raises(ValueError, match="give a Parquet file or a sample of the rows"):
        model.certify(frame, "number")
    HistGradientBoostingRegressor(max_iter=2).fit(frame, "number")  # which the fit does not need
