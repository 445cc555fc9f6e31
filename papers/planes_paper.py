"""What the paper on ReGEC reports, and the settings it names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigenkit.numerics.linalg import Array

Pairs = list[tuple[Array, np.ndarray]]


class Reported(NamedTuple):
    """What the paper says about a set: settings, percent of ReGEC, GEPSVM and SVM, and seconds.

    Seconds are those of ReGEC, GEPSVM and LIBSVM. The linear kernel has no settings.
    """

    name: str
    accuracy: tuple[float, float, float]
    seconds: tuple[float, float, float]
    alpha: float = 1e-3
    sigma: float = 0.0


LINEAR = (
    Reported("NDC", (87.60, 86.70, 89.00), (0.1e-3, 0.2e-3, 0.8991)),
    Reported("Cleveland, num >= 1", (86.05, 81.80, 83.60), (1.92e-4, 3.58e-4, 9.90e-3)),
    Reported("Cleveland, num >= 2", (86.05, 81.80, 83.60), (1.92e-4, 3.58e-4, 9.90e-3)),
    Reported("Pima Indians", (74.91, 73.60, 75.70), (1.21e-4, 2.36e-4, 15.8737)),
    Reported("Galaxy Dim (for Bright)", (98.24, 98.60, 98.30), (0.3e-3, 0.5e-3, 1.2027)),
)
GAUSSIAN = (
    Reported("breast_cancer", (73.40, 71.73, 73.49), (0.0698, 0.3545, 0.0229), 1e-3, 50),
    Reported("diabetis", (74.56, 74.75, 76.21), (1.1474, 5.8743, 0.1323), 1e-3, 500),
    Reported("german", (70.26, 69.36, 75.66), (3.8177, 25.2349, 0.2855), 1e-3, 500),
    Reported("thyroid", (92.76, 92.71, 95.20), (0.0243, 0.1208, 0.0053), 1e-3, 0.8),
    Reported("heart", (82.06, 81.43, 83.05), (0.0316, 0.2139, 0.0172), 1e-3, 120),
    Reported("waveform", (88.56, 87.70, 90.21), (0.5962, 4.409, 0.0916), 1e-3, 150),
    Reported("flare_solar", (58.23, 59.63, 65.80), (1.8737, 16.2658, 0.1429), 1e-3, 3),
    Reported("titanic", (75.29, 75.77, 77.36), (0.0269, 0.1134, 0.0032), 1e-3, 150),
    Reported("banana", (84.44, 85.53, 89.15), (0.4989, 3.1102, 0.0344), 1e-5, 0.2),
)
FITTED = (
    "What was fitted to the paper: the kernel regularization of ReGEC is the closest of about ten "
    "readings of equation 14, compared on these same splits; the spread of NDC was set so that a "
    "linear SVM scores about what the paper's does. The Gaussian kernel is the paper's, "
    "exp(-|x - y|²/sigma)."
)
MOONS = (
    "Moons, drawn at random, stand in for Banana with its delta and sigma here: they are not the "
    "paper's data, though its numbers for Banana stand beside them."
)
QUICK_GAUSSIAN = (GAUSSIAN[-1]._replace(name="moons"),)

LINEAR_ROWS = (
    "Table 1: the paper's NDC generator is not public. Cleveland is shown with both codings of its "
    "classes, as the paper does not say which it uses: its ReGEC is met with num >= 2, the columns "
    "that it quotes are met with num >= 1, so they may not be of the same coding. A gap of four "
    "points between ReGEC and GEPSVM was found with neither coding, whatever the units of the "
    "features and delta (next table); nor is the paper's GEPSVM on Pima explained by them. Galaxy "
    "Dim stands in for Galaxy Bright, which was not to be had: other and fainter galaxies of the "
    "same study, harder for all methods."
)
SPLITS = (
    "Where SVM differs by more than a point, on Heart and Flare-solar, splits and settings are "
    "not those behind the paper's column; on the published splits of Heart it differs by less."
)
DELTAS = (1e-5, 1e-3, 1e-1, 1.0)

# Settings of a Gaussian SVM to choose from by cross-validation.
GRID = {"C": (1.0, 10.0, 100.0), "gamma": tuple(1 / s for s in (1.0, 5.0, 20.0, 100.0, 500.0))}
