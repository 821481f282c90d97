"""Whatever is wrong with a table, a folder or an option: one sentence, exit code 2, nothing left behind."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from assay import display, report
from assay.cli import compare
from assay.persistence import FORMAT
from assay.report import writing
from terminals import COMMAND, in_shell

NUMBERS = "a,b,y\n" + "".join(f"{row},{row**2 % 7},{row * 1.5}\n" for row in range(12))
SAME = "a,y\n" + "".join(f"{row},7\n" for row in range(20))
COLUMNS = "good.csv has no column 'z'; its columns are 'a', 'b', 'y'."

BAD_INPUTS = {
    "missing file": ("", "nowhere.csv", "There is no file nowhere.csv"),
    "empty table": ("", "bad.csv", "bad.csv is empty."),
    "only blank lines": ("\n \n\n", "bad.csv", "bad.csv is empty."),
    "no rows": ("a,b\n", "bad.csv", "bad.csv has no rows."),
    "one row": ("a,b\n1,2\n", "bad.csv", "bad.csv has one row only"),
    "cut-short Parquet": ("PAR1...", "bad.parquet", "bad.parquet is not a whole Parquet file"),
    "no Arrow file": ("ARROW", "bad.feather", "bad.feather is not an Arrow file"),
    "binary": (b"\x7fELF\x02\x01\x01" + bytes(9) + bytes(range(256)), "bad.csv", "bad.csv is not text"),
    "binary that alternates": (b"\x00\x01" * 50, "bad.csv", "bad.csv is not text: it holds zero bytes"),
    "binary without zeros": (bytes(range(1, 256)) * 50, "bad.csv", "bad.csv is not text"),
    "a line without end": ("1," * 2**20, "bad.csv", "bad.csv has no end of line in its first"),
    "unknown ending": ("a,b\n1,2\n", "bad.doc", "The ending of bad.doc does not tell what it is"),
    "no workbook": ("a,b\n1,2\n", "bad.xlsx", "bad.xlsx is not a whole Excel file"),
    "no JSON": ('{"a": 1}\n{"a": \n', "bad.jsonl", "Line 2 of bad.jsonl is not JSON"),
    "JSON without objects": ("1\n2\n", "bad.jsonl", "bad.jsonl holds 1 where an object such as"),
    "folder of mixed files": (
        "",
        "mixed",
        "mixed holds Parquet files and others ('more.csv'); give one file",
    ),
    "unlike Parquet files": ("", "unlike", "b.parquet and a.parquet differ in the columns 'v', 'w'"),
    "a target that names the rows": (
        "x,name\n" + "".join(f"{row},N{row}\n" for row in range(60)),
        "bad.csv --target name",
        "The target 'name' names the rows: nearly every value differs",
    ),
    "near file": ("", "god.csv", "Did you mean good.csv"),
    "near embedded table": ("", "diabetse", "Did you mean diabetes?"),
    "near method": ("", "good.csv --target y --methods Rigde", "Did you mean 'Ridge'?"),
    "near option": (
        "",
        "good.csv --taget y",
        "There is no option --taget. Did you mean --target? See assay --help",
    ),
    "near categorical column": (
        "",
        "good.csv --categorical A_",
        "good.csv has no column 'A_'. Did you mean 'a'?",
    ),
    "near sheet": ("", "book.xlsx --sheet Date", "book.xlsx has no sheet 'Date'. Did you mean 'Data'?"),
    "a folder no one can make": ("", "good.csv --output /dev/null/out", "/dev/null/out"),
    "a name too long": ("", f"good.csv --output {'x' * 300}", "cannot be written to (file name too long)"),
    "a folder": ("", "folder", "folder is a folder without Parquet files; give one CSV, JSON, Excel"),
    "ragged rows": ("a,b\n1,2\n3,4\n5,6,7,8,9\n", "bad.csv", "bad.csv cannot be read as CSV"),
    "a budget of words": ("", "good.csv --budget soon", "The budget must be a time such as 60s, 5m or 1h."),
    "no budget": ("", "good.csv --budget 0", "The budget must be a time such as 60s, 5m or 1h. Got '0'"),
    "unknown method": ("", "good.csv --target y --methods Forest", "There is no method 'Forest'"),
    "unknown excluded method": ("", "good.csv --target y --exclude Forest", "There is no method 'Forest'"),
    "one column": ("y\n1\n2\n3.5\n", "bad.csv --target y --task regression", "No column of bad.csv is left"),
    "identifiers only": (
        "name\n" + "".join(f"person {row}\n" for row in range(30)),
        "bad.csv",
        "Column 'name' is left out: it names the rows",
    ),
    "class of one": (
        "a,y\n1,u\n2,u\n3,v\n4,w\n5,w\n",
        "bad.csv --target y --keep-rare",
        "The class 'v' of 'y' has one row only",
    ),
    "one class": ("a,y\n1,u\n2,u\n3,u\n4,u\n", "bad.csv --target y", "there is nothing to predict"),
    "missing target": ("a,y\n1,\n2,\n3,\n4,\n", "bad.csv --target y", "'y'"),
    "no such target": ("", "good.csv --target z", COLUMNS),
    "no such column to drop": ("", "good.csv --drop z", COLUMNS),
    "a target that is dropped": ("", "good.csv --target y --drop y", "'y'"),
    "everything is dropped": ("", "good.csv --drop a --drop b --drop y", "No column of good.csv is left"),
    "duplicate names": ("a,a\n1,2\n3,4\n", "bad.csv", "more than one column named 'a'"),
    "constant target": (SAME, "bad.csv --target y --task regression", "is 7 in every row"),
    "one fold": ("", "good.csv --target y --folds 1", "'--folds'"),
    "no repeats": ("", "good.csv --target y --repeats 0", "'--repeats'"),
    "no jobs": ("", "good.csv --jobs 0", "'--jobs'"),
    "jobs in words": ("", "good.csv --jobs all", "'--jobs'"),
    "negative seed": ("", "good.csv --seed -1", "'--seed'"),
    "unknown task": ("", "good.csv --task sorting", "must be auto, regression, classification, clustering"),
    "task without target": ("", "good.csv --task regression", "Regression needs a target"),
    "needless target": ("", "good.csv --task clustering --target y", "Clustering has no target"),
    "words as numbers": (
        "a,y\n1,u\n2,v\n3,u\n4,v\n",
        "bad.csv --target y --task regression",
        "'y'",
    ),
    "few distinct rows": ("a,b\n1,1\n1,1\n2,2\n", "bad.csv", "has 2 distinct rows"),
    "output is a file": ("", "good.csv --output good.csv", "is a file; name a folder"),
    "output inside a file": ("", "good.csv --output good.csv/out", "good.csv/out"),
    "unknown option": ("", "good.csv --colour red", "--colour"),
    "an option without value": ("", "good.csv --target", "--target"),
    "too many arguments": ("", "good.csv good.csv", "extra argument"),
}


def assert_one_sentence(result, sentence: str) -> None:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("assay: ")
    assert result.stderr.count("\n") == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert "unexpected error" not in result.stderr


@pytest.mark.parametrize(("content", "arguments", "sentence"), BAD_INPUTS.values(), ids=BAD_INPUTS)
def test_bad_input_gives_one_sentence_and_leaves_no_file(run, tmp_path, content, arguments, sentence):
    (tmp_path / "good.csv").write_text(NUMBERS)
    for ending in ("csv", "parquet", "feather", "xlsx", "doc", "jsonl"):
        (tmp_path / f"bad.{ending}").write_bytes(content if isinstance(content, bytes) else content.encode())
    for name in ("folder", "mixed", "unlike"):
        (tmp_path / name).mkdir()
    frame = pd.DataFrame({"v": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "mixed" / "part.parquet")
    frame.to_csv(tmp_path / "mixed" / "more.csv")
    frame.to_parquet(tmp_path / "unlike" / "a.parquet")
    frame.rename(columns={"v": "w"}).to_parquet(tmp_path / "unlike" / "b.parquet")
    frame.to_excel(tmp_path / "book.xlsx", sheet_name="Data")
    before = sorted(os.listdir(tmp_path))
    result = run("compare", *arguments.split())
    assert_one_sentence(result, sentence)
    assert sorted(os.listdir(tmp_path)) == before


def test_the_nearest_column_is_suggested(run, table):
    assert_one_sentence(run("compare", table, "--target", "prise"), "did you mean 'price'?")


def test_a_folder_that_only_a_trial_finds_closed_is_told_before_the_work(run, table, monkeypatch):
    def refuse(*rest, **options):
        raise PermissionError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(report, "compare", lambda *rest, **options: pytest.fail("the comparison has begun"))
    monkeypatch.setattr(writing.tempfile, "TemporaryFile", refuse)
    result = run("compare", table, "--target", "price", "--output", "new/out")
    assert_one_sentence(result, "new/out cannot be written to (read-only file system); name another")
    assert not Path("new").exists()


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


def test_without_matplotlib_the_way_out_is_said_before_any_fit(run, table, monkeypatch):
    def missing():
        raise ImportError("Pictures need matplotlib: install it with pip install 'assay[plot]'.")

    monkeypatch.setattr(compare, "find_spec", lambda name: None)
    monkeypatch.setattr(display, "require_matplotlib", missing)
    monkeypatch.setattr(report, "compare", lambda *rest, **options: pytest.fail("the comparison has begun"))
    result = run("compare", table, "--target", "price")
    assert_one_sentence(result, "Pictures need matplotlib: install it with pip install 'assay[plot]'")


def test_a_real_error_goes_to_the_error_stream(tmp_path):
    result = in_shell("compare", "nowhere.csv", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("assay: There is no file nowhere.csv")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read and write everything")
def test_without_permission_nothing_is_read_or_written(run, table, tmp_path):
    table.chmod(0o000)
    assert_one_sentence(run("compare", table), "sales.csv cannot be read: permission denied")
    table.chmod(0o600)
    (tmp_path / "locked").mkdir(mode=0o500)
    assert_one_sentence(run("compare", table, "--output", "locked/out"), "cannot be written to")


def test_a_folder_that_refuses_writing_is_found_before_the_work(run, table, monkeypatch):
    def work(*rest, **options):
        raise AssertionError("the comparison has begun")

    monkeypatch.setattr(report, "compare", work)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    result = run("compare", table, "--target", "price", "--output", "locked")
    assert_one_sentence(result, "The output folder locked cannot be written to; name another with --output.")
    result = run("fit", "Ridge", table, "--target", "price")
    assert_one_sentence(result, "cannot be written to; name another with --output.")


@pytest.mark.usefixtures("_short_page")
def test_a_full_disk_leaves_nothing(run, table, tmp_path, monkeypatch):
    def full(*rest, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = sorted(os.listdir(tmp_path))
    monkeypatch.setattr(os, "replace", full)
    options = ("--target", "price", "--methods", "Ridge", "--repeats", 1)
    result = run("compare", table, *options, "--quiet")
    assert_one_sentence(result, "The report cannot be written to assay-report: No space left on device.")
    assert sorted(os.listdir(tmp_path)) == before
    result = run("fit", "Ridge", table, "--target", "price")
    assert_one_sentence(result, "No space left on device.")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_output_that_finds_no_room_is_one_sentence():
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*COMMAND, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 2
    assert result.stderr == "assay: the output cannot be written: No space left on device.\n"


def test_predictions_that_find_no_room_leave_no_file(run, table, monkeypatch):
    assert run("fit", "Ridge", table, "--target", "price").exit_code == 0
    before = sorted(os.listdir())
    real = pd.DataFrame.to_csv

    def full(self, *rest, **options):
        real(self, *rest, **options)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    result = run("predict", "model.skops", table, "--output", "out.csv")
    assert_one_sentence(result, "The predictions cannot be written to out.csv: No space left on device.")
    assert sorted(os.listdir()) == before
    assert (
        "the output cannot be written: No space left on device."
        in run("predict", "model.skops", table).stderr
    )


class Payload:
    """Makes a file when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("executed",)


