"""Sections about labels, classes, responses, samples and columns."""

from __future__ import annotations

from eigenkit.evaluation.record.schema import Method, Run
from eigenkit.report import tables
from eigenkit.report.alike import coinciding
from eigenkit.report.cells import visible
from eigenkit.report.pieces import (
    figure,
    folded,
    folded_tables,
    numbers,
    paragraph,
    radios,
    select,
    table_html,
)
from eigenkit.report.words import label_word, label_words, most_frequent, ranked

# More curves than this in one plot cannot be told apart.
FEW_CURVES = 8


def menu(run: Run, key: str, methods: list[Method]) -> str:
    """A menu of methods, by their places in the record."""
    return select(f"{key}-method", "Method", _with_index(run, methods))


def _with_index(run: Run, methods: list[Method]) -> list[tuple[str, str]]:
    return [(str(run.methods.index(m)), visible(m.name, 40)) for m in methods]


def curves(run: Run) -> str:
    """ROC, and precision against recall."""
    drawn = [m for m in ranked(run) if m.roc]
    if not drawn:
        return ""
    many = len(run.data.shown) > FEW_CURVES
    word = label_word(run)
    views = []
    for i, name in _with_index(run, drawn):
        if many:
            views += [(f"h{i}", f"hardest and easiest, {name}"), (f"s{i}", f"each small, {name}")]
        else:
            views.append((f"m{i}", f"all {label_words(run)}, {name}"))
    names = run.data.labels
    shown = tables.in_order(run, run.data.shown)
    views += [(f"l{j}", f"all methods, {visible(names[j].name, 40)}") for j in shown]
    kinds = [("roc", "ROC")]
    if run.recall:
        kinds.append(("precision", "precision and recall"))
    fields = [select("roc-view", "Show", views), radios("curve", "Curves", kinds)]
    words = (
        "ROC: averaged over the splits at equal false positive rates; the diagonal is chance. "
        "Precision: where recall first reaches a value; a horizontal line is the share of the "
        f"{word}."
    )
    same = coinciding(drawn, lambda m: [v for c in m.roc for v in c.true_positive_rate])
    alt = "Curves of sensitivity against errors, averaged over the splits."
    return figure("roc", alt, f"{words} {same}".strip(), fields) + _by_label(run)


def _by_label(run: Run) -> str:
    """A table for every method; that of the best is open."""
    found = folded_tables(
        (f"Every {label_word(run)}, {visible(m.name)}", tables.by_label(run, m))
        for m in ranked(run)
        if m.labels
    )
    return found or numbers(tables.label_counts(run))


def confusion(run: Run) -> str:
    """Which classes are mistaken for which."""
    drawn = [m for m in ranked(run) if m.confusion]
    if not drawn:
        return ""
    caption = most_frequent(run, len(run.data.shown)) + (
        "Share of the held-out samples of the class of the row that were predicted to be of the "
        "class of the column, over all splits; the diagonal is correct."
    )
    alt = "Heat map of the true class against the predicted class."
    counts = [tables.confusions(run, m) for m in drawn]
    return figure("confusion", alt, caption, [menu(run, "confusion", drawn)], counts)


def responses(run: Run) -> str:
    """Predicted against observed, and residuals."""
    drawn = [m for m in ranked(run) if m.predicted]
    if run.data.kind != "numbers" or not drawn or not run.points.observed:
        return ""
    known = len(run.points.observed[0])
    options = [(str(j), visible(run.data.labels[j].name, 40)) for j in range(known)]
    fields = [menu(run, "response", drawn), select("response", "Response", options)]
    caption = (
        "Every mark is a sample that was held out when it was predicted. Left: on the diagonal the "
        "prediction is right. Right: residuals, observed less predicted; a bend or a widening "
        "shows what the method misses."
    )
    if known < run.data.n_labels:
        caption += f" The first {known} of {run.data.n_labels} responses."
    alt = "Scatter of predicted against observed values, and of residuals against predictions."
    return figure("responses", alt, caption, fields, [tables.responses(run)])


def worst(run: Run) -> str:
    """The samples to look at."""
    told = [m for m in ranked(run) if m.worst]
    return folded_tables((visible(m.name), tables.worst(run, m)) for m in told)


def columns(run: Run) -> str:
    """The features at a glance."""
    d = run.data
    if not d.columns:
        return ""
    text = f"Columns that do not vary: {d.n_constant:,}. With missing values: {d.n_incomplete:,}."
    table = table_html(tables.columns(run), sortable=True)
    return paragraph(text) + folded("Every column", table)


def separation(run: Run, drawn: list[Method]) -> str:
    """Which labels the components separate, and which features go with them."""
    known = [m for m in drawn if m.model and m.model.label_correlations]
    if not known:
        return ""
    word = label_word(run)
    heat = (
        f"How a {word} and a component correlate on held-out samples: a strong colour says that "
        "the component separates it. Rows that look alike stand together."
    )
    circle = (
        "Correlation circle: features (arrows) and " + label_words(run) + " (diamonds) by their "
        "correlations with the first two components. Close to the circle: the two components tell "
        "nearly all about it. Same direction: they rise together."
    )
    shown = [tables.correlations(run, m) for m in known] + [tables.loadings(m) for m in known]
    alt = f"Heat map of {word} against component."
    upper = figure("separation", alt, heat, [menu(run, "circle", known)])
    alt = f"Correlation circle of features and {label_words(run)}."
    return upper + figure("circle", alt, circle, tables=shown)


def labels(run: Run) -> str:
    """How often labels occur, and which occur together."""
    d = run.data
    if d.kind == "numbers":
        return ""
    word, most = label_word(run), most_frequent(run, len(d.shown))
    counts = figure("counts", f"Number of samples per {word}.", f"{most}Samples per {word}.")
    if d.kind == "classes":
        text = paragraph("Every sample carries exactly one class, so no two occur together.")
        return counts + text + numbers(tables.label_counts(run))
    heat = figure(
        "cooccurrence",
        "Heat map: how often the label of the column occurs with the label of the row.",
        "Share of the samples with the label of the row that also carry that of the column. "
        "Labels that occur together stand together.",
    )
    tabled = numbers(tables.label_counts(run), tables.co_occurrence(run), tables.label_sets(run))
    return counts + heat + _graph(run) + tabled


def _graph(run: Run) -> str:
    graph = run.data.hypergraph
    if not graph.sets:
        return ""
    drawn = f"All {graph.n_sets} sets of two labels or more are drawn."
    if len(graph.sets) < graph.n_sets:
        drawn = f"Of {graph.n_sets} sets of two labels or more the {len(graph.sets)} most frequent "
        drawn += "are drawn."
    caption = (
        f"The label hypergraph: every small mark is a label set, tied to its labels. {drawn} "
        "Sizes and widths grow with the number of samples."
    )
    return figure("hypergraph", "Labels joined by the label sets that hold them.", caption)
