"""AdaBoost with stumps from memory, from files and from Dask: the same rounds, to the last bit."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from assay import rows
from assay.trees import AdaBoostClassifier
from assay.trees import DecisionTreeClassifier as OurTree
from assay.trees.boosting.distributed import table as cluster
from assay.trees.stagewise import adaboost

pytest.importorskip("pyarrow")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

NAMES = [f"x{j}" for j in range(4)]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    X = random.standard_normal((600, 4))
    X[::13, 2] = np.nan
    number = X[:, 0] + X[:, 1] * X[:, 3] + 0.5 * random.standard_normal(600)
    return pd.DataFrame(X, columns=NAMES).assign(
        label=np.digitize(number, [0.2]).astype(float),
        third=np.digitize(number, [-0.5, 0.6]).astype(float),
        whole=random.integers(0, 4, 600).astype(float),
        weight=random.random(600) * (random.random(600) > 0.2),
    )


CASES = {
    "two classes": ("label", None, {}),
    "whole weights, aside": ("label", "whole", {"calibration": 0.3, "calibration_method": "sigmoid"}),
    "other weights": ("label", "weight", {"learning_rate": 0.5}),
    "folds": ("label", "whole", {"calibration": 2}),
    "three classes": ("third", "whole", {}),
    "three classes, Gini": ("third", None, {"estimator": OurTree(max_depth=1)}),
    "naive": ("label", "weight", {"algorithm": "naive"}),
}


def parts(model):
    """All numbers of a fit."""
    trees = [learner.tree_ for learner in model.estimators_]
    return (
        model.estimator_weights_.tolist(),
        [float(tree.threshold[0]) for tree in trees],
        [tree.value.tolist() for tree in trees],
        [tree.n_node_samples.tolist() for tree in trees],
        model.weight_concentration_,
        getattr(model, "calibration_rows_", np.empty(0)).tolist(),
        [(item.claim, item.value) for item in model.certificates_],
    )


@pytest.mark.parametrize("exact_rows", [100, 10_000], ids=["bins", "values"])
@pytest.mark.parametrize("case", CASES)
def test_memory_files_and_dask_give_the_same_rounds(table, case, exact_rows, tmp_path, monkeypatch):
    monkeypatch.setattr(adaboost, "EXACT_ROWS", exact_rows)
    target, weight, options = CASES[case]
    names = [*NAMES, target, *([] if weight is None else [weight])]
    frame = table[names]

    def fit(source):
        model = AdaBoostClassifier(n_estimators=9, random_state=0, **options)
        return model.fit(source, target, weight)

    model = fit(frame)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=90)
    others = {
        "parquet": fit(tmp_path / "rows.parquet"),
        "dask": fit(dd.from_pandas(frame, npartitions=3)),
    }
    with rows.threads(3):
        others["threads"] = fit(frame)
    for name, other in others.items():
        assert other.history_ == model.history_, name
        assert parts(other) == parts(model), name
    assert len(model.estimators_) == 9
    proof = model.certify(frame, target, weight)
    assert proof.holds, proof
    assert others["parquet"].certify(tmp_path / "rows.parquet", target, weight).holds
    assert_array_equal(others["dask"].predict(frame[NAMES]), model.predict(frame[NAMES]))
    if exact_rows < 600:
        moved = copy.deepcopy(model)
        moved.estimators_[3].tree_.threshold[0] += 0.3
        assert not moved.certify(frame, target, weight).holds


def test_rows_on_disk_that_do_not_fit_are_proved_in_pieces(table, tmp_path, monkeypatch):
    """More rows than bins are made from: nothing but targets and codes is kept of a file."""
    monkeypatch.setattr(adaboost, "EXACT_ROWS", 100)
    monkeypatch.setattr("assay.trees.growing.bins.SAMPLE_ROWS", 100)
    monkeypatch.setattr("assay.trees.stagewise.committee.MEMBERS_AT_ONCE", 4)
    frame = table[[*NAMES, "label"]]
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=90)
    options = {"n_estimators": 9, "calibration": 0.25, "random_state": 1}
    model = AdaBoostClassifier(**options).fit(frame, "label")
    on_disk = AdaBoostClassifier(**options).fit(tmp_path / "rows.parquet", "label")
    on_dask = AdaBoostClassifier(**options).fit(dd.from_pandas(frame, npartitions=4), "label")
    assert parts(model) == parts(on_disk) == parts(on_dask)
    for source in (frame, tmp_path / "rows.parquet", dd.from_pandas(frame, npartitions=2)):
        assert on_disk.certify(source, "label").holds
    weights = on_disk.row_weights(tmp_path / "rows.parquet", "label")
    assert np.all(weights[on_disk.calibration_rows_] == 0)
    assert_allclose(weights.sum(), 1.0)


@pytest.mark.parametrize("target", ["label", "third"])
def test_codes_of_few_values_are_as_good_as_the_values(table, target, monkeypatch):
    X = np.round(table[NAMES].to_numpy() * 8) / 8
    y, weight = table[target].to_numpy(), table["whole"].to_numpy()
    sorted_once = AdaBoostClassifier(n_estimators=12).fit(X, y, weight)
    monkeypatch.setattr(adaboost, "EXACT_ROWS", 100)
    coded = AdaBoostClassifier(n_estimators=12).fit(X, y, weight)
    for name in ("error", "step", "normaliser", "training_error", "agreement"):
        assert_allclose(getattr(coded.history_, name), getattr(sorted_once.history_, name), rtol=1e-8)
    assert_allclose(coded.decision_function(X), sorted_once.decision_function(X), rtol=1e-8)
    assert_allclose(coded.weight_concentration_, sorted_once.weight_concentration_, rtol=1e-8)


def test_a_lost_partition_is_played_again(table, monkeypatch):
    monkeypatch.setattr(adaboost, "EXACT_ROWS", 100)
    frame = table[[*NAMES, "label"]]
    whole = AdaBoostClassifier(n_estimators=6).fit(frame, "label")
    answer, asked, lost = cluster.answer, [], []

    def forgetful(partition, number, start, request):
        if number == 1 and request.before is not None:
            asked.append(request.before)
            if len(asked) % 3 == 0:
                partition.state = None
                lost.append(request.before)
        return answer(partition, number, start, request)

    monkeypatch.setattr(cluster, "answer", forgetful)
    other = AdaBoostClassifier(n_estimators=6).fit(dd.from_pandas(frame, npartitions=3), "label")
    assert len(lost) > 1
    assert other.history_ == whole.history_


def test_rows_outside_memory_are_refused_for_other_learners(table, tmp_path):
    table[[*NAMES, "label"]].to_parquet(tmp_path / "rows.parquet")
    for options in ({"loss": "logistic"}, {"algorithm": "samme_r"}, {"estimator": OurTree(max_depth=2)}):
        with pytest.raises(ValueError, match="takes rows outside memory for stumps"):
            AdaBoostClassifier(**options).fit(tmp_path / "rows.parquet", "label")


def test_one_cut_too_many_and_nothing_to_learn(table, monkeypatch):
    monkeypatch.setattr(adaboost, "EXACT_ROWS", 100)
    X = table[NAMES].to_numpy()
    perfect = AdaBoostClassifier().fit(X, X[:, 0] > 0.1)
    assert (perfect.stop_reason_, len(perfect.estimators_)) == ("perfect", 1)
    with pytest.warns(UserWarning, match="better than chance"):
        useless = AdaBoostClassifier().fit(np.zeros((600, 2)), np.arange(600) % 2)
    assert useless.stop_reason_ == "chance"
    assert useless.certify(np.zeros((600, 2)), np.arange(600) % 2).holds
