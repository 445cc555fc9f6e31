"""The picture of every family in the guide: ``python docs/guide_pictures.py FOLDER`` draws them.

They are drawn when the pages are built, by the estimators they are about.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.neighbors import NearestCentroid

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Ellipse

from eigenkit import (
    CCA,
    LDA,
    PCA,
    GraphRegularized,
    Kernel,
    KernelCCA,
    KernelLDA,
    LeastSquaresProjection,
    ManyLabelClassifier,
    MultipleKernelProjection,
    OrthonormalizedPLS,
    PLSRegression,
    ProbabilisticCCA,
    ReGEC,
)

BLUE, ORANGE, GREEN, GREY = "tab:blue", "tab:orange", "tab:green", "tab:gray"
PAIR = np.array([BLUE, ORANGE])
DIGITS = (1, 2, 8)  # those that the first two principal components mix up most


def panels(count: int, width: float = 3.4, height: float = 3.2) -> tuple[Any, Any]:
    """A figure with panels side by side."""
    return plt.subplots(1, count, figsize=(width * count, height), layout="constrained")


def arrow(axis: Any, direction: Any, colour: str, label: str, length: float = 2.0) -> None:
    """A direction through the origin, with its name."""
    end = length * np.asarray(direction) / np.linalg.norm(direction)
    axis.annotate("", end, -end, arrowprops={"arrowstyle": "->", "lw": 2.5, "color": colour})
    axis.plot([], [], color=colour, lw=2.5, label=label)


def shade(axis: Any, model: Any, X: Any, y: Any) -> None:
    """The regions of a classifier of two features behind its samples."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    grid = np.meshgrid(*(np.linspace(a, b, 150) for a, b in zip(low, high, strict=True)))
    region = model.predict(np.column_stack([g.ravel() for g in grid])).reshape(150, 150)
    axis.contourf(*grid, region, levels=1, colors=[BLUE, ORANGE], alpha=0.18)
    axis.scatter(*X.T, c=PAIR[y], s=9)
    axis.set(xticks=[], yticks=[])


def cca() -> Any:
    rng = np.random.default_rng(0)
    shared = rng.normal(size=150)
    X = np.column_stack([shared + 0.4 * rng.normal(size=150), 2 * rng.normal(size=150)])
    Y = np.column_stack([2 * rng.normal(size=150), -shared + 0.4 * rng.normal(size=150)])
    model = CCA(1, alpha=0).fit(X, Y)
    figure, axes = panels(3)
    for axis, data, weights, name in (
        (axes[0], X, model.x_rotations_, "X"),
        (axes[1], Y, model.y_rotations_, "Y"),
    ):
        axis.scatter(*(data - data.mean(axis=0)).T, c=shared, cmap="coolwarm", s=9)
        arrow(axis, weights[:, 0], "black", "direction of CCA", 3.0)
        axis.set(title=f"{name}, centred", aspect="equal", xlim=(-6, 6), ylim=(-6, 6))
        axis.legend(loc="lower right", fontsize=8)
    axes[2].scatter(*(s[:, 0] for s in model.transform(X, Y)), c=shared, cmap="coolwarm", s=9)
    correlation = model.canonical_correlations_[0]
    axes[2].set(title=f"scores: correlation {correlation:.2f}", xlabel="of X", ylabel="of Y")
    return figure


def pls() -> Any:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2)) @ np.array([[2.0, 0.0], [0.0, 0.7]])
    y = 0.35 * X[:, 0] + 1.3 * X[:, 1] + 0.3 * rng.normal(size=300)
    directions = {
        "PCA: X alone": (PCA(1).fit(X).components_[0], GREY),
        "PLS: X and y": (PLSRegression(1, scale=False).fit(X, y).x_weights_[:, 0], GREEN),
        "least squares: y alone": (OrthonormalizedPLS(1, alpha=0).fit(X, y).components_[0], ORANGE),
    }
    figure, axis = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    points = axis.scatter(*X.T, c=y, cmap="viridis", s=10, alpha=0.6)
    for name, (direction, colour) in directions.items():
        arrow(axis, direction, colour, name, 3.0)
    axis.set(aspect="equal", xlabel="feature 1", ylabel="feature 2", ylim=(-3.2, 3.2))
    axis.legend(loc="upper left", fontsize=8)
    figure.colorbar(points, ax=axis, label="y")
    return figure


