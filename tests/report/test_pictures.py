"""Pictures inside the page: small, in the colours and letters of the page, and told in words."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from assay.display.style import INK, PALETTE
from assay.report.page.pictures import describe, draw, embed


@pytest.fixture
def ax():
    return Figure().subplots()


def test_marks_that_look_the_same_say_so_once():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    svg = draw(lambda ax: ax.scatter(*rows.T, color=PALETTE[0]), "Rows.", "cloud").svg
    assert svg.count("<use ") >= 300
    assert svg.count(f"fill: {PALETTE[0]}") < 5
    assert len(svg) < 70 * 300


def test_a_picture_is_well_formed_and_names_nothing_outside():
    svg = draw(lambda ax: ax.plot([1, 2, 3], [3, 1, 2], "o-", label="a < b & c"), "A line.", "line").svg
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert "http" not in svg
    assert "<style" not in svg
    assert "font-family" not in svg


def test_ids_of_two_pictures_never_meet():
    def on_axes(ax):
        ax.scatter([1, 2], [2, 1])
        ax.set_xlim(0, 3)

    first, second = (draw(on_axes, "Two dots.", key).svg for key in ("one", "two"))
    ids = [re.findall(r'\bid="([^"]*)"', svg) for svg in (first, second)]
    assert ids[0]
    assert not set(ids[0]) & set(ids[1])
    for svg, own in zip((first, second), ids, strict=True):
        referred = set(re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', svg))
        assert {name for pair in referred for name in pair if name} == set(own)


def test_coordinates_are_shortened_and_images_are_left_alone():
    image = "data:image/png;base64,iVBORw0KGgo1.123456789"
    path = '<path d="M 0.12345 2 \nL 3 4 \n"/>'
    svg = embed(f'<svg><image xlink:href="{image}" x="1.23456" y="2"/>{path}</svg>', "x", "k")
    assert image in svg
    assert 'x="1.23"' in svg
    assert 'd="M0.12 2L3 4"' in svg


def test_words_follow_the_ink_of_the_page_and_pale_ones_are_made_readable():
    text = f'<svg><text style="fill: {INK}">a</text><text style="fill: {PALETTE[1]}">b</text></svg>'
    svg = embed(text, "x", "k")
    assert 'style="fill: var(--ink)">a' in svg
    assert f'style="fill: color-mix(in srgb, {PALETTE[1]} 50%, var(--ink))">b' in svg


def test_letters_of_any_language_stay_letters():
    svg = draw(lambda ax: (ax.plot([1, 2, 3]), ax.set_xlabel("年齢")), "Ages.", "ages").svg
    assert ">年齢</text>" in svg


def test_bars_are_told_by_name_and_value(ax):
    ax.barh(["bmi", "age"], [3.0, -1.5])
    ax.set(xlim=(-2, 4), xlabel="coefficient", title="coefficients")
    words = "coefficients. Bars: bmi 3, age −1.5. Horizontal axis: coefficient, from −2 to 4."
    assert describe(ax) == words


def test_many_bars_are_counted(ax):
    ax.bar(range(40), np.arange(40.0))
    assert "40 bars, from 0 to 39" in describe(ax)


def test_curves_and_points_are_told(ax):
    ax.plot([1, 2, 3], [5, 6, 9], label="risk")
    ax.axhline(4.0)
    ax.scatter(range(7), range(7))
    ax.set(xlabel="penalty", ylabel="error")
    words = describe(ax)
    assert "Curve, left to right: risk from 5 to 9." in words
    assert "7 points." in words
    assert "Horizontal axis: penalty, from " in words
    assert "Vertical axis: error, from " in words


def test_a_matrix_is_told_with_what_is_written_in_its_cells(ax):
    ax.imshow(np.eye(2))
    ax.text(0, 0, "17")
    ax.text(1, 1, "20")
    words = describe(ax)
    assert "A grid of 2 by 2 cells." in words
    assert "Labels: 17, 20." in words
