"""Formulas of the documentation become MathML: each of the library is read, and nothing is refused."""

from __future__ import annotations

import re
import unicodedata
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.report import catalogue
from assay.report.formulas._mathml import AS_WRITTEN, to_mathml
from assay.report.formulas._parser import FormulaError, parse
from assay.report.formulas._tokens import SUBSCRIPTS, SUPERSCRIPTS

CORE = {"math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mtable", "mtr", "mtd"}
CORE |= {"msub", "msup", "msubsup", "munder", "mover", "munderover"}
WITH_FORMULA = [method for method in catalogue() if method.formula]
SIGNS = "xyαλΣ_^{}()[]|‖⟨⟩√½²ᵀ₁+−/=,.'·*` \"\n ∈≤min log"


def tree(formula: str) -> ElementTree.Element:
    return ElementTree.fromstring(to_mathml(formula))


def text(element: ElementTree.Element) -> str:
    return "".join(element.itertext())


def found(formula: str, tag: str) -> list[list[str]]:
    """Texts of the children of every element of that kind."""
    return [[text(child) for child in element] for element in tree(formula).iter(tag)]


def letters(words: str) -> str:
    """The letters of a formula in their order: raised and lowered ones as plain, sums left out."""
    plain = "".join(SUPERSCRIPTS.get(sign, SUBSCRIPTS.get(sign, sign)) for sign in words)
    return "".join(
        sign for sign in unicodedata.normalize("NFD", plain) if sign.isalpha() and sign not in "ΣΠ"
    )


@pytest.mark.parametrize("method", WITH_FORMULA, ids=lambda method: method.name)
def test_every_formula_of_the_library_is_read_whole(method):
    markup = to_mathml(method.formula)
    assert AS_WRITTEN not in markup
    element = ElementTree.fromstring(markup)
    assert {node.tag for node in element.iter()} <= CORE
    assert element.get("display") == "block"
    assert element.get("alttext") == element.get("aria-label") == " ".join(method.formula.split())
    assert letters(text(element)) == letters(method.formula)
    # None of the marks that stand for structure is left in the text, names of parameters apart.
    for node in element.iter():
        if node.get("class") != "code":
            assert not re.search(r"[_^`{}]", node.text or "")


def test_most_objectives_of_the_library_are_formulas():
    assert len(WITH_FORMULA) >= 45
    assert sum(to_mathml(method.formula).count(AS_WRITTEN) for method in WITH_FORMULA) == 0


def test_sums_have_their_range_below():
    assert found("Σ_{i ∈ C} x_i", "munder") == [["∑", "i∈C"]]
    assert found("Σ_ij x_ij", "munder") == [["∑", "ij"]]
    assert found("Σ_i^n x_i", "munderover") == [["∑", "i", "n"]]
    assert found("min_k ‖x − c_k‖", "munder") == [["min", "k"]]
    assert found("argmin_μ f(μ)", "munder") == [["argmin", "μ"]]


def test_sigma_is_a_sum_before_a_value_and_a_matrix_elsewhere():
    assert "∑" in text(tree("n = Σ s"))
    assert "∑" in text(tree("Σ (x − c)"))
    for matrix in ("xᵀ Σ⁻¹ x", "log |2πΣ|", "Σ̂ = S", "over b and Σ"):
        assert "∑" not in text(tree(matrix))
        assert "Σ" in text(tree(matrix))


def test_fractions_take_what_is_written_close_to_the_slash():
    assert found("(1/2n) Σ_i x_i", "mfrac") == [["1", "2n"]]
    assert found("w_j²/2", "mfrac") == [["wj2", "2"]]
    assert found("(1 − ρ)/2 ‖w‖²", "mfrac") == [["1−ρ", "2"]]
    assert found("cut(I_j)/vol(I_j)", "mfrac") == [["cut(Ij)", "vol(Ij)"]]
    assert found("|A||B| / (|A| + |B|) x", "mfrac") == [["|A||B|", "|A|+|B|"]]
    assert found("½ x", "mfrac") == [["1", "2"]]
    assert found("2^{j/2}", "mfrac") == []  # on one line where it would be too small
    assert "j/2" in text(tree("2^{j/2}"))


def test_parentheses_stay_where_they_mean_something():
    assert "(" not in text(tree("(1/n) x"))
    assert text(tree("f(1/n)")) == "f(1n)"
    assert text(tree("(1/n)² x")).startswith("(1n)2")
    assert text(tree("u ∈ [0, 1)")) == "u∈[0,1)"


