"""A saved model behind a local page and a JSON endpoint, for a colleague to try.

The server listens on 127.0.0.1 alone and answers three requests: `GET /` (a page with a form), `GET /model`
(what the model is, as JSON) and `POST /predict` (rows in, predictions out). It reads no file that a request
names, runs no code that a request or a model file holds, and takes bodies up to a limit. Requests that
another site makes a browser send are refused: the host must be this one, and a body must say that it is JSON.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from assay.report.answers import Answerer
from assay.report.errors import ReportError, words_of
from assay.report.page.trial_form import form_page
from assay.report.prediction import open_fitted, require_prediction

HOST = "127.0.0.1"
MAX_BODY = 1 << 20
"""Bytes of a request."""

MAX_ROWS = 1000
"""Rows of a request."""

PATIENCE = 10.0
"""Seconds after which a connection that says nothing is closed."""

AT_ONCE = 4
"""Requests that are answered at the same time; others wait."""


class RefusedRequestError(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class ServedModel:
    """A saved model that answers about rows given as plain values.

    Parameters
    ----------
    path : path
        A file that `assay compare` or `assay fit` saved.
    interval : float or None, default=0.9
        Coverage of intervals, or of class sets; they are left out where the model has none.
    """

    def __init__(self, path: str | Path, *, interval: float | None = 0.9) -> None:
        self.model, self.about = open_fitted(path)
        require_prediction(self.model)
        self.interval = interval
        try:
            self.answer = Answerer.for_model(self.model, self.about, interval=interval)
        except ReportError:
            if interval is not None and not 0 < interval < 1:
                raise
            self.interval = None
            self.answer = Answerer.for_model(self.model, self.about)
        self.columns = [column for column in self.model[0].columns if column.learnable]

    @property
    def name(self) -> str:
        """Name of the method."""
        return str(self.about.get("method") or type(self.model[-1]).__name__)

    def describe(self) -> dict[str, Any]:
        """What the model is and which columns it needs."""
        values = self.about.get("typical") or {}
        columns = [
            {
                "name": column.name,
                "kind": column.kind,
                **({"levels": list(column.levels)} if column.levels else {}),
                "typical": values.get(column.name, ""),
            }
            for column in self.columns
        ]
        facts = {key: self.about.get(key) for key in ("task", "target", "table", "n_rows")}
        return {"method": self.name, **facts, "interval": self.interval, "columns": columns}

    def predict(self, rows: Any) -> dict[str, Any]:
        """Answers about rows, each an object of values by the names of the columns."""
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise ReportError(
                'The body must be {"rows": [{"column": value, ...}, ...]} with one row or more.'
            )
        if len(rows) > MAX_ROWS:
            raise RefusedRequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"At most {MAX_ROWS} rows at once; got {len(rows)}."
            )
        names = dict.fromkeys(column.name for column in self.columns)
        for row in rows:
            strange = [name for name in row if name not in names]
            if strange:
                raise ReportError(f"The model has no column {strange[0]!r}; it has {', '.join(names)}.")
            lacking = [name for name in names if name not in row]
            if lacking:
                raise ReportError(f"A row lacks the column {lacking[0]!r}; null stands for a missing value.")
            if not all(value is None or isinstance(value, str | int | float) for value in row.values()):
                raise ReportError("A value must be a number, a text, true, false or null.")
        frame = pd.DataFrame({name: _column([row[name] for row in rows]) for name in names})
        answers = self.answer(frame)
        unseen = self.model[0].unseen_levels(frame)
        notes = [f"{name}: {', '.join(levels)} was not seen by the fit." for name, levels in unseen.items()]
        return {"predictions": [_plain(row) for row in answers.to_dict("records")], "notes": notes}


def _column(values: list[Any]) -> pd.Series[Any]:
    """Values of one column: numbers where all are, else what was given."""
    present = [value for value in values if value is not None and value != ""]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return pd.Series([np.nan if value in (None, "") else float(value) for value in values], dtype=float)
    if not all(isinstance(value, bool) for value in present):  # true beside a number is no number
        values = [str(value) if isinstance(value, bool) else value for value in values]
    return pd.Series([None if value == "" else value for value in values], dtype=object)


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    """An answer as JSON can hold it; probabilities by class."""
    plain: dict[str, Any] = {}
    for name, value in row.items():
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        if name == "classes":
            value = str(value).split(" | ")
        mark = "probability of "
        if str(name).startswith(mark):
            plain.setdefault("probabilities", {})[str(name).removeprefix(mark)] = value
        else:
            plain[str(name)] = value
    return plain


class ModelServer(ThreadingHTTPServer):
    """The server of one model; `address` tells where it is.

    Parameters
    ----------
    served : ServedModel
    port : int, default=0
        0 for any that is free.

    Examples
    --------
    ::

        with ModelServer(ServedModel("model.skops")) as server:
            print(server.address)
            server.serve_forever()
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, served: ServedModel, port: int = 0) -> None:
        self.served, self.slots = served, threading.BoundedSemaphore(AT_ONCE)
        super().__init__((HOST, port), Handler)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_address[1]}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no event; anything else is told."""
        if not isinstance(sys.exception(), ConnectionError):
            logging.getLogger("assay").exception("A request was not answered.")


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: ModelServer
    timeout = PATIENCE
    server_version, sys_version = "assay", ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """The page, or what the model is."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Predictions."""
        self._answer(self._post)

    def _answer(self, respond: Any) -> None:
        with self.server.slots:
            try:
                self._check_origin()
                respond()
            except RefusedRequestError as error:
                self._send_json(error.status, {"error": str(error)})
            except ReportError as error:
                self._send_json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
            except TimeoutError:
                self.close_connection = True
            except (ValueError, ArithmeticError, MemoryError) as error:
                sentence = f"The rows cannot be predicted: {words_of(error)}."
                self._send_json(HTTPStatus.BAD_REQUEST, {"error": sentence})

    def _check_origin(self) -> None:
        """Refuse what another site makes a browser send, also under a name that it lets point here."""
        port = self.server.server_address[1]
        own = {f"{name}:{port}" for name in (HOST, "localhost")}
        origin = self.headers.get("Origin")
        if self.headers.get("Host") not in own or (origin and origin.removeprefix("http://") not in own):
            self.close_connection = True
            raise RefusedRequestError(HTTPStatus.FORBIDDEN, "This server answers to its own page alone.")

    def _get(self) -> None:
        if self.path == "/":
            nonce = secrets.token_urlsafe(16)
            page = form_page(self.server.served.model, self.server.served.describe(), nonce)
            policy = f"style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'"
            self._send(HTTPStatus.OK, page.encode(), "text/html; charset=utf-8", policy)
        elif self.path == "/model":
            self._send_json(HTTPStatus.OK, self.server.served.describe())
        else:
            raise RefusedRequestError(HTTPStatus.NOT_FOUND, "There are /, /model and /predict.")

    def _post(self) -> None:
        if self.path != "/predict":
            self.close_connection = True
            raise RefusedRequestError(HTTPStatus.NOT_FOUND, "Rows are sent to /predict.")
        body = self._body()
        try:
            sent = json.loads(body, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise ReportError("The body is no JSON.") from None
        rows = sent.get("rows") if isinstance(sent, dict) else None
        self._send_json(HTTPStatus.OK, self.server.served.predict(rows))

    def _body(self) -> bytes:
        """The body of a request, known to be JSON and short enough before it is read."""
        asked_to_close = self.close_connection
        self.close_connection = True  # until the body has been read, what follows is not a request
        if self.headers.get_content_type() != "application/json":
            raise RefusedRequestError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body must be JSON: Content-Type: application/json."
            )
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Transfer-Encoding") or not (length.isascii() and length.isdigit()):
            raise RefusedRequestError(HTTPStatus.LENGTH_REQUIRED, "The body must tell its length.")
        if len(length) > 12 or int(length) > MAX_BODY:
            raise RefusedRequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body may have {MAX_BODY:,} bytes at most."
            )
        body = self.rfile.read(int(length))
        self.close_connection = asked_to_close
        return body

    def _send_json(self, status: HTTPStatus, value: dict[str, Any]) -> None:
        body = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        self._send(status, body, "application/json; charset=utf-8")

    def _send(self, status: HTTPStatus, body: bytes, kind: str, policy: str = "") -> None:
        base = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": f"{base}; {policy}" if policy else base,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        if self.close_connection:
            headers["Connection"] = "close"
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not written anywhere."""


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON.")
