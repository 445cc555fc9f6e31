"""
Which pictures show a ring, and where?
======================================

Several pictures belong together, and terms describe the whole set; nobody has marked which picture shows what, or
where. :class:`eigenkit.images.ImageAnnotator` learns the terms with kernels between sets of local descriptors. Every
score can be traced back to the points in the pictures that support it.
"""

# %%
# Drawn shapes, a few pictures per set, with terms such as "ring", "bar" and names of colours.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from eigenkit.images import ImageAnnotator, Plan, make_shapes

sets, Y, terms = make_shapes(80, size=64)
new, truth, _ = make_shapes(60, size=64, random_state=1)
print(
    f"{len(sets)} sets, {sum(len(one) for one in sets)} pictures, terms: {', '.join(terms)}"
)

# %%
# One kernel compares local descriptors (a pyramid match), another compares colours.
plans = [Plan("sift-16", "pyramid", {"bins": "vocabulary", "n_levels": 4}), "hsv"]
model = ImageAnnotator(plans, size=(96, 96), weights="equal").fit(sets, Y, terms)
scores = model.predict_proba(new)
for j, term in enumerate(terms):
    print(f"{term:8} AUC on new sets {roc_auc_score(truth[:, j], scores[:, j]):.2f}")

# %%
# The evidence for "ring" in the three sets with the highest scores: orange points speak for it, blue points against it.
ring = terms.index("ring")
best = np.argsort(-scores[:, ring])[:3]
fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for ax, i in zip(axes, best, strict=True):
    why = model.explain(new[i])
    piece = max(why.evidence, key=lambda part: part.shares[:, ring].sum())
    ax.imshow(new[i].pictures[piece.picture].pixels())
    share = piece.shares[:, ring]
    colours = np.where(share > 0, "tab:orange", "tab:blue")
    ax.scatter(
        *(64 * piece.places.T),
        s=500 * np.abs(share) / np.abs(share).max(),
        c=colours,
        alpha=0.5,
    )
    ax.set(title=f"ring: {scores[i, ring]:.0%}", xticks=[], yticks=[])
plt.show()
