"""The recommended model once more: a script of a few lines, and the same as a notebook."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from assay.report.tables.data import Data
from assay.report.tables.files.options import Reading
from assay.report.tables.files.reading import STANDARD_INPUT
from assay.report.trials.comparison import Comparison
from assay.report.trials.stacking import draws_folds
from assay.report.trials.tuning import Tuning


class Code:
    """Python expressions and the imports that they need."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}

    def name(self, kind: type) -> str:
        """The name of a class, imported from its public home."""
        report = sys.modules.get("assay.report")
        home = "assay.report" if getattr(report, kind.__name__, None) is kind else kind.__module__
        self.imports.setdefault(home, set()).add(kind.__name__)
        return kind.__name__

    def call(self, kind: type, arguments: dict[str, Any]) -> str:
        """A call of a class with arguments by name."""
        told = [f"{name}={self.value(value)}" for name, value in arguments.items()]
        return f"{self.name(kind)}({', '.join(told)})"

    def value(self, value: Any) -> str:
        """An expression that gives a value again.

        Raises
        ------
        ValueError
            If the value is none of numbers, texts, arrays, estimators, and lists and values made of them.
        """
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            plain = not isinstance(value, float) or np.isfinite(value)
            return repr(value) if plain else f"float({str(value)!r})"
        if isinstance(value, np.ndarray):
            self.imports.setdefault("numpy", set()).add("array")
            return f"array({value.tolist()!r})"
        if isinstance(value, BaseEstimator):
            return self.estimator(value)
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            given: dict[str, Any] = value._asdict()
            defaults: dict[str, Any] = getattr(value, "_field_defaults", {})
            told = {name: item for name, item in given.items() if item != defaults.get(name, ...)}
            return self.call(type(value), told)
        if type(value) in (list, tuple):
            inside = ", ".join(map(self.value, value))
            return f"[{inside}]" if type(value) is list else f"({inside}{',' * (len(value) == 1)})"
        if type(value) is dict:
            return (
                "{" + ", ".join(f"{self.value(key)}: {self.value(item)}" for key, item in value.items()) + "}"
            )
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {
                field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init
            }
            return self.call(type(value), fields)
        raise ValueError(f"A {type(value).__name__} cannot be written as an expression.")

    def estimator(self, model: BaseEstimator) -> str:
        """An unfitted estimator with the same parameters; those that are the defaults are left out."""
        defaults = {
            name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()
        }
        given = model.get_params(deep=False)
        return self.call(
            type(model),
            {name: value for name, value in given.items() if not _same(value, defaults.get(name))},
        )

    def lines(self) -> list[str]:
        """The imports, a line for each module."""
        return [
            f"from {module} import {', '.join(sorted(names))}"
            for module, names in sorted(self.imports.items(), key=lambda item: ("assay" in item[0], item[0]))
        ]


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    plain = (bool, int, float, str)
    return isinstance(value, plain) and type(value) is type(default) and value == default


def source_of(data: Data) -> str:
    """How a table is named to read it again: the path as it was given, an embedded name, - for a stream."""
    source = STANDARD_INPUT if data.name == "standard input" else data.name
    return data.source if Path(data.source).name == data.name else source


def reading_options(data: Data) -> list[str]:
    """The options of the command that say how a table is read and what its folds go by."""
    words = [word for name in data.dropped for word in ("--drop", name)]
    for option, value in {**data.reading._asdict(), "time": data.time, "group": data.group}.items():
        values = value if isinstance(value, tuple) else () if value is None else (value,)
        words += [word for item in values for word in (f"--{option}", str(item))]
    return words


def script(comparison: Comparison) -> str:
    """A Python script that fits the recommended model again, with scikit-learn and Assay alone.

    Examples
    --------
    >>> from assay.report import choose_data, compare, read_table
    >>> data = choose_data(read_table("iris"))
    >>> text = script(compare(data, repeats=1, methods=["LinearSVC"]))
    >>> "LinearSVC(penalty_strength=" in text
    True
    """
    head, *body = _parts(comparison)
    return f'"""{head}"""\n\n' + "\n".join(body) + "\n"


