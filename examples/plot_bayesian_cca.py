"""
How many things do two instruments share?
=========================================

Two instruments look at the same samples. Some of what they see is common, some is an instrument's own, and most
channels see nothing. A Bayesian model of both finds the number of shared components, the channels that carry them,
and how sure one can be of each. (Generated data, so that we know the truth.)
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from eigenkit import BayesianCCA, ProbabilisticCCA

rng = np.random.default_rng(3)
n = 200
shared, own = rng.normal(size=(n, 2)), rng.normal(size=(n, 1))
W_x, W_y = np.zeros((12, 2)), np.zeros((9, 2))
W_x[:3, 0], W_x[3:6, 1] = 1.0, 1.3
W_y[:2, 0], W_y[2:5, 1] = 1.2, -0.9
X = shared @ W_x.T + rng.normal(size=(n, 12))
Y = shared @ W_y.T + rng.normal(size=(n, 9))
X[:, 6:9] += own  # seen by the first instrument alone

# %%
model = BayesianCCA().fit(X, Y)
print("shared components:", model.n_components_)
print("by BIC:", ProbabilisticCCA("bic", alpha=0).fit(X, Y).n_components_)
print("channels of X:", [np.flatnonzero(column > 0.5).tolist() for column in model.x_relevance_.T])

# %%
# Loadings with their intervals of 95 %; crosses are the truth (up to the order and sign of components).
intervals = model.loading_intervals(0.95)
fig, axes = plt.subplots(1, 2, figsize=(11, 3.8))
for axis, name, loadings, bounds, truth in (
    (axes[0], "X", model.x_loadings_, intervals[0], W_x),
    (axes[1], "Y", model.y_loadings_, intervals[1], W_y),
):
    for k in range(model.n_components_):
        places = np.arange(len(loadings)) + 0.2 * k
        axis.vlines(places, *bounds[:, k].T, color=f"C{k}", lw=3, alpha=0.4)
        axis.plot(places, loadings[:, k], "o", color=f"C{k}", label=f"component {k + 1}")
        along = np.argmax(np.abs(truth.T @ loadings[:, k]))
        sign = np.sign(truth[:, along] @ loadings[:, k])
        axis.plot(places, sign * truth[:, along], "x", color="black", ms=5)
    axis.set(title=f"loadings of {name}", xlabel="channel")
axes[0].legend()
plt.show()

# %%
# A third of the second instrument's readings is lost: the model fills them in, and says how well it could predict
# whole rows.
lost = rng.random(Y.shape) < 1 / 3
holes = np.where(lost, np.nan, Y)
filled = BayesianCCA().fit(X, holes).impute(X, holes)[1]
by_mean = np.broadcast_to(np.nanmean(holes, axis=0), Y.shape)
error = [np.sqrt(np.mean((A - Y)[lost] ** 2)) for A in (filled, by_mean)]
print(f"error of what was lost: {error[0]:.2f}, with means in its place: {error[1]:.2f}")
