"""What encoders know of columns is one text in a model file, and comes back as it was."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import assay
from assay.linear import Ridge
from assay.persistence import SCHEMA
from assay.report import describe_columns
from assay.report.tables import BothEncoder, ClusterEncoder, CodeEncoder, PlainEncoder, TableEncoder
from assay.report.tables.encoding.packing import packed, unpacked


@pytest.fixture
def frame(rng):
    n = 80
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "town": rng.choice(["Lyon", "Nice", 'the "rest"', "Ŝ"], n),
            "name": [f"level {k}" for k in np.minimum(rng.integers(0, 300, n), 35)],
            "size": rng.choice(["small", "medium", "large"], n),
            "member": rng.choice([True, False], n),
            "since": pd.date_range("2001-01-01", periods=n, freq="17D").astype(str),
            "empty": np.nan,
        }
    )


@pytest.mark.parametrize("kind", [TableEncoder, PlainEncoder, CodeEncoder, BothEncoder, ClusterEncoder])
def test_a_saved_encoder_comes_back_as_it_was(frame, kind, tmp_path):
    encoder = kind(describe_columns(frame)).fit(frame)
    assay.save(make_pipeline(encoder, Ridge()), tmp_path / "model.skops")
    again = assay.load(tmp_path / "model.skops")[0]
    assert again.columns == encoder.columns
    assert repr(again.codes_) == repr(encoder.codes_)  # not a number is not equal to itself
    assert again.feature_names_out_ == encoder.feature_names_out_
    assert_array_equal(again.transform(frame), encoder.transform(frame))
    assert clone(again).columns == encoder.columns


def test_an_encoder_that_was_saved_column_by_column_is_read(frame):
    encoder = TableEncoder(describe_columns(frame)).fit(frame)
    again = TableEncoder()
    again.__setstate__(dict(vars(encoder)))
    assert_array_equal(again.transform(frame), encoder.transform(frame))


def test_a_wide_table_makes_no_more_objects_in_a_file(rng, tmp_path):
    counts = []
    for width in (20, 200):
        frame = pd.DataFrame(rng.normal(size=(30, width))).add_prefix("x")
        encoder = TableEncoder(describe_columns(frame))
        y = rng.normal(size=30)
        assay.save(make_pipeline(encoder, Ridge()).fit(frame, y), tmp_path / "model.skops")
        with zipfile.ZipFile(tmp_path / "model.skops") as archive:
            counts.append(json.loads(archive.read(SCHEMA), object_hook=count_nodes)["nodes"])
    assert counts[0] == counts[1]


def count_nodes(node):
    inside = [value for value in node.values() if isinstance(value, dict)]
    inside += [
        item for value in node.values() if isinstance(value, list) for item in value if isinstance(item, dict)
    ]
    return node | {"nodes": 1 + sum(item.get("nodes", 1) for item in inside)}


def test_nothing_but_what_is_known_of_columns_is_built():
    text = packed(["x"])
    assert unpacked(text) == ["x"]
    for name in ("TableEncoder", "publish", "Path", "gone"):
        with pytest.raises(ValueError, match="is not known"):
            unpacked(f'[{{"kind":"{name}","facts":[]}}]')
