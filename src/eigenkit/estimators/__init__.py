"""scikit-learn estimators: thin shells around the spine."""

from eigenkit.late import homes_in_stub, late_names

__getattr__, __dir__, __all__ = late_names(__name__, homes_in_stub(__file__))