def lda() -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) @ np.array([[2.2, 1.6], [0.0, 0.5]])
    y = np.repeat([0, 1], 150)
    X[y == 1] += [0.6, -1.4]
    X -= X.mean(axis=0)
    figure, axes = panels(3)
    axes[0].scatter(*X.T, c=PAIR[y], s=9)
    arrow(axes[0], PCA(1).fit(X).components_[0], GREY, "PCA", 4.0)
    arrow(axes[0], LDA().fit(X, y).components_[0], "black", "LDA", 4.0)
    axes[0].set(aspect="equal", title="two classes", xlim=(-7, 7), ylim=(-6, 6))
    axes[0].legend(fontsize=8)
    for axis, model, name in ((axes[1], PCA(1), "PCA"), (axes[2], LDA(), "LDA")):
        scores = model.fit(X, y).transform(X)[:, 0]
        for c in (0, 1):
            axis.hist(scores[y == c], bins=25, color=PAIR[c], alpha=0.6)
        axis.set(title=f"scores of {name}", yticks=[])
    return figure


def hypergraph() -> Any:
    places = np.array([[0, 0], [1, 0.2], [0.4, 0.9], [1.7, 0.9], [2.4, 0.2], [2.3, 1.3]])
    edges = {"sport": [0, 1, 2], "travel": [1, 2, 3], "food": [3, 4, 5]}
    colours = (BLUE, ORANGE, GREEN)
    figure, axes = panels(3, 3.6, 2.9)
    for (name, members), colour in zip(edges.items(), colours, strict=True):
        inside = places[members]
        middle = inside.mean(axis=0)
        axes[0].add_patch(
            Ellipse(middle, *(np.ptp(inside, axis=0) + 0.7), color=colour, alpha=0.22)
        )
        axes[0].text(*middle, name, ha="center", fontsize=9)
        for i in members:
            axes[1].plot(*np.array([places[i], middle]).T, color=colour, lw=1.5)
            for j in members:
                axes[2].plot(*places[[i, j]].T, color=colour, lw=1.5)
        axes[1].plot(*middle, "s", color=colour, markersize=9)
    for axis, title in zip(axes, ("labels as hyperedges", "star", "clique"), strict=True):
        axis.plot(*places.T, "o", color="black", markersize=7)
        axis.set(title=title, xlim=(-0.7, 3.1), ylim=(-0.7, 2.0), aspect="equal")
        axis.axis("off")
    return figure


def pca() -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ np.array([[2.0, 1.1], [0.0, 0.6]])
    model = PCA(2).fit(X)
    kept = PCA(1).fit(X)
    near = kept.inverse_transform(kept.transform(X))
    figure, axes = panels(2, 4.4, 3.3)
    axes[0].scatter(*X.T, s=9, color=BLUE, alpha=0.6)
    for direction, deviation, colour in zip(
        model.components_, np.sqrt(model.explained_variance_), ("black", GREY), strict=True
    ):
        share = deviation**2 / model.explained_variance_.sum()
        arrow(axes[0], direction, colour, f"{share:.0%} of the variance", 2 * deviation)
    axes[0].legend(fontsize=8)
    axes[0].set(title="directions of variance", aspect="equal")
    for x, z in zip(X, near, strict=True):
        axes[1].plot(*np.array([x, z]).T, color=GREY, lw=0.6)
    axes[1].plot(*near.T, ".", color=ORANGE, markersize=4)
    axes[1].set(title="one component kept; grey is lost", aspect="equal")
    return figure


def sparse() -> Any:
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 60))
    X[:, [5, 20, 41]] += 1.2 * y[:, None]
    figure, axes = panels(2, 4.6, 2.9)
    models = {
        "LDA with a ridge": LDA(alpha=20.0),
        "its least squares model, lasso": LeastSquaresProjection(
            target="lda", alpha=4.0, l1_ratio=1.0
        ),
    }
    for axis, (name, model) in zip(axes, models.items(), strict=True):
        weights = model.fit(X, y).components_[0]
        axis.stem(weights, markerfmt=".", basefmt=" ")
        axis.set(title=f"{name}: {np.count_nonzero(weights)} of 60 features", xlabel="feature")
        for true in (5, 20, 41):
            axis.axvline(true, color=ORANGE, lw=6, alpha=0.25)
    return figure


