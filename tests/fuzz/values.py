"""Values that a constructor parameter may be given by mistake or out of malice."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

MUCH = {"10**9": 10**9, "2**31": 2**31, "2**63 - 1": 2**63 - 1, "10**400": 10**400}
"""Numbers that ask for much where they count something: such a fit must refuse, end, or stop on Ctrl-C."""

VALUES: dict[str, Any] = {
    **MUCH,
    "-10**400": -(10**400),
    "Fraction(10**400)": Fraction(10**400),
    "Decimal('1e400')": Decimal("1e400"),
    "longdouble 1e4000": np.longdouble("1e4000"),
    "0": 0,
    "-1": -1,
    "1": 1,
    "2": 2,
    "0.5": 0.5,
    "1.0": 1.0,
    "-0.5": -0.5,
    "1e308": 1e308,
    "1e200": 1e200,
    "1e-200": 1e-200,
    "5e-324": 5e-324,
    "NaN": np.nan,
    "inf": np.inf,
    "-inf": -np.inf,
    "None": None,
    "True": True,
    "'no such option'": "no such option",
    "''": "",
    "b'bytes'": b"bytes",
    "[]": [],
    "()": (),
    "{}": {},
    "[nan]": [np.nan],
    "[1, 2]": [1, 2],
    "['a']": ["a"],
    "[[1.0, 2.0]]": [[1.0, 2.0]],
    "[10**400]": [10**400],
    "a ragged list": [[1.0], [1.0, 2.0]],
    "array of ones": np.ones(4),
    "array of NaN": np.full(4, np.nan),
    "array of 1e308": np.full(4, 1e308),
    "array of zeros": np.zeros((4, 4)),
    "array of text": np.array(["a", "b"]),
    "empty array": np.empty((0, 3)),
    "array of no dimension": np.array(3.0),
    "frame": pd.DataFrame({"a": [1.0, 2.0]}),
    "1j": 1j,
    "Fraction": Fraction(1, 3),
    "Decimal": Decimal("0.3"),
    "date": datetime.date(2020, 1, 1),
    "NaT": np.datetime64("NaT"),
    "float32 inf": np.float32(np.inf),
    "a function of anything": lambda *given, **named: None,
    "object()": object(),
}
