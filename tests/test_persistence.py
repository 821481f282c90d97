"""Model files: what is saved comes back, what is damaged or strange is refused in one sentence."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import assay
from assay import load, persistence, save
from assay.certificates import Certificate, Certificates
from assay.cluster import KMeans
from assay.linear import LinearRegression, Ridge
from assay.persistence import ModelFileError, Seed


@pytest.fixture
def table(rng):
    X = rng.normal(size=(80, 3))
    return X, X @ [1.0, -2.0, 0.5] + rng.normal(size=80)


@pytest.fixture
def saved(tmp_path, table):
    """A saved model, and its file."""
    model, path = Ridge(alpha=0.5).fit(*table), tmp_path / "model.skops"
    save(model, path)
    return model, path


def contents(path):
    """Manifest and other entries of a model file."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(entries.pop("manifest.json")), entries


def rewrite(path, change):
    """Write a model file again, changed and with its checksum, as someone who knows the format would."""
    manifest, entries = change(*contents(path))
    persistence.write_archive(path, {"manifest.json": json.dumps(manifest).encode(), **entries})


def with_schema(change):
    """Change the skops schema of a model."""

    def changed(manifest, entries):
        schema = json.loads(entries["schema.json"])
        change(schema)
        return manifest, {**entries, "schema.json": json.dumps(schema).encode()}

    return changed


def repacked(path, entries, **options):
    """Write a zip of these entries."""
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def test_a_model_comes_back_as_it_was(saved, table):
    model, path = saved
    again = load(path)
    assert type(again) is Ridge
    assert again.get_params() == model.get_params()
    assert vars(again).keys() == vars(model).keys()
    np.testing.assert_array_equal(again.predict(table[0]), model.predict(table[0]))
    assert again.certificates_ == model.certificates_
    assert again.certificates_.holds
    assert len(again.certificates_) > 0


EARLIER = Path(__file__).parent / "reference" / "models"


@pytest.mark.parametrize("name", ["KMeans", "KernelRidge", "LogisticRegression"])
def test_a_model_saved_before_its_files_moved_comes_back(name, tmp_path):
    """See `reference/make_models.py`: the classes are named by files that are no more."""
    path = EARLIER / f"{name}.skops"
    manifest, _ = contents(path)
    room = manifest["class"].rpartition(".")[0]
    assert room.rpartition(".")[2].startswith("_")
    model, kept = load(path), persistence.about(path)
    assert f"{type(model).__module__}.{type(model).__name__}" == f"{room.rpartition('.')[0]}.{name}"
    assert model.certificates_.holds
    predictions = model.predict(np.array(kept["rows"]))
    if predictions.dtype.kind == "f":
        assert_allclose(predictions, kept["predictions"], rtol=1e-10)
    else:
        assert predictions.tolist() == kept["predictions"]
    save(model, tmp_path / "again.skops")
    assert contents(tmp_path / "again.skops")[0]["class"] == f"{room.rpartition('.')[0]}.{name}"


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("assay.linear._ridge.Ridge", "assay.linear.Ridge"),
        ("assay.linear.least_squares.gone.Ridge", "assay.linear.Ridge"),
        ("assay.linear.Ridge", "assay.linear.Ridge"),
        ("assay.linear._ridge.os", "assay.linear._ridge.os"),
        ("assay.persistence.gone.Path", "assay.persistence.gone.Path"),
        ("os.path.Ridge", "os.path.Ridge"),
        ("assay.report.tables.code_encoder.CodeEncoder", "assay.report.tables.CodeEncoder"),
        ("assay.report.tables.code_encoder.PlaceOfLevel", "assay.report.tables.PlaceOfLevel"),
        ("assay.report.trials.stacking.WeightedEnsemble", "assay.report.WeightedEnsemble"),
        ("assay.report.trials.target_transform.SmearedTarget", "assay.report.SmearedTarget"),
    ],
)
def test_only_classes_of_values_of_our_own_have_a_home(name, home):
    assert persistence.current_home(name) == home


