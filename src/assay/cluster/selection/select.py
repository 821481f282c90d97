"""One front end for choosing the number of clusters, or any other parameter of a clusterer."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.cluster.selection.criteria import CRITERIA, Criterion, Judged
from assay.cluster.selection.fits import OWNER, Study, open_estimator
from assay.cluster.selection.rules import Choice
from assay.models.selection import Selection
from assay.randomness import RandomState, generator
from assay.rows import is_external, rows

MOST = 10
"""Largest number of clusters tried when no range is given."""

MUCH_NOISE = 0.1
"""Share of rows in no cluster from which on a choice is in doubt."""


def select_k(
    estimator: Any,
    X: Any,
    k_range: Any = None,
    *,
    criterion: str = "silhouette",
    parameter: str = "n_clusters",
    values: Any = None,
    sample_weight: Any = None,
    random_state: RandomState = None,
    **options: Any,
) -> Selection:
    """Choose the number of clusters, or another parameter of a clusterer, by one of many criteria.

    Fits the estimator once for each value, applies the rule of the criterion to the partitions, and says
    whether the curve leaves the choice in doubt. Noise (label −1) is left out of the scores. Eigengap and
    stability do not favour convex clusters, the others do. Curves are as good as the restarts (`n_init`).

    Parameters
    ----------
    estimator : clusterer, its class, or Pipeline ending in one
        Of this library or another, with `fit` and `labels_` or `predict`. Scores in a Pipeline are measured
        on what its last step sees.
    X : array, CSR matrix, frame, path, memory map, Arrow dataset or table, Dask array or dataframe
        The rows, or their dissimilarities for an estimator that takes those. Outside memory: the criteria
        "elbow", "elbow_decrease", "penalised", "calinski_harabasz", "davies_bouldin", "bic" and "aic".
    k_range : increasing ints, optional
        Numbers of clusters, 1 to 10 by default.
    criterion : str, default="silhouette"
        CRITERIA
    parameter : str, default="n_clusters"
        The parameter to vary, "step__name" in a Pipeline.
    values : list, optional
        Its values, in place of `k_range`: for any parameter.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows, where the estimator and the criterion take them.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where references, resamples and the seeds of estimators with `random_state=None` come from.
    **options
        Options of the criterion, named above.

    Returns
    -------
    selection : Selection

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import KMeans, select_k
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(center, 0.5, size=(30, 2)) for center in ((0, 0), (5, 0), (0, 5))])
    >>> chosen = select_k(KMeans(n_init=5), X, range(1, 7), criterion="gap", random_state=0)
    >>> chosen.k, chosen.ambiguous
    (3, False)
    >>> select_k(KMeans(n_init=5), X, range(1, 7), criterion="elbow", random_state=0).k
    3

    References
    ----------
    Sangnier §2.5; Wei §10; Rudi & Şimşekli §7.1.4. Tibshirani, Walther & Hastie (2001), gap statistic.
    Hennig (2007), stability. Pelleg & Moore (2000), BIC of k-means.
    """
    parameters.check(OWNER, {"criterion": criterion}, {"criterion": parameters.one_of(*CRITERIA)})
    chosen = CRITERIA[criterion]
    given = _options(criterion, chosen, options)
    opened = open_estimator(estimator, parameter)
    tried = _values(X, k_range, values, parameter, chosen)
    study = Study(opened, X, tried, parameter, sample_weight, generator(random_state))
    return _selection(study, criterion, chosen.judge(study, **given))


def _sentences() -> str:
    """What the criteria say of themselves, as a list."""
    words = {name: (inspect.getdoc(chosen.judge) or "").split("\n") for name, chosen in CRITERIA.items()}
    lines = [f'- "{name}": ' + "\n          ".join(filter(None, said)) for name, said in words.items()]
    return "\n        ".join(lines)


if select_k.__doc__:
    select_k.__doc__ = select_k.__doc__.replace("CRITERIA", _sentences())


def _selection(study: Study, criterion: str, judged: Judged) -> Selection:
    choice = judged.choice
    trial = study.trials[choice.place]
    if trial.n_noise > MUCH_NOISE * len(trial.labels):
        words = f"{trial.n_noise} of {len(trial.labels)} rows are noise there, which no score judges"
        choice = Choice(choice.place, True, f"{choice.reason}; {words}")
    table: dict[str, NDArray] = {
        study.parameter: np.array(study.values),
        "clusters_found": np.array([trial.n_clusters for trial in study.trials]),
        "rows_of_noise": np.array([trial.n_noise for trial in study.trials]),
        criterion: judged.curve,
    }
    if judged.standard_error is not None:
        table["standard_error"] = judged.standard_error
    return Selection(
        criterion=criterion,
        parameter=study.parameter,
        values=study.values,
        curve=judged.curve,
        standard_error=judged.standard_error,
        index=choice.place,
        rule=criterion,
        best=study.values[choice.place],
        model=trial.model,
        ambiguous=choice.ambiguous,
        reason=choice.reason,
        candidates=judged.candidates,
        table={**table, **judged.columns},
        details=judged.details,
        models=[trial.model for trial in study.trials],
    )


def _options(criterion: str, chosen: Criterion, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a criterion: its defaults, and what was given, checked."""
    unknown = [name for name in options if name not in chosen.defaults]
    if unknown:
        known = ", ".join(repr(name) for name in chosen.defaults) or "none"
        raise parameters.ParameterError(
            f"The options of select_k with criterion={criterion!r} are: {known}. Got {unknown[0]!r} instead."
        )
    given = {**chosen.defaults, **options}
    parameters.check(OWNER, given, chosen.domains)
    return given


def _values(X: Any, k_range: Any, values: Any, parameter: str, chosen: Criterion) -> list[Any]:
    """The values to try; numbers of clusters are increasing ints, at most as many as there are rows."""
    if values is not None and k_range is not None:
        raise parameters.ParameterError(
            "select_k takes numbers of clusters in 'k_range' or values of a parameter in 'values', not both."
        )
    n_rows = rows(X).shape[0] if is_external(X) else X.shape[0] if hasattr(X, "shape") else len(X)
    if values is None and parameter.rpartition("__")[2] not in ("n_clusters", "n_components"):
        if k_range is None:
            raise parameters.refusal(OWNER, "values", f"a list of values of {parameter!r}", None)
        values, k_range = k_range, None
    name = "k_range" if values is None else "values"
    if values is None and k_range is None:
        k_range = range(1, min(MOST, n_rows) + 1)
    given = k_range if values is None else values
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise parameters.refusal(OWNER, name, "a list of values", given)
    tried = [value.item() if isinstance(value, np.generic) else value for value in given]
    if len(tried) < chosen.least_values:
        words = "one value" if chosen.least_values == 1 else f"{chosen.least_values} values"
        raise parameters.refusal(OWNER, name, f"at least {words}", given)
    if name == "k_range" or chosen.counts_clusters:
        are_counts = all(type(value) is int and 1 <= value <= n_rows for value in tried)
        if not are_counts or any(left >= right for left, right in itertools.pairwise(tried)):
            must_be = f"increasing ints from 1 to the number of rows ({n_rows})"
            raise parameters.refusal(OWNER, name, must_be, given)
    return tried