def damaged(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]


def test_a_model_file_that_is_not_ours_is_one_sentence_for_every_command(run, table, tmp_path):
    assert run("fit", "Ridge", table, "--target", "price", "--output", "good.skops").exit_code == 0
    whole = (tmp_path / "good.skops").read_bytes()
    bad = {
        "tampered": damaged(whole),
        "truncated": whole[: len(whole) // 2],
        "empty": b"",
        "pickle": pickle.dumps(Payload()),
        "page": b"<html></html>",
    }
    for name, content in bad.items():
        (tmp_path / f"{name}.skops").write_bytes(content)
        for command in (("certify", f"{name}.skops"), ("predict", f"{name}.skops", table)):
            assert_one_sentence(run(*command), f"{name}.skops")
    assert not Path("executed").exists()
    for command in (("certify", "."), ("predict", ".", table), ("predict", "nowhere.skops", table)):
        assert_one_sentence(run(*command), command[1])


def test_a_model_of_a_newer_version_says_what_to_do(run, table, monkeypatch):
    monkeypatch.setattr("assay.persistence.FORMAT", FORMAT + 1)
    assert run("fit", "Ridge", table, "--target", "price").exit_code == 0
    monkeypatch.undo()
    result = run("certify", table.with_name("model.skops"))
    assert_one_sentence(result, "newer than")
    assert "upgrade" in result.stderr


def test_an_interruption_leaves_nothing(run, monkeypatch):
    def stop(*rest, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "write", stop)
    before = signal.getsignal(signal.SIGINT)
    result = run("compare", "us_arrests", "--methods", "KMeans")
    assert (result.exit_code, result.stderr) == (130, "assay: interrupted.\n")
    assert os.listdir() == []
    assert signal.getsignal(signal.SIGINT) is before


STRANGE_BUT_GOOD = {
    "all missing": (lambda frame: frame.assign(empty=""), "Column 'empty' is left out"),
    "ten thousand categories": (
        lambda frame: pd.concat([frame] * 200).assign(code=[f"k{row}" for row in range(12_000)]),
        "Column 'code' is left out",
    ),
    "dates": (
        lambda frame: frame.assign(day=pd.date_range("2024-01-31", periods=60).strftime("%Y-%m-%d")),
        None,
    ),
}


@pytest.mark.usefixtures("_short_page")
@pytest.mark.parametrize(("change", "sentence"), STRANGE_BUT_GOOD.values(), ids=STRANGE_BUT_GOOD)
def test_strange_columns_are_no_error(run, table, change, sentence):
    change(pd.read_csv(table)).to_csv("strange.csv", index=False)
    options = ("--target", "price", "--methods", "LinearRegression", "--folds", 2, "--repeats", 1)
    result = run("compare", "strange.csv", *options)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    assert sentence is None or sentence in result.stdout
