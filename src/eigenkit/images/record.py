"""What the page shows, as plain values: sets with their terms, neighbours and evidence."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eigenkit.images.annotator import ImageAnnotator
from eigenkit.images.arrays import Array
from eigenkit.images.comparison import Comparison, as_records, verdict
from eigenkit.images.decoding import pillow
from eigenkit.images.explain import Evidence, Explainer, Explanation, nearest_sets
from eigenkit.images.extraction import Tell, subset, watched
from eigenkit.images.files import ImageSet
from eigenkit.images.ridge import Spectrum
from eigenkit.images.rivals import CHOSEN
from eigenkit.images.term_reports import OTHERS, UNSEEN, TermReport, term_reports
from eigenkit.images.unseen import views_apart
from eigenkit.images.weights import IN_WORDS

# Pictures of a set that are shown, their longer side, and terms whose evidence is drawn.
PICTURES, SIDE, EVIDENCE = 4, 96, 3
LIKELY = 0.02
NOT_KNOWN = (
    "new sets whose terms are not known, so F1 and AUC are those of the training sets, every one "
    "predicted without it"
)


def thumbnail(pixels: np.ndarray, side: int = SIDE) -> str:
    """A small copy of an image as a data URI."""
    from PIL import features

    image = pillow().fromarray(np.asarray(pixels))
    image.thumbnail((side, side))
    kind = "webp" if features.check("webp") else "jpeg"
    stream = io.BytesIO()
    image.save(stream, kind, quality=65)
    return f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode()}"


def fitted_record(
    model: ImageAnnotator, sets: Sequence[ImageSet], title: str, tell: Tell = None
) -> dict[str, Any]:
    """The labelled sets of a fitted model, every one predicted without it."""
    if model.views == "unseen":
        sets, _ = views_apart(sets)
    labelled = [sets[int(i)] for i in model._labelled_]
    K = model.training_kernel()
    shown = _shown_terms(model, model._held_out_)
    evidence = _held_out_evidence(model, labelled, shown, tell)
    np.fill_diagonal(K, -np.inf)
    unseen = f"; for the figures of terms, {UNSEEN}" if model.views == "unseen" else ""
    return {
        **_head(model, title, f"{OTHERS}{unseen}"),
        "terms": _terms(model.report_),
        **_sets(model, labelled, model._held_out_, model._Y_, K, sets, evidence, tell),
    }


def _held_out_evidence(
    model: ImageAnnotator,
    labelled: Sequence[ImageSet],
    shown: np.ndarray,
    tell: Tell,
) -> list[list[Evidence]]:
    """For every set and its terms, by the coefficients without the set (and its group)."""
    explainer = Explainer(model)
    if not explainer.pyramids:
        return []
    vectors = model._vectors(labelled, explainer.descriptors)
    group = np.arange(len(labelled)) if model._groups_ is None else model._groups_[model._labelled_]
    parts = [np.flatnonzero(group == name) for name in group]
    used = [j for j, _ in explainer.pyramids]
    members = np.flatnonzero(model._thetas_[:, used].any(axis=1))
    lefts = [_lefts(model, int(m), parts) for m in members]
    found = []
    for i in watched("evidence", range(len(labelled)), len(labelled), tell):
        A = np.zeros((len(model._thetas_), len(labelled), shown.shape[1]))
        for m, left in zip(members, lefts, strict=True):
            A[m] = next(left) @ model._targets_[m].back[:, shown[i]]
        found.append(explainer.evidence(labelled[i], subset(vectors, [i]), A))
    return found


def _lefts(model: ImageAnnotator, m: int, parts: list[np.ndarray]) -> Iterator[Array]:
    """The coefficients of a regression when sets are left out, one part after the other."""
    spectrum, alpha = Spectrum.of(model.training_kernel(m)), model._alphas_[m]
    A = spectrum.coefficients_of_each(model._Y_ @ model._targets_[m].R, alpha)
    return spectrum.without(A, alpha, parts)


def _shown_terms(model: ImageAnnotator, S: Array) -> np.ndarray:
    """The terms of every set whose evidence is drawn: those predicted, the most probable first."""
    rank = model.probabilities(S) + (model.thresholds_ < S)
    return np.asarray(np.argsort(-rank, axis=1)[:, :EVIDENCE])


def predicted_record(
    model: ImageAnnotator,
    sets: Sequence[ImageSet],
    title: str,
    Y: Array | None = None,
    tell: Tell = None,
) -> dict[str, Any]:
    """New sets; with Y, the terms that they should have (rows of NaN where that is not known)."""
    explainer = Explainer(model)
    reasons = [explainer(one) for one in watched("evidence", sets, len(sets), tell)]
    S = np.array([why.scores for why in reasons])
    K = np.array([_similarities(model, why) for why in reasons])
    known = np.zeros(len(sets), dtype=bool) if Y is None else ~np.isnan(Y).any(axis=1)
    reports = model.report_
    if Y is not None and known.any():
        reports = term_reports(model.terms_, Y[known], S[known], model.thresholds_)
    given = np.full((len(sets), len(model.terms_)), np.nan) if Y is None else Y
    return {
        **_head(model, title, "new sets" if known.any() else NOT_KNOWN),
        "terms": _terms(reports),
        **_sets(model, sets, S, given, K, (), _of_reasons(model, S, reasons), tell),
    }


def compared_record(comparison: Comparison, title: str, tell: Tell = None) -> dict[str, Any]:
    """Every set predicted by the model of the fold that it was held out of, and the rivals."""
    rows: dict[int, Any] = {}
    train: dict[str, Any] = {}
    grids: dict[str, Any] = {}
    S, limits = np.zeros(comparison.Y.shape), np.zeros(comparison.Y.shape)
    for model, test in comparison.held_out:
        sets = [comparison.sets[int(i)] for i in test]
        vectors = subset(comparison.vectors, test)
        explainer = Explainer(model)
        places = watched("evidence", range(len(sets)), len(sets), tell)
        reasons = [explainer(sets[k], subset(vectors, [k])) for k in places]
        S[test] = [why.scores for why in reasons]
        limits[test] = model.thresholds_
        K = np.array([_similarities(model, why) for why in reasons])
        evidence = _of_reasons(model, S[test], reasons)
        part = _sets(model, sets, S[test], comparison.Y[test], K, (), evidence, tell)
        rows |= dict(zip(test.tolist(), part["sets"], strict=True))
        train |= part["train"]
        grids |= part["grids"]
    terms = comparison.held_out[0][0].terms_
    return {
        **_head_of_folds(comparison, title),
        "terms": _terms(term_reports(terms, comparison.Y, S - limits, np.zeros(1))),
        "sets": [rows[i] for i in sorted(rows)],
        "train": train,
        "grids": grids,
        "methods": as_records(comparison),
        "methods_note": f"Means over folds ± standard errors. {verdict(comparison)}",
    }


def _head_of_folds(comparison: Comparison, title: str) -> dict[str, Any]:
    """What is shown of the models of all folds: whose figures these are, and of what."""
    models = [model for model, _ in comparison.held_out]
    sizes = [len(model._labelled_) for model in models]
    spread = dict.fromkeys([min(sizes), max(sizes)])
    other = comparison.recommended != CHOSEN
    how = Counter(_how_chosen(model) for model in models)
    few = {term for model in models for term in model.few_}
    names = dict.fromkeys(name for model in models for name in model.weights_)
    return {
        "title": title,
        "what": f'every set predicted by a model that has not seen it, in the way "{CHOSEN}"'
        + (f' (recommended is another one: "{comparison.recommended}")' if other else ""),
        "fitted": f"There is a model for each of {len(models)} folds, fitted on "
        f"{' to '.join(map(str, spread))} sets. F1 and AUC here and below are of all sets "
        "together, each with the threshold of its fold; in the table of methods they are means "
        "over folds.",
        "weights": [
            [name, float(np.mean([model.weights_.get(name, 0.0) for model in models]))]
            for name in names
        ],
        "weights_chosen": "; ".join(f"{w} ({n} of {len(models)} folds)" for w, n in how.items())
        + "; weights are means over folds",
        "few": [term for term in models[0].terms_ if term in few],
    }


def _similarities(model: ImageAnnotator, why: Explanation) -> Array:
    row = np.full(len(model._labelled_), -np.inf)
    place = {model.set_names_[i]: k for k, i in enumerate(model._labelled_)}
    for name, similarity, _ in why.neighbours:
        row[place[name]] = similarity
    return row


def _head(model: ImageAnnotator, title: str, what: str) -> dict[str, Any]:
    return {
        "title": title,
        "what": what,
        "fitted": f"The model was fitted on {len(model._labelled_)} sets.",
        "weights": [[name, weight] for name, weight in model.weights_.items()],
        "weights_chosen": _how_chosen(model),
        "few": model.few_,
    }


def _how_chosen(model: ImageAnnotator) -> str:
    return f"{model.kernels_chosen_}, {IN_WORDS[model.weights_chosen_]}"


def _terms(reports: Sequence[TermReport]) -> list[dict[str, Any]]:
    return [
        {
            "name": r.term,
            "support": r.support,
            **{k: _rounded(getattr(r, k)) for k in ("f1", "precision", "recall", "auc")},
        }
        for r in reports
    ]


def _rounded(value: float, digits: int = 4) -> float | None:
    return round(float(value), digits) if np.isfinite(value) else None


def _of_reasons(
    model: ImageAnnotator, S: Array, reasons: Sequence[Explanation]
) -> list[list[Evidence]]:
    """The evidence for the terms that are shown."""
    shown = _shown_terms(model, S)
    return [
        [replace(piece, shares=piece.shares[:, shown[i]]) for piece in why.evidence]
        for i, why in enumerate(reasons)
    ]


def _sets(
    model: ImageAnnotator,
    sets: Sequence[ImageSet],
    S: Array,
    Y: Array,
    K: Array,
    train: Sequence[ImageSet],
    evidence: Sequence[Sequence[Evidence]],
    tell: Tell,
) -> dict[str, Any]:
    P = model.probabilities(S)
    chosen = model.thresholds_ < S
    near = [nearest_sets(model, row) for row in K]
    shown = _shown_terms(model, S)
    rows = [
        _one_set(one, P[i], chosen[i], Y[i], near[i])
        for i, one in enumerate(watched("page", sets, len(sets), tell))
    ]
    for i, pieces in enumerate(evidence):
        rows[i]["evidence"] = _shares(pieces, shown[i])
    grids = {piece.kernel: _grid(piece, model.size_[1]) for own in evidence for piece in own}
    return {"sets": rows, "train": _neighbours(model, near, train), "grids": grids}


def _one_set(one: ImageSet, p: Array, chosen: Array, y: Array, near: Any) -> dict[str, Any]:
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
        "near": [[name, _rounded(k, 3)] for name, k, _ in near],
    }


def _neighbours(model: ImageAnnotator, near: Any, train: Sequence[ImageSet]) -> dict[str, Any]:
    """Terms and, where there are pictures, the first one of every set that is a neighbour."""
    pictures = {one.name: one.pictures[0] for one in train}
    place = {t: j for j, t in enumerate(model.terms_)}
    order = {name: i for i, name in enumerate(model.set_names_)}
    found: dict[str, Any] = {}
    for name, _, carried in (item for items in near for item in items):
        if name not in found:
            picture = pictures.get(name)
            pixels = picture.pixels() if picture else model._thumbnails_[order[name]]
            small = thumbnail(pixels, 64)
            found[name] = [[place[t] for t in carried], small]
    return found


def _grid(piece: Evidence, width: int) -> dict[str, Any]:
    """Where the points of a kernel lie, in thousandths of the sides."""
    places = (1000 * piece.places).round().astype(int).ravel().tolist()
    return {"radius": piece.radius, "width": width, "places": places}


def _shares(pieces: Sequence[Evidence], terms: np.ndarray) -> list[dict[str, Any]]:
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
