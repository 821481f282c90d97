"""What a reader must know of the data before the scores: a lopsided target, rows that are there twice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import skew

from assay.report.tables.associations import as_codes, sample, short, signed
from assay.report.tables.data import Data, Task

SKEWED = 1.0
"""A target of greater skewness, in size, is said to have a long tail."""

UNBALANCED = 3.0
"""Classes are told to be unbalanced when the commonest has so many times the rows of the rarest."""

FEWEST_FOR_SKEWNESS = 20
MANY_DOUBLES = 0.01
"""From this share of the rows on, doubles are warned about."""


class Doubles(NamedTuple):
    """Of the rows looked at, how many repeat an earlier one, and how many differ in the target alone."""

    n_rows: int
    n_repeating: int
    n_contradicting: int

    @property
    def matter(self) -> bool:
        """Whether they are more than a curiosity."""
        return max(self.n_repeating, self.n_contradicting) >= MANY_DOUBLES * self.n_rows


def target_remarks(data: Data, task: Task) -> tuple[str, ...]:
    """What must be known of the target: classes of unequal size, numbers with a long tail.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from assay.report import Data
    >>> from assay.report.page.data_remarks import target_remarks
    >>> frame = pd.DataFrame({"x": np.arange(20.0) ** 2})
    >>> data = Data.from_frame(frame, np.repeat(["no", "yes"], [18, 2]), target="churn")
    >>> target_remarks(data, "classification")[0]
    "The classes are of unequal size: 90 % of the rows are 'no', 10 % are 'yes'."
    """
    if data.y is None:
        return ()
    if task == "classification":
        counts = np.unique(data.y, return_counts=True)[1]
        if counts.max() < UNBALANCED * counts.min() or data.classes is None:
            return ()
        common, rare = int(np.argmax(counts)), int(np.argmin(counts))
        first, last = (share_of(int(counts[place]), len(data.y)) for place in (common, rare))
        names = [short(data.classes[place]) for place in (common, rare)]
        sizes = f"{first} of the rows are {names[0]!r}, {last} are {names[1]!r}"
        return (f"The classes are of unequal size: {sizes}.",)
    size = float(np.abs(data.y).max()) or 1.0
    lopsided = float(skew(data.y / size)) if len(data.y) >= FEWEST_FOR_SKEWNESS else 0.0
    if not abs(lopsided) > SKEWED:
        return ()
    side, few = ("right", "large") if lopsided > 0 else ("left", "small")
    advice = "; its logarithm may be easier to predict" if lopsided > 0 and data.y.min() > 0 else ""
    return (
        f"{short(str(data.target))} has a long tail to the {side} (skewness {signed(lopsided)}): a few {few} "
        f"values weigh most in the squared error{advice}.",
    )


def count_doubles(data: Data) -> Doubles:
    """Compare all rows, or those of a sample, by the columns that are learnt from and by the target."""
    frame, y = sample(data)
    key = np.zeros(len(frame), dtype=np.uint64)
    for place, name in enumerate(frame.columns):
        key = _mixed(key, as_codes(frame[name]))
        # Rows that differ already will not become equal: it is looked at after 1, 2, 4, 8, … columns.
        if place & (place + 1) == 0 and len(np.unique(key)) == len(frame):
            return Doubles(len(frame), 0, 0)
    n_distinct = len(np.unique(key))
    whole = key if y is None else _mixed(key, np.unique(y, return_inverse=True)[1])
    n_whole = len(np.unique(whole))
    return Doubles(len(frame), len(frame) - n_whole, n_whole - n_distinct)


def double_remarks(doubles: Doubles, data: Data, task: Task) -> tuple[str, ...]:
    """Sentences on rows that are there twice, and on those that contradict each other.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from assay.report import Data
    >>> from assay.report.page.data_remarks import count_doubles, double_remarks
    >>> frame = pd.DataFrame({"x": [1.0, 2.0, 2.0, 3.0], "y": [0.5, 0.5, 0.5, 0.1]})
    >>> data = Data.from_frame(frame)
    >>> double_remarks(count_doubles(data), data, "clustering")
    ('1 row repeats an earlier one in every column.',)
    """
    among = "" if doubles.n_rows == len(data.X) else f" of {counted(doubles.n_rows)} drawn at random"
    told = []
    if doubles.n_repeating:
        subject = "row repeats an earlier one" if doubles.n_repeating == 1 else "rows repeat earlier ones"
        ending = "." if data.y is None else ": a fold may predict a row from its double."
        told.append(f"{counted(doubles.n_repeating)} {subject}{among} in every column{ending}")
    if task == "classification" and doubles.n_contradicting:
        subject = f"row{among} has" if doubles.n_contradicting == 1 else f"rows{among} have"
        told.append(
            f"{counted(doubles.n_contradicting)} {subject} the values of a row of another class: no method "
            "can name them all right."
        )
    return tuple(told)


def _mixed(key: NDArray, codes: NDArray) -> NDArray:
    """The keys of rows made different where the codes are: a hash of 64 bits, column after column."""
    key = (key ^ (codes + 2).astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))


def counted(value: int) -> str:
    """A count with a thin gap between thousands."""
    return f"{value:,}".replace(",", "\u202f")


def share_of(part: int, whole: int) -> str:
    """A share in per cent, to the digits that matter.

    Examples
    --------
    >>> share_of(1, 3), share_of(1, 200), share_of(5, 100)
    ('33 %', '0.5 %', '5 %')
    """
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 10 or share == round(share) else f"{share:.2g} %"
