"""Components of several blocks, with a design that says which of them are joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eigenkit.data import Centered, Rescaled
from eigenkit.estimators._encoding import encode_responses
from eigenkit.estimators._streams import results
from eigenkit.estimators._validation import NO_VARIANCE, check_y_varies, numbers_in
from eigenkit.estimators.multiview import ManyViews, per_view, warn_of_exact_fits
from eigenkit.exceptions import warn_of_stopping
from eigenkit.numerics.linalg import Array, signs, truncated_svd
from eigenkit.pencil import Answer, Report
from eigenkit.shell import check_at_most, check_count, check_numbers, check_real
from eigenkit.solvers.multiview import SCHEMES, Block, Component, Rule, next_component


@dataclass(frozen=True)
class Blocks:
    """Centred data, the columns of each view, the views that vary, their blocks and bases."""

    Z: Centered
    columns: list[np.ndarray]
    varying: list[int]
    blocks: list[Block]
    bases: list[Array]
    design: Array


class RGCCA(ManyViews):
    """Regularized generalized CCA: multi-block PLS and CCA with a design.

    Finds one component of each view, ``y_j = X_j w_j``, so as to maximize

    ``sum_{j != k} c_jk g(cov(y_j, y_k))``,  ``w_j'((1 - tau_j) X_j'X_j / n + tau_j I) w_j = 1``

    removes from every view what its component explains, and repeats. Where y is given it is one
    more view, joined to all others and not deflated: multi-block PLS, and with strings as y
    multi-block PLS-DA (the way of DIABLO).

    Parameters
    ----------
    n_components : int
        Number of components of every view.
    tau : float or sequence of float
        For all views or one for each: 1 maximizes covariance (PLS), 0 correlation (CCA, for views
        of fewer columns than samples), and values in between mix the two. For y it is 0.
    design : float or array of shape (n_views, n_views)
        c_jk, symmetric and not negative: how much views j and k are to agree; one number for all
        pairs. With y, which is joined to every view with 1, small numbers favour y.
    scheme : {"factorial", "centroid", "horst"}
        g: the square, the absolute value, or the covariance itself.
    groups : array of shape (n_features,), optional
        Which view each column belongs to, where X is one array, as in :class:`MultiviewCCA`.
    tol : float
        The relative growth of the criterion that ends the steps. Weights are accurate to about its
        square root.
    max_iter : int

    Attributes
    ----------
    view_components_ : list of array of shape (n_components, n_features of the view)
        Weights for X itself: the scores of view j are ``(X_j - mean) @ view_components_[j].T``.
    components_ : array of shape (n_components, n_features)
        All of them side by side, divided by the number of views: ``transform`` is the mean score.
    covariances_ : array of shape (n_components, n_blocks, n_blocks)
        Of the scores of all views, and of y as the last where there is one.
    criterion_ : array of shape (n_components,)
        What was maximized.
    n_iter_ : int
        The most steps that a component took.
    {report}
    mean_, n_components_, n_views_, n_features_in_, feature_names_in_

    Notes
    -----
    Views in larger units weigh more when tau is near 1: scale them first. The
    criterion grows with every step and ends at a maximum that need not be the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit import RGCCA
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=(200, 1))
    >>> views = [shared @ rng.normal(size=(1, d)) + rng.normal(size=(200, d)) for d in (4, 5, 6)]
    >>> model = RGCCA(1, tau=1.0).fit(views)
    >>> [scores.shape for scores in model.transform_views(views)]
    [(200, 1), (200, 1), (200, 1)]
    >>> y = np.where(shared[:, 0] > 0, "high", "low")
    >>> scores = RGCCA(1, design=0.1).fit(views, y).transform(views)
    >>> bool(abs(scores[y == "high"].mean() - scores[y == "low"].mean()) > scores.std())
    True
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        tau: Any = 1.0,
        design: Any = 1.0,
        scheme: str = "factorial",
        groups: Any = None,
        tol: float = 1e-14,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.tau = tau
        self.design = design
        self.scheme = scheme
        self.groups = groups
        self.tol = tol
        self.max_iter = max_iter

    covariances_, criterion_, n_iter_ = results(3)
    _rules: ClassVar = {"n_components": check_count, "tau": check_numbers, "scheme": SCHEMES}
    _y_is_optional = True
    _encode = encode_responses

    def _state(self, sample: Any) -> Blocks:
        columns = self._columns()
        taus = per_view("tau", self.tau, len(columns))
        if max(taus) > 1:
            raise ValueError(f"tau={max(taus):g} is above 1: give numbers from 0 to 1.")
        design = self._checked_design(len(columns))
        Z, response = sample.sides()
        views = [Z.columns(own) for own in columns]
        varying = [j for j, own in enumerate(columns) if not Z.constant[own].all()]
        made = [_block(views[j], taus[j]) for j in varying]
        design = design[np.ix_(varying, varying)]
        if response.shape[1]:
            check_y_varies(~response.constant)
            made.append(_block(response, 0.0, deflates=False))
            design = np.pad(design, (0, 1), constant_values=1.0)
            design[-1, -1] = 0.0
        blocks, bases = [block for block, _ in made], [basis for _, basis in made]
        return Blocks(Z, columns, varying, blocks, bases, design)

    def _checked_design(self, n_views: int) -> Array:
        design = numbers_in("design", self.design)
        if design.ndim == 0:
            design = np.full((n_views, n_views), check_real("design", self.design))
        if design.shape != (n_views, n_views):
            raise ValueError(
                f"design has shape {design.shape} for {n_views} views: give one number, or "
                f"({n_views}, {n_views})."
            )
        if not np.all(np.isfinite(design)) or design.min() < 0:
            raise ValueError("design holds a negative or non-finite number: give weights >= 0.")
        if not np.allclose(design, design.T):
            raise ValueError("design is not symmetric: give one weight to each pair of views.")
        return np.asarray(design * (1 - np.eye(n_views)))

    def _check_informative(self, problem: Blocks) -> None:
        if not problem.varying:
            raise ValueError(NO_VARIANCE)
        alone = np.flatnonzero(~problem.design.any(axis=1))
        if len(alone):  # its scores would be those of its own variance
            raise ValueError(
                f"design connects view {problem.varying[alone[0]]} with no other that varies: give "
                "a positive weight between the two, leave the view out, or fit with y."
            )

    def _solve(self, problem: Blocks, settings: None) -> Answer:
        rule = Rule(problem.design, self.scheme, float(self.tol), int(self.max_iter))
        found: list[Component] = []
        wanted = int(self.n_components)
        while len(found) < wanted and (one := next_component(problem.blocks, rule)) is not None:
            found.append(one)
        check_at_most("n_components", wanted, len(found), "the rank of a view", hint="")
        taus = per_view("tau", self.tau, len(problem.columns))
        warn_of_exact_fits("tau", taus, problem.columns, problem.Z.n_samples)
        if not all(np.isfinite(component.criterion) for component in found):
            raise ValueError(
                "X holds numbers so large that squares of covariances exceed float64: divide it "
                "by a power of ten."
            )
        n_iter = max(component.n_iter for component in found)
        converged = all(component.converged for component in found)
        if not converged:
            warn_of_stopping(
                f"the criterion still grew after max_iter={self.max_iter} steps: give more, or a "
                "larger tol"
            )
        return Answer(found, Report("one by one", self.scheme, "as asked", n_iter, converged))

    def _keep(self, problem: Blocks, solution: Answer) -> None:
        components: list[Component] = solution.found
        W = np.zeros((problem.Z.shape[1], len(components)))
        for i, j in enumerate(problem.varying):
            weights = np.column_stack([component.weights[i] for component in components])
            W[problem.columns[j]] = problem.bases[i] @ weights
        self._keep_views(problem.columns, W * signs(W), problem.Z.mean)
        n_blocks = len(problem.columns) + len(problem.blocks) - len(problem.varying)
        last = range(len(problem.columns), n_blocks)
        there = np.ix_([*problem.varying, *last], [*problem.varying, *last])
        self.covariances_ = np.zeros((len(components), n_blocks, n_blocks))
        for found, component in zip(self.covariances_, components, strict=True):
            found[there] = component.covariances
        self.criterion_ = np.array([component.criterion for component in components])
        self.n_iter_ = solution.report.n_iter


def _block(view: Centered, tau: float, deflates: bool = True) -> tuple[Block, Array]:
    """The view in the coordinates of its singular vectors, and what takes them to X."""
    if tau == 0 and view.decomposable:  # units do not matter, and no column is lost beside others
        alike = Rescaled.of(view, True, view.column_squares())
        U, s, V = truncated_svd(alike.toarray(), view.n_samples, alike.grain())
        return Block(U * s, tau, 0.0, view.total, deflates), V / alike.std[:, None]
    view = view.in_one_unit()
    U, s, V = view.triplets()
    root = float(np.sqrt(tau) * view.units[0])
    return Block(U * s, tau, root, view.total, deflates), view.to_X(V)
