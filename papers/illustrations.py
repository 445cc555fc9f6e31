"""The papers' illustrations, drawn from computed things, and their tables of data sets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from eigenkit import CCA, PCA, ReGEC, copy_transformation, label_powerset
from eigenkit.numerics.linalg import Array
from eigenkit.targets import TARGETS, Labels
from papers.blocks import Block, Claim, Figure, Note, Table
from papers.drawing import COLORS, MARKERS, lines
from papers.study import Experiment, Study

# Thesis, Tables 4.1 and 5.1: name here, name there, n, d, k.
SETS_4_1 = (
    ("scene", "Scene", 2407, 294, 6),
    ("yeast", "Yeast", 2417, 103, 14),
    ("usps", "USPS", 9298, 256, 10),
    ("yahoo_arts", "Yahoo, Arts & Humanities", 3712, 23146, 26),
    ("yahoo_computers_681", "Yahoo, Computers & Internet", 6270, 34096, 33),
)
SETS_5_1 = (
    ("syn1", "Syn1", 1000, 100, 5),
    ("syn2", "Syn2", 1000, 5000, 5),
    ("syn3", "Syn3", 1000, 100, 5),
    ("syn4", "Syn4", 1000, 5000, 5),
    ("ionosphere", "Ionosphere", 351, 34, 2),
    ("optdigits", "Optical digits", 5620, 64, 10),
    ("satimage", "Satimage", 6435, 36, 6),
    ("usps", "USPS", 9298, 256, 10),
    ("wine", "Wine", 178, 13, 3),
    ("scene", "Scene", 2407, 294, 6),
    ("yeast", "Yeast", 2417, 103, 14),
    ("news20", "News20", 15935, 62061, 20),
    ("rcv1", "RCV1-v2", 3000, 47236, 101),
)
DRAWN = ("syn1", "syn3", "wine")  # what is there without a download
TOY = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 1]])


# -- tables of data ------------------------------------------------------------------------------


def _sizes(study: Study, name: str) -> list[int] | None:
    data = study.dataset(name)
    if data is None:
        return None
    Y = np.asarray(data.target)
    n_labels = Y.shape[1] if Y.ndim == 2 else len(np.unique(Y))
    return [data.n_samples, data.n_features, int(n_labels)]


def _data_table(
    study: Study, title: str, sets: tuple[tuple[str, str, int, int, int], ...]
) -> Table:
    shown = [row for row in sets if not study.quick or row[0] in DRAWN]
    ours = [study.cell(f"sizes of {row[0]}", partial(_sizes, study, row[0])) for row in shown]
    return Table(
        title,
        ("data set", "here"),
        [(row[1], row[0]) for row in shown],
        ("n", "d", "k"),
        [found or [None] * 3 for found in ours],
        [row[2:] for row in shown],
        form="d",
        compare="",
        note="Where sizes differ, the page on data sets says why.",
    )


# -- figures ---------------------------------------------------------------------------------------


def _transformations() -> Table:
    """Figure 1.5: one toy problem, three ways to make single labels of it."""
    X = np.arange(len(TOY), dtype=float)[:, None]
    copies, classes, weight = copy_transformation(X, TOY)
    sets, table = label_powerset(TOY)
    rows, values = [], []
    for i, labels in enumerate(TOY):
        own = copies[:, 0] == i
        copied = ", ".join(
            f"C{j + 1} ({w:.2g})" for j, w in zip(classes[own], weight[own], strict=True)
        )
        relevance = ", ".join("+" if label else "-" for label in labels)
        power = "{" + ", ".join(f"C{j + 1}" for j in np.flatnonzero(table[sets[i]])) + "}"
        rows.append((f"x{i + 1}",))
        values.append(
            [
                "{" + ", ".join(f"C{j + 1}" for j in np.flatnonzero(labels)) + "}",
                copied,
                relevance,
                power,
            ]
        )
    return Table(
        "Figure 1.5: a toy problem with three labels, transformed",
        ("sample",),
        rows,
        ("labels", "copies (weight)", "binary relevance C1, C2, C3", "power set"),
        values,
        note="By copy_transformation and label_powerset; binary relevance is the label matrix "
        "itself. The thesis's toy data are in a picture; these are ours.",
    )


def _correlations(seed: int) -> Figure:
    """Figure 3.1: samples with given correlations, and what CCA finds in them."""

    def draw(canvas: Any) -> None:
        rng = np.random.default_rng(seed)
        axes = canvas.subplots(1, 4, sharex=True, sharey=True)
        for ax, rho in zip(axes, (-0.9, 0.0, 0.5, 0.95), strict=True):
            x = rng.standard_normal(200)
            y = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(200)
            found = CCA(alpha=0.0).fit(x[:, None], y).canonical_correlations_[0]
            ax.plot(x, y, ".", color=COLORS[0], markersize=3)
            ax.set(title=f"r = {np.corrcoef(x, y)[0, 1]:+.2f}, CCA {found:.2f}", xlabel="x")
        axes[0].set_ylabel("y")

    caption = (
        "Thesis, Figure 3.1: the linear correlation coefficient r of 200 samples, and the "
        "canonical correlation |r|."
    )
    return Figure("illustration-correlation", caption, draw, (9.0, 2.6))


def expansions(J: Array) -> dict[str, Array]:
    """Weights of the edges: between samples (clique), and between samples and labels (star)."""
    degree = J.sum(axis=0)
    clique = J @ J.T
    np.fill_diagonal(clique, 0.0)
    return {"clique": clique, "star": J / degree}


def similarity(name: str, J: Array) -> Array:
    """H H' of the expansion, before centring."""
    H = TARGETS[name].rows(J, Labels(J.sum(axis=0), J - J.mean(axis=0)))
    return np.asarray(H @ H.T)


