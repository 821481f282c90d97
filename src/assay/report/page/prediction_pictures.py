"""The pictures of a model that predicts: how its out-of-fold predictions fare, and what it has learnt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from assay.display import (
    CalibrationDisplay,
    ConfusionDisplay,
    PrecisionRecallDisplay,
    PredictionsDisplay,
    ResidualsDisplay,
    RocCurveDisplay,
    SelectionDisplay,
    kinds,
    plot,
)
from assay.report.tables.data import Data
from assay.report.trials.comparison import Candidate, Comparison, final_step

ALL_PAIRS_ROWS = 2000
"""Pictures of methods that need all pairs of rows fit them again and again: drawn up to so many rows."""

OnAxes = Callable[[Any], Any]
Drawn = Iterator[tuple[str, str, OnAxes]]
"""Name, caption and drawing of each picture."""

PROBABILITY_PICTURES = {
    "roc": (
        RocCurveDisplay,
        "True against false alarms as the threshold moves, out of fold; the dashed line is guessing.",
    ),
    "precision_recall": (
        PrecisionRecallDisplay,
        "How many of the rows named are right, against how many of the right rows are named; dashed: naming "
        "at random.",
    ),
    "calibration": (
        CalibrationDisplay,
        "Whether rows given a probability turn out that often, out of fold; dashed: they do.",
    ),
}

SELECTION = (
    "Error on rows left out of the fit, by penalty; the dashed line is the choice, the diamond the strongest "
    "penalty within one standard error."
)

MODEL_PICTURES = {
    "map": "The rows in the plane of their first two principal axes, and the class the model names there.",
    "curve": "The fitted function of the standardised column, and the rows.",
    "path": "Coefficients as the penalty grows; the dashed line is the choice.",
    "leave_one_out": "Error of predicting each row from all others, by penalty.",
    "effects": "What each column adds to the prediction.",
    "coefficients": "Change for one standard deviation more in each column.",
}
"""Kinds of pictures of a fitted model that the page shows, in this order, with their captions."""


def of_regression(comparison: Comparison, candidate: Candidate) -> Drawn:
    """Predictions and residuals out of fold, then what the model has learnt."""
    data = comparison.data
    assert data.y is not None
    yield (
        "predictions",
        "Each row predicted by a model that has not seen it; on the dashed line the prediction is right. "
        "R² here is over all rows at once.",
        PredictionsDisplay(data.y, candidate.predictions, "predicted, out of fold").plot,
    )
    if not candidate.is_baseline:
        yield (
            "residuals",
            "What the out-of-fold predictions miss; a pattern here is something the model does not see.",
            ResidualsDisplay(data.y, candidate.predictions).plot,
        )
        yield from of_the_model(comparison, candidate)


def of_classes(comparison: Comparison, candidate: Candidate) -> Drawn:
    """Confusions and probabilities out of fold, then what the model has learnt."""
    data = comparison.data
    assert data.y is not None
    yield (
        "confusion",
        "Each row classified by a model that has not seen it: the diagonal is right.",
        _on_predictions(ConfusionDisplay, data, candidate.predictions),
    )
    if candidate.is_baseline:
        return
    if candidate.probabilities is not None:
        for kind, (display, caption) in PROBABILITY_PICTURES.items():
            yield kind, caption, _on_predictions(display, data, candidate.probabilities)
    yield from of_the_model(comparison, candidate)


def _on_predictions(display: Any, data: Data, said: NDArray) -> OnAxes:
    return lambda ax: display.from_predictions(data.y, said, classes=data.labels, names=data.classes, ax=ax)


def of_the_model(comparison: Comparison, candidate: Candidate) -> Drawn:
    """Pictures of the model that was fitted on all rows, and of the choice of its parameter."""
    data, selection = comparison.data, candidate.selection
    model, y = with_names(candidate.model, data)
    if selection is not None:
        yield "selection", SELECTION, _on(partial(SelectionDisplay.from_selection, selection))
    for kind in model_kinds(model, len(data.X)):
        options = {"alphas": selection.alphas} if kind == "path" and selection is not None else {}
        yield kind, MODEL_PICTURES[kind], _on(partial(plot, model, data.X, y, kind=kind, **options))


def _on(draw: Any) -> OnAxes:
    return lambda ax: draw(ax=ax)


def with_names(model: Any, data: Data) -> tuple[Any, Any]:
    """A classifier and the target with the names of the classes in place of their labels."""
    if data.y is None or data.classes is None or not hasattr(final_step(model), "classes_"):
        return model, data.y
    names = np.array(data.classes)
    inside = copy(final_step(model))
    inside.classes_ = names[np.searchsorted(data.labels, inside.classes_)]
    return Pipeline([*model.steps[:-1], ("model", inside)]), names[np.searchsorted(data.labels, data.y)]


def model_kinds(model: Any, n_rows: int) -> tuple[str, ...]:
    """The kinds of pictures of a fitted model that a page shows, of those that there are."""
    inside = final_step(model)
    there = kinds(inside)
    kept = [kind for kind in MODEL_PICTURES if kind in there]
    # The function itself where it can be drawn, else the effect of each column; coefficients of the functions
    # behind an effect say nothing.
    unseen = {"effects" if "curve" in kept and inside.n_features_in_ == 1 else "curve"}
    if "effects" in kept:
        unseen.add("coefficients")
    kept = [kind for kind in kept if kind not in unseen]
    suits = getattr(inside, "_suits", None)
    if suits is not None and suits.max_rows is not None and n_rows > ALL_PAIRS_ROWS:
        kept = [kind for kind in kept if kind not in ("path", "leave_one_out")]
    return tuple(kept)
