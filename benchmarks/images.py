"""Annotating image sets: emoji by three vendors, an unseen vendor, gene expression; and speed.

Run as ``python -m benchmarks.images [emoji] [vendor] [bdgp] [speed]`` with EIGENKIT_DATA naming the
folder of ``emoji.npz`` and ``bdgp_patterns.npz``; writes benchmarks/results/images.json. Folds keep
groups together, terms with fewer than 15 sets are left out, and alpha, weights and thresholds are
chosen inside the training part. Beside the annotator run the machine on pooled vectors (the plain
baseline) and, with --all, every other rival.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race import RESULTS, keep, machine
from eigenkit.datasets import data_folder
from eigenkit.files import atomic
from eigenkit.images import Descriptor, ImageAnnotator, ImageSet, adapt
from eigenkit.images.comparison import as_records, compare, comparison_key, verdict
from eigenkit.images.descriptors import THESIS
from eigenkit.images.extraction import extract, fitted
from eigenkit.images.kernels import PLANS, fit_kernels
from eigenkit.images.rivals import PLAIN, RIVALS
from eigenkit.images.term_reports import measures
from eigenkit.images.weights import Candidate, fit_judged, folds_of, kernel_weights
from papers.image_sets import patterns

SIZE = (128, 320)
VENDORS = ("noto", "twemoji", "fluent")
FEWEST = 15
ADAPTED = ", adapted"
UNSEEN: dict[str, dict[str, Any]] = {
    "chosen with views left out": {"views": "unseen"},
    PLAIN: {"kernels": "pooled", "views": False},
}
SHORT = ("chosen by the annotator", "set kernels, equal weights", PLAIN)


def stored(name: str) -> dict[str, np.ndarray]:
    """All arrays of a packed data set."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as packed:
        return {key: packed[key] for key in packed.files}


def emoji(vendors: Any = VENDORS) -> tuple[list[ImageSet], np.ndarray, list[str], np.ndarray]:
    """Sets of pictures of one thing by several vendors, keywords and groups."""
    data = stored("emoji")
    sets = [
        ImageSet.from_arrays(str(name), [data[f"images_{v}"][i] for v in vendors], vendors)
        for i, name in enumerate(data["hexcode"])
    ]
    frequent = data["Y"].sum(axis=0) >= FEWEST
    terms = data["label_names"][frequent].tolist()
    return sets, data["Y"][:, frequent].astype(float), terms, data["group"]


def bdgp(unlabelled: bool = False) -> tuple[list[ImageSet], np.ndarray, list[str], None]:
    """Sets of pictures of one gene, and the organ systems where it is expressed."""
    sets, Y, terms = patterns(stored("bdgp_patterns"), unlabelled=unlabelled)
    frequent = np.nansum(Y, axis=0) >= FEWEST
    kept = [term for term, often in zip(terms, frequent, strict=True) if often]
    return sets, Y[:, frequent], kept, None


def compared(name: str, data: Any, rivals: Any, folds: int, cache: Path) -> dict[str, Any]:
    """All rivals on the same folds."""
    sets, Y, terms, groups = data
    start = time.monotonic()
    found = compare(
        sets,
        Y,
        terms,
        annotator=ImageAnnotator(cache=cache, n_jobs=-1),
        rivals=rivals,
        groups=groups,
        cv=folds,
        each=_fold_lines,
    )
    for model, _ in found.held_out:
        print(f"  chosen on a fold: {model.kernels_chosen_}")
    print(
        f"\n{name}: {len(sets)} sets, {len(found.Y)} with labels, {len(terms)} terms, {folds} folds"
    )
    for row in as_records(found):
        print(_line(row["name"], *(row[key] for key in ("auc", "p1", "f1"))), flush=True)
    print(verdict(found), f"({time.monotonic() - start:.0f} s)")
    return {"rows": as_records(found), "verdict": verdict(found)}


def _fold_lines(found: dict[str, list[float]]) -> None:
    for name, values in found.items():
        print(_line(f"  {name}", *values), flush=True)
    print(flush=True)


def _line(name: str, *values: float) -> str:
    return f"  {name:44s} AUC {values[0]:.3f}  P@1 {values[1]:.3f}  macro F1 {values[2]:.3f}"


def unseen_vendor(folds: int, cache: Path, vendors: Any = VENDORS) -> dict[str, Any]:
    """Learn from two vendors, annotate other things drawn by the third.

    Kernels and thresholds are chosen by leaving out one of the two training vendors in turn. Each
    model also predicts with scores that are adapted to the pictures of the new sets.
    """
    found: dict[str, list[Any]] = {}
    _, Y, _, groups = emoji()
    for fold, (train, test) in enumerate(list(folds_of(Y, groups, 5, 0))[:folds], 1):
        for vendor in vendors:
            for name, values in _unseen_once(vendor, train, test, cache).items():
                found.setdefault(name, []).append(values)
                print(f"  {vendor:8s}", _line(name, *values), flush=True)
        means = {name: np.mean(values, axis=0).tolist() for name, values in found.items()}
        print(f"\none unseen vendor: mean over vendors and {fold} of 5 folds")
        for name, values in means.items():
            print(_line(name, *values), flush=True)
    return means


