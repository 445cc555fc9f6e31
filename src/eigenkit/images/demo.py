"""Everything once, on generated shapes: folders, fit, model file, new sets, page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.images.annotator import ImageAnnotator
from eigenkit.images.extraction import Tell
from eigenkit.images.fitted import load_annotator, save_annotator
from eigenkit.images.folders import read_labels, read_sets
from eigenkit.images.page import write_page
from eigenkit.images.record import predicted_record
from eigenkit.images.shapes import make_shapes, write_folder
from eigenkit.images.term_reports import term_reports

N_TRAIN, N_TEST, SIZE = 120, 40, (96, 96)


def run(folder: Path, random_state: int = 0, tell: Tell = None) -> dict[str, Any]:
    """Draw, learn, keep, annotate and show; what was found, and where it is."""
    (folder / "new").mkdir(parents=True, exist_ok=True)
    drawn = make_shapes(N_TRAIN, size=SIZE[0], random_state=random_state)
    drawn_new = make_shapes(N_TEST, size=SIZE[0], random_state=random_state + 1)
    labels, new_labels = write_folder(*drawn, folder), write_folder(*drawn_new, folder / "new")
    sets, new = read_sets(folder / "images"), read_sets(folder / "new" / "images")
    Y, terms = read_labels(labels, sets)
    # Kernels between sets with equal weights: a pyramid is among them, which shows where it looks.
    how: Any = {"weights": "equal", "random_state": random_state, "progress": tell}
    model = ImageAnnotator("default", size=SIZE, **how)
    model.fit(sets, Y, terms)
    save_annotator(model, folder / "shapes.ek")
    again = load_annotator(folder / "shapes.ek")
    given, _ = read_labels(new_labels, new)
    record = predicted_record(again, new, "Shapes annotated", given)
    page = write_page(record, folder / "shapes.html")
    reports = term_reports(terms, given, again.decision_function(new), again.thresholds_)
    return {
        "n_train": len(sets),
        "n_test": len(new),
        "f1": float(np.mean([r.f1 for r in reports])),
        "terms": [vars(r) for r in reports],
        "model": str(folder / "shapes.ek"),
        "page": str(page),
    }
