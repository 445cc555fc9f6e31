"""The table of data sets: what each is, where it comes from, how it differs from the papers'.

A set is drawn, comes with scikit-learn, is fetched, or (no source) has to be put into the data
folder by hand. Its origin is one sentence, which errors and the documentation repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from eigenkit.datasets._generators import make_ndc, make_noise, make_planted


@dataclass(frozen=True)
class Drawn:
    """A generator; called with a random state, it gives X and the target."""

    make: Callable[..., Any]


@dataclass(frozen=True)
class Bundled:
    """A loader of scikit-learn, by name."""

    loader: str


@dataclass(frozen=True)
class OpenML:
    """A data set of OpenML by its number, and how its targets, which are text, are decoded.

    ``first_row`` is the place of our first row in their order.
    """

    data_id: int
    decode: Callable[[np.ndarray], np.ndarray]
    first_row: int = 0

    @property
    def address(self) -> str:
        """A page to look at."""
        return f"https://www.openml.org/d/{self.data_id}"


@dataclass(frozen=True)
class Files:
    """Files in a folder of a server, how they are read, and what the last column means."""

    folder: str
    names: tuple[str, ...]
    format: str  # "svmlight", or what stands between the columns of a table
    decode: Callable[[np.ndarray], np.ndarray] = np.asarray
    extra: str = ""  # name under which the last column is kept as it is

    @property
    def address(self) -> str:
        """The files, to be fetched by hand."""
        return " and ".join(self.folder + name for name in self.names)


Fetched = OpenML | Files
Source = Drawn | Bundled | Fetched


@dataclass(frozen=True)
class Entry:
    """One data set.

    ``what`` says what the target holds: "2 classes", "14 labels", "1 response".
    """

    shape: tuple[int, int]
    what: str
    origin: str
    source: Source | None = None


_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"


def _labels(target: np.ndarray) -> np.ndarray:
    return np.asarray(target == "TRUE", dtype=np.int64)


def _disease(target: np.ndarray) -> np.ndarray:
    """+1 for any grade of a disease above 0."""
    return np.where(target > 0, 1, -1)


def _signs(positive: str) -> Callable[[np.ndarray], np.ndarray]:
    return lambda target: np.where(target == positive, 1, -1)


_IDA = "IDA benchmark of Rätsch et al. ({what}), with 100 splits of the published sizes, {splits}"
_IDA += "; array split_origin tells them apart."
_TEN = "of which the first ten are the published ones and the others were drawn anew"
_ONE = "of which one is a published one and the others were drawn anew"
_NONE = "all drawn anew because the published ones could not be obtained"


def _ida(n: int, d: int, what: str, splits: str) -> Entry:
    return Entry((n, d), "2 classes", _IDA.format(what=what, splits=splits))


def _noise(d: int, multilabel: bool) -> Entry:
    drawn = "5 labels by fair coins" if multilabel else "5 classes at random"
    origin = f"Gaussian noise with {drawn}, drawn as the papers describe it, not their numbers."
    source = Drawn(partial(make_noise, 1000, d, 5, multilabel=multilabel))
    return Entry((1000, d), "5 labels" if multilabel else "5 classes", origin, source)


SETS: dict[str, Entry] = {
    # -- multi-label and multi-class sets of the least squares and two-stage papers ------
    "yeast": Entry(
        (2417, 103),
        "14 labels",
        "Functions of yeast genes (Elisseeff and Weston; Mulan, LIBSVM): the papers' data, with "
        "the usual split 1500/917.",
        OpenML(40597, _labels, first_row=917),  # the test part comes first there
    ),
    "scene": Entry(
        (2407, 294),
        "6 labels",
        "Colour moments of photographs of scenes (Boutell et al.; Mulan, LIBSVM): the papers' "
        "data, with the usual split 1211/1196.",
        OpenML(40595, _labels),
    ),
    "emotions": Entry(
        (593, 72),
        "6 labels",
        "Rhythm and timbre of pieces of music (Trohidis et al.; Mulan), with the usual split "
        "391/202; not among the papers' data.",
        OpenML(40589, _labels),
    ),
    "usps": Entry(
        (9298, 256),
        "10 classes",
        "Handwritten digits of the US postal service, 16 x 16 grey values in [-1, 1]: the papers' "
        "data, with the usual split 7291/2007.",
        OpenML(41082, lambda stored: stored.astype(np.int64) - 1),  # from 1 to 10
    ),
    "satimage": Entry(
        (6435, 36),
        "6 classes",
        "Landsat pixels with their neighbours (Statlog; UCI), classes 1-5 and 7: the papers' "
        "data, in UCI's order with the split 4435/2000.",
        Files(_UCI + "statlog/satimage/", ("sat.trn", "sat.tst"), " "),
    ),
    "optdigits": Entry(
        (5620, 64),
        "10 classes",
        "Handwritten digits, 8 x 8 counts (UCI): the papers' data, in UCI's order with the split "
        "3823/1797.",
        Files(_UCI + "optdigits/", ("optdigits.tra", "optdigits.tes"), ","),
    ),
    "ionosphere": Entry(
        (351, 34),
        "2 classes",
        "Radar returns (UCI), good +1 and bad -1: the papers' data; one feature is constant.",
        OpenML(59, _signs("g")),
    ),
    "wine": Entry(
        (178, 13),
        "3 classes",
        "Chemical analysis of wines of three growers (UCI; part of scikit-learn): the papers' "
        "data.",
        Bundled("load_wine"),
    ),
    "news20": Entry(
        (15935, 62061),
        "20 classes",
        "20 Newsgroups, training part of LIBSVM's file of raw counts: the papers' data.",
        Files(_LIBSVM + "multiclass/", ("news20.bz2",), "svmlight"),
    ),
    "rcv1": Entry(
        (3000, 47236),
        "101 labels",
        "Reuters RCV1, topics, training part of LIBSVM's first subset: the papers' data.",
        Files(_LIBSVM + "multilabel/", ("rcv1subset_topics_train_1.svm.bz2",), "svmlight"),
    ),
    "yahoo_arts": Entry(
        (7484, 23146),
        "26 labels",
        "Yahoo pages on Arts & Humanities (Ueda and Saito), raw counts of all documents, from "
        "yahoo_arts of the R package mldr.datasets; the papers use 3712 of them without saying "
        "which.",
    ),
    "yahoo_education": Entry(
        (12030, 27534),
        "33 labels",
        "Yahoo pages on Education (Ueda and Saito), raw counts, from yahoo_education of the R "
        "package mldr.datasets; it stands in for the papers' Computers & Internet (6270 x 34096, "
        "33 labels), which cannot be obtained in full.",
    ),
    "yahoo_computers_681": Entry(
        (5000, 681),
        "33 labels",
        "Yahoo pages on Computers & Internet in the reduced version of the ML-kNN papers, with "
        "split 2000/3000: 5000 documents and 681 frequent terms in rows of length one (the "
        "papers: 6270 x 34096).",
    ),
    "yahoo_arts_462": Entry(
        (5000, 462),
        "26 labels",
        "Yahoo pages on Arts & Humanities in the reduced version of the ML-kNN papers, with split "
        "2000/3000: 5000 documents and 462 frequent terms (the papers: 3712 x 23146).",
    ),
    # -- images of Drosophila embryos ----------------------------------------------------
    "bdgp": Entry(
        (2500, 1750),
        "79 labels",
        "Berkeley Drosophila Genome Project, groups of embryo images as histograms of visual "
        "words from three views (view_offsets), 500 for each of five stages (BDGP.mat of "
        "scutbioinformatics/CELT on GitHub); the thesis has 1000-2000 groups, 10-60 terms and 23 "
        "kernels of its own.",
    ),
    "bdgp_patterns": Entry(
        (1640, 405),
        "80 labels",
        "Berkeley Drosophila Genome Project, expression patterns of blastoderm embryos by Wu et "
        "al. (staNMF), labelled by organ system and stage where annotated is true, several images "
        "per gene (group); the thesis uses other images and descriptors.",
    ),
    # -- classification by planes: linear kernel -----------------------------------------
    "cleveland": Entry(
        (297, 13),
        "2 classes",
        "Heart disease, Cleveland (UCI), rows without missing values, +1 where num > 0: sizes are "
        "the papers'; the authors of GEPSVM may have split num <= 1 from num >= 2.",
        Files(_UCI + "heart-disease/", ("processed.cleveland.data",), ",", _disease, extra="num"),
    ),
    "pima": Entry(
        (768, 8),
        "2 classes",
        "Diabetes of Pima women (UCI), +1 for positive: the papers' data.",
        OpenML(37, _signs("tested_positive")),
    ),
    "galaxy_dim": Entry(
        (4192, 14),
        "2 classes",
        "Galaxy Dim of Odewahn et al., from the data of ma-xu/2PTWSVM on GitHub (X * scale has "
        "the original units); it stands in for the papers' Galaxy Bright (2462 x 14), which was "
        "not found.",
    ),
    # -- classification by planes: Gaussian kernel ---------------------------------------
    "ida_banana": _ida(5300, 2, "banana", _TEN),
    "ida_breast_cancer": _ida(277, 9, "breast-cancer", _TEN),
    "ida_diabetis": _ida(768, 8, "diabetis", _NONE),
    "ida_flare_solar": _ida(1066, 9, "flare-solar", _ONE),
    "ida_german": _ida(1000, 20, "german", _TEN),
    "ida_heart": _ida(270, 13, "heart", _TEN),
    "ida_thyroid": _ida(215, 5, "thyroid", _ONE),
    "ida_titanic": _ida(2201, 3, "titanic", _TEN),
    "ida_waveform": _ida(5000, 21, "waveform", _TEN),
    # -- spectra -------------------------------------------------------------------------
    "gasoline": Entry(
        (60, 401),
        "1 response",
        "Near infrared spectra of gasoline and their octane numbers (Kalivas), from the R package "
        "pls; not among the papers' data.",
    ),
    "yarn": Entry(
        (28, 268),
        "1 response",
        "Near infrared spectra of PET yarns and their densities, with split 21/7, from the R "
        "package pls; not among the papers' data.",
    ),
    # -- drawn ---------------------------------------------------------------------------
    "syn1": _noise(100, multilabel=False),
    "syn2": _noise(5000, multilabel=False),
    "syn3": _noise(100, multilabel=True),
    "syn4": _noise(5000, multilabel=True),
    "ndc": Entry(
        (300, 7),
        "2 classes",
        "Normally distributed clusters on both sides of a plane, drawn by make_ndc; the papers' "
        "generator is not public, its clusters differ.",
        Drawn(make_ndc),
    ),
    "planted": Entry(
        (1000, 200),
        "8 labels",
        "Labels that depend on a planted subspace, drawn by make_planted; not among the papers' "
        "data.",
        Drawn(make_planted),
    ),
}
