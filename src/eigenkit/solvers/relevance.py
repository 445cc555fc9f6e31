"""How many components, and which views share them: a search by the evidence bound.

Updates alone stay where they are once a superfluous component has found something to explain. So
the number of components grows from zero while the bound does, each number from its own start
(principal axes, and the same rotated by varimax), and at the end every component is tried without
one of its views. What raises the bound is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from eigenkit.numerics.linalg import Array, eigenpairs
from eigenkit.solvers.sparse_latent import Loadings, Observed, above, bound, latent, update

# The number of components stops growing after this many that did not raise the bound.
PATIENCE = 2

# Steps between two looks at the bound, which costs as much as a step.
STRIDE = 10

# A trial ends when, at its present rate, it needs more steps than this to be the best.
HOPE = 50


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
    """Updates until the bound grows by less than tol in a step.

    Or until there is little hope of a bound above ``beat``.
    """
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
    """W rotated so that its columns have few large entries.

    The variance of the squares is climbed by polar factors of its gradient; adding a multiple of
    the sum of squares, which no rotation changes, makes every step one upwards.
    """
    R = np.eye(W.shape[1])
    for _ in range(steps):
        L = W @ R
        mean = np.mean(L**2, axis=0)
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
