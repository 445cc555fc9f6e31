"""
Which genes go with which lipids?
=================================

Forty mice, 120 genes and 21 lipids: few samples, many variables on both sides, and only a handful that vary together.
Sparse CCA names these variables, and a permutation test says whether to believe in the association. (The data imitate
a nutrition study of mice, but are generated, so that the true answer is known.)
"""

# %%
# A hidden diet drives the first six genes and the first four lipids. Everything else is noise.
import matplotlib.pyplot as plt
import numpy as np

from eigenkit import CanonicalRidge, SparseCCA
from eigenkit.analysis import permutation_test

rng = np.random.default_rng(1)
n, genes, lipids = 40, 120, 21
diet = rng.normal(size=n)
X, Y = rng.normal(size=(n, genes)), rng.normal(size=(n, lipids))
true_genes, true_lipids = np.arange(6), np.arange(4)
X[:, true_genes] += 1.5 * diet[:, None]
Y[:, true_lipids] += 1.5 * diet[:, None]

# %%
# Which variables does sparse CCA pick?
model = SparseCCA(1, keep_x=6, keep_y=4).fit(X, Y)
x_scores, y_scores = model.transform(X, Y)
found = np.flatnonzero(model.x_weights_[:, 0]), np.flatnonzero(model.y_weights_[:, 0])
print(f"genes {found[0]}, lipids {found[1]}")

# %%
# Is the association real? There are more genes than mice, so without a ridge every correlation would be 1; we test a
# regularized CCA.
test = permutation_test(
    CanonicalRidge(gamma_x=0.9, gamma_y=0.5), X, Y, n_permutations=199
)
print("p-values of the first three components:", test.p_values[:3].round(3))

# %%
# The weights, and the mice along the first pair of scores, coloured by the hidden diet.
fig, axes = plt.subplots(1, 3, figsize=(13, 3.8))
axes[0].stem(model.x_weights_[:, 0], markerfmt=".", basefmt=" ")
axes[0].set(title="weights of genes", xlabel="gene")
axes[1].stem(model.y_weights_[:, 0], markerfmt=".", basefmt=" ")
axes[1].set(title="weights of lipids", xlabel="lipid")
points = axes[2].scatter(x_scores[:, 0], y_scores[:, 0], c=diet, cmap="coolwarm", s=25)
axes[2].set(title="mice", xlabel="gene score", ylabel="lipid score")
fig.colorbar(points, ax=axes[2], label="diet (hidden)")
plt.show()
