"""What the ridge does to classification, by the direct and by the two-stage approach."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cross_decomposition import CCA as SklearnCCA
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from eigenkit.datasets import Dataset, make_planted
from eigenkit.estimators.splits import Split
from eigenkit.evaluation.classifiers import decide, make_classifier
from eigenkit.evaluation.metrics import score_all
from eigenkit.evaluation.samples import Samples, make_splits, read_samples
from eigenkit.evaluation.trial import fit_one, project_rows
from papers.blocks import Block, Claim, Figure, Note, Table
from papers.drawing import COLORS
from papers.equivalence import TECHNIQUES
from papers.study import Experiment, Study, measured

MULTILABEL = ("CCA", "OPLS", "HSL-Clique", "HSL-Star")
APPROACHES = {"direct": "direct", "two-stage": "two_stage"}
# A small set in place of yeast, for quick runs.
STAND_IN = "planted"
ALL_FEATURES = "linear SVM on all features"


@dataclass(frozen=True)
class Setting:
    """One figure: techniques on one set, by one score; and what others would use there."""

    figure: str
    dataset: str
    metric: str
    words: str
    techniques: Sequence[str]
    rivals: dict[str, Any]


def _multilabel(figure: str, dataset: str, n_labels: int) -> Setting:
    rivals = {
        "scikit-learn CCA": SklearnCCA(n_labels),
        "scikit-learn PLSRegression": PLSRegression(n_labels),
        "scikit-learn PCA": PCA(n_labels),
        ALL_FEATURES: "passthrough",
    }
    return Setting(figure, dataset, "auc", "mean AUC over labels", MULTILABEL, rivals)


WINE = Setting(
    "two-stage-gamma-wine",
    "wine",
    "accuracy",
    "accuracy",
    ("LDA",),
    {
        "scikit-learn LDA": LinearDiscriminantAnalysis(),
        "scikit-learn LDA, shrinkage": LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
        "scikit-learn PCA": PCA(2),
        ALL_FEATURES: "passthrough",
    },
)
FULL = (_multilabel("two-stage-gamma-yeast", "yeast", 14), WINE)
QUICK = (_multilabel("two-stage-gamma-yeast", STAND_IN, 8), WINE)


# -- scores ------------------------------------------------------------------------------


def classified(model: Any, samples: Samples, split: Split, metric: str) -> float:
    """Test score of one linear SVM per label on the projection by a fitted model."""
    (X, Y), (X_new, Y_new) = (samples.part(rows) for rows in split)
    Z, Z_new = project_rows(model, X), project_rows(model, X_new)
    S, P = decide(make_classifier("svm", 0), Z, Y, Z_new, samples.single)
    return score_all(Y_new, S, P)[metric]


def fitted(estimator: Any, samples: Samples, split: Split) -> Any:
    """The projection of the training part."""
    X, Y = samples.part(split[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rivals that stop early are measured as they are
        return fit_one(estimator, X, Y, samples.single)


def _curves(
    technique: str, gammas: Sequence[float], samples: Samples, split: Split, metric: str
) -> dict[str, list[float]]:
    """Scores along gamma by either approach."""

    def score(solver: str, gamma: float) -> float:
        model = clone(TECHNIQUES[technique]).set_params(alpha=gamma, solver=solver)
        return classified(fitted(model, samples, split), samples, split, metric)

    return {name: [score(solver, g) for g in gammas] for name, solver in APPROACHES.items()}


def _score(estimator: Any, samples: Samples, splits: list[Split], metric: str) -> float:
    """The mean over partitions."""
    models = [fitted(estimator, samples, split) for split in splits]
    pairs = zip(models, splits, strict=True)
    return float(np.mean([classified(model, samples, split, metric) for model, split in pairs]))


def _cost(
    estimator: Any, samples: Samples, split: Split, metric: str
) -> tuple[float | None, float, float]:
    """Seconds to fit (None if nothing is) and to classify, and the most megabytes of the two."""
    model, fit, fit_peak = measured(lambda: fitted(estimator, samples, split))
    _, classify, peak = measured(lambda: classified(model, samples, split, metric))
    return None if model == "passthrough" else fit, classify, max(fit_peak, peak)


# -- what is shown -----------------------------------------------------------------------


def run(study: Study) -> Iterator[Block]:
    """Figures 1 and 2, how far the approaches are apart, and what others reach."""
    exponents = range(-6, 7, 6) if study.quick else range(-6, 7)
    gammas = [10.0**e for e in exponents]
    partitions = 2 if study.quick else study.partitions(10)
    yield Note(
        f"Every point is the mean over {partitions} random partitions into halves (stratified by "
        "label; the paper has one random partition and does not say how it was drawn). The "
        "projection, with all its components, is learned on the training half; its columns are "
        "brought to unit variance there, and one linear SVM (C = 1) is trained per label. The "
        "paper shows its results as curves only, so there are no numbers to put beside ours."
    )
    for setting in QUICK if study.quick else FULL:
        data = _data(study, setting.dataset)
        if data is not None:
            samples = read_samples(data.X, data.target)
            splits, _ = make_splits(samples, 2, partitions, 0.5, study.seed)
            yield from _setting(study, setting, samples, splits, gammas)


def _data(study: Study, name: str) -> Dataset | None:
    if name != STAND_IN:
        return study.dataset(name)
    return Dataset(name, *make_planted(600, 30, 8, random_state=study.seed))


def _setting(
    study: Study, setting: Setting, samples: Samples, splits: list[Split], gammas: list[float]
) -> Iterator[Block]:
    def curves(technique: str) -> np.ndarray:
        cells = [
            study.cell(
                f"{setting.dataset}, {technique}, partition {i}",
                partial(_curves, technique, gammas, samples, split, setting.metric),
            )
            for i, split in enumerate(splits)
        ]
        return np.array([[cell[approach] for cell in cells] for approach in APPROACHES])

    found = {technique: curves(technique) for technique in setting.techniques}
    gap = max(float(np.abs(np.subtract(*c.mean(axis=1))).max()) for c in found.values())
    yield Claim(
        f"Two-stage and direct classify alike for every gamma ({setting.dataset}).",
        f"{setting.words} differs by at most {gap:.0e}",
        "holds" if gap < 1e-3 else "differs",
    )
    rivals = _rivals(study, setting, samples, splits)
    yield _figure(setting, gammas, found, rivals[ALL_FEATURES][0])
    yield _differences(setting, gammas, found)
    yield Table(
        f"{setting.dataset}: what others reach",
        ("method",),
        [(name,) for name in rivals],
        (setting.words, "seconds to fit", "seconds to classify", "peak MB"),
        list(rivals.values()),
        form=(".4f", ".4f", ".3f", ".1f"),
        note="eigenkit at its default gamma = 1, two-stage; the score is the mean over the same "
        "partitions, time and memory are of the first. Every projection gets the same linear SVMs.",
    )


def _rivals(
    study: Study, setting: Setting, samples: Samples, splits: list[Split]
) -> dict[str, list[float | None]]:
    """Score, seconds to fit and to classify, and peak megabytes by method."""
    ours = {f"eigenkit {name}": TECHNIQUES[name] for name in setting.techniques}
    found = {}
    for name, estimator in {**ours, **setting.rivals}.items():
        key = f"{setting.dataset}, {name}"
        score = partial(_score, estimator, samples, splits, setting.metric)
        cost = partial(_cost, estimator, samples, splits[0], setting.metric)
        found[name] = [study.cell(f"{key}, score", score), *study.timing(key, cost)]
    return found


def _differences(setting: Setting, gammas: list[float], found: dict[str, np.ndarray]) -> Table:
    mean = {name: curves[1].mean(axis=0) for name, curves in found.items()}
    return Table(
        f"{setting.dataset}: {setting.words} of the two-stage approach, and how far the direct "
        "one is from it",
        ("technique",),
        [(name,) for name in found],
        (
            f"gamma = {gammas[0]:g}",
            f"gamma = {gammas[-1]:g}",
            "highest",
            "at gamma",
            "largest difference",
        ),
        [
            [
                float(mean[name][0]),
                float(mean[name][-1]),
                float(mean[name].max()),
                f"{gammas[int(mean[name].argmax())]:g}",
                f"{np.abs(curves[0] - curves[1]).max():.1e}",
            ]
            for name, curves in found.items()
        ],
        note="The difference is the largest over all gammas and partitions, not of the means.",
    )


def _figure(
    setting: Setting, gammas: list[float], found: dict[str, np.ndarray], reference: float | None
) -> Figure:
    n_columns = min(2, len(found))
    n_rows = -(-len(found) // n_columns)

    def draw(canvas: Any) -> None:
        axes = canvas.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for ax, (technique, curves) in zip(axes.flat, found.items(), strict=True):
            direct, two_stage = curves.mean(axis=1)
            # Large and open, small and full: both are seen where they coincide.
            ax.semilogx(gammas, direct, "o", ms=9, mfc="none", color=COLORS[1], label="direct")
            ax.semilogx(gammas, two_stage, "s-", ms=3.5, color=COLORS[0], label="two-stage")
            ax.axhline(reference, color=COLORS[7], ls=":", label=ALL_FEATURES)
            ax.set(title=technique)
        for ax in axes[-1]:
            ax.set_xlabel("gamma")
        for ax in axes[:, 0]:
            ax.set_ylabel(setting.words)
        # One legend for all panels, where no curve runs.
        canvas.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)

    caption = (
        f"{setting.words} on {setting.dataset} as gamma varies: the direct and the two-stage "
        "approach give the same."
    )
    return Figure(
        setting.figure,
        caption[0].upper() + caption[1:],
        draw,
        (max(4.6, 3.7 * n_columns), 2.5 * n_rows + 0.3),
    )


EXPERIMENT = Experiment(
    "two-stage-gamma",
    "Classification as the regularization varies, direct and two-stage",
    "Sun, Ceran and Ye (2010), Figures 1 and 2; thesis, Figures 5.1 and 5.2",
    run,
)
