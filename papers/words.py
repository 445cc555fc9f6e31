"""The words of the page that no experiment computes: its title, its sources, what it lacks."""

from __future__ import annotations

TITLE = "The papers' tables and figures"
LEAD = (
    "eigenkit began as an implementation of the papers listed at the end. This page repeats "
    "their experiments, so that you can check both them and the library. The first table lists "
    "what the papers claim and whether it was found here. Then comes every table and figure, "
    "with the command that makes it. In tables our number comes first; the paper's number and "
    "how the two compare stand in brackets (on the HTML page: below it)."
)
PAPERS = (
    "L. Sun, S. Ji and J. Ye (2009), A least squares formulation for a class of generalized "
    "eigenvalue problems in machine learning, ICML.",
    "L. Sun, B. Ceran and J. Ye (2010), A scalable two-stage approach for a class of "
    "dimensionality reduction techniques, KDD.",
    "L. Sun (2011), Multi-label dimensionality reduction, PhD thesis, Arizona State University "
    "(here: the thesis).",
    "D. Khashabi (2015), Spectral methods for machine learning, notes.",
    "M. R. Guarracino, C. Cifarelli, O. Seref and P. M. Pardalos, A classification method based "
    "on generalized eigenvalue problems, Optimization Methods and Software.",
)
MODES = {
    "quick": "This is the quick version: bundled and generated data and few repetitions. It shows "
    "that everything runs; its numbers are not to be compared with the papers'.",
    "reduced": "This run is reduced: at most three random partitions of a data set where the "
    "papers have ten (two in the experiment annotation), and everything else as stated. Means are "
    "over those partitions; `python -m papers --full` takes as many as the papers do.",
    "full": "This run is full: as many random partitions as the papers have, except where a note "
    "says otherwise.",
}
CLAIMS = "What the papers say, and what is seen here"
LACKING = "What is not regenerated, and why"
NOT_HERE = (
    "Thesis, Figures 1.1 and 1.4, 6.1, 6.3 and 6.4: photographs and gene expression images; the "
    "images are not at hand, only histograms of visual words made from them.",
    "Thesis, Figures 1.2 and 1.3: trees of the labels of Reuters and Yeast, taken from elsewhere; "
    "nothing is computed in them.",
    "Thesis, Table 2.1: a list of the methods that two parameters lead to, without numbers; "
    "CanonicalRidge is that family, and tests hold its corners to CCA, orthonormalized PLS and "
    "PLS.",
    "Thesis, Figure 6.2: a drawing of the steps of the annotation.",
    "Thesis, Tables 6.1 to 6.4, the rows SVM1 and Z&P: they need the images (SVM1 a kernel of all "
    "local features, Z&P the method of Zhou and Peng on wavelets of the images). Their "
    "numbers stand beside ours; annotation-images has both rows, from other pictures.",
    "Thesis, chapter 6, the 23 pyramid match kernels: they need local descriptors of the images; "
    "18 kernels on histograms take their place, so Tables 6.1 to 6.4 compare in their "
    "order and not in their numbers.",
    "Guarracino et al., the row SVMlight: SVC of scikit-learn (libsvm) takes its place; the "
    "settings of the paper are used where it names them.",
    "Guarracino et al., Galaxy Bright and the NDC generator: not to be had; Galaxy Dim and a "
    "generator of ours take their place.",
    "Sun, Ji and Ye; thesis, Table 4.2, Computers with its 34096 terms and the choice of 3712 "
    "documents of Arts: not to be had and not stated.",
)
# Of the order of the methods in the thesis's Tables 6.1 to 6.4.
READING = (
    "In the thesis, from 20 terms on, clique comes before star and star before kCCA, which is "
    "mostly below uniform weights. It does not say how its regularization was chosen: the next "
    "table shows what the order is here with one alpha for all methods. The table after it has "
    "SVMs without balanced classes: in the thesis precision is above recall from 30 terms on, so "
    "it may not have balanced them."
)
