"""How good the first labels of a ranking are, for data with many labels.

The truth Y is a 0/1 matrix (n x k, dense or sparse), S scores of the same shape. In a sparse S
entries that are not stored count as lower than all that are, so a model need not score every
label. Ties go to the label with the smaller number, an empty place in the ranking counts as a
miss, and a sample without labels counts as 0.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.estimators._validation import numbers_in
from eigenkit.estimators.many_labels import check_label_scores, top_labels
from eigenkit.evaluation.metrics import rates_of
from eigenkit.numerics.linalg import Array, ratio
from eigenkit.shell import check_count, check_real, check_sequence, filled, shown

described = filled(
    {
        "ranking": """
Parameters
----------
Y : 0/1 array or sparse matrix of shape (n_samples, n_labels)
    The truth.
S : array or sparse matrix of shape (n_samples, n_labels)
    Scores; larger is better.
""",
        "places": """
k : int
    How many places of the ranking count.

Returns
-------
float
""",
    }
)


def _zeros_and_ones(name: str, Y: Any) -> sparse.csr_array:
    """A matrix of labels, with at least one row."""
    Y = Y if sparse.issparse(Y) else numbers_in(name, Y)
    if Y.ndim != 2 or Y.shape[0] == 0:
        raise ValueError(f"{name} has shape {Y.shape}: give a row of labels for every sample.")
    Y = sparse.csr_array(Y)
    strange = Y.data[(Y.data != 0) & (Y.data != 1)]
    if len(strange):
        raise ValueError(f"{name} holds {strange[0]:g}: give a matrix of 0 and 1.")
    return Y


def _check_same_shape(name: str, expected: tuple[int, ...], shape: tuple[int, ...]) -> None:
    if shape != expected:
        raise ValueError(
            f"Y has shape {expected} and {name} {shape}: give both for the same samples and labels."
        )


def _per_label(name: str, values: Any, k: int) -> Array:
    """One number for each of k labels."""
    numbers = numbers_in(name, values)
    if numbers.shape != (k,) or not np.all(numbers >= 0) or np.isinf(numbers).any():
        raise ValueError(
            f"{name} is not valid: give a number of at least 0 for each of the {k} labels."
        )
    return numbers


def _hits(Y: Any, S: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether each of the first k labels is right (n x k), and the labels (-1: none)."""
    check_count("k", k)
    Y, S = _zeros_and_ones("Y", Y), check_label_scores(S)
    _check_same_shape("S", Y.shape, S.shape)
    best = top_labels(S, k)
    rows = np.repeat(np.arange(len(best)), k)
    hit = np.asarray(Y[rows, np.maximum(best, 0).ravel()]).reshape(best.shape) != 0
    return hit & (best >= 0), best


@described
def precision_at_k(Y: Any, S: Any, k: int = 1) -> float:
    """Mean share of the k best labels that are right (P@k).

    {ranking}
    {places}

    Examples
    --------
    >>> from eigenkit.evaluation import precision_at_k
    >>> precision_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], k=2)
    0.5
    """
    return float(_hits(Y, S, k)[0].mean())


@described
def ndcg_at_k(Y: Any, S: Any, k: int = 5) -> float:
    """Mean discounted gain of the k best labels over that of the best order possible (nDCG@k).

    A label that is right at place p counts 1 / log2(p + 1).

    {ranking}
    {places}

    Examples
    --------
    >>> from eigenkit.evaluation import ndcg_at_k
    >>> ndcg_at_k([[1, 0, 1]], [[0.9, 0.1, 0.5]], k=3)
    1.0
    """
    hits, _ = _hits(Y, S, k)
    gain = 1.0 / np.log2(np.arange(2.0, k + 2.0))
    carried = np.minimum(_zeros_and_ones("Y", Y).sum(axis=1).astype(int), k)
    best = np.concatenate([[0.0], np.cumsum(gain)])[carried]
    return float(ratio(hits @ gain, best).mean())


