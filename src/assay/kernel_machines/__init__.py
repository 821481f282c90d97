"""Kernel machines: models whose solution is a combination of kernels at the training rows."""

from assay.homes import publish
from assay.kernel_machines.features.fourier import RandomFourierFeatures
from assay.kernel_machines.features.nystroem import Nystroem
from assay.kernel_machines.kernel_ridge.estimator import KernelRidge
from assay.kernel_machines.kernel_ridge.path import KernelRidgePath, Smoothing

__all__ = ["KernelRidge", "KernelRidgePath", "Nystroem", "RandomFourierFeatures", "Smoothing"]

publish(globals())
