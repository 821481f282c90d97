"""Gaussian and yes-no columns together: a quadratic rule in the first, an affine one in the second."""
