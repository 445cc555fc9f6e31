"""The one place that cuts samples into folds: by their labels, by groups, or at random.

Iterative stratification after the idea of Sechidis, Tsoumakas and Vlahavas (2011): the
rarest label that is left is dealt out first, each of its samples to the part that still
lacks most of that label, so that rare labels reach every part. Samples that belong together
(groups) are dealt out together, the largest groups first.
"""

from __future__ import annotations

import heapq
import numbers
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target

from eigenkit.estimators._encoding import as_labels, check_groups, indicator_matrix
from eigenkit.estimators._validation import numbers_in
from eigenkit.numerics.linalg import ratio
from eigenkit.shell import random_of, refuse

Split = tuple[np.ndarray, np.ndarray]

# Numbers of samples that differ by less are equal: shares of them are rounded.
TIE = 1e-9


def stratify(
    Y: Any, shares: Sequence[float], rng: np.random.Generator, groups: Any = None
) -> np.ndarray:
    """Divide the rows of a 0/1 label matrix into parts of the given shares.

    Parameters
    ----------
    Y : array or sparse matrix of shape (n_samples, n_labels)
    shares : sequence of float
        Positive; they are scaled to add up to one.
    rng : numpy.random.Generator
        Decides the order of the samples and ties.
    groups : array of shape (n_samples,), optional
        Samples that must stay together.

    Returns
    -------
    array of shape (n_samples,)
        The part of every sample. Without groups, the size of part j is within one of
        ``shares[j] * n``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.evaluation import stratify
    >>> Y = np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1]]
    >>> part = stratify(Y, [0.5, 0.5], np.random.default_rng(0))
    >>> [int(Y[part == j, 0].sum()) for j in range(2)]
    [2, 2]
    """
    share = numbers_in("shares", shares)
    if share.ndim != 1 or not share.size or not np.all(np.isfinite(share)) or share.min() <= 0:
        refuse("shares", shares, "positive numbers")
    share = share / share.sum()
    J = _incidence(Y)
    if groups is not None:
        return _stratify_groups(J, check_groups(groups, J.shape[0]), share, rng)
    order = rng.permutation(J.shape[0])
    J = J[order]
    carriers = J.tocsc()
    part = np.full(J.shape[0], -1)
    room = _sizes(len(part), share, rng)
    left = np.diff(carriers.indptr)
    lacking = np.outer(left, share)  # how many of label i part j still wants
    rarest_first = [(int(count), label) for label, count in enumerate(left) if count]
    heapq.heapify(rarest_first)
    while rarest_first:
        count, label = heapq.heappop(rarest_first)
        if count != left[label]:  # an old entry: some of its samples have gone with other labels
            continue
        for i in _stored(carriers, label):
            if part[i] >= 0:
                continue
            part[i] = _neediest(lacking[label], room, rng)
            room[part[i]] -= 1
            labels = _stored(J, i)
            lacking[labels, part[i]] -= 1
            left[labels] -= 1
            for other in labels[left[labels] > 0]:
                heapq.heappush(rarest_first, (int(left[other]), int(other)))
    without = np.flatnonzero(part < 0)
    part[without] = rng.permutation(np.repeat(np.arange(len(room)), room))
    found = np.empty_like(part)
    found[order] = part
    return found


