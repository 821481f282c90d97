"""scikit-learn's own common checks on the defaults of every public estimator.

Ensembles are of few trees here, as scikit-learn checks its own.
"""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimators import estimator_classes
from samples import few_trees


def test_the_walk_finds_the_estimators():
    names = {kind.__name__ for kind in estimator_classes()}
    assert {"KMeans", "KernelRidge", "LinearRegression", "Ridge"} <= names


NO_DENSITY = "gives each class fewer rows than columns, where a Gaussian law of its own has no density"
NO_NEIGHBOR = "asks about rows in 30 columns that no row of the fit is near, whose class is not defined"
NO_MARGIN = "draws labels at random: the margin that separates such rows cannot be told from 0"
NOT_SEPARABLE = "gives equal rows of zeros labels of both classes, which no hyperplane separates"
EXPECTED = {
    name: {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    for name, reason in (
        ("QuadraticDiscriminantAnalysis", NO_DENSITY),
        ("RadiusNeighborsClassifier", NO_NEIGHBOR),
    )
}
EXPECTED["HardMarginSVC"] = {
    f"check_estimator_sparse_{kind}": NOT_SEPARABLE for kind in ("tag", "array", "matrix")
} | dict.fromkeys(("check_fit_idempotent", "check_fit_check_is_fitted", "check_n_features_in"), NO_MARGIN)
NO_SHARE = "draws classes and weights of which the smallest cannot give half of the default share"
EXPECTED["NuSVC"] = dict.fromkeys(
    (
        "check_class_weight_classifiers",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    NO_SHARE,
)
"""Checks that ask what cannot be, with the reason; all others must pass."""


# scikit-learn's checks themselves fit on data that make an honest solver speak.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:One or more samples have no neighbors:UserWarning")
@pytest.mark.shuffles_globally
@parametrize_with_checks(
    [few_trees(kind()) for kind in estimator_classes()],
    expected_failed_checks=lambda estimator: EXPECTED.get(type(estimator).__name__, {}),
)
def test_scikit_learn_common_checks(estimator, check):
    check(estimator)
