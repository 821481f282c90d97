"""Discriminant analysis."""

from __future__ import annotations

from assay.discriminant.any_density import GenerativeClassifier
from assay.discriminant.centroid import NearestCentroid
from assay.discriminant.fisher.estimator import FisherDiscriminant
from assay.discriminant.fisher.kernel_estimator import KernelFisherDiscriminant
from assay.discriminant.gaussian.assumptions import CovarianceTest
from assay.discriminant.gaussian_regression import ConditionalLaw, GaussianRegression
from assay.discriminant.generative import Likelihoods
from assay.discriminant.linear.errors import ErrorRates
from assay.discriminant.linear.estimator import LinearDiscriminantAnalysis
from assay.discriminant.linear.forms import Hyperplane, LogisticForm
from assay.discriminant.mixed_columns.estimator import MixedDiscriminant
from assay.discriminant.mixed_columns.laws import MixedForm
from assay.discriminant.naive_bayes.categories import CategoricalNB
from assay.discriminant.naive_bayes.counts import BernoulliNB, MultinomialNB
from assay.discriminant.naive_bayes.estimator import NaiveBayes
from assay.discriminant.naive_bayes.normal import GaussianNB
from assay.discriminant.naive_bayes.product import LinearForm
from assay.discriminant.quadratic.estimator import QuadraticDiscriminantAnalysis
from assay.discriminant.quadratic.quadric import Quadric
from assay.discriminant.rules.bayes import BayesClassifier
from assay.discriminant.rules.chance import RandomClassifier
from assay.discriminant.rules.plug_in import PlugInClassifier
from assay.discriminant.whitener import Whitener
from assay.homes import publish
from assay.models.thresholds import OptimalThreshold, optimal_threshold

__all__ = [
    "BayesClassifier",
    "BernoulliNB",
    "CategoricalNB",
    "ConditionalLaw",
    "CovarianceTest",
    "ErrorRates",
    "FisherDiscriminant",
    "GaussianNB",
    "GaussianRegression",
    "GenerativeClassifier",
    "Hyperplane",
    "KernelFisherDiscriminant",
    "Likelihoods",
    "LinearDiscriminantAnalysis",
    "LinearForm",
    "LogisticForm",
    "MixedDiscriminant",
    "MixedForm",
    "MultinomialNB",
    "NaiveBayes",
    "NearestCentroid",
    "OptimalThreshold",
    "PlugInClassifier",
    "QuadraticDiscriminantAnalysis",
    "Quadric",
    "RandomClassifier",
    "Whitener",
    "optimal_threshold",
]

publish(globals())
