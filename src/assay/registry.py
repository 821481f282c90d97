"""Which estimators there are: the rooms are read once, and roster, catalogue, pictures and tests ask here.

A room is a package whose `__all__` names estimators. Nothing is listed by hand: a room tells its title in the
first words of its docstring, an estimator its task by scikit-learn's tags, its suitability by `_suits`, its
course and section under "References", and `assay.display` its pictures.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from sklearn import base
from sklearn.base import BaseEstimator

import assay

SURFACES = ("cli", "display", "report")
"""Packages above the registry: they ask it and hold no estimators."""

BASES = "models"
"""The package whose estimators are bases: rooms inherit from them, nobody fits them."""

COURSES = ("Douc & Le Corff", "Peyré", "Rudi & Şimşekli", "Sangnier", "Wei")
"""Authors of the five courses, as references name them."""

# A course and what follows it, up to the semicolon or the full stop that ends the entry.
COURSE = re.compile(rf"(?:{'|'.join(COURSES)})\b(?:[^;.]|\.(?=\S))*")
HEADING = re.compile(r"^(?P<name>[A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A public estimator of the library.

    Attributes
    ----------
    name : str
        Name of the class.
    kind : type
        The class.
    room : str
        The package it lives in.
    family : str
        The title of the room, for readers.
    task : str
        "regression", "classification", "clustering", "biclustering", "density", "outliers" or
        "transformation".
    suits : assay.suitability.Suitability or None
        For which tables `assay compare` tries it, if the class itself says so.
    summary : str
        The first line of its documentation.
    courses : tuple of str
        Courses and sections among its references: "Wei §6.2.1".
    """

    name: str
    kind: type
    room: str
    family: str
    task: str
    suits: Any
    summary: str
    courses: tuple[str, ...]

    def make(self, seed: int) -> Any:
        """An unfitted estimator with the settings of a comparison."""
        settings = {} if self.suits is None else dict(self.suits.settings)
        if "random_state" in inspect.signature(self.kind).parameters:
            settings.setdefault("random_state", seed)
        return self.kind(**settings)

    @property
    def pictures(self) -> tuple[str, ...]:
        """The kinds of pictures that there are of it; none where no display is registered."""
        # The pictures stand on the registry, not the other way round: found at run time, by name.
        display = importlib.import_module("assay.display")
        try:
            return tuple(display.kinds(self.kind()))
        except TypeError:
            return ()


@cache
def estimators() -> tuple[Entry, ...]:
    """Every public estimator, by room and name.

    Examples
    --------
    >>> from assay.registry import estimators
    >>> ridge = next(entry for entry in estimators() if entry.name == "Ridge")
    >>> ridge.room, ridge.family, ridge.task, ridge.courses[0]
    ('linear', 'linear models', 'regression', 'Rudi & Şimşekli §1.5.2')
    >>> ridge.pictures
    ('path', 'leave_one_out', 'predictions', 'residuals', 'coefficients')
    """
    return tuple(entry for room in packages() if room != BASES for entry in _estimators_of(room))


def packages() -> list[str]:
    """Names of the packages that may hold estimators, in alphabetical order."""
    modules = pkgutil.iter_modules(assay.__path__)
    return sorted(each.name for each in modules if each.ispkg and each.name not in SURFACES)


def rooms() -> list[str]:
    """Names of the packages that hold estimators, in alphabetical order.

    Examples
    --------
    >>> from assay.registry import rooms
    >>> rooms()[:2]
    ['cluster', 'density']
    """
    return list(dict.fromkeys(entry.room for entry in estimators()))


def title_of(room: str) -> str:
    """The title of a room for readers: the first words of its docstring, up to a colon or full stop.

    Examples
    --------
    >>> from assay.registry import title_of
    >>> title_of("cluster"), title_of("kernel_machines")
    ('clustering', 'kernel machines')
    """
    text = importlib.import_module(f"assay.{room}").__doc__ or room.replace("_", " ")
    title = re.split(r"[:.\n]", text, maxsplit=1)[0]
    return title[:1].lower() + title[1:]


def task_of(model: Any) -> str:
    """What an estimator is for."""
    kinds = {
        "classification": base.is_classifier(model),
        "clustering": base.is_clusterer(model),
        "biclustering": isinstance(model, base.BiclusterMixin),
        "density": isinstance(model, base.DensityMixin),
        "regression": base.is_regressor(model),
        "outliers": base.is_outlier_detector(model),
    }
    return next((task for task, holds in kinds.items() if holds), "transformation")


def documentation(kind: type) -> tuple[str, dict[str, str]]:
    """What opens the docstring of a class, and its sections by name."""
    text = inspect.getdoc(kind) or ""
    marks = list(HEADING.finditer(text))
    if not marks:
        return text, {}
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    sections = {mark["name"]: text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)}
    return text[: marks[0].start()], sections


def courses_among(references: str) -> tuple[str, ...]:
    """The courses that references name, with their sections."""
    return tuple(mark.group().strip() for mark in COURSE.finditer(" ".join(references.split())))


def _estimators_of(room: str) -> list[Entry]:
    package = importlib.import_module(f"assay.{room}")
    members = {name: getattr(package, name) for name in getattr(package, "__all__", ())}
    return [
        _read(name, kind, room)
        for name, kind in sorted(members.items())
        if inspect.isclass(kind) and issubclass(kind, BaseEstimator) and hasattr(kind, "fit")
    ]


def _read(name: str, kind: type, room: str) -> Entry:
    opening, sections = documentation(kind)
    suits = vars(kind).get("_suits")  # what a class inherits it has not declared of itself
    summary, courses = opening.partition("\n")[0], courses_among(sections.get("References", ""))
    return Entry(name, kind, room, title_of(room), task_of(kind()), suits, summary, courses)
