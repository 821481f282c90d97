"""The columns of a table as numbers that keep their size and their sign."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.encoder import TableEncoder


class PlainEncoder(TableEncoder):
    """Turns columns into numbers as `TableEncoder` does, and neither centres nor divides them.

    For methods that take a table of counts or similarities as it is and know no negative entry.

    Parameters
    ----------
    columns : sequence of Column
        As in `TableEncoder`.

    Examples
    --------
    >>> import pandas as pd
    >>> from assay.report import describe_columns
    >>> from assay.report.tables.plain_encoder import PlainEncoder
    >>> frame = pd.DataFrame({"apples": [3, 0, 7], "pears": [1, 5, 2]})
    >>> PlainEncoder(describe_columns(frame)).fit_transform(frame).tolist()
    [[3.0, 1.0], [0.0, 5.0], [7.0, 2.0]]
    """

    def _learn(self, X: pd.DataFrame) -> NDArray:
        features = super()._learn(X)
        self.mean_, self.scale_ = np.zeros_like(self.mean_), np.ones_like(self.scale_)
        return features
