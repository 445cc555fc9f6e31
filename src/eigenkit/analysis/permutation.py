"""Which components are more than chance."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import factorial, prod
from typing import Any

import numpy as np
from scipy import linalg as sla
from sklearn.base import BaseEstimator

from eigenkit.analysis import _steps as steps
from eigenkit.analysis._draws import Progress, in_parallel, root_seed, sizes
from eigenkit.analysis._sides import View, residuals, sides
from eigenkit.data import as_dense, check_finite, stored
from eigenkit.estimators._encoding import as_labels, check_groups
from eigenkit.estimators._validation import check_X
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.numerics.linalg import Array, power_of_two
from eigenkit.shell import check_choice, check_count, check_share

STATISTICS = ("auto", "wilks", "trace", "roy")

# T within this share of the observed one counts as equal to it.
TIE = 1e-10


@dataclass(frozen=True, repr=False)
class PermutationTest:
    """Whether each component is more than chance: what :func:`permutation_test` returns.

    Attributes
    ----------
    method : str
        The class of the estimator.
    statistic : str
        "wilks", "trace" or "roy".
    singular_values : array of shape (n_tested,)
        What the sides share along each component: canonical correlations (shrunken by a
        ridge), or covariances not divided by the number of samples.
    statistics : array of shape (n_tested,)
        The observed statistic of each step, from the singular values above.
    p_values : array of shape (n_tested,)
        Never decreasing: a component counts only if all before it do, which keeps the
        family-wise error at the level.
    null : list of array
        The statistics of the permutations, for every step.
    n_samples, n_permutations, n_blocks : int
        ``n_permutations`` is the number asked for; ``null`` holds those that were made.
    exact : tuple of bool
        For every step, whether all permutations were made rather than random ones.
    """

    method: str
    statistic: str
    singular_values: Array
    statistics: Array
    p_values: Array
    null: list[Array] = field(compare=False)
    n_samples: int
    n_permutations: int
    n_blocks: int
    exact: tuple[bool, ...]

    def n_significant(self, level: float = 0.05) -> int:
        """How many leading components have a p-value of at most ``level``."""
        return int(np.sum(self.p_values <= check_share("level", level)))

    def summary(self, level: float = 0.05) -> str:
        """A table of the components, and how many are significant at ``level``."""
        blocks = f" within {self.n_blocks} blocks" if self.n_blocks > 1 else ""
        made = sorted({len(draws) for draws in self.null})
        count = f"{made[0]}" if len(made) == 1 else f"{made[0]} to {made[-1]}"
        lines = [
            f"Permutation test of {self.method}: {self.n_samples} samples, "
            f"{count} permutations{blocks}",
            f"{'component':>9}  {'value':>10}  {self.statistic:>10}  {'p':>8}",
        ]
        table = zip(self.singular_values, self.statistics, self.p_values, strict=True)
        for j, (value, observed, p) in enumerate(table, start=1):
            lines.append(f"{j:>9}  {value:>10.4g}  {observed:>10.4g}  {p:>8.4g}")
        found = f"{self.n_significant(level)} of {len(self.p_values)} components significant"
        return "\n".join([*lines, f"{found} at level {level:g}"])

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        p_values = ", ".join(f"{p:.4g}" for p in self.p_values)
        return f"<PermutationTest of {self.method}: p = {p_values}>"


def permutation_test(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    nuisance: Any = None,
    groups: Any = None,
    statistic: str = "auto",
    n_permutations: int = 999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress = None,
    sample_weight: None = None,
) -> PermutationTest:
    """Test the components of a supervised projection one after the other.

    The test of component j asks whether X and y still share something once the components before
    it, and the nuisance variables, are removed from both sides. The first step without nuisance
    variables is exact for any distribution; the later steps keep their level closely (see the
    table in the docs). If an early component is weak, later ones are tested conservatively.

    Parameters
    ----------
    estimator : CCA, CanonicalRidge, MultiviewCCA, OrthonormalizedPLS, LDA, \
