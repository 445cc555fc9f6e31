"""Arrays of floating point numbers; images and their vectors are in single precision."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
