"""The annotator: leave-one-out in closed form, views, files, and terms that were planted."""

from __future__ import annotations

import itertools
import tracemalloc
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from conftest import slow_but, some_of
from eigenkit.evaluation.metrics import auc_per_label
from eigenkit.files import FileError
from eigenkit.images import (
    Descriptor,
    ImageAnnotator,
    ImageSet,
    ImageWarning,
    Plan,
    adapt,
    load_annotator,
    make_shapes,
    save_annotator,
)
from eigenkit.images.comparison import compare
from eigenkit.images.extraction import Cache, extract
from eigenkit.images.kernels import fit_kernels
from eigenkit.images.page import render_page
from eigenkit.images.record import fitted_record
from eigenkit.images.ridge import (
    ALPHAS,
    Spectrum,
    calibrate,
    fit_committee,
    fit_ridge,
    mean_auc,
    means_of_others,
    probabilities,
    with_second,
)
from eigenkit.images.term_reports import (
    UNSEEN,
    best_thresholds,
    precision_at_one,
    term_reports,
    thresholds,
    unlearned_terms,
)
from eigenkit.images.weights import (
    CHOICES,
    IN_WORDS,
    Candidate,
    Trial,
    choose,
    fit_judged,
    fold_trials,
    kernel_weights,
    mixed,
    unseen_trials,
    views_apart,
)

pytest.importorskip("PIL.Image", reason="needs the extra [images]")
# Few small pictures tell little of some terms; what is said of that has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore:terms are predicted for nearly every set")

QUICK = [
    Plan("hsv"),
    Plan("thumbnail"),
    Plan("hog-4"),
    Plan("correlation-16", "pyramid", {"bins": "vocabulary", "n_levels": 4}),
]


@pytest.fixture(scope="module")
def shapes():
    return make_shapes(60, size=64)


@pytest.fixture(scope="module")
def model(shapes):
    return ImageAnnotator(QUICK, size=(64, 64), weights="equal").fit(*shapes)


# -- ridge ------------------------------------------------------------------------------


def problem(n=25, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 40))
    return X @ X.T / 40, (X[:, :k] + rng.normal(size=(n, k)) > 0.5).astype(float)


def test_leave_one_out_equals_fitting_without_each_set():
    K, Y = problem()
    alpha = 0.7
    (S,) = Spectrum.of(K).leave_one_out(Y, [alpha])
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        n = len(rest)
        C = np.eye(n) - 1 / n
        Kc = C @ K[np.ix_(rest, rest)] @ C
        A = np.linalg.solve(Kc + alpha * np.eye(n), Y[rest] - Y[rest].mean(axis=0))
        row = (K[i, rest] - K[np.ix_(rest, rest)].mean(axis=0)) @ C
        np.testing.assert_allclose(S[i], row @ A + Y[rest].mean(axis=0), rtol=1e-8)


