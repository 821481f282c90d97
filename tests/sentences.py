"""Every sentence that a comparison says, checked against figures worked out anew from its predictions.

The folds, the truth and what each method said of every unseen row are taken as they are; whatever is computed
from them is computed here once more, by scikit-learn and SciPy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, r2_score

from assay.models.calibration import calibration_error

NUMBER = r"−?[\d,]+(?:\.\d+)?"


def value(text: str) -> float:
    """A number as the page writes it."""
    return float(text.replace(",", "").replace("−", "-"))


def shows(text: str, number: float) -> bool:
    """Whether a text is a number rounded to the digits that it has, three of a whole one."""
    decimals = len(text.partition(".")[2])
    if decimals:
        return abs(value(text) - number) <= 0.5000001 * 10**-decimals
    return abs(value(text) - number) <= max(0.5000001, 5e-3 * abs(number))


def model_size(model: Any) -> float:
    """Sum of the steps of a vote of two classes: its margins are its scores over it."""
    return float(np.abs(model.estimator_weights_).sum() / 2)


class Audit:
    """What the predictions of a comparison by R² or accuracy say, and the sentences that must agree."""

    def __init__(self, comparison: Any) -> None:
        self.it, self.y = comparison, comparison.data.y
        self.is_class = comparison.task == "classification"
        self.chosen, self.best = comparison.recommended, comparison.best
        self.scores = {item.name: self.of_splits(item, self.score) for item in comparison.candidates}
        share = comparison.test_share
        self.ratio = share / (1 - share)

    def score(self, y: Any, said: Any) -> float:
        if self.is_class:
            return accuracy_score(y, said)
        return r2_score(y, said) if np.ptp(y) > 0 else 0.0

    def of_splits(self, item: Any, measure: Callable[..., float], *, chances: bool = False) -> np.ndarray:
        """A measure on the rows of every split of every repetition."""
        numbers = []
        for said in item.repeats:
            for fold in np.unique(said.folds):
                inside = said.folds == fold
                told = said.probabilities if chances else said.predictions
                numbers.append(measure(self.y[inside], told[inside]))
        return np.array(numbers)

    def difference(self, one: Any, other: Any) -> tuple[float, float, float]:
        """Mean of the paired differences, its corrected error, and the two-sided p-value."""
        gain = one - other
        error = np.sqrt((1 / gain.size + self.ratio) * gain.var(ddof=1))
        chance = (
            2 * stats.t.sf(abs(gain.mean()) / error, gain.size - 1) if error > 0 else float(gain.mean() == 0)
        )
        return float(gain.mean()), float(error), float(chance)

    def models(self) -> list[Any]:
        return [item for item in self.it.candidates if not (item.is_baseline or item.is_ensemble)]

    def none_beats(self) -> bool:
        """Whether no model is above the baseline by its own test, corrected for their number."""
        floor, chances = self.scores["Baseline"], []
        for item in self.models():
            mean, _, chance = self.difference(self.scores[item.name], floor)
            chances.append(chance / 2 if mean > 0 else 1.0)
            if not self.is_class:  # a test of its own: no constant has an R² above 0
                mean, _, chance = self.difference(self.scores[item.name], np.zeros(floor.size))
                chances[-1] = min(chances[-1], chance if mean > 0 else 1.0)
        return min(chances) * len(chances) >= 0.05  # Holm's first step, which decides whether any is

    # What is checked of each kind of sentence: its words, and a function of what they hold.

    def check(self) -> None:
        """Every score, sentence and figure; a sentence of no known kind is an error."""
        for item in self.it.candidates:
            np.testing.assert_allclose(item.scores, self.scores[item.name], err_msg=item.name)
        self.check_headline()
        for sentence in self.it.remarks:
            self.check_remark(sentence)

    def check_headline(self) -> None:
        text, chosen, it = self.it.headline, self.chosen, self.it
        if match := re.search(rf"({NUMBER}) ± ({NUMBER})$", text.partition(", but")[0]):
            own = self.scores[chosen.name]
            assert shows(match[1], own.mean()), text
            assert shows(match[2], np.sqrt((1 / own.size + self.ratio) * own.var(ddof=1))), text
        if text.startswith("No model predicts"):
            assert self.none_beats(), text
            return
        assert not self.none_beats(), text
        assert text.startswith(chosen.name), text
        if "but the table may give" in text:
            assert it.alarms, text
        elif "best:" in text:
            assert chosen.score >= max(item.score for item in it.candidates) - 1e-12, text
            floor, others = self.scores["Baseline"], [item for item in self.models() if item is not chosen]
            if chosen.is_ensemble:
                others = [self.best]
            for item in others:
                rival = (
                    self.scores[item.name]
                    if chosen.is_ensemble
                    else np.maximum(self.scores[item.name], floor)
                )
                mean, _, chance = self.difference(self.scores[chosen.name], rival)
                assert mean > 0, (text, item.name)
                assert chance < 0.05 * 2, (text, item.name)
        elif "as well as any" in text:
            for item in self.it.candidates:
                mean, _, chance = self.difference(self.scores[item.name], self.scores[chosen.name])
                assert mean <= 0 or chance >= 0.05, (text, item.name)

    def check_remark(self, sentence: str) -> None:
        for pattern, check in self.kinds():
            if match := re.fullmatch(pattern, sentence):
                assert check(*match.groups()), sentence
                return
        raise AssertionError(f"a sentence of no known kind: {sentence}")

    def kinds(self) -> list[tuple[str, Callable[..., bool]]]:
        n = f"({NUMBER})"
        return [
            (rf"On rows it has not seen, its predictions are off by {n} \(root mean square\)\.", self.rmse),
            (r"On rows it has not seen, its predictions are off by no more than rounding\.", self.exact),
            (rf"On rows it has not seen, it names the wrong class in {n}% of cases\.", self.wrong),
            (rf"Against always .* it gains {n} ± {n} in .*\.", self.gain),
            (r"Against always .* it gains nothing in .*\.", self.gains_nothing),
            (
                r"Always answering the mean has R² (.*); no constant answer ever has more than 0\.",
                self.explodes,
            ),
            (
                rf"By .*, every model is worse than the baseline, (.*) least so \(.* {n} ± {n}\)\.",
                self.all_worse,
            ),
            (
                r"By .*, every model is worse than the baseline, (.*) least so \(.* below −1,000\)\.",
                self.all_worse,
            ),
            (
                rf"(.*) scores {n} ± {n} more, which is within the noise of the folds; (.*) is the .*",
                self.close,
            ),
            (r"(.*) scores less than 0\.001 more, which is within the noise of the folds; .*", self.alike),
            (r"(.*) scores the same; (.*) is the simplest model that close[^.]*\.", self.equal),
            (
                r"(.*) scores the same, but is not recommended: a certificate of its fit does not hold\.",
                self.equal,
            ),
            (
                rf"(.*) scores {n} ± {n} more, but is not recommended: it does not clearly beat .*",
                self.unclear,
            ),
            (
                r"(.*) (?:is|are) as good within the noise of the folds \(differences? to the best (.*)\)\.",
                self.near,
            ),
            (rf"(.*) is the best single model; (.*) gains {n} ± {n} on it\.", self.stacked),
            (
                rf"Its 90% intervals(, .*,)? held {n}% of unseen rows(, fewer[^;]*|, more[^;]*)?; they are "
                rf"{n} wide on average\.",
                self.held,
            ),
            (
                rf"Its probabilities miss .* by {n} percentage points on average, out of fold(.*)\.",
                self.chances,
            ),
            (r"(.*) names classes without a probability\.", lambda name: self.chosen.probabilities is None),
            (
                rf"{n}% of the rows are '(.*)', which flatters .* right in {n}% of cases; --metric .*\.",
                self.flattered,
            ),
            (
                rf"Labels look noisy: of the half of the rows that (.*) is surest of, {n}% have another "
                rf"class, hardly fewer where it is surest\. (.*) puts {n}% of its weight on these {n} of "
                rf"{n} rows, most on rows (.*)\.",
                self.noisy,
            ),
            (rf"With {n} rows, another sample could well rank the methods otherwise\.", self.few),
            (r"It relies most on (.*): shuffling (.*)", self.relies),
            (
                r"No single column matters by itself: .*",
                lambda: self.it.explanation.importances.matters == (),
            ),
            (
                rf"(?:With (.*), n|N)amed from a probability of {n} on, {n}% of the '(.*)' are caught in "
                rf"place of {n}%, and {n}% of those named are right in place of {n}%: (.*) {n} "
                rf"in place of {n}\.",
                self.named,
            ),
            (
                rf"No other threshold than the likelier class would name '(.*)' better: (.*) {n}, with a "
                rf"threshold {n}\.",
                self.unnamed,
            ),
            (
                rf"(?:{n}%|A few) of its predictions of unseen rows are below zero, where (.*) never is: .*",
                self.below,
            ),
            (
                r"(More rows would help|More rows would hardly help|Whether more rows would help is not "
                rf"clear): from {n} to {n} rows it gained {n} ± {n} in .*\.",
                self.more,
            ),
            (
                rf"More rows would hardly help: from {n} to {n} rows it gained less than 0.001 in .*",
                self.full,
            ),
        ]

    def rmse(self, said: str) -> bool:
        roots = self.of_splits(self.chosen, lambda y, told: np.sqrt(np.mean((y - told) ** 2)))
        return shows(said, roots.mean())

    def exact(self) -> bool:
        roots = self.of_splits(self.chosen, lambda y, told: np.sqrt(np.mean((y - told) ** 2)))
        return roots.mean() < 1e-10 * np.abs(self.y).max()

    def wrong(self, said: str) -> bool:
        return shows(said, 100 * (1 - self.scores[self.chosen.name].mean()))

    def gain(self, mean: str, error: str) -> bool:
        own = self.difference(self.scores[self.chosen.name], self.scores["Baseline"])
        return shows(mean, own[0]) and shows(error, own[1])

    def explodes(self, said: str) -> bool:
        floor, own = self.scores["Baseline"], self.scores[self.chosen.name]
        shown = said.startswith("below") or shows(said.split(" ± ")[0], floor.mean())
        return shown and floor.max() <= 0 and self.difference(own, floor)[2] >= 0.05

    def gains_nothing(self) -> bool:
        mean, error, _ = self.difference(self.scores[self.chosen.name], self.scores["Baseline"])
        return abs(mean) < 5e-4 and error < 5e-4

    def all_worse(self, name: str, *_: str) -> bool:
        floor = self.scores["Baseline"].mean()
        means = {item.name: self.scores[item.name].mean() for item in self.models()}
        return max(means.values()) < floor and max(means, key=means.__getitem__) == name

    def close(self, best: str, mean: str, error: str, chosen: str) -> bool:
        own = self.difference(self.scores[best], self.scores[chosen])
        simpler = next(item for item in self.models() if item.name == best).complexity
        return (
            shows(mean, own[0])
            and shows(error, own[1])
            and own[0] <= own[1]
            and (self.chosen.name == chosen and self.chosen.complexity <= simpler)
        )

    def full(self, before: str, after: str) -> bool:
        curve = self.it.explanation.learning
        return abs(curve.scores[-1] - curve.scores[-2]) < 5e-4 and shows(after, curve.sizes[-1])

    def alike(self, best: str, other: str | None = None) -> bool:
        mean, error, _ = self.difference(self.scores[best], self.scores[other or self.chosen.name])
        more = other is None  # "less than 0.001 more" is more than nothing
        return abs(mean) < 5e-4 and error < 5e-4 and not (more and abs(mean) < 1e-12)

    def equal(self, best: str, chosen: str | None = None) -> bool:
        own = self.scores[chosen or self.chosen.name]
        return best != self.chosen.name and abs(self.scores[best].mean() - own.mean()) < 1e-12

    def unclear(self, best: str, mean: str, error: str) -> bool:
        own = self.difference(self.scores[best], self.scores[self.chosen.name])
        return shows(mean, own[0]) and shows(error, own[1])

    def near(self, names: str, sizes: str) -> bool:
        told = re.split(r", | and ", sizes)
        listed = [item.name for item in self.models() if item.name in re.split(r", | and ", names)]
        best = self.scores[self.best.name]
        gain = self.difference(best, self.scores["Baseline"])[0]
        for name in listed:  # the rule that recommends would forgive as much
            mean, error, _ = self.difference(best, self.scores[name])
            assert mean <= max(min(error, gain / 2), 0.0) + 1e-9
        if sizes == "below 0.001":
            return bool(listed) and all(self.alike(self.best.name, name) for name in listed)
        assert len(told) <= len(listed)
        for size in told:
            mean, error = size.split(" ± ")
            assert value(mean) <= value(error) + 1e-9
        return True

    def stacked(self, best: str, chosen: str, mean: str, error: str) -> bool:
        own = self.difference(self.scores[chosen], self.scores[best])
        return shows(mean, own[0]) and shows(error, own[1]) and own[2] < 0.05

    def held(self, source: str | None, said: str, verdict: str | None, width: str) -> bool:
        own = all(one.bounds is not None for one in self.chosen.repeats)
        assert (source is None) == (own or self.makes_intervals()), "whose intervals they are"
        shares, widths = [], []
        for one in self.chosen.repeats:
            low, high = self.bounds(one)
            known = ~np.isnan(low)
            widths.append(np.mean((high - low)[known]))
            shares.append(np.mean((low[known] <= self.y[known]) & (self.y[known] <= high[known])))
        share = float(np.mean(shares))
        noise = 2 * np.sqrt(0.09 / len(self.y))
        told = "fewer" if share < 0.9 - noise else "more" if share > 0.9 + noise else ""
        assert float(f"{value(width):.3g}") == float(f"{np.mean(widths):.3g}")
        return shows(said, 100 * share) and ((verdict or "").strip(", ").split(" ")[0] == told)

    def makes_intervals(self) -> bool:
        """Whether the saved model has intervals made of what the folds were off, as boosting does."""
        encoder, model = self.chosen.model[0], self.chosen.model[-1]
        if not hasattr(model, "keep_scores"):
            return False
        features = encoder.transform(self.it.data.X.iloc[:5])
        half = model.predict_interval(features, coverage=0.9)[:, 1] - model.predict(features)
        away = np.concatenate([np.abs(self.y - one.predictions) for one in self.chosen.repeats])
        # The rank of a new row, and of many rows one of so many groups in order.
        most = 0.9 + 2 / len(self.y) + 1e-3
        return bool(np.all([0.9 <= np.mean(away <= width * (1 + 1e-9)) <= most for width in half]))

    def bounds(self, said: Any) -> tuple[np.ndarray, np.ndarray]:
        own = all(one.bounds is not None for one in self.chosen.repeats)
        low, high = said.bounds.T if own else (said.predictions - 1, said.predictions + 1)
        centre = np.clip(said.predictions, low, high)
        way = np.where(self.y > centre, high - centre, centre - low)
        half = np.full(len(self.y), np.nan)
        for fold in np.unique(said.folds):
            inside = said.folds == fold
            others = said.folds < fold if self.it.data.times is not None else ~inside
            away = np.sort((np.abs(self.y - centre) / way)[others])
            if len(away):
                half[inside] = away[int(np.ceil(0.9 * (len(away) + 1) - 1e-9)) - 1]
        return centre - half * (centre - low), centre + half * (high - centre)

    def chances(self, miss: str, rest: str) -> bool:
        assert 0 <= value(miss) <= 100
        labels = self.it.data.labels
        if losses := re.search(rf"log-loss is ({NUMBER}), ({NUMBER}) for the shares", rest):
            for text, item in zip(losses.groups(), (self.chosen, self.it.baseline), strict=True):
                own = self.of_splits(item, lambda y, told: log_loss(y, told, labels=labels), chances=True)
                assert shows(text, own.mean()), (text, own.mean())
        gaps = [calibration_error(self.y, said.probabilities, labels) for said in self.chosen.repeats]
        return shows(miss, 100 * float(np.mean(gaps)))

    def flattered(self, share: str, label: str, right: str) -> bool:
        own = self.of_splits(self.chosen, balanced_accuracy_score)
        return shows(share, 100 * np.mean(self.y == label)) and shows(right, 100 * own.mean())

    def noisy(
        self, judge: str, share: str, voting: str, weight: str, n_rows: str, n_all: str, named: str
    ) -> bool:
        by_name = {item.name: item for item in self.it.candidates}
        shares = np.mean([said.probabilities for said in by_name[judge].repeats], axis=0)
        wrong = self.it.data.labels[shares.argmax(axis=1)] != self.y
        surest = np.argsort(-shares.max(axis=1), kind="stable")[: 2 * (len(self.y) // 4)]
        rows = np.flatnonzero(wrong & np.isin(np.arange(len(self.y)), surest))
        encoder, model = by_name[voting].model[0], by_name[voting].model[-1]
        weights = np.exp(-model.margins(encoder.transform(self.it.data.X), self.y) * model_size(model))
        own = weights[rows].sum() / weights.sum()
        listed = [int(text) - 1 for text in re.split(", | and ", named)]
        assert set(listed) <= set(rows)
        assert min(weights[listed]) >= np.sort(weights[rows])[-len(listed)]
        return (
            shows(share, 100 * rows.size / surest.size)
            and shows(weight, 100 * own)
            and (value(n_rows), value(n_all)) == (rows.size, len(self.y))
        )

    def few(self, count: str) -> bool:
        return value(count) == len(self.y) < 100

    def relies(self, names: str, sizes: str) -> bool:
        found = self.it.explanation.importances
        listed, told = re.split(", | and ", names), re.findall(rf"({NUMBER}) ± ({NUMBER})", sizes)
        assert tuple(listed) == found.matters[: len(listed)]
        assert len(told) == len(listed)
        for name, (mean, error) in zip(listed, told, strict=True):
            place = found.columns.index(name)
            assert shows(mean, found.means[place]), (name, mean)
            assert shows(error, found.errors[place]), (name, error)
        return bool(listed)

    def named(self, _: str | None, cut: str, caught: str, label: str, *rest: str) -> bool:
        before_caught, right, _before_right, _measure, after, before = rest
        threshold = self.it.explanation.threshold
        assert shows(cut, threshold.value)
        assert value(caught) != value(before_caught) or value(after) != value(before)
        assert shows(right, 100 * threshold.right[1])
        likelier = self.of_item(threshold.method or self.chosen.name, label)
        return shows(before_caught, 100 * likelier) and value(after) > value(before)

    def of_item(self, name: str, label: str) -> float:
        """Share of the rows of a class that are named as such, over all repetitions."""
        item = next(item for item in self.it.candidates if item.name == name)
        return float(np.mean([(said.predictions == label)[self.y == label].mean() for said in item.repeats]))

    def unnamed(self, _label: str, measure: str, before: str, _after: str) -> bool:
        assert measure == "balanced accuracy"
        return shows(before, self.of_splits(self.chosen, balanced_accuracy_score).mean())

    def below(self, share: str | None, target: str) -> bool:
        own = 100 * np.mean([said.predictions < 0 for said in self.chosen.repeats])
        return self.y.min() >= 0 and own > 0 and (share is None or shows(share, own))

    def more(self, verdict: str, fewer: str, rows: str, mean: str, error: str) -> bool:
        curve = self.it.explanation.learning
        assert value(fewer) == curve.sizes[-2] < value(rows) == curve.sizes[-1]
        if verdict == "More rows would help":
            return value(mean) > 1.9 * value(error) - 0.011
        return verdict.startswith("Whether") or value(mean) + 2 * value(error) < 0.03
