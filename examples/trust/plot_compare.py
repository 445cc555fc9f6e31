"""
Is one method really better than another?
=========================================

Comparing two mean scores is not enough: scores vary from split to split. What counts are the differences between two
methods *on the same splits*. ``eigenkit compare`` and :func:`eigenkit.evaluation.evaluate` keep the score of every
split in a record; here we read it by hand.
"""

# %%
# Three methods on generated data with six labels, ten splits.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification

from eigenkit import CCA, HypergraphSpectral, OrthonormalizedPLS
from eigenkit.evaluation import evaluate
from eigenkit.report import render_text

X, Y = make_multilabel_classification(
    n_samples=300, n_features=40, n_classes=6, n_labels=2, random_state=0
)
methods = {
    "star": HypergraphSpectral(),
    "cca": CCA(),
    "opls, one component": OrthonormalizedPLS(1),
}
record = evaluate(
    X, Y, methods, cv=5, repeats=2, alphas=None, name="six labels", random_state=0
)
text = render_text(record)
print(text[: text.index("Data")])

# %%
# Left: the score of every split. Right: the differences from one method, split by split. If they lie on both sides of zero,
# the two methods cannot be told apart.
auc = {m["name"]: np.array(m["scores"]["auc"]["values"]) for m in record["methods"]}
fig, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for i, values in enumerate(auc.values()):
    axes[0].plot(values, np.full(len(values), i), "o", alpha=0.5)
    axes[0].plot(values.mean(), i, "|", color="black", markersize=18)
axes[0].set(yticks=range(len(auc)), yticklabels=list(auc), xlabel="AUC of every split")
for i, name in enumerate(list(auc)[1:]):
    difference = auc["star"] - auc[name]
    axes[1].plot(difference, np.full(len(difference), i), "o", alpha=0.5)
    print(
        f"star - {name}: {difference.mean():+.3f}, better on {np.mean(difference > 0):.0%} of the splits"
    )
axes[1].axvline(0, color="tab:gray", lw=1)
axes[1].set(
    yticks=range(len(auc) - 1), yticklabels=[f"star - {n}" for n in list(auc)[1:]]
)
axes[1].set(xlabel="difference on the same split")
plt.show()
