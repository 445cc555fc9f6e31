"""Rivals on the same folds: which way to annotate suits these sets, and by how much."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenkit.images.annotator import ImageAnnotator
from eigenkit.images.checks import check_groups, check_sets, check_settings, check_terms
from eigenkit.images.descriptors import Descriptor
from eigenkit.images.extraction import Tell, Vectors, fitted, subset
from eigenkit.images.files import ImageSet
from eigenkit.images.folds import Finished, FinishedFolds, comparison_key
from eigenkit.images.kernels import equal_weights, subsets
from eigenkit.images.rivals import CHOSEN, FITTED, PLAIN, RIVALS, Fold
from eigenkit.images.term_reports import measures
from eigenkit.images.unseen import views_apart
from eigenkit.images.weights import folds_of
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_choice

MEASURES = ("auc", "p1", "f1")
# The descriptor of the plain machines.
_PLAIN = "joined"


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
    groups = None if groups is None else check_groups(groups, sets)
    if annotator is not None and annotator.views == "unseen":
        sets, of = views_apart(sets)
        Y, groups = Y[of], of if groups is None else groups[of]
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
    vectors = _vectors(base, sets)
    kept = FinishedFolds(
        base, comparison_key(sets, Y, base, names, groups, cv, random_state, chosen)
    )
    held_out, finished = [], []
    for number, (train, test) in enumerate(folds_of(Y[labelled], known_groups, cv, random_state)):
        known = kept.get(number)
        if known is None:
            sides = labelled[train], labelled[test]
            given = np.concatenate([sides[0], _unlabelled(Y, groups, sides[1])])
            base.set_params(progress=_of_fold(progress, number + 1, cv))
            model = _model(base, [sets[int(i)] for i in given])
            own = {**vectors, **learned_vectors(model, sets)}
            start = time.monotonic()
            fold = _fold(model, sets, Y, names, groups, own, given, *sides, random_state)
            known = model, _measured(fold, chosen, Y[sides[1]], time.monotonic() - start)
            model._forget_unused()
            kept.put(number, *known)
        held_out.append((known[0], test))
        finished.append(known[1])
        if each is not None:
            each(known[1].measures)
    kept.forget()
    rows = [_row(name, finished) for name in chosen]
    rows.sort(key=lambda row: -float(row.quality.mean()))
    known_sets = [sets[int(i)] for i in labelled], Y[labelled], subset(vectors, labelled)
    return Comparison(rows, rows[0].name, _level(rows), held_out, *known_sets)


def _of_fold(tell: Tell, number: int, folds: int) -> Tell:
    """The same, with the number of the fold before every message."""
    if tell is None:
        return None
    return lambda done, total, text: tell(done, total, f"fold {number} of {folds}, {text}")


def _measured(fold: Fold, rivals: Sequence[str], Y: Array, took: float) -> Finished:
    """All rivals on one fold, whose new sets carry the terms Y.

    The annotator took its time before, with the kernels that others are given.
    """
    found: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    for name in rivals:
        start = time.monotonic()
        S, thresholds = RIVALS[name](fold)
        seconds[name] = time.monotonic() - start + (took if name == CHOSEN else 0.0)
        found[name] = list(measures(Y, S, thresholds))
    return Finished(found, seconds)


def _row(name: str, folds: Sequence[Finished]) -> Row:
    auc, p1, f1 = zip(*(fold.measures[name] for fold in folds), strict=True)
    return Row(name, auc, p1, f1, sum(fold.seconds[name] for fold in folds))


def _vectors(base: ImageAnnotator, sets: Sequence[ImageSet]) -> Vectors:
    """Those that are the same in all folds, also those of the plain machines."""
    base._prepare(sets)
    names = [d.name for d in base._descriptors_]
    plain = [] if _PLAIN in names else [Descriptor(_PLAIN)]
    return base._vectors(sets, [*(d for d in base._descriptors_ if not d.learns), *plain])


def learned_vectors(model: ImageAnnotator, sets: Sequence[ImageSet]) -> Vectors:
    """Those of descriptors that have learned from the training sets of a model."""
    learned = [d for d in model._descriptors_ if d.learns]
    return model._vectors(sets, learned) if learned else {}


def _model(base: ImageAnnotator, sets: Sequence[ImageSet]) -> ImageAnnotator:
    """The annotator of a fold, whose descriptors have seen its training sets alone."""
    model: ImageAnnotator = clone(base)
    model.size_, model._descriptors_ = base.size_, fitted(sets, base._descriptors_, base.size_)
    return model


def _fold(
    model: ImageAnnotator,
    sets: list[ImageSet],
    Y: Array,
    terms: list[str],
    groups: Any,
    vectors: Vectors,
    given: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    seed: int,
) -> Fold:
    """Kernels learned from the given sets: those of the training side, labelled or not."""
    inside, outside = ([sets[int(i)] for i in rows] for rows in (given, test))
    own_groups, given_groups = (None if groups is None else groups[rows] for rows in (train, given))
    K = model.fit_vectors(inside, subset(vectors, given), Y[given], terms, given_groups)
    K_new, own_new = model._each_kernel(outside, subset(vectors, test))
    chosen = model._scores(K_new, own_new), model.thresholds_
    plain, plain_new = (
        [np.vstack(vectors[_PLAIN][int(i)]) for i in rows] for rows in (train, test)
    )
    base = _set_kernel_weights(model)
    return Fold(K, K_new, own_new, chosen, base, Y[train], plain, plain_new, own_groups, seed)


def _unlabelled(Y: Array, groups: Any, test: np.ndarray) -> np.ndarray:
    """Sets without labels that are of no group of the test sets."""
    alone = np.isnan(Y).any(axis=1)
    return np.flatnonzero(alone if groups is None else alone & ~np.isin(groups, groups[test]))


def _set_kernel_weights(model: ImageAnnotator) -> Array:
    """Equal weights for the kernels between sets; those within views if they were chosen."""
    kernels = model._kernels_
    used = next(iter(subsets(model.kernels, kernels, "equal").values()))
    within = any(k.view is not None for k, b in zip(kernels, model._base_, strict=True) if b)
    return equal_weights(used, kernels, within)


def _level(rows: Sequence[Row]) -> list[str]:
    """Rivals whose difference to the first is at most twice its standard error."""
    gaps = {row.name: _mean_and_error(rows[0].quality - row.quality) for row in rows[1:]}
    return [name for name, (gap, error) in gaps.items() if gap <= 2 * error]


def as_records(comparison: Comparison) -> list[dict[str, Any]]:
    """Means, standard errors, and the paired difference to the plain rival (None without it)."""
    plain = next((row for row in comparison.rows if row.name == PLAIN), None)
    return [_record(row, plain, comparison.recommended) for row in comparison.rows]


def _record(row: Row, plain: Row | None, recommended: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": row.name, "recommended": row.name == recommended}
    for key in MEASURES:
        found[key], found[key + "_error"] = _mean_and_error(getattr(row, key))
    gap = (None, None) if plain is None else _mean_and_error(np.subtract(row.auc, plain.auc))
    found["difference"], found["difference_error"] = gap
    found["seconds"] = round(row.seconds, 2)
    return found


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
    measured = comparison.held_out[0][0]
    return f"{text} {advice([row.name for row in comparison.rows], measured)}"


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


def to_fit(names: Sequence[str], measured: ImageAnnotator) -> tuple[str, list[str]] | None:
    """The first of these rivals that annotate fit can fit, and its options for that."""
    name = next((name for name in names if name in FITTED), None)
    if name is None:
        return None
    own = {"weights": measured.weights} if name == CHOSEN and measured.weights != "each" else {}
    given = {**FITTED[name], **own, **_given(measured, name == PLAIN)}
    return name, [word for key, value in given.items() for word in (f"--{key}", f"{value}") if word]


_VIEWS = {True: "views", False: "no-views", "unseen": "unseen-views"}


def _given(measured: ImageAnnotator, plain: bool) -> dict[str, Any]:
    """Options that make fit use what the rivals were measured with.

    The plain one has a kernel of its own, and no views.
    """
    found: dict[str, Any] = {}
    if not plain and measured.kernels != "auto":
        found["kernels"] = _kernels_in_words(measured.kernels)
    if not plain and measured.views != "auto":
        found[_VIEWS[measured.views]] = ""
    if measured.size is not None:
        found["size"] = "x".join(map(str, measured.size))
    return found | ({"random-state": measured.random_state} if measured.random_state else {})


def _kernels_in_words(kernels: Any) -> str:
    if isinstance(kernels, str):
        return kernels
    words = (k if isinstance(k, str) else f"{k.descriptor}:{k.kind}" for k in kernels)
    return ",".join(word.removesuffix(":mean_map") for word in words)
