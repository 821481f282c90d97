"""What counts as an answer and what counts as a sentence; everything else is named."""

from __future__ import annotations

import dataclasses
import linecache
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator

import assay
from assay.certificates import Certificates

GOOD = ("answer", "sentence")

INFINITE = {
    ("BernoulliNB", "class_log_prior_"): "a class without weight has probability 0",
    ("BernoulliNB", "feature_log_prob_"): "without smoothing, what no row of a class has",
    ("CategoricalNB", "class_log_prior_"): "a class without weight has probability 0",
    ("CategoricalNB", "feature_log_prob_"): "without smoothing, what no row of a class has",
    ("MultinomialNB", "class_log_prior_"): "a class without weight has probability 0",
    ("MultinomialNB", "feature_log_prob_"): "without smoothing, what no row of a class has",
    ("NaiveBayes", "laws_"): "without smoothing, what no row of a class has",
    ("FisherDiscriminant", "threshold_intervals_"): "every cut beyond the scores is as good",
    ("KernelFisherDiscriminant", "threshold_intervals_"): "every cut beyond the scores is as good",
    ("KernelFisherDiscriminant", "rayleigh_quotient_"): "classes whose projections do not vary",
    ("OPTICS", "reachability_"): "a row that no row reaches within max_eps, as in scikit-learn",
    ("OPTICS", "core_distances_"): "a row with fewer than min_samples neighbours within max_eps",
    ("Perceptron", "mistake_bound_"): "classes that no plane separates have no bound on mistakes",
    ("OPTICS", "cluster_reach_"): "no limit on the reach of a row, as in scikit-learn",
    ("MultivariateRegression", "joint_log_likelihood_"): "a law on a subspace has no largest density",
    ("OPTICS", "eps_"): "no limit on the reach of a row, as in scikit-learn",
    ("HDBSCAN", "cluster_stability_"): "a cluster of rows without a distance never ends",
    ("HDBSCAN", "condensed_tree_"): "the level 1/0 at which rows without a distance part",
    ("HistogramMap", "inner_edges_"): "edges that a column of few distinct values does not need",
    ("KernelKMeans", "center_norms_"): "a cluster without rows, so that no row is near it",
    ("HistGradientBoostingClassifier", "columns_"): "the outermost bin of a column with an infinite value",
    ("HistGradientBoostingRegressor", "columns_"): "the outermost bin of a column with an infinite value",
    ("LogisticRegression", "C_"): "C = 1/(λn) of a penalty of 0",
    ("LinearSVC", "C_"): "C = 1/(λn) of a penalty of 0",
    ("SVC", "margin_"): "1/‖h‖ of a function that is 0: there is no frontier",
    ("SVC", "intercept_interval_"): "rows of one class alone weigh: every larger intercept is as good",
    ("HardMarginSVC", "margin_"): "1/‖h‖ of a function that is 0: there is no frontier",
    ("HardMarginSVC", "intercept_interval_"): "rows of one class alone weigh: none ends the interval",
}
"""Fitted numbers that may be infinite, and why."""

TREES = ("tree_", "trees_", "unpruned_tree_")
"""Fitted trees: leaves and splits of categories have no threshold (NaN), and one that parts missing values
from all others is infinite."""

OURS, THEIRS = Path(assay.__file__).parent, Path(sklearn.__file__).parent
LONGEST = 600


def verdict_of_error(error: BaseException) -> str:
    """ "sentence" for an error that we or scikit-learn raise on purpose in one sentence, else its name."""
    name = f"{type(error).__name__}: {first_line(error)}"
    if not isinstance(error, (ValueError, TypeError, FileNotFoundError)) or isinstance(error, UnicodeError):
        return name
    place = last_frame(error.__traceback__)
    if place is None:
        return name
    path, line = Path(place.tb_frame.f_code.co_filename), place.tb_lineno
    if THEIRS in path.parents:
        return "sentence"
    raised = linecache.getline(str(path), line).strip().startswith("raise")
    if OURS not in path.parents or not raised:
        return f"{name} (by chance, in {path.name}:{line})"
    message = str(error)
    # What scikit-learn says of a table is handed on as it is; ours is one line that ends.
    if "\n" in message or len(message) > LONGEST or not message.rstrip().endswith((".", "?")):
        return f"no sentence: {name}"
    return "sentence"


def last_frame(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:120]


def verdict_of_fit(model: Any) -> str:
    """ "answer" for a fit whose numbers are numbers, else what is not."""
    owner = type(model).__name__
    for name, value in vars(model).items():
        if not name.endswith("_") or name.startswith("_"):
            continue
        if isinstance(value, Certificates):
            verdict = verdict_of_certificates(value)
            if verdict != "answer":
                return verdict
            continue
        for number in numbers(value):
            if np.isnan(number).any() and name not in TREES:
                return f"NaN in {name}"
            if np.isinf(number).any() and name not in TREES and (owner, name) not in INFINITE:
                return f"infinity in {name}"
    return "answer"


def verdict_of_certificates(certificates: Certificates) -> str:
    """ "answer" unless a certificate compares NaN."""
    for each in certificates:
        if any(isinstance(number, float) and math.isnan(number) for number in (each.value, each.bound)):
            return f"NaN in the certificate {each.claim[:60]!r}"
    return "answer"


def numbers(value: Any, depth: int = 3) -> Iterator[np.ndarray]:
    """The floats inside a fitted attribute."""
    if isinstance(value, (float, np.floating)):
        yield np.asarray(value)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        yield value
    elif sparse.issparse(value):
        yield value.data
    elif depth and isinstance(value, Mapping):
        for each in value.values():
            yield from numbers(each, depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            yield from numbers(each, depth - 1)
    elif depth and dataclasses.is_dataclass(value) and not isinstance(value, (type, BaseEstimator)):
        for field in dataclasses.fields(value):
            yield from numbers(getattr(value, field.name, None), depth - 1)
