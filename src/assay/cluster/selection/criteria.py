"""The criteria of `select_k`: each turns fits into a curve and the curve into a choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.cluster.scores.internal import Dispersion, calinski_harabasz_of, davies_bouldin, measure_partition
from assay.cluster.scores.silhouette import silhouette
from assay.cluster.selection import rules
from assay.cluster.selection.fits import OWNER, Study, Trial
from assay.cluster.selection.rules import Choice
from assay.cluster.selection.tables import AGREEMENTS, REFERENCES, RESAMPLES, gap_statistic, stability
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
    """A way to choose: its function, the domains of its options, and what it needs of the values."""

    judge: Callable[..., Judged]
    domains: Mapping[str, Domain]
    counts_clusters: bool
    least_values: int

    @property
    def defaults(self) -> dict[str, Any]:
        """The options, with their defaults."""
        return {name: option.default for name, option in list(signature(self.judge).parameters.items())[1:]}


CRITERIA: dict[str, Criterion] = {}
"""By name; the documentation of `select_k` lists what their functions say of themselves."""


def criterion(
    name: str, *, counts_clusters: bool = False, least_values: int = 1, **domains: Domain
) -> Callable[[Callable[..., Judged]], Callable[..., Judged]]:
    """Make a function of a study and of some options a criterion."""

    def register(judge: Callable[..., Judged]) -> Callable[..., Judged]:
        CRITERIA[name] = Criterion(judge, domains, counts_clusters, least_values)
        return judge

    return register


def _inertias(study: Study, criterion: str) -> tuple[Array, dict[str, NDArray]]:
    """Within-cluster inertia of each trial, with the share that the clusters explain."""
    if study.is_pairwise:
        study.array(criterion)
    within = np.array([partition.within for partition in study.dispersions])
    between = np.array([part.between if part.n_clusters else np.nan for part in study.dispersions])
    total = within + between
    if not (total > 0).any():
        raise ValueError("All rows of X are equal: there is no number of clusters to choose.")
    explained = np.divide(between, total, out=np.full_like(total, np.nan), where=total > 0)
    return within, {"within": within, "explained": explained}


@criterion("elbow", counts_clusters=True, least_values=3)
def elbow(study: Study) -> Judged:
    """The inertia W(K) is farthest below its chord; in doubt without a clear bend."""
    within, columns = _inertias(study, "elbow")
    bend = rules.find_elbow(study.numbers, within)
    columns |= {"below_chord": bend.below_chord, "second_difference": bend.second_difference}
    sharpest = study.values[int(np.nanargmax(bend.second_difference))]
    candidates = {"chord": study.values[bend.place], "second difference": sharpest}
    choice = Choice(bend.place, bend.ambiguous, bend.reason)
    return Judged(within, choice, candidates=candidates, columns=columns, details=bend)


@criterion("elbow_decrease", counts_clusters=True, least_values=2, threshold=parameters.real(at_least=0.0))
def elbow_decrease(study: Study, threshold: float = 0.05) -> Judged:
    """The first K with W(K) − W(K+1) ≤ `threshold` (0.05) times the first W."""
    within, columns = _inertias(study, "elbow_decrease")
    decrease = np.append(within[:-1] - within[1:], np.nan)
    limit = threshold * float(within[0])
    choice = rules.first_small_decrease(study.values, decrease, limit)
    return Judged(decrease, choice, columns=columns, details=limit)


@criterion(
    "gap",
    counts_clusters=True,
    least_values=2,
    n_references=parameters.integer(at_least=1),
    reference=parameters.one_of(*REFERENCES),
)
def gap(study: Study, n_references: int = 20, reference: str = "principal") -> Judged:
    """The smallest K with Gap(K) ≥ Gap(K+1) − s'_{K+1}.

    Over `n_references` (20) tables drawn from `reference`: uniform in the "box" of the feature ranges, or in
    one along the "principal" axes (default). Judges K = 1 too.
    """
    study.refuse_weight("gap")
    X = study.array("gap")
    within, columns = _inertias(study, "gap")

    def within_of(rows: NDArray, seed: int) -> Array:
        trials = [study.fit(value, rows, seed) for value in study.values]
        return np.array([measure_partition(OWNER, trial.X, trial.labels)[0].within for trial in trials])

    gaps = gap_statistic(within, REFERENCES[reference](X), within_of, study.random.spawn(n_references))
    curve, error = gaps.gap, gaps.standard_error
    columns |= {"log_within": gaps.log_within, "expected_log_within": gaps.expected}
    candidates = {"largest gap": study.values[int(np.nanargmax(curve))]}
    return Judged(curve, rules.first_gap(study.values, curve, error), error, candidates, columns, gaps)


@criterion("silhouette", metric=metric_domain())
def by_silhouette(study: Study, metric: Any = "euclidean") -> Judged:
    """Largest mean silhouette under `metric`."""
    study.require_memory("silhouette")
    metric = "precomputed" if study.is_pairwise else metric

    def mean(trial: Trial) -> float:
        if trial.n_clusters < 2:
            return np.nan
        return silhouette(trial.X, trial.labels, metric=metric, sample_weight=study.sample_weight).mean

    return _extreme(study, "silhouette", np.array([mean(trial) for trial in study.trials]), largest=True)


@criterion("calinski_harabasz")
def by_calinski_harabasz(study: Study) -> Judged:
    """Largest ratio of the inertias between and within, each over its degrees of freedom."""
    _, columns = _inertias(study, "calinski_harabasz")
    curve = [calinski_harabasz_of(part) if _is_judged(part) else np.nan for part in study.dispersions]
    return _extreme(study, "calinski_harabasz", np.array(curve), largest=True, columns=columns)


@criterion("davies_bouldin")
def by_davies_bouldin(study: Study) -> Judged:
    """Smallest index of Davies and Bouldin."""
    _inertias(study, "davies_bouldin")
    weight = study.sample_weight
    curve = [
        davies_bouldin(trial.X, trial.labels, sample_weight=weight) if _is_judged(part) else np.nan
        for trial, part in zip(study.trials, study.dispersions, strict=True)
    ]
    return _extreme(study, "davies_bouldin", np.array(curve), largest=False)


def _is_judged(partition: Dispersion) -> bool:
    return bool(1 < partition.n_clusters < partition.weights.sum())


@criterion(
    "eigengap",
    counts_clusters=True,
    n_neighbors=parameters.integer(at_least=1),
    laplacian=parameters.one_of(*LAPLACIANS),
)
def by_eigengap(
    study: Study, weights: Any = None, n_neighbors: int = 10, laplacian: str = "random_walk"
) -> Judged:
    """Largest λ_{K+1} − λ_K of the `laplacian` of `weights`.

    A given matrix, else the estimator's `affinity_matrix_`, else the graph of `n_neighbors` (10) neighbours.
    """
    study.refuse_weight("eigengap")
    study.require_memory("eigengap")
    if weights is None:
        weights = getattr(study.trials[0].model, "affinity_matrix_", None)
    if weights is None:
        X = study.array("eigengap")
        weights = nearest_neighbors_graph(X, min(n_neighbors, len(X) - 1))
    spectrum = eigengap(weights, laplacian=laplacian, k_max=int(study.values[-1]))
    places = np.array(study.values, dtype=int) - 1
    columns = {"eigenvalue": spectrum.values[places], "next_eigenvalue": spectrum.values[places + 1]}
    gaps = spectrum.gaps[places]
    return _extreme(study, "eigengap", gaps, largest=True, columns=columns, details=spectrum)


@criterion("penalised", counts_clusters=True, penalty=parameters.nothing | parameters.real(at_least=0.0))
def penalised(study: Study, penalty: float | None = None) -> Judged:
    """Least W(K) + λK at λ = `penalty`; without it, the K chosen over the widest range of λ.

    `details` holds the λ where the choice changes.
    """
    within, columns = _inertias(study, "penalised")
    path = rules.penalty_path(study.numbers, within)
    chosen = path.most_persistent if penalty is None else path.at(penalty)
    place = int(np.flatnonzero(path.values == chosen)[0])
    index = int(np.flatnonzero(study.numbers == chosen)[0])
    low, high = path.lower[place], path.upper[place]
    lower, upper = np.full((2, len(within)), np.nan)
    on_hull = np.isin(study.numbers, path.values)
    lower[on_hull], upper[on_hull] = path.lower, path.upper
    columns |= {"penalty_from": lower, "penalty_to": upper}
    # A choice that a few per cent of λ would change, or that no inner corner supports, is no clear one.
    ambiguous = len(path.values) < 3 if penalty is None else low > 0.95 * penalty or high < 1.05 * penalty
    reason = f"J + λK is least at {study.values[index]} for λ from {low:.4g} to {high:.4g}"
    curve = within if penalty is None else within + penalty * study.numbers
    return Judged(curve, Choice(index, bool(ambiguous), reason), columns=columns, details=path)


@criterion(
    "stability",
    n_resamples=parameters.integer(at_least=1),
    resample=parameters.one_of(*RESAMPLES),
    agreement=parameters.one_of(*AGREEMENTS),
)
def by_stability(
    study: Study, n_resamples: int = 20, resample: str = "half", agreement: str = "adjusted_rand"
) -> Judged:
    """Largest agreement of the clusters of all rows with those of `n_resamples` (20) resamples.

    `resample` is "half" or "bootstrap", `agreement` "adjusted_rand" or "jaccard"; of equal ones the last
    value.
    """
    study.refuse_weight("stability")
    study.require_memory("stability")
    X = study.X

    def cluster(places: NDArray, seed: int) -> list[NDArray]:
        part = X.iloc[places] if hasattr(X, "iloc") else X[places]
        part = part[:, places] if study.is_pairwise else part
        return [study.fit(value, part, seed).labels for value in study.values]

    labels, randoms = [trial.labels for trial in study.trials], study.random.spawn(n_resamples)
    again = stability(labels, cluster, resample=resample, agreement=agreement, randoms=randoms)
    # Coarse clusters are often as stable as the finer ones inside them, which say more.
    options: Any = {"error": again.standard_error, "last": True, "details": again}
    return _extreme(study, "stability", again.mean, largest=True, **options)


@criterion("bic")
def by_bic(study: Study) -> Judged:
    """Least value of the estimator's own method.

    Else of the hard classification likelihood of spherical Gaussians with one variance W/(nd), K means and K
    shares: Kd + K parameters.
    """
    return _information(study, "bic")


@criterion("aic")
def by_aic(study: Study) -> Judged:
    """The same for Akaike's criterion."""
    return _information(study, "aic")


