# Reference values of R's pls package for tests/test_pls_references.py.
# Run: Rscript tests/references/pls.R > tests/references/pls.json
library(pls)
i <- matrix(1:15, 15, 6)
j <- matrix(1:6, 15, 6, byrow = TRUE)
X <- sin(i * j) + cos(3 * i + j) * j
Y <- cbind(X[, 1] - X[, 3] + sin(1:15), X[, 2] * 2 + cos(1:15), sin(2 * (1:15)))
numbers <- function(a) paste0("[", paste(sprintf("%.17g", c(a)), collapse = ", "), "]")
lines <- c(sprintf('"version": "pls %s, %s"', packageVersion("pls"), R.version.string))
add <- function(name, a) lines <<- c(lines, sprintf('"%s": %s', name, numbers(a)))
for (method in c("kernelpls", "oscorespls", "simpls", "widekernelpls")) {
  for (scale in c(FALSE, TRUE)) {
    fit <- plsr(Y ~ X, ncomp = 4, method = method, scale = scale)
    # features x targets x components, first index fastest
    add(paste(method, if (scale) "scaled" else "plain", sep = "_"), fit$coefficients)
  }
}
fit <- plsr(Y ~ X, ncomp = 4, method = "kernelpls")
add("loading_weights", unclass(fit$loading.weights))
add("loadings", unclass(fit$loadings))
add("x_variance", explvar(fit))
one <- plsr(Y[, 1] ~ X, ncomp = 4, validation = "CV", segments = split(1:15, rep(1:5, each = 3)))
add("press", one$validation$PRESS)
data(gasoline)
gas <- plsr(octane ~ NIR, ncomp = 10, data = gasoline)
add("gasoline_fitted", gas$fitted.values[1:5, 1, c(2, 5, 10)])
data(yarn)
y <- plsr(density ~ NIR, ncomp = 6, data = yarn[yarn$train, ], scale = FALSE)
add("yarn_predicted", predict(y, ncomp = 6, newdata = yarn[!yarn$train, ]))
cat("{\n", paste(lines, collapse = ",\n"), "\n}\n", sep = "")
