"""The stepwise permutation test: by definition, exact, invariant, and at its level."""

from __future__ import annotations

import io
import warnings
from itertools import permutations

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.cross_decomposition import CCA as TheirCCA
from sklearn.datasets import load_linnerud

import eigenkit as ek
from eigenkit.analysis import _steps, permutation_test
from eigenkit.exceptions import ConditionWarning, DegenerateDataWarning


def two_views(seed: int, n_real: int = 1, n: int = 40, d: int = 6, k: int = 4, strength=3.0):
    """X and Y that share ``n_real`` latent variables."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, k))
    shared = strength * rng.normal(size=(n, n_real))
    X[:, :n_real] += shared
    Y[:, :n_real] += shared
    return X, Y


X, Y = two_views(0)
J = (Y > 0.3).astype(float)
CLASSES = (Y[:, 0] > 0).astype(int) + (Y[:, 1] > 1)

METHODS = [
    (ek.CCA(alpha=0), Y),
    (ek.CCA(alpha=3.0, alpha_y=2.0), Y),
    (ek.CanonicalRidge(gamma_x=0.9, gamma_y=0.5), Y),
    (ek.CanonicalRidge(gamma_x=1, gamma_y=1), Y),
    (ek.OrthonormalizedPLS(alpha=2.0), Y),
    (ek.LDA(), CLASSES),
    (ek.HypergraphSpectral(), J),
    (ek.HypergraphSpectral(expansion="clique"), J),
    (ek.HypergraphSpectral(expansion="zhou", label_weights=[1, 2, 3, 4]), J),
    (ek.PLSSVD(3, scale=False), Y),
    (ek.PLSSVD(3), Y),
    (ek.KernelCCA(), Y),
    (ek.KernelLDA(), CLASSES),
    (ek.KernelOrthonormalizedPLS(), Y),
    (ek.KernelHypergraphSpectral(), J),
    (ek.MultiviewCCA(alpha=0.5), None),
]
NAMES = [f"{type(model).__name__}-{i}" for i, (model, _) in enumerate(METHODS)]


def data_of(model, y):
    return ([X, Y, X[:, :2] - 2 * Y[:, :2]], None) if isinstance(model, ek.MultiviewCCA) else (X, y)


def roots_of(model):
    for name in ("canonical_correlations_", "singular_values_"):
        if hasattr(model, name):
            return getattr(model, name)
    return np.sqrt(model.eigenvalues_)


@pytest.mark.parametrize(("model", "y"), METHODS, ids=NAMES)
def test_singular_values_are_those_of_the_model(model, y) -> None:
    data = data_of(model, y)
    test = permutation_test(model, *data, n_permutations=19)
    roots = roots_of(model.fit(*data))
    assert np.allclose(test.singular_values, roots[: len(test.singular_values)], rtol=1e-8)
    assert np.all(np.diff(test.p_values) >= 0)
    assert test.p_values[0] <= 0.15


PLS = [
    ek.PLSRegression(2),
    ek.PLSCanonical(2),
    ek.SIMPLS(2),
    ek.PLSSVD(2),
    ek.KernelPLS(2, kernel="linear"),
]


def test_the_pls_family_shares_one_test() -> None:
    found = [permutation_test(model, X, Y, n_permutations=39) for model in PLS]
    scaled = (X - X.mean(0)) / X.std(0), (Y - Y.mean(0)) / Y.std(0)
    found[-1] = permutation_test(PLS[-1], *scaled, n_permutations=39)
    for test in found[1:]:
        assert np.array_equal(test.p_values, found[0].p_values)
    for coding in ("indicator", "reduced", "between"):
        model = ek.PLSDA(1, coding=coding)
        assert permutation_test(model, X, CLASSES, n_permutations=39).p_values[0] <= 0.05


@pytest.mark.parametrize(("model", "y"), METHODS[:11], ids=NAMES[:11])
@pytest.mark.parametrize("statistic", ["auto", "trace", "roy"])
def test_the_first_step_is_refitting_on_permuted_samples(model, y, statistic) -> None:
    """T of a permutation is the statistic of the method fitted to the permuted data."""
    test = permutation_test(model, X, y, n_permutations=3, statistic=statistic)
    statistic = test.statistic
    rng = np.random.default_rng([int(np.random.RandomState(0).randint(2**31 - 1)), 0, 0])
    orders = _steps.random_orders([np.arange(len(X))], 3, rng)
    reference = _statistic(model.set_params(n_components=None).fit(X, y), statistic)
    for T, order in zip(test.null[0], orders, strict=True):
        refitted = _statistic(model.fit(X, np.asarray(y)[order]), statistic)
        assert np.isclose(T / test.statistics[0], refitted / reference)


def _statistic(model, name):
    shares = 1.0
    if isinstance(model, ek.CanonicalRidge) and name == "wilks":
        shares = (1 - model.gamma_x) * (1 - model.gamma_y)
    squares = roots_of(model) ** 2 * shares
    if name == "wilks":
        return -np.sum(np.log(1 - squares))
    return squares.sum() if name == "trace" else squares[0]


# -- exactness ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        ek.CCA(alpha=1.0),
        *(
            pytest.param(model, marks=pytest.mark.slow)
            for model in (ek.PLSSVD(1), ek.OrthonormalizedPLS(alpha=0.1))
        ),
    ],
)
def test_p_values_over_all_permutations_are_uniform(model) -> None:
    """Whichever order of y is the observed one: each p-value comes up once."""
    rng = np.random.default_rng(3)
    x, y = rng.standard_cauchy(size=(5, 2)), rng.exponential(size=(5, 2))
    p = [
        permutation_test(model.set_params(n_components=1), x, y[list(order)]).p_values[0]
        for order in permutations(range(5))
    ]
    assert np.allclose(np.sort(p), np.arange(1, 121) / 120)
    assert permutation_test(model, x, y).exact[0]
    assert not permutation_test(model, x, y, n_permutations=119).exact[0]


def test_blocks_are_exact_too() -> None:
    rng = np.random.default_rng(4)
    groups = np.array(["b", "a", "b", "a", "a", "b"])
    x, y = rng.normal(size=(6, 2)), rng.exponential(size=(6, 1))
    y[groups == "a"] += 100
    a, b = (np.flatnonzero(groups == name) for name in "ab")
    p = []
    for order_a in permutations(a):
        for order_b in permutations(b):
            order = np.empty(6, dtype=int)
            order[a], order[b] = order_a, order_b
            p.append(permutation_test(ek.CCA(1), x, y[order], groups=groups).p_values[0])
    assert np.allclose(np.sort(p), np.arange(1, 37) / 36)


def test_freed_rows_are_an_orthonormal_basis_of_the_complement() -> None:
    rng = np.random.default_rng(0)
    N = rng.normal(size=(9, 3)) * [1, 1e-9, 1e9]
    N = np.column_stack([np.ones(9), N, N[:, 0] + 1])  # the last adds nothing
    (Qt,), (rows,) = _steps.freed_rows([np.eye(9)], N, [np.arange(9)])
    assert Qt.shape == (5, 9)
    assert len(rows) == 5
    assert np.allclose(Qt @ Qt.T, np.eye(5))
    assert np.allclose(Qt @ (N / np.linalg.norm(N, axis=0)), 0, atol=1e-12)
    mixed = N / np.linalg.norm(N, axis=0) @ rng.normal(size=(5, 5))
    (other,), _ = _steps.freed_rows([np.eye(9)], mixed, [np.arange(9)])
    assert np.allclose(other, Qt)  # the space alone decides
    blocks = [np.array([0, 2, 4, 6]), np.array([1, 3, 5, 7, 8])]
    (Qt,), parts = _steps.freed_rows([np.eye(9)], np.ones((9, 1)), blocks)
    assert [len(part) for part in parts] == [3, 4]
    assert np.allclose(Qt[:3][:, blocks[1]], 0)
    assert np.allclose(Qt[:3].sum(axis=1), 0)


# -- what must not matter ----------------------------------------------------------------


def same(a, b) -> None:
    assert np.allclose(a.statistics, b.statistics, rtol=1e-8)
    assert np.array_equal(a.p_values, b.p_values)


@pytest.mark.parametrize(
    "model", [ek.CCA(3, alpha=2.0), ek.PLSSVD(3, scale=False), ek.CCA(3, alpha=0)]
)
def test_rotations_and_offsets_do_not_matter(model) -> None:
    R, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))
    S, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))
    whole = permutation_test(model, X, Y, n_permutations=59)
    same(whole, permutation_test(model, X @ R + 10, Y @ S - 3, n_permutations=59))


def test_units_do_not_matter() -> None:
    units = np.array([1e-170, 1e-3, 1, 1e4, 1e100, 1])
    for model in (ek.CCA(3, alpha=0), ek.PLSSVD(3), ek.PLSRegression(2)):
        whole = permutation_test(model, X, Y, n_permutations=59)
        same(whole, permutation_test(model, X * units, Y, n_permutations=59))
    for scale in (1e-100, 1e100):
        model = ek.CanonicalRidge(3, gamma_x=1, gamma_y=1)
        whole = permutation_test(model, X, Y, n_permutations=59)
        assert np.array_equal(
            whole.p_values, permutation_test(model, X * scale, Y, n_permutations=59).p_values
        )


def test_order_of_samples_matters_only_to_the_draws() -> None:
    order = np.random.default_rng(0).permutation(len(X))
    groups = np.repeat([0, 1], 20)
    for options in ({}, {"groups": groups}):
        a = permutation_test(ek.CCA(alpha=1.0), X, Y, **options)
        options = {name: value[order] for name, value in options.items()}
        b = permutation_test(ek.CCA(alpha=1.0), X[order], Y[order], **options)
        assert np.allclose(a.singular_values, b.singular_values)
        assert np.isclose(a.statistics[0], b.statistics[0])
        assert np.allclose(a.p_values, b.p_values, atol=0.06)


def test_sparse_wide_kernel_and_float32_data() -> None:
    rng = np.random.default_rng(0)
    wide = np.hstack([X, rng.normal(size=(40, 90)) * (rng.random((40, 90)) < 0.2)])
    wide[:, 0] += 1e6  # sums of squares would lose it
    wide[:, 7] = 5.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        for model in (ek.CCA(3), ek.PLSSVD(3), ek.CanonicalRidge(3, gamma_x=1, gamma_y=1)):
            dense = permutation_test(model, wide, Y, n_permutations=39)
            same(dense, permutation_test(model, sparse.csr_array(wide), Y, n_permutations=39))
    same(
        permutation_test(ek.CCA(3), X, Y, n_permutations=39),
        permutation_test(ek.KernelCCA(3, kernel="linear"), X, Y, n_permutations=39),
    )
    single = permutation_test(ek.CCA(3), X.astype(np.float32), Y, n_permutations=39)
    assert np.allclose(
        single.p_values, permutation_test(ek.CCA(3), X, Y, n_permutations=39).p_values
    )


def test_two_views_are_cca() -> None:
    a = permutation_test(ek.MultiviewCCA(3, alpha=[1.0, 2.0]), [X, Y], n_permutations=59)
    same(a, permutation_test(ek.CCA(3, alpha=1.0, alpha_y=2.0), X, Y, n_permutations=59))


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_jobs_do_not_change_the_bits(backend) -> None:
    options = {"n_permutations": 600, "random_state": 5}
    one = permutation_test(ek.CCA(), X, Y, **options)
    with parallel_config(backend):
        two = permutation_test(ek.CCA(), X, Y, n_jobs=2, **options)
    assert np.array_equal(one.p_values, two.p_values)
    for a, b in zip(one.null, two.null, strict=True):
        assert np.array_equal(a, b)
    other = permutation_test(ek.CCA(), X, Y, n_permutations=600, random_state=6)
    assert not np.array_equal(one.null[0], other.null[0])


# -- finding what is there ---------------------------------------------------------------


@pytest.mark.parametrize("n_real", [0, 1, 2])
@pytest.mark.parametrize("statistic", ["wilks", "trace", "roy"])
def test_finds_the_planted_number(n_real, statistic) -> None:
    data = two_views(1, n_real, n=60)
    test = permutation_test(ek.CCA(alpha=0), *data, n_permutations=199, statistic=statistic)
    assert test.n_significant() == n_real


def test_wide_data_with_one_component_have_one() -> None:
    """The first release found all five in every set."""
    found = [
        permutation_test(
            ek.CCA(), *two_views(seed, 1, n=30, d=100, k=5, strength=10), n_permutations=99
        ).n_significant()
        for seed in range(12)
    ]
    assert min(found) == 1
    assert np.sum(np.array(found) > 1) <= 3


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(ek.CanonicalRidge(2, gamma_x=0.9, gamma_y=0.9), marks=pytest.mark.slow),
        ek.PLSSVD(2),
        pytest.param(ek.MultiviewCCA(2, alpha=10.0), marks=pytest.mark.slow),
    ],
    ids=["ridge on both sides", "pls", "three views"],
)
def test_a_null_second_component_is_seldom_called_real(model) -> None:
    """40 sets at 0.1: eleven or more would come up once in a thousand times."""
    second = []
    for seed in range(40):
        a, b = two_views(seed, 1, n=30, d=40, k=20, strength=8)
        data = (a, b)
        if isinstance(model, ek.MultiviewCCA):
            data = (
                [a[:, :10], b[:, :5], a[:, :1] + np.random.default_rng(seed).normal(size=(30, 3))],
            )
        second.append(permutation_test(model, *data, n_permutations=49).p_values[1])
    assert np.sum(np.array(second) <= 0.1) <= 10
    assert np.mean(second) < 0.85


def test_nuisance_variables_and_blocks_explain_away() -> None:
    rng = np.random.default_rng(2)
    z, groups = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10)
    x = rng.normal(size=(60, 5)) + 3 * z[:, :1]
    y = rng.normal(size=(60, 3)) + 3 * z[:, :1] - z[:, 1:]
    for model in (ek.CCA(1, alpha=0), ek.CCA(1, alpha=5.0), ek.PLSRegression(1)):
        assert permutation_test(model, x, y, n_permutations=99).p_values[0] == 0.01
        assert permutation_test(model, x, y, nuisance=z, n_permutations=99).p_values[0] > 0.05
    level = 5 * rng.normal(size=6)[groups][:, None]
    x, y = rng.normal(size=(60, 5)) + level, rng.normal(size=(60, 3)) + level
    assert permutation_test(ek.CCA(1), x, y, n_permutations=99).p_values[0] == 0.01
    blocked = permutation_test(ek.CCA(), x, y, groups=groups, n_permutations=99)
    assert blocked.p_values[0] > 0.05
    assert blocked.n_blocks == 6
    x[:, 0] += 2 * y[:, 0]
    both = permutation_test(ek.CCA(), x, y, groups=groups, nuisance=z, n_permutations=99)
    assert both.n_significant() == 1


def test_no_nuisance_is_a_constant_one() -> None:
    """A nuisance variable that is constant, or within blocks so, changes nothing that matters."""
    groups = np.repeat([0, 1], 20)
    a = permutation_test(ek.CCA(2), X, Y, groups=groups, n_permutations=99)
    b = permutation_test(ek.CCA(2), X, Y, groups=groups, nuisance=groups, n_permutations=99)
    assert np.allclose(a.singular_values, b.singular_values)
    assert np.allclose(a.p_values, b.p_values, atol=0.1)


# -- results and messages ----------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress(monkeypatch, capsys) -> None:
    seen = []
    permutation_test(ek.CCA(2), X, Y, n_permutations=700, progress=lambda *done: seen.append(done))
    assert [step[:2] for step in seen] == [(n, 1400) for n in (500, 700, 1200, 1400)]
    assert seen[0][2] == "500 of 1400 permutations"
    permutation_test(ek.CCA(1), X, Y, n_permutations=5, progress=True)
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    permutation_test(ek.CCA(1), X, Y, n_permutations=5, progress=True)
    assert terminal.getvalue().endswith("] 5 of 5 permutations\n")


def test_result_reads_well() -> None:
    test = permutation_test(ek.CCA(2, alpha=0), X, Y, n_permutations=99)
    lines = str(test).splitlines()
    assert lines[0] == "Permutation test of CCA: 40 samples, 99 permutations"
    assert lines[1].split() == ["component", "value", "wilks", "p"]
    assert lines[-1] == "1 of 2 components significant at level 0.05"
    assert repr(test).startswith("<PermutationTest of CCA: p = 0.01, ")


@pytest.mark.parametrize("name", ["trace", "roy"])
def test_statistics_are_those_of_the_singular_values(name) -> None:
    """They were in units of their own."""
    A, B = load_linnerud(return_X_y=True)
    for model in (ek.CCA(alpha=0), ek.OrthonormalizedPLS(), ek.PLSRegression(3), ek.PLSDA(None)):
        y = np.arange(20) % 3 if isinstance(model, ek.PLSDA) else B
        test = permutation_test(model, A, y, statistic=name, n_permutations=19)
        s = test.singular_values
        expected = s**2 if name == "roy" else np.cumsum((s**2)[::-1])[::-1]
        np.testing.assert_allclose(test.statistics, expected)
        reached = np.mean(np.append(test.null[0], test.statistics[0]) >= test.statistics[0])
        np.testing.assert_allclose(test.p_values[0], reached)


def test_the_number_of_permutations_made_is_told() -> None:
    A, B = load_linnerud(return_X_y=True)
    test = permutation_test(ek.CCA(1), A[:5], B[:5])
    assert test.exact == (True,)
    assert "5 samples, 120 permutations" in str(test)
    assert "5 samples, 6 to 120 permutations" in str(permutation_test(ek.CCA(2), A[:5], B[:5]))


def test_perfect_correlations_of_wide_data_mean_nothing() -> None:
    data = two_views(0, 1, n=12, d=30)
    with pytest.warns(ConditionWarning, match="are 1 by construction"):
        test = permutation_test(ek.CCA(alpha=0), *data, n_permutations=49)
    assert np.all(test.p_values == 1.0)


def test_small_blocks_limit_the_number_of_components() -> None:
    groups = np.repeat(np.arange(10), 4)
    with pytest.warns(DegenerateDataWarning, match="only 2 of 4 components can be tested"):
        test = permutation_test(ek.CCA(), X, Y, groups=groups, n_permutations=19)
    assert len(test.p_values) == 2
    pairs = np.repeat(np.arange(20), 2)
    assert len(permutation_test(ek.CCA(1), X, Y, groups=pairs, n_permutations=19).p_values) == 1
    with pytest.raises(ValueError, match="the smallest block has 2 samples: with 1 nuisance"):
        permutation_test(ek.CCA(1), X, Y, groups=pairs, nuisance=X[:, 0])


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (ek.PCA(), {}, TypeError, "estimator is a PCA: permutation_test takes CCA, "),
        (ek.SparseCCA(), {}, TypeError, "estimator is a SparseCCA: permutation_test takes"),
        (ek.MultilabelLDA(), {}, TypeError, "which gives samples unequal weights"),
        (
            ek.SparsePLS(),
            {},
            TypeError,
            "a SparsePLS, whose components are not those of a singular",
        ),
        (ek.OrthogonalPLS(), {}, TypeError, "an OrthogonalPLS, whose components are not those"),
        (
            ek.LDA(shrinkage=0.5),
            {},
            ValueError,
            "shrinkage=0.5 cannot be tested: set shrinkage=None",
        ),
        (ek.CCA(label_rank=1), {}, ValueError, "label_rank=1 cannot be tested"),
        (ek.LeastSquaresProjection(), {}, TypeError, "test the projection that it stands for"),
        (ek.KernelCCA(approximation="cholesky"), {}, ValueError, "set approximation=None"),
        (ek.CCA(), {"n_permutations": 0}, ValueError, "n_permutations=0 is not valid"),
        (ek.CCA(), {"statistic": "t"}, ValueError, "statistic='t' is not known"),
        (ek.PLSSVD(), {"statistic": "wilks"}, ValueError, "use 'trace' or 'roy'"),
        (ek.CCA(), {"sample_weight": np.ones(40)}, ValueError, "sample_weight is not valid here"),
        (ek.CCA(), {"groups": np.ones(3)}, ValueError, r"groups has shape \(3,\)"),
        (ek.CCA(), {"groups": np.arange(40)}, ValueError, "nothing to exchange"),
        (ek.CCA(), {"nuisance": np.ones((3, 1))}, ValueError, "nuisance has 3 rows"),
        (ek.CCA(), {"nuisance": np.full(40, np.nan)}, ValueError, "nuisance contains NaN"),
        (ek.CCA(), {"nuisance": ["a"] * 40}, ValueError, "nuisance holds the string 'a'"),
        (ek.CCA(), {"nuisance": np.full(40, "2024", "M8[D]")}, ValueError, "nuisance holds dates"),
        (ek.CCA(), {"nuisance": X}, ValueError, "nothing in common beyond nuisance variables"),
        (TheirCCA(), {}, TypeError, "estimator is a CCA of sklearn: permutation_test takes"),
        (ek.CCA, {}, TypeError, "estimator is a class CCA itself: permutation_test takes"),
        (ek.CCA(n_components=0), {}, ValueError, "n_components=0 is not valid"),
        (ek.CCA(), {"X": np.where(X > 1, np.nan, X)}, ValueError, "X contains NaN"),
        (ek.CCA(), {"y": np.ones(40)}, ValueError, "y is constant"),
    ],
)
def test_messages(model, options, error, message) -> None:
    options = {"X": X, "y": Y, **options}
    with pytest.raises(error, match=message):
        permutation_test(model, options.pop("X"), options.pop("y"), **options)


def test_size_is_checked_before_memory_is_taken(monkeypatch) -> None:
    monkeypatch.setattr("eigenkit.analysis._draws.ANALYSIS_LIMIT_BYTES", 1000)
    with pytest.raises(ValueError, match="40 samples of 6 features need a matrix of"):
        permutation_test(ek.CCA(), X, Y)
