"""Damage to a fit, one attribute at a time, and the attributes whose damage no certificate sees, with why."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from samples import FITTED, ON_ROWS

SHARE = 0.01

NOT_READ = "a report of the fit: predict, transform and inference do not read it"
SYMMETRY = "free by a symmetry: the two entries that are swapped have no order"

# Estimator → reason → attributes whose damage no certificate of some variant sees. What is seen again, and
# what is called a report but changes an answer, fails the test.
UNSEEN: dict[str, dict[str, str]] = {
    "AgglomerativeClustering": {
        SYMMETRY: "children_",
    },
    "ColumnDroppingRegression": {
        NOT_READ: "condition_number_",
        SYMMETRY: "kept_",
    },
    "ConstrainedRegression": {
        NOT_READ: "condition_number_",
    },
    "ConvexBiclustering": {
        NOT_READ: "gap_trace_",
    },
    "ConvexClustering": {
        NOT_READ: "gap_trace_",
    },
    "DictionaryRegression": {
        NOT_READ: "condition_number_",
    },
    "DivisiveClustering": {
        SYMMETRY: "children_",
    },
    "HardMarginSVC": {
        NOT_READ: "kkt_violations_",
    },
    "KernelFisherDiscriminant": {
        NOT_READ: "condition_number_",
    },
    "KernelQuantileRegressor": {
        NOT_READ: "kkt_violations_",
    },
    "LinearRegression": {
        NOT_READ: "condition_number_",
    },
    "LinearSVC": {
        NOT_READ: "n_support_",
    },
    "LogisticRegression": {
        NOT_READ: "center_",
    },
    "MiniBatchKMeans": {
        NOT_READ: "center_weights_ batch_inertias_",
    },
    "MultivariateRegression": {
        NOT_READ: "condition_number_",
    },
    "NuSVC": {
        NOT_READ: "kkt_violations_",
    },
    "NuSVR": {
        NOT_READ: "kkt_violations_",
    },
    "OneClassSVM": {
        NOT_READ: "kkt_violations_",
    },
    "OverlappingClustering": {
        NOT_READ: "delta_candidates_ delta_errors_ delta_",
    },
    "PolynomialRegression": {
        NOT_READ: "condition_number_",
    },
    "Ridge": {
        NOT_READ: "condition_number_",
    },
    "SGDClassifier": {
        NOT_READ: "optimality_",
    },
    "SGDRegressor": {
        NOT_READ: "optimality_",
    },
    "SVC": {
        NOT_READ: "kkt_violations_",
    },
    "SVR": {
        NOT_READ: "kkt_violations_",
    },
    "SpectralBiclustering": {
        NOT_READ: "best_left_ best_right_",
    },
    "SpectralClustering": {
        NOT_READ: "rounding_trace_ subspace_distance_ optimality_",
    },
    "SplineRegression": {
        NOT_READ: "condition_number_",
    },
}


def unseen_of(kind: type) -> dict[str, str]:
    """Attributes whose damage may pass, each with the reason."""
    listed = UNSEEN.get(kind.__name__, {})
    return {name: reason for reason, names in listed.items() for name in names.split()}


def damages(model: Any) -> Iterator[tuple[str, Any]]:
    """Copies of a fitted model, one attribute of each moved by a per cent or two of its entries swapped."""
    yield from _with_each(model, _moved)


def holes(model: Any) -> Iterator[tuple[str, Any]]:
    """Copies of a fitted model, each with NaN in one of its numbers."""
    yield from _with_each(model, _with_nan)


def holds(model: Any, X: Any, y: Any) -> bool:
    """Whether the certificates, measured afresh, hold; a refusal is no certificate."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return model.certify(X, y).holds
        except (ValueError, ArithmeticError, IndexError):
            return False


def _with_each(model: Any, change: Any) -> Iterator[tuple[str, Any]]:
    for name, value in list(vars(model).items()):
        if FITTED.match(name) and name != "certificates_":
            new = change(value)
            if new is not None:
                changed = copy.deepcopy(model)
                setattr(changed, name, new)
                yield name, changed


def _moved(value: Any) -> Any:
    """The value moved by one per cent of its size, labels and indices with two entries swapped."""
    if sparse.issparse(value):
        return _with_data(value, _moved(value.data))
    if isinstance(value, (float, np.floating)):
        return type(value)(value + SHARE * (abs(value) or 1.0)) if np.isfinite(value) else None
    if not isinstance(value, np.ndarray) or value.size == 0:
        return None
    if value.dtype.kind == "f":
        finite = np.isfinite(value)
        size = np.abs(value[finite]).max(initial=0.0) or 1.0
        pattern = np.cos(np.arange(value.size)).reshape(value.shape)
        return np.where(finite, value + SHARE * size * pattern, value).astype(value.dtype)
    if value.dtype.kind in "OV":
        return None
    others = np.flatnonzero(value != value.flat[0])
    if others.size == 0:
        return None
    new = value.copy()
    new.flat[0], new.flat[others[0]] = value.flat[others[0]], value.flat[0]
    return new


def _with_nan(value: Any) -> Any:
    if sparse.issparse(value):
        return _with_data(value, _with_nan(value.data))
    if isinstance(value, (float, np.floating)):
        return type(value)(np.nan)
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.size == 0:
        return None
    new = value.copy()
    new.flat[0] = np.nan
    return new


def _with_data(matrix: Any, data: NDArray | None) -> Any:
    if data is None:
        return None
    changed = matrix.copy()
    changed.data = data
    return changed


def is_read(model: Any, damaged: Any, X: Any) -> bool:
    """Whether what a model says about rows, or infers about its coefficients, changes with the damage."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return any(_differ(say, model, damaged, X) for say in (*ON_ROWS, "inference"))


def _differ(method: str, model: Any, damaged: Any, X: Any) -> bool:
    if not hasattr(model, method):
        return False
    try:
        first = _said(model, method, X)
    except ValueError:  # refused without any damage
        return False
    try:
        second = _said(damaged, method, X)
    except (ValueError, ArithmeticError, IndexError):
        return True
    return not all(map(np.array_equal, first, second))


def _said(model: Any, method: str, X: Any) -> list[NDArray]:
    if method != "inference":
        return [np.asarray(getattr(model, method)(X))]
    result = model.inference()
    return [np.asarray(values) for values in (result.params, result.bse, result.pvalues, result.conf_int())]
