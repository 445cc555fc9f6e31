"""
Hundreds of labels, the best few
================================

With many labels nobody asks for all of them: the first few of a ranking count. Neighbours among the scores of a
projection vote; the projection makes sure that distances mean what the labels mean.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.neighbors import NearestNeighbors

from eigenkit import ManyLabelClassifier, OrthonormalizedPLS
from eigenkit.evaluation import precision_at_k

rng = np.random.default_rng(0)
n, d, k, topics = 2500, 150, 300, 12
mixture = rng.dirichlet(np.full(topics, 0.15), size=n)
X = rng.poisson(mixture @ rng.gamma(0.2, 3.0, size=(topics, d))).astype(float)
X += rng.poisson(1.0, size=X.shape)
Y = sparse.csr_array(
    (rng.random((n, k)) < mixture @ rng.beta(0.05, 1.5, size=(topics, k))).astype(int)
)
train, test = np.arange(2000), np.arange(2000, n)

# %%
model = ManyLabelClassifier(OrthonormalizedPLS(20), n_neighbors=40).fit(X[train], Y[train])
ridge = Ridge(alpha=1.0).fit(X[train], Y[train].toarray())
_, index = NearestNeighbors(n_neighbors=40).fit(X[train]).kneighbors(X[test])
plain = sum(Y[train][index[:, i]].toarray() for i in range(40))
rankings = {
    "neighbours among the scores": model.decision_function(X[test]),
    "ridge regression": ridge.predict(X[test]),
    "neighbours in X itself": plain,
}

# %%
places = np.arange(1, 6)
for name, S in rankings.items():
    plt.plot(places, [precision_at_k(Y[test], S, p) for p in places], "o-", label=name)
plt.xlabel("labels taken from the top")
plt.ylabel("share that is right")
plt.xticks(places)
plt.legend()
plt.show()
