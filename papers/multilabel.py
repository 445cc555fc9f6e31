"""What the multi-label experiments share: data, partitions, and the versions of a technique."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.feature_extraction.text import TfidfTransformer

from eigenkit import CCA, HypergraphSpectral, LeastSquaresProjection
from eigenkit.datasets import Dataset, make_planted
from eigenkit.estimators.splits import Split
from eigenkit.evaluation import partition
from eigenkit.evaluation.classifiers import make_classifier
from eigenkit.evaluation.detail import Outcome
from eigenkit.evaluation.samples import Samples, read_samples
from eigenkit.evaluation.trial import Plan, run_trial

GAMMAS = (1e-6, 1e-4, 1e-2, 1.0, 10.0, 100.0, 1000.0)
INNER_FOLDS = 3
FEWEST = 50  # labels with fewer samples are left out, as in the thesis
N_TERMS = 2000
COMPARED = 3  # partitions of everything that is not in the paper's table

TECHNIQUES: dict[str, Any] = {
    "Clique": HypergraphSpectral(expansion="clique"),
    "Star": HypergraphSpectral(expansion="star"),
    "Zhou": HypergraphSpectral(expansion="zhou"),
    "CCA": CCA(),
}
# Whether it is the least squares model, and whether gamma is chosen (otherwise it is 0).
VERSIONS: dict[str, tuple[bool, bool]] = {
    "{}": (False, False),
    "r{}": (False, True),
    "LS-{}": (True, False),
    "LS-{}_2": (True, True),
}
# Term counts to features; idf is learned on the training documents.
WEIGHTS: dict[str, Any] = {
    "counts": TfidfTransformer(norm=None, use_idf=False),
    "1 + log counts": TfidfTransformer(norm=None, use_idf=False, sublinear_tf=True),
    "unit rows": TfidfTransformer(use_idf=False),
    "tf-idf, unit rows": TfidfTransformer(),
    "log tf-idf, unit rows": TfidfTransformer(sublinear_tf=True),
}
DRAWN_DATA = "Drawn data, or digits that come with scikit-learn, in place of the paper's."
BEST_WEIGHTS = "log tf-idf, unit rows"


def least_squares(technique: Any) -> LeastSquaresProjection:
    """The least squares model of a technique, with a ridge."""
    return LeastSquaresProjection(target=getattr(technique, "expansion", "cca"))


def labels(data: Dataset) -> np.ndarray:
    """The labels that enough samples carry."""
    Y = np.asarray(data.target)
    return np.asarray(Y[:, Y.sum(axis=0) >= FEWEST], dtype=np.float64)


def small_planted(seed: int) -> Dataset:
    """Drawn features with labels, for quick runs."""
    return Dataset("planted", *make_planted(500, 105, 3, noise=1.0, random_state=seed))


def bag_of_words(seed: int) -> Dataset:
    """Drawn documents with labels, for quick runs."""
    X, Y = make_multilabel_classification(
        500, 110, n_classes=3, length=40, sparse=True, random_state=seed
    )
    return Dataset("bag of words", sparse.csr_array(X), np.asarray(Y))


def partitions(Y: np.ndarray, n_train: int, count: int, seed: int) -> list[Split]:
    """Random partitions with ``n_train`` training rows; the rest is for testing."""
    streams = np.random.SeedSequence([seed, n_train]).spawn(count)
    return [partition(Y, n_train / len(Y), np.random.default_rng(s)) for s in streams]


def text_samples(
    data: Dataset, train: np.ndarray, n_terms: int = N_TERMS, weights: str = BEST_WEIGHTS
) -> Samples:
    """The terms that most training documents hold, weighted.

    Test documents take no part in the selection of terms and in idf.
    """
    frequency = np.asarray((data.X[train] > 0).sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-frequency, kind="stable")[:n_terms])
    X = data.X[:, kept]
    weighted = clone(WEIGHTS[weights]).fit(X[train]).transform(X)
    return read_samples(sparse.csr_array(weighted), labels(data))


def trial(
    technique: Any,
    version: str,
    samples: Samples,
    split: Split,
    *,
    scale: bool,
    seed: int,
    metric: str = "auc",
) -> Outcome:
    """One version of a technique on one partition, with a linear SVM per label."""
    regressed, regularized = VERSIONS[version]
    model = (least_squares(technique) if regressed else clone(technique)).set_params(alpha=0.0)
    if regularized and sparse.issparse(samples.X):
        # One decomposition for all gammas; conjugate gradients take long for the smallest.
        model.set_params(regression="svd")
    alphas = list(GAMMAS) if regularized else []
    svm = make_classifier("svm", seed)
    plan = Plan(svm, alphas, INNER_FOLDS, metric, "same", seed, scale)
    return finished(run_trial(model, samples, split, plan))


def finished(outcome: Outcome) -> Outcome:
    """The same; a method that failed or did not converge stops the experiment."""
    if outcome.error is not None:
        raise RuntimeError(outcome.error)
    report = getattr(outcome.model, "report_", None)
    if report is not None and not report.converged:
        raise RuntimeError(f"{report.regression} did not converge in {report.n_iter} iterations.")
    return outcome


def all_versions(
    technique: Any,
    samples: Samples,
    split: Split,
    *,
    scale: bool,
    seed: int,
    metric: str = "auc",
    jobs: int = -1,
) -> dict[str, list[float | None]]:
    """Score and chosen gamma of every version."""
    outcomes = Parallel(n_jobs=jobs)(
        delayed(trial)(technique, version, samples, split, scale=scale, seed=seed, metric=metric)
        for version in VERSIONS
    )
    return {
        version: [outcome.scores[metric], outcome.alpha]
        for version, outcome in zip(VERSIONS, outcomes, strict=True)
    }


@dataclass(frozen=True)
class Column:
    """A data set of the table, its training size, and its place in the paper's rows."""

    name: str
    n_train: int
    partitions: int = 10
    paper: int | None = None
    counts: bool = False  # raw term counts, of which the frequent ones are taken and weighted


class Case:
    """One column of the table with its data and partitions."""

    def __init__(self, title: str, column: Column, data: Dataset, seed: int) -> None:
        self.title, self.column, self.data = title, column, data
        self.Y = labels(data)
        self.splits = partitions(self.Y, column.n_train, column.partitions, seed)

    def samples(self, i: int, **options: Any) -> Samples:
        """Features and labels of partition i."""
        if self.column.counts:
            return text_samples(self.data, self.splits[i][0], **options)
        return read_samples(self.data.X, self.Y)


# By row of the table: (AUC, gamma) of every partition.
Found = dict[str, list[list[float | None]]]
