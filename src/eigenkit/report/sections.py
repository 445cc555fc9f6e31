"""The body of the page, section by section. Without scripts, its tables hold all numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from html import escape
from typing import Any

import numpy as np

from eigenkit.evaluation.metrics import metrics_of
from eigenkit.evaluation.record.schema import Method, Run
from eigenkit.report import label_sections, tables
from eigenkit.report.alike import clustered, clustered_rows, coinciding
from eigenkit.report.cells import Table, visible
from eigenkit.report.pieces import (
    code,
    controls,
    figure,
    folded,
    folds,
    paragraph,
    radios,
    select,
    table_html,
    weights,
    whole_body,
)
from eigenkit.report.words import (
    before_fit,
    behind_the_best,
    drawn_sentence,
    headline,
    label_word,
    label_words,
    main_metric,
    protocol_sentence,
    ranked,
    scored,
    sizes,
)
from eigenkit.shell import counted


def figure_names(run: Run) -> dict[str, Any]:
    """What the script needs besides the record: clean names, and the order of the methods."""
    order = [run.methods.index(method) for method in ranked(run)]
    gaps = [(run.methods.index(method), gap) for method, gap in behind_the_best(run)]
    return {
        "labels": [visible(label.name, 28) for label in run.data.labels],
        "methods": [visible(method.name, 28) for method in run.methods],
        "order": order,
        "metrics": {
            key: {"words": words, "up": up}
            for key, (words, up) in metrics_of(run.data.kind).items()
        },
        "main": main_metric(run),
        "differences": [{"method": i, **asdict(gap), "clear": gap.clear} for i, gap in gaps],
        "shown": tables.in_order(run, run.data.shown),
        "clustered": clustered(run),
        "separation": [_alike_rows(method) for method in run.methods],
    }


def _alike_rows(method: Method) -> list[int]:
    """The order of the rows in a heat map of correlations, with similar ones together."""
    if method.model is None or not method.model.label_correlations:
        return []
    rows = np.array(method.model.label_correlations, dtype=float).T
    return clustered_rows(np.nan_to_num(rows))


def body(run: Run) -> str:
    """Header, sections, footer."""
    single = label_sections.curves(run) + label_sections.labels(run)
    parts = [
        ("result", "Comparison", _comparison(run)),
        ("labels", label_words(run).title(), single),
        ("confusion", "Confusions", label_sections.confusion(run)),
        ("responses", "Predicted and observed", label_sections.responses(run)),
        ("worst", "Worst samples", label_sections.worst(run)),
        ("projection", "Projection", _projection(run)),
        ("features", "Top features", _features(run)),
        ("components", "Number of components", _curves(run, "components")),
        ("spectrum", "Eigenvalues", _curves(run, "scree", _SCALE)),
        ("alpha", "Choice of alpha", _curves(run, "alpha")),
        ("columns", "Columns", label_sections.columns(run)),
        ("solver", "How it was solved", _solver(run)),
        ("repeat", "Repeat and continue", _repeat(run)),
    ]
    lines = f"""<p class="lead">{escape(headline(run))}</p>
