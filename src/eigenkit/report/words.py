"""Numbers and foreign text as people read them, the same in every view."""

from __future__ import annotations

import unicodedata

from eigenkit.record import Method, Run, Score

# What stands for a number that was not measured.
NOTHING = "\u2013"

# Letters that reorder or hide the text around them, besides the control characters.
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str, limit: int = 60) -> str:
    """Text from data on one line: nothing that steers a terminal, nothing endless.

    >>> visible("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    head = text[: limit + 1]
    if len(head) > limit:
        head = head[: limit - 1] + "…"
    return "".join(_shown(c) for c in head)


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    return character.encode("unicode_escape", "backslashreplace").decode()


def number(value: float | None, digits: int = 3) -> str:
    """A plain number, or a dash for what was not measured."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def measured(score: Score | None, digits: int = 3) -> str:
    """Mean and standard deviation."""
    if score is None or score.mean is None:
        return NOTHING
    if score.std is None:
        return number(score.mean, digits)
    return f"{score.mean:.{digits}f} ± {score.std:.{digits}f}"


def short(value: float | None) -> str:
    """A number of any size in few characters."""
    return NOTHING if value is None else f"{value:.3g}"


def seconds(score: Score | None) -> str:
    """A time with its unit."""
    if score is None or score.mean is None:
        return NOTHING
    mean = score.mean
    if mean < 1e-3:
        return "< 1 ms"
    return f"{mean * 1e3:.0f} ms" if mean < 1 else f"{mean:.2f} s"


def count(value: int, word: str) -> str:
    """``3 labels``, ``1 label``."""
    return f"{value:,} {word}" if value == 1 else f"{value:,} {word}s"


def main_score(method: Method) -> float | None:
    """What methods are ordered by."""
    score = method.scores.get("auc")
    return None if score is None else score.mean


def ranked(run: Run) -> list[Method]:
    """The methods, best first, those without a result last."""
    return sorted(run.methods, key=lambda m: 1.0 if (s := main_score(m)) is None else -s)


def headline(run: Run) -> str:
    """The result in one or two sentences."""
    done = [method for method in ranked(run) if main_score(method) is not None]
    if not done:
        return "No method gave a result; the reasons are below."
    best = done[0]
    level = [m for m in done if measured(m.scores["auc"]) == measured(best.scores["auc"])]
    verb = "has" if len(level) == 1 else "have"
    text = f"{_listed(level)} {verb} the highest mean AUC over labels, "
    text += measured(best.scores["auc"])
    rivals = [m for m in done[1:] if m.baseline != best.baseline and m not in level]
    if rivals:
        kind = "method" if best.baseline else "plain baseline"
        text += f"; the best {kind}, {visible(rivals[0].name)}, has "
        text += measured(rivals[0].scores["auc"])
    failed = len(run.methods) - len(done)
    gave = f" {count(failed, 'method')} gave no result." if failed else ""
    return f"{text}.{gave}"


def _listed(methods: list[Method]) -> str:
    *names, last = [visible(method.name) for method in methods]
    return f"{', '.join(names)} and {last}" if names else last


def protocol_sentence(run: Run) -> str:
    """How it was measured."""
    p = run.protocol
    text = (
        f"{p.splits[:1].upper()}{p.splits[1:]} ({p.n_train:,} training and {p.n_test:,} test "
        f"samples in the first); projection learned on the training part only, then "
        f"{visible(p.classifier, 200)} per label."
    )
    if p.alphas:
        text += (
            f" Alpha chosen from {count(len(p.alphas), 'value')} by {p.inner_cv}-fold "
            f"cross-validation inside the training part, with {visible(p.alpha_classifier, 200)} "
            "on the projection."
        )
    return text


def drawn_sentence(run: Run) -> str:
    """How many of the samples the scatter shows."""
    drawn, n = len(run.points.rows), run.data.n_samples
    if drawn == n:
        return f"All {n:,} samples are drawn."
    return f"{drawn:,} of {n:,} samples are drawn, chosen at random."
