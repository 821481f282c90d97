"""Convex optimisation to learn from: descent methods with traces and rates, programmes with their duals.

What the courses prove about an algorithm is a function here: a rate, a plan of steps, a check of convexity, a
certificate of a programme. The estimators of the library run on `assay.solvers`.
"""

from __future__ import annotations

from assay.homes import publish
from assay.optimize.convexity.atoms import (
    Expression,
    absolute_power,
    composition,
    exponential,
    largest_entry,
    linear_form,
    log_sum_exp,
    logistic_atom,
    negative_log,
    negative_power,
    norm_atom,
    partial_infimum,
    pointwise_maximum,
    quadratic_form,
    square,
)
from assay.optimize.convexity.checks import (
    Check,
    check_chord,
    check_cocoercivity,
    check_convexity,
    check_hessian,
    check_lipschitz_gradient,
    check_minimiser,
    check_monotone_gradient,
    check_projection,
    check_slopes,
    check_smoothness,
    check_strong_convexity,
    check_tangent,
    estimate_smoothness,
    estimate_strong_convexity,
    gap_bound,
    jensen_gap,
)
from assay.optimize.convexity.infimum import InfimumStatus, infimum_status, logistic_infimum
from assay.optimize.descent.adaptive import (
    AdaDeltaState,
    AdamState,
    Adaptive,
    Method,
    OnlineProblem,
    SquaresState,
    adadelta,
    adagrad,
    adam,
    adam_counterexample,
    adaptive_descent,
    plain,
    rmsprop,
)
from assay.optimize.descent.frank_wolfe import (
    FrankWolfe,
    frank_wolfe,
    frank_wolfe_certificates,
    frank_wolfe_rate,
)
from assay.optimize.descent.gradient import (
    Descent,
    Projected,
    accelerated_gradient,
    gradient_descent,
    inexact_descent,
    projected_gradient,
)
from assay.optimize.descent.iteration import averaging_step, constant_step, inverse_step, root_step
from assay.optimize.descent.newton import Eigenpair, Newton, newton, power_iteration, rayleigh_quotient
from assay.optimize.descent.objective import (
    Smooth,
    kernel_ridge_objective,
    least_squares_objective,
    logistic_objective,
    quadratic,
)
from assay.optimize.descent.proximal import (
    Composite,
    CoordinateDescent,
    coordinate_descent,
    proximal_gradient,
    proximal_newton,
)
from assay.optimize.descent.rates import (
    Plan,
    accelerated_rate,
    averaged_stochastic_plan,
    averaged_stochastic_rate,
    convex_rate,
    descent_lemma,
    distance_never_grows,
    inexact_rate,
    linear_rate,
    optimal_step_rate,
    projected_plan,
    projected_rate,
    smooth_rate,
    stochastic_plan,
    stochastic_rate,
    strongly_convex_rate,
)
from assay.optimize.descent.risk import PenalisedRisk, Solver, penalised_risk
from assay.optimize.descent.splitting import Splitting, admm, admm_certificates
from assay.optimize.descent.stochastic import (
    NoisyMean,
    Stochastic,
    constant_step_floor,
    gradient_noise,
    least_squares_rows,
    logistic_rows,
    stochastic_descent,
    stochastic_gradient,
    unbiased_step,
)
from assay.optimize.descent.trace import Bound, Trace, in_expectation
from assay.optimize.programs.dual import (
    DualSolution,
    DualValue,
    dual_value,
    duality_counterexample,
    duality_gap,
    solve_dual,
)
from assay.optimize.programs.duality import (
    ProgramSolution,
    Slater,
    program_certificates,
    slater_point,
    solve_program,
)
from assay.optimize.programs.hull import (
    HullMembership,
    LinearMinimum,
    Separation,
    caratheodory,
    hull_membership,
    hull_vertices,
    linear_minimum,
    separating_hyperplane,
)
from assay.optimize.programs.interior import equality_quadratic
from assay.optimize.programs.linear_program import LinearProgram, linear_program
from assay.optimize.programs.program import ConvexProgram, Supremum, kkt_report

__all__ = ["AdaDeltaState", "AdamState", "Adaptive", "Bound", "Check", "Composite", "ConvexProgram"]
__all__ += ["CoordinateDescent", "Descent", "DualSolution", "DualValue", "Eigenpair", "Expression"]
__all__ += ["FrankWolfe", "HullMembership", "InfimumStatus", "LinearMinimum", "LinearProgram", "Method"]
__all__ += ["Newton", "NoisyMean", "OnlineProblem", "PenalisedRisk", "Plan", "ProgramSolution", "Projected"]
__all__ += ["Separation", "Slater", "Smooth", "Solver", "Splitting", "SquaresState", "Stochastic", "Supremum"]
__all__ += ["Trace", "absolute_power", "accelerated_gradient", "accelerated_rate", "adadelta", "adagrad"]
__all__ += ["adam", "adam_counterexample", "adaptive_descent", "admm", "admm_certificates"]
__all__ += ["averaged_stochastic_plan", "averaged_stochastic_rate", "averaging_step", "caratheodory"]
__all__ += ["check_chord", "check_cocoercivity", "check_convexity", "check_hessian"]
__all__ += ["check_lipschitz_gradient", "check_minimiser", "check_monotone_gradient", "check_projection"]
__all__ += ["check_slopes", "check_smoothness", "check_strong_convexity", "check_tangent", "composition"]
__all__ += ["constant_step", "constant_step_floor", "convex_rate", "coordinate_descent", "descent_lemma"]
__all__ += ["distance_never_grows", "dual_value", "duality_counterexample", "duality_gap"]
__all__ += ["equality_quadratic", "estimate_smoothness", "estimate_strong_convexity", "exponential"]
__all__ += ["frank_wolfe", "frank_wolfe_certificates", "frank_wolfe_rate", "gap_bound", "gradient_descent"]
__all__ += ["gradient_noise", "hull_membership", "hull_vertices", "in_expectation", "inexact_descent"]
__all__ += ["inexact_rate"]
__all__ += ["infimum_status", "inverse_step", "jensen_gap", "kernel_ridge_objective", "kkt_report"]
__all__ += ["largest_entry", "least_squares_objective", "least_squares_rows", "linear_form", "linear_minimum"]
__all__ += ["linear_program", "linear_rate", "log_sum_exp", "logistic_atom", "logistic_infimum"]
__all__ += ["logistic_objective", "logistic_rows", "negative_log", "negative_power", "newton", "norm_atom"]
__all__ += ["optimal_step_rate", "partial_infimum", "penalised_risk", "plain", "pointwise_maximum"]
__all__ += ["power_iteration", "program_certificates", "projected_gradient", "projected_plan"]
__all__ += ["projected_rate", "proximal_gradient", "proximal_newton", "quadratic", "quadratic_form"]
__all__ += ["rayleigh_quotient", "rmsprop", "root_step", "separating_hyperplane", "slater_point"]
__all__ += ["smooth_rate", "solve_dual", "solve_program", "square", "stochastic_descent"]
__all__ += ["stochastic_gradient", "stochastic_plan", "stochastic_rate", "strongly_convex_rate"]
__all__ += ["unbiased_step"]

publish(globals())
