"""scikit-learn's own common checks on the defaults of every public estimator; no expected failure.

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


# scikit-learn's checks themselves fit on data that make an honest solver speak.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.shuffles_globally
@parametrize_with_checks([few_trees(kind()) for kind in estimator_classes()])
def test_scikit_learn_common_checks(estimator, check):
    check(estimator)
