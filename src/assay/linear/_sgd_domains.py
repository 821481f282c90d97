"""Domains of the parameters that the two stochastic estimators share."""

from __future__ import annotations

from collections.abc import Mapping

from assay import parameters
from assay.parameters import Domain
from assay.solvers._sgd_steps import LEARNING_RATES

# Of the rules only some are options for the checks that walk the package: "root" and "constant" are "auto"
# and "optimal" with other numbers there, and the steps of "rmsprop" make the rounding of a sum grow.
LEARNING_RATE = Domain(
    parameters.one_of(*LEARNING_RATES).words,
    lambda value: isinstance(value, str) and value in LEARNING_RATES,
    ("auto", "invscaling", "optimal", "adagrad", "adadelta", "adam"),
)

SGD_DOMAINS: Mapping[str, Domain] = {
    "penalty": parameters.nothing | parameters.one_of("l2", "l1", "elasticnet"),
    "alpha": parameters.real(at_least=0),
    "l1_ratio": parameters.real(at_least=0, at_most=1),
    "fit_intercept": parameters.boolean,
    "learning_rate": LEARNING_RATE,
    "eta0": parameters.real(above=0),
    "batch_size": parameters.integer(at_least=1),
    "average": parameters.boolean,
    "tol": parameters.real(above=0),
    "max_iter": parameters.integer(at_least=1),
    "early_stopping": parameters.boolean,
    "validation_fraction": Domain(
        "a number above 0 and below 1", lambda value: parameters.real(above=0).contains(value) and value < 1
    ),
    "n_iter_no_change": parameters.integer(at_least=1),
    "history": parameters.boolean,
    "random_state": parameters.random_state,
}
