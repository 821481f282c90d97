"""Tables at the ends of the range of floating-point numbers: an answer that holds, or one sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import pdist, squareform

from assay.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    BlockBiclustering,
    ConvexBiclustering,
    ConvexClustering,
    DivisiveClustering,
    MergeTree,
    SparseSVDBiclustering,
    SpectralBiclustering,
    SpectralClustering,
    SpectralCoclustering,
)

LINKAGES = ("ward", "single", "complete", "average", "weighted", "centroid", "median")
CLUSTERERS = [
    *(AgglomerativeClustering(4, linkage=linkage) for linkage in LINKAGES),
    AgglomerativeClustering(4, linkage="average", metric="chebyshev"),
    AgglomerativeClustering(4, linkage="single", metric="manhattan"),
    DivisiveClustering(4),
    DBSCAN(),
    DBSCAN(eps="auto", metric="manhattan"),
    OPTICS(),
    OPTICS(cluster_method="dbscan", metric="chebyshev"),
    HDBSCAN(),
    HDBSCAN(metric="manhattan"),
    ConvexClustering(),
    ConvexClustering(weights="uniform", norm="l1"),
    SpectralClustering(3, random_state=0),
    SpectralClustering(3, affinity="rbf", random_state=0),
]
BICLUSTERERS = [
    BlockBiclustering(random_state=0),
    ConvexBiclustering(),
    SparseSVDBiclustering(),
    SpectralBiclustering(random_state=0),
    SpectralCoclustering(random_state=0),
]
SCALES = (1e160, 1e300, 1e307, 1e-160, 1e-300)

REFUSED_WEIGHTS = "|".join(
    [
        r"Positive weights of rows must be from 1e-30 to 1e\+30",
        r"must have its largest weight between 7e-151 and 1e\+150",
    ]
)


@pytest.fixture(scope="module")
def normal():
    X = np.random.default_rng(0).normal(size=(120, 4))
    X[:60] += 4.0
    return X


def answer_or_sentence(model, X):
    """The certificates of a fit, measured again; None where the fit was refused in one sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X)
        except ValueError as error:
            assert "\n" not in str(error)
            assert str(error).endswith(".")
            return None
        return model.certify(X)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("model", [*CLUSTERERS, *BICLUSTERERS], ids=repr)
def test_rows_of_any_size_are_clustered_or_refused(model, scale, normal):
    X = np.abs(normal) if isinstance(model, SpectralBiclustering | SpectralCoclustering) else normal
    proof = answer_or_sentence(model, X * scale)
    assert proof is None or proof.holds


@pytest.mark.parametrize("value", [1e160, 1e300])
@pytest.mark.parametrize("model", [*CLUSTERERS, *BICLUSTERERS], ids=repr)
def test_one_huge_entry_is_answered_or_refused(model, value, normal):
    X = np.abs(normal)
    X[7, 2] = value
    proof = answer_or_sentence(model, X)
    assert proof is None or proof.holds


@pytest.mark.parametrize("scale", [1e20, 1e37, 1e-25, 1e-40])
@pytest.mark.parametrize("model", [*CLUSTERERS, *BICLUSTERERS], ids=repr)
def test_single_precision_of_any_size_is_answered_or_refused(model, scale, normal):
    proof = answer_or_sentence(model, (np.abs(normal) * scale).astype(np.float32))
    assert proof is None or proof.holds


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("power", [-460, -300, 300, 460])
def test_trees_scale_with_the_rows_by_powers_of_two(linkage, power, normal):
    """Within the range that is taken nothing changes but the heights, bit by bit."""
    model = AgglomerativeClustering(3, linkage=linkage).fit(normal)
    scaled = AgglomerativeClustering(3, linkage=linkage).fit(normal * 2.0**power)
    assert_array_equal(scaled.children_, model.children_)
    assert_array_equal(scaled.distances_, model.distances_ * 2.0**power)
    assert scaled.certificates_.holds


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e-200, 1e200, 1e308])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_weights_beyond_products_are_refused(linkage, weight, normal):
    weights = np.ones(len(normal))
    weights[3:9] = weight
    with pytest.raises(ValueError, match=REFUSED_WEIGHTS):
        AgglomerativeClustering(4, linkage=linkage).fit(normal, sample_weight=weights)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_weights_of_any_size_within_that_are_taken(linkage, normal):
    weights = np.geomspace(1e-29, 1e29, len(normal))
    model = AgglomerativeClustering(4, linkage=linkage).fit(normal, sample_weight=weights)
    assert np.isfinite(model.distances_).all()


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "weighted"])
def test_given_dissimilarities_whose_sums_overflow_are_refused(linkage, normal):
    D = squareform(pdist(normal))
    with pytest.raises(ValueError, match=r"Sums of dissimilarities of size .* overflow"):
        AgglomerativeClustering(4, linkage=linkage, metric="precomputed").fit(D * 1e306)
    with pytest.raises(ValueError, match="at most 1e\\+270"):
        AgglomerativeClustering(4, linkage=linkage, metric=lambda x, z: 1e306).fit(normal[:9])


