"""Reports: which method serves a table, how sure one can be, and a page that shows it."""

from assay.report._catalogue import Method, catalogue, find_method
from assay.report._certification import certify_table
from assay.report._errors import ReportError
from assay.report._fitting import FittedTable, fit_table
from assay.report._parameter_values import parse_value
from assay.report._prediction import Predicted, predict_table, predictions
from assay.report._write import check_folder, write
from assay.report.page._html import render
from assay.report.tables._data import Data, choose_data, choose_task
from assay.report.tables._reading import RawTable, read_table
from assay.report.tables._schema import Column, describe_columns
from assay.report.trials._compare import compare
from assay.report.trials._comparison import (
    Candidate,
    Comparison,
    certificates_of,
    plus_minus,
    shown,
    shown_measure,
)
from assay.report.trials._progress import Event, Progress
from assay.report.trials._roster import Entry, entries, roster

__all__ = [
    "Candidate",
    "Column",
    "Comparison",
    "Data",
    "Entry",
    "Event",
    "FittedTable",
    "Method",
    "Predicted",
    "Progress",
    "RawTable",
    "ReportError",
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
