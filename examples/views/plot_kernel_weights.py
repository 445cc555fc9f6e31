"""
Which of several descriptions of a patient matters?
===================================================

Patients are described by genes, by an image and by a questionnaire, and each description has its own kernel. Which of
them tells us about the outcome? :class:`eigenkit.MultipleKernelProjection` learns a weight for each kernel by solving
a convex problem, and reports how close to the optimum it came. **Answer: the weights depend on the ridge.** If it is
too small, they favour the kernel that can memorize anything; if it is sensible, those that carry information.
"""

# %%
# The outcome depends on two of the three groups, in nonlinear ways. The third group, the largest, is pure noise.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from eigenkit import Kernel, KernelLDA, MultipleKernelProjection

rng = np.random.default_rng(0)
groups = {"genes": slice(0, 5), "image": slice(5, 8), "questions": slice(8, 20)}


def draw(n):
    X = rng.normal(size=(n, 20))
    score = np.sin(2 * X[:, 0]) + X[:, 5] * X[:, 6] + 0.3 * rng.normal(size=n)
    return X, np.digitize(score, [-0.5, 0.5])


X, y = draw(400)
X_new, y_new = draw(1000)
kernels = [Kernel("rbf", gamma=0.2, columns=columns) for columns in groups.values()]


# %%
# The class of new patients is predicted by nearest neighbours among the scores.
def fitted(alpha, weights):
    model = MultipleKernelProjection(
        KernelLDA(alpha=alpha), kernels, weights=weights
    ).fit(X, y)
    reader = KNeighborsClassifier(15).fit(model.transform(X), y)
    return model, reader.score(model.transform(X_new), y_new)


alphas = [0.3, 1.0, 3.0, 10.0, 30.0]
learned, accuracy = zip(*(fitted(alpha, "silp") for alpha in alphas), strict=True)
equal = [fitted(alpha, "uniform")[1] for alpha in alphas]
weights = np.array([model.weights_ for model in learned])
for alpha, w, model in zip(alphas, weights, learned, strict=True):
    print(f"alpha = {alpha:4}: weights {w.round(2)}, gap {model.gap_:.0e}")

# %%
# With a narrow kernel over twelve features, no two patients are alike. Such a kernel can explain any outcome of the patients it
# has seen, and a small ridge lets it do so. Therefore choose alpha by cross-validation before you interpret the weights, and
# try equal weights too.
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for name, values in zip(groups, weights.T, strict=True):
    axes[0].semilogx(alphas, values, "o-", label=name)
axes[0].set(title="learned weights", xlabel="alpha", ylabel="share of the kernel")
axes[0].legend()
axes[1].semilogx(alphas, accuracy, "o-", label="learned weights")
axes[1].semilogx(alphas, equal, "s-", label="equal weights")
axes[1].axhline(
    np.bincount(y_new).max() / len(y_new), color="tab:gray", lw=1, label="chance"
)
axes[1].set(title="new patients", xlabel="alpha", ylabel="accuracy")
axes[1].legend()
plt.show()
