"""
Can samples without labels improve a classifier?
================================================

Labels are expensive, unlabelled samples are cheap. :class:`eigenkit.GraphRegularized` connects every sample with its
nearest neighbours, labelled or not, and prefers projections that change little along these connections. **Answer: it
helps where classes lie along curved sheets, as images of digits do, but not everywhere.** So the weight of the graph
is chosen by cross-validation, with zero (no graph) among the choices.
"""

# %%
# Handwritten digits. Only three to twenty of each keep their label; all others are marked with -1.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from eigenkit import GraphRegularized, KernelLDA

X, y = load_digits(n_class=6, return_X_y=True)
X, X_new, y, y_new = train_test_split(
    X / 16, y, train_size=500, random_state=0, stratify=y
)
kernel = KernelLDA(kernel="rbf", gamma=0.1, alpha=0.1)


def some(count):
    """The classes with all but ``count`` of each hidden."""
    seen = np.full(len(y), -1)
    for c in range(6):
        seen[np.flatnonzero(y == c)[:count]] = c
    return seen


# %%
# Both models are scored on new digits that neither has seen.
counts, alone, joined, chosen = [3, 5, 10, 20], [], [], []
for count in counts:
    seen = some(count)
    known = seen >= 0
    alone.append(kernel.fit(X[known], seen[known]).score(X_new, y_new))
    model = GraphRegularized(kernel, mu=[0.0, 0.1, 1.0, 10.0], n_neighbors=8, cv=3).fit(
        X, seen
    )
    joined.append(model.score(X_new, y_new))
    chosen.append(model.mu_)
    print(
        f"{count:2} labels a class: {alone[-1]:.3f} alone, {joined[-1]:.3f} with the graph, mu = {model.mu_:g}"
    )

# %%
plt.plot(counts, joined, "o-", label="labelled samples and the graph of all")
plt.plot(counts, alone, "s-", label="labelled samples alone")
plt.xlabel("labelled digits of each class")
plt.ylabel("accuracy on new digits")
plt.xticks(counts)
plt.legend()
plt.show()
