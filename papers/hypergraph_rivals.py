"""What users would take instead of hypergraph spectral learning, on the same partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cross_decomposition import CCA as ScikitCCA
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import TruncatedSVD
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from eigenkit.evaluation.samples import Samples
from eigenkit.evaluation.trial import Plan, run_trial
from papers import multilabel as ml
from papers.blocks import Block, Note, Table, Value
from papers.study import Study, measured

DENSE_FEATURES = 1000  # above, scikit-learn's CCA (a pseudoinverse per component) takes minutes
ALL_FEATURES = "linear SVM on all features"
ZOO = "cca-zoo RidgeCCA"
ZOO_HERE = "cca-zoo's has the ridge, scale and SVM of rCCA: it is the same model. "
ZOO_MISSING = "cca-zoo's ridge CCA is left out, as it is not installed. "


class ZooCCA(TransformerMixin, BaseEstimator):
    """cca-zoo's ridge CCA, with our alpha and scores of unit length like ours."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, X: Any, Y: np.ndarray) -> Self:
        """Fit; its shrinkage c stands for (1 - c) Xc'Xc / (n - 1) + c I."""
        from cca_zoo.linear import RidgeCCA  # type: ignore[import-not-found,unused-ignore]

        c = self.alpha / (len(Y) - 1 + self.alpha)
        self.mean_ = X.mean(axis=0)
        found = RidgeCCA(Y.shape[1], shrinkage=[c, 0.0]).fit([X, Y])
        self.weights_ = np.asarray(found.weights_[0]) * np.sqrt((1 - c) / (len(Y) - 1))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Project rows."""
        return np.asarray((X - self.mean_) @ self.weights_)


@dataclass(frozen=True)
class Rival:
    """A method of others: ``dense`` if it takes no sparse data, ``scale`` as in a Plan."""

    model: Any
    dense: bool = False
    scale: bool = True
    most_features: int | None = None


def rivals(n_labels: int, gamma: float, seed: int) -> dict[str, Rival]:
    """What can be had elsewhere, with as many components as labels unless said otherwise."""
    found = {
        ALL_FEATURES: Rival("passthrough"),
        "TruncatedSVD": Rival(TruncatedSVD(n_labels, random_state=seed)),
        "TruncatedSVD, 100 components": Rival(TruncatedSVD(100, random_state=seed)),
        "scikit-learn PLSRegression": Rival(PLSRegression(n_labels), dense=True),
        "scikit-learn CCA": Rival(ScikitCCA(n_labels), dense=True, most_features=DENSE_FEATURES),
    }
    if find_spec("cca_zoo") is not None:
        found[ZOO] = Rival(ZooCCA(gamma), dense=True, scale=False)
    return found


def _rival_samples(case: ml.Case, i: int, rival: Rival) -> Samples | None:
    """None where the data are too large for it."""
    samples = case.samples(i)
    if rival.most_features is not None and samples.X.shape[1] > rival.most_features:
        return None
    if rival.dense and sparse.issparse(samples.X):
        return replace(samples, X=samples.X.toarray())
    return samples


def _rival_auc(case: ml.Case, i: int, rival: Rival, seed: int) -> float | None:
    """Ridge CCA has its gamma; the others choose the C of the SVM by cross-validation."""
    samples = _rival_samples(case, i, rival)
    if samples is None:
        return None
    svm: Any = LinearSVC(random_state=seed)
    if rival.scale:
        grid = {"C": [1e-3, 1e-2, 1e-1, 1.0, 10.0]}
        svm = GridSearchCV(svm, grid, scoring="roc_auc", cv=ml.INNER_FOLDS)
    plan = Plan(svm, [], ml.INNER_FOLDS, "auc", "same", seed, rival.scale)
    return float(ml.finished(run_trial(rival.model, samples, case.splits[i], plan)).scores["auc"])


def _ours(found: ml.Found, row: str, i: int) -> Any:
    """rStar or rCCA with the gamma that partition i chose."""
    return clone(ml.TECHNIQUES[row[1:]]).set_params(alpha=float(found[row][i][1] or 0.0))


def _compared(study: Study, case: ml.Case, found: ml.Found) -> dict[str, list[float | None]]:
    """AUC on the first partitions, ours and others'."""
    count = min(ml.COMPARED, len(case.splits))
    scores = {row: [p[0] for p in found[row][:count]] for row in ("rStar", "rCCA", "LS-CCA_2")}
    for i in range(count):
        alike = {f"{row}, C chosen": Rival(_ours(found, row, i)) for row in ("rStar", "rCCA")}
        chosen = rivals(case.Y.shape[1], float(found["rCCA"][i][1] or 0.0), study.seed)
        for name, rival in {**alike, **chosen}.items():
            value = study.cell(
                f"{case.title}, {name}, partition {i + 1}",
                lambda i=i, rival=rival: _rival_auc(case, i, rival, study.seed),  # type: ignore[misc]
            )
            scores.setdefault(name, []).append(value)
    return scores


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.mean(known)) if known else None


