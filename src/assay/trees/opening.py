"""Tables as trees take them: missing values as they are, columns of categories as numbers."""

from __future__ import annotations

from typing import ClassVar

from assay.models.levels import CATEGORICAL_FEATURES, LevelledTable
from assay.trees.shapley.explaining import Explained

__all__ = ["CATEGORICAL_FEATURES", "TreeModel"]


class TreeModel(Explained, LevelledTable):
    """Base of trees and their ensembles: NaN is a missing value, and columns may be categories.

    `is_categorical_` tells the columns of categories, `levels_` the names of the levels of those that are not
    numbers: the numbers that stand for them are places in that list. Levels that the fit has not seen are
    missing values.
    """

    _accepts_nan: ClassVar[bool] = True
