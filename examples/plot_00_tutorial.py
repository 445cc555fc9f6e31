"""
Tutorial: from a table to a tested model
========================================

Half an hour with eigenkit, top to bottom: fit, look, choose, test, compare, keep. At the end of this page it can be
downloaded as a notebook.

The data are 178 wines from three growers with thirteen chemical measurements each. Can the measurements tell the
growers apart, which of them matter, and how sure can we be?
"""

# %%
# Data
# ----
# Rows are samples, columns are features, as everywhere in scikit-learn. A third of the wines is put aside and not looked
# at until the end.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenkit import LDA, AlphaSearchCV

wine = load_wine()
X, X_new, y, y_new = train_test_split(
    wine.data, wine.target, test_size=1 / 3, stratify=wine.target, random_state=0
)
print(X.shape, X_new.shape)

# %%
# A first model
# -------------
# One class per sample asks for linear discriminant analysis. The measurements have different units, so they are scaled
# first; every estimator of eigenkit is a step of a scikit-learn pipeline like any other.
model = make_pipeline(StandardScaler(), LDA())
Z = model.fit(X, y).transform(X)
lda = model[-1]

for c, name in enumerate(wine.target_names):
    plt.scatter(*Z[y == c].T, s=18, label=name)
plt.xlabel("component 1")
plt.ylabel("component 2")
plt.legend()
plt.title("the wines that were fitted")
plt.show()

# %%
# Three classes have at most two components. Their eigenvalues say which share of the variance along them lies between
# the growers:
print(lda.eigenvalues_.round(2))

# %%
# What was done
# -------------
# Every model carries a report: which method solved the problem and why, and how exact the answer is. ``plan`` tells the
# same before anything is computed.
print(lda.report_)

# %%
# How much ridge?
# ---------------
# ``alpha`` is added to the diagonal of X'X. :class:`~eigenkit.AlphaSearchCV` tries a grid by cross-validation, at little
# more than the cost of one fit in each fold.
scaled = StandardScaler().fit(X)
search = AlphaSearchCV(LDA(), alphas=np.logspace(-2, 3, 11)).fit(scaled.transform(X), y)
print(f"alpha = {search.alpha_:g}")
lda = search.best_estimator_

# %%
# Which components are real?
# --------------------------
# Pictures of fitted samples always look good, the better the more features there are. A permutation test shuffles the
# growers and counts how often chance does as well.
from eigenkit.analysis import bootstrap, permutation_test

print(permutation_test(lda, scaled.transform(X), y, n_permutations=199, random_state=0))

# %%
# Which measurements matter?
# --------------------------
# The bootstrap draws wines with replacement and fits again; a feature whose interval excludes zero has a part in the
# component that we can rely on.
found = bootstrap(lda, scaled.transform(X), y, n_bootstraps=200, random_state=0)
loadings = found.loadings
order = np.argsort(loadings.estimate[:, 0])
middle = loadings.estimate[order, 0]
reach = np.abs(np.array([loadings.lower[order, 0], loadings.upper[order, 0]]) - middle)
plt.errorbar(middle, np.arange(13), xerr=reach, fmt="o")
plt.yticks(np.arange(13), np.array(wine.feature_names)[order])
plt.axvline(0, color="tab:gray", lw=1)
plt.xlabel("correlation with component 1, and its interval of 95 %")
plt.tight_layout()
plt.show()

# %%
# Is another method better?
# -------------------------
# ``evaluate`` runs several on the same folds. A difference counts only if it holds fold by fold; here no method needs to
# be much better than another, and the simplest will do.
from eigenkit import PLSDA, ReGEC
from eigenkit.evaluation import evaluate

record = evaluate(
    scaled.transform(X), y, {"lda": LDA(), "plsda": PLSDA(2), "regec": ReGEC()}, cv=5, seed=0
)
for method in record["methods"]:
    score = method["scores"]["accuracy"]
    print(f"{method['name']:12} accuracy {score['mean']:.3f} +- {score['std']:.3f}")

# %%
# ``eigenkit.report.write_html(record, "report.html")`` makes a page of it that can be mailed.
#
# The wines that were put aside
# -----------------------------
# Only now do we look at them.
final = make_pipeline(StandardScaler(), LDA(alpha=search.alpha_)).fit(X, y)
print(f"accuracy on new wines: {final.score(X_new, y_new):.3f}")
Z_new = final.transform(X_new)
for c, name in enumerate(wine.target_names):
    plt.scatter(*Z_new[y_new == c].T, s=18, label=name)
plt.xlabel("component 1")
plt.ylabel("component 2")
plt.legend()
plt.title("wines that the model had not seen")
plt.show()

# %%
# More wines arrive
# -----------------
# A stream needs no refit: ``partial_fit`` adds rows, and the result is that of all rows together.
stream = LDA(alpha=search.alpha_).partial_fit(scaled.transform(X), y)
stream.partial_fit(scaled.transform(X_new), y_new)
everything = LDA(alpha=search.alpha_).fit(
    scaled.transform(np.vstack([X, X_new])), np.append(y, y_new)
)
print(np.allclose(stream.components_, everything.components_))

# %%
# From here
# ---------
# The same without Python: ``eigenkit compare wines.csv --labels grower --report out.html``. :doc:`/choosing` leads from
# your y to a method, :doc:`/cheatsheet` has everything on one page.
