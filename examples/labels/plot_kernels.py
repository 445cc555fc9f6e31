"""
What if a straight line cannot separate the classes?
====================================================

No straight projection separates two rings, one inside the other. Discriminant analysis with a kernel
(:class:`eigenkit.KernelLDA`) works in a space of curved features, so its regions can have any shape. The colours show
the predicted probability of a class.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from eigenkit import LDA, KernelLDA

X, y = make_circles(300, noise=0.1, factor=0.45, random_state=0)
grid = np.stack(
    np.meshgrid(np.linspace(-1.6, 1.6, 120), np.linspace(-1.6, 1.6, 120)), axis=-1
)

fig, axes = plt.subplots(1, 2, figsize=(9, 4.3))
for ax, model in zip(axes, (LDA(), KernelLDA(gamma=2.0, alpha=0.1)), strict=True):
    model.fit(X, y)
    region = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(120, 120)
    ax.contourf(grid[..., 0], grid[..., 1], region, levels=10, cmap="RdBu", alpha=0.6)
    ax.scatter(*X.T, c=y, cmap="RdBu", edgecolor="black", s=18)
    ax.set(
        title=f"{type(model).__name__}: accuracy {model.score(X, y):.2f}",
        xticks=[],
        yticks=[],
    )
plt.show()
