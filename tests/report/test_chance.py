"""Groups that are none: how often they are claimed of one cloud, and whether real ones still are found."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris, make_blobs

from assay.report import compare
from assay.report.tables.data import Data
from assay.report.trials.clusters.chance import Cloud, Hump, chance_of
from assay.report.trials.clusters.trial import encode


def table(X, **further):
    frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(np.shape(X)[1])])
    return Data.from_frame(frame.assign(**further), name="made")


def sizes(rng, n, p):
    """Sizes of things, which are long or short together."""
    return np.exp(0.7 * (rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, p))))


CLOUDS = {
    "skewed": lambda rng, n, p: np.exp(rng.normal(size=(n, p))),
    "skewed together": sizes,
    "heavy tails": lambda rng, n, p: rng.standard_t(2, size=(n, p)),
    "counts": lambda rng, n, p: rng.poisson(1.0, size=(n, p)).astype(float),
    "in one direction": lambda rng, n, p: rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, p)),
}


def n_claims(law, n_tables, *, words=False):
    """How many tables of a cloud are split better than those without groups."""
    claims = 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        further = {"w": rng.choice(["a", "b", "c"], 80)} if words else {}
        found = chance_of(encode(table(CLOUDS[law](rng, 80, 1 + seed % 4), **further), seed), seed)
        claims += not found.explains
    return claims


@pytest.mark.parametrize("law", CLOUDS)
def test_one_cloud_is_rarely_called_groups(law):
    assert n_claims(law, 8) <= 2  # of 8 at 5 %: more in 6 of a thousand


@pytest.mark.slow
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("law", CLOUDS)
def test_one_cloud_is_called_groups_in_a_twentieth_of_tables_at_most(law, words):
    assert n_claims(law, 200, words=words) <= stats.binom.ppf(0.999, 200, 0.05)


def test_real_groups_are_still_found(rng):
    iris = load_iris().data
    near = np.concatenate([rng.normal(size=60), 6 + rng.normal(size=60)])
    skewed = np.concatenate([rng.lognormal(size=(60, 3)), 12 + rng.lognormal(size=(60, 3))])
    blobs = make_blobs(150, 10, centers=3, cluster_std=3, random_state=2)[0]
    kinds = rng.choice(["a", "b"], 150)
    for data in (table(iris), table(iris[:, 2:3]), table(near[:, None]), table(skewed), table(blobs)):
        assert not chance_of(encode(data, 0), 0).explains
    assert not chance_of(encode(table(iris, kind=kinds), 0), 0).explains


def test_a_skewed_column_has_no_groups_and_it_is_said_why(rng):
    found = compare(table(np.exp(rng.normal(size=(100, 2)))), methods=("KMeans",))
    assert found.recommended.score > 0.5
    found = dataclasses.replace(found, gap=None)  # which may say one group, too
    assert found.headline.startswith("No clear groups in made: the best split, into ")
    told = (
        f"k-means reaches up to {found.chance.without_groups:.2f} on them, and {found.chance.own:.2f} here."
    )
    assert any(told in remark for remark in found.remarks)


def test_a_row_far_away_is_no_group(rng):
    X = rng.normal(size=(60, 2))
    X[7] = 500.0
    found = compare(table(X), methods=("KMeans",))
    assert found.recommended.score > 0.9
    assert found.headline.startswith("No clear groups in made")
    assert any("but all groups but one are single rows" in remark for remark in found.remarks)


def test_tables_without_groups_resemble_the_table(rng):
    """Columns keep their law where it has one hump, and the correlations of ranks; counts stay whole."""
    X = sizes(rng, 400, 3)
    X[:, 2] = rng.poisson(2.0, 400)
    encoded = encode(table(X), 0)
    drawn = np.vstack([Cloud(encoded.Z, encoded.encoder).draw(rng) for _ in range(10)])
    for place in range(3):
        assert stats.ks_2samp(drawn[:, place].round(6), encoded.Z[:, place].round(6)).statistic < 0.07
    wanted, found = stats.spearmanr(encoded.Z).statistic, stats.spearmanr(drawn).statistic
    np.testing.assert_allclose(found, wanted, atol=0.07)
    step = np.diff(np.unique(encoded.Z[:, 2])).min()
    places = (drawn[:, 2] - encoded.Z[:, 2].min()) / step
    np.testing.assert_allclose(places, np.round(places), atol=1e-6)
    zeros = np.mean(X[:, 2] == 0)
    assert abs(np.mean(np.round(places) == 0) - zeros) < 4 * np.sqrt(zeros / len(drawn))


def test_the_nearest_law_of_one_hump_has_one_hump_and_is_as_near_as_the_dip(rng):
    values = np.sort(np.concatenate([rng.normal(size=40), 5 + rng.normal(size=40)]))
    hump = Hump(values)
    slopes = np.diff(hump.shares) / np.diff(hump.values)
    top = int(slopes.argmax())
    assert (np.diff(slopes[: top + 1]) > -1e-12).all()
    assert (np.diff(slopes[top:]) < 1e-12).all()
    own = (np.arange(80) + 0.5) / 80
    away = np.abs(np.interp(values, hump.values, hump.shares) - own).max()
    assert 0.05 < away < 0.2  # two humps of 40 rows each are this far from one
