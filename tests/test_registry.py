"""The registry knows every estimator, and one test says what a new one lacks and where to write it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import assay
import samples
from assay import registry
from assay.base import Model
from assay.registry import Entry, estimators, rooms

ROOT = Path(__file__).resolve().parent.parent
STOREYS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
LISTED = set(re.findall(r"assay\.(\w+)", " ".join(STOREYS["contracts"][0]["layers"])))
BENCHMARKS = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("benchmarks/bench_*.py"))


def lacking() -> Iterator[str]:
    """A sentence for each thing that a room or an estimator lacks: what to write, and where."""
    for package in registry.packages():
        if package not in LISTED:
            yield (
                f"The package assay.{package} has no storey: list it among the layers of the import contract "
                "in pyproject.toml, a room beside assay.linear."
            )
    for room in rooms():
        if not re.search(rf"assay\.{room}\b", BENCHMARKS):
            yield (
                f"The room assay.{room} has no benchmark: write benchmarks/bench_{room}.py, which runs its "
                "estimators beside their peers."
            )
    for entry in estimators():
        yield from lacking_of(entry)


def lacking_of(entry: Entry) -> Iterator[str]:
    """The sentences for one estimator."""
    name, home = entry.name, f"assay.{entry.room}.{entry.name}"
    if not entry.pictures:
        yield (
            f"{home} has no picture: declare(...) its displays in src/assay/display/{entry.room}, and import "
            "that module in src/assay/display/__init__.py."
        )
    if "\n\nCertificates: " not in registry.documentation(entry.kind)[0]:
        yield (
            f"{home} does not say what it proves: write a paragraph 'Certificates: ...' into its docstring."
        )
    if getattr(entry.kind, "certify", Model.certify) is Model.certify:
        yield (
            f"{home} cannot be certified: write {name}.certify(X, y), which measures the certificates again "
            "from the data and the attributes."
        )
    try:
        samples.sample(entry.kind())
    except AssertionError:
        yield (
            f"{home} has no data for the common checks: add a law for its kind to sample(...) in "
            "tests/samples.py."
        )
    if not entry.courses:
        yield (
            f"{home} names no course: write course and section under 'References' of its docstring, such as "
            f"'{registry.COURSES[-1]} §6.2.1.'"
        )


def test_rooms_and_estimators_lack_nothing():
    assert "\n".join(lacking()) == ""


COMPLETE = '''"""Throw-away models: they predict the mean."""

from sklearn.base import RegressorMixin

from assay.homes import publish
from assay.linear.predictor import LinearPredictor


class Mean(RegressorMixin, LinearPredictor):
    """The mean.

    Minimises the squares.

    Certificates: none that fails.

    References
    ----------
    Wei §1.1.
    """

    def fit(self, X, y):
        return self

    def certify(self, X, y):
        return self


__all__ = ["Mean"]
publish(globals())
'''


@pytest.fixture
def add_room(tmp_path, monkeypatch):
    """A room that is a package of `assay` for the time of a test."""

    def add(source: str) -> None:
        folder = tmp_path / "throwaway"
        folder.mkdir()
        (folder / "__init__.py").write_text(source, encoding="utf-8")
        monkeypatch.setattr(assay, "__path__", [*assay.__path__, str(tmp_path)])
        estimators.cache_clear()

    yield add
    monkeypatch.undo()
    estimators.cache_clear()
    sys.modules.pop("assay.throwaway", None)
    vars(assay).pop("throwaway", None)


HOME = "assay.throwaway"
ROOM = [
    f"The package {HOME} has no storey: list it among the layers of the import contract in pyproject.toml",
    f"The room {HOME} has no benchmark: write benchmarks/bench_throwaway.py",
]


def test_a_new_room_is_found_by_itself_and_told_what_it_lacks(add_room):
    add_room(COMPLETE)
    assert "throwaway" in rooms()
    (entry,) = (entry for entry in estimators() if entry.room == "throwaway")
    assert (entry.name, entry.family, entry.task) == ("Mean", "throw-away models", "regression")
    assert entry.courses == ("Wei §1.1",)
    assert entry.pictures == ("predictions", "residuals", "coefficients")
    assert_told(ROOM)


def assert_told(beginnings: list[str]) -> None:
    told = list(lacking())
    assert len(told) == len(beginnings), told
    for sentence, beginning in zip(told, beginnings, strict=True):
        assert sentence.startswith(beginning)
        assert sentence.endswith(".") or sentence.endswith(".'")
        assert "\n" not in sentence


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        pytest.param(
            "RegressorMixin, LinearPredictor",
            "RegressorMixin, BaseEstimator",
            f"{HOME}.Mean has no picture: declare(...) its displays in src/assay/display/throwaway",
            id="picture",
        ),
        pytest.param(
            "Certificates: none that fails.",
            "Nothing is proved.",
            f"{HOME}.Mean does not say what it proves: write a paragraph 'Certificates: ...'",
            id="certificates",
        ),
        pytest.param(
            "def certify",
            "def other",
            f"{HOME}.Mean cannot be certified: write Mean.certify(X, y)",
            id="certify",
        ),
        pytest.param(
            "Wei §1.1.",
            "A book.",
            f"{HOME}.Mean names no course: write course and section under 'References'",
            id="course",
        ),
        pytest.param(
            "RegressorMixin, LinearPredictor",
            "DensityMixin, LinearPredictor",
            f"{HOME}.Mean has no data for the common checks: add a law for its kind to sample(...)",
            id="sample data",
        ),
    ],
)
def test_what_an_estimator_lacks_is_told_in_one_sentence(add_room, old, new, sentence):
    source = COMPLETE.replace("import RegressorMixin", "import BaseEstimator, DensityMixin, RegressorMixin")
    assert old in source
    add_room(source.replace(old, new))
    assert_told([*ROOM, sentence])


def test_every_entry_is_as_its_class_says():
    for entry in estimators():
        assert issubclass(entry.kind, BaseEstimator)
        assert getattr(getattr(assay, entry.room), entry.name) is entry.kind
        assert entry.summary.endswith(".")
        assert entry.family == registry.title_of(entry.room)
    names = [entry.name for entry in estimators()]
    assert len(names) == len(set(names))
    assert [entry.room for entry in estimators()] == sorted(entry.room for entry in estimators())


def test_an_entry_makes_its_estimator_with_the_seed_if_it_draws():
    made = {entry.name: entry for entry in estimators()}
    assert made["KMeans"].make(5).random_state == 5
    assert "random_state" not in made["Ridge"].make(5).get_params()


def test_the_documentation_of_plot_tells_the_pictures_of_every_estimator():
    from assay.display import plot

    text = " ".join(plot.__doc__.split())
    for entry in estimators():
        assert re.search(rf"\b{entry.name}\b", text), entry.name
        for kind in entry.pictures:
            assert f'"{kind}"' in text
    assert '- KMeans: "map" (default with data), "centers" (default without data), "restarts"' in text
    assert '"dendrogram" (`max_leaves`, default without data)' in text


def test_the_registry_imports_no_display():
    code = (
        "import sys; from assay.registry import estimators; "
        "sys.exit('assay.display' in sys.modules or len(estimators()) < 50 or 'assay.display' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
