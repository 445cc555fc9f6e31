"""A page about a model: what it is, how good it is, what was tried, and its weights."""

from __future__ import annotations

from html import escape
from typing import Any

from eigenkit.report import html
from eigenkit.report.cells import Table, facts_table, visible


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
    return html.table_html(
        Table("Features by their stability", stability_titles(found), rows, n_text=2, note=note)
    )


def stability_titles(found: dict[str, Any]) -> list[str]:
    """The columns of a table of stability."""
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
