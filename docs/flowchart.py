"""Draws the page that helps to choose: one tree, as a picture with links and as text.

    python docs/flowchart.py        writes docs/_static/choosing.svg and prints the text

The tree stands once, below; a test holds the picture and the text of the page to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

PICTURE = Path(__file__).parent / "_static" / "choosing.svg"


@dataclass
class Node:
    """A question with answers, or (without answers) an estimator and the page about it."""

    text: str
    page: str = ""
    answers: dict[str, Node] = field(default_factory=dict)


TREE = Node(
    "What is y?",
    answers={
        "labels, several a sample": Node(
            "How many labels?",
            answers={
                "up to hundreds": Node("HypergraphSpectral, CCA", "hypergraph"),
                "hundreds and more": Node("ManyLabelClassifier", "multilabel"),
            },
        ),
        "one class a sample": Node(
            "What do you want?",
            answers={
                "a projection and a classifier": Node("LDA", "lda"),
                "scores and loadings, wide X": Node("PLSDA, SparsePLSDA", "pls"),
                "planes close to the classes": Node("ReGEC, GEPSVM", "planes"),
            },
        ),
        "numbers": Node(
            "What do you want?",
            answers={
                "predict, few components": Node("PLSRegressionCV", "pls"),
                "the most predictable part": Node("OrthonormalizedPLS", "pls"),
                "a few features": Node("SparsePLS", "pls"),
            },
        ),
        "another view of the samples": Node(
            "How many views?",
            answers={
                "two": Node("CCA, CanonicalRidge", "cca_family"),
                "two, few features of each": Node("SparseCCA", "cca_family"),
                "three and more": Node("MultiviewCCA", "cca_family"),
            },
        ),
        "sets of images with terms": Node("eigenkit annotate", "tasks_images"),
        "there is none": Node("PCA, KernelPCA", "pca"),
    },
)

LEFT, WIDTH = (10, 320, 680), (100, 150, 230)
STEP_Y, HEIGHT = 46, 34


def leaves(node: Node) -> int:
    return sum(leaves(child) for child in node.answers.values()) or 1


def text(node: Node = TREE, depth: int = 0) -> str:
    """The tree as a nested list in Markdown."""
    lines = []
    for answer, child in node.answers.items():
        indent = "  " * depth
        if child.answers:
            lines += [f"{indent}- {answer}. {child.text}", text(child, depth + 1)]
        else:
            lines.append(f"{indent}- {answer}: [{child.text}]({child.page}.md)")
    return "\n".join(lines)


def picture() -> str:
    """The tree as SVG, answers on the lines, estimators as links."""
    height = leaves(TREE) * STEP_Y + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 930 {height}" role="img" '
        'aria-label="Which estimator: the tree is given as text below" class="choosing">'
    ]
    draw(TREE, 0, 10.0, parts)
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
    place = f'x="{x + width / 2}" y="{middle + 5}" text-anchor="middle"'
    word = f"<text {place}>{escape(node.text)}</text>"
    link = f'<a href="{node.page}.html">{shape}{word}</a>'
    parts.append(shape + word if node.answers else link)


def line(a: int, y: float, b: int, to: float, answer: str, parts: list[str]) -> None:
    start, end = LEFT[a] + WIDTH[a], LEFT[b]
    bend = start + 14
    parts.append(f'<path d="M{start} {y} H{bend} V{to} H{end}"/>')
    parts.append(f'<text class="on-line" x="{bend + 4}" y="{to - 5}">{escape(answer)}</text>')


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(text())
