"""What a record holds.

Numbers that could not be measured are None, as JSON knows neither nan nor infinity. Labels
and features are named once and pointed to by index.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA = "eigenkit.run"
VERSION = 1


@dataclass(frozen=True)
class Label:
    """A label (or class) and the number of samples that carry it."""

    name: str
    count: int


@dataclass(frozen=True)
class LabelSet:
    """Labels that occur together on ``count`` samples, and on no sample a further one."""

    labels: list[int]
    count: int


@dataclass(frozen=True)
class Hypergraph:
    """The label hypergraph, laid out for drawing.

    ``labels`` are drawn at ``label_positions``, every one of ``sets`` (the most frequent of
    the ``n_sets`` label sets of two labels or more) at its place in ``set_positions``.
    """

    labels: list[int]
    label_positions: list[list[float]]
    sets: list[LabelSet]
    set_positions: list[list[float]]
    n_sets: int


@dataclass(frozen=True)
class Data:
    """The data at a glance.

    ``kind`` is "classes" where every sample carries exactly one label, otherwise "labels".
    ``shown`` are the most frequent labels, for which ``co_occurrence`` counts the samples
    that carry both. ``fingerprint`` tells whether two runs saw the same numbers.
    """

    name: str
    n_samples: int
    n_features: int
    n_labels: int
    sparse: bool
    dtype: str
    density: float
    kind: str
    cardinality: float
    unlabelled: int
    labels: list[Label]
    shown: list[int]
    co_occurrence: list[list[int]]
    hypergraph: Hypergraph
    fingerprint: str


@dataclass(frozen=True)
class Protocol:
    """How the methods were compared."""

    splits: str
    n_splits: int
    n_train: int
    n_test: int
    classifier: str
    alphas: list[float]
    inner_cv: int
    alpha_score: str
    alpha_classifier: str
    seed: int


@dataclass(frozen=True)
class Score:
    """One number per split (None where the method failed), their mean and deviation."""

    values: list[float | None]
    mean: float | None
    std: float | None


@dataclass(frozen=True)
class Failure:
    """Where a method gave up, and its one sentence."""

    split: int
    error: str


@dataclass(frozen=True)
class AlphaSearch:
    """Score of every alpha in the inner cross-validation, over all splits."""

    alphas: list[float]
    mean: list[float | None]
    std: list[float | None]
    chosen: list[float | None]


@dataclass(frozen=True)
class Solved:
    """How the eigenproblem was solved; the fields of :class:`eigenkit.pencil.Report`."""

    solver: str
    regression: str
    reason: str
    n_iter: int
    converged: bool
    residual: float | None
    orthogonality: float | None
    condition: float | None
    equivalent: bool


@dataclass(frozen=True)
class Feature:
    """A feature and how far a component moves when it moves by one standard deviation."""

    name: str
    weight: float


@dataclass(frozen=True)
class Model:
    """The model of the first split.

    ``coordinates`` are the first two or three scores of the samples that are drawn.
    """

    alpha: float | None
    n_components: int
    eigenvalues: list[float]
    solved: Solved | None
    components: list[list[Feature]]
    coordinates: list[list[float]]


@dataclass(frozen=True)
class Curve:
    """ROC curve of one label, averaged over the splits at equal false positive rates."""

    label: int
    auc: float | None
    true_positive_rate: list[float]


@dataclass(frozen=True)
class Method:
    """All about one method."""

    name: str
    estimator: str
    baseline: bool
    scores: dict[str, Score]
    seconds: dict[str, Score]
    failures: list[Failure]
    warnings: list[str]
    alpha: AlphaSearch | None
    model: Model | None
    roc: list[Curve]


@dataclass(frozen=True)
class Points:
    """The samples that are drawn: their row, labels, and whether held out in the first split."""

    rows: list[int]
    labels: list[list[int]]
    held_out: list[bool]


@dataclass(frozen=True)
class Run:
    """One comparison of methods on one data set."""

    schema: str
    version: int
    data: Data
    protocol: Protocol
    methods: list[Method]
    points: Points
    false_positive_rate: list[float]
    environment: dict[str, str]
    command: str