@pytest.mark.parametrize("model", [DBSCAN(), HDBSCAN(), OPTICS(), AgglomerativeClustering(2)], ids=repr)
def test_a_huge_new_row_is_labelled_or_refused(model, normal):
    model.fit(normal)
    for value in (1e160, 1e300):
        try:
            labels = model.predict(np.full((2, 4), value))
        except ValueError as error:
            assert "overflow" in str(error)
        else:
            assert labels.shape == (2,)


def test_an_eps_whose_square_overflows_reaches_every_row(normal):
    model = DBSCAN(eps=1e200).fit(normal)
    assert_array_equal(model.labels_, 0)
    assert model.certify(normal).holds


@pytest.mark.parametrize(
    ("join", "entry"), [(0, 10**9), (0, -1), (40, 159), (118, 238), (5, 2**62)], ids=lambda value: str(value)
)
@pytest.mark.parametrize("model", [AgglomerativeClustering(3), DivisiveClustering(3)], ids=repr)
def test_children_that_are_no_tree_are_refused_before_they_are_walked(model, join, entry, normal):
    model.fit(normal)
    model.children_ = model.children_.copy()
    model.children_[join, 1] = entry
    for use in (model.certify, model.cophenetic_correlation):
        with pytest.raises(ValueError, match="pairs of nodes made before"):
            use(normal)
    with pytest.raises(ValueError, match="pairs of nodes made before"):
        model.cut(2)


@pytest.mark.parametrize(
    "children", [[[0, 1]], [[0, 1], [0, 2]], [[0.0, 1.0], [2.0, 3.0]], [[0, 1], [2, 4]], [[0, 1], [-1, 3]]]
)
def test_merge_trees_are_trees(children):
    with pytest.raises(ValueError, match="pairs of nodes made before"):
        MergeTree(np.array(children), np.arange(2.0), np.ones(3))


@pytest.mark.parametrize("value", [1e300, 1e-300, 5e-324])
@pytest.mark.parametrize(
    "model",
    [
        lambda value: ConvexClustering(value),
        lambda value: ConvexClustering(value, norm="l1", weights="uniform"),
        lambda value: ConvexBiclustering(value, value),
        lambda value: ConvexClustering(weights=np.full((120, 120), value)),
    ],
)
def test_penalties_and_weights_that_rounding_drowns_are_refused(model, value, normal):
    with pytest.raises(ValueError, match=r"parameter of Convex.* must be"):
        model(value).fit(normal)


def test_given_pairs_that_lose_their_digits_are_refused(normal):
    D = squareform(pdist(normal)) * 5e-324
    for model in (DivisiveClustering(metric="precomputed"), SpectralClustering(2, affinity="precomputed")):
        with pytest.raises(ValueError, match="lose their digits"):
            model.fit(D)


def test_counts_and_weights_of_any_size_are_answered_or_refused(normal):
    assert_array_equal(DBSCAN(min_samples=2**63 - 1).fit(normal).labels_, -1)
    with pytest.raises(
        ValueError, match=r"must be an int at least 1 or 'auto'\. Got an int beyond 64 bits instead"
    ):
        DBSCAN(min_samples=10**400).fit(normal)
    with pytest.raises(ValueError, match=REFUSED_WEIGHTS):
        DBSCAN().fit(normal, sample_weight=np.full(len(normal), 1e308))
    model = AgglomerativeClustering(None, scaled_threshold=1e308, linkage="average").fit(normal)
    assert model.n_clusters_ == 1
    assert np.isfinite(model.distance_threshold_)
