"""
How do I rank hundreds of labels?
=================================

With hundreds of labels, nobody needs a yes or no for each of them: what counts are the best few.
:class:`eigenkit.ManyLabelClassifier` projects the samples so that those with similar labels are close, and lets the
nearest training samples vote. **Answer: it ranks labels better than neighbours in the original features**, and better
than ridge regression on these data.
"""

# %%
# Documents on twelve hidden topics, 150 counts each, and 300 labels that depend on the topics.
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
# Three rankings of the labels of 500 new documents.
model = ManyLabelClassifier(OrthonormalizedPLS(20), n_neighbors=40).fit(
    X[train], Y[train]
)
ridge = Ridge(alpha=1.0).fit(X[train], Y[train].toarray())
_, index = NearestNeighbors(n_neighbors=40).fit(X[train]).kneighbors(X[test])
plain = sum(Y[train][index[:, i]].toarray() for i in range(40))
rankings = {
    "neighbours among the scores": model.decision_function(X[test]),
    "ridge regression": ridge.predict(X[test]),
    "neighbours in X itself": plain,
}

# %%
# The share of correct labels among those ranked highest.
places = np.arange(1, 6)
for name, S in rankings.items():
    plt.plot(places, [precision_at_k(Y[test], S, p) for p in places], "o-", label=name)
plt.xlabel("number of top-ranked labels")
plt.ylabel("share that is right")
plt.xticks(places)
plt.legend()
plt.show()
