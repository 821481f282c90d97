"""Trees and their ensembles: partitions of the space of the rows, grown by one engine."""

from __future__ import annotations

from assay.homes import publish
from assay.trees.decision.classifier import DecisionTreeClassifier
from assay.trees.decision.regressor import DecisionTreeRegressor
from assay.trees.forest.bagging import BaggingClassifier, BaggingRegressor
from assay.trees.forest.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from assay.trees.forest.importance import Importance
from assay.trees.forest.random_forest import RandomForestClassifier, RandomForestRegressor
from assay.trees.forest.trees import Trees
from assay.trees.tree import Tree

__all__ = [
    "BaggingClassifier",
    "BaggingRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "Importance",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Tree",
    "Trees",
]

publish(globals())
