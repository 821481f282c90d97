"""`assay compare`: what it prints, what it writes and what reaches the comparison."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import assay
from assay import report
from assay.cli import compare
from assay.report.writing import MODEL
from terminals import in_shell


@pytest.mark.usefixtures("_short_page")
def test_compare_a_table_with_a_target(run, table, files):
    options = ("--target", "price", "--drop", "town", "--drop", "class", "--folds", 3)
    result = run("compare", table, *options, "--methods", "LinearRegression,Ridge,KernelRidge")
    assert result.exit_code == 0, result.output
    for word in ("LinearRegression", "Ridge", "KernelRidge", "Baseline", "R²", "hold"):
        assert word in result.stdout
    assert re.search(r"predicts price (best|as well as any): R² 0\.", result.stdout)
    assert "assay-report/report.html" in result.stdout
    assert sorted(os.listdir("assay-report")) == files
    new = pd.DataFrame({"height": [0.0], "age": [0.0]})
    assert assay.load(f"assay-report/{MODEL}").predict(new) == pytest.approx(0.0, abs=0.5)


@pytest.mark.usefixtures("_short_page")
def test_compare_without_target_looks_for_groups(run, files):
    result = run("compare", "us_arrests", "--output", "out")
    assert result.exit_code == 0, result.output
    assert "No clear groups in us_arrests: the best split, into 2, has" in result.stdout
    assert sorted(os.listdir("out")) == files


@pytest.mark.usefixtures("_short_page")
def test_words_missing_values_and_classes_are_taken_as_they_are(run, tmp_path, table):
    frame = pd.read_csv(table)
    frame.loc[::7, "age"] = np.nan
    frame["buys"] = np.where(frame["height"] + (frame["town"] == "Nice") > 0.4, "yes", "no")
    frame.to_csv(tmp_path / "customers.csv", index=False)
    options = ("--target", "buys", "--folds", 3, "--repeats", 1, "--methods", "LogisticRegression")
    result = run("compare", "customers.csv", *options)
    assert result.exit_code == 0, result.output
    assert "LogisticRegression" in result.stdout
    assert "accuracy" in result.stdout
    new = pd.DataFrame({"height": [3.0, -3.0], "age": [0.0, np.nan], "town": ["Nice", "Brest"]})
    new = new.assign(price=0.0, **{"class": 1})
    assert list(assay.load(f"assay-report/{MODEL}").predict(new)) == ["yes", "no"]
    refused = run("compare", "customers.csv", *options)
    assert refused.exit_code == 2
    assert (
        "report.html exists; name another folder with --output, or replace it with --force" in refused.stderr
    )
    assert run("compare", "customers.csv", *options, "--force", "--quiet").exit_code == 0


def test_without_a_table_the_demonstrations_run(run, monkeypatch):
    asked = []
    monkeypatch.setattr(compare, "run_compare", lambda table, output, options: asked.append((table, output)))
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


def test_methods_budget_repeats_and_jobs_reach_the_comparison(run, monkeypatch, table):
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
    assert asked["jobs"] is None
    run("compare", table, "--target", "price", "--jobs", 2)
    assert asked["jobs"] == 2


@pytest.mark.usefixtures("_short_page")
def test_quiet_says_nothing(run, table):
    result = run("compare", table, "--drop", "town", "--methods", "KMeans", "--quiet")
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


def test_a_failed_run_keeps_the_previous_report(run, table):
    folder = Path("assay-report")
    folder.mkdir()
    (folder / "report.html").write_text("old")
    assert run("compare", table, "--target", "nothing", "--force").exit_code == 2
    assert (folder / "report.html").read_text() == "old"
    assert os.listdir(folder) == ["report.html"]


def test_a_real_run_in_a_narrow_alphabet_has_no_control_codes_and_leaves_its_files(tmp_path, files):
    (tmp_path / "points.csv").write_text("a,b\n0,0\n0,1\n9,9\n9,8\n")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = in_shell("compare", "points.csv", "--methods", "KMeans", cwd=tmp_path, env=environment)
    assert (result.returncode, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout
    assert "\r" not in result.stdout
    assert sorted(os.listdir(tmp_path / "assay-report")) == files


@pytest.mark.usefixtures("_short_page")
def test_a_table_from_standard_input(run):
    rows = "".join(f"{row * 7 % 30},{row % 5},{row * 7 % 30 + row % 3}\n" for row in range(30))
    options = ("--target", "y", "--methods", "LinearRegression", "--repeats", 1, "--folds", 2)
    result = run("compare", "-", *options, input="a,b,y\n" + rows)
    assert result.exit_code == 0, result.output
    assert "LinearRegression has R² 0.9" in result.stdout
    assert "'a' alone gives y away (correlation 1.00): unless it is known" in " ".join(result.stdout.split())


@pytest.mark.usefixtures("_short_page")
def test_options_for_reading_and_folds_reach_the_table(run, tmp_path, rng):
    days = pd.date_range("2023-01-01", periods=80).strftime("%d.%m.%Y")
    price = [f"€{value:,.0f}" for value in 5000 + 400 * (np.arange(80) % 7) + rng.normal(0, 300, 80)]
    lines = [
        f"{day}:{row % 3}:{-999 if row % 20 == 0 else row % 7 + 0.5}:{cost}"
        for row, (day, cost) in enumerate(zip(days, price, strict=True))
    ]
    (tmp_path / "odd.csv").write_text(
        "Our prices\nday:kind:degrees:price\n" + "\n".join(lines), encoding="utf-8"
    )
    reading = (
        "--separator",
        ":",
        "--skip",
        1,
        "--categorical",
        "kind",
        "--na",
        "degrees=-999",
        "--time",
        "day",
    )
    result = run("compare", "odd.csv", "--target", "price", "--methods", "Ridge", "--folds", 3, *reading)
    assert result.exit_code == 0, result.output
    told = json.loads(Path("assay-report/results.json").read_text())
    kinds = {column["name"]: (column["kind"], column["missing"]) for column in told["table"]["columns"]}
    assert kinds == {"day": ("date", 0), "kind": ("categorical", 0), "degrees": ("numeric", 4)}
    assert (told["folds"], told["repeats"], told["alarms"]) == (3, 1, [])
    assert told["table"]["n_rows"] == 80
    new = run("predict", f"assay-report/{MODEL}", "odd.csv", "--separator", ":", "--skip", 1)
    assert new.exit_code == 0, new.output
    assert len(new.stdout.splitlines()) == 81
    again = run("certify", f"assay-report/{MODEL}", "odd.csv")
    assert again.exit_code == 0, again.output


@pytest.mark.usefixtures("_short_page")
def test_groups_of_rows_are_kept_together(run, tmp_path, rng):
    people = np.repeat(np.arange(20), 4)
    frame = pd.DataFrame({"person": people, "x": rng.normal(size=80), "y": rng.normal(size=20)[people]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    alarmed = run("compare", "t.csv", "--target", "y", "--methods", "Ridge", "--output", "a")
    assert "use --group person" in " ".join(alarmed.stdout.split())
    kept = run(
        "compare", "t.csv", "--target", "y", "--methods", "Ridge", "--output", "b", "--group", "person"
    )
    assert kept.exit_code == 0, kept.output
    assert "--group" not in kept.stdout


def test_a_sheet_is_read_and_fitted(run, tmp_path, table):
    frame = pd.read_csv(table)
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        frame.head(3).to_excel(book, sheet_name="Cover", index=False)
        frame.to_excel(book, sheet_name="Sales", index=False)
    result = run("fit", "Ridge", "book.xlsx", "--target", "price", "--sheet", "Sales", "--numeric", "class")
    assert result.exit_code == 0, result.output
    predicted = run("predict", "model.skops", "book.xlsx", "--sheet", "2", "--keep", "town")
    assert len(predicted.stdout.splitlines()) == 61
    few = run("predict", "model.skops", "book.xlsx")
    assert len(few.stdout.splitlines()) == 4
