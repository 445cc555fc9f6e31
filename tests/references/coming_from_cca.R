# Values of R's CCA and PMA for docs/coming_from.md and tests/test_docs_coming_from.py.
# Run: Rscript tests/references/coming_from_cca.R > tests/references/coming_from_cca.json
suppressMessages({library(CCA); library(PMA)})
i <- matrix(1:30, 30, 5)
j <- matrix(1:5, 30, 5, byrow = TRUE)
X <- sin(i * j) + cos(3 * i + j) * sqrt(j)
Y <- cbind(X[, 1] + sin(1:30), X[, 2] - X[, 4] + cos(2 * (1:30)), sin(3 * (1:30)))
X[, 1] <- X[, 1] + 1 + (1:30) %% 3
numbers <- function(a) paste0("[", paste(sprintf("%.17g", c(a)), collapse = ", "), "]")
lines <- sprintf('"version": "CCA %s, PMA %s, %s"', packageVersion("CCA"), packageVersion("PMA"),
                 R.version.string)
add <- function(name, a) lines <<- c(lines, sprintf('"%s": %s', name, numbers(a)))
ridge <- rcc(X, Y, 0.1, 0.2)
add("rcc_cor", ridge$cor)
add("rcc_xcoef", ridge$xcoef[, 1:3])
add("rcc_ycoef", ridge$ycoef)
sparse <- PMA::CCA(X, Y, typex = "standard", typez = "standard", penaltyx = 0.6, penaltyz = 0.9,
                   niter = 1000, trace = FALSE)
add("pma_u", sparse$u)
add("pma_v", sparse$v)
add("pma_cor", sparse$cors)
cat("{\n", paste(lines, collapse = ",\n"), "\n}\n", sep = "")
