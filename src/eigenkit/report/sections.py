"""The body of the page, section by section. Works without scripts: tables say it all."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from eigenkit.evaluation.metrics import metrics_of
from eigenkit.record import Method, Run
from eigenkit.report import tables
from eigenkit.report.tables import Table
from eigenkit.report.words import (
    count,
    drawn_sentence,
    headline,
    main_score,
    protocol_sentence,
    ranked,
    visible,
)


def figure_names(run: Run) -> dict[str, Any]:
    """What the script needs beside the record: clean names, and the order of the methods."""
    order = [run.methods.index(method) for method in ranked(run)]
    return {
        "labels": [visible(label.name, 28) for label in run.data.labels],
        "methods": [visible(method.name, 28) for method in run.methods],
        "order": order,
        "metrics": {
            key: {"words": words, "up": up}
            for key, (words, up) in metrics_of(run.data.kind).items()
        },
    }


def body(run: Run) -> str:
    """Header, sections, footer."""
    parts = [
        ("result", "Comparison", _comparison(run)),
        ("projection", "Projection", _projection(run)),
        ("spectrum", "Eigenvalues", _spectrum(run)),
        ("alpha", "Choice of alpha", _alpha(run)),
        ("roc", "ROC curves", _roc(run)),
        ("labels", "Labels", _labels(run)),
        ("features", "Top features", _features(run)),
        ("solver", "How it was solved", _solver(run)),
        ("repeat", "Repeat this run", _repeat(run)),
    ]
    there = [part for part in parts if part[2]]
    links = "".join(f'<li><a href="#{key}">{title}</a></li>' for key, title, _ in there)
    sections = "\n".join(
        f'<section id="{key}" aria-labelledby="{key}-title">\n'
        f'<h2 id="{key}-title">{title}</h2>\n{content}\n</section>'
        for key, title, content in there
    )
    return f"""<a class="skip" href="#result">Skip to the result</a>
{_header(run)}
<nav aria-label="Sections"><ul>{links}</ul></nav>
<main>
<noscript><p class="notice">The figures need JavaScript; every number is also in a table.</p>
</noscript>
{sections}
</main>
<footer><p>Written by eigenkit. This file holds all that it shows and loads nothing.</p></footer>"""


def _header(run: Run) -> str:
    d = run.data
    kind = "class" if d.kind == "classes" else "label"
    labels = "classes" if kind == "class" else "labels"
    facts = {
        "samples": f"{d.n_samples:,}",
        "features": f"{d.n_features:,}",
        labels: f"{d.n_labels:,}",
        "labels per sample": f"{d.cardinality:.2f}",
        "entries not zero": f"{d.density:.1%}" if d.density >= 0.001 else f"{d.density:.3%}",
        "splits": f"{run.protocol.n_splits}",
    }
    cells = "".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in facts.items())
    return f"""<header>
