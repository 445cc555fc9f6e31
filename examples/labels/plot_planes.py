"""
What if two classes cross each other?
=====================================

Most classifiers look for a border between two classes. ReGEC instead finds one plane *per class*, close to the
samples of that class and far from all others, and assigns a sample to the class whose plane is nearest. Both planes
come from a single eigenvalue problem. **Answer: classes that cross like the strokes of an X, hopeless for a single
line, are an easy case for** :class:`eigenkit.ReGEC`.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from eigenkit import LDA, ReGEC

rng = np.random.default_rng(0)
t = rng.uniform(-1, 1, size=(2, 150))
A = np.column_stack([t[0], 0.8 * t[0]]) + 0.06 * rng.normal(size=(150, 2))
B = np.column_stack([t[1], -0.8 * t[1]]) + 0.06 * rng.normal(size=(150, 2))
X, y = np.vstack([A, B]), np.repeat([0, 1], 150)
grid = np.stack(
    np.meshgrid(np.linspace(-1.2, 1.2, 150), np.linspace(-1.2, 1.2, 150)), axis=-1
)

fig, axes = plt.subplots(1, 2, figsize=(9, 4.3))
for ax, model in zip(axes, (LDA(), ReGEC(kernel="linear")), strict=True):
    model.fit(X, y)
    region = model.predict(grid.reshape(-1, 2)).reshape(150, 150)
    ax.contourf(grid[..., 0], grid[..., 1], region, levels=1, cmap="RdBu", alpha=0.3)
    ax.scatter(*X.T, c=y, cmap="RdBu", s=12, edgecolor="black", lw=0.3)
    ax.set(
        title=f"{type(model).__name__}: accuracy {model.score(X, y):.2f}",
        xticks=[],
        yticks=[],
    )
plt.show()
