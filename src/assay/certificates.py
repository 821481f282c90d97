"""Certificates: what a fit claims about itself, measured, and able to fail.

A `Certificate` compares one measured `value` with one `bound`. It knows under which assumptions the claim is
a theorem and where the theorem stands. `Certificates` is the sequence of them that a fitted model carries as
`certificates_`.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat, TypeAlias, TypedDict, Unpack, overload

import numpy as np

if TYPE_CHECKING:
    import pandas

Relation = Literal["<=", ">=", "=="]
Number: TypeAlias = SupportsFloat

SYMBOLS: Mapping[str, str] = {"<=": "≤", ">=": "≥", "==": "="}


class CertificateError(ValueError):
    """Raised by `Certificates.require` when a certificate does not hold."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """One claim about a fit, with the numbers that decide it.

    Parameters
    ----------
    claim : str
        The claim as a sentence.
    quantity : str
        Name of the measured quantity, e.g. "relative duality gap".
    value : float
        What was measured on this fit.
    relation : {"<=", ">=", "=="}
        How the value must stand to the bound.
    bound : float
        What the value is compared with.
    assumptions : tuple of str
        Hypotheses under which the claim is a theorem; empty when it is a plain measurement.
    source : str
        Course and section, or paper.
    trivial : float, optional
        The bound anyone knows without the theorem; a bound no better than it is `vacuous`.
    tolerance : float, default=0.0
        Absolute room for rounding, needed by "==".
    informative : bool, default=False
        Whether the claim is a theorem that holds for any fit, good or bad: worth reading, but no evidence for
        this one. It is shown as a "bound" and is not counted among the certificates that hold.

    Examples
    --------
    >>> from assay.certificates import Certificate
    >>> gap = Certificate("The objective is within 1e-6 of the minimum.", "relative duality gap",
    ...                   value=3e-9, relation="<=", bound=1e-6)
    >>> gap.holds, gap.slack
    (True, 9.97e-07)
    """

    claim: str
    quantity: str
    value: float
    relation: Relation
    bound: float
    assumptions: tuple[str, ...] = ()
    source: str = ""
    trivial: float | None = None
    tolerance: float = 0.0
    informative: bool = False

    def __getstate__(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]

    def __setstate__(self, state: Sequence[Any]) -> None:
        """Take the fields in order; those that a file from before their time lacks have their defaults."""
        known = fields(self)
        values = [*state, *(field.default for field in known[len(state) :])]
        for field, value in zip(known, values, strict=True):
            object.__setattr__(self, field.name, value)

    @property
    def slack(self) -> float:
        """Room left before the claim fails; negative when it has failed."""
        if self.relation == "<=":
            return self.bound - self.value
        if self.relation == ">=":
            return self.value - self.bound
        return -abs(self.value - self.bound)

    @property
    def holds(self) -> bool:
        """Whether the measured value respects the bound; false for NaN."""
        if self.relation != "==" and self.value == self.bound:  # also when both are infinite
            return True
        return bool(self.slack >= -self.tolerance)

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than what is known without the theorem."""
        if self.trivial is None:
            return False
        return bool(self.bound <= self.trivial if self.relation == ">=" else self.bound >= self.trivial)

    @property
    def verdict(self) -> str:
        """One word: "holds", "fails", "vacuous", or "bound" for a theorem that holds for any fit."""
        if not self.holds:
            return "fails"
        if self.vacuous:
            return "vacuous"
        return "bound" if self.informative else "holds"

    def to_dict(self) -> dict[str, Any]:
        """The fields and the verdict, ready for JSON (non-finite numbers as strings)."""
        verdict = {"holds": self.holds, "slack": self.slack, "vacuous": self.vacuous}
        return {name: _json_value(value) for name, value in (asdict(self) | verdict).items()}

    @property
    def compared(self) -> tuple[str, str, str]:
        """Value, symbol and bound as they are printed."""
        return f"{self.value:.3g}", SYMBOLS[self.relation], f"{self.bound:.3g}"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.quantity} = {' '.join(self.compared)}  ({self.claim})"


class Details(TypedDict, total=False):
    """What the short constructors take beside claim, numbers and source; see `Certificate`."""

    assumptions: tuple[str, ...]
    trivial: float | None
    tolerance: float
    informative: bool


def at_most(
    claim: str, quantity: str, value: Number, bound: Number, source: str = "", **details: Unpack[Details]
) -> Certificate:
    """The certificate that a value is at most a bound."""
    return Certificate(claim, quantity, float(value), "<=", float(bound), source=source, **details)


