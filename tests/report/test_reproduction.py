"""The script and the notebook give the recommended model again."""

from __future__ import annotations

import dataclasses
import json
import shlex
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from assay.cli.compare import names
from assay.linear import Ridge
from assay.report import Data, Reading, choose_data, compare, read_table
from assay.report.page.document import command
from assay.report.reproduction import Code, notebook, script, source_of


def recommending(comparison, name):
    """The comparison as if a candidate of it were recommended."""
    twin = dataclasses.replace(comparison)
    chosen = next(item for item in comparison.candidates if item.name == name)
    twin.__dict__["recommended"] = chosen  # where the cached property keeps its value
    return twin, chosen


@pytest.mark.usefixtures("regression", "classification", "clustering")  # in the process that makes them
@pytest.mark.parametrize("task", ["regression", "classification", "clustering"])
def test_the_script_of_every_candidate_gives_its_model_again(task, request):
    comparison = request.getfixturevalue(task)
    for candidate in comparison.candidates:
        if candidate.is_baseline:
            continue
        twin, chosen = recommending(comparison, candidate.name)
        scope: dict = {}
        exec(compile(script(twin), "reproduce.py", "exec"), scope)
        again, X = scope["model"], comparison.data.X
        if not hasattr(chosen.model[-1], "predict"):
            assert_array_equal(again[-1].labels_, chosen.model[-1].labels_)
        elif task == "regression":
            assert_allclose(again.predict(X), chosen.model.predict(X), rtol=1e-9)
        else:
            assert_array_equal(again.predict(X), chosen.model.predict(X))


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A file with words, dates and gaps, a column left out, and a skewed target."""
    rng = np.random.default_rng(2)
    n = 120
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 10, n)),
            "town": rng.choice(["Lyon", "Nice", "l'Isle"], n),
            "day": pd.date_range("2024-01-01", periods=n).astype(str),
            "extra": rng.normal(size=n),
        }
    )
    frame["spend"] = np.exp(0.03 * frame["age"].fillna(40) + 0.8 * rng.normal(size=n))
    path = tmp_path_factory.mktemp("shop") / "it's a shop.csv"
    frame.to_csv(path, index=False)
    data = choose_data(read_table(path), target="spend", drop=["extra"])
    methods = ["Lasso", "LinearRegression", "Lasso (log target)", "Ensemble"]
    return path, compare(data, repeats=1, folds=3, methods=methods)


def test_the_script_runs_by_itself_and_predicts_the_same(shop, tmp_path):
    _, comparison = shop
    lines = script(comparison)
    assert lines.count("\n") <= 16
    modules = {line.split()[1].partition(".")[0] for line in lines.splitlines() if line.startswith("from ")}
    assert modules <= {"assay", "sklearn"}
    (tmp_path / "reproduce.py").write_text(
        lines + f"import numpy\nnumpy.save({str(tmp_path / 'said.npy')!r}, model.predict(data.X))\n"
    )
    subprocess.run([sys.executable, tmp_path / "reproduce.py"], check=True)
    expected = comparison.recommended.model.predict(comparison.data.X)
    assert_allclose(np.load(tmp_path / "said.npy"), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["Lasso (log target)", "Ensemble"])
def test_other_scales_and_ensembles_are_given_again(shop, name):
    twin, chosen = recommending(shop[1], name)
    scope: dict = {}
    exec(script(twin), scope)
    X = shop[1].data.X
    assert_allclose(scope["model"].predict(X), chosen.model.predict(X), rtol=1e-9)


@pytest.mark.parametrize("by", ["time", "group"])
def test_residuals_of_another_scale_are_from_the_same_folds_inside_an_ensemble(shop, by, monkeypatch):
    path, _ = shop
    half = np.array([0.5, 0.5])
    monkeypatch.setattr("assay.report.trials.stacking.convex_weights", lambda table, target: half)
    data = choose_data(read_table(path), target="spend", **{by: {"time": "day", "group": "town"}[by]})
    members = ["LinearRegression", "LinearRegression (log target)", "Ensemble"]
    twin, chosen = recommending(compare(data, repeats=1, folds=2, methods=members), "Ensemble")
    scope: dict = {}
    exec(script(twin), scope)
    assert_allclose(scope["model"].predict(data.X), chosen.model.predict(data.X), rtol=1e-9)
    again = clone(chosen.model).fit(data.X, data.y)  # shuffled folds give other residuals
    assert not np.allclose(again.predict(data.X), chosen.model.predict(data.X), rtol=1e-9)


def test_the_notebook_is_one_and_its_cells_run(shop):
    text = notebook(shop[1])
    document = json.loads(text)
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    for cell in document["cells"]:  # what the schema of the format asks of a cell, and nothing else
        own = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "id", "metadata", "source", *own}
        assert all(isinstance(line, str) for line in cell["source"])
    assert document["cells"][0]["source"][0].strip() == f"# {shop[1].headline}"
    scope: dict = {}
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), scope)
    assert_allclose(scope["model"].predict(shop[1].data.X), shop[1].recommended.model.predict(shop[1].data.X))


@pytest.mark.parametrize("by", [{}, {"group": "who"}, {"time": "day"}], ids=["shuffled", "group", "time"])
def test_the_notebook_measures_on_folds_like_those_of_the_comparison(by, rng, tmp_path):
    """Rows in the order of the target, alike within a person: other folds would give quite another score."""
    n = 160
    who = np.arange(n) // 8
    level = np.sort(rng.normal(size=n)) if by == {} else rng.normal(size=n // 8)[who]
    frame = pd.DataFrame({"x": level + 0.1 * rng.normal(size=n), "level": who + rng.random(n), "y": level})
    frame["y"] += 0.05 * rng.normal(size=n) if by != {"group": "who"} else 2 * rng.normal(size=n // 8)[who]
    frame = frame.assign(who=[f"p{k}" for k in who], day=pd.date_range("2020-01-01", periods=n).astype(str))
    kept = [*by.values()]
    frame.drop(columns=[name for name in ("who", "day") if name not in kept]).to_csv(tmp_path / "t.csv")
    data = choose_data(read_table(tmp_path / "t.csv"), target="y", **by)
    found = compare(data, repeats=1, methods=["KNeighborsRegressor"])
    scope: dict = {}
    *cells, last = [cell for cell in json.loads(notebook(found))["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        exec("".join(cell["source"]), scope)
    head, _, measured = "".join(last["source"]).rpartition("\n")
    exec(head, scope)
    scores = eval(measured, scope)
    own = found.best
    assert len(scores) == 5
    if by != {"time": "day"}:  # whose stretches have no gap before them
        assert np.mean(scores) == pytest.approx(own.score, abs=0.02 + 2 * own.standard_error)


def test_how_a_table_was_read_is_told_to_the_script_and_to_the_command(tmp_path, rng):
    frame = pd.DataFrame(
        {"a": rng.normal(size=60), "code": rng.integers(0, 3, 60), "who": np.arange(60) // 6}
    )
    frame["y"] = frame["a"] + frame["code"] + rng.normal(size=60)
    frame.loc[::7, "a"] = -999
    (tmp_path / "t.csv").write_text("a title\n" + frame.to_csv(index=False, sep=";"))
    reading = Reading(skip=1, separator=";", categorical=("code",), na=("-999",))
    table = read_table(tmp_path / "t.csv", reading=reading)
    data = choose_data(table, target="y", group="who", drop=[])
    found = compare(data, repeats=1, folds=3, methods=["Ridge"])
    scope: dict = {}
    exec(script(found), scope)
    assert_allclose(scope["model"].predict(data.X), found.recommended.model.predict(data.X), rtol=1e-9)
    assert scope["model"][0].feature_names_out_ == found.recommended.model[0].feature_names_out_
    words = command(found).split()
    for option in (("--skip", "1"), ("--categorical", "code"), ("--na", "-999"), ("--group", "who")):
        assert any(pair == option for pair in pairwise(words)), option


def test_the_command_names_the_metric_and_methods_whose_names_have_commas(rng):
    x = rng.normal(size=80)
    data = Data.from_frame(pd.DataFrame({"x": x, "z": rng.normal(size=80)}), rng.poisson(np.exp(1 + x)) * 1.0)
    found = compare(data, repeats=1, folds=2, methods=["GeneralizedLinear"], metric="mae")
    words = shlex.split(command(found))
    given = dict(pairwise(words))
    assert given["--metric"] == "mae"
    assert names(given["--methods"]) == ("GeneralizedLinear (Poisson, log link)",)
    again = compare(data, repeats=1, folds=2, methods=names(given["--methods"]), metric=given["--metric"])
    assert_allclose(again.best.scores, found.best.scores)


def test_a_frame_that_has_no_file_is_named_by_its_table(rng):
    data = Data.from_frame(pd.DataFrame({"a": rng.normal(size=9)}), name="made")
    assert source_of(data) == "made"


def test_what_cannot_be_written_as_an_expression_is_refused():
    code = Code()
    values = [1, 2.5, None, True, "it's", float("inf"), np.float64(3), (1,), [1, (2, 3)], {"a": 1}]
    for value in values:
        assert eval(code.value(value)) == value
    assert code.value(np.arange(2.0)) == "array([0.0, 1.0])"
    assert code.value(Ridge(alpha=0.5)) == "Ridge(alpha=0.5)"
    assert code.lines() == ["from numpy import array", "from assay.linear import Ridge"]
    with pytest.raises(ValueError, match="function cannot be written"):
        code.value(lambda x: x)
