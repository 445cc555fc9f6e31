"""
Groups of articles that share readers
=====================================

A basket, a reader, a tag: each joins any number of things at once, which no edge between two things can say.
:class:`eigenkit.HypergraphClustering` clusters the vertices of such a hypergraph by the eigenvectors of one of its
Laplacians.
"""

# %%
# 120 articles in three groups. A reader (an edge) reads some articles of one group and a few of others.
import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from eigenkit import HypergraphClustering

rng = np.random.default_rng(4)
group = np.repeat([0, 1, 2], 40)
reader = rng.integers(0, 3, 300)
J = rng.random((120, 300)) < np.where(group[:, None] == reader, 0.15, 0.02)
J[np.arange(120), np.arange(120)] = True  # nobody writes for no one

# %%
# Every Laplacian, and how well its clusters are the groups (1: exactly). Those that are not normalized by the degrees
# of the vertices are easily led astray by articles with few readers. The incidence matrix may be sparse.
incidence = sparse.csr_array(J.astype(float))
found = {}
for expansion in ("zhou", "star", "clique", "bolla", "rodriguez"):
    found[expansion] = HypergraphClustering(3, expansion=expansion, random_state=0).fit(incidence)
    print(f"{expansion:10s} {adjusted_rand_score(group, found[expansion].labels_):.2f}")

# %%
# The embedding that k-means saw: normalized Laplacians put every article on a sphere, at the corner of its group.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8))
for ax, name in zip(axes, ("zhou", "bolla"), strict=True):
    ax.scatter(*found[name].embedding_[:, 1:].T, c=group, s=18)
    ax.set(title=f"{name}: second and third eigenvector", xlabel="2", ylabel="3")
plt.show()
