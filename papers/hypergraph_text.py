"""What decides on text: weights of terms, documents taken, and the number of terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import svdvals
from sklearn.base import clone
from sklearn.svm import LinearSVC

from eigenkit.datasets import Dataset
from eigenkit.evaluation.trial import Plan, run_trial
from papers import multilabel as ml
from papers.blocks import Block, Figure, Note, Table
from papers.drawing import lines
from papers.study import Study

N_TERMS_TRIED = (250, 500, 1000, 1500, 2000, 2500, 3000, 5000)
FIXED_GAMMA = 10.0


def fixed(
    case: ml.Case,
    i: int,
    technique: Any,
    gamma: float,
    *,
    svm: Any = None,
    scale: bool = False,
    **options: Any,
) -> float:
    """AUC with a given gamma."""
    model = clone(technique).set_params(alpha=gamma)
    svm = LinearSVC(random_state=0) if svm is None else svm
    plan = Plan(svm, [], ml.INNER_FOLDS, "auc", "same", 0, scale)
    outcome = run_trial(model, case.samples(i, **options), case.splits[i], plan)
    return float(ml.finished(outcome).scores["auc"])


def weights_table(study: Study, case: ml.Case) -> Table:
    """What is not stated in the paper: weights of terms, and the scale of the projection."""
    count = min(ml.COMPARED, len(case.splits))

    def row(weights: str) -> list[float]:
        def work() -> list[float]:
            scores = []
            for i in range(count):
                samples = case.samples(i, weights=weights)
                for version, scale in (("{}", False), ("r{}", False), ("r{}", True)):
                    outcome = ml.trial(
                        ml.TECHNIQUES["Star"],
                        version,
                        samples,
                        case.splits[i],
                        scale=scale,
                        seed=study.seed,
                    )
                    scores.append(outcome.scores["auc"])
            return list(np.reshape(scores, (count, 3)).mean(axis=0))

        return study.cell(f"{case.title}, {weights}", work)

    return Table(
        f"{case.title}: what the weights of terms and the scale of the projection do",
        ("weights",),
        [(name,) for name in ml.WEIGHTS],
        ["Star", "rStar", "rStar, columns scaled to variance 1"],
        [row(name) for name in ml.WEIGHTS],
        note=f"Mean AUC over the first {count} partitions; gamma of rStar by cross-validation.",
    )


def selections(data: Dataset, count: int, seed: int) -> dict[str, np.ndarray]:
    """Rows of all documents, and of ``count`` of them chosen in some ways."""
    n = data.n_samples
    order = np.argsort(-np.asarray((data.X > 0).sum(axis=1)).ravel(), kind="stable")
    drawn = np.random.default_rng(seed).choice(n, count, replace=False)
    return {
        f"all {n}": np.arange(n),
        f"{count} at random": np.sort(drawn),
        f"the {count} with most terms": np.sort(order[:count]),
        f"the {count} with fewest terms": np.sort(order[-count:]),
    }


def documents_table(study: Study, case: ml.Case) -> Table:
    """The paper has about half of the documents: does it matter which?"""
    techniques = ("Clique", "Star", "CCA")
    half = 3712 if not study.quick else case.data.n_samples // 2
    chosen = selections(case.data, half, study.seed)

    def row(name: str) -> list[float]:
        def work() -> list[float]:
            rows = chosen[name]
            data = replace(case.data, X=case.data.X[rows], target=case.data.target[rows])
            part = ml.Case(name, replace(case.column, partitions=ml.COMPARED), data, study.seed)
            scores = [
                [fixed(part, i, ml.TECHNIQUES[t], FIXED_GAMMA) for t in techniques]
                for i in range(ml.COMPARED)
            ]
            return [float(part.Y.shape[1]), *np.mean(scores, axis=0)]

        return study.cell(f"{case.title}, {name}", work)

    return Table(
        f"{case.title}: which documents are taken",
        ("documents",),
        [(name,) for name in chosen],
        ["labels", *(f"r{technique}" for technique in techniques)],
        [row(name) for name in chosen],
        form=(".0f", ".4f", ".4f", ".4f"),
        note=(
            f"Mean AUC over {ml.COMPARED} partitions, gamma = {FIXED_GAMMA:g}; labels with fewer "
            f"than {ml.FEWEST} of these documents are left out."
        ),
    )


def documents_note(table: Table) -> Note:
    every = [float(v) for row in table.ours for v in row[1:] if isinstance(v, float)]
    return Note(
        f"Which documents are taken moves AUC from {min(every):.3f} to {max(every):.3f}, partly "
        "because other labels are left. The paper does not state its selection: this range shows "
        "that it may account for our distance from the paper, not that it does."
    )


def spectrum(X: np.ndarray) -> tuple[float, float]:
    """Rank of the centred data, and the smallest singular value that counts as not zero."""
    values = svdvals(X - X.mean(axis=0))
    kept = values[values > values[0] * max(X.shape) * np.finfo(float).eps]
    return float(len(kept)), float(kept[-1])


def terms(study: Study, case: ml.Case) -> list[list[float]]:
    """By number of terms: it, rank, smallest singular value, AUC without and with a ridge."""

    def work(n_terms: int) -> list[float]:
        rows = []
        for i in range(min(ml.COMPARED, len(case.splits))):
            X = case.samples(i, n_terms=n_terms).X[case.splits[i][0]].toarray()
            scores = [
                fixed(case, i, ml.TECHNIQUES["Star"], gamma, n_terms=n_terms)
                for gamma in (0.0, FIXED_GAMMA)
            ]
            rows.append([*spectrum(X), *scores])
        return [float(n_terms), *np.mean(rows, axis=0)]

    tried = (20, 60, 110) if study.quick else N_TERMS_TRIED
    return [study.cell(f"{case.title}, spectrum of {n} terms", lambda n=n: work(n)) for n in tried]  # type: ignore[misc]


def terms_blocks(case: ml.Case, rows: list[list[float]]) -> Iterator[Block]:
    n_train = len(case.splits[0][0])
    count = min(ml.COMPARED, len(case.splits))
    title = f"{case.title}: the number of terms, without and with a ridge"

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        curves = {
            "Star, gamma = 0": [row[3] for row in rows],
            f"rStar, gamma = {FIXED_GAMMA:g}": [row[4] for row in rows],
        }
        terms = [row[0] for row in rows]
        lines(ax, terms, curves, xlabel="number of terms", ylabel="mean AUC", xscale="log")
        ax.set_xticks(terms, [f"{n:.0f}" for n in terms], rotation=45)
        ax.minorticks_off()
        ax.axvline(n_train, color="#5c6670", linewidth=0.8, linestyle=":")
        place = {"transform": ax.get_xaxis_transform(), "rotation": 90, "va": "center"}
        ax.text(n_train, 0.45, "training documents", ha="right", **place)

    yield Figure(
        "hypergraph-terms",
        f"{case.title}: AUC against the number of terms, {n_train} training documents, mean over "
        f"{count} partition{'s' * (count > 1)}.",
        draw,
        (5.5, 3.6),
    )
    yield Table(
        title,
        ("terms",),
        [(f"{row[0]:.0f}",) for row in rows],
        ("rank", "smallest singular value", "Star", f"rStar, gamma = {FIXED_GAMMA:g}"),
        [row[1:] for row in rows],
        form=(".0f", ".1e", ".4f", ".4f"),
        note=(
            f"Of the centred training data, {n_train} documents (rank at most {n_train - 1}); mean "
            f"over {count} partition{'s' * (count > 1)}. Singular values that are rounding do "
            "not count."
        ),
    )
    yield Note(_terms_remark(rows, n_train))


def _terms_remark(rows: list[list[float]], n_train: int) -> str:
    lowest, smallest = min(rows, key=lambda row: row[3]), min(rows, key=lambda row: row[2])
    full = [row for row in rows if row[1] >= 0.99 * (n_train - 1)]
    text = (
        f"Without a ridge AUC is lowest ({lowest[3]:.3f}) with {lowest[0]:.0f} terms; the smallest "
        f"singular value is that of {smallest[0]:.0f} terms ({smallest[2]:.1e})."
    )
    if len(full) > 1:
        told = ", ".join(f"{row[3]:.3f} with {row[0]:.0f}" for row in full)
        text += (
            f" Full rank, within one in a hundred, is not the reason by itself: of the numbers of "
            f"terms that have it, AUC is {told}."
        )
    return text
