"""Every number of the report in tables, for text and behind every figure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from eigenkit.evaluation.metrics import NUMBER_METRICS, Metrics, decimals, metrics_of
from eigenkit.evaluation.record.schema import Method, Run
from eigenkit.files._common import listed
from eigenkit.report import words as w
from eigenkit.report.cells import Table, facts_table, measured_all, number, seconds, short, visible


def comparison(run: Run) -> Table:
    """Method by metric, the best of each metric in bold."""
    methods, metrics = w.ranked(run), metrics_of(run.data.kind)
    columns = ["method", *(words for words, _ in metrics.values())]
    losses = "RMSE and MAE" if run.data.kind == "numbers" else "losses and coverage"
    note = f"Mean ± standard deviation over the splits; for {losses}, lower is better."
    note += _of_some_splits(methods, metrics)
    best = {(i, j + 1) for j, key in enumerate(metrics) for i in _best(methods, key, metrics)}
    title, rows = "Scores on the test parts", _score_rows(methods, metrics)
    return Table(title, columns, rows, note=note, strong=frozenset(best))


def _score_rows(methods: list[Method], keys: Iterable[str]) -> list[list[str]]:
    """The name of each method and its scores; ``metric:j`` is the metric of one response."""
    cells = [
        measured_all(key.partition(":")[0], [m.scores.get(key) for m in methods]) for key in keys
    ]
    return [[visible(m.name), *row] for m, *row in zip(methods, *cells, strict=True)]


def _of_some_splits(methods: list[Method], metrics: Metrics) -> str:
    """Which means are over some splits only.

    A method may have failed on the others, or a score that needs every class is undefined there.
    """
    found = []
    for method in methods:
        n, failed = len(next(iter(method.scores.values())).values), len(method.failures)
        found += [f"{visible(method.name)} {n - failed} of {n}"] if 0 < failed < n else []
    for key, (words, _) in metrics.items():
        whole = [m.scores[key].values for m in methods if key in m.scores and not m.failures]
        known = min((sum(v is not None for v in values) for values in whole), default=0)
        if whole and 0 < known < len(whole[0]):
            found.append(f"{words} {known} of {len(whole[0])}")
    return f" Means over fewer splits: {', '.join(found)}." if found else ""


def paired(run: Run) -> Table:
    """How far the best is ahead of the others, on the same splits."""
    rows = [[visible(method.name), *gap.cells()] for method, gap in w.behind_the_best(run)]
    best = visible(w.ranked(run)[0].name) if rows else ""
    title = f"Lead of {best} in {w.main_words(run)}"
    columns = ["over", "difference", "95 % interval", "clear"]
    note = "Mean over the splits; intervals allow for training samples that splits share."
    return Table(title, columns, rows, note=note)


def responses(run: Run) -> Table:
    """Scores of every response, for methods that predict numbers."""
    if run.data.kind != "numbers" or run.data.n_labels < 2:
        return Table("Scores by response", [], [])
    rows = [
        [visible(label.name), *row]
        for j, label in enumerate(run.data.labels)
        for row in _score_rows(w.scored(run), [f"{key}:{j}" for key in NUMBER_METRICS])
    ]
    columns = ["response", "method", *(words for words, _ in NUMBER_METRICS.values())]
    return Table("Scores by response", columns, rows, n_text=2)


def _best(methods: list[Method], key: str, metrics: Metrics) -> list[int]:
    means = [m.scores[key].mean if key in m.scores and not m.failures else None for m in methods]
    found = [value for value in means if value is not None]
    if len(found) < 2:
        return []
    best, digits = max(found) if metrics[key][1] else min(found), decimals(key, found)
    same = round(best, digits)
    return [i for i, v in enumerate(means) if v is not None and round(v, digits) == same]


def times(run: Run) -> Table:
    kinds = list(dict.fromkeys(kind for m in run.methods for kind in m.seconds))
    rows = [
        [visible(m.name), *(seconds(m.seconds.get(kind)) for kind in kinds)] for m in w.ranked(run)
    ]
    return Table("Mean time per split", ["method", *kinds], rows)


def failures(run: Run) -> Table:
    found: dict[tuple[str, str], list[str]] = {}
    for m in run.methods:
        for failure in m.failures:
            found.setdefault((m.name, failure.error), []).append(f"{failure.split + 1}")
    rows = [
        [visible(name), ", ".join(splits), visible(error, 300)]
        for (name, error), splits in found.items()
    ]
    return Table("Methods that failed", ["method", "splits", "reason"], rows, n_text=3)


def warnings(run: Run) -> Table:
    rows = [[visible(m.name), visible(text, 300)] for m in run.methods for text in m.warnings]
    return Table("Warnings", ["method", "warning"], rows, n_text=2)


def data_facts(run: Run) -> Table:
    d, found = run.data, w.sizes(run)
    found["stored as"] = f"{'sparse' if d.sparse else 'dense'} {visible(d.dtype)}"
    found["entries not zero"] = f"{d.density:.2%}"
    if d.kind != "numbers":
        found["labels per sample"] = f"{d.cardinality:.2f}"
        found["samples without a label"] = f"{d.unlabelled:,}"
    found["fingerprint"] = visible(d.fingerprint)
    return facts_table("Data", found)


def label_counts(run: Run) -> Table:
    methods = [m for m in w.ranked(run) if m.roc]
    aucs = [{curve.label: curve.auc for curve in m.roc} for m in methods]
    shown = sorted(run.data.shown, key=lambda j: -run.data.labels[j].count)
    rows = []
    for j in shown:
        label, areas = run.data.labels[j], (number(auc.get(j)) for auc in aucs)
        rows.append([visible(label.name), f"{label.count:,}", *areas])
    columns = ["label", "samples", *(f"AUC {visible(m.name)}" for m in methods)]
    return Table("AUC by label", columns, rows, note=w.most_frequent(run, len(shown)).strip())


def co_occurrence(run: Run) -> Table:
    k = len(run.data.shown)
    C = np.array(run.data.co_occurrence, dtype=int).reshape(k, k)
    rows = [[*names, f"{C[pair]:,}"] for names, pair in _largest(run, np.triu(C, 1))]
    return Table("Labels that occur together", ["label", "and", "samples"], rows, n_text=2)


def _largest(run: Run, counts: np.ndarray) -> list[tuple[list[str], tuple[int, int]]]:
    """The labels and places of the largest counts of a table, without zeros."""
    names = [visible(run.data.labels[j].name) for j in run.data.shown]
    order = np.argsort(-counts, axis=None, kind="stable")[:_MOST_PAIRS]
    places = zip(*np.unravel_index(order, counts.shape), strict=True)
    return [([names[a], names[b]], (a, b)) for a, b in places if counts[a, b]]


def label_sets(run: Run) -> Table:
    rows = [
        [", ".join(visible(run.data.labels[j].name, 30) for j in s.labels), f"{s.count:,}"]
        for s in run.data.hypergraph.sets[:_MOST_PAIRS]
    ]
    return Table("Most frequent label sets", ["labels", "samples"], rows)


def solver_facts(run: Run) -> Table:
    """How the model of the first split was solved, why in this way, and how accurately."""
    rows = []
    for m in run.methods:
        if m.model is None or m.model.solved is None:
            continue
        s = m.model.solved
        words = [visible(m.name), visible(s.solver), visible(s.regression), visible(s.reason, 300)]
        sizes = [short(m.model.alpha), str(m.model.n_components)]
        errors = [short(value) for value in (s.residual, s.orthogonality, s.condition)]
        steps = f"{s.n_iter:,}" if s.n_iter else number(None)
        state = "yes" if s.converged else "no"
        state += "" if s.equivalent else "; a model of its own"
        rows.append([*words, *sizes, *errors, steps, state])
    columns = ["method", "solver", "regression", "why", "alpha", "components", "residual"]
    columns += ["max |W'BW - I|", "condition", "iterations", "converged"]
    return Table("How it was solved", columns, rows, n_text=4)


def eigenvalues(run: Run, limit: int = 10) -> Table:
    rows = [
        [visible(m.name), *(short(v) for v in m.model.eigenvalues[:limit])]
        for m in w.ranked(run)
        if m.model and m.model.eigenvalues
    ]
    width = max(map(len, rows), default=1)
    rows = [row + [""] * (width - len(row)) for row in rows]
    return Table("Eigenvalues", ["method", *(str(i) for i in range(1, width))], rows)


def alphas(run: Run) -> Table:
    """Score of every alpha in the inner cross-validation."""
    searches = [(visible(m.name), m.alpha) for m in w.ranked(run) if m.alpha]
    tried = sorted({alpha for _, search in searches for alpha in search.alphas})
    rows, at_edge = [], []
    for name, search in searches:
        chosen = [a for a in search.chosen if a is not None]
        often = ", ".join(f"{a:g} ({chosen.count(a)}x)" for a in sorted(set(chosen)))
        scores = dict(zip(search.alphas, search.mean, strict=True))
        rows.append([name, *(number(scores.get(alpha)) for alpha in tried), often])
        at_edge += [name] if {search.alphas[0], search.alphas[-1]} & set(chosen) else []
    note = f"An end of the grid was chosen for {', '.join(at_edge)}: a wider grid may be better."
    columns = ["method", *(f"{a:g}" for a in tried), "chosen"]
    known = metrics_of(run.data.kind)
    words = known.get(run.protocol.alpha_score, (run.protocol.alpha_score, True))[0]
    return Table(f"Alpha against {visible(words)}", columns, rows, note=note * bool(at_edge))


def top_features(method: Method, limit: int = 5) -> Table:
    """The features with the greatest effect on the first component."""
    first = method.model.components[:1] if method.model else []
    rows = [[visible(f.name, 40), f"{f.weight:+.3g}"] for part in first for f in part[:limit]]
    title = f"Top features, {visible(method.name)}: component 1"
    return Table(title, ["feature", "weight"], rows)


def environment(run: Run) -> Table:
    found = {visible(name): visible(version) for name, version in run.environment.items()}
    return facts_table("Environment", {**found, "random state": str(run.protocol.seed)})


# Rows of a table that a page can hold without becoming slow, and pairs that a reader looks at.
_MOST_ROWS, _MOST_PAIRS = 300, 15


def by_label(run: Run, method: Method) -> Table:
    word, known = w.label_word(run), {item.label: item for item in method.labels}
    most = sorted(known, key=lambda j: -run.data.labels[j].count)[:_MOST_ROWS]
    rows = []
    for j in w.in_order(run, most):
        s = known[j]
        cells = [s.f1, s.precision, s.recall, s.auc, s.average_precision]
        rows.append([visible(run.data.labels[j].name), *map(number, cells), f"{s.support:,}"])
    note = (
        f"{w.most_frequent(run, len(most))}F1, precision and recall from counts over all splits; "
        "AUC and average precision are means over the splits; samples: held out, over all splits."
    )
    columns = [word, "F1", "precision", "recall", "AUC", "average precision", "samples"]
    return Table(f"By {word}, {visible(method.name)}", columns, rows, note=note)


def confusions(run: Run, method: Method) -> Table:
    C = np.array(method.confusion, dtype=int)
    rows = []
    for names, (a, b) in _largest(run, C - np.diag(np.diag(C))):
        rows.append([*names, f"{C[a, b]:,}", f"{C[a, b] / C[a].sum():.1%}"])
    columns = ["class", "taken for", "samples", "of the class"]
    return Table(f"Confusions, {visible(method.name)}", columns, rows, n_text=2)


def worst(run: Run, method: Method) -> Table:
    name = [visible(label.name, 30) for label in run.data.labels]
    title, before = f"Worst samples, {visible(method.name)}", run.protocol.test_begins
    note = "Rows are counted from 1, without the header; samples count when they are held out."
    if before:
        note = "Rows are those of the test file, counted from 1, without the header."
    numbers, rows = run.data.kind == "numbers", []
    columns = ["row", "response", "observed", "predicted", "error / deviation"]
    if not numbers:
        words = "score missed by" if run.data.kind == "classes" else "wrong labels"
        columns = ["row", "truth", "predicted", words]
    for each in method.worst:
        truth, told = ([name[j] for j in found] for found in (each.truth, each.told))
        cells = [listed(names, 6, str) or "none" for names in (truth, told)]
        if numbers:
            cells = [*truth[:1], short(each.observed), short(each.predicted)]
        if truth or not numbers:
            rows.append([str(each.row + 1 - before), *cells, short(each.loss)])
    return Table(title, columns, rows, n_text=2 if numbers else 3, note=note)


def columns(run: Run) -> Table:
    rows = []
    for c in run.data.columns:
        values = [short(v) for v in (c.mean, c.std, c.low, c.high)]
        rows.append([visible(c.name, 40), *values, f"{c.missing:.1%}", f"{c.zeros:.1%}"])
    note = f"The first {len(rows)} of {run.data.n_features:,} columns."
    titles = ["column", "mean", "deviation", "lowest", "highest", "missing", "zeros"]
    return Table("Columns", titles, rows, note=note * (len(rows) < run.data.n_features))


def correlations(run: Run, method: Method) -> Table:
    """Which labels the components separate."""
    model = method.model
    if model is None or not model.label_correlations:
        return Table("", [], [])
    at = {j: i for i, j in enumerate(model.correlated)}
    rows = [
        [visible(run.data.labels[j].name), *(number(c[at[j]], 2) for c in model.label_correlations)]
        for j in w.in_order(run, model.correlated)
    ]
    title = f"Correlations of {w.label_word(run)} and component, {visible(method.name)}"
    return _by_component(title, w.label_word(run), rows)


def loadings(method: Method) -> Table:
    rows = [
        [visible(item.name, 40), *(number(r, 2) for r in item.correlations)]
        for item in (method.model.loadings if method.model else [])
    ]
    return _by_component(f"Correlations of features, {visible(method.name)}", "feature", rows)


def _by_component(title: str, what: str, rows: list[list[str]]) -> Table:
    width = max((len(row) for row in rows), default=1)
    return Table(title, [what, *(f"component {i}" for i in range(1, width))], rows)


def by_components(run: Run) -> Table:
    """The main score with fewer components."""
    drawn = [(m, m.by_components) for m in w.ranked(run) if m.by_components]
    found = [dict(zip(scores.components, scores.mean, strict=True)) for _, scores in drawn]
    steps = sorted({step for scores in found for step in scores})
    rows = [
        [visible(m.name), *("" if step not in scores else number(scores[step]) for step in steps)]
        for (m, _), scores in zip(drawn, found, strict=True)
    ]
    title = f"{w.main_words(run)} with the first components"
    return Table(title, ["method", *map(str, steps)], rows)
