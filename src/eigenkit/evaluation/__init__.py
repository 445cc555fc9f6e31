"""Compare methods on data, as the papers do.

Repeated random partitions or folds that keep the share of every label; the projection is
learned on the training part, a plain classifier per label on top of it; every metric with
mean and standard deviation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigenkit.late import late_names

if TYPE_CHECKING:
    from eigenkit.estimators.many_labels import top_labels
    from eigenkit.estimators.splits import LabelStratifiedKFold, stratify
    from eigenkit.evaluation.classifiers import CLASSIFIERS
    from eigenkit.evaluation.comparing import evaluate
    from eigenkit.evaluation.metrics import METRICS
    from eigenkit.evaluation.ranking import (
        f1_by_frequency,
        inverse_propensities,
        ndcg_at_k,
        precision_at_k,
        propensity_scored_precision_at_k,
    )
    from eigenkit.evaluation.samples import auto_alphas, k_fold, partition

__all__ = [
    "CLASSIFIERS",
    "METRICS",
    "LabelStratifiedKFold",
    "auto_alphas",
    "evaluate",
    "f1_by_frequency",
    "inverse_propensities",
    "k_fold",
    "ndcg_at_k",
    "partition",
    "precision_at_k",
    "propensity_scored_precision_at_k",
    "stratify",
    "top_labels",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        ".classifiers": ("CLASSIFIERS",),
        ".comparing": ("evaluate",),
        ".metrics": ("METRICS",),
        ".ranking": (
            "f1_by_frequency",
            "inverse_propensities",
            "ndcg_at_k",
            "precision_at_k",
            "propensity_scored_precision_at_k",
        ),
        ".samples": ("auto_alphas", "k_fold", "partition"),
        "..estimators.many_labels": ("top_labels",),
        "..estimators.splits": ("LabelStratifiedKFold", "stratify"),
    },
)
