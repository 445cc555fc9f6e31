"""The result in words: who is ahead, who cannot be told apart, and what to fit.

Methods are compared by their differences on the same splits. These share training samples, so the
variance of the differences is too small. The ratio of test to training samples corrects it (Nadeau
and Bengio, 2003):

    (1/J + n_test / n_train) var(d_1 ... d_J)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from eigenkit.estimators.registry import METHODS
from eigenkit.evaluation.metrics import metrics_of
from eigenkit.evaluation.record.schema import Method, Run, Score
from eigenkit.report.cells import listed, measured, natural, visible
from eigenkit.shell import counted

_LEVEL = 0.95


@dataclass(frozen=True)
class Difference:
    """The mean of a - b over the splits that have both, and the ends of its interval."""

    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    def cells(self) -> list[str]:
        """For a table: the mean, the interval, and whether it is clear."""
        ends = f"{self.low:+.3f} to {self.high:+.3f}"
        return [f"{self.mean:+.3f}", ends, "yes" if self.clear else "no"]


def main_metric(run: Run) -> str:
    """The metric by which methods are ranked."""
    return "r2" if run.data.kind == "numbers" else "auc"


def main_words(run: Run) -> str:
    return metrics_of(run.data.kind)[main_metric(run)][0]


def main_score(run: Run, method: Method) -> float | None:
    score = method.scores.get(main_metric(run))
    return None if score is None else score.mean


def ranked(run: Run) -> list[Method]:
    """The methods, best first; then those that failed on some splits, and those without a result.

    Means over different splits cannot be compared.
    """

    def place(method: Method) -> tuple[bool, bool, float]:
        score = main_score(run, method)
        return score is None, bool(method.failures), -(score or 0.0)

    return sorted(run.methods, key=place)


def scored(run: Run) -> list[Method]:
    """The same without those that have no result."""
    return [method for method in ranked(run) if main_score(run, method) is not None]


def behind_the_best(run: Run) -> list[tuple[Method, Difference]]:
    """How far the best method is ahead of each other one, where that is known."""
    methods = ranked(run)
    gaps = ((method, difference(run, methods[0], method)) for method in methods[1:])
    return [(method, gap) for method, gap in gaps if gap is not None]


def difference(run: Run, a: Method, b: Method) -> Difference | None:
    """Of the main scores."""
    return interval(run, *(method.scores.get(main_metric(run)) for method in (a, b)))


def interval(run: Run, a: Score | None, b: Score | None) -> Difference | None:
    """Of any two scores of a run; None if fewer than two splits have both."""
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
    """Those whose difference from the best may be chance; after one split, all of them."""
    return [m for m in others if (gap := difference(run, best, m)) is None or not gap.clear]


def near_first(run: Run, methods: list[Method]) -> list[Method]:
    """The first method, and those that differ from it neither clearly nor by much.

    That is within one standard error. Only among these may simplicity decide: the intervals of few
    splits are so wide that they include methods that are far behind.
    """
    best, *others = methods
    found = best.scores[main_metric(run)].values
    values = [value for value in found if value is not None]
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    least = float(np.mean(values) - error)
    level = not_distinguishable(run, best, others)
    return [best, *(m for m in level if (s := main_score(run, m)) is not None and s >= least)]


def simplest(methods: list[Method]) -> list[Method]:
    """The simplest methods: baselines come first, then no kernel, then few components.

    Methods without components, such as planes of classes, count as less simple than any number of
    them. Times do not matter: they differ from run to run.
    """
    least = min(map(_effort, methods))
    return [method for method in methods if _effort(method) == least]


def _effort(method: Method) -> tuple[bool, bool, float]:
    n_components = method.model.n_components if method.model else 0
    size = n_components or (0 if method.baseline else float("inf"))
    return not method.baseline, "Kernel" in method.estimator, size


def label_word(run: Run) -> str:
    return {"classes": "class", "numbers": "response"}.get(run.data.kind, "label")


def label_words(run: Run) -> str:
    return {"class": "classes"}.get(label_word(run), f"{label_word(run)}s")


def most_frequent(run: Run, shown: int) -> str:
    """Which labels are shown, unless all are."""
    n = run.data.n_labels
    return f"The {shown} most frequent of {n:,} {label_words(run)}. " if shown < n else ""


def in_order(run: Run, labels: list[int]) -> list[int]:
    """Labels in natural order of their names."""
    return [labels[i] for i in natural([run.data.labels[j].name for j in labels])]


def sizes(run: Run) -> dict[str, str]:
    found = {"samples": run.data.n_samples, "features": run.data.n_features}
    found[label_words(run)] = run.data.n_labels
    return {name: f"{value:,}" for name, value in found.items()}


def headline(run: Run) -> str:
    """The result in a few sentences: who is ahead, who cannot be told apart, who failed."""
    done = scored(run)
    failed = [method for method in run.methods if method not in done]
    if not done:
        return _no_ranking(run)
    text = _who_is_ahead(run, done)
    if failed:
        text += f" {_listed(failed)} gave no result, so nothing is known about "
        text += "it." if len(failed) == 1 else "them."
    if run.data.kind != "numbers":  # for numbers, chance is the mean, one of the methods
        score = done[0].scores[main_metric(run)]
        gap = interval(run, score, replace(score, values=[0.5] * len(score.values)))
        if gap is not None and gap.low <= 0:
            text += " None is clearly better than chance (0.5)."
    if (guess := beaten_by(run)) and (ours := _of_ours(run)):
        first = visible(ours[0].name)
        text += f" {first} does not beat {visible(guess)}, so there is nothing to fit."
    partly = [method for method in done if method.failures]
    return text + (f" {_listed(partly)} failed on some splits." if partly else "")


def _no_ranking(run: Run) -> str:
    """Why no method has the score that they are ordered by."""
    if not any(score.mean is not None for m in run.methods for score in m.scores.values()):
        return "No method gave a result; the reasons are below."
    return (
        f"The methods cannot be ranked: {main_words(run)} is not defined on these test rows, which "
        "are too few or too much alike. Other scores are below."
    )


def _who_is_ahead(run: Run, done: list[Method]) -> str:
    metric, (best, *others) = main_metric(run), done
    level = [best, *not_distinguishable(run, best, others)]
    reached = f"{measured(best.scores[metric])} ({main_words(run)})"
    if not others:
        return f"{visible(best.name)} reached {reached}."
    if run.protocol.n_splits == 1:
        return f"{visible(best.name)} is ahead with {reached}; one split cannot say more."
    if len(level) == 1:
        follows, kind = others[0], "the baseline " if others[0].baseline else ""
        text = f"{visible(best.name)} is ahead of all others with {reached}; next is {kind}"
        return f"{text}{visible(follows.name)} with {measured(follows.scores[metric])}."
    text = f"{_listed(level)} are not distinguishable on these splits; the highest is {reached}"
    text += f" of {visible(best.name)}. {_advice(run, level)}"
    behind = [method for method in done if method not in level]
    return text + (f" Clearly behind: {_listed(behind)}." if behind else "")


def _advice(run: Run, level: list[Method]) -> str:
    """Take the simplest method near the best, or run more splits if these decide nothing."""
    guess = [m for m in level if m.estimator.startswith("Dummy")]
    if guess:
        return f"As even {_listed(guess)} is among them, more splits are needed (--repeats)."
    taken = near_first(run, level)
    far = [method for method in level if method not in taken]
    text, ours = _which(taken, bool(far)), recommended(run)
    if simplest(taken)[0].baseline and ours in level:
        text += f", and of the methods {visible(ours.name)}" if ours else ""
    if not far:
        return f"{text}."
    which = f"{_listed(far)} {'is' if len(far) == 1 else 'are'}"
    return (
        f"{text}. These splits do not tell how far behind {which}: more are needed (a larger --cv, "
        "or --repeats)."
    )


def _which(taken: list[Method], some_are_far: bool) -> str:
    """Which method to take among those near the best."""
    them = "those within one standard error of that" if some_are_far else "them"
    first, *others = simplest(taken)
    if len(taken) == 1:
        return "No other comes within one standard error of that, so take the highest"
    if len(others) == len(taken) - 1:
        subject = "They" if them == "them" else them.capitalize()
        return f"{subject} are equally simple, so take the highest"
    return f"The simplest of {them} is {visible(first.name)}"


def recommended(run: Run) -> Method | None:
    """What to fit: the simplest method near the best one, baselines aside.

    None if no method beats a guess.
    """
    ours = _of_ours(run)
    return simplest(near_first(run, ours))[0] if ours and not beaten_by(run) else None


def _of_ours(run: Run) -> list[Method]:
    return [method for method in scored(run) if not method.baseline]


def beaten_by(run: Run) -> str:
    """The guess that is at least as good as our best method; "" if there is none."""
    best = max((main_score(run, m) or 0.0 for m in _of_ours(run)), default=np.inf)
    guesses = {m.name: main_score(run, m) for m in run.methods if m.estimator.startswith("Dummy")}
    guesses |= {} if run.data.kind == "numbers" else {"chance": 0.5}
    return next((name for name, g in guesses.items() if g is not None and g >= best), "")


def before_fit(run: Run) -> str:
    """The line before the command that fits the recommended method."""
    best = recommended(run)
    if best is None:
        return "To fit it on all rows:"
    name = visible(best.name)
    itself = best.name in METHODS and METHODS[best.name].kind == "classifier"
    here, later = run.protocol.classifier, f"{name} itself" if itself else "a linear SVM"
    on_scores = run.data.kind != "numbers" and best.model is not None and best.model.n_components
    text = f"To fit {name} on all rows"
    if not on_scores or later == f"a {here}":
        return f"{text}:"
    as_here = f"not with {visible(here, 200)} on its scores as here"
    return f"{text} (fit predicts with {later}, {as_here}):"


def _listed(methods: list[Method]) -> str:
    return listed([visible(method.name) for method in methods])


def protocol_sentence(run: Run) -> str:
    p = run.protocol
    numbers = run.data.kind == "numbers"
    on_top = f", then {visible(p.classifier, 200)} per {label_word(run)}"
    splits = "measured on a test file" if p.test_begins else p.splits
    first = "" if p.test_begins or p.n_splits == 1 else " in the first"
    text = (
        f"{splits[:1].upper()}{splits[1:]} ({p.n_train:,} training and {p.n_test:,} test "
        f"samples{first}); {'fitted' if numbers else 'projection learned'} on the training part "
        f"only{'' if numbers else on_top}."
    )
    if tried := {len(m.alpha.alphas) for m in run.methods if m.alpha is not None}:
        least = f"{min(tried)} to " if min(tried) < max(tried) else ""
        text += f" Alpha chosen from {least}{counted(max(tried), 'value')} by {p.inner_cv}-fold "
        text += "cross-validation inside the training part"
        on_top = f", with {visible(p.alpha_classifier, 200)} on the projection"
        text += "." if numbers else f"{on_top}."
    return text


def drawn_sentence(run: Run) -> str:
    drawn, n = len(run.points.rows), run.data.n_samples
    some = f"{drawn:,} of {n:,} samples are drawn, chosen at random."
    return f"All {n:,} samples are drawn." if drawn == n else some
