"""Draws the page that helps to choose: two trees, as a picture with links and as text.

    python docs/flowchart.py        writes docs/_static/choosing.svg and prints the text

The trees stand once, below; a test holds the picture and the text of the page to them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

PICTURE = Path(__file__).parent / "_static" / "choosing.svg"


@dataclass
class Node:
    """A question with answers, or (without answers) an estimator, its page, and how to call it."""

    text: str
    page: str = ""
    how: str = ""
    answers: dict[str, Node] = field(default_factory=dict)


WHAT = Node(
    "What is y?",
    answers={
        "several labels per sample": Node(
            "How many labels?",
            answers={
                "up to a few hundred": Node(
                    "HypergraphSpectral, CCA", "hypergraph", "--method star"
                ),
                "hundreds or more": Node("ManyLabelClassifier", "multilabel"),
            },
        ),
        "one class per sample": Node(
            "What do you want?",
            answers={
                "a projection and a classifier": Node("LDA", "lda", "--method lda"),
                "curved boundaries": Node("KernelLDA", "kernels", "--method kernel_lda"),
                "scores and loadings, wide X": Node("PLSDA, SparsePLSDA", "pls", "--method plsda"),
                "one plane per class": Node("ReGEC, GEPSVM", "planes", "--method regec"),
                "most samples are unlabelled": Node("GraphRegularized", "unlabelled"),
            },
        ),
        "numbers": Node(
            "What do you want?",
            answers={
                "predict from few components": Node("PLSRegressionCV", "pls", "--method pls"),
                "the most predictable part": Node("OrthonormalizedPLS", "pls", "--method opls"),
                "select a few features": Node("SparsePLS", "pls", "--method sparse_pls"),
            },
        ),
        "a second view of the samples": Node(
            "How many views?",
            answers={
                "two": Node("CCA, CanonicalRidge", "cca_family", "--method cca"),
                "two, selecting features": Node("SparseCCA", "cca_family", "--method sparse_cca"),
                "two, with missing values": Node(
                    "ProbabilisticCCA", "probabilistic", "--method probabilistic_cca"
                ),
                "three or more": Node(
                    "MultiviewCCA, RGCCA", "cca_family", "--method multiview_cca"
                ),
            },
        ),
        "terms for sets of images": Node("eigenkit annotate", "tasks_images"),
        "there is no y": Node("PCA, KernelPCA", "pca", "--method pca"),
    },
)
SIZE = Node(
    "How large is X?",
    answers={
        "fits in memory, dense or sparse": Node("eigenkit fit", "solvers", "fit(X, y)"),
        "rows keep arriving": Node("Stream, eigenkit follow", "streams", "partial_fit(X, y)"),
        "larger than memory": Node("RowBlocks, eigenkit fit", "scale", "fit(blocks)"),
        "many samples and a kernel method": Node(
            "KernelLDA", "kernels", 'approximation="nystroem"'
        ),
    },
)
TREES = (WHAT, SIZE)

LEFT, WIDTH = (10, 330, 690), (120, 150, 230)
STEP_Y, HEIGHT = 52, 42


def leaves(node: Node) -> int:
    return sum(leaves(child) for child in node.answers.values()) or 1


def text(node: Node, depth: int = 0) -> str:
    """The tree as a nested list in Markdown."""
    lines = []
    for answer, child in node.answers.items():
        indent = "  " * depth
        if child.answers:
            lines += [f"{indent}- {answer}. {child.text}", text(child, depth + 1)]
        else:
            how = f", `{child.how}`" if child.how else ""
            lines.append(f"{indent}- {answer}: [{child.text}]({child.page}.md){how}")
    return "\n".join(lines)


def picture() -> str:
    """The trees as SVG, answers on the lines, estimators as links."""
    height = sum(leaves(tree) * STEP_Y + 30 for tree in TREES)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 930 {height}" role="img" '
        'aria-label="Which estimator: the trees are given as text below" class="choosing">'
    ]
    top = 10.0
    for tree in TREES:
        draw(tree, 0, top, parts)
        top += leaves(tree) * STEP_Y + 30
    return "\n".join([*parts, "</svg>", ""])


def draw(node: Node, depth: int, top: float, parts: list[str]) -> float:
    """Draw a node and what hangs on it from ``top`` on; returns the height of its middle."""
    if not node.answers:
        middle = top + STEP_Y / 2
        box(node, 2, middle, parts)
        return middle
    middles, edge = [], top
    for answer, child in node.answers.items():
        middle = draw(child, depth + 1, edge, parts)
        middles.append((answer, child, middle))
        edge += leaves(child) * STEP_Y
    own = (middles[0][2] + middles[-1][2]) / 2
    for answer, child, middle in middles:
        line(depth, own, depth + 1 if child.answers else 2, middle, answer, parts)
    box(node, depth, own, parts)
    return own


def box(node: Node, depth: int, middle: float, parts: list[str]) -> None:
    x, width, y = LEFT[depth], WIDTH[depth], middle - HEIGHT / 2
    kind = "question" if node.answers else "answer"
    shape = f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="8"/>'
    centre = f'x="{x + width / 2}" text-anchor="middle"'
    above = 3 if node.how else -5
    word = f'<text {centre} y="{middle - above}">{escape(node.text)}</text>'
    if node.how:
        word += f'<text class="how" {centre} y="{middle + 14}">{escape(node.how)}</text>'
    link = f'<a href="{node.page}.html">{shape}{word}</a>'
    parts.append(shape + word if node.answers else link)


def line(a: int, y: float, b: int, to: float, answer: str, parts: list[str]) -> None:
    start, end = LEFT[a] + WIDTH[a], LEFT[b]
    bend = start + 14
    parts.append(f'<path d="M{start} {y} H{bend} V{to} H{end}"/>')
    parts.append(f'<text class="on-line" x="{bend + 4}" y="{to - 5}">{escape(answer)}</text>')


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print("\n\n".join(f"{tree.text}\n\n{text(tree)}" for tree in TREES))
