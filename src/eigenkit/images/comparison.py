"""Rivals on the same folds: which way to annotate suits these sets, and by how much."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenkit.evaluation.comparing import identity
from eigenkit.evaluation.record import write_atomically
from eigenkit.files import FileError
from eigenkit.images.annotator import ImageAnnotator
from eigenkit.images.checks import check_groups, check_sets, check_settings, check_terms
from eigenkit.images.descriptors import Descriptor
from eigenkit.images.extraction import Tell, Vectors, fitted, in_cache, subset
from eigenkit.images.files import ImageSet, Sets
from eigenkit.images.fitted import load_annotator, save_annotator
from eigenkit.images.kernels import choices
from eigenkit.images.rivals import CHOSEN, FITTED, PLAIN, RIVALS, Fold
from eigenkit.images.term_reports import measures
from eigenkit.images.weights import folds_of, groups_of, rows_of_views
from eigenkit.models import versions
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_choice

MEASURES = ("auc", "p1", "f1")
# "measures" and "seconds" on one fold, of every rival.
Figures = dict[str, dict[str, Any]]
# The descriptor of the plain machines.
_PLAIN = "joined"
# Parameters that do not change the result.
_OF_THE_RUN = ("cache", "n_jobs", "progress")


@dataclass(frozen=True)
class Row:
    """One rival: its measures on every fold.

    ``seconds`` are of choosing, fitting and predicting on all folds, without descriptors. The
    annotator computes the kernels, which the others are given.
    """

    name: str
    auc: tuple[float, ...]  # the mean over terms
    p1: tuple[float, ...]  # how often the first term is right
    f1: tuple[float, ...]  # the mean over terms, with thresholds chosen inside the training part
    seconds: float

    @property
    def quality(self) -> Array:
        """The mean of the three measures on every fold."""
        return np.asarray(np.mean([self.auc, self.p1, self.f1], axis=0))


@dataclass(frozen=True, eq=False)
class Comparison:
    """All rivals, the best of them first.

    Parameters
    ----------
    rows : list of Row
    recommended : str
        The rival of the best mean quality.
    level : list of str
        Rivals that cannot be told from it: within two standard errors of the paired differences.
    held_out : list of (annotator, test rows)
        The model of every fold, for a page.
    sets : list of ImageSet
        Those with labels.
    Y : array of shape (n_sets, n_terms)
    vectors : dict
        Of their pictures, by descriptors that learn nothing; the others learn in each fold.
    """

    rows: list[Row]
    recommended: str
    level: list[str]
    held_out: list[tuple[ImageAnnotator, np.ndarray]]
    sets: list[ImageSet]
    Y: Array
    vectors: Vectors


def compare(
    sets: Sequence[ImageSet],
    Y: Any,
    terms: Sequence[str] | None = None,
    *,
    annotator: ImageAnnotator | None = None,
    rivals: Sequence[str] | None = None,
    groups: Any = None,
    cv: int = 5,
    random_state: int = 0,
    progress: Tell = None,
    each: Callable[[dict[str, list[float]]], None] | None = None,
) -> Comparison:
    """Compare ways to annotate on folds; whatever is chosen is chosen inside the training part.

    Parameters
    ----------
    sets : sequence of ImageSet
    Y : array of shape (n_sets, n_terms)
        Sets without labels (rows of NaN) are on the training side of every fold, as in fit.
    terms : sequence of str, optional
    annotator : ImageAnnotator, optional
        Which kernels, size and views; its cache keeps finished folds until all are there.
    rivals : sequence of str, optional
        Names of :data:`eigenkit.images.rivals.RIVALS`; by default all.
    groups : array of shape (n_sets,), optional
        Sets of one group are never on both sides.
    cv : int
        Number of folds.
    random_state : int
    progress : callable, optional
        Called as ``progress(done, total, message)`` now and then.
    each : callable, optional
        Called after every fold with the measures of all rivals on it.

    Returns
    -------
    Comparison
    """
    sets = check_sets(sets)
    Y, names = check_terms(Y, terms, sets)
    groups = check_groups(groups, sets)
    if annotator is not None and annotator.views == "unseen":
        sets, _, Y, groups = rows_of_views(sets, {}, Y, groups)
    labelled = np.flatnonzero(~np.isnan(Y).any(axis=1))
    known_groups: Any = None if groups is None else groups[labelled]
    most = len(labelled) if groups is None else len(np.unique(known_groups))
    if not 2 <= cv <= most:
        raise ValueError(f"cv={cv} is not valid: give 2 to {most}, the number of sets or groups.")
    chosen = list(rivals or RIVALS)
    for name in chosen:
        check_choice("rivals", name, RIVALS)
    base = clone(annotator or ImageAnnotator()).set_params(progress=progress)
    check_settings(base)
    task = _Task(base, sets, Y, names, groups, _vectors(base, sets), chosen, random_state)
    held_out, figures = [], []
    for model, test, found in _folds(task, labelled, cv, progress):
        held_out.append((model, test))
        figures.append(found)
        if each is not None:
            each(found["measures"])
    known_sets = [sets[int(i)] for i in labelled], Y[labelled], subset(task.vectors, labelled)
    rows = _ranked(chosen, figures)
    gaps = {row.name: _mean_and_error(rows[0].quality - row.quality) for row in rows[1:]}
    level = [name for name, (gap, error) in gaps.items() if gap <= 2 * error]
    return Comparison(rows, rows[0].name, level, held_out, *known_sets)


@dataclass(frozen=True, eq=False)
class _Task:
    """What is the same for all folds."""

    base: ImageAnnotator
    sets: list[ImageSet]
    Y: Array
    terms: list[str]
    groups: Any
    vectors: Vectors
    rivals: list[str]
    seed: int


def _folds(
    task: _Task, labelled: np.ndarray, cv: int, progress: Tell
) -> Iterator[tuple[ImageAnnotator, np.ndarray, Figures]]:
    """Model, test rows and figures of every fold; those that a run before has finished are kept."""
    settings = task.terms, task.groups, cv, task.seed, task.rivals
    kept = FinishedFolds(task.base, comparison_key(task.sets, task.Y, task.base, *settings))
    own = None if task.groups is None else task.groups[labelled]
    for number, (train, test) in enumerate(folds_of(task.Y[labelled], own, cv, task.seed)):
        fold = kept.get(number)
        if fold is None:
            if progress is not None:
                before = f"fold {number + 1} of {cv}, "
                task.base.set_params(
                    progress=lambda n, of, text, before=before: progress(n, of, before + text)
                )
            fold = _measured(task, labelled[train], labelled[test])
            kept.put(number, *fold)
        yield fold[0], test, fold[1]
    kept.forget()


def _measured(task: _Task, train: np.ndarray, test: np.ndarray) -> tuple[ImageAnnotator, Figures]:
    """The annotator of a fold, and the measures of all rivals on it.

    The annotator learns from the training sets, and from those without labels that are of no
    group of the test sets.
    """
    alone = np.isnan(task.Y).any(axis=1)
    if task.groups is not None:
        alone &= ~np.isin(task.groups, task.groups[test])
    given = np.concatenate([train, np.flatnonzero(alone)])
    model: ImageAnnotator = clone(task.base)
    model.size_, inside = task.base.size_, [task.sets[int(i)] for i in given]
    model._descriptors_ = fitted(inside, task.base._descriptors_, model.size_)
    vectors = {**task.vectors, **learned_vectors(model, task.sets)}
    start = time.monotonic()
    fold = _fold(task, model, vectors, given, test)
    took = time.monotonic() - start
    found: Figures = {"measures": {}, "seconds": {}}
    for name in task.rivals:
        start = time.monotonic()
        S, thresholds = RIVALS[name](fold)
        # The annotator took its time before, with the kernels that others are given.
        found["seconds"][name] = time.monotonic() - start + (took if name == CHOSEN else 0.0)
        found["measures"][name] = list(measures(task.Y[test], S, thresholds))
    model._forget_unused()
    return model, found


def _fold(
    task: _Task, model: ImageAnnotator, vectors: Vectors, given: np.ndarray, test: np.ndarray
) -> Fold:
    """Kernels learned from the given sets: those of the training side, labelled or not."""
    train = given[~np.isnan(task.Y[given]).any(axis=1)]
    inside, outside = ([task.sets[int(i)] for i in rows] for rows in (given, test))
    groups = None if task.groups is None else task.groups[given]
    K = model.fit_vectors(inside, subset(vectors, given), task.Y[given], task.terms, groups)
    K_new, own_new = model._each_kernel(outside, subset(vectors, test))
    chosen = model._scores(K_new, own_new), model.thresholds_
    plain = [np.vstack(vectors[_PLAIN][int(i)]) for i in train]
    plain_new = [np.vstack(vectors[_PLAIN][int(i)]) for i in test]
    # Equal weights for the kernels between sets; those within views if they were chosen.
    inner = np.array([kernel.view is not None for kernel in model._kernels_])
    ways = choices(model.kernels, model._kernels_, "equal").values()
    within = np.any(model._base_[inner])
    base = next(base for base in ways if np.any(base[inner]) == within)
    known = K, K_new, own_new, task.Y[train], groups_of(task.groups, train)
    return Fold(*known, chosen, base, plain, plain_new, task.seed)


def _ranked(names: Sequence[str], folds: Sequence[Figures]) -> list[Row]:
    """All rivals, the best first."""
    rows = []
    for name in names:
        auc, p1, f1 = zip(*(fold["measures"][name] for fold in folds), strict=True)
        rows.append(Row(name, auc, p1, f1, sum(fold["seconds"][name] for fold in folds)))
    return sorted(rows, key=lambda row: -float(row.quality.mean()))


def _vectors(base: ImageAnnotator, sets: Sets) -> Vectors:
    """Those that are the same in all folds, also those of the plain machines."""
    base._prepare(sets)
    wanted = {d.name: d for d in base._descriptors_ if not d.learns}
    wanted.setdefault(_PLAIN, Descriptor(_PLAIN))
    return base._vectors(sets, [*wanted.values()])


def learned_vectors(model: ImageAnnotator, sets: Sets) -> Vectors:
    """Those of descriptors that have learned from the training sets of a model."""
    learned = [d for d in model._descriptors_ if d.learns]
    return model._vectors(sets, learned) if learned else {}


# -- finished folds on disk: an interrupted run continues after them ----------------------


class FinishedFolds:
    """The folds of one comparison, which a key tells from others: a model and figures each.

    They are kept in the cache of the annotator. Nothing is kept without a cache, or with functions
    of the user's, whose versions cannot be told apart.
    """

    def __init__(self, annotator: ImageAnnotator, key: str) -> None:
        self.given = annotator.descriptors
        keeps = annotator.cache is not None and not any(d.function is not None for d in self.given)
        self.folder = Path(annotator.cache) / "folds" / key if keeps else None

    def get(self, number: int) -> tuple[ImageAnnotator, Figures] | None:
        """The fold of that number; None where it has not been finished, or is damaged."""
        if self.folder is None:
            return None
        try:
            figures = json.loads((self.folder / f"{number}.json").read_text())
            model = load_annotator(self.folder / f"{number}.ek", self.given)
            return model, {key: figures[key] for key in ("measures", "seconds")}
        except (FileError, OSError, ValueError, TypeError, KeyError):
            return None

    def put(self, number: int, model: ImageAnnotator, found: Figures) -> None:
        """Keep a fold; the figures are written last, so where they are, the model is too."""
        if self.folder is None:
            return
        with in_cache(self.folder.parents[1]):
            self.folder.mkdir(parents=True, exist_ok=True)
            save_annotator(model, self.folder / f"{number}.ek")
            write_atomically(self.folder / f"{number}.json", json.dumps(found))

    def forget(self) -> None:
        """Remove the files when all folds are finished."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def comparison_key(sets: Sets, Y: Array, annotator: ImageAnnotator, *settings: Any) -> str:
    """A hash of pictures, terms, parameters, settings, versions and the code itself."""
    params = {k: v for k, v in annotator.get_params().items() if k not in _OF_THE_RUN}
    pictures = [(one.name, [(p.digest, p.view) for p in one.pictures]) for one in sets]
    code = (file.read_bytes() for file in sorted(Path(__file__).parents[1].rglob("*.py")))
    return identity(pictures, Y, params, *settings, versions(), *code)


