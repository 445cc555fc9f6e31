"""The splits of a comparison: folds and random partitions that keep the share of every label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from eigenkit.estimators.splits import Split, stratify
from eigenkit.shell import check_count


def k_fold(Y: np.ndarray, n_folds: int, rng: np.random.Generator) -> Iterator[Split]:
    """(train, test) row numbers for every fold of a stratified k-fold."""
    return _folds(stratify(Y, [1.0] * n_folds, rng), n_folds)


def partition(Y: np.ndarray, train_size: float, rng: np.random.Generator) -> Split:
    """One stratified random partition into a training and a test part."""
    part = stratify(Y, [train_size, 1 - train_size], rng)
    return np.flatnonzero(part == 0), np.flatnonzero(part == 1)


def plain_folds(Y: np.ndarray, n_folds: int, rng: np.random.Generator) -> Iterator[Split]:
    """Folds that are not stratified."""
    return _folds(rng.permutation(np.arange(len(Y)) % n_folds), n_folds)


def _folds(part: np.ndarray, n_folds: int) -> Iterator[Split]:
    for fold in range(n_folds):
        yield np.flatnonzero(part != fold), np.flatnonzero(part == fold)


def _plain_partition(Y: np.ndarray, train_size: float, rng: np.random.Generator) -> Split:
    """A partition that is not stratified."""
    order, cut = rng.permutation(len(Y)), round(len(Y) * train_size)
    return np.sort(order[:cut]), np.sort(order[cut:])


def make_splits(
    Y: np.ndarray,
    cv: int | Sequence[Split],
    repeats: int,
    train_size: float | None,
    seed: int,
    *,
    numbers: bool = False,
) -> tuple[list[Split], str]:
    """The splits of a comparison, and what they are in words.

    Given splits are taken as they are; ``train_size`` asks for ``repeats`` random
    partitions, otherwise there are ``repeats`` rounds of ``cv`` folds. They are stratified
    unless Y holds ``numbers``.
    """
    n = len(Y)
    if not np.isscalar(cv):
        return _given_splits(cv, n)
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(repeats)]
    kind = "" if numbers else "stratified "
    if train_size is not None:
        _check_share(train_size, n)
        words = f"{repeats} {kind}random partitions, {train_size:.0%} for training"
        parted = _plain_partition if numbers else partition
        return [parted(Y, train_size, rng) for rng in rngs], words
    folds = check_count("cv", cv)
    if not 2 <= folds <= n:
        raise ValueError(f"cv={folds} is not valid: give from 2 to {n} folds.")
    words = f"{kind}{folds}-fold cross-validation"
    words += f", repeated {repeats} times" if repeats > 1 else ""
    folded = plain_folds if numbers else k_fold
    return [split for rng in rngs for split in folded(Y, folds, rng)], words


def _check_share(train_size: float, n: int) -> None:
    if not 0 < train_size < 1 or round(n * train_size) in (0, n):
        raise ValueError(
            f"train_size={train_size!r} is not valid: give a share between 0 and 1 that leaves "
            "samples on both sides."
        )


def _given_splits(cv: Sequence[Split] | int, n: int) -> tuple[list[Split], str]:
    splits = [(np.asarray(train), np.asarray(test)) for train, test in cv]  # type: ignore[union-attr]
    for train, test in splits:
        rows = np.concatenate([train, test])
        if not len(train) or not len(test) or rows.dtype.kind not in "iu":
            raise ValueError("cv holds a split that is empty or not of row numbers.")
        if rows.min() < 0 or rows.max() >= n or np.intersect1d(train, test).size:
            raise ValueError(
                f"cv holds a split with rows outside 0 to {n - 1}, or with a row on both sides."
            )
    if not splits:
        raise ValueError("cv is empty: give a number of folds, or pairs of row numbers.")
    return splits, "splits that were given"
