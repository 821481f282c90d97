"""Comparing clusterers: the right groups, honest words where there are none, one line per method."""

from __future__ import annotations

import copy
import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.datasets import make_moons

import assay
from assay.certificates import Certificate, Certificates
from assay.cluster import AgglomerativeClustering, KMeans, KMedoids
from assay.distances import distance_matrix
from assay.report import Data, ReportError, compare, describe_columns, render
from assay.report.page.groups import groups_of, numbers_of_groups
from assay.report.page.model_pictures import of_clusters
from assay.report.tables.encoding.encoder import ClusterEncoder
from assay.report.trials import engine
from assay.report.trials.clusters import comparison as clusterings
from assay.report.trials.clusters import trial
from assay.report.trials.clusters.comparison import strength_of
from assay.report.trials.clusters.repeating import repeated, told_by_columns
from assay.report.trials.clusters.trial import measure
from assay.report.trials.roster import entries

NAMES = {
    "AgglomerativeClustering",
    "BisectingKMeans",
    "HDBSCAN",
    "KMeans",
    "KMedoids",
    "SpectralClustering",
}


def table(X, **options) -> Data:
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X).add_prefix("x")
    return Data.from_frame(frame, name="made", **options)


def by_name(comparison):
    return {candidate.name: candidate for candidate in comparison.candidates}


def words(comparison) -> str:
    return " ".join(comparison.remarks)


@pytest.fixture(scope="module")
def four_groups():
    rng = np.random.default_rng(5)
    truth = np.repeat(np.arange(4), 15)
    X = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])[truth] + rng.normal(size=(60, 2))
    return truth, compare(table(X))


@pytest.fixture(scope="module")
def moons():
    X, truth = make_moons(200, noise=0.05, random_state=1)
    return truth, compare(table(X))


@pytest.fixture(scope="module")
def noise():
    X = np.random.default_rng(3).normal(size=(120, 2))
    return compare(table(X))


def test_every_method_finds_separate_groups(four_groups):
    truth, comparison = four_groups
    found = by_name(comparison)
    assert set(found) == {"Baseline", *(entry.name for entry in entries() if entry.task == "clustering")}
    assert set(found) >= NAMES
    for candidate in comparison.clusterings:
        assert candidate.n_groups == candidate.measures["groups"] == 4
        assert metrics.adjusted_rand_score(truth, candidate.predictions) == 1.0
        assert candidate.measures["stability"] > 0.9
        assert candidate.certificates.holds
    assert comparison.headline.startswith("made falls best into 4 groups: silhouette 0.8")
    assert "strong structure" in words(comparison)
    assert "They have 15, 15, 15 and 15 rows." in comparison.remarks
    assert comparison.gap.best == comparison.eigengap.best == 4


def test_clusters_of_us_arrests(clustering):
    assert clustering.headline == "No clear groups in us_arrests: the best split, into 2, has silhouette 0.41"
    assert "tables without groups, whose columns have the same tails" in words(clustering)
    assert clustering.best.name == clustering.recommended.name == "KMeans"
    assert clustering.recommended.parameters == {"n_clusters": 2}
    scan = clustering.recommended.scan
    assert scan.values == tuple(range(2, 9))
    assert np.all(np.diff(scan.curve("explained")) > 0)
    assert "The groups of KMeans explain 48% of the variance of the columns." in clustering.remarks
    assert "Calinski–Harabasz says 2" in words(clustering)


def test_scores_are_those_of_scikit_learn_on_the_encoded_rows(clustering):
    for candidate in clustering.clusterings:
        if candidate.n_groups < 2:
            continue
        Z = candidate.model[:-1].transform(clustering.data.X)
        expected = metrics.silhouette_samples(Z, candidate.predictions)
        np.testing.assert_allclose(candidate.scores, expected, atol=1e-9)
        assert candidate.score == pytest.approx(expected.mean())
        assert candidate.standard_error == pytest.approx(expected.std(ddof=1) / np.sqrt(50))


