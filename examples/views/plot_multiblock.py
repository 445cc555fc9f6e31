"""
Should three instruments agree with each other, or with the classes?
====================================================================

Sound, light and heat of the same machines were recorded, and some machines failed. What the three recordings have in
common need not be what makes a machine fail. :class:`eigenkit.RGCCA` finds one component in every view; its *design*
says whether the views should agree mostly with each other or mostly with the classes.
"""

# %%
# Two hidden causes act on every view: the load of the machine, which has a strong effect everywhere, and its wear, which
# has a weak effect but is what makes machines fail.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenkit import RGCCA

rng = np.random.default_rng(0)
n, widths = 150, (8, 6, 10)
load, wear = rng.normal(size=(2, n))
failed = np.where(wear + 0.3 * rng.normal(size=n) > 0.6, "failed", "sound")
views = [
    np.outer(load, rng.normal(size=d))
    + 0.6 * np.outer(wear, rng.normal(size=d))
    + rng.normal(size=(n, d))
    for d in widths
]

# %%
# Without classes the components follow the load. With classes, the smaller the design, the more they follow the wear.
models = {"no classes": RGCCA().fit(views)}
for design in (10.0, 1.0, 0.0):
    models[f"classes, design {design:g}"] = RGCCA(design=design).fit(views, failed)
for name, model in models.items():
    scores = np.column_stack(model.transform_views(views))
    along = [
        np.abs(np.corrcoef(scores.T, hidden)[:-1, -1]).mean() for hidden in (load, wear)
    ]
    print(f"{name:20s} correlation with load {along[0]:.2f}, with wear {along[1]:.2f}")

# %%
# In a pipeline, the views are passed side by side as one matrix, with a label for each column. The classifier uses the mean
# score of the views.
X, groups = np.hstack(views), np.repeat([0, 1, 2], widths)
for design in (10.0, 1.0, 0.0):
    chain = make_pipeline(
        StandardScaler(), RGCCA(2, design=design, groups=groups), LogisticRegression()
    )
    print(
        f"design {design:4g}: accuracy {cross_val_score(chain, X, failed, cv=5).mean():.2f}"
    )

# %%
# How the components go together: three views and, last, the classes.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.4))
for ax, (name, model) in zip(axes, list(models.items())[1:], strict=True):
    spread = np.sqrt(np.diag(model.covariances_[0]))
    picture = ax.imshow(
        model.covariances_[0] / np.outer(spread, spread), vmin=0, vmax=1, cmap="viridis"
    )
    ax.set(title=name, xticks=range(4), yticks=range(4))
    ax.set_xticklabels(["noise", "light", "heat", "classes"])
    ax.set_yticklabels(["noise", "light", "heat", "classes"])
fig.colorbar(picture, ax=axes, label="correlation")
plt.show()
