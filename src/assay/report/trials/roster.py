"""Which estimators are tried on a table: those that declare themselves fit for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from numpy.typing import NDArray

from assay.registry import Entry, estimators
from assay.report.errors import ReportError
from assay.report.trials.landmarks import landmark_entries
from assay.report.trials.scoring.metrics import Metric
from assay.report.wording import suggestion
from assay.suitability import Suitability


@cache
def entries() -> tuple[Entry, ...]:
    """Every estimator that declares a suitability, by room and name, and linear models of kernel features."""
    return (*(entry for entry in estimators() if entry.suits is not None), *landmark_entries())


def roster(
    task: str,
    n_rows: int,
    n_features: int,
    *,
    target: NDArray | None = None,
    methods: Sequence[str] = (),
    exclude: Sequence[str] = (),
    metric: Metric | None = None,
    n_plain: int | None = None,
    n_classes: int = 2,
) -> tuple[list[Entry], list[str]]:
    """The estimators to try, and a sentence for each that the size of the table leaves out.

    Estimators for counts, for positive numbers or for many rows are left out elsewhere without a word: they
    would do no good there.

    Parameters
    ----------
    task : {"regression", "classification", "clustering"}
    n_rows, n_features : int
        Size of the table, after its columns have become numbers.
    target : array, optional
        The target of a regression.
    methods : sequence of str
        Names to try and no others; these are tried whatever the size.
    exclude : sequence of str
        Names not to try.
    metric : Metric, optional
        What predictions are judged by; methods that do not give what it judges are left out.
    n_plain : int, optional
        Features for methods that take columns as they are; `n_features` by default.
    n_classes : int, default=2
        Classes of the target.
    """
    known, methods, exclude = _understood(task, methods, exclude)
    wanted = {name.lower() for name in methods} or set(known)
    unwanted = {name.lower() for name in exclude}
    widths = {"numbers": n_features, "codes": n_features if n_plain is None else n_plain}
    chosen, left_out = [], []
    for key, entry in known.items():
        if key not in wanted or key in unwanted:
            continue
        if metric is not None and metric.of_probabilities and not hasattr(entry.make(0), "predict_proba"):
            left_out.append(f"{entry.name} was left out: it has no probabilities for {metric.name} to judge.")
            continue
        suits = entry.suits if target is None else entry.suits.among(target)
        if suits is None:
            if methods:
                left_out.append(f"{entry.name} was left out: it is {_purpose(entry.suits)}.")
        elif suits.min_rows is not None and n_rows < suits.min_rows and not methods:
            continue
        elif methods or suits.admits(n_rows, widths[suits.encoding], n_classes):
            summary = suits.summary or entry.summary
            chosen.append(replace(entry, name=named(entry.name, suits), suits=suits, summary=summary))
        else:
            left_out.append(
                f"{entry.name} was left out: it takes too long beyond {limits_in_words(entry.suits)}; "
                f"--methods {entry.name} tries it all the same."
            )
    if not chosen:
        raise ReportError(f"No method for {task} is left to try.")
    return chosen, left_out


def _understood(
    task: str, methods: Sequence[str], exclude: Sequence[str]
) -> tuple[dict[str, Entry], list[str], list[str]]:
    """The estimators for a task by their names in small letters, and the names that the user gave."""
    known = {entry.name.lower(): entry for entry in entries() if entry.task == task}
    # A method may be named with the form that it takes for a target, as the leaderboard names it.
    forms = {
        named(entry.name, suits).lower(): key for key, entry in known.items() for suits in _forms(entry.suits)
    }
    given = [[forms.get(name.lower(), name) for name in names] for names in (methods, exclude)]
    for name in (*given[0], *given[1]):
        if name.lower() not in known:
            names = sorted(entry.name for entry in known.values())
            way = suggestion(name, names) or f" There are {', '.join(names)}."
            raise ReportError(f"There is no method {name!r} for {task}.{way}")
    return known, given[0], given[1]


def limits_in_words(suits: Suitability) -> str:
    """The size beyond which a method takes too long, in words."""
    numbers = "numbers times classes" if suits.per_class else "numbers"
    words = {
        "max_rows": "rows",
        "max_features": "features",
        "max_numbers": numbers,
        "max_side": "rows and as many features",
        "max_pairs": "rows times rows times features",
        "max_class_numbers": "numbers times classes",
        "max_class_rows": "rows times classes",
    }
    return " or ".join(f"{limit:,} {words[name]}" for name, limit in suits.limits.items())


def named(name: str, suits: Suitability) -> str:
    """The name of a method with the form that it takes, where it has one.

    Examples
    --------
    >>> named("GeneralizedLinear", Suitability(complexity=3, form="Poisson, log link"))
    'GeneralizedLinear (Poisson, log link)'
    """
    return f"{name} ({suits.form})" if suits.form else name


def _forms(suits: Suitability | None) -> Iterator[Suitability]:
    while suits is not None:
        yield suits
        suits = suits.otherwise


def _purpose(suits: Suitability) -> str:
    """For which targets a suitability and those otherwise are."""
    words = {"counts": "counts (whole numbers from zero or a few up)", "positive": "numbers above zero"}
    targets = [words[form.target] for form in _forms(suits) if form.target is not None]
    return f"for a target of {' or '.join(targets)}"
