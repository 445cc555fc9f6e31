"""annotate: terms for sets of images, from folders of pictures."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, command, in_json, progress, table
from eigenkit.cli._data import write_rows
from eigenkit.cli._parsing import Argument, Group, Option

if TYPE_CHECKING:
    from eigenkit.images import ImageAnnotator, ImageSet

_NAMES = ("fit", "predict", "compare", "demo")
app = Group(
    "annotate",
    {name: partial(command, name, f"_annotate:{name}") for name in _NAMES},
    help="Terms for sets of images: fit, predict, compare, demo.",
)

Folder = Annotated[
    str, Argument(help="A folder that contains a folder of images for each set (and view).")
]
LabelFile = Annotated[
    str,
    Argument(help="CSV with a column set, and terms separated by | or a 0/1 column for each term."),
]
ReportFile = Annotated[str | None, Option("--report", help="Write the page as one HTML file.")]

# How images are read and described.
_READING: o.Group = {
    "table": o.option("CSV with columns file, set and view, in place of folders."),
    "cache": o.option("Where descriptors are kept; by default in the user's cache."),
    "no_cache": o.option("Keep no descriptors.", "--no-cache", default=False),
    "jobs": o.option("Number of processes; -1 for one per processor.", default=-1),
    "skip_unreadable": o.option(
        "Leave out images that cannot be read.", "--skip-unreadable", default=False
    ),
}
# What is learned, and from what.
_LEARNING: o.Group = {
    "kernels": o.option(
        "auto (by cross-validation), default (fourteen between sets), pooled (plain), thesis (23 "
        "pyramids), or descriptors separated by commas, each with its kind of set kernel, such as "
        "sift-16:pyramid,hsv:mean_map.",
        default="auto",
    ),
    "weights": o.option(
        "each, equal, learned, half or best; or auto: one of the first four, by cross-validation.",
        default="each",
    ),
    "views": o.option(
        "Compare only pictures of the same view, or all; by default whichever does better.",
        "--views/--no-views",
        kind=bool,
        show_default=False,
    ),
    "unseen_views": o.option("New sets will show other views than these do.", default=False),
    "groups": o.option(
        "CSV with columns set and group: a group is never split between training and test."
    ),
    "size": o.option("Height x width to which images are resized."),
    **_READING,
    "random_state": (o.RandomState, 0),
}


@o.takes(_LEARNING)
def fit(
    *,
    images: Folder,
    labels: LabelFile,
    out: o.ModelOut,
    report: ReportFile = None,
    given: dict[str, Any],
    force: o.Force = False,
) -> Result:
    """Learn the terms of sets of images and keep the model as a file."""
    from eigenkit.images import save_annotator

    place, page = _outputs([labels, given["groups"], given["table"]], force, out, report)
    model = _annotator(given)
    sets, Y, terms, grouped = _labelled(images, labels, given)
    with progress("annotate") as advance:
        model.set_params(progress=advance).fit(sets, Y, terms, grouped)
        save_annotator(model, place)
        title = f"{Path(images).name} annotated"
        shown = _page(page, lambda record: record.fitted_record(model, sets, title, advance))
    record = {"model": str(place), "bytes": place.stat().st_size, **_described(model)}
    return Result(record, "\n".join([*_summary(model), f"wrote {clean(place)}", *shown]))


@o.takes({**_READING, "jobs": (_READING["jobs"][0], 1)})
def predict(
    *,
    model: Annotated[str, Argument(help="A model written by annotate fit.")],
    images: Folder,
    out: Annotated[
        str, Option("--out", "-o", help="The output: CSV or TSV, by its name; - is the screen.")
    ] = "-",
    report: ReportFile = None,
    labels: Annotated[
        str | None, Option("--labels", help="Known terms, to compare the predictions with.")
    ] = None,
    proba: Annotated[
        bool, Option("--proba", help="Also write the probability of each term, in columns.")
    ] = False,
    adapted: Annotated[
        bool, Option("--adapt", help="The sets are of another kind than the training sets.")
    ] = False,
    given: dict[str, Any],
    keep_formulas: o.KeepFormulas = False,
    force: o.Force = False,
) -> Result:
    """Predict the terms of sets of images with a model."""
    from eigenkit.files import output_format
    from eigenkit.images import adapt, load_annotator
    from eigenkit.images.labels import read_known
    from eigenkit.images.term_reports import how_good, in_words

    read = [model, labels, given["table"]]
    place, page = _outputs(read, force, None if out == "-" else out, report)
    fitted = load_annotator(model)
    sets = _read(images, given)
    known = read_known(labels, sets, fitted.terms_) if labels else None
    with progress("annotate") as advance:
        fitted.set_params(**_run(given), progress=advance)
        fitted = adapt(fitted, sets) if adapted else fitted
        S = fitted.decision_function(sets)
        fitted.set_params(progress=None)  # the page takes sets one by one
        title = f"{Path(images).name} annotated"
        shown = _page(
            page, lambda record: record.predicted_record(fitted, sets, title, known, advance)
        )
    rows, titles, columns = _rows(fitted, sets, S, proba)
    if place is not None or not in_json():
        write_rows(place, output_format(out), titles, [columns], keep_formulas)
    good = {} if known is None else how_good(fitted, known, S)
    if not in_json():  # beside the table, which may be on the screen
        for line in [*([in_words(good)] if good else []), *shown]:
            click.echo(line, err=True)
    record = {"sets": rows, "out": None if place is None else str(place), "quality": good}
    return Result(record, f"wrote {clean(place)}" if place else "")


@o.takes(_LEARNING)
def compare(
    *,
    images: Folder,
    labels: LabelFile,
    report: ReportFile = None,
    cv: Annotated[int, Option(min=2, help="Number of folds.")] = 5,
    rivals: Annotated[
        str | None, Option(help="Names, separated by semicolons; by default all.")
    ] = None,
    given: dict[str, Any],
    force: o.Force = False,
) -> Result:
    """Compare ways to annotate by cross-validation, and recommend one."""
    from eigenkit.images.comparison import as_records, to_fit, verdict
    from eigenkit.images.comparison import compare as run
    from eigenkit.images.rivals import RIVALS

    (page,) = _outputs([labels, given["groups"], given["table"]], force, report)
    chosen = [name.strip() for name in rivals.split(";")] if rivals else list(RIVALS)
    for name in chosen:
        o.choice("--rivals", name, RIVALS, "; ")
    model = _annotator(given)
    sets, Y, terms, grouped = _labelled(images, labels, given)
    with progress("annotate") as advance:
        found = run(
            sets,
            Y,
            terms,
            annotator=model,
            rivals=chosen,
            groups=grouped,
            cv=cv,
            random_state=given["random_state"],
            progress=advance,
        )
        title = f"{Path(images).name} compared"
        shown = _page(page, lambda record: record.compared_record(found, title, advance))
    rows = as_records(found)
    fitted = to_fit([row.name for row in found.rows], found.held_out[0][0])
    step = "" if fitted is None else _next_step(images, labels, fitted[1], given)
    record = {"methods": rows, "recommended": found.recommended, "level": found.level, "next": step}
    lines = [_methods_table(rows), verdict(found), *([f"next: {clean(step)}"] if step else [])]
    return Result(record, "\n".join([*lines, *shown]))


def _outputs(inputs: list[str | None], force: bool, *wanted: str | None) -> list[Any]:
    """The paths of the outputs, none of which may replace a picture."""
    from eigenkit.files import FileError
    from eigenkit.images.folders import SUFFIXES

    for path in filter(None, wanted):
        if Path(path).suffix.lower() in SUFFIXES and Path(path).exists():
            raise FileError(path, "it is a picture, which is not replaced: name another file.")
    return o.outputs(inputs, force, *wanted)


def _next_step(images: str, labels: str, options: list[str], given: dict[str, Any]) -> str:
    """The command that fits the recommended method on the same files."""
    words = ["eigenkit", "annotate", "fit", images, labels, *options]
    for name in ("groups", "table", "skip_unreadable"):
        words += o.said_again(name, given[name], False)
    return shlex.join([*words, "--out", "model.ek"])


def demo(
    folder: Annotated[
        str, Option("--out", "-o", help="A folder for pictures, model and pages.")
    ] = "eigenkit-shapes",
    random_state: o.RandomState = 0,
) -> Result:
    """Draw sets of shapes, learn their terms, annotate new ones, and write a page about them."""
    from eigenkit.images.demo import run

    with progress("annotate") as advance:
        found = run(Path(folder), random_state, advance)
    lines = [
        f"{found['n_train']} sets of shapes to learn from, {found['n_test']} new ones",
        f"macro F1 of the planted terms in the new sets: {found['f1']:.3f}",
        f"wrote {clean(found['model'])} and {clean(found['page'])}, to open in a browser",
    ]
    return Result(found, "\n".join(lines))


def _views(views: bool | None, unseen: bool) -> bool | str:
    if unseen and views is not None:
        raise o.bad("--unseen-views", "it compares all pictures: leave out --views and --no-views.")
    return "unseen" if unseen else "auto" if views is None else views


def _page(place: Path | None, made: Callable[[Any], dict[str, Any]]) -> list[str]:
    """Write the page if one is wanted, from what ``made`` takes from the module of records."""
    if place is None:
        return []
    from eigenkit.images import record
    from eigenkit.images.page import write_page

    write_page(made(record), place)
    return [f"wrote {clean(place)}, to open in a browser"]


def _annotator(given: dict[str, Any]) -> ImageAnnotator:
    from eigenkit.images import ImageAnnotator
    from eigenkit.images.kernels import PLANS

    kernels: Any = given["kernels"]
    return ImageAnnotator(
        kernels if kernels in PLANS else o.split([kernels]),
        weights=given["weights"],
        views=_views(given["views"], given["unseen_views"]),
        size=_size(given["size"]),
        random_state=given["random_state"],
        **_run(given),
    )


def _run(given: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the run that are not part of a model."""
    from eigenkit.images.extraction import cache_folder

    if not given["jobs"]:
        raise o.bad("--jobs", "0 is not a number of processes: give at least 1, or -1 for all.")
    folder = None if given["no_cache"] else given["cache"] or cache_folder()
    return {"cache": None if folder is None else Path(folder), "n_jobs": given["jobs"]}


