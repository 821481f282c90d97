"""The command: what it prints and writes, its exit codes, and one sentence for every error."""

from __future__ import annotations

import builtins
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import assay
from assay import cli, report
from assay.certificates import Certificate, Certificates
from assay.cluster import KMeans
from assay.datasets import us_arrests

FILES = ["model.assay", "report.html", "results.json"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def invoke(*arguments: object):
        return runner.invoke(cli.application(), [str(argument) for argument in arguments])

    return invoke


@pytest.fixture
def _short_page(monkeypatch):
    """The page has its own tests; a word of it is enough where the command is tested."""
    monkeypatch.setattr(report._write, "render", lambda comparison, model_path: comparison.headline)


def in_shell(*arguments: str, **options):
    command = [sys.executable, "-m", "assay.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


@pytest.fixture
def table(tmp_path, rng) -> Path:
    X = rng.normal(size=(60, 2))
    frame = pd.DataFrame({"height": X[:, 0], "age": X[:, 1], "town": ["Paris", "Lyon", "Nice"] * 20})
    frame["price"] = 3 * frame["height"] - frame["age"] + 0.5 * rng.normal(size=60)
    frame["class"] = np.arange(60) % 3
    frame.to_csv(tmp_path / "sales.csv", index=False)
    return tmp_path / "sales.csv"


@pytest.mark.usefixtures("_short_page")
def test_compare_a_table_with_a_target(run, table):
    result = run("compare", table, "--target", "price", "--drop", "town", "--drop", "class", "--folds", 3)
    assert result.exit_code == 0, result.output
    for word in ("LinearRegression", "Ridge", "KernelRidge", "Baseline", "R²", "hold"):
        assert word in result.stdout
    assert re.search(r"predicts price (best|as well as any): R² 0\.", result.stdout)
    assert "assay-report/report.html" in result.stdout
    assert sorted(os.listdir("assay-report")) == FILES
    new = pd.DataFrame({"height": [0.0], "age": [0.0]})
    assert assay.load("assay-report/model.assay").predict(new) == pytest.approx(0.0, abs=0.5)


def test_compare_without_target_looks_for_groups(run):
    result = run("compare", "us_arrests", "--output", "out")
    assert result.exit_code == 0, result.output
    assert "us_arrests falls best into 2 groups" in result.stdout
    assert sorted(os.listdir("out")) == FILES


@pytest.mark.usefixtures("_short_page")
def test_words_missing_values_and_classes_are_taken_as_they_are(run, tmp_path, table):
    frame = pd.read_csv(table)
    frame.loc[::7, "age"] = np.nan
    frame["buys"] = np.where(frame["height"] + (frame["town"] == "Nice") > 0.4, "yes", "no")
    frame.to_csv(tmp_path / "customers.csv", index=False)
    options = ("--target", "buys", "--folds", 3, "--repeats", 1)
    result = run("compare", "customers.csv", *options)
    assert result.exit_code == 0, result.output
    assert "LogisticRegression" in result.stdout
    assert "accuracy" in result.stdout
    new = pd.DataFrame({"height": [3.0, -3.0], "age": [0.0, np.nan], "town": ["Nice", "Brest"]})
    new = new.assign(price=0.0, **{"class": 1})
    assert list(assay.load("assay-report/model.assay").predict(new)) == ["yes", "no"]
    refused = run("compare", "customers.csv", *options)
    assert refused.exit_code == 2
    assert (
        "report.html exists; name another folder with --output, or replace it with --force" in refused.stderr
    )
    assert run("compare", "customers.csv", *options, "--force", "--quiet").exit_code == 0


def test_without_a_table_the_demonstrations_run(run, monkeypatch):
    asked = []
    monkeypatch.setattr(cli, "run_compare", lambda table, **options: asked.append((table, options["output"])))
    assert run("compare").exit_code == 0
    folder = Path("assay-report")
    assert asked == [
        ("diabetes", folder / "regression"),
        ("breast_cancer", folder / "classification"),
        ("us_arrests", folder / "clustering"),
    ]
    asked.clear()
    (folder / "clustering").mkdir(parents=True)
    for place in (folder, folder / "clustering"):
        (place / "report.html").write_text("old")
    assert "clustering/report.html exists" in run("compare").stderr
    assert asked == []
    assert run("compare", "--force").exit_code == 0
    assert len(asked) == 3
    asked.clear()
    assert run("compare", "--demo", "clustering").exit_code == 0
    assert asked == [("us_arrests", folder)]
    for arguments, sentence in (
        (("--demo", "magic"), "The demo must be one of regression, classification, clustering. Got 'magic'"),
        (("iris", "--demo", "regression"), "Give a table or --demo, not both."),
    ):
        result = run("compare", *arguments)
        assert result.exit_code == 2
        assert sentence in result.stderr


def test_methods_budget_and_repeats_reach_the_comparison(run, monkeypatch, table):
    asked = {}

    def stop(*rest, **options):
        asked.update(options)
        raise report.ReportError("enough")

    monkeypatch.setattr(report, "compare", stop)
    arguments = ("--methods", "ridge, Lasso", "--exclude", "Lasso", "--budget", "2m", "--repeats", 4)
    run("compare", table, "--target", "price", *arguments)
    assert asked["methods"] == ("ridge", "Lasso")
    assert asked["exclude"] == ("Lasso",)
    assert (asked["budget"], asked["repeats"]) == (120.0, 4)


@pytest.mark.usefixtures("_short_page")
def test_quiet_says_nothing(run, table):
    result = run("compare", table, "--drop", "town", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert Path("assay-report/report.html").exists()


@pytest.mark.usefixtures("_short_page")
def test_few_integers_can_be_predicted_as_numbers(run, table):
    arguments = ("compare", table, "--target", "class", "--drop", "town", "--folds", 2)
    arguments = (*arguments, "--repeats", 1, "--methods")
    classes = run(*arguments, "LinearSVC")
    assert "were taken for classes" in Path("assay-report/results.json").read_text(encoding="utf-8")
    assert "accuracy" in classes.stdout
    options = ("LinearRegression", "--task", "regression", "--force")
    assert "R²" in run(*arguments, *options).stdout


NUMBERS = "a,b,y\n" + "".join(f"{row},{row**2 % 7},{row * 1.5}\n" for row in range(12))
SAME = "a,y\n" + "".join(f"{row},7\n" for row in range(20))
COLUMNS = "good.csv has no column 'z'; its columns are 'a', 'b', 'y'."

BAD_INPUTS = {
    "missing file": ("", "nowhere.csv", "There is no file nowhere.csv"),
    "empty table": ("", "bad.csv", "bad.csv is empty."),
    "no rows": ("a,b\n", "bad.csv", "bad.csv has no rows."),
    "one row": ("a,b\n1,2\n", "bad.csv", "bad.csv has one row only"),
    "cut-short Parquet": ("PAR1...", "bad.parquet", "bad.parquet is not a whole Parquet file"),
    "binary": (b"\x00\x01" * 50, "bad.csv", "bad.csv is not text: it holds zero bytes"),
    "a budget of words": ("", "good.csv --budget soon", "The budget must be a time such as 60s, 5m or 1h."),
    "unknown method": ("", "good.csv --target y --methods Forest", "There is no method 'Forest'"),
    "one column": ("y\n1\n2\n3.5\n", "bad.csv --target y --task regression", "No column of bad.csv is left"),
    "identifiers only": (
        "name\n" + "".join(f"person {row}\n" for row in range(30)),
        "bad.csv",
        "Column 'name' is left out: it names the rows",
    ),
    "class of one": ("a,y\n1,u\n2,u\n3,v\n", "bad.csv --target y", "The class 'v' of 'y' has one row only"),
    "no such target": ("", "good.csv --target z", COLUMNS),
    "no such column to drop": ("", "good.csv --drop z", COLUMNS),
    "duplicate names": ("a,a\n1,2\n3,4\n", "bad.csv", "more than one column named 'a'"),
    "constant target": (SAME, "bad.csv --target y --task regression", "is 7 in every row"),
    "too many folds": ("", "good.csv --target y --folds 7", "use --folds 6"),
    "one fold": ("", "good.csv --target y --folds 1", "'--folds'"),
    "negative seed": ("", "good.csv --seed -1", "'--seed'"),
    "unknown task": ("", "good.csv --task sorting", "must be auto, regression, classification, clustering"),
    "task without target": ("", "good.csv --task regression", "Regression needs a target"),
    "needless target": ("", "good.csv --task clustering --target y", "Clustering has no target"),
    "few distinct rows": ("a,b\n1,1\n1,1\n2,2\n", "bad.csv", "has 2 distinct rows"),
    "output is a file": ("", "good.csv --output good.csv", "is a file; name a folder"),
    "unknown option": ("", "good.csv --colour red", "--colour"),
    "too many arguments": ("", "good.csv good.csv", "extra argument"),
}


@pytest.mark.parametrize(("content", "arguments", "sentence"), BAD_INPUTS.values(), ids=BAD_INPUTS)
def test_bad_input_gives_one_sentence_and_leaves_no_file(run, tmp_path, content, arguments, sentence):
    (tmp_path / "good.csv").write_text(NUMBERS)
    for ending in ("csv", "parquet"):
        (tmp_path / f"bad.{ending}").write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(os.listdir(tmp_path))
    result = run("compare", *arguments.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("assay: ")
    assert result.stderr.count("\n") == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(os.listdir(tmp_path)) == before


def test_a_failed_run_keeps_the_previous_report(run, table):
    folder = Path("assay-report")
    folder.mkdir()
    (folder / "report.html").write_text("old")
    assert run("compare", table, "--target", "nothing", "--force").exit_code == 2
    assert (folder / "report.html").read_text() == "old"
    assert os.listdir(folder) == ["report.html"]


def test_an_unexpected_error_is_one_sentence_and_debug_shows_where(run, monkeypatch):
    def fail(*rest, **options):
        raise RuntimeError("the moon\nis full")

    monkeypatch.setattr(report, "compare", fail)
    result = run("compare", "us_arrests")
    assert result.exit_code == 2
    assert result.stderr == (
        "assay: an unexpected error stopped the command (RuntimeError: the moon is full); "
        "run it again with --debug to see where.\n"
    )
    for arguments in (("compare", "us_arrests", "--debug"), ("--debug", "compare", "us_arrests")):
        told = run(*arguments)
        assert told.exit_code == 2
        assert "Traceback" in told.stderr
    assert os.listdir() == []


def test_an_interruption_leaves_nothing(run, monkeypatch):
    def stop(*rest, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "write", stop)
    result = run("compare", "us_arrests")
    assert (result.exit_code, result.stderr) == (130, "assay: interrupted.\n")
    assert os.listdir() == []


@pytest.fixture
def saved(tmp_path) -> Path:
    assay.save(KMeans(2, n_init=2, random_state=0).fit(us_arrests().X), tmp_path / "good.assay")
    return tmp_path / "good.assay"


def test_certify_prints_the_certificates(run, saved):
    result = run("certify", saved)
    assert result.exit_code == 0
    for item in assay.load(saved).certificates_:
        assert item.quantity.split()[0] in result.stdout
    assert "holds" in result.stdout


def test_certify_as_json_can_be_read_back(run, saved):
    result = run("certify", saved, "--json")
    assert result.exit_code == 0
    assert Certificates.from_json(result.stdout).holds
    assert json.loads(result.stdout)[0]["claim"] == assay.load(saved).certificates_[0].claim


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_certify_exits_with_1_if_a_certificate_fails(run, tmp_path, options):
    model = KMeans(2, n_init=2, random_state=0).fit(us_arrests().X)
    model.certificates_ = Certificates([Certificate("It converged.", "gap [bold]", 2.0, "<=", 1.0)])
    assay.save(model, tmp_path / "bad.assay")
    result = run("certify", "bad.assay", *options)
    assert result.exit_code == 1
    assert "gap [bold]" in result.stdout
    assert result.stderr == ""


def test_certify_refuses_what_is_no_model_with_certificates(run, tmp_path):
    assay.save(StandardScaler().fit([[0.0], [1.0]]), tmp_path / "scaler.assay")
    (tmp_path / "noise.assay").write_bytes(b"noise")
    for name, sentence in (
        ("scaler.assay", "carries no certificates"),
        ("noise.assay", "noise.assay"),
        ("nowhere.assay", "There is no file nowhere.assay"),
    ):
        result = run("certify", name)
        assert result.exit_code == 2
        assert result.stderr.startswith("assay: ")
        assert result.stderr.count("\n") == 1
        assert sentence in result.stderr


def test_version_and_help(run):
    assert run("--version").stdout == f"assay {assay.__version__}\n"
    words = run("--help").stdout
    assert "compare" in words
    assert "certify" in words
    assert "--target" in run("compare", "--help").stdout
    assert run("dance").stderr == "assay: No such command 'dance'; see assay --help.\n"


def test_help_imports_no_heavy_library():
    probe = "import sys; from assay import cli; cli.application(); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_a_real_run_in_a_narrow_alphabet_has_no_control_codes_and_leaves_its_files(tmp_path):
    (tmp_path / "points.csv").write_text("a,b\n0,0\n0,1\n9,9\n9,8\n")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = in_shell("compare", "points.csv", cwd=tmp_path, env=environment)
    assert (result.returncode, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout
    assert "\r" not in result.stdout
    assert sorted(os.listdir(tmp_path / "assay-report")) == FILES


def test_a_real_run_of_certify_prints_json(saved):
    told = in_shell("certify", str(saved), "--json")
    assert (told.returncode, told.stderr) == (0, "")
    assert Certificates.from_json(told.stdout).holds


def test_a_real_error_goes_to_the_error_stream(tmp_path):
    result = in_shell("compare", "nowhere.csv", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("assay: There is no file nowhere.csv")
    assert os.listdir(tmp_path) == []


def test_without_typer_the_command_says_what_to_install(monkeypatch, capsys):
    real = builtins.__import__

    def refuse(name, *rest, **options):
        if name == "typer":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert "pip install 'assay[cli]'" in capsys.readouterr().err


def test_predict_writes_predictions_and_tells_what_is_new(run, table):
    options = ("--methods", "LinearRegression", "--repeats", 1, "--quiet")
    assert run("compare", table, "--target", "price", *options, "--output", "twice").exit_code == 0
    # The class of this table repeats the town.
    refused = run("predict", "twice/model.assay", table, "--interval", 0.9)
    assert refused.stderr.startswith("assay: There are no prediction intervals: Inference needs linearly")
    assert run("compare", table, "--target", "price", "--drop", "class", *options).exit_code == 0
    model = "assay-report/model.assay"
    result = run("predict", model, table, "--interval", 0.9)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("prediction,lower,upper\n")
    assert result.stdout.count("\n") == 61
    pd.read_csv(table).assign(town="Brest").to_csv("new.csv", index=False)
    result = run("predict", model, "new.csv", "--output", "out.csv")
    assert result.stderr == (
        "assay: column 'town' has values that the model has not seen: 'Brest'.\n"
        "assay: 60 predictions in out.csv.\n"
    )
    pd.read_csv(table).drop(columns="age").to_csv("short.csv", index=False)
    refused = run("predict", model, "short.csv")
    assert refused.exit_code == 2
    assert refused.stderr == "assay: The table lacks the column 'age' that the model was fitted on.\n"
    about = assay.persistence.about(model)
    assert (about["task"], about["target"], about["method"]) == ("regression", "price", "LinearRegression")


def test_the_catalogue_and_the_explanations_are_printed(run):
    words = run("methods").stdout
    assert "KMeans" in words
    assert "LogisticRegression" in words
    chosen = json.loads(run("methods", "--task", "clustering", "--json").stdout)
    assert {item["task"] for item in chosen} == {"clustering"}
    assert "The task must be one of" in run("methods", "--task", "cooking").stderr
    told = run("explain", "lasso").stdout
    for word in ("Lasso", "Minimises", "Certificates", "References"):
        assert word in told
    assert "Did you mean Ridge?" in run("explain", "rigde").stderr
