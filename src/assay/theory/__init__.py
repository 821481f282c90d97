"""Executable theory: exact risks, bounds and simulations with a known truth."""

from __future__ import annotations

from assay.homes import publish
from assay.theory.boosting import (
    ErrorDecomposition,
    FlippedWeight,
    KernelBall,
    MarginBound,
    RademacherComplexity,
    error_decomposition,
    flipped_weight,
    margin_bound,
    rademacher_complexity,
)
from assay.theory.calibration import (
    ClassificationLossCheck,
    NumericalMinimum,
    PopulationMinimisers,
    SurrogateBound,
    check_classification_loss,
    conditional_risk,
    minimise_conditional_risk,
    population_minimisers,
    surrogate_bound,
)
from assay.theory.density import (
    CriterionCheck,
    HistogramRisk,
    KernelMse,
    MseBound,
    RateExperiment,
    binomial_distance,
    density_rate,
    histogram_imse,
    histogram_mse,
    kernel_mse,
    mse_bound,
    unbiased_criterion,
)
from assay.theory.discriminant import (
    BayesErrors,
    ExcessErrors,
    LikelihoodReport,
    efron_efficiency,
    excess_error_curve,
    largest_gaussian_likelihood,
    lda_bayes_error,
    likelihood_report,
    linear_rule_error,
    mahalanobis,
    mixture_then_label,
)
from assay.theory.ensembles import (
    Disagreement,
    VarianceDecomposition,
    ensemble_variance_decomposition,
    vote_accuracy,
    vote_disagreement,
)
from assay.theory.experiments import (
    Crossover,
    DimensionFree,
    Overfitting,
    Sensitivity,
    Stability,
    crossover_samples,
    dimension_free_experiment,
    outlier_sensitivity,
    polynomial_overfitting,
    primal_dual_crossover,
    squaring_experiment,
)
from assay.theory.kernel_machines.ball_bounds import (
    BoundTrial,
    RiskBound,
    hinge_bound_trial,
    hinge_risk_bound,
    lipschitz_oracle_bound,
    lipschitz_risk_bound,
    svr_bound_trial,
    svr_oracle_bound,
)
from assay.theory.kernel_machines.targets import (
    MeanAgainstMedian,
    MedianIdentity,
    distance_to_hyperplane,
    margin,
    mean_against_median,
    median_identity,
)
from assay.theory.kernels.lift import Lift, circles, lift
from assay.theory.kernels.sides import SidedRidge, ridge_by_side
from assay.theory.kernels.spaces import (
    DensityErrors,
    InterpolationErrors,
    MembershipSums,
    PowerSequence,
    density_errors,
    interpolation_errors,
    membership_sums,
    power_sequence,
)
from assay.theory.least_squares import (
    BiasVariance,
    CoefficientMoments,
    Coverage,
    GaussMarkov,
    LeastSquaresRisk,
    RiskRate,
    bias_variance,
    coverage,
    gauss_markov,
    least_squares_moments,
    least_squares_rate,
    least_squares_risk,
    simulated_bias_variance,
)
from assay.theory.mistakes import (
    Misclassification,
    RiskEstimates,
    conditional_error,
    empirical_risk,
    misclassification,
    risk_estimates,
)
from assay.theory.neighbors import (
    CoverHart,
    NeighborRisks,
    ball_share_of_cube,
    cover_hart,
    inner_share,
    knn_certificate,
    knn_lower_bound_n,
    knn_risk_bound,
    knn_sample_complexity,
    lattice_size,
    nearest_neighbor_risk,
    neighbor_risk_curve,
    smallest_risk,
)
from assay.theory.plug_in import EasierDecision, Regret, easier_decision, plug_in_regret, regret
from assay.theory.quantization import (
    ExpectedCriterion,
    LloydTrap,
    OptimalPartition,
    PlusPlusRatio,
    corrected_criterion,
    expected_criterion,
    optimal_partition,
    pairwise_criterion,
    plus_plus_factor,
    plus_plus_ratio,
    stuck_rectangle,
    tie_trap,
    unlucky_rows,
)
from assay.theory.ridge import (
    RidgeError,
    RidgeOracle,
    RidgeRisk,
    excess_risk,
    ridge_error,
    ridge_moments,
    ridge_oracle,
    ridge_oracle_lambda,
    ridge_risk,
)
from assay.theory.separation import SeparationCurve, separation_curve
from assay.theory.smoothing import (
    KernelRidgeRisk,
    LinearSmootherRisk,
    kernel_ridge_risk,
    linear_smoother_risk,
)
from assay.theory.trees import DepthTwo, ImpurityCurves, best_tree_of_depth_two, impurity_curves