def test_an_unfitted_model_comes_back(tmp_path):
    save(Ridge(alpha=3.0), tmp_path / "m")
    assert load(tmp_path / "m").alpha == 3.0


def test_a_pipeline_comes_back(tmp_path, table):
    X, y = table
    model = TransformedTargetRegressor(make_pipeline(StandardScaler(), Ridge()), transformer=StandardScaler())
    save(model.fit(X, y), tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.regressor_[-1].certificates_ == model.regressor_[-1].certificates_


def test_names_and_precision_come_back(tmp_path, table):
    import pandas as pd

    X = pd.DataFrame(table[0].astype(np.float32), columns=["a", "b", "c"])
    model = LinearRegression().fit(X, table[1].astype(np.float32))
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert again.feature_names_in_.dtype == model.feature_names_in_.dtype
    assert again.coef_.dtype == model.coef_.dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_certificates_of_every_kind_come_back(tmp_path):
    model = Ridge()
    model.certificates_ = Certificates(
        [
            Certificate("a", "b", 1.0, "<=", np.inf, assumptions=("c", "d"), source="e", trivial=2.0),
            Certificate("a", "b", np.float64(1.0), "==", 1.0, tolerance=0.5),
        ]
    )
    save(model, tmp_path / "m")
    again = load(tmp_path / "m").certificates_
    assert again == model.certificates_
    assert again[0].vacuous
    assert isinstance(again[0].assumptions, tuple)


@pytest.mark.parametrize(
    "random_state",
    [None, 3, np.random.default_rng(5), np.random.Generator(np.random.MT19937(2)), np.random.RandomState(4)],
)
def test_random_states_come_back_where_they_were(tmp_path, random_state):
    model = make_pipeline(StandardScaler(), Ridge())
    model[-1].random_state = random_state
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")[-1].random_state
    if random_state is None or isinstance(random_state, int):
        assert again == random_state
    else:
        assert type(again) is type(random_state)
        assert again.uniform() == random_state.uniform()


def test_seed_sequences_come_back_and_the_model_keeps_its_own(tmp_path):
    seed = np.random.SeedSequence([1, 2**70], spawn_key=(3,))
    seed.spawn(2)
    model = make_pipeline(StandardScaler(), Ridge())
    model[-1].random_state = seed
    save(model, tmp_path / "m")
    assert model[-1].random_state is seed
    again = load(tmp_path / "m")[-1].random_state
    assert isinstance(again, np.random.SeedSequence)
    assert again.state == seed.state
    assert isinstance(again, Seed)
    assert again.spawn(1)[0].generate_state(4).tolist() == seed.spawn(1)[0].generate_state(4).tolist()


def test_clusters_and_their_seed_come_back(tmp_path, table):
    X = table[0]
    model = KMeans(3, random_state=np.random.SeedSequence(11)).fit(X)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificates_ == model.certificates_
    np.testing.assert_array_equal(again.fit(X).cluster_centers_, model.cluster_centers_)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    attribute=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_plain_values_of_any_shape_come_back(tmp_path, attribute):
    model = Ridge()
    model.attribute_ = attribute
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").attribute_ == attribute


# Writing


def test_a_failed_save_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    model, path = saved
    before = path.read_bytes()

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_saving_again_replaces_the_file(saved):
    path = saved[1]
    save(Ridge(alpha=9.0), path)
    assert load(path).alpha == 9.0
    assert os.listdir(path.parent) == [path.name]


class Home(BaseEstimator):
    """An estimator of the user."""

    def fit(self, X, y=None):
        return self


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ({"alpha": 1}, "Only estimators can be saved. Got a dict instead"),
        (make_pipeline(Home(), Ridge()), r"The model holds .*Home, which could not be loaded again"),
        (FunctionTransformer(os.getcwd), r"The model holds .*getcwd, which could not be loaded again"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(tmp_path, model, sentence):
    with pytest.raises(ModelFileError, match=sentence):
        save(model, tmp_path / "m")
    assert not os.listdir(tmp_path)


def test_bad_places_are_one_sentence(tmp_path):
    with pytest.raises(ModelFileError, match="does not exist; make it before saving there"):
        save(Ridge(), tmp_path / "no" / "m")
    with pytest.raises(ModelFileError, match="is a folder; give the name of a file"):
        save(Ridge(), tmp_path)


# Reading


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(ModelFileError, match=r"There is no model file '.*absent'"):
        load(tmp_path / "absent")
    with pytest.raises(ModelFileError, match="There is no model file"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04\x95pickle", b"x" * 10_000])
def test_what_is_not_a_model_file_is_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"is not a model file: it was not written by assay.save"):
        load(tmp_path / "m")


def test_another_zip_is_not_a_model_file(tmp_path):
    skops.io.dump(Ridge(), tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"is not a model file: it was not written by assay.save"):
        load(tmp_path / "m")


@pytest.mark.parametrize("share", [0.05, 0.5, 0.97, 0.99])
def test_a_truncated_file_is_refused(saved, share):
    path = saved[1]
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match="is not a model file: it is truncated"):
        load(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_any_changed_byte_is_refused(saved, position, flip):
    path = saved[1]
    original = path.read_bytes()
    content = bytearray(original)
    content[int(position * len(content))] ^= flip
    path.write_bytes(content)
    try:
        with pytest.raises(ModelFileError):
            load(path)
        with pytest.raises(ModelFileError):
            assay.persistence.about(path)
    finally:
        path.write_bytes(original)


@pytest.mark.parametrize("added", [b"\0", b"0" * 64, b"PK\x05\x06"])
def test_bytes_after_the_end_are_refused(saved, added):
    path = saved[1]
    path.write_bytes(path.read_bytes() + added)
    with pytest.raises(ModelFileError, match=r"was changed after it was saved|is not a model file"):
        load(path)


def test_a_file_packed_anew_has_lost_its_checksum(saved):
    path = saved[1]
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    repacked(path, entries)
    with pytest.raises(ModelFileError, match=r"is not a model file: .* packed anew since"):
        load(path)


def test_skops_opens_the_file_as_well(saved, table):
    model, path = saved
    again = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    np.testing.assert_array_equal(again.predict(table[0]), model.predict(table[0]))


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        (
            {"format": 99, "assay": "7.0"},
            r"has format 99, newer than the format 4 .* saved by assay 7.0: upgrade",
        ),
        ({"format": "3"}, "has format 3, newer"),
        ({"class": "assay.linear.Gone"}, r"holds a assay.linear.Gone, which assay .* does not know"),
        ({"class": "assay.persistence.np"}, r"which assay .* does not know"),
        ({"class": "sklearn.linear_model._ridge.Ridge"}, "was changed after it was saved: it holds a assay"),
    ],
)
def test_a_manifest_of_another_world_is_refused(saved, manifest, sentence):
    path = saved[1]
    rewrite(path, lambda old, entries: ({**old, **manifest}, entries))
    with pytest.raises(ModelFileError, match=sentence):
        load(path)


