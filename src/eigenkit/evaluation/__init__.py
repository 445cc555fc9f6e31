"""Compare methods on data, as the papers do.

Repeated random partitions or folds that keep the share of every label; the projection is
learned on the training part, a plain classifier per label on top of it; every metric with
mean and standard deviation.
"""

from eigenkit.late import homes_in_stub, late_names

__getattr__, __dir__, __all__ = late_names(__name__, homes_in_stub(__file__))
