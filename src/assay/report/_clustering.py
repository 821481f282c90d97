"""The candidates of a clustering: k-means for each number of groups."""

from __future__ import annotations

import warnings
from time import perf_counter

import numpy as np
from sklearn.metrics import silhouette_samples
from sklearn.pipeline import Pipeline

from assay.cluster import KMeans
from assay.report._comparison import Candidate, Comparison, certificates_of, plus_minus, ranked
from assay.report._data import Data
from assay.report._encoder import TableEncoder
from assay.report._errors import ReportError
from assay.report._progress import Event, Progress

MAX_CLUSTERS = 8
SILHOUETTE_ROWS = 2000
N_INIT = 10


def compare_clusterings(data: Data, *, seed: int, progress: Progress) -> Comparison:
    """Fit k-means for 2 to 8 groups on standardised columns and rank them by silhouette."""
    start = perf_counter()
    n_distinct = len(data.X.drop_duplicates())
    if n_distinct < 3:
        raise ReportError(f"{data.name} has {n_distinct} distinct rows; groups need at least 3.")
    sizes = range(2, min(MAX_CLUSTERS, n_distinct - 1) + 1)
    candidates: list[Candidate] = []
    # The first fit of a process loads the compiled loops: that time is not the method's.
    KMeans(1, n_init=1, random_state=seed).fit(np.zeros((2, 1)))
    names = {n_clusters: f"KMeans, {n_clusters} clusters" for n_clusters in sizes}
    for name in names.values():
        progress(Event(name, "waiting", 0, 1))
    for n_clusters, name in names.items():
        progress(Event(name, "running", 0, 1))
        candidates.append(found := _fit(data, n_clusters, seed))
        progress(Event(name, "done", 1, 1, f"silhouette {plus_minus(found.score, found.standard_error)}"))
    return Comparison(
        task="clustering",
        data=data,
        score_name="silhouette",
        candidates=ranked(candidates, []),
        folds=None,
        seed=seed,
        seconds=perf_counter() - start,
    )


def _fit(data: Data, n_clusters: int, seed: int) -> Candidate:
    start = perf_counter()
    kmeans = KMeans(n_clusters, n_init=N_INIT, random_state=seed)
    model = Pipeline([("table", TableEncoder(data.columns)), ("model", kmeans)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data.X)
    seconds = perf_counter() - start
    Z = model[:-1].transform(data.X)
    labels = np.asarray(kmeans.labels_)
    shown = np.arange(labels.size)
    if labels.size > SILHOUETTE_ROWS:
        shown = np.random.default_rng(seed).choice(labels.size, SILHOUETTE_ROWS, replace=False)
    silhouettes = silhouette_samples(Z[shown], labels[shown])
    return Candidate(
        name=f"KMeans, {n_clusters} clusters",
        summary=f"Each row belongs to the nearest of {n_clusters} centres; the best of {N_INIT} restarts.",
        score=float(silhouettes.mean()),
        standard_error=float(silhouettes.std(ddof=1) / np.sqrt(silhouettes.size)),
        scores=silhouettes,
        measures={
            "inertia": float(kmeans.inertia_),
            "explained": float(kmeans.anova_.explained),
        },
        fit_seconds=seconds,
        parameters={"n_clusters": n_clusters},
        model=model,
        certificates=certificates_of(model),
        predictions=labels,
        notes=tuple(dict.fromkeys(str(warning.message) for warning in caught)),
    )
