"""The criteria of `select_k`: each turns fits into a curve and the curve into a choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.cluster.scores.internal import calinski_harabasz_of, davies_bouldin, measure_partition
from assay.cluster.scores.silhouette import silhouette
from assay.cluster.selection.fits import OWNER, Study
from assay.cluster.selection.gap import REFERENCES, gap_statistic
from assay.cluster.selection.penalty import penalty_path
from assay.cluster.selection.rules import Choice, extreme, find_elbow, first_gap, first_small_decrease
from assay.cluster.selection.stability import AGREEMENTS, RESAMPLES, stability
from assay.distances import metric_domain
from assay.graphs import LAPLACIANS, eigengap, nearest_neighbors_graph
from assay.parameters import Domain

Array = NDArray[np.float64]


DECISIVE = 10.0
"""Difference of information criteria that counts as decisive."""


class Judged(NamedTuple):
    """A curve, the choice made on it, and what else the criterion has measured."""

    curve: Array
    choice: Choice
    standard_error: Array | None = None
    candidates: Mapping[str, Any] = {}
    columns: Mapping[str, NDArray] = {}
    details: Any = None


class Criterion(NamedTuple):
    """A way to choose: its function, its options with their domains, and what it needs of the values."""

    judge: Callable[..., Judged]
    defaults: Mapping[str, Any] = {}
    domains: Mapping[str, Domain] = {}
    counts_clusters: bool = False
    least_values: int = 1


def _inertias(study: Study, criterion: str) -> tuple[Array, dict[str, NDArray]]:
    """Within-cluster inertia of each trial, with the share that the clusters explain."""
    if study.is_pairwise:
        study.array(criterion)
    within = np.array([found.within for found in study.dispersions])
    between = np.array([found.between if found.n_clusters else np.nan for found in study.dispersions])
    total = within + between
    if not (total > 0).any():
        raise ValueError("All rows of X are equal: there is no number of clusters to choose.")
    explained = np.divide(between, total, out=np.full_like(total, np.nan), where=total > 0)
    return within, {"within": within, "explained": explained}


def elbow(study: Study) -> Judged:
    """The point of the inertia curve farthest below its chord."""
    within, columns = _inertias(study, "elbow")
    found = find_elbow(_numbers(study), within)
    columns |= {"below_chord": found.below_chord, "second_difference": found.second_difference}
    bend = study.values[int(np.nanargmax(found.second_difference))]
    candidates = {"chord": study.values[found.place], "second difference": bend}
    choice = Choice(found.place, found.ambiguous, found.reason)
    return Judged(within, choice, candidates=candidates, columns=columns, details=found)


def elbow_decrease(study: Study, threshold: float) -> Judged:
    """The first value after which the inertia falls by at most a share of that of the first value."""
    within, columns = _inertias(study, "elbow_decrease")
    decrease = np.append(within[:-1] - within[1:], np.nan)
    limit = threshold * float(within[0])
    choice = first_small_decrease(study.values, decrease, limit)
    return Judged(decrease, choice, columns=columns, details=limit)


def gap(study: Study, n_references: int, reference: str) -> Judged:
    """The first value whose gap the next one does not exceed by more than s'."""
    study.refuse_weight("gap")
    X = study.array("gap")
    within, columns = _inertias(study, "gap")

    def within_of(rows: NDArray, seed: int) -> Array:
        trials = [study.fit(value, rows, seed) for value in study.values]
        return np.array([measure_partition(OWNER, trial.X, trial.labels)[0].within for trial in trials])

    found = gap_statistic(within, REFERENCES[reference](X), within_of, study.random.spawn(n_references))
    curve, error = found.gap, found.standard_error
    columns |= {"log_within": found.log_within, "expected_log_within": found.expected}
    candidates = {"largest gap": study.values[int(np.nanargmax(curve))]}
    return Judged(curve, first_gap(study.values, curve, error), error, candidates, columns, found)