<p class="how">{escape(protocol_sentence(run))}</p>"""
    title, skip = visible(run.data.name), ("result", "the result")
    notice = "The figures need JavaScript; every number is also in a table."
    return whole_body(skip, title, lines, _facts(run), parts, notice=notice)


def _facts(run: Run) -> dict[str, str]:
    d, found = run.data, sizes(run)
    if d.kind == "labels":
        found["labels per sample"] = f"{d.cardinality:.2f}"
    found["entries not zero"] = f"{d.density:.1%}" if d.density >= 0.001 else f"{d.density:.3%}"
    return {**found, "splits": f"{run.protocol.n_splits}"}


def _methods_first(run: Run) -> list[Method]:
    """The best first, but baselines after all others."""
    return sorted(ranked(run), key=lambda method: method.baseline)


# -- sections --------------------------------------------------------------------------


def _comparison(run: Run) -> str:
    metrics = select(
        "metric", "Metric", [(k, words) for k, (words, _) in metrics_of(run.data.kind).items()]
    )
    alt = f"Scores of {counted(len(run.methods), 'method')} with error bars, and their times."
    caption = (
        "Large marks: mean over the splits, with one standard deviation; small marks: single "
        "splits. On wide screens, right: time to fit. Open marks are plain baselines."
    )
    drawn = figure("comparison", alt, caption, [metrics]) if scored(run) else ""
    told = table_html(tables.failures(run))
    scores = table_html(tables.comparison(run), sortable=True)
    more = table_html(tables.times(run)) + table_html(tables.warnings(run))
    return drawn + told + scores + _differences(run) + folded("Times and warnings", more)


def _differences(run: Run) -> str:
    table = tables.paired(run)
    if not table.rows:
        return ""
    same = coinciding(
        ranked(run),
        lambda m: [v for s in m.scores.values() for v in s.values],
        "On every split the scores",
    )
    caption = (
        "Differences on the same splits with 95 % intervals: methods whose interval holds 0 cannot "
        f"be told apart from the best. {same}"
    )
    alt = "Differences between the best method and the others, with intervals."
    return figure("differences", alt, caption.strip()) + table_html(table)


def _projection(run: Run) -> str:
    drawn = [m for m in _methods_first(run) if m.model and m.model.coordinates]
    if not drawn:
        return ""
    arrows = [("no", "none"), ("yes", "features")]
    fields = controls(
        label_sections.menu(run, "scatter", drawn),
        radios("dimensions", "Dimensions", [("2", "2D"), ("3", "3D")]),
        radios("part", "Samples", [("all", "all"), ("test", "held out"), ("train", "training")]),
        radios("arrows", "Arrows", arrows) if any(m.model.loadings for m in drawn) else "",  # type: ignore[union-attr]
    )
    word = label_word(run)
    caption = (
        f"{drawn_sentence(run)} The projection was learned on the training part of the first "
        "split; strong marks are held-out samples, faint ones training samples."
    )
    if word == "label":
        caption += " A sample with several of the chosen labels takes the colour of the rarest."
    caption += " Arrows (a biplot) show how features correlate with the components."
    boxes = "".join(
        f'<label><input type="checkbox" value="{j}"><span>'
        f"{escape(visible(run.data.labels[j].name, 28))} "
        f"<small>{run.data.labels[j].count:,}</small></span></label>"
        for j in tables.in_order(run, run.data.shown)
    )
    chosen = (
        f'<fieldset class="chips controls" id="chips" hidden><legend>Coloured by {word}</legend>'
        f"{boxes}</fieldset>"
    )
    if run.data.kind == "numbers":
        chosen, caption = "", f"{caption} Colour: the first response."
    alt = f"Scatter of the samples along the first components, coloured by {word}."
    scatter = fields + chosen + figure("scatter", alt, caption)
    return scatter + label_sections.separation(run, drawn)


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


_SCALE = radios("scale", "Scale", [("first", "relative to the first"), ("raw", "as they are")])


def _curves(run: Run, key: str, *fields: str) -> str:
    curve, alt, words, make = _CURVES[key]
    drawn, table = [method for method in ranked(run) if curve(method)], make(run)
    caption = " ".join(filter(None, [words, table.note, coinciding(drawn, curve)]))
    return figure(key, alt, caption, fields, [table]) if drawn else ""


def _features(run: Run) -> str:
    found = []
    for m in _methods_first(run):
        if m.model and m.model.components:
            parts = {
                f"Component {i}": [(visible(f.name, 40), f.weight) for f in component]
                for i, component in enumerate(m.model.components, start=1)
            }
            found.append((visible(m.name), weights(parts)))
    text = paragraph(
        "How far each component moves when a feature changes by one standard deviation; the "
        "sign is the direction."
    )
    return text + folds(found) if found else ""


def _solver(run: Run) -> str:
    table = table_html(tables.solver_facts(run))
    text = paragraph(
        "The model of the first split: how the eigenproblem was solved and why in this way, and "
        "how well the solution satisfies its equation."
    )
    return text + table if table else ""


def _repeat(run: Run) -> str:
    steps = {
        "The same run again:": visible(run.command, 2000),
        before_fit(run): visible(run.next, 2000),
        "The same report from a saved record, without computing:": (
            "eigenkit report run.json --html report.html"
        ),
        "Several runs side by side:": "eigenkit report run.json other.json --html both.html",
    }
    told = "".join(paragraph(words) + code(command) for words, command in steps.items() if command)
    download = (
        '<p class="controls" hidden><button type="button" id="download">Save the record as JSON'
        "</button></p>"
    )
    return (
        f'{told}{download}<div class="pair">{table_html(tables.data_facts(run))}'
        f"{table_html(tables.environment(run))}</div>"
    )
