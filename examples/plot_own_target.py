"""
A target of your own in ten lines
=================================

The methods differ in nothing but how labels become a target matrix H. So a new method is a function of the
labels: here grades, where neighbouring grades are alike, which neither classes nor numbers say.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from eigenkit import LDA, OrthonormalizedPLS

rng = np.random.default_rng(0)
grade = rng.integers(5, size=400)
angle = np.pi * grade / 4
X = rng.normal(size=(400, 30))
X[:, :2] += 2.2 * np.column_stack([np.cos(angle), np.sin(angle)])


# %%
# Similarity of grades falls with their distance; H is a factor of it, one row per sample.
def graded(y, reach=1.0):
    levels = np.arange(y.max() + 1)
    similarity = np.exp(-(((levels[:, None] - levels) / reach) ** 2))
    count = np.bincount(y)
    return (np.linalg.cholesky(similarity) / np.sqrt(count)[:, None])[y]


graded_scores = OrthonormalizedPLS(2).fit(X, graded(grade)).transform(X)
class_scores = LDA(2).fit(X, grade).transform(X)

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4.2))
for ax, Z, title in (
    (axes[0], class_scores, "LDA: grades as classes"),
    (axes[1], graded_scores, "grades as grades"),
):
    points = ax.scatter(*Z.T, c=grade, cmap="viridis", s=14)
    ax.set(title=title, xticks=[], yticks=[])
fig.colorbar(points, ax=axes, label="grade", ticks=range(5))
plt.show()
