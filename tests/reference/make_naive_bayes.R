# Reference numbers for tests/discriminant/test_naive_bayes_against_r.py, made with e1071.
#
#   Rscript tests/reference/make_naive_bayes.R
#
# R is not needed to run the tests; naive_bayes.json says which versions made it.

suppressPackageStartupMessages(library(e1071))

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

# A small table made without random numbers: two numeric columns, two factors, missing values.
n <- 60
index <- seq_len(n)
label <- factor(c("a", "b", "c")[1 + (index * 7) %% 3])
level <- as.integer(label)
table <- data.frame(
  height = round(10 * sin(index) + 4 * level, 3),
  width = round(3 * cos(1.7 * index) - level + 0.01 * index, 3),
  town = factor(c("Lyon", "Nice", "Paris")[1 + (index %/% 3 + level * (index %% 2)) %% 3]),
  owner = factor(c("no", "yes")[1 + ((index %/% 2 + level) %% 4 == 0)])
)
holes <- table
holes$height[c(3, 17, 40)] <- NA
holes$town[c(5, 17)] <- NA

numbers <- function(data, laplace) {
  fit <- naiveBayes(data, label, laplace = laplace)
  list(
    height = unname(fit$tables$height), town = unname(fit$tables$town), owner = unname(fit$tables$owner),
    posterior = unname(predict(fit, data, type = "raw", threshold = 1e-300))
  )
}

result <- list(
  versions = paste(R.version.string, "e1071", as.character(packageVersion("e1071"))),
  rows = list(
    height = table$height, width = table$width, town = as.character(table$town),
    owner = as.character(table$owner), label = as.character(label),
    no_height = c(2, 16, 39), no_town = c(4, 16)
  ),
  plain = numbers(table, 0),
  smoothed = numbers(table, 1),
  holes = numbers(holes, 1)
)
writeLines(json(result), file.path(here, "naive_bayes.json"))