def _hypergraph() -> Figure:
    """Figure 4.1: a hypergraph as a table, and its two expansions as graphs."""
    J = TOY.astype(float)
    n, k = J.shape

    def draw(canvas: Any) -> None:
        left, middle, right = canvas.subplots(1, 3)
        left.imshow(J, cmap="Greys", vmin=0, vmax=1.6)
        left.set(title="incidence", xticks=range(k), yticks=range(n))
        left.set_xticklabels([f"e{j + 1}" for j in range(k)])
        left.set_yticklabels([f"v{i + 1}" for i in range(n)])
        angle = 2 * np.pi * np.arange(n) / n
        vertices = np.column_stack([np.cos(angle), np.sin(angle)])
        edges = expansions(J)
        for ax, name in ((middle, "clique expansion"), (right, "star expansion")):
            ax.set(
                title=name, xticks=[], yticks=[], aspect="equal", xlim=(-1.4, 1.4), ylim=(-1.4, 1.4)
            )
            ax.grid(visible=False)
        for i in range(n):
            for j in range(i):
                if edges["clique"][i, j]:
                    middle.plot(
                        *vertices[[i, j]].T, color=COLORS[0], lw=1.5 * edges["clique"][i, j]
                    )
        hubs = 0.45 * np.column_stack([np.cos(angle[:k] + 0.6), np.sin(angle[:k] + 0.6)])
        for i, j in zip(*np.nonzero(J), strict=True):
            ends = np.vstack([vertices[i], hubs[j]])
            right.plot(*ends.T, color=COLORS[1], lw=4 * edges["star"][i, j])
        for ax in (middle, right):
            for i, place in enumerate(vertices):
                ax.text(*(1.2 * place), f"v{i + 1}", ha="center", va="center")
            ax.plot(*vertices.T, "o", color="black")
        right.plot(*hubs.T, "s", color=COLORS[1])
        for j, place in enumerate(hubs):
            right.text(*(place + 0.12), f"e{j + 1}")

    caption = (
        "Thesis, Figure 4.1: a hypergraph (the toy problem above), its clique expansion, an edge "
        "for every pair with a common label, and its star expansion, a vertex for every label. "
        "Lines are as thick as their weights."
    )
    return Figure("illustration-hypergraph", caption, draw, (8.4, 3.0))