def test_a_scan_measures_every_number_of_groups(clustering):
    kmeans = by_name(clustering)["KMeans"]
    Z = kmeans.model[:-1].transform(clustering.data.X)
    for value, found in zip(kmeans.scan.values, kmeans.scan.partitions, strict=True):
        again = KMeans(value, n_init=10, random_state=0).fit(Z)
        assert found.n_groups == value
        assert found.silhouette == pytest.approx(metrics.silhouette_score(Z, again.labels_))
        assert found.calinski_harabasz == pytest.approx(metrics.calinski_harabasz_score(Z, again.labels_))
        assert found.davies_bouldin == pytest.approx(metrics.davies_bouldin_score(Z, again.labels_))
        assert found.explained == pytest.approx(again.anova_.explained)
    assert kmeans.scan.place == int(np.argmax(kmeans.scan.curve("silhouette")))
    best_ratio = int(np.argmax(kmeans.scan.curve("calinski_harabasz")))
    least_overlap = int(np.argmin(kmeans.scan.curve("davies_bouldin")))
    assert kmeans.scan.choice_of("calinski_harabasz") == kmeans.scan.values[best_ratio]
    assert kmeans.scan.choice_of("davies_bouldin") == kmeans.scan.values[least_overlap]


@pytest.mark.parametrize(("name", "place"), [("KMeans", 0), ("HDBSCAN", -1)])
def test_of_equal_silhouettes_the_fewest_groups_are_chosen(four_groups, monkeypatch, name, place):
    def level(encoded, labels):
        item, scores, widths = measure(encoded, labels)
        return item._replace(silhouette=0.4), scores, widths

    monkeypatch.setattr(trial, "measure", level)
    entry = next(entry for entry in entries() if entry.name == name)
    scan = trial.choose_partition(entry, trial.encode(four_groups[1].data, 0), 0).scan
    assert len(scan.values) > 1
    assert scan.values[scan.place] == scan.values[place]


def test_there_is_one_line_a_method_and_a_single_group_to_beat(clustering):
    names = [candidate.name for candidate in clustering.candidates]
    assert len(names) == len(set(names))
    scores = [candidate.score for candidate in clustering.candidates]
    assert scores == sorted(scores, reverse=True)
    baseline = by_name(clustering)["Baseline"]
    assert baseline.is_baseline
    assert (baseline.score, baseline.measures["groups"], baseline.measures["explained"]) == (0.0, 1.0, 0.0)
    assert not baseline.scores.any()
    assert "0 by convention" in baseline.summary
    assert not clustering.recommended.is_baseline


def test_noise_is_called_noise(noise):
    assert noise.gap.best == 1
    assert noise.recommended.score > 0.25  # a plane cut into pieces has silhouettes that look like groups
    assert noise.headline.startswith("No clear groups in made: the best split, into ")
    assert "rows drawn without any groups are split about as well" in words(noise)
    assert not noise.is_clear


def test_weak_silhouettes_are_no_groups_whatever_the_gap_says(rng):
    comparison = compare(table(rng.normal(size=(80, 8))), methods=("KMeans",))
    doubtful = dataclasses.replace(comparison, gap=None)
    assert doubtful.recommended.score < 0.25
    assert doubtful.headline.startswith("No clear groups in made")
    assert "speaks of no substantial structure" in words(doubtful)


def test_bent_groups_are_found_by_density_and_the_silhouette_is_said_not_to_see_them(moons):
    truth, comparison = moons
    found = by_name(comparison)
    assert metrics.adjusted_rand_score(truth, found["HDBSCAN"].predictions) > 0.95
    assert metrics.adjusted_rand_score(truth, found["KMeans"].predictions) < 0.6
    assert found["KMeans"].score > found["HDBSCAN"].score + 0.05
    assert "The silhouette favours round groups" in words(comparison)
    assert "HDBSCAN finds 2 other groups, and finds them again in half of the rows" in words(comparison)