def _unseen_once(vendor: str, train: Any, test: Any, cache: Path) -> dict[str, list[float]]:
    """One vendor on one fold; kept in the cache, so that an interrupted run can continue."""
    sets, Y, terms, groups = emoji([v for v in VENDORS if v != vendor])
    new, *_ = emoji([vendor])
    key = comparison_key([*sets, *new], Y, ImageAnnotator(), UNSEEN, train.tolist())
    place = cache / "unseen" / f"{key}.json"
    if place.exists():
        return dict(json.loads(place.read_text()))
    found = {}
    shown = [new[i] for i in test]
    for name, given in UNSEEN.items():
        model = ImageAnnotator(cache=cache, n_jobs=-1, **given)
        model.fit([sets[i] for i in train], Y[train], terms, groups[train])
        for more, used in (("", model), (ADAPTED, adapt(model, shown))):
            S = used.decision_function(shown)
            found[name + more] = list(measures(Y[test], S, used.thresholds_))
    place.parent.mkdir(parents=True, exist_ok=True)
    with atomic(place) as stream:
        stream.write(json.dumps(found).encode())
    return found


def speed(n_images: int, n_sets: int) -> dict[str, float]:
    """23 descriptors of images of 128 x 320; kernels and weights of sets; one new set.

    With fewer than 1000 images the time for 1000 is extrapolated (every image costs the same),
    and sets are drawn from these images with repetition.
    """
    times: dict[str, float] = {}

    def told(what: str, start: float) -> None:
        times[what] = time.perf_counter() - start
        print(f"  {what:55s} {times[what]:8.2f} s", flush=True)

    rng = np.random.default_rng(0)
    noise = rng.random((n_images + 1, 16, 40, 3)).repeat(8, axis=1).repeat(8, axis=2)
    pictures = [ImageSet.from_arrays(f"s{i}", [image]) for i, image in enumerate(noise)]
    made = fitted(pictures[:20], [Descriptor(name) for name in THESIS], SIZE)
    start = time.perf_counter()
    vectors = extract(pictures, made, SIZE, n_jobs=-1)
    told(f"23 descriptors of {n_images} images", start)
    print(
        f"  {'the same for 1000 images':55s} {1000 / n_images * next(iter(times.values())):8.2f} s"
    )
    again = rng.integers(n_images, size=n_sets)
    sets = [pictures[i] for i in again]
    known = {name: [own[i] for i in again] for name, own in vectors.items()}
    places = {d.name: d.places(SIZE) for d in made}
    start = time.perf_counter()
    kernels, K = fit_kernels(PLANS["thesis"], [None], sets, known, places, 0)
    told(f"23 pyramid kernels of {n_sets} sets", start)
    Y = (rng.random((n_sets, 60)) < 0.1).astype(float)
    start = time.perf_counter()
    kernel_weights(K, Y, "learned")
    told(f"weights of 23 kernels, {n_sets} sets, 60 terms", start)
    start = time.perf_counter()
    thetas = Candidate("all kernels", np.full(len(K), 1 / len(K)), "each").thetas(K, Y)
    fit_judged(K, thetas, Y, None, 0)
    told(f"or a regression for each of 23 kernels, and three folds, {n_sets} sets", start)
    start = time.perf_counter()
    own = extract(pictures[-1:], made, SIZE)
    for kernel in kernels:
        name = kernel.plan.descriptor
        kernel.transform(pictures[-1:], own[name], places[name])
    told(f"one new set, 23 kernels with {n_sets} sets", start)
    return times


def main() -> None:
    """Print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["emoji", "vendor", "bdgp", "speed"])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--all", action="store_true", help="every rival")
    parser.add_argument("--unlabelled", action="store_true", help="bdgp: genes without terms, too")
    parser.add_argument("--vendors", nargs="+", default=VENDORS, choices=VENDORS, help="unseen")
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--cache", type=Path, default=data_folder() / "image-vectors")
    args = parser.parse_args()
    rivals = list(RIVALS) if args.all else list(SHORT)
    found: dict[str, Any] = {"machine": machine()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if "emoji" in args.what:
            found["emoji"] = compared("emoji", emoji(), rivals, args.folds, args.cache)
        if "bdgp" in args.what:
            genes = bdgp(args.unlabelled)
            found["bdgp"] = compared("bdgp patterns", genes, rivals, args.folds, args.cache)
        if "vendor" in args.what:
            found["vendor"] = unseen_vendor(args.folds, args.cache, args.vendors)
        if "speed" in args.what:
            found["speed"] = speed(args.images, args.sets)
    place = RESULTS / "images.json"
    before = json.loads(place.read_text()) if place.exists() else {}
    keep(before | found, place)


if __name__ == "__main__":
    main()
