"""Sparse canonical correlation analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from eigenkit.data import SCALABLE, Centered, project
from eigenkit.estimators._blocks import Paired, paired
from eigenkit.estimators._both_sides import BothSides, CentredSides
from eigenkit.estimators._encoding import check_numeric_Y
from eigenkit.estimators._streams import results
from eigenkit.exceptions import warn_of_stopping
from eigenkit.moments import Blocks
from eigenkit.numerics.linalg import Array, ratio
from eigenkit.shell import (
    check_at_most,
    check_count,
    check_flag,
    check_sequence,
    check_share,
    counted,
    is_sequence,
)
from eigenkit.solvers.lasso import Sparsity
from eigenkit.solvers.sparse_pairs import METHODS, Pairs, Request, sparse_pairs

Keep = int | Sequence[int] | None


class SparseCCA(CentredSides, BothSides):
    """Canonical correlation analysis with few variables in each projection.

    Pairs of projections are found one after the other. The covariance of a pair counts only what
    the scores of earlier pairs do not explain: without sparsity, pairs of "alternating" and
    "greedy" are those of :class:`CCA`.

    Parameters
    ----------
    n_components : int
        Number of pairs.
    method : {"pmd", "alternating", "greedy", "least_squares"}
        How a pair is found. "pmd": soft-thresholded singular vectors of X'Y, as if variables
        were uncorrelated within each view; fast for any number of them. "alternating": the
        lasso of each view's score on the other view, in turn. "greedy": forward selection of
        the variable that adds most to the canonical correlation; needs ``keep_x`` and
        ``keep_y``. "least_squares": the lasso of every column of Y (Y'Y)^(-1/2) on X,
        which leaves the projection of y dense.
    penalty_x, penalty_y : float between 0 and 1
        l1 penalty as a share of the smallest one that leaves no variable: 0 is none, close to
        1 leaves the best variable. Not used by "greedy".
    keep_x, keep_y : int or sequence of int, optional
        At most this many variables instead, in every pair or in each of them: the penalty is as
        small as that allows. "least_squares" finds all pairs at once, and takes one number.
    nonnegative : bool
        Whether weights must not be negative; not for "greedy", and for "least_squares" in X
        only.
    scale : bool
        Whether variables are brought to one variance first, without which a penalty favours
        those of large units. Weights are given for the variables as they are.
    tol, max_iter : float, int
        Change of the weights and number of sweeps at which a pair is done.

    Attributes
    ----------
    x_weights_ : array of shape (n_features, n_components_)
    y_weights_ : array of shape (n_targets, n_components_)
        Sparse projections; scores of the training data have unit length.
    canonical_correlations_ : array of shape (n_components_,)
        Correlations of the pairs of scores.
    components_ : array of shape (n_components_, n_features)
        ``x_weights_.T``.
    mean_, y_mean_ : array
    {report_and_sizes}

    Notes
    -----
    Scores of different pairs are uncorrelated only up to what sparsity costs, and with "pmd" and
    "least_squares" only where the variables within each view, or the regressions of different
    targets, are. To choose the penalties by cross-validation, search over them: :meth:`score` is
    the mean correlation of the pairs on new data.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from eigenkit import SparseCCA
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(100, 30)), rng.normal(size=(100, 20))
    >>> Y[:, 3] += 2 * X[:, 5]
    >>> model = SparseCCA(keep_x=1, keep_y=1).fit(X, Y)
    >>> np.flatnonzero(model.x_weights_), np.flatnonzero(model.y_weights_)
    (array([5]), array([3]))
    >>> grid = {"penalty_x": [0.1, 0.5, 0.9], "penalty_y": [0.1, 0.5, 0.9]}
    >>> GridSearchCV(SparseCCA(), grid).fit(X, Y).best_params_
    {'penalty_x': 0.5, 'penalty_y': 0.5}
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        method: str = "pmd",
        penalty_x: float = 0.5,
        penalty_y: float = 0.5,
        keep_x: Keep = None,
        keep_y: Keep = None,
        nonnegative: bool = False,
        scale: bool = True,
        tol: float = 1e-6,
        max_iter: int = 500,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.penalty_x = penalty_x
        self.penalty_y = penalty_y
        self.keep_x = keep_x
        self.keep_y = keep_y
        self.nonnegative = nonnegative
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter

    components_, x_weights_, y_weights_, canonical_correlations_ = results(4)
    mean_, y_mean_, n_components_, n_iter_ = results(4)

    _instead: ClassVar = {"n_nonzero_x": "give keep_x", "n_nonzero_y": "give keep_y"}

    _rules: ClassVar = {
        "n_components": check_count,
        "method": METHODS,
        "scale": check_flag,
        "nonnegative": check_flag,
    }

    def _settings(self) -> tuple[float, int]:
        for name in ("keep_x", "keep_y"):
            if self.method == "greedy" and getattr(self, name) is None:
                raise ValueError(f"method='greedy' needs {name}: give an integer.")
            if self.method == "least_squares" and is_sequence(getattr(self, name)):
                raise ValueError(f"method='least_squares' takes one number for {name}: give it.")
        if self.nonnegative and self.method == "greedy":
            raise ValueError("nonnegative=True is not for method='greedy': choose another method.")
        for side in ("x", "y"):
            sparsities(self, side)
        return float(self.tol), int(self.max_iter)

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> Any:
        return check_numeric_Y(y, n, SCALABLE)

    def _solve(self, problem: tuple[Centered, Centered], settings: tuple[float, int]) -> Pairs:
        # There are no more pairs than variables, however many are asked for.
        l = min(self.n_components, *(Z.shape[1] for Z in problem))
        x, y = (sparsities(self, side, l, self.nonnegative) for side in ("x", "y"))
        requests = [Request(*both, *settings) for both in zip(x, y, strict=True)]
        return sparse_pairs(*problem, self.method, requests, self.scale)

    def _keep(self, problem: tuple[Centered, Centered], solution: Pairs) -> None:
        Zx, Zy = problem
        pairs, report, n_found = solution, solution.report, solution.W_x.shape[1]
        if not n_found:
            raise ValueError(
                "no pair of correlated projections was found: X and y share nothing that the "
                "method and its penalties allow."
            )
        what = "the number of pairs that were found"
        l = check_at_most("n_components", self.n_components, n_found, what, hint="")
        if not report.converged:
            warn_of_stopping(
                f"{self.method} stopped after {report.n_iter} sweeps above tol={self.tol:g}: "
                "increase max_iter or tol"
            )
        self.mean_, self.y_mean_ = self._cast(Zx.mean), self._cast(Zy.mean)
        self.x_weights_, self.y_weights_ = self._cast(pairs.W_x), self._cast(pairs.W_y)
        self.n_components_, self.n_iter_ = l, max(1, report.n_iter)
        x_scores, y_scores = Zx.matmat(Zx.from_X(pairs.W_x)), Zy.matmat(Zy.from_X(pairs.W_y))
        size = np.sqrt(np.sum(x_scores**2, axis=0) * np.sum(y_scores**2, axis=0))
        found = ratio(np.sum(x_scores * y_scores, axis=0), size)  # 0 where one is constant
        self.canonical_correlations_ = self._cast(found)
        self.components_ = np.ascontiguousarray(self.x_weights_.T)

    def _scores_of_y(self, Y: Any) -> Array:
        return project(Y, self.y_mean_, self.y_weights_)

    def score(self, X: Any, y: Any) -> float:
        """The mean over the pairs of the correlation of their scores.

        {pair_scored}
        """
        return Paired.of(_sides(self, X, y), None).correlation()

    def _score_of_blocks(self, blocks: Blocks) -> float:
        return paired(blocks, _sides, self).correlation()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _sides(model: SparseCCA, X: Any, y: Any) -> tuple[Array, Array]:
    x_scores, y_scores = (np.asarray(T, dtype=np.float64) for T in model.transform(X, y))
    return x_scores, y_scores


def sparsities(
    model: Any, side: str, l: int | None = None, nonnegative: bool = False
) -> list[Sparsity]:
    """How sparse each of l components is on one side, by ``penalty_x`` and ``keep_x`` (or y).

    Without l the parameters are only checked, as far as they can be before there are data.
    """
    name = f"penalty_{side}"
    penalty = check_share(name, getattr(model, name))
    if penalty == 1.0:
        raise ValueError(f"{name}=1 leaves no variable: give a number below 1.")
    name = f"keep_{side}"
    keep = getattr(model, name)
    if not is_sequence(keep):
        hint = ", or None to use the penalty"
        count = None if keep is None else check_count(name, keep, hint=hint)
        return [Sparsity(penalty, count, nonnegative)] * (l or 1)
    given = check_sequence(name, keep, "numbers")
    counts = [check_count(name, count, hint=" for every component") for count in given]
    wanted = l if model.n_components is None else int(model.n_components)
    if wanted is not None and len(counts) < wanted:
        raise ValueError(
            f"{name} has {counted(len(counts), 'number')} for {counted(wanted, 'component')}: give "
            "one for each, or one number for all."
        )
    return [Sparsity(penalty, count, nonnegative) for count in counts[:l]]
