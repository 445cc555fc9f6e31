"""Pages without scripts: several runs side by side, and a model."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from eigenkit.evaluation.metrics import metrics_of
from eigenkit.evaluation.record import from_dict
from eigenkit.evaluation.record.schema import Method, Run, Score
from eigenkit.report import html
from eigenkit.report.cells import Table, facts_table, listed, measured_all, text_of_tables, visible
from eigenkit.report.words import headline, interval, main_metric, main_words
from eigenkit.shell import check_count


def compare_text(records: Mapping[str, dict[str, Any]], *, width: int = 100) -> str:
    """Several runs side by side for a terminal.

    Parameters
    ----------
    records : dict of name to record
        Differences are shown to the first.
    width : int
        Columns of the terminal.

    Returns
    -------
    str
    """
    runs = _Runs(records)
    lines = [line for sentence in _told(runs) for line in (sentence, "")]
    return text_of_tables(lines, _tables(runs), check_count("width", width))


def compare_html(records: Mapping[str, dict[str, Any]]) -> str:
    """Several runs side by side as one HTML page without scripts.

    Parameters
    ----------
    records : dict of name to record
        Differences are shown to the first.

    Returns
    -------
    str
    """
    runs = _Runs(records)
    tables = _tables(runs)
    lines = "".join(f'<p class="how">{escape(line)}</p>' for line in _told(runs))
    numbers = {"runs": str(len(runs.runs)), "methods": str(len(runs.methods))}
    parts = [
        ("result", "Scores", _picture(runs) + "".join(html.table_html(t) for t in tables[:-1])),
        ("runs", "The runs", html.table_html(tables[-1])),
    ]
    title = listed(runs.names)
    inside = html.whole_body(("result", "the result"), title, lines, numbers, parts)
    return html.document(f"{title}: eigenkit runs", inside, html.policy())


class _Runs:
    def __init__(self, records: Mapping[str, dict[str, Any]]) -> None:
        if len(records) < 2:
            raise ValueError("give at least two records to compare.")
        self.names = [visible(name, 40) for name in records]
        self.runs = [from_dict(record) for record in records.values()]

    @property
    def methods(self) -> list[str]:
        """The names of the methods of all runs, each once."""
        return list(dict.fromkeys(m.name for run in self.runs for m in run.methods))

    def score(self, method: str, run: Run, metric: str) -> Score | None:
        """None if the run has no such method or score."""
        found: Method | None = next((m for m in run.methods if m.name == method), None)
        return None if found is None else found.scores.get(metric)

    @property
    def same_kind(self) -> bool:
        """Whether all runs have the same metrics."""
        return len({run.data.kind == "numbers" for run in self.runs}) == 1

    @property
    def same_splits(self) -> bool:
        """Whether scores can be paired: the same samples, held out in the same splits."""

        def seen(run: Run) -> tuple[Any, ...]:
            d, p = run.data, run.protocol
            return d.n_samples, d.labels, run.points.held_out, p.splits, p.n_splits, p.seed

        return all(seen(run) == seen(self.runs[0]) for run in self.runs)


def _told(runs: _Runs) -> list[str]:
    """Sentences for the top: one for every run, and whether the runs can be compared."""
    lines = [f"{name}: {headline(run)}" for name, run in zip(runs.names, runs.runs, strict=True)]
    if len({run.data.fingerprint for run in runs.runs}) == 1:
        return [*lines, "All runs saw the same data."]
    if runs.same_splits:
        return [*lines, "The runs saw the same labels in the same splits, but other features."]
    return [*lines, "The runs saw different data or splits: compare their scores with care."]


def _tables(runs: _Runs) -> list[Table]:
    """Scores of every method in every run, differences, and what the runs were."""
    metrics = metrics_of(runs.runs[0].data.kind) if runs.same_kind else {}
    found = [_scores(runs, key, words) for key, (words, _) in metrics.items()]
    return [found[0], *_differences(runs), *found[1:], _what(runs)] if found else [_what(runs)]


def _scores(runs: _Runs, metric: str, words: str) -> Table:
    rows = [
        [visible(name), *measured_all(metric, (runs.score(name, run, metric) for run in runs.runs))]
        for name in runs.methods
    ]
    return Table(words, ["method", *runs.names], rows)


def _differences(runs: _Runs) -> list[Table]:
    """Differences between the other runs and the first, if scores can be paired."""
    if not runs.same_splits or not runs.same_kind:
        return []
    metric, first = main_metric(runs.runs[0]), runs.runs[0]
    rows = []
    for name, run in zip(runs.names[1:], runs.runs[1:], strict=True):
        for method in runs.methods:
            a, b = (runs.score(method, r, metric) for r in (run, first))
            if gap := interval(first, a, b):
                rows.append([visible(method), name, *gap.cells()])
    columns = ["method", "run", f"more than {runs.names[0]}", "95 % interval", "clear"]
    note = "Differences on the same splits; intervals allow for training samples that they share."
    return [Table(f"Differences to {runs.names[0]}", columns, rows, n_text=2, note=note)]


def _what(runs: _Runs) -> Table:
    lines = {
        "data": [visible(run.data.name) for run in runs.runs],
        "samples": [f"{run.data.n_samples:,}" for run in runs.runs],
        "features": [f"{run.data.n_features:,}" for run in runs.runs],
        "targets": [f"{run.data.n_labels:,}" for run in runs.runs],
        "fingerprint": [visible(run.data.fingerprint) for run in runs.runs],
        "splits": [visible(run.protocol.splits, 80) for run in runs.runs],
        "random state": [str(run.protocol.seed) for run in runs.runs],
        "eigenkit": [visible(run.environment.get("eigenkit", "")) for run in runs.runs],
        "command": [visible(run.command, 300) for run in runs.runs],
    }
    rows = [[key, *values] for key, values in lines.items()]
    return Table("The runs", ["what", *runs.names], rows, n_text=len(runs.names) + 1)


def _picture(runs: _Runs) -> str:
    if not runs.same_kind:
        return ""
    metric = main_metric(runs.runs[0])
    scores = [[runs.score(m, run, metric) for m in runs.methods] for run in runs.runs]
    series = [
        [(s.mean, s.std or 0.0) if s and s.mean is not None else None for s in row]
        for row in scores
    ]
    words = main_words(runs.runs[0])
    names = [visible(name, 22) for name in runs.methods]
    alt = f"{words} of every method in every run; a table follows."
    drawn = html.dots(names, series, alt, words)
    shown = enumerate(runs.names)
    key = "".join(f'<span class="key k{i % 8}">{escape(name)}</span>' for i, name in shown)
    caption = "Mean over the splits, with one standard deviation."
    return f"<figure><p>{key}</p>{drawn}<figcaption>{caption}</figcaption></figure>" * bool(drawn)


# -- a model: what it is, how good it is, what was tried, and its weights -----------------


def model_html(
    record: dict[str, Any], lines: list[str], facts: dict[str, str], steps: list[str]
) -> str:
    """One HTML page without scripts.

    The ``record`` is what ``eigenkit inspect --json`` prints, ``lines`` are the model in sentences,
    ``facts`` how it was fitted, and ``steps`` commands to go on with.
    """
    how = record["fitted"]
    shown = {name: visible(value, 200) for name, value in facts.items()}
    settings = facts_table("Settings", shown, ("what", "value"))
    numbered = {str(i): visible(name) for i, name in enumerate(record["targets"], start=1)}
    targets = facts_table("Targets", numbered, ("number", "name"))
    by_alpha, by_number = how.get("alpha_search"), how.get("component_search")
    parts = [
        ("weights", "Components", _weights(record["components"])),
        ("stability", "Stability", _stability(how.get("stability"))),
        ("spectrum", "Eigenvalues", _spectrum(record["eigenvalues"])),
        ("alpha", "Choice of alpha", _search(by_alpha, "alphas", "alpha")),
        ("search", "Number of components", _search(by_number, "values", "components")),
        ("targets", "Targets", html.folded("All targets", html.table_html(targets))),
        ("fitted", "How it was fitted", html.table_html(settings)),
        ("next", "Next steps", "".join(html.code(visible(step, 600)) for step in steps)),
    ]
    first, *more = lines
    told = [f'<p class="lead">{escape(visible(first, 600))}</p>']
    told += [f'<p class="how">{escape(visible(words, 600))}</p>' for words in more]
    title = visible(str(record.get("name", record["method"])))
    skip = "fitted", "how it was fitted"
    inside = html.whole_body(skip, title, "\n".join(told), _numbers(record), parts)
    return html.document(f"{title}: eigenkit model", inside, html.policy())


def _numbers(record: dict[str, Any]) -> dict[str, str]:
    how = record["fitted"]
    found = {"rows": f"{how['n_rows']:,}", "features": f"{record['n_features']:,}"}
    found["targets"] = f"{len(record['targets']):,}"
    if record["n_components"]:
        found["components"] = str(record["n_components"])
    if how["params"].get("alpha") is not None:
        found["alpha"] = f"{how['params']['alpha']:g}"
    quality = how.get("quality")
    if quality:
        found[quality["score"]] = f"{quality['mean']:.3f} ± {quality['std']:.3f}"
    return found


def _weights(components: list[dict[str, Any]]) -> str:
    found = {
        f"Component {c['component']}": [(visible(f["feature"], 40), f["weight"]) for f in c["top"]]
        for c in components
    }
    text = html.paragraph("The features with the largest weights; the sign is the direction.")
    return f"{text}{html.weights(found)}" if found else ""


def _stability(found: dict[str, Any] | None) -> str:
    """How often features are selected when the rows are drawn again."""
    if not found:
        return ""
    rows = [
        [str(c["component"]), visible(f["feature"], 40), *stability_cells(f)]
        for c in found["components"]
        for f in c["features"]
    ]
    note = (
        f"From fits on {found['resamples']} resamples of the rows: how often a weight is not zero, "
        "and an interval for it. Components that cannot be told apart have no intervals."
    )
    titles = stability_titles(found)
    return html.table_html(Table("Features by their stability", titles, rows, 2, note))


def stability_titles(found: dict[str, Any]) -> list[str]:
    return ["component", "feature", "selected", "weight", f"{found['level']:.0%} interval"]


def stability_cells(feature: dict[str, Any]) -> list[str]:
    """How often a feature is selected, its weight, and the interval of the weight."""
    sure = feature["lower"] is not None
    interval = f"{feature['lower']:+.3g} to {feature['upper']:+.3g}" if sure else "none"
    return [f"{feature['selected']:.0%}", f"{feature['weight']:+.3g}", interval]


def _spectrum(eigenvalues: list[float]) -> str:
    if not eigenvalues:
        return ""
    places = [float(i + 1) for i in range(len(eigenvalues))]
    rows = [[str(i + 1), f"{v:.6g}"] for i, v in enumerate(eigenvalues)]
    table = Table("All eigenvalues", ["component", "eigenvalue"], rows)
    return html.line(places, eigenvalues, None, "Eigenvalues.", table)


def _search(search: dict[str, Any] | None, key: str, words: str) -> str:
    if not search:
        return ""
    values, means = search[key], search["mean_score"]
    best = values[means.index(max(means))]
    rows = [
        [f"{value:g}", f"{mean:.4f} ± {std:.4f}"]
        for value, mean, std in zip(values, means, search["std_score"], strict=True)
    ]
    note = f"Mean and deviation over {search['folds']} folds; the large mark was chosen."
    table = Table(f"Every {words}", [words, search["score"]], rows, note=note)
    return html.line(values, means, best, f"Score against {words}.", table)
