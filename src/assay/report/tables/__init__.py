"""Tables as they come: read, described column by column, turned into numbers, looked at in pairs.

What a saved model holds of a table lives here, whichever file defines it: files can move, saved models load.
"""

from assay.homes import publish
from assay.report.tables.encoding.code_encoder import (
    BothCodes,
    BothEncoder,
    CodeEncoder,
    OnColumns,
    PlaceOfLevel,
)
from assay.report.tables.encoding.encoder import (
    ClusterEncoder,
    DateCode,
    LevelCode,
    NumericCode,
    OrderCode,
    PlainEncoder,
    TableEncoder,
)
from assay.report.tables.encoding.gower import ShareCode
from assay.report.tables.schema import Column

__all__ = [
    "BothCodes",
    "BothEncoder",
    "ClusterEncoder",
    "CodeEncoder",
    "Column",
    "DateCode",
    "LevelCode",
    "NumericCode",
    "OnColumns",
    "OrderCode",
    "PlaceOfLevel",
    "PlainEncoder",
    "ShareCode",
    "TableEncoder",
]
publish(globals())
