"""How estimators describe themselves: parts of docstrings that they share, and notebooks.

A line ``{name}`` in a docstring stands for the part of that name below.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from sklearn.utils import estimator_html_repr

from eigenkit.late import named
from eigenkit.shell import check_choice, filled

TEXTS = """
[components]
components_ : array of shape (n_components_, n_features)
eigenvalues_ : array of shape (n_components_,)
mean_ : array of shape (n_features,)
[coefficients]
coef_ : array of shape (n_targets, n_features)
    ``predict(X)`` is ``(X - mean_) @ coef_.T + intercept_``.
intercept_ : array of shape (n_targets,)
classes_ : array
    Where y held strings.
[dual_coefficients]
dual_coef_ : array of shape (n_targets, n_fit)
intercept_ : array of shape (n_targets,)
{landmark_attributes}
classes_ : array
    Where y held strings.
{what_was_done}
[ridge]
{label_rank}
{alpha}
{computation}
[kernel_ridge]
{label_rank}
{kernel}
alpha : float
    Ridge, on the scale of scikit-learn's KernelRidge. 0 is the pseudoinverse problem.
{solver}
{landmarks}
[kernel_components]
{kernel_attributes}
eigenvalues_ : array of shape (n_components_,)
[correlations]
canonical_correlations_ : array of shape (n_components_,)
    Square roots of the eigenvalues; with a ridge they are shrunken accordingly.
[kernel]
kernel : str or callable
    A name of scikit-learn's, "precomputed", or a function of two sets of samples that
    returns their matrix of inner products.
gamma : float or "scale", optional
    For rbf (``exp(-gamma |x - y|^2)``), laplacian, poly, sigmoid and chi2; by default
    1 / n_features. "scale" is 1 / (n_features * X.var()).
degree, coef0 : float
    For poly and sigmoid.
kernel_params : dict, optional
    Keyword arguments for a callable.
[solver]
solver : {"auto", "two_stage", "direct"}
    How the pencil is solved; "auto" is "two_stage", which is exact.
[landmarks]
approximation : {"cholesky", "nystroem"}, optional
    Landmarks instead of all samples, for large n: greedily by pivoted Cholesky, or at
    random. By default all samples are used.
n_landmarks : int
    The largest number of landmarks.
random_state : int or RandomState, optional
    For ``approximation="nystroem"``.
[kernel_attributes]
components_ : array of shape (n_components_, n_fit)
    Dual coefficients: ``transform(X)`` is ``(kernel(X, X_fit_) - mean_) @ components_.T``.
mean_ : array of shape (n_fit,)
    Mean of the training rows of the kernel.
X_fit_ : array or sparse matrix of shape (n_fit, n_features)
    The training samples, or the landmarks (of a precomputed kernel: their indices).
kernel_, gamma_
    The kernel as it was used.
[landmark_attributes]
landmarks_, approximation_error_
    The rows of the landmarks in the training data, and the share of the kernel's trace that
    they miss.
[eigen_rank]
label_rank : int or "auto", optional
    Use this many directions of the labels, those that X predicts best, in place of all labels;
    "auto" takes as many as hold 99 % of the sum of the eigenvalues. ``report_.label_bound`` is
    the largest eigenvalue left out. By default none is.
[what_was_done]
n_components_, n_iter_, solver_, regression_, report_
    What was done; see :class:`eigenkit.pencil.Report`.
n_features_in_, feature_names_in_
[report]
report_ : Report
    How it was solved, and how well; see :class:`eigenkit.pencil.Report`.
[report_and_names]
{report}
n_features_in_, feature_names_in_
[report_and_sizes]
{report}
n_components_, n_iter_, n_features_in_, feature_names_in_
[surfaces]
{kernel}
{landmarks}
probability : bool
    Whether to learn :meth:`predict_proba`, which takes five more fits: the factor in
    softmax(-factor * distance) is that of largest likelihood for held-out samples, so that
    the nearest class is always the most probable. Which samples are held out together depends
    on their order, and so, with few samples, do the probabilities.
[surface_attributes]
X_fit_, landmarks_, kernel_
    With a kernel: the samples that span the surfaces (of a precomputed kernel: their
    indices), their rows in the training data, and the kernel
    (:class:`eigenkit.kernels.Kernel`).
probability_scale_ : float
    The factor, with ``probability=True``.
classes_ : array of shape (n_classes,)
{report}
n_iter_, n_features_in_, feature_names_in_
[planes]
coef_ : array of shape (n_classes, n_features)
    Unit normals of the planes (linear kernel).
dual_coef_ : array of shape (n_classes, n_landmarks)
    Unit coefficient vectors of the surfaces (other kernels).
intercept_ : array of shape (n_classes,)
    Distances are ``|X @ coef_.T + intercept_|``.
[label_rank]
label_rank : int or "auto", optional
    Use this many targets, the main directions of the labels, in place of all labels; "auto" takes
    as many as hold 99 % of their squares, but no more than 256 of more than some thousand labels.
    ``report_.label_bound`` says by how much this may make an eigenvalue too small. By default
    nothing is left out.
[alpha]
alpha : float
    Ridge, on the scale of scikit-learn's Ridge. 0 is the pseudoinverse problem.
[computation]
{solver}
{stage_one}
[stage_one]
regression : {"auto", "cholesky", "dual_cholesky", "svd", "cg", "lsqr"}
    The method of the first stage; :meth:`plan` says what "auto" would choose.
