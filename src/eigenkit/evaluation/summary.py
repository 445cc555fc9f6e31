"""From outcomes to the record: means and deviations, curves, the model of the first split."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Any

import numpy as np
import scipy
import sklearn
import threadpoolctl

from eigenkit.estimators.splits import Split
from eigenkit.evaluation.metrics import METRICS
from eigenkit.evaluation.samples import Samples, deviations
from eigenkit.evaluation.trial import Outcome, project_rows
from eigenkit.linalg import Array
from eigenkit.record import (
    AlphaSearch,
    Curve,
    Failure,
    Feature,
    Method,
    Model,
    Points,
    Score,
    Solved,
)

TOP_COMPONENTS = 6
TOP_FEATURES = 10
MAX_EIGENVALUES = 100


def summarize(
    name: str,
    estimator: Any,
    baseline: bool,
    outcomes: list[Outcome],
    model: Model | None,
    shown: list[int],
    alphas: list[float],
) -> Method:
    """All splits of one method as one :class:`Method`."""
    fine = [outcome for outcome in outcomes if outcome.error is None]
    kinds = dict.fromkeys(kind for outcome in fine for kind in outcome.seconds)
    return Method(
        name=name,
        estimator=_described(estimator),
        baseline=baseline,
        scores={m: _score([o.scores.get(m) for o in outcomes]) for m in _measured(fine)},
        seconds={kind: _score([o.seconds.get(kind) for o in outcomes]) for kind in kinds},
        failures=[Failure(i, o.error) for i, o in enumerate(outcomes) if o.error is not None],
        warnings=list(dict.fromkeys(text for o in outcomes for text in o.warnings))[:20],
        alpha=_alpha_search(alphas, outcomes),
        model=model,
        roc=[_curve(j, fine) for j in shown] if fine and fine[0].roc else [],
    )


def _measured(fine: list[Outcome]) -> list[str]:
    return list(dict.fromkeys(name for outcome in fine for name in outcome.scores)) or [*METRICS]


def _described(estimator: Any) -> str:
    if isinstance(estimator, str):
        return "no projection"
    return " ".join(repr(estimator).split())[:300]


def _score(values: list[float | None]) -> Score:
    found = np.array([v for v in values if v is not None and np.isfinite(v)])
    mean = float(found.mean()) if found.size else None
    std = float(found.std(ddof=1)) if found.size > 1 else None
    clean = [None if v is None or not np.isfinite(v) else float(v) for v in values]
    return Score(clean, mean, std)


def _alpha_search(alphas: list[float], outcomes: list[Outcome]) -> AlphaSearch | None:
    tables = [o.alpha_scores for o in outcomes if o.alpha_scores is not None]
    if not tables:
        return None
    columns = [_score(list(column)) for column in np.vstack(tables).T]
    return AlphaSearch(
        alphas=alphas,
        mean=[score.mean for score in columns],
        std=[score.std for score in columns],
        chosen=[outcome.alpha for outcome in outcomes],
    )


def _curve(label: int, fine: list[Outcome]) -> Curve:
    """Mean over the splits at every false positive rate of the grid."""
    curves = [curve for o in fine if (curve := o.roc[label]) is not None]
    aucs = [float(o.label_auc[label]) for o in fine if o.label_auc is not None]
    mean = np.mean(curves, axis=0).round(4).tolist() if curves else []
    return Curve(label, _score(list(aucs)).mean, mean)


# -- the model of the first split ------------------------------------------------------


def thin(samples: Samples, split: Split, max_points: int, seed: int) -> tuple[Points, Array]:
    """Which samples are drawn: all, or a random choice that keeps both sides of the split."""
    rows = np.sort(np.concatenate(split))
    if len(rows) > max_points:
        rows = np.sort(np.random.default_rng(seed).choice(rows, max_points, replace=False))
    marked = np.isin(samples.Y, (0, 1)).all()  # numbers are no labels
    labels = [np.flatnonzero(row).tolist() if marked else [] for row in samples.Y[rows]]
    held_out = np.isin(rows, split[1]).tolist()
    return Points(rows.tolist(), labels, held_out), rows


def describe_model(outcome: Outcome, samples: Samples, split: Split, rows: Array) -> Model | None:
    """The fitted projection as it is drawn; None where there is none."""
    fitted = outcome.model
    if outcome.error is not None or fitted is None or isinstance(fitted, str):
        return None
    if not hasattr(fitted, "transform"):
        return None
    learned = samples.prepare(samples.X[split[0]]) if samples.prepare else lambda X: X
    Z = project_rows(fitted, learned(samples.X[rows]))
    fitted = getattr(fitted, "best_estimator_", fitted)  # a search is described by its choice
    report = getattr(fitted, "report_", None)
    eigenvalues = np.asarray(getattr(fitted, "eigenvalues_", []), dtype=np.float64).ravel()
    alpha = getattr(fitted, "alpha", None)
    return Model(
        alpha=None if alpha is None else float(alpha),
        n_components=Z.shape[1],
        eigenvalues=_plain(eigenvalues[:MAX_EIGENVALUES]),
        solved=None if report is None else _solved(report),
        components=_top_features(fitted, samples, split),
        coordinates=_rounded(Z[:, :3]),
    )


def _solved(report: Any) -> Solved:
    facts = asdict(report)
    for name in ("residual", "orthogonality", "condition"):
        facts[name] = float(facts[name]) if np.isfinite(facts[name]) else None
    return Solved(**{name: facts[name] for name in Solved.__dataclass_fields__})


def _top_features(fitted: Any, samples: Samples, split: Split) -> list[list[Feature]]:
    """Per component the features that move it most, each by one standard deviation."""
    W = getattr(fitted, "components_", None)
    if W is None or np.ndim(W) != 2 or np.shape(W)[1] != samples.X.shape[1]:
        return []
    weights = np.asarray(W[:TOP_COMPONENTS], dtype=np.float64) * deviations(
        samples.parts(split)[0][0]
    )
    found = []
    for w in weights:
        order = np.argsort(-np.abs(w), kind="stable")[:TOP_FEATURES]
        top = zip(order, _plain(w[order]), strict=True)
        found.append([Feature(samples.feature_names[j], value) for j, value in top if value])
    return found


def _plain(values: Array) -> list[float]:
    return [float(f"{v:.6g}") for v in values]


def _rounded(Z: Array) -> list[list[float]]:
    """Coordinates to five digits of the largest: finer than a pixel, and short in JSON."""
    Z = np.asarray(Z, dtype=np.float64)
    largest = float(np.abs(Z).max(initial=0.0))
    digits = 4 - int(np.floor(np.log10(largest))) if largest > 0 else 0
    return Z.round(digits).tolist()


def environment() -> dict[str, str]:
    """Versions and threads, enough to understand a difference in the last digits."""
    import eigenkit  # the version lives at the top, which imports all below

    pools = sorted({pool["num_threads"] for pool in threadpoolctl.threadpool_info()})
    return {
        "eigenkit": eigenkit.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "BLAS threads": ", ".join(str(n) for n in pools) or "unknown",
    }
