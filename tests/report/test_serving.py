"""The server of a model: right answers, and nothing but those."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from html import escape

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import assay
from assay.certificates import Certificates
from assay.cluster import AgglomerativeClustering
from assay.report import (
    BothEncoder,
    CodeEncoder,
    ReportError,
    TableEncoder,
    choose_data,
    fit_table,
    read_table,
)
from assay.report.page.trial_form import form_page
from assay.report.results import about_fit
from assay.report.serving import MAX_BODY, MAX_ROWS, ModelServer, ServedModel

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    place = tmp_path_factory.mktemp("served")
    n = 150
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(1),
            "town": rng.choice(["Lyon", 'Nice "sud"'], n),
            "size": rng.choice(["small", "large"], n),
            "member": rng.choice(["yes", "no"], n),
            "day": pd.date_range("2024-01-01", periods=n).astype(str),
        }
    )
    frame["spend"] = 2 * frame["age"] + rng.normal(size=n)
    frame["kind"] = np.where(frame["age"] + 5 * rng.normal(size=n) > 40, "old", "young")
    frame.to_csv(place / "table.csv", index=False)
    options = {"drop": ["kind"], "target": "spend"}
    fit_table("Lasso", place / "table.csv", output=place / "number.skops", **options)
    options = {"drop": ["spend"], "target": "kind"}
    fit_table("LogisticRegression", place / "table.csv", output=place / "class.skops", **options)
    return place


@pytest.fixture(scope="module", params=["number", "class"])
def served(request, folder):
    return running(ServedModel(folder / f"{request.param}.skops"), request)


@pytest.fixture(scope="module")
def number(request, folder):
    return running(ServedModel(folder / "number.skops"), request)


def running(model, request):
    """A server of the model in a thread, on a port that is free, until the tests of the module end."""
    server = ModelServer(model, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()

    def end():
        server.shutdown()
        server.server_close()
        thread.join()

    request.addfinalizer(end)
    return server


def ask(server, method, path, body=None, headers=()):
    connection = http.client.HTTPConnection(*server.server_address, timeout=60)
    try:
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return response.status, response.read(), response.headers
    finally:
        connection.close()


def send(server, value, headers=JSON):
    body = value if isinstance(value, bytes | str) else json.dumps(value)
    status, answer, _ = ask(server, "POST", "/predict", body, headers)
    return status, json.loads(answer)


def rows_of(server, folder, n=5):
    frame = pd.read_csv(folder / "table.csv").head(n)
    names = [column.name for column in server.served.columns]
    return frame, json.loads(frame[names].to_json(orient="records"))


def test_predictions_are_those_of_the_model(served, folder):
    frame, rows = rows_of(served, folder)
    status, answer = send(served, {"rows": rows})
    assert status == 200
    model = assay.load(
        folder / ("class.skops" if served.served.about["target"] == "kind" else "number.skops")
    )
    told = [item["prediction"] for item in answer["predictions"]]
    if served.served.about["target"] == "kind":
        assert told == model.predict(frame).tolist()
        shares = [item["probabilities"]["old"] for item in answer["predictions"]]
        assert_allclose(shares, model.predict_proba(frame)[:, 0])
        assert all(item["prediction"] in item["classes"] for item in answer["predictions"])
    else:
        assert_allclose(told, model.predict(frame))
        assert all(item["lower"] < item["prediction"] < item["upper"] for item in answer["predictions"])
    assert answer["notes"] == []


def test_the_page_has_a_field_for_each_column_and_needs_nothing_else(served):
    status, body, headers = ask(served, "GET", "/")
    page = body.decode()
    assert status == 200
    for column in served.served.columns:
        assert f'name="{column.name}"' in page
    assert "Nice &quot;sud&quot;" in page
    assert 'value="large"' in page
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    nonce = policy.partition("script-src 'nonce-")[2].partition("'")[0]
    assert f'<script nonce="{nonce}">' in page
    assert "http://" not in page
    assert "https://" not in page


@pytest.mark.parametrize("encoder", [TableEncoder, CodeEncoder, BothEncoder])
def test_the_form_has_typical_values_however_the_model_takes_the_columns(folder, encoder):
    """Trees take columns with their gaps, ensembles of trees and lines in both ways."""
    data = choose_data(read_table(folder / "table.csv"), target="spend", drop=("kind",))
    told = about_fit(data, "regression", "any", Certificates())
    columns = [{"name": name, "typical": value} for name, value in told["typical"].items()]
    about = {key: told[key] for key in ("method", "target", "task", "table", "n_rows")}
    model = [encoder(data.columns).fit(data.X)]
    page = form_page(model, {**about, "interval": 0.9, "columns": columns}, "once")
    frame = data.X
    assert f'name="age" value="{frame["age"].median():.6g}"' in page
    for name in ("town", "size"):
        assert f'value="{escape(frame[name].mode()[0])}" selected' in page
    assert f'name="day" value="{pd.to_datetime(frame["day"]).median():%Y-%m-%d}"' in page
    commonest = "yes" if (frame["member"].astype(str).isin(["yes", "True"])).mean() >= 0.5 else "no"
    assert f'value="{commonest}" selected' in page


def test_the_model_is_told(number):
    status, body, _ = ask(number, "GET", "/model")
    told = json.loads(body)
    assert status == 200
    assert (told["method"], told["task"], told["target"], told["n_rows"]) == (
        "Lasso",
        "regression",
        "spend",
        150,
    )
    kinds = {column["name"]: column["kind"] for column in told["columns"]}
    assert kinds == {
        "age": "numeric",
        "town": "categorical",
        "size": "ordinal",
        "member": "boolean",
        "day": "date",
    }


def test_missing_values_and_new_levels_are_taken_as_in_a_table(number, folder):
    frame, rows = rows_of(number, folder, 2)
    rows[0]["age"] = None
    rows[1]["town"] = "Brest"
    status, answer = send(number, {"rows": rows})
    assert status == 200
    assert answer["notes"] == ["town: Brest was not seen by the fit."]
    model = assay.load(folder / "number.skops")
    expected = model.predict(frame.assign(age=[np.nan, frame["age"][1]], town=[frame["town"][0], "Brest"]))
    assert_allclose([item["prediction"] for item in answer["predictions"]], expected)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"{", "no JSON"),
        (b'{"rows": [{"age": NaN}]}', "no JSON"),
        (b"[" * 5000 + b"]" * 5000, "no JSON"),
        (b"\xff\xfe", "no JSON"),
        ({"rows": []}, "one row or more"),
        ({"rows": "x"}, "one row or more"),
        ([1], "one row or more"),
        ({"rows": [{"age": 3}]}, "lacks the column 'town'"),
        ({"rows": [{"colour": 3}]}, "no column 'colour'"),
    ],
)
def test_a_body_that_asks_nothing_is_a_sentence(number, body, sentence):
    status, answer = send(number, body)
    assert status == 400
    assert sentence in answer["error"]


def test_a_day_may_be_written_without_hyphens_as_in_the_table_of_the_fit(number, folder):
    _, rows = rows_of(number, folder, 1)
    answers = [
        send(number, {"rows": [{**rows[0], "day": day}]}) for day in ("2024-02-01", "20240201", 20240201)
    ]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0] == 200


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("age", "many", "must hold numbers. Got 'many'"),
        ("age", True, "must hold numbers. Got 'True'"),
        ("age", [1], "must be a number"),
        ("day", "soon", "must hold dates. Got 'soon'"),
        ("day", 1706745600, "must hold dates. Got '1706745600'"),  # no seconds since 1970
        ("day", True, "must hold dates"),
    ],
)
def test_a_value_of_another_kind_is_a_sentence(number, folder, column, value, sentence):
    _, rows = rows_of(number, folder, 2)
    status, answer = send(number, {"rows": [{**rows[0], column: value}]})
    assert status == 400
    assert sentence in answer["error"]
    if column == "age":  # beside a number, too
        status, answer = send(number, {"rows": [rows[1], {**rows[0], column: value}]})
        assert status == 400
        assert sentence in answer["error"]


@pytest.mark.parametrize("value", [None, "", " "])
def test_a_date_may_be_missing(number, folder, value):
    _, rows = rows_of(number, folder, 1)
    status, _ = send(number, {"rows": [{**rows[0], "day": value}]})
    assert status == 200


def test_too_much_is_refused_before_it_is_read(number, folder):
    _, rows = rows_of(number, folder, 1)
    status, answer = send(number, {"rows": rows * (MAX_ROWS + 1)})
    assert status == 413
    assert f"At most {MAX_ROWS} rows" in answer["error"]
    # The server answers to the length alone: not a byte of the body is sent.
    connection = http.client.HTTPConnection(*number.server_address, timeout=60)
    connection.putrequest("POST", "/predict")
    for name, value in {**JSON, "Content-Length": str(MAX_BODY + 1)}.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({**JSON, "Host": "evil.example"}, 403),
        ({**JSON, "Origin": "http://evil.example"}, 403),
        ({**JSON, "Content-Length": "-5"}, 411),
        ({**JSON, "Transfer-Encoding": "chunked"}, 411),
    ],
)
def test_what_another_site_could_send_is_refused(number, headers, status):
    assert send(number, b"{}", headers)[0] == status


def test_its_own_page_may_ask(number, folder):
    port = number.server_address[1]
    _, rows = rows_of(number, folder, 1)
    for name in ("127.0.0.1", "localhost"):
        own = {**JSON, "Host": f"{name}:{port}", "Origin": f"http://{name}:{port}"}
        assert send(number, {"rows": rows}, own)[0] == 200


@pytest.mark.parametrize("path", ["/etc/passwd", "/../model.skops", "/model.skops", "/predict", "/?x=1"])
def test_no_file_is_served(number, path):
    status, body, _ = ask(number, "GET", path)
    assert status == 404
    assert "There are /, /model and /predict" in json.loads(body)["error"]


def test_other_methods_are_not_known(number):
    assert ask(number, "PUT", "/predict")[0] == 501
    assert ask(number, "POST", "/", b"{}", JSON)[0] == 404


def test_only_this_machine_can_reach_it(number):
    assert number.server_address[0] == "127.0.0.1"
    assert number.address == f"http://127.0.0.1:{number.server_address[1]}/"


def test_several_requests_on_one_connection(number, folder):
    _, rows = rows_of(number, folder, 1)
    connection = http.client.HTTPConnection(*number.server_address, timeout=60)
    for _ in range(3):
        connection.request("POST", "/predict", json.dumps({"rows": rows}), JSON)
        response = connection.getresponse()
        assert response.status == 200
        response.read()
    connection.close()


@pytest.mark.parametrize("protocol", ["HTTP/1.1\r\nConnection: close", "HTTP/1.0"])
def test_a_client_that_asks_for_one_answer_is_not_kept_waiting(number, folder, protocol):
    """The end of the connection, for which some clients wait, follows the answer at once."""
    _, rows = rows_of(number, folder, 1)
    body = json.dumps({"rows": rows}).encode()
    head = f"Host: 127.0.0.1:{number.server_address[1]}\r\nContent-Type: application/json"
    with socket.create_connection(number.server_address, timeout=60) as client:
        asked = f"POST /predict {protocol}\r\n{head}\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(asked.encode() + body)
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
    head, _, _ = answer.partition(b"\r\n\r\n")
    assert b" 200 " in head
    assert b"\r\nConnection: close" in head


def test_a_model_that_cannot_be_served_is_a_sentence(tmp_path, folder):
    assay.save(AgglomerativeClustering(2).fit(np.arange(6.0)[:, None]), tmp_path / "bare.skops")
    with pytest.raises(ReportError, match="not saved by assay compare or assay fit"):
        ServedModel(tmp_path / "bare.skops")
    grouped = fit_table("BlockBiclustering", "us_arrests", output=tmp_path / "groups.skops").path
    with pytest.raises(ReportError, match="predicts no others"):
        ServedModel(grouped)
    with pytest.raises(ReportError, match="between 0 and 1"):
        ServedModel(folder / "number.skops", interval=2.0)


def test_a_clustering_that_predicts_is_served(tmp_path):
    served = ServedModel(
        fit_table("KMeans", "us_arrests", output=tmp_path / "k.skops", parameters={"n_clusters": 2}).path
    )
    row = {column.name: 100.0 for column in served.columns}
    answer = served.predict([row])
    assert answer["predictions"][0]["prediction"] in (0, 1)
    assert served.interval is None
