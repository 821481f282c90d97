# Reference numbers for tests/neighbors/test_against_r.py, made with class and FNN.
#
#   Rscript tests/reference/make_neighbors.R
#
# R is not needed to run the tests; neighbors.json says which versions made it.

suppressPackageStartupMessages({library(class); library(FNN); library(jsonlite)})

arguments <- commandArgs(trailingOnly = FALSE)
here <- dirname(normalizePath(sub("^--file=", "", arguments[grep("^--file=", arguments)])))

table <- read.csv(file.path(here, "crabs.csv"))
features <- as.matrix(table[, c("fl", "rw", "cl", "bd")])
# The measurements are rounded; without ties the answer does not depend on how they are broken.
features <- features + 1e-3 * sin(outer(seq_len(nrow(features)), c(1, 2, 3, 5)))
width <- table$cw
wide <- factor(ifelse(width > median(width) + 3 * sin(seq_len(nrow(table))), "wide", "narrow"))
train <- seq(1, nrow(features), by = 2)
test <- seq(2, nrow(features), by = 2)

out <- list(versions = c(R.version.string, paste("class", packageVersion("class")), paste("FNN", packageVersion("FNN"))))
for (k in c(1, 7)) {
  set.seed(1)
  voted <- knn(features[train, ], features[test, ], wide[train], k = k, prob = TRUE)
  out[[paste0("class_", k)]] <- as.character(voted)
  out[[paste0("share_", k)]] <- attr(voted, "prob")
  out[[paste0("left_out_", k)]] <- as.character(knn.cv(features, wide, k = k))
  out[[paste0("mean_", k)]] <- knn.reg(features[train, ], features[test, ], width[train], k = k)$pred
}
near <- get.knnx(features[train, ], features[test, ], k = 7, algorithm = "kd_tree")
out$index <- near$nn.index - 1
out$distance <- near$nn.dist
write_json(out, file.path(here, "neighbors.json"), digits = 12, auto_unbox = TRUE)
