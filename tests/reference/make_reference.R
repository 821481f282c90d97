# Reference numbers for tests/linear/test_against_r.py and tests/cluster/test_against_r.py, made with R.
#
#   python tests/reference/make_tables.py && Rscript tests/reference/make_reference.R
#
# R is not needed to run the tests. Each file says which version of R and of each package made it
# (R 4.2.2, glmnet 4.1-6, MASS 7.3-58.2, nnet 7.3-18, quantreg 5.94, sandwich 3.0-2 at the time of writing).

packages <- c("glmnet", "MASS", "nnet", "quantreg", "sandwich")
suppressPackageStartupMessages(invisible(lapply(packages, library, character.only = TRUE)))

arguments <- commandArgs(trailingOnly = FALSE)
here <- dirname(normalizePath(sub("^--file=", "", arguments[grep("^--file=", arguments)])))
table_of <- function(name) read.csv(file.path(here, paste0(name, ".csv")))

# JSON with all digits; lists with names become objects, vectors arrays, matrices arrays of rows.
json <- function(value) {
  if (is.list(value)) {
    fields <- mapply(function(name, item) paste0('"', name, '": ', json(item)), names(value), value)
    return(paste0("{", paste(fields, collapse = ",\n "), "}"))
  }
  if (is.matrix(value)) return(paste0("[", paste(apply(value, 1, json), collapse = ",\n  "), "]"))
  text <- if (is.character(value)) paste0('"', value, '"') else ifelse(is.na(value), "null", sprintf("%.17g", value))
  if (length(text) == 1) text else paste0("[", paste(text, collapse = ", "), "]")
}

store <- function(name, packages, results) {
  versions <- lapply(setNames(packages, packages), function(p) as.character(packageVersion(p)))
  head <- list(made_with = c(list(R = paste(R.version$major, R.version$minor, sep = ".")), versions))
  writeLines(json(c(head, results)), file.path(here, paste0(name, ".json")))
}

# ---- lm -------------------------------------------------------------------------------------------------
patients <- table_of("patients")
fit <- lm(y ~ ., patients)
s <- summary(fit)
new <- patients[1:10, ] + 0.5
store("lm", c("stats", "MASS"), list(
  coef = unname(coef(fit)), se = unname(s$coefficients[, 2]), t = unname(s$coefficients[, 3]),
  p = unname(s$coefficients[, 4]), interval = unname(confint(fit, level = 0.9)), sigma = s$sigma,
  r_squared = s$r.squared, adjusted_r_squared = s$adj.r.squared, f = unname(s$fstatistic),
  aic = AIC(fit), bic = BIC(fit), log_likelihood = as.numeric(logLik(fit)),
  leverage = unname(hatvalues(fit)), cooks_distance = unname(cooks.distance(fit)),
  internal = unname(rstandard(fit)), external = unname(rstudent(fit)), dffits = unname(dffits(fit)),
  prediction = unname(as.matrix(predict(fit, new, interval = "prediction", level = 0.95))),
  confidence = unname(as.matrix(predict(fit, new, interval = "confidence", level = 0.95))),
  lm_ridge = unname(coef(lm.ridge(y ~ ., patients, lambda = 7)))
))