def kernels() -> Any:
    X, y = make_circles(200, noise=0.07, factor=0.45, random_state=0)
    model = KernelLDA(gamma=1.0, alpha=0.1).fit(X, y)
    scores = model.transform(X)[:, 0]
    figure, axes = panels(3)
    shade(axes[0], model, X, y)
    axes[0].set(title="no line parts these classes", aspect="equal")
    for c in (0, 1):
        axes[1].hist(scores[y == c], bins=20, color=PAIR[c], alpha=0.6)
    axes[1].set(title="scores with a Gaussian kernel", yticks=[])
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 6))
    names = ["columns 1-3", "columns 4-6", "all, straight"]
    bank = [Kernel("rbf", 0.5, columns=slice(a, a + 3)) for a in (0, 3)]
    several = MultipleKernelProjection(KernelCCA(alpha=1.0), [*bank, "linear"])
    several.fit(Z, np.sin(2 * Z[:, :2]))
    axes[2].barh(names[::-1], several.weights_[::-1], color=GREEN)
    axes[2].set(title="learned weights of kernels")
    return figure


def planes() -> Any:
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, size=(2, 120))
    X = np.vstack(
        [np.column_stack([s, slope * s]) for s, slope in zip(t, (0.8, -0.8), strict=True)]
    )
    X += 0.07 * rng.normal(size=X.shape)
    y = np.repeat([0, 1], 120)
    figure, axes = panels(2, 3.8)
    for axis, model in zip(axes, (LDA(), ReGEC()), strict=True):
        shade(axis, model.fit(X, y), X, y)
        axis.set(title=f"{type(model).__name__}: accuracy {model.score(X, y):.2f}", aspect="equal")
    for (a, b), offset, colour in zip(model.coef_, model.intercept_, (BLUE, ORANGE), strict=True):
        ends = np.array([-1.1, 1.1])
        axes[1].plot(ends, -(a * ends + offset) / b, color=colour, lw=2)
    return figure


def streams() -> Any:
    rng = np.random.default_rng(0)
    turns = np.linspace(0, np.pi / 2, 60)
    keeps, forgets, found = LDA(alpha=1.0), LDA(alpha=1.0), {"keeps": [], "forgets": []}
    for turn in turns:
        y = np.arange(50) % 2
        X = rng.normal(size=(50, 2))
        X += np.outer(2.0 * y, [np.cos(turn), np.sin(turn)])
        for model, name, half_life in ((keeps, "keeps", None), (forgets, "forgets", 150)):
            model.partial_fit(X, y, classes=[0, 1], half_life=half_life)
            w = model.components_[0]
            found[name].append(np.degrees(np.arctan2(abs(w[1]), abs(w[0]))))
    rows = 50 * np.arange(1, 61)
    figure, axis = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    axis.plot(rows, np.degrees(turns), color="black", lw=1, label="where the classes differ now")
    axis.plot(rows, found["forgets"], color=ORANGE, label="half_life=150")
    axis.plot(rows, found["keeps"], color=BLUE, label="all rows count alike")
    axis.set(xlabel="rows seen", ylabel="direction, degrees")
    axis.legend()
    return figure


