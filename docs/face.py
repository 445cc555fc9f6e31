"""The public face as a table: ``python docs/face.py`` prints what every estimator takes and has."""

from __future__ import annotations

import inspect
import re

from sklearn.base import BaseEstimator

import eigenkit

METHODS = ("transform", "predict", "predict_proba", "inverse_transform", "partial_fit", "plan")


def estimators() -> list[type]:
    """Every public estimator."""
    found = [getattr(eigenkit, name) for name in eigenkit.__all__]
    return [c for c in found if inspect.isclass(c) and issubclass(c, BaseEstimator)]


def parameters(cls: type) -> list[str]:
    """What the constructor takes."""
    return list(inspect.signature(cls).parameters)


def described(cls: type, section: str) -> set[str]:
    """The names that a section of the class's docstring describes."""
    text = inspect.getdoc(cls) or ""
    match = re.search(rf"{section}\n-+\n(.*?)(\n\n\w[\w ]*\n-+\n|\Z)", text, flags=re.S)
    heads = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", match[1] if match else "", flags=re.M)
    return {name for head in heads for name in re.split(r",\s*", head)}


def table() -> str:
    """Estimators in rows: parameters, fitted attributes, methods."""
    lines = ["| estimator | parameters | attributes | methods |", "|---|---|---|---|"]
    for cls in sorted(estimators(), key=lambda c: c.__name__.lower()):
        methods = [name for name in METHODS if callable(getattr(cls, name, None))]
        parts = (parameters(cls), sorted(described(cls, "Attributes")), methods)
        cells = (", ".join(f"`{name}`" for name in part) for part in parts)
        lines.append(f"| {{class}}`~eigenkit.{cls.__name__}` | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
