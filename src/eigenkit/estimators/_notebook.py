"""How a fitted model is shown: drawn, and in a notebook with a small table of what it knows."""

from __future__ import annotations

from html import escape
from typing import Any

from sklearn.utils import estimator_html_repr

from eigenkit.late import named
from eigenkit.shell import check_choice

# The displays of eigenkit.analysis, by what they are called here.
PICTURES = {
    "scores": "ScoresDisplay",
    "weights": "WeightsDisplay",
    "loadings": "LoadingsDisplay",
    "biplot": "BiplotDisplay",
    "circle": "CorrelationCircleDisplay",
    "scree": "ScreeDisplay",
    "coefficients": "CoefficientsDisplay",
    "regions": "RegionsDisplay",
}


class Shown:
    """What every estimator can show of itself."""

    def plot(self, kind: str = "scores", *samples: Any, **options: Any) -> Any:
        """Draw the fitted model by a display of :mod:`eigenkit.analysis`.

        Parameters
        ----------
        kind : str
            Which display: "scores", "weights", "loadings", "biplot", "circle", "scree",
            "coefficients" or "regions".
        *samples
            X, and y for its colours, of displays that show samples.
        **options
            What else the display's ``from_estimator`` takes, such as ``ax``.

        Returns
        -------
        Display
            With ``ax_`` and ``figure_``.
        """
        name = PICTURES[check_choice("kind", kind, PICTURES)]
        return named(f"eigenkit.analysis:{name}").from_estimator(self, *samples, **options)

    def _html_repr(self) -> str:
        """What a notebook shows: scikit-learn's diagram, and a table of fitted attributes."""
        cells = "".join(
            f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(value)}</td></tr>'
            for name, value in _facts(self).items()
        )
        caption = f"<caption>{escape(type(self).__name__)}, as fitted</caption>"
        table = f'<table class="eigenkit-fitted">{caption}{cells}</table>' if cells else ""
        return f"<div>{estimator_html_repr(self)}{table}</div>"


def _facts(model: Any) -> dict[str, str]:
    """What a fitted model knows; nothing of one that knows nothing."""
    found = vars(model)
    intake = found.get("_intake_")
    rows = {}
    if intake is not None:
        rows["rows taken in"] = str(intake.moments.n_rows)
        hasattr(model, "report_")  # solves a stream, if it can be solved
        found = {**found, **vars(intake.model)}
        if not intake.model._is_solved:
            rows["solved"] = "not yet"
    for name, words in (("n_features_in_", "features"), ("n_components_", "components")):
        if name in found:
            rows[words] = str(found[name])
    return rows | (found["report_"].facts() if "report_" in found else {})
