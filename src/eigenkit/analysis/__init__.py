"""After the fit: which components are real, and how sure their weights are."""

from eigenkit.analysis.permutation import PermutationTest, permutation_test
from eigenkit.analysis.resampling import Bootstrap, Intervals, bootstrap

__all__ = ["Bootstrap", "Intervals", "PermutationTest", "bootstrap", "permutation_test"]
