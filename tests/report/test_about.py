"""What is told about a method: what it computes, assumes, proves, and where to read more."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.certificates import Certificate, Certificates
from assay.cluster import DBSCAN
from assay.report import Data, catalogue, compare, find_method
from assay.report.page.about import _limits, about, prose, typeset
from assay.report.page.proofs import glossary
from assay.suitability import Suitability

WITH_FORMULA = [method for method in catalogue() if method.formula]
SIGNS = "xyαλΣ_^{}()[]|‖⟨⟩√½²ᵀ₁+−/=,.'·*` \"\n ∈≤min log"
METHODS = ("Ridge", "KernelRidge", "LinearRegression")


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    data = Data.from_frame(frame, frame["a"].to_numpy() + 0.1 * rng.normal(size=40))
    return compare(data, folds=2, repeats=1, methods=METHODS)


def entries_of(comparison) -> dict[str, ElementTree.Element]:
    """What is told about each method, read as XML, by its name."""
    real = [candidate for candidate in comparison.candidates if not candidate.is_baseline]
    return {item.name: ElementTree.fromstring(about(item, whole=True)) for item in real}


def words(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def facts(entry: ElementTree.Element) -> dict[str, str]:
    return {words(part.find("dt")): words(part.find("dd")) for part in entry.find("dl")}


def test_a_baseline_has_nothing_to_tell(comparison):
    (baseline,) = (candidate for candidate in comparison.candidates if candidate.is_baseline)
    assert about(baseline, whole=True) == ""


def test_of_a_model_that_is_not_recommended_the_formula_and_what_it_assumes_are_enough(comparison):
    ridge = next(candidate for candidate in comparison.candidates if candidate.name == "Ridge")
    brief = ElementTree.fromstring(about(ridge, whole=False))
    assert set(facts(brief)) == {"Assumes"}
    assert brief.find(".//div[@role='math']") is not None


def test_an_entry_tells_what_the_documentation_tells(comparison):
    for name, entry in entries_of(comparison).items():
        method = find_method(name)
        told = facts(entry)
        assert told["Assumes"].lower() == method.assumptions.replace("`", "").lower()
        assert told["Read more"] == method.references
        formula = entry.find(".//div[@role='math']")
        assert ElementTree.tostring(formula) == ElementTree.tostring(
            ElementTree.fromstring(typeset(method.formula))
        )
        assert formula.get("aria-label") == " ".join(method.formula.split())
        assert entry.find(".//div[@role='group']").get("aria-label") == f"Objective of {name}"


def test_every_certificate_of_the_fits_is_explained_once(comparison):
    told = words(ElementTree.fromstring(glossary(comparison.candidates)))
    for candidate in comparison.candidates:
        for item in candidate.certificates:
            assert told.count(f"{item.quantity[0].upper()}{item.quantity[1:]}: {item.claim}") == 1
            assert item.source in told
            assert all(assumption in told for assumption in item.assumptions)


def test_a_certificate_that_comes_several_times_is_explained_once(comparison):
    first, *_ = comparison.candidates
    same = Certificate("The gap is small", "gap <1>", 0.1, "<=", 1.0, assumptions=("a & b",))
    doubled = dataclasses.replace(
        first, certificates=Certificates([same, dataclasses.replace(same, value=0.2)])
    )
    told = words(ElementTree.fromstring(glossary([doubled, doubled])))
    assert told.count("Gap <1>: The gap is small. Assumes: a & b.") == 1
    assert glossary([]) == ""


def test_limits_of_size_and_the_place_among_equals_are_told(comparison):
    entries = entries_of(comparison)
    limit = find_method("KernelRidge").kind._suits.max_rows
    assert f"up to {limit:,} rows" in facts(entries["KernelRidge"])["Size"]
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
        "It is tried on tables of up to 5,000 rows and 40 columns of numbers. Complexity 3."
    )
    assert "tables of up to 1,000 numbers in all." in _limits(Suitability(3, max_numbers=1000))


def test_a_method_told_in_words_has_no_formula(comparison):
    found = dataclasses.replace(comparison.best, name="DBSCAN", model=DBSCAN(), certificates=Certificates())
    entry = ElementTree.fromstring(about(found, whole=True))
    assert entry.find(".//div[@role='math']") is None
    assert "connected components of core rows" in words(entry)
    assert "asked for by name" in facts(entry)["Size"]


def test_formulas_in_the_text_are_lowered_and_raised_and_names_are_not():
    assert prose("Σ_k u_ik^m") == "<p>Σ<sub>k</sub> u<sub>ik</sub><sup>m</sup></p>"
    assert prose("‖x‖^(−2/(m−1))") == "<p>‖x‖<sup>−2/(m−1)</sup></p>"
    assert prose("`n_init` of n_features, V_kᵀ") == (
        "<p><code>n_init</code> of <code>n_features</code>, V<sub>k</sub>ᵀ</p>"
    )
    assert prose("a < b\n\nc & d") == "<p>a &lt; b</p><p>c &amp; d</p>"


def cells(formula: str) -> list[tuple[list[int], str]]:
    """The parts of a typeset formula: first row and column, last row and column, and the words."""
    return [
        ([int(number) for number in re.findall(r"\d+", cell.get("style"))], "".join(cell.itertext()))
        for cell in ElementTree.fromstring(typeset(formula))
    ]


def signs(text: str) -> str:
    """What a formula consists of beside blanks and the marks that stand for scripts and names."""
    return re.sub(r"[\s_^`{}()]", "", unicodedata.normalize("NFC", text.replace("'", "′")))


@pytest.mark.parametrize("method", WITH_FORMULA, ids=lambda method: method.name)
def test_every_formula_of_the_library_is_typeset_whole(method):
    element = ElementTree.fromstring(typeset(method.formula))
    assert element.get("role") == "math"
    assert element.get("aria-label") == " ".join(method.formula.split())
    assert {node.tag for node in element.iter()} <= {"div", "span", "sub", "sup", "code"}
    assert signs("".join(element.itertext())) == signs(method.formula)
    # None of the marks that stand for structure is left in the text, names of parameters apart.
    for node in element.iter():
        own = [node.text or "", *(child.tail or "" for child in node)]
        assert node.tag == "code" or not re.search(r"[_^`{}]", "".join(own))


def test_most_objectives_of_the_library_are_formulas():
    assert len(WITH_FORMULA) >= 45


def test_scripts_stand_at_what_they_belong_to():
    def inside(formula):
        return typeset(formula).partition('">')[2].partition('">')[2].removesuffix("</span></div>")

    assert inside("x_iᵀw + Bᵀx_i") == "x<sub>i</sub>ᵀw + Bᵀx<sub>i</sub>"
    assert inside("‖B‖_* + ‖x‖₁") == "‖B‖<sub>*</sub> + ‖x‖₁"
    assert inside("x_{m_k}") == "x<sub>m<sub>k</sub></sub>"
    assert inside("w_ii' z'_j") == "w<sub>ii′</sub> z′<sub>j</sub>"
    assert inside("|z|^(−γ) e^{−y_i}") == "|z|<sup>−γ</sup> e<sup>−y<sub>i</sub></sup>"
    assert inside("min_k Σ_{i ∈ C} λ_row") == "min<sub>k</sub> Σ<sub>i ∈ C</sub> λ<sub>row</sub>"
    assert inside("a < b with `sample_weight`") == "a &lt; b with <code>sample_weight</code>"


def test_several_lines_are_aligned_as_they_are_written():
    assert cells("a = b   if c     (one)\n    + d          (two)\n        e        (three)") == [
        ([1, 1, 2, 2], "a ="),
        ([1, 2, 2, 3], "b"),
        ([1, 3, 2, 4], "if c"),
        ([1, 4, 2, 5], "(one)"),
        ([2, 2, 3, 4], "+ d"),
        ([2, 4, 3, 5], "(two)"),
        ([3, 3, 4, 4], "e"),
        ([3, 4, 4, 5], "(three)"),
    ]
    assert cells("‖w‖²,        b not penalised,") == [
        ([1, 1, 2, 2], "‖w‖²,"),
        ([1, 2, 2, 3], "b not penalised,"),
    ]


def test_nothing_is_a_formula_without_content():
    assert cells("") == cells(" \n ") == []


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=SIGNS, max_size=60))
def test_any_text_becomes_a_well_formed_formula_that_keeps_its_signs(formula):
    element = ElementTree.fromstring(typeset(formula))
    assert element.get("aria-label") == " ".join(formula.split())
    assert signs("".join(element.itertext())) == signs(formula)
