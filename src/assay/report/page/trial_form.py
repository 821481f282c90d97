"""The page of `assay serve`: a form with the columns of a model, and what it says about them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from sklearn.pipeline import Pipeline

from assay.report.page.pieces import breakable, headed
from assay.report.tables.schema import Column


def form_page(model: Pipeline, about: dict[str, Any], nonce: str) -> str:
    """The page as HTML; nothing in it comes from elsewhere.

    Parameters
    ----------
    model : Pipeline
    about : dict
        What `ServedModel.describe` tells.
    nonce : str
        What the policy of the page lets its style and script be known by.
    """
    inside = files("assay.report.page")
    names = ("style.css", "form.css", "form.js")
    style, own, script = (inside.joinpath(name).read_text(encoding="utf-8") for name in names)
    encoder = model[0]
    used = [column for column in encoder.columns if column.learnable]
    values = {item["name"]: item["typical"] for item in about["columns"]}
    fields = ""
    for column, code in zip(used, encoder.codes_, strict=True):
        fields += f"<label>{breakable(column.name)}{_field(column, code, values[column.name])}</label>"
    target = about["target"] or "the group"
    rows = f", {about['n_rows']} rows" if about.get("n_rows") else ""
    share = f"{100 * about['interval']:g}%" if about["interval"] else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(about['method'])}: {escape(str(target))}</title>"
        f'<style nonce="{nonce}">{style}{own}</style></head><body><main id="content">'
        f'<header><p class="kicker">{escape(str(about["task"]))}</p>'
        f"<h1>{headed(' '.join((about['method'], 'predicts', str(target))))}</h1>"
        f'<p class="note">Learnt from {escape(str(about["table"]))}{rows}; the form has typical values.</p>'
        f'<p id="answer" role="status"></p><ul id="beside" class="remarks"></ul></header>'
        f'<section><h2>The row</h2><form data-share="{share}" autocomplete="off">{fields}</form></section>'
        f'</main><script nonce="{nonce}">{script}</script></body></html>\n'
    )


def _field(column: Column, code: Any, typical: str) -> str:
    """An input for a column, with a typical value in it where one is known."""
    name, value = f'name="{escape(column.name)}"', escape(typical)
    if column.kind == "boolean":
        return _choice(name, ["yes", "no"], typical)
    if column.kind == "numeric":
        return f'<input type="number" step="any" {name} value="{value}">'
    if column.kind == "date":
        return f'<input type="date" {name} value="{value}">'
    return _choice(name, code.known_levels, typical)


def _choice(name: str, options: Sequence[str], typical: str) -> str:
    listed = ""
    for option in options:
        mark = " selected" if option == typical else ""
        listed += f'<option value="{escape(option)}"{mark}>{escape(option)}</option>'
    return f'<select {name}><option value="">missing</option>{listed}</select>'
