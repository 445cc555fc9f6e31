# Redundancy analysis with permutation tests, for tests/test_analysis_judges.py:
#     Rscript vegan.R > vegan.json
suppressMessages({library(vegan); library(jsonlite)})
set.seed(1)
draw <- function(k) round(matrix(rexp(24 * k), 24), 3)
X <- draw(5)
Z <- draw(2)
block <- factor(rep(1:3, 8))
Y <- draw(6) + 0.4 * cbind(X[, 1:2], Z, X[, 1:2]) + as.integer(block)
p <- function(model, ...) anova(model, ...)$`Pr(>F)`[1]
whole <- rda(Y ~ X)
partial <- rda(Y ~ X + Condition(Z))
blocked <- rda(Y ~ X + Condition(block))
within <- how(blocks = block, nperm = 9999)
cat(toJSON(list(
  X = unname(X), Y = unname(Y), Z = unname(Z), blocks = as.integer(block),
  cancor = cancor(X, Y)$cor,
  eigenvalues = unname(whole$CCA$eig), p = p(whole, permutations = 9999),
  partial_eigenvalues = unname(partial$CCA$eig), partial_p = p(partial, permutations = 9999),
  block_eigenvalues = unname(blocked$CCA$eig), block_p = p(blocked, permutations = within)
), auto_unbox = TRUE, digits = 15))