def _read(folder: str, given: dict[str, Any]) -> list[ImageSet]:
    from eigenkit.images import read_sets

    unreadable = "skip" if given["skip_unreadable"] else "error"
    return read_sets(folder, table=given["table"], unreadable=unreadable)


def _labelled(folder: str, labels: str, given: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Sets, their terms as a matrix, the names of the terms, and the groups if there are any."""
    from eigenkit.images import read_labels
    from eigenkit.images.labels import read_groups

    sets, groups = _read(folder, given), given["groups"]
    return sets, *read_labels(labels, sets), read_groups(groups, sets) if groups else None


def _rows(
    model: ImageAnnotator, sets: Any, S: Any, probabilities: bool
) -> tuple[list[dict[str, Any]], list[str], list[Any]]:
    """The terms of sets, as records and as a table."""
    P = model.probabilities(S)
    chosen = model.thresholds_ < S
    carried = [[t for t, has in zip(model.terms_, row, strict=True) if has] for row in chosen]
    names = [one.name for one in sets]
    titles, columns = ["set", "terms"], [names, ["|".join(terms) for terms in carried]]
    if probabilities:
        titles += model.terms_
        columns += list(P.round(4).T)
    records = [
        {"set": name, "terms": terms, "probabilities": dict(zip(model.terms_, p, strict=True))}
        for name, terms, p in zip(names, carried, P.round(4).tolist(), strict=True)
    ]
    return records, titles, columns


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        raise o.bad("--size", f"{text!r} is not HEIGHTxWIDTH.")
    return int(parts[0]), int(parts[1])


# -- what is said about models and comparisons -----------------------------------------


def _methods_table(rows: list[dict[str, Any]]) -> str:
    """The methods of a comparison with their figures, and what these are."""
    from eigenkit.images.comparison import figures
    from eigenkit.images.rivals import CHOSEN, PLAIN

    titles = ["method", "mean AUC", "P@1", "macro F1", "AUC - plain", "seconds"]
    cells = [[row["name"], *figures(row), f"{row['seconds']:.1f}"] for row in rows]
    words = f'Means over folds ± standard errors; plain is "{PLAIN}".'
    if any(row["name"] == CHOSEN for row in rows):
        words += f' The seconds of "{CHOSEN}" include the kernels, which the others are given.'
    return f"{table(titles, cells, right=(1, 2, 3, 4, 5))}\n{words}"


def _counts(model: ImageAnnotator) -> dict[str, int]:
    """Numbers of sets and of labelled sets; with unseen views, also of views of sets."""
    n, labelled = model._n_sets_
    more = {"n_set_views": len(model.set_names_)} if model.views == "unseen" else {}
    return {"n_sets": n, "n_labelled": labelled, **more}


def _described(model: ImageAnnotator) -> dict[str, Any]:
    """A model in plain values."""
    return {
        **_counts(model),
        "terms": [vars(report) for report in model.term_reports_],
        "few": model.few_,
        "unlearned": model.unlearned_,
        "weights": model.weights_,
        "kernels_chosen": model.kernels_chosen_,
        "weights_chosen": model.weights_chosen_,
        "weights_scores": model.weights_scores_,
        "alpha": dict(zip(model.terms_, model.alpha_.tolist(), strict=False)),  # then components
        "size": list(model.size_),
    }


def _summary(model: ImageAnnotator) -> list[str]:
    """A table of the terms, and the weights of the kernels."""
    from eigenkit.images.term_reports import OTHERS, UNSEEN
    from eigenkit.images.weights import IN_WORDS

    figures = ("f1", "precision", "recall", "auc")
    rows = [
        [r.term, r.support, *(f"{getattr(r, key):.3f}".replace("nan", "-") for key in figures)]
        for r in sorted(model.term_reports_, key=lambda r: -r.support)
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
        table(titles, rows, right=(1, 2, 3, 4, 5)),
    ]
