"""Which kinds of bad input meet which estimators, and what comes of one case."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from estimators import estimator_classes, variants
from fuzz import judge, tables
from fuzz.values import MUCH, VALUES
from samples import ON_ROWS, prepared, sample

N_ROWS = 60


class Case(NamedTuple):
    """An estimator (by its representation) and a kind of bad input (by its name)."""

    model: str
    kind: str

    @property
    def estimator(self) -> str:
        return self.model.partition("(")[0]

    @property
    def asks_for_much(self) -> bool:
        """Whether it may take for ever by request, so that stopping on Ctrl-C is an answer."""
        return self.kind.endswith(tuple(f"={name}" for name in MUCH))


@cache
def models() -> dict[str, Any]:
    """Every estimator and its variants by their representation."""
    kinds = estimator_classes()
    return {repr(model): prepared(model) for kind in kinds for model in (kind(), *variants(kind))}


def is_default(name: str) -> bool:
    return name.endswith("()")


@cache
def good(name: str) -> tuple[Any, Any]:
    """The data that an estimator is for."""
    return sample(models()[name], N_ROWS)


@cache
def inputs(name: str) -> dict[str, Callable[[], tables.Input]]:
    """Bad tables for an estimator; its variants meet the extreme scales and shapes only."""
    model, (X, y) = models()[name], good(name)
    kinds = {"good of float32": lambda: tables.Input(X.astype(np.float32), tables.single(y))}
    kinds |= tables.scales(X, y) | tables.shapes(X, y)
    if is_default(name):
        kinds |= tables.not_numbers(X, y) | tables.layouts(X, y)
        if "sample_weight" in inspect.signature(model.fit).parameters:
            kinds |= tables.weights(X, y)
        if y is not None:
            kinds |= tables.targets(X, y, of_classes=is_classifier(model))
    return kinds


@cache
def rows_to_ask(name: str) -> dict[str, Callable[[], Any]]:
    return tables.new_rows(good(name)[0]) if is_default(name) else {}


def cases_of(name: str) -> Iterator[Case]:
    """All cases of one model."""
    yield Case(name, "good")
    yield from (Case(name, kind) for kind in inputs(name))
    yield from (Case(name, f"asked about {kind}") for kind in rows_to_ask(name))
    if is_default(name):
        parameters = models()[name].get_params(deep=False)
        yield from (Case(name, f"{parameter}={value}") for parameter in parameters for value in VALUES)


def all_cases() -> list[Case]:
    return [case for name in models() for case in cases_of(name)]


def part(n_tables: int, n_values: int, seed: int) -> list[Case]:
    """A few cases of each estimator, drawn: so many tables and so many values of parameters."""
    random = np.random.default_rng(seed)
    drawn = []
    for name in filter(is_default, models()):
        cases = list(cases_of(name))
        for size, values in ((n_tables, False), (n_values, True)):
            kinds = [case for case in cases if ("=" in case.kind) == values and not case.asks_for_much]
            places = random.choice(len(kinds), min(size, len(kinds)), replace=False)
            drawn += [kinds[place] for place in sorted(places)]
    return drawn


def is_extreme(case: Case) -> bool:
    """Whether it is a table at the ends of the floats, or of a strange shape: what may spoil an index."""
    X, y = good(case.model)
    return case.kind in tables.scales(X, y) or case.kind in tables.shapes(X, y)


def outcome(case: Case) -> str:
    """ "answer", "sentence", or what else became of it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return _tried(case)
        except Exception as error:
            return judge.verdict_of_error(error)


def _tried(case: Case) -> str:
    model, (X, y), weight = clone(models()[case.model]), good(case.model), None
    asked = X
    if case.kind in inputs(case.model):
        X, y, weight = inputs(case.model)[case.kind]()
        asked = X
    elif case.kind.startswith("asked about "):
        asked = rows_to_ask(case.model)[case.kind.removeprefix("asked about ")]()
    elif case.kind != "good":
        parameter, _, value = case.kind.partition("=")
        model = type(model)(**{**model.get_params(deep=False), parameter: VALUES[value]})
    options = {} if weight is None else {"sample_weight": weight}
    model.fit(X, y, **options)
    verdict = judge.verdict_of_fit(model)
    if verdict != "answer":
        return verdict
    if hasattr(model, "certify"):
        verdict = judge.verdict_of_certificates(model.certify(X, y, **options))
    for name in ON_ROWS:
        if verdict == "answer" and hasattr(model, name):
            verdict = _of_rows(name, getattr(model, name)(asked), case)
    return verdict


def _of_rows(method: str, said: Any, case: Case) -> str:
    """What is said about the rows of the fit holds no NaN; beyond them a product may overflow.

    Rows of weight 0 are none of the fit: where none that counts is within a radius, its mean is NaN as in
    scikit-learn.
    """
    alone = case.model.startswith("RadiusNeighborsRegressor") and case.kind == "weights zero but one"
    new = alone or case.kind.startswith("asked about ")
    spoilt = not new and any(np.isnan(each).any() for each in judge.numbers(said))
    return f"NaN from {method}" if spoilt else "answer"
