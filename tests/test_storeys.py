"""The house keeps its storeys and its promises about other libraries."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
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


@pytest.fixture(scope="module")
def nodes():
    """Every file of the library with its imports and functions: whole syntax trees are a million objects."""
    kinds = ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef
    trees = ((path, ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCES)
    return {path: [node for node in ast.walk(tree) if isinstance(node, kinds)] for path, tree in trees}


def test_no_private_name_of_scikit_learn_is_imported(nodes):
    private = []
    for path, node in ((path, node) for path, inside in nodes.items() for node in inside):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        theirs = [name for name in names if name.partition(".")[0] == "sklearn"]
        private += [(path, name) for name in theirs if any(part.startswith("_") for part in name.split("."))]
    assert private == []


def test_importing_assay_imports_no_estimator():
    code = "import sys, assay; sys.exit(len({'sklearn', 'numba', 'scipy', 'pandas'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_files_stay_readable():
    long = {str(path): path.read_text(encoding="utf-8").count("\n") for path in SOURCES}
    assert {path: n_lines for path, n_lines in long.items() if n_lines >= 400} == {}


def test_functions_stay_readable(nodes):
    """Fewer than 70 lines, at most ten arguments; constructors take what scikit-learn's users expect."""
    beyond = {}
    for path, inside in nodes.items():
        for node in inside:
            if not isinstance(node, (ast.Import, ast.ImportFrom)) and node.name != "__init__":
                given = node.args
                names = [item.arg for item in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                n_lines = node.end_lineno - node.lineno + 1
                n_arguments = len([name for name in names if name not in ("self", "cls")])
                if n_lines >= 70 or n_arguments > 10:
                    beyond[f"{path}:{node.lineno} {node.name}"] = (n_lines, n_arguments)
    assert beyond == {}


def test_folders_stay_readable():
    """A folder of more than fifteen modules is sorted into families."""
    modules = Counter(str(path.parent) for path in SOURCES if path.name != "__init__.py")
    assert {folder: n_modules for folder, n_modules in modules.items() if n_modules > 15} == {}
