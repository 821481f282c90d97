"""Linear models."""

from __future__ import annotations

from assay.homes import publish
from assay.linear.features.dictionaries import FourierMap, FunctionMap, HistogramMap
from assay.linear.features.estimators import DictionaryRegression, PolynomialRegression, SplineRegression
from assay.linear.features.polynomial import PolynomialMap
from assay.linear.features.splines import SplineMap
from assay.linear.features.wavelets import WaveletMap
from assay.linear.least_squares.column_dropping import ColumnDroppingRegression
from assay.linear.least_squares.constrained import ConstrainedRegression
from assay.linear.least_squares.inference import Inference
from assay.linear.least_squares.influence import Influence
from assay.linear.least_squares.linear_regression import LinearRegression
from assay.linear.least_squares.multivariate import MultivariateRegression, MultivariateTest
from assay.linear.least_squares.ridge import Ridge, RidgePath
from assay.linear.likelihood.base import LikelihoodPath
from assay.linear.likelihood.generalized import GeneralizedLinear
from assay.linear.likelihood.inference import LikelihoodInference, LikelihoodTest
from assay.linear.likelihood.logistic import LogisticRegression
from assay.linear.low_rank.estimator import ReducedRankRegression
from assay.linear.low_rank.solver import RankPath
from assay.linear.margin.huber_regressor import HuberRegressor
from assay.linear.margin.perceptron import Perceptron
from assay.linear.margin.quantile_regressor import QuantileRegressor
from assay.linear.margin.support_vectors import LinearSVC, LinearSVR
from assay.linear.sparse.base import SparsePath
from assay.linear.sparse.elastic_net import ElasticNet, Lasso
from assay.linear.sparse.group_lasso import GroupLasso
from assay.linear.sparse.sparse_regressor import SparseRegressor
from assay.linear.stochastic.classifier import SGDClassifier
from assay.linear.stochastic.regressor import SGDRegressor
from assay.models.inference import ConfidenceRegion, WaldTest

__all__ = [
    "ColumnDroppingRegression",
    "ConfidenceRegion",
    "ConstrainedRegression",
    "DictionaryRegression",
    "ElasticNet",
    "FourierMap",
    "FunctionMap",
    "GeneralizedLinear",
    "GroupLasso",
    "HistogramMap",
    "HuberRegressor",
    "Inference",
    "Influence",
    "Lasso",
    "LikelihoodInference",
    "LikelihoodPath",
    "LikelihoodTest",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "MultivariateRegression",
    "MultivariateTest",
    "Perceptron",
    "PolynomialMap",
    "PolynomialRegression",
    "QuantileRegressor",
    "RankPath",
    "ReducedRankRegression",
    "Ridge",
    "RidgePath",
    "SGDClassifier",
    "SGDRegressor",
    "SparsePath",
    "SparseRegressor",
    "SplineMap",
    "SplineRegression",
    "WaldTest",
    "WaveletMap",
]

publish(globals())