def test_rows_in_no_group_count_zero_and_are_said(rng):
    blobs = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 12])
    X = np.vstack([blobs, rng.uniform(-25, 40, size=(12, 2))])
    comparison = compare(table(X), methods=("HDBSCAN",))
    found = comparison.recommended
    left_out = found.predictions == -1
    assert 8 <= left_out.sum() == found.n_noise <= 14
    assert found.measures["noise"] == left_out.mean()
    Z = found.model[:-1].transform(comparison.data.X)
    inside = metrics.silhouette_samples(Z[~left_out], found.predictions[~left_out])
    assert found.score == pytest.approx(inside.sum() / len(X))
    assert not found.scores[left_out].any()
    within = sum(
        ((Z[found.predictions == group] - Z[found.predictions == group].mean(axis=0)) ** 2).sum()
        for group in (0, 1)
    )
    unexplained = (within + ((Z[left_out] - Z.mean(axis=0)) ** 2).sum()) / ((Z - Z.mean(axis=0)) ** 2).sum()
    assert found.measures["explained"] == pytest.approx(1 - unexplained)
    share = f"HDBSCAN leaves {found.n_noise} rows ({left_out.mean():.0%}) in no group"
    assert share in words(comparison)
    captions = [part.caption for part in of_clusters(comparison, found)]
    assert any("Grey marks are in no group" in caption for caption in captions)
    assert '<th scope="row">none</th>' in groups_of(comparison, found)


def test_a_method_that_finds_no_groups_says_so(rng):
    comparison = compare(table(rng.normal(size=(60, 6))), methods=("HDBSCAN",))
    assert comparison.headline == "No clear groups in made: HDBSCAN finds none"
    assert comparison.recommended.score == 0.0
    assert "stability" not in comparison.recommended.measures
    assert "HDBSCAN finds none" in render(comparison)


def test_the_simplest_method_within_the_noise_of_the_rows_is_recommended(four_groups):
    _, comparison = four_groups
    chosen = comparison.recommended
    assert chosen.name == "KMeans"
    loss = comparison.against_best(chosen)
    assert loss.mean <= max(loss.standard_error, 0.0)
    ahead = dataclasses.replace(
        by_name(comparison)["HDBSCAN"], scores=chosen.scores + 0.2, score=chosen.score + 0.2
    )
    others = tuple(item for item in comparison.candidates if item.name != "HDBSCAN")
    clearly = dataclasses.replace(comparison, candidates=(ahead, *others))
    assert clearly.recommended.name == "HDBSCAN"
    wobble = np.tile([1.0, -0.98], 30)  # a mean of 0.01 with a standard error of 0.13
    ahead = dataclasses.replace(ahead, scores=chosen.scores + wobble, score=chosen.score + 0.01)
    hardly = dataclasses.replace(comparison, candidates=(ahead, *others))
    assert hardly.recommended.name == "KMeans"
    assert "HDBSCAN scores 0.01 ± 0.13 more, which is within the noise of the rows" in words(hardly)


def test_a_method_whose_certificates_fail_is_passed_over(four_groups):
    _, comparison = four_groups
    broken = Certificates([Certificate("The claim is broken.", "gap", 2.0, "<=", 1.0)])
    wobble = np.resize([1.02, -1.0], len(comparison.best.scores))  # a mean of 0.01 with a larger error
    candidates = tuple(
        dataclasses.replace(item, certificates=broken, score=item.score + 0.01, scores=item.scores + wobble)
        if item.name == "KMeans"
        else item
        for item in comparison.candidates
    )
    damaged = dataclasses.replace(comparison, candidates=candidates)
    assert damaged.best.name == "KMeans"
    assert damaged.recommended.certificates.holds
    told = next(text for text in damaged.remarks if "certificates do not all hold" in text)
    assert re.fullmatch(r"KMeans scores 0\.01\d? ± [\d.]+ more, but its certificates do not all hold\.", told)


def test_methods_of_the_same_silhouette_score_the_same(four_groups):
    """Not "less than 0.001 more" where there is no more at all."""
    _, comparison = four_groups
    model, rest = comparison.clusterings[0], comparison.clusterings[1:]
    heavy = dataclasses.replace(model, name="Heavy", complexity=9)
    tied = dataclasses.replace(comparison, candidates=(heavy, model, *rest, comparison.baseline))
    assert (tied.best.name, tied.recommended.name) == ("Heavy", model.name)
    assert f"Heavy scores the same; {model.name} is the simplest method that close." in tied.remarks


