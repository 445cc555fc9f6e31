"""How stable the weights of a model are: fitted again on resamples of its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eigenkit.cli import _options as o
from eigenkit.cli._console import cell, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from eigenkit.files import Data
    from eigenkit.models import Model

# Features per component that are kept in the model file: the steadiest first.
_MOST = 30


def check_stability(resamples: int | None, in_blocks: bool, missing: str) -> None:
    """Resamples are drawn from complete rows in memory."""
    if resamples is None:
        return
    if in_blocks:
        raise o.bad("--stability", "it needs all rows in memory.")
    if missing == "keep":
        raise o.bad("--stability", "it cannot be combined with --missing keep.")


def with_stability(
    model: Model, data: Data, resamples: int, seed: int, advance: Callable[[int, int, str], None]
) -> Model:
    """The model, with what resampling says about the weights of its features."""
    from eigenkit.analysis import bootstrap

    path, block = data.source.path, data.block()
    found = bootstrap(
        model.estimator,
        model.features.matrix(path, block),
        model.target.encode(path, block.labels),
        n_bootstraps=resamples,
        random_state=seed,
        progress=lambda done, total: advance(done, total, f"{done} of {total} resamples"),
    )
    told = _told(found, model.features.feature_names())
    return replace(model, how={**model.how, "stability": told})


def _told(found: Any, names: list[str]) -> dict[str, Any]:
    """Plain values: of every component the features that are selected most often."""
    import numpy as np

    weights, components = found.weights, []
    for j in range(weights.estimate.shape[1]):
        size = np.abs(weights.estimate[:, j])
        order = np.lexsort((-size, ~found.takes_part[:, j], -found.selection[:, j]))[:_MOST]
        rows = [
            {
                "feature": names[i],
                "weight": float(weights.estimate[i, j]),
                "lower": _number(weights.lower[i, j]),
                "upper": _number(weights.upper[i, j]),
                "selected": float(found.selection[i, j]),
                "takes_part": bool(found.takes_part[i, j]),
            }
            for i in order
        ]
        n = int(found.takes_part[:, j].sum())
        components.append({"component": j + 1, "n_taking_part": n, "features": rows})
    tied = [[j + 1 for j in group] for group in found.tied]
    return {
        "resamples": found.n_bootstraps,
        "level": found.level,
        "tied": tied,
        "components": components,
    }


def _number(value: Any) -> float | None:
    return None if value != value else float(value)


def stability_lines(stability: dict[str, Any], n_features: int, top: int) -> list[str]:
    """For reading: a table of the steadiest features of every component."""
    from eigenkit.report.model_page import stability_cells, stability_titles

    lines = ["", f"stability over {stability['resamples']} resamples of the rows:"]
    for group in stability["tied"]:
        which = ", ".join(map(str, group))
        lines.append(f"components {which} cannot be told apart: their weights have no intervals")
    rows = []
    for c in stability["components"]:
        lines.append(
            f"component {c['component']}: {c['n_taking_part']} of {n_features} features take part"
        )
        rows += [
            [str(c["component"]), cell(f["feature"]), *stability_cells(f)]
            for f in c["features"][:top]
        ]
    return [*lines, table(stability_titles(stability), rows, right=(0, 2, 3, 4))]
