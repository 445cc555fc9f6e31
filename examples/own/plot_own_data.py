"""
Can I fit data that are not one matrix?
=======================================

The solvers access data only through a few operations, mainly products with the centred matrix and its transpose. So
data that you would not want to write out as a single matrix can be fitted as they are. Here sparse word counts stand
beside dense measurements: stacking them would waste memory either way. **Answer: a new kind of data, two kinds side by
side, takes some thirty lines.**
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from eigenkit import CCA
from eigenkit.data import Centered, Data
from eigenkit.pencil import Pencil
from eigenkit.solvers import Settings, solve


class Beside(Data):
    """Two kinds of data side by side: columns of the one, then columns of the other."""

    def __init__(self, *parts):
        self.parts, self.ends = parts, np.cumsum([p.shape[1] for p in parts])
        self.shape = (parts[0].shape[0], int(self.ends[-1]))
        self.weight, self.total, self.n_samples = (
            None,
            parts[0].total,
            parts[0].n_samples,
        )
        self.mean = np.concatenate([p.mean for p in parts])
        self.constant = np.concatenate([p.constant for p in parts])

    def each(self, W):
        return zip(self.parts, np.split(W, self.ends[:-1]), strict=True)

    def matmat(self, V):
        return sum(part.matmat(v) for part, v in self.each(V))

    def rmatmat(self, U):
        return np.vstack([part.rmatmat(U) for part in self.parts])

    def outer(self):
        return sum(part.outer() for part in self.parts)

    def ridge(self, alpha):
        sizes = [part.shape[1] for part in self.parts]
        ridges = [
            np.broadcast_to(p.ridge(alpha), d)
            for p, d in zip(self.parts, sizes, strict=True)
        ]
        return np.concatenate(ridges)

    def to_X(self, W):
        return np.vstack([part.to_X(w) for part, w in self.each(W)])


# %%
# 600 samples: their words, their measurements and their responses Y depend on the same three hidden themes.
rng = np.random.default_rng(0)
themes = rng.gamma(1.0, size=(600, 3))
words = sparse.csr_array(
    rng.poisson(0.02 + themes @ rng.gamma(0.02, size=(3, 3000)))
).astype(float)
numbers = themes @ rng.normal(size=(3, 20)) + 3 * rng.normal(size=(600, 20))
Y = themes @ rng.normal(size=(3, 4)) + rng.normal(size=(600, 4))
H = Y - Y.mean(axis=0)
H = (
    H @ np.linalg.inv(np.linalg.cholesky(H.T @ H)).T
)  # the target of CCA, up to a rotation

data = Beside(Centered(words), Centered(numbers))
answer = solve(Pencil.state(data, H, alpha=10.0), Settings(regression="cg"))

# %%
# The result is the same as CCA of one dense matrix, made here only for comparison.
W = answer.W
dense = CCA(alpha=10.0).fit(np.hstack([words.toarray(), numbers]), Y).components_.T
print(f"largest difference of W W': {np.abs(W @ W.T - dense @ dense.T).max():.1e}")

# %%
scores = words @ W[:3000] + numbers @ W[3000:]
plt.scatter(scores[:, 0], Y @ np.linalg.lstsq(Y, scores[:, 0])[0], s=8)
plt.xlabel("first score of words and measurements")
plt.ylabel("its best linear fit from Y")
plt.show()
