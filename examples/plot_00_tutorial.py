"""
Tutorial: from a table to a tested model
========================================

Half an hour with eigenkit: fit a model, look at it, choose its settings, test it, and compare it with others. You can
download this page as a notebook at its end.

The data are thirteen chemical measurements of 178 wines from three growers. Can the measurements tell the growers
apart, which of them matter, and how sure can we be?
"""

# %%
# Data
# ----
# As everywhere in scikit-learn, rows are samples and columns are features. We set a third of the wines aside and do not look
# at them until the end.
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
# For one class per sample, start with linear discriminant analysis. The measurements have different units, so we scale them
# first. Every eigenkit estimator can be a step in a scikit-learn pipeline.
model = make_pipeline(StandardScaler(), LDA())
Z = model.fit(X, y).transform(X)
lda = model[-1]

for c, name in enumerate(wine.target_names):
    plt.scatter(*Z[y == c].T, s=18, label=name)
plt.xlabel("component 1")
plt.ylabel("component 2")
plt.legend()
plt.title("wines used for fitting")
plt.show()

# %%
# Three classes give at most two components. The eigenvalue of a component is the share of the variance along it that is due
# to differences between the growers:
print(lda.eigenvalues_.round(2))

# %%
# What was done
# -------------
# Every model carries a report: which method solved the problem and why, and how accurate the solution is. ``plan`` tells you
# the method before anything is computed.
print(lda.report_)

# %%
# How much ridge?
# ---------------
# ``alpha`` is added to the diagonal of X'X. :class:`~eigenkit.AlphaSearchCV` tries a grid of values by cross-validation, for
# little more than the cost of one fit per fold.
scaled = StandardScaler().fit(X)
search = AlphaSearchCV(LDA(), alphas=np.logspace(-2, 3, 11)).fit(scaled.transform(X), y)
print(f"alpha = {search.alpha_:g}")
lda = search.best_estimator_

# %%
# Which components are real?
# --------------------------
# A picture of the samples used for fitting always looks good, and the more features there are, the better it looks. A
# permutation test shuffles the growers and counts how often chance does as well.
from eigenkit.analysis import bootstrap, permutation_test

print(permutation_test(lda, scaled.transform(X), y, n_permutations=199, random_state=0))

# %%
# Which measurements matter?
# --------------------------
# The bootstrap draws wines with replacement and fits again, many times. If the interval of a feature excludes zero, we can rely
# on it taking part in the component.
found = bootstrap(lda, scaled.transform(X), y, n_bootstraps=200, random_state=0)
loadings = found.loadings
order = np.argsort(loadings.estimate[:, 0])
middle = loadings.estimate[order, 0]
reach = np.abs(np.array([loadings.lower[order, 0], loadings.upper[order, 0]]) - middle)
plt.figure(layout="constrained")
plt.errorbar(middle, np.arange(13), xerr=reach, fmt="o")
plt.yticks(np.arange(13), np.array(wine.feature_names)[order])
plt.axvline(0, color="tab:gray", lw=1)
plt.xlabel("correlation with component 1, with 95 % interval")
plt.show()

# %%
# Is another method better?
# -------------------------
# ``evaluate`` runs several methods on the same folds. A difference counts only if it holds fold by fold. Here the methods are
# hard to tell apart, so the simplest one will do.
from eigenkit import PLSDA, ReGEC
from eigenkit.evaluation import evaluate

record = evaluate(
    scaled.transform(X),
    y,
    {"lda": LDA(), "plsda": PLSDA(2), "regec": ReGEC()},
    cv=5,
    random_state=0,
)
for method in record["methods"]:
    score = method["scores"]["accuracy"]
    print(f"{method['name']:12} accuracy {score['mean']:.3f} +- {score['std']:.3f}")

# %%
# ``eigenkit.report.write_html(record, "report.html")`` turns the record into a single HTML page that you can mail.
#
# The wines we set aside
# ----------------------
# Only now do we look at them.
final = make_pipeline(StandardScaler(), LDA(alpha=search.alpha_)).fit(X, y)
print(f"accuracy on new wines: {final.score(X_new, y_new):.3f}")
Z_new = final.transform(X_new)
for c, name in enumerate(wine.target_names):
    plt.scatter(*Z_new[y_new == c].T, s=18, label=name)
plt.xlabel("component 1")
plt.ylabel("component 2")
plt.legend()
plt.title("wines the model has not seen")
plt.show()

# %%
# More wines arrive
# -----------------
# There is no need to fit from scratch: ``partial_fit`` adds rows, and the result equals a fit on all rows together.
stream = LDA(alpha=search.alpha_).partial_fit(scaled.transform(X), y)
stream.partial_fit(scaled.transform(X_new), y_new)
everything = LDA(alpha=search.alpha_).fit(
    scaled.transform(np.vstack([X, X_new])), np.append(y, y_new)
)
print(np.allclose(stream.components_, everything.components_))

# %%
# Where to go next
# ----------------
# The command line does the same without Python: ``eigenkit compare wines.csv --labels grower --report out.html``.
# :doc:`/choosing` leads from your data to a method, and :doc:`/cheatsheet` has everything on one page.