def inverse_propensities(Y: Any, a: float = 0.55, b: float = 1.5) -> Array:
    """The weight 1 / p_j of a hit on each label, when rare labels are often missing from the data.

    ``1 / p_j = 1 + C (n_j + b)^(-a)`` with ``C = (log(n) - 1) (b + 1)^a`` and n_j the number of
    training samples with label j (Jain, Prabhu and Varma, 2016).

    Parameters
    ----------
    Y : array or sparse matrix of shape (n_samples, n_labels)
        The labels of the training samples.
    a, b : float
        Constants of the model; the defaults are those for most data sets.

    Returns
    -------
    array of shape (n_labels,)

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.evaluation import inverse_propensities
    >>> Y = np.zeros((100, 2))
    >>> Y[:50, 0] = Y[:2, 1] = 1
    >>> inverse_propensities(Y).round(1)
    array([1.7, 4. ])
    """
    Y = _zeros_and_ones("Y", Y)
    a, b = check_real("a", a), check_real("b", b)
    count = Y.sum(axis=0)
    C = (np.log(Y.shape[0]) - 1) * (b + 1) ** a
    return np.asarray(1 + C * (count + b) ** -a)


@described
def propensity_scored_precision_at_k(Y: Any, S: Any, weight: Array, k: int = 1) -> float:
    """P@k in which a hit on label j counts ``weight[j]``, over the best that is possible (PSP@k).

    {ranking}
    weight : array of shape (n_labels,)
        From :func:`inverse_propensities` of the training labels.
    {places}

    Examples
    --------
    >>> from eigenkit.evaluation import propensity_scored_precision_at_k
    >>> propensity_scored_precision_at_k([[1, 1]], [[0.9, 0.1]], weight=[1.0, 4.0])
    0.25
    """
    found = _hits(Y, S, k)
    Y = _zeros_and_ones("Y", Y)
    weight = _per_label("weight", weight, Y.shape[1])
    ideal = _hits(Y, sparse.csr_array(Y * weight), k)
    got, best = (np.sum(hits * weight[np.maximum(named, 0)]) for hits, named in (found, ideal))
    return float(got / best) if best > 0 else 0.0


def f1_by_frequency(
    Y: Any, P: Any, frequency: Array, bounds: tuple[int, ...] = (10, 100)
) -> dict[str, float]:
    """Macro F1 over labels with few, some and many training samples.

    Parameters
    ----------
    Y, P : 0/1 arrays or sparse matrices of shape (n_samples, n_labels)
        Truth and decisions.
    frequency : array of shape (n_labels,)
        Number of training samples of every label; labels without any are left out.
    bounds : tuple of int
        Where one class of frequency ends and the next begins.

    Returns
    -------
    dict
        From words such as ``"10 to 99"`` to macro F1 (nan where no label is so frequent).

    Examples
    --------
    >>> from eigenkit.evaluation import f1_by_frequency
    >>> Y, P = [[1, 0], [1, 1]], [[1, 0], [1, 0]]
    >>> f1_by_frequency(Y, P, frequency=[200, 3], bounds=(10,))
    {'1 to 9': 0.0, '10 and more': 1.0}
    """
    Y, P = _zeros_and_ones("Y", Y), _zeros_and_ones("P", P)
    _check_same_shape("P", Y.shape, P.shape)
    frequency = _per_label("frequency", frequency, Y.shape[1])
    given = check_sequence("bounds", bounds, "counts")
    bounds = tuple(check_count("bounds", bound) for bound in given)
    if not all(low < high for low, high in pairwise((1, *bounds))):
        raise ValueError(f"bounds={shown(bounds)} is not valid: give increasing numbers above 1.")
    f1, found = rates_of(Y, P)["f1"], {}
    for low, high in pairwise((1, *bounds, np.inf)):
        among = (frequency >= low) & (frequency < high)
        words = f"{low} and more" if high == np.inf else f"{low} to {high - 1}"
        found[words] = float(f1[among].mean()) if among.any() else float("nan")
    return found
