"""
How many components does a calibration need?
============================================

Spectra with a few hundred wavelengths, fifty samples, one concentration to predict: the case that partial
least squares was made for. The number of components is chosen by cross-validation; the coefficients then show
which wavelengths matter.
"""

# %%
# Spectra: the substance that we want, two that disturb, a sloping baseline and noise.
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
# Every number of components is tried in every fold, at the cost of one.
model = PLSRegressionCV(10, scale=False).fit(X[train], y[train])
print(f"{model.n_components_} components, R2 on new spectra {model.score(X[test], y[test]):.4f}")

# %%
fig, axes = plt.subplots(1, 3, figsize=(13, 3.6))
axes[0].plot(wavelength, X.T, lw=0.5, color="tab:gray")
axes[0].set(title="spectra", xlabel="nm")
axes[1].plot(wavelength, np.ravel(model.coef_))
axes[1].plot(
    wavelength, pure[0] * np.abs(model.coef_).max(), "--", lw=1, label="the substance (scaled)"
)
axes[1].set(title="coefficients", xlabel="nm")
axes[1].legend()
axes[2].scatter(y[test], np.ravel(model.predict(X[test])))
axes[2].plot([0, 1], [0, 1], color="tab:gray", lw=1)
axes[2].set(title="new spectra", xlabel="measured", ylabel="predicted")
plt.show()
