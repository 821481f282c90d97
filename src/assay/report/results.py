"""The numbers of a comparison, for machines."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import assay
from assay.certificates import Certificates
from assay.report.tables.data import Data, Task
from assay.report.tables.encoding.cells import days_of, read_numbers, read_words
from assay.report.tables.encoding.typical import typical
from assay.report.tables.schema import Column
from assay.report.trials.candidate import Candidate
from assay.report.trials.comparison import Comparison
from assay.report.trials.explaining.explanation import Effect, Explanation
from assay.report.trials.explaining.importance import Importances
from assay.report.trials.scoring.guarantees import (
    kept_for_classes,
    mean_quantiles,
    residual_quantiles,
    stretch_quantiles,
)

FORMAT = 1
"""Version of results.json; docs/results.md tells its fields."""


def to_json(comparison: Comparison) -> str:
    """Scores, differences, parameters and certificates of every candidate, the table and the versions."""
    return json.dumps(results(comparison), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def results(comparison: Comparison) -> dict[str, Any]:
    """What `to_json` writes."""
    data = comparison.data
    return {
        "format": FORMAT,
        "task": comparison.task,
        "target": data.target,
        "score": comparison.score_name,
        "greater_is_better": comparison.best.sign > 0,
        "folds": comparison.folds,
        "repeats": comparison.repeats,
        "seed": comparison.seed,
        "headline": comparison.headline,
        "alarms": list(comparison.alarms),
        "remarks": list(comparison.remarks),
        "recommended": comparison.recommended.name,
        "explanation": _explanation(comparison.explanation),
        "candidates": [_candidate(comparison, candidate) for candidate in comparison.candidates],
        "left_out": list(comparison.skipped),
        "table": {
            "name": data.name,
            "n_rows": int((data.whole or data).X.shape[0]),
            "fingerprint": fingerprint(data),
            "columns": _columns(data),
            "notes": list(data.notes),
        },
        "versions": versions(),
        "seconds": comparison.seconds,
    }


def about_model(comparison: Comparison) -> dict[str, Any]:
    """What is kept beside the recommended model of a comparison."""
    chosen = comparison.recommended
    about = about_fit(comparison.data, comparison.task, chosen.name, chosen.certificates)
    data = comparison.data
    if comparison.task == "regression" and data.y is not None:
        kept = [residual_quantiles(data.y - said.predictions) for said in chosen.repeats]
        about["residual_quantiles"] = mean_quantiles(kept)
        own = [(said.predictions, said.bounds) for said in chosen.repeats if said.bounds is not None]
        if own and len(own) == len(chosen.repeats):
            about["stretch_quantiles"] = mean_quantiles([stretch_quantiles(data.y, *said) for said in own])
    elif comparison.task == "classification" and data.y is not None:
        told = [(said.predictions, said.probabilities) for said in chosen.repeats]
        about |= kept_for_classes(data.y, told, data.labels)
        threshold = None if comparison.explanation is None else comparison.explanation.threshold
        if threshold is not None and not threshold.method:
            label = str(data.labels[threshold.place])
            about["threshold"] = {"class": label, "probability": threshold.value}
    return about


def about_fit(data: Data, task: Task, method: str, certificates: Certificates) -> dict[str, Any]:
    """What is kept beside a saved model: the question, the table of the fit, the proof, the versions."""
    return {
        "task": task,
        "target": data.target,
        "classes": None if data.classes is None else list(data.classes),
        "method": method,
        "table": data.name,
        "n_rows": int((data.whole or data).X.shape[0]),
        "columns": _columns(data),
        "typical": {item.name: typical(data.X[item.name], item) for item in data.columns if item.learnable},
        "reading": data.reading._asdict(),
        "fingerprint": fingerprint(data),
        "certificates": [item.to_dict() for item in certificates],
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Versions of what computed the numbers."""
    names = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
    return {
        "assay": assay.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in names},
    }


def fingerprint(data: Data) -> str:
    """SHA-256 over the names and values of the columns learnt from and of the target."""
    data = data.whole or data
    return fingerprint_of(data.X, data.y, data.columns)


