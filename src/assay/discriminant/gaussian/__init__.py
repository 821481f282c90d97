"""Gaussian classes: moments by one walk, covariances and their shrinkage, densities."""
