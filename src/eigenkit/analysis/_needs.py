"""What a diagnosis or a picture needs of a model."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted


def check_has(model: Any, what: str, remedy: str, *names: str) -> None:
    """Refuse a model that is not fitted, or has no attributes of these names."""
    check_is_fitted(model)
    if not all(hasattr(model, name) for name in names):
        raise TypeError(
            f"model is of the class {type(model).__name__}, which has no {what}: give {remedy}."
        )
