# Reference numbers of densities: bandwidths of MASS, binned sums of KernSmooth, several columns of ks.
# Rscript make_density.R > density.json

suppressPackageStartupMessages({library(MASS); library(KernSmooth); library(ks); library(jsonlite)})

set.seed(11)
x <- round(c(rnorm(120, 0, 1), rnorm(80, 3, 0.5)), 6)
XY <- round(cbind(rnorm(60), rexp(60)), 6)
H <- matrix(c(0.25, 0.1, 0.1, 0.36), 2)
Q <- rbind(c(0, 0.5), c(1, 1), c(-2, 3))

out <- list(
  x = x,
  # Widths of MASS are four bandwidths of a Gaussian kernel; a small lower end makes its search precise.
  ucv = MASS::ucv(x, nb = 100000, lower = 0.002, upper = 4) / 4,
  sheather_jones = MASS::width.SJ(x, nb = 100000, lower = 0.001, upper = 6, method = "ste") / 4,
  bw_nrd0 = bw.nrd0(x),
  bkde_points = bkde(x, bandwidth = 0.3, gridsize = 20001L, range.x = c(-4, 6))$x[seq(1, 20001, 500)],
  bkde = bkde(x, bandwidth = 0.3, gridsize = 20001L, range.x = c(-4, 6))$y[seq(1, 20001, 500)],
  XY = XY, H = H, Q = Q,
  kde = ks::kde(XY, H = H, eval.points = Q, binned = FALSE)$estimate,
  weights = rep(c(1, 2), 30),
  kde_weighted = ks::kde(XY, H = H, eval.points = Q, binned = FALSE, w = rep(c(1, 2), 30) * 60 / 90)$estimate
)
cat(toJSON(out, digits = NA, auto_unbox = TRUE))
