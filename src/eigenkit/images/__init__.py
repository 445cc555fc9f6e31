"""Annotating sets of images: from folders of pictures to terms with reasons.

Reading images needs pillow (the extra ``images``); the rest is numpy and scipy.
"""

from __future__ import annotations

from eigenkit.exceptions import ImageWarning
from eigenkit.images.annotator import ImageAnnotator
from eigenkit.images.descriptors import DESCRIPTORS, Descriptor
from eigenkit.images.explain import Evidence, Explanation
from eigenkit.images.files import ImageSet, Picture
from eigenkit.images.fitted import adapt, load_annotator, save_annotator
from eigenkit.images.folders import read_labels, read_sets
from eigenkit.images.kernels import Plan
from eigenkit.images.shapes import make_shapes
from eigenkit.images.term_reports import TermReport

__all__ = [
    "DESCRIPTORS",
    "Descriptor",
    "Evidence",
    "Explanation",
    "ImageAnnotator",
    "ImageSet",
    "ImageWarning",
    "Picture",
    "Plan",
    "TermReport",
    "adapt",
    "load_annotator",
    "make_shapes",
    "read_labels",
    "read_sets",
    "save_annotator",
]
