"""The leaderboard: the recommended model is marked, and a narrow terminal loses the lesser columns only."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from assay.certificates import Certificate, Certificates
from assay.cli.terminal import show_comparison
from assay.report import Candidate, Comparison, RawTable, choose_data

HOLDS = Certificate("The gap is small.", "gap", 0.0, "<=", 1.0)
FAILS = Certificate("The gap is small.", "gap", 2.0, "<=", 1.0)
EMPTY = Certificate("The risk is below the bound.", "risk", 0.1, "<=", 3.0, trivial=1.0)


def candidate(name: str, score: float, *certificates: Certificate, complexity: int = 1) -> Candidate:
    return Candidate(
        name=name,
        summary="",
        score=score,
        standard_error=0.02,
        scores=score + 0.02 * np.cos(np.arange(10) + len(name)),
        measures={"RMSE": 53.981, "MAE": 43.6},
        fit_seconds=0.25,
        parameters={},
        model=None,
        certificates=Certificates(certificates),
        predictions=np.zeros(60),
        complexity=complexity,
    )


def printed(width: int, *, encoding: str = "utf-8", color: bool = False, n_notes: int = 1) -> str:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["height", "age", "price [€]"])
    data = choose_data(RawTable("sales.csv", frame), target="price [€]")
    notes = tuple(f"Column 'c{number}' is left out: it has no value." for number in range(n_notes))
    comparison = Comparison(
        task=data.task,
        data=replace(data, notes=notes),
        score_name="R²",
        candidates=(
            candidate("KernelRidge[rbf]", 0.502, HOLDS, HOLDS, complexity=4),
            candidate("Ridge", 0.501, HOLDS, EMPTY),
            candidate("Lasso", 0.40, HOLDS, FAILS),
            candidate("Baseline", -0.001, complexity=0),
        ),
        folds=5,
        repeats=2,
        seed=0,
        skipped=("GaussianProcess was left out: it takes too long beyond 5,000 rows.",),
    )
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    options = {"force_terminal": True, "color_system": "256"} if color else {"color_system": None}
    show_comparison(Console(file=file, width=width, **options), comparison)
    file.flush()
    return file.buffer.getvalue().decode(encoding)


def rows(text: str) -> dict[str, str]:
    names = ("KernelRidge[rbf]", "Ridge", "Lasso", "Baseline")
    lines = [line for line in text.splitlines() if " ± " in line and "predicts" not in line]
    return {name: next(line for line in lines if f" {name} " in line) for name in names}


def test_at_80_columns_every_column_is_there_and_the_rows_are_aligned():
    text = printed(80)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    header = next(line for line in text.splitlines() if "method" in line)
    assert header.split() == ["method", "R²", "RMSE", "MAE", "fit", "time", "certificates"]
    found = rows(text)
    for mark in ("±", "53.98", "43.6", " s "):
        assert len({line.index(mark) for line in found.values()}) == 1
    assert found["Lasso"].rstrip().endswith("1/2 hold")


def test_the_recommended_model_is_marked_and_named_in_a_sentence():
    text = printed(80)
    assert [name for name, line in rows(text).items() if "★" in line] == ["Ridge"]
    assert "\n★ Ridge predicts price [€] as well as any: R² 0.50 ± 0.02." in text
    assert "GaussianProcess was left out" in text
    assert "Column 'c0' is left out: it has no value." in text


@pytest.mark.parametrize(("width", "columns"), [(70, "R² RMSE MAE certificates"), (56, "R² certificates")])
def test_a_narrow_terminal_loses_the_lesser_columns_only(width, columns):
    text = printed(width)
    header = next(line for line in text.splitlines() if "method" in line)
    assert header.split()[1:] == columns.split()
    for name, line in rows(text).items():
        assert f" {name} " in line
        assert "±" in line


def test_certificates_are_coloured_by_their_verdict():
    text = printed(100, color=True)
    assert "\x1b[32m2/2 hold" in text
    assert "\x1b[31m1/2 hold" in text
    assert "33m2/2 hold, 1 vacuous" in text


def test_a_narrow_alphabet_marks_with_an_asterisk():
    text = printed(80, encoding="ascii")
    assert "\n* Ridge predicts" in text


def test_many_notes_are_not_all_told():
    text = printed(80, n_notes=40)
    assert text.count("is left out: it has no value") == 5
    assert "35 more notes on the table are in the report." in text
    assert "1 more note on the table is in the report." in printed(80, n_notes=6)
