"""Supervised dimensionality reduction and classification by generalized eigenvalue problems."""

from typing import TYPE_CHECKING

from eigenkit import estimators
from eigenkit.late import homes_in_stub, late_names

if TYPE_CHECKING:
    from eigenkit.estimators import *  # noqa: F403
    from eigenkit.kernels import Kernel as Kernel
    from eigenkit.models import RowBlocks as RowBlocks
    from eigenkit.models import Stream as Stream

__version__ = "0.1.0"

_HOMES = {"Kernel": ".kernels", "RowBlocks": ".models", "Stream": ".models"}
_HOMES |= dict.fromkeys(homes_in_stub(estimators.__file__), ".estimators")
del _HOMES["Projection"]  # which is for those who add an estimator

# scikit-learn takes a second to import; `eigenkit --help` must not wait for it.
__getattr__, __dir__, __all__ = late_names(__name__, _HOMES)
