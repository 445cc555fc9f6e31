"""What to use instead of parameters that other libraries have and we do not."""

from __future__ import annotations

from typing import Any, ClassVar, Self

UNCHANGED = "the caller's arrays are never changed, so there is nothing to copy"


class Instead:
    """A base class whose constructors answer known foreign parameters with one sentence.

    Examples
    --------
    >>> from eigenkit import PCA
    >>> PCA(batch_size=100)
    Traceback (most recent call last):
    TypeError: PCA takes no batch_size: give the batches to partial_fit.
    """

    # Name of a parameter, and how the sentence ends. Subclasses may take what a base does not.
    _instead: ClassVar[dict[str, str]] = {}

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        for name in parameters:
            if name in cls._instead:
                raise TypeError(f"{cls.__name__} takes no {name}: {cls._instead[name]}.")
        return super().__new__(cls)
