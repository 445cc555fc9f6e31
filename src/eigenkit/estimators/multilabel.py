"""Multi-label data: class-balanced LDA, and two classical ways to make one label of several."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenkit.data import as_dense, scaled
from eigenkit.estimators._described import described
from eigenkit.estimators._encoding import as_labels, check_indicator, encode_labels
from eigenkit.estimators._estimator import Projection
from eigenkit.estimators._validation import check_X, warn_degenerate
from eigenkit.moments import Problem, Rows
from eigenkit.numerics.linalg import Array, distinct_rows
from eigenkit.targets import TARGETS


@described
class MultilabelLDA(Projection):
    """Class-balanced linear discriminant analysis of multi-label data.

    A sample counts once for every label that it carries, in the label means m_j, the overall
    mean m and the scatter matrices:

    ``Sb = sum_j n_j (m_j - m)(m_j - m)'``, ``Sw = sum_j sum_i J_ij (x_i - m_j)(x_i - m_j)'``

    and ``Sb w = lambda (Sb + Sw + alpha I) w`` is solved, without copying a sample. It equals
    :class:`LDA` on the data of :func:`copy_transformation`; samples without a label do not
    count.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most one less than labels; all by default.
    {eigen_rank}
    {alpha}
    {computation}

    Attributes
    ----------
    {components}
        m: the mean over all pairs of a sample and a label.
    classes_ : array
        Where y held one class per sample.
    {what_was_done}

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from eigenkit import MultilabelLDA
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> MultilabelLDA().fit_transform(X, Y).shape
    (100, 4)
    """

    _sparse_labels = True
    _y_chooses_rows = True

    _target = TARGETS["lda"]

    _encode = encode_labels

    def _rows(self, *given: Any) -> Rows:
        rows = _copies(super()._rows(*given))
        if not rows.weights().any():
            raise ValueError("y holds no label at all: there is nothing to learn from it.")
        return rows

    def _batch(self, *given: Any, **how: Any) -> Rows:
        """With rows that carry no label: nothing is learned from them, but they are there."""
        return _copies(super()._batch(*given, **how))

    def _check_informative(self, problem: Problem) -> None:
        degree = problem.labels.degree
        if np.sum(degree > 0) < 2:
            raise ValueError("y holds 1 label or class, but at least two are needed to separate.")
        super()._check_informative(problem)
        warn_degenerate(degree == 0, "labels are carried by no sample")


def _copies(rows: Rows) -> Rows:
    """A row stands for its copies: their number in the weight, their labels in equal parts."""
    count = np.asarray(rows.Y.sum(axis=1)).ravel()
    Y = scaled(rows.Y, rows=1 / np.maximum(count, 1))
    return Rows(rows.X, Y, rows.weights() * count)


def copy_transformation(X: Any, y: Any) -> tuple[Any, np.ndarray, Array]:
    """Multi-label data as multi-class data: each sample once for every label it carries.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : 0/1 matrix of shape (n_samples, n_labels)

    Returns
    -------
    X_copies : array or CSR matrix of shape (n_copies, n_features)
    labels : int array of shape (n_copies,)
    sample_weight : array of shape (n_copies,)
        One over the number of labels, so that every sample counts as one; leave it out to count
        every label equally.

    Examples
    --------
    >>> copy_transformation([[1.0], [2.0]], [[1, 1], [0, 1]])
    (array([[1.],
           [1.],
           [2.]]), array([0, 1, 1]), array([0.5, 0.5, 1. ]))
    """
    X = check_X(MultilabelLDA(), X, reset=True)
    J = check_indicator(as_labels(y), X.shape[0])
    sample, label = np.nonzero(J)
    return X[sample], label, 1 / J.sum(axis=1)[sample]


def label_powerset(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Multi-label data as multi-class data: each distinct set of labels is a class.

    Parameters
    ----------
    y : 0/1 matrix of shape (n_samples, n_labels)

    Returns
    -------
    classes : int array of shape (n_samples,)
    label_sets : 0/1 array of shape (n_classes, n_labels)
        ``label_sets[classes]`` is y again, and turns predicted classes into labels.

    Examples
    --------
    >>> classes, label_sets = label_powerset([[1, 1], [0, 1], [1, 1]])
    >>> classes
    array([1, 0, 1])
    >>> label_sets
    array([[0, 1],
           [1, 1]])
    """
    y = as_dense(as_labels(y))
    J = check_indicator(y, len(np.atleast_1d(y)))
    label_sets, classes = distinct_rows(J.astype(np.int64))
    return classes, label_sets