@pytest.mark.parametrize("manifest", [[], {}, {"format": 1}, {"assay": "0", "class": "x"}, {"format": 3}])
def test_an_incomplete_manifest_is_refused(saved, manifest):
    path = saved[1]
    rewrite(path, lambda old, entries: (manifest, entries))
    with pytest.raises(ModelFileError, match="its manifest is incomplete"):
        load(path)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("subprocess", "Popen"),
        ("builtins", "eval"),
        ("assay.persistence", "os"),
        ("assay.persistence", "save"),
        ("assay.persistence", "Path"),
        ("assay.persistence", "BaseEstimator"),
        ("assay.cli", "main"),
        ("assay.report.tables.files.byte_streams", "LineReader"),
        ("assay.persistence", "ModelFileError"),
        ("assay.__main__", "main"),
        ("assay.linear", "Ridge.fit"),
        ("assaying", "Ridge"),
    ],
)
@pytest.mark.parametrize("loader", ["ConstructorFromReduceNode", "FunctionNode", "TypeNode", "ObjectNode"])
def test_a_hostile_payload_is_refused_by_name(saved, module, name, loader, monkeypatch):
    def poison(schema):
        attributes = schema["content"]["content"]
        node = {"__class__": name, "__module__": module, "__loader__": loader}
        if loader in ("ConstructorFromReduceNode", "ObjectNode"):
            node["content"] = attributes["alpha"]
        attributes["alpha"] = node

    path = saved[1]
    rewrite(path, with_schema(poison))
    with pytest.raises(ModelFileError, match=f"holds {module}.{name}, which is not known to be safe to load"):
        load(path)
    assert "assay.__main__" not in sys.modules