def at_least(
    claim: str, quantity: str, value: Number, bound: Number, source: str = "", **details: Unpack[Details]
) -> Certificate:
    """The certificate that a value is at least a bound; see `at_most`."""
    return Certificate(claim, quantity, float(value), ">=", float(bound), source=source, **details)


def equal(
    claim: str, quantity: str, value: Number, bound: Number, source: str = "", **details: Unpack[Details]
) -> Certificate:
    """The certificate that a value is a bound, up to an absolute tolerance; see `at_most`."""
    return Certificate(claim, quantity, float(value), "==", float(bound), source=source, **details)


def agreement(
    claim: str, pairs: Mapping[str, tuple[Any, Any]], source: str = "", *, rtol: float = 1e-6
) -> Certificate:
    """The certificate that stored numbers are what the data give again.

    Parameters
    ----------
    claim, source : str
        As in `Certificate`.
    pairs : mapping
        Name → stored and recomputed array, or None on both sides.
    rtol : float
        How far an entry may be from the recomputed one, relative to the largest of its array.

    Returns
    -------
    certificate : Certificate
        Its value is the largest deviation of all pairs. A wrong shape does not hold; infinities and NaN must
        be in the same places.

    Examples
    --------
    >>> from assay.certificates import agreement
    >>> agreement("The mean is that of the rows.", {"mean": ([1.0, 2.02], [1.0, 2.0])}).holds
    False
    """
    deviations = [_deviation(stored, fresh) for stored, fresh in pairs.values()]
    worst = max(deviations, default=0.0)
    return at_most(claim, f"largest deviation of {', '.join(pairs)}", worst, rtol, source)


def _deviation(stored: Any, fresh: Any) -> float:
    if stored is fresh or stored is None or fresh is None:
        return 0.0 if stored is fresh else math.inf
    first, second = np.asarray(stored, dtype=float), np.asarray(fresh, dtype=float)
    if first.shape != second.shape:
        return math.inf
    finite = np.isfinite(second)
    if not (finite.all() or np.array_equal(first[~finite], second[~finite], equal_nan=True)):
        return math.inf
    first, second = (first, second) if finite.all() else (first[finite], second[finite])
    if not np.isfinite(first).all():
        return math.inf
    scale = np.abs(second).max(initial=0.0)
    # Divided before the difference is taken: neither overflows, and zeros are compared as they are.
    return float(np.abs(first / (scale or 1.0) - second / (scale or 1.0)).max(initial=0.0))