def test_scripts_stand_at_what_they_belong_to():
    assert found("x_iᵀw", "msubsup") == [["x", "i", "T"]]
    assert found("(XᵀX)⁻¹", "msup")[0] == ["(XTX)", "−1"]
    assert found("‖B‖_*", "msub") == [["‖B‖", "*"]]
    assert found("‖x‖₁", "msub") == [["‖x‖", "1"]]
    assert found("x_{m_k}", "msub") == [["x", "mk"], ["m", "k"]]
    assert found("w_ii'", "msub") == [["w", "ii′"]]
    assert found("z'_j", "msubsup") == [["z", "j", "′"]]
    assert found("(r_i)₊", "msub")[0] == ["(ri)", "+"]
    assert found("|z|^(−γ)", "msup") == [["|z|", "−γ"]]
    assert found("Γ^−½", "msup") == [["Γ", "−½"]]
    assert found("λ_row", "msub") == [["λ", "row"]]
    assert found("ŷ = B̂", "mover") == [["y", "^"], ["B", "^"]]
    assert found("√(a + b)", "msqrt") == [["a+b"]]


def test_bars_open_and_close_by_their_place():
    assert text(tree("|A||B|")) == "|A||B|"
    forms = [(node.text, node.get("form")) for node in tree("‖y/‖y‖‖").iter("mo")]
    assert forms == [("‖", "prefix"), ("‖", "prefix"), ("‖", "postfix"), ("‖", "postfix")]
    forms = [(node.text, node.get("form")) for node in tree("2ε|z| − ε²").iter("mo")]
    assert forms == [("|", "prefix"), ("|", "postfix"), ("−", None)]


def test_a_minus_at_the_beginning_is_a_sign_of_the_value():
    forms = [node.get("form") for node in tree("−a − b").iter("mo")]
    assert forms == ["prefix", None]
    assert [node.get("form") for node in tree("(−r)").iter("mo")] == ["prefix", "prefix", "postfix"]


def test_words_are_words_and_letters_are_letters():
    element = tree("w_i = 1 without `sample_weight`")
    assert [node.text.strip() for node in element.iter("mtext")] == ["without", "sample_weight"]
    assert [node.text for node in tree("b not penalised").iter("mi")] == ["b"]
    assert [node.text for node in tree("z = Xv").iter("mi")] == ["z", "X", "v"]
    assert [node.text for node in tree("over a and b").iter("mi")] == ["a", "b"]
    assert [node.text for node in tree("two variables a factor").iter("mi")] == []
    assert [node.text for node in tree("tr(HᵀLH)").iter("mi")] == ["tr", "H", "T", "L", "H"]


def test_brackets_grow_around_fractions_alone():
    assert {node.get("stretchy") for node in tree("(a + b)").iter("mo") if node.get("fence")} == {"false"}
    assert {node.get("stretchy") for node in tree("(a + x_i/2)").iter("mo") if node.get("fence")} == {"true"}


def test_several_lines_are_aligned_as_they_are_written():
    element = tree("a = b   if c      (one)\n    + d          (two)\n        e        (three)")
    rows = [[text(cell) for cell in row] for row in element.iter("mtr")]
    assert len(rows) == 3
    assert [row[-1] for row in rows] == ["(one)", "(two)", "(three)"]
    assert rows[0][:2] == ["a=", "b"]
    assert rows[1][:2] == ["", "+d"]
    widths = [sum(int(cell.get("columnspan", 1)) for cell in row) for row in element.iter("mtr")]
    assert len(set(widths)) == 1


@pytest.mark.parametrize("broken", ["a ) b", "(a", "‖x", "x_", "^2", "a / ", "x_{i", "(" * 500 + ")" * 500])
def test_what_cannot_be_read_stands_as_it_is_written(broken):
    with pytest.raises(FormulaError):
        parse(broken)
    element = tree(broken)
    assert [node.text for node in element.iter("mtext")] == [broken.strip()]


def test_nothing_is_a_formula_without_content():
    assert list(tree("")) == []
    assert tree(" \n ").get("alttext") == ""


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(alphabet=SIGNS, max_size=60), st.text(max_size=40)))
def test_any_text_becomes_well_formed_mathml(formula):
    element = tree(formula)
    assert {node.tag for node in element.iter()} <= CORE
    assert element.get("alttext") == element.get("aria-label")
