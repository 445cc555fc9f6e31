"""Data of which the truth is known, for :mod:`benchmarks.inference`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenkit import (
    CCA,
    LDA,
    PCA,
    PLSSVD,
    CanonicalRidge,
    HypergraphSpectral,
    MultiviewCCA,
    OrthonormalizedPLS,
    PLSCanonical,
    PLSRegression,
)

Rng = np.random.Generator
Data = tuple[tuple[Any, ...], dict[str, Any]]

# -- for levels --------------------------------------------------------------------------


def gaussian(rng: Rng, size: tuple[int, int]) -> np.ndarray:
    return rng.normal(size=size)


def heavy(rng: Rng, size: tuple[int, int]) -> np.ndarray:
    """t with 3 degrees of freedom: no fourth moment."""
    return rng.standard_t(3, size=size)


def infinite_variance(rng: Rng, size: tuple[int, int]) -> np.ndarray:
    return rng.standard_t(2, size=size)


def views(
    n: int, d: int, k: int, strength: float = 3.0, noise: Callable[..., np.ndarray] = gaussian
) -> Callable[[Rng, int], Data]:
    """X (n x d) and Y (n x k) that share ``n_real`` latent variables."""

    def draw(rng: Rng, n_real: int) -> Data:
        X, Y = noise(rng, (n, d)), noise(rng, (n, k))
        shared = strength * rng.normal(size=(n, n_real))
        X[:, :n_real] += shared
        Y[:, :n_real] += shared
        return (X, Y), {}

    return draw


def binary(rng: Rng, n_real: int) -> Data:
    """0/1 variables; a shared one is copied with few errors."""
    X, Y = (rng.random((80, d)) < 0.4 for d in (5, 4))
    flips = rng.random((80, n_real)) < 0.05
    Y[:, :n_real] = X[:, :n_real] ^ flips
    return (X.astype(float), Y.astype(float)), {}


def with_nuisance(draw: Callable[[Rng, int], Data], n_variables: int) -> Callable[..., Data]:
    """Nuisance variables that drive both sides."""

    def confounded(rng: Rng, n_real: int) -> Data:
        (X, Y), _ = draw(rng, n_real)
        Z = rng.normal(size=(len(X), n_variables))
        X = X + Z @ rng.normal(size=(n_variables, X.shape[1]))
        if Y.ndim == 2:
            Y = Y + Z @ rng.normal(size=(n_variables, Y.shape[1]))
        return (X, Y), {"nuisance": Z}

    return confounded


def with_blocks(draw: Callable[[Rng, int], Data], n_blocks: int) -> Callable[..., Data]:
    """Blocks of samples whose levels differ on both sides."""

    def blocked(rng: Rng, n_real: int) -> Data:
        (X, Y), options = draw(rng, n_real)
        groups = np.arange(len(X)) % n_blocks
        level = 3 * rng.normal(size=(n_blocks, 1))[groups]
        Y = Y + level if Y.ndim == 2 else Y
        return (X + level, Y), options | {"groups": groups}

    return blocked


def classes(n: int, d: int) -> Callable[[Rng, int], Data]:
    """Three classes; one component puts their means on a line."""

    def draw(rng: Rng, n_real: int) -> Data:
        y = rng.permutation(np.arange(n) % 3)
        X = rng.normal(size=(n, d))
        X[:, 0] += 3.0 * n_real * (y - 1)
        return (X, y), {}

    return draw


def labels(rng: Rng, n_real: int) -> Data:
    """Five labels, of which one depends on X: what is left of H then does not."""
    J = (rng.random((60, 5)) < 0.4).astype(float)
    X = rng.normal(size=(60, 8))
    X[:, 0] += 4.0 * n_real * (J[:, 0] - 0.5)
    return (X, J), {}


def three_views(rng: Rng, n_real: int) -> Data:
    shared = 3.0 * rng.normal(size=(50, n_real))
    found = [rng.normal(size=(50, d)) for d in (4, 5, 3)]
    for view in found:
        view[:, :n_real] += shared
    return (found,), {}


@dataclass(frozen=True)
class Setting:
    """One row: a method, its data, and how far above the nominal level it may be."""

    model: Any
    draw: Callable[[Rng, int], Data]
    allowed: float = 0.03


NARROW = views(60, 5, 4)
WIDE = views(30, 100, 5, 10.0)
LEVELS = {
    "CCA, narrow": Setting(CCA(2, alpha=0), NARROW),
    "CCA, narrow, heavy tails": Setting(CCA(2, alpha=0), views(60, 5, 4, 6.0, heavy)),
    "CCA, binary": Setting(CCA(2, alpha=0), binary),
    "CCA, ridge, wide": Setting(CCA(2, alpha=1.0), WIDE),
    "CCA, ridge on both sides, both wide": Setting(
        CanonicalRidge(2, gamma_x=0.9, gamma_y=0.9), views(30, 60, 40, 10.0)
    ),
    "CCA, 8 nuisance variables": Setting(CCA(2, alpha=0), with_nuisance(views(40, 4, 3, 4.0), 8)),
    "CCA, ridge, wide, 3 nuisance variables": Setting(CCA(2, alpha=1.0), with_nuisance(WIDE, 3)),
    "CCA, 6 blocks": Setting(CCA(2, alpha=0), with_blocks(NARROW, 6)),
    "CCA, ridge, wide, 3 blocks": Setting(CCA(2, alpha=1.0), with_blocks(WIDE, 3)),
    "CCA, 4 blocks, 2 nuisance variables": Setting(
        CCA(2, alpha=0), with_blocks(with_nuisance(NARROW, 2), 4)
    ),
    "Orthonormalized PLS": Setting(OrthonormalizedPLS(2, alpha=1.0), NARROW),
    "PLS (SVD)": Setting(PLSSVD(2), views(50, 8, 5)),
    "PLS regression, wide": Setting(PLSRegression(2), views(30, 100, 5, 10.0)),
    "PLS canonical, not scaled": Setting(PLSCanonical(2, scale=False), views(50, 8, 5)),
    "PLS, heavy tails": Setting(PLSSVD(2), views(50, 8, 5, 6.0, heavy)),
    "PLS, infinite variance": Setting(
        PLSSVD(2, scale=False), views(50, 8, 5, 20.0, infinite_variance), allowed=0.04
    ),
    "PLS, 3 nuisance variables": Setting(PLSSVD(2), with_nuisance(views(50, 8, 5, 4.0), 3)),
    "PLS, 5 blocks": Setting(PLSSVD(2), with_blocks(views(50, 8, 5, 4.0), 5)),
    "LDA": Setting(LDA(alpha=0), classes(60, 5)),
    "LDA, ridge, wide": Setting(LDA(alpha=10.0), classes(36, 80)),
    "LDA, 3 nuisance variables": Setting(LDA(alpha=0), with_nuisance(classes(60, 5), 3)),
    "LDA, 4 blocks": Setting(LDA(alpha=0), with_blocks(classes(60, 5), 4)),
    "Hypergraph, star": Setting(HypergraphSpectral(2), labels),
    "Hypergraph, clique": Setting(HypergraphSpectral(2, expansion="clique"), labels),
    "Hypergraph, zhou": Setting(HypergraphSpectral(2, expansion="zhou"), labels),
    "Three views": Setting(MultiviewCCA(2, alpha=1.0), three_views),
}


# -- for power ---------------------------------------------------------------------------

POWER = {f"correlation {rho:g}": rho for rho in (0.0, 0.4, 0.5, 0.6, 0.7)}


# -- for coverage ------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """A method with data, which weights are zero, and which components are tied."""

    model: Any
    draw: Callable[[Rng], tuple[Any, ...]]
    zero: np.ndarray
    tied: bool


def pairs(rho: tuple[float, ...], n: int, d: int = 6, k: int = 4) -> Callable[[Rng], Any]:
    """Independent pairs of variables with these correlations."""

    def draw(rng: Rng) -> tuple[Any, ...]:
        X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, k))
        for i, r in enumerate(rho):
            Y[:, i] = r * X[:, i] + np.sqrt(1 - r**2) * Y[:, i]
        return X, Y

    return draw


def spread(rng: Rng) -> tuple[Any, ...]:
    return (rng.normal(size=(150, 6)) * [4, 2, 1, 1, 1, 1],)


def round_spread(rng: Rng) -> tuple[Any, ...]:
    return (rng.normal(size=(150, 6)) * [3, 3, 1, 1, 1, 1],)


def apart(rng: Rng) -> tuple[Any, ...]:
    """Three classes: far apart along the first feature, less so along the second."""
    y = rng.integers(0, 3, size=150)
    means = np.array([[-3.0, 0.0], [0.0, 1.5], [3.0, 0.0]])
    X = rng.normal(size=(150, 6))
    X[:, :2] += means[y]
    return X, y


OWN = ~np.eye(6, dtype=bool)
REST = np.repeat([[False], [False], [True], [True], [True], [True]], 2, axis=1)
COVERAGE = {
    "CCA, correlations 0.8 and 0.5, n = 200": Truth(
        CCA(2, alpha=0), pairs((0.8, 0.5), 200), OWN[:, :2], False
    ),
    "CCA, correlations 0.9 and 0.6, n = 100": Truth(
        CCA(2, alpha=0), pairs((0.9, 0.6), 100), OWN[:, :2], False
    ),
    "PLS (SVD), correlations 0.8 and 0.4, n = 200": Truth(
        PLSSVD(2), pairs((0.8, 0.4), 200), OWN[:, :2], False
    ),
    "PCA, deviations 4, 2, 1, ..., n = 150": Truth(PCA(2), spread, OWN[:, :2], False),
    "LDA, three classes, n = 150": Truth(LDA(alpha=0), apart, OWN[:, :2], False),
    "CCA, correlations 0.7 and 0.7, n = 200": Truth(
        CCA(2, alpha=0), pairs((0.7, 0.7), 200), REST, True
    ),
    "PCA, deviations 3, 3, 1, ..., n = 150": Truth(PCA(2), round_spread, REST, True),
}