tol, max_iter : float, int
    Relative residual and number of iterations at which iterative methods stop.
[cv]
cv : int, splitter or iterable, optional
    As in scikit-learn's GridSearchCV; 5 folds by default. For :class:`RowBlocks` a number: folds
    are drawn within the blocks.
[scale]
scale : bool or (bool, bool)
    Whether to divide X and y by the standard deviations of their columns; a pair says so for X
    and y separately.
[components_and_scale]
n_components : int or None
    Number of components; None for all.
{scale}
[nipals]
algorithm : {"kernel", "nipals"}
    "kernel" works on cross-products and never deflates X; "nipals" is the textbook
    iteration on dense X, which skips missing values (NaN) in X.
tol, max_iter : float, int
    When the iteration of "nipals" stops: the change of the weights, the number of steps.
[explained_on_both_sides]
x_explained_variance_ratio_, y_explained_variance_ratio_ : array of shape (n_components_,)
    Share of the variance of (scaled) X and y in each component; of the squares of the observed
    entries where X has gaps.
{means_and_units}
[means_and_units]
mean_, components_ : array
    ``transform(X)`` is ``(X - mean_) @ components_.T``.
x_mean_, y_mean_, x_std_, y_std_ : array
    What is subtracted and divided by; x_std_ is 1 without scaling and for constants.
[linnerud]
Examples
--------
>>> from sklearn.datasets import load_linnerud
>>> X, Y = load_linnerud(return_X_y=True)
[iris]
Examples
--------
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
[diabetes]
Examples
--------
>>> from sklearn.datasets import load_diabetes
>>> X, y = load_diabetes(return_X_y=True)
[multilabel]
Examples
--------
>>> from sklearn.datasets import make_multilabel_classification
>>> X, Y = make_multilabel_classification(random_state=0)
[class_of_each]
{samples}

Returns
-------
array of shape (n_samples,)
[each_class]
{samples}

Returns
-------
array of shape (n_samples, n_classes)
[log_odds]
{samples}

Returns
-------
array of shape (n_samples, n_classes); for two classes the log odds, (n_samples,)
[samples_of_scores]
Parameters
----------
X : array of shape (n_samples, n_components_)

Returns
-------
array of shape (n_samples, n_features)
[scores_of_samples]
{samples}

{scores}
[scores]
Returns
-------
array of shape (n_samples, n_components_)
[samples]
Parameters
----------
X : array, frame or sparse matrix of shape (n_samples, n_features)
[pair_scored]
Parameters
----------
X : array, frame or sparse matrix of shape (n_samples, n_features)
y : array of shape (n_samples,) or (n_samples, n_targets)

Returns
-------
float
[scored]
Parameters
----------
X : array, frame or sparse matrix of shape (n_samples, n_features)
y : array of shape (n_samples,) or (n_samples, n_targets)
sample_weight : array of shape (n_samples,), optional

Returns
-------
float
"""

# The text of every part by its name, which stands in brackets on the line above it.
_, *_named = re.split(r"^\[(\w+)\]$", TEXTS, flags=re.M)
PARTS = dict(zip(_named[::2], _named[1::2], strict=True))
described = filled(PARTS)

# The displays of eigenkit.analysis, by what they are called here.
PICTURES = {
    "scores": "ScoresDisplay",
    "weights": "WeightsDisplay",
    "loadings": "LoadingsDisplay",
    "biplot": "BiplotDisplay",
    "circle": "CorrelationCircleDisplay",
    "scree": "ScreeDisplay",
    "coefficients": "CoefficientsDisplay",
    "regions": "RegionsDisplay",
}


class Shown:
    """What every estimator can show of itself."""

    def plot(self, kind: str = "scores", *samples: Any, **options: Any) -> Any:
        """Draw the fitted model by a display of :mod:`eigenkit.analysis`.

        Parameters
        ----------
        kind : str
            Which display: "scores", "weights", "loadings", "biplot", "circle", "scree",
            "coefficients" or "regions".
        *samples
            X, and y for its colours, of displays that show samples.
        **options
            What else the display's ``from_estimator`` takes, such as ``ax``.

        Returns
        -------
        Display
            With ``ax_`` and ``figure_``.
        """
        name = PICTURES[check_choice("kind", kind, PICTURES)]
        return named(f"eigenkit.analysis:{name}").from_estimator(self, *samples, **options)

    def _html_repr(self) -> str:
        """What a notebook shows: scikit-learn's diagram, and a table of fitted attributes."""
        cells = "".join(
            f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(value)}</td></tr>'
            for name, value in _facts(self).items()
        )
        caption = f"<caption>{escape(type(self).__name__)}, as fitted</caption>"
        table = f'<table class="eigenkit-fitted">{caption}{cells}</table>' if cells else ""
        return f"<div>{estimator_html_repr(self)}{table}</div>"


def _facts(model: Any) -> dict[str, str]:
    """What a fitted model knows; nothing of one that knows nothing."""
    found = vars(model)
    intake = found.get("_intake_")
    rows = {}
    if intake is not None:
        rows["rows taken in"] = str(intake.moments.n_rows)
        hasattr(model, "report_")  # solves a stream, if it can be solved
        found = {**found, **vars(intake.model)}
        if not intake.model._is_solved:
            rows["solved"] = "not yet"
    for name, words in (("n_features_in_", "features"), ("n_components_", "components")):
        if name in found:
            rows[words] = str(found[name])
    return rows | (found["report_"].facts() if "report_" in found else {})
