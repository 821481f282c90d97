# Reference numbers for tests/trees/test_stagewise_against_r.py, made with gbm.
#
#   Rscript tests/reference/make_stagewise.R
#
# R is not needed to run the tests; stagewise.json says which versions made it. Columns have few values, so that
# bins lose nothing, no two cuts gain the same, and trees have two leaves.

suppressPackageStartupMessages(library(gbm))

arguments <- commandArgs(trailingOnly = FALSE)
here <- dirname(normalizePath(sub("^--file=", "", arguments[grep("^--file=", arguments)])))

numbers <- function(values) paste0("[", paste(sprintf("%.17g", values), collapse = ", "), "]")

set.seed(1)
n <- 200
X <- data.frame(a = round(runif(n), 2), b = round(runif(n), 2), c = round(runif(n), 2))
y <- round(3 * X$a - 2 * (X$b > 0.4) + X$c^2 + rnorm(n, sd = 0.5), 3)
label <- as.numeric(y > median(y))
weight <- round(runif(n, 0.5, 1.5), 4) # residuals of the absolute loss are signs: weights keep gains apart

fitted <- function(target, law, w = rep(1, n), least = 10) {
  model <- gbm.fit(X, target, distribution = law, n.trees = 20, interaction.depth = 1, shrinkage = 0.1,
                   w = w, bag.fraction = 1, n.minobsinnode = least, verbose = FALSE)
  predict(model, X, n.trees = 20)
}

lines <- c(
  paste0('"R": "', R.version$version.string, '"'),
  paste0('"gbm": "', as.character(packageVersion("gbm")), '"'),
  paste0('"a": ', numbers(X$a)), paste0('"b": ', numbers(X$b)), paste0('"c": ', numbers(X$c)),
  paste0('"y": ', numbers(y)), paste0('"label": ', numbers(label)),
  paste0('"gaussian": ', numbers(fitted(y, "gaussian"))),
  paste0('"bernoulli": ', numbers(fitted(label, "bernoulli"))),
  paste0('"weight": ', numbers(weight)),
  paste0('"laplace": ', numbers(fitted(y, "laplace", weight, 1))),
  paste0('"adaboost": ', numbers(fitted(label, "adaboost")))
)
writeLines(paste0("{", paste(lines, collapse = ",\n "), "}"), file.path(here, "stagewise.json"))
