"""The catalogue of methods, read from their documentation."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from sklearn.base import BaseEstimator, is_classifier, is_clusterer, is_regressor

import assay
from assay.report._errors import ReportError

SECTION = re.compile(r"^(?P<name>[A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)


@dataclass(frozen=True)
class Method:
    """One estimator of the library, as its documentation tells it.

    Attributes
    ----------
    name : str
    family : str
        The package it lives in.
    task : str
        "regression", "classification", "clustering" or "transformation".
    summary : str
        The first line.
    objective : str
        What is minimised, maximised or found, and how.
    certificates : str
        What a fit certifies.
    references : str
        Courses and sections, papers.
    """

    name: str
    family: str
    task: str
    summary: str
    objective: str
    certificates: str
    references: str


@cache
def catalogue() -> tuple[Method, ...]:
    """Every public estimator, by family and name."""
    found = []
    for module in pkgutil.iter_modules(assay.__path__):
        if not module.ispkg or module.name in ("report", "display"):
            continue
        room = importlib.import_module(f"assay.{module.name}")
        for name in getattr(room, "__all__", ()):
            kind = getattr(room, name)
            if inspect.isclass(kind) and issubclass(kind, BaseEstimator) and hasattr(kind, "fit"):
                found.append(describe(kind, module.name))
    return tuple(sorted(found, key=lambda method: (method.family, method.name)))


def describe(kind: type, family: str) -> Method:
    """Read the documentation of an estimator.

    Examples
    --------
    >>> from assay.linear import Ridge
    >>> from assay.report._catalogue import describe
    >>> method = describe(Ridge, "linear")
    >>> method.task, method.summary
    ('regression', 'Least squares with a squared-norm penalty.')
    """
    text = inspect.getdoc(kind) or ""
    opening, sections = _sections(text)
    summary, _, body = opening.partition("\n")
    objective, _, certified = body.partition("Certificates:")
    return Method(
        name=kind.__name__,
        family=family,
        task=_task(kind()),
        summary=summary.strip(),
        objective=objective.strip(),
        certificates=" ".join(certified.split()),
        references=" ".join(sections.get("References", "").split()),
    )


def find_method(name: str) -> Method:
    """The method of that name, however it is written; a sentence with near names when there is none."""
    known = {method.name.lower(): method for method in catalogue()}
    if name.lower() in known:
        return known[name.lower()]
    near = [known[key].name for key in get_close_matches(name.lower(), known, n=3)]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise ReportError(f"There is no method {name!r}; assay methods lists them.{hint}")


def _sections(text: str) -> tuple[str, dict[str, str]]:
    marks = list(SECTION.finditer(text))
    opening = text[: marks[0].start()] if marks else text
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return opening, {mark["name"]: text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)}


def _task(model: object) -> str:
    if is_classifier(model):
        return "classification"
    if is_clusterer(model):
        return "clustering"
    return "regression" if is_regressor(model) else "transformation"
