from eigenkit.estimators.many_labels import top_labels as top_labels
from eigenkit.estimators.splits import (
    LabelStratifiedKFold as LabelStratifiedKFold,
    k_fold as k_fold,
    partition as partition,
    stratify as stratify,
)

from .classifiers import CLASSIFIERS as CLASSIFIERS
from .comparing import evaluate as evaluate
from .metrics import METRICS as METRICS
from .ranking import (
    f1_by_frequency as f1_by_frequency,
    inverse_propensities as inverse_propensities,
    ndcg_at_k as ndcg_at_k,
    precision_at_k as precision_at_k,
    propensity_scored_precision_at_k as propensity_scored_precision_at_k,
)
from .samples import auto_alphas as auto_alphas
