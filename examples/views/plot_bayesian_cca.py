"""
How much do two instruments have in common?
===========================================

Two instruments observe the same samples. Some of what they record is common to both, some is specific to one, and most
channels record only noise. :class:`eigenkit.BayesianCCA` finds the number of shared components, the channels that
carry them, and how certain each loading is. (The data are generated, so that the true answer is known.)
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
X[:, 6:9] += own  # specific to the first instrument

# %%
model = BayesianCCA().fit(X, Y)
print("shared components:", model.n_components_)
print("by BIC:", ProbabilisticCCA("bic", alpha=0).fit(X, Y).n_components_)
print(
    "channels of X:",
    [np.flatnonzero(column > 0.5).tolist() for column in model.x_relevance_.T],
)

# %%
# Estimated loadings with 95 % intervals. Crosses mark the true values (up to the order and sign of the components).
intervals = model.loading_intervals(0.95)
fig, axes = plt.subplots(1, 2, figsize=(11, 3.8))
for axis, name, loadings, bounds, truth in (
    (axes[0], "X", model.x_loadings_, intervals[0], W_x),
    (axes[1], "Y", model.y_loadings_, intervals[1], W_y),
):
    for k in range(model.n_components_):
        places = np.arange(len(loadings)) + 0.2 * k
        axis.vlines(places, *bounds[:, k].T, color=f"C{k}", lw=3, alpha=0.4)
        axis.plot(
            places, loadings[:, k], "o", color=f"C{k}", label=f"component {k + 1}"
        )
        along = np.argmax(np.abs(truth.T @ loadings[:, k]))
        sign = np.sign(truth[:, along] @ loadings[:, k])
        axis.plot(places, sign * truth[:, along], "x", color="black", ms=5)
    axis.set(title=f"loadings of {name}", xlabel="channel")
axes[0].legend()
plt.show()

# %%
# Now a third of the second instrument's readings is lost. The model fills them in, far better than column means do.
lost = rng.random(Y.shape) < 1 / 3
holes = np.where(lost, np.nan, Y)
filled = BayesianCCA().fit(X, holes).impute(X, holes)[1]
by_mean = np.broadcast_to(np.nanmean(holes, axis=0), Y.shape)
error = [np.sqrt(np.mean((A - Y)[lost] ** 2)) for A in (filled, by_mean)]
print(f"error of the imputed values: {error[0]:.2f}; of column means: {error[1]:.2f}")
