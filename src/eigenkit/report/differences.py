"""Which methods can be told apart: differences on the same splits, with intervals.

Splits share training samples, so that the plain variance of the differences is too small. It is
enlarged by the ratio of test to training samples (Nadeau and Bengio, 2003):

    (1/J + n_test / n_train) var(d_1 ... d_J)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from eigenkit.evaluation.metrics import metrics_of
from eigenkit.record.schema import Method, Run, Score

_LEVEL = 0.95


@dataclass(frozen=True)
class Difference:
    """Mean of a - b over the splits that both have done, and the ends of its interval."""

    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0

    def cells(self) -> list[str]:
        """As in a table: the mean, the interval, and whether it is clear."""
        ends = f"{self.low:+.3f} to {self.high:+.3f}"
        return [f"{self.mean:+.3f}", ends, "yes" if self.clear else "no"]


def main_metric(run: Run) -> str:
    """What methods are ordered by."""
    return "r2" if run.data.kind == "numbers" else "auc"


def main_words(run: Run) -> str:
    """The same in words."""
    return metrics_of(run.data.kind)[main_metric(run)][0]


def main_score(run: Run, method: Method) -> float | None:
    """The mean of what methods are ordered by."""
    score = method.scores.get(main_metric(run))
    return None if score is None else score.mean


def ranked(run: Run) -> list[Method]:
    """The methods, best first, those without a result last."""
    return sorted(run.methods, key=lambda m: 1.0 if (s := main_score(run, m)) is None else -s)


def difference(run: Run, a: Method, b: Method) -> Difference | None:
    """Of the main scores; None where fewer than two splits have both."""
    return interval(run, *(method.scores.get(main_metric(run)) for method in (a, b)))


def interval(run: Run, a: Score | None, b: Score | None) -> Difference | None:
    """The same of two scores on the splits of a run."""
    if a is None or b is None:
        return None
    pairs = zip(a.values, b.values, strict=False)
    found = np.array([x - y for x, y in pairs if x is not None and y is not None])
    if len(found) < 2:
        return None
    share = 1 / len(found) + run.protocol.n_test / run.protocol.n_train
    quantile = scipy.special.stdtrit(len(found) - 1, 0.5 + _LEVEL / 2)
    reach = float(quantile * np.sqrt(share * found.var(ddof=1)))
    mean = float(found.mean())
    return Difference(mean, mean - reach, mean + reach)


def not_distinguishable(run: Run, best: Method, others: list[Method]) -> list[Method]:
    """Those whose difference to the best may be chance; of one split nothing is known."""
    gaps = [difference(run, best, method) for method in others]
    return [m for m, gap in zip(others, gaps, strict=True) if gap is None or not gap.clear]


def near_first(run: Run, methods: list[Method]) -> list[Method]:
    """The first method and those that may be taken for it: not told from it, and near it.

    Near is within one standard error: only among these simplicity may decide, as intervals of few
    splits are so wide that methods far behind are in them as well.
    """
    best, *others = methods
    found = best.scores[main_metric(run)].values
    values = [value for value in found if value is not None]
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    least = float(np.mean(values) - error)
    level = not_distinguishable(run, best, others)
    return [best, *(m for m in level if (s := main_score(run, m)) is not None and s >= least)]


def simplest(methods: list[Method]) -> list[Method]:
    """Those of the methods that are as simple as any: baselines, then few components, no kernel.

    How long they took does not matter: it differs from run to run.
    """
    least = min(map(_effort, methods))
    return [method for method in methods if _effort(method) == least]


def _effort(method: Method) -> tuple[bool, bool, int]:
    n_components = method.model.n_components if method.model else 0
    return not method.baseline, "Kernel" in method.estimator, n_components
