"""
Which tags does a document carry?
=================================

Each document is a sparse vector of word counts, and carries several tags. Hypergraph spectral learning finds a few
directions in which documents with the same tags lie close together, and a plain linear classifier on these directions
predicts the tags of new documents. **Answer: ten numbers per document are enough.** The classifier does as well with
them as with all 4000 words.
"""

# %%
# The documents are generated: each of ten tags has its own words, on top of a background of words without meaning.
import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from eigenkit import HypergraphSpectral
from eigenkit.evaluation import precision_at_k

rng = np.random.default_rng(0)
n, d, k = 1500, 4000, 10
Y = (rng.random((n, k)) < 0.18).astype(int)
Y[np.arange(n), rng.integers(k, size=n)] = 1
words = rng.gamma(0.05, size=(k, d))
rate = 0.02 + Y @ words * 0.05
X = normalize(sparse.csr_array(rng.poisson(rate)).astype(float))
train, test = np.arange(1000), np.arange(1000, n)
print(
    f"{X.shape[0]} documents, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.1%} of X is not zero"
)

# %%
# X stays sparse throughout. ``report_`` says how the problem was solved.
projection = HypergraphSpectral(alpha=1.0)
projection.fit(X[train], Y[train])
print(projection.report_)


# %%
# The same classifier twice: on the ten scores, and on all words.
def tagger(*steps):
    return make_pipeline(
        *steps, MultiOutputClassifier(LogisticRegression(max_iter=1000))
    )


def scores_of(model):
    model.fit(X[train], Y[train])
    return np.column_stack([p[:, 1] for p in model.predict_proba(X[test])])


found = {
    "projection, 10 features": scores_of(
        tagger(HypergraphSpectral(alpha=1.0), StandardScaler())
    ),
    f"all {d} words": scores_of(tagger()),
}
places = [1, 2, 3]
precision = {
    name: [precision_at_k(Y[test], S, p) for p in places] for name, S in found.items()
}

# %%
# Left: of the tags that rank highest for a document, how many are right? Right: new documents along the first two
# components, for those that carry exactly one of three tags.
fig, axes = plt.subplots(1, 2, figsize=(10, 4))
for name, values in precision.items():
    axes[0].plot(places, values, "o-", label=name)
axes[0].set(
    xlabel="number of top-ranked tags",
    ylabel="share that is right",
    xticks=places,
    ylim=(0, 1),
)
axes[0].legend()
Z = projection.transform(X[test])
for tag, marker in ((0, "o"), (1, "s"), (2, "^")):
    only = (Y[test, tag] == 1) & (
        Y[test][:, [t for t in (0, 1, 2) if t != tag]].sum(axis=1) == 0
    )
    axes[1].scatter(*Z[only, :2].T, marker=marker, s=12, label=f"tag {tag}")
axes[1].set(xlabel="component 1", ylabel="component 2", title="new documents")
axes[1].legend()
plt.show()
