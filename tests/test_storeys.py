"""The house keeps its storeys and its promises about other libraries."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src" / "assay").rglob("*.py"))


def test_imports_go_downwards_only():
    lint = Path(sys.executable).with_name("lint-imports")
    if not lint.exists():
        pytest.skip("import-linter is not installed")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_private_name_of_scikit_learn_is_imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.partition(".")[0] == "sklearn":
                assert not any(part.startswith("_") for part in name.split(".")), name


def test_importing_assay_imports_no_estimator():
    code = "import sys, assay; sys.exit(len({'sklearn', 'numba', 'scipy', 'pandas'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_files_stay_readable():
    for path in SOURCES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 600, path