__all__ = [
    "BayesErrors",
    "BiasVariance",
    "ClassificationLossCheck",
    "CoefficientMoments",
    "Coverage",
    "Crossover",
    "ExcessErrors",
    "LikelihoodReport",
    "efron_efficiency",
    "excess_error_curve",
    "largest_gaussian_likelihood",
    "lda_bayes_error",
    "likelihood_report",
    "linear_rule_error",
    "mahalanobis",
    "mixture_then_label",
]
__all__ += ["DimensionFree", "ExpectedCriterion", "GaussMarkov", "KernelRidgeRisk", "LeastSquaresRisk"]
__all__ += ["LinearSmootherRisk", "LloydTrap", "NumericalMinimum", "OptimalPartition", "Overfitting"]
__all__ += ["PlusPlusRatio", "PopulationMinimisers", "RidgeError", "RidgeOracle", "RidgeRisk", "RiskRate"]
__all__ += ["Sensitivity", "SeparationCurve", "Stability", "SurrogateBound", "bias_variance"]
__all__ += ["check_classification_loss", "conditional_risk", "corrected_criterion", "coverage"]
__all__ += [
    "crossover_samples",
    "dimension_free_experiment",
    "excess_risk",
    "expected_criterion",
    "gauss_markov",
]
__all__ += ["kernel_ridge_risk", "least_squares_moments", "least_squares_rate", "least_squares_risk"]
__all__ += ["linear_smoother_risk", "minimise_conditional_risk", "optimal_partition", "outlier_sensitivity"]
__all__ += ["pairwise_criterion", "plus_plus_factor", "plus_plus_ratio", "polynomial_overfitting"]
__all__ += ["population_minimisers", "primal_dual_crossover", "ridge_error", "ridge_moments", "ridge_oracle"]
__all__ += ["ridge_oracle_lambda", "ridge_risk", "separation_curve", "simulated_bias_variance"]
__all__ += ["squaring_experiment", "stuck_rectangle", "surrogate_bound", "tie_trap", "unlucky_rows"]
__all__ += ["Disagreement", "VarianceDecomposition", "ensemble_variance_decomposition", "vote_accuracy"]
__all__ += ["vote_disagreement"]
__all__ += ["DepthTwo", "ImpurityCurves", "best_tree_of_depth_two", "impurity_curves"]
__all__ += ["ErrorDecomposition", "FlippedWeight", "KernelBall", "MarginBound", "RademacherComplexity"]
__all__ += ["error_decomposition", "flipped_weight", "margin_bound", "rademacher_complexity"]
__all__ += ["CriterionCheck", "HistogramRisk", "KernelMse", "MseBound", "RateExperiment", "binomial_distance"]
__all__ += [
    "density_rate",
    "histogram_imse",
    "histogram_mse",
    "kernel_mse",
    "mse_bound",
    "unbiased_criterion",
]
__all__ += ["EasierDecision", "Misclassification", "Regret", "RiskEstimates", "conditional_error"]
__all__ += ["easier_decision", "empirical_risk", "misclassification", "plug_in_regret", "regret"]
__all__ += ["risk_estimates"]
__all__ += [
    "CoverHart",
    "NeighborRisks",
    "ball_share_of_cube",
    "cover_hart",
    "inner_share",
    "knn_certificate",
]
__all__ += ["knn_lower_bound_n", "knn_risk_bound", "knn_sample_complexity", "lattice_size"]
__all__ += ["nearest_neighbor_risk", "neighbor_risk_curve", "smallest_risk"]
__all__ += [
    "BoundTrial",
    "MeanAgainstMedian",
    "MedianIdentity",
    "RiskBound",
    "distance_to_hyperplane",
    "hinge_bound_trial",
    "hinge_risk_bound",
    "lipschitz_oracle_bound",
    "lipschitz_risk_bound",
    "margin",
    "mean_against_median",
    "median_identity",
    "svr_bound_trial",
    "svr_oracle_bound",
]
__all__ += ["DensityErrors", "InterpolationErrors", "Lift", "MembershipSums", "PowerSequence", "circles"]
__all__ += ["density_errors", "interpolation_errors", "lift", "membership_sums", "power_sequence"]
__all__ += ["SidedRidge", "ridge_by_side"]

publish(globals())
