"""What a comparison found: candidates, scores, certificates and the sentences that sum them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from assay.certificates import Certificates
from assay.report._errors import ReportError
from assay.report._tables import Data
from assay.report._task import Task

CLEAR_SILHOUETTE = 0.25
"""Below this mean silhouette there is no substantial structure (Kaufman and Rousseeuw 1990)."""

Progress = Callable[[int, int, str], None]
"""Called with the steps done, the steps there are, and what is under way."""


@dataclass(frozen=True)
class Candidate:
    """One line of the leaderboard, with the model behind it.

    Attributes
    ----------
    name : str
        Name of the method.
    summary : str
        What it does, in a sentence.
    score, standard_error : float
        Mean score and its standard error; the greater the score the better.
    scores : ndarray
        Scores behind the mean: one a fold for a regression, one a sampled row for a clustering.
    measures : mapping of str to float
        Further measures, by name.
    fit_seconds : float
        Median time of one fit, choice of the parameters included.
    parameters : mapping of str to float
        The parameters chosen on the whole table.
    model : estimator
        Fitted on the whole table.
    certificates : Certificates
        Those of the fitted model.
    predictions : ndarray
        Out-of-fold predictions of a regression, labels of a clustering.
    is_baseline : bool
        Whether it is only there to be beaten.
    notes : tuple of str
        Warnings of the fits.
    """

    name: str
    summary: str
    score: float
    standard_error: float
    scores: NDArray
    measures: Mapping[str, float]
    fit_seconds: float
    parameters: Mapping[str, float]
    model: Any
    certificates: Certificates
    predictions: NDArray
    is_baseline: bool = False
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The certificates in a few words: "4/4 hold", "3/4 hold", "4/4 hold, 1 vacuous"."""
        if not self.certificates:
            return "none"
        holding = sum(item.holds for item in self.certificates)
        vacuous = sum(item.verdict == "vacuous" for item in self.certificates)
        return f"{holding}/{len(self.certificates)} hold" + (f", {vacuous} vacuous" if vacuous else "")


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    task : {"regression", "clustering"}
        The question.
    data : Data
        The table it was asked on.
    score_name : str
        What `Candidate.score` measures.
    candidates : tuple of Candidate
        Best first.
    folds : int or None
        Number of folds of a cross-validation.
    seed : int
        Seed of the folds, of samples and of restarts.
    skipped : tuple of str
        Sentences on candidates that were left out.
    seconds : float
        Time of the whole comparison.
    """

    task: Task
    data: Data
    score_name: str
    candidates: tuple[Candidate, ...]
    folds: int | None
    seed: int
    skipped: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def best(self) -> Candidate:
        """The best candidate that is not a baseline."""
        return next(candidate for candidate in self.candidates if not candidate.is_baseline)

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        best = self.best
        if self.task == "clustering":
            groups = int(best.parameters["n_clusters"])
            score = f"{self.score_name} {best.score:.2f}"
            if best.score < CLEAR_SILHOUETTE:
                return f"No clear groups in {self.data.name}: the best split, into {groups}, has {score}"
            return f"{self.data.name} falls best into {groups} groups: {score}"
        score = f"{self.score_name} {plus_minus(best.score, best.standard_error)}"
        if not self._beats_baseline:
            return (
                f"No model predicts {self.data.target} clearly better than its mean: {best.name} has {score}"
            )
        return f"{best.name} predicts {self.data.target} best: {score}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What one must know beside the headline."""
        return self._clustering_remarks() if self.task == "clustering" else self._regression_remarks()

    @property
    def _beats_baseline(self) -> bool:
        """Whether the best model is above every baseline by more than twice the standard error."""
        baselines = (candidate for candidate in self.candidates if candidate.is_baseline)
        differences = (_paired(self.best, baseline) for baseline in baselines)
        return all(difference > 2 * error for difference, error in differences)

    def _regression_remarks(self) -> tuple[str, ...]:
        best = self.best
        error = best.measures["RMSE"]
        remarks = [
            f"On rows it has not seen, its predictions are off by {shown(error, 3)} (root mean square)."
        ]
        equals = {}
        for candidate in self.candidates:
            difference, standard_error = _paired(best, candidate)
            gained = plus_minus(difference, standard_error)
            if candidate.is_baseline:
                remarks.append(f"Against always answering the mean it gains {gained} in {self.score_name}.")
            elif candidate is not best and difference <= 2 * standard_error:
                equals[candidate.name] = gained
        if equals:
            verb, noun = ("are", "differences") if len(equals) > 1 else ("is", "difference")
            remarks.append(
                f"{_joined(list(equals))} {verb} as good within the noise of the folds ({noun} "
                f"{_joined(list(equals.values()))})."
            )
        return tuple(remarks)

    def _clustering_remarks(self) -> tuple[str, ...]:
        best = self.best
        strength = (
            "strong" if best.score > 0.5 else ("reasonable" if best.score >= CLEAR_SILHOUETTE else "weak")
        )
        sizes = np.bincount(best.predictions)
        return (
            f"The groups explain {best.measures['explained']:.0%} of the variance of the columns.",
            f"They have {_joined([str(size) for size in sorted(sizes, reverse=True)])} rows.",
            f"A silhouette of {best.score:.2f} speaks of {strength} structure: 1 means groups far apart, "
            "0 groups that touch.",
        )


def plus_minus(value: float, error: float) -> str:
    """A value and its standard error, to the decimals that the error justifies: "0.48 ± 0.02".

    Examples
    --------
    >>> plus_minus(0.48311, 0.0213)
    '0.48 ± 0.02'
    >>> plus_minus(0.48311, 0.00213)
    '0.483 ± 0.002'
    """
    if not (np.isfinite(value) and np.isfinite(error)):
        return f"{value:.2f}"
    decimals = 2 if error <= 0 else int(np.clip(np.ceil(-np.log10(error)), 2, 3))
    if abs(value) >= 1000:
        return f"{value:.3g} ± {error:.2g}".replace("-", "−")
    return f"{value:z.{decimals}f} ± {error:.{decimals}f}".replace("-", "−")


def shown(value: float, digits: int = 4) -> str:
    """A number to some digits, as one writes it: "0.04757", "53.98", "201,000".

    Examples
    --------
    >>> shown(0.047571), shown(200912.3, 3), shown(-2.5)
    ('0.04757', '201,000', '−2.5')
    """
    text = f"{value:.{digits}g}"
    if 1e4 <= abs(value) < 1e12:
        text = f"{float(text):,.0f}"
    return text.replace("-", "−")


def final_step(model: Any) -> Any:
    """The estimator inside pipelines and target transformers."""
    if isinstance(model, Pipeline):
        return final_step(model[-1])
    if isinstance(model, TransformedTargetRegressor):
        return final_step(model.regressor_)
    return model


def certificates_of(model: Any) -> Certificates:
    """The certificates that a model, or the one inside it, carries; empty when there are none."""
    return getattr(final_step(model), "certificates_", Certificates())


def ranked(candidates: list[Candidate], skipped: list[str]) -> tuple[Candidate, ...]:
    """The candidates, best first; refuses when none but baselines is there."""
    if all(candidate.is_baseline for candidate in candidates):
        raise ReportError(f"No model could be fitted: {' '.join(skipped)}")
    return tuple(sorted(candidates, key=lambda candidate: -candidate.score))


def _paired(one: Candidate, other: Candidate) -> tuple[float, float]:
    """Mean and standard error of the difference of scores, fold by fold."""
    difference = one.scores - other.scores
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(difference.size))


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