def test_the_agreement_of_methods_is_measured_and_told(clustering):
    found = clustering.clusterings
    agreement = clustering.agreement
    np.testing.assert_allclose(np.diag(agreement), 1.0)
    np.testing.assert_allclose(agreement, agreement.T, atol=1e-12)
    places = {item.name: place for place, item in enumerate(found)}
    one, other = by_name(clustering)["KMeans"], by_name(clustering)["AgglomerativeClustering"]
    expected = metrics.adjusted_rand_score(one.predictions, other.predictions)
    assert agreement[places["KMeans"], places["AgglomerativeClustering"]] == pytest.approx(expected)
    share = metrics.rand_score(one.predictions, other.predictions)
    assert f"AgglomerativeClustering {share:.0%}" in words(clustering)


def test_stability_tells_firm_groups_from_chance(four_groups, rng):
    _, comparison = four_groups
    assert by_name(comparison)["KMeans"].measures["stability"] == 1.0
    chance = compare(table(rng.normal(size=(80, 5))), methods=("KMeans",))
    assert chance.best.measures["stability"] < 0.7


def test_methods_are_chosen_and_excluded_by_name(rng):
    X = np.vstack([rng.normal(size=(15, 2)), rng.normal(size=(15, 2)) + 8])
    chosen = compare(table(X), methods=("kmeans", "KMedoids"))
    assert set(by_name(chosen)) == {"Baseline", "KMeans", "KMedoids"}
    others = ("HDBSCAN", "SpectralClustering", "AgglomerativeClustering", "BisectingKMeans")
    left = compare(table(X), exclude=others)
    assert set(by_name(left)) == {"Baseline", "KMeans", "KMedoids"}
    with pytest.raises(
        ReportError, match=r"There is no method 'Ridge' for clustering\. There are Agglo.*KMe"
    ):
        compare(table(X), methods=("Ridge",))
    with pytest.raises(ReportError, match="No method for clustering is left to try"):
        compare(table(X), methods=("KMeans",), exclude=("KMeans",))


