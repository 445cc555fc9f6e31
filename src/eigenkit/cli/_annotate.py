"""annotate: terms for sets of images, from folders of pictures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, command, progress, table

if TYPE_CHECKING:
    from eigenkit.images import ImageAnnotator, ImageSet

app = typer.Typer(
    help="Terms for sets of images: fit, predict, compare, demo.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[
    str, typer.Argument(help="A folder with a folder of images for every set (and view).")
]
LabelFile = Annotated[
    str,
    typer.Argument(help="CSV: a column set, and terms with | or a 0/1 column for every term."),
]
Table = Annotated[
    str | None,
    typer.Option("--table", help="CSV with columns file, set and view, in place of folders."),
]
Kernels = Annotated[
    str, typer.Option(help="default, thesis (23 pyramids), or descriptors with commas.")
]
Weights = Annotated[str, typer.Option(help="auto, equal, learned, half or best.")]
Views = Annotated[bool, typer.Option("--views", help="Compare only pictures of the same view.")]
Size = Annotated[str | None, typer.Option(help="Height x width that images are brought to.")]
CacheFolder = Annotated[
    str | None,
    typer.Option("--cache", help="Where descriptors are kept; by default in the user's cache."),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Keep no descriptors.")]
Jobs = Annotated[int, typer.Option(help="Processes; -1 for one per processor.")]
Skip = Annotated[
    bool, typer.Option("--skip-unreadable", help="Leave out images that cannot be read.")
]
ReportFile = Annotated[
    str | None, typer.Option("--report", help="Write the page as one HTML file.")
]


def fit(
    images: Folder,
    labels: LabelFile,
    out: Annotated[str, typer.Option("--out", "-o", help="The model file to write.")],
    kernels: Kernels = "default",
    weights: Weights = "auto",
    views: Views = False,
    size: Size = None,
    table: Table = None,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    jobs: Jobs = -1,
    skip_unreadable: Skip = False,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.Json = False,
    debug: o.Debug = False,
) -> Result:
    """Learn the terms of sets of images and keep the model as a file."""
    from eigenkit.files import check_output
    from eigenkit.images import ImageAnnotator, read_labels, save_annotator

    place = check_output(out, force)
    sets = _read(images, table, skip_unreadable)
    Y, terms = read_labels(labels, sets)
    with progress("annotate", as_json) as advance:
        model = ImageAnnotator(
            _kernels(kernels),
            weights=weights,
            views=views,
            size=_size(size),
            cache=_cache(cache, no_cache),
            n_jobs=jobs,
            random_state=seed,
            progress=_teller(advance),
        ).fit(sets, Y, terms)
    save_annotator(model, place)
    record = {"model": str(place), "bytes": place.stat().st_size, **_described(model)}
    lines = [*_summary(model), f"wrote {clean(place)}"]
    return Result(record, "\n".join(lines))


def predict(
    model: Annotated[str, typer.Argument(help="A model written by annotate fit.")],
    images: Folder,
    out: Annotated[
        str, typer.Option("--out", "-o", help="CSV or TSV by its name; - to the screen.")
    ] = "-",
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also a column for every term.")
    ] = False,
    table: Table = None,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    jobs: Jobs = 1,
    skip_unreadable: Skip = False,
    force: o.Force = False,
    as_json: o.Json = False,
    debug: o.Debug = False,
) -> Result:
    """Predict the terms of sets of images with a model."""
    from eigenkit.files import check_output
    from eigenkit.images import load_annotator

    place = None if out == "-" else check_output(out, force)
    fitted = load_annotator(model)
    sets = _read(images, table, skip_unreadable)
    with progress("annotate", as_json) as advance:
        fitted.set_params(cache=_cache(cache, no_cache), n_jobs=jobs, progress=_teller(advance))
        S = fitted.decision_function(sets)
    rows = _write(fitted, sets, S, place, probabilities)
    record = {"sets": rows, "out": None if place is None else str(place)}
    return Result(record, f"wrote {clean(place)}" if place else "")


def _read(folder: str, table: str | None, skip: bool) -> list[ImageSet]:
    from eigenkit.images import read_sets

    return read_sets(folder, table=table, unreadable="skip" if skip else "error")


def _write(
    model: ImageAnnotator, sets: Any, S: Any, place: Path | None, probabilities: bool
) -> list[dict[str, Any]]:
    from eigenkit.files import atomic, output_format, write_table
    from eigenkit.images.ridge import probabilities as calibrated

    P = calibrated(S, *model._calibration_)
    chosen = model.thresholds_ < S
    carried = [[t for t, has in zip(model.terms_, row, strict=True) if has] for row in chosen]
    names = [one.name for one in sets]
    titles, columns = ["set", "terms"], [names, ["|".join(terms) for terms in carried]]
    if probabilities:
        titles += model.terms_
        columns += list(P.round(4).T)
    if place is None:
        write_table(sys.stdout.buffer, "csv", titles, [columns])
    else:
        with atomic(place) as stream:
            write_table(stream, output_format(place), titles, [columns])
    return [
        {"set": name, "terms": terms, "probabilities": dict(zip(model.terms_, p, strict=True))}
        for name, terms, p in zip(names, carried, P.round(4).tolist(), strict=True)
    ]


def _kernels(text: str) -> Any:
    from eigenkit.images.kernels import PLANS

    return text if text in PLANS else list(o.split([text]))


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        raise typer.BadParameter(f"{text!r} is not HEIGHTxWIDTH.", param_hint="--size")
    height, width = (int(part) for part in parts)
    return height, width


def _cache(folder: str | None, none: bool) -> Path | None:
    from eigenkit.images.cache import cache_folder

    return None if none else Path(folder) if folder else cache_folder()


def _teller(advance: Any) -> Any:
    def tell(p: Any) -> None:
        left = f", {p.remaining:.0f} s left" if p.remaining > 1 else ""
        advance(p.done, p.total, f"{p.step}: {p.done} of {p.total}{left}")

    return tell


def _described(model: ImageAnnotator) -> dict[str, Any]:
    return {
        "n_sets": len(model.set_names_),
        "n_labelled": len(model._labelled_),
        "terms": [vars(report) for report in model.report_],
        "few": model.few_,
        "weights": model.weights_,
        "weights_chosen": model.weights_chosen_,
        "weights_scores": model.weights_scores_,
        "alpha": model.alpha_,
        "size": list(model.size_),
    }


def _summary(model: ImageAnnotator) -> list[str]:
    """A table of the terms, and the weights of the kernels."""
    rows = [
        [r.term, r.support, *(f"{v:.3f}" for v in (r.f1, r.precision, r.recall, r.auc))]
        for r in sorted(model.report_, key=lambda r: -r.support)
    ]
    titles = ["term", "sets", "F1", "precision", "recall", "AUC"]
    weights = sorted(model.weights_.items(), key=lambda item: -item[1])
    return [
        f"{len(model.set_names_)} sets, {len(model._labelled_)} with labels; images brought to "
        f"{model.size_[0]} x {model.size_[1]}",
        f"weights of the kernels ({model.weights_chosen_}): "
        + ", ".join(f"{clean(name)} {w:.3f}" for name, w in weights),
        "every set predicted by all others:",
        table(titles, rows, right=(1, 2, 3, 4, 5)),
    ]


for _function in (fit, predict):
    command(app, _function.__name__)(_function)
