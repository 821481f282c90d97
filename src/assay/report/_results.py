"""The numbers of a comparison, for machines."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from importlib.metadata import version
from typing import Any

import pandas as pd

import assay
from assay.report._comparison import Candidate, Comparison
from assay.report._data import Data

FORMAT = 1


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
        "folds": comparison.folds,
        "repeats": comparison.repeats,
        "seed": comparison.seed,
        "headline": comparison.headline,
        "remarks": list(comparison.remarks),
        "recommended": comparison.recommended.name,
        "candidates": [_candidate(comparison, candidate) for candidate in comparison.candidates],
        "left_out": list(comparison.skipped),
        "table": {
            "name": data.name,
            "n_rows": int(data.X.shape[0]),
            "fingerprint": fingerprint(data),
            "columns": [
                {
                    "name": column.name,
                    "kind": column.kind,
                    "missing": column.n_missing,
                    "distinct": column.n_distinct,
                    "left_out": column.reason or None,
                }
                for column in data.columns
            ],
            "notes": list(data.notes),
        },
        "versions": versions(),
        "seconds": comparison.seconds,
    }


def about_model(comparison: Comparison) -> dict[str, Any]:
    """What is kept beside the saved model: the question, the table it was fitted on, the versions."""
    data = comparison.data
    return {
        "task": comparison.task,
        "target": data.target,
        "method": comparison.recommended.name,
        "table": data.name,
        "n_rows": int(data.X.shape[0]),
        "fingerprint": fingerprint(data),
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
    digest = hashlib.sha256()
    for name in data.X.columns:
        digest.update(str(name).encode())
        digest.update(pd.util.hash_pandas_object(data.X[name], index=False).to_numpy().tobytes())
    if data.y is not None:
        digest.update(pd.util.hash_array(data.y).tobytes())
    return digest.hexdigest()


def _candidate(comparison: Comparison, candidate: Candidate) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": candidate.name,
        "family": candidate.family or None,
        "complexity": candidate.complexity,
        "score": _number(candidate.score),
        "standard_error": _number(candidate.standard_error),
        "measures": {name: _number(value) for name, value in candidate.measures.items()},
        "parameters": {name: _number(value) for name, value in candidate.parameters.items()},
        "fit_seconds": candidate.fit_seconds,
        "certificates": [item.to_dict() for item in candidate.certificates],
        "notes": list(candidate.notes),
    }
    if comparison.task != "clustering":
        loss = comparison.against_best(candidate)
        found["scores"] = [_number(score) for score in candidate.scores]
        found["against_best"] = {
            "difference": _number(-loss.mean),
            "standard_error": _number(loss.standard_error),
            "p_value": _number(loss.p_value),
        }
    return found


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
