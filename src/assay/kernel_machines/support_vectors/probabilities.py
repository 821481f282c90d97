"""Probabilities from the values of machines: a softmax whose slope is fitted to values of unseen rows.

The slope is the one number that is fitted, so that the class of the largest probability is the class of the
largest score, whatever the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

N_FOLDS = 5


def class_probabilities(scores: NDArray, slope: float) -> NDArray:
    """Softmax of slope · score; a sigmoid of one column, that of the second of two classes."""
    if scores.ndim == 1 or scores.shape[1] == 1:
        second = special.expit(slope * scores.reshape(-1))
        return np.column_stack([1 - second, second])
    return special.softmax(slope * scores, axis=1)


def inverse_temperature(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """The slope of the largest likelihood, of values from machines fitted without the fold of the row."""
    labels = np.asarray(y).reshape(-1)
    codes = np.searchsorted(model.classes_, labels)
    weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    # The rows of each class are dealt out to the folds in turn.
    fold = np.empty(len(codes), dtype=np.intp)
    for code in range(len(model.classes_)):
        members = np.flatnonzero(codes == code)
        fold[members] = np.arange(len(members)) % N_FOLDS
    scores, kept = [], []
    for place in range(N_FOLDS):
        inside, outside = np.flatnonzero(fold != place), np.flatnonzero(fold == place)
        if len(outside) == 0 or len(np.unique(codes[inside][weight[inside] > 0])) < len(model.classes_):
            continue
        plain = model._for_fold(codes[inside], weight[inside])
        precomputed = plain._is_precomputed
        train = X[np.ix_(inside, inside)] if precomputed else _take(X, inside)
        test = X[np.ix_(outside, inside)] if precomputed else _take(X, outside)
        scores.append(plain.fit(train, labels[inside], sample_weight=weight[inside]).decision_function(test))
        kept.append(outside)
    if not kept:
        return 1.0
    values, rows = np.concatenate(scores), np.concatenate(kept)

    def surprise(log_slope: float) -> float:
        probabilities = class_probabilities(values, np.exp(log_slope))
        right = probabilities[np.arange(len(rows)), codes[rows]]
        return float(-(weight[rows] @ np.log(np.maximum(right, 1e-300))))

    found = optimize.minimize_scalar(surprise, bounds=(-7.0, 7.0), method="bounded", options={"xatol": 1e-9})
    return float(np.exp(found.x))


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    return (
        X.iloc[rows]
        if hasattr(X, "iloc")
        else X[rows]
        if hasattr(X, "shape")
        else [X[i] for i in rows.tolist()]
    )
