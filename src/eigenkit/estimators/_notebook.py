"""A fitted model in a notebook: what it knows about its fit, as a small table."""

from __future__ import annotations

import dataclasses
from html import escape
from typing import Any

import numpy as np

# Facts of a report that are worth a line, in the reader's words.
_WORDS = {
    "solver": "solved by",
    "regression": "stage one by",
    "reason": "because",
    "n_iter": "iterations",
    "converged": "converged",
    "residual": "residual",
    "orthogonality": "off orthogonality",
    "condition": "condition number",
    "products": "products by",
    "label_rank": "targets for all labels",
}


def fitted_table(model: Any) -> str:
    """What a fitted model knows, as HTML; nothing for a model that knows nothing."""
    rows = _facts(model)
    if not rows:
        return ""
    cells = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    name = escape(type(model).__name__)
    return f'<table class="eigenkit-fitted"><caption>{name}, as fitted</caption>{cells}</table>'


def _facts(model: Any) -> dict[str, str]:
    found = vars(model)
    intake = found.get("_intake_")
    rows = {}
    if intake is not None:
        rows["rows taken in"] = str(intake.moments.n_rows)
        hasattr(model, "report_")  # a stream that can be solved is, whatever else looks at it
        found = {**found, **vars(intake.model)}
        if not intake.model._is_solved:
            rows["solved"] = "not yet"
    for name, words in (("n_features_in_", "features"), ("n_components_", "components")):
        if name in found:
            rows[words] = str(found[name])
    report = found.get("report_")
    if dataclasses.is_dataclass(report):
        rows |= {w: _told(getattr(report, n, None)) for n, w in _WORDS.items()}
    return {name: value for name, value in rows.items() if value}


def _told(value: Any) -> str:
    """A value for reading; nothing where it says nothing."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.2g}" if np.isfinite(value) else ""
    return str(value) if value else ""
