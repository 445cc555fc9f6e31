"""
Can one component hold everything about y?
==========================================

A PLS calibration of spectra usually needs several components, and each of them mixes the signal of interest with
disturbances. :class:`eigenkit.OrthogonalPLS` makes the same predictions with *one* predictive component, and collects
what is unrelated to y, such as a drifting baseline, in separate orthogonal components that you can look at.
"""

# %%
# Spectra of a substance, mixed with two others that interfere, on a sloping baseline that has nothing to do with y.
import matplotlib.pyplot as plt
import numpy as np

from eigenkit import OrthogonalPLS, PLSRegression

rng = np.random.default_rng(5)
wavelength = np.linspace(1000, 1700, 250)


def band(center, width):
    return np.exp(-(((wavelength - center) / width) ** 2))


pure = np.array([band(1210, 30) + 0.5 * band(1500, 50), band(1250, 60), band(1400, 40)])
amount = rng.uniform(size=(80, 3))
slope = rng.normal(size=80)
X = amount @ pure + np.outer(slope, (wavelength - 1350) / 350)
X += 0.01 * rng.normal(size=X.shape)
y = amount[:, 0]

# %%
# One predictive and three orthogonal components predict exactly what four PLS components do.
pls = PLSRegression(4, scale=False).fit(X, y)
model = OrthogonalPLS(n_orthogonal=3, scale=False).fit(X, y)
print(
    "largest difference of predictions:",
    np.abs(model.predict(X) - pls.predict(X)).max(),
)
print(
    "R2 from the first component of PLS:  ",
    round(np.corrcoef(pls.transform(X)[:, 0], y)[0, 1] ** 2, 3),
)
print(
    "R2 from the one predictive component:",
    round(np.corrcoef(model.transform(X)[:, 0], y)[0, 1] ** 2, 3),
)
print(
    "share of the variance of X that is orthogonal to y:",
    model.orthogonal_variance_ratio_.round(3),
)

# %%
# The first orthogonal score turns out to be the slope of the baseline, which the model was never told about.
orthogonal = model.transform_orthogonal(X)
print(
    "correlation with the slope:",
    round(abs(np.corrcoef(orthogonal[:, 0], slope)[0, 1]), 3),
)
fig, axes = plt.subplots(1, 3, figsize=(13, 3.6))
axes[0].plot(wavelength, X.T, lw=0.4, color="tab:gray")
axes[0].plot(wavelength, model.correct(X).T, lw=0.4, color="tab:blue")
axes[0].set(title="spectra, and what is left of them (blue)", xlabel="nm")
axes[1].scatter(model.transform(X)[:, 0], y)
axes[1].set(title="the predictive component", xlabel="score", ylabel="y")
axes[2].scatter(orthogonal[:, 0], slope, c=y)
axes[2].set(
    title="the first orthogonal one", xlabel="score", ylabel="slope of the baseline"
)
plt.show()
