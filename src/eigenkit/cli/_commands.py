"""All commands: what each is for, what it takes, and where its work is done.

The modules of the work import what they need when a command runs, so that help comes at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from functools import partial
from typing import Any

import click

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, command, in_json, table
from eigenkit.cli._parsing import Argument, Group, Option

Makers = dict[str, Callable[[str], click.Command]]


def _command(home: str, words: str, **options: Option) -> Callable[[str], click.Command]:
    """A command by its name, which ``"module:function"`` does; help lists options in this order."""
    return partial(command, home, words, options | o.TALKING)


def _writing(home: str, words: str, **options: Option) -> Callable[[str], click.Command]:
    """The same for a command that writes files."""
    return _command(home, words, **options, force=o.FORCE)


# -- annotate: sets of images ------------------------------------------------------------

_FOLDER = Argument("A folder that contains a folder of images for each set (and view).")
_LABELS = Argument("CSV with a column set, and terms separated by | or a 0/1 column for each term.")
_REPORT = Option("Write the page as one HTML file.")


def _jobs(default: int) -> Option:
    return Option("Number of processes; -1 for one per processor.", default=default)


# How images are read and described.
_IMAGES: o.Group = {
    "table": Option("CSV with columns file, set and view, in place of folders."),
    "cache": Option("Where descriptors are kept; by default in the user's cache."),
    "no_cache": Option("Keep no descriptors.", default=False),
    "jobs": _jobs(-1),
    "skip_unreadable": Option("Leave out images that cannot be read.", default=False),
}
# What is learned, and from what.
_TERMS: o.Group = {
    "kernels": Option(
        "auto (by cross-validation), default (fourteen between sets), pooled (plain), thesis (23 "
        "pyramids), or descriptors separated by commas, each with its kind of set kernel, such as "
        "sift-16:pyramid,hsv:mean_map.",
        default="auto",
    ),
    "weights": Option(
        "each, equal, learned, half or best; or auto: one of the first four, by cross-validation.",
        default="each",
    ),
    "views": Option(
        "Compare only pictures of the same view, or all; by default whichever does better.",
        kind=bool,
        show_default=False,
    ),
    "unseen_views": Option(
        "New sets will show other views than these do.", default=False, off=True
    ),
    "groups": Option(
        "CSV with columns set and group: a group is never split between training and test."
    ),
    "size": Option("Height x width to which images are resized."),
    **_IMAGES,
    "random_state": o.RANDOM_STATE,
}
_ANNOTATE: Makers = {
    "fit": _writing(
        "_annotate:fit",
        "Learn the terms of sets of images and keep the model as a file.",
        images=_FOLDER,
        labels=_LABELS,
        out=o.MODEL_OUT,
        report=_REPORT,
        **_TERMS,
    ),
    "predict": _writing(
        "_annotate:predict",
        "Predict the terms of sets of images with a model.",
        model=Argument("A model written by annotate fit."),
        images=_FOLDER,
        out=Option("The output: CSV or TSV, by its name; - is the screen.", "-o", default="-"),
        report=_REPORT,
        labels=Option("Known terms, to compare the predictions with."),
        proba=Option("Also write the probability of each term, in columns.", default=False),
        adapt=Option("The sets are of another kind than the training sets.", default=False),
        **_IMAGES | {"jobs": _jobs(1)},
        keep_formulas=o.KEEP_FORMULAS,
    ),
    "compare": _writing(
        "_annotate:compare",
        "Compare ways to annotate by cross-validation, and recommend one.",
        images=_FOLDER,
        labels=_LABELS,
        report=_REPORT,
        cv=Option("Number of folds.", default=5, min=2),
        rivals=Option("Names, separated by semicolons; by default all."),
        **_TERMS,
    ),
    "demo": _writing(
        "_annotate:demo",
        "Draw sets of shapes, learn their terms, annotate new ones, and write a page about them.",
        out=Option("A folder for pictures, model and pages.", "-o", default="eigenkit-shapes"),
        random_state=o.RANDOM_STATE,
    ),
}

# -- tables -----------------------------------------------------------------------------

_FILES: o.Group = {
    "model": o.MODEL,
    "data": o.DATA,
    "out": Option(
        "The output: CSV, TSV, NPZ or Parquet, by its name; - is the screen.", "-o", default="-"
    ),
}
_SHARE: dict[str, Any] = {"kind": float, "min": 0, "max": 1, "min_open": True, "max_open": True}
COMMANDS: Makers = {
    "demo": _command(
        "_commands:demo", "Run the main methods on built-in data, and write a report."
    ),
    "example": _writing(
        "_example:example",
        "Write a small file to try the other commands on.",
        name=Argument("Which file to write; without a name, all files are listed.", required=False),
    ),
    "methods": _command("_commands:methods", "List the methods, one line each."),
    "report": _writing(
        "_report:report",
        "Show an earlier run again without computing anything, or several runs side by side.",
        runs=Argument(
            "Records written by compare --out; several are shown side by side.", nargs=-1
        ),
        html=Option("Write it as one HTML file."),
    ),
    "compare": _writing(
        "_compare:compare",
        "Compare methods on a file by cross-validation, or on a test file.\n\n"
        "The values for missing entries and the scaling are learned on the training rows of every "
        "split. The words of a column of text and their weights come from the whole file, without "
        "labels.",
        data=o.DATA,
        methods=Option(
            "Method names, separated by commas, or all; by default the usual ones.",
            "-m",
            multiple=True,
        ),
        cv=Option("Number of folds; 5 by default.", kind=int, min=2),
        repeats=Option("Rounds of folds or partitions; 1 by default.", kind=int, min=1),
        train_size=Option("Random partitions with this share for training.", **_SHARE),
        alphas=Option(
            "Ridges to choose from, separated by commas, or auto; none keeps the ridge of each "
            "method.",
            default="auto",
        ),
        classifier=Option("On top of every projection: svm, knn or logistic.", default="svm"),
        baselines=Option(
            "Also measure the classifier without a projection, and on principal components.",
            default=True,
        ),
        components=o.COMPONENTS,
        test=Option("Fit on all rows of the file and measure on this test file."),
        out=Option("Keep the record of the run as JSON.", "-o"),
        report=Option("Write the report as one HTML file."),
        **o.LEARNING,
    ),
    "fit": _writing(
        "_fit:fit",
        "Fit a method on a file and keep the whole pipeline as a model file.\n\n"
        "In every fold of a cross-validation, the values for missing entries and the scaling are "
        "learned on the training rows.",
        data=o.DATA,
        out=o.MODEL_OUT,
        method=o.METHOD,
        alpha=Option(
            "Ridge: a number, or cv to choose it by cross-validation; by default the method's own, "
            "which is 1 for most."
        ),
        alphas=Option("With --alpha cv: the values to choose from, separated by commas."),
        cv=Option("Folds of every cross-validation; 5 by default.", kind=int, min=2),
        components=o.COMPONENTS,
        quality=Option(
            "Measure the model by cross-validation; done by default if all rows fit in memory.",
            kind=bool,
        ),
        classifier=Option(
            "On top of a projection: svm, or gaussian, which follow and merge can update.",
            default="svm",
        ),
        stability=Option(
            "Fit again on this many resamples, and say how stable the weights are.",
            kind=int,
            min=10,
        ),
        set_=o.SET,
        stream=Option(
            "Read the file in blocks and keep none in memory; the default if the file is too "
            "large.",
            kind=bool,
        ),
        checkpoint=Option(
            "Read in blocks and keep the state in this file, from which an interrupted fit "
            "continues."
        ),
        on_error=o.ON_ERROR,
        dask=Option("Fit on a cluster: local, or the address of a scheduler (tls://...)."),
        unencrypted=Option("With --dask: allow a scheduler without encryption.", default=False),
        **o.LEARNING,
    ),
    "transform": _writing(
        "_apply:transform", "Project the rows of a file with a model.", **_FILES, **o.READING
    ),
    "predict": _writing(
        "_apply:predict",
        "Predict the labels of the rows of a file with a model.",
        **_FILES,
        scores=Option("Also write the scores.", default=False),
        proba=Option(
            "Also write probabilities, if the method has them or fit had --classifier gaussian.",
            default=False,
        ),
        long=Option("One line for each row and predicted label.", default=False),
        top=Option("How many labels to list for each row, the most likely first.", kind=int, min=1),
        keep=Option("Columns to repeat in the output, such as an id or the truth.", multiple=True),
        keep_formulas=o.KEEP_FORMULAS,
        **o.READING,
    ),
    "score": _command(
        "_apply:score",
        "Measure a model on a file that holds the true labels.",
        model=o.MODEL,
        data=o.DATA,
        **o.READING,
    ),
    "explain": _command(
        "_apply:explain",
        "Show which features and components led to the labels of a row.\n\n"
        "A score is that of the average training row plus what every feature adds to it.",
        model=o.MODEL,
        data=o.DATA,
        row=Option(
            "Which row of the file, as reports count them: from 1, without the header.",
            default=1,
            min=1,
        ),
        label=Option("Which class, label or response; by default those predicted."),
        top=Option("How many features to show.", default=5, min=1),
        **o.READING,
    ),
    "inspect": _writing(
        "_inspect:inspect",
        "Show what a model is, how and on what it was fitted, and the weights of its components.",
        model=o.MODEL,
        top=Option("Features to show per component.", default=5, min=0),
        report=Option("Write it as one HTML file."),
    ),
    "export": _writing(
        "_inspect:export",
        "Write a model for other programs: components and scores as affine maps of the features.",
        model=o.MODEL,
        onnx=Option("Write the model as an ONNX file."),
        csv=Option("Write the weights of all features as a table."),
    ),
    "follow": _command(
        "_fit:follow",
        "Feed a model with rows as they arrive at the end of a file, or on standard input.",
        data=Argument("CSV, TSV or svmlight, not compressed; - is standard input."),
        model=Option("The model file, replaced as it learns.", required=True),
        checkpoint=Option(
            "A file for the state, from which an interrupted run continues; every row counts once.",
            required=True,
        ),
        every=Option("Seconds between checkpoints.", default=30.0, min=0),
        half_life=Option("Forget: a row counts half after this many further rows.", kind=float),
        on_error=o.ON_ERROR,
        once=Option("Stop after the last complete line.", default=False),
        **o.READING,
    ),
    "merge": _writing(
        "_fit:merge",
        "Merge the models of several sites into the model of all their rows.\n\n"
        "Models that keep a stream contain recent rows as they came, and so does the merged model, "
        "unless --no-rows is given.",
        models=Argument("Models written by follow or by fit --checkpoint.", nargs=-1),
        out=o.MODEL_OUT,
        no_rows=Option(
            "Keep only sums, none of the recent rows, so that the file can be shared; one model is "
            "enough.",
            default=False,
        ),
    ),
    "test": _command(
        "_compare:significance",
        "Test which components of a method are more than chance, by permutations.\n\n"
        "Features are made from the whole file, as in compare. The views of multiview_cca are "
        "tested against each other, without labels.",
        data=o.DATA,
        method=o.METHOD,
        permutations=Option("Number of permutations.", default=999, min=1),
        statistic=Option(
            "wilks, trace or roy; auto is wilks for correlations, else trace.", default="auto"
        ),
        level=Option("Significance level.", default=0.05, min=0.0, max=1.0),
        nuisance=Option("Features (names or patterns) whose influence is removed.", multiple=True),
        alpha=Option("Ridge.", kind=float, min=0.0),
        components=Option("Number of components; by default all.", kind=int, min=1),
        set_=o.SET,
        jobs=Option("Number of processes; -1 for one per core.", default=1),
        **o.LEARNING,
    ),
    "annotate": partial(
        Group, makers=_ANNOTATE, help="Terms for sets of images: fit, predict, compare, demo."
    ),
}


# -- the work of those that need no numbers of their own ---------------------------------


def demo(given: o.Given) -> Result:
    from eigenkit.demo import main

    with redirect_stdout(sys.stderr) if in_json() else nullcontext():
        main()
    return Result({"demo": "done"})


def methods(given: o.Given) -> Result:
    from eigenkit.estimators.registry import METHODS

    rows = [[m.name, m.kind, ", ".join(m.targets), m.description] for m in METHODS.values()]
    titles = ["method", "kind", "learns from", "what it is"]
    keys = ("name", "kind", "targets", "description")
    record = [{key: getattr(m, key) for key in keys} for m in METHODS.values()]
    # Written out, as nothing that numbers need is imported for a list.
    sets = (
        "Terms for sets of images: eigenkit annotate, by kernels between sets of vectors.\n"
        "--kernels descriptor:kind names one; kinds are pyramid, mean_map, fisher, words and "
        "pooled."
    )
    return Result({"methods": record}, f"{table(titles, rows)}\n{sets}")