def many_labels() -> Any:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 2)) * 2.2
    topic = rng.integers(5, size=250)
    X = centres[topic] + 0.7 * rng.normal(size=(250, 2))
    Y = (rng.random((250, 40)) < rng.beta(0.15, 1.5, size=(5, 40))[topic]).astype(int)
    model = ManyLabelClassifier(OrthonormalizedPLS(2), n_neighbors=15).fit(X, Y)
    new = np.array([[*centres[0]]])
    scores = np.sqrt(model.estimator_.eigenvalues_) * model.estimator_.transform(X)
    place = np.sqrt(model.estimator_.eigenvalues_) * model.estimator_.transform(new)
    near = np.argsort(np.linalg.norm(scores - place, axis=1))[:15]
    labels, votes = model.predict_top(new, 6)
    figure, axes = panels(2, 4.4, 3.2)
    axes[0].scatter(*scores.T, s=9, color=GREY, alpha=0.5)
    axes[0].scatter(*scores[near].T, s=22, color=ORANGE, label="15 nearest")
    axes[0].plot(*place[0], "*", color="black", markersize=13, label="new sample")
    axes[0].set(title="scores of a projection", xticks=[], yticks=[])
    axes[0].legend(fontsize=8)
    axes[1].barh([f"label {j}" for j in labels[0][::-1]], votes[0][::-1], color=ORANGE)
    axes[1].set(title="their votes: the best six of 40 labels")
    return figure


def probabilistic() -> Any:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(200, 1))
    X = z @ np.full((1, 3), 0.6) + rng.normal(size=(200, 3))
    Y = z @ np.full((1, 5), 0.9) + rng.normal(size=(200, 5))
    model = ProbabilisticCCA(1, alpha=0).fit(X, Y)
    figure, axes = panels(2, 4.0)
    for axis, guess, name in (
        (axes[0], model.transform(X), "one view"),
        (axes[1], model.latent(X, Y), "both views"),
    ):
        sign = np.sign(guess[:, 0] @ z[:, 0])
        axis.plot([-3, 3], [-3, 3], color=GREY, lw=1)
        axis.scatter(z, sign * guess, s=9, color=BLUE)
        axis.set(title=f"expected from {name}", xlabel="hidden z", ylabel="E[z | data]")
    return figure


def unlabelled() -> Any:
    X, y = make_moons(300, noise=0.07, random_state=0)
    few = np.full(300, -1)
    for c in (0, 1):
        few[np.flatnonzero(y == c)[:3]] = c
    known = few >= 0
    kernel = KernelLDA(kernel="rbf", gamma=20.0, alpha=0.01)
    models = {
        "6 labelled samples": kernel.fit(X[known], y[known]),
        "and 294 without labels": GraphRegularized(kernel, mu=10.0, n_neighbors=10).fit(X, few),
    }
    figure, axes = panels(2, 4.0)
    for axis, (name, model) in zip(axes, models.items(), strict=True):
        shade(axis, model, X, y)
        axis.scatter(*X[known].T, c=PAIR[y[known]], s=90, edgecolor="black", lw=1.5)
        axis.set(title=f"{name}: accuracy {model.score(X, y):.2f}")
    return figure


def landing() -> Any:
    """Digits without and with their labels: the picture of the front page."""
    X, y = load_digits(return_X_y=True)
    X, y = X[np.isin(y, DIGITS)], y[np.isin(y, DIGITS)]
    train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    X = X[:, X[train].std(axis=0) > 0]  # some pixels are always white
    figure, axes = panels(2, 4.4, 3.4)
    for axis, model, name in (
        (axes[0], PCA(2), "PCA, labels not used"),
        (axes[1], LDA(2, alpha=10.0), "LDA, labels used"),
    ):
        Z = model.fit(X[train], y[train]).transform(X[test])
        nearest = NearestCentroid().fit(model.transform(X[train]), y[train])
        for digit in DIGITS:
            axis.scatter(*Z[y[test] == digit].T, s=26, lw=0.3, marker=f"${digit}$")
        right = nearest.score(Z, y[test])
        axis.set(title=f"{name}: {right:.0%} nearest to their class", xticks=[], yticks=[])
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    "cca": cca,
    "pls": pls,
    "lda": lda,
    "hypergraph": hypergraph,
    "pca": pca,
    "sparse": sparse,
    "kernels": kernels,
    "planes": planes,
    "streams": streams,
    "many-labels": many_labels,
    "probabilistic": probabilistic,
    "unlabelled": unlabelled,
    "landing": landing,
}


def write(folder: Path) -> None:
    """Draw all of them into the folder, as ``guide-NAME.png``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        figure = draw()
        figure.savefig(folder / f"guide-{name}.png", dpi=130, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
