"""Kernel machines: models whose solution is a combination of kernels at the training rows."""

from assay.homes import publish
from assay.kernel_machines.features.fourier import RandomFourierFeatures
from assay.kernel_machines.features.nystroem import Nystroem
from assay.kernel_machines.kernel_ridge.estimator import KernelRidge
from assay.kernel_machines.kernel_ridge.path import KernelRidgePath, Smoothing
from assay.kernel_machines.nearest_centroid import KernelNearestCentroid

__all__ = ["KernelNearestCentroid", "KernelRidge", "KernelRidgePath", "Nystroem"]
__all__ += ["RandomFourierFeatures", "Smoothing"]

publish(globals())
