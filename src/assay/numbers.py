"""Numbers as one writes them, in sentences, tables and pictures alike."""

from __future__ import annotations

from collections.abc import Iterable

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def are_years(values: Iterable[float]) -> bool:
    """Whether numbers look like years, which have no separator: "1954", not "1,954".

    Examples
    --------
    >>> are_years([1890.0, 2022.0]), are_years([1890.5, 2022.0]), are_years([12.0, 1954.0])
    (True, False, False)
    """
    return all(1500 <= value <= 2100 and float(value).is_integer() for value in values)


def shown(value: float, digits: int = 4) -> str:
    """A number to some digits, as one writes it: "0.04757", "53.98", "201,000".

    Examples
    --------
    >>> shown(0.047571), shown(200912.3, 3), shown(-2.5), shown(1130.4, 3), shown(300.0, 2)
    ('0.04757', '201,000', '−2.5', '1,130', '300')
    >>> shown(4.6812e-9, 3), shown(-2e15)
    ('4.68 × 10⁻⁹', '−2 × 10¹⁵')
    """
    text = f"{value:.{digits}g}"
    if 1e3 <= abs(float(text)) < 1e12 or text.endswith(("e+02", "e+01")):
        text = f"{float(text):,.0f}"
    elif "e" in text:  # a power of ten, as one prints it
        digits_before, _, power = text.partition("e")
        text = f"{digits_before} × 10{str(int(power)).translate(RAISED)}"
    return text.replace("-", "−")
