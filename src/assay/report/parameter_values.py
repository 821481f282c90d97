"""Parameters of an estimator from the words that one types: `-p alpha=0.1 -p kernel=rbf`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from assay import parameters
from assay.report.errors import ReportError

WORDS: dict[str, Any] = {"true": True, "false": False, "none": None}
OPENING, CLOSING = "[(", "])"


def parse_value(text: str) -> Any:
    """A number, true, false, none, a word, or a list of such, from text.

    Quotes make a word of anything. Lists stand in brackets and may hold lists.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> from assay.report import parse_value
    >>> [parse_value(text) for text in ("3", "1e-3", "true", "none", "rbf", "'3'")]
    [3, 0.001, True, None, 'rbf', '3']
    >>> parse_value("[1, 0.5, [rbf, none]]")
    [1, 0.5, ['rbf', None]]
    """
    word = text.strip()
    if word[:1] in ("'", '"'):
        return _quoted(word)
    if word[:1] and word[0] in OPENING:
        if len(word) < 2 or word[-1] != CLOSING[OPENING.index(word[0])]:
            raise ReportError(f"The list {word!r} is not closed; write it as [1, 2, 3].")
        return [parse_value(item) for item in _items(word[1:-1], word)]
    if word.lower() in WORDS:
        return WORDS[word.lower()]
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    return word


def parse_parameters(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values for the parameters of an estimator, each known to be one and inside its domain.

    Texts are parsed; other values are taken as they are. A text that is itself an option of the parameter
    ("none" where there is a method of that name) stays a text.

    Parameters
    ----------
    kind : type
        A class of estimators.
    given : mapping of str to value
        By the name of the parameter.

    Examples
    --------
    >>> from assay.linear import Ridge
    >>> from assay.report.parameter_values import parse_parameters
    >>> parse_parameters(Ridge, {"alpha": "0.5", "fit_intercept": "false"})
    {'alpha': 0.5, 'fit_intercept': False}
    """
    known = list(inspect.signature(kind).parameters)
    domains: Mapping[str, parameters.Domain] = getattr(kind, "_domains", {})
    values = {}
    for name, value in given.items():
        if name not in known:
            raise ReportError(_unknown(kind, name, known))
        values[name] = _chosen(value, domains.get(name))
        if name in domains:
            try:
                parameters.check(kind.__name__, {name: values[name]}, {name: domains[name]})
            except parameters.ParameterError as error:
                raise ReportError(str(error)) from error
    return values


def _chosen(value: Any, domain: parameters.Domain | None) -> Any:
    if not isinstance(value, str):
        return value
    parsed = parse_value(value)
    if domain is not None and not domain.contains(parsed):
        if domain.contains(value):
            return value
        if isinstance(parsed, list) and domain.contains(tuple(parsed)):
            return tuple(parsed)
    return parsed


def _unknown(kind: type, name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    if near:
        return f"{kind.__name__} has no parameter {name!r}; did you mean {' or '.join(map(repr, near))}?"
    return f"{kind.__name__} has no parameter {name!r}; it has {', '.join(map(repr, known)) or 'none'}."


def _quoted(word: str) -> str:
    try:
        value = ast.literal_eval(word)
    except (SyntaxError, ValueError):
        value = None
    if not isinstance(value, str):
        raise ReportError(f"The quotes of {word} do not close; write a word as 'word'.")
    return value


def _items(inside: str, whole: str) -> list[str]:
    """The parts between the commas that stand in no bracket and no quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for place, mark in enumerate(inside):
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            quote = mark
        elif mark in OPENING:
            depth += 1
        elif mark in CLOSING:
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(inside[start:place])
            start = place + 1
    if depth or quote:
        raise ReportError(f"The list {whole!r} is not closed; write it as [1, 2, 3].")
    parts.append(inside[start:])
    if not parts[-1].strip():
        parts.pop()
    if any(not part.strip() for part in parts):
        raise ReportError(f"The list {whole!r} has nothing between two commas; write it as [1, 2, 3].")
    return parts