HypergraphSpectral, PLSRegression, PLSCanonical, PLSSVD, SIMPLS, PLSDA, or a kernel version
        Its penalties are used, and as many components as it asks for are tested. It need not
        be fitted. The PLS family is tested by the pairs of singular vectors of X'Y, at most
        as many as there are responses: further components by deflation serve prediction, and
        their number is a matter of cross-validation.
    X, y
        As in its ``fit``.
    nuisance : array of shape (n_samples,) or (n_samples, n_variables), optional
        Variables whose linear influence on both sides is removed.
    groups : array of shape (n_samples,), optional
        Samples are exchanged only with samples of the same group (block), and differences
        between groups are removed from both sides.
    statistic : {"auto", "wilks", "trace", "roy"}
        Of the singular values s from j on: Wilks' ``-sum log(1 - s^2)``, the trace ``sum s^2``,
        or the largest ``s^2`` (Roy). "auto" is Wilks where they are correlations, and the
        trace otherwise. Of more than two views, with all eigenvalues e of the block matrix that
        is left: ``-sum log(1 + e)``, ``sum e^2 / 2``, or the largest e.
    n_permutations : int
        If there are no more permutations than that, all of them are made.
    random_state : int, RandomState or None
    n_jobs : int, optional
        As in joblib; the result does not depend on it.
    progress : bool or callable, optional
        True draws a bar on stderr where that is a terminal; a function is called as
        ``progress(done, total, message)``.
    sample_weight : None
        Refused: samples of unequal weight cannot be exchanged.

    Returns
    -------
    PermutationTest

    References
    ----------
    A. M. Winkler, O. Renaud, S. M. Smith, T. E. Nichols: Permutation inference for canonical
    correlation analysis. NeuroImage 220, 2020.

    M.-H. Huh, M. Jhun: Random permutation testing in multiple linear regression.
    Communications in Statistics 30, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenkit import CCA
    >>> from eigenkit.analysis import permutation_test
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> test = permutation_test(CCA(alpha=0), X, Y, n_permutations=199)
    >>> test.singular_values.round(2)
    array([0.8 , 0.2 , 0.07])
    >>> print(test.n_significant(level=0.1))
    1
    """
    if sample_weight is not None:
        raise ValueError(
            "sample_weight is not valid here: samples of unequal weight cannot be exchanged."
        )
    check_count("n_permutations", n_permutations)
    check_choice("statistic", statistic, STATISTICS)
    tested = _Tested(sides(estimator, X, y), nuisance, groups, statistic)
    name, n_steps = tested.statistic, tested.n_steps(estimator.n_components)
    plan = [tested.step(j) for j in range(n_steps)]
    observed, null, exact = _run(plan, name, int(n_permutations), random_state, n_jobs, progress)
    return PermutationTest(
        method=type(estimator).__name__,
        statistic=name,
        singular_values=tested.found.values[:n_steps] * tested.factor,
        statistics=observed * tested.square,
        p_values=_p_values(observed, null, exact),
        null=[draws * tested.square for draws in null],
        n_samples=len(tested.Z),
        n_permutations=int(n_permutations),
        n_blocks=len(tested.blocks),
        exact=exact,
    )


# -- what is asked for ------------------------------------------------------------------


def _blocks(groups: Any, n: int) -> steps.Blocks:
    """The rows of each group; all of them in one without groups."""
    if groups is None:
        return [np.arange(n)]
    index = check_groups(groups, n)
    blocks = [np.flatnonzero(index == i) for i in range(int(index.max()) + 1)]
    if max(len(rows) for rows in blocks) < 2:
        raise ValueError(
            "every group in groups has one sample: there is nothing to exchange within them."
        )
    return blocks


def _nothing_to_test(sides: Sequence[Array], nuisance: bool, grouped: bool) -> str:
    """Why no component is left."""
    names = ("X", "y") if len(sides) == 2 else [f"view {i}" for i in range(len(sides))]
    still = [name for name, A in zip(names, sides, strict=True) if not A.any()]
    if grouped and not nuisance and still:
        return (
            f"{still[0]} is the same within every group, so that exchanging samples within groups "
            "changes nothing: to compare groups, test one sample of each, such as its mean."
        )
    return (
        "X and y have nothing in common beyond nuisance variables and groups: there is nothing to "
        "test."
    )


def _nuisance(nuisance: Any, n: int) -> Array:
    """The nuisance variables as a dense matrix, in units of the order of 1."""
    if nuisance is None:
        return np.empty((n, 0))
    try:
        Z = as_labels(nuisance)
        Z = Z.reshape(-1, 1) if Z.ndim == 1 else Z
        Z = check_X(BaseEstimator(), Z, reset=True, finite=False)
    except (TypeError, ValueError) as error:
        words = str(error)
        if not words.startswith(("X holds", "y holds")):
            raise ValueError(f"nuisance is not a matrix of numbers: {words}") from error
        raise ValueError(f"nuisance{words[1:]}") from error
    check_finite("nuisance", stored(Z))
    Z = as_dense(Z).astype(np.float64)
    if len(Z) != n:
        raise ValueError(f"nuisance has {len(Z)} rows: give one for each of {n} samples.")
    return Z


def _basis(Z: Array, blocks: steps.Blocks) -> Array:
    """An orthonormal basis of the block indicators and the nuisance variables."""
    B = np.zeros((len(Z), len(blocks)))
    for i, rows in enumerate(blocks):
        B[rows, i] = len(rows) ** -0.5
    R, size = residuals(Z / power_of_two(np.abs(Z).max(axis=0, initial=0.0)), B)
    R = R[:, size > 0] / size[size > 0]
    return np.hstack([B, sla.orth(R) if R.size else R])


def _statistic(name: str, views: list[View]) -> str:
    bounded = all(view.whitened for view in views)
    if name == "auto":
        return "wilks" if bounded else "trace"
    if name == "wilks" and not bounded:
        raise ValueError(
            "statistic='wilks' needs correlations, but this method maximizes covariance: use "
            "'trace' or 'roy'."
        )
    return name


# -- the steps --------------------------------------------------------------------------

Step = tuple[list[Array], steps.Blocks]


class _Tested:
    """The sides of a method without nuisance variables, and the components that they share.

    ``factor`` brings singular values to the units of the data, or of more views to correlations,
    and ``square`` the statistics.
    """

    def __init__(self, views: list[View], nuisance: Any, groups: Any, statistic: str) -> None:
        n = views[0].data.shape[0]
        self.blocks, self.Z = _blocks(groups, n), _nuisance(nuisance, n)
        self.statistic = _statistic(statistic, views)
        N = _basis(self.Z, self.blocks)
        freed, units = zip(*(view.rows(N) for view in views), strict=True)
        self.found = steps.decompose(list(freed))
        if not len(self.found.values):
            raise ValueError(_nothing_to_test(freed, bool(self.Z.size), len(self.blocks) > 1))
        two = len(views) == 2
        self.factor = units[0] * units[1] if two else 1.0 / (len(views) - 1)
        self.square = self.factor**2 if two and self.statistic != "wilks" else 1.0

    def n_steps(self, asked: int | None) -> int:
        """The number of components to test: as asked for, but no more than the samples allow.

        Step j (from 1) takes j + cols(Z) rows from every block, and two must be left.
        """
        there, taken = len(self.found.values), self.Z.shape[1]
        wanted = there if asked is None else min(int(asked), there)
        smallest = min(len(rows) for rows in self.blocks)
        possible = smallest - 2 - taken
        if taken == 0:
            possible = max(possible, 1)  # the first step exchanges rows as they are
        if possible < 1:
            raise ValueError(
                f"the smallest block has {smallest} samples: with {taken} nuisance variables a "
                f"test needs {3 + taken} in each."
            )
        if possible < wanted:
            warnings.warn(
                f"only {possible} of {wanted} components can be tested: the smallest block has "
                f"{smallest} samples, and component j needs j + {2 + taken}",
                DegenerateDataWarning,
                stacklevel=3,
            )
        return int(min(wanted, possible))

    def step(self, j: int) -> Step:
        """The sides of step j (from 0), and which of their rows may be exchanged."""
        left = self.found.left(j)
        if j == 0 and self.Z.shape[1] == 0:
            return left, self.blocks
        removed = np.hstack([np.ones((len(self.Z), 1)), self.Z, self.found.scores[:, :j]])
        return steps.freed_rows(left, removed, self.blocks)


def _run(
    plan: list[Step],
    name: str,
    n_permutations: int,
    random_state: Any,
    n_jobs: int | None,
    progress: Progress,
) -> tuple[Array, list[Array], tuple[bool, ...]]:
    """Observed statistics, those of the permutations, and whether these are all there are."""
    root = root_seed(random_state)
    tasks: list[tuple[Any, ...]] = []
    exact = []
    for j, (parts, blocks) in enumerate(plan):
        all_there_are = prod(factorial(len(rows)) for rows in blocks)
        every = len(parts) == 2 and all_there_are <= n_permutations
        exact.append(every)
        counts = [all_there_are] if every else sizes(n_permutations, steps.batch_size(parts))
        tasks += [(count, every, name, plan[j], (root, j, i)) for i, count in enumerate(counts)]
    found = in_parallel(_batch, tasks, "permutations", n_jobs, progress)
    null: list[list[Array]] = [[] for _ in plan]
    for (*_, (_, j, _)), draws in zip(tasks, found, strict=True):
        null[j].append(draws)
    observed = []
    for parts, _ in plan:
        identity = np.arange(len(parts[0]))[None]
        observed.append(float(steps.statistic(name, parts, [identity] * (len(parts) - 1))[0]))
    return np.array(observed), [np.concatenate(draws) for draws in null], tuple(exact)


def _batch(count: int, every: bool, name: str, step: Step, seed: tuple[int, ...]) -> Array:
    parts, blocks = step
    if every:
        return steps.statistic(name, parts, [steps.every_order(blocks)])
    rng = np.random.default_rng(seed)
    orders = [steps.random_orders(blocks, count, rng) for _ in parts[1:]]
    return steps.statistic(name, parts, orders)


def _p_values(observed: Array, null: list[Array], exact: tuple[bool, ...]) -> Array:
    """(1 + how many reach the observed) / (1 + all), never decreasing."""
    p = []
    for T, draws, every in zip(observed, null, exact, strict=True):
        reached = int(np.sum(draws >= T * (1 - TIE)))
        p.append(reached / len(draws) if every else (1 + reached) / (1 + len(draws)))
    return np.maximum.accumulate(np.array(p))