# ---- glm ------------------------------------------------------------------------------------------------
tumours <- table_of("tumours")
responses <- table_of("responses")
exact <- glm.control(epsilon = 1e-15, maxit = 200)
numbers <- function(fit, dispersion = NULL) {
  s <- summary(fit, dispersion = dispersion)
  list(coef = unname(coef(fit)), se = unname(s$coefficients[, 2]), deviance = fit$deviance,
       null_deviance = fit$null.deviance, aic = fit$aic, log_likelihood = as.numeric(logLik(fit)),
       dispersion = s$dispersion, deviance_residuals = unname(residuals(fit, "deviance"))[1:10],
       pearson_residuals = unname(residuals(fit, "pearson"))[1:10])
}
binary <- function(link) numbers(glm(y ~ ., binomial(link), tumours, control = exact))
store("glm", c("stats", "MASS"), list(
  logit = binary("logit"), probit = binary("probit"), cloglog = binary("cloglog"),
  cauchit = binary("cauchit"),
  trials = numbers(glm(cbind(successes, trials - successes) ~ x0 + x1 + x2, binomial, responses, control = exact)),
  poisson_offset = numbers(glm(count ~ x0 + x1 + x2 + offset(log(exposure)), poisson, responses, control = exact)),
  quasi_poisson = numbers(glm(dispersed ~ x0 + x1 + x2, quasipoisson, responses, control = exact)),
  negative_binomial = numbers(glm(dispersed ~ x0 + x1 + x2, negative.binomial(2.5), responses, control = exact), 1),
  gamma_log = numbers(glm(amount ~ x0 + x1 + x2, Gamma("log"), responses, control = exact)),
  inverse_gaussian_log = numbers(glm(amount ~ x0 + x1 + x2, inverse.gaussian("log"), responses, control = exact)),
  gaussian = numbers(glm(y ~ ., gaussian, patients, control = exact))
))

# ---- robust errors of grouped trials, F tests, and means that round to 1 ---------------------------------------
# Weights are repetitions: the errors are those of a row of 0 or 1 for each trial.
trial <- responses[rep(seq_len(nrow(responses)), responses$trials), ]
trial$success <- unlist(mapply(function(k, n) as.numeric(seq_len(n) <= k), responses$successes, responses$trials))
robust_errors <- function(link) {
  fit <- glm(success ~ x0 + x1 + x2, binomial(link), trial, control = exact)
  errors <- function(type) unname(sqrt(diag(vcovHC(fit, type = type))))
  list(coef = unname(coef(fit)), HC0 = errors("HC0"), HC1 = errors("HC1"))
}
# anova takes the dispersion of Pearson of the larger model.
f_test <- function(smaller, larger) {
  found <- anova(smaller, larger, test = "F")
  list(f = found$F[2], p = found$`Pr(>F)`[2], df = found$Df[2], df_residual = found$`Resid. Df`[2])
}
f_tests <- function(target, family, table, some, all) {
  fit <- function(right) eval(bquote(glm(.(as.formula(paste(target, "~", right))), family, table, control = exact)))
  list(some = f_test(fit(some), fit(all)), none = f_test(fit("1"), fit(all)))
}
amounts <- function(target, family) f_tests(target, family, responses, "x0", "x0 + x1 + x2")
# 25 successes of 25 where a mean rounds to 1: scoring ends on the deviance, and its warnings are expected.
few <- data.frame(x = c(0, 1, 2, 6), k = c(5, 13, 22, 25))
far <- function(link) {
  fit <- suppressWarnings(glm(cbind(k, 25 - k) ~ x, binomial(link), few, control = exact))
  list(coef = unname(coef(fit)), deviance = fit$deviance)
}
store("likelihood", c("stats", "sandwich"), list(
  robust_logit = robust_errors("logit"), robust_probit = robust_errors("probit"),
  gaussian = f_tests("y", gaussian(), patients, "bmi + bp", "."),
  gamma = amounts("amount", Gamma("log")), inverse_gaussian = amounts("amount", inverse.gaussian("log")),
  quasi_poisson = amounts("dispersed", quasipoisson()),
  far_cloglog = far("cloglog"), far_probit = far("probit"), far_cauchit = far("cauchit"), far_logit = far("logit")
))

