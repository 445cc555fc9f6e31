"""
Why does CCA find correlations of 1 in pure noise?
==================================================

If there are no more samples than features, CCA without a ridge finds perfect correlations in any data. **Answer: a
ridge makes the problem well posed, and a permutation test tells whether what remains is real.**
"""

# %%
# The first canonical correlation between three columns of noise and ever more columns of other noise, for 40 samples. To
# the right of the grey line, alpha = 0 always gives 1.
import warnings

import matplotlib.pyplot as plt
import numpy as np

from eigenkit import CCA
from eigenkit.analysis import permutation_test

rng = np.random.default_rng(0)
Y = rng.normal(size=(40, 3))
features = [5, 10, 20, 30, 38, 60, 100]


def first_correlation(d, alpha):
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # eigenkit warns that these are 1 by construction
        return (
            CCA(1, alpha=alpha)
            .fit(rng.normal(size=(40, d)), Y)
            .canonical_correlations_[0]
        )


for alpha in (0.0, 10.0, 100.0):
    plt.plot(
        features,
        [first_correlation(d, alpha) for d in features],
        "o-",
        label=f"alpha = {alpha:g}",
    )
plt.axvline(39, color="tab:gray", lw=1)
plt.xlabel("number of features of X (noise, 40 samples)")
plt.ylabel("first canonical correlation")
plt.legend()
plt.show()

# %%
# The permutation test tells pure noise from data with one true direction, even though X has 100 features and 40 samples.
X = rng.normal(size=(40, 100))
for name, signal in (("noise", 0.0), ("one direction", 6.0)):
    planted = X + signal * np.outer(Y[:, 0], np.eye(100)[0])
    print(
        name,
        permutation_test(
            CCA(alpha=10.0), planted, Y, n_permutations=199
        ).p_values.round(3),
    )
