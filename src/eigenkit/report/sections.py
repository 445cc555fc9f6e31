"""The body of the page, section by section. Without scripts, its tables hold all numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from html import escape
from typing import Any

from eigenkit.evaluation.metrics import metrics_of
from eigenkit.evaluation.record.schema import Method, Run
from eigenkit.report import html, tables, words
from eigenkit.report.cells import Table, clustered, clustered_rows, coinciding, visible
from eigenkit.shell import counted


def figure_names(run: Run) -> dict[str, Any]:
    """What the script needs besides the record: clean names, and the order of the methods."""
    metrics = metrics_of(run.data.kind)
    gaps = [(run.methods.index(method), gap) for method, gap in words.behind_the_best(run)]
    return {
        "labels": [visible(label.name, 28) for label in run.data.labels],
        "methods": [visible(method.name, 28) for method in run.methods],
        "order": [run.methods.index(method) for method in words.ranked(run)],
        "metrics": {key: {"words": name, "up": up} for key, (name, up) in metrics.items()},
        "main": words.main_metric(run),
        "differences": [{"method": i, **asdict(gap), "clear": gap.clear} for i, gap in gaps],
        "shown": words.in_order(run, run.data.shown),
        "clustered": clustered(run),
        "separation": [clustered_rows(method) for method in run.methods],
    }


def body(run: Run) -> str:
    parts = [
        ("result", "Comparison", _comparison(run)),
        ("labels", words.label_words(run).title(), _single_curves(run) + _labels(run)),
        ("confusion", "Confusions", _confusion(run)),
        ("responses", "Predicted and observed", _responses(run)),
        ("worst", "Worst samples", _worst(run)),
        ("projection", "Projection", _projection(run)),
        ("features", "Top features", _features(run)),
        ("components", "Number of components", _curves(run, "components")),
        ("spectrum", "Eigenvalues", _curves(run, "scree", _SCALE)),
        ("alpha", "Choice of alpha", _curves(run, "alpha")),
        ("columns", "Columns", _columns(run)),
        ("solver", "How it was solved", _solver(run)),
        ("repeat", "Repeat and continue", _repeat(run)),
    ]
    lines = f"""<p class="lead">{escape(words.headline(run))}</p>