class Certificates(Sequence[Certificate]):
    """The certificates of one fit, in order.

    Prints as a table, shows as HTML in notebooks, exports to JSON and to a pandas frame. Every certificate
    must hold for `holds` to be true; `require()` raises and names those that do not. `decisive` leaves out
    the theorems that hold for any fit.

    Examples
    --------
    >>> from assay.certificates import Certificate, Certificates
    >>> proof = Certificates([Certificate("The trace never rises.", "largest rise", 0.0, "<=", 0.0)])
    >>> proof.holds
    True
    >>> print(proof)
    verdict  quantity      value     bound  claim
    holds    largest rise      0  ≤      0  The trace never rises.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[Certificate] = ()) -> None:
        self._items = tuple(items)

    @overload
    def __getitem__(self, index: int) -> Certificate: ...
    @overload
    def __getitem__(self, index: slice) -> Certificates: ...
    def __getitem__(self, index: int | slice) -> Certificate | Certificates:
        return Certificates(self._items[index]) if isinstance(index, slice) else self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Certificate]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificates) and self._items == other._items

    def __hash__(self) -> int:
        return hash(self._items)

    def __getstate__(self) -> dict[str, Any]:
        return {"items": self._items}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self._items = tuple(state["items"])

    def __reduce__(self) -> tuple[Any, ...]:
        return (Certificates, (self._items,))

    @property
    def holds(self) -> bool:
        """Whether every certificate holds."""
        return all(item.holds for item in self._items)

    @property
    def decisive(self) -> Certificates:
        """Those that a worse fit would have failed: what is counted."""
        return Certificates(item for item in self._items if not item.informative)

    @property
    def failed(self) -> Certificates:
        """Those that do not hold."""
        return Certificates(item for item in self._items if not item.holds)

    def named(self, quantity: str) -> Certificate:
        """Return the certificate of a quantity.

        Raises
        ------
        KeyError
            If no certificate measures it.
        """
        for item in self._items:
            if item.quantity == quantity:
                return item
        known = ", ".join(repr(item.quantity) for item in self._items)
        raise KeyError(f"No certificate measures {quantity!r}; there are {known}.")

    def require(self) -> Certificates:
        """Return self if every certificate holds, else raise `CertificateError` naming what failed."""
        if not self.holds:
            raise CertificateError("; ".join(str(item) for item in self.failed))
        return self

    def to_json(self, **options: Any) -> str:
        """The certificates as a JSON list."""
        return json.dumps([item.to_dict() for item in self._items], ensure_ascii=False, **options)

    @classmethod
    def from_json(cls, text: str) -> Certificates:
        """Read back what `to_json` wrote."""
        kinds: dict[str, Any] = dict.fromkeys(("value", "bound", "trivial", "tolerance"), float)
        kinds["assumptions"] = tuple

        def read(name: str, value: Any) -> Any:
            return value if value is None or name not in kinds else kinds[name](value)

        names = [field.name for field in fields(Certificate)]
        return cls(
            Certificate(**{name: read(name, item[name]) for name in names if name in item})
            for item in json.loads(text)
        )

    def to_frame(self) -> pandas.DataFrame:
        """The certificates as a pandas frame, one row each."""
        import pandas as pd

        return pd.DataFrame([item.to_dict() for item in self._items])

    def __str__(self) -> str:
        header = ("verdict", "quantity", "value", "", "bound", "claim")
        rows = [(item.verdict, item.quantity, *item.compared, item.claim) for item in self._items]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        line = "  ".join(f"{{:{side}{width}}}" for side, width in zip("<<><><", widths, strict=True))
        return "\n".join(line.format(*row).rstrip() for row in [header, *rows])

    def __repr__(self) -> str:
        return f"Certificates({len(self)} claims, holds={self.holds})\n{self}" if self else "Certificates([])"

    def to_html(self, *, collapsible: bool = False) -> str:
        """The certificates as an HTML table that is readable on light and on dark pages.

        Parameters
        ----------
        collapsible : bool, default=False
            Whether the table stands in a fold below its verdict, open when a certificate fails.

        Returns
        -------
        html : str
            Everything in it that comes from the fit is escaped.
        """
        body = "".join(f"<tr>{_html_cells(item)}</tr>" for item in self._items)
        names = ("verdict", "quantity", "measured", "claim", "assumptions", "source")
        head = "".join(f'<th style="{CELL};font-weight:600">{name}</th>' for name in names)
        table = (
            '<table class="certificates" style="border-collapse:collapse;color:inherit;background:none">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )
        if not collapsible:
            return table
        failed = len(self.failed)
        verdict = "fails" if failed else "holds"
        words = f"{failed} of {len(self)} {'fails' if failed == 1 else 'fail'}"
        if not failed:
            words = "all hold" if len(self.decisive) > 1 else "holds"
            vacuous = sum(item.vacuous for item in self._items)
            words += f", {vacuous} vacuous" if vacuous else ""
        return (
            f'<details class="certificates"{" open" if failed else ""} '
            'style="margin:0.6em 0;font-family:sans-serif;font-size:0.9em">'
            f'<summary style="cursor:pointer">Certificates {_badge(verdict, words)}</summary>'
            f'<div style="overflow-x:auto;margin-top:0.4em">{table}</div></details>'
        )

    def _repr_html_(self) -> str:
        return self.to_html()


COLORS: Mapping[str, str] = {"holds": "#1a7f37", "fails": "#cf222e", "vacuous": "#8a5d00", "bound": "#57606a"}
"""Backgrounds of the verdicts: white letters are readable on each, on a light and on a dark page."""

CELL = "text-align:left;vertical-align:top;padding:0.25em 0.7em;border-bottom:1px solid rgba(128,128,128,.35)"


def _badge(verdict: str, words: str) -> str:
    style = "color:#fff;font-weight:600;padding:0.05em 0.55em;border-radius:0.8em;white-space:nowrap"
    return f'<span class="{verdict}" style="background:{COLORS[verdict]};{style}">{html.escape(words)}</span>'


def _html_cells(item: Certificate) -> str:
    measured = f'<span style="white-space:nowrap">{" ".join(item.compared)}</span>'
    words = map(html.escape, (item.claim, "; ".join(item.assumptions), item.source))
    cells = (_badge(item.verdict, item.verdict), html.escape(item.quantity), measured, *words)
    return "".join(f'<td style="{CELL}">{cell}</td>' for cell in cells)


def _json_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if not isinstance(value, Real) or isinstance(value, bool):
        return value
    return float(value) if math.isfinite(value) else str(float(value))
