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
NOT_YET = "not yet certified"
SYMMETRY = "free by a symmetry: the two entries that are swapped have no order"
ANY_PLANE = "free: every plane that separates the classes is a solution"
WITHIN_TOL = "free within the gap at which the method stops, one per cent by default"

# Estimator → reason → attributes whose damage no certificate of some variant sees. What is seen again, and
# what is called a report but changes an answer, fails the test.
UNSEEN: dict[str, dict[str, str]] = {
    "AgglomerativeClustering": {
        NOT_READ: "leaf_weights_ cluster_centers_",
        SYMMETRY: "children_",
    },
    "BisectingKMeans": {
        NOT_READ: "cluster_weights_ optimality_",
    },
    "BlockBiclustering": {
        NOT_READ: "objective_ optimality_ restart_objectives_",
        NOT_YET: "rows_ columns_",
    },
    "CentroidClustering": {
        NOT_READ: "restart_inertias_ optimality_ cluster_weights_",
    },
    "ColumnDroppingRegression": {
        NOT_READ: "condition_number_ optimality_",
        SYMMETRY: "kept_",
    },
    "ConstrainedRegression": {
        NOT_READ: "condition_number_ optimality_",
    },
    "ConvexBiclustering": {
        NOT_READ: "objective_ dual_gap_ optimality_ gap_trace_",
        NOT_YET: "row_penalty_ rows_ columns_",
    },
    "ConvexClustering": {
        NOT_READ: "objective_ dual_gap_ optimality_ edges_ edge_weights_ gap_trace_",
        NOT_YET: "cluster_centers_",
    },
    "DBSCAN": {
        NOT_READ: "eps_",
        NOT_YET: "point_types_ ambiguous_borders_",
    },
    "DictionaryRegression": {
        NOT_READ: "condition_number_ optimality_",
    },
    "DivisiveClustering": {
        NOT_READ: "leaf_weights_ leaf_rows_ divisive_coefficient_",
        SYMMETRY: "children_",
    },
    "ElasticNet": {
        NOT_READ: "optimality_",
    },
    "FuzzyCMeans": {
        NOT_READ: "restart_inertias_ optimality_ cluster_weights_",
    },
    "GeneralizedLinear": {
        NOT_READ: "deviance_ null_deviance_ log_likelihood_ null_log_likelihood_ optimality_",
        NOT_YET: "total_weight_ center_ information_ dispersion_",
    },
    "GroupLasso": {
        NOT_READ: "optimality_",
    },
    "HuberRegressor": {
        NOT_READ: "dual_gap_ optimality_",
        NOT_YET: "outliers_",
    },
    "KCoordinateMedian": {
        NOT_READ: "restart_inertias_ inertia_trace_ optimality_ cluster_weights_",
    },
    "KGeometricMedian": {
        NOT_READ: "restart_inertias_ optimality_ cluster_weights_ dual_gap_",
    },
    "KMeans": {
        NOT_READ: "optimality_ cluster_weights_ restart_inertias_",
    },
    "KMedian": {
        NOT_READ: "restart_inertias_ optimality_ inertia_trace_",
    },
    "KMedoids": {
        NOT_READ: "restart_inertias_ optimality_ inertia_trace_",
    },
    "KernelKMeans": {
        NOT_READ: "restart_inertias_ cluster_weights_ optimality_ inertia_trace_",
    },
    "Lasso": {
        NOT_READ: "optimality_",
    },
    "LinearRegression": {
        NOT_READ: "condition_number_ optimality_",
    },
    "LinearSVC": {
        NOT_READ: "penalty_strength_ n_support_ dual_gap_ optimality_",
    },
    "LinearSVR": {
        NOT_READ: "penalty_strength_ dual_gap_ optimality_",
    },
    "LogisticRegression": {
        NOT_READ: "null_log_likelihood_ empirical_risk_ training_error_ log_likelihood_ "
        "information_ center_ optimality_ dual_gap_",
    },
    "MiniBatchKMeans": {
        NOT_READ: "center_weights_ batch_inertias_ cluster_weights_ optimality_",
    },
    "MultivariateRegression": {
        NOT_READ: "condition_number_ optimality_",
    },
    "OPTICS": {
        NOT_READ: "cluster_hierarchy_ eps_",
        NOT_YET: "cluster_reach_",
    },
    "OverlappingClustering": {
        NOT_READ: "delta_candidates_ delta_errors_ memberships_ delta_",
        NOT_YET: "factor_covariance_ covariance_ mean_ noise_variance_",
    },
    "Perceptron": {
        NOT_READ: "mistake_bound_ optimality_",
        ANY_PLANE: "coef_ intercept_",
    },
    "PolynomialRegression": {
        NOT_READ: "condition_number_ optimality_",
    },
    "QuantileRegressor": {
        NOT_READ: "dual_gap_ optimality_",
    },
    "ReducedRankRegression": {
        NOT_READ: "optimality_",
    },
    "Ridge": {
        NOT_READ: "condition_number_ optimality_ dual_gap_",
    },
    "SGDClassifier": {
        NOT_READ: "dual_gap_ optimality_",
        WITHIN_TOL: "intercept_ coef_",
    },
    "SGDRegressor": {
        NOT_READ: "dual_gap_ optimality_",
        WITHIN_TOL: "coef_ intercept_",
    },
    "SparseRegressor": {
        NOT_READ: "optimality_",
    },
    "SparseSVDBiclustering": {
        NOT_READ: "explained_ optimality_",
    },
    "SpectralBiclustering": {
        NOT_READ: "best_left_ best_right_",
        NOT_YET: "rows_ columns_",
    },
    "SpectralClustering": {
        NOT_READ: "embedding_centers_ rounding_trace_ cut_ cut_bound_ cut_gap_ within_similarity_ "
        "subspace_distance_ optimality_ eigenvalues_ ratio_cut_ norm_cut_",
    },
    "SpectralCoclustering": {
        NOT_READ: "normalized_cut_ cut_bound_",
        NOT_YET: "rows_ columns_",
    },
    "SphericalKMeans": {
        NOT_READ: "restart_inertias_ inertia_trace_ optimality_ cluster_weights_",
    },
    "SplineRegression": {
        NOT_READ: "condition_number_ optimality_",
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