def _information(study: Study, criterion: str) -> Judged:
    if all(callable(getattr(trial.model, criterion, None)) for trial in study.trials):
        curve = np.array([float(getattr(trial.model, criterion)(study.X)) for trial in study.trials])
        return _extreme(study, criterion, curve, largest=False, room=DECISIVE)
    _, columns = _inertias(study, criterion)
    curve, log_likelihood = np.full((2, len(study.values)), np.nan)
    for place, partition in enumerate(study.dispersions):
        weights = partition.weights[partition.weights > 0]
        if not 0 < len(weights) < weights.sum():  # nothing to judge, or a likelihood without bound
            continue
        n, k, d = weights.sum(), len(weights), partition.centers.shape[1]
        with np.errstate(divide="ignore"):
            entropy, variance = weights @ np.log(weights / n), partition.within / (n * d)
            log_likelihood[place] = entropy - n * d / 2 * (1 + np.log(2 * np.pi * variance))
        n_parameters = k * d + k
        curve[place] = n_parameters * (np.log(n) if criterion == "bic" else 2) - 2 * log_likelihood[place]
    columns |= {"log_likelihood": log_likelihood}
    return _extreme(study, criterion, curve, largest=False, room=DECISIVE, columns=columns)


def _extreme(
    study: Study,
    criterion: str,
    curve: Array,
    *,
    error: Array | None = None,
    columns: Mapping[str, NDArray] | None = None,
    details: Any = None,
    **rule: Any,
) -> Judged:
    if np.isnan(curve).all():
        raise ValueError(
            f"No value gives a partition that criterion={criterion!r} can judge: it needs between 2 clusters "
            "and fewer than there are rows. Take other values, or 'gap', which judges one cluster too."
        )
    return Judged(curve, rules.extreme(study.values, curve, error, **rule), error, {}, columns or {}, details)
