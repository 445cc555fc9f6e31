from .diagnostics import (
    hotelling_t2 as hotelling_t2,
    spe as spe,
    spe_limit as spe_limit,
    t2_limit as t2_limit,
    vip_scores as vip_scores,
)
from .displays import (
    BiplotDisplay as BiplotDisplay,
    CorrelationCircleDisplay as CorrelationCircleDisplay,
    LoadingsDisplay as LoadingsDisplay,
    ScoresDisplay as ScoresDisplay,
    ScreeDisplay as ScreeDisplay,
    WeightsDisplay as WeightsDisplay,
)
from .permutation import PermutationTest as PermutationTest, permutation_test as permutation_test
from .plots import (
    plot_cross_validation as plot_cross_validation,
    plot_explained_variance as plot_explained_variance,
    plot_loadings as plot_loadings,
    plot_outliers as plot_outliers,
    plot_shrinkage as plot_shrinkage,
)
from .regions import CoefficientsDisplay as CoefficientsDisplay, RegionsDisplay as RegionsDisplay
from .resampling import Bootstrap as Bootstrap, Intervals as Intervals, bootstrap as bootstrap
