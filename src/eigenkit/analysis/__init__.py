"""After the fit: which components are real, how certain weights are, and what is unusual.

Tests of components (:func:`permutation_test`), intervals of weights (:func:`bootstrap`), the
usual numbers of a PLS model (:func:`vip_scores`, ...) and pictures (``plot_...`` for the PLS
family, displays such as :class:`ScoresDisplay` for every projection; they need matplotlib).
"""

from eigenkit.late import homes_in_stub, late_names

__getattr__, __dir__, __all__ = late_names(__name__, homes_in_stub(__file__))