def as_records(comparison: Comparison) -> list[dict[str, Any]]:
    """Means, standard errors, and the paired difference to the plain rival (None without it)."""
    plain = next((row for row in comparison.rows if row.name == PLAIN), None)
    records = []
    for row in comparison.rows:
        found = {"name": row.name, "recommended": row.name == comparison.recommended}
        for key in MEASURES:
            found[key], found[f"{key}_error"] = _mean_and_error(getattr(row, key))
        gap = (None, None) if plain is None else _mean_and_error(np.subtract(row.auc, plain.auc))
        found["difference"], found["difference_error"] = gap
        records.append(found | {"seconds": round(row.seconds, 2)})
    return records


def _mean_and_error(values: Any) -> tuple[float, float]:
    x = np.asarray(values, dtype=float)
    return float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x)))


def figures(record: dict[str, Any]) -> list[str]:
    """Cells of a table: the measures of a record, and its difference to the plain one."""
    measured = [f"{record[key]:.3f} ± {record[key + '_error']:.3f}" for key in MEASURES]
    if record["difference"] is None:
        return [*measured, "not measured"]
    return [*measured, f"{record['difference']:+.3f} ± {record['difference_error']:.3f}"]


def verdict(comparison: Comparison) -> str:
    """Which to take, which are as good, and how to fit it."""
    text = f"Recommended by the mean of AUC, P@1 and F1: {comparison.recommended}."
    if comparison.level:
        text += f" Cannot be told apart from it on these folds: {'; '.join(comparison.level)}."
    return f"{text} {advice([row.name for row in comparison.rows], comparison.held_out[0][0])}"