def test_groups_are_left_out_together():
    K, Y = problem()
    groups = np.random.default_rng(0).integers(len(K) // 2, size=len(K))
    assert {1, 2, 3} <= set(np.bincount(groups))  # groups of several sizes, here and there
    _, S = Spectrum.of(K).leave_one_out(Y, [0.1, 0.7], groups)
    for group in np.unique(groups):
        out, rest = np.flatnonzero(groups == group), np.flatnonzero(groups != group)
        C = np.eye(len(rest)) - 1 / len(rest)
        inside, mean = K[np.ix_(rest, rest)], Y[rest].mean(axis=0)
        A = np.linalg.solve(C @ inside @ C + 0.7 * np.eye(len(rest)), Y[rest] - mean)
        rows = (K[np.ix_(out, rest)] - inside.mean(axis=0)) @ C
        np.testing.assert_allclose(S[out], rows @ A + mean, rtol=1e-8)


def test_a_term_is_halfway_between_its_regression_and_that_of_the_components():
    K, Y = problem()
    ridge = fit_ridge(K, Y)
    n, k = Y.shape
    C = np.eye(n) - 1 / n
    H = C @ K @ C
    V = np.linalg.svd(C @ Y)[2][::-1].T  # from the least variance to the largest
    T = np.hstack([Y, Y @ V])
    fits = [
        H @ np.linalg.solve(H + a * np.eye(n), C @ t) + t.mean()
        for a, t in zip(ridge.alpha, T.T, strict=True)
    ]
    fit = np.column_stack(fits)
    expected = (fit[:, :k] + fit[:, k:] @ V.T) / 2
    left_out = _left_out(K, T, ridge.alpha)
    others = (Y.sum(axis=0) - Y) / (n - 1)
    held_out = (left_out[:, :k] + left_out[:, k:] @ V.T) / 2 - others + Y.mean(axis=0)
    slopes, offsets = calibrate(Y, held_out)
    np.testing.assert_allclose(ridge.scores(K), slopes * expected + offsets, atol=1e-8)


def _left_out(K, T, alpha):
    spectrum = Spectrum.of(K)
    return np.column_stack(
        [next(spectrum.leave_one_out(T[:, [j]], [a]))[:, 0] for j, a in enumerate(alpha)]
    )


@pytest.mark.parametrize("groups", [None, np.arange(60) // 3])
def test_terms_without_evidence_are_not_ranked_upside_down(groups):
    """The mean of the others is lower for a set that carries a term: it must not count."""
    rng = np.random.default_rng(0)
    aucs = []
    for _ in range(10):
        X = rng.normal(size=(60, 5))
        Y = (rng.random((60, 8)) < 0.3).astype(float)
        aucs.append(mean_auc(Y, fit_ridge(X @ X.T / 5, Y, groups).held_out))
    assert 0.45 < np.mean(aucs) < 0.55


def test_means_of_others():
    _, Y = problem(n=12)
    groups = np.array([0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 0])
    for given in (None, groups):
        names = np.arange(12) if given is None else given
        expected = [Y[names != name].mean(axis=0) for name in names]
        np.testing.assert_allclose(means_of_others(Y, given), expected)


def test_terms_that_go_together_are_learned_together():
    """Terms that follow one direction in noise: the components know it better than each alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    F = np.outer(X @ rng.normal(size=60), rng.normal(size=10)) / np.sqrt(60)
    Y, truth = (F + rng.normal(size=F.shape) > 0.5).astype(float), (F > 0.5).astype(float)
    K, train, new = X @ X.T / 60, slice(0, 100), slice(100, None)
    together = fit_ridge(K[train, train], Y[train]).scores(K[new, train])
    each = [fit_ridge(K[train, train], Y[train, j : j + 1]) for j in range(10)]
    alone = np.hstack([ridge.scores(K[new, train]) for ridge in each])
    assert mean_auc(truth[new], together) > mean_auc(truth[new], alone) + 0.03


def test_every_term_has_the_alpha_of_its_least_error():
    K, Y = problem()
    ridge = fit_ridge(K, Y)
    spectrum = Spectrum.of(K)
    for j in range(3):
        left_out = spectrum.leave_one_out(Y, np.array(ALPHAS) * spectrum.s.mean())
        errors = {a: np.sum((Y - S) ** 2, axis=0)[j] for a, S in zip(ALPHAS, left_out, strict=True)}
        assert ridge.alpha[j] == pytest.approx(min(errors, key=errors.get) * spectrum.s.mean())


def test_thresholds_reach_the_best_f1():
    rng = np.random.default_rng(0)
    Y = (rng.random((40, 3)) < 0.3).astype(float)
    S = Y + rng.normal(size=Y.shape)
    found = best_thresholds(Y, S)

    def f1(j, t):
        P = S[:, j] > t
        return 2 * np.sum(P * Y[:, j]) / (P.sum() + Y[:, j].sum())

    for j in range(3):
        assert f1(j, found[j]) == pytest.approx(max(f1(j, t - 1e-9) for t in S[:, j]))


def test_thresholds_are_halfway_to_those_of_the_best_expected_f1():
    rng = np.random.default_rng(5)
    S = rng.normal(size=(60, 3))
    P = 1 / (1 + np.exp(-S))
    Y = (rng.random(S.shape) < P).astype(float)
    for j in range(3):
        alone = Y[:, [j]], S[:, [j]]  # which has nobody to borrow from
        expected = 2 * thresholds(*alone)[0] - best_thresholds(*alone)[0]
        cuts = [P[S[:, j] > t, j] for t in (expected, *S[:, j] - 1e-9)]
        f1 = [2 * cut.sum() / (len(cut) + P[:, j].sum()) for cut in cuts]
        assert f1[0] == pytest.approx(max(f1))


def test_terms_of_few_sets_borrow_their_threshold_from_the_others():
    rng = np.random.default_rng(5)
    S = rng.normal(size=(400, 5)) * [1, 2, 3, 1, 2] + [0, 1, 2, 3, 4]
    Y = (rng.random(S.shape) < [0.5, 0.3, 0.2, 0.1, 0.01]).astype(float)
    S[:, 3] = 1.0  # says nothing, and neither lends nor borrows

    def places(t):
        return ((t - S.mean(axis=0)) / np.where(np.arange(5) == 3, 1, S.std(axis=0)))[[0, 1, 2, 4]]

    own = np.array([thresholds(Y[:, [j]], S[:, [j]])[0] for j in range(5)])
    found = thresholds(Y, S)
    assert found[3] == own[3]
    usual = np.median(places(own))
    n = Y.sum(axis=0)[[0, 1, 2, 4]]
    np.testing.assert_allclose(places(found), (n * places(own) + 10 * usual) / (n + 10))


def test_calibration_never_turns_scores_around():
    rng = np.random.default_rng(0)
    y = (rng.random((200, 1)) < 0.3).astype(float)
    slope, offset = calibrate(y, y + rng.normal(size=y.shape))
    assert slope[0] > 0.3
    slope, offset = calibrate(y, -y + 0.1 * rng.normal(size=y.shape))
    assert 0 < slope[0] < 0.01
    assert 1 / (1 + np.exp(-offset[0])) == pytest.approx(y.mean(), abs=0.01)
    slope, offset = calibrate(y, np.ones_like(y))
    assert slope[0] + offset[0] == pytest.approx(np.log(y.mean() / (1 - y.mean())), abs=0.1)


# -- weights ----------------------------------------------------------------------------


def test_learned_weights_find_the_kernel_that_tells():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    Y = (X[:, :3] > 0.3).astype(float)
    both = np.array([rbf_kernel(X[:, 3:], gamma=0.2), rbf_kernel(X[:, :3], gamma=0.2)])
    for target in ("star", "clique"):
        theta = kernel_weights(both, Y, "learned", target=target)
        assert theta[1] > 0.8
        assert theta.sum() == pytest.approx(1)
    half = kernel_weights(both, Y, "half")
    np.testing.assert_allclose(half, (kernel_weights(both, Y, "learned") + 0.5) / 2)
    np.testing.assert_array_equal(kernel_weights(both, Y, "best"), [0, 1])
    ways = [Candidate("both", np.full(2, 0.5), how) for how in ("equal", "learned")]
    best, scores = choose(fold_trials(both, Y, 0), ways)
    assert best is ways[int(np.argmax(scores))]
    first = Candidate("first", np.array([1.0, 0.0]))
    np.testing.assert_array_equal(first.thetas(both, Y), [[1, 0]])
    assert choose(fold_trials(both, Y, 0), [first, ways[1]])[0] is ways[1]


def test_each_part_has_a_regression_beside_the_sum():
    base = np.array([0.25, 0.25, 0.0, 0.5])
    found = Candidate("some", base, "each", ["a", "a", "b", "c"]).thetas(np.ones((4, 2, 2)), None)
    np.testing.assert_allclose(found, [base, [0.5, 0.5, 0, 0], [0, 0, 0, 1]])
    alone = Candidate("one", np.array([0.0, 1.0]), "each").thetas(np.ones((2, 2, 2)), None)
    np.testing.assert_array_equal(alone, [[0, 1]])


def _two_kernels():
    """Terms 0 to 2 are seen by the first kernel, terms 3 to 5 by the second."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 12))
    Y = (X[:, [0, 1, 2, 6, 7, 8]] > 0.5).astype(float)
    return [rbf_kernel(X[:, :6], gamma=0.1), rbf_kernel(X[:, 6:], gamma=0.1)], Y


def test_log_odds_of_a_committee_add_up_and_stay_when_they_are_calibrated_again():
    kernels, Y = _two_kernels()
    train, new = slice(0, 100), slice(100, 160)
    committee = fit_committee([K[train, train] for K in kernels], Y[train])
    rows = [K[new, train] for K in kernels]
    S = committee.scores(rows)
    first = sum(m.scores(K) for m, K in zip(committee.members, rows, strict=True))
    np.testing.assert_allclose(S, first + committee.second.scores(first))
    slopes, offsets = np.linspace(0.5, 2, 6), np.linspace(-1, 1, 6)
    again = committee.calibrated(slopes, offsets)
    np.testing.assert_allclose(again.scores(rows), slopes * S + offsets, atol=1e-10)
    np.testing.assert_allclose(again.held_out, slopes * committee.held_out + offsets)
    assert fit_committee([kernels[0][train, train]], Y[train]).second is None


@pytest.mark.parametrize("best", ["each", "equal", "learned", "half"])
def test_weights_are_chosen_by_the_folds_that_choose_kernels(shapes, monkeypatch, best):
    """Whatever scores best in trials is fitted, and the scores are kept."""

    def scored(trial, thetas):
        learned, equal = kernel_weights(trial.K, trial.Y, "learned"), np.full(2, 0.5)
        near = {"equal": equal, "learned": learned, "half": (learned + equal) / 2}
        how = min(near, key=lambda how: np.abs(near[how] - thetas[0]).sum())
        return trial.Y_new if (how if len(thetas) == 1 else "each") == best else -trial.Y_new

    monkeypatch.setattr(Trial, "scores", scored)
    model = ImageAnnotator(["hsv", "thumbnail"], size=(32, 32), weights="auto").fit(*shapes)
    assert model.weights_chosen_ == best
    ways = {f"all kernels, {words}" for how, words in IN_WORDS.items() if how in CHOICES}
    assert set(model.weights_scores_) == ways
    assert max(model.weights_scores_, key=model.weights_scores_.get).endswith(IN_WORDS[best])


def test_a_kernel_that_says_nothing_of_a_term_counts_for_little_in_a_committee():
    kernels, Y = _two_kernels()
    train, new = slice(0, 100), slice(100, 160)
    committee = fit_committee([K[train, train] for K in kernels], Y[train])
    parts = [m.scores(K[new, train]) for m, K in zip(committee.members, kernels, strict=True)]
    spread = np.array([part.std(axis=0) for part in parts])
    assert np.all(spread[0, :3] > 2 * spread[1, :3])
    assert np.all(spread[1, 3:] > 2 * spread[0, 3:])
    S = committee.scores([K[new, train] for K in kernels])
    nothing = fit_committee([kernels[0][train, train], np.eye(100)], Y[train, :3]).counts
    assert nothing.sum() == pytest.approx(1)
    assert nothing[0] > 0.9
    both = (kernels[0] + kernels[1]) / 2
    on_sum = fit_ridge(both[train, train], Y[train]).scores(both[new, train])
    assert mean_auc(Y[new], S) > mean_auc(Y[new], on_sum) + 0.01


EACH = np.vstack([np.full(3, 1 / 3), np.eye(3)])


@pytest.mark.slow
@pytest.mark.parametrize("groups", [None, np.arange(40) // 2])
def test_labels_by_chance_are_not_learned_by_several_regressions(groups):
    """A regression on scores of sets left out learned that sets are unlike their own terms."""
    rng = np.random.default_rng(0)
    aucs, closed = [], []
    for _ in range(3):
        X = rng.normal(size=(40, 9))
        X[:15] = X[0]  # some pictures are the same: "no photo"
        K = np.array([rbf_kernel(X[:, c : c + 3], gamma=0.2) for c in (0, 3, 6)])
        Y = (rng.random((40, 6)) < 0.35).astype(float)
        aucs.append(mean_auc(Y, fit_judged(K, EACH, Y, groups, 0).held_out))
        closed.append(mean_auc(Y, fit_committee((mixed(K, t) for t in EACH), Y, groups).held_out))
    assert 0.42 < np.mean(aucs) < 0.56
    assert np.mean(closed) > 0.58  # this is why


@pytest.mark.slow
def test_figures_of_several_regressions_are_those_of_folds_without_the_sets():
    kernels, Y = _two_kernels()
    K, thetas = np.array(kernels), np.array([[0.5, 0.5], [1, 0], [0, 1]])
    judged = fit_judged(K, thetas, Y, None, 0)
    S = np.empty(Y.shape)
    for trial in fold_trials(K, Y, 0, folds=10):
        committee, rows = trial.committee(thetas)
        S[trial.new] = (committee if judged.second else committee.alone).scores(rows)
        np.testing.assert_array_equal(trial.Y_new, Y[trial.new])
        assert len(trial.Y) + len(trial.new) == 160
    for s, h in zip(S.T, judged.held_out.T, strict=True):
        assert np.corrcoef(s, h)[0, 1] > 0.99
    # In all they are as frequent as they are, on the scale of probabilities.
    np.testing.assert_allclose(
        probabilities(judged.held_out).mean(axis=0), Y.mean(axis=0), atol=0.03
    )


@pytest.mark.parametrize("n_kernels", [1, 3])
def test_pictures_that_are_all_the_same_tell_nothing(n_kernels):
    """What differs by rounding must not be taken for a difference: it tells the labels."""
    rng = np.random.default_rng(0)
    Y = (rng.random((36, 4)) < 0.35).astype(float)
    K = (1 + 1e-7 * rng.normal(size=(n_kernels, 36, 36))).astype(np.float32)
    thetas = EACH if n_kernels == 3 else np.ones((1, 1))
    fitted = fit_judged((K + K.transpose(0, 2, 1)) / 2, thetas, Y, None, 0)
    np.testing.assert_allclose(auc_per_label(Y, fitted.held_out), 0.5)
    new = fitted.scores([np.ones((2, 36)) + 1e-7] * len(thetas))
    np.testing.assert_allclose(probabilities(new), [Y.mean(axis=0)] * 2, atol=0.03)


@pytest.mark.slow
def test_scores_of_a_committee_come_from_its_parts_and_its_file(shapes, tmp_path, monkeypatch):
    count = itertools.count()  # the second regression, tried last, is taken for better
    monkeypatch.setattr("eigenkit.images.weights.quality", lambda Y, S: float(next(count)))
    sets, Y, terms = shapes
    plans = ["hsv", "thumbnail", Plan("sift-16", "pyramid")]
    model = ImageAnnotator(plans, size=(64, 64), weights="each").fit(sets, Y, terms)
    new = make_shapes(6, size=64, random_state=3)[0]
    S = model.decision_function(new)
    assert len(model._thetas_) == 4
    assert sum(model.weights_.values()) == pytest.approx(1)
    for one, s in zip(new, S, strict=True):
        why = model.explain(one)
        np.testing.assert_allclose(why.base + sum(why.kernels.values()), s, atol=1e-5)
        points = sum(piece.shares.sum(axis=0) for piece in why.evidence)
        np.testing.assert_allclose(points, why.kernels["sift-16 pyramid"], atol=1e-4)
    assert "all terms" in why.kernels
    save_annotator(model, tmp_path / "each.ek")
    again = load_annotator(tmp_path / "each.ek")
    np.testing.assert_array_equal(again.decision_function(new), S)


def test_a_view_that_is_missing_shrinks_nothing():
    K = np.ones((2, 3, 3))
    K[1, 2] = K[1, :, 2] = 0  # the third set lacks the second view
    M = mixed(K, np.array([0.5, 0.5]))
    np.testing.assert_allclose(np.diag(M), 1)
    np.testing.assert_allclose(M[0, 2], 0.5 / np.sqrt(0.5))


# -- annotator --------------------------------------------------------------------------


@pytest.mark.slow
def test_planted_terms_are_found(model):
    sets, Y, _ = make_shapes(30, size=64, random_state=5)
    P = model.predict(sets)
    hits = (P * Y).sum()
    assert 2 * hits / (P.sum() + Y.sum()) > 0.8
    proba = model.predict_proba(sets)
    assert np.all((proba >= 0) & (proba <= 1))
    assert np.mean((proba - Y) ** 2) < np.mean((Y.mean(axis=0) - Y) ** 2) / 2


def test_attributes(model, shapes):
    assert model.terms_ == shapes[2]
    assert sum(model.weights_.values()) == pytest.approx(1)
    assert [r.support for r in model.term_reports_] == shapes[1].sum(axis=0).tolist()
    assert model.few_ == []


def test_new_sets_alone_and_together_get_the_same_scores(model):
    sets, _, _ = make_shapes(6, size=64, random_state=5)
    together = model.decision_function(sets)
    alone = np.vstack([model.decision_function([one]) for one in sets])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    backwards = [ImageSet(one.name, one.pictures[::-1]) for one in sets]
    np.testing.assert_allclose(model.decision_function(backwards), together, atol=1e-5)


def test_training_sets_are_like_themselves(model, shapes):
    K = model.kernel_rows(shapes[0][:10])
    np.testing.assert_allclose(np.diag(K), 1, atol=1e-5)
    assert K.argmax(axis=1).tolist() == list(range(10))


def test_saved_and_read_again(model, tmp_path):
    save_annotator(model, tmp_path / "m.ek")
    again = load_annotator(tmp_path / "m.ek")
    sets, _, _ = make_shapes(4, size=64, random_state=7)
    np.testing.assert_array_equal(again.predict_proba(sets), model.predict_proba(sets))
    assert again.terms_ == model.terms_
    assert again.term_reports_ == model.term_reports_


def test_annotators_of_an_earlier_version_are_refused_before_a_page_needs_what_they_lack(
    model, tmp_path
):
    old = copy(model)
    del old.unlearned_
    save_annotator(old, tmp_path / "old.ek")
    with pytest.raises(FileError, match="an earlier version of eigenkit wrote it: fit it again"):
        load_annotator(tmp_path / "old.ek")


def test_damaged_and_foreign_files(model, tmp_path):
    path = tmp_path / "m.ek"
    save_annotator(model, path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileError, match="damaged or was tampered with"):
        load_annotator(path)
    from eigenkit.models import load

    save_annotator(model, path)
    with pytest.raises(FileError, match="use eigenkit annotate predict"):
        load(path)


def test_a_descriptor_of_ones_own(shapes, tmp_path):
    def mean(image):
        return image.reshape(-1, 3).mean(axis=0) / 255

    own = Descriptor("mean colour", mean)
    sets, Y, terms = shapes
    model = ImageAnnotator(["mean colour", "thumbnail"], descriptors=[own], size=(64, 64))
    model.fit(sets[:30], Y[:30], terms)
    save_annotator(model, tmp_path / "m.ek")
    with pytest.raises(FileError, match="descriptor 'mean colour', which is not ours"):
        load_annotator(tmp_path / "m.ek")
    again = load_annotator(tmp_path / "m.ek", [own])
    np.testing.assert_array_equal(
        again.decision_function(sets[:3]), model.decision_function(sets[:3])
    )


def test_views_with_missing_ones():
    rng = np.random.default_rng(0)
    Y = (rng.random((30, 2)) < 0.5).astype(float)
    Y[:4] = [[0, 1], [1, 0], [0, 0], [1, 1]]

    def picture(level):
        return np.clip(rng.normal(0.2 + 0.6 * level, 0.05, (64, 64)), 0, 1)

    sets = []
    for i, (top, side) in enumerate(Y):
        views = {"top": picture(top), "side": picture(side)}
        if i % 5 == 4:
            views.pop("top")
        sets.append(ImageSet.from_arrays(f"s{i}", list(views.values()), list(views)))
    model = ImageAnnotator(["pixels-8"], views=True, size=(64, 64), weights="equal")
    model.fit(sets, Y, ["top bright", "side bright"])
    assert list(model.weights_) == ["pixels-8 mean map, side", "pixels-8 mean map, top"]
    K = model.kernel_rows(sets)
    np.testing.assert_allclose(np.diag(K), 1, atol=1e-3)  # single precision
    assert {r.term: r.f1 for r in model.term_reports_}["side bright"] > 0.9
    strange = ImageSet.from_arrays("odd", [picture(1)], ["below"])
    with pytest.warns(ImageWarning, match="are in 1 of 1 set, such as 'below' of set 'odd'"):
        assert np.all(np.isfinite(model.predict_proba([strange])))


def drawn_by(maker, n, seed=0):
    """Sets with a bright half (the term) and the style of a maker: how dark the rest is."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    sets = []
    for i, left in enumerate(y):
        views = {}
        for name in maker:
            picture = np.full((32, 32), {"a": 0.0, "b": 0.25, "c": 0.5}[name])
            picture[:, :16] += 0.12 * left
            views[name] = np.clip(picture + rng.normal(0, 0.25, picture.shape), 0, 1)
        sets.append(ImageSet.from_arrays(f"s{i}", list(views.values()), list(views)))
    return sets, y[:, None].astype(float)


def test_thresholds_for_views_that_nobody_has_seen():
    """Left out views say what scores of a new one are like; those of known views do not."""
    sets, Y = drawn_by("ab", 60)
    new, truth = drawn_by("c", 40, seed=1)
    found = {}
    for views in (False, "unseen"):
        model = ImageAnnotator(["pixels-8"], size=(32, 32), views=views).fit(sets, Y)
        P = model.predict_proba(new)
        found[views] = -np.mean(np.log(np.where(truth > 0, P, 1 - P)))
        assert list(model.weights_) == ["pixels-8 mean map"]
    assert found["unseen"] < found[False]
    # Sets, though each was annotated by every view.
    assert model.term_reports_[0].support == Y.sum()
    assert UNSEEN in fitted_record(model, sets, "seen")["what"]
    with pytest.raises(ValueError, match="show one only"):
        ImageAnnotator(["pixels-8"], size=(32, 32), views="unseen").fit(new, truth)
    with pytest.raises(ValueError, match="views='side' is not known: choose one of 'auto'"):
        ImageAnnotator(views="side").fit(sets, Y)


def test_pictures_beside_the_folders_of_views_have_a_name_for_that():
    sets, Y, terms = make_shapes(24, size=32)
    both = [
        ImageSet(
            one.name, tuple(replace(p, view="" if i else "a") for i, p in enumerate(one.pictures))
        )
        for one in sets
    ]
    model = ImageAnnotator(["hsv"], size=(32, 32), views=True).fit(both, Y, terms)
    assert list(model.weights_) == ["hsv mean map, no view", "hsv mean map, a"]
    parts, _ = views_apart(both)
    assert [part.name for part in parts[:2]] == ["set0000, no view", "set0000, a"]


def test_for_unseen_views_every_view_is_a_row():
    """Up to the line that makes log-odds, it is the regression on views as sets of their own."""
    sets, Y = drawn_by("ab", 60)
    sets[3] = ImageSet(sets[3].name, sets[3].pictures[:1])
    Y = np.hstack([Y, np.arange(60)[:, None] % 3 == 0, np.arange(60)[:, None] == 5])
    new, _ = drawn_by("c", 40, seed=1)
    # One set carries it, though that set shows two views.
    with pytest.warns(ImageWarning, match=r"not at all \(1\): 'term 3'"):
        model = ImageAnnotator(["pixels-8"], size=(32, 32), views="unseen").fit(sets, Y)
    views = [(i, p) for i, one in enumerate(sets) for p in one.pictures]
    parts = [ImageSet(f"{sets[i].name} {p.view}", (p,)) for i, p in views]
    of = np.array([i for i, _ in views])
    with pytest.warns(ImageWarning):
        alone = ImageAnnotator(["pixels-8"], size=(32, 32), views=False).fit(parts, Y[of], None, of)
    np.testing.assert_array_equal(model.alpha_, alone.alpha_)
    S, other = model.decision_function(new), alone.decision_function(new)
    for s, o in zip(S.T, other.T, strict=True):
        np.testing.assert_allclose(s, np.polyval(np.polyfit(o, s, 1), o), rtol=1e-6)
    assert model.set_names_[:2] == ["s0, a", "s0, b"]
    assert model.set_names_.count("s3") == 1
    assert not model.predict(new)[:, 2].any()
    assert len(fitted_record(model, sets, "views")["sets"]) == 119


def test_views_apart_are_compared_without_their_own_set():
    sets, Y = drawn_by("ab", 40)
    given = ImageAnnotator(["pixels-8"], size=(32, 32), views="unseen")
    found = compare(sets, Y, annotator=given, rivals=["chosen by the annotator"], cv=2)
    assert len(found.sets) == len(found.Y) == 80
    for model, test in found.held_out:
        names = {found.sets[i].name.partition(",")[0] for i in test}
        assert names.isdisjoint(name.partition(",")[0] for name in model.set_names_)


@pytest.mark.parametrize("kernels", [["pixels-8"], ["pixels-8", "hog-4"]])
def test_a_model_adapted_to_sets_of_another_maker(kernels, tmp_path):
    """Scores are spread over new sets as over those left out; the order of the sets stays."""
    sets, Y = drawn_by("ab", 60)
    Y = np.hstack([Y, np.arange(60)[:, None] % 3 == 0])
    new, _ = drawn_by("c", 40, seed=1)
    model = ImageAnnotator(kernels, size=(32, 32), views=False).fit(sets, Y)
    S, H = model.decision_function(new), model._held_out_
    adapted = adapt(model, new)
    found = adapted.decision_function(new)
    standard = (S - S.mean(axis=0)) / S.std(axis=0)
    np.testing.assert_allclose(found, standard * H.std(axis=0) + H.mean(axis=0), rtol=1e-8)
    np.testing.assert_array_equal(adapted.thresholds_, model.thresholds_)
    np.testing.assert_allclose(adapted.explain(new[0]).scores, found[0], rtol=1e-4)
    np.testing.assert_allclose(adapted.predict_proba(new), probabilities(found))
    np.testing.assert_array_equal(model.decision_function(new), S)
    save_annotator(adapted, tmp_path / "adapted.ek")
    again = load_annotator(tmp_path / "adapted.ek")
    np.testing.assert_array_equal(again.decision_function(new), found)
    with pytest.raises(ValueError, match=r"given 29 sets, too few.*at least 30"):
        adapt(model, new[:29])


def test_adapting_puts_the_terms_of_a_set_in_order():
    """A shift of some terms' scores, as another maker causes it, is undone."""
    sets, Y, terms = make_shapes(60, size=32)
    new, truth, _ = make_shapes(60, size=32, random_state=1)
    model = ImageAnnotator(["hsv"], size=(32, 32)).fit(sets, Y, terms)
    before = adapt(model, new).decision_function(new)
    model._intercept_ = model._intercept_ + 30 * (np.arange(len(terms)) % 2)
    shifted, found = model.decision_function(new), adapt(model, new).decision_function(new)
    assert precision_at_one(truth, shifted) < precision_at_one(truth, found)
    np.testing.assert_allclose(found, before)


def test_a_term_that_nobody_carries_stays_so_when_adapted():
    sets, Y = drawn_by("ab", 60)
    Y = np.hstack([Y, 0 * Y, 0 * Y + 1])
    with pytest.warns(ImageWarning):
        model = ImageAnnotator(["pixels-8"], size=(32, 32), views=False).fit(sets, Y)
    new, _ = drawn_by("c", 40, seed=1)
    adapted = adapt(model, new)
    S, found = model.decision_function(new), adapted.decision_function(new)
    np.testing.assert_allclose(found[:, 1:], S[:, 1:])
    assert np.all(found[:, 0] != S[:, 0])
    assert adapted.predict(new)[:, 1:].tolist() == [[0, 1]] * 40


def test_a_view_that_is_left_out_is_in_no_training_set():
    sets, Y = drawn_by("ab", 12)
    sets[3] = ImageSet(sets[3].name, sets[3].pictures[:1])  # shows a only
    vectors = {"pixels-8": [[p.pixels((32, 32)).reshape(1, -1) for p in s.pictures] for s in sets]}
    groups = np.arange(12) // 2
    trials = unseen_trials([Plan("pixels-8")], {"pixels-8": None}, sets, vectors, Y, groups, 0)
    assert len(trials) == 4
    assert sum(len(t.Y_new) for t in trials) == 23
    for t in trials:
        assert t.K.shape == (1, len(t.Y), len(t.Y))
        assert t.K_new.shape == (1, len(t.Y_new), len(t.Y))
        assert t.K_new.max() < 0.999  # nobody meets a picture of its own


def test_unlabelled_sets_and_few_sets(shapes):
    sets, Y, terms = shapes
    Y = Y.copy()
    Y[:5] = np.nan
    rare = np.zeros((len(Y), 2))
    rare[10:12, 0] = 1
    rare[:5] = np.nan
    model = ImageAnnotator(["thumbnail"], size=(64, 64))
    with pytest.warns(ImageWarning, match=r"fewer than 5 sets.* \(2\): 'rare', 'never'"):
        model.fit(sets, np.hstack([Y, rare]), [*terms, "rare", "never"])
    assert model.few_ == ["rare", "never"]
    assert len(model._labelled_) == 55
    assert not model.predict(sets)[:, -1].any()
    assert model.predict_proba(sets)[:, -1].max() < 0.1


@pytest.mark.parametrize("kernels", [["hsv"], ["hsv", "thumbnail"]])
def test_a_term_that_cannot_be_learned_is_named(shapes, tmp_path, kernels):
    """It is predicted for all sets, as this has the best F1; one that is learned is not named."""
    sets, Y, terms = shapes
    by_chance = np.random.default_rng(0).permutation(np.arange(len(Y)) % 3 == 0)
    Y, terms = np.column_stack([Y[:, [4]], by_chance]), [terms[4], "chance"]
    model = ImageAnnotator(kernels, size=(32, 32))
    with pytest.warns(ImageWarning, match=r"predicted for nearly every set.* \(1\): 'chance'$"):
        model.fit(sets, Y, terms)
    assert model.unlearned_ == ["chance"]
    assert model.predict(make_shapes(20, size=64, random_state=9)[0])[:, 1].mean() > 0.9
    page = render_page(fitted_record(model, sets, "shapes"))
    assert "chance †" in page
    assert "† nothing was learned about it" in page
    save_annotator(model, tmp_path / "model.ek")
    assert load_annotator(tmp_path / "model.ek").unlearned_ == ["chance"]


def test_the_error_of_an_auc_by_chance_is_that_of_permutations():
    """Scores that say nothing: about one AUC in forty is two errors above a half, by the rule."""
    rng = np.random.default_rng(0)
    y, S = (np.arange(50) < 15).astype(float), rng.normal(size=(50, 4000))
    reports = term_reports([f"{i}" for i in range(4000)], np.tile(y[:, None], 4000), S, S[0])
    named = unlearned_terms(reports, np.ones(S.shape), 50)
    assert 0.97 < len(named) / 4000 < 0.985
    assert unlearned_terms(reports, np.arange(50)[:, None] % 5 + 0 * S > 0, 50) == []


@pytest.mark.filterwarnings("ignore::eigenkit.images.ImageWarning")
@pytest.mark.parametrize("weights", slow_but(["equal", "each"], "equal"))
def test_a_set_of_unknown_views_gets_the_means_of_the_terms(shapes, weights):
    """A kernel of zeros would say that it is unlike all others, which is much to say."""
    sets, Y, terms = shapes
    seen = [
        ImageSet.from_arrays(s.name, [p.pixels() for p in s.pictures[:2]], ["front", "side"][:2])
        for s in sets
    ]
    model = ImageAnnotator(["thumbnail", "hsv"], size=(64, 64), views=True, weights=weights)
    model.fit(seen, Y, terms)
    means = [
        (model.training_kernel(m) @ A).mean(axis=0) for m, A in enumerate(model._coefficients_)
    ]
    mean = sum(means) + model._intercept_
    mean = with_second(mean[None], model._second_)[0]
    new = [ImageSet.from_arrays("x", [sets[0].pictures[0].pixels()], ["top"]), seen[0]]
    S = model.decision_function(new)
    np.testing.assert_allclose(S[0], mean, rtol=1e-5)
    np.testing.assert_allclose(model.explain(new[0]).scores, S[0], rtol=1e-5)
    np.testing.assert_allclose(S[1], model.decision_function(seen[:1])[0])


@pytest.mark.filterwarnings("ignore::eigenkit.images.ImageWarning")
def test_a_term_that_all_sets_carry_is_always_predicted(shapes):
    sets, Y, terms = shapes
    Y = np.column_stack([Y[:, 0], np.ones(len(Y))])
    model = ImageAnnotator(["thumbnail"], size=(64, 64)).fit(sets, Y, [terms[0], "shape"])
    assert model.few_ == ["shape"]
    assert model.term_reports_[1].f1 == 1
    assert model.predict(sets)[:, 1].all()
    assert model.predict_proba(sets)[:, 1].min() > 0.9


@pytest.mark.slow
def test_a_run_that_was_interrupted_goes_on(shapes, tmp_path, monkeypatch):
    sets, Y, terms = shapes
    told = []

    def stop(done, total, message):
        told.append((done, total, message))
        if done == 7:
            raise KeyboardInterrupt

    model = ImageAnnotator(["hsv"], size=(64, 64), cache=tmp_path, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(sets, Y, terms)
    assert not hasattr(model, "terms_")
    assert len(list(tmp_path.rglob("*.ek"))) == 7
    total = sum(map(len, sets))
    assert told[-1] == (7, total, f"descriptors: 7 of {total}")
    computed = []
    plain = Descriptor.vectors
    monkeypatch.setattr(
        Descriptor, "vectors", lambda self, frame: (computed.append(1), plain(self, frame))[1]
    )
    model.set_params(progress=None).fit(sets, Y, terms)
    assert len(computed) == sum(map(len, sets)) - 7


def test_a_damaged_cache_is_computed_again(tmp_path):
    cache = Cache(tmp_path)
    cache.put("d", (4, 4), {"a": np.ones(3, dtype=np.float32)})
    cache.put("d", (4, 4), {"b": np.zeros(2, dtype=np.float32)})
    assert sorted(cache.get("d", (4, 4))) == ["a", "b"]
    assert cache.get("d", (4, 5)) == {}
    (path,) = tmp_path.rglob("*.ek")
    path.write_bytes(path.read_bytes()[:-5])
    assert cache.get("d", (4, 4)) == {}


@pytest.mark.slow
def test_two_processes_give_the_same(shapes):
    sets, Y, terms = shapes
    one, two = (
        ImageAnnotator(["hsv"], size=(64, 64), n_jobs=n).fit(sets[:20], Y[:20], terms)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one._coefficients_, two._coefficients_)


@pytest.mark.filterwarnings("ignore::eigenkit.images.ImageWarning")
@pytest.mark.parametrize(
    ("seed", "groups"), some_of(range(3), [None, np.arange(9) // 2, np.arange(9) // 5])
)
def test_few_sets_and_folds_without_terms(shapes, seed, groups):
    Y = (np.random.default_rng(seed).random((9, 3)) < 0.25).astype(float)
    Y[:3, 0] = [1, 1, 0]
    model = ImageAnnotator(["hsv", "thumbnail"], size=(64, 64)).fit(shapes[0][:9], Y, None, groups)
    assert np.all(np.isfinite(model.predict_proba(shapes[0][:2])))


def test_pictures_that_are_all_the_same():
    sets = [ImageSet.from_arrays(f"{i}", [np.full((64, 64), 0.5)]) for i in range(12)]
    Y = np.column_stack([np.arange(12) % 2, np.arange(12) % 2 == 0])
    model = ImageAnnotator(["hsv", "sift-16"], size=(64, 64)).fit(sets, Y)
    np.testing.assert_allclose(model.predict_proba(sets), 0.5, atol=0.05)


def test_terms_as_a_sparse_matrix(shapes):
    sets, Y, _ = shapes
    one, other = (
        ImageAnnotator(["hsv"], size=(64, 64)).fit(sets, given).decision_function(sets[:3])
        for given in (Y, csr_matrix(Y))
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sets": [1]}, TypeError, "not a list of ImageSet"),
        ({"Y": np.ones((60, 9, 1))}, ValueError, "Y has the shape"),
        ({"Y": np.full((60, 2), 2.0)}, ValueError, "other numbers than 0 and 1"),
        ({"Y": np.zeros((60, 2))}, ValueError, "no term is carried by two sets"),
        ({"Y": "x"}, ValueError, "Y is not a matrix"),
        ({"Y": np.eye(60) + 1j}, ValueError, "Y is not a matrix"),
        ({"groups": np.zeros(60)}, ValueError, "all sets into one group"),
        ({"groups": [1, 2]}, ValueError, "groups has shape"),
        ({"terms": ["a"]}, ValueError, "terms names 1 columns, but Y has 9"),
        ({"terms": [*"abcdefgha"]}, ValueError, "terms has 'a' twice"),
    ],
)
def test_bad_input(shapes, change, error, message):
    given = dict(zip(("sets", "Y", "terms"), shapes, strict=True))
    if "Y" in change:
        given.pop("terms")
    with pytest.raises(error, match=message):
        ImageAnnotator(["pixels-8"], size=(64, 64)).fit(**{**given, **change})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernels": "all"}, "kernels='all' is not known"),
        ({"kernels": len}, "kernels=<built-in function len> is not valid: give one of auto"),
        ({"kernels": [len]}, "functions of your own go into descriptors"),
        ({"kernels": []}, "is not valid: give one of auto"),
        ({"kernels": [Plan("hsv", "mean")]}, "kind='mean' is not known"),
        ({"kernels": [Plan("hsv", None)]}, "kind=None is not known"),
        ({"kernels": ["colour"]}, "descriptor 'colour' is not known"),
        ({"kernels": ["sift-32"], "size": (32, 64)}, "too small for sift-32, whose patches are 64"),
        ({"size": (8, 8)}, "give height and width between 16 and 4096"),
        ({"weights": "some"}, "weights='some' is not known"),
    ],
)
def test_bad_parameters(shapes, params, message):
    with pytest.raises(ValueError, match=message):
        ImageAnnotator(**{"size": (64, 64), **params}).fit(*shapes)


def test_clone_and_repr(model):
    assert clone(model).get_params()["size"] == (64, 64)
    assert "ImageAnnotator" in repr(model)


# -- reasons ----------------------------------------------------------------------------


def test_parts_of_kernels_and_of_points_add_up(model):
    (one,), _, _ = make_shapes(1, size=64, random_state=11)
    why = model.explain(one)
    (scores,) = model.decision_function([one])
    np.testing.assert_allclose(why.scores, scores, atol=1e-8)
    np.testing.assert_allclose(why.base + sum(why.kernels.values()), scores, atol=1e-8)
    assert [e.picture for e in why.evidence] == list(range(len(one)))
    shares = sum(e.shares.sum(axis=0) for e in why.evidence)
    np.testing.assert_allclose(shares, why.kernels["correlation-16 pyramid"], atol=1e-6)
    assert why.evidence[0].shares.shape == (len(why.evidence[0].places), 9)
    assert why.top(1)[0][1] == why.probabilities.max()
    assert len(why.neighbours) == 5


def test_points_that_are_not_patches_have_shares_but_no_places(shapes):
    """Vectors of one's own, however many a picture has, and one for the whole picture."""
    mine = Descriptor("rows", lambda image: image[:: 1 + image[0, 0, 0] // 128, :8, 0] / 255)
    plans = [Plan("rows", "pyramid"), Plan("pixels-8", "pyramid")]
    model = ImageAnnotator(plans, descriptors=[mine], size=(32, 32), weights="equal")
    why = model.fit(*shapes).explain(shapes[0][0])
    assert {(e.radius, e.places) for e in why.evidence} == {(None, None)}
    for kernel, part in why.kernels.items():
        shares = [e.shares for e in why.evidence if e.kernel == kernel]
        np.testing.assert_allclose(np.vstack(shares).sum(axis=0), part, atol=1e-6)
    sizes = [len(mine.transform([p.pixels((32, 32))])[0]) for p in shapes[0][0].pictures]
    assert [len(e.shares) for e in why.evidence if e.kernel == "rows pyramid"] == sizes


def test_the_nearest_set_of_a_training_set_is_itself(model, shapes):
    name, similarity, terms = model.explain(shapes[0][3]).neighbours[0]
    assert name == shapes[0][3].name
    assert similarity == pytest.approx(1, abs=1e-5)
    assert terms == [t for t, has in zip(shapes[2], shapes[1][3], strict=True) if has]


def _square(rng, left):
    """A dark square on the left, or none: patches on the right do not see it."""
    image = rng.uniform(0.85, 1, (64, 64))
    image[24:40, 8:24] -= 0.8 * left
    return image


def _explained_square(plan, n_pictures):
    """What speaks for the square in a new set, by a model of sets with and without it."""
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    sets = [
        ImageSet.from_arrays(f"s{i}", [_square(rng, has)] * n_pictures) for i, has in enumerate(y)
    ]
    model = ImageAnnotator([plan], size=(64, 64)).fit(sets, np.column_stack([y, 1 - y]))
    new = [_square(rng, True) for _ in range(n_pictures)]
    return model.explain(ImageSet.from_arrays("new", new))


def _left_and_right(piece):
    return (piece.shares[piece.places[:, 0] == x, 0].sum() for x in (0.25, 0.75))


def test_evidence_lies_where_the_thing_is():
    plan = Plan("correlation-16", "pyramid", {"bins": "vocabulary", "n_levels": 4})
    (evidence,) = _explained_square(plan, 1).evidence
    left, right = _left_and_right(evidence)
    assert left > 4 * abs(right)


def test_fisher_vectors_have_parts_at_points_too():
    why = _explained_square(Plan("sift-16", "fisher", {"n_gaussians": 1}), 2)
    shares = sum(piece.shares.sum(axis=0) for piece in why.evidence)
    np.testing.assert_allclose(shares, why.kernels["sift-16 fisher"], rtol=1e-4)
    for piece in why.evidence:
        left, right = _left_and_right(piece)
        assert left > 0.5 > 0 > right


def test_coefficients_without_sets_are_those_of_a_fit_without_them():
    K, Y = problem()
    alpha = np.array([0.3, 2.0, 0.3])
    spectrum = Spectrum.of(K)
    A = np.hstack([spectrum.coefficients(Y[:, [j]], a) for j, a in enumerate(alpha)])
    parts = [np.array([3]), np.array([4, 5]), np.array([0])]
    for rows, found in zip(parts, spectrum.without(A, alpha, parts, block=2), strict=True):
        rest = np.delete(np.arange(len(K)), rows)
        others = Spectrum.of(K[np.ix_(rest, rest)])
        np.testing.assert_allclose(found[rows], 0, atol=1e-10)
        for j, a in enumerate(alpha):
            expected = others.coefficients(Y[rest][:, [j]], a)[:, 0]
            np.testing.assert_allclose(found[rest, j], expected, atol=1e-9)


def test_kernels_are_known_again_from_what_is_kept(model, shapes):
    np.testing.assert_allclose(model.training_kernel(), model.kernel_rows(shapes[0]), atol=1e-5)


def test_kernels_and_views_are_chosen():
    """One view shows the term, the other is noise: kernels within views must be seen to help."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2

    def pictures(has):
        bright = rng.uniform(0.4, 0.6, (64, 64)) + 0.3 * has
        return [bright, rng.uniform(0, 1) * np.ones((64, 64))]

    sets = [ImageSet.from_arrays(f"s{i}", pictures(h), ["a", "b"]) for i, h in enumerate(y)]
    Y = np.column_stack([y, 1 - y])
    model = ImageAnnotator(["pixels-8"], size=(64, 64)).fit(sets, Y)
    assert set(model.weights_) == {"pixels-8 mean map", *(f"pixels-8 mean map, {v}" for v in "ab")}
    assert {k.name for k in model._kernels_} == {n for n, w in model.weights_.items() if w > 0}
    assert {"all kernels", "all kernels, also within views"} <= model.weights_scores_.keys()
    best = max(model.weights_scores_.items(), key=lambda item: item[1])
    assert model.kernels_chosen_ == best[0]
    plain = ImageAnnotator(["pixels-8"], size=(64, 64), views=False).fit(sets, Y)
    assert plain.weights_ == {"pixels-8 mean map": 1.0}


BOTH = ["set kernels and plain pooling", "set kernels without colour and plain pooling"]
ALONE = ["set kernels", "set kernels without colour", "plain pooling"]


@pytest.mark.slow
@pytest.mark.parametrize(("weights", "names"), [("each", BOTH), ("equal", [*ALONE, *BOTH])])
def test_the_default_is_chosen_from_set_kernels_and_plain_pooling(shapes, weights, names):
    sets, Y, terms = shapes
    model = ImageAnnotator(size=(64, 64), weights=weights, random_state=1)
    model.fit(sets[:40], Y[:40], terms)
    choices = model.weights_scores_
    assert list(choices) == names
    assert model.kernels_chosen_ == max(choices, key=choices.get)
    used = {name for name, w in model.weights_.items() if w > 0}
    assert ("joined pooled" in used) == ("pooling" in model.kernels_chosen_)
    again = ImageAnnotator(size=(64, 64)).fit(sets[:40], Y[:40], terms)
    assert again.decision_function(sets[40:42]).shape == (2, 9)


# -- memory -----------------------------------------------------------------------------

KINDS = ["mean_map", "pyramid", "fisher", "words", "pooled"]


def vectors_of(sets, name="correlation-16"):
    descriptor = Descriptor(name)
    return extract(sets, [descriptor], (64, 64)), {name: descriptor.places((64, 64))}


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_do_not_depend_on_blocks(shapes, kind, monkeypatch):
    sets = shapes[0][:20]
    vectors, places = vectors_of(sets)
    plan = Plan("correlation-16", kind)
    whole, K = fit_kernels([plan], [None], sets, vectors, places, 0)
    monkeypatch.setattr("eigenkit.images.kernels.BLOCK_BYTES", 20_000)
    parts, again = fit_kernels([plan], [None], sets, vectors, places, 0)
    np.testing.assert_allclose(again, K, rtol=1e-4, atol=1e-5)
    few = {name: own[:5] for name, own in vectors.items()}
    new = [kernel[0].transform(sets[:5], few, places) for kernel in (whole, parts)]
    np.testing.assert_allclose(new[1], new[0], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_vectors_of_all_pictures_are_never_in_memory_together(monkeypatch):
    image = np.random.default_rng(0).random((64, 64))
    sets = [ImageSet.from_arrays(f"{i}", [np.roll(image, i)]) for i in range(64)]
    wide = Descriptor("wide", lambda image: np.tile(image.mean(axis=2).astype(np.float32), (4, 4)))
    total = 64 * 256 * 256 * 4
    monkeypatch.setattr("eigenkit.images.kernels.BLOCK_BYTES", total // 16)
    monkeypatch.setattr("eigenkit.images.kernels.SAMPLE_BYTES", total // 16)
    tracemalloc.start()
    try:
        vectors = extract(sets, [wide], (64, 64))
        fit_kernels([Plan("wide", "pyramid")], [None], sets, vectors, {"wide": None}, 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.75 * total  # it was more than twice as much


def test_descriptors_of_changing_width_are_refused(shapes):
    widths = iter(range(1, 1000))
    growing = Descriptor("growing", lambda image: np.ones(next(widths)))
    model = ImageAnnotator(["growing"], descriptors=[growing], size=(64, 64))
    with pytest.raises(ValueError, match="'growing' gave vectors of 1 and of 2 numbers"):
        model.fit(*shapes)


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        (np.zeros((0, 3)), "descriptor 'own' gave no vector for any image"),
        ([], "descriptor 'own' gave no vector for any image"),
        ("1", r"descriptor 'own' gave something that is not an array of real numbers \(str\)"),
        (
            [[1, 2], [3]],
            r"descriptor 'own' gave something that is not an array of real numbers \(list\)",
        ),
        (
            np.array([1j]),
            r"descriptor 'own' gave something that is not an array of real numbers \(ndarray\)",
        ),
    ],
)
def test_a_descriptor_that_gives_nothing_is_named(shapes, gives, message):
    own = Descriptor("own", lambda image: gives)
    model = ImageAnnotator(["own", "hsv"], descriptors=[own], size=(64, 64))
    with pytest.raises(ValueError, match=message):
        model.fit(*shapes)


def test_no_set_and_a_set_without_pictures(model):
    with pytest.raises(ValueError, match="sets is empty: give at least one set"):
        model.predict_proba([])
    with pytest.raises(ValueError, match="set 'e' holds no image: give at least one"):
        model.predict([ImageSet("e", ())])