def test_without_skops_the_way_out_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'assay\[cli\]'"):
        save(Ridge(), tmp_path / "m")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'assay\[cli\]'"):
        assay.load(tmp_path / "m")


# Files of another version, and files made to harm


def test_a_parameter_of_a_later_version_is_named(saved):
    def later(manifest, entries):
        def add(schema):
            attributes = schema["content"]["content"]
            attributes["shrinkage"] = attributes["alpha"]
            types = schema["content"]["key_types"]["content"]
            types.append(types[0])

        return with_schema(add)({**manifest, "assay": "7.0"}, entries)

    path = saved[1]
    rewrite(path, later)
    with pytest.raises(
        ModelFileError, match=r"a Ridge with the parameter 'shrinkage', .* saved by assay 7\.0"
    ):
        load(path)


def test_a_parameter_that_an_older_version_lacked_has_its_default(saved, table):
    def older(manifest, entries):
        return with_schema(lambda schema: schema["content"]["content"].pop("history"))(
            {**manifest, "assay": "0.0.1"}, entries
        )

    model, path = saved
    rewrite(path, older)
    again = load(path)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(table[0]), model.predict(table[0]))


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


def test_a_pickle_by_another_name_is_refused_and_not_run(tmp_path):
    (tmp_path / "m").write_bytes(pickle.dumps(Payload(tmp_path / "trace")))
    with pytest.raises(ModelFileError, match=r"was not written by assay.save"):
        load(tmp_path / "m")
    assert not (tmp_path / "trace").exists()


def test_a_pickle_in_the_place_of_an_array_is_refused_and_not_run(saved, tmp_path):
    def poison(manifest, entries):
        hostile = pickle.dumps(Payload(tmp_path / "trace"))
        return manifest, {
            name: hostile if name.endswith(".npy") else content for name, content in entries.items()
        }

    path = saved[1]
    rewrite(path, poison)
    with pytest.raises(ModelFileError, match="cannot be read"):
        load(path)
    assert not (tmp_path / "trace").exists()


def test_an_array_of_pickled_objects_is_refused_and_not_run(saved, tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.array([Payload(tmp_path / "trace")], dtype=object), allow_pickle=True)

    def poison(manifest, entries):
        return manifest, {
            name: buffer.getvalue() if name.endswith(".npy") else content for name, content in entries.items()
        }

    path = saved[1]
    rewrite(path, poison)
    with pytest.raises(ModelFileError, match="cannot be read"):
        load(path)
    assert not (tmp_path / "trace").exists()


def test_a_call_hidden_in_the_schema_is_refused_and_not_run(saved, tmp_path):
    def poison(schema):
        attributes = schema["content"]["content"]
        argument = {
            "__class__": "str",
            "__module__": "builtins",
            "__loader__": "JsonNode",
            "content": json.dumps(str(tmp_path / "trace")),
            "is_json": True,
        }
        attributes["alpha"] = {
            "__class__": "mkdir",
            "__module__": "os",
            "__loader__": "ConstructorFromReduceNode",
            "content": {
                "__class__": "tuple",
                "__module__": "builtins",
                "__loader__": "TupleNode",
                "content": [argument],
            },
        }

    path = saved[1]
    rewrite(path, with_schema(poison))
    with pytest.raises(ModelFileError, match=r"holds os.mkdir, which is not known to be safe to load"):
        load(path)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("name", ["../../outside.npy", "/etc/passwd", "a/b.npy", "..", "a\\b"])