def penalised(study: Study, penalty: float | None) -> Judged:
    """The value that minimises J(K) + λK; without λ, the one chosen over the widest range of it."""
    within, columns = _inertias(study, "penalised")
    path = penalty_path(_numbers(study), within)
    chosen = path.most_persistent if penalty is None else path.at(penalty)
    place = int(np.flatnonzero(path.values == chosen)[0])
    index = int(np.flatnonzero(_numbers(study) == chosen)[0])
    low, high = path.lower[place], path.upper[place]
    lower, upper = np.full(len(within), np.nan), np.full(len(within), np.nan)
    on_hull = np.isin(_numbers(study), path.values)
    lower[on_hull], upper[on_hull] = path.lower, path.upper
    columns |= {"penalty_from": lower, "penalty_to": upper}
    # A choice that a few per cent of λ would change, or that no inner corner supports, is no clear one.
    ambiguous = len(path.values) < 3 if penalty is None else low > 0.95 * penalty or high < 1.05 * penalty
    reason = f"J + λK is least at {study.values[index]} for λ from {low:.4g} to {high:.4g}"
    curve = within if penalty is None else within + penalty * _numbers(study)
    return Judged(curve, Choice(index, bool(ambiguous), reason), columns=columns, details=path)


def by_silhouette(study: Study, metric: Any) -> Judged:
    """The largest mean silhouette."""
    study.require_memory("silhouette")
    metric = "precomputed" if study.is_pairwise else metric
    curve = np.array(
        [
            silhouette(trial.X, trial.labels, metric=metric, sample_weight=study.sample_weight).mean
            if trial.n_clusters > 1
            else np.nan
            for trial in study.trials
        ]
    )
    return _extreme(study, "silhouette", curve, largest=True)


def by_calinski_harabasz(study: Study) -> Judged:
    """The largest ratio of between to within."""
    _, columns = _inertias(study, "calinski_harabasz")
    curve = np.array(
        [
            calinski_harabasz_of(found) if 1 < found.n_clusters < found.weights.sum() else np.nan
            for found in study.dispersions
        ]
    )
    return _extreme(study, "calinski_harabasz", curve, largest=True, columns=columns)


def by_davies_bouldin(study: Study) -> Judged:
    """The smallest index of Davies and Bouldin."""
    _inertias(study, "davies_bouldin")
    curve = np.array(
        [
            davies_bouldin(trial.X, trial.labels, sample_weight=study.sample_weight)
            if 1 < found.n_clusters < found.weights.sum()
            else np.nan
            for trial, found in zip(study.trials, study.dispersions, strict=True)
        ]
    )
    return _extreme(study, "davies_bouldin", curve, largest=False)


def information(study: Study, criterion: str) -> Judged:
    """The smallest BIC or AIC: of the model itself if it has one, else of spherical Gaussians about means."""
    if all(callable(getattr(trial.model, criterion, None)) for trial in study.trials):
        curve = np.array([float(getattr(trial.model, criterion)(study.X)) for trial in study.trials])
        return _extreme(study, criterion, curve, largest=False, room=DECISIVE)
    _, columns = _inertias(study, criterion)
    curve, log_likelihood = np.full((2, len(study.values)), np.nan)
    for place, found in enumerate(study.dispersions):
        weights = found.weights[found.weights > 0]
        if not 0 < len(weights) < weights.sum():  # nothing to judge, or a likelihood without bound
            continue
        n, k, d = weights.sum(), len(weights), found.centers.shape[1]
        with np.errstate(divide="ignore"):
            entropy = weights @ np.log(weights / n)
            log_likelihood[place] = entropy - n * d / 2 * (1 + np.log(2 * np.pi * found.within / (n * d)))
        n_parameters = k * d + k
        curve[place] = n_parameters * (np.log(n) if criterion == "bic" else 2) - 2 * log_likelihood[place]
    return _extreme(
        study,
        criterion,
        curve,
        largest=False,
        room=DECISIVE,
        columns={**columns, "log_likelihood": log_likelihood},
    )


