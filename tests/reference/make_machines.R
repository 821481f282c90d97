# Reference numbers for tests/kernel_machines/test_machines_against_r.py, made with e1071, kernlab and quantreg.
#
#   Rscript tests/reference/make_machines.R
#
# R is not needed to run the tests; machines.json says which versions made it. e1071 is libsvm, `ipop` an interior
# point method for the dual itself, `kqr` regression of a quantile in the space of a kernel, `rq` the one of a line.

suppressPackageStartupMessages({
  library(e1071)
  library(kernlab)
  library(quantreg)
})

arguments <- commandArgs(trailingOnly = FALSE)
here <- dirname(normalizePath(sub("^--file=", "", arguments[grep("^--file=", arguments)])))

numbers <- function(values) paste0("[", paste(sprintf("%.17g", as.numeric(values)), collapse = ", "), "]")

set.seed(3)
n <- 60
X <- cbind(round(rnorm(n), 2), round(rnorm(n), 2))
y <- round(sin(2 * X[, 1]) + 0.5 * X[, 2] + 0.3 * rnorm(n), 3)
label <- as.numeric(X[, 1] + X[, 2]^2 + 0.6 * rnorm(n) > 0.7)
gamma <- 0.6

machine <- function(target, type, ...) {
  svm(X, target, scale = FALSE, type = type, kernel = "radial", gamma = gamma, tolerance = 1e-10, ...)
}

# Values in favour of the class 1, whichever libsvm saw first.
values <- function(model) {
  told <- attr(predict(model, X, decision.values = TRUE), "decision.values")
  if (colnames(told) == "1/0") told[, 1] else -told[, 1]
}

kind <- factor(label)
one <- machine(NULL, "one-classification", nu = 0.3)

# The dual of the machine of two classes, C = 2: min ½ aᵀHa − Σa over 0 ≤ a ≤ 2, yᵀa = 0.
sign <- 2 * label - 1
K <- kernelMatrix(rbfdot(sigma = gamma), X)
dual <- ipop(
  c = matrix(rep(-1, n)), H = outer(sign, sign) * K, A = t(sign), b = 0, l = matrix(rep(0, n)),
  u = matrix(rep(2, n)), r = 0, sigf = 10, maxiter = 100, margin = 1e-9
)
alpha <- primal(dual)

quantile <- function(tau) {
  model <- kqr(X, y, tau = tau, C = 1, kernel = "rbfdot", kpar = list(sigma = gamma), scaled = FALSE)
  predict(model, X)
}

lines <- c(
  paste0('"R": "', R.version$version.string, '"'),
  paste0('"e1071": "', packageVersion("e1071"), '"'),
  paste0('"kernlab": "', packageVersion("kernlab"), '"'),
  paste0('"quantreg": "', packageVersion("quantreg"), '"'),
  paste0('"first": ', numbers(X[, 1])), paste0('"second": ', numbers(X[, 2])),
  paste0('"y": ', numbers(y)), paste0('"label": ', numbers(label)), paste0('"gamma": ', gamma),
  paste0('"c_classification": ', numbers(values(machine(kind, "C-classification", cost = 2)))),
  paste0('"nu_classification": ', numbers(values(machine(kind, "nu-classification", nu = 0.4)))),
  paste0('"eps_regression": ', numbers(predict(machine(y, "eps-regression", cost = 2, epsilon = 0.2), X))),
  paste0('"nu_regression": ', numbers(predict(machine(y, "nu-regression", cost = 2, nu = 0.4), X))),
  paste0('"one_classification": ', numbers(attr(predict(one, X, decision.values = TRUE), "decision.values"))),
  paste0('"ipop": ', numbers(alpha)),
  paste0('"ipop_value": ', sprintf("%.17g", sum(alpha) - 0.5 * sum((alpha * sign) * (K %*% (alpha * sign))))),
  paste0('"kqr_half": ', numbers(quantile(0.5))), paste0('"kqr_high": ', numbers(quantile(0.8))),
  paste0('"rq_half": ', numbers(coef(rq(y ~ X, tau = 0.5)))),
  paste0('"rq_high": ', numbers(coef(rq(y ~ X, tau = 0.8))))
)
writeLines(paste0("{", paste(lines, collapse = ",\n "), "}"), file.path(here, "machines.json"))