def _parts(comparison: Comparison) -> list[str]:
    """What the script is about, its imports, and its lines."""
    data, chosen = comparison.data, comparison.recommended
    encoder, *_, model = (step for _, step in chosen.model.steps)
    code = Code()
    code.imports["sklearn.pipeline"] = {"make_pipeline"}
    code.imports["assay.report"] = {"choose_data", "read_table"}
    asked: dict[str, Any] = {"task": comparison.task, "target": data.target, "drop": list(data.dropped)}
    asked |= {"time": data.time, "group": data.group}
    told = ", ".join(f"{name}={value!r}" for name, value in asked.items() if value)
    read = [repr(source_of(data))]
    read += [f"without={list(data.dropped)!r}"] if data.dropped else []
    read += [f"reading={code.value(data.reading)}"] if data.reading != Reading() else []
    fit = "data.X" if data.y is None else "data.X, data.y"
    if draws_folds(model) and (data.time or data.group):
        by = "times" if data.time else "groups"
        fit += f", {type(model).__name__.lower()}__tuning={code.name(Tuning)}({by}=data.{by})"
    steps = f"    {code.name(type(encoder))}(data.columns),\n    {code.estimator(model)},\n"
    what = f"predicts {data.target}" if data.target is not None else "finds groups"
    head = f"{chosen.name} {what} in {data.name}: the model that assay compare recommends, fitted again."
    return [
        head.replace("\\", "/").replace('"""', "'''"),
        *code.lines(),
        "",
        f"table = read_table({', '.join(read)})",
        f"data = choose_data(table, {told})",
        f"model = make_pipeline(\n{steps})",
        f"model.fit({fit})",
    ]


def notebook(comparison: Comparison) -> str:
    """The script as a Jupyter notebook: the verdict, the fit, its certificates and its predictions."""
    head, *body = _parts(comparison)
    remarks = "\n".join(f"- {sentence}" for sentence in comparison.remarks)
    predicts = hasattr(comparison.recommended.model[-1], "predict")
    show = "model.predict(data.X.head())" if predicts else "model[-1].labels_"
    cells = [
        _markdown(f"# {comparison.headline}\n\n{remarks}"),
        _markdown(head),
        _code("\n".join(body)),
        _markdown("What the fit proves:"),
        _code("model[-1].certificates_" if comparison.recommended.certificates else "model[-1]"),
        _markdown("The first rows:"),
        _code(show),
    ]
    if comparison.task != "clustering":
        cells += [
            _markdown("On rows that the fit has not seen, at these parameters:"),
            _code(_measure(comparison)),
        ]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "cells": cells,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _measure(comparison: Comparison) -> str:
    """A cross-validation that keeps to the time or the groups, as the comparison does, or shuffles."""
    data, count = comparison.data, comparison.folds
    rows, groups, prepare = "data.X, data.y", "", ""
    drawn = f"n_splits={count}, shuffle=True, random_state={comparison.seed}"
    kind = "KFold" if comparison.task == "regression" else "StratifiedKFold"
    if data.time is not None:
        kind, drawn, rows = "TimeSeriesSplit", f"n_splits={count}", "data.X.iloc[order], data.y[order]"
        prepare = "order = data.times.argsort(kind='stable')\n"
    elif data.group is not None:
        kind, groups = ("GroupKFold" if kind == "KFold" else "StratifiedGroupKFold"), ", groups=data.groups"
    score = "r2" if comparison.task == "regression" else "accuracy"
    asked = f"cv={kind}({drawn}){groups}, scoring={score!r}"
    head = f"from sklearn.model_selection import {', '.join(sorted((kind, 'cross_val_score')))}"
    return f"{head}\n\n{prepare}cross_val_score(model, {rows}, {asked})"


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    empty: dict[str, Any] = {"execution_count": None, "metadata": {}, "outputs": []}
    return {"cell_type": "code", **empty, "source": text.splitlines(keepends=True)}