# ---- glmnet: (1/2n)‖·‖² or −(1/n) log-likelihood, plus λ((1 − α)/2 ‖w‖² + α‖w‖₁), intercept free ---------
# For the Gaussian family the ridge part is on the scale of y of unit variance, hence the scaled target.
n <- nrow(patients)
X <- as.matrix(patients[, 1:10])
unit <- (patients$y - mean(patients$y)) / sqrt(mean((patients$y - mean(patients$y))^2))
penalised <- function(X, y, family, alpha, lambda, ...) {
  fit <- glmnet(X, y, family, alpha = alpha, lambda = lambda, standardize = FALSE, thresh = 1e-20,
                maxit = 1e7, ...)
  found <- coef(fit)
  if (is.list(found)) found <- lapply(found, function(part) t(as.matrix(part)))
  else found <- t(as.matrix(found))
  list(lambda = lambda, coef = if (is.list(found)) lapply(found, unname) else unname(found))
}
store("glmnet", "glmnet", list(
  lasso = penalised(X, patients$y, "gaussian", 1, c(100, 20, 4)),
  elastic_net = penalised(X, unit, "gaussian", 0.5, c(1, 0.2, 0.04)),
  logistic_lasso = penalised(as.matrix(tumours[, 1:3]), tumours$y, "binomial", 1, c(0.5, 0.05, 0.005)),
  logistic_elastic_net = penalised(as.matrix(tumours[, 1:3]), tumours$y, "binomial", 0.3, c(0.2, 0.02)),
  multinomial_lasso = penalised(as.matrix(table_of("classes")[, 1:2]), table_of("classes")$y, "multinomial",
                                1, c(0.1, 0.02)),
  poisson_ridge = penalised(as.matrix(responses[, 1:3]), responses$count, "poisson", 0, c(1, 0.1),
                            offset = log(responses$exposure))
))

# ---- nnet::multinom, the first class as reference ----------------------------------------------------------
classes <- table_of("classes")
classes$y <- factor(classes$y)
fit <- multinom(y ~ x0 + x1, classes, trace = FALSE, maxit = 5000, reltol = 1e-16, abstol = 0)
store("multinom", "nnet", list(
  classes = levels(classes$y), coef = unname(coef(fit)), se = unname(summary(fit)$standard.errors),
  deviance = fit$deviance, aic = fit$AIC, probabilities = unname(fitted(fit))[1:10, ]
))

# ---- quantreg::rq and MASS::rlm -----------------------------------------------------------------------------
quantile_fit <- function(tau) {
  fit <- rq(y ~ ., tau, patients, method = "br")
  list(quantile = tau, coef = unname(coef(fit)), objective = fit$rho)
}
# Σ ρ(residuals) + (λ/2) Σ |slopes|, by an interior point: zeros are near ones.
penalised_quantile <- function(tau, lambda) {
  fit <- rq.fit.lasso(cbind(1, as.matrix(patients[, 1:10])), patients$y, tau, lambda, eps = 1e-12)
  list(quantile = tau, lambda = lambda, coef = unname(fit$coefficients))
}
robust <- rlm(y ~ ., patients, psi = psi.huber, k = 1.345, maxit = 2000, acc = 1e-14)
store("robust", c("quantreg", "MASS"), list(
  quarter = quantile_fit(0.25), median = quantile_fit(0.5), ninth = quantile_fit(0.9),
  penalised_median = penalised_quantile(0.5, 150), penalised_ninth = penalised_quantile(0.9, 100),
  huber = list(coef = unname(coef(robust)), scale = robust$s, k = 1.345)
))

# ---- kmeans of Hartigan and Wong, from 1000 starts, where most starts of Lloyd's end above --------------
measures <- list(opinions = attitude, arrests = USArrests, states = as.data.frame(state.x77), crabs = crabs[, 4:8])
for (name in names(measures)) {
  write.csv(setNames(measures[[name]], gsub("[ .]", "_", tolower(names(measures[[name]])))),
            file.path(here, paste0(name, ".csv")), row.names = FALSE, quote = FALSE)
}
inertia <- function(name, k, unit = FALSE) {
  X <- as.matrix(table_of(name))
  if (unit) X <- scale(X)
  set.seed(1)
  fit <- kmeans(X, k, nstart = 1000, iter.max = 1000, algorithm = "Hartigan-Wong")
  list(table = name, unit = as.numeric(unit), clusters = k, inertia = fit$tot.withinss)
}
store("kmeans", c("stats", "MASS"), list(
  opinions_6 = inertia("opinions", 6), opinions_8 = inertia("opinions", 8),
  opinions_7_unit = inertia("opinions", 7, TRUE), arrests_6_unit = inertia("arrests", 6, TRUE),
  states_6_unit = inertia("states", 6, TRUE), states_8_unit = inertia("states", 8, TRUE),
  crabs_8 = inertia("crabs", 8), crabs_7_unit = inertia("crabs", 7, TRUE)
))
