"""Sparse loadings of latent variables that several views share, by variational inference.

    v_j = w_j'z + m_j + e_j,   z ~ N(0, I_K),   e_j ~ N(0, 1/t_j)

for the columns j of all views, put side by side. A loading is zero or of its component's size in
its view g, and the data say how many of them are not zero (the beta-Bernoulli prior whose limit
for many components is the Indian buffet process):

    w_jk ~ (1 - s_jk) delta_0 + s_jk N(0, 1/a_gk),   s_jk ~ Bernoulli(p_gk)
    p_gk ~ Beta(1/K, 1),   a_gk ~ Gamma(1/2, 1/2),   t_j ~ Gamma(1e-3, 1e-3)

With columns of unit variance, the prior of a loading that is not zero is Cauchy of unit scale. A
component that no column of a view needs vanishes from it (automatic relevance determination);
what both views keep is shared, what one keeps is its own correlated noise.

q = q(z) q(w, s) q(a) q(p) q(t) is improved factor by factor, each in closed form; none of the
updates lowers the evidence bound. Data without gaps enter by V'V alone, so that as many rows as
there are columns stand for all of them.

Updates alone stay where they are once a superfluous component has found something to explain. So
the number of components grows from zero while the bound does (:func:`search`), each number from its
own start (principal axes, and the same rotated by varimax), and at the end every component is tried
without one of its views. What raises the bound is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln, digamma, expit, gammaln, xlogy

from eigenkit.numerics.linalg import Array, eigenpairs, triangular_factor
from eigenkit.solvers.two_views import LOG_2PI

SLAB = (0.5, 0.5)  # shape and rate of a: together with the normal a Cauchy slab
NOISE = (1e-3, 1e-3)  # of t: hardly any information

# The number of components stops growing after this many that did not raise the bound.
PATIENCE = 2

# Steps between two looks at the bound, which costs as much as a step.
STRIDE = 10

# A trial ends when, at its present rate, it needs more steps than this to be the best.
HOPE = 50


@dataclass(frozen=True)
class Observed:
    """The columns of all views, centred and of unit variance; zero where an entry is missing."""

    V: Array  # or a triangular factor of it, where nothing is missing
    view: np.ndarray
    weight: Array
    seen: Array | None  # None where nothing is missing

    @classmethod
    def of(cls, V: Array, view: np.ndarray, weight: Array) -> Observed:
        seen = ~np.isnan(V)
        if not seen.all():
            return cls(np.where(seen, V, 0.0), view, weight, seen.astype(float))
        rows = V * np.sqrt(weight)[:, None]
        rows = triangular_factor(rows) if len(rows) > rows.shape[1] else rows
        return cls(rows, view, weight, None)

    @property
    def counts(self) -> Array:
        """Samples that hold each column."""
        if self.seen is None:
            return np.full(self.V.shape[1], self.weight.sum())
        return self.weight @ self.seen

    @property
    def squares(self) -> Array:
        """Sums of squares of the columns."""
        return (self.weight if self.seen is not None else np.ones(len(self.V))) @ self.V**2


@dataclass(frozen=True)
class Loadings:
    """q(w, s), and the Gamma and Beta factors above and beside it."""

    mean: Array  # of w where it is not zero, D x K
    variance: Array
    active: Array  # probability that it is not zero
    slab: tuple[Array, Array]  # shape and rate of a, views x K
    share: tuple[Array, Array]  # of p
    noise: tuple[Array, Array]  # of t, D

    @property
    def expected(self) -> Array:
        return self.active * self.mean

    @property
    def precision(self) -> Array:
        """E[t]."""
        return self.noise[0] / self.noise[1]

    def ordered(self, order: np.ndarray) -> Loadings:
        """The same with components in another order."""
        return replace(
            self,
            mean=self.mean[:, order],
            variance=self.variance[:, order],
            active=self.active[:, order],
            slab=(self.slab[0][:, order], self.slab[1][:, order]),
            share=(self.share[0][:, order], self.share[1][:, order]),
        )

    def second(self) -> Array:
        """E[w_j w_j'] less its part outside the diagonal, E[w_j] E[w_j]'."""
        return np.asarray(self.active * (self.mean**2 + self.variance) - self.expected**2)


@dataclass(frozen=True)
class Latent:
    """q(z): sums over the samples of v E[z]' (D x K) and E[zz'] (K x K, or D of them)."""

    cross: Array
    square: Array
    divergence: float


def latent(data: Observed, q: Loadings) -> Latent:
    """The best q(z)."""
    W, t = q.expected, q.precision
    if data.seen is None:
        total, P = float(data.weight.sum()), (W * t[:, None]).T @ W + np.diag(t @ q.second())
        P[np.diag_indices_from(P)] += 1.0
        V = np.linalg.inv(P)
        M = data.V @ (W * t[:, None]) @ V
        S = M.T @ M + total * V
        log = -np.linalg.slogdet(P)[1]
        return Latent(data.V.T @ M, S, 0.5 * (np.trace(S) - total * (len(S) + log)))
    M, C = posterior(data.seen, data.V, W, t, q.second())
    w = data.weight
    E = C + np.einsum("nk,nl->nkl", M, M)
    S = np.tensordot((w[:, None] * data.seen).T, E, axes=1)
    traces = np.trace(E, axis1=1, axis2=2)
    divergence = 0.5 * w @ (traces - W.shape[1] - np.linalg.slogdet(C)[1])
    return Latent((w[:, None] * data.V).T @ M, S, float(divergence))


def posterior(seen: Array, V: Array, W: Array, t: Array, second: Array) -> tuple[Array, Array]:
    """Means and covariances of z for rows that see different columns."""
    K = W.shape[1]
    outer = np.einsum("jk,jl->jkl", W, W) + np.einsum("jk,kl->jkl", second, np.eye(K))
    P = np.tensordot(seen * t, outer, axes=1) + np.eye(K)
    C = np.asarray(np.linalg.inv(P), dtype=float)
    return np.einsum("nk,nkl->nl", (seen * V) @ (W * t[:, None]), C), C


def update(data: Observed, z: Latent, q: Loadings) -> Loadings:
    """The best factors of the loadings, component by component, then those above them."""
    K, view = q.mean.shape[1], data.view
    mean, variance, active = q.mean.copy(), q.variance.copy(), q.active.copy()
    W, t = q.expected.copy(), q.precision
    a, log_a = (q.slab[0] / q.slab[1])[view], (digamma(q.slab[0]) - np.log(q.slab[1]))[view]
    log_odds = (digamma(q.share[0]) - digamma(q.share[1]))[view]
    for k in range(K):
        S_k = z.square[..., k, :]
        others = np.sum(W * S_k, axis=1) - W[:, k] * S_k[..., k]
        precision = t * S_k[..., k] + a[:, k]
        mean[:, k] = t * (z.cross[:, k] - others) / precision
        variance[:, k] = 1 / precision
        gain = 0.5 * (log_a[:, k] - np.log(precision) + precision * mean[:, k] ** 2)
        active[:, k] = expit(log_odds[:, k] + gain)
        W[:, k] = active[:, k] * mean[:, k]
    q = replace(q, mean=mean, variance=variance, active=active)
    return above(data, z, q)


def above(data: Observed, z: Latent, q: Loadings) -> Loadings:
    """The best factors of sizes, shares and noise."""
    views = np.eye(data.view.max() + 1)[data.view].T
    on, K = views @ q.active, q.mean.shape[1]
    size = views @ (q.active * (q.mean**2 + q.variance))
    off = views.sum(axis=1, keepdims=True) - on
    slab, share = (SLAB[0] + on / 2, SLAB[1] + size / 2), (1 / max(K, 1) + on, 1 + off)
    noise = NOISE[0] + data.counts / 2, NOISE[1] + residuals(data, z, q) / 2
    return replace(q, slab=slab, share=share, noise=noise)


def residuals(data: Observed, z: Latent, q: Loadings) -> Array:
    """Expected sums of squared residuals of the columns."""
    W = q.expected
    diagonal = np.diagonal(z.square, axis1=-2, axis2=-1)
    fitted = np.sum((W[:, None, :] @ z.square)[:, 0] * W + q.second() * diagonal, axis=1)
    return np.asarray(np.maximum(data.squares - 2 * np.sum(W * z.cross, axis=1) + fitted, 0.0))


def bound(data: Observed, z: Latent, q: Loadings) -> float:
    """The evidence bound: a lower bound of the log probability of the data."""
    t, view, K = q.precision, data.view, q.mean.shape[1]
    log_t = digamma(q.noise[0]) - np.log(q.noise[1])
    fit = 0.5 * np.sum(data.counts * (log_t - LOG_2PI) - t * residuals(data, z, q))
    a, log_a = q.slab[0] / q.slab[1], digamma(q.slab[0]) - np.log(q.slab[1])
    both = digamma(q.share[0] + q.share[1])
    log_p, log_not = digamma(q.share[0]) - both, digamma(q.share[1]) - both
    g = q.active
    weights = g * (
        0.5 * (log_a[view] + np.log(q.variance) + 1 - a[view] * (q.mean**2 + q.variance))
        + log_p[view]
    )
    weights += (1 - g) * log_not[view] - xlogy(g, g) - xlogy(1 - g, 1 - g)
    above = _gamma_divergence(q.slab, SLAB) + _gamma_divergence(q.noise, NOISE)
    above += _beta_divergence(q.share, (1 / max(K, 1), 1.0))
    return float(fit - z.divergence + weights.sum() - above)


def _gamma_divergence(q: tuple[Array, Array], p: tuple[float, float]) -> float:
    (a, b), (a0, b0) = q, p
    parts = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0) + a0 * (np.log(b) - np.log(b0))
    return float(np.sum(parts + a * (b0 - b) / b))


def _beta_divergence(q: tuple[Array, Array], p: tuple[float, float]) -> float:
    (a, b), (a0, b0) = q, p
    parts = betaln(a0, b0) - betaln(a, b) + (a - a0) * digamma(a) + (b - b0) * digamma(b)
    return float(np.sum(parts + (a0 + b0 - a - b) * digamma(a + b)))


# -- how many components, and which views share them --------------------------------------


@dataclass(frozen=True)
class Run:
    """What the iteration found, its evidence bound, and how it ended."""

    q: Loadings
    bound: float
    n_iter: int
    change: float


def search(data: Observed, most: int, tol: float, max_iter: int) -> Run:
    """The best of 0 to ``most`` components; ``n_iter`` counts all steps."""
    best, since = ascend(data, start(data, principal(data, 0)), tol, max_iter), 0
    steps = best.n_iter
    for K in range(1, most + 1):
        W = principal(data, K)
        starts = [W] if K == 1 else [W, varimax(W)]
        runs = [ascend(data, start(data, L), tol, max_iter, best.bound) for L in starts]
        steps += sum(run.n_iter for run in runs)
        run = max(runs, key=lambda run: run.bound)
        since = 0 if run.bound > best.bound else since + 1
        best = run if since == 0 else best
        if since == PATIENCE:
            break
    best, more = _without_views(data, best, tol, max_iter)
    return replace(best, n_iter=steps + more)


def ascend(data: Observed, q: Loadings, tol: float, max_iter: int, beat: float = -np.inf) -> Run:
    """Updates until the bound grows by less than tol in a step, or can hardly ``beat`` another."""
    last, change, steps = -np.inf, np.inf, 0
    while change > tol and steps < max_iter and not last + HOPE * change < beat:
        steps += 1
        q = update(data, latent(data, q), q)
        if steps % STRIDE == 0 or steps == max_iter:
            value = bound(data, latent(data, q), q)
            change, last = (value - last) / STRIDE, value
    return Run(q, last, steps, change)


def start(data: Observed, W: Array) -> Loadings:
    """Factors with these loadings, all of them active."""
    left = np.maximum(1 - np.sum(W**2, axis=1), 0.1)
    variance = np.full(W.shape, 1 / data.counts.mean())
    unknown = left, left  # found below, from the rest
    q = Loadings(W, variance, np.ones(W.shape), unknown, unknown, (np.ones_like(left), left))
    return above(data, latent(data, q), q)


def principal(data: Observed, K: int) -> Array:
    """The loadings of probabilistic principal components; gaps count as means."""
    rows = data.V if data.seen is None else data.V * np.sqrt(data.weight)[:, None]
    values, vectors = eigenpairs(rows.T @ rows / data.counts.max())
    rest = values[K:].mean() if len(values) > K else 0.0
    return np.asarray(vectors[:, :K] * np.sqrt(np.maximum(values[:K] - rest, 0.01)))


def varimax(W: Array, steps: int = 200, tol: float = 1e-8) -> Array:
    """W rotated so that its columns have few large entries: the variance of the squares is climbed
    by polar factors of its gradient."""
    R = np.eye(W.shape[1])
    for _ in range(steps):
        L = W @ R
        mean = np.mean(L**2, axis=0)
        # A multiple of the sum of squares, which no rotation changes, makes every step one upwards.
        U, _, Vt = np.linalg.svd(W.T @ (L**3 + L * (3 * mean.max() - mean)))
        last, R = R, U @ Vt
        if np.linalg.norm(R - last) <= tol:
            break
    return np.asarray(W @ R)


def _without_views(data: Observed, best: Run, tol: float, max_iter: int) -> tuple[Run, int]:
    """The best after leaving components out of views, each once, where that raises the bound."""
    steps = 0
    for g, k in np.argwhere(present(data, best.q)):
        active = best.q.active.copy()
        active[data.view == g, k] = 0.0
        q = replace(best.q, active=active)
        run = ascend(data, above(data, latent(data, q), q), tol, max_iter, best.bound)
        steps += run.n_iter
        best = run if run.bound > best.bound else best
    return best, steps


def present(data: Observed, q: Loadings) -> np.ndarray:
    """Which components have a loading in which view (views x K)."""
    views = range(int(data.view.max()) + 1)
    return np.array([np.any(q.active[data.view == g] > 0.5, axis=0) for g in views])


def information(W: Array, noise: Array, n: float) -> Array:
    """Fisher information of n samples of N(m, WW' + diag(noise)) on (W, log noise).

    W is counted row by row. With Q = C^-1, F = QW and G = W'QW, the entry of w_jk and w_lm is
    n (Q_jl G_km + F_jm F_lk), that of w_jk and log noise_l is n noise_l Q_jl F_lk, and that of
    two noises n/2 noise_j noise_l Q_jl^2.
    """
    D, K = W.shape
    Q = np.linalg.inv(W @ W.T + np.diag(noise))
    F, G = Q @ W, W.T @ Q @ W
    WW = np.einsum("jl,km->jklm", Q, G) + np.einsum("jm,lk->jklm", F, F)
    WN = np.einsum("jl,lk,l->jkl", Q, F, noise).reshape(D * K, D)
    NN = 0.5 * np.outer(noise, noise) * Q**2
    return np.asarray(n * np.block([[WW.reshape(D * K, D * K), WN], [WN.T, NN]]))
