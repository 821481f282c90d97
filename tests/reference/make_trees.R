# Reference numbers for tests/trees/test_against_r.py, made with rpart.
#
#   Rscript tests/reference/make_trees.R
#
# R is not needed to run the tests; trees.json says which versions made it.

suppressPackageStartupMessages(library(rpart))

arguments <- commandArgs(trailingOnly = FALSE)
here <- dirname(normalizePath(sub("^--file=", "", arguments[grep("^--file=", arguments)])))

json <- function(value) {
  if (is.list(value)) {
    fields <- mapply(function(name, item) paste0('"', name, '": ', json(item)), names(value), value)
    return(paste0("{", paste(fields, collapse = ",\n "), "}"))
  }
  if (is.matrix(value)) return(paste0("[", paste(apply(value, 1, json), collapse = ",\n  "), "]"))
  text <- if (is.character(value)) paste0('"', value, '"') else ifelse(is.na(value), "null", sprintf("%.17g", value))
  if (length(text) == 1) text else paste0("[", paste(text, collapse = ", "), "]")
}

# The tree in the order node, left part, right part (the numbers of rpart sorted as paths).
path_order <- function(numbers) {
  paths <- sapply(numbers, function(k) {
    path <- c()
    while (k > 1) { path <- c(k %% 2, path); k <- k %/% 2 }
    paste(path, collapse = "")
  })
  order(paths)
}

tree_of <- function(fit) {
  frame <- fit$frame
  numbers <- as.integer(rownames(frame))
  inner <- frame$var != "<leaf>"
  index <- cumsum(c(1, frame$ncompete + frame$nsurrogate + inner))[seq_len(nrow(frame))]
  threshold <- rep(NA_real_, nrow(frame))
  threshold[inner] <- fit$splits[index[inner], "index"]
  side <- rep(NA_real_, nrow(frame))
  side[inner] <- fit$splits[index[inner], "ncat"]
  order <- path_order(numbers)
  list(column = as.character(frame$var)[order], threshold = threshold[order], side = side[order],
       n = frame$n[order], dev = frame$dev[order], number = numbers[order])
}

everything <- rpart.control(cp = -1, minsplit = 20, minbucket = 7, maxcompete = 0, maxsurrogate = 0, xval = 0)
patients <- read.csv(file.path(here, "patients.csv"))
numbers <- rpart(y ~ ., patients, method = "anova", control = everything)

classes <- read.csv(file.path(here, "classes.csv"))
gini <- rpart(factor(y) ~ ., classes, method = "class", parms = list(split = "gini"), control = everything)
entropy <- rpart(factor(y) ~ ., classes, method = "class", parms = list(split = "information"),
                 control = everything)

# Cross-validation with folds that are handed in: rows 1, 11, 21, ... are the first fold.
folds <- rep_len(1:10, nrow(patients))
crossed <- rpart(y ~ ., patients, method = "anova", control = rpart.control(
  cp = 0, minsplit = 20, minbucket = 7, maxcompete = 0, maxsurrogate = 0, xval = folds))

versions <- list(R = paste(R.version$major, R.version$minor, sep = "."),
                 rpart = as.character(packageVersion("rpart")))
results <- list(
  made_with = versions,
  numbers = c(tree_of(numbers), list(cptable = unname(numbers$cptable))),
  gini = tree_of(gini),
  entropy = tree_of(entropy),
  crossed = list(cptable = unname(crossed$cptable), root = numbers$frame$dev[1] / nrow(patients))
)
writeLines(json(results), file.path(here, "trees.json"))
