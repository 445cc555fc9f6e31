"""What a record holds.

Numbers that could not be measured are None, as JSON knows neither nan nor infinity. Labels
and features are named once and pointed to by index. Fields with a default came later: records
without them can still be read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SCHEMA = "eigenkit.run"
VERSION = 1


@dataclass(frozen=True)
class Label:
    """A label (or class) and the number of samples that carry it."""

    name: str
    count: int


@dataclass(frozen=True)
class LabelSet:
    """Labels that are exactly those of ``count`` samples."""

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
class Column:
    """A feature at a glance; ``missing`` and ``zeros`` are shares of all rows."""

    name: str
    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    missing: float
    zeros: float


@dataclass(frozen=True)
class Data:
    """The data at a glance.

    ``kind`` is "classes" where every sample carries exactly one label, otherwise "labels".
    ``shown`` are the most frequent labels, for which ``co_occurrence`` counts the samples
    that carry both. ``columns`` are the first features, ``n_constant`` of all do not vary.
    ``fingerprint`` tells whether two runs saw the same numbers.
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
    columns: list[Column] = field(default_factory=list)
    n_constant: int = 0
    n_incomplete: int = 0


@dataclass(frozen=True)
class Protocol:
    """How the methods were compared.

    ``test_begins`` is the first test row where a test file follows the training rows, else 0.
    """

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
    test_begins: int = 0


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
class Loading:
    """A feature and its correlations with the first components, on the training rows."""

    name: str
    correlations: list[float]


@dataclass(frozen=True)
class Model:
    """The model of the first split.

    ``coordinates`` are the first two or three scores of the samples that are drawn. Row i of
    ``label_correlations`` says how component i correlates with each of ``correlated`` (labels or
    responses) on rows that were held out; ``loadings`` are the features closest to the plane of
    the first components.
    """

    alpha: float | None
    n_components: int
    eigenvalues: list[float]
    solved: Solved | None
    components: list[list[Feature]]
    coordinates: list[list[float]]
    correlated: list[int] = field(default_factory=list)
    label_correlations: list[list[float | None]] = field(default_factory=list)
    loadings: list[Loading] = field(default_factory=list)


@dataclass(frozen=True)
class Curve:
    """ROC curve of one label, averaged over the splits at equal false positive rates.

    ``precision`` is averaged in the same way where the recall first reaches ``Run.recall``.
    """

    label: int
    auc: float | None
    true_positive_rate: list[float]
    precision: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class LabelScore:
    """How well a label is predicted; counts are summed over the splits, areas averaged.

    ``support`` counts the held-out samples that carry the label.
    """

    label: int
    support: int
    precision: float
    recall: float
    f1: float
    auc: float | None
    average_precision: float | None


@dataclass(frozen=True)
class Worst:
    """A held-out sample that the method gets badly wrong.

    ``loss`` is the number of wrong labels; for classes the score that the truth lacks to win;
    for numbers the error in deviations of the response, with what was ``observed`` and
    ``predicted`` of the response ``truth[0]``.
    """

    row: int
    loss: float
    truth: list[int]
    told: list[int]
    observed: float | None = None
    predicted: float | None = None


@dataclass(frozen=True)
class ComponentScores:
    """The main score with the first 1, 2, ... components, over all splits."""

    components: list[int]
    mean: list[float | None]
    std: list[float | None]


@dataclass(frozen=True)
class Method:
    """All about one method.

    ``confusion`` counts, over all splits, held-out samples of the class of the row (one of
    ``Data.shown``) that were predicted to be of the class of the column. ``predicted`` goes with
    ``Points.observed``: what was predicted when the sample was held out.
    """

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
    labels: list[LabelScore] = field(default_factory=list)
    confusion: list[list[int]] = field(default_factory=list)
    worst: list[Worst] = field(default_factory=list)
    by_components: ComponentScores | None = None
    predicted: list[list[float | None]] = field(default_factory=list)


@dataclass(frozen=True)
class Points:
    """The samples that are drawn: their row, labels, and whether held out in the first split.

    ``observed`` are their first responses, where numbers are predicted.
    """

    rows: list[int]
    labels: list[list[int]]
    held_out: list[bool]
    observed: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Run:
    """One comparison of methods on one data set; ``next`` is the command to go on with."""

    schema: str
    version: int
    data: Data
    protocol: Protocol
    methods: list[Method]
    points: Points
    false_positive_rate: list[float]
    environment: dict[str, str]
    command: str
    recall: list[float] = field(default_factory=list)
    next: str = ""
