"""From vectors of pictures to kernels between sets: one kernel per descriptor, kind and view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Event
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from eigenkit.images.descriptors import THESIS, Descriptor, check_once, check_own
from eigenkit.images.extraction import Tell, Vectors
from eigenkit.images.files import Sets, view_in_words
from eigenkit.kernels.sets import SET_KERNELS
from eigenkit.kernels.sets._sets import SAMPLE, runs, sample
from eigenkit.numerics.linalg import Array, eigenpairs
from eigenkit.numerics.threads import thread_map
from eigenkit.numerics.tolerances import PRODUCTS_RANK_TOL
from eigenkit.shell import refuse

# Numbers of such descriptors have units of their own; those of histograms have one.
_OWN_UNITS = ("steerable", "differential", "complex", "moments")
# Points that principal components are learned from; fewer where a point has many numbers.
PREPARATION_SAMPLE, WIDE, WIDE_SAMPLE = 20_000, 512, 2_000
# Vectors that are in memory at once: of the sample that is learned from, and of a block of sets.
SAMPLE_BYTES, BLOCK_BYTES = 2**28, 2**26


Places = dict[str, Array | None]  # descriptor -> where its points are, if they are patches


@dataclass(frozen=True)
class Plan:
    """A kernel between sets: which vectors, and how sets of them are compared.

    Parameters
    ----------
    descriptor : str
        A name of :data:`eigenkit.images.DESCRIPTORS`, or of a descriptor of your own.
    kind : {"mean_map", "pyramid", "fisher", "words", "pooled"}
    params : dict
        Of the class in :data:`eigenkit.kernels.sets.SET_KERNELS`.
    """

    descriptor: str
    kind: str = "mean_map"
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.descriptor} {self.kind.replace('_', ' ')}"


# Descriptors that say nothing of grey pictures, and little where colours are a matter of style.
COLOUR = ("hsv", "lab", "thumbnail", "dense_colours-16", "correlogram")
# What brightness alone tells of forms: it takes the place of colour where that is left out.
FORMS = (Plan("pattern"), Plan("hog_smooth"))
# Uniform cubes are of no use to vectors of many numbers.
_PYRAMID = {"bins": "vocabulary", "n_levels": 5}
DEFAULT = (
    *(Plan(name) for name in ("hog-8", "hog-4", "hsv", "lab", "thumbnail", "gabor-fine", "lbp")),
    *(Plan(name) for name in ("spectrum", "spectrum_edges", "spectrum_turned", "correlogram")),
    Plan("dense_sift-16", "fisher", {"n_gaussians": 64}),
    Plan("dense_colours-16", "fisher", {"n_gaussians": 64}),
    Plan("sift-16", "pyramid"),
)
POOLED = Plan("joined", "pooled")
PLANS = {
    "auto": (*DEFAULT, *FORMS, POOLED),
    "default": DEFAULT,
    "pooled": (POOLED,),
    "thesis": tuple(Plan(name, "pyramid") for name in THESIS),
}


def plans_of(
    kernels: Any, descriptors: Sequence[Descriptor] = (), size: tuple[int, int] | None = None
) -> tuple[Plan, ...]:
    """The plans that a user asks for: a name of PLANS, or plans and names of descriptors.

    Of those that a name stands for, the ones that images of the size have room for.
    """
    own = check_own(descriptors)
    if isinstance(kernels, str):
        if kernels not in PLANS:
            raise ValueError(f"kernels={kernels!r} is not known: give one of {', '.join(PLANS)}.")
        room = np.inf if size is None else min(size) // 2
        large = [p for p in PLANS[kernels] if (Descriptor(p.descriptor).radius or 0) > room]
        return (*(p for p in PLANS[kernels] if p not in large), *(Plan(name) for name in own))
    plans: tuple[Plan, ...] = ()
    for kernel in kernels if isinstance(kernels, Sequence) else ():
        if isinstance(kernel, str):  # a descriptor, or a descriptor, a colon and a kind
            name, _, kind = (kernel, "", "") if kernel in own else kernel.partition(":")
            kernel = Plan(name, kind or "mean_map")
        plans += (kernel,)
    if not plans or not all(isinstance(plan, Plan) for plan in plans):
        names = f"one of {', '.join(PLANS)}, or a list of plans and names of descriptors"
        refuse("kernels", kernels, f"{names}; functions of your own go into descriptors")
    for plan in plans:
        if plan.kind not in SET_KERNELS:
            known = ", ".join(SET_KERNELS)
            raise ValueError(f"kind={plan.kind!r} is not known: give one of {known}.")
    check_once("kernels", [plan.name for plan in plans])
    return plans


def choices(kernels: Any, fitted: Sequence[ViewKernel], weights: str) -> dict[str, Array]:
    """What to choose from, in words: equal weights of the kernels that take part.

    Where each has a regression, those that tell little count for little: the choice is between
    colour and forms. Kernels within views are left out, added with half of the weight, or the only
    ones.
    """
    pooled = np.array([k.plan == POOLED for k in fitted])
    coloured = np.array([k.plan.descriptor in COLOUR for k in fitted])
    forms = np.array([k.plan in FORMS for k in fitted])
    subsets = {
        "set kernels": ~pooled & ~forms,
        "set kernels without colour": ~pooled & ~coloured,
        "plain pooling": pooled,
        "set kernels and plain pooling": ~forms,
        "set kernels without colour and plain pooling": ~coloured,
    }
    if not (isinstance(kernels, str) and kernels == "auto"):
        subsets = {"all kernels": np.ones(len(fitted), dtype=bool)}
    elif weights == "each":
        subsets = {name: subsets[name] for name in subsets if name.endswith("and plain pooling")}
    own, found = np.array([k.view is not None for k in fitted]), {}
    for name, used in subsets.items():
        within, across = (part / max(part.sum(), 1) for part in (used & own, used & ~own))
        if not across.any():
            found[f"{name} within views"] = within
            continue
        found[name] = across
        if within.any():
            found[f"{name}, also within views"] = (within + across) / 2
    return found


class Preparation(BaseEstimator):
    """Vectors in fewer dimensions, with the place in the image beside them.

    Principal components of the vectors (of unit deviation where each number has a unit of its
    own), then the two coordinates times ``coordinate_weight`` times the root mean square length.
    """

    def __init__(
        self, n_components: int = 64, coordinate_weight: float = 1.0, own_units: bool = False
    ) -> None:
        self.n_components = n_components
        self.coordinate_weight = coordinate_weight
        self.own_units = own_units

    def fit(self, points: Array, random: Any) -> Self:
        """Learn from a sample of the points."""
        most = WIDE_SAMPLE if points.shape[1] > WIDE else PREPARATION_SAMPLE
        drawn = sample(points, most, random).astype(np.float64)
        self.mean_ = drawn.mean(axis=0).astype(np.float32)
        centred = drawn - drawn.mean(axis=0)
        self.unit_ = None
        if self.own_units:
            deviation = centred.std(axis=0)
            unit = np.where(deviation > 1e-9 * deviation.max(initial=0), deviation, 1.0)
            self.unit_ = unit.astype(np.float32)
            centred = centred / unit
        self.components_ = None
        if drawn.shape[1] > self.n_components:
            if len(centred) >= centred.shape[1]:
                C = eigenpairs(centred.T @ centred, self.n_components)[1].T
            else:
                values, U = eigenpairs(centred @ centred.T, self.n_components)
                kept = values > PRODUCTS_RANK_TOL * max(values[0], 0)
                C = (centred.T @ U[:, kept] / np.sqrt(values[kept])).T
            self.components_ = np.ascontiguousarray(C, dtype=np.float32)
            centred = centred @ C.T
        self.length_ = float(np.sqrt(np.mean(np.sum(centred**2, axis=1)))) or 1.0
        return self

    def transform(self, vectors: Array, places: Array | None) -> Array:
        """Prepared vectors of one picture."""
        Z = vectors - self.mean_
        if self.unit_ is not None:
            Z = Z / self.unit_
        if self.components_ is not None:
            Z = Z @ self.components_.T
        if places is None:
            return np.asarray(Z, dtype=np.float32)
        return np.hstack([Z, self.coordinate_weight * self.length_ * places]).astype(np.float32)


class ViewKernel(BaseEstimator):
    """One kernel between sets: pictures of one view only (all, where view is None).

    K is 1 on the diagonal, and 0 for a set without pictures of the view.
    """

    def __init__(self, plan: Plan, view: str | None = None, random_state: int = 0) -> None:
        self.plan = plan
        self.view = view
        self.random_state = random_state

    @property
    def name(self) -> str:
        """In words."""
        name = self.plan.name
        return name if self.view is None else f"{name}, {view_in_words(self.view)}"

    def fit_transform(self, sets: Sets, vectors: Vectors, at: Places) -> Array:
        """Learn from the sets; the kernel between them."""
        random = np.random.RandomState(self.random_state)
        chosen, places = self._chosen(sets, vectors), at[self.plan.descriptor]
        usual = _PYRAMID if self.plan.kind == "pyramid" else {}
        params = {"random_state": self.random_state, **usual, **self.plan.params}
        self.kernel_ = SET_KERNELS[self.plan.kind](**params)
        most = self.kernel_.sample_size
        drawn, where = _drawn(chosen, places, most or SAMPLE, random)
        dimensions = 256 if places is None else 64
        if self.plan.kind == "pooled":  # a maximum of components is not that of the numbers
            dimensions = drawn.shape[1]
        own_units = self.plan.descriptor.rpartition("-")[0] in _OWN_UNITS
        self.preparation_ = Preparation(dimensions, 1.0, own_units).fit(drawn, random)
        if most is None:
            points = np.vstack([block for block, _ in self._blocks(chosen, places)])
        else:
            points = self.preparation_.transform(drawn, where)
        self.kernel_.fit_blocks(points, self._blocks(chosen, places))
        self.filled_ = _filled(chosen)
        return self.kernel_of_fit()

    def kernel_of_fit(self) -> Array:
        """The kernel between the sets seen in fit, from what is kept of them."""
        return _masked(self.kernel_.kernel_of_fit(), self.filled_, self.filled_)

    def transform(self, sets: Sets, vectors: Vectors, at: Places) -> Array:
        """The kernel between new sets and those seen in fit."""
        chosen, places = self._chosen(sets, vectors), at[self.plan.descriptor]
        K = [self.kernel_.transform_block(*block) for block in self._blocks(chosen, places)]
        return _masked(np.vstack(K), _filled(chosen), self.filled_)

    def _chosen(self, sets: Sets, vectors: Vectors) -> list[list[Array]]:
        return [
            [v for v, p in zip(own, one.pictures, strict=True) if self.view in (None, p.view)]
            for one, own in zip(sets, vectors[self.plan.descriptor], strict=True)
        ]

    def _blocks(
        self, chosen: Sequence[list[Array]], places: Array | None
    ) -> Iterator[tuple[Array, np.ndarray]]:
        """Points of runs of sets that take about BLOCK_BYTES, and how many each set has."""
        width = len(self.preparation_.mean_)
        size_of = [sum(v.nbytes for v in one) for one in chosen]
        for start, stop in runs(size_of, BLOCK_BYTES):
            part = chosen[start:stop]
            pictures = [v for one in part for v in one]
            raw: Any = np.vstack(pictures) if pictures else np.zeros((0, width), dtype=np.float32)
            where = None if places is None else np.tile(places, (len(pictures), 1))
            sizes = np.array([sum(map(len, one)) for one in part])
            yield self.preparation_.transform(raw, where), sizes


def _drawn(
    chosen: Sequence[list[Array]], places: Array | None, most: int, random: Any
) -> tuple[Array, Array | None]:
    """A sample of all vectors, and where in the images they are."""
    pictures = [v for one in chosen for v in one]
    if not pictures:
        return np.zeros((0, 1), dtype=np.float32), None
    ends = np.cumsum([len(v) for v in pictures])
    most = min(most, SAMPLE_BYTES // (4 * pictures[0].shape[1]))
    rows = sample(np.arange(ends[-1]), most, random)
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    inside = [part - (end - len(v)) for part, end, v in zip(parts, ends, pictures, strict=True)]
    drawn = np.vstack([v[i] for v, i in zip(pictures, inside, strict=True)])
    return drawn, None if places is None else np.vstack([places[i] for i in inside])


def _filled(chosen: Sequence[list[Array]]) -> np.ndarray:
    return np.array([any(map(len, one)) for one in chosen])


def _masked(K: Array, present: np.ndarray, filled: np.ndarray) -> Array:
    """An empty view is like nothing."""
    return np.asarray(K * np.outer(present, filled), dtype=np.float32)


def fit_kernels(
    plans: Sequence[Plan],
    views: Sequence[str | None],
    sets: Sets,
    vectors: Vectors,
    places: Places,
    seed: int,
    tell: Tell = None,
) -> tuple[list[ViewKernel], np.ndarray]:
    """All kernels between the sets, fitted, and their matrices (n_kernels, n_sets, n_sets)."""
    kernels = [
        ViewKernel(plan, view, seed)
        for plan in plans
        for view in (views if plan != POOLED or None not in views else [None])
    ]
    K = np.empty((len(kernels), len(sets), len(sets)), dtype=np.float32)
    done, given_up = count(1), Event()

    def fit(j: int) -> None:
        if given_up.is_set():
            return
        K[j] = kernels[j].fit_transform(sets, vectors, places)
        if tell is not None:
            n, total = next(done), len(kernels)
            tell(n, total, f"kernel {kernels[j].name}: {n} of {total}")

    try:
        thread_map(fit, range(len(kernels)))
    except BaseException:
        given_up.set()  # or other threads would go on to the last kernel
        raise
    return kernels, K