def test_a_spent_budget_reports_what_was_done(rng, monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(engine, "monotonic", lambda: float(next(clock)))
    data = table(np.vstack([rng.normal(size=(15, 2)), rng.normal(size=(15, 2)) + 8]))
    events = []
    comparison = compare(data, budget=8.5, methods=("KMedoids", "KMeans"), progress=events.append)
    assert set(by_name(comparison)) == {"Baseline", "KMeans"}  # the simplest is tried first
    assert comparison.skipped == (
        "KMedoids was left out: the 8.5 s of --budget were spent.",
        "There was no time left for the gap statistic, the eigengap and tables without groups to compare "
        "with: the 8.5 s of --budget were spent.",
    )
    assert comparison.gap is comparison.eigengap is None
    assert events[-1][:2] == ("KMedoids", "left out")
    assert "falls best into 2 groups" in comparison.headline
    with pytest.raises(ReportError, match="No model could be fitted: KMeans was left out"):
        compare(data, budget=0.5, methods=("KMeans",))


def test_an_interruption_keeps_what_is_finished(rng, monkeypatch):
    def stop(self, *rest, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(AgglomerativeClustering, "fit", stop)
    data = table(np.vstack([rng.normal(size=(15, 2)), rng.normal(size=(15, 2)) + 8]))
    comparison = compare(data, methods=("KMeans", "AgglomerativeClustering", "HDBSCAN"))
    assert set(by_name(comparison)) == {"Baseline", "KMeans"}
    assert comparison.skipped == ("Interrupted before the end: AgglomerativeClustering, HDBSCAN left out.",)
    assert comparison.gap is comparison.eigengap is None
    with pytest.raises(KeyboardInterrupt):
        compare(data, methods=("AgglomerativeClustering",))
    monkeypatch.setattr(clusterings, "select_number", stop)
    late = compare(data, methods=("KMeans",))
    assert late.gap is late.eigengap is None
    assert late.headline.startswith("made falls best into 2 groups")


@pytest.mark.parametrize("kind", [ValueError, MemoryError, np.linalg.LinAlgError])
def test_a_method_that_fails_is_left_out_with_a_sentence(kind, rng, monkeypatch):
    def fail(self, *rest, **options):
        raise kind("It cannot be.")

    monkeypatch.setattr(KMedoids, "fit", fail)
    data = table(np.vstack([rng.normal(size=(15, 2)), rng.normal(size=(15, 2)) + 8]))
    comparison = compare(data, methods=("KMeans", "KMedoids"))
    assert set(by_name(comparison)) == {"Baseline", "KMeans"}
    assert comparison.skipped == ("KMedoids was left out: its fit failed (It cannot be).",)


def test_large_tables_leave_methods_of_all_pairs_out_and_sample_the_silhouette(rng):
    X = np.vstack([rng.normal(size=(2600, 2)), rng.normal(size=(2600, 2)) + 8])
    comparison = compare(table(X), exclude=("HDBSCAN", "AgglomerativeClustering"))
    assert set(by_name(comparison)) == {"Baseline", "KMeans", "BisectingKMeans"}
    assert {sentence.partition(" ")[0] for sentence in comparison.skipped} == {
        "KMedoids",
        "SpectralClustering",
    }
    assert comparison.skipped[0].endswith("--methods KMedoids tries it all the same.")
    assert all(candidate.scores.size == 2000 for candidate in comparison.candidates)
    assert comparison.recommended.n_groups == 2


def test_rows_that_repeat_make_groups():
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 5.0], [4.0, 1.0]]), 4, axis=0)
    comparison = compare(table(X))
    for candidate in comparison.clusterings:
        if candidate.scan.parameter == "n_clusters":
            assert candidate.scan.values == (2, 3)
    assert comparison.headline == "made falls best into 3 groups: silhouette 1.00"
    assert sorted(np.bincount(comparison.recommended.predictions)) == [4, 4, 4]
    with pytest.raises(ReportError, match="made has 2 distinct rows; groups need at least 3"):
        compare(table(X[:8]))


def test_few_rows_limit_the_number_of_groups():
    X = np.array([[0.0, 0.0], [1.0, 5.0], [4.0, 1.0], [4.0, 2.0]])
    comparison = compare(table(X))
    assert by_name(comparison)["KMeans"].scan.values == (2, 3)
    assert len(comparison.clusterings) == len(NAMES)
    assert not comparison.skipped


def test_words_dates_and_missing_values_are_grouped_with_numbers(rng):
    n = 60
    town = np.repeat(["Lyon", "Nice"], n // 2)
    north = (town == "Lyon").astype(float)
    frame = pd.DataFrame(
        {
            "town": town,
            "age": np.where(rng.uniform(size=n) < 0.1, np.nan, 30 + 30 * north + rng.normal(size=n)),
            "height": 150 + 40 * north + rng.normal(size=n),
            "since": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 40, n) + 900 * north, "D"),
        }
    )
    frame.loc[3, "town"] = None
    comparison = compare(table(frame), methods=("KMeans", "AgglomerativeClustering"))
    assert comparison.headline.startswith("made falls best into 2 groups")
    assert metrics.adjusted_rand_score(town, comparison.recommended.predictions) == 1.0
    described = groups_of(comparison, comparison.recommended)
    height = comparison.data.X.loc[comparison.recommended.predictions == 0, "height"].mean()
    assert "Lyon" in described
    assert f"{height:.4g}" in described


def gower(frame, weights):
    """Gower's distances by their definition, a column at a time."""
    total = np.zeros((len(frame), len(frame)))
    for name, weight in weights.items():
        values = frame[name].to_numpy()
        one, other = values[:, None], values[None, :]
        unlike = np.abs(one - other) if values.dtype.kind == "f" else (one != other).astype(float)
        total += weight * unlike / unlike[~np.eye(len(frame), dtype=bool)].mean()
    return total


