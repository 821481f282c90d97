"""Linear models."""

from __future__ import annotations

from assay.linear._column_dropping import ColumnDroppingRegression
from assay.linear._confidence import ConfidenceRegion, WaldTest
from assay.linear._constrained import ConstrainedRegression
from assay.linear._dictionaries import FourierMap, FunctionMap, HistogramMap
from assay.linear._dictionary import DictionaryRegression
from assay.linear._elastic_net import ElasticNet
from assay.linear._generalized import GeneralizedLinear
from assay.linear._group_lasso import GroupLasso
from assay.linear._huber_regressor import HuberRegressor
from assay.linear._inference import Inference
from assay.linear._influence import Influence
from assay.linear._lasso import Lasso
from assay.linear._likelihood_inference import LikelihoodInference, LikelihoodTest
from assay.linear._likelihood_path import LikelihoodPath
from assay.linear._linear_regression import LinearRegression
from assay.linear._linear_svc import LinearSVC
from assay.linear._linear_svr import LinearSVR
from assay.linear._logistic import LogisticRegression
from assay.linear._multivariate import MultivariateRegression, MultivariateTest
from assay.linear._penalty_path import PenaltyPath
from assay.linear._perceptron import Perceptron
from assay.linear._polynomial import PolynomialRegression
from assay.linear._polynomial_map import PolynomialMap
from assay.linear._quantile_regressor import QuantileRegressor
from assay.linear._rank_selection import RankPath, RankSelection
from assay.linear._reduced_rank import ReducedRankRegression
from assay.linear._ridge import Ridge
from assay.linear._ridge_path import RidgePath
from assay.linear._selection import Selection
from assay.linear._sgd_classifier import SGDClassifier
from assay.linear._sgd_regressor import SGDRegressor
from assay.linear._sparse_path import SparsePath
from assay.linear._sparse_regressor import SparseRegressor
from assay.linear._spline import SplineRegression
from assay.linear._splines import SplineMap
from assay.linear._wavelets import WaveletMap

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
    "PenaltyPath",
    "Perceptron",
    "PolynomialMap",
    "PolynomialRegression",
    "QuantileRegressor",
    "RankPath",
    "RankSelection",
    "ReducedRankRegression",
    "Ridge",
    "RidgePath",
    "SGDClassifier",
    "SGDRegressor",
    "Selection",
    "SparsePath",
    "SparseRegressor",
    "SplineMap",
    "SplineRegression",
    "WaldTest",
    "WaveletMap",
]
