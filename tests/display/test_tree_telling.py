"""Pictures of why and how sure: they show what the models say."""

from __future__ import annotations

from itertools import pairwise

import matplotlib
import numpy as np
import pandas
import pytest
from matplotlib.figure import Figure

matplotlib.use("Agg")

from assay import display
from assay.display.plane import shortened_apart
from assay.report.page.effects import fitting
from assay.trees import (
    DecisionTreeClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(random.normal(size=(240, 3)), columns=["weak", "strong", "unused"])
    frame["town"] = pandas.Categorical(random.choice(["north", "south"], 240))
    frame.loc[::9, "strong"] = np.nan
    y = 0.4 * frame["weak"] + 3 * frame["strong"].fillna(0) + (frame["town"] == "south")
    return frame, y.to_numpy() + 0.1 * random.normal(size=240)


@pytest.fixture(scope="module")
def boosted(table):
    return HistGradientBoostingRegressor(max_iter=15, calibration=0.3, random_state=0).fit(*table)


def test_bars_are_the_mean_sizes_the_largest_on_top(table, boosted):
    shown = display.ShapBarsDisplay.from_estimator(boosted, table[0])
    sizes = np.abs(boosted.shap_values(table[0]).values).mean(axis=0)
    order = np.argsort(-sizes)
    assert shown.names[0] == "strong"
    np.testing.assert_allclose(shown.importances[:, 0], sizes[order][sizes[order] > 0])
    widths = [patch.get_width() for patch in shown.ax_.patches]
    np.testing.assert_allclose(widths, shown.importances[:, 0])
    tops = [patch.get_y() for patch in shown.ax_.patches]
    assert tops == sorted(tops, reverse=True)


def test_bars_of_several_classes_are_stacked_and_of_two_are_not(table):
    frame, y = table
    three = DecisionTreeClassifier(max_depth=3).fit(frame, np.digitize(y, [-1, 1]))
    shown = display.ShapBarsDisplay.from_estimator(three, frame)
    assert shown.importances.shape[1] == 3
    assert [text.get_text() for text in shown.ax_.get_legend().get_texts()] == ["0", "1", "2"]
    two = RandomForestClassifier(5, random_state=0).fit(frame, y > 0)
    assert display.ShapBarsDisplay.from_estimator(two, frame).importances.shape[1] == 1


def test_bars_of_many_columns_and_classes_fit_into_a_small_picture(rng):
    """As many columns as there is room for, classes that no legend has room for added up."""
    X, y = rng.normal(size=(200, 30)), np.arange(200) % 10
    X[:, :10] += 3 * np.eye(10)[y]
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    ax = Figure(figsize=(3.6, 2.15), layout="constrained").subplots()
    shown = display.ShapBarsDisplay.from_estimator(model, X, ax=ax)
    assert ax.get_legend() is None
    assert ax.get_title("left") + ax.get_title() == "What moves the score of the 10 classes, added up"
    widths = [patch.get_width() for patch in ax.patches]
    np.testing.assert_allclose(widths, shown.importances[: len(widths)].sum(axis=1))
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.get_yticklabels()]
    assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(boxes))


def test_names_that_begin_and_end_alike_are_told_apart():
    names = [f"line = level-{k:02d} of the production hierarchy" for k in range(20)]
    told = shortened_apart([*names, "size"])
    assert len({*told}) == 21
    assert max(map(len, told)) <= 24
    assert told[3] == "line = level-03…"
    assert fitting(names, 12)[7] == "line = l…07…"


def test_the_swarm_has_a_point_for_every_row_at_its_value_and_grey_ones_where_it_is_missing(table, boosted):
    shown = display.ShapBeeswarmDisplay.from_estimator(boosted, table[0])
    values = boosted.shap_values(table[0]).values
    np.testing.assert_allclose(shown.values[:, 0], values[:, 1])
    assert np.array_equal(np.isnan(shown.levels[:, 0]), table[0]["strong"].isna())
    drawn = [part.get_offsets() for part in shown.ax_.collections if len(part.get_offsets())]
    assert sum(map(len, drawn)) == values.size
    heights = np.concatenate(drawn)[:, 1]
    assert np.abs(heights - np.rint(heights)).max() <= 0.38 + 1e-9
    high = table[0]["strong"].rank(pct=True).to_numpy()
    known = ~np.isnan(high)
    assert np.corrcoef(high[known], shown.levels[known, 0])[0, 1] > 0.999