def test_distances_of_mixed_tables_are_gowers_with_words_that_count_half(rng):
    n = 60
    frame = pd.DataFrame({"age": rng.gamma(2, 9, n), "height": rng.normal(170, 9, n)})
    frame["town"] = rng.choice(["Lyon", "Nice", "Brest"], n)
    frame["member"] = np.where(np.arange(n) % 2 == 0, "yes", "no")
    encoder = ClusterEncoder(describe_columns(frame)).fit(frame)
    Z = encoder.transform(frame)
    assert encoder.metric_ == "cityblock"
    found = metrics.pairwise.manhattan_distances(Z)
    expected = gower(frame, {"age": 1.0, "height": 1.0, "town": 0.5, "member": 0.5})
    np.testing.assert_allclose(found, expected, rtol=0.03, atol=1e-12)  # pairs without and with a row itself
    numbers = frame[["age", "height"]]
    plain = ClusterEncoder(describe_columns(numbers)).fit(numbers)
    assert plain.metric_ == "euclidean"
    np.testing.assert_allclose(plain.transform(numbers).std(axis=0), 1.0)
    dated = frame.assign(day=pd.date_range("2024-01-01", periods=n, freq="9D"))
    encoder = ClusterEncoder(describe_columns(dated)).fit(dated)
    days = encoder.transform(dated)[:, encoder.groups()[-1]]  # four features that count as one column
    assert metrics.pairwise.manhattan_distances(days).sum() / (n * (n - 1)) == pytest.approx(1.0)


def test_a_rare_level_is_no_farther_away_than_a_common_one_and_a_missing_one_is_in_between():
    frame = pd.DataFrame(
        {"rare": ["Lyon"] * 49 + ["Nice"], "even": ["a", "b"] * 25, "x": np.arange(50.0) ** 2}
    )
    encoder = ClusterEncoder(describe_columns(frame)).fit(frame)
    Z = dict(zip(encoder.feature_names_out_, encoder.transform(frame).T, strict=True))
    for name in ("rare = Nice", "rare = Lyon", "even = a", "even = b"):
        assert np.ptp(Z[name]) == pytest.approx(0.5)  # twice that between two levels: 1
    gaps = frame.assign(even=["a", "b", None, "b", "a"] * 10, x=frame["x"].where(frame.index % 7 > 0))
    encoder = ClusterEncoder(describe_columns(gaps)).fit(gaps)
    assert encoder.feature_names_out_ == ["rare = Lyon", "rare = Nice", "even = a", "even = b", "x"]
    Z = encoder.transform(gaps)[:, 2:4]
    distances = [np.abs(Z[2] - Z[row]).sum() for row in (0, 1)]
    np.testing.assert_allclose(distances, 0.5)
    np.testing.assert_allclose(np.abs(Z[0] - Z[1]).sum(), 1.0)


@pytest.fixture(scope="module")
def penguins():
    """Three species with measures of their own, two sexes, and islands where they live."""
    rng = np.random.default_rng(1)
    sizes, means = (
        [150, 70, 120],
        np.array([[39, 18.3, 190, 3700], [49, 18.4, 196, 3730], [47.5, 15, 217, 5080]]),
    )
    species = np.repeat([0, 1, 2], sizes)
    male = rng.random(len(species)) < 0.5
    X = means[species] + np.array([2.3, 0.9, 6.0, 320]) * rng.normal(size=(len(species), 4))
    X += np.where(male, 1, -1)[:, None] * [1.5, 0.7, 3.5, 330]
    frame = pd.DataFrame(X, columns=["bill length", "bill depth", "flipper", "mass"])
    frame["island"] = np.where(species == 1, "Dream", np.where(species == 2, "Biscoe", "Torgersen"))
    somewhere = rng.choice(["Dream", "Biscoe", "Torgersen"], len(species))
    frame.loc[species == 0, "island"] = somewhere[species == 0]
    frame["sex"] = np.where(male, "male", "female")
    frame.loc[::40, "sex"] = None
    return species, frame, compare(table(frame))


