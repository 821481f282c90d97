"""Naive Bayes of numbers and factors, with missing values, against R's e1071."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from assay.discriminant import NaiveBayes

R = json.loads((Path(__file__).parents[1] / "reference" / "naive_bayes.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("case", "alpha"), [("plain", 0.0), ("smoothed", 1.0), ("holes", 1.0)])
def test_tables_and_posteriors_are_those_of_e1071(case, alpha):
    given = R["rows"]
    frame = pd.DataFrame({name: given[name] for name in ("height", "width", "town", "owner")})
    if case == "holes":
        frame.loc[given["no_height"], "height"] = np.nan
        frame.loc[given["no_town"], "town"] = None
    labels = np.array(given["label"])
    model = NaiveBayes(alpha=alpha, var_smoothing=0).fit(frame, labels)
    stored, gaussian = model.laws_["categorical"], model.laws_["gaussian"]
    for place, name in enumerate(("town", "owner")):
        assert_allclose(np.exp(stored["log_probabilities"][place]), R[case][name], rtol=1e-12)
    # R divides by n − 1, maximum likelihood by n.
    counts = np.array([frame[labels == label][["height", "width"]].notna().sum() for label in "abc"])
    gaussian["variances"] = gaussian["variances"] * counts / (counts - 1)
    height = np.column_stack([gaussian["means"][:, 0], np.sqrt(gaussian["variances"][:, 0])])
    assert_allclose(height, R[case]["height"], rtol=1e-12)
    assert_allclose(model.predict_proba(frame), R[case]["posterior"], rtol=1e-9, atol=1e-12)
