"""The appendix: what each method on the leaderboard computes, assumes, proves, and where to read more."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

from assay.certificates import Certificate, Certificates
from assay.cluster import DBSCAN
from assay.report import Data, compare, find_method
from assay.report.formulas._mathml import to_mathml
from assay.report.page._appendix import _limits, appendix, prose
from assay.report.trials._comparison import final_step
from assay.suitability import Suitability

METHODS = ("Ridge", "KernelRidge", "LinearRegression")


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    data = Data.from_frame(frame, frame["a"].to_numpy() + 0.1 * rng.normal(size=40))
    return compare(data, "regression", folds=2, repeats=1, methods=METHODS)


def entries_of(comparison) -> dict[str, ElementTree.Element]:
    """The parts of the appendix, read as XML, by the name of the method."""
    root = ElementTree.fromstring(appendix(comparison))
    assert root.get("id") == "appendix"
    return {entry.get("id").removeprefix("about-"): entry for entry in root.iter("details")}


def words(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def facts(entry: ElementTree.Element) -> dict[str, str]:
    parts = list(entry.find("dl"))
    return {words(name): words(told) for name, told in zip(parts[::2], parts[1::2], strict=True)}


def test_every_method_is_there_once_in_the_order_of_the_leaderboard_and_no_baseline(comparison):
    names = [candidate.name for candidate in comparison.candidates if not candidate.is_baseline]
    assert list(entries_of(comparison)) == names
    assert set(names) == set(METHODS)
    twice = dataclasses.replace(comparison, candidates=comparison.candidates * 2)
    assert list(entries_of(twice)) == names


def test_an_entry_tells_what_the_documentation_tells(comparison):
    for name, entry in entries_of(comparison).items():
        method = find_method(name)
        told = facts(entry)
        assert words(entry.find("summary")) == f"{name} {method.summary}"
        assert told["Assumes"].lower() == method.assumptions.replace("`", "").lower()
        assert told["Read more"] == method.references
        formula = entry.find("div/math")
        assert ElementTree.tostring(formula) == ElementTree.tostring(
            ElementTree.fromstring(to_mathml(method.formula))
        )
        assert formula.get("aria-label") == " ".join(method.formula.split())


def test_every_certificate_of_the_fit_is_explained(comparison):
    entries = entries_of(comparison)
    for candidate in comparison.candidates:
        if candidate.is_baseline:
            continue
        told = facts(entries[candidate.name])["Certifies"]
        assert candidate.certificates
        for item in candidate.certificates:
            assert item.quantity in told
            assert item.claim in told
            assert item.source in told
            assert all(assumption in told for assumption in item.assumptions)


def test_a_certificate_that_comes_several_times_is_explained_once(comparison):
    first, *others = comparison.candidates
    same = Certificate("The gap is small", "gap <1>", 0.1, "<=", 1.0, assumptions=("a & b",))
    doubled = dataclasses.replace(
        first, certificates=Certificates([same, dataclasses.replace(same, value=0.2)])
    )
    changed = dataclasses.replace(comparison, candidates=(doubled, *others))
    told = facts(entries_of(changed)[first.name])["Certifies"]
    assert told.count("gap <1>: The gap is small. Assumes: a & b.") == 1


def test_limits_of_size_and_the_place_among_equals_are_told(comparison):
    entries = entries_of(comparison)
    limit = find_method("KernelRidge").kind._suits.max_rows
    assert f"up to {limit:,} rows".replace(",", " ") in facts(entries["KernelRidge"])["Size"]
    told = facts(entries["LinearRegression"])["Size"]
    assert told == "It is tried on tables of any size. Complexity 1."


def test_a_method_for_some_targets_says_for_which():
    counts = Suitability(complexity=2, target="counts")
    assert (
        _limits(counts)
        == "It is tried on tables of any size, where the target counts something. Complexity 2."
    )
    either = dataclasses.replace(counts, otherwise=Suitability(complexity=2, target="positive"))
    assert "where the target counts something or the target is above zero." in _limits(either)
    assert "where" not in _limits(dataclasses.replace(counts, otherwise=Suitability(complexity=2)))
    assert _limits(Suitability(3, max_rows=5000, max_features=40)) == (
        "It is tried on tables of up to 5\u202f000 rows and 40 columns of numbers. Complexity 3."
    )


@pytest.mark.parametrize("task", ["regression", "classification", "clustering"])
def test_every_model_of_the_embedded_tables_has_an_entry(task, request):
    found = request.getfixturevalue(task)
    kinds = {
        type(final_step(candidate.model)).__name__
        for candidate in found.candidates
        if not candidate.is_baseline
    }
    assert set(entries_of(found)) == kinds


def test_links_lead_to_the_sections_of_the_models(comparison):
    links = [link.get("href") for entry in entries_of(comparison).values() for link in entry.iter("a")]
    places = [
        f"#model-{place + 1}"
        for place, candidate in enumerate(comparison.candidates)
        if not candidate.is_baseline
    ]
    assert links == places


def test_a_method_told_in_words_has_no_formula(comparison):
    first, *others = comparison.candidates
    found = dataclasses.replace(first, name="DBSCAN", model=DBSCAN(), certificates=Certificates())
    entry = entries_of(dataclasses.replace(comparison, candidates=(found, *others)))["DBSCAN"]
    assert entry.find("div") is None
    assert "connected components of core rows" in words(entry)
    assert "asked for by name" in facts(entry)["Size"]


def test_there_is_no_appendix_for_baselines_alone(comparison):
    baselines = tuple(candidate for candidate in comparison.candidates if candidate.is_baseline)
    assert baselines
    assert appendix(dataclasses.replace(comparison, candidates=baselines)) == ""


def test_formulas_in_the_text_are_lowered_and_raised_and_names_are_not():
    assert prose("Σ_k u_ik^m") == "<p>Σ<sub>k</sub> u<sub>ik</sub><sup>m</sup></p>"
    assert prose("‖x‖^(−2/(m−1))") == "<p>‖x‖<sup>−2/(m−1)</sup></p>"
    assert prose("`n_init` of n_features, V_kᵀ") == (
        "<p><code>n_init</code> of <code>n_features</code>, V<sub>k</sub>ᵀ</p>"
    )
    assert prose("a < b\n\nc & d") == "<p>a &lt; b</p><p>c &amp; d</p>"