def _fitted(study: Study, case: ml.Case, found: ml.Found) -> dict[str, list[float] | None]:
    """Seconds and peak megabytes of fitting the projection on the first partition.

    For the SVM on all features: of fitting one SVM per label, with C = 1.
    """
    split = case.splits[0]
    ours = {row: Rival(_ours(found, row, 0)) for row in ("rStar", "rCCA")}
    gamma = float(found["rCCA"][0][1] or 0.0)
    times: dict[str, list[float] | None] = {}
    for name, rival in {**ours, **rivals(case.Y.shape[1], gamma, study.seed)}.items():

        def work(rival: Rival = rival) -> list[float] | None:
            samples = _rival_samples(case, 0, replace(rival, dense=False))
            if samples is None:
                return None
            X, Y = samples.part(split[0])

            def fit() -> None:
                Z = X.toarray() if rival.dense and sparse.issparse(X) else X
                if isinstance(rival.model, str):
                    for y in Y.T:
                        LinearSVC(random_state=study.seed).fit(Z, y)
                else:
                    clone(rival.model).fit(Z, Y)

            return list(measured(fit)[1:])

        times[name] = study.timing(f"{case.title}, {name}", work)
    return times


def _rival_remark(scores: dict[str, dict[str, list[float | None]]]) -> str:
    """Treated alike: the better of ours against the SVM that needs no projection."""
    told = []
    for title, found in scores.items():
        ours = max(_mean(found[f"{row}, C chosen"]) or 0.0 for row in ("rStar", "rCCA"))
        plain = _mean(found[ALL_FEATURES]) or 0.0
        told.append(f"{title} {ours - plain:+.4f}")
    return (
        "Treated alike, the better of rStar and rCCA less the linear SVM on all features: "
        f"{', '.join(told)}. Few partitions, so small differences are not to be trusted; and gamma "
        "was chosen with the SVM of the first table, not with this one. What the projection gives "
        "is few dimensions, not a better AUC, wherever the difference is negative."
    )


def beyond(study: Study, cases: list[ml.Case], found: dict[str, ml.Found]) -> Iterator[Block]:
    scores = {case.title: _compared(study, case, found[case.title]) for case in cases}
    names = list(next(iter(scores.values())))
    yield Table(
        "What users would take instead: mean AUC over the first partitions",
        ("method",),
        [(name,) for name in names],
        [case.title for case in cases],
        [[_mean(scores[case.title][name]) for case in cases] for name in names],
        note=(
            f"The first {ml.COMPARED} partitions, and all projections with as many components as "
            "labels unless said otherwise. rStar, rCCA and LS-CCA_2 are those of the first table, "
            "whose SVM was settled on test results of Arts; to be compared with the others are "
            "the rows 'C chosen', which are treated as they are: columns scaled to variance 1 and "
            "the C of the SVMs by three-fold cross-validation on the training part. "
            + (ZOO_HERE if ZOO in names else ZOO_MISSING)
            + "PLSRegression, scikit-learn's CCA and cca-zoo take no sparse data, which were made "
            f"dense; empty: more than {DENSE_FEATURES} features, of which scikit-learn's CCA "
            "takes a pseudoinverse for every component."
        ),
    )
    yield Note(_rival_remark(scores))
    times = {case.title: _fitted(study, case, found[case.title]) for case in cases}
    rows = list(next(iter(times.values())))
    blank: list[Value] = [None, None]
    yield Table(
        "Cost of one fit: seconds, and peak megabytes beyond the data",
        ("method",),
        [(name,) for name in rows],
        [f"{case.title}: {unit}" for case in cases for unit in ("s", "MB")],
        [[v for case in cases for v in (times[case.title][row] or blank)] for row in rows],
        form=".2f",
        note=(
            "On the first partition; of the SVM on all features the fit of all labels, C = 1, "
            "without what liblinear allocates, which is not seen."
        ),
    )
