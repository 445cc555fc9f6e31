"""What diagnoses and pictures share: the check of the model, and parts of docstrings."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from eigenkit.shell import filled

described = filled(
    {
        "axes": """
ax : matplotlib Axes, optional

Returns
-------
Axes
""",
        "components": """
components : (int, int)
    Which components, counted from 0.
""",
        "diabetes": """
Examples
--------
>>> from sklearn.datasets import load_diabetes
>>> from eigenkit import PLSRegression
>>> X, y = load_diabetes(return_X_y=True)
>>> model = PLSRegression(3).fit(X, y)
""",
        "each_sample": """
X : array, frame or sparse matrix of shape (n_samples, n_features)

Returns
-------
array of shape (n_samples,)
""",
    }
)


def check_has(model: Any, what: str, remedy: str, *names: str) -> None:
    """Refuse a model that is not fitted, or has no attributes of these names."""
    check_is_fitted(model)
    if not all(hasattr(model, name) for name in names):
        raise TypeError(
            f"model is of the class {type(model).__name__}, which has no {what}: give {remedy}."
        )
