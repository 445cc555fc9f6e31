"""How annotate describes models and comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigenkit.cli._console import clean
from eigenkit.cli._console import table as table_of

if TYPE_CHECKING:
    from eigenkit.images import ImageAnnotator


def methods_table(rows: list[dict[str, Any]]) -> str:
    """The methods of a comparison with their figures, and what these are."""
    from eigenkit.images.comparison import figures
    from eigenkit.images.rivals import CHOSEN, PLAIN

    titles = ["method", "mean AUC", "P@1", "macro F1", "AUC - plain", "seconds"]
    cells = [[row["name"], *figures(row), f"{row['seconds']:.1f}"] for row in rows]
    words = f'Means over folds ± standard errors; plain is "{PLAIN}".'
    if any(row["name"] == CHOSEN for row in rows):
        words += f' The seconds of "{CHOSEN}" include the kernels, which the others are given.'
    return f"{table_of(titles, cells, right=(1, 2, 3, 4, 5))}\n{words}"


def _counts(model: ImageAnnotator) -> dict[str, int]:
    """Numbers of sets and of labelled sets; with unseen views, also of views of sets."""
    n, labelled = model._n_sets_
    more = {"n_set_views": len(model.set_names_)} if model.views == "unseen" else {}
    return {"n_sets": n, "n_labelled": labelled, **more}


def described(model: ImageAnnotator) -> dict[str, Any]:
    """A model in plain values."""
    return {
        **_counts(model),
        "terms": [vars(report) for report in model.report_],
        "few": model.few_,
        "weights": model.weights_,
        "kernels_chosen": model.kernels_chosen_,
        "weights_chosen": model.weights_chosen_,
        "weights_scores": model.weights_scores_,
        "alpha": dict(zip(model.terms_, model.alpha_.tolist(), strict=False)),  # then components
        "size": list(model.size_),
    }


def summary(model: ImageAnnotator) -> list[str]:
    """A table of the terms, and the weights of the kernels."""
    from eigenkit.images.term_reports import OTHERS, UNSEEN
    from eigenkit.images.weights import IN_WORDS

    figures = ("f1", "precision", "recall", "auc")
    rows = [
        [r.term, r.support, *(f"{getattr(r, key):.3f}".replace("nan", "-") for key in figures)]
        for r in sorted(model.report_, key=lambda r: -r.support)
    ]
    titles = ["term", "sets", "F1", "precision", "recall", "AUC"]
    weights = sorted(model.weights_.items(), key=lambda item: -item[1])
    counts = _counts(model)
    views = f" in {counts['n_set_views']} set-views" if "n_set_views" in counts else ""
    return [
        f"{counts['n_sets']} sets{views}, {counts['n_labelled']} with labels; images brought to "
        f"{model.size_[0]} x {model.size_[1]}",
        f"chosen: {model.kernels_chosen_}, {IN_WORDS[model.weights_chosen_]}",
        "weights of the kernels: "
        + ", ".join(f"{clean(name)} {w:.3f}" for name, w in weights if f"{w:.3f}" != "0.000"),
        f"{UNSEEN if model.views == 'unseen' else OTHERS}:",
        table_of(titles, rows, right=(1, 2, 3, 4, 5)),
    ]
