"""Bagging: any estimator on bootstrap samples, averaged."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from assay import parameters, rows
from assay.base import Model
from assay.certificates import Certificates, agreement, at_most
from assay.models import convergence
from assay.models.classes import class_of
from assay.parameters import Domain
from assay.rows import Block, MemoryRows
from assay.trees.decision.base import SHARE
from assay.trees.decision.classifier import DecisionTreeClassifier
from assay.trees.forest.bag import Bag, make_bag, seeds_of, single_bits
from assay.trees.forest.outside import Outside, OutsideVotes, outside_score

SOURCE = "Sangnier §1.6.3; Wei §8.2"

BAGGING_DOMAINS: Mapping[str, Domain] = {
    "estimator": parameters.nothing
    | Domain("an estimator", lambda value: isinstance(value, BaseEstimator) and hasattr(value, "fit")),
    "n_estimators": parameters.integer(at_least=1),
    "max_samples": parameters.nothing | parameters.integer(at_least=1) | SHARE,
    "max_features": parameters.integer(at_least=1) | SHARE,
    "bootstrap": parameters.boolean,
    "bootstrap_features": parameters.boolean,
    "oob_score": parameters.boolean | parameters.function,
    "warm_start": parameters.boolean,
    "n_jobs": parameters.nothing
    | Domain("-1", lambda value: isinstance(value, (int, np.integer)) and value == -1)
    | parameters.integer(at_least=1),
    "random_state": parameters.random_state,
    "verbose": parameters.boolean | parameters.integer(at_least=0),
}


class Members(NamedTuple):
    """Fitted members, the columns that each sees, and how their answers are put together.

    `n_classes` is 0 for numbers; with `votes` each member has one vote instead of shares.
    """

    estimators: list[Any]
    features: list[NDArray[np.int64]]
    n_classes: int
    votes: bool

    def say(self, place: int, X: Any) -> NDArray[np.float64]:
        """What one member says about rows: a column per class, or one of numbers."""
        estimator, features = self.estimators[place], self.features[place]
        seen = X if len(features) == X.shape[1] and _is_range(features) else X[:, features]
        if not self.n_classes:
            return np.asarray(estimator.predict(seen), dtype=np.float64).reshape(seen.shape[0], -1)[:, :1]
        said = np.zeros((seen.shape[0], self.n_classes))
        if self.votes or not hasattr(estimator, "predict_proba"):
            said[np.arange(len(said)), np.asarray(estimator.predict(seen)).astype(np.int64)] = 1.0
        else:
            said[:, np.asarray(estimator.classes_).astype(np.int64)] = estimator.predict_proba(seen)
        return said


def _is_range(features: NDArray) -> bool:
    return bool(np.array_equal(features, np.arange(len(features))))


class BaggingModel(Model):
    """Base of bags of any estimator."""

    estimator: Any
    n_estimators: int
    max_samples: Any
    max_features: Any
    bootstrap: bool
    bootstrap_features: bool
    oob_score: Any
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int
    seeds_: NDArray[np.int64]
    estimators_: list[Any]
    estimators_features_: list[NDArray[np.int64]]

    _base: ClassVar[type] = DecisionTreeClassifier

    @property
    def _accepts_nan(self) -> bool:  # type: ignore[override]
        return bool(get_tags(self._member()).input_tags.allow_nan)

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return bool(get_tags(self._member()).input_tags.sparse)

    def _member(self) -> Any:
        """The estimator that is bagged."""
        chosen = self.estimator
        return chosen if isinstance(chosen, BaseEstimator) else self._base()

    def _require_memory(self, X: Any) -> None:
        if rows.is_external(X):
            self._check_parameters()
            raise ValueError(
                f"{type(self).__name__} hands whole bags of rows to its estimator and takes rows in memory "
                "only: a random forest reads them block by block, or bring the rows into memory as an array."
            )

    def _seed(self, place: int) -> int:
        return int(self.seeds_[place])

    def _bag(self, data: MemoryRows, target: NDArray) -> Bag:
        if isinstance(self.max_samples, (int, np.integer)) and self.max_samples > data.shape[0]:
            raise self._refuse("max_samples", f"at most the number of rows ({data.shape[0]})")
        if not self.bootstrap and self.oob_score:
            raise self._refuse("oob_score", "False without bootstrap")
        weight = np.ones(len(target)) if data.weight is None else data.weight.astype(np.float64)
        share = None if isinstance(self.max_samples, float) and self.max_samples == 1.0 else self.max_samples
        dense = data.X.toarray() if data.is_sparse else data.X
        parts = single_bits(np.ascontiguousarray(dense.T)).view(np.uint8).reshape(dense.shape[1], -1, 4)
        codes = np.concatenate(list(np.moveaxis(parts, 2, 0)))
        return make_bag(codes, target, weight, self.bootstrap, share)

    def _features(self, seed: int) -> NDArray[np.int64]:
        d = self.n_features_in_
        asked = self.max_features
        if isinstance(asked, (int, np.integer)) and asked > d:
            raise self._refuse("max_features", f"at most the number of columns ({d})")
        count = int(asked) if isinstance(asked, (int, np.integer)) else max(1, int(asked * d))
        if count == d and not self.bootstrap_features:
            return np.arange(d)
        draws = np.random.default_rng(seed)
        return np.sort(draws.choice(d, size=count, replace=self.bootstrap_features)).astype(np.int64)

    def _fit_member(self, seed: int, data: MemoryRows, target: NDArray, bag: Bag) -> Any:
        """The member of a seed: its estimator on its bag and columns."""
        member = clone(self._member())
        seeds = {
            name: seed % (2**31)
            for name in member.get_params(deep=True)
            if name == "random_state" or name.endswith("__random_state")
        }
        member.set_params(**seeds)
        features, counts = self._features(seed), bag.counts(seed)
        X = data.X if _is_range(features) and len(features) == data.shape[1] else data.X[:, features]
        if has_fit_parameter(member, "sample_weight"):
            return member.fit(X, target, sample_weight=bag.weights(counts))
        weight = bag.weights(counts)
        if not np.all(weight == np.rint(weight)):
            kind = type(member).__name__
            raise ValueError(f"Weights must be whole numbers, as {kind} takes no 'sample_weight'.")
        order = bag.order if len(bag.order) else np.arange(len(target))
        places = np.repeat(order, weight[order].astype(np.int64))
        return member.fit(X[places], target[places])

    def _grow(self, data: MemoryRows, target: NDArray, n_classes: int) -> None:
        kept = len(self.estimators_) if self.warm_start and hasattr(self, "estimators_") else 0
        if kept > self.n_estimators:
            raise self._refuse("n_estimators", f"at least the {kept} members of the warm start")
        bag = self._bag(data, target)
        seeds, members = (self.seeds_.tolist(), [*self.estimators_]) if kept else ([], [])
        with rows.threads(self._n_threads()) if self.n_jobs is not None else contextlib.nullcontext():
            for seed, member in rows.ordered_map(
                lambda seed: (seed, self._fit_member(seed, data, target, bag)),
                seeds_of(self.random_state, self.n_estimators, kept),
            ):
                seeds.append(seed)
                members.append(member)
        self.seeds_, self.estimators_ = np.array(seeds), members
        self.estimators_features_ = [self._features(int(seed)) for seed in self.seeds_]
        self.estimator_ = self._member()
        for name in ("oob_score_", "oob_decision_function_", "oob_prediction_", "oob_errors_"):
            self.__dict__.pop(name, None)
        if self.oob_score:
            outside = self._outside(data, target, bag, n_classes)
            if np.any((outside.counts == 0) & (bag.weight > 0)):
                convergence.warn(
                    "Some rows are in every bag: they have no out-of-bag prediction (0 is kept for them) and "
                    "are left out of the score; take more members.",
                    UserWarning,
                )
            self.oob_errors_ = outside.errors
            self.oob_score_ = outside_score(self, outside, target, bag.weight, n_classes)
            if n_classes:
                self.oob_decision_function_ = outside.mean
            else:
                self.oob_prediction_ = outside.mean[:, 0]
        self.certificates_ = Certificates([self._distinct(), self._members_hold()])

    def _n_threads(self) -> int:
        return rows.n_threads() if self.n_jobs == -1 else int(self.n_jobs or 1)

    def _members(self) -> Members:
        n_classes = len(self.classes_) if hasattr(self, "classes_") else 0
        votes = getattr(self, "voting", "soft") == "hard"
        return Members(self.estimators_, self.estimators_features_, n_classes, votes)

    def _outside(self, data: MemoryRows, target: NDArray, bag: Bag, n_classes: int) -> Outside:
        """What members say about the rows outside their bags."""
        votes, members = OutsideVotes(target, bag.weight, n_classes), self._members()

        def heard(place: int) -> tuple[NDArray, NDArray]:
            outside = np.flatnonzero((bag.counts(self._seed(place)) == 0) & (bag.weight > 0))
            said = members.say(place, data.X[outside]) if len(outside) else np.zeros((0, max(n_classes, 1)))
            return outside, said

        for outside, said in rows.ordered_map(heard, range(len(self.estimators_))):
            votes.add(said, outside, np.arange(len(outside), dtype=np.int32))
        return votes.result()

    def _distinct(self) -> Any:
        repeated = len(self.seeds_) - len(np.unique(self.seeds_))
        claim = "Members are drawn apart: no two share a seed."
        return at_most(claim, "seeds that occur twice", repeated, 0, SOURCE)

    def _members_hold(self) -> Any:
        proofs = [getattr(member, "certificates_", None) for member in self.estimators_]
        failed = sum(1 for proof in proofs if proof is not None and not proof.holds)
        return at_most(
            "The certificates of every member that has some hold.", "members that fail", failed, 0, SOURCE
        )

    def _certify(self, data: MemoryRows, target: NDArray, n_classes: int) -> Certificates:
        """Members fitted again from their seeds say the same, and out-of-bag answers are what they say."""
        bag, members = self._bag(data, target), self._members()

        def again(place: int) -> float:
            member = self._fit_member(self._seed(place), data, target, bag)
            fresh = members._replace(estimators=[member], features=[self._features(self._seed(place))])
            first, second = members.say(place, data.X), fresh.say(0, data.X)
            return float(np.abs(first - second).max() / (np.abs(second).max() or 1.0))

        worst = max(rows.ordered_map(again, range(len(self.estimators_))))
        certificates = [
            self._distinct(),
            self._members_hold(),
            at_most(
                "Each member is the estimator fitted on the bag and the columns of its seed.",
                "largest relative difference of predictions",
                worst,
                1e-8,
                SOURCE,
            ),
        ]
        if hasattr(self, "oob_score_"):
            outside = self._outside(data, target, bag, n_classes)
            score = outside_score(self, outside, target, bag.weight, n_classes)
            said = self.oob_decision_function_ if n_classes else self.oob_prediction_
            certificates.append(
                agreement(
                    "Out-of-bag answers, error and score are what members say about rows outside their bags.",
                    {
                        "answers": (said, outside.mean if n_classes else outside.mean[:, 0]),
                        "error": (self.oob_errors_, outside.errors),
                        "score": (self.oob_score_, score),
                    },
                    SOURCE,
                    rtol=1e-8,
                )
            )
        return Certificates(certificates)


def mean_of_members(block: Block, members: Members) -> NDArray:
    """Mean of what the members say about the rows of a block, added up in their order."""
    total = members.say(0, block.X)
    for place in range(1, len(members.estimators)):
        total = total + members.say(place, block.X)
    return (total / len(members.estimators)).astype(block.X.dtype, copy=False)


def number_of_members(block: Block, members: Members) -> NDArray:
    """Mean of the numbers that the members predict."""
    return mean_of_members(block, members)[:, 0]


def class_of_members(block: Block, members: Members, classes: NDArray) -> NDArray:
    """The class with the largest mean share of each row of a block."""
    return class_of(mean_of_members(block, members), classes)
