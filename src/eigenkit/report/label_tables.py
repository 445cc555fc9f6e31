"""Tables of single labels, samples, columns and components."""

from __future__ import annotations

from eigenkit.record.schema import Method, Run
from eigenkit.report.alike import natural
from eigenkit.report.differences import main_words, ranked
from eigenkit.report.tables import Table
from eigenkit.report.words import label_word, number, short, visible

# Rows of a table that a page can hold without becoming slow.
_MOST_ROWS = 300


def in_order(run: Run, labels: list[int]) -> list[int]:
    """Labels in natural order of their names."""
    return [labels[i] for i in natural([run.data.labels[j].name for j in labels])]


def by_label(run: Run, method: Method) -> Table:
    """How well a method predicts every label."""
    known = {item.label: item for item in method.labels}
    most = sorted(known, key=lambda j: -run.data.labels[j].count)[:_MOST_ROWS]
    rows = []
    for j in in_order(run, most):
        s = known[j]
        cells = [s.f1, s.precision, s.recall, s.auc, s.average_precision]
        rows.append([visible(run.data.labels[j].name), *map(number, cells), f"{s.support:,}"])
    note = "F1, precision and recall from counts over all splits; AUC and average precision are "
    note += "means over the splits; samples: held out, over all splits."
    if len(most) < len(known):
        note += f" The {len(most)} most frequent of {len(known)}."
    columns = [label_word(run), "F1", "precision", "recall", "AUC", "average precision", "samples"]
    title = f"By {label_word(run)}, {visible(method.name)}"
    return Table(title, columns, rows, note=note)


def confusions(run: Run, method: Method, limit: int = 15) -> Table:
    """The pairs of classes that are most often taken for each other."""
    pairs = [
        (n, a, b)
        for a, row in enumerate(method.confusion)
        for b, n in enumerate(row)
        if a != b and n
    ]
    names = [visible(run.data.labels[j].name) for j in run.data.shown]
    rows = []
    for n, a, b in sorted(pairs, key=lambda pair: (-pair[0], pair[1:]))[:limit]:
        total = sum(method.confusion[a])
        rows.append([names[a], names[b], f"{n:,}", f"{n / total:.1%}"])
    columns = ["class", "taken for", "samples", "of the class"]
    return Table(f"Confusions, {visible(method.name)}", columns, rows, n_text=2)


def worst(run: Run, method: Method) -> Table:
    """The held-out samples that a method gets most wrong."""
    name = [visible(label.name, 30) for label in run.data.labels]
    title, before = f"Worst samples, {visible(method.name)}", run.protocol.test_begins
    note = "Rows are counted from 1, without the header; samples count when they are held out."
    if before:
        note = "Rows are those of the test file, counted from 1, without the header."
    if run.data.kind == "numbers":
        columns = ["row", "response", "observed", "predicted", "error / deviation"]
        cells = [
            [name[w.truth[0]], short(w.observed), short(w.predicted)] if w.truth else []
            for w in method.worst
        ]
    else:
        words = "score missed by" if run.data.kind == "classes" else "wrong labels"
        columns = ["row", "truth", "predicted", words]
        cells = [[_some(name, w.truth), _some(name, w.told)] for w in method.worst]
    rows = [
        [str(w.row + 1 - before), *found, short(w.loss)]
        for w, found in zip(method.worst, cells, strict=True)
        if found
    ]
    return Table(title, columns, rows, n_text=2 if run.data.kind == "numbers" else 3, note=note)


def _some(names: list[str], labels: list[int], most: int = 6) -> str:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return (", ".join(names[j] for j in labels[:most]) or "none") + more


def columns(run: Run) -> Table:
    """The features at a glance."""
    rows = [
        [
            visible(c.name, 40),
            *(short(v) for v in (c.mean, c.std, c.low, c.high)),
            f"{c.missing:.1%}",
            f"{c.zeros:.1%}",
        ]
        for c in run.data.columns
    ]
    note = ""
    if len(rows) < run.data.n_features:
        note = f"The first {len(rows)} of {run.data.n_features:,} columns."
    titles = ["column", "mean", "deviation", "lowest", "highest", "missing", "zeros"]
    return Table("Columns", titles, rows, note=note)


def correlations(run: Run, method: Method) -> Table:
    """Which label a component separates."""
    model = method.model
    if model is None or not model.label_correlations:
        return Table("", [], [])
    at = {j: i for i, j in enumerate(model.correlated)}
    rows = [
        [visible(run.data.labels[j].name), *(number(c[at[j]], 2) for c in model.label_correlations)]
        for j in in_order(run, model.correlated)
    ]
    title = f"Correlations of {label_word(run)} and component, {visible(method.name)}"
    return _by_component(title, label_word(run), rows)


def loadings(method: Method) -> Table:
    """Features and their correlations with the first components."""
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
    drawn = [(m, m.by_components) for m in ranked(run) if m.by_components]
    found = [dict(zip(scores.components, scores.mean, strict=True)) for _, scores in drawn]
    steps = sorted({step for scores in found for step in scores})
    rows = [
        [visible(m.name), *("" if step not in scores else number(scores[step]) for step in steps)]
        for (m, _), scores in zip(drawn, found, strict=True)
    ]
    title = f"{main_words(run)} with the first components"
    return Table(title, ["method", *map(str, steps)], rows)
