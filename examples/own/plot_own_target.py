"""
How do I write a method of my own?
==================================

All supervised projections here differ only in how the labels are turned into a target matrix H. So a new method is a
function from labels to H, of about ten lines. The example is a method for grades, where neighbouring grades are
similar: something that neither classes nor numbers express. (On these data it predicts the grade about as well as LDA
does; the point is how little it takes to try an idea.)
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from eigenkit import LDA, OrthonormalizedPLS

rng = np.random.default_rng(0)


def draw(n):
    grade = rng.integers(9, size=n)
    angle = np.pi * grade / 8
    X = rng.normal(size=(n, 40))
    X[:, :2] += 3.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    return X, grade


X, grade = draw(90)
X_new, grade_new = draw(500)


# %%
# The similarity of two grades falls with their distance. H is a factor of the similarity matrix, with one row per sample.
def graded(y, reach=2.0):
    levels = np.arange(y.max() + 1)
    similarity = np.exp(-(((levels[:, None] - levels) / reach) ** 2)) + 1e-9 * np.eye(
        len(levels)
    )
    return (np.linalg.cholesky(similarity) / np.sqrt(np.bincount(y))[:, None])[y]


models = {
    "classes": LDA(2, alpha=10.0).fit(X, grade),
    "grades": OrthonormalizedPLS(2, alpha=10.0).fit(X, graded(grade)),
}

# %%
# Predict the grade of new samples from the two scores, by nearest neighbours.
fig, axes = plt.subplots(1, 2, figsize=(10, 4.2))
for ax, (name, model) in zip(axes, models.items(), strict=True):
    reader = KNeighborsRegressor(9).fit(model.transform(X), grade)
    Z = model.transform(X_new)
    error = np.abs(reader.predict(Z) - grade_new).mean()
    points = ax.scatter(*Z.T, c=grade_new, cmap="viridis", s=14)
    ax.set(title=f"grades as {name}: mean error {error:.2f}", xticks=[], yticks=[])
fig.colorbar(points, ax=axes, label="grade", ticks=range(9))
plt.show()
