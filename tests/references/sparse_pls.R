# Reference values of R's mixOmics for tests/test_sparse_pls.py.
# Run: Rscript tests/references/sparse_pls.R > tests/references/sparse_pls.json
library(mixOmics)
i <- matrix(1:25, 25, 12)
j <- matrix(1:12, 25, 12, byrow = TRUE)
X <- sin(i * j) + cos(3 * i + j) * sqrt(j)
Y <- X[, 1:7] + 2 * sin(2 * i + j * j)[, 1:7]
colnames(X) <- paste0("x", 1:12)
colnames(Y) <- paste0("y", 1:7)
classes <- factor(c("a", "b", "c")[1 + (1:25) %% 3])
numbers <- function(a) paste0("[", paste(sprintf("%.17g", c(a)), collapse = ", "), "]")
lines <- c(sprintf('"version": "mixOmics %s, %s"', packageVersion("mixOmics"), R.version.string))
add <- function(name, a) lines <<- c(lines, sprintf('"%s": %s', name, numbers(a)))
for (mode in c("regression", "canonical")) {
  # The default tol = 1e-6 bounds the squared change of the weights.
  fit <- spls(X, Y, ncomp = 3, mode = mode, keepX = c(4, 6, 12), keepY = c(3, 7, 5), tol = 1e-12)
  add(paste0(mode, "_x_weights"), fit$loadings$X)
  add(paste0(mode, "_y_weights"), fit$loadings$Y)
  add(paste0(mode, "_x_scores"), fit$variates$X)
  add(paste0(mode, "_y_scores"), fit$variates$Y)
}
fit <- splsda(X, classes, ncomp = 2, keepX = c(3, 5), tol = 1e-12)
add("da_x_weights", fit$loadings$X)
add("da_responses", predict(fit, X, dist = "max.dist")$predict[, , 2])
cat("{\n", paste(lines, collapse = ",\n"), "\n}\n", sep = "")
