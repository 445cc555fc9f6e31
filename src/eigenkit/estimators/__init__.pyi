from ._alphas import alpha_path as alpha_path
from ._estimator import Projection as Projection
from .cca import (
    CCA as CCA,
    CanonicalRidge as CanonicalRidge,
    OrthonormalizedPLS as OrthonormalizedPLS,
)
from .graph_regularized import GraphRegularized as GraphRegularized
from .hypergraph import (
    HypergraphClustering as HypergraphClustering,
    HypergraphSpectral as HypergraphSpectral,
)
from .keep_search import KeepSearchCV as KeepSearchCV, selection_frequency as selection_frequency
from .kernel import (
    KernelCCA as KernelCCA,
    KernelHypergraphSpectral as KernelHypergraphSpectral,
    KernelLDA as KernelLDA,
    KernelOrthonormalizedPLS as KernelOrthonormalizedPLS,
    KernelPLS as KernelPLS,
)
from .kernel_pca import KernelPCA as KernelPCA
from .latent_cca import BayesianCCA as BayesianCCA, ProbabilisticCCA as ProbabilisticCCA
from .lda import (
    LDA as LDA,
    MultilabelLDA as MultilabelLDA,
    copy_transformation as copy_transformation,
    label_powerset as label_powerset,
)
from .least_squares import LeastSquaresProjection as LeastSquaresProjection
from .many_labels import ManyLabelClassifier as ManyLabelClassifier
from .multiple_kernels import MultipleKernelProjection as MultipleKernelProjection
from .multiview import MultiviewCCA as MultiviewCCA
from .pca import PCA as PCA
from .planes import GEPSVM as GEPSVM, ReGEC as ReGEC
from .pls import (
    PLSSVD as PLSSVD,
    SIMPLS as SIMPLS,
    PLSCanonical as PLSCanonical,
    PLSRegression as PLSRegression,
)
from .plsda import PLSDA as PLSDA
from .rgcca import RGCCA as RGCCA
from .search import (
    AlphaSearchCV as AlphaSearchCV,
    PLSRegressionCV as PLSRegressionCV,
    l1_path as l1_path,
)
from .selective_pls import (
    OrthogonalPLS as OrthogonalPLS,
    SparsePLS as SparsePLS,
    SparsePLSDA as SparsePLSDA,
)
from .shrinkage import (
    ShrinkageRegression as ShrinkageRegression,
    shrinkage_factors as shrinkage_factors,
)
from .sparse_cca import SparseCCA as SparseCCA
