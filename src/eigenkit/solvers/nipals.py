"""NIPALS: alternating regressions, each over the entries that are there.

A component is a score t and weights w such that both are regressions of the rows and columns
of X on each other (on the score of Y for partial least squares); then X is deflated by it. A
missing entry is left out of every sum. Where nothing is missing, these are the power method
and the PLS of the textbooks; with gaps, they still use all observed entries and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenkit.exceptions import warn_of_stopping
from eigenkit.numerics.linalg import Array, normalized, ratio, truncated_svd
from eigenkit.numerics.tolerances import EPS
from eigenkit.pencil import Report
from eigenkit.solvers.deflation import Components, Side, components_of, rounding


def nipals(
    X: Array,
    Y: Array,
    n_components: int,
    deflation: str,  # "regression" or "canonical"
    *,
    tol: float,
    max_iter: int,
    grain: Array | float = 0.0,
    grain_y: Array | float = 0.0,
    observed: np.ndarray | None = None,
) -> Components:
    """The components, by alternating regressions on X and Y themselves.

    X and Y are centred and scaled; columns of lengths up to ``grain`` and ``grain_y`` are rounding.
    X has zeros where ``observed`` (n x d) is False: regressions run over observed entries only.
    """
    trace = float(np.vdot(X, X))
    X, Y = X.copy(), Y.copy()
    M = None if observed is None else observed.astype(np.float64)
    x, y = Side(X.shape[1], n_components), Side(Y.shape[1], n_components)
    values: list[float] = []
    n_iter: list[int] = []
    converged = True
    for _ in range(n_components):
        w, t, c, steps, settled = _alternate(X, Y, M, tol, max_iter)
        u = Y @ c
        sigma, r = float(w @ (X.T @ u)), x.rotate(w, gaps=M is not None)
        largest = min(values[0] if values else 0.0, float(np.sqrt(trace * (u @ u))))
        of_x, of_y = np.linalg.norm(r * grain), np.linalg.norm(c * grain_y)
        least = rounding(float(r @ r), len(r), trace) + of_x**2
        if sigma <= largest * EPS * max(X.shape) or t @ t <= least:
            break
        if values and sigma <= max(np.linalg.norm(u) * of_x, np.linalg.norm(t) * of_y):
            break  # the scores of one side are no more than rounding of its numbers
        p = _regress(X.T, t, None if M is None else M.T)
        q = Y.T @ t / (t @ t) if deflation == "regression" else Y.T @ u / (u @ u)
        X -= np.outer(t, p) if M is None else M * np.outer(t, p)
        Y -= np.outer(t if deflation == "regression" else u, q)
        x.keep(w, r, p, float(t @ t), None if M is None else float(t**2 @ (M @ p**2)))
        if deflation == "regression":
            # Rotations of y follow no recursion: q is not biorthogonal to itself.
            y.keep(q, q, q, float(t @ t))
        else:
            y.keep(c, y.rotate(c), q, float(u @ u))
        values.append(sigma)
        n_iter.append(steps)
        converged = converged and settled
    report = Report("deflation", "nipals", "as asked", max(n_iter, default=0), converged)
    return components_of(x, y, np.array(values), n_iter, report)


def _regress(A: Array, b: Array, M: Array | None) -> Array:
    """Every row of A regressed on b without intercept, over its observed entries."""
    bottom = b @ b if M is None else M @ (b * b)
    return ratio(A @ b, bottom)


def _alternate(
    X: Array, Y: Array, M: Array | None, tol: float, max_iter: int
) -> tuple[Array, Array, Array, int, bool]:
    """w, t, c (unit length) where the alternating regressions settle; steps, and whether."""
    u = Y[:, np.argmax(np.einsum("ij,ij->j", Y, Y))]
    w = np.zeros(X.shape[1])
    steps = 0
    while steps < max_iter:
        steps += 1
        last = w
        w = normalized(_regress(X.T, u, None if M is None else M.T))
        t = _regress(X, w, M)
        c = normalized(Y.T @ t)
        u = Y @ c
        change = float(np.linalg.norm(w - last))
        if change <= tol:
            break
    else:
        warn_of_stopping(
            f"NIPALS stopped after max_iter={max_iter} steps with weights still changing by "
            f"{change:.1e}: increase max_iter or tol"
        )
    return w, t, c, steps, change <= tol


def skip_missing_scores(X: Array, observed: np.ndarray, W: Array, P: Array) -> Array:
    """Scores of new rows with gaps (zeros where not observed), component by component."""
    M = observed.astype(np.float64)
    X = X.copy()
    T = np.zeros((len(X), W.shape[1]))
    for i in range(W.shape[1]):
        T[:, i] = _regress(X, W[:, i], M)
        X -= M * np.outer(T[:, i], P[:, i])
    return T


@dataclass(frozen=True)
class Axes:
    """Orthonormal axes, and the steps to each."""

    V: Array  # (d x r)
    s: Array  # roots of the squares of X that they take out: without gaps, lengths of scores
    n_iter: tuple[int, ...]
    converged: bool


def nipals_axes(
    X: Array,
    observed: np.ndarray | None,
    k: int | None,
    *,
    tol: float,
    max_iter: int,
    grain: Array | float = 0.0,
) -> Axes:
    """The k leading principal axes (None: all that X has) of centred X, with zeros in its gaps.

    The iteration starts from the axes of X as it stands, the answer where nothing is missing; they
    stay orthonormal, so scores of complete rows are X V. Lengths up to ``grain`` are rounding.
    """
    X, M = X.copy(), None if observed is None else observed.astype(np.float64)
    starts = truncated_svd(X, len(X), grain)[2].T
    V = np.zeros((len(starts) if k is None else min(k, len(starts)), X.shape[1]))
    s, steps, settled = np.zeros(len(V)), [], True
    for i, start in enumerate(starts[: len(V)]):
        V[i], t, n, done = _axis(X, M, start, V[:i], tol, max_iter)
        X -= np.outer(t, V[i]) if M is None else M * np.outer(t, V[i])
        s[i] = np.linalg.norm(t if M is None else t * np.sqrt(M @ V[i] ** 2))
        steps.append(n)
        settled &= done
    order = np.argsort(-s, kind="stable")
    return Axes(V[order].T, s[order], tuple(steps[i] for i in order), settled)


def _axis(
    X: Array, M: Array | None, v: Array, before: Array, tol: float, max_iter: int
) -> tuple[Array, Array, int, bool]:
    """v and t where the regressions settle, the steps it took, and whether they settled."""
    v = _unit(v, before)
    for step in range(1, max_iter + 1):
        last = v
        v = _unit(_regress(X.T, _regress(X, v, M), None if M is None else M.T), before)
        if np.linalg.norm(v - last) <= tol:
            return v, _regress(X, v, M), step, True
    return v, _regress(X, v, M), max_iter, False


def _unit(v: Array, before: Array) -> Array:
    """v without the axes before it (removed twice, because of rounding), at unit length."""
    for _ in range(2):
        v = normalized(v - (before @ v) @ before)
    return v
