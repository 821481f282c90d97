"""Trees and their ensembles: partitions of the space of the rows, grown by one engine."""

from __future__ import annotations

from assay.homes import publish
from assay.models.calibration import Calibrator
from assay.trees.boosting.classifier import HistGradientBoostingClassifier
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.boosting.regressor import HistGradientBoostingRegressor
from assay.trees.boosting.rounds import Sampling, Stopping
from assay.trees.decision.classifier import DecisionTreeClassifier
from assay.trees.decision.pruning import PruningPath
from assay.trees.decision.reading import Box
from assay.trees.decision.regressor import DecisionTreeRegressor
from assay.trees.decision.stump import DecisionStump
from assay.trees.forest.bagging import BaggingClassifier, BaggingRegressor
from assay.trees.forest.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from assay.trees.forest.random_forest import RandomForestClassifier, RandomForestRegressor
from assay.trees.forest.trees import Trees
from assay.trees.importance import Importance
from assay.trees.shapley.values import ShapValues
from assay.trees.stagewise.adaboost import AdaBoostClassifier
from assay.trees.stagewise.choosing import BoostingPath
from assay.trees.stagewise.forward import StagewiseAdditive
from assay.trees.stagewise.gradient.classifier import GradientBoostingClassifier
from assay.trees.stagewise.gradient.proofs import GradientHistory
from assay.trees.stagewise.gradient.regressor import GradientBoostingRegressor
from assay.trees.stagewise.history import BoostingHistory, MarginHistory
from assay.trees.stagewise.votes.corrective import CorrectiveWeights
from assay.trees.tree import Tree

__all__ = [
    "AdaBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "BoostedTrees",
    "BoostingHistory",
    "BoostingPath",
    "Box",
    "Calibrator",
    "CorrectiveWeights",
    "DecisionStump",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "GradientHistory",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "Importance",
    "MarginHistory",
    "PruningPath",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Sampling",
    "ShapValues",
    "StagewiseAdditive",
    "Stopping",
    "Tree",
    "Trees",
]

publish(globals())