def test_an_entry_that_is_a_path_is_written_nowhere(saved, name):
    path = saved[1]
    rewrite(path, lambda manifest, entries: (manifest, {**entries, name: b"x"}))
    before = sorted(path.parent.parent.rglob("*"))
    load(path)
    assert sorted(path.parent.parent.rglob("*")) == before


def test_an_entry_that_is_added_is_refused(saved):
    path = saved[1]
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("schema.json", b"{}")
    with pytest.raises(ModelFileError, match=r"was changed after it was saved"):
        load(path)


def test_a_file_that_unpacks_to_more_than_it_may_is_refused_before_it_is_unpacked(saved, monkeypatch):
    path = saved[1]
    rewrite(path, lambda manifest, entries: (manifest, {**entries, "zeros.json": bytes(2**22)}))
    monkeypatch.setattr(persistence, "MAX_TEXT", 2**21)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(ModelFileError, match="would unpack to more than a model file holds"):
        load(path)


def test_an_entry_that_packs_more_than_it_declares_is_cut_at_what_it_declares(saved, monkeypatch):
    """The size in the directory is a lie: 100 bytes for a stream of 64 MiB."""
    path = saved[1]
    content = persistence._packed({"manifest.json": bytes(2**26)})[: -persistence.DIGITS]
    true, false = (2**26).to_bytes(4, "little"), (100).to_bytes(4, "little")
    assert content.count(true) == 2
    content = content.replace(true, false)
    path.write_bytes(content + persistence._digest(content))
    read, sizes = zipfile.ZipExtFile.read, []

    def watched(self, n=-1):
        piece = read(self, n)
        sizes.append(len(piece))
        return piece

    monkeypatch.setattr(zipfile.ZipExtFile, "read", watched)
    with pytest.raises(ModelFileError, match="is damaged"):
        load(path)
    assert sum(sizes) <= 2**20


def test_a_schema_nested_without_end_is_refused(saved):
    path = saved[1]
    deep = b"[" * 10**5 + b"]" * 10**5
    rewrite(path, lambda manifest, entries: (manifest, {**entries, "schema.json": deep}))
    with pytest.raises(ModelFileError, match="cannot be read"):
        load(path)


def test_a_file_without_a_model_is_refused(saved):
    path = saved[1]
    rewrite(path, lambda manifest, entries: (manifest, {}))
    with pytest.raises(ModelFileError, match="is damaged: it holds no model"):
        load(path)


# Disks and folders that fail


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


class FullFile:
    """A file on a disk that is full after a few bytes."""

    def __init__(self, place, mode):
        self._file = open_file(place, mode)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def write(self, content):
        self._file.write(content[:10])
        full()


open_file = open


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_draft(saved, monkeypatch, step):
    model, path = saved
    before = path.read_bytes()
    if step == "write":
        monkeypatch.setattr(persistence, "open", FullFile, raising=False)
    else:
        monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left on device"):
        save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_links_that_lead_in_a_circle_are_one_sentence(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ModelFileError, match=r"There is no model file|cannot be read"):
        load(tmp_path / "a")
    with pytest.raises(ModelFileError, match=r"does not exist|cannot be written to"):
        save(Ridge(), tmp_path / "a" / "m")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_saving_over_a_link_replaces_the_link(saved, tmp_path):
    model, path = saved
    before = path.read_bytes()
    (tmp_path / "link").symlink_to(path)
    save(model.set_params(alpha=7.0), tmp_path / "link")
    assert path.read_bytes() == before
    assert load(tmp_path / "link").alpha == 7.0


def test_what_the_system_does_not_let_read_is_one_sentence(saved, monkeypatch):
    def refuse(self):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(type(saved[1]), "read_bytes", refuse)
    with pytest.raises(ModelFileError, match="cannot be read: permission denied"):
        load(saved[1])
