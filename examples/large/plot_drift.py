"""
How does a stream follow classes that move?
===========================================

Here two classes slowly change places while the rows arrive. A stream that weighs all rows equally ends up with the
average of the past. A stream that forgets, with a half-life given in rows, follows the change.
"""

# %%
# Sixty batches of 100 rows; the direction that separates the classes turns by half a circle.
import matplotlib.pyplot as plt
import numpy as np

from eigenkit import LDA

rng = np.random.default_rng(0)


def batch(angle: float, n: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Two classes on both sides of the origin, in a direction that turns."""
    y = rng.integers(0, 2, n)
    direction = np.array([np.cos(angle), np.sin(angle)])
    return rng.normal(size=(n, 2)) + 1.5 * (2 * y[:, None] - 1) * direction, y


angles = np.linspace(0, np.pi, 60)  # at the end the classes have changed places
models = {"remembers all rows": (LDA(), None), "forgets, half-life 300": (LDA(), 300)}
accuracy: dict[str, list[float]] = {name: [] for name in models}
for angle in angles:
    X, y = batch(angle)
    for name, (model, half_life) in models.items():
        if hasattr(model, "components_"):
            accuracy[name].append(model.score(X, y))  # before it learns from them
        model.partial_fit(X, y, classes=[0, 1], half_life=half_life)

# %%
# Accuracy on each batch before it is learned.
for name, scores in accuracy.items():
    print(f"{name}: {np.mean(scores[-20:]):.2f} of the last 2000 rows right")
    plt.plot(100 * np.arange(1, len(scores) + 1), scores, label=name)
plt.xlabel("rows seen")
plt.ylabel("accuracy on the next 100")
plt.legend()
plt.show()
