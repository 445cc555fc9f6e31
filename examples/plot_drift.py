"""
Does the model keep up with the world?
======================================

Spam changes, sensors age, customers move on. A model that counts all rows alike learns the average of the past. With
``half_life`` a row counts half as much after so many further rows, and the model follows.
"""

# %%
# Two kinds of messages in twenty features. What tells them apart turns, slowly, from some features to others.
import matplotlib.pyplot as plt
import numpy as np

from eigenkit import LDA

rng = np.random.default_rng(0)
old, new = np.zeros(20), np.zeros(20)
old[:5], new[10:15] = 0.8, 0.8


def batch(share):
    y = rng.integers(2, size=100)
    X = rng.normal(size=(100, 20)) + np.outer(y, (1 - share) * old + share * new)
    return X, y


# %%
# Every batch is predicted before it is learned: that is the accuracy that a user would have seen.
models = {"all rows alike": None, "half_life=2000": 2000, "half_life=500": 500}
streams = {name: LDA(alpha=1.0) for name in models}
accuracy = {name: [] for name in models}
for share in np.linspace(0, 1, 60):
    X, y = batch(share)
    for name, half_life in models.items():
        stream = streams[name]
        if hasattr(stream, "components_"):
            accuracy[name].append(stream.score(X, y))
        stream.partial_fit(X, y, classes=[0, 1], half_life=half_life)

# %%
# Forgetting has a price: fewer rows count, so the model is less certain. At the beginning, before anything has changed,
# the model with the longest memory is as good as any.
rows = 100 * np.arange(1, 60)
for name, values in accuracy.items():
    smooth = np.convolve(values, np.ones(9) / 9, mode="same")
    plt.plot(rows[4:-4], smooth[4:-4], label=name)
plt.xlabel("rows seen")
plt.ylabel("accuracy on the next batch")
plt.legend()
plt.show()
for name, values in accuracy.items():
    print(f"{name:15} accuracy over the last 2000 rows: {np.mean(values[-20:]):.3f}")
