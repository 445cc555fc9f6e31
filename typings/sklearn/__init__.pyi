"""What the library takes from scikit-learn as a base class; all else there has no types."""

from typing import Any

def __getattr__(name: str) -> Any: ...