def test_a_waterfall_runs_from_the_base_value_to_the_score(table, boosted):
    frame, _ = table
    shown = display.ShapWaterfallDisplay.from_estimator(boosted, frame, row=9)
    assert shown.score == pytest.approx(boosted.predict(frame.iloc[[9]])[0])
    assert shown.base_value + shown.steps.sum() == pytest.approx(shown.score)
    assert "strong = missing" in shown.names
    assert any(name in ("town = north", "town = south") for name in shown.names)
    named = display.ShapWaterfallDisplay.from_estimator(
        boosted, frame, row=9, values={"town": "Ys", "strong": None, "weak": 2.5}
    )
    assert {"town = Ys", "strong = missing", "weak = 2.5"} <= set(named.names)
    bars = shown.ax_.patches
    assert bars[0].get_x() == pytest.approx(shown.base_value)
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(shown.score)
    sizes = np.abs(shown.steps)
    assert np.all(np.diff(sizes) >= 0)
    with pytest.raises(ValueError, match=r"one of 240 rows\. Got 240"):
        display.plot(boosted, frame, kind="waterfall", row=240)


def test_a_waterfall_of_many_columns_puts_the_small_ones_together(table):
    random = np.random.default_rng(1)
    X = random.normal(size=(200, 14))
    model = RandomForestRegressor(5, random_state=0).fit(X, X.sum(axis=1))
    shown = display.ShapWaterfallDisplay.from_estimator(model, X)
    assert len(shown.names) == 10
    assert shown.names[0].endswith("others")
    assert shown.base_value + shown.steps.sum() == pytest.approx(model.predict(X[:1])[0])


def test_a_waterfall_of_classes_explains_the_class_that_is_named(table):
    frame, y = table
    model = HistGradientBoostingClassifier(max_iter=5).fit(frame, np.digitize(y, [-1, 1]))
    shown = display.ShapWaterfallDisplay.from_estimator(model, frame, row=3)
    assert shown.measure == f"log-odds of {model.predict(frame.iloc[[3]])[0]}"
    assert shown.score == pytest.approx(model.decision_function(frame.iloc[[3]]).max())


def test_intervals_tell_how_many_targets_they_hold(table, boosted):
    frame, y = table
    shown = display.IntervalsDisplay.from_estimator(boosted, frame, y, coverage=0.7)
    low, high = boosted.predict_interval(frame, coverage=0.7).T
    held = np.mean((low <= y) & (y <= high))
    assert shown.held == held
    assert shown.ax_.get_title() == f"{held:.1%} of 240 rows inside, 70% promised"
    assert np.all(np.diff(shown.predictions) >= 0)
    with pytest.raises(ValueError, match="calibration"):
        display.plot(HistGradientBoostingRegressor(max_iter=2).fit(frame, y), frame, y, kind="intervals")


def test_reliability_shows_the_gap_before_and_after(table):
    frame, y = table
    noisy = y + 3 * np.random.default_rng(2).normal(size=240) > 0
    settings = {"max_iter": 60, "min_samples_leaf": 5, "calibration": 0.4, "random_state": 0}
    model = HistGradientBoostingClassifier(**settings, calibration_method="sigmoid").fit(frame, noisy)
    rows = model.calibration_rows_
    shown = display.ReliabilityDisplay.from_estimator(model, frame.iloc[rows], noisy[rows])
    assert shown.errors[0] == pytest.approx(model.calibration_errors_[0])
    assert shown.errors[1] < shown.errors[0]
    with pytest.raises(ValueError, match="needs a fit with calibration_method"):
        plain = HistGradientBoostingClassifier(max_iter=2).fit(frame, noisy)
        display.plot(plain, frame, noisy, kind="reliability")


def test_a_waterfall_names_a_single_other_column():
    """Ten columns move the prediction: none is hidden behind "1 others"."""
    X = np.random.default_rng(2).normal(size=(200, 10))
    model = HistGradientBoostingRegressor(max_iter=30).fit(X, X.sum(axis=1))
    shown = display.ShapWaterfallDisplay.from_estimator(model, X)
    assert sum(model.shap_values(X[:1]).values[0] != 0) == 10 == len(shown.names)
    assert not any("other" in name for name in shown.names)
    assert shown.base_value + shown.steps.sum() == pytest.approx(shown.score)
