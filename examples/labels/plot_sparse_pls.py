"""
Which few of many genes tell the classes apart?
===============================================

PLS-DA weighs every variable. :class:`eigenkit.SparsePLSDA` keeps a few in each component, and
:class:`eigenkit.KeepSearchCV` chooses how many on held-out samples. Whether others would have done as well is the question
that :func:`eigenkit.selection_frequency` answers.
"""

# %%
# Three groups of 30 samples and 200 genes: ten differ between the first group and the others, ten between the second and
# the third; the other 180 differ in nothing.
import matplotlib.pyplot as plt
import numpy as np

from eigenkit import KeepSearchCV, SparsePLSDA, selection_frequency

rng = np.random.default_rng(3)
y = np.repeat(["healthy", "mild", "severe"], 30)
X = rng.normal(size=(90, 200))
X[:, :10] += 1.5 * (y != "healthy")[:, None]
X[:, 10:20] += 1.5 * (y == "severe")[:, None]

# %%
# The fewest genes, and then the fewest components, within one standard error of the best.
search = KeepSearchCV(SparsePLSDA(3), keep_x=[2, 5, 10, 20, 50, 200]).fit(X, y)
model = search.best_estimator_
kept = np.flatnonzero((model.x_weights_ != 0).any(axis=1))
print("genes kept in each component:", search.keep_x_)
print(
    "of the twenty that differ:",
    int((kept < 20).sum()),
    "and of the others:",
    int((kept >= 20).sum()),
)

# %%
# The same choice on 100 draws of half of the samples.
found = selection_frequency(model, X, y, random_state=0)
print("kept in nine draws of ten:", np.flatnonzero(found.overall > 0.9))

# %%
fig, axes = plt.subplots(1, 2, figsize=(11, 3.8))
scores = model.transform(X)
for name in model.classes_:
    axes[0].scatter(*scores[y == name, :2].T, label=name)
axes[0].set(title="scores", xlabel="component 1", ylabel="component 2")
axes[0].legend()
axes[1].bar(
    np.arange(60), found.overall[:60], color=np.where(np.arange(60) < 20, "C0", "0.7")
)
axes[1].set(
    title="how often a gene is kept (blue: differs)", xlabel="gene (the first 60)"
)
plt.show()
