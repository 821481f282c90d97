"""Tables as they come: read, described column by column, turned into numbers, looked at in pairs.

What a saved model holds of a table lives here, whichever file defines it: files can move, saved models load.
"""

from assay.report.tables.encoder import (
    ClusterEncoder,
    DateCode,
    LevelCode,
    NumericCode,
    OrderCode,
    PlainEncoder,
    ShareCode,
    TableEncoder,
)
from assay.report.tables.schema import Column

__all__ = [
    "ClusterEncoder",
    "Column",
    "DateCode",
    "LevelCode",
    "NumericCode",
    "OrderCode",
    "PlainEncoder",
    "ShareCode",
    "TableEncoder",
]

for _name in __all__:
    globals()[_name].__module__ = __name__
