"""
Can PCA centre a sparse matrix without filling it?
==================================================

Subtracting the column means from a sparse matrix would make it dense. eigenkit never forms the centred matrix; it
only multiplies by it. **Answer: PCA of sparse counts gives the same components as PCA of a dense copy, in a fraction
of the memory.**
"""

# %%
# Word counts of 800 documents on four topics.
import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA as DensePCA

from eigenkit import PCA

rng = np.random.default_rng(0)
topics = rng.gamma(0.05, size=(4, 3000))
which = rng.integers(4, size=800)
X = sparse.csr_array(rng.poisson(0.02 + topics[which])).astype(float)
model = PCA(10).fit(X)
Z = model.transform(X)

# %%
# Compare with a dense copy.
dense = DensePCA(10, svd_solver="full").fit(X.toarray())
difference = np.abs(model.explained_variance_ - dense.explained_variance_).max()
stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
print(f"largest difference of a variance: {difference:.1e}")
print(f"sparse {stored / 1e6:.1f} MB, dense {8 * np.prod(X.shape) / 1e6:.1f} MB")

# %%
# Three components carry the four topics.
fig, axes = plt.subplots(1, 2, figsize=(10, 4))
axes[0].plot(np.arange(1, 11), model.explained_variance_ratio_, "o-")
axes[0].set(xlabel="component", ylabel="share of the variance")
for topic in range(4):
    axes[1].scatter(*Z[which == topic, :2].T, s=10, label=f"topic {topic}")
axes[1].set(xlabel="component 1", ylabel="component 2")
axes[1].legend()
plt.show()
