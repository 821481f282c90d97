"""Honest probabilities and class sets of ensembles of trees, from rows that the trees have not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.models.calibration import (
    HOTTEST,
    METHODS,
    Calibrator,
    calibration_error,
    fit_calibrator,
    log_odds,
    logarithms,
)
from assay.models.conformal import class_scores, class_sets, conformal_quantile, cross_class_sets
from assay.trees.boosting.gathering import Opened
from assay.trees.calibration.aside import LEARNT, SOURCE, KeepsAside, held_claim

CALIBRATION_METHOD = parameters.nothing | parameters.one_of(*METHODS)

PLATT = "Platt (1999); Zadrozny & Elkan (2002); Guo et al. (2017)"


class Honest:
    """What classifiers with the parameter `calibration_method` share.

    Attributes
    ----------
    calibrator_ : Calibrator
        The map from the probabilities of the trees to honest ones.
    calibration_errors_ : array of shape (2,)
        Calibration error before, and after: measured on halves that the map has not seen.
    """

    calibration_method: str | None
    calibrator_: Calibrator
    calibration_errors_: NDArray[np.float64]

    def _fit_map(self, chances: NDArray, places: NDArray, weight: NDArray, floor: float) -> list[Certificate]:
        """Fit the map on rows that the trees have not seen; what it proves."""
        for name in LEARNT:
            self.__dict__.pop(name, None)
        if self.calibration_method is None:
            return []
        self.calibrator_ = fit_calibrator(self.calibration_method, chances, places, weight, floor)
        self.calibration_errors_ = errors_of(self.calibration_method, chances, places, weight, floor)
        return [self._balance(chances, places, weight)]

    def _balance(self, chances: NDArray, places: NDArray, weight: NDArray) -> Certificate:
        """What the map makes equal on the rows that it was fitted to.

        Sigmoid and isotonic maps: the mean probability of every class and its share, up to the half row per
        class that keeps probabilities away from 0. A temperature: what the probabilities expect of their own
        logarithm and what the true classes give.
        """
        honest, n_classes = self.calibrator_.apply(chances), chances.shape[1]
        if self.calibrator_.method == "temperature":
            return temperature_claim(self.calibrator_, chances, places, weight)
        truth = places[:, np.newaxis] == np.arange(n_classes)
        return at_most(
            f"The mean probability of each class is its share of the {len(places)} rows that the model has "
            "not seen, up to half a row per class.",
            "largest difference of the sum of probabilities and the rows of a class, in rows",
            float(np.abs(weight @ (honest - truth)).max()),
            n_classes / 2 + 1e-6 * float(weight.sum()),
            PLATT,
        )

    def _map_claims(
        self, chances: NDArray, places: NDArray, weight: NDArray, floor: float
    ) -> list[Certificate]:
        """That the map kept is the one of the rows, and its balance."""
        if "calibrator_" not in vars(self) or self.calibration_method is None:
            return []
        fresh = fit_calibrator(self.calibration_method, chances, places, weight, floor)
        kept = self.calibrator_
        names = ("slope", "offset", "knots", "levels", "starts", "factors")
        pairs: dict[str, tuple[Any, Any]] = {
            name: (getattr(kept, name), getattr(fresh, name)) for name in names
        }
        errors = errors_of(self.calibration_method, chances, places, weight, floor)
        pairs["calibration_errors_"] = (self.calibration_errors_, errors)
        claim = "The map of the probabilities is the one of the rows that the model has not seen."
        return [agreement(claim, pairs, PLATT, rtol=1e-6), self._balance(chances, places, weight)]


def temperature_claim(kept: Calibrator, chances: NDArray, places: NDArray, weight: NDArray) -> Certificate:
    """That no other temperature has a smaller log-loss: its derivative is 0."""
    odds, honest = log_odds(chances, kept.floor), kept.apply(chances)
    two = chances.shape[1] == 2
    scores = np.column_stack([np.zeros(len(odds)), odds]) if two else logarithms(chances, kept.floor)
    expected = np.sum(honest * scores, axis=1)
    given = scores[np.arange(len(places)), places]
    slope, size = float(weight @ (expected - given)), float(weight @ np.abs(scores).max(axis=1))
    at_end = (kept.slope[0] == 0.0 and slope > 0) or (kept.slope[0] >= HOTTEST and slope < 0)
    return at_most(
        f"On the {len(places)} rows that the model has not seen the probabilities expect the same mean "
        "logarithm as the true classes give: no other temperature has a smaller log-loss.",
        "difference of the two, relative to the size of the logarithms",
        0.0 if at_end else abs(slope) / (size or 1.0),
        1e-6,
        PLATT,
    )


def errors_of(
    method: str, chances: NDArray, places: NDArray, weight: NDArray, floor: float
) -> NDArray[np.float64]:
    """Calibration error of probabilities, and of each half through the map of the other."""
    honest, labels = np.array(chances, dtype=np.float64), np.arange(chances.shape[1])
    order = np.random.default_rng(len(places)).permutation(len(places))
    halves = np.array_split(order, 2)
    for judged, other in (halves, halves[::-1]):
        if len(other):
            found = fit_calibrator(method, chances[other], places[other], weight[other], floor)
            honest[judged] = found.apply(chances[judged])
    return np.array([calibration_error(places, p, labels) for p in (chances, honest)])


class HasClassSets(KeepsAside, Honest):
    """Class sets and honest probabilities of classifiers that keep rows aside, or fit by folds."""

    def _keep_scores(self, data: Opened, places: NDArray, weight: NDArray | None) -> None:
        """Score the rows kept aside, where there are some, and fit the map."""
        model: Any = self
        if "calibration_rows_" in vars(self):
            self.calibration_weight_ = self._counted(weight)
            self.calibration_scores_ = class_scores(*self._aside_chances(data, places))
        if not self._judges:
            if self.calibration_method is not None:
                raise model._refuse(
                    "calibration_method", "None without rows kept aside (calibration=0.2) or folds (5)"
                )
            return
        claims = self._fit_map(*self._unseen_chances(data, places), FLOOR)
        model.certificates_ = Certificates([*model.certificates_, self._coverage_of("Class sets"), *claims])

    def _aside_chances(self, data: Opened, places: NDArray) -> tuple[NDArray, NDArray[np.intp]]:
        """Probabilities and true classes of the rows kept aside."""
        model: Any = self
        chances = model._chances(self._kept_scores(data))
        return chances, places[self.calibration_rows_].astype(np.intp)

    def _unseen_chances(self, data: Opened, places: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """The same of all rows that were not seen, and their weights."""
        each = [judge._aside_chances(data, places) for judge in self._judges]
        chances, true = (np.concatenate(values) for values in zip(*each, strict=True))
        return chances, true, self._known.weight

    def _claims_aside(self, data: Opened, places: NDArray, weight: NDArray | None) -> list[Certificate]:
        """What rows that were not seen prove again."""
        if not self._judges:
            return []
        claims = [self._coverage_of("Class sets")]
        if "calibration_rows_" in vars(self):
            claim = "The scores of the rows kept aside are those of the rows and the trees."
            scores = class_scores(*self._aside_chances(data, places))
            pairs = {
                "calibration_scores_": (self.calibration_scores_, scores),
                "calibration_weight_": (self.calibration_weight_, self._counted(weight)),
            }
            claims.insert(0, agreement(claim, pairs, SOURCE, rtol=1e-9))
        if "calibrator_" in vars(self):
            claims += self._map_claims(*self._unseen_chances(data, places), FLOOR)
        return claims

    def predict_sets(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Sets of classes that hold the class of a new row with a given probability.

        With a share of the rows kept aside (`calibration=0.2`), split conformal: the classes whose
        probability falls short of 1 by at most the ⌈(m + 1)·coverage⌉-th least shortfall of the true classes
        of those m rows; at least the coverage, for any law of exchangeable rows. With folds
        (`calibration=5`), cross-conformal: the shortfall of a class is compared with that of each row, by the
        model that lacks its fold; at least 2·coverage − 1 is proven, less what
        `assay.models.conformal.proven_coverage` says, and about the coverage is held by models that
        change little with the fold. The likeliest class is always in the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9

        Returns
        -------
        members : bool array of shape (n_samples, n_classes)
            Which of `classes_` each set holds.
        """
        known = self._require_scores("predict_sets", coverage)
        model: Any = self
        data = model._open_new_rows(X)
        chances = model._chances(self._row_scores(data))
        if "fold_models_" not in vars(self):
            return class_sets(chances, conformal_quantile(known.scores, coverage, known.weight))
        strange = np.array([1.0 - judge._chances(judge._row_scores(data)) for judge in self._judges])
        members = cross_class_sets(strange, known.scores, known.folds, coverage, known.weight)
        members[np.arange(len(chances)), chances.argmax(axis=1)] = True
        return members

    def certify_sets(self, X: Any, y: Any, coverage: float = 0.9) -> Certificates:
        """Measure the coverage of the class sets on rows that the fit has not seen.

        Parameters
        ----------
        X, y
            New rows. Where they follow another law than those of the fit, the certificate fails.
        coverage : float, default=0.9
        """
        model: Any = self
        members, labels = self.predict_sets(X, coverage), np.asarray(y)
        held = np.any(members & (labels[:, np.newaxis] == model.classes_), axis=1)
        return Certificates([held_claim(held, coverage, self._known, "Class sets")])


FLOOR = 1e-12
"""Probability of boosted trees that stands for smaller ones."""


class CalibratesVotes(Honest):
    """Honest probabilities of forests, from the votes of the trees that have not seen a row."""

    def _outside_votes(self, target: NDArray, weight: NDArray) -> tuple[NDArray, NDArray, NDArray, float]:
        """Votes, classes and weights of the rows that some tree has not seen."""
        model: Any = self
        votes = model.oob_decision_function_
        there = (votes.sum(axis=1) > 0) & (weight > 0)
        if not there.any():
            raise model._refuse("calibration_method", "None where every row is in the bag of every tree")
        return votes[there], target[there].astype(np.intp), weight[there], 0.5 / (len(model.trees_) + 1)

    def _calibrate_votes(self, target: NDArray, weight: NDArray) -> list[Certificate]:
        if self.calibration_method is None:
            for name in LEARNT:
                self.__dict__.pop(name, None)
            return []
        return self._fit_map(*self._outside_votes(target, weight))

    def _vote_claims(self, target: NDArray, weight: NDArray) -> list[Certificate]:
        if "calibrator_" not in vars(self):
            return []
        return self._map_claims(*self._outside_votes(target, weight))
