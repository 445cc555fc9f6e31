"""After the fit: which components are real, how sure weights are, what matters, what is odd.

Tests of components (:func:`permutation_test`), intervals of weights (:func:`bootstrap`), the
usual numbers of a PLS model (:func:`vip_scores`, ...) and pictures (``plot_...`` for the PLS
family, displays such as :class:`ScoresDisplay` for every projection; they need matplotlib).
"""

from typing import TYPE_CHECKING

from eigenkit.late import late_names

if TYPE_CHECKING:
    from eigenkit.analysis.diagnostics import hotelling_t2, spe, spe_limit, t2_limit, vip_scores
    from eigenkit.analysis.displays import (
        BiplotDisplay,
        CorrelationCircleDisplay,
        LoadingsDisplay,
        ScoresDisplay,
        ScreeDisplay,
        WeightsDisplay,
    )
    from eigenkit.analysis.permutation import PermutationTest, permutation_test
    from eigenkit.analysis.plots import (
        plot_cross_validation,
        plot_explained_variance,
        plot_loadings,
        plot_outliers,
        plot_shrinkage,
    )
    from eigenkit.analysis.regions import CoefficientsDisplay, RegionsDisplay
    from eigenkit.analysis.resampling import Bootstrap, Intervals, bootstrap

__all__ = [
    "BiplotDisplay",
    "Bootstrap",
    "CoefficientsDisplay",
    "CorrelationCircleDisplay",
    "Intervals",
    "LoadingsDisplay",
    "PermutationTest",
    "RegionsDisplay",
    "ScoresDisplay",
    "ScreeDisplay",
    "WeightsDisplay",
    "bootstrap",
    "hotelling_t2",
    "permutation_test",
    "plot_cross_validation",
    "plot_explained_variance",
    "plot_loadings",
    "plot_outliers",
    "plot_shrinkage",
    "spe",
    "spe_limit",
    "t2_limit",
    "vip_scores",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        ".diagnostics": ("hotelling_t2", "spe", "spe_limit", "t2_limit", "vip_scores"),
        ".displays": (
            "BiplotDisplay",
            "CorrelationCircleDisplay",
            "LoadingsDisplay",
            "ScoresDisplay",
            "ScreeDisplay",
            "WeightsDisplay",
        ),
        ".permutation": ("PermutationTest", "permutation_test"),
        ".plots": (
            "plot_cross_validation",
            "plot_explained_variance",
            "plot_loadings",
            "plot_outliers",
            "plot_shrinkage",
        ),
        ".regions": ("CoefficientsDisplay", "RegionsDisplay"),
        ".resampling": ("Bootstrap", "Intervals", "bootstrap"),
    },
)
