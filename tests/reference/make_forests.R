# Reference numbers for tests/trees/test_forests_against_r.py, made with R.
#
#   Rscript tests/reference/make_forests.R
#
# R is not needed to run the tests. The file says which version of R and of each package made it. Forests are
# random: means and standard deviations over seeds are kept.

suppressPackageStartupMessages({library(randomForest); library(ranger)})

arguments <- commandArgs(trailingOnly = FALSE)
here <- dirname(normalizePath(sub("^--file=", "", arguments[grep("^--file=", arguments)])))
table_of <- function(name) read.csv(file.path(here, paste0(name, ".csv")))

patients <- table_of("patients")
seeds <- 1:30
n_trees <- 200

summary_of <- function(values) list(mean = mean(values), sd = sd(values))
oob <- function(fit) summary_of(sapply(seeds, function(seed) { set.seed(seed); fit(seed) }))

error_rf <- function(mtry) oob(function(seed) {
  unname(randomForest(Species ~ ., iris, ntree = n_trees, mtry = mtry)$err.rate[n_trees, "OOB"]) })
error_ranger <- function(mtry) oob(function(seed) {
  ranger(Species ~ ., iris, num.trees = n_trees, mtry = mtry, seed = seed, num.threads = 1)$prediction.error })
mse_rf <- function(mtry) oob(function(seed) {
  randomForest(y ~ ., patients, ntree = n_trees, mtry = mtry, nodesize = 5)$mse[n_trees] })
mse_ranger <- function(mtry) oob(function(seed) {
  ranger(y ~ ., patients, num.trees = n_trees, mtry = mtry, min.node.size = 5, seed = seed,
         num.threads = 1)$prediction.error })
set.seed(1)
gini <- rowMeans(sapply(seeds, function(seed) {
  set.seed(seed); randomForest::importance(randomForest(Species ~ ., iris, ntree = n_trees, mtry = 2))[, "MeanDecreaseGini"] }))

number <- function(value) sprintf("%.17g", value)
entry <- function(name, s) paste0('"', name, '": {"mean": ', number(s$mean), ', "sd": ', number(s$sd), "}")
lines <- c(
  paste0('"made_with": {"R": "', R.version$major, ".", R.version$minor, '", "randomForest": "',
         packageVersion("randomForest"), '", "ranger": "', packageVersion("ranger"), '"}'),
  paste0('"n_trees": ', n_trees), paste0('"n_seeds": ', length(seeds)),
  entry("iris_randomForest", error_rf(2)), entry("iris_ranger", error_ranger(2)),
  entry("iris_bagging_randomForest", error_rf(4)),
  entry("patients_randomForest", mse_rf(2)), entry("patients_ranger", mse_ranger(2)),
  paste0('"iris_mean_decrease_gini": [', paste(number(gini / sum(gini)), collapse = ", "), "]"))
writeLines(paste0("{", paste(lines, collapse = ",\n "), "}"), file.path(here, "forests.json"))
