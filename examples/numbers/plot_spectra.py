"""
How many components does a calibration need?
============================================

Sixty spectra with 250 wavelengths each, and one concentration to predict: this is what partial least squares was made
for. :class:`eigenkit.PLSRegressionCV` chooses the number of components by cross-validation. The coefficients then show
which wavelengths matter, and two distances show which samples do not fit the model.
"""

# %%
# The spectra are generated: the substance of interest, two others that interfere, a sloping baseline, and noise.
import matplotlib.pyplot as plt
import numpy as np

from eigenkit import PLSRegressionCV

rng = np.random.default_rng(3)
wavelength = np.linspace(1000, 1700, 250)


def band(center, width):
    return np.exp(-(((wavelength - center) / width) ** 2))


pure = np.array([band(1210, 30) + 0.5 * band(1500, 50), band(1250, 60), band(1400, 40)])
amount = rng.uniform(size=(60, 3))
slope = np.outer(rng.normal(size=60), (wavelength - 1350) / 350)
X = amount @ pure + 0.3 * slope + 0.01 * rng.normal(size=(60, 250))
y = amount[:, 0]
train, test = np.arange(40), np.arange(40, 60)

# %%
# Every number of components is tried in every fold, for the cost of a single fit per fold.
model = PLSRegressionCV(10, scale=False).fit(X[train], y[train])
print(
    f"{model.n_components_} components, R2 on new spectra {model.score(X[test], y[test]):.4f}"
)

# %%
# Left: the spectra. Middle: the coefficients are large where the substance absorbs. Right: predictions for new spectra.
fig, axes = plt.subplots(1, 3, figsize=(13, 3.6))
axes[0].plot(wavelength, X.T, lw=0.5, color="tab:gray")
axes[0].set(title="spectra", xlabel="nm")
axes[1].plot(wavelength, np.ravel(model.coef_))
axes[1].plot(
    wavelength,
    pure[0] * np.abs(model.coef_).max(),
    "--",
    lw=1,
    label="the substance (scaled)",
)
axes[1].set(title="coefficients", xlabel="nm")
axes[1].legend()
axes[2].scatter(y[test], np.ravel(model.predict(X[test])))
axes[2].plot([0, 1], [0, 1], color="tab:gray", lw=1)
axes[2].set(title="new spectra", xlabel="measured", ylabel="predicted")
plt.show()

# %%
# Would we notice a sample that the calibration does not cover? We add two to the new spectra: one with an unknown fourth
# substance, and one with five times as much of everything. Both lie far from the model (SPE), and the second also far from its
# centre (T²). The lines are limits that 95 % of good samples stay below. That of SPE is computed from new spectra, because a
# model always fits its training spectra more closely.
from eigenkit.analysis import hotelling_t2, spe, spe_limit, t2_limit

odd = np.array([X[test[0]] + 0.3 * band(1600, 25), 5 * X[test[1]]])
for name, spectra, marker in (("new", X[test], "o"), ("odd", odd, "X")):
    plt.loglog(
        hotelling_t2(model, spectra),
        spe(model, spectra),
        marker,
        label=f"{name} spectra",
    )
plt.axvline(t2_limit(model, 0.95), color="tab:gray", lw=1)
plt.axhline(spe_limit(model, X[test], 0.95), color="tab:gray", lw=1)
plt.xlabel("T² (distance from the centre)")
plt.ylabel("SPE (distance from the model)")
plt.legend()
plt.show()
