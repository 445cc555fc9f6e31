"""Supervised dimensionality reduction and classification by generalized eigenvalue problems."""

from typing import TYPE_CHECKING

from eigenkit import estimators
from eigenkit.late import late_names

if TYPE_CHECKING:
    from eigenkit.estimators import *  # noqa: F403
    from eigenkit.kernels import Kernel
    from eigenkit.models import RowBlocks, Stream

__version__ = "0.1.0"

__all__ = ["Kernel", "RowBlocks", "Stream"]
__all__ += estimators.__all__
__all__.remove("Projection")  # which is for those who add an estimator

# scikit-learn takes a second to import; `eigenkit --help` must not wait for it.
__getattr__, __dir__ = late_names(
    __name__,
    {
        ".estimators": [name for name in estimators.__all__ if name in __all__],
        ".kernels": ["Kernel"],
        ".models": ["RowBlocks", "Stream"],
    },
)
