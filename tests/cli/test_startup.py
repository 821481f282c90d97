"""The command itself: help at once, exit codes told, a missing package said in a sentence."""

from __future__ import annotations

import builtins
import subprocess
import sys

import pytest

import assay
from assay import cli
from terminals import COMMAND


def test_version_and_help(run):
    assert run("--version").stdout == f"assay {assay.__version__}\n"
    words = run("--help").stdout
    assert "compare" in words
    assert "certify" in words
    assert "--target" in run("compare", "--help").stdout
    assert run("dance").stderr == "assay: No such command 'dance'; see assay --help.\n"


def test_without_arguments_the_command_shows_its_help(run):
    result = run()
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == run("--help").stdout
    assert result.stdout.startswith("Usage: assay [OPTIONS] COMMAND")


def test_the_help_tells_every_exit_code(run):
    words = run("--help").stdout
    for code in ("0    done", "1    a certificate", "2    the command", "130  interrupted", "141  whoever"):
        assert f"\n  {code}" in words


@pytest.mark.parametrize("command", ["compare", "predict", "fit", "certify", "methods", "explain"])
def test_every_command_explains_itself_in_80_columns(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: assay {command} [OPTIONS]")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "<" not in result.stdout.split("Options:")[1], "every value has a name of its own"


def test_help_imports_no_heavy_library():
    probe = "import sys; from assay import cli; cli.application(); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_a_real_help_imports_neither_numpy_nor_scikit_learn():
    told = subprocess.run(
        [COMMAND[0], "-X", "importtime", *COMMAND[1:], "compare", "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stdout[:13]) == (0, "Usage: assay ")
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in told.stderr.splitlines()}
    assert "typer" in imported
    assert not imported & {"numpy", "scipy", "sklearn", "numba", "pandas", "pyarrow", "matplotlib", "skops"}


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


def test_a_reader_that_stops_reading_ends_the_command_without_a_word():
    with subprocess.Popen(
        [*COMMAND, "methods"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141
