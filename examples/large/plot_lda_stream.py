"""
Can a classifier learn from rows that are not kept?
===================================================

Rows arrive in batches and are thrown away. ``partial_fit`` adds each batch to a summary of the stream. **Answer: yes,
exactly.** However the rows are divided into batches, and in whatever order they come, the classifier is the one
fitted on all rows at once.
"""

# %%
# Handwritten digits in batches of fifty. After each batch the classifier is scored on digits it will never see.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from eigenkit import LDA
from eigenkit.exceptions import DegenerateDataWarning

# Pixels at the border are blank at first; eigenkit warns that they say nothing yet.
warnings.simplefilter("ignore", DegenerateDataWarning)

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(X))
X_new, y_new = X[order[1400:]], y[order[1400:]]
batches = np.split(order[:1400], np.arange(50, 1400, 50))

model, seen, accuracy = LDA(alpha=10.0), [], []
for batch in batches:
    model.partial_fit(X[batch], y[batch], classes=np.arange(10))
    seen.append((seen[-1] if seen else 0) + len(batch))
    accuracy.append(model.score(X_new, y_new))

# %%
# The stream and a single fit on all rows agree up to rounding.
whole = LDA(alpha=10.0).fit(X[order[:1400]], y[order[:1400]])
print(
    f"largest difference of a weight: {np.abs(whole.components_ - model.components_).max():.1e}"
)

# %%
plt.plot(seen, accuracy, "o-", label="stream")
plt.axhline(whole.score(X_new, y_new), color="tab:gray", lw=1, label="all rows at once")
plt.xlabel("rows seen")
plt.ylabel("accuracy on new digits")
plt.legend()
plt.show()
