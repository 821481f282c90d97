import sys

import numpy as np
import pytest

import assay.datasets
from assay.datasets import available, breast_cancer, diabetes, digits, iris, load, us_arrests, wine

SHAPES = {
    "iris": (150, 4),
    "diabetes": (442, 10),
    "digits": (1797, 64),
    "wine": (178, 13),
    "breast_cancer": (569, 30),
    "us_arrests": (50, 4),
}


def test_every_available_table_is_a_public_function_and_loads_by_name():
    assert set(available()) == set(SHAPES)
    for name, line in available().items():
        assert line.endswith(".")
        assert load(name).name == name == getattr(assay.datasets, name).__name__


@pytest.mark.parametrize(("name", "shape"), SHAPES.items())
def test_a_table_tells_its_names_and_where_it_comes_from(name, shape):
    table = load(name)
    assert table.X.shape == shape
    assert table.X.dtype == np.float64
    assert np.all(np.isfinite(table.X))
    assert len(table.feature_names) == shape[1]
    assert table.description.count(". ") == 1
    assert table.description.endswith(".")
    assert table.source
    assert table.y is None or table.y.shape == shape[:1]
    if table.target_names is not None:
        assert set(table.y) == set(range(len(table.target_names)))


@pytest.mark.parametrize("name", SHAPES)
def test_arrays_frames_and_tables_hold_the_same_numbers(name):
    function = getattr(assay.datasets, name)
    table = function()
    X, y = function(return_X_y=True)
    frame_X, frame_y = function(return_X_y=True, as_frame=True)
    np.testing.assert_array_equal(X, table.X)
    np.testing.assert_array_equal(frame_X.to_numpy(), table.X)
    assert tuple(frame_X.columns) == table.feature_names
    assert function(as_frame=True).X.equals(frame_X)
    if y is None:
        assert frame_y is None
        assert tuple(table.frame.columns) == table.feature_names
    else:
        np.testing.assert_array_equal(y, table.y)
        np.testing.assert_array_equal(frame_y.to_numpy(), table.y)
        assert tuple(table.frame.columns) == (*table.feature_names, table.target_name)


def test_a_numeric_target_has_no_class_names_and_a_class_target_has_them():
    assert diabetes().target_names is None
    assert iris().target_names == ("setosa", "versicolor", "virginica")
    assert digits().target_names == tuple("0123456789")
    assert breast_cancer().target_names == ("malignant", "benign")
    assert len(wine().target_names) == 3


def test_a_loaded_table_is_the_callers_own():
    X, _ = us_arrests(return_X_y=True)
    X[:] = 0.0
    assert us_arrests().X[0, 0] == 13.2


def test_us_arrests_has_the_fifty_states_and_no_target():
    table = us_arrests()
    assert len(set(table.row_names)) == 50
    assert table.feature_names == ("Murder", "Assault", "UrbanPop", "Rape")
    assert us_arrests(return_X_y=True)[1] is None
    assert table.frame.loc["Wyoming"].tolist() == [6.8, 161.0, 60.0, 15.6]


def test_us_arrests_gives_the_printed_principal_components():
    X = us_arrests().X
    standardised = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    eigenvalues, vectors = np.linalg.eigh(standardised.T @ standardised / 49)
    np.testing.assert_allclose(eigenvalues[::-1], [2.4802416, 0.9897652, 0.3565632, 0.1734301], atol=5e-8)
    printed = {
        -1: [0.5358995, 0.5831836, 0.2781909, 0.5434321],
        -2: [-0.4181809, -0.1879856, 0.8728062, 0.1673186],
    }
    for column, loadings in printed.items():
        vector = vectors[:, column]
        np.testing.assert_allclose(vector * np.sign(vector @ loadings), loadings, atol=5e-8)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"must be one of iris, .*us_arrests\. Got 'cars' instead\."):
        load("cars")


def test_a_frame_without_pandas_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert iris().X.shape == (150, 4)
    with pytest.raises(ImportError, match=r"pip install 'assay\[frames\]'"):
        iris().frame
