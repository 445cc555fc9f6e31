"""How far to trust the probabilities and figures of an annotator fitted on few sets.

Run as ``python -m benchmarks.calibration [--flipped 0.15] [--seeds 6]``: sets of shapes with some
of their terms flipped, so that nobody can be certain, and 300 new sets. Prints the slope of a
logistic regression of the new sets' terms on their log-odds (1: probabilities are right; less: they
are too close to 0 and 1), and mean AUC and macro F1, as fit says and on the new sets.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

from eigenkit.images import ImageAnnotator, make_shapes
from eigenkit.images.term_reports import measures

KERNELS = ["hsv", "thumbnail", "hog-4"]


def drawn(n: int, seed: int, flipped: float) -> tuple[list, np.ndarray]:
    """Sets of shapes, and their terms with some flipped."""
    sets, Y, _ = make_shapes(n, size=32, random_state=seed)
    flip = np.random.default_rng(1000 + seed).random(Y.shape) < flipped
    return sets, np.where(flip, 1 - Y, Y)


def slope(Y: np.ndarray, S: np.ndarray) -> float:
    """By which log-odds of all terms together have to be multiplied."""
    fitted = LogisticRegression(C=np.inf).fit(S.reshape(-1, 1), Y.ravel())
    return float(fitted.coef_[0, 0])


def figures(n: int, seed: int, weights: str, flipped: float) -> list[float]:
    """Slope, AUC and F1 as fit says, and AUC and F1 on new sets."""
    sets, Y = drawn(n, seed, flipped)
    new, Z = drawn(300, 500 + seed, flipped)
    model = ImageAnnotator(KERNELS, size=(32, 32), weights=weights).fit(sets, Y)
    S = model.decision_function(new)
    said, found = (measures(*of, model.thresholds_) for of in ((Y, model._held_out_), (Z, S)))
    return [slope(Z, S), said[0], found[0], said[2], found[2]]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flipped", type=float, default=0.15)
    parser.add_argument("--seeds", type=int, default=6)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # about terms that few sets carry
    print("sets  weights  slope        AUC said, new  F1 said, new")
    for n in (50, 150, 400):
        for weights in ("each", "equal"):
            found = [figures(n, seed, weights, args.flipped) for seed in range(args.seeds)]
            mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
            print(f"{n:4}  {weights:7}  {mean[0]:.2f} ± {error[0]:.2f}  ", end="")
            print("  ".join(f"{x:.3f}" for x in mean[1:]), flush=True)


if __name__ == "__main__":
    main()
