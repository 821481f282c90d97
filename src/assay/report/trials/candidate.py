"""One line of a leaderboard, and the certificates of the model behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from assay.certificates import Certificates
from assay.models import Selection
from assay.report.errors import ReportError
from assay.report.trials.explaining.explanation import Effect
from assay.report.trials.explaining.importance import Importances
from assay.report.trials.scoring.resampling import Intervals
from assay.report.wording import shown_score, told_together


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
        Mean score and its standard error, corrected for the overlap of the training rows; the greater the
        score the better.
    scores : ndarray
        Scores behind the mean: one per split for a prediction, one per sampled row for a clustering.
    measures : mapping of str to float
        Further measures, by name.
    fit_seconds : float
        Median time of one fit, choice of the parameters included; the columns are encoded once for all.
    parameters : mapping of str to float
        The parameters chosen on the whole table.
    model : estimator
        Fitted on the whole table.
    certificates : Certificates
        Those of the fitted model.
    predictions : ndarray
        Out-of-fold predictions of the first repetition, or the labels of a clustering.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Out-of-fold probabilities of the first repetition, where the model has them.
    repeats : tuple of Outputs
        What was said of every row, out of fold, in each repetition; empty for a clustering.
    family : str
        The family of methods it belongs to.
    complexity : int
        How much there is to understand; 0 for a baseline.
    notes : tuple of str
        Warnings of the fits.
    sign : int
        1, or −1 where the measure of the comparison is an error: `score` is then minus the error.
    intervals : Intervals or None
        How the prediction intervals of a regression fared on rows they had not seen.
    selection : Selection or None
        The curve on which the parameter of the model was chosen.
    importances : Importances or None
        What shuffling each column costs, out of fold.
    effects : tuple of Effect
        How the prediction moves with the columns that matter most to it, out of fold.
    weights : mapping of str to float or None
        Weight of each member, for an ensemble.
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
    probabilities: NDArray | None = None
    family: str = ""
    complexity: int = 1
    notes: tuple[str, ...] = ()
    intervals: Intervals | None = None
    selection: Selection | None = None
    sign: int = 1
    importances: Importances | None = None
    weights: Mapping[str, float] | None = None
    repeats: tuple[Any, ...] = ()
    effects: tuple[Effect, ...] = ()

    @property
    def shown_score(self) -> str:
        """The measure of the comparison and its standard error as one writes them: errors are positive."""
        return self.score_to(None)

    def score_to(self, decimals: int | None) -> str:
        """The same to so many decimals; None for those that its own error justifies."""
        value, is_error = self.sign * self.score, self.sign < 0
        return shown_score(value, self.standard_error, is_error=is_error, decimals=decimals)

    @property
    def is_baseline(self) -> bool:
        """Whether it is only there to be beaten."""
        return self.complexity == 0

    @property
    def is_ensemble(self) -> bool:
        """Whether it is the weighted mean of other candidates."""
        return self.weights is not None

    @property
    def verdict(self) -> str:
        """The certificates that could have failed, in a few words: "4/4 hold", "4/4 hold, 1 vacuous"."""
        counted = self.certificates.decisive
        if not counted:
            return "none"
        holding = sum(item.holds for item in counted)
        vacuous = sum(item.verdict == "vacuous" for item in counted)
        return f"{holding}/{len(counted)} hold" + (f", {vacuous} vacuous" if vacuous else "")


def final_step(model: Any) -> Any:
    """The estimator inside pipelines and target transformers."""
    if isinstance(model, Pipeline):
        return final_step(model[-1])
    if hasattr(model, "regressor_"):
        return final_step(model.regressor_)
    return model


def certificates_of(model: Any) -> Certificates:
    """The certificates that a model, or the one inside it, carries; empty when there are none."""
    return getattr(final_step(model), "certificates_", Certificates())


def ranked(candidates: list[Candidate], skipped: list[str]) -> tuple[Candidate, ...]:
    """The candidates, best first; refuses when none but baselines is there."""
    if all(candidate.is_baseline for candidate in candidates):
        raise ReportError(f"No model could be fitted: {' '.join(told_together(skipped))}")
    return tuple(sorted(candidates, key=lambda candidate: -candidate.score))
