"""The catalogue of methods, read from their documentation."""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass
from functools import cache
from textwrap import dedent, indent
from typing import NamedTuple

from assay.registry import courses_among, documentation, estimators, task_of
from assay.report.errors import ReportError
from assay.report.trials.landmarks import landmark_entries
from assay.report.wording import nearest, plainly

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(])")


class Parameter(NamedTuple):
    """A parameter of an estimator: its name, its default as one types it, and what it is, in a sentence."""

    name: str
    default: str
    summary: str


@dataclass(frozen=True)
class Method:
    """One estimator of the library, as its documentation tells it.

    Attributes
    ----------
    name : str
    family : str
        The package it lives in.
    task : str
        "regression", "classification", "clustering", "biclustering", "density", "outliers" or
        "transformation".
    summary : str
        The first line.
    objective : str
        What is minimised, maximised or found, the formula included.
    formula : str
        The formula alone, one line or several; empty where the objective is told in words.
    algorithm : str
        How it is computed, and what else must be known of the fit.
    assumptions : str
        Under which conditions the result means what it says.
    certificates : str
        What a fit certifies.
    notes : str
        What the documentation says besides.
    parameters : tuple of Parameter
        In the order of the constructor.
    references : str
        Courses and sections, papers.
    courses : tuple of str
        The courses among the references: "Wei §6.2.1".
    """

    name: str
    family: str
    task: str
    summary: str
    objective: str
    formula: str
    algorithm: str
    assumptions: str
    certificates: str
    notes: str
    parameters: tuple[Parameter, ...]
    references: str
    courses: tuple[str, ...]

    @property
    def kind(self) -> type:
        """The class itself."""
        room = importlib.import_module(f"assay.{self.family}")
        # What a comparison makes of the methods of a room is not in the room.
        return getattr(room, self.name, None) or getattr(importlib.import_module("assay.report"), self.name)


@cache
def catalogue() -> tuple[Method, ...]:
    """Every public estimator, and those that only comparisons try, by family and name.

    Examples
    --------
    >>> from assay.report import catalogue
    >>> [method.name for method in catalogue() if method.task == "classification"][:2]
    ['BayesClassifier', 'BernoulliNB']
    """
    known = sorted((*estimators(), *landmark_entries()), key=lambda entry: (entry.room, entry.name))
    return tuple(describe(entry.kind, entry.room) for entry in known)


def describe(kind: type, family: str) -> Method:
    """Read the documentation of an estimator.

    Examples
    --------
    >>> from assay.linear import Ridge
    >>> method = describe(Ridge, "linear")
    >>> method.task, method.summary
    ('regression', 'Least squares with a squared-norm penalty.')
    >>> method.formula
    'Σ_i s_i (y_i − x_iᵀw − b)² + α ‖w‖²,        b not penalised,'
    >>> method.courses[0], method.parameters[0].name, method.parameters[0].default
    ('Rudi & Şimşekli §1.5.2', 'alpha', '1.0')
    """
    opening, sections = documentation(kind)
    summary, *paragraphs = re.split(r"\n\s*\n", opening.strip("\n"))
    labelled = {
        label: _flat(" ".join(text.removeprefix(label) for text in paragraphs if text.startswith(label)))
        for label in ("Assumes:", "Certificates:")
    }
    ends = [place for place, text in enumerate(paragraphs) if text.startswith(tuple(labelled))]
    body = paragraphs[: ends[0]] if ends else paragraphs
    rest = [text for text in paragraphs[len(body) :] if not text.startswith(tuple(labelled))]
    lead, formula, algorithm = _objective(body)
    references = _flat(sections.get("References", ""))
    return Method(
        name=kind.__name__,
        family=family,
        task=task_of(kind()),
        summary=_flat(summary),
        objective="\n\n".join(text for text in (lead, indent(formula, "    ", bool)) if text),
        formula=formula,
        algorithm=algorithm,
        assumptions=labelled["Assumes:"],
        certificates=labelled["Certificates:"],
        notes="\n\n".join(_flat(text) for text in rest),
        parameters=_parameters(kind, sections.get("Parameters", "")),
        references=references,
        courses=courses_among(references),
    )


def find_method(name: str) -> Method:
    """The method of that name, however it is written; a sentence with near names when there is none.

    Examples
    --------
    >>> from assay.report import find_method
    >>> find_method("kernel ridge").name
    'KernelRidge'
    """
    known = {plainly(method.name): method for method in catalogue()}
    if (wanted := plainly(name)) in known:
        return known[wanted]
    near = nearest(name, [method.name for method in known.values()])
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise ReportError(f"There is no method {name!r}; assay methods lists them.{hint}")


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph.

    Examples
    --------
    >>> sentences("By one walk, cf. Wei §1.3. The result is a local optimum.")
    ['By one walk, cf. Wei §1.3.', 'The result is a local optimum.']
    """
    parts = SENTENCE_END.split(_flat(text))
    whole: list[str] = []
    for part in parts:
        if whole and whole[-1].endswith(("cf.", "e.g.", "i.e.")):
            whole[-1] += f" {part}"
        else:
            whole.append(part)
    return [part for part in whole if part]


def _objective(body: list[str]) -> tuple[str, str, str]:
    """What leads to the formula, the formula, and the algorithm."""
    formulas = [place for place, text in enumerate(body) if text.startswith(" ")]
    if formulas:
        place = formulas[0]
        lead = " ".join(_flat(text) for text in body[:place])
        return lead, dedent(body[place]), "\n\n".join(_flat(text) for text in body[place + 1 :])
    if len(body) > 1:
        return _flat(body[0]), "", "\n\n".join(_flat(text) for text in body[1:])
    first, *others = sentences(body[0]) if body else [""]
    return first, "", " ".join(others)


def _parameters(kind: type, text: str) -> tuple[Parameter, ...]:
    said: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", dedent(text).strip("\n")):
        head, _, told = entry.partition("\n")
        names, _, values = head.partition(" : ")
        for name in names.split(","):
            # An entry without a line of its own is told by its values.
            said[name.strip()] = next(iter(sentences(told)), _flat(values))
    return tuple(
        Parameter(name, repr(parameter.default), said.get(name, ""))
        for name, parameter in inspect.signature(kind).parameters.items()
    )


def _flat(text: str) -> str:
    return " ".join(text.split())
