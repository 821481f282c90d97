"""Reports: which method serves a table, how sure one can be, and a page that shows it."""

from assay.report._compare import compare
from assay.report._comparison import Candidate, Comparison, Progress, certificates_of, plus_minus, shown
from assay.report._errors import ReportError
from assay.report._html import render
from assay.report._tables import Data, RawTable, read_table, select
from assay.report._task import choose_data, choose_task
from assay.report._write import check_folder, write

__all__ = [
    "Candidate",
    "Comparison",
    "Data",
    "Progress",
    "RawTable",
    "ReportError",
    "certificates_of",
    "check_folder",
    "choose_data",
    "choose_task",
    "compare",
    "plus_minus",
    "read_table",
    "render",
    "select",
    "shown",
    "write",
]