def by_eigengap(study: Study, weights: Any, n_neighbors: int, laplacian: str) -> Judged:
    """The largest gap λ_{k+1} − λ_k between eigenvalues of the Laplacian of a graph of the rows."""
    study.refuse_weight("eigengap")
    study.require_memory("eigengap")
    if weights is None:
        weights = getattr(study.trials[0].model, "affinity_matrix_", None)
    if weights is None:
        X = study.array("eigengap")
        weights = nearest_neighbors_graph(X, min(n_neighbors, len(X) - 1))
    found = eigengap(weights, laplacian=laplacian, k_max=int(study.values[-1]))
    places = np.array(study.values, dtype=int) - 1
    columns = {"eigenvalue": found.values[places], "next_eigenvalue": found.values[places + 1]}
    return _extreme(study, "eigengap", found.gaps[places], largest=True, columns=columns, details=found)


def by_stability(study: Study, n_resamples: int, resample: str, agreement: str) -> Judged:
    """The clusters that resampled rows give again."""
    study.refuse_weight("stability")
    study.require_memory("stability")
    X = study.X

    def cluster(places: NDArray, seed: int) -> list[NDArray]:
        part = X.iloc[places] if hasattr(X, "iloc") else X[places]
        part = part[:, places] if study.is_pairwise else part
        return [study.fit(value, part, seed).labels for value in study.values]

    found = stability(
        [trial.labels for trial in study.trials],
        cluster,
        resample=resample,
        agreement=agreement,
        randoms=study.random.spawn(n_resamples),
    )
    # Coarse clusters are often as stable as the finer ones inside them, which say more.
    return _extreme(
        study,
        "stability",
        found.mean,
        largest=True,
        error=found.standard_error,
        last=True,
        details=found,
    )


def _extreme(
    study: Study,
    criterion: str,
    curve: Array,
    *,
    largest: bool,
    error: Array | None = None,
    room: float | None = None,
    last: bool = False,
    columns: Mapping[str, NDArray] | None = None,
    details: Any = None,
) -> Judged:
    if np.isnan(curve).all():
        raise ValueError(
            f"No value gives a partition that criterion={criterion!r} can judge: it needs between 2 clusters "
            "and fewer than there are rows. Take other values, or 'gap', which judges one cluster too."
        )
    choice = extreme(study.values, curve, error, largest=largest, room=room, last=last)
    return Judged(curve, choice, error, columns=columns or {}, details=details)


def _numbers(study: Study) -> Array:
    return np.asarray(study.values, dtype=float)


CRITERIA: Mapping[str, Criterion] = {
    "elbow": Criterion(elbow, counts_clusters=True, least_values=3),
    "elbow_decrease": Criterion(
        elbow_decrease,
        {"threshold": 0.05},
        {"threshold": parameters.real(at_least=0.0)},
        counts_clusters=True,
        least_values=2,
    ),
    "gap": Criterion(
        gap,
        {"n_references": 20, "reference": "principal"},
        {"n_references": parameters.integer(at_least=1), "reference": parameters.one_of(*REFERENCES)},
        counts_clusters=True,
        least_values=2,
    ),
    "silhouette": Criterion(by_silhouette, {"metric": "euclidean"}, {"metric": metric_domain()}),
    "calinski_harabasz": Criterion(by_calinski_harabasz),
    "davies_bouldin": Criterion(by_davies_bouldin),
    "eigengap": Criterion(
        by_eigengap,
        {"weights": None, "n_neighbors": 10, "laplacian": "random_walk"},
        {
            "n_neighbors": parameters.integer(at_least=1),
            "laplacian": parameters.one_of(*LAPLACIANS),
        },
        counts_clusters=True,
    ),
    "penalised": Criterion(
        penalised,
        {"penalty": None},
        {"penalty": parameters.nothing | parameters.real(at_least=0.0)},
        counts_clusters=True,
    ),
    "stability": Criterion(
        by_stability,
        {"n_resamples": 20, "resample": "half", "agreement": "adjusted_rand"},
        {
            "n_resamples": parameters.integer(at_least=1),
            "resample": parameters.one_of(*RESAMPLES),
            "agreement": parameters.one_of(*AGREEMENTS),
        },
    ),
    "bic": Criterion(lambda study: information(study, "bic")),
    "aic": Criterion(lambda study: information(study, "aic")),
}
