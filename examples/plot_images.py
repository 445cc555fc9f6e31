"""
Which pictures show a ring, and where?
======================================

Sets of pictures carry terms together; nobody has marked which picture shows what, or where. Kernels between sets of local
descriptors learn the terms, and every score can be taken apart into the points of the pictures that speak for it.
"""

# %%
# Drawn shapes, some pictures to a set, with terms such as "ring", "bar" and colours.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from eigenkit.images import ImageAnnotator, Plan, make_shapes

sets, Y, terms = make_shapes(80, size=64)
new, truth, _ = make_shapes(60, size=64, seed=1)
print(f"{len(sets)} sets, {sum(len(one) for one in sets)} pictures, terms: {', '.join(terms)}")

# %%
# One local descriptor with a pyramid match, and one of colours.
plans = [Plan("sift-16", "pyramid", {"bins": "vocabulary", "n_levels": 4}), "hsv"]
model = ImageAnnotator(plans, size=(96, 96), weights="equal").fit(sets, Y, terms)
scores = model.predict_proba(new)
for j, term in enumerate(terms):
    print(f"{term:8} AUC on new sets {roc_auc_score(truth[:, j], scores[:, j]):.2f}")

# %%
# Where the evidence for "ring" lies: orange speaks for it, blue against.
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
        *(64 * piece.places.T), s=500 * np.abs(share) / np.abs(share).max(), c=colours, alpha=0.5
    )
    ax.set(title=f"ring: {scores[i, ring]:.0%}", xticks=[], yticks=[])
plt.show()