def _stratify_groups(
    J: sparse.csr_array, group: np.ndarray, share: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The part of every sample, with all samples of a group in one part.

    Every group goes where it leaves the counts of labels, and of samples, nearest to the shares:
    the largest first, as the small ones then even out what they left.
    """
    n_parts = len(share)
    everything = sparse.hstack([J, np.ones((J.shape[0], 1))], format="csr")
    size = np.bincount(group)
    if len(size) < n_parts:
        raise ValueError(f"groups holds {len(size)} groups: that is too few for {n_parts} folds.")
    members = sparse.csr_array((np.ones(len(group)), (group, np.arange(len(group)))))
    counts = sparse.csr_array(members @ everything)
    total = np.asarray(everything.sum(axis=0)).ravel()
    weight = ratio(1.0, total)
    filled = np.zeros((n_parts, len(total)))
    part_of_group = np.empty(len(size), dtype=int)
    shuffled = rng.permutation(len(size))
    for done, g in enumerate(shuffled[np.argsort(-size[shuffled], kind="stable")]):
        labels, count = _stored(counts, g), counts.data[counts.indptr[g] : counts.indptr[g + 1]]
        # Growth of sum (filled / total)^2 / share if the group goes to a part: least where most
        # is lacking.
        cost = (filled[:, labels] + count / 2) @ (count * weight[labels] ** 2) / share
        empty = filled[:, -1] == 0
        if len(size) - done <= np.count_nonzero(empty):  # the last ones: every part gets a group
            cost[~empty] = np.inf
        part_of_group[g] = int(np.argmin(cost))
        filled[part_of_group[g], labels] += count
    return np.asarray(part_of_group[group])


def _incidence(Y: Any) -> sparse.csr_array:
    Y = Y if sparse.issparse(Y) else as_labels(Y, "Y")
    if Y.ndim != 2:
        raise ValueError(f"Y has {Y.ndim} dimensions: give a 0/1 matrix with a row per sample.")
    # Comparing brings the entries of J into order, which are not to be the caller's.
    J = sparse.csr_array(Y, copy=True) if sparse.issparse(Y) else sparse.csr_array(Y != 0)
    return sparse.csr_array(J != 0, dtype=np.float64)


def _stored(A: Any, i: int) -> np.ndarray:
    """The indices of row i of a CSR matrix, or of column i of a CSC matrix."""
    return np.asarray(A.indices[A.indptr[i] : A.indptr[i + 1]])


def _sizes(n: int, share: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers near n * share that add up to n; who gets the odd sample is drawn."""
    size = np.floor(n * share + TIE).astype(int)
    odd = rng.permutation(len(share))[: n - size.sum()]
    size[odd] += 1
    return size


def _neediest(lacking: np.ndarray, room: np.ndarray, rng: np.random.Generator) -> int:
    """The part with room that lacks most of the label; ties by room, then by lot."""
    want = np.where(room > 0, lacking, -np.inf)
    best = np.flatnonzero(want >= want.max() - TIE)
    best = best[room[best] == room[best].max()]
    return int(best[0] if len(best) == 1 else rng.choice(best))


class LabelStratifiedKFold(BaseEstimator):
    """K folds that keep the share of every label, for classes, 0/1 matrices and groups.

    A splitter as scikit-learn's: it works in GridSearchCV, cross_val_score and
    :class:`~eigenkit.AlphaSearchCV`. With ``groups``, no group is on both sides of a split.

    Parameters
    ----------
    n_splits : int
        Number of folds, at least 2.
    random_state : int or RandomState, optional
        Decides the order of the samples and ties. By default 0: the same folds every time.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.evaluation import LabelStratifiedKFold
    >>> Y = np.eye(3)[np.arange(30) % 3]
    >>> for train, test in LabelStratifiedKFold(n_splits=2).split(Y, Y):
    ...     print(Y[test].sum(axis=0))
    [5. 5. 5.]
    [5. 5. 5.]
    """

    # With metadata routing groups come here unasked, as to GroupKFold.
    __metadata_request__split: ClassVar = {"groups": True}

    def __init__(self, n_splits: int = 5, *, random_state: Any = 0) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """(train, test) row numbers for every fold.

        Parameters
        ----------
        X : array-like
            Only its length counts.
        y : array or sparse matrix
            One class per sample, or a 0/1 matrix with a column per label.
        groups : array of shape (n_samples,), optional
            Samples that must stay together.
        """
        if y is None:
            raise ValueError("y is None: LabelStratifiedKFold needs the labels that it balances.")
        J = _as_indicator(y)
        if not isinstance(self.n_splits, numbers.Integral) or not 2 <= self.n_splits <= J.shape[0]:
            refuse("n_splits", self.n_splits, f"from 2 to {J.shape[0]} folds")
        rng = np.random.default_rng(random_of(self.random_state).randint(2**31))
        yield from k_fold(J, int(self.n_splits), rng, groups)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return int(self.n_splits)


def _as_indicator(y: Any) -> sparse.csr_array:
    """A 0/1 matrix of labels, or of the classes of a vector."""
    y = y if sparse.issparse(y) else np.asarray(y)
    if sparse.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
        return _incidence(y)
    if type_of_target(y) not in ("binary", "multiclass"):
        raise ValueError("y holds measurements: LabelStratifiedKFold balances classes or labels.")
    classes, index = np.unique(y.ravel(), return_inverse=True)
    return indicator_matrix(index, len(classes))


# -- folds and partitions -------------------------------------------------------------------


def k_fold(
    Y: Any, n_folds: int, rng: np.random.Generator, groups: Any = None, *, stratified: bool = True
) -> Iterator[Split]:
    """(train, test) row numbers for every fold of a k-fold, which divides no group.

    It is stratified by the labels Y, or else at random.
    """
    if stratified or groups is not None:
        part = stratify(Y if stratified else Y[:, :0], [1.0] * n_folds, rng, groups)
    else:
        part = rng.permutation(len(Y)) % n_folds  # sizes differ by one at most
    return splits_of(part, n_folds)


def partition(
    Y: np.ndarray,
    train_size: float,
    rng: np.random.Generator,
    groups: Any = None,
    *,
    stratified: bool = True,
) -> Split:
    """One random partition into a training and a test part, which divides no group.

    It is stratified by the labels Y, or else plain.
    """
    if stratified or groups is not None:
        shares = [train_size, 1 - train_size]
        part = stratify(Y if stratified else Y[:, :0], shares, rng, groups)
        return np.flatnonzero(part == 0), np.flatnonzero(part == 1)
    order, cut = rng.permutation(len(Y)), round(len(Y) * train_size)
    return np.sort(order[:cut]), np.sort(order[cut:])


def splits_of(part: np.ndarray, n_folds: int) -> Iterator[Split]:
    """(train, test) row numbers, by the fold of every row."""
    for fold in range(n_folds):
        yield np.flatnonzero(part != fold), np.flatnonzero(part == fold)


def dealt(y: np.ndarray | None, n: int, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """The fold of each of n rows, dealt out like cards, class after class where y holds classes.

    Unlike :func:`stratify` it takes no time for many rows.
    """
    order = rng.permutation(n)
    if y is not None:
        order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(n, dtype=np.intp)
    fold[order] = np.arange(n) % n_folds
    return fold


# -- folds among the rows that count ------------------------------------------------------


def splits_among(there: np.ndarray, splitter: Any, X: Any, y: Any, **given: Any) -> Iterator[Split]:
    """Row numbers to fit on and to score on, of the rows that are ``there``.

    A splitter cuts these as if nobody had given the others, whose weight is zero; pairs of parts
    that are settled beforehand number all rows.
    """
    n, validation = y.shape[0], sklearn.model_selection
    given_pairs = isinstance(splitter, type(validation.check_cv([])))
    settled = given_pairs or isinstance(splitter, validation.PredefinedSplit)
    if len(there) < n and not settled:
        X, y = _safe_indexing(X, there), _safe_indexing(y, there)
        given = {name: _safe_indexing(each, there) for name, each in given.items()}
        for train, test in row_numbers(splitter.split(X, y, **given), len(there)):
            yield there[train], there[test]
        return
    pairs = splitter.cv if given_pairs else splitter.split(X, y, **given)
    for train, test in row_numbers(pairs, n):
        yield train[np.isin(train, there)], test[np.isin(test, there)]


def row_numbers(splits: Any, n: int) -> Iterator[Split]:
    """Pairs of parts of n rows as their numbers; they may come as masks or count from the end."""
    given = list(splits)
    try:
        pairs = [[np.asarray(part) for part in pair] for pair in given]
    except (TypeError, ValueError):
        pairs = [[]]  # no pair, however long
    if not all(_is_pair(pair) for pair in pairs):
        raise ValueError(
            "cv must give pairs of rows to fit and to score on: give a number of folds, a "
            "splitter, or such pairs."
        )
    if not pairs:
        raise ValueError("cv gives no folds: give a number of them, a splitter, or pairs of rows.")
    every = np.arange(n)
    for pair in pairs:
        try:
            train, test = (every[part if len(part) else []] for part in pair)
        except IndexError as error:
            raise ValueError(
                f"cv gives rows that are not among the {n} rows of X: number them from 0."
            ) from error
        yield train, test


def _is_pair(parts: list[np.ndarray]) -> bool:
    """Whether these are two lists of row numbers or masks."""
    fine = [part.ndim == 1 and (part.dtype.kind in "iub" or not len(part)) for part in parts]
    return len(parts) == 2 and all(fine)