def _principal_components(seed: int) -> Figure:
    """The plots of the notes on spectral methods: scores, and reconstruction."""

    def draw(canvas: Any) -> None:
        left, middle, right = canvas.subplots(1, 3, width_ratios=(1, 1.2, 1.4))
        X = np.random.default_rng(seed).random((20, 50))  # 20 samples of 50 variables
        scores = PCA(2).fit(X).transform(X)
        left.plot(*scores.T, "o", color=COLORS[0])
        left.set(title="uniform noise, 20 x 50", xlabel="component 1", ylabel="component 2")
        X, y = load_digits(return_X_y=True)
        X = X[:, X.std(axis=0) > 0]  # some pixels are white in every picture
        scores = PCA(2).fit(X).transform(X)
        for digit in (0, 1, 4, 6):
            part = scores[y == digit]
            middle.plot(
                *part.T, MARKERS[digit % 8], color=COLORS[digit % 8], ms=2, label=str(digit)
            )
        middle.set(title="digits", xlabel="component 1", ylabel="component 2")
        middle.legend()
        model, kept = PCA().fit(X), [1, 2, 5, 10, 20, 30, 40, 50, 60]
        S, Z = model.transform(X), X - X.mean(axis=0)
        error = [np.sum((Z - S[:, :l] @ model.components_[:l]) ** 2) / np.sum(Z**2) for l in kept]
        share = [1 - model.explained_variance_ratio_[:l].sum() for l in kept]
        curves = {"reconstruction": error, "1 - share of variance": share}
        lines(right, kept, curves, xlabel="components kept", ylabel="relative squared error")
        right.set(title="digits, reconstructed")

    caption = (
        "Khashabi, Section 2: the first two principal components of 20 samples of 50 variables (as "
        "in its listing) and of digits, and the error of reconstruction (1), which is the variance "
        "left out."
    )
    return Figure("illustration-pca", caption, draw, (10.0, 3.2))


def _planes(seed: int) -> Figure:
    """Figure 1 of the paper on ReGEC: two classes and the line that each is close to."""

    def draw(canvas: Any) -> None:
        rng = np.random.default_rng(seed)
        t = rng.uniform(-1, 1, size=(2, 60))
        noise = 0.08 * rng.standard_normal((2, 60))
        A = np.column_stack([t[0], 0.8 * t[0] + 0.25 + noise[0]])
        B = np.column_stack([t[1], -0.6 * t[1] - 0.2 + noise[1]])
        X, y = np.vstack([A, B]), np.repeat([0, 1], 60)
        model = ReGEC().fit(X, y)
        ax = canvas.subplots()
        for label, points in enumerate((A, B)):
            ax.plot(
                *points.T, MARKERS[label], color=COLORS[label], fillstyle="none", label="AB"[label]
            )
        x = np.array([-1.1, 1.1])
        for label, (w, gamma) in enumerate(zip(*_lines_of(model), strict=True)):
            ax.plot(x, (gamma - w[0] * x) / w[1], color=COLORS[label], lw=1.5)
        ax.set(title=f"accuracy {model.score(X, y):.2f}", xlabel="x1", ylabel="x2")
        ax.legend()

    caption = (
        "Guarracino et al., Figure 1: two classes and the lines of the first and the last "
        "eigenvector, each close to one class and far from the other (our data)."
    )
    return Figure("illustration-planes", caption, draw, (4.6, 3.6))


def _lines_of(model: Any) -> tuple[Array, Array]:
    """Normals and offsets: the line of a class is w'x = gamma."""
    return np.asarray(model.coef_), -np.asarray(model.intercept_)


def run(study: Study) -> Iterator[Block]:
    """All of them."""
    yield _data_table(study, "Table 4.1: the data sets of chapter 4", SETS_4_1)
    yield _data_table(study, "Table 5.1: the data sets of chapter 5", SETS_5_1)
    yield _transformations()
    yield _correlations(study.seed)
    yield _hypergraph()
    yield from _similarity_claim()
    yield _principal_components(study.seed)
    yield _planes(study.seed)


def _similarity_claim() -> Iterator[Block]:
    """Equation 4.22: the star expansion's similarity is that of its bipartite graph."""
    J = TOY.astype(float)
    M = expansions(J)["star"]
    vertices, edges = M.sum(axis=1), M.sum(axis=0)
    expected = (M / edges) @ M.T / np.sqrt(np.outer(vertices, vertices))
    gap = float(np.abs(similarity("star", J) - expected).max())
    yield Claim(
        "Equation (4.22): the star expansion needs only the real vertices, "
        "S = D^-1/2 M D_e^-1 M' D^-1/2.",
        f"largest difference {gap:.0e} from the bipartite graph of Figure 4.1",
        "holds" if gap < 1e-12 else "differs",
    )
    yield Note(
        "The similarity matrices of both expansions are what HypergraphSpectral regresses on."
    )


EXPERIMENT = Experiment(
    "illustrations",
    "The papers' illustrations and data sets",
    "Sun's thesis (2011), Figures 1.5, 3.1 and 4.1, Tables 4.1 and 5.1; Guarracino et al., "
    "Figure 1; Khashabi (2015), Section 2",
    run,
)
