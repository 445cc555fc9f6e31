"""annotate: terms for sets of images, from folders of pictures."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from eigenkit import images
from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, in_json, progress, sentence, table
from eigenkit.cli._data import write_rows
from eigenkit.files import FileError, output_format
from eigenkit.images.descriptors import DESCRIPTORS
from eigenkit.images.extraction import cache_folder
from eigenkit.images.folders import SUFFIXES, read_groups, read_known
from eigenkit.images.kernels import PLANS, plans_of
from eigenkit.images.term_reports import OTHERS, UNSEEN, how_good, in_words
from eigenkit.images.weights import IN_WORDS
from eigenkit.late import look_up


def fit(given: o.Given) -> Result:
    place, page = _outputs(given, given.out, given.report)
    model = _annotator(given)
    sets, Y, terms, grouped = _labelled(given)
    with progress("annotate") as advance:
        model.set_params(progress=advance).fit(sets, Y, terms, grouped)
        images.save_annotator(model, place)
        title = f"{Path(given.images).name} annotated"
        shown = _page(page, lambda record: record.fitted_record(model, sets, title, advance))
    record = {"model": str(place), "bytes": place.stat().st_size, **_described(model)}
    return Result(record, "\n".join([*_summary(model), f"wrote {clean(place)}", *shown]))


def predict(given: o.Given) -> Result:
    out, labels = given.out, given.labels
    place, page = _outputs(given, None if out == "-" else out, given.report)
    fitted = images.load_annotator(given.model)
    sets = _read(given)
    known = read_known(labels, sets, fitted.terms_) if labels else None
    with progress("annotate") as advance:
        fitted.set_params(**_run(given), progress=advance)
        fitted = images.adapt(fitted, sets) if given.adapt else fitted
        S = fitted.decision_function(sets)
        fitted.set_params(progress=None)  # the page takes sets one by one
        title = f"{Path(given.images).name} annotated"
        told = fitted, sets, title, known, advance
        shown = _page(page, lambda record: record.predicted_record(*told))
    rows, titles, columns = _rows(fitted, sets, S, given.proba)
    if place is not None or not in_json():
        write_rows(place, output_format(out), titles, [columns], given.keep_formulas)
    good = {} if known is None else how_good(fitted, known, S)
    if not in_json():  # beside the table, which may be on the screen
        for line in [*([in_words(good)] if good else []), *shown]:
            click.echo(line, err=True)
    record = {"sets": rows, "out": None if place is None else str(place), "quality": good}
    return Result(record, f"wrote {clean(place)}" if place else "")


def compare(given: o.Given) -> Result:
    from eigenkit.images.comparison import as_records, to_fit, verdict
    from eigenkit.images.comparison import compare as run
    from eigenkit.images.rivals import RIVALS

    (page,) = _outputs(given, given.report)
    chosen = [name.strip() for name in given.rivals.split(";")] if given.rivals else list(RIVALS)
    for name in chosen:
        o.choice("--rivals", name, RIVALS, "; ")
    model = _annotator(given)
    sets, Y, terms, grouped = _labelled(given)
    with progress("annotate") as advance:
        how = {"annotator": model, "rivals": chosen, "groups": grouped, "progress": advance}
        found = run(sets, Y, terms, **how, cv=given.cv, random_state=given.random_state)
        title = f"{Path(given.images).name} compared"
        shown = _page(page, lambda record: record.compared_record(found, title, advance))
    rows = as_records(found)
    fitted = to_fit([row.name for row in found.rows], found.held_out[0][0])
    step = "" if fitted is None else _next_step(fitted[1], given)
    record = {"methods": rows, "recommended": found.recommended, "level": found.level, "next": step}
    lines = [_methods_table(rows), verdict(found), *([f"next: {clean(step)}"] if step else [])]
    return Result(record, "\n".join([*lines, *shown]))


def _outputs(given: o.Given, *wanted: str | None) -> list[Any]:
    """The paths of the outputs, none of which may replace a picture."""
    for path in filter(None, wanted):
        if Path(path).suffix.lower() in SUFFIXES and Path(path).exists():
            raise FileError(path, "it is a picture, which is not replaced: name another file.")
    inputs = [getattr(given, name, None) for name in ("model", "labels", "groups", "table")]
    return o.outputs(inputs, given.force, *wanted)


def _next_step(options: list[str], given: o.Given) -> str:
    """The command that fits the recommended method on the same files."""
    words = ["eigenkit", "annotate", "fit", given.images, given.labels, *options]
    for name in ("groups", "table", "skip_unreadable"):
        words += o.said_again(name, getattr(given, name), False)
    return shlex.join([*words, "--out", "model.ek"])


def demo(given: o.Given) -> Result:
    from eigenkit.images.demo import run

    folder = Path(given.out)
    if not given.force and folder.is_dir() and any(folder.iterdir()):
        raise FileError(folder, "this folder is not empty: name another one, or give --force.")
    with _all_or_nothing(folder), progress("annotate") as advance:
        found = run(folder, given.random_state, advance)
    lines = [
        f"{found['n_train']} sets of shapes to learn from, {found['n_test']} new ones",
        f"macro F1 of the planted terms in the new sets: {found['f1']:.3f}",
        f"wrote {clean(found['model'])} and {clean(found['page'])}, to open in a browser",
    ]
    return Result(found, "\n".join(lines))


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[None]:
    """If the work inside is stopped, leave nothing in a folder that was empty."""
    before = list(folder.iterdir()) if folder.is_dir() else None
    try:
        yield
    except BaseException as stop:
        if not before:
            shutil.rmtree(folder, ignore_errors=True)
        if before is not None:
            folder.mkdir(exist_ok=True)
        if before and isinstance(stop, KeyboardInterrupt):
            raise type(stop)(f"what was drawn so far is in {folder}") from None
        raise


def _page(place: Path | None, made: Callable[[Any], dict[str, Any]]) -> list[str]:
    """Write the page if one is wanted, from what ``made`` takes from the module of records."""
    if place is None:
        return []
    from eigenkit.images import record
    from eigenkit.images.page import write_page

    write_page(made(record), place)
    return [f"wrote {clean(place)}, to open in a browser"]


def _annotator(given: o.Given) -> images.ImageAnnotator:
    kernels: Any = given.kernels if given.kernels in PLANS else o.split([given.kernels])
    try:
        for plan in plans_of(kernels):
            look_up("descriptor", plan.descriptor, DESCRIPTORS)
    except ValueError as error:
        raise o.bad("--kernels", sentence(error)) from error
    views = given.views
    if views is None:
        views = "unseen" if given.unseen_views else "auto"
    elif given.unseen_views:
        raise o.bad("--unseen-views", "it compares all pictures: leave out --views and --no-views.")
    size = None if given.size is None else given.size.lower().split("x")
    if size is not None and (len(size) != 2 or not all(part.strip().isdigit() for part in size)):
        raise o.bad("--size", f"{given.size!r} is not HEIGHTxWIDTH.")
    how = {"weights": given.weights, "random_state": given.random_state, **_run(given)}
    size = None if size is None else tuple(map(int, size))
    return images.ImageAnnotator(kernels, views=views, size=size, **how)


def _run(given: o.Given) -> dict[str, Any]:
    """Parameters of the run that are not part of a model."""
    if not given.jobs:
        raise o.bad("--jobs", "0 is not a number of processes: give at least 1, or -1 for all.")
    folder = None if given.no_cache else given.cache or cache_folder()
    return {"cache": None if folder is None else Path(folder), "n_jobs": given.jobs}


def _read(given: o.Given) -> list[images.ImageSet]:
    unreadable = "skip" if given.skip_unreadable else "error"
    return images.read_sets(given.images, table=given.table, unreadable=unreadable)


def _labelled(given: o.Given) -> tuple[Any, Any, Any, Any]:
    """Sets, their terms as a matrix, the names of the terms, and the groups if there are any."""
    sets = _read(given)
    Y, terms = images.read_labels(given.labels, sets)
    return sets, Y, terms, read_groups(given.groups, sets) if given.groups else None


def _rows(
    model: images.ImageAnnotator, sets: Any, S: Any, probabilities: bool
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


# -- what is said about models and comparisons -----------------------------------------


def _methods_table(rows: list[dict[str, Any]]) -> str:
    from eigenkit.images.comparison import figures
    from eigenkit.images.rivals import CHOSEN, PLAIN

    titles = ["method", "mean AUC", "P@1", "macro F1", "AUC - plain", "seconds"]
    cells = [[row["name"], *figures(row), f"{row['seconds']:.1f}"] for row in rows]
    words = f'Means over folds ± standard errors; plain is "{PLAIN}".'
    if any(row["name"] == CHOSEN for row in rows):
        words += f' The seconds of "{CHOSEN}" include the kernels, which the others are given.'
    return f"{table(titles, cells, right=(1, 2, 3, 4, 5))}\n{words}"


def _described(model: images.ImageAnnotator) -> dict[str, Any]:
    n, labelled = model._n_sets_
    more = {"n_set_views": len(model.set_names_)} if model.views == "unseen" else {}
    return {
        "n_sets": n,
        "n_labelled": labelled,
        **more,
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


def _summary(model: images.ImageAnnotator) -> list[str]:
    figures = ("f1", "precision", "recall", "auc")
    rows = [
        [r.term, r.support, *(f"{getattr(r, key):.3f}".replace("nan", "-") for key in figures)]
        for r in sorted(model.term_reports_, key=lambda r: -r.support)
    ]
    titles = ["term", "sets", "F1", "precision", "recall", "AUC"]
    weights = sorted(model.weights_.items(), key=lambda item: -item[1])
    (n, labelled), unseen = model._n_sets_, model.views == "unseen"
    views = f" in {len(model.set_names_)} set-views" if unseen else ""
    return [
        f"{n} sets{views}, {labelled} with labels; images brought to "
        f"{model.size_[0]} x {model.size_[1]}",
        f"chosen: {model.kernels_chosen_}, {IN_WORDS[model.weights_chosen_]}",
        "weights of the kernels: "
        + ", ".join(f"{clean(name)} {w:.3f}" for name, w in weights if f"{w:.3f}" != "0.000"),
        f"{UNSEEN if unseen else OTHERS}:",
        table(titles, rows, right=(1, 2, 3, 4, 5)),
    ]
