"""
How strong should the ridge be?
===============================

The expensive part of a fit (a Gram matrix, singular values or a Krylov space) does not depend on the ridge. So
:func:`eigenkit.alpha_path` fits a whole grid of ridges for little more than the cost of one model, and
:class:`eigenkit.AlphaSearchCV` chooses among them by cross-validation.
"""

# %%
# LDA on 300 handwritten digits with 17 values of alpha, fitted together.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from eigenkit import LDA, AlphaSearchCV, alpha_path
from eigenkit.exceptions import DegenerateDataWarning

# Some pixels at the border are always blank; eigenkit warns that they say nothing.
warnings.simplefilter("ignore", DegenerateDataWarning)

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=300, random_state=0, stratify=y
)
alphas = np.logspace(-2, 6, 17)
models = alpha_path(LDA(), X_train, y_train, alphas)

# %%
# Cross-validation uses the training digits only.
search = AlphaSearchCV(LDA(), alphas=alphas).fit(X_train, y_train)
print(f"cross-validation inside the training part chooses alpha = {search.alpha_:g}")

# %%
# The chosen alpha is close to the best one for new digits. The eigenvalues shrink as the ridge grows.
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8))
axes[0].semilogx(alphas, [model.score(X_test, y_test) for model in models], "o-")
axes[0].axvline(search.alpha_, color="tab:gray", lw=1, label="chosen")
axes[0].set(xlabel="alpha", ylabel="accuracy on new digits")
axes[0].legend()
axes[1].semilogx(alphas, [model.eigenvalues_ for model in models])
axes[1].set(xlabel="alpha", ylabel="eigenvalues")
plt.show()