<div class="bar"><p class="brand">eigenkit</p>
<button type="button" id="theme" hidden>Dark</button></div>
<h1>{escape(visible(d.name))}</h1>
<p class="lead">{escape(headline(run))}</p>
<p class="how">{escape(protocol_sentence(run))}</p>
<dl class="facts">{cells}</dl>
</header>"""


# -- pieces ----------------------------------------------------------------------------


def table_html(table: Table) -> str:
    """A table in a frame that scrolls by itself on a narrow screen."""
    if not table.rows:
        return ""
    head = ""
    if any(table.columns):
        cells = "".join(
            f'<th scope="col"{_side(i, table)}>{escape(c)}</th>'
            for i, c in enumerate(table.columns)
        )
        head = f"<thead><tr>{cells}</tr></thead>"
    rows = "".join(f"<tr>{_row(i, row, table)}</tr>" for i, row in enumerate(table.rows))
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(table.title)}">'
        f"<table><caption>{escape(table.title)}</caption>{head}<tbody>{rows}</tbody></table>"
        f"</div>{note}"
    )


def _side(column: int, table: Table) -> str:
    return "" if column < table.n_text else ' class="num"'


def _row(i: int, row: list[str], table: Table) -> str:
    cells = [f'<th scope="row">{escape(row[0])}</th>']
    for j, cell in enumerate(row[1:], start=1):
        text = f"<strong>{escape(cell)}</strong>" if (i, j) in table.strong else escape(cell)
        cells.append(f"<td{_side(j, table)}>{text}</td>")
    return "".join(cells)


def _figure(key: str, alt: str, caption: str = "") -> str:
    words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return (
        f'<figure><div class="plot" id="plot-{key}" role="img" aria-label="{escape(alt)}"></div>'
        f"{words}</figure>"
    )


def _numbers(*shown: Table) -> str:
    inside = "".join(table_html(table) for table in shown)
    return f"<details><summary>The numbers</summary>{inside}</details>" if inside else ""


def _select(key: str, words: str, options: Iterable[tuple[str, str]]) -> str:
    items = "".join(f'<option value="{escape(v)}">{escape(text)}</option>' for v, text in options)
    return f'<label class="field">{escape(words)} <select id="{key}">{items}</select></label>'


def _radios(name: str, words: str, options: list[tuple[str, str]]) -> str:
    items = "".join(
        f'<label><input type="radio" name="{name}" value="{value}"{" checked" if not i else ""}>'
        f"<span>{text}</span></label>"
        for i, (value, text) in enumerate(options)
    )
    return f'<fieldset class="radios"><legend>{words}</legend>{items}</fieldset>'


def _controls(*fields: str) -> str:
    return f'<div class="controls" hidden>{"".join(fields)}</div>'


def _with_index(run: Run, methods: list[Method]) -> list[tuple[str, str]]:
    return [(str(run.methods.index(m)), visible(m.name, 40)) for m in methods]


def _methods_first(run: Run) -> list[Method]:
    """The best first, but plain baselines after the methods."""
    return sorted(ranked(run), key=lambda method: method.baseline)


# -- sections --------------------------------------------------------------------------


def _comparison(run: Run) -> str:
    metrics = _select(
        "metric", "Metric", [(k, words) for k, (words, _) in metrics_of(run.data.kind).items()]
    )
    done = any(main_score(run, method) is not None for method in run.methods)
    alt = f"Scores of {count(len(run.methods), 'method')} with error bars, and their times."
    caption = (
        "Large marks: mean over the splits, with one standard deviation; small marks: single "
        "splits. On wide screens, right: time to fit. Open marks are plain baselines."
    )
    figure = _controls(metrics) + _figure("comparison", alt, caption) if done else ""
    told = table_html(tables.failures(run))
    return figure + told + table_html(tables.turned(tables.comparison(run))) + _more(run)


def _more(run: Run) -> str:
    inside = table_html(tables.times(run)) + table_html(tables.warnings(run))
    return f"<details><summary>Times and warnings</summary>{inside}</details>"


def _projection(run: Run) -> str:
    drawn = [m for m in _methods_first(run) if m.model and m.model.coordinates]
    if not drawn:
        return ""
    fields = _controls(
        _select("scatter-method", "Method", _with_index(run, drawn)),
        _radios("dimensions", "Dimensions", [("2", "2D"), ("3", "3D")]),
        _radios("part", "Samples", [("all", "all"), ("test", "held out"), ("train", "training")]),
    )
    word = "class" if run.data.kind == "classes" else "label"
    caption = (
        f"{drawn_sentence(run)} The projection was learned on the training part of the first "
        "split; strong marks are held-out samples, faint ones training samples."
    )
    if word == "label":
        caption += " A sample with several of the chosen labels takes the colour of the rarest."
    boxes = "".join(_box(run, j) for j in run.data.shown)
    chosen = (
        f'<fieldset class="chips controls" id="chips" hidden><legend>Coloured by {word}</legend>'
        f"{boxes}</fieldset>"
    )
    alt = f"Scatter of the samples along the first components, coloured by {word}."
    return fields + chosen + _figure("scatter", alt, caption)


def _box(run: Run, j: int) -> str:
    label = run.data.labels[j]
    return (
        f'<label><input type="checkbox" value="{j}"><span>{escape(visible(label.name, 28))} '
        f"<small>{label.count:,}</small></span></label>"
    )


def _spectrum(run: Run) -> str:
    if not any(m.model and m.model.eigenvalues for m in run.methods):
        return ""
    alt = "Eigenvalues of every method in decreasing order."
    words = "Eigenvalues of the pencil by component, for the model of the first split."
    scale = _radios("scale", "Scale", [("first", "relative to the first"), ("raw", "as they are")])
    return _controls(scale) + _figure("scree", alt, words) + _numbers(tables.eigenvalues(run))


def _alpha(run: Run) -> str:
    if not any(m.alpha for m in run.methods):
        return ""
    alt = "Score of the inner cross-validation against alpha, for every method."
    words = (
        "Mean over inner folds and splits; the larger marks are the values that were chosen, "
        "once or more often."
    )
    table = tables.alphas(run)
    caption = f"{words} {table.note}".strip()
    return _figure("alpha", alt, caption) + _numbers(table)


def _roc(run: Run) -> str:
    drawn = [m for m in ranked(run) if m.roc]
    if not drawn:
        return ""
    views = [(f"m{i}", f"all labels, {name}") for i, name in _with_index(run, drawn)]
    names = run.data.labels
    views += [(f"l{j}", f"all methods, {visible(names[j].name, 40)}") for j in run.data.shown]
    alt = "ROC curves, averaged over the splits."
    words = "Averaged over the splits at equal false positive rates; the diagonal is chance."
    fields = _controls(_select("roc-view", "Show", views))
    return fields + _figure("roc", alt, words) + _numbers(tables.label_counts(run))


def _labels(run: Run) -> str:
    d = run.data
    shown = len(d.shown)
    many = f"The {shown} most frequent of {d.n_labels}. " if shown < d.n_labels else ""
    figure = _figure("counts", "Number of samples per label.", f"{many}Samples per label.")
    if d.kind == "classes":
        text = "<p>Every sample carries exactly one class, so no two occur together.</p>"
        return figure + text + _numbers(tables.label_counts(run))
    heat = _figure(
        "cooccurrence",
        "Heat map: how often the label of the column occurs with the label of the row.",
        "Share of the samples with the label of the row that also carry that of the column.",
    )
    return figure + heat + _graph(run) + _numbers(tables.co_occurrence(run), tables.label_sets(run))


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
    return _figure("hypergraph", "Labels joined by the label sets that hold them.", caption)


def _features(run: Run) -> str:
    blocks = [_feature_block(m) for m in _methods_first(run) if m.model and m.model.components]
    if not blocks:
        return ""
    blocks[0] = blocks[0].replace("<details>", "<details open>", 1)
    text = (
        "<p>How far each component moves when a feature moves by one standard deviation; the "
        "sign tells in which direction.</p>"
    )
    return text + "".join(blocks)


def _feature_block(method: Method) -> str:
    assert method.model is not None
    lists = []
    for i, component in enumerate(method.model.components):
        largest = max((abs(f.weight) for f in component), default=0.0) or 1.0
        rows = "".join(
            f'<tr><th scope="row">{escape(visible(f.name, 40))}</th>'
            f'<td class="num">{f.weight:+#.2g}</td><td class="meter" aria-hidden="true">'
            f'<i class="{"down" if f.weight < 0 else "up"}" '
            f'style="width:{100 * abs(f.weight) / largest:.0f}%"></i></td></tr>'
            for f in component
        )
        lists.append(f"<table><caption>Component {i + 1}</caption><tbody>{rows}</tbody></table>")
    return (
        f"<details><summary>{escape(visible(method.name))}</summary>"
        f'<div class="columns">{"".join(lists)}</div></details>'
    )


def _solver(run: Run) -> str:
    table = table_html(tables.solver_facts(run))
    if not table:
        return ""
    text = (
        "<p>The model of the first split: which way to solve the eigenproblem was taken and why, "
        "and how well the answer fulfils its equation.</p>"
    )
    return text + table


def _repeat(run: Run) -> str:
    command = ""
    if run.command:
        text = escape(visible(run.command, 2000))
        command = f"<p>The same run again:</p><pre><code>{text}</code></pre>"
    again = "eigenkit report run.json --html report.html"
    download = (
        '<p class="controls" hidden><button type="button" id="download">Save the record as JSON'
        "</button></p>"
    )
    return (
        f"{command}<p>The same report from a saved record, without computing:</p>"
        f"<pre><code>{again}</code></pre>{download}"
        f'<div class="pair">{table_html(tables.data_facts(run))}'
        f"{table_html(tables.environment(run))}</div>"
    )