def test_words_do_not_make_the_groups_of_penguins(penguins):
    species, frame, comparison = penguins
    assert comparison.recommended.n_groups == 2
    assert comparison.is_clear
    assert metrics.adjusted_rand_score(species == 2, comparison.recommended.predictions) > 0.95
    both = frame["island"] + frame["sex"].fillna("")
    for candidate in comparison.clusterings:
        assert metrics.adjusted_rand_score(both, candidate.predictions) < 0.5
    assert "Distances are Gower's" in words(comparison)
    assert "merely repeat" not in words(comparison) + comparison.headline
    assert f"of {strength_of(comparison.recommended.score)} structure" in words(comparison)


def test_the_page_tells_how_rows_are_compared(penguins, clustering):
    mixed, plain = render(penguins[2]), render(clustering)
    assert "Rows are compared by Gower&#x27;s distance" in mixed
    assert "The gap statistic compares" not in mixed
    assert "best of 19 tables without groups" in mixed
    assert "centred and scaled to standard deviation 1" in plain
    assert "Gower" not in plain
    assert "2 apart" not in plain + mixed


def test_scores_of_mixed_tables_are_silhouettes_of_gowers_distances(penguins):
    _, _, comparison = penguins
    for candidate in comparison.clusterings:
        if candidate.n_noise or candidate.n_groups < 2:
            continue
        Z = candidate.model[:-1].transform(comparison.data.X)
        expected = metrics.silhouette_samples(Z, candidate.predictions, metric="cityblock")
        np.testing.assert_allclose(candidate.scores, expected, atol=1e-9)
        if hasattr(candidate.model[-1], "metric"):
            assert candidate.model[-1].metric == "cityblock"


def test_distances_of_the_measured_rows_are_made_once_for_every_method(rng, monkeypatch):
    made = []

    def counted(X, *rest, **options):
        made.append(len(X))
        return distance_matrix(X, *rest, **options)

    monkeypatch.setattr("assay.report.trials.clusters.trial.distance_matrix", counted)
    frame = pd.DataFrame(rng.normal(size=(70, 3)), columns=["a", "b", "c"])
    found = compare(Data.from_frame(frame), methods=("KMeans", "KMedoids", "AgglomerativeClustering"))
    assert made.count(70) == 1
    for item in found.clusterings:
        Z = item.model[0].transform(frame)
        assert item.score == pytest.approx(metrics.silhouette_score(Z, item.predictions), abs=1e-10)
        assert item.widths.metric == "euclidean"


@pytest.mark.parametrize("seed", range(3))
def test_independent_numbers_and_words_are_no_groups(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=150), "sex": rng.choice(["m", "f"], 150)})
    comparison = compare(table(frame), methods=("KMeans",))
    assert comparison.recommended.score > 0.25  # a line cut into pieces has silhouettes that look like groups
    assert comparison.headline.startswith("No clear groups in made")
    assert "tables without groups, whose columns have the same tails" in words(comparison)


def test_groups_that_repeat_a_column_are_said_to(rng):
    n = 120
    sex, town = np.arange(n) % 2, np.arange(n) // 2 % 3
    frame = pd.DataFrame(
        {"sex": np.array(["f", "m"])[sex], "town": np.array(["Lyon", "Nice", "Brest"])[town]}
    )
    frame["income"] = rng.normal(size=n)
    data = table(frame)
    assert repeated(data, sex) == "'sex'"
    assert repeated(data, 3 * sex + town) == "the combinations of 'sex' and 'town'"
    assert repeated(data, rng.integers(0, 2, n)) == ""
    assert repeated(data, np.where(np.arange(n) < 9, -1, town)) == "'town'"  # rows in no group do not count
    (told,) = told_by_columns(data, np.where(town == 0, 3 + (frame["income"] > 0), town))
    assert told == "Each group has one value only of 'town'."
    (told,) = told_by_columns(data, (frame["income"] > 0).to_numpy().astype(int))
    assert told == "The groups are ranges of 'income': that column alone tells the group of 100% of the rows."
    rich = (frame["income"] > 0).to_numpy()
    assert told_by_columns(data, np.where(np.arange(n) % 20 == 0, ~rich, rich).astype(int)) == ()  # 95 %
    assert told_by_columns(data, rng.integers(0, 3, n)) == ()
    assert told_by_columns(data, np.zeros(n, dtype=int)) == ()


