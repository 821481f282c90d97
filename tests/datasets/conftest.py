import numpy as np
import pytest

from assay.datasets import Blobs, GaussianClasses, LinearGaussian, Rings, SparseLinear, TwoMoons

TILTED = [[1.0, 0.6], [0.6, 2.0]]

CLASSIFICATION_LAWS = {
    "two equal covariances": GaussianClasses([[-1.0, 0.0], [1.0, 0.5]], TILTED, [0.3, 0.7]),
    "two unequal covariances": GaussianClasses([[0.0, 0.0], [1.0, 0.5]], [np.eye(2), TILTED]),
    "three classes": GaussianClasses([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]], TILTED, [0.2, 0.3, 0.5]),
    "one feature": GaussianClasses([[0.0], [0.0]], [[[1.0]], [[9.0]]]),
    "five features": GaussianClasses(np.eye(3, 5) * 2.0, [np.eye(5), 2.0 * np.eye(5), 0.5 * np.eye(5)]),
    "two moons": TwoMoons(noise_std=0.3, priors=[0.4, 0.6]),
    "two rings": Rings(noise_std=0.4),
    "three rings": Rings([1.0, 2.0, 3.0], 0.4, [0.2, 0.3, 0.5]),
    "blobs": Blobs(4, random_state=0, center_box=(-3.0, 3.0)),
}

REGRESSION_LAWS = {
    "random design": LinearGaussian([1.0, -2.0], intercept=0.5, mean=[1.0, -1.0], covariance=TILTED),
    "fixed design": LinearGaussian([1.0, -2.0], design=np.random.default_rng(5).normal(size=(40, 2))),
    "sparse": SparseLinear(12, 3, rho=0.6, random_state=0),
}


@pytest.fixture(params=CLASSIFICATION_LAWS.values(), ids=CLASSIFICATION_LAWS.keys())
def classification_law(request):
    return request.param


GAUSSIAN_LAWS = {name: law for name, law in CLASSIFICATION_LAWS.items() if hasattr(law, "means")}
PLANE_LAWS = {name: law for name, law in CLASSIFICATION_LAWS.items() if law.n_features == 2}


@pytest.fixture(params=GAUSSIAN_LAWS.values(), ids=GAUSSIAN_LAWS.keys())
def gaussian_law(request):
    return request.param


@pytest.fixture(params=PLANE_LAWS.values(), ids=PLANE_LAWS.keys())
def plane_law(request):
    return request.param


@pytest.fixture(params=REGRESSION_LAWS.values(), ids=REGRESSION_LAWS.keys())
def regression_law(request):
    return request.param


@pytest.fixture(
    params=[*CLASSIFICATION_LAWS.values(), *REGRESSION_LAWS.values()],
    ids=[*CLASSIFICATION_LAWS.keys(), *REGRESSION_LAWS.keys()],
)
def law(request):
    return request.param