<p class="how">{escape(words.protocol_sentence(run))}</p>"""
    title, skip = visible(run.data.name), ("result", "the result")
    notice = "The figures need JavaScript; every number is also in a table."
    return html.whole_body(skip, title, lines, _facts(run), parts, notice=notice)


def _facts(run: Run) -> dict[str, str]:
    d, found = run.data, words.sizes(run)
    if d.kind == "labels":
        found["labels per sample"] = f"{d.cardinality:.2f}"
    found["entries not zero"] = f"{d.density:.1%}" if d.density >= 0.001 else f"{d.density:.3%}"
    return {**found, "splits": f"{run.protocol.n_splits}"}


def _methods_first(run: Run) -> list[Method]:
    """The best first, but baselines after all others."""
    return sorted(words.ranked(run), key=lambda method: method.baseline)


def _comparison(run: Run) -> str:
    options = [(key, name) for key, (name, _) in metrics_of(run.data.kind).items()]
    metrics = html.select("metric", "Metric", options)
    alt = f"Scores of {counted(len(run.methods), 'method')} with error bars, and their times."
    caption = (
        "Large marks: mean over the splits, with one standard deviation; small marks: single "
        "splits. On wide screens, right: time to fit. Open marks are plain baselines."
    )
    drawn = html.figure("comparison", alt, caption, [metrics]) if words.scored(run) else ""
    told = html.table_html(tables.failures(run))
    scores = html.table_html(tables.comparison(run), sortable=True)
    more = html.table_html(tables.times(run)) + html.table_html(tables.warnings(run))
    return drawn + told + scores + _differences(run) + html.folded("Times and warnings", more)


def _differences(run: Run) -> str:
    table = tables.paired(run)
    if not table.rows:
        return ""
    same = coinciding(
        words.ranked(run),
        lambda m: [v for s in m.scores.values() for v in s.values],
        "On every split the scores",
    )
    caption = (
        "Differences on the same splits with 95 % intervals: methods whose interval holds 0 cannot "
        f"be told apart from the best. {same}"
    )
    alt = "Differences between the best method and the others, with intervals."
    return html.figure("differences", alt, caption.strip()) + html.table_html(table)


def _projection(run: Run) -> str:
    drawn = [m for m in _methods_first(run) if m.model and m.model.coordinates]
    if not drawn:
        return ""
    arrows = [("no", "none"), ("yes", "features")]
    parts = [("all", "all"), ("test", "held out"), ("train", "training")]
    fields = html.controls(
        _menu(run, "scatter", drawn),
        html.radios("dimensions", "Dimensions", [("2", "2D"), ("3", "3D")]),
        html.radios("part", "Samples", parts),
        html.radios("arrows", "Arrows", arrows) if any(m.model.loadings for m in drawn) else "",  # type: ignore[union-attr]
    )
    word = words.label_word(run)
    caption = (
        f"{words.drawn_sentence(run)} The projection was learned on the training part of the first "
        "split; strong marks are held-out samples, faint ones training samples."
    )
    if word == "label":
        caption += " A sample with several of the chosen labels takes the colour of the rarest."
    caption += " Arrows (a biplot) show how features correlate with the components."
    shown = ((j, run.data.labels[j]) for j in words.in_order(run, run.data.shown))
    boxes = "".join(
        f'<label><input type="checkbox" value="{j}"><span>{escape(visible(label.name, 28))} '
        f"<small>{label.count:,}</small></span></label>"
        for j, label in shown
    )
    chosen = (
        f'<fieldset class="chips controls" id="chips" hidden><legend>Coloured by {word}</legend>'
        f"{boxes}</fieldset>"
    )
    if run.data.kind == "numbers":
        chosen, caption = "", f"{caption} Colour: the first response."
    alt = f"Scatter of the samples along the first components, coloured by {word}."
    return fields + chosen + html.figure("scatter", alt, caption) + _separation(run, drawn)


# Figures with a curve for every method: what is drawn, what it shows, how to read it, its numbers.
_CURVES: dict[str, tuple[Callable[[Method], Any], str, str, Callable[[Run], Table]]] = {
    "components": (
        lambda m: m.by_components and m.by_components.mean,
        "Score on the test parts against the number of components, for every method.",
        "The score on the test parts with the first components alone: where a curve is level, "
        "further components add nothing. Do not choose by it: it is measured on the test parts.",
        tables.by_components,
    ),
    "scree": (
        lambda m: m.model and m.model.eigenvalues,
        "Eigenvalues of every method in decreasing order.",
        "Eigenvalues of the pencil by component, for the model of the first split.",
        tables.eigenvalues,
    ),
    "alpha": (
        lambda m: m.alpha and m.alpha.mean,
        "Score of the inner cross-validation against alpha, for every method.",
        "Mean over inner folds and splits; the larger marks are the values that were chosen, "
        "once or more often.",
        tables.alphas,
    ),
}


_SCALE = html.radios("scale", "Scale", [("first", "relative to the first"), ("raw", "as they are")])


def _curves(run: Run, key: str, *fields: str) -> str:
    curve, alt, text, make = _CURVES[key]
    drawn, table = [method for method in words.ranked(run) if curve(method)], make(run)
    caption = " ".join(filter(None, [text, table.note, coinciding(drawn, curve)]))
    return html.figure(key, alt, caption, fields, [table]) if drawn else ""


def _features(run: Run) -> str:
    found = []
    for m in _methods_first(run):
        if m.model and m.model.components:
            parts = {
                f"Component {i}": [(visible(f.name, 40), f.weight) for f in component]
                for i, component in enumerate(m.model.components, start=1)
            }
            found.append((visible(m.name), html.weights(parts)))
    text = html.paragraph(
        "How far each component moves when a feature changes by one standard deviation; the "
        "sign is the direction."
    )
    return text + html.folds(found) if found else ""


def _solver(run: Run) -> str:
    table = html.table_html(tables.solver_facts(run))
    text = html.paragraph(
        "The model of the first split: how the eigenproblem was solved and why in this way, and "
        "how well the solution satisfies its equation."
    )
    return text + table if table else ""


def _repeat(run: Run) -> str:
    steps = {
        "The same run again:": visible(run.command, 2000),
        words.before_fit(run): visible(run.next, 2000),
        "The same report from a saved record, without computing:": (
            "eigenkit report run.json --html report.html"
        ),
        "Several runs side by side:": "eigenkit report run.json other.json --html both.html",
    }
    told = [html.paragraph(title) + html.code(step) for title, step in steps.items() if step]
    download = (
        '<p class="controls" hidden><button type="button" id="download">Save the record as JSON'
        "</button></p>"
    )
    return (
        f'{"".join(told)}{download}<div class="pair">{html.table_html(tables.data_facts(run))}'
        f"{html.table_html(tables.environment(run))}</div>"
    )


# -- labels, classes, responses, samples and columns -------------------------------------

# More curves than this in one plot cannot be told apart.
_FEW_CURVES = 8


def _menu(run: Run, key: str, methods: list[Method]) -> str:
    return html.select(f"{key}-method", "Method", _with_index(run, methods))


def _with_index(run: Run, methods: list[Method]) -> list[tuple[str, str]]:
    return [(str(run.methods.index(m)), visible(m.name, 40)) for m in methods]


def _single_curves(run: Run) -> str:
    drawn = [m for m in words.ranked(run) if m.roc]
    if not drawn:
        return ""
    many = len(run.data.shown) > _FEW_CURVES
    word = words.label_word(run)
    views = []
    for i, name in _with_index(run, drawn):
        if many:
            views += [(f"h{i}", f"hardest and easiest, {name}"), (f"s{i}", f"each small, {name}")]
        else:
            views.append((f"m{i}", f"all {words.label_words(run)}, {name}"))
    names = run.data.labels
    shown = words.in_order(run, run.data.shown)
    views += [(f"l{j}", f"all methods, {visible(names[j].name, 40)}") for j in shown]
    kinds = [("roc", "ROC"), ("precision", "precision and recall")][: 2 if run.recall else 1]
    fields = [html.select("roc-view", "Show", views), html.radios("curve", "Curves", kinds)]
    text = (
        "ROC: averaged over the splits at equal false positive rates; the diagonal is chance. "
        "Precision: where recall first reaches a value; a horizontal line is the share of the "
        f"{word}."
    )
    same = coinciding(drawn, lambda m: [v for c in m.roc for v in c.true_positive_rate])
    alt = "Curves of sensitivity against errors, averaged over the splits."
    return html.figure("roc", alt, f"{text} {same}".strip(), fields) + _by_label(run)


def _by_label(run: Run) -> str:
    """A table for every method; that of the best is open."""
    found = html.folded_tables(
        (f"Every {words.label_word(run)}, {visible(m.name)}", tables.by_label(run, m))
        for m in words.ranked(run)
        if m.labels
    )
    return found or html.numbers(tables.label_counts(run))


def _confusion(run: Run) -> str:
    drawn = [m for m in words.ranked(run) if m.confusion]
    if not drawn:
        return ""
    caption = words.most_frequent(run, len(run.data.shown)) + (
        "Share of the held-out samples of the class of the row that were predicted to be of the "
        "class of the column, over all splits; the diagonal is correct."
    )
    alt = "Heat map of the true class against the predicted class."
    counts = [tables.confusions(run, m) for m in drawn]
    return html.figure("confusion", alt, caption, [_menu(run, "confusion", drawn)], counts)


def _responses(run: Run) -> str:
    drawn = [m for m in words.ranked(run) if m.predicted]
    if run.data.kind != "numbers" or not drawn or not run.points.observed:
        return ""
    known = len(run.points.observed[0])
    options = [(str(j), visible(run.data.labels[j].name, 40)) for j in range(known)]
    fields = [_menu(run, "response", drawn), html.select("response", "Response", options)]
    caption = (
        "Every mark is a sample that was held out when it was predicted. Left: on the diagonal the "
        "prediction is right. Right: residuals, observed less predicted; a bend or a widening "
        "shows what the method misses."
    )
    if known < run.data.n_labels:
        caption += f" The first {known} of {run.data.n_labels} responses."
    alt = "Scatter of predicted against observed values, and of residuals against predictions."
    return html.figure("responses", alt, caption, fields, [tables.responses(run)])


def _worst(run: Run) -> str:
    told = [m for m in words.ranked(run) if m.worst]
    return html.folded_tables((visible(m.name), tables.worst(run, m)) for m in told)


def _columns(run: Run) -> str:
    d = run.data
    if not d.columns:
        return ""
    text = f"Columns that do not vary: {d.n_constant:,}. With missing values: {d.n_incomplete:,}."
    table = html.table_html(tables.columns(run), sortable=True)
    return html.paragraph(text) + html.folded("Every column", table)


def _separation(run: Run, drawn: list[Method]) -> str:
    """Which labels the components separate, and which features go with them."""
    known = [m for m in drawn if m.model and m.model.label_correlations]
    if not known:
        return ""
    word = words.label_word(run)
    heat = (
        f"How a {word} and a component correlate on held-out samples: a strong colour says that "
        "the component separates it. Rows that look alike stand together."
    )
    circle = (
        f"Correlation circle: features (arrows) and {words.label_words(run)} (diamonds) by their "
        "correlations with the first two components. Close to the circle: the two components tell "
        "nearly all about it. Same direction: they rise together."
    )
    shown = [tables.correlations(run, m) for m in known] + [tables.loadings(m) for m in known]
    alt = f"Heat map of {word} against component."
    upper = html.figure("separation", alt, heat, [_menu(run, "circle", known)])
    alt = f"Correlation circle of features and {words.label_words(run)}."
    return upper + html.figure("circle", alt, circle, tables=shown)


def _labels(run: Run) -> str:
    """How often labels occur, and which occur together."""
    d = run.data
    if d.kind == "numbers":
        return ""
    word, most = words.label_word(run), words.most_frequent(run, len(d.shown))
    counts = html.figure("counts", f"Number of samples per {word}.", f"{most}Samples per {word}.")
    if d.kind == "classes":
        text = html.paragraph("Every sample carries exactly one class, so no two occur together.")
        return counts + text + html.numbers(tables.label_counts(run))
    heat = html.figure(
        "cooccurrence",
        "Heat map: how often the label of the column occurs with the label of the row.",
        "Share of the samples with the label of the row that also carry that of the column. "
        "Labels that occur together stand together.",
    )
    tabled = html.numbers(
        tables.label_counts(run), tables.co_occurrence(run), tables.label_sets(run)
    )
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
    return html.figure("hypergraph", "Labels joined by the label sets that hold them.", caption)
