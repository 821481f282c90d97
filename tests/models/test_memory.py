"""Rows outside memory are refused with the reason that the model has, not with that of another."""

from __future__ import annotations

import numpy as np
import pytest

from assay.density import KernelDensity, MovingWindowDensity
from assay.discriminant import GenerativeClassifier
from assay.kernel_machines import KernelRidge
from assay.trees import DecisionTreeClassifier

REASONS = [
    (KernelRidge(), "compares all pairs of rows"),
    (KernelDensity(), "keeps its rows"),
    (MovingWindowDensity(), "keeps its rows"),
    (GenerativeClassifier(KernelDensity()), "hands the rows of each class to a density at once"),
    (DecisionTreeClassifier(), "sorts the values of each column"),
]


@pytest.mark.parametrize(("model", "reason"), REASONS, ids=repr)
def test_the_refusal_names_the_reason_and_a_way_out(model, reason):
    array = pytest.importorskip("dask.array")
    X = array.from_array(np.ones((6, 2)), chunks=(3, 2))
    with pytest.raises(
        ValueError, match=f"^{type(model).__name__} {reason} and does not take rows outside memory: "
    ):
        model.fit(X, array.from_array(np.arange(6) % 2, chunks=3))
