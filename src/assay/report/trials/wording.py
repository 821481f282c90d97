"""Numbers and lists as one writes them."""

from __future__ import annotations

import numpy as np

SHARES = {"explained", "noise", "coverage"}
"""Measures that are shown as per cent."""

OF_ORDER_ONE = {"balanced accuracy", "ROC AUC", "log-loss", "Brier score", "calibration error", "stability"}
"""Measures that lie near 0 and 1 whatever the table: three decimals tell all."""


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
        return f"{shown(value, 3)} ± {shown(error, 2)}"
    return f"{value:z.{decimals}f} ± {error:.{decimals}f}".replace("-", "−")


def shown(value: float, digits: int = 4) -> str:
    """A number to some digits, as one writes it: "0.04757", "53.98", "201,000".

    Examples
    --------
    >>> shown(0.047571), shown(200912.3, 3), shown(-2.5), shown(1130.4, 3), shown(300.0, 2)
    ('0.04757', '201,000', '−2.5', '1,130', '300')
    """
    text = f"{value:.{digits}g}"
    if 1e3 <= abs(float(text)) < 1e12 or text.endswith(("e+02", "e+01")):
        text = f"{float(text):,.0f}"
    return text.replace("-", "−")


FLOOR = -1000.0
BELOW = f"below {shown(FLOOR)}"
"""A score that is so low says no more by its digits."""


def shown_score(value: float, error: float, *, is_error: bool = False) -> str:
    """A score and its standard error; of a model that explodes, that it does.

    Examples
    --------
    >>> shown_score(0.48311, 0.0213), shown_score(-3.7e6, 2e6), shown_score(1130.4, 61.0, is_error=True)
    ('0.48 ± 0.02', 'below −1,000', '1,130 ± 61')
    """
    return plus_minus(value, error) if is_error or value >= FLOOR else BELOW


def shown_difference(value: float) -> str:
    """A difference with its sign.

    Examples
    --------
    >>> shown_difference(-0.0123), shown_difference(1130.4)
    ('−0.012', '+1,130')
    """
    if abs(value) < 100:
        return f"{value:+z.3f}".replace("-", "−")
    return f"{'+' if value > 0 else '−'}{shown(abs(value), 3)}"


def shown_measure(name: str, value: float) -> str:
    """A measure as one writes it.

    Examples
    --------
    >>> shown_measure("explained", 0.47521), shown_measure("stability", 1.0), shown_measure("RMSE", 54.5712)
    ('47.5%', '1.000', '54.57')
    """
    if name in SHARES:
        return f"{value:.1%}"
    return f"{value:.3f}" if name in OF_ORDER_ONE else shown(value)


def capital(words: str) -> str:
    """Words as they begin a sentence or head a column."""
    return words[:1].upper() + words[1:]


def joined(words: list[str]) -> str:
    """Words as one lists them: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
