"""Terms for sets of images: descriptors, kernels between sets, their weights, ridge regression."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eigenkit.images import checks, weights
from eigenkit.images.descriptors import Descriptor, check_own
from eigenkit.images.explain import Explainer, Explanation
from eigenkit.images.extraction import Cache, Tell, Vectors, common_size, extract, fitted, subset
from eigenkit.images.files import ImageSet, Sets, small_pictures, tell_names
from eigenkit.images.kernels import Places, Plan, fit_kernels, plans_of
from eigenkit.images.ridge import Committee, probabilities, with_second
from eigenkit.images.term_reports import (
    few_terms,
    is_learnable,
    term_reports,
    thresholds,
    unlearned_terms,
)
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_jobs, refuse, unchanged_on_error

# The threshold of a term that one set carries or none; the opposite where all carry it.
NEVER = float(np.finfo(np.float64).max)


class ImageAnnotator(BaseEstimator):
    """Predicts terms for sets of images.

    Every image becomes vectors (:class:`Descriptor`), every kind of vectors a kernel between
    sets (:mod:`eigenkit.kernels.sets`), and their weighted sum is the kernel of a centred ridge
    regression for all terms and their principal components; or each kernel has a regression of
    its own. Alphas come from leave-one-out scores in closed form, as do thresholds and log-odds of
    one regression; those of several come from folds. Which kernels take part is chosen by
    cross-validation.

    Parameters
    ----------
    kernels : {"auto", "default", "pooled", "thesis"} or sequence of Plan and str
        Which kernels: fourteen between sets ("default"); one on pooled vectors, the plain way
        ("pooled"); both, with those of colour or with two of grey forms in their place, by
        cross-validation ("auto"; with one regression on a sum, also either alone); the 23 of the
        thesis; or plans of your own (a name of a descriptor stands for its mean map).
    weights : {"each", "equal", "learned", "half", "best", "auto"}
        A regression for each kernel beside that on their equal sum, and one on what these say of
        all terms (``eigenkit.images.ridge``); or one regression on a sum with weights that
        are equal, learned by the semi-infinite program for the clique expansion, the mean of
        both, or zero for all but the best kernel. "auto": which of the first four does best in
        cross-validation.
    descriptors : sequence of Descriptor
        Descriptors of your own that ``kernels`` names; with a name in ``kernels`` they are added.
    size : (int, int), optional
        Height and width that images are brought to; by default the median shape with a shorter
        side of 128 pixels.
    views : {"auto", "unseen", True, False}
        Compare only pictures of the same view, with a kernel for every descriptor and view
        (True); all pictures with each other (False); or, where there are several views, add the
        kernels within views if they do better in cross-validation ("auto"). "unseen" is for new
        sets with other views: as False, every view of a set is a row of its own, and all is chosen
        with views left out in turn.
    cache : path, optional
        Folder where descriptors are kept.
    n_jobs : int, optional
        Processes for the descriptors.
    random_state : int
        Of clustering and folds.
    progress : callable, optional
        Called as ``progress(done, total, message)`` now and then.

    Attributes
    ----------
    terms_ : list of str
    weights_ : dict
        Name of a kernel -> its factor, by which all regressions that it is in count; they sum to
        one.
    weights_chosen_, kernels_chosen_ : str
        In words.
    weights_scores_ : dict
        Kernels to choose from -> their mean quality in cross-validation, summed with equal weights;
        with weights="auto" also what the chosen ones reach with each of the weights.
    alpha_ : array of shape (2 n_terms,)
        That of the least squared error, sets being left out: of each term, then of each
        principal component of the terms; in the regression on the sum of kernels.
    thresholds_ : array of shape (n_terms,)
    term_reports_ : list of TermReport
        Figures of every term, for sets that were left out.
    few_ : list of str
        Terms with fewer than 5 sets, or that all sets carry.
    unlearned_ : list of str
        Terms that at least nine of ten sets left out are given though their AUC is at most two
        standard errors above 0.5: where nothing can be learned, this has the best F1.
    size_ : (int, int)
    set_names_ : list of str
        Of the sets seen in fit, labelled or not; with views="unseen", of each view of them.

    Examples
    --------
    >>> from eigenkit.images import ImageAnnotator, make_shapes
    >>> model = ImageAnnotator(["hsv", "thumbnail"], size=(32, 32)).fit(*make_shapes(30, size=32))
    >>> model.predict_proba(make_shapes(2, size=32, random_state=1)[0]).shape
    (2, 9)
    """

    _thetas_: Array
    _base_: Array
    _descriptors_: list[Descriptor]

    def __init__(
        self,
        kernels: Any = "auto",
        *,
        weights: str = "each",
        descriptors: Sequence[Descriptor] = (),
        size: tuple[int, int] | None = None,
        views: bool | str = "auto",
        cache: Any = None,
        n_jobs: int | None = None,
        random_state: int = 0,
        progress: Tell = None,
    ) -> None:
        self.kernels = kernels
        self.weights = weights
        self.descriptors = descriptors
        self.size = size
        self.views = views
        self.cache = cache
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    # -- fitting -----------------------------------------------------------------------

    def fit(
        self,
        sets: Sequence[ImageSet],
        Y: Any,
        terms: Sequence[str] | None = None,
        groups: Any = None,
    ) -> Self:
        """Learn the terms of sets.

        Parameters
        ----------
        sets : sequence of ImageSet
            Their order and that of their pictures counts as ``random_state`` does: vocabularies
            begin with a sample of vectors in that order. ``read_sets`` sorts by name.
        Y : array of shape (n_sets, n_terms)
            0 and 1; a row of NaN marks a set without labels, which helps to learn the
            vocabularies only. The columns of a frame name the terms, and its index the sets if
            it holds names: rows then go to the sets of these names, in whatever order.
        terms : sequence of str, optional
            Names of the columns of Y.
        groups : array of shape (n_sets,), optional
            Sets of one group (of one gene, say) are left out together where alpha, weights and
            thresholds are chosen, as they would be if the model met a new group.

        Returns
        -------
        self
        """
        checks.check_settings(self)
        sets = checks.check_sets(sets)
        Y, names = checks.check_terms(Y, terms, sets)
        groups = checks.check_groups(groups, sets)
        with unchanged_on_error(self):
            self._prepare(sets)
            self._descriptors_ = fitted(sets, self._descriptors_, self.size_)
            self.fit_vectors(sets, self._vectors(sets), Y, names, groups)
            self._forget_unused()
        return self

    def fit_vectors(
        self, sets: Sets, vectors: Vectors, Y: Array, terms: list[str], groups: Any
    ) -> np.ndarray:
        """The rest of fit, when the vectors are known; gives the kernels of the labelled sets."""
        checks.check_vectors(vectors)
        Y_sets = Y[~np.isnan(Y).any(axis=1)]
        self.terms_, self._n_sets_ = terms, (len(sets), len(Y_sets))
        if self.views == "unseen":
            sets, vectors, Y, groups = weights.rows_of_views(sets, vectors, Y, groups)
        labelled = ~np.isnan(Y).any(axis=1)
        seen = sorted({v for one in sets for v in one.views})
        views: list[str | None] = [None]
        if len(seen) > 1 and self.views in (True, "auto"):
            views = [*seen] if self.views is True else [None, *seen]
        plans, places, seed = self._plans(), self._places(), int(self.random_state)
        self._kernels_, K = fit_kernels(plans, views, sets, vectors, places, seed, self.progress)
        K = K[:, labelled][:, :, labelled]
        self._labelled_ = np.flatnonzero(labelled)
        self._Y_ = Y[labelled].astype(np.int8)
        self.set_names_ = [one.name for one in sets]
        self._thumbnails_ = small_pictures(sets, self.size_)
        self._groups_ = None if groups is None else np.unique(groups, return_inverse=True)[1]
        groups = weights.groups_of(groups, labelled)
        unseen = None
        if self.views == "unseen":
            rows = self._labelled_
            own, known = [sets[int(i)] for i in rows], subset(vectors, rows)
            unseen = weights.unseen_trials(plans, places, own, known, Y[rows], groups, seed)
        self._fit_weights(K, Y_sets, groups, unseen)
        return K

    def _forget_unused(self) -> None:
        """Kernels without weight, and descriptors that no kernel needs, are not kept."""
        used = np.count_nonzero(self._thetas_, axis=0) > 0
        self._kernels_ = [k for k, has in zip(self._kernels_, used, strict=True) if has]
        self._thetas_, self._base_ = self._thetas_[:, used], self._base_[used]
        needed = {kernel.plan.descriptor for kernel in self._kernels_}
        self._descriptors_ = [d for d in self._descriptors_ if d.name in needed]

    def _prepare(self, sets: Sets) -> None:
        """The size of images, and the descriptors before they have learned anything."""
        own, asked = check_own(self.descriptors), plans_of(self.kernels, self.descriptors)
        self.size_ = checks.check_size(self.size) if self.size is not None else common_size(sets)
        plans = self._plans()
        small = [plan.name for plan in asked if plan not in plans]
        shape = f"{self.size_[0]} x {self.size_[1]} pixels"
        what = f"kernels are left out, as images of {shape} are smaller than their patches"
        tell_names(small, what, stacklevel=4)
        wanted = list(dict.fromkeys(plan.descriptor for plan in plans))
        self._descriptors_ = [own.get(name) or Descriptor(name) for name in wanted]
        for d in self._descriptors_:
            if d.radius is not None and min(self.size_) < 2 * d.radius:
                raise ValueError(
                    f"size={self.size_} is too small for {d.name}, whose patches are "
                    f"{2 * d.radius} pixels wide: give a larger size, or leave it out."
                )

    def _plans(self) -> tuple[Plan, ...]:
        return plans_of(self.kernels, self.descriptors, self.size_)

    def _fit_weights(
        self, K: np.ndarray, Y_sets: Array, groups: Any, unseen: list[weights.Trial] | None
    ) -> None:
        Y, seed = self._Y_.astype(np.float64), int(self.random_state)
        learnable = is_learnable(Y_sets)
        if not learnable.any():
            raise ValueError("no term is carried by two sets and missing from another.")
        known = Y[:, learnable]
        chosen, self.weights_scores_ = weights.choose_kernels(
            self.kernels,
            self.weights,
            self._kernels_,
            lambda: unseen or weights.fold_trials(K, known, seed, groups),
        )
        self.kernels_chosen_, self.weights_chosen_ = chosen.kernels, chosen.how
        self._base_, self._thetas_ = chosen.base, chosen.thetas(K, known)
        self._own_ = self._thetas_ @ np.array([np.diagonal(k) for k in K], dtype=np.float64)
        fitted = weights.fit_judged(K, self._thetas_, Y, groups, seed, unseen)
        shares = fitted.counts @ self._thetas_
        self.weights_ = {k.name: float(t) for k, t in zip(self._kernels_, shares, strict=True)}
        self._keep(fitted, Y, Y_sets)

    def _keep(self, fitted: Committee, Y: Array, Y_sets: Array) -> None:
        """The regressions, and what the scores of sets left out say of their terms."""
        members, held_out = fitted.members, fitted.held_out
        self._coefficients_ = np.array([member.coefficients for member in members])
        self._intercept_ = np.sum([member.intercept for member in members], axis=0)
        self._alphas_ = np.array([member.alpha for member in members])
        self._targets_ = [member.targets for member in members]
        self._second_, self._held_out_ = fitted.second, held_out
        self.alpha_ = self._alphas_[0]
        self._spread_ = np.array([held_out.mean(axis=0), held_out.std(axis=0)])
        support = Y_sets.sum(axis=0)
        usual = np.where(Y_sets.all(axis=0), -NEVER, NEVER)
        self.thresholds_ = np.where(is_learnable(Y_sets), thresholds(Y, held_out), usual)
        self.term_reports_ = term_reports(self.terms_, Y, held_out, self.thresholds_, support)
        self.few_ = few_terms(self.term_reports_, len(Y_sets))
        chosen = held_out > self.thresholds_
        self.unlearned_ = unlearned_terms(self.term_reports_, chosen, len(Y_sets))

    # -- predicting --------------------------------------------------------------------

    def kernel_rows(self, sets: Sequence[ImageSet]) -> Array:
        """The mixed kernel between new sets and the labelled ones, with a unit diagonal."""
        check_is_fitted(self)
        sets = checks.check_sets(sets)
        return self._rows(*self._each_kernel(sets, self._vectors(sets)), 0)

    def _rows(self, K: Array, own: Array, member: int) -> Array:
        theta = self._thetas_[member]
        return weights.unit_diagonal(weights.mix(K, theta), theta @ own, self._own_[member])

    def training_kernel(self, member: int = 0) -> Array:
        """The mixed kernel between the labelled sets, from what is kept of them."""
        labelled, theta = np.ix_(self._labelled_, self._labelled_), self._thetas_[member]
        used = [kernel for kernel, t in zip(self._kernels_, theta, strict=True) if t]
        K = np.array([kernel.kernel_of_fit()[labelled] for kernel in used])
        return weights.mixed(K, theta[theta != 0])

    def _each_kernel(self, sets: Sets, vectors: Vectors) -> tuple[Array, Array]:
        """Kernels of new sets with the labelled ones, and whether sets have the views."""
        checks.name_new_views(sets, {kernel.view for kernel in self._kernels_})
        kernels, labelled, at = self._kernels_, self._labelled_, self._places()
        K = np.array([kernel.transform(sets, vectors, at)[:, labelled] for kernel in kernels])
        own = np.array(
            [[float(k.view is None or k.view in one.views) for one in sets] for k in kernels]
        )
        lost = ~own.any(axis=0)
        if lost.any():
            # What can be compared with no set is like them as sets are on average.
            size = np.sqrt(self._own_[0])[:, None]
            for j, kernel in enumerate(kernels):
                K_fit = kernel.kernel_of_fit()[np.ix_(labelled, labelled)]
                K[j, lost] = (K_fit / size).mean(axis=0)
            own[:, lost] = 1
        return K, own

    def decision_function(self, sets: Sequence[ImageSet]) -> Array:
        """Log-odds of terms; those above ``thresholds_`` are predicted."""
        check_is_fitted(self)
        sets = checks.check_sets(sets)
        return self._scores(*self._each_kernel(sets, self._vectors(sets)))

    def _scores(self, K: Array, own: Array) -> Array:
        parts = [self._rows(K, own, m) @ A for m, A in enumerate(self._coefficients_)]
        return with_second(np.sum(parts, axis=0) + self._intercept_, self._second_)

    def predict_proba(self, sets: Sequence[ImageSet]) -> Array:
        """Probabilities of terms, calibrated on scores of sets that were left out."""
        return self.probabilities(self.decision_function(sets))

    def probabilities(self, scores: Array) -> Array:
        """Probabilities of terms from log-odds."""
        return probabilities(scores)

    def predict(self, sets: Sequence[ImageSet]) -> np.ndarray:
        """0 or 1 for every set and term."""
        return (self.decision_function(sets) > self.thresholds_).astype(np.int8)

    def explain(self, one: ImageSet) -> Explanation:
        """Why a set gets its terms: parts of kernels and points, and the sets most like it.

        Parameters
        ----------
        one : ImageSet

        Returns
        -------
        Explanation
        """
        check_is_fitted(self)
        (one,) = checks.check_sets([one])
        return Explainer(self)(one)

    def _vectors(self, sets: Sets, descriptors: Sequence[Descriptor] | None = None) -> Vectors:
        check_jobs("n_jobs", self.n_jobs)
        if self.cache is not None and not isinstance(self.cache, str | os.PathLike):
            refuse("cache", self.cache, "a folder, or None")
        kept = None if self.cache is None else Cache(self.cache)
        wanted = self._descriptors_ if descriptors is None else descriptors
        return extract(sets, wanted, self.size_, cache=kept, n_jobs=self.n_jobs, tell=self.progress)

    def _places(self) -> Places:
        return {d.name: d.places(self.size_) for d in self._descriptors_}
