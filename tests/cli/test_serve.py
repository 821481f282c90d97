"""`assay serve` tells where it is, answers, and ends with Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from assay.report import fit_table


@pytest.fixture
def model(tmp_path):
    return fit_table("Ridge", "diabetes", output=tmp_path / "m.skops").path


def test_the_command_serves_until_ctrl_c(model):
    words = [sys.executable, "-m", "assay.cli", "serve", str(model), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            line = process.stdout.readline()
            address = re.fullmatch(r"Ridge at (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends\)\n", line)[1]
            with urllib.request.urlopen(f"{address}model", timeout=60) as response:
                assert json.load(response)["target"] == "progression"
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
            assert process.stderr.read() == "ended.\n"
        finally:
            process.kill()


def test_a_port_that_is_taken_is_a_sentence(run, model):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = run("serve", model, "--port", taken.getsockname()[1])
    assert refused.exit_code == 2
    assert "name another with --port, or 0 for a free one" in refused.stderr


def test_a_model_that_is_not_there_is_a_sentence(run):
    refused = run("serve", "nothing.skops")
    assert refused.exit_code == 2
    assert "nothing.skops" in refused.stderr
