"""Densities."""

from assay.density.base import PdfInterval
from assay.density.empirical import Band, EmpiricalDistribution
from assay.density.histogram import HistogramDensity
from assay.density.kernel.binned import BinnedKernelDensity
from assay.density.kernel.estimator import KernelDensity
from assay.density.window import MovingWindowDensity
from assay.homes import publish

__all__ = ["Band", "BinnedKernelDensity", "EmpiricalDistribution", "HistogramDensity", "KernelDensity"]
__all__ += ["MovingWindowDensity", "PdfInterval"]

publish(globals())
