"""Fitted attributes against the data: `certify` sees what was changed, and is calm where digits round."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

from assay.cluster import (
    DBSCAN,
    OPTICS,
    AgglomerativeClustering,
    BlockBiclustering,
    ConvexBiclustering,
    ConvexClustering,
    DivisiveClustering,
    OverlappingClustering,
    SparseSVDBiclustering,
    SpectralBiclustering,
    SpectralClustering,
    SpectralCoclustering,
)

CENTRED = [AgglomerativeClustering(4, linkage=linkage) for linkage in ("ward", "centroid", "median")]
CLUSTERERS = [
    *CENTRED,
    DivisiveClustering(3),
    DBSCAN(eps="auto"),
    OPTICS(),
    OPTICS(cluster_method="dbscan"),
    ConvexClustering(),
    ConvexClustering(weights="uniform", norm="l1"),
    SpectralClustering(3, random_state=0),
    SpectralClustering(3, rounding="weighted_kmeans", random_state=0),
    SpectralClustering(2, rounding="sweep", random_state=0),
    OverlappingClustering(random_state=0),
]
BICLUSTERERS = [
    BlockBiclustering(3, random_state=0),
    ConvexBiclustering(),
    SparseSVDBiclustering(2),
    SpectralBiclustering(3, random_state=0),
    SpectralCoclustering(3, random_state=0),
]
# The order of these says nothing, or is that of a trace that no answer reads.
FREE = {"children_", "gap_trace_", "rounding_trace_", "restart_objectives_", "best_left_", "best_right_"}
FREE |= {"delta_candidates_", "delta_errors_"}


@pytest.fixture(scope="module")
def blobs():
    random = np.random.default_rng(3)
    means = np.array([[0.0, 0.0, 0.0, 0.0], [7.0, 0.0, 3.0, 1.0], [0.0, 8.0, 1.0, 5.0], [6.0, 9.0, 9.0, 0.0]])
    return np.abs(np.repeat(means, [35, 30, 20, 15], axis=0) + random.normal(size=(100, 4)))


@pytest.fixture(scope="module")
def fit(blobs):
    known = {}

    def fitted(model):
        if repr(model) not in known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                known[repr(model)] = copy.deepcopy(model).fit(blobs)
        return copy.deepcopy(known[repr(model)])

    return fitted


def seen(model, X):
    """Whether the certificates do not hold, or are refused in a sentence."""
    try:
        return not model.certify(X).holds
    except ValueError:
        return True


@pytest.mark.parametrize("model", [*CLUSTERERS, *BICLUSTERERS], ids=repr)
def test_arrays_put_in_reverse_are_seen(model, fit, blobs):
    names = [name for name, value in vars(fit(model)).items() if name[-1] == "_" and name not in FREE]
    for name in names:
        damaged = fit(model)
        value = getattr(damaged, name)
        if isinstance(value, np.ndarray) and value.ndim and not np.array_equal(value, value[::-1]):
            setattr(damaged, name, value[::-1].copy())
            assert seen(damaged, blobs), name


@pytest.mark.parametrize("model", CENTRED, ids=repr)
def test_centres_in_another_order_are_seen_by_the_means(model, fit, blobs):
    damaged = fit(model)
    damaged.cluster_centers_ = damaged.cluster_centers_[::-1]
    assert (damaged.predict(blobs) != damaged.labels_).mean() > 0.5
    failed = damaged.certify(blobs).failed
    assert [item.quantity for item in failed] == ["largest error of a centre over the spread of the rows"]


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("model", [*CLUSTERERS, *BICLUSTERERS], ids=repr)
def test_rounding_raises_no_alarm_at_another_scale(model, scale, blobs):
    if isinstance(model, DBSCAN):
        model = DBSCAN(eps="auto")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = copy.deepcopy(model).fit(blobs * scale)
    fitted.certify(blobs * scale).require()


@pytest.mark.parametrize("model", [*CLUSTERERS, *BICLUSTERERS], ids=repr)
def test_rounding_raises_no_alarm_in_single_precision(model, blobs):
    X = blobs.astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = copy.deepcopy(model).fit(X)
    fitted.certify(X).require()


@pytest.mark.parametrize("model", [*CLUSTERERS[:9], BlockBiclustering(3, random_state=0)], ids=repr)
def test_rounding_raises_no_alarm_far_from_the_origin(model, blobs):
    X = blobs + 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = copy.deepcopy(model).fit(X)
    fitted.certify(X).require()


@pytest.mark.parametrize("model", CENTRED, ids=repr)
def test_rows_of_weight_0_have_certified_labels(model, blobs):
    weights = np.tile([1.0, 2.0, 0.0, 1.5], 25)
    fitted = copy.deepcopy(model).fit(blobs, sample_weight=weights)
    assert fitted.certify(blobs, sample_weight=weights).holds
    fitted.labels_[2] = (fitted.labels_[2] + 1) % 4
    failed = fitted.certify(blobs, sample_weight=weights).failed
    assert [item.quantity for item in failed] == ["rows of weight 0 labelled otherwise"]


def test_a_border_too_many_or_too_few_among_the_ambiguous_is_seen():
    x = np.concatenate([np.linspace(0.0, 1.0, 8), [1.5], np.linspace(2.0, 3.0, 8), [10.0]])
    X = x[:, np.newaxis]
    model = DBSCAN(eps=0.55, min_samples=5).fit(X)
    assert model.ambiguous_borders_.tolist() == [8]
    assert model.certify(X).holds
    for wrong in ([], [7], [17], [8, 9]):
        damaged = copy.deepcopy(model)
        damaged.ambiguous_borders_ = np.array(wrong, dtype=int)
        assert seen(damaged, X), wrong


@pytest.mark.parametrize("model", [ConvexClustering(), ConvexBiclustering()], ids=repr)
def test_dual_points_of_another_shape_are_refused_before_a_loop_reads_them(model, fit, blobs):
    damaged = fit(model)
    name = "dual_" if isinstance(model, ConvexClustering) else "row_dual_"
    setattr(damaged, name, getattr(damaged, name)[:1, :1])
    with pytest.raises(ValueError, match="must hold a vector for each edge"):
        damaged.certify(blobs)


@pytest.mark.parametrize("model", [AgglomerativeClustering(3), ConvexClustering(), OPTICS()], ids=repr)
def test_labels_beyond_all_clusters_are_seen_without_memory_for_them(model, fit, blobs):
    damaged = fit(model)
    damaged.labels_[0] = 2**31 - 1
    assert seen(damaged, blobs)


@pytest.mark.parametrize(
    ("model", "quantity"),
    [
        (AgglomerativeClustering(3), "inertia"),
        (AgglomerativeClustering(3, linkage="complete"), "largest diameter"),
        (SpectralClustering(3, random_state=0), "NormCut"),
        (SpectralClustering(3, laplacian="unnormalized", random_state=0), "RatioCut"),
        (BlockBiclustering(3, random_state=0), "objective over the sum of squares"),
        (SpectralBiclustering(3, random_state=0), "share that the checkerboard explains"),
        (SpectralCoclustering(3, random_state=0), "normalised cut"),
        (SparseSVDBiclustering(2), "share explained"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_bounds_on_any_partition_are_not_counted(model, quantity, fit, blobs):
    proof = fit(model).certify(blobs)
    assert proof.named(quantity).informative
    assert quantity not in [item.quantity for item in proof.decisive]