def advice(names: Sequence[str], measured: ImageAnnotator) -> str:
    """How to fit the first of these rivals, or the first of them that can be fitted."""
    text = "It is here for comparison only: annotate fit does not offer it."
    found = to_fit(names, measured)
    if found is None:
        return text
    name, options = found
    words = " ".join(options)
    how = f"fitted by annotate fit {words}" if words else "what annotate fit does by itself"
    return f"It is {how}." if name == names[0] else f"{text} Next comes {name}, {how}."


_VIEWS = {True: "views", False: "no-views", "unseen": "unseen-views"}


def to_fit(names: Sequence[str], measured: ImageAnnotator) -> tuple[str, list[str]] | None:
    """The first of these rivals that annotate fit can fit, and the options that make it do so.

    They repeat what the rivals were measured with.
    """
    name = next((name for name in names if name in FITTED), None)
    if name is None:
        return None
    given: dict[str, Any] = dict(FITTED[name])
    if name == CHOSEN and measured.weights != "each":
        given["weights"] = measured.weights
    if name != PLAIN:  # which has a kernel of its own, and no views
        kernels = measured.kernels
        if not isinstance(kernels, str):
            words = (k if isinstance(k, str) else f"{k.descriptor}:{k.kind}" for k in kernels)
            kernels = ",".join(word.removesuffix(":mean_map") for word in words)
        if kernels != "auto":
            given["kernels"] = kernels
        if measured.views != "auto":
            given[_VIEWS[measured.views]] = ""
    if measured.size is not None:
        given["size"] = "x".join(map(str, measured.size))
    if measured.random_state:
        given["random-state"] = measured.random_state
    return name, [word for key, value in given.items() for word in (f"--{key}", f"{value}") if word]
