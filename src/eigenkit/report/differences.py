"""Which methods can be told apart: differences on the same splits, with intervals.

Splits share training samples, so that the plain variance of the differences is too small. It is
enlarged by the ratio of test to training samples (Nadeau and Bengio, 2003):

    (1/J + n_test / n_train) var(d_1 ... d_J)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from eigenkit.record import Method, Run, Score

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


def difference(run: Run, a: Method, b: Method, metric: str) -> Difference | None:
    """None where fewer than two splits have both."""
    return interval(run, a.scores[metric], b.scores[metric])


def interval(run: Run, a: Score, b: Score) -> Difference | None:
    """The same of two scores on the splits of a run."""
    pairs = zip(a.values, b.values, strict=False)
    found = np.array([x - y for x, y in pairs if x is not None and y is not None])
    if len(found) < 2:
        return None
    share = 1 / len(found) + run.protocol.n_test / run.protocol.n_train
    quantile = scipy.special.stdtrit(len(found) - 1, 0.5 + _LEVEL / 2)
    reach = float(quantile * np.sqrt(share * found.var(ddof=1)))
    mean = float(found.mean())
    return Difference(mean, mean - reach, mean + reach)


def not_distinguishable(run: Run, best: Method, others: list[Method], metric: str) -> list[Method]:
    """Those whose difference to the best may be chance; of one split nothing is known."""
    found = []
    for method in others:
        gap = difference(run, best, method, metric)
        if gap is None or not gap.clear:
            found.append(method)
    return found


def near(best: Method, others: list[Method], metric: str) -> list[Method]:
    """Those within one standard error of the best: only among them simplicity may decide.

    Intervals of few splits are so wide that methods far behind are in them as well.
    """
    values = [value for value in best.scores[metric].values if value is not None]
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    least = float(np.mean(values) - error)
    return [m for m in others if (mean := m.scores[metric].mean) is not None and mean >= least]


def simplest(methods: list[Method]) -> list[Method]:
    """Those of the methods that are as simple as any: baselines, then few components, no kernel.

    How long they took does not matter: it differs from run to run.
    """
    least = min(map(_effort, methods))
    return [method for method in methods if _effort(method) == least]


def _effort(method: Method) -> tuple[bool, bool, int]:
    n_components = method.model.n_components if method.model else 0
    return not method.baseline, "Kernel" in method.estimator, n_components