def test_the_headline_says_when_groups_merely_repeat_a_column(rng):
    kind = np.repeat(["a", "b"], 40)
    frame = pd.DataFrame({"kind": kind, "x": 20.0 * (kind == "b") + rng.normal(size=80)})
    frame["y"] = 5 - frame["x"] + rng.normal(size=80)
    comparison = compare(table(frame), methods=("KMeans",))
    assert comparison.headline.startswith("made falls best into 2 groups: silhouette 0.")
    assert comparison.headline.endswith(", but they merely repeat 'kind'")
    assert "The groups merely repeat 'kind': they say hardly more than that." in comparison.remarks


def test_the_page_shows_how_the_groups_were_chosen_and_what_they_are(clustering):
    page = render(clustering)
    for caption in (
        "The rows in the plane that shows most of their spread",
        "One bar per row",
        "Silhouette, by which the number of groups is chosen",
        "Which groups were joined",  # AgglomerativeClustering
        "How the rows were split",  # BisectingKMeans
        "Groups of rows as the density that is asked for grows",  # HDBSCAN
        "Least eigenvalues of the Laplacian",  # SpectralClustering
        "Whether there is more than one group",  # Baseline
        "How many groups? What each criterion chooses",
        "Do the methods agree? Adjusted Rand index of their groups",
        "The gap statistic of k-means, which can also say that there is one group, chooses 2",
        "The rows that stand for their groups: ",  # KMedoids
    ):
        assert caption in page, caption
    assert len(page) < 1_500_000


def test_criteria_that_all_choose_the_same_number_share_a_sentence(clustering):
    assert "<table" in numbers_of_groups(clustering)  # they do not agree here

    scan = SimpleNamespace(choice_of=lambda criterion: 3)
    alike = [SimpleNamespace(name=name, scan=scan) for name in ("One", "Other")]
    text = numbers_of_groups(SimpleNamespace(clusterings=alike, gap=None, eigengap=None))
    assert "<table" not in text
    assert "Silhouette, Calinski–Harabasz and Davies–Bouldin choose 3 for each of the 2 methods." in text


def test_restarts_are_shown_where_they_differ_and_not_where_they_agree(clustering):
    k_means = next(item for item in clustering.clusterings if item.name == "KMeans")
    assert "restarts" not in {part.name for part in of_clusters(clustering, k_means)}
    model = copy.deepcopy(k_means.model)
    model[-1].restart_inertias_ = np.array([105.0, 120.0, 105.0])
    found = dataclasses.replace(k_means, model=model)
    assert "restarts" in {part.name for part in of_clusters(clustering, found)}


def test_the_model_says_where_it_would_place_rows_elsewhere(clustering):
    for candidate in clustering.clusterings:
        again = np.asarray(candidate.model.predict(clustering.data.X))
        moved = int(np.count_nonzero(again != candidate.predictions))
        told = [note for note in candidate.notes if note.startswith("Asked about the rows")]
        assert len(told) == (moved > 0)
        assert all(f"places {moved} of 50 elsewhere" in note for note in told)


def test_every_model_is_saved_and_comes_back(clustering, tmp_path):
    for candidate in clustering.clusterings:
        assay.save(candidate.model, tmp_path / "model.skops")
        again = assay.load(tmp_path / "model.skops")
        np.testing.assert_array_equal(
            again.predict(clustering.data.X), candidate.model.predict(clustering.data.X)
        )


def test_same_seed_same_groups(rng):
    data = table(rng.normal(size=(40, 3)))
    options = {"seed": 7, "methods": ("KMeans", "SpectralClustering", "HDBSCAN")}
    one, other = (compare(data, **options) for _ in range(2))
    for first, second in zip(one.candidates, other.candidates, strict=True):
        assert first.name == second.name
        assert first.measures == second.measures
        np.testing.assert_array_equal(first.predictions, second.predictions)
    assert one.headline == other.headline
