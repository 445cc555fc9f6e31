"""
Which articles share their readers?
===================================

A reader connects all the articles she has read, a shopping basket all its goods: such a connection of any number of
things is a hyperedge, and an ordinary graph, which connects things in pairs, cannot represent it.
:class:`eigenkit.HypergraphClustering` finds groups of things by the eigenvectors of a Laplacian of the hypergraph.
"""

# %%
# 120 articles in three groups, and 300 readers. Each reader (a hyperedge) reads mostly articles of one group.
import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from eigenkit import HypergraphClustering

rng = np.random.default_rng(4)
group = np.repeat([0, 1, 2], 40)
reader = rng.integers(0, 3, 300)
J = rng.random((120, 300)) < np.where(group[:, None] == reader, 0.15, 0.02)
J[np.arange(120), np.arange(120)] = True  # every article has a reader

# %%
# How well do the clusters of each Laplacian match the true groups (1 is a perfect match)? The last two are not normalized
# by the degrees of the vertices, and are easily misled by articles with few readers. The incidence matrix may be sparse.
incidence = sparse.csr_array(J.astype(float))
found = {}
for expansion in ("zhou", "star", "clique", "bolla", "rodriguez"):
    found[expansion] = HypergraphClustering(3, expansion=expansion, random_state=0).fit(
        incidence
    )
    print(f"{expansion:10s} {adjusted_rand_score(group, found[expansion].labels_):.2f}")

# %%
# The embedding that is clustered by k-means. A normalized Laplacian (left) puts the articles of a group close together; an
# unnormalized one (right) spends its eigenvectors on a few outliers.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8))
for ax, name in zip(axes, ("zhou", "bolla"), strict=True):
    ax.scatter(*found[name].embedding_[:, 1:].T, c=group, s=18)
    ax.set(title=f"{name}: second and third eigenvector", xlabel="2", ylabel="3")
plt.show()
