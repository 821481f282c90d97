"""Kernel machines: models whose solution is a combination of kernels at the training rows."""

from assay.homes import publish
from assay.kernel_machines.features.fourier import RandomFourierFeatures
from assay.kernel_machines.features.nystroem import Nystroem
from assay.kernel_machines.kernel_ridge.estimator import KernelRidge
from assay.kernel_machines.kernel_ridge.path import KernelRidgePath, Smoothing
from assay.kernel_machines.likelihood.estimator import KernelLogisticRegression
from assay.kernel_machines.likelihood.path import KernelLogisticPath
from assay.kernel_machines.nearest_centroid import KernelNearestCentroid
from assay.kernel_machines.nu_machines.classifier import NuSVC
from assay.kernel_machines.nu_machines.one_class import OneClassSVM
from assay.kernel_machines.nu_machines.regressor import NuSVR
from assay.kernel_machines.risk.estimator import KernelERM
from assay.kernel_machines.support_vectors.classifier import SVC
from assay.kernel_machines.support_vectors.hard_margin import HardMarginSVC
from assay.kernel_machines.support_vectors.quantile import KernelQuantileRegressor
from assay.kernel_machines.support_vectors.regressor import SVR
from assay.kernel_machines.support_vectors.selection import MachinePath

__all__ = ["SVC", "SVR", "HardMarginSVC", "KernelERM", "KernelLogisticPath", "KernelLogisticRegression"]
__all__ += [
    "KernelNearestCentroid",
    "KernelQuantileRegressor",
    "KernelRidge",
    "KernelRidgePath",
    "MachinePath",
]
__all__ += ["NuSVC", "NuSVR", "Nystroem", "OneClassSVM", "RandomFourierFeatures", "Smoothing"]

publish(globals())