def fingerprint_of(X: pd.DataFrame, y: NDArray | None, columns: Sequence[Column]) -> str:
    """The fingerprint of columns and a target, the same from whatever format they were read.

    Values are hashed for what they mean to a model: numbers as floats, dates as days, words as texts.
    """
    digest = hashlib.sha256()
    for column in columns:
        if not column.learnable:
            continue
        digest.update(repr((column.name, column.kind)).encode())
        values: Any = X[column.name]
        if column.kind in ("numeric", "boolean"):
            values = read_numbers(values, column) + 0.0  # -0.0 is 0.0
        elif column.kind == "date":
            values = days_of(values, day_first=column.day_first)
        else:  # a missing word is no word: a byte that no text begins with
            words = read_words(values)
            values = words.where(words.notna(), "\0").to_numpy(dtype=object)
        digest.update(pd.util.hash_array(values).tobytes())
    if y is not None:
        numbers = y.dtype.kind in "fiub"
        values = y.astype(np.float64) if numbers else y.astype(str).astype(object)
        digest.update(pd.util.hash_array(values).tobytes())
    return digest.hexdigest()


def _columns(data: Data) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "missing": column.n_missing,
            "distinct": column.n_distinct,
            "left_out": column.reason or None,
        }
        for column in data.columns
    ]


def _candidate(comparison: Comparison, candidate: Candidate) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": candidate.name,
        "family": candidate.family or None,
        "complexity": candidate.complexity,
        "score": _number(candidate.sign * candidate.score),
        "standard_error": _number(candidate.standard_error),
        "measures": _values(candidate.measures),
        "intervals": None if candidate.intervals is None else _values(candidate.intervals._asdict()),
        "parameters": _values(candidate.parameters),
        "weights": None if candidate.weights is None else _values(candidate.weights),
        "importances": _importances(candidate.importances),
        "effects": [_effect(effect) for effect in candidate.effects],
        "fit_seconds": candidate.fit_seconds,
        "certificates": [item.to_dict() for item in candidate.certificates],
        "notes": list(candidate.notes),
    }
    if comparison.task != "clustering":
        loss = comparison.against_best(candidate)
        record["scores"] = [_number(candidate.sign * score) for score in candidate.scores]
        record["against_best"] = {
            "difference": _number(candidate.sign * (0.0 - loss.mean)),
            "standard_error": _number(loss.standard_error),
            "p_value": _number(loss.p_value),
        }
    return record


def _importances(importances: Importances | None) -> dict[str, Any] | None:
    """What shuffling each column costs, the greatest first."""
    if importances is None:
        return None
    lines = zip(importances.columns, importances.means, importances.errors, strict=True)
    columns = [
        {"name": name, "mean": _number(mean), "standard_error": _number(error)} for name, mean, error in lines
    ]
    return {"measure": importances.measure, "columns": columns}


def _explanation(explanation: Explanation | None) -> dict[str, Any] | None:
    """Effects of the columns on the recommended model, its learning curve and its threshold."""
    if explanation is None:
        return None
    learning, threshold = explanation.learning, explanation.threshold
    told = None
    if threshold is not None:
        told = {"class": threshold.label, "probability": _number(threshold.value)}
        told |= {"measure": threshold.measure}
        told |= {"before": _number(threshold.before), "after": _number(threshold.after)}
    return {
        "effects": [_effect(effect) for effect in explanation.effects],
        "learning_curve": [
            {"rows": int(size), "score": _number(score), "standard_error": _number(error)}
            for size, score, error in zip(*learning[:3], strict=True)
        ]
        if learning is not None
        else None,
        "learning_curve_of": None if learning is None else learning.member or None,
        "threshold": told,
    }


def _effect(effect: Effect) -> dict[str, Any]:
    values = list(effect.names) if effect.names else [_number(value) for value in effect.positions]
    table = {
        name: [[_number(value) for value in line] for line in array.T]
        for name, array in (("curves", effect.curves), ("standard_errors", effect.errors))
    }
    method = "accumulated local effects" if effect.is_local else "partial dependence"
    partner = effect.partner or None
    named = {"column": effect.column, "kind": effect.kind, "method": method, "goes_with": partner}
    return {**named, "values": values, "classes": list(effect.outputs), **table}


def _values(named: Mapping[str, Any]) -> dict[str, Any]:
    """Values that JSON can hold: null for a number that is not finite."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in named.items()}
    return {name: _number(value) if isinstance(value, float) else value for name, value in plain.items()}


def _number(value: float | np.floating) -> float | None:
    return float(value) if math.isfinite(value) else None
