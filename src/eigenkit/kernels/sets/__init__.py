"""Kernels between sets of vectors: pyramid match, mean maps, Fisher vectors, visual words.

A set may have any number of vectors, in no order. Every kernel is a transformer: ``fit`` takes
a collection of sets and keeps what it needs of them, ``transform`` gives the kernel between new
sets and those, ready for any estimator with ``kernel="precomputed"``.
"""

from __future__ import annotations

from eigenkit.kernels.sets._fisher import FisherVectors, VisualWords
from eigenkit.kernels.sets._pyramid import PyramidMatch, pyramid_match
from eigenkit.kernels.sets._sets import MeanMap, Pooled

SET_KERNELS = {
    "pyramid": PyramidMatch,
    "mean_map": MeanMap,
    "fisher": FisherVectors,
    "words": VisualWords,
    "pooled": Pooled,
}

__all__ = [
    "SET_KERNELS",
    "FisherVectors",
    "MeanMap",
    "Pooled",
    "PyramidMatch",
    "VisualWords",
    "pyramid_match",
]
