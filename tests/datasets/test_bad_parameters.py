import re

import numpy as np
import pytest

from assay.datasets import Blobs, GaussianClasses, LinearGaussian, Rings, SparseLinear, TwoMoons

SENTENCES = {
    "The 'noise_std' parameter of LinearGaussian must be at least 0. Got -1 instead.": (
        lambda: LinearGaussian([1.0], noise_std=-1)
    ),
    "The 'noise_std' parameter of LinearGaussian must be a finite number. Got nan instead.": (
        lambda: LinearGaussian([1.0], noise_std=np.nan)
    ),
    "The 'coef' parameter of LinearGaussian must be a non-empty array of finite numbers with 1 axis. "
    "Got [] instead.": lambda: LinearGaussian([]),
    "The 'design' parameter of LinearGaussian must be of shape (3, 2). Got shape (3, 4) instead.": (
        lambda: LinearGaussian([1.0, 2.0], design=np.ones((3, 4)))
    ),
    "The 'design' parameter of LinearGaussian must be None when 'mean' or 'covariance' is given. "
    "Got both instead.": lambda: LinearGaussian([1.0], design=[[1.0]], mean=[0.0]),
    "The 'covariance' parameter of LinearGaussian must be symmetric and positive semi-definite. "
    "Got [[1.0, 2.0], [2.0, 1.0]] instead.": (
        lambda: LinearGaussian([1.0, 2.0], covariance=[[1.0, 2.0], [2.0, 1.0]])
    ),
    "The 'n_samples' parameter of LinearGaussian must be given when the design is random. "
    "Got None instead.": lambda: LinearGaussian([1.0]).sample(),
    "The 'n_samples' parameter of LinearGaussian must be an integer at least 1. Got 0 instead.": (
        lambda: LinearGaussian([1.0]).sample(0)
    ),
    "The 'coef' parameter of LinearGaussian must be of shape (1,). Got shape (2,) instead.": (
        lambda: LinearGaussian([1.0]).excess_risk([1.0, 2.0])
    ),
    "The 'n_nonzero' parameter of SparseLinear must be an integer between 1 and 4. Got 5 instead.": (
        lambda: SparseLinear(4, 5)
    ),
    "The 'rho' parameter of SparseLinear must be less than 1. Got 1.0 instead.": lambda: SparseLinear(
        rho=1.0
    ),
    "The 'signal_to_noise' parameter of SparseLinear must be greater than 0. Got 0 instead.": (
        lambda: SparseLinear(signal_to_noise=0)
    ),
    "The 'coef' parameter of SparseLinear must be non-zero somewhere. Got [0.0, 0.0] instead.": (
        lambda: SparseLinear(coef=[0.0, 0.0])
    ),
    "The 'n_features' parameter of SparseLinear must be the size of 'coef' (2). Got 3 instead.": (
        lambda: SparseLinear(3, coef=[0.0, 1.0])
    ),
    "The 'means' parameter of GaussianClasses must be at least two rows, one per class. Got 1 row instead.": (
        lambda: GaussianClasses([[0.0, 1.0]])
    ),
    "The 'priors' parameter of GaussianClasses must be positive with sum 1. Got [0.5, 0.6] instead.": (
        lambda: GaussianClasses([[0.0], [1.0]], priors=[0.5, 0.6])
    ),
    "The 'covariances' parameter of GaussianClasses must be made of positive definite matrices. "
    "Got [[0.0]] instead.": lambda: GaussianClasses([[0.0], [1.0]], [[0.0]]),
    "The 'covariances' parameter of GaussianClasses must be made of symmetric matrices. "
    "Got [[1.0, 0.5], [0.0, 1.0]] instead.": (
        lambda: GaussianClasses([[0.0, 0.0], [1.0, 1.0]], [[1.0, 0.5], [0.0, 1.0]])
    ),
    "The 'classes' parameter of GaussianClasses must be 2 different labels. Got [1, 1] instead.": (
        lambda: GaussianClasses([[0.0], [1.0]], classes=[1, 1])
    ),
    "The 'X' parameter of TwoMoons must be an array with 2 axes and 2 columns. Got shape (1, 3) instead.": (
        lambda: TwoMoons().posterior([[1.0, 2.0, 3.0]])
    ),
    "The 'noise_std' parameter of TwoMoons must be greater than 0. Got 0 instead.": lambda: TwoMoons(0),
    "The 'noise_std' parameter of Rings must be a finite number. Got 'much' instead.": (
        lambda: Rings(noise_std="much")
    ),
    "The 'radii' parameter of Rings must be at least two numbers greater than 0. Got [1.0] instead.": (
        lambda: Rings([1.0])
    ),
    "The 'method' parameter of Rings must be 'auto', or a method that this law has. "
    "Got 'closed_form' instead.": lambda: Rings().bayes_risk(method="closed_form"),
    "The 'method' parameter of Rings must be 'auto', 'closed_form', 'quadrature' or 'monte_carlo'. "
    "Got 'guess' instead.": lambda: Rings().bayes_risk(method="guess"),
    "The 'n_clusters' parameter of Blobs must be that of 'centers' (2). Got 3 instead.": (
        lambda: Blobs(3, centers=[[0.0], [1.0]])
    ),
    "The 'n_clusters' parameter of Blobs must be an integer at least 1. Got 2.5 instead.": lambda: Blobs(2.5),
    "The 'cluster_std' parameter of Blobs must be None when 'covariances' is given. Got 1.0 instead.": (
        lambda: Blobs(covariances=np.eye(2), cluster_std=1.0)
    ),
    "The 'cluster_std' parameter of Blobs must be greater than 0. Got -2.0 instead.": (
        lambda: Blobs(cluster_std=-2.0)
    ),
    "The 'center_box' parameter of Blobs must be two increasing numbers. Got (1.0, 0.0) instead.": (
        lambda: Blobs(center_box=(1.0, 0.0))
    ),
    "A rule must answer one value per row, shape (50,). Got shape (50, 2) instead.": (
        lambda: TwoMoons().risk(lambda X: X, 50)
    ),
}


@pytest.mark.parametrize(("sentence", "mistake"), SENTENCES.items(), ids=range(len(SENTENCES)))
def test_a_bad_parameter_is_refused_in_one_sentence(sentence, mistake):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        mistake()
