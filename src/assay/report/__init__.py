"""Reports: which method serves a table, how sure one can be, and a page that shows it.

What draws and writes the page is imported when it is first named: processes that only fit never do.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay.registry import Entry
from assay.report.answers import predictions
from assay.report.errors import ReportError
from assay.report.fitting import FittedTable, fit_table, parse_value
from assay.report.methods import Method, catalogue, find_method
from assay.report.prediction import Predicted, certify_table, predict_table
from assay.report.tables.choosing import choose_data, choose_task
from assay.report.tables.data import Data
from assay.report.tables.encoding.code_encoder import BothEncoder, CodeEncoder, OnColumns
from assay.report.tables.encoding.encoder import TableEncoder
from assay.report.tables.files.options import Reading
from assay.report.tables.files.reading import RawTable, read_table
from assay.report.tables.schema import Column, describe_columns
from assay.report.trials.candidate import Candidate, certificates_of
from assay.report.trials.compare import compare
from assay.report.trials.comparison import Comparison
from assay.report.trials.engine import Event, Progress
from assay.report.trials.landmarks import NystroemLogistic, NystroemRidge
from assay.report.trials.roster import entries, roster
from assay.report.trials.stacking import WeightedEnsemble
from assay.report.trials.target_transform import SmearedTarget
from assay.report.wording import plus_minus, shown, shown_measure

if TYPE_CHECKING:
    from assay.report.page.document import render
    from assay.report.writing import check_folder, write

__all__ = [
    "BothEncoder",
    "Candidate",
    "CodeEncoder",
    "Column",
    "Comparison",
    "Data",
    "Entry",
    "Event",
    "FittedTable",
    "Method",
    "NystroemLogistic",
    "NystroemRidge",
    "OnColumns",
    "Predicted",
    "Progress",
    "RawTable",
    "Reading",
    "ReportError",
    "SmearedTarget",
    "TableEncoder",
    "WeightedEnsemble",
    "catalogue",
    "certificates_of",
    "certify_table",
    "check_folder",
    "choose_data",
    "choose_task",
    "compare",
    "describe_columns",
    "entries",
    "find_method",
    "fit_table",
    "parse_value",
    "plus_minus",
    "predict_table",
    "predictions",
    "read_table",
    "render",
    "roster",
    "shown",
    "shown_measure",
    "write",
]

# Saved models name them by their public home.
for _kind in (NystroemLogistic, NystroemRidge, SmearedTarget, WeightedEnsemble):
    _kind.__module__ = __name__

_OF_THE_PAGE = {"render": "page.document", "check_folder": "writing", "write": "writing"}


def __getattr__(name: str) -> Any:
    if name not in _OF_THE_PAGE:
        raise AttributeError(f"module 'assay.report' has no attribute {name!r}")
    return getattr(import_module(f"assay.report.{_OF_THE_PAGE[name]}"), name)
