"""What a spectral clustering proves about itself, and how it fails when it is damaged."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from assay.cluster import SpectralClustering
from assay.cluster.spectral.certificates import measure, spectral_certificates
from assay.datasets import TwoMoons
from assay.graphs import norm_cut, ratio_cut


@pytest.fixture
def X():
    return TwoMoons(noise_std=0.2).sample(200, random_state=0).X


@pytest.mark.spec("sangnier/SG-T4")
@pytest.mark.parametrize("laplacian", ["random_walk", "symmetric", "unnormalized"])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_below_the_best_of_all_partitions_and_the_gap_is_the_distance_to_it(laplacian, seed):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(4, 2)), [3.0, 0.0] + rng.normal(size=(4, 2))])
    model = SpectralClustering(2, affinity="rbf", laplacian=laplacian, random_state=0).fit(X)
    criterion = ratio_cut if laplacian == "unnormalized" else norm_cut
    W = model.affinity_matrix_
    best = min(
        criterion(W, [0, *labels]).value for labels in itertools.product([0, 1], repeat=7) if any(labels)
    )
    achieved = criterion(W, model.labels_).value
    assert model.cut_bound_ <= best + 1e-12 <= achieved + 2e-12
    assert_allclose(model.cut_gap_, (achieved - model.cut_bound_) / achieved)
    assert achieved - best <= model.cut_gap_ * achieved + 1e-12  # what the gap promises
    name = "RatioCut" if laplacian == "unnormalized" else "NormCut"
    assert f"{model.cut_gap_:.1%}" in model.certificates_.named(name).claim


def test_the_bound_gives_way_by_the_residual(X):
    X = np.random.default_rng(0).normal(size=(len(X), 5))  # no thin graph: one cycle is not enough
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1"):
        rough = SpectralClustering(4, max_iter=1, tol=1e-13, random_state=0).fit(
            np.vstack([X, X + 0.01, X + 0.02])
        )
    exact = SpectralClustering(4, random_state=0).fit(np.vstack([X, X + 0.01, X + 0.02]))
    assert not rough.certificates_.named("eigenpair residual").holds
    assert rough.eigenvalues_.sum() > exact.eigenvalues_.sum()  # Ritz values are above the eigenvalues
    assert rough.cut_bound_ < exact.cut_bound_ * (1 + 1e-6)


DAMAGES = {
    "eigenpair residual": lambda model: model.eigenvalues_.__iadd__(0.01),
    "orthonormality residual": lambda model: model.eigenvectors_.__imul__(1.01),
    "zero eigenvalues": lambda model: model.eigenvalues_.__setitem__(0, 1e-6),
    "error of the reported cuts": lambda model: setattr(model, "norm_cut_", 0.9 * model.norm_cut_),
    "error of the embedding": lambda model: model.embedding_.__imul__(1.001),
    "assignment excess": lambda model: model.labels_.__setitem__(0, 1 - model.labels_[0]),
    "error of the subspace distance": lambda model: setattr(model, "subspace_distance_", 0.0),
    "largest rise of the rounding": lambda model: setattr(
        model, "rounding_trace_", np.append(model.rounding_trace_, model.rounding_trace_[-1] + 1.0)
    ),
}


@pytest.mark.parametrize("quantity", DAMAGES)
def test_each_certificate_fails_on_its_own_damage(X, quantity):
    model = SpectralClustering(2, random_state=0).fit(X)
    model.certify(X).require()
    DAMAGES[quantity](model)
    assert not model.certify(X).named(quantity).holds


def test_a_cut_below_the_bound_would_be_noticed(X):
    model = SpectralClustering(2, random_state=0).fit(X)
    W = model.affinity_matrix_
    measured = measure(W, "random_walk", model.eigenvalues_, model.eigenvectors_, model.labels_)
    false = measured._replace(bound=1.5 * measured.norm.value)
    proof = {item.quantity: item for item in spectral_certificates(W, model, false)}
    assert not proof["NormCut"].holds


def test_other_rows_are_not_those_of_the_fit(X):
    model = SpectralClustering(2, random_state=0).fit(X)
    assert not model.certify(X + np.random.default_rng(0).normal(scale=0.2, size=X.shape)).holds
    with pytest.raises(ValueError, match="certify takes the rows of the fit"):
        model.certify(X[:50])


def test_an_eigenvector_that_was_passed_over_lowers_the_bound(X):
    model = SpectralClustering(3, random_state=0).fit(X)
    whole = SpectralClustering(5, random_state=0).fit(X)
    honest = model.certify(X).named("NormCut and the complement")
    assert_allclose(honest.bound, model.cut_bound_, rtol=1e-6)
    # Claim the first, third and fifth eigenpair for the three least: eigenpairs, but not those.
    chosen = [0, 2, 4]
    model.eigenvalues_, model.eigenvectors_ = whole.eigenvalues_[chosen], whole.eigenvectors_[:, chosen]
    proof = model.certify(X)
    assert proof.named("eigenpair residual").holds
    assert proof.named("NormCut and the complement").bound <= model.cut_bound_ + 1e-9


def test_the_complement_is_searched_in_large_graphs_too(monkeypatch, X):
    monkeypatch.setattr("assay.graphs.relaxation.FULL", 50)
    model = SpectralClustering(2, random_state=0).fit(X)
    item = model.certify(X).named("NormCut and the complement")
    assert item.holds
    assert "probability" in item.claim
    assert 0.0 <= item.bound <= model.cut_bound_ + 1e-12
