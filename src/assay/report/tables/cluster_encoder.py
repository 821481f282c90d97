"""The columns of a table as numbers between which distances make sense."""

from __future__ import annotations

import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.encoder import TableEncoder


class ClusterEncoder(TableEncoder):
    """Turns columns into numbers as `TableEncoder` does, with the two values of a mark always 2 apart.

    Divided by its standard deviation, the mark of a level or a missing value that one row in a hundred has
    would put that row 10 away from all others, whatever else it says: rare marks would make all the groups. 2
    is how far apart the values of a mark are that half of the rows have.

    Parameters
    ----------
    columns : sequence of Column
        As in `TableEncoder`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from assay.report import describe_columns
    >>> from assay.report.tables.cluster_encoder import ClusterEncoder
    >>> frame = pd.DataFrame({"town": ["Lyon"] * 99 + ["Nice"]})
    >>> encoder = ClusterEncoder(describe_columns(frame)).fit(frame)
    >>> float(np.ptp(encoder.transform(frame)))
    2.0
    """

    def _learn(self, X: pd.DataFrame) -> NDArray:
        features = super()._learn(X)
        low, high = features.min(axis=0), features.max(axis=0)
        marks = ((features == low) | (features == high)).all(axis=0) & (high > low)
        self.scale_[marks] = (high - low)[marks] / 2
        return features
