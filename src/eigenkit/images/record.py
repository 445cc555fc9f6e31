"""What the page shows, as plain values: sets with their terms and the reasons for them."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from eigenkit.images.annotator import ImageAnnotator
from eigenkit.images.comparison import Comparison, as_records, learned_vectors, verdict
from eigenkit.images.descriptors import sees
from eigenkit.images.descriptors.frame import grid
from eigenkit.images.explain import Evidence, Explainer, Explanation, nearest_sets
from eigenkit.images.extraction import Tell, Vectors, subset, watched
from eigenkit.images.files import ImageSet, Sets, pillow
from eigenkit.images.ridge import Spectrum
from eigenkit.images.rivals import CHOSEN, PLAIN
from eigenkit.images.term_reports import OTHERS, UNSEEN, TermReport, term_reports
from eigenkit.images.weights import IN_WORDS, views_apart
from eigenkit.numerics.linalg import Array

Record = dict[str, Any]  # plain values, of which a page is made

# Pictures of a set that are shown, their longer side, and terms whose evidence is drawn.
PICTURES, SIDE, EVIDENCE = 4, 96, 3
# The kernels whose parts of a score are named, and what a set has whatever it shows.
PARTS, ANY_SET = 6, "any set"
LIKELY = 0.02
NOT_KNOWN = (
    "Their terms are not known, so F1 and AUC are those of the training sets, every one predicted "
    "without it."
)
EXPLAINED = f'P@1 is how often the most probable term is right; the plain way is "{PLAIN}".'


def thumbnail(pixels: np.ndarray, side: int = SIDE) -> str:
    """A small copy of an image as a data URI."""
    from PIL import features

    image = pillow().fromarray(np.asarray(pixels))
    image.thumbnail((side, side))
    kind = "webp" if features.check("webp") else "jpeg"
    stream = io.BytesIO()
    image.save(stream, kind, quality=65)
    return f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode()}"


class Reason(NamedTuple):
    """What is shown beside the terms of a set."""

    near: list[tuple[str, float, list[str]]]
    terms: np.ndarray  # those whose evidence is drawn
    evidence: list[Evidence]
    parts: list[dict[str, float]]  # for each of these, what kernels add to its log-odds


def fitted_record(model: ImageAnnotator, sets: Sets, title: str, tell: Tell = None) -> Record:
    """The labelled sets of a fitted model, every one predicted without it."""
    if model.views == "unseen":
        sets, _ = views_apart(sets)
    labelled = [sets[int(i)] for i in model._labelled_]
    K = model.training_kernel()
    np.fill_diagonal(K, -np.inf)
    drawn = _drawn_terms(model, model._held_out_)
    evidence = _held_out_evidence(model, labelled, drawn, tell)
    reasons = [
        Reason(nearest_sets(model, row), terms, _placed(pieces, model.size_), _sums(pieces))
        for row, terms, pieces in zip(K, drawn, evidence, strict=True)
    ]
    unseen = f" For the figures of terms, {UNSEEN}." if model.views == "unseen" else ""
    return {
        **_head([model], title, f"sets of images, {OTHERS}.{unseen}"),
        "terms": _terms(model.term_reports_),
        **_sets(model, labelled, model._held_out_, model._Y_, reasons, tell),
    }


def _sums(pieces: Sequence[Evidence]) -> list[dict[str, float]]:
    """What kernels with evidence add, term by term; others are not known here."""
    found: list[dict[str, float]] = [{} for _ in range(EVIDENCE if pieces else 0)]
    for piece in pieces:
        for parts, share in zip(found, piece.shares.sum(axis=0), strict=False):
            parts[piece.kernel] = parts.get(piece.kernel, 0.0) + float(share)
    return found


def _held_out_evidence(
    model: ImageAnnotator, labelled: Sets, shown: np.ndarray, tell: Tell
) -> list[list[Evidence]]:
    """For every set and its terms, by the coefficients without the set (and its group)."""
    explainer = Explainer(model)
    if not explainer.by_points:
        return [[] for _ in labelled]
    vectors = model._vectors(labelled, explainer.descriptors)
    group = np.arange(len(labelled)) if model._groups_ is None else model._groups_[model._labelled_]
    parts = [np.flatnonzero(group == name) for name in group]
    members = np.flatnonzero(model._thetas_[:, list(explainer.by_points)].any(axis=1))
    lefts = []
    for k in map(int, members):
        spectrum, alpha = Spectrum.of(model.training_kernel(k)), model._alphas_[k]
        A = spectrum.coefficients(model._Y_ @ model._targets_[k].R, alpha)
        lefts.append(spectrum.without(A, alpha, parts))
    found = []
    for i in watched("evidence", range(len(labelled)), len(labelled), tell):
        A = np.zeros((len(model._thetas_), len(labelled), shown.shape[1]))
        for m, left in zip(members, lefts, strict=True):
            A[m] = next(left) @ model._targets_[m].back[:, shown[i]]
        found.append(explainer.evidence(labelled[i], subset(vectors, [i]), A))
    return found


def _drawn_terms(model: ImageAnnotator, S: Array) -> np.ndarray:
    """Of every set the terms whose evidence is drawn: predicted ones, the most probable first."""
    rank = model.probabilities(S) + (model.thresholds_ < S)
    return np.asarray(np.argsort(-rank, axis=1)[:, :EVIDENCE])


def predicted_record(
    model: ImageAnnotator, sets: Sets, title: str, Y: Array | None = None, tell: Tell = None
) -> Record:
    """New sets; with Y, the terms that they should have (rows of NaN where that is not known)."""
    given = np.full((len(sets), len(model.terms_)), np.nan) if Y is None else Y
    S, shown = _explained(model, sets, given, None, tell)
    known = ~np.isnan(given).any(axis=1)
    reports = model.term_reports_
    if known.any():
        reports = term_reports(model.terms_, given[known], S[known], model.thresholds_)
    what = "new sets of images."
    return {
        **_head([model], title, what if known.any() else f"{what} {NOT_KNOWN}"),
        "terms": _terms(reports),
        **shown,
    }


def compared_record(comparison: Comparison, title: str, tell: Tell = None) -> Record:
    """Every set predicted by the model of the fold that it was held out of, and the rivals."""
    rows: dict[int, Any] = {}
    train: dict[str, Any] = {}
    grids: dict[str, Any] = {}
    S, limits = np.zeros(comparison.Y.shape), np.zeros(comparison.Y.shape)
    for model, test in comparison.held_out:
        sets = [comparison.sets[int(i)] for i in test]
        vectors = {**subset(comparison.vectors, test), **learned_vectors(model, sets)}
        S[test], part = _explained(model, sets, comparison.Y[test], vectors, tell)
        limits[test] = model.thresholds_
        rows |= dict(zip(test.tolist(), part["sets"], strict=True))
        train |= part["train"]
        grids |= part["grids"]
    models = [model for model, _ in comparison.held_out]
    what = "sets of images, every one predicted by a model that has not seen it, in the way "
    what += f'"{CHOSEN}"'
    if comparison.recommended != CHOSEN:
        what += f' (recommended is another one: "{comparison.recommended}")'
    return {
        **_head(models, title, f"{what}."),
        "terms": _terms(term_reports(models[0].terms_, comparison.Y, S, limits)),
        "sets": [rows[i] for i in sorted(rows)],
        "train": train,
        "grids": grids,
        "methods": as_records(comparison),
        "methods_note": f"Means over folds ± standard errors. {verdict(comparison)} {EXPLAINED}",
    }


def _explained(
    model: ImageAnnotator, sets: Sets, Y: np.ndarray, vectors: Vectors | None, tell: Tell
) -> tuple[Array, Record]:
    """The scores of sets, and what is shown of them; their vectors may be known already."""
    explainer = Explainer(model)
    found = []
    for k in watched("evidence", range(len(sets)), len(sets), tell):
        own = vectors and subset(vectors, [k])
        found.append(explainer(sets[k], own, lambda s: _drawn_terms(model, s[None])[0]))
    S = np.array([why.scores for why in found])
    reasons = []
    for why, terms in zip(found, _drawn_terms(model, S), strict=True):
        evidence = _placed(why.evidence, model.size_)
        drawn = {piece.kernel for piece in evidence}
        parts = [_parts(why, int(j), drawn) for j in terms]
        reasons.append(Reason(why.neighbours, terms, evidence, parts))
    return S, _sets(model, sets, S, Y, reasons, tell)


def _parts(why: Explanation, j: int, drawn: set[str]) -> dict[str, float]:
    """What the kernels that matter most, and those that are drawn, add to the score of a term."""
    order = sorted(why.kernels, key=lambda name: -abs(why.kernels[name][j]))
    named = [name for i, name in enumerate(order) if i < PARTS or name in drawn]
    found = {ANY_SET: float(why.base[j])} | {name: float(why.kernels[name][j]) for name in named}
    rest = [why.kernels[name][j] for name in order if name not in named]
    return found | ({f"other kernels ({len(rest)})": float(sum(rest))} if rest else {})


def _head(models: Sequence[ImageAnnotator], title: str, what: str) -> Record:
    """The top of a page: which models the figures come from, and their weights."""
    sizes = [len(model._labelled_) for model in models]
    how = Counter(f"{m.kernels_chosen_}, {IN_WORDS[m.weights_chosen_]}" for m in models)
    fitted, chosen = f"The model was fitted on {sizes[0]} sets.", next(iter(how))
    if len(models) > 1:
        spread = " to ".join(map(str, dict.fromkeys([min(sizes), max(sizes)])))
        fitted = (
            f"There is a model for each of {len(models)} folds, fitted on {spread} sets. F1 and "
            "AUC here and below are of all sets together; in the table of methods they are means "
            "over folds."
        )
        words = "; ".join(f"{w} ({n} of {len(models)} folds)" for w, n in how.items())
        chosen = f"{words}; weights are means over folds"
    names = dict.fromkeys(name for model in models for name in model.weights_)
    sights = {k.name: sees(k.plan.descriptor) for model in models for k in model._kernels_}
    return {
        "title": title,
        "what": what,
        "fitted": fitted,
        "weights": [
            [name, float(np.mean([model.weights_.get(name, 0.0) for model in models]))]
            for name in names
        ],
        "sees": {name: words for name, words in sights.items() if words},  # where that is known
        "weights_chosen": chosen,
        "few": list(dict.fromkeys(term for model in models for term in model.few_)),
        "unlearned": list(dict.fromkeys(term for model in models for term in model.unlearned_)),
    }


def _terms(reports: Sequence[TermReport]) -> list[Record]:
    return [
        {"name": r.term, "support": r.support}
        | {k: _rounded(getattr(r, k)) for k in ("f1", "precision", "recall", "auc")}
        for r in reports
    ]


def _rounded(value: float, digits: int = 4) -> float | None:
    return round(float(value), digits) if np.isfinite(value) else None


def _sets(
    model: ImageAnnotator, sets: Sets, S: Array, Y: np.ndarray, reasons: list[Reason], tell: Tell
) -> Record:
    P, chosen = model.probabilities(S), model.thresholds_ < S
    rows = [
        _one_set(one, P[i], chosen[i], Y[i], reasons[i])
        for i, one in enumerate(watched("page", sets, len(sets), tell))
    ]
    place = {t: j for j, t in enumerate(model.terms_)}
    order = {name: i for i, name in enumerate(model.set_names_)}
    near = {name: carried for why in reasons for name, _, carried in why.near}
    return {
        "sets": rows,
        "train": {  # terms and the first picture, small, of training sets that are neighbours
            name: [[place[t] for t in carried], thumbnail(model._thumbnails_[order[name]], 64)]
            for name, carried in near.items()
        },
        "grids": {  # where the points of kernels lie, in thousandths of the sides
            piece.kernel: {
                "radius": piece.radius,
                "width": model.size_[1],
                "places": (1000 * np.asarray(piece.places)).round().astype(int).ravel().tolist(),
            }
            for why in reasons
            for piece in why.evidence
        },
    }


def _placed(pieces: Sequence[Evidence], size: tuple[int, int]) -> list[Evidence]:
    """Those that can be drawn, as it is known where in the picture their points lie.

    With the points that a page has room for: at most one for every radius of the patches. Points
    between these are a part of the nearest; their patches overlap by more than a half.
    """
    sides, found = np.array(size[::-1]), []
    for piece in pieces:
        if piece.places is None:
            continue
        centres, own = grid(size, int(piece.radius or 1)), np.asarray(piece.places) * sides
        if len(centres) < len(own):
            nearest = np.argmin(np.sum((own[:, None] - centres) ** 2, axis=2), axis=1)
            shares = np.zeros((len(centres), piece.shares.shape[1]))
            np.add.at(shares, nearest, piece.shares)
            piece = replace(piece, places=centres / sides, shares=shares)
        found.append(piece)
    return found


def _one_set(one: ImageSet, p: Array, chosen: np.ndarray, y: np.ndarray, why: Reason) -> Record:
    """A set with its terms, and reasons for those that are drawn."""
    known = not np.isnan(y.astype(float)).any()
    shown = np.flatnonzero(chosen | (p >= LIKELY) | (known & (np.nan_to_num(y) > 0)))
    order = shown[np.argsort(-p[shown])]
    return {
        "name": one.name,
        "pictures": [
            [picture.name, picture.view, thumbnail(picture.pixels())]
            for picture in one.pictures[:PICTURES]
        ],
        "more": max(0, len(one) - PICTURES),
        "given": [int(j) for j in np.flatnonzero(y)] if known else None,
        "scores": [[int(j), _rounded(p[j], 3), int(chosen[j])] for j in order],
        "near": [[name, round(k, 3)] for name, k, _ in why.near if np.isfinite(k)],
        "evidence": _shares(why.evidence, why.terms),
        "parts": {
            int(j): [[name, round(part, 3)] for name, part in parts.items()]
            for j, parts in zip(why.terms, why.parts, strict=False)
        },
    }


def _shares(pieces: Sequence[Evidence], terms: np.ndarray) -> list[Record]:
    """Parts of the points of the first pictures, as integers up to 100."""
    pieces = [piece for piece in pieces if piece.picture < PICTURES]
    top = max((float(np.abs(piece.shares).max()) for piece in pieces), default=0.0)
    if not top > 0:
        return []
    return [
        {
            "picture": piece.picture,
            "kernel": piece.kernel,
            "shares": {
                int(j): (100 * share / top).round().astype(int).tolist()
                for j, share in zip(terms, piece.shares.T, strict=True)
            },
        }
        for piece in pieces
    ]
