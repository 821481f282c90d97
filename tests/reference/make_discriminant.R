# Reference numbers of discriminant analysis: MASS::lda, MASS::qda, mda::fda, and Box's M by its formula.
# Rscript tests/reference/make_discriminant.R writes discriminant.json beside itself.
suppressPackageStartupMessages({library(MASS); library(mda); library(jsonlite)})

here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
X <- as.matrix(iris[, 1:4])
y <- iris$Species

linear <- lda(X, y)
even <- lda(X, y, prior = c(0.2, 0.3, 0.5))
out <- lda(X, y, CV = TRUE)
quadratic <- qda(X, y)
fisher <- fda(Species ~ ., data = iris)

box_m <- function(X, y) {
  groups <- split(as.data.frame(X), y)
  free <- sapply(groups, nrow) - 1
  d <- ncol(X)
  k <- length(groups)
  covariances <- lapply(groups, cov)
  pooled <- Reduce(`+`, Map(`*`, covariances, free)) / sum(free)
  m <- sum(free) * log(det(pooled)) - sum(free * sapply(covariances, function(S) log(det(S))))
  scale <- (2 * d^2 + 3 * d - 1) / (6 * (d + 1) * (k - 1)) * (sum(1 / free) - 1 / sum(free))
  degrees <- (k - 1) * d * (d + 1) / 2
  statistic <- m * (1 - scale)
  list(statistic = statistic, degrees = degrees, log_pvalue = pchisq(statistic, degrees, lower.tail = FALSE, log.p = TRUE))
}

rows <- c(1, 60, 71, 84, 107, 120, 134)
result <- list(
  made_with = list(
    R = R.version.string, MASS = as.character(packageVersion("MASS")), mda = as.character(packageVersion("mda"))
  ),
  rows = rows,
  lda = list(
    scaling = unname(linear$scaling), svd = linear$svd, means = unname(linear$means),
    posterior = unname(predict(linear)$posterior)[rows, ]
  ),
  lda_priors = list(posterior = unname(predict(even)$posterior)[rows, ]),
  lda_leave_one_out = list(class = as.integer(out$class), posterior = unname(out$posterior)[rows, ]),
  qda = list(posterior = unname(predict(quadratic)$posterior)[rows, ], log_determinants = unname(quadratic$ldet)),
  fda = list(
    explained = unname(fisher$percent.explained), correlations = unname(fisher$values),
    variates = unname(predict(fisher, iris, type = "variates"))[rows, ],
    posterior = unname(predict(fisher, iris, type = "posterior"))[rows, ]
  ),
  box_m = box_m(X, y)
)
write(toJSON(result, digits = NA, auto_unbox = TRUE, pretty = TRUE), file.path(here, "discriminant.json"))
