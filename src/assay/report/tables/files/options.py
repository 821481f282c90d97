"""What the user says about how a table is to be read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.report.errors import ReportError
from assay.report.wording import suggestion


class Reading(NamedTuple):
    """What the user says about how a table is to be read; what is not said, the file tells.

    Attributes
    ----------
    skip : int or None
        Lines above the header.
    separator : str or None
        What parts the fields of a line of text.
    sheet : str or None
        Sheet of a workbook, by its name or its number from 1.
    categorical, numeric : tuple of str
        Columns to take for categories, whatever they look like, and for numbers.
    na : tuple of str
        Values that stand for a missing one, in every column, or "column=value" in one.
    """

    skip: int | None = None
    separator: str | None = None
    sheet: str | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    na: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any] | None) -> Reading:
        """What `_asdict` gave, after a file has held it."""
        values = {name: value for name, value in (kept or {}).items() if name in cls._fields}
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, (list, tuple))}
        return cls(**{**values, **lists})

    def unused(self, kind: str) -> tuple[str, ...]:
        """A sentence on what a file of some kind has no use for.

        Examples
        --------
        >>> Reading(sheet="2").unused("CSV")
        ('--sheet changes nothing: it is for workbooks.',)
        """
        skipped, separated, sheeted = (value is not None for value in (self.skip, self.separator, self.sheet))
        told = {
            "--skip changes nothing: it is for text and workbooks.": skipped and kind not in ("CSV", "Excel"),
            "--separator changes nothing: it is for text.": separated and kind != "CSV",
            "--sheet changes nothing: it is for workbooks.": sheeted and kind != "Excel",
        }
        return tuple(sentence for sentence, is_so in told.items() if is_so)

    def check(self, table: str, names: Sequence[str]) -> None:
        """Refuse a column that is not there, with the nearest that is."""
        of_na = [item.partition("=")[0] for item in self.na if re.fullmatch(r"\w[^=]*=[^=]*", item)]
        for name in (*self.categorical, *self.numeric, *of_na):
            if name not in names:
                raise ReportError(f"{table} has no column {name!r}.{suggestion(name, names)}")
        both = [name for name in self.categorical if name in self.numeric]
        if both:
            raise ReportError(
                f"Column {both[0]!r} is both categorical and numeric; leave out one of the two."
            )

    def missing_in(self, name: str, names: Sequence[str]) -> tuple[str, ...]:
        """The values that stand for a missing one in a column.

        Examples
        --------
        >>> Reading(na=("-999", "age=0")).missing_in("age", ["age", "size"])
        ('-999', '0')
        """
        marks = []
        for item in self.na:
            column, equals, value = item.partition("=")
            if equals and column in names:
                marks += [value] if column == name else []
            else:
                marks.append(item)
        return tuple(mark.strip() for mark in marks)
