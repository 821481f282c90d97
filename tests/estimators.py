"""Every public estimator and the variants that the numeric checks try.

The registry finds the estimators; an option that computes in another way is a line of `VARIANTS`.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from assay.registry import estimators


def estimator_classes() -> list[type[BaseEstimator]]:
    """Public estimator classes of all rooms, in the order of their names."""
    return [entry.kind for entry in sorted(estimators(), key=lambda entry: entry.name)]


SOLVERS = ("cholesky", "qr", "dual", "gradient_descent", "conjugate_gradient")
DIRECT_SOLVERS = ("cholesky", "qr", "dual", "conjugate_gradient")
GROWTH: dict[str, tuple[Any, ...]] = {
    "splitter": ("random",),
    "max_features": ("sqrt", "log2"),
    "interaction_cst": ("pairwise", "no_interactions"),
}
STEPS = ("invscaling", "optimal", "adagrad", "adadelta", "adam")

# Estimator → parameter → values besides the default that the numeric checks try, one at a time.
VARIANTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "AdaBoostClassifier": {"algorithm": ("samme_r", "discrete", "naive"), "loss": ("logistic",)},
    "AgglomerativeClustering": {
        "linkage": ("single", "complete", "average", "weighted", "centroid", "median")
    },
    "BinnedKernelDensity": {"bandwidth": ("silverman",)},
    "BaggingClassifier": {"voting": ("hard",)},
    "BisectingKMeans": {"init": ("random",), "bisecting_strategy": ("largest_cluster",)},
    "ColumnDroppingRegression": {"keep": ("first",)},
    "ConvexClustering": {"norm": ("l1", "linf")},
    "DecisionStump": {"class_weight": ("balanced",)},
    "DecisionTreeClassifier": {
        "criterion": ("entropy", "log_loss", "misclassification"),
        "class_weight": ("balanced",),
        **GROWTH,
    },
    "DecisionTreeRegressor": {"criterion": ("friedman_mse", "absolute_error", "poisson"), **GROWTH},
    "DictionaryRegression": {
        "solver": DIRECT_SOLVERS,
        "dictionary": ("histogram", "spline", "wavelet", "polynomial"),
    },
    "EmpiricalDistribution": {"band": ("hoeffding",)},
    "ExtraTreesClassifier": {"class_weight": ("balanced", "balanced_subsample")},
    "FisherDiscriminant": {"scaling": ("l2",), "rule": ("optimal_threshold",)},
    "FuzzyCMeans": {"init": ("random",)},
    "GaussianNB": {"priors": ("uniform",)},
    "GenerativeClassifier": {"priors": ("uniform",)},
    "GeneralizedLinear": {
        "family": ("quasi_poisson", "gamma", "inverse_gaussian", "tweedie"),
        "solver": ("newton", "quasi_newton"),
    },
    "GradientBoostingClassifier": {
        "loss": ("exponential",),
        "line_search": ("global", "leaf"),
        "direction": ("correlation",),
    },
    "GradientBoostingRegressor": {
        "loss": ("absolute_error", "huber", "quantile"),
        "line_search": ("global", "leaf"),
        "direction": ("correlation",),
    },
    "HDBSCAN": {"cluster_selection_method": ("leaf",)},
    "HistGradientBoostingClassifier": {
        "loss": ("exponential",),
        "line_search": ("leaf",),
        "class_weight": ("balanced",),
        "interaction_cst": ("pairwise", "no_interactions"),
    },
    "HistGradientBoostingRegressor": {
        "loss": ("absolute_error", "huber"),
        "interaction_cst": ("pairwise", "no_interactions"),
    },
    "HistogramMap": {"edges": ("quantile",)},
    "KCoordinateMedian": {"init": ("random",)},
    "KGeometricMedian": {"init": ("random",)},
    "KMeans": {
        "init": ("k-means++", "farthest", "random"),
        "empty_clusters": ("keep", "error"),
        "algorithm": ("elkan", "hartigan-wong"),
    },
    "KMedian": {"method": ("alternate",), "init": ("k-medoids++", "random")},
    "KMedoids": {"method": ("pam", "alternate"), "init": ("k-medoids++", "random")},
    "KernelDensity": {
        "bandwidth": ("scott", "silverman", "sheather-jones"),
        "kernel": ("epanechnikov", "exponential", "triangular"),
        "form": ("product",),
    },
    "KernelFisherDiscriminant": {
        "kernel": ("linear", "laplacian", "polynomial"),
        "regulariser": ("identity",),
        "scatter": ("as_printed",),
        "rule": ("optimal_threshold",),
    },
    "KNeighborsClassifier": {"weights": ("distance", "gaussian"), "ties": ("positive", "nearest")},
    "KNeighborsRegressor": {"weights": ("distance", "gaussian")},
    "KernelKMeans": {"kernel": ("linear",), "init": ("random",)},
    "KernelNearestCentroid": {"kernel": ("linear", "laplacian", "polynomial"), "gamma": ("scale",)},
    "KernelERM": {
        "kernel": ("linear",),
        "loss": ("absolute", "epsilon_insensitive", "squared"),
        "constraint": ("ball",),
    },
    "KernelLogisticRegression": {"penalty": ("l2", "l1"), "class_weight": ("balanced",)},
    "KernelRidge": {"kernel": ("rbf", "laplacian", "polynomial")},
    "SVC": {"loss": ("squared_hinge",), "multi_class": ("ovr",), "class_weight": ("balanced",)},
    "SVR": {"loss": ("squared_epsilon_insensitive",)},
    "LinearDiscriminantAnalysis": {
        "solver": ("lsqr", "eigen"),
        "shrinkage": ("auto", "oas"),
        "priors": ("empirical", "uniform"),
        "covariance": ("unbiased", "total"),
    },
    "LinearRegression": {"solver": SOLVERS},
    "LinearSVC": {
        "solver": ("newton", "dual_coordinate"),
        "loss": ("hinge",),
        "class_weight": ("balanced",),
    },
    "LinearSVR": {"solver": ("newton", "dual_coordinate"), "loss": ("squared_epsilon_insensitive",)},
    "LogisticRegression": {
        "solver": ("newton", "quasi_newton", "gradient_descent"),
        "class_weight": ("balanced",),
    },
    "MovingWindowDensity": {"window": ("half_open",)},
    "MiniBatchKMeans": {"init": ("k-means++", "farthest", "random")},
    "NearestCentroid": {"metric": ("manhattan",), "priors": ("empirical",)},
    "MixedDiscriminant": {"covariance": ("shared",), "priors": ("uniform",)},
    "NaiveBayes": {"families": ("histogram", "kernel"), "priors": ("uniform",)},
    "Nystroem": {
        "landmarks": ("k-means++", "pivoted_cholesky"),
        "kernel": ("linear", "polynomial"),
        "gamma": ("scale",),
    },
    "NuSVC": {"class_weight": ("balanced",)},
    "OPTICS": {"cluster_method": ("dbscan",)},
    "OverlappingClustering": {"loadings": ("soft", "hard")},
    "PolynomialMap": {"basis": ("legendre", "chebyshev")},
    "PolynomialRegression": {"solver": DIRECT_SOLVERS, "basis": ("legendre", "chebyshev")},
    "QuadraticDiscriminantAnalysis": {
        "solver": ("eigen",),
        "shrinkage": ("auto", "oas"),
        "priors": ("empirical", "uniform"),
        "covariance": ("unbiased",),
    },
    "RandomFourierFeatures": {"kernel": ("laplacian",), "gamma": ("scale",), "orthogonal": (True,)},
    "RandomForestClassifier": {"class_weight": ("balanced", "balanced_subsample")},
    "RadiusNeighborsClassifier": {"weights": ("distance", "gaussian")},
    "RadiusNeighborsRegressor": {"weights": ("distance", "gaussian")},
    "ReducedRankRegression": {
        "method": ("nuclear", "row_sparse"),
        "axis": ("responses",),
        "weighting": ("residual", "canonical"),
    },
    "BayesClassifier": {"ties": ("last",)},
    "PlugInClassifier": {"ties": ("last",)},
    "RandomClassifier": {"strategy": ("prior",)},
    "Ridge": {"solver": SOLVERS},
    "SGDClassifier": {
        "penalty": ("l1", "elasticnet"),
        "learning_rate": STEPS,
        "loss": ("hinge", "squared_hinge"),
    },
    "SGDRegressor": {
        "penalty": ("l1", "elasticnet"),
        "learning_rate": STEPS,
        "loss": (
            "huber",
            "epsilon_insensitive",
            "squared_epsilon_insensitive",
            "absolute_error",
            "quantile",
        ),
    },
    "SparseRegressor": {"penalty": ("scad",)},
    "SpectralBiclustering": {"method": ("scale", "log")},
    "SpectralClustering": {
        "laplacian": ("symmetric", "unnormalized"),
        "rounding": ("weighted_kmeans",),
        "affinity": ("mutual_nearest_neighbors", "epsilon", "rbf"),
    },
    "SphericalKMeans": {"init": ("random",)},
    "SplineMap": {"knots": ("quantile",), "extrapolation": ("linear", "continue")},
    "SplineRegression": {
        "solver": DIRECT_SOLVERS,
        "knots": ("quantile",),
        "extrapolation": ("linear", "continue"),
    },
    "StagewiseAdditive": {"base": ("stumps",)},
    "Whitener": {"method": ("principal",)},
    "WaveletMap": {"wavelet": ("daubechies",)},
}

# Trees of a forest are grown by the loops of single ones, whose options are tried there.
SAME_GROWER = "grown as single trees are: the variants of DecisionTreeClassifier and DecisionTreeRegressor"
HONEST = "fitted on rows that the trees have not seen: tests/trees/test_honesty.py"
GROWN = {
    **dict.fromkeys(("criterion", "max_features", "interaction_cst"), SAME_GROWER),
    "calibration_method": HONEST,
}

SUMMED = {
    "criterion": "both names are the squared error",
    "init": "'zero' and estimators begin elsewhere: tests/trees/test_stagewise_gradient.py",
    "max_features": SAME_GROWER,
}

SEARCHES = {"algorithm": "every search gives the same bits: tests/distances/test_search.py"}

# Estimator → parameter → named values that are no variant, with the reason.
EMPIRICAL = {"priors": "'empirical' is None", "class_prior": "'uniform' is fit_prior=False"}
NOT_TRIED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("BernoulliNB", "CategoricalNB", "GaussianNB", "GenerativeClassifier"), EMPIRICAL),
    "MixedDiscriminant": {**EMPIRICAL, "binary_features": "'auto' is a choice of columns"},
    "MultinomialNB": EMPIRICAL,
    "NaiveBayes": {
        **EMPIRICAL,
        "families": "the others take counts or levels: tests/discriminant/test_naive_bayes.py",
        "categorical_features": "'from_dtype' is a choice of columns",
    },
    **dict.fromkeys(("GradientBoostingClassifier", "GradientBoostingRegressor"), SUMMED),
    **dict.fromkeys(
        ("ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor"),
        GROWN,
    ),
    **dict.fromkeys(
        (
            *("KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors"),
            *("RadiusNeighborsClassifier", "RadiusNeighborsRegressor"),
        ),
        SEARCHES,
    ),
    "AdaBoostClassifier": {"calibration_method": HONEST},
    "HistGradientBoostingClassifier": {"calibration_method": HONEST},
    "HistGradientBoostingRegressor": {
        "line_search": "'leaf' is 'newton' for these losses: tests/trees/test_boosting.py"
    },
    "DBSCAN": {"eps": "'auto' is a choice of eps", "min_samples": "'auto' is a choice of min_samples"},
    "GeneralizedLinear": {
        "family": "the others take counts or proportions: tests/linear/test_generalized.py",
        "link": "each suits few families: tests/linear/test_generalized.py",
    },
    "HistogramDensity": {"bins": "'oracle' needs a law of one column: tests/density/test_histogram.py"},
    "KernelDensity": {
        "bandwidth": "'holder' and 'oracle' are of one column: tests/density/test_bandwidths.py"
    },
    "Whitener": {"scope": "'within' takes labels: tests/discriminant/test_whitener.py"},
    "KernelERM": {
        "kernel": "the same loops as KernelRidge, whose kernels are tried; the linear one is singular",
        "loss": "the others want labels or counts",
        "gamma": "a number that the kernel is given",
    },
    "KernelLogisticRegression": {
        "kernel": "the same loops as KernelRidge, whose kernels are tried",
        "gamma": "a number that the kernel is given",
    },
    "KernelRidge": {"kernel": "'exponential' overflows on large values, 'precomputed' takes a Gram matrix"},
    "HardMarginSVC": {
        "kernel": "the same loops as KernelRidge, whose kernels are tried",
        "gamma": "a number that the kernel is given",
    },
    "KernelQuantileRegressor": {
        "kernel": "the same loops as KernelRidge, whose kernels are tried",
        "gamma": "a number that the kernel is given",
    },
    "NuSVC": {
        "kernel": "the same loops as KernelRidge, whose kernels are tried",
        "gamma": "a number that the kernel is given",
        "probability": "the same machines; tests/kernel_machines/test_nu_machines.py",
        "decision_function_shape": "the same machines; tests/kernel_machines/test_svc.py",
    },
    "NuSVR": {
        "kernel": "the same loops as KernelRidge, whose kernels are tried",
        "gamma": "a number that the kernel is given",
    },
    "OneClassSVM": {
        "kernel": "the same loops as KernelRidge, whose kernels are tried",
        "gamma": "a number that the kernel is given",
    },
    "SVC": {
        "kernel": "the same loops as KernelRidge, whose kernels are tried",
        "gamma": "a number that the kernel is given",
        "working_set": "tests/kernel_machines/test_svc.py tries the other choices of pairs",
        "probability": "the same machines; tests/kernel_machines/test_svc.py",
        "decision_function_shape": "the same machines; tests/kernel_machines/test_svc.py",
    },
    "SVR": {
        "kernel": "the same loops as KernelRidge, whose kernels are tried",
        "gamma": "a number that the kernel is given",
        "working_set": "tests/kernel_machines/test_svc.py tries the other choices of pairs",
        "dual": "the same solution by definition; tests/kernel_machines/test_support_vector_regression.py",
    },
    "KernelNearestCentroid": {"gamma": "'auto' is None"},
    "Nystroem": {
        "gamma": "'auto' is None",
        "kernel": "'laplacian' differs in its tiles alone: tests/kernels",
    },
    "KernelKMeans": {"kernel": "the others differ in the Gram matrix alone: tests/kernels"},
    "SGDClassifier": {
        "learning_rate": "'root' and 'constant' are 'auto' and 'optimal' with other numbers, the steps of "
        "'rmsprop' make the rounding of a sum grow"
    },
    "SGDRegressor": {
        "learning_rate": "'root' and 'constant' are 'auto' and 'optimal' with other numbers, the steps of "
        "'rmsprop' make the rounding of a sum grow"
    },
}


def variants(kind: type) -> list[Any]:
    """An estimator with each of its variants."""
    options = VARIANTS.get(kind.__name__, {})
    return [kind(**{name: value}) for name, values in options.items() for value in values]


def instances() -> list[Any]:
    """Each estimator with its defaults, followed by its variants."""
    return [model for kind in estimator_classes() for model in (kind(), *variants(kind))]
